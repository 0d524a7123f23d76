"""Facts of models: which source counts, what a file may state, and what stays when a source has no more."""

from datetime import date, timedelta

import pytest
from pydantic import ValidationError

from arena.database import Database, now
from arena.items import fact_store
from arena.items.fact_store import FactError, FactStore
from arena.items.ingest import Ingest
from arena.model_facts import StatedFacts, licence_text, parse_size, size_text
from arena.types import ModelCard, Price
from arena.validation import one_line
from tests.support.servers import drafts

HUB = {"organisation": "of the Hub", "licence": "mit", "parameters": "7", "repository": "a/b"}


@pytest.fixture
def store(database: Database) -> FactStore:
    Ingest(database).add_items("bank", "folder", drafts(2))
    return FactStore(database)


def known(store: FactStore, model: str = "m1") -> dict[str, str]:
    facts = store.snapshot().of(model).facts
    return {field: fact.value for field, fact in facts.items()}


def card(**facts: object) -> ModelCard:
    return ModelCard("m1", "api", "some-model", facts=StatedFacts(**facts))


def test_the_operators_word_comes_before_the_card_and_the_card_before_the_hub(store):
    store.link(store.find("m1")._replace(repository="a/b"), HUB)
    assert known(store) == HUB
    store.take_cards([card(organisation="of the card", licence="gpl-3.0")])
    assert known(store) == {**HUB, "organisation": "of the card", "licence": "gpl-3.0"}
    store.replace_stated({"m1": StatedFacts(organisation="of the file", parameters="8B")})
    stated = {"organisation": "of the file", "parameters": "8000000000", "licence": "gpl-3.0"}
    assert known(store) == {**HUB, **stated}
    sources = {field: fact.source for field, fact in store.snapshot().of("m1").facts.items()}
    assert sources == {
        "organisation": "operator",
        "parameters": "operator",
        "licence": "card",
        "repository": "operator",
    }
    store.replace_stated({"m1": StatedFacts()})
    store.take_cards([])
    assert known(store) == HUB, "a source without a fact uncovers the next; the link stays"
    store.unlink(store.find("m1"))
    assert known(store) == {}


def test_a_card_brings_its_prices_and_its_repository(store):
    weights = ModelCard("m1", "local", "a/b", revision="0" * 40, price=Price(0.1, 0.4))
    store.take_cards([weights, ModelCard("not in the bank", "api", "x")])
    priced = {"prompt_price": "0.1", "completion_price": "0.4", "repository": "a/b"}
    assert known(store) == priced
    version = store.snapshot().version
    store.take_cards([weights])
    assert store.snapshot().version == version, "the same cards change nothing"
    (model,) = store.unread_models(
        date_of_the_hub := store.by_model()["m1"].facts["repository"].read_at
    )
    assert model.repository == "a/b" and date_of_the_hub
    store.keep_hub_facts(model, HUB)
    assert known(store)["organisation"] == "of the Hub" and not store.unread_models(date_of_the_hub)
    store.take_cards([ModelCard("m1", "local", "c/d", revision="0" * 40)])
    assert [model.repository for model in store.unread_models(date_of_the_hub)] == ["c/d"]
    store.take_cards([])
    assert known(store) == {}, "nobody links it to the Hub any more"


def test_a_routers_price_has_its_day_and_comes_before_the_cards(store, database, monkeypatch):
    store.take_cards([ModelCard("m1", "api", "x", price=Price(0.1, 0.4))])
    store.take_prices({"m1": Price(0.2, 0.5), "not in the bank": Price(1.0, 1.0)})
    assert known(store) == {"prompt_price": "0.2", "completion_price": "0.5"}
    version = store.snapshot().version
    store.take_prices({"m1": Price(0.2, 0.5)})
    assert store.snapshot().version == version, "it was taken today"
    tomorrow = now() + timedelta(days=1)
    monkeypatch.setattr(fact_store, "now", lambda: tomorrow)
    store.take_prices({"m1": Price(0.2, 0.5)})
    assert store.snapshot().of("m1").facts["prompt_price"].read_at == tomorrow
    store.take_cards([ModelCard("m1", "api", "x", price=Price(0.3, 0.6))])
    assert known(store)["prompt_price"] == "0.2"
    store.take_prices({})
    assert known(store) == {"prompt_price": "0.3", "completion_price": "0.6"}


def test_facts_follow_a_model_to_its_new_name(store, database):
    store.replace_stated({"m1": StatedFacts(licence="mit")})
    assert known(store)
    Ingest(database).rename("m1", "shown")
    store._checked_at = 0.0
    assert known(store, "shown") == {"licence": "mit"} and known(store, "m1") == {}


def test_a_model_that_is_not_here_changes_nothing(store):
    stated = {"m1": StatedFacts(licence="mit"), "nobody": StatedFacts()}
    with pytest.raises(FactError, match="There's no model named 'nobody'. To see the models"):
        store.replace_stated(stated)
    assert known(store) == {}


@pytest.mark.parametrize(
    "wrong, told",
    [
        ({"organisation": "two\nlines"}, "organisation is 'two\\nlines'. It must be one line"),
        ({"licence": "x" * 81}, "It must be one line of at most 80 characters"),
        ({"licence": ""}, "It must be one line"),
        ({"link": "javascript:alert(1)"}, "It must be an https address"),
        ({"link": "http://example.org"}, "It must be an https address"),
        ({"licence_link": "https://ada@example.org/x"}, "It must be an https address"),
        ({"parameters": "many"}, "It must be a number of parameters"),
        ({"parameters": 0}, "It must be a number of parameters"),
        ({"open": "yes"}, "It must be true or false"),
        ({"released": "2026-02-30"}, "It must be a day, a month or a year"),
        ({"prompt_price": -1}, "It must be a number from 0"),
        ({"repository": "https://huggingface.co/a/b"}, "It must be a model on the Hub"),
        ({"color": "red"}, "'color' isn't"),
    ],
)
def test_a_wrong_fact_is_said_in_one_line(wrong, told):
    with pytest.raises(ValidationError) as refused:
        StatedFacts.model_validate(wrong)
    assert told in one_line(refused.value)


def test_days_are_as_exact_as_they_are_known():
    for day in ("2026", "2026-01", "2026-01-31", date(2026, 1, 31)):
        assert StatedFacts.model_validate({"released": day}).released == str(day)


@pytest.mark.parametrize(
    "parameters, text",
    [
        (8_292_166_656, "8.3B"),
        (256_484_928, "256M"),
        (50_000, "0.1M"),
        (30_000, "30000"),
        (8_000_000_000, "8B"),
        (999_950_000, "1B"),
        (235_093_634_560, "235B"),
        (1_040_000_000_000, "1T"),
    ],
)
def test_sizes_are_written_and_read_as_people_write_them(parameters, text):
    assert size_text(parameters) == text
    assert size_text(parse_size(text) or 0) == text and parse_size(text.lower()) == parse_size(text)


def test_what_is_no_size_is_none():
    assert [parse_size(text) for text in ("", "B", "-1B", "8GB", "9" * 40, "1e9")] == [None] * 6
    assert licence_text("Apache-2.0") == licence_text("apache-2.0") == "Apache-2.0"
