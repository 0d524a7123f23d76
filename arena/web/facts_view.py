"""Facts view: the facts of a model in words, at a reveal, on a board and on the model's page."""

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from arena.locale import t
from arena.model_facts import ON_HUB, FactSource, ModelFacts, size_text
from arena.sheets import Column

COLUMN = Column(
    "facts",
    "About the model",
    meaning="Maker, number of parameters and licence, where known. Sorts by parameters. Sources are on the model's "
    "page.",
)
"""The one column of facts on a board, for visitors who ask for it."""
SOURCE_KEYS: Mapping[FactSource, str] = {
    "operator": "facts.from_operator",
    "router": "facts.from_router",
    "card": "facts.from_card",
    "hub": "facts.from_hub",
}


class FactRow(NamedTuple):
    """A fact on a model's page."""

    name: str
    value: str
    source: str
    link: str = ""
    """The address to which the value links; "" for none."""


class NamedLink(NamedTuple):
    """A link with its words."""

    words: str
    address: str


def short_facts(facts: ModelFacts) -> list[str]:
    """Returns maker, size and licence, as far as they are known."""
    texts = (facts.organisation, facts.size, facts.licence)
    return [text for text in texts if text]


def reveal_facts(facts: ModelFacts, cost: int | None = None, answers: int = 1) -> list[str]:
    """Returns a model's facts beside its name at a reveal.

    `cost`: that of its live answers, in millionths of a US dollar; `answers`: their number.
    """
    texts = short_facts(facts)
    if cost and answers == 1:
        texts.append(t("reveal.cost_one", cost=_cost_text(cost)))
    elif cost:
        texts.append(t("reveal.cost_many", cost=_cost_text(cost), count=answers))
    return texts


def _cost_text(cost: int) -> str:
    """Returns a sum of millionths in dollars, with two decimals from ten cents on and up to six for smaller sums."""
    dollars = cost / 1e6
    if cost < 100:
        return f"${dollars:.6f}".rstrip("0")
    if dollars < 0.01:
        return f"${dollars:.4f}"
    if dollars < 0.1:
        return f"${dollars:.3f}"
    return f"${dollars:.2f}"


def fact_rows(facts: ModelFacts) -> list[FactRow]:
    """Returns all facts of a model, each with its source."""
    # The day on the Hub stands in for an unknown release.
    on_hub = None if facts.released else facts.text(ON_HUB)
    link = facts.text("link") or ""
    rows = (
        _row(facts, t("facts.maker"), "organisation", facts.organisation),
        _row(facts, t("facts.licence"), "licence", facts.licence, _licence_link(facts)),
        _row(facts, t("facts.weights"), "open", weights_text(facts)),
        _row(facts, t("facts.parameters"), "parameters", _parameters_text(facts)),
        _row(facts, t("facts.released"), "released", facts.released),
        _row(facts, t("facts.on_hub"), ON_HUB, on_hub),
        _row(facts, t("facts.price"), "completion_price", _price_text(facts)),
        _row(facts, t("facts.link"), "link", link.removeprefix("https://"), link),
    )
    return [row for row in rows if row]


def _row(
    facts: ModelFacts, name: str, field: str, value: str | None, link: str = ""
) -> FactRow | None:
    """Returns the row of a field; None if the fact is unknown."""
    fact = facts.facts.get(field)
    if fact is None or not value:
        return None
    return FactRow(
        name,
        value,
        t("facts.source", source=t(SOURCE_KEYS[fact.source]), day=f"{fact.read_at:%Y-%m-%d}"),
        link,
    )


def weights_text(facts: ModelFacts) -> str:
    if not facts.is_open:
        return t("facts.closed")
    return t("facts.gated" if facts.is_gated else "facts.open")


def _licence_link(facts: ModelFacts) -> str:
    """Returns the address of the licence's text; "" if it comes from another source than the licence."""
    link = facts.facts.get("licence_link")
    licence = facts.facts.get("licence")
    return link.value if link and licence and link.source == licence.source else ""


def _parameters_text(facts: ModelFacts) -> str | None:
    if not facts.active:
        return facts.size
    return t("facts.active", size=facts.size, active=size_text(facts.active))


def _price_text(facts: ModelFacts) -> str:
    prompt = facts.text("prompt_price")
    completion = facts.text("completion_price")
    if prompt is None or completion is None:
        return ""
    return t("facts.prices", prompt=_dollars(prompt), completion=_dollars(completion))


def _dollars(text: str) -> str:
    price = float(text)
    if price >= 0.1 or price == 0:
        return f"${price:,.2f}"
    if price < 0.0001:
        return f"${Decimal(text):f}"
    return f"${price:.4f}".rstrip("0")
