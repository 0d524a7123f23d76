"""Fact store: facts about the bank's models, from the operator, routers, the models file and the Hub.

Each source's facts are fact_text separately, so that another source's fact appears when one is removed.
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
    """Facts that cannot be fact_text; the message says why and what to do."""


class LinkedModel(NamedTuple):
    """A model and its repository on the Hub."""

    code: int
    name: str
    repository: str


@dataclass(frozen=True)
class FactsSnapshot:
    """All facts by the models' display names; the same version has the same facts."""

    version: tuple[int, int]
    models: Mapping[str, ModelFacts]

    def of(self, name: str) -> ModelFacts:
        return self.models.get(name, NO_FACTS)


class FactStore:
    """Facts in one database."""

    CHECK_SECONDS = 2.0

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = Lock()
        self._snapshot: FactsSnapshot | None = None
        self._checked = 0.0

    def snapshot(self) -> FactsSnapshot:
        """Returns the facts as they are now; changes by other processes are seen within CHECK_SECONDS."""
        with self._lock:
            if self._snapshot and time.monotonic() - self._checked < self.CHECK_SECONDS:
                return self._snapshot
            with self._database.read() as connection:
                version = (counter(connection, FACTS_VERSION), counter(connection, BANK_VERSION))
                if self._snapshot is None or self._snapshot.version != version:
                    self._snapshot = FactsSnapshot(version, _by_name(connection, MODEL.c.display))
            self._checked = time.monotonic()
            return self._snapshot

    def by_model(self) -> Mapping[str, ModelFacts]:
        """Returns the facts by the models' own names, as commands take them."""
        with self._database.read() as connection:
            return _by_name(connection, MODEL.c.name)

    def state(self, stated: Mapping[str, StatedFacts]) -> None:
        """Replaces an operator's facts about these models, by name; links to the Hub stay.

        Raises FactError for a model that is not here.
        """
        with self._changing() as connection:
            codes = _codes(connection)
            for name, facts in stated.items():
                code = _code(codes, name)
                replaced = (MODEL_FACT.c.model_id == code) & (MODEL_FACT.c.source == "operator")
                if facts.repository is None:
                    replaced &= MODEL_FACT.c.field != "repository"
                connection.execute(delete(MODEL_FACT).where(replaced))
                _add(connection, code, "operator", facts.values)

    def take_cards(self, cards: Iterable[ModelCard]) -> None:
        """Replaces all facts from the models file by those of its cards."""
        self._take("card", {card.name: _of_card(card) for card in cards})

    def take_prices(self, prices: Mapping[str, Price]) -> None:
        """Replaces the routers' prices by today's, by the model's name."""
        stated = {name: _of_price(price) for name, price in prices.items()}
        self._take("router", stated, day=now().date())

    def _take(
        self, source: FactSource, stated: Mapping[str, Mapping[str, str]], day: date | None = None
    ) -> None:
        """Replaces the facts of a source by those stated, by the model's name, unless they are the same.

        With a `day`, facts that were read on another day are written again.
        """
        of_source = MODEL_FACT.c.source == source
        with self._database.read() as connection:
            codes = _codes(connection)
            there = connection.execute(select(MODEL_FACT).where(of_source)).all()
        wanted = {codes[name]: facts for name, facts in stated.items() if name in codes}
        values = {
            (code, field, value) for code, facts in wanted.items() for field, value in facts.items()
        }
        is_of_day = day is None or all(row.read_at.date() == day for row in there)
        if is_of_day and values == {(row.model_id, row.field, row.value) for row in there}:
            return
        with self._changing() as connection:
            connection.execute(delete(MODEL_FACT).where(of_source))
            for code, facts in wanted.items():
                _add(connection, code, source, facts)
            _drop_unlinked(connection)

    def find(self, name: str) -> LinkedModel:
        """Returns a model by its name, with its repository if it has one. Raises FactError if it is not here."""
        with self._database.read() as connection:
            code = _code(_codes(connection), name)
            facts = _by_code(connection).get(code, NO_FACTS)
        return LinkedModel(code, name, facts.text("repository") or "")

    def link(self, model: LinkedModel, facts: Mapping[str, str]) -> None:
        """Stores a model's repository as an operator's fact, and the Hub's facts from it."""
        linked = {"repository": model.repository}
        is_from_operator = (MODEL_FACT.c.model_id == model.code) & (
            MODEL_FACT.c.source == "operator"
        )
        with self._changing() as connection:
            connection.execute(
                delete(MODEL_FACT).where(is_from_operator, MODEL_FACT.c.field == "repository")
            )
            _add(connection, model.code, "operator", linked)
            _take_hub(connection, model.code, facts)

    def unlink(self, model: LinkedModel) -> None:
        """Deletes the repository that an operator named, and the Hub's facts."""
        is_of_model = MODEL_FACT.c.model_id == model.code
        is_repository = (MODEL_FACT.c.source == "operator") & (MODEL_FACT.c.field == "repository")
        with self._changing() as connection:
            connection.execute(delete(MODEL_FACT).where(is_of_model, is_repository))
            _take_hub(connection, model.code, {})

    def keep_hub_facts(self, model: LinkedModel, facts: Mapping[str, str]) -> None:
        """Replaces the Hub's facts about a model."""
        with self._changing() as connection:
            _take_hub(connection, model.code, facts)

    def unread(self, since: datetime) -> Sequence[LinkedModel]:
        """Returns the models with a repository that was not read since then, or has changed."""
        of_hub = select(MODEL_FACT).where(
            MODEL_FACT.c.source == "hub",
            MODEL_FACT.c.field == "repository",
            MODEL_FACT.c.read_at >= since,
        )
        with self._database.read() as connection:
            read = {row.model_id: row.value for row in connection.execute(of_hub)}
            names = {code: name for name, code in _codes(connection).items()}
            all_facts = _by_code(connection)
        linked = []
        for code, facts in all_facts.items():
            repository = facts.text("repository")
            if repository and read.get(code) != repository:
                linked.append(LinkedModel(code, names[code], repository))
        return linked

    @contextmanager
    def _changing(self) -> Iterator[Connection]:
        """Opens a transaction that changes facts; the next snapshot reads them again."""
        with self._database.write() as connection:
            take_turn(connection, MODEL_FACT)
            bump_counter(connection, FACTS_VERSION)
            yield connection
        self._checked = 0.0


