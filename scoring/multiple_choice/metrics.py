"""Multiple-choice metrics: accuracies with intervals and their means, extraction success rates, McNemar comparisons."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Generic, Literal, NamedTuple, TypeVar

import numpy as np

from arena.types import grouped
from scoring.intervals import Sample, mean_of_shares, percent, share_ends
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

_SHOWN = 20
Level = Literal["overall", "split", "group", "L-1", "L-2", "L-3", "meta-task", "subtask"]
NARROWEST: tuple[Level, ...] = ("L-3", "subtask")
_IN_CSV: tuple[Level, ...] = ("L-2", "L-3")
S = TypeVar("S", bound="SplitScores")


@dataclass(frozen=True)
class Node:
    """A line of an expandable table with the lines below it."""

    line: ScoreLine
    level: Level
    children: tuple["Node", ...] = ()

    def walk(self) -> Iterable["Node"]:
        yield self
        for child in self.children:
            yield from child.walk()

    def find(self, level: Level) -> tuple["Node", ...]:
        return tuple(node for node in self.walk() if node.level == level)


def undecided_is_wrong(protocol: Protocol) -> bool:
    """Whether undecided answers count as wrong, as in both papers' tools; under `strict` they stay unscored."""
    return protocol != "strict"


def share(
    name: str,
    outcomes: Iterable[bool | None],
    undecided_wrong: bool = False,
    missing: int = 0,
    pictures: Iterable[str] | None = None,
) -> ScoreLine:
    """Share of right outcomes with Wilson's 95% interval; None stays out unless it is wrong, `missing` always.

    `pictures` tell which outcomes are of one picture: a text each, "" where it is not known.
    """
    outcomes = list(outcomes)
    told = [""] * len(outcomes) if pictures is None else list(pictures)
    counted = [
        place for place, right in enumerate(outcomes) if undecided_wrong or right is not None
    ]
    n = len(outcomes) + missing
    sample = Sample(
        scores=np.array([outcomes[place] is True for place in counted], dtype=np.float64),
        pictures=[told[place] for place in counted],
        unscored=n - len(counted),
    )
    unscored = outcomes.count(None) + missing
    if not counted:
        best = 100.0 if n else 0.0
        return ScoreLine(name, n, unscored, None, None, None, 0.0, best, sample)
    right = outcomes.count(True)
    low, high = percent(share_ends(sample))
    return ScoreLine(
        name=name,
        n=n,
        unscored=unscored,
        mean=100 * right / len(counted),
        low=low,
        high=high,
        worst=100 * right / n,
        best=100 * (right + unscored) / n,
        sample=sample,
    )


def mean_of(name: str, lines: Iterable[ScoreLine]) -> ScoreLine:
    """Unweighted mean of the lines with a score; it has an interval if all are shares of right outcomes."""
    lines = [line for line in lines if line.n]
    means = [line.mean for line in lines if line.mean is not None]
    n = sum(line.n for line in lines)
    unscored = sum(line.unscored for line in lines)
    if not means:
        return ScoreLine(name, n, unscored, None, None, None, 0.0, 100.0 if n else 0.0)
    samples = [line.sample for line in lines if line.sample is not None]
    ends = mean_of_shares(samples) if len(samples) == len(lines) else None
    low, high = percent(ends) if ends else (None, None)
    return ScoreLine(
        name=name,
        n=n,
        unscored=unscored,
        mean=math.fsum(means) / len(means),
        low=low,
        high=high,
        worst=math.fsum(line.worst for line in lines) / len(lines),
        best=math.fsum(line.best for line in lines) / len(lines),
    )


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
    times: Counter[Step] = Counter()
    refused = 0
    for decision in decisions:
        none = decision.letter == NONE and decision.step != "fallback"
        times["none" if none else decision.step] += 1
        refused += none
    return Success(times.total(), dict(times), refused)


def missing_problem(
    count: int, of: int, what: str, known: Sequence[ChoiceQuestion] | None
) -> Problem:
    """The problem that so many questions have no answer; `known` are those questions, None without a question file."""
    if known is None:
        which = (
            "only the benchmark's own question file tells which; compare its column index with this file's, "
            "add the answers that are missing and score the file again"
        )
    else:
        ids = ", ".join(str(question.index) for question in known[:_SHOWN])
        which = f"index {ids}{', ... (all are in the file -missing.csv)' if len(known) > _SHOWN else ''}"
    have = "has" if count == 1 else "have"
    text = f"PARTIAL: {count:,} of the {of:,} questions of {what} {have} no answer: {which}"
    return Problem(0, None, text, "whole")


