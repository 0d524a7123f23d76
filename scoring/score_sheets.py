"""Score sheets: lines of scores, and trees of them, as sheets."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import pandas as pd

from arena.sheets import Column, Sheet, as_csv, as_json, as_latex, as_markdown, interval
from scoring.report import ScoreLine

_OWN_KEYS = ("level", "name", "n")
"""Keys of a tree sheet's own columns."""
_CELL_ENDINGS = ("", "_low", "_high", "_unscored", "_least", "_most")
"""Endings of the keys of a score's cells; see `_score_cells`."""
Label = Callable[[str], str]
"""Function that puts a name from a file into words."""


class ScoreTree(Protocol):
    """Line with the lines below it."""

    @property
    def line(self) -> ScoreLine: ...

    @property
    def children(self) -> Sequence["ScoreTree"]: ...


class TreeTable(NamedTuple):
    """Source of a sheet of scores: trees by the way their scores are counted."""

    name: str
    title: str
    head: str
    """Word for its lines."""
    trees: Mapping[str, ScoreTree]


def line_sheet(
    name: str,
    title: str,
    lines: Iterable[ScoreLine],
    head: str,
    label: Label = str,
    measure: str = "Mean",
    has_words: bool = True,
    **fields: Any,
) -> Sheet:
    """Sheet with a row for each line; `head` is the heading of their names, `measure` that of their scores.

    `has_words`: whether pages translate the names; False for names of models. `fields` are others of the sheet.
    """
    all_lines = [*lines]
    rows = [
        {"name": label(line.name), "n": line.n, **_score_cells("mean", line)} for line in all_lines
    ]
    score_columns = [_score_column("mean", measure), *_unscored_columns(rows, "mean")]
    places = max((line.places for line in all_lines), default=1)
    columns = [Column("name", head, has_words=has_words), Column("n", "n", "count")]
    columns += [replace(column, places=places) for column in score_columns]
    return Sheet(name, title, pd.DataFrame(rows), tuple(columns), **fields)


def tree_sheet(
    name: str,
    title: str,
    trees: Mapping[str, ScoreTree],
    head: str,
    label: Label = str,
    **fields: Any,
) -> Sheet:
    """Sheet with a row for each node from Overall down, and a column for each tree; the first tree has every node."""
    first_tree, *other_trees = trees.values()
    other_lines = [
        {_names_of(path): path[-1].line for path in _node_paths(tree)} for tree in other_trees
    ]
    keys = _column_keys(trees)
    rows = []
    for path in _node_paths(first_tree):
        line = path[-1].line
        row = {"level": len(path) - 1, "name": label(line.name), "n": line.n}
        row |= _score_cells(keys[0], line)
        for key, line_by_names in zip(keys[1:], other_lines, strict=True):
            row |= _score_cells(key, line_by_names.get(_names_of(path)))
        rows.append(row)
    columns = [Column("name", head, has_words=True), Column("n", "n", "count")]
    columns += [_score_column(key, words) for key, words in zip(keys, trees, strict=True)]
    columns += _unscored_columns(rows, keys[0])
    return Sheet(name, title, pd.DataFrame(rows), tuple(columns), level="level", **fields)


def worst_sheet(title: str, nodes: Iterable[ScoreTree], head: str, label: Label = str) -> Sheet:
    """Sheet of scores, the lowest first."""
    scored = [node.line for node in nodes if node.line.mean is not None]
    lowest = sorted(scored, key=lambda line: line.mean or 0.0)
    sheet = line_sheet("worst", title, lowest, head, label, place="beside")
    return replace(sheet, columns=sheet.columns[:3])  # without those of unscored answers


def no_answer_sheet(lines: Sequence[ScoreLine]) -> Sheet:
    """Sheet of the scores of predictions that are no answer of a model, by the reason."""
    title = "Answers not from the model"
    return line_sheet("no-answers", title, lines, "Reason", place="below")


def sheet_files(stem: str, sheets: Sequence[Sheet]) -> dict[str, Callable[[], bytes]]:
    """Makers of files by name: each sheet as CSV, and all together for a paper, for a README and for programs."""
    files: dict[str, Callable[[], bytes]] = {
        f"{stem}-{sheet.name}.csv": partial(_csv_file, sheet) for sheet in sheets
    }
    files[f"{stem}-tables.tex"] = lambda: "\n".join(map(as_latex, sheets)).encode()
    files[f"{stem}-tables.md"] = lambda: "\n".join(map(as_markdown, sheets)).encode()
    files[f"{stem}-tables.json"] = lambda: f"[{', '.join(map(as_json, sheets))}]\n".encode()
    return files


def _csv_file(sheet: Sheet) -> bytes:
    return as_csv(sheet).encode("utf-8-sig")


def _node_paths(node: ScoreTree, above: Sequence[ScoreTree] = ()) -> Iterator[Sequence[ScoreTree]]:
    """Yields the path to each node, from the root to the node itself."""
    path = (*above, node)
    yield path
    for child in node.children:
        yield from _node_paths(child, path)


def _names_of(path: Sequence[ScoreTree]) -> tuple[str, ...]:
    return tuple(node.line.name for node in path)


def _column_keys(names: Iterable[str]) -> list[str]:
    """Keys of the trees' columns; no key of a tree's cells is that of another's, or of the sheet's own columns."""
    keys = []
    taken_keys = {*_OWN_KEYS}
    for name in names:
        key = name.lower().replace(" ", "_")
        while not taken_keys.isdisjoint(_cell_keys(key)):
            key += "_"
        keys.append(key)
        taken_keys.update(_cell_keys(key))
    return keys


def _cell_keys(key: str) -> list[str]:
    return [f"{key}{ending}" for ending in _CELL_ENDINGS]


def _score_column(key: str, head: str) -> Column:
    return Column(key, head, "score", f"{key}_low", f"{key}_high", bar=True)


def _score_cells(key: str, line: ScoreLine | None) -> dict[str, float | None]:
    if line is None:
        return dict.fromkeys((key, f"{key}_low", f"{key}_high"))
    return {
        key: line.mean,
        f"{key}_low": line.low,
        f"{key}_high": line.high,
        f"{key}_unscored": line.unscored,
        f"{key}_least": line.worst if line.unscored else None,
        f"{key}_most": line.best if line.unscored else None,
    }


def _unscored_columns(rows: Sequence[Mapping[str, Any]], key: str) -> list[Column]:
    """Columns of the number of unscored answers, and of the mean's possible range; no column if all are scored."""
    if not any(row[f"{key}_unscored"] for row in rows):
        return []
    possible = interval(f"{key}_least", f"{key}_most", "Possible mean")
    return [Column(f"{key}_unscored", "Unscored", "count"), possible]
