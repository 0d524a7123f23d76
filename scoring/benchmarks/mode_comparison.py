"""Modes compared on the same questions: accuracies, differences with intervals, McNemar's test with Holm's correction.

Only the strict rules read letters. A question left unread in one of two modes is not in their comparison.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

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
_DIFFERENCE_COLUMNS = (
    "over",
    "first",
    "other",
    "n",
    "first accuracy",
    "other accuracy",
    "difference",
    "low_95",
    "high_95",
    "both",
    "first only",
    "other only",
    "neither",
    "p",
    "holm",
)


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
    def first_accuracy(self) -> float:
        """The accuracy of the first mode, in percent."""
        return 100 * (self.counts.both + self.counts.first_only) / self.n

    @property
    def other_accuracy(self) -> float:
        """The accuracy of the other mode, in percent."""
        return 100 * (self.counts.both + self.counts.second_only) / self.n


class _QuestionPair(NamedTuple):
    """Whether a question is right in two modes; None for an unread answer."""

    outcomes: Pair
    picture: str


def mode_differences(
    rows: Mapping[Mode, Sequence[Decided]], changed: Mapping[Mode, Collection[int]]
) -> list[ModeDifference]:
    """Each later mode against the first: over all questions, over changed questions, and by subtask with changed ones.

    `changed` are the indices of the questions that differ from as-is in each mode.
    """
    first, *other_modes = rows
    comparisons = []
    for other in other_modes:
        changed_indices = {*changed[first], *changed[other]}
        groups = _pairs_by_group(rows[first], rows[other], changed_indices)
        comparisons += [_difference(first, other, name, pairs) for name, pairs in groups.items()]
    return _with_holm([comparison for comparison in comparisons if comparison.n])


def _pairs_by_group(
    first_rows: Sequence[Decided], other_rows: Sequence[Decided], changed: Collection[int]
) -> Mapping[str, Sequence[_QuestionPair]]:
    """The questions that both modes have: all, the changed ones, and those of each subtask with a changed one."""
    category_by_index = {row.question.index: row.question.named_category for row in first_rows}
    first_right = {row.question.index: row.right for row in first_rows}
    pairs = {}
    for row in other_rows:
        index = row.question.index
        if index in first_right:
            pairs[index] = _QuestionPair((first_right[index], row.right), row.question.picture)
    pairs_by_category = grouped((category_by_index[index], pair) for index, pair in pairs.items())
    groups = {
        ALL: [*pairs.values()],
        CHANGED: [pair for index, pair in pairs.items() if index in changed],
    }
    changed_categories = dict.fromkeys(
        category_by_index[index] for index in sorted(changed) if index in category_by_index
    )
    for category in changed_categories:
        groups[category] = pairs_by_category.get(category, [])
    return groups


def _with_holm(comparisons: Sequence[ModeDifference]) -> list[ModeDifference]:
    """The comparisons; those of subtasks have p corrected for the number of subtasks' comparisons."""
    places = [
        place
        for place, comparison in enumerate(comparisons)
        if comparison.counts.name not in (ALL, CHANGED)
    ]
    corrected = holm([comparisons[place].counts.p for place in places])
    with_holm = [*comparisons]
    for place, p in zip(places, corrected, strict=True):
        with_holm[place] = replace(comparisons[place], holm=p)
    return with_holm


def _difference(
    first: Mode, other: Mode, name: str, pairs: Sequence[_QuestionPair]
) -> ModeDifference:
    """The two modes on the questions that are read in both."""
    read = [pair for pair in pairs if None not in pair.outcomes]
    if not read:
        no_difference = ScoreLine(
            name=name, n=0, unscored=0, mean=None, low=None, high=None, worst=0.0, best=0.0
        )
        return ModeDifference(first, other, compare_outcomes(name, ()), no_difference)
    outcomes = [pair.outcomes for pair in read]
    pictures = [pair.picture for pair in read]
    values = [float(bool(other_right)) - float(bool(right)) for right, other_right in outcomes]
    counts = compare_outcomes(name, outcomes, pictures)
    return ModeDifference(first, other, counts, difference(name, values, pictures, 1.0))


def differences_csv(comparisons: Sequence[ModeDifference]) -> bytes:
    """A line for each comparison; accuracies and differences in percent."""
    rows = [
        {
            "over": comparison.counts.name,
            "first": comparison.first,
            "other": comparison.other,
            "n": comparison.n,
            "first accuracy": _exact(comparison.first_accuracy),
            "other accuracy": _exact(comparison.other_accuracy),
            "difference": _exact(comparison.difference.mean),
            "low_95": _exact(comparison.difference.low),
            "high_95": _exact(comparison.difference.high),
            "both": comparison.counts.both,
            "first only": comparison.counts.first_only,
            "other only": comparison.counts.second_only,
            "neither": comparison.counts.neither,
            "p": _exact(comparison.counts.p),
            "holm": _exact(comparison.holm),
        }
        for comparison in comparisons
    ]
    cells = [[row[column] for column in _DIFFERENCE_COLUMNS] for row in rows]
    return csv_bytes(_DIFFERENCE_COLUMNS, cells)


def _exact(number: float | None) -> str:
    """A number with all its digits; "" for None."""
    return "" if number is None else repr(number)


def spent_csv(results: Mapping[Mode, RunResult]) -> bytes:
    """Tokens and cost of this run's requests, a line a mode."""
    rows = [
        [mode, result.answered, result.prompt, result.completion, f"{result.cost / 1e6:.6f}"]
        for mode, result in results.items()
    ]
    return csv_bytes(["mode", "answered", "tokens sent", "tokens received", "dollars"], rows)


def accuracy_drawing(title: str, comparisons: Sequence[ModeDifference]) -> Drawing:
    """A grid of the accuracy of each mode by subtask, coloured by its distance from the first mode's."""
    names = list(dict.fromkeys(comparison.counts.name for comparison in comparisons))
    modes = list(dict.fromkeys(comparison.other for comparison in comparisons))
    tasks = [subtasks()[name].name if name in subtasks() else name for name in names]
    by_name_and_mode = {
        (comparison.counts.name, comparison.other): comparison for comparison in comparisons
    }
    first_mode = comparisons[0].first
    cells = []
    for name, task in zip(names, tasks, strict=True):
        row = [by_name_and_mode.get((name, mode)) for mode in modes]
        # The first mode's own accuracy is over the questions of its first comparison.
        shown = next(comparison for comparison in row if comparison)
        first_accuracy = shown.first_accuracy
        first_cell = _cell(task, first_mode, first_accuracy, first_accuracy, shown.n)
        cells.append([first_cell, *(_mode_cell(task, comparison) for comparison in row)])
    description = (
        f"Accuracy in percent by subtask and mode; coloured by the distance from {first_mode}."
    )
    return grid_drawing(title, description, tasks, [first_mode, *modes], cells)


def _mode_cell(task: str, comparison: ModeDifference | None) -> GridCell:
    if comparison is None:
        return GridCell("")
    return _cell(
        task=task,
        mode=comparison.other,
        accuracy=comparison.other_accuracy,
        first_accuracy=comparison.first_accuracy,
        n=comparison.n,
    )


def _cell(task: str, mode: Mode, accuracy: float, first_accuracy: float, n: int) -> GridCell:
    depth = max(-1.0, min(1.0, (accuracy - first_accuracy) / _DEEPEST))
    return GridCell(f"{accuracy:.0f}", depth, title=f"{task}, {mode}: {accuracy:.1f}% (n = {n:,})")
