"""Trees of a spec's figures: of the whole file, its splits, and groups within larger groups."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from scoring.multiple_choice.metrics import Node
from scoring.report import ScoreLine, safe_name
from scoring.score_sheets import TreeTable
from scoring.small_groups import LEAST, reveals_few, shown_groups
from scoring.specs.figure_values import reveals_few_answers
from scoring.specs.report import (
    MOST_GROUPS,
    NO_GROUP,
    SpecReport,
    figure_lines,
    head_figure,
    lines_of,
    scored_rows_of_report,
    spec_of_report,
    splits_of,
)
from scoring.specs.schema import Spec
from scoring.specs.scored_rows import Mask, ScoredRows

ALL = "All"


def whole_figures(report: SpecReport) -> Sequence[ScoreLine]:
    """The figures of the whole file that may be shown, the headline first.

    Figures that give away a few answers are left out, and so are guesses: a guess by the most frequent right answers
    would show how often these are right.
    """
    lines = figure_lines(report)
    figures = spec_of_report(report).figures
    head = head_figure(report)
    names = [head, *(name for name in lines if name != head)]
    return [
        lines[name]
        for name in names
        if not figures[name].is_guess
        and not _leaves_few(report, name)
        and not reveals_few_answers(name, scored_rows_of_report(report), figures)
    ]


def figure_tables(report: SpecReport) -> Iterator[TreeTable]:
    """Yields the figures as trees, for each chain of columns: whole file, splits if there are several, groups.

    Figures of only some rows are left out: within a group, another figure minus these would give away the other rows.
    Chains whose groups, together with those of earlier chains, would give away a few answers are left out too.
    """
    spec = spec_of_report(report)
    rows = scored_rows_of_report(report)
    whole = [line.name for line in whole_figures(report) if not _is_partial(spec, line.name)]
    split_column = spec.splits if len(splits_of(report)) > 1 else None
    chains = _safe_chains(rows, nested_columns(rows, _grouping(report)), split_column)
    for chain in chains or [[]]:  # without a chain, the splits alone
        columns = [*chain] if split_column is None else [split_column, *chain]
        groups = [*_groups_of(rows, rows.all_rows, columns)]
        safe_figures = [
            figure
            for figure in whole
            if not any(
                reveals_few_answers(figure, rows.within(group), spec.figures) for group in groups
            )
        ]
        if columns and safe_figures:
            trees = _trees(report, ALL, rows.all_rows, columns, "overall")
            words = f"by-{'-'.join(columns)}"
            name = safe_name(words.lower().replace(" ", "-"))
            title = f"By {' and '.join(columns)}"
            yield TreeTable(
                name, title, columns[-1], {figure: trees[figure] for figure in safe_figures}
            )


def nested_columns(rows: ScoredRows, columns: Sequence[str]) -> list[list[str]]:
    """The columns in chains, the coarsest first: a group of each lies within one group of the column before it.

    A column whose groups lie within those of two columns that cross each other is left out.
    """
    # Fewest groups first, so each next one must refine the one before.
    coarser = {
        column: sorted(
            (other for other in columns if _refines(rows, column, other)),
            key=lambda other: len(rows.groups(other)),
        )
        for column in columns
    }
    # Columns whose coarser ones form a chain.
    chained = [
        column
        for column in columns
        if all(_refines(rows, fine, coarse) for coarse, fine in pairwise(coarser[column]))
    ]
    finest = [
        column for column in chained if not any(column in coarser[other] for other in chained)
    ]
    return [[*coarser[column], column] for column in finest]


def truth_columns(spec: Spec) -> frozenset[str]:
    """The columns of the question file that hold right answers."""
    columns = [spec.columns.truth, *(case.rule.truth for case in spec.rule)]
    return frozenset(spec.source_of(column) for column in columns if column is not None)


def _grouping(report: SpecReport) -> list[str]:
    """The columns with few enough groups to list, other than splits and right answers."""
    spec = spec_of_report(report)
    rows = scored_rows_of_report(report)
    return [
        column
        for column in spec.groups
        if column in rows.cells
        and column != spec.splits
        and len(rows.groups(column)) <= MOST_GROUPS
        and spec.source_of(column) not in truth_columns(spec)
    ]


def _refines(rows: ScoredRows, fine: str, coarse: str) -> bool:
    """Whether each group of a column lies within one group of another, which has fewer."""
    has_lists = rows.cells[fine].has_lists or rows.cells[coarse].has_lists
    if has_lists or len(rows.groups(fine)) <= len(rows.groups(coarse)):
        return False
    # Every fine group meets one coarse group, so there are as many pairs as fine groups.
    pairs = rows.unit_codes([fine, coarse])
    return len(np.unique(pairs)) == len(rows.groups(fine))


def _safe_chains(
    rows: ScoredRows, chains: Sequence[Sequence[str]], split_column: str | None
) -> Sequence[Sequence[str]]:
    """The chains, but for those whose groups in a split give away a few answers, alone or with earlier chains."""
    parts = [rows.all_rows] if split_column is None else [*rows.groups(split_column).values()]
    is_scored = ~np.isnan(rows.score)
    scored_parts = [part & is_scored for part in parts]
    # Smaller splits aren't shown at all.
    large_parts = [part for part in scored_parts if part.sum() >= LEAST]
    safe: list[Sequence[str]] = []
    for chain in chains:
        if not any(_chains_reveal_few(rows, part, [*safe, chain]) for part in large_parts):
            safe.append(chain)
    return safe


def _chains_reveal_few(rows: ScoredRows, within: Mask, chains: Sequence[Sequence[str]]) -> bool:
    """Whether the scores of all these chains' groups, put together, would give away those of a few answers."""
    groups = [within]
    for chain in chains:
        groups += _groups_of(rows, within, chain)
    size = int(rows.answers.max(initial=0)) + 1
    # How often each answer is in each group: (groups, answers).
    times_in_group = np.stack(
        [np.bincount(rows.answers[group], minlength=size) for group in groups]
    )
    return reveals_few(times_in_group)


