"""Multiple-choice metrics: accuracies with intervals and their means, extraction success rates, McNemar comparisons."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from arena.types import grouped
from scoring.multiple_choice.circular_eval import Circle
from scoring.multiple_choice.pictures import shared_pictures
from scoring.multiple_choice.reader import Problem
from scoring.multiple_choice.types import (
    NONE,
    PASS,
    ChoiceQuestion,
    Decided,
    Decision,
    Protocol,
    Step,
)
from scoring.report import ScoreLine, csv_bytes

_MOST_LISTED = 20
NARROWEST = "category"
"""Level of the narrowest groups of multiple choice."""
_IN_CSV = ("l2", NARROWEST)
S = TypeVar("S", bound="SplitScores")


@dataclass(frozen=True)
class Node:
    """A line of an expandable table with the lines below it."""

    line: ScoreLine
    level: str
    """Column whose group it is; "overall" at the top, and "split" for a split."""
    children: tuple["Node", ...] = ()

    def walk(self) -> Iterable["Node"]:
        yield self
        for child in self.children:
            yield from child.walk()

    def find(self, level: str) -> tuple["Node", ...]:
        return tuple(node for node in self.walk() if node.level == level)


def undecided_is_wrong(protocol: Protocol) -> bool:
    """Whether undecided answers count as wrong, as in both papers' tools; under `strict` they stay unscored."""
    return protocol != "strict"


@dataclass(frozen=True)
class Success:
    """Number of answers read by each extraction step (MMBench, Table 2; MMT-Bench, Table A17)."""

    n: int
    by_step: Mapping[Step, int]
    none: int
    """Answers read as "none of the options" by rules or judge: refusals."""

    def rate(self, *steps: Step) -> float | None:
        return 100 * sum(self.by_step.get(step, 0) for step in steps) / self.n if self.n else None

    @property
    def refused(self) -> float | None:
        return 100 * self.none / self.n if self.n else None


def success(decisions: Iterable[Decision]) -> Success:
    """The number of decisions by step."""
    times: Counter[Step] = Counter()
    refused = 0
    for decision in decisions:
        is_none = decision.letter == NONE and decision.step != "fallback"
        times["none" if is_none else decision.step] += 1
        refused += is_none
    return Success(times.total(), dict(times), refused)


def missing_problem(
    count: int, total: int, whole: str, known: Sequence[ChoiceQuestion] | None
) -> Problem:
    """The problem that `count` questions have no answer; `known` are these questions, None without a question file."""
    if known is None:
        which = "To see which, compare the column index with the benchmark's question file."
    else:
        ids = ", ".join(str(question.index) for question in known[:_MOST_LISTED])
        others = len(known) - _MOST_LISTED
        if others > 0:
            ids = f"{ids} and {others:,} more. All are in the file -missing.csv"
        which = f"Add index {ids}."
    text = f"No answer to {count:,} of the {total:,} questions in {whole}. {which}"
    return Problem(0, None, text, "whole")


def parts_of(
    questions: Sequence[ChoiceQuestion], file: str, published: re.Pattern[str], whole: str
) -> Iterator[tuple[str, str | None, Sequence[ChoiceQuestion]]]:
    """Yields a file's splits, the text with the name of a published split, and the questions.

    The text is the split, or the file's name; "" if neither has a published name, and None if only other splits have
    one. If no split has a published name, all questions are one split, `whole`.
    """
    splits = grouped((question.split, question) for question in questions)
    is_unnamed = not any(map(published.search, splits))
    if is_unnamed and len(splits) > 1:
        splits = {whole: [*questions]}
    for split, members in splits.items():
        may_be_file = is_unnamed or not split
        if published.search(split):
            text: str | None = split
        elif may_be_file and published.search(file):
            text = file
        else:
            text = "" if is_unnamed else None
        yield split, text, members


def picture_problems(questions: Iterable[ChoiceQuestion]) -> tuple[Problem, ...]:
    """The number of questions that share a picture or, without picture names in the file, that may share one."""
    base = [question for question in questions if question.index < PASS]
    known = [question.picture for question in base if question.picture]
    if known:
        text = shared_pictures(known)
        return (Problem(0, None, text, "nothing"),) if text else ()
    times = Counter(
        (question.text, *question.options.values(), question.answer) for question in base
    )
    repeated = sum(count for count in times.values() if count > 1)
    text = (
        f"{repeated:,} of {len(base):,} questions have the text, options and answer of another. If they share a "
        "picture, intervals are too narrow. Add a column image_id."
    )
    return (Problem(0, None, text, "nothing"),) if repeated else ()


class LetterCount(NamedTuple):
    """The number of predictions of a letter, and of questions that it is the answer to (MMBench, Figure 4)."""

    letter: str
    predicted: int
    right: int


def letter_counts(rows: Sequence[Decided]) -> tuple[LetterCount, ...]:
    """Counts of predicted and right letters over all rows, including all passes of a circular file."""
    predicted = Counter(row.decision.letter for row in rows if row.decision.letter)
    right = Counter(row.question.answer for row in rows if row.question.answer)
    return tuple(
        LetterCount(letter, predicted[letter], right[letter])
        for letter in sorted({*predicted, *right})
    )


@dataclass(frozen=True)
class SplitScores:
    """Accuracies of one split, or of all."""

    split: str
    """Name of the split as in the file; "" for a file without splits."""
    tree: Node
    """The Overall and what is below it."""


