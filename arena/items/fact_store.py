"""Fact store: facts about the bank's models, from the operator, routers, the models file and the Hub.

Each source's facts are stored separately, so that another source's fact appears when one is removed.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from threading import Lock
from typing import NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    ForeignKey,
    Table,
    Text,
    and_,
    delete,
    insert,
    select,
)

from arena.database import METADATA, Database, Moment, bump_counter, counter, now, take_turn
from arena.items.store import BANK_VERSION, MODEL
from arena.model_facts import NO_FACTS, Fact, FactSource, ModelFacts, StatedFacts, fact_text
from arena.types import ModelCard, Price, grouped

MODEL_FACT = Table(
    "model_fact",
    METADATA,
    Column("model_id", ForeignKey("model.id"), primary_key=True),
    Column("field", Text, primary_key=True),
    Column("source", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Column("read_at", Moment, nullable=False),
)
"""In the backup, not in the public export. No row leads to a voter, so *forget* leaves all rows."""
FACTS_VERSION = "facts"
"""The counter that every change of facts increments, so that running servers notice it."""


class FactError(ValueError):
    """Facts that cannot be stored; the message says why and what to do."""


class FactsVersion(NamedTuple):
    """The counters of changes to facts and to the bank, whose models' names may change."""

    facts: int
    bank: int


class LinkedModel(NamedTuple):
    """A model and its repository on the Hub."""

    code: int
    """The model's id in the bank."""
    name: str
    repository: str
    """Empty if the model has none."""


@dataclass(frozen=True)
class FactsSnapshot:
    """All facts by the models' display names; the same version has the same facts."""

    version: FactsVersion
    models: Mapping[str, ModelFacts]

    def of(self, name: str) -> ModelFacts:
        """Returns a model's facts; none for an unknown model."""
        return self.models.get(name, NO_FACTS)


class FactStore:
    """Facts in one database."""

    CHECK_SECONDS = 2.0
    """Seconds for which a snapshot is returned without looking for changes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._snapshot: FactsSnapshot | None = None
        self._checked_at = 0.0

    def snapshot(self) -> FactsSnapshot:
        """Returns the facts as they are now; changes by other processes are seen within CHECK_SECONDS."""
        with self._lock:
            if self._snapshot and time.monotonic() - self._checked_at < self.CHECK_SECONDS:
                return self._snapshot
            with self._database.read() as connection:
                version = FactsVersion(
                    facts=counter(connection, FACTS_VERSION), bank=counter(connection, BANK_VERSION)
                )
                if self._snapshot is None or self._snapshot.version != version:
                    facts = _facts_by_name(connection, MODEL.c.display)
                    self._snapshot = FactsSnapshot(version, facts)
            self._checked_at = time.monotonic()
            return self._snapshot

    def by_model(self) -> Mapping[str, ModelFacts]:
        """Returns the facts by the models' own names, as commands take them."""
        with self._database.read() as connection:
            return _facts_by_name(connection, MODEL.c.name)

    def replace_stated(self, stated: Mapping[str, StatedFacts]) -> None:
        """Replaces an operator's facts about these models, by name; a link to the Hub stays if no other is stated.

        Raises FactError for a model that is not here.
        """
        with self._changing() as connection:
            codes = _codes(connection)
            for name, facts in stated.items():
                code = _code(codes, name)
                is_replaced = (MODEL_FACT.c.model_id == code) & (MODEL_FACT.c.source == "operator")
                if facts.repository is None:
                    is_replaced &= MODEL_FACT.c.field != "repository"
                connection.execute(delete(MODEL_FACT).where(is_replaced))
                _add_facts(connection, code, "operator", facts.values)

    def take_cards(self, cards: Iterable[ModelCard]) -> None:
        """Replaces all facts from the models file by those of its cards."""
        self._replace_source("card", {card.name: _card_facts(card) for card in cards})

    def take_prices(self, prices: Mapping[str, Price]) -> None:
        """Replaces the routers' prices by today's, by the model's name."""
        facts = {name: _price_facts(price) for name, price in prices.items()}
        self._replace_source("router", facts, day=now().date())

    def _replace_source(
        self, source: FactSource, stated: Mapping[str, Mapping[str, str]], day: date | None = None
    ) -> None:
        """Replaces the facts of a source by those stated, by the model's name, unless they are the same.

        Facts about models that aren't in the bank are left out. With a `day`, facts that were read on another day are
        written again.
        """
        is_of_source = MODEL_FACT.c.source == source
        with self._database.read() as connection:
            codes = _codes(connection)
            rows = connection.execute(select(MODEL_FACT).where(is_of_source)).all()
        facts_of = {codes[name]: facts for name, facts in stated.items() if name in codes}
        new_facts = {
            (code, field, value)
            for code, facts in facts_of.items()
            for field, value in facts.items()
        }
        stored_facts = {(row.model_id, row.field, row.value) for row in rows}
        is_of_day = day is None or all(row.read_at.date() == day for row in rows)
        if is_of_day and new_facts == stored_facts:
            return
        with self._changing() as connection:
            connection.execute(delete(MODEL_FACT).where(is_of_source))
            for code, facts in facts_of.items():
                _add_facts(connection, code, source, facts)
            _drop_unlinked(connection)

    def find(self, name: str) -> LinkedModel:
        """Returns a model by its name, with its repository if it has one. Raises FactError if it is not here."""
        with self._database.read() as connection:
            code = _code(_codes(connection), name)
            facts = _facts_by_code(connection).get(code, NO_FACTS)
        return LinkedModel(code, name, facts.text("repository") or "")

    def link(self, model: LinkedModel, facts: Mapping[str, str]) -> None:
        """Stores a model's repository as an operator's fact, and the Hub's facts from it."""
        with self._changing() as connection:
            connection.execute(delete(MODEL_FACT).where(_is_stated_repository(model)))
            _add_facts(connection, model.code, "operator", {"repository": model.repository})
            _replace_hub_facts(connection, model.code, facts)

    def unlink(self, model: LinkedModel) -> None:
        """Deletes the repository that an operator named, and the Hub's facts."""
        with self._changing() as connection:
            connection.execute(delete(MODEL_FACT).where(_is_stated_repository(model)))
            _replace_hub_facts(connection, model.code, {})

    def keep_hub_facts(self, model: LinkedModel, facts: Mapping[str, str]) -> None:
        """Replaces the Hub's facts about a model."""
        with self._changing() as connection:
            _replace_hub_facts(connection, model.code, facts)

    def unread_models(self, since: datetime) -> Sequence[LinkedModel]:
        """Returns the models with a repository that was not read since then, or has changed."""
        read_query = select(MODEL_FACT).where(
            MODEL_FACT.c.source == "hub",
            MODEL_FACT.c.field == "repository",
            MODEL_FACT.c.read_at >= since,
        )
        with self._database.read() as connection:
            rows = connection.execute(read_query)
            read_repositories = {row.model_id: row.value for row in rows}
            names = {code: name for name, code in _codes(connection).items()}
            all_facts = _facts_by_code(connection)
        unread = []
        for code, facts in all_facts.items():
            repository = facts.text("repository")
            if repository and read_repositories.get(code) != repository:
                unread.append(LinkedModel(code, names[code], repository))
        return unread

    @contextmanager
    def _changing(self) -> Iterator[Connection]:
        """Opens a transaction that changes facts; the next snapshot reads them again."""
        with self._database.write() as connection:
            take_turn(connection, MODEL_FACT)
            bump_counter(connection, FACTS_VERSION)
            yield connection
        self._checked_at = 0.0


