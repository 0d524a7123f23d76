"""Agreement of labellers on kinds of error, the questions that they doubt, and two models' kinds side by side.

Two tests compare the models on questions that both got wrong. Bowker's test of symmetry (1948) asks whether they differ
in kinds at all, over the pairs of kinds that occur. McNemar's exact test asks for each kind whether one model has it
more often, with Holm's (1979) correction over the kinds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from arena.ratings.agreement import Estimate, share
from arena.ratings.shares import Share
from arena.ratings.votes import Codes
from arena.types import grouped
from scoring.multiple_choice.metrics import Comparison, compare_outcomes, holm
from scoring.people.error_shares import merged
from scoring.people.errors import KEYS, NO_ERRORS, ErrorKey, Label, kind_table
from scoring.people.measures import alpha

LEAST_DOUBTS = 2
"""People, or models, whose labels make a question doubted."""


@dataclass(frozen=True)
class LabelAgreement:
    """Agreement of people on answers that several of them labelled."""

    answers: int
    main: Estimate
    """Krippendorff's alpha of the main kinds."""
    kinds: Mapping[ErrorKey, Estimate]
    """Alpha of each chosen kind: of whether it is chosen at all, as the main or a further kind."""
    common: Share
    """Share of pairs of people, answer by answer, with a kind in common."""
    own: Estimate
    """Krippendorff's alpha of the same people's main kinds in their first two rounds."""


def label_agreement(labels: Mapping[str, Iterable[Label]]) -> LabelAgreement:
    """Agreement over all labels, given by model. Between people each one's last round counts."""
    rounds: dict[tuple[str, str], dict[str, dict[int, Label]]] = {}
    for model, labels_of_model in labels.items():
        for label in labels_of_model:
            people = rounds.setdefault((model, label.item), {})
            people.setdefault(label.labeller, {})[label.round] = label
    last_labels = []
    own_rounds = []
    for people in rounds.values():
        last_labels.append([by_round[max(by_round)] for by_round in people.values()])
        for by_round in people.values():
            first_two = sorted(by_round)[:2]
            own_rounds.append([by_round[number].main for number in first_two])
    several = [answer for answer in last_labels if len(answer) > 1]
    kinds_by_answer = [[_kinds(label) for label in answer] for answer in several]
    has_common = [
        bool(first & second)
        for answer in kinds_by_answer
        for first, second in combinations(answer, 2)
    ]
    chosen = {key for kinds in chain.from_iterable(kinds_by_answer) for key in kinds}
    alphas: dict[ErrorKey, Estimate] = {
        key: alpha([[key in kinds for kinds in answer] for answer in kinds_by_answer])
        for key in KEYS
        if key in chosen
    }
    return LabelAgreement(
        answers=len(several),
        main=alpha([[label.main for label in answer] for answer in several]),
        kinds=alphas,
        common=share(sum(has_common), len(has_common)),
        own=alpha(own_rounds),
    )


def _kinds(label: Label) -> set[ErrorKey]:
    """All kinds of a label, main and further."""
    return {label.main, *label.further}


class DoubtedQuestion(NamedTuple):
    """A question that several people, or labels of several models, call wrong or wrongly scored."""

    item: str
    group: str
    people: int
    models: int
    annotation: int
    """Labels that call the question wrong, one a person and model, as the main kind or a further one."""
    right: int
    """Labels that call the answer right, counted in the same way."""
    notes: tuple[str, ...]


def doubted_questions(labels: Mapping[str, Iterable[Label]]) -> list[DoubtedQuestion]:
    """Questions worth sending to a benchmark's authors, from labels by model; the most doubted first."""
    last: dict[tuple[str, str, str], Label] = {}
    for model, labels_of_model in labels.items():
        for label in sorted(labels_of_model, key=lambda label: label.round):
            last[label.item, label.labeller, model] = label
    doubts = grouped(
        (item, (model, label))
        for (item, _, model), label in last.items()
        if NO_ERRORS & _kinds(label)
    )
    questions = [_doubted(item, labels_of_item) for item, labels_of_item in doubts.items()]
    several = [
        question for question in questions if max(question.people, question.models) >= LEAST_DOUBTS
    ]
    return sorted(several, key=_doubt_order)


def _doubted(item: str, doubts: Sequence[tuple[str, Label]]) -> DoubtedQuestion:
    """A question from its doubting labels, each with its model."""
    labels = [label for _, label in doubts]
    return DoubtedQuestion(
        item=item,
        group=labels[0].group,
        people=len({label.labeller for label in labels}),
        models=len({model for model, _ in doubts}),
        annotation=sum("annotation" in _kinds(label) for label in labels),
        right=sum("right" in _kinds(label) for label in labels),
        notes=tuple(dict.fromkeys(label.note for label in labels if label.note)),
    )


def _doubt_order(question: DoubtedQuestion) -> tuple[int, int, int, str]:
    return (-question.people, -question.models, -question.annotation, question.item)


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
    """Compares the main kinds of two models, from each one's labels, on the items labelled for both."""
    first_kinds: dict[str, ErrorKey] = {label.item: label.main for label in merged(first)}
    second_kinds: dict[str, ErrorKey] = {label.item: label.main for label in merged(second)}
    pairs: list[tuple[ErrorKey, ErrorKey]] = [
        (kind, second_kinds[item]) for item, kind in first_kinds.items() if item in second_kinds
    ]
    table = kind_table(pairs)
    tests: dict[ErrorKey, Comparison] = {
        key: compare_outcomes(key, [(kind == key, other == key) for kind, other in pairs])
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

    upper = np.triu_indices(len(table), 1)
    above = table[upper]
    below = table.T[upper]
    occurs = above + below > 0
    freedom = int(occurs.sum())
    statistic = float(((above - below)[occurs] ** 2 / (above + below)[occurs]).sum())
    return Symmetry(statistic, freedom, float(chdtrc(freedom, statistic)) if freedom else 1.0)
