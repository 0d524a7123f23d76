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
from scoring.people.error_shares import merge_labels
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
    same_person: Estimate
    """Krippendorff's alpha of the same people's main kinds in their first two rounds."""

    @property
    def has_repeats(self) -> bool:
        """Whether several people labelled an answer, or people's agreement with themselves is known."""
        return self.answers > 0 or self.same_person.value is not None


def label_agreement(labels_by_model: Mapping[str, Iterable[Label]]) -> LabelAgreement:
    """Agreement over all labels. Between people, each one's last round counts."""
    first_two_rounds = []
    shared_answers = []
    for rounds_by_person in _rounds_by_answer(labels_by_model):
        first_two_rounds += [[label.main for label in rounds[:2]] for rounds in rounds_by_person]
        if len(rounds_by_person) > 1:
            shared_answers.append([rounds[-1] for rounds in rounds_by_person])
    label_kinds_by_answer = [[_kinds(label) for label in labels] for labels in shared_answers]
    pairs = chain.from_iterable(
        combinations(label_kinds, 2) for label_kinds in label_kinds_by_answer
    )
    has_common = [bool(first & second) for first, second in pairs]
    chosen_kinds = {key for labels in shared_answers for label in labels for key in _kinds(label)}
    alphas: dict[ErrorKey, Estimate] = {}
    for key in KEYS:
        if key in chosen_kinds:
            is_chosen = [
                [key in kinds for kinds in label_kinds] for label_kinds in label_kinds_by_answer
            ]
            alphas[key] = alpha(is_chosen)
    return LabelAgreement(
        answers=len(shared_answers),
        main=alpha([[label.main for label in labels] for labels in shared_answers]),
        kinds=alphas,
        common=share(sum(has_common), len(has_common)),
        same_person=alpha(first_two_rounds),
    )


def _rounds_by_answer(
    labels_by_model: Mapping[str, Iterable[Label]],
) -> list[list[Sequence[Label]]]:
    """For each answer of a model, each person's labels in the order of their rounds."""
    labels_by_answer: dict[tuple[str, str], dict[str, dict[int, Label]]] = {}
    for model, labels in labels_by_model.items():
        for label in labels:
            people = labels_by_answer.setdefault((model, label.item), {})
            people.setdefault(label.labeller, {})[label.round] = label
    answers = []
    for people in labels_by_answer.values():
        answers.append([_in_order_of_rounds(by_round) for by_round in people.values()])
    return answers


def _in_order_of_rounds(labels: Mapping[int, Label]) -> Sequence[Label]:
    return [labels[number] for number in sorted(labels)]


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
    """Labels that call the question wrong, as the main or a further kind: for each model, each person's last one."""
    right: int
    """Labels that call the answer right, counted in the same way."""
    notes: tuple[str, ...]


def doubted_questions(labels_by_model: Mapping[str, Iterable[Label]]) -> list[DoubtedQuestion]:
    """Questions worth sending to a benchmark's authors; the most doubted first."""
    last_labels: dict[tuple[str, str, str], _ModelLabel] = {}
    for model, labels_of_model in labels_by_model.items():
        for label in sorted(labels_of_model, key=lambda label: label.round):
            last_labels[label.item, label.labeller, model] = _ModelLabel(model, label)
    doubts = grouped(
        (doubt.label.item, doubt)
        for doubt in last_labels.values()
        if NO_ERRORS & _kinds(doubt.label)
    )
    questions = [_doubted_question(item, doubts_of_item) for item, doubts_of_item in doubts.items()]
    doubted = [
        question for question in questions if max(question.people, question.models) >= LEAST_DOUBTS
    ]
    return sorted(doubted, key=_doubt_order)


class _ModelLabel(NamedTuple):
    """A label of a model's answer."""

    model: str
    label: Label


def _doubted_question(item: str, doubts: Sequence[_ModelLabel]) -> DoubtedQuestion:
    """A question from the labels that doubt it."""
    labels = [doubt.label for doubt in doubts]
    return DoubtedQuestion(
        item=item,
        group=labels[0].group,
        people=len({label.labeller for label in labels}),
        models=len({doubt.model for doubt in doubts}),
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
    """McNemar's comparison of two models in whether an error is of one kind."""

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
    first_kinds: dict[str, ErrorKey] = {label.item: label.main for label in merge_labels(first)}
    second_kinds: dict[str, ErrorKey] = {label.item: label.main for label in merge_labels(second)}
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
