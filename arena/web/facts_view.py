"""Facts view: what is known of a model as pages say it, at a reveal, on a board and on the model's page."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from arena.model_facts import ON_HUB, Fact, FactSource, ModelFacts, size_text
from arena.sheets import Column
from arena.web.words import Words

COLUMN = Column(
    "facts",
    "About the model",
    meaning="Maker, number of parameters and licence, as far as they are known. Sorted by parameters. The model's page "
    "has the source of each.",
)
"""The one column of facts on a board, for who asks for it."""
SOURCE_WORDS: Mapping[FactSource, str] = {
    "operator": "stated by the operators",
    "card": "from the operators' models file",
    "hub": "from the Hugging Face Hub",
}


class FactRow(NamedTuple):
    """A fact on a model's page."""

    name: str
    value: str
    source: str
    link: str = ""
    """To which its value leads; "" for none."""


class NamedLink(NamedTuple):
    """A link with its words."""

    words: str
    address: str


def in_short(facts: ModelFacts) -> list[str]:
    """Return maker, size and licence, as far as they are known."""
    return list(filter(None, (facts.organisation, facts.size, facts.licence)))


def at_reveal(
    facts: ModelFacts, words: Words, cost: int | None = None, answers: int = 1
) -> list[str]:
    """Return what is told of a model with its name; `cost` of its live answers in millionths of a US dollar."""
    told = in_short(facts)
    if cost and answers == 1:
        told.append(words["cost_one"].format(_cost_text(cost)))
    elif cost:
        told.append(words["cost_many"].format(_cost_text(cost), answers))
    return told


def _cost_text(cost: int) -> str:
    """Return a small sum in dollars: cents to two places, less with as many as it takes."""
    dollars = cost / 1e6
    if cost < 100:
        return f"${dollars:.6f}".rstrip("0")
    places = 4 if dollars < 0.01 else 3 if dollars < 0.1 else 2
    return f"${dollars:.{places}f}"


def fact_rows(facts: ModelFacts) -> list[FactRow]:
    """Return all that is known of a model, each fact with its source."""
    rows = _rows(facts)
    return [FactRow(name, value, _source(fact), link) for name, value, fact, link in rows]


def _rows(facts: ModelFacts) -> Iterator[tuple[str, str, Fact, str]]:
    known = facts.facts
    if facts.organisation:
        yield "Maker", facts.organisation, known["organisation"], ""
    if facts.licence:
        yield "Licence", facts.licence, known["licence"], _licence_link(facts)
    if facts.is_open is not None:
        yield "Weights", weights_text(facts), known["open"], ""
    if facts.parameters:
        yield "Parameters", _parameters_text(facts), known["parameters"], ""
    if facts.released:
        yield "Released", facts.released, known["released"], ""
    elif ON_HUB in known:
        yield "On the Hub since", known[ON_HUB].value, known[ON_HUB], ""
    if "prompt_price" in known and "completion_price" in known:
        yield "Price", _price_text(facts), known["completion_price"], ""
    if "link" in known:
        link = known["link"].value
        yield "Link", link.removeprefix("https://"), known["link"], link


def weights_text(facts: ModelFacts) -> str:
    if not facts.is_open:
        return "closed"
    return "open, gated" if facts.is_gated else "open"


def _licence_link(facts: ModelFacts) -> str:
    """Return where the licence is to be read; not one that another source has of another licence."""
    link = facts.facts.get("licence_link")
    is_same = link is not None and link.source == facts.facts["licence"].source
    return link.value if link and is_same else ""


def _parameters_text(facts: ModelFacts) -> str:
    active = f", {size_text(facts.active)} active" if facts.active else ""
    return f"{facts.size}{active}"


def _price_text(facts: ModelFacts) -> str:
    prompt = _dollars(facts.text("prompt_price"))
    completion = _dollars(facts.text("completion_price"))
    return f"{prompt} in, {completion} out, for a million tokens"


def _dollars(text: str | None) -> str:
    price = float(text or 0)
    return f"${price:,.2f}" if price >= 0.1 or price == 0 else f"${price:.4f}".rstrip("0")


def _source(fact: Fact) -> str:
    day = f"{fact.read_at:%Y-%m-%d}"
    return f"{SOURCE_WORDS[fact.source]}, {day}"
