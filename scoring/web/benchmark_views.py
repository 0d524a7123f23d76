"""Benchmark views of multiple-choice reports: the tables that MMBench and MMT-Bench each show."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, TypeAlias

from arena.templates import macros
from scoring.benchmarks import mmbench, mmt_bench
from scoring.multiple_choice.metrics import LetterCount, Level, Node
from scoring.report import ScoreLine
from scoring.web.report_parts import PARTS, REPORT, TableRow, number

CHOICE = macros("multiple_choice.html")
_UNFOLDED: frozenset[Level] = frozenset(("overall", "L-1"))
WORST = 10
NUMBERS = "figures numbers"


def levels_html(caption: str, measures: Mapping[str, Node]) -> str:
    """Accuracies by level, a column per way of counting, each a tree from Overall down; the first has every ability."""
    tree, *beside = measures.values()
    undecided = (
        {"Undecided": "undecided"} if any(node.line.unscored for node in tree.walk()) else {}
    )
    columns = {"Ability": "name", "n": "", **dict.fromkeys(measures, "measure"), **undecided}
    return REPORT.table(
        "figures levels",
        CHOICE.caption(f"{caption}, with 95% intervals"),
        columns,
        list(_rows(tree, beside, 0, True)),
    )


def board_html(caption: str, head: str, lines: Iterable[ScoreLine]) -> str:
    rows = [TableRow((line.name, f"{line.n:,}", REPORT.bar(line))) for line in lines]
    columns = {head: "name", "n": "", "Accuracy": "measure"}
    return REPORT.table("figures levels", f"{caption}, with 95% intervals", columns, rows)


def label(name: str) -> str:
    return _words().get(name, name)


@cache
def _words() -> Mapping[str, str]:
    plain = [*mmbench.L1, *(name for names in mmbench.L3.values() for name in names)]
    return {
        **{name: "OCR" if name == "ocr" else name.replace("_", " ").capitalize() for name in plain},
        **{name: f"{words} ({name})" for name, words in mmbench.L2_WORDS.items()},
        **{key: one.name for key, one in mmt_bench.subtasks().items()},
        **{key: one.name for key, one in mmt_bench.meta_tasks().items()},
    }


def _rows(node: Node, beside: Sequence[Node | None], depth: int, shown: bool) -> Iterable[TableRow]:
    unfolded = node.level in _UNFOLDED
    name = CHOICE.ability(label(node.line.name), bool(node.children), unfolded)
    bars = [REPORT.bar(one.line) if one else "–" for one in (node, *beside)]
    place = {"data-depth": depth, "style": f"--depth:{depth}", "hidden": None if shown else ""}
    yield TableRow(
        (name, f"{node.line.n:,}", *bars, f"{node.line.unscored:,}" if node.line.unscored else ""),
        place,
    )
    below = [
        {(child.level, child.line.name): child for child in one.children} if one else {}
        for one in beside
    ]
    for child in node.children:
        others = [named.get((child.level, child.line.name)) for named in below]
        yield from _rows(child, others, depth + 1, shown and unfolded)


def overalls_html(scores: mmt_bench.MMTBenchScores) -> str:
    ways = zip(scores.overall, scores.random, scores.frequency, strict=True)
    rows = [
        TableRow((own.name, REPORT.bar(own), number(random.mean), number(frequent.mean)))
        for own, random, frequent in ways
    ]
    columns = {"Mean": "name", "This file": "measure", "Random": "guess", "Frequency": "guess"}
    note = PARTS.note(
        "Random: a guess among the options. Frequency: always the most frequent right letter of a subtask. Both are of "
        "the questions of this file."
    )
    return REPORT.together(
        [
            REPORT.table(
                "figures levels", "Overall, with 95% intervals, beside guessing", columns, rows
            ),
            note,
        ]
    )


def worst_html(what: str, nodes: Iterable[Node]) -> str:
    scored = sorted(
        (node.line for node in nodes if node.line.mean is not None),
        key=lambda line: line.mean or 0.0,
    )
    return CHOICE.worst(what, [(label(line.name), line) for line in scored], WORST)


def letters_html(counts: Sequence[LetterCount]) -> str:
    predicted = sum(one.predicted for one in counts)
    right = sum(one.right for one in counts)
    if not predicted or not right:
        return ""
    most = max(max(one.predicted / predicted, one.right / right) for one in counts)
    rows = [
        TableRow(
            (one.letter, _share(one.predicted, predicted, most), _share(one.right, right, most))
        )
        for one in counts
    ]
    columns = {"Letter": "", "Predicted": "predicted", "Right": "right"}
    table = REPORT.table(
        "figures letters", "Letters predicted, beside the right ones", columns, rows
    )
    return REPORT.together([table, PARTS.note("As in MMBench's Figure 4. Z: none of the options.")])


def _share(times: int, of: int, most: float) -> str:
    return REPORT.share(times, of, most * of)


def success_html(
    heads: Sequence[str], rates: Sequence[tuple[str, Sequence[float | None]]], note: str
) -> str:
    cells = [
        (name, ["–" if rate is None else f"{rate:.1f}%" for rate in given]) for name, given in rates
    ]
    rows = [TableRow((REPORT.name(name), *shares)) for name, shares in cells]
    rows[0] = rows[0]._replace(attributes={"class": "own"})
    columns = {"Model": "name", **dict.fromkeys(heads, "")}
    return REPORT.together(
        [REPORT.table(NUMBERS, "Answers read after each step", columns, rows), PARTS.note(note)]
    )


Pair: TypeAlias = tuple[ScoreLine, ScoreLine]
"""One mean under two protocols."""


class BenchmarkView(Protocol):
    """Report view of a benchmark; `found` is the result of its `tabulate`, `place` the index of a split.

    `totals` are the headline numbers, `pairs` one file's means under two protocols, Overall first, `tables` the levels,
    the worst abilities and the rest, `success` how letters were read.
    """

    def totals(self, found: Any, place: int) -> Sequence[tuple[str, ScoreLine]]: ...
    def pairs(self, here: Any, there: Any) -> Sequence[Pair]: ...
    def tables(self, title: str, found: Any, place: int) -> tuple[str, str, str]: ...
    def success(self, title: str, found: Any) -> str: ...


class MMBenchView:
    """MMBench and its editions: vanilla and circular, three levels."""

    def totals(self, found: mmbench.MMBenchReport, place: int) -> Sequence[tuple[str, ScoreLine]]:
        return [(name, tree.line) for name, tree in _measures(found.splits[place]).items()]

    def pairs(self, here: mmbench.MMBenchReport, there: mmbench.MMBenchReport) -> Sequence[Pair]:
        """Return Overall, L-1 and L-2; circular if both are, since whether a gap matters depends on the protocol."""
        if not here.splits:
            return ()
        one = here.splits[-1]
        other = there.splits[-1]
        first = one.circular
        second = other.circular
        if first is None or second is None:
            first = one.vanilla
            second = other.vanilla
        lines = {node.line.name: node.line for node in second.walk()}
        return [(node.line, lines[node.line.name]) for node in first.walk() if node.level != "L-3"]

    def tables(self, title: str, found: mmbench.MMBenchReport, place: int) -> tuple[str, str, str]:
        scores = found.splits[place]
        measures = _measures(scores)
        name, tree = next(iter(measures.items()))
        return (
            levels_html(f"{name} by level", measures),
            worst_html("abilities", tree.find("L-3")),
            "",
        )

    def success(self, title: str, found: mmbench.MMBenchReport) -> str:
        rate = found.success.rate
        steps = rate("letter", "content", "none"), rate("letter", "content", "none", "judge")
        heads = ("Step 1: rules", "Step 2: and judge", "None of the options")
        note = "As in MMBench's Table 2; what says none of the options is read too."
        return success_html(heads, [(title, (*steps, found.success.refused))], note)


class MMTBenchView:
    """MMT-Bench: three Overalls, meta-tasks and subtasks, boards by image type and capability, Table A17."""

    def totals(
        self, found: mmt_bench.MMTBenchReport, place: int
    ) -> Sequence[tuple[str, ScoreLine]]:
        overall = found.splits[place].overall
        return [
            ("Overall, mean over subtasks", overall.subtasks),
            ("Overall, mean over samples", overall.samples),
            ("Overall*, without Visual Recognition", overall.star),
        ]

    def pairs(
        self, here: mmt_bench.MMTBenchReport, there: mmt_bench.MMTBenchReport
    ) -> Sequence[Pair]:
        return list(zip(_head_lines(here.splits[-1]), _head_lines(there.splits[-1]), strict=True))

    def tables(
        self, title: str, found: mmt_bench.MMTBenchReport, place: int
    ) -> tuple[str, str, str]:
        scores = found.splits[place]
        types = board_html("By image type", "Image type", scores.image_types)
        boards = CHOICE.pair(types, board_html("By capability", "Capability", scores.capabilities))
        note = PARTS.note(
            "Means over subtasks; a subtask counts in every image type and capability it has."
        )
        levels = levels_html("By meta-task and subtask", {"Accuracy": scores.tree})
        worst = worst_html("subtasks", scores.tree.find("subtask"))
        return levels, worst, REPORT.together([overalls_html(scores), boards, note])

    def success(self, title: str, found: mmt_bench.MMTBenchReport) -> str:
        rate = found.success.rate
        refused = found.success.refused
        rows = [
            (
                title,
                (
                    rate("letter"),
                    rate("letter", "content"),
                    rate("letter", "content", "judge"),
                    refused,
                ),
            )
        ]
        rows += [
            (f"{row.model} (Table A17)", (row.step1, row.step2, row.step3, row.refused))
            for row in mmt_bench.published_success()
        ]
        heads = ("Step 1: letters", "Step 2: and contents", "Step 3: and judge", "Refused")
        return success_html(heads, rows, "Table A17 is of the whole benchmark.")


BENCHMARK_VIEWS: Mapping[str, BenchmarkView] = {
    "mmbench": MMBenchView(),
    "mmt-bench": MMTBenchView(),
}


def split_names(found: Any) -> tuple[str, ...]:
    return tuple(scores.split or "(no split)" for scores in found.splits)


def _head_lines(scores: mmt_bench.MMTBenchScores) -> list[ScoreLine]:
    """The Overalls, and every meta-task."""
    return [*scores.overall, *(node.line for node in scores.tree.find("meta-task"))]


def _measures(scores: mmbench.MMBenchScores) -> Mapping[str, Node]:
    circular = {"CircularEval": scores.circular} if scores.circular else {}
    return {**circular, "Vanilla": scores.vanilla}
