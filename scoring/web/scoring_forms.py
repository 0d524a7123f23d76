"""Forms of "Score a model": the choices of each setting, by label, and the price of each way to judge a file."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from scoring.benchmarks.base import Workflow
from scoring.jobs.files import JobServiceError
from scoring.jobs.submissions import Opponents
from scoring.judges.run import Quote

VANILLA = "Score it as vanilla (free)"
"""Label of the button for a file that cannot be scored as circular."""
GRADED = "Make the report (free)"
"""Label of the button for a file of grades, which no judge reads."""
OWN = "My own key"
MISSING = {"Stop and tell me": "stop", "Leave them unscored": "unscored"}
RUNS = {"1 run": (1, False), "5 samples": (5, True), "5 runs": (5, False)}
"""Ways to judge by label, as below: the cheapest first."""
OPPONENTS: Mapping[str, Opponents] = {
    "The reference alone": "reference",
    "3 models an item": 3,
    "All models": "all",
}
WAYS: Mapping[Workflow, Iterable[str]] = {
    "questions first": RUNS,
    "compare": OPPONENTS,
    "sealed": ["The reference alone"],
}
"""The labels of the ways to judge a file, where there is more than `ALL`."""
ALL = "Every answer"
"""The one way to judge a file of a benchmark without such a choice."""
GIVES = {
    "1 run": "each answer graded once",
    "5 samples": "five grades an answer, asked for in one call",
    "5 runs": "each answer graded five times, and how far the runs differ",
    "The reference alone": "each answer beside the one that people verified",
    "3 models an item": "each answer beside three others, drawn by lot",
    "All models": "each answer beside all others, and a place among the judge models",
    ALL: "graded once",
}
REFERENCES = {"Reference-free, as in the paper": "free", "Shown the reference": "backed"}
CONTEXTS = {"Captions": "captions", "The images (a vision judge)": "images"}
"""Judge's context by label."""


class Offer(NamedTuple):
    """A way to judge a file; `hindrance` says why it cannot be started as it is."""

    label: str
    cost: Quote | None
    hindrance: str = ""

    @property
    def text(self) -> str:
        """Its label and price, and below them what it gives, or what hinders it."""
        head = self.label if self.cost is None else f"{self.label} · {price_text(self.cost)}"
        return "\n".join(filter(None, (head, GIVES[self.label], self.hindrance)))


def prices_text(offers: Sequence[Offer]) -> str:
    """Returns the offers' known prices as the browser keeps them, in millionths of a US dollar."""
    prices = {offer.label: offer.cost.dollars for offer in offers if offer.cost}
    return "\n".join(
        f"{label}@{round(dollars * 1e6)}"
        for label, dollars in prices.items()
        if dollars is not None
    )


def quoted_dollars(prices: object, label: object) -> float | None:
    """Returns the dollars that an offer was shown with, from the prices that the browser kept."""
    for line in str(prices or "").splitlines():
        name, _, micros = line.partition("@")
        if name == label and micros.isdecimal() and len(micros) < 15:
            return int(micros) / 1e6
    return None


def price_text(cost: Quote) -> str:
    if cost.dollars is None:
        return "price unknown"
    if cost.dollars == 0:
        return "free: all known already"
    return f"${cost.dollars:,.2f}" if cost.dollars >= 0.005 else "under $0.01"


def one_of(choices: Mapping[str, Any], word: object) -> Any:
    """Returns the value of a label. Raises JobServiceError for another word."""
    if not isinstance(word, str) or word not in choices:
        raise JobServiceError(f"Choose one of: {', '.join(choices)}.")
    return choices[word]


def chosen(offers: Sequence[Offer], sent: object) -> Offer:
    """Returns the chosen offer if it can be started; else the last that can be, or the first."""
    startable = [offer for offer in offers if not offer.hindrance]
    same = [offer for offer in startable if offer.label == sent]
    return (same or startable[-1:] or offers)[0]
