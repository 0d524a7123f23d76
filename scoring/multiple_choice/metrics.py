"""Multiple-choice metrics: accuracies with intervals and their means, extraction success rates, McNemar comparisons."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from arena.types import grouped
from scoring.multiple_choice.circular_eval import Circle
from scoring.multiple_choice.pictures import shared_pictures_text
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
_CSV_LEVELS = ("l2", NARROWEST)
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
class StepCounts:
    """Number of answers read by each extraction step (MMBench, Table 2; MMT-Bench, Table A17)."""

    n: int
    by_step: Mapping[Step, int]
    none: int
    """Answers read as "none of the options" by rules or judge: refusals."""

    def rate(self, *steps: Step) -> float | None:
        """The share of answers read by any of these steps, in percent; None without answers."""
        return 100 * sum(self.by_step.get(step, 0) for step in steps) / self.n if self.n else None

    @property
    def refused(self) -> float | None:
        """The share of refusals, in percent; None without answers."""
        return 100 * self.none / self.n if self.n else None


def count_steps(decisions: Iterable[Decision]) -> StepCounts:
    """The number of decisions by step."""
    counts: Counter[Step] = Counter()
    refusals = 0
    for decision in decisions:
        if decision.letter == NONE and decision.step != "fallback":
            counts["none"] += 1
            refusals += 1
        else:
            counts[decision.step] += 1
    return StepCounts(counts.total(), dict(counts), refusals)


def missing_problem(
    count: int, total: int, whole: str, questions: Sequence[ChoiceQuestion] | None
) -> Problem:
    """The problem that `count` of the `total` questions in `whole` have no answer.

    `questions` are those without an answer; None without a question file.
    """
    if questions is None:
        which = "To see which, compare the column index with the benchmark's question file."
    else:
        ids = ", ".join(str(question.index) for question in questions[:_MOST_LISTED])
        others = len(questions) - _MOST_LISTED
        if others > 0:
            ids = f"{ids} and {others:,} more. All are in the file -missing.csv"
        which = f"Add index {ids}."
    text = f"No answer to {count:,} of the {total:,} questions in {whole}. {which}"
    return Problem(0, None, text, "whole")


class FileSplit(NamedTuple):
    """A split of a file of answers."""

    name: str
    published_text: str | None
    """The name that shows which published split this is: the split's own or the file's. "" if no name of the file shows
    one; None if only the names of other splits do."""
    questions: Sequence[ChoiceQuestion]


def file_splits(
    questions: Sequence[ChoiceQuestion], file: str, published: re.Pattern[str], whole: str
) -> Iterator[FileSplit]:
    """Yields a file's splits; `published` matches the name of a published one.

    If no split has a published name, several become one split, `whole`.
    """
    splits = grouped((question.split, question) for question in questions)
    is_unnamed = not any(map(published.search, splits))
    if is_unnamed and len(splits) > 1:
        splits = {whole: [*questions]}
    for split, members in splits.items():
        may_be_named_by_file = is_unnamed or not split
        if published.search(split):
            published_text: str | None = split
        elif may_be_named_by_file and published.search(file):
            published_text = file
        else:
            published_text = "" if is_unnamed else None
        yield FileSplit(split, published_text, members)


def picture_problems(questions: Iterable[ChoiceQuestion]) -> tuple[Problem, ...]:
    """The number of questions that share a picture or, without picture names in the file, that may share one."""
    base_rows = [question for question in questions if question.index < PASS]
    pictures = [question.picture for question in base_rows if question.picture]
    if pictures:
        text = shared_pictures_text(pictures)
        return (Problem(0, None, text, "nothing"),) if text else ()
    times = Counter(
        (question.text, *question.options.values(), question.answer) for question in base_rows
    )
    repeated = sum(count for count in times.values() if count > 1)
    text = (
        f"{repeated:,} of {len(base_rows):,} questions have the text, options and answer of another. If they share a "
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
    """One per split, followed by one of the whole file, which some benchmarks leave out for a single split; () without
    scores."""
    problems: tuple[Problem, ...]
    steps: StepCounts
    letters: tuple[LetterCount, ...]
    without_answer: int
    """Rows without a known right answer: extracted, not scored."""
    missing: tuple[ChoiceQuestion, ...]
    """Rows of the question file with no answer in the answers' file."""
    partial: bool
    """Whether answers are missing, so that the score is not that of the whole benchmark."""

    @property
    def whole(self) -> S:
        """The scores of the whole file, if there are any."""
        return self.splits[-1]

    @property
    def parts(self) -> tuple[S, ...]:
        """The scores before those of the whole file: one per split, or () for a split that is listed only once."""
        return self.splits[:-1]

    def accuracy_csv(self) -> bytes:
        """The public toolkit's `_acc.csv`: fractions, one line per split."""
        trees = [scores.tree for scores in self.splits]
        keys = [("overall", "Overall")]
        for level in _CSV_LEVELS:
            names = {node.line.name for tree in trees for node in tree.find(level)}
            keys.extend((level, name) for name in sorted(names))
        rows = []
        for scores in self.splits:
            means = {(node.level, node.line.name): node.line.mean for node in scores.tree.walk()}
            rows.append((scores.split or "none", [means.get(key) for key in keys]))
        return fractions_csv([name for _, name in keys], rows)


