"""Agreement of labellers on kinds of error, and the questions that they doubt."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from arena.ratings.agreement import LEAST_CONTESTS, ROUNDS, Estimate, share
from arena.ratings.intervals import percentiles
from arena.ratings.shares import Share
from arena.ratings.votes import Floats
from arena.types import grouped
from scoring.people.error_shares import KEYS
from scoring.people.errors import NO_ERRORS, ErrorKey, Label

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


def alpha(units: Iterable[Sequence[Hashable]]) -> Estimate:
    """Krippendorff's alpha, nominal, of the values that each unit was given, with a bootstrap over the units.

    Undefined (None) where no unit has two values, or all values are the same.
    """
    paired = [values for values in units if len(values) > 1]
    kinds = {
        value: place
        for place, value in enumerate(dict.fromkeys(value for values in paired for value in values))
    }
    counts = np.zeros((len(paired), len(kinds)))
    for row, values in enumerate(paired):
        for value in values:
            counts[row, kinds[value]] += 1
    if len(kinds) < 2:
        return Estimate(None, None, None)
    value = float(_alpha(np.ones((1, len(paired))), counts)[0])
    if len(paired) < LEAST_CONTESTS:
        return Estimate(value, None, None)
    # units of the same values are drawn as one kind
    counts, alike = np.unique(counts, axis=0, return_counts=True)
    drawn = np.random.default_rng(0).multinomial(len(paired), alike / len(paired), ROUNDS)
    low, high = percentiles(_alpha(drawn.astype(float), counts))
    return Estimate(value, float(low), float(high))


def _alpha(weights: Floats, counts: Floats) -> Floats:
    """Alpha of each draw (draws x units) of counts (units x values); 1 where a draw has one value only."""
    size = counts.sum(1)
    apart = (size**2 - (counts**2).sum(1)) / (size - 1)
    total = weights @ size
    values = weights @ counts
    chance = (total**2 - (values**2).sum(1)) / (total - 1)
    return 1 - np.divide(weights @ apart, chance, out=np.zeros(len(weights)), where=chance > 0)


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