@dataclass(frozen=True)
class ChoiceTables(Generic[S]):
    """Results of one file under one protocol."""

    protocol: Protocol
    splits: tuple[S, ...]
    """One per split, followed by one of all."""
    problems: tuple[Problem, ...]
    success: Success
    letters: tuple[LetterCount, ...]
    without_answer: int
    """Rows without a known right answer: extracted, not scored."""
    missing: tuple[ChoiceQuestion, ...]
    """Rows of the question file with no answer in the file."""
    partial: bool
    """Whether answers are missing, so that the score is not that of the whole benchmark."""

    def accuracy_csv(self) -> bytes:
        """The public toolkit's `_acc.csv`: fractions, one line per split."""
        trees = {scores.split or "none": scores.tree for scores in self.splits}
        keys = [("overall", "Overall")]
        for level in _IN_CSV:
            names = {node.line.name for tree in trees.values() for node in tree.find(level)}
            keys.extend((level, name) for name in sorted(names))
        rows = []
        for split, tree in trees.items():
            means = {(node.level, node.line.name): node.line.mean for node in tree.walk()}
            rows.append((split, [means.get(key) for key in keys]))
        return fractions_csv([name for _, name in keys], rows)


def fractions_csv(
    heads: Sequence[str], rows: Iterable[tuple[str, Sequence[float | None]]]
) -> bytes:
    cells = (
        [split, *("" if mean is None else repr(mean / 100) for mean in means)]
        for split, means in rows
    )
    return csv_bytes(["split", *heads], cells, "utf-8")


class Compared(NamedTuple):
    """Two models on the same questions."""

    over: str
    """Description of these questions."""
    lines: tuple["Comparison", ...]


@dataclass(frozen=True)
class Comparison:
    """Two models' outcomes on the same questions, where both are scored."""

    name: str
    both: int
    first_only: int
    second_only: int
    neither: int
    p: float
    """Two-sided exact McNemar test, over pictures where they are known; 1.0 if the models never differ."""


Scored = Decided | Circle
"""A scored unit, right, wrong or neither: an answer, or a question with all its passes."""
Pair = tuple[bool | None, bool | None]
"""Two models' outcomes on a question."""


def compared(name: str, pairs: Iterable[Pair], pictures: Iterable[str] | None = None) -> Comparison:
    """McNemar's comparison of paired outcomes; a pair with an unscored side is left out.

    `pictures` has the picture of each question as a text, "" if unknown: questions about one picture change sides
    together.
    """
    pairs = list(pairs)
    times = Counter(pairs)
    sums: Counter[str | int] = Counter()
    for place, (pair, picture) in enumerate(zip(pairs, pictures or repeat(""), strict=False)):
        sums[picture or place] += _SIGNS.get(pair, 0)
    return Comparison(
        name,
        times[True, True],
        times[True, False],
        times[False, True],
        times[False, False],
        _mcnemar([total for total in sums.values() if total]),
    )


def compared_by(
    first: Mapping[int, Scored],
    second: Mapping[int, Scored],
    names: Callable[[ChoiceQuestion], Iterable[str]],
    order: Iterable[str] = (),
) -> tuple[Comparison, ...]:
    """Comparisons over the questions that both have, by index: Overall, then by the group `names` of each question.

    Groups come in this `order`, others in the order of the questions.
    """
    groups: dict[str, list[tuple[Pair, str]]] = {name: [] for name in ("Overall", *order)}
    for index, row in first.items():
        if index not in second:
            continue
        pair = (row.right, second[index].right)
        question = row.question
        for name in dict.fromkeys(("Overall", *filter(None, names(question)))):
            groups.setdefault(name, []).append((pair, question.picture))
    return tuple(
        compared(name, *zip(*outcomes, strict=True))
        for name, outcomes in groups.items()
        if outcomes
    )


_SIGNS: Mapping[Pair, int] = {(True, False): 1, (False, True): -1}


def _mcnemar(sums: Sequence[int]) -> float:
    """The probability of a sum at least as far from 0, if each summand had either sign with equal probability."""
    chances = np.ones(1)
    for size, count in Counter(map(abs, sums)).items():
        logs = [
            math.lgamma(count + 1)
            - math.lgamma(k + 1)
            - math.lgamma(count - k + 1)
            - count * math.log(2)
            for k in range(count + 1)
        ]
        spread = np.zeros(size * count + 1)
        spread[::size] = np.exp(logs)
        chances = np.convolve(chances, spread)
    whole = len(chances) - 1
    fewer = (whole - abs(sum(sums))) // 2
    return min(1.0, 2 * math.fsum(chances[: fewer + 1].tolist()))


def holm(p: Sequence[float]) -> list[float]:
    """Each p by Holm's (1979) step-down correction, in the given order."""
    order = np.argsort(p, kind="stable")
    steps = np.minimum(
        np.maximum.accumulate((len(p) - np.arange(len(p))) * np.asarray(p, float)[order]), 1
    )
    corrected = np.empty(len(p))
    corrected[order] = steps
    return corrected.tolist()


@dataclass(frozen=True)
class Difference:
    """A question with different letters under two protocols."""

    row: Decided
    other: Decision


def differences(rows: Sequence[Decided], others: Sequence[Decided]) -> tuple[Difference, ...]:
    """Rows with a different letter under another protocol, with both decisions."""
    decisions = {row.question.index: row.decision for row in others}
    differences = []
    for row in rows:
        other = decisions.get(row.question.index)
        if other is not None and other.letter != row.decision.letter:
            differences.append(Difference(row, other))
    return tuple(differences)
