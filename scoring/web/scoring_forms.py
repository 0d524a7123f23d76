"""Forms of "Score a model": the choices of each setting, by key, and the price of each way to judge a file.

The browser sends keys. Their words are in the locales: `score.way`, `score.gives`, `score.missing` and so on.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from arena.locale import t, translated
from scoring.benchmarks.base import Workflow
from scoring.jobs.files import JobServiceError
from scoring.jobs.submissions import Opponents
from scoring.judges.run import Quote

OWN_JUDGE = "own key"
"""The choice of a visitor's own judge, beside the name of the site's; a name of a model has no blank."""
MISSING = ("stop", "unscored")
"""What is done about questions without an answer in the file."""


class Runs(NamedTuple):
    """The runs of a way to judge free answers."""

    count: int
    are_samples: bool
    """Whether they are samples of one call."""


RUNS = {"once": Runs(1, False), "samples": Runs(5, True), "runs": Runs(5, False)}
"""Ways to judge free answers, the cheapest first."""
OPPONENTS: Mapping[str, Opponents] = {"reference": "reference", "three": 3, "all": "all"}
"""Ways to compare answers, the cheapest first."""
EVERY = "every"
"""The one way to judge a file of a benchmark without such a choice."""
WAYS: Mapping[Workflow, Iterable[str]] = {
    "questions first": RUNS,
    "compare": OPPONENTS,
    "sealed": ["reference"],
}
"""The ways to judge a file, where there is another than `EVERY`."""
REFERENCES = ("free", "backed")
"""Whether the judge of a comparison sees the reference."""
CONTEXTS = ("captions", "images")
"""What the judge of a comparison sees of the pictures."""


class Offer(NamedTuple):
    """A way to judge a file."""

    key: str
    """Its key among `RUNS`, `OPPONENTS` and `EVERY`."""
    cost: Quote | None
    """None if it is unknown."""
    hindrance: str = ""
    """Why it can't be started as it is."""

    @property
    def text(self) -> str:
        """Its name and price, and below them what it gives, or what hinders it."""
        name = t(f"score.way.{self.key}")
        head = name if self.cost is None else f"{name} · {price_text(self.cost)}"
        return "\n".join(filter(None, (head, t(f"score.gives.{self.key}"), self.hindrance)))


def prices_text(offers: Sequence[Offer]) -> str:
    """Returns the offers' known prices as the browser keeps them, in millionths of a US dollar."""
    lines = []
    for offer in offers:
        if offer.cost and offer.cost.dollars is not None:
            lines.append(f"{offer.key}@{round(offer.cost.dollars * 1e6)}")
    return "\n".join(lines)


def quoted_dollars(prices: object, key: object) -> float | None:
    """Returns the dollars that the offer of this key was shown with, from the prices that the browser kept."""
    for line in str(prices or "").splitlines():
        offer_key, _, millionths = line.partition("@")
        if offer_key == key and millionths.isdecimal() and len(millionths) < 15:
            return int(millionths) / 1e6
    return None


def price_text(cost: Quote) -> str:
    if cost.dollars is None:
        return t("score.price_unknown")
    if cost.dollars == 0:
        return t("score.price_free")
    return dollars_text(cost.dollars)


def dollars_text(dollars: float) -> str:
    return f"${dollars:,.2f}" if dollars >= 0.005 else t("score.under_a_cent")


def count_text(number: int, unit: str) -> str:
    """Returns a number with a benchmark's noun for what a judge reads, as in "3 answers"."""
    return t("score.counted", count=number, unit=translated(unit))


def choices(table: str, keys: Iterable[str]) -> list[tuple[str, str]]:
    """Returns the choices of a setting: their words in the current language, with their keys."""
    return [(t(f"score.{table}.{key}"), key) for key in keys]


def check_choice(keys: Collection[str], sent: object) -> Any:
    """Returns the key that the browser sent if it is one of these. Raises JobServiceError for any other."""
    if not isinstance(sent, str) or sent not in keys:
        raise JobServiceError(f"Choose one of: {', '.join(keys)}.")
    return sent


def choose_offer(offers: Sequence[Offer], sent: object) -> Offer:
    """Returns the offer that the browser sent if it can be started; else the dearest that can be, or the first."""
    startable = [offer for offer in offers if not offer.hindrance]
    for offer in startable:
        if offer.key == sent:
            return offer
    return startable[-1] if startable else offers[0]
