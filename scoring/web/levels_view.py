"""Accuracy tables: by level with rows that unfold, and as boards; each mean above the bar of its interval."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from typing import NamedTuple

from scoring.benchmarks import mmbench, mmt_bench
from scoring.multiple_choice.metrics import Level, Node
from scoring.report import ScoreLine

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
    undecided = any(node.line.unscored for node in measures[0].tree.walk())
    heads = "".join(f'<th scope="col" class="measure">{escape(measure.name)}</th>' for measure in measures)
    more = '<th scope="col" class="undecided">Undecided</th>' if undecided else ""
    rows = "".join(_rows(measures[0].tree, [measure.tree for measure in measures[1:]], 0, True, undecided))
    return (
        f'<div class="figures levels"><table><caption>{escape(caption)}'
        '<button type="button" class="unfold">Unfold all</button></caption>'
        f'<thead><tr><th scope="col" class="name">Ability</th><th scope="col">n</th>{heads}{more}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def board_html(caption: str, head: str, lines: Iterable[ScoreLine]) -> str:
    """Return a table of lines that belong to no level, such as those by image type."""
    rows = "".join(
        f'<tr><th scope="row" class="name">{escape(line.name)}</th><td>{line.n:,}</td><td>{bar_html(line)}</td></tr>'
        for line in lines
    )
    return (
        f'<div class="figures levels"><table><caption>{escape(caption)}</caption><thead><tr>'
        f'<th scope="col" class="name">{escape(head)}</th><th scope="col">n</th>'
        '<th scope="col" class="measure">Accuracy</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def bar_html(line: ScoreLine) -> str:
    """Return a mean in percent above the bar of its interval."""
    if line.mean is None:
        return "–"
    if line.low is None or line.high is None:
        return f"<b>{line.mean:.1f}</b>"
    low, high = max(line.low, 0.0), min(line.high, 100.0)
    places = f"--from:{low:.1f}%;--to:{high:.1f}%;--at:{line.mean:.1f}%"
    return f'<b>{line.mean:.1f}</b> <small>{low:.1f} to {high:.1f}</small><span class="bar" style="{places}"></span>'


def name_html(name: str) -> str:
    """Return an ability's label; long names from files may wrap."""
    return escape(label(name)).replace("_", "_<wbr>")


def label(name: str) -> str:
    """Return an ability's name in words; a name that is not in the papers stays as in the file."""
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


def _rows(node: Node, beside: Sequence[Node | None], depth: int, shown: bool, undecided: bool) -> Iterable[str]:
    """Yield the row of an ability, then the rows below it."""
    unfolded = node.level in _UNFOLDED
    name = name_html(node.line.name)
    if node.children:
        name = f'<button type="button" aria-expanded="{str(unfolded).lower()}">{name}</button>'
    cells = "".join(f"<td>{bar_html(one.line) if one else '–'}</td>" for one in (node, *beside))
    more = f'<td class="undecided">{node.line.unscored or ""}</td>' if undecided else ""
    place = f'data-depth="{depth}" style="--depth:{depth}"{"" if shown else " hidden"}'
    yield f'<tr {place}><th scope="row" class="name">{name}</th><td>{node.line.n:,}</td>{cells}{more}</tr>'
    for child in node.children:
        others = [_child(one, child.line.name) for one in beside]
        yield from _rows(child, others, depth + 1, shown and unfolded, undecided)


def _child(node: Node | None, name: str) -> Node | None:
    return next((one for one in node.children if one.line.name == name), None) if node else None