def _of_card(card: ModelCard) -> dict[str, str]:
    """Returns a card's facts and prices, and the repository of a local model."""
    price = _of_price(card.price) if card.price else {}
    repository = {"repository": card.model} if card.revision else {}
    return {**price, **repository, **card.facts.values}


def _of_price(price: Price) -> dict[str, str]:
    return {
        "prompt_price": fact_text(price.prompt),
        "completion_price": fact_text(price.completion),
    }


def _codes(connection: Connection) -> dict[str, int]:
    return {row.name: row.id for row in connection.execute(select(MODEL.c.id, MODEL.c.name))}


def _code(codes: Mapping[str, int], name: str) -> int:
    if name not in codes:
        raise FactError(
            f"There's no model named {name!r}. To see the models: python -m arena models list"
        )
    return codes[name]


def _by_code(connection: Connection) -> dict[int, ModelFacts]:
    rows = connection.execute(select(MODEL_FACT))
    facts = grouped(
        (row.model_id, (row.field, Fact(row.value, row.source, row.read_at))) for row in rows
    )
    return {code: ModelFacts.from_sources(stated) for code, stated in facts.items()}


def _by_name(connection: Connection, name: ColumnElement[str]) -> dict[str, ModelFacts]:
    names = {row.id: row.name for row in connection.execute(select(MODEL.c.id, name.label("name")))}
    return {names[code]: facts for code, facts in _by_code(connection).items()}


def _add(connection: Connection, code: int, source: FactSource, values: Mapping[str, str]) -> None:
    read_at = now()
    rows = [
        {"model_id": code, "field": field, "source": source, "value": value, "read_at": read_at}
        for field, value in values.items()
    ]
    if rows:
        connection.execute(insert(MODEL_FACT), rows)


def _take_hub(connection: Connection, code: int, values: Mapping[str, str]) -> None:
    is_from_hub = (MODEL_FACT.c.model_id == code) & (MODEL_FACT.c.source == "hub")
    connection.execute(delete(MODEL_FACT).where(is_from_hub))
    _add(connection, code, "hub", values)


def _drop_unlinked(connection: Connection) -> None:
    """Deletes the Hub's facts about models that are no longer linked to a repository."""
    linked = select(MODEL_FACT.c.model_id).where(
        MODEL_FACT.c.field == "repository", MODEL_FACT.c.source != "hub"
    )
    connection.execute(
        delete(MODEL_FACT).where(MODEL_FACT.c.source == "hub", MODEL_FACT.c.model_id.not_in(linked))
    )