def _is_stated_repository(model: LinkedModel) -> ColumnElement[bool]:
    """Returns the condition of the repository that an operator named for a model."""
    return and_(
        MODEL_FACT.c.model_id == model.code,
        MODEL_FACT.c.source == "operator",
        MODEL_FACT.c.field == "repository",
    )


def _card_facts(card: ModelCard) -> dict[str, str]:
    """Returns a card's facts and prices, and the repository of a local model."""
    facts: dict[str, str] = {}
    if card.price:
        facts |= _price_facts(card.price)
    if card.revision:
        facts["repository"] = card.model
    return facts | card.facts.values


def _price_facts(price: Price) -> dict[str, str]:
    return {
        "prompt_price": fact_text(price.prompt),
        "completion_price": fact_text(price.completion),
    }


def _codes(connection: Connection) -> dict[str, int]:
    """Returns the models' codes by their own names."""
    return {row.name: row.id for row in connection.execute(select(MODEL.c.id, MODEL.c.name))}


def _code(codes: Mapping[str, int], name: str) -> int:
    """Returns a model's code. Raises FactError for a model that is not here."""
    if name not in codes:
        raise FactError(
            f"There's no model named {name!r}. To see the models: python -m arena models list"
        )
    return codes[name]


def _facts_by_code(connection: Connection) -> dict[int, ModelFacts]:
    rows = grouped((row.model_id, row) for row in connection.execute(select(MODEL_FACT)))
    models = {}
    for code, model_rows in rows.items():
        facts = [(row.field, Fact(row.value, row.source, row.read_at)) for row in model_rows]
        models[code] = ModelFacts.from_sources(facts)
    return models


def _facts_by_name(connection: Connection, name: ColumnElement[str]) -> dict[str, ModelFacts]:
    names = {row.id: row.name for row in connection.execute(select(MODEL.c.id, name.label("name")))}
    return {names[code]: facts for code, facts in _facts_by_code(connection).items()}


def _add_facts(
    connection: Connection, code: int, source: FactSource, values: Mapping[str, str]
) -> None:
    read_at = now()
    rows = [
        {"model_id": code, "field": field, "source": source, "value": value, "read_at": read_at}
        for field, value in values.items()
    ]
    if rows:
        connection.execute(insert(MODEL_FACT), rows)


def _replace_hub_facts(connection: Connection, code: int, values: Mapping[str, str]) -> None:
    is_from_hub = (MODEL_FACT.c.model_id == code) & (MODEL_FACT.c.source == "hub")
    connection.execute(delete(MODEL_FACT).where(is_from_hub))
    _add_facts(connection, code, "hub", values)


def _drop_unlinked(connection: Connection) -> None:
    """Deletes the Hub's facts about models that are no longer linked to a repository."""
    linked = select(MODEL_FACT.c.model_id).where(
        MODEL_FACT.c.field == "repository", MODEL_FACT.c.source != "hub"
    )
    connection.execute(
        delete(MODEL_FACT).where(MODEL_FACT.c.source == "hub", MODEL_FACT.c.model_id.not_in(linked))
    )
