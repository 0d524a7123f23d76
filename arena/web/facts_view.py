"""Facts view: what is known of a model as pages say it, at a reveal, on a board and on the model's page."""

from collections.abc import Mapping
from typing import NamedTuple

from arena.locale import t
from arena.model_facts import ON_HUB, FactSource, ModelFacts, size_text
from arena.sheets import Column

COLUMN = Column(
    "facts",
    "About the model",
    meaning="Maker, number of parameters and licence, as far as they are known. Sorted by parameters. The model's page "
    "has the source of each.",
)
"""The one column of facts on a board, for who asks for it."""
SOURCE_WORDS: Mapping[FactSource, str] = {
    "operator": "stated by the operators",
    "router": "the lowest at Hugging Face's router",
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


def at_reveal(facts: ModelFacts, cost: int | None = None, answers: int = 1) -> list[str]:
    """Return what is told of a model with its name; `cost` of its live answers in millionths of a US dollar."""
    told = in_short(facts)
    if cost and answers == 1:
        told.append(t("reveal.cost_one", cost=_cost_text(cost)))
    elif cost:
        told.append(t("reveal.cost_many", cost=_cost_text(cost), count=answers))
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
    on_hub = None if facts.released else facts.text(ON_HUB)
    link = facts.text("link") or ""
    rows = (
        _row(facts, "Maker", "organisation", facts.organisation),
        _row(facts, "Licence", "licence", facts.licence, _licence_link(facts)),
        _row(facts, "Weights", "open", weights_text(facts)),
        _row(facts, "Parameters", "parameters", _parameters_text(facts)),
        _row(facts, "Released", "released", facts.released),
        _row(facts, "On the Hub since", ON_HUB, on_hub),
        _row(facts, "Price", "completion_price", _price_text(facts)),
        _row(facts, "Link", "link", link.removeprefix("https://"), link),
    )
    return [row for row in rows if row]


def _row(
    facts: ModelFacts, name: str, field: str, value: str | None, link: str = ""
) -> FactRow | None:
    fact = facts.facts.get(field)
    if fact is None or not value:
        return None
    return FactRow(name, value, f"{SOURCE_WORDS[fact.source]}, {fact.read_at:%Y-%m-%d}", link)


def weights_text(facts: ModelFacts) -> str:
    if not facts.is_open:
        return "closed"
    return "open, gated" if facts.is_gated else "open"


def _licence_link(facts: ModelFacts) -> str:
    """Return where the licence is to be read; not one that another source has of another licence."""
    link = facts.facts.get("licence_link")
    licence = facts.facts.get("licence")
    return link.value if link and licence and link.source == licence.source else ""


def _parameters_text(facts: ModelFacts) -> str | None:
    return f"{facts.size}, {size_text(facts.active)} active" if facts.active else facts.size


def _price_text(facts: ModelFacts) -> str:
    prompt = facts.text("prompt_price")
    completion = facts.text("completion_price")
    if prompt is None or completion is None:
        return ""
    return f"{_dollars(prompt)} in, {_dollars(completion)} out, for a million tokens"


def _dollars(text: str) -> str:
    price = float(text)
    return f"${price:,.2f}" if price >= 0.1 or price == 0 else f"${price:.4f}".rstrip("0")