def fractions_csv(
    heads: Sequence[str], rows: Iterable[tuple[str, Sequence[float | None]]]
) -> bytes:
    cells = (
        [split, *("" if mean is None else repr(mean / 100) for mean in means)]
        for split, means in rows
    )
    return csv_bytes(["split", *heads], cells, "utf-8")


class ComparisonTable(NamedTuple):
    """Comparisons of two models on the same questions: overall, then by group."""

    over: str
    """These questions, in words."""
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
_SIGNS: Mapping[Pair, int] = {(True, False): 1, (False, True): -1}


def compare_outcomes(
    name: str, pairs: Iterable[Pair], pictures: Iterable[str] | None = None
) -> Comparison:
    """McNemar's comparison of paired outcomes; a pair with an unscored side is left out.

    `pictures` has the picture of each question as a text, "" if unknown: questions about one picture change sides
    together.
    """
    pairs = list(pairs)
    times = Counter(pairs)
    picture_names = list(pictures) if pictures else [""] * len(pairs)
    sums: Counter[str | int] = Counter()
    for place, (pair, picture) in enumerate(zip(pairs, picture_names, strict=True)):
        cluster = picture or place  # without a known picture, a question is a cluster by itself
        sums[cluster] += _SIGNS.get(pair, 0)
    return Comparison(
        name,
        times[True, True],
        times[True, False],
        times[False, True],
        times[False, False],
        _mcnemar([total for total in sums.values() if total]),
    )


def compare_groups(
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
    comparisons = []
    for name, outcomes in groups.items():
        if outcomes:
            pairs = [pair for pair, _ in outcomes]
            pictures = [picture for _, picture in outcomes]
            comparisons.append(compare_outcomes(name, pairs, pictures))
    return tuple(comparisons)


def _mcnemar(sums: Sequence[int]) -> float:
    """The probability of a sum at least as far from 0, if each summand had either sign with equal probability.

    chances[t] is the probability that the negative summands total t. The sum is then `whole` - 2 t, and as likely as
    its opposite.
    """
    chances = np.ones(1)
    for size, count in Counter(map(abs, sums)).items():
        # The binomial distribution of the number of negative ones among summands of this size.
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
    smaller_total = (whole - abs(sum(sums))) // 2
    return min(1.0, 2 * math.fsum(chances[: smaller_total + 1].tolist()))


def holm(p: Sequence[float]) -> list[float]:
    """Each p by Holm's (1979) step-down correction, in the given order."""
    order = np.argsort(p, kind="stable")
    ascending = np.asarray(p, float)[order]
    multiplied = (len(p) - np.arange(len(p))) * ascending
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(multiplied), 1)
    return corrected.tolist()


@dataclass(frozen=True)
class Difference:
    """A question with different letters under two protocols."""

    row: Decided
    other: Decision


def differences(rows: Sequence[Decided], others: Sequence[Decided]) -> tuple[Difference, ...]:
    """Rows with a different letter under another protocol, with both decisions."""
    decisions = {row.question.index: row.decision for row in others}
    differing = []
    for row in rows:
        other = decisions.get(row.question.index)
        if other is not None and other.letter != row.decision.letter:
            differing.append(Difference(row, other))
    return tuple(differing)
