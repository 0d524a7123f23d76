"""Modes compared on the same questions: accuracies, differences with intervals, McNemar's test with Holm's correction.

Letters are read by the strict rules alone; a question that one of two modes leaves unread is in none of their pairs.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from arena.drawings import Drawing, GridCell, grid_drawing
from arena.inference.offline import RunResult
from arena.types import grouped
from scoring.benchmarks.mmt_bench import subtasks
from scoring.multiple_choice.metrics import Comparison, Pair, compared, holm
from scoring.multiple_choice.types import Decided, Mode
from scoring.report import ScoreLine, csv_bytes, difference

ALL = "all questions"
CHANGED = "questions asked otherwise"
_DEEPEST = 40
"""Difference of the deepest colour, in percent points."""


@dataclass(frozen=True)
class ModeDifference:
    """The first mode and another one on the questions of one subtask that both answers could be read of."""

    first: Mode
    other: Mode
    counts: Comparison
    difference: ScoreLine
    """The other's accuracy less the first's, in percent points."""
    holm: float | None = None
    """p with Holm's correction over all subtasks and modes; None for questions of several subtasks."""

    @property
    def n(self) -> int:
        return (
            self.counts.both
            + self.counts.first_only
            + self.counts.second_only
            + self.counts.neither
        )

    @property
    def accuracies(self) -> tuple[float, float]:
        """Of the first and of the other mode, in percent."""
        right = (
            self.counts.both + self.counts.first_only,
            self.counts.both + self.counts.second_only,
        )
        return 100 * right[0] / self.n, 100 * right[1] / self.n


def mode_differences(
    rows: Mapping[Mode, Sequence[Decided]], changed: Mapping[Mode, Collection[int]]
) -> list[ModeDifference]:
    """Each later mode beside the first: over all questions, over those that either changed, and by subtask with such.

    `changed` are the indices of questions that each mode asked otherwise than as is.
    """
    (first, ones), *others = rows.items()
    named = {row.question.index: row.question.named_category for row in ones}
    right = {row.question.index: row.right for row in ones}
    found = []
    for other, members in others:
        otherwise = {*changed[first], *changed[other]}
        concerned = dict.fromkeys(named[index] for index in sorted(otherwise) if index in named)
        pairs = {
            index: ((right[index], row.right), row.question.picture)
            for row in members
            if (index := row.question.index) in right
        }
        by_name = grouped((named[index], pair) for index, pair in pairs.items())
        groups = {
            ALL: [*pairs.values()],
            CHANGED: [pair for index, pair in pairs.items() if index in otherwise],
        }
        groups |= {name: by_name.get(name, []) for name in concerned}
        found += [_difference(first, other, name, group) for name, group in groups.items()]
    tests = [
        place for place, one in enumerate(found) if one.n and one.counts.name not in (ALL, CHANGED)
    ]
    for place, p in zip(tests, holm([found[place].counts.p for place in tests]), strict=True):
        found[place] = replace(found[place], holm=p)
    return [one for one in found if one.n]


def _difference(
    first: Mode, other: Mode, name: str, given: Sequence[tuple[Pair, str]]
) -> ModeDifference:
    read = [(pair, picture) for pair, picture in given if None not in pair]
    if not read:
        none = ScoreLine(name, 0, 0, None, None, None, 0.0, 0.0)
        return ModeDifference(first, other, compared(name, ()), none)
    pairs = [pair for pair, _ in read]
    pictures = [picture for _, picture in read]
    values = [float(bool(there)) - float(bool(here)) for here, there in pairs]
    counts = compared(name, pairs, pictures)
    return ModeDifference(first, other, counts, difference(name, values, pictures, 1.0))


def differences_csv(found: Sequence[ModeDifference]) -> bytes:
    heads = [
        "over",
        "first",
        "other",
        "n",
        "first accuracy",
        "other accuracy",
        "difference",
        "low_95",
        "high_95",
    ]
    rows = []
    for one in found:
        counts = one.counts
        difference = one.difference
        numbers = (*one.accuracies, difference.mean, difference.low, difference.high)
        cells = [
            "" if number is None else repr(number) for number in (*numbers, counts.p, one.holm)
        ]
        outcomes = [counts.both, counts.first_only, counts.second_only, counts.neither]
        rows.append([counts.name, one.first, one.other, one.n, *cells[:5], *outcomes, *cells[5:]])
    return csv_bytes([*heads, "both", "first only", "other only", "neither", "p", "holm"], rows)


def spent_csv(results: Mapping[Mode, RunResult]) -> bytes:
    """Tokens and cost of what was asked in this run, a line a mode."""
    rows = (
        (mode, one.answered, one.prompt, one.completion, f"{one.cost / 1e6:.6f}")
        for mode, one in results.items()
    )
    return csv_bytes(["mode", "answered", "tokens sent", "tokens received", "dollars"], rows)


def accuracy_drawing(title: str, found: Sequence[ModeDifference]) -> Drawing:
    """Accuracy of each mode by subtask, coloured by its distance from the first mode's."""
    names = list(dict.fromkeys(one.counts.name for one in found))
    modes = list(dict.fromkeys(one.other for one in found))
    tasks = [subtasks()[name].name if name in subtasks() else name for name in names]
    by_place = {(one.counts.name, one.other): one for one in found}
    cells = []
    for name, task in zip(names, tasks, strict=True):
        of_row = [by_place.get((name, mode)) for mode in modes]
        compared_first = next(one for one in of_row if one)
        first_accuracy, _ = compared_first.accuracies
        first_cell = _cell(task, found[0].first, first_accuracy, first_accuracy, compared_first.n)
        cells.append([first_cell, *(_mode_cell(task, one) for one in of_row)])
    description = (
        f"Accuracy in percent by subtask and mode; coloured by the distance from {found[0].first}."
    )
    return grid_drawing(title, description, tasks, [found[0].first, *modes], cells)


def _mode_cell(task: str, one: ModeDifference | None) -> GridCell:
    if one is None:
        return GridCell("")
    first_accuracy, accuracy = one.accuracies
    return _cell(task, one.other, accuracy, first_accuracy, one.n)


def _cell(task: str, mode: Mode, accuracy: float, first_accuracy: float, n: int) -> GridCell:
    depth = max(-1.0, min(1.0, (accuracy - first_accuracy) / _DEEPEST))
    return GridCell(f"{accuracy:.0f}", depth, title=f"{task}, {mode}: {accuracy:.1f}% (n = {n:,})")
