"""Modes compared on the same questions: accuracies, differences with intervals, McNemar's test with Holm's correction.

Only the strict rules read letters. A question left unread in one of two modes is not in their comparison.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from arena.drawings import Drawing, GridCell, grid_drawing
from arena.inference.offline import RunResult
from arena.types import grouped
from scoring.benchmarks.mmt_bench import subtasks
from scoring.multiple_choice.metrics import Comparison, Pair, compare_outcomes, holm
from scoring.multiple_choice.types import Decided, Mode
from scoring.report import ScoreLine, csv_bytes, difference

ALL = "all questions"
CHANGED = "questions asked otherwise"
_DEEPEST = 40
"""Difference with the deepest colour, in percentage points."""


@dataclass(frozen=True)
class ModeDifference:
    """The first mode and another mode on the questions of a subtask with readable answers in both."""

    first: Mode
    other: Mode
    counts: Comparison
    difference: ScoreLine
    """The other mode's accuracy less the first's, in percentage points."""
    holm: float | None = None
    """p with Holm's correction over all subtasks and modes; None for questions of several subtasks."""

    @property
    def n(self) -> int:
        counts = self.counts
        return counts.both + counts.first_only + counts.second_only + counts.neither

    @property
    def accuracies(self) -> tuple[float, float]:
        """The accuracies of the first and the other mode, in percent."""
        first = self.counts.both + self.counts.first_only
        other = self.counts.both + self.counts.second_only
        return 100 * first / self.n, 100 * other / self.n


def mode_differences(
    rows: Mapping[Mode, Sequence[Decided]], changed: Mapping[Mode, Collection[int]]
) -> list[ModeDifference]:
    """Each later mode against the first: over all questions, over changed questions, and by subtask with changed ones.

    `changed` are the indices of the questions that differ from as-is in each mode.
    """
    (first, first_rows), *others = rows.items()
    category_by_index = {row.question.index: row.question.named_category for row in first_rows}
    right = {row.question.index: row.right for row in first_rows}
    comparisons = []
    for other, other_rows in others:
        changed_indices = {*changed[first], *changed[other]}
        changed_categories = dict.fromkeys(
            category_by_index[index]
            for index in sorted(changed_indices)
            if index in category_by_index
        )
        pairs = {}
        for row in other_rows:
            index = row.question.index
            if index in right:
                pairs[index] = ((right[index], row.right), row.question.picture)
        by_name = grouped((category_by_index[index], pair) for index, pair in pairs.items())
        groups = {
            ALL: [*pairs.values()],
            CHANGED: [pair for index, pair in pairs.items() if index in changed_indices],
        }
        groups |= {name: by_name.get(name, []) for name in changed_categories}
        comparisons += [_difference(first, other, name, group) for name, group in groups.items()]
    comparisons = [comparison for comparison in comparisons if comparison.n]
    tests = [
        place
        for place, comparison in enumerate(comparisons)
        if comparison.counts.name not in (ALL, CHANGED)
    ]
    corrected = holm([comparisons[place].counts.p for place in tests])
    for place, p in zip(tests, corrected, strict=True):
        comparisons[place] = replace(comparisons[place], holm=p)
    return comparisons


def _difference(
    first: Mode, other: Mode, name: str, pairs_with_pictures: Sequence[tuple[Pair, str]]
) -> ModeDifference:
    read = [(pair, picture) for pair, picture in pairs_with_pictures if None not in pair]
    if not read:
        none = ScoreLine(name, 0, 0, None, None, None, 0.0, 0.0)
        return ModeDifference(first, other, compare_outcomes(name, ()), none)
    pairs = [pair for pair, _ in read]
    pictures = [picture for _, picture in read]
    values = [float(bool(other_right)) - float(bool(right)) for right, other_right in pairs]
    counts = compare_outcomes(name, pairs, pictures)
    return ModeDifference(first, other, counts, difference(name, values, pictures, 1.0))


def differences_csv(comparisons: Sequence[ModeDifference]) -> bytes:
    header = [
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
    for comparison in comparisons:
        counts = comparison.counts
        difference = comparison.difference
        numbers = (*comparison.accuracies, difference.mean, difference.low, difference.high)
        cells = [
            "" if number is None else repr(number)
            for number in (*numbers, counts.p, comparison.holm)
        ]
        outcomes = [counts.both, counts.first_only, counts.second_only, counts.neither]
        rows.append(
            [
                counts.name,
                comparison.first,
                comparison.other,
                comparison.n,
                *cells[:5],
                *outcomes,
                *cells[5:],
            ]
        )
    return csv_bytes([*header, "both", "first only", "other only", "neither", "p", "holm"], rows)


def spent_csv(results: Mapping[Mode, RunResult]) -> bytes:
    """Tokens and cost of this run's requests, a line a mode."""
    rows = (
        (mode, result.answered, result.prompt, result.completion, f"{result.cost / 1e6:.6f}")
        for mode, result in results.items()
    )
    return csv_bytes(["mode", "answered", "tokens sent", "tokens received", "dollars"], rows)


def accuracy_drawing(title: str, comparisons: Sequence[ModeDifference]) -> Drawing:
    """A grid of the accuracy of each mode by subtask, coloured by its distance from the first mode's."""
    names = list(dict.fromkeys(comparison.counts.name for comparison in comparisons))
    modes = list(dict.fromkeys(comparison.other for comparison in comparisons))
    tasks = [subtasks()[name].name if name in subtasks() else name for name in names]
    by_place = {
        (comparison.counts.name, comparison.other): comparison for comparison in comparisons
    }
    cells = []
    for name, task in zip(names, tasks, strict=True):
        row = [by_place.get((name, mode)) for mode in modes]
        compared_first = next(comparison for comparison in row if comparison)
        first_accuracy, _ = compared_first.accuracies
        first_cell = _cell(
            task, comparisons[0].first, first_accuracy, first_accuracy, compared_first.n
        )
        cells.append([first_cell, *(_mode_cell(task, comparison) for comparison in row)])
    description = f"Accuracy in percent by subtask and mode; coloured by the distance from {comparisons[0].first}."
    return grid_drawing(title, description, tasks, [comparisons[0].first, *modes], cells)


def _mode_cell(task: str, comparison: ModeDifference | None) -> GridCell:
    if comparison is None:
        return GridCell("")
    first_accuracy, accuracy = comparison.accuracies
    return _cell(task, comparison.other, accuracy, first_accuracy, comparison.n)


def _cell(task: str, mode: Mode, accuracy: float, first_accuracy: float, n: int) -> GridCell:
    depth = max(-1.0, min(1.0, (accuracy - first_accuracy) / _DEEPEST))
    return GridCell(f"{accuracy:.0f}", depth, title=f"{task}, {mode}: {accuracy:.1f}% (n = {n:,})")