def _groups_of(rows: ScoredRows, within: Mask, columns: Sequence[str]) -> Iterator[Mask]:
    """Yields the groups of a chain that may be shown, each followed by the groups within it."""
    if not columns:
        return
    column, *rest = columns
    groups = [within & mask for mask in rows.groups(column).values()]
    for group in shown_groups(groups, lambda mask: int((mask & ~np.isnan(rows.score)).sum())):
        yield group
        yield from _groups_of(rows, group, rest)


def _trees(
    report: SpecReport, name: str, within: Mask, columns: Sequence[str], level: str
) -> Mapping[str, Node]:
    """The tree of each figure over some of the rows. It has all groups: `hidden._shown_node` drops the small ones."""
    rows = scored_rows_of_report(report)
    below = []
    if columns:
        column, *rest = columns
        below_level = "split" if column == spec_of_report(report).splits else "group"
        below = [
            _trees(report, group or NO_GROUP, within & mask, rest, below_level)
            for group, mask in rows.groups(column).items()
            if (within & mask).any()
        ]
    # figure_lines caches those of the whole file
    lines = figure_lines(report) if level == "overall" else lines_of(report, rows.within(within))
    return {
        figure: Node(replace(line, name=name), level, tuple(trees[figure] for trees in below))
        for figure, line in lines.items()
    }


def _is_partial(spec: Spec, name: str) -> bool:
    """Whether a figure, or a part of it, is over some of the rows alone."""
    figure = spec.figures[name]
    return bool(figure.condition_columns) or any(_is_partial(spec, part) for part in figure.parts)


def _leaves_few(report: SpecReport, name: str) -> bool:
    """Whether a figure is over all scored answers but a few, so that another minus this one would give those away."""
    rows = scored_rows_of_report(report)
    figure = spec_of_report(report).figures[name]
    fitting = rows.mask_of_conditions(figure.where or {}, figure.without or {})
    is_left = ~np.isnan(rows.score) & ~fitting
    left_answers = np.unique(rows.answers[is_left])  # an answer may have several rows
    return 0 < len(left_answers) < LEAST or any(_leaves_few(report, part) for part in figure.parts)
