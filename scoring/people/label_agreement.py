"""Agreement of labellers on kinds of error, the questions that they doubt, and two models' kinds side by side.

Of the questions that two models got wrong, Bowker's test of symmetry (1948) asks whether the models exchange kinds
alike, over the pairs of kinds that occur; McNemar's exact test asks of each kind whether one model has it more often,
with Holm's (1979) correction over the kinds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from arena.ratings.agreement import Estimate, share
from arena.ratings.shares import Share
from arena.ratings.votes import Codes
from arena.types import grouped
from scoring.multiple_choice.metrics import Comparison, compared, holm
from scoring.people.error_shares import merged
from scoring.people.errors import KEYS, NO_ERRORS, ErrorKey, Label, kind_table
from scoring.people.measures import alpha

LEAST_DOUBTS = 2
"""People, or models, from which a question is doubted."""


@dataclass(frozen=True)
class LabelAgreement:
    """How far people agree on answers that several of them labelled."""

    answers: int
    main: Estimate
    """Krippendorff's alpha of the main kinds."""
    kinds: Mapping[ErrorKey, Estimate]
    """Of each kind that anybody names: whether it is named at all, as the main or a further one."""
    common: Share
    """Pairs of people, answer by answer, that have a kind in common."""
    own: Estimate
    """Krippendorff's alpha of the same people's main kinds in their first two rounds."""


def label_agreement(labels: Mapping[str, Iterable[Label]]) -> LabelAgreement:
    """Agreement over all models' labels, by model. Between people the last round of each counts."""
    rounds: dict[tuple[str, str], dict[str, dict[int, Label]]] = {}
    for model, given in labels.items():
        for one in given:
            rounds.setdefault((model, one.item), {}).setdefault(one.labeller, {})[one.round] = one
    every = [[of[max(of)] for of in people.values()] for people in rounds.values()]
    several = [people for people in every if len(people) > 1]
    named = [[{one.main, *one.further} for one in people] for people in several]
    pairs = [bool(one & other) for people in named for one, other in combinations(people, 2)]
    again = [
        [of[number].main for number in sorted(of)[:2]]
        for people in rounds.values()
        for of in people.values()
    ]
    used: list[ErrorKey] = [
        key for key in KEYS if any(key in one for people in named for one in people)
    ]
    kinds: dict[ErrorKey, Estimate] = {
        key: alpha([[key in one for one in people] for people in named]) for key in used
    }
    return LabelAgreement(
        answers=len(several),
        main=alpha([[one.main for one in people] for people in several]),
        kinds=kinds,
        common=share(sum(pairs), len(pairs)),
        own=alpha(again),
    )


class DoubtedQuestion(NamedTuple):
    """A question that several people, or labels of several models, call wrong or wrongly scored."""

    item: str
    group: str
    people: int
    models: int
    annotation: int
    """Labels that the question is wrong, one a person and model, as the main kind or a further one."""
    right: int
    notes: tuple[str, ...]


def doubted_questions(labels: Mapping[str, Iterable[Label]]) -> list[DoubtedQuestion]:
    """Questions worth sending to a benchmark's authors, from labels by model; those that most people doubt first."""
    last: dict[tuple[str, str, str], Label] = {}
    for model, given in labels.items():
        for one in sorted(given, key=lambda label: label.round):
            last[one.item, one.labeller, model] = one
    doubts = (
        (item, (model, one))
        for (item, _, model), one in last.items()
        if NO_ERRORS & {one.main, *one.further}
    )
    found = [_doubted(item, given) for item, given in grouped(doubts).items()]
    several = [one for one in found if max(one.people, one.models) >= LEAST_DOUBTS]
    return sorted(several, key=lambda one: (-one.people, -one.models, -one.annotation, one.item))


def _doubted(item: str, given: Sequence[tuple[str, Label]]) -> DoubtedQuestion:
    labels = [one for _, one in given]
    people = {one.labeller for one in labels}
    models = {model for model, _ in given}
    annotation, right = (
        sum(key in (one.main, *one.further) for one in labels) for key in ("annotation", "right")
    )
    notes = tuple(dict.fromkeys(one.note for one in labels if one.note))
    return DoubtedQuestion(
        item, labels[0].group, len(people), len(models), annotation, right, notes
    )


class Symmetry(NamedTuple):
    """Bowker's test."""

    statistic: float
    freedom: int
    """Pairs of kinds that the models exchange at least once."""
    p: float
    """1.0 if they never differ."""


class KindDifference(NamedTuple):
    """One kind in two models."""

    counts: Comparison
    holm: float
    """p with Holm's correction over the kinds that occur."""


class ErrorComparison(NamedTuple):
    """Two models on common items."""

    items: int
    table: Codes
    """Items by the first model's kind (row) and the second's (column), in the order of the keys."""
    symmetry: Symmetry
    kinds: Mapping[ErrorKey, KindDifference]


def compare_errors(first: Iterable[Label], second: Iterable[Label]) -> ErrorComparison:
    """Compare the main kinds of two models, each with its own labels."""
    one: dict[str, ErrorKey] = {label.item: label.main for label in merged(first)}
    other: dict[str, ErrorKey] = {label.item: label.main for label in merged(second)}
    pairs: list[tuple[ErrorKey, ErrorKey]] = [
        (main, other[item]) for item, main in one.items() if item in other
    ]
    table = kind_table(pairs)
    tests: dict[ErrorKey, Comparison] = {
        key: compared(key, [(here == key, there == key) for here, there in pairs])
        for key in KEYS
        if any(key in pair for pair in pairs)
    }
    corrected = holm([test.p for test in tests.values()])
    kinds: dict[ErrorKey, KindDifference] = {
        key: KindDifference(test, p)
        for (key, test), p in zip(tests.items(), corrected, strict=True)
    }
    return ErrorComparison(len(pairs), table, bowker(table), kinds)


def bowker(table: Codes) -> Symmetry:
    """Bowker's test of a square table of counts; pairs that never occur have no degree of freedom."""
    from scipy.special import chdtrc

    above, below = (side[np.triu_indices(len(table), 1)] for side in (table, table.T))
    seen = above + below > 0
    freedom = int(seen.sum())
    statistic = float(((above - below)[seen] ** 2 / (above + below)[seen]).sum())
    return Symmetry(statistic, freedom, float(chdtrc(freedom, statistic)) if freedom else 1.0)