def parts_of(
    questions: Sequence[ChoiceQuestion], file: str, published: re.Pattern[str], whole: str
) -> Iterator[tuple[str, str | None, Sequence[ChoiceQuestion]]]:
    """Yield a file's splits, the text that names a published one, and the questions: all as one if no split is named.

    The text is the split, or the file's name; "" if neither names any, and None if only other splits are named.
    """
    splits = grouped((question.split, question) for question in questions)
    unnamed = not any(map(published.search, splits))
    if unnamed and len(splits) > 1:
        splits = {whole: [*questions]}
    for split, members in splits.items():
        texts = (split, file if unnamed or not split else "")
        yield split, next(filter(published.search, texts), "" if unnamed else None), members


def picture_problems(questions: Iterable[ChoiceQuestion]) -> tuple[Problem, ...]:
    """How many questions share a picture; or, where the file does not tell pictures apart, how many may."""
    base = [question for question in questions if question.index < PASS]
    known = [question.picture for question in base if question.picture]
    if known:
        text = shared_pictures(known)
        return (Problem(0, None, text, "nothing"),) if text else ()
    times = Counter((one.text, *one.options.values(), one.answer) for one in base)
    repeated = sum(count for count in times.values() if count > 1)
    text = (
        f"{repeated:,} of {len(base):,} questions have the text, options and answer of another, and the file does not "
        "tell pictures apart. If several are about one picture, intervals are too narrow: add a column image_id"
    )
    return (Problem(0, None, text, "nothing"),) if repeated else ()


class LetterCount(NamedTuple):
    """How often a letter is predicted, and how often it is right (MMBench, Figure 4)."""

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
    """As written in the file; "" if it has none."""
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
    """Rows whose right answer is unknown: extracted, not scored."""
    missing: tuple[ChoiceQuestion, ...]
    """Rows of the question file whose answers are needed."""
    partial: bool
    """Whether answers are missing, so that the score is not that of the whole benchmark."""

    def accuracy_csv(self) -> bytes:
        """The public toolkit's `_acc.csv`: fractions, one line per split."""
        trees = {scores.split or "none": scores.tree for scores in self.splits}
        keys: list[tuple[Level, str]] = [("overall", "Overall")]
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
"""What is right, wrong or neither: an answer, or a question with all its passes."""
Pair = tuple[bool | None, bool | None]
"""Two models' outcomes on a question."""


def compared(name: str, pairs: Iterable[Pair], pictures: Iterable[str] | None = None) -> Comparison:
    """McNemar's comparison of paired outcomes; a pair with an unscored side is left out.

    With `pictures`, as for `share`, the questions about a picture change sides together.
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
    """Comparisons over the questions that both have, by index: Overall, then by what `names` calls each of them.

    Groups come in this `order`, others as they are met.
    """
    groups: dict[str, list[tuple[Pair, str]]] = {name: [] for name in ("Overall", *order)}
    for index, one in first.items():
        if index not in second:
            continue
        pair = (one.right, second[index].right)
        question = one.question
        for name in dict.fromkeys(("Overall", *filter(None, names(question)))):
            groups.setdefault(name, []).append((pair, question.picture))
    return tuple(
        compared(name, *zip(*given, strict=True)) for name, given in groups.items() if given
    )


_SIGNS: Mapping[Pair, int] = {(True, False): 1, (False, True): -1}


def _mcnemar(sums: Sequence[int]) -> float:
    """Probability of a sum as far from 0 if the sign of each is as likely the other one."""
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
    found = np.empty(len(p))
    found[order] = steps
    return found.tolist()


@dataclass(frozen=True)
class Difference:
    """A question whose letter two protocols read differently."""

    row: Decided
    other: Decision


def differences(rows: Sequence[Decided], others: Sequence[Decided]) -> tuple[Difference, ...]:
    """Rows whose letter another protocol reads differently, with both decisions."""
    letters = {row.question.index: row.decision for row in others}
    return tuple(
        Difference(row, other)
        for row in rows
        if (other := letters.get(row.question.index)) is not None
        and other.letter != row.decision.letter
    )
