"""Accuracy tables: by level with rows that unfold, and as boards; each mean above the bar of its interval."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from arena.templates import macros
from scoring.benchmarks import mmbench, mmt_bench
from scoring.multiple_choice.metrics import Level, Node
from scoring.report import ScoreLine
from scoring.web.report_parts import REPORT, TableRow

CHOICE = macros("multiple_choice.html")
L2_WORDS = {
    "CP": "Coarse perception",
    "FP-S": "Fine-grained perception, one instance",
    "FP-C": "Fine-grained perception, across instances",
    "AR": "Attribute reasoning",
    "RR": "Relation reasoning",
    "LR": "Logic reasoning",
}
_UNFOLDED: frozenset[Level] = frozenset(("overall", "L-1"))


class Measure(NamedTuple):
    """Column of the table by level: one way of counting, as a tree from Overall down."""

    name: str
    tree: Node


def levels_html(caption: str, measures: Sequence[Measure]) -> str:
    """Return accuracies by level, one column per measure; the first measure has every ability."""
    tree, *beside = (measure.tree for measure in measures)
    undecided = {"Undecided": "undecided"} if any(node.line.unscored for node in tree.walk()) else {}
    columns = {"Ability": "name", "n": "", **{measure.name: "measure" for measure in measures}, **undecided}
    return REPORT.table("figures levels", CHOICE.caption(caption), columns, list(_rows(tree, beside, 0, True)))


def board_html(caption: str, head: str, lines: Iterable[ScoreLine]) -> str:
    """Return a table of lines that belong to no level, such as those by image type."""
    rows = [TableRow((line.name, f"{line.n:,}", REPORT.bar(line))) for line in lines]
    return REPORT.table("figures levels", caption, {head: "name", "n": "", "Accuracy": "measure"}, rows)


def label(name: str) -> str:
    return _words().get(name, name)


@cache
def _words() -> Mapping[str, str]:
    """Return the labels of the papers' names, at every level; equal names share a label."""
    plain = [*mmbench.L1, *(name for names in mmbench.L3.values() for name in names)]
    return {
        **{name: "OCR" if name == "ocr" else name.replace("_", " ").capitalize() for name in plain},
        **{name: f"{words} ({name})" for name, words in L2_WORDS.items()},
        **{key: one.name for key, one in mmt_bench.subtasks().items()},
        **{key: one.name for key, one in mmt_bench.meta_tasks().items()},
    }


def _rows(node: Node, beside: Sequence[Node | None], depth: int, shown: bool) -> Iterable[TableRow]:
    unfolded = node.level in _UNFOLDED
    name = CHOICE.ability(label(node.line.name), bool(node.children), unfolded)
    bars = [REPORT.bar(one.line) if one else "–" for one in (node, *beside)]
    place = {"data-depth": depth, "style": f"--depth:{depth}", "hidden": None if shown else ""}
    yield TableRow((name, f"{node.line.n:,}", *bars, node.line.unscored or ""), place)
    for child in node.children:
        others = [_child(one, child.line.name) for one in beside]
        yield from _rows(child, others, depth + 1, shown and unfolded)


def _child(node: Node | None, name: str) -> Node | None:
    return next((one for one in node.children if one.line.name == name), None) if node else None
