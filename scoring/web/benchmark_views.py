"""Benchmark views of multiple-choice reports: the tables that MMBench and MMT-Bench each show."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from arena.figures import Figure
from scoring.benchmarks import mmbench, mmt_bench
from scoring.report import ScoreLine
from scoring.web.choice_tables import overalls_html, published_html, success_html, worst_html
from scoring.web.levels_view import CHOICE, L2_WORDS, Measure, board_html, label, levels_html
from scoring.web.plots import PublishedBars, bars_figure, rows_figure
from scoring.web.report_parts import PARTS, REPORT, Total

INTERVALS = "Accuracy in percent with 95% intervals."


class Tables(NamedTuple):
    """Tables of one split as HTML."""

    levels: str
    worst: str
    more: str


class Pair(NamedTuple):
    """One mean under two protocols."""

    here: ScoreLine
    there: ScoreLine


class BenchmarkView(Protocol):
    """Report view of a benchmark; `found` is the result of its `tabulate`, `place` the index of a split.

    `totals` are the headline numbers, `pairs` one file's means under two protocols, Overall first, `beside` the
    published rows to compare with, the default first, and `success` tells how the letters were read.
    """

    def name(self, found: Any) -> str: ...
    def totals(self, found: Any, place: int) -> Sequence[Total]: ...
    def pairs(self, here: Any, there: Any) -> Sequence[Pair]: ...
    def tables(self, title: str, found: Any, place: int) -> Tables: ...
    def beside(self, found: Any) -> Sequence[str]: ...
    def figure(self, title: str, found: Any, place: int, beside: str) -> Figure: ...
    def success(self, title: str, found: Any) -> str: ...


class MMBenchView:
    """MMBench and its editions: vanilla and circular, three levels, Tables 5 and 6."""

    def name(self, found: mmbench.MMBenchReport) -> str:
        return found.edition

    def totals(self, found: mmbench.MMBenchReport, place: int) -> Sequence[Total]:
        """Return Overall: circular, if the file is, and vanilla."""
        scores = found.splits[place]
        return [Total(measure.name, measure.tree.line) for measure in _measures(scores)]

    def pairs(self, here: mmbench.MMBenchReport, there: mmbench.MMBenchReport) -> Sequence[Pair]:
        """Return Overall, L-1 and L-2; circular if both are, since whether a gap matters depends on the protocol."""
        if not here.splits:
            return ()
        one, other = here.splits[-1], there.splits[-1]
        first, second = one.circular, other.circular
        if first is None or second is None:
            first, second = one.vanilla, other.vanilla
        lines = {node.line.name: node.line for node in second.walk()}
        return [Pair(node.line, lines[node.line.name]) for node in first.walk() if node.level != "L-3"]

    def tables(self, title: str, found: mmbench.MMBenchReport, place: int) -> Tables:
        """Return the levels, the worst abilities, and Table 5 or 6."""
        scores = found.splits[place]
        measures = _measures(scores)
        more = ""
        if rows := _published(found):
            table = max(row.table for row in rows) if scores.split == "test" else min(row.table for row in rows)
            of_table = [row for row in rows if row.table == table]
            shown = published_html(title, scores.circular, of_table, _apart(found, scores, of_table[0]))
            more = REPORT.folded(f"Beside the paper's Table {table}", shown)
        name = measures[0].name
        return Tables(
            levels_html(f"{name} by level", measures), worst_html("abilities", measures[0].tree.find("L-3")), more
        )

    def beside(self, found: mmbench.MMBenchReport) -> Sequence[str]:
        """Return the rows of Tables 5 and 6, the best of Table 5 first; none for CCBench."""
        rows = sorted(_published(found), key=lambda row: (row.table, -row.scores["Overall"]))
        return [_row_name(row) for row in rows]

    def figure(self, title: str, found: mmbench.MMBenchReport, place: int, beside: str) -> Figure:
        """Return the L-2 abilities beside a published row."""
        scores = found.splits[place]
        tree = _measures(scores)[0].tree
        l2 = [node.line.name for node in tree.find("L-2")]
        names = sorted(l2, key=_paper_order) or [node.line.name for node in tree.find("L-3")]
        lines = {node.line.name: node.line for node in tree.walk()}
        row = next((row for row in _published(found) if _row_name(row) == beside), None)
        other = PublishedBars((row.model, "(published)"), row.scores, _apart(found, scores, row)) if row else None
        return bars_figure("Abilities", INTERVALS, title, [lines[name] for name in (*names, "Overall")], other)

    def success(self, title: str, found: mmbench.MMBenchReport) -> str:
        """Return the steps as in Table 2."""
        rate = found.success.rate
        steps = rate("letter", "content", "none"), rate("letter", "content", "none", "judge")
        heads = ("Step 1: rules", "Step 2: and judge", "None of the options")
        note = "As in MMBench's Table 2; what says none of the options is read too."
        return success_html(heads, [(title, (*steps, found.success.refused))], note)


class MMTBenchView:
    """MMT-Bench: three Overalls, meta-tasks and subtasks, boards by image type and capability, Table A17."""

    def name(self, found: mmt_bench.MMTBenchReport) -> str:
        return "MMT-Bench"

    def totals(self, found: mmt_bench.MMTBenchReport, place: int) -> Sequence[Total]:
        """Return the three Overalls."""
        overall = found.splits[place].overall
        return [
            Total("Overall, mean over subtasks", overall.subtasks),
            Total("Overall, mean over samples", overall.samples),
            Total("Overall*, without Visual Recognition", overall.star),
        ]

    def pairs(self, here: mmt_bench.MMTBenchReport, there: mmt_bench.MMTBenchReport) -> Sequence[Pair]:
        """Return the Overalls and the meta-tasks."""
        lines = []
        for scores in (here.splits[-1], there.splits[-1]):
            overall = scores.overall
            metas = [node.line for node in scores.tree.find("meta-task")]
            lines.append([overall.subtasks, overall.samples, overall.star, *metas])
        return [Pair(*pair) for pair in zip(*lines, strict=True)]

    def tables(self, title: str, found: mmt_bench.MMTBenchReport, place: int) -> Tables:
        """Return the levels, the worst subtasks, the Overalls beside guessing, and the boards."""
        scores = found.splits[place]
        types = board_html("By image type", "Image type", scores.image_types)
        boards = CHOICE.pair(types, board_html("By capability", "Capability", scores.capabilities))
        note = PARTS.note("Means over subtasks; a subtask counts in every image type and capability it has.")
        levels = levels_html("By meta-task and subtask", [Measure("Accuracy", scores.tree)])
        worst = worst_html("subtasks", scores.tree.find("subtask"))
        return Tables(levels, worst, REPORT.together([overalls_html(scores), boards, note]))

    def beside(self, found: mmt_bench.MMTBenchReport) -> Sequence[str]:
        """Return nothing: the paper's table of models has misplaced cells."""
        return ()

    def figure(self, title: str, found: mmt_bench.MMTBenchReport, place: int, beside: str) -> Figure:
        """Return the meta-tasks, best on top."""
        lines = [node.line for node in found.splits[place].tree.find("meta-task") if node.line.mean is not None]
        lines.sort(key=lambda line: line.mean or 0.0)
        return rows_figure("Meta-tasks", INTERVALS, title, lines, [label(line.name) for line in lines])

    def success(self, title: str, found: mmt_bench.MMTBenchReport) -> str:
        """Return the steps beside Table A17."""
        rate, refused = found.success.rate, found.success.refused
        rows = [(title, (rate("letter"), rate("letter", "content"), rate("letter", "content", "judge"), refused))]
        rows += [
            (f"{row.model} (Table A17)", (row.step1, row.step2, row.step3, row.refused))
            for row in mmt_bench.published_success()
        ]
        heads = ("Step 1: letters", "Step 2: and contents", "Step 3: and judge", "Refused")
        return success_html(heads, rows, "Table A17 is of the whole benchmark.")


BENCHMARK_VIEWS: Mapping[str, BenchmarkView] = {"mmbench": MMBenchView(), "mmt-bench": MMTBenchView()}


def split_names(found: Any) -> tuple[str, ...]:
    """Return a report's splits in order, as people read them."""
    return tuple(scores.split or "(no split)" for scores in found.splits)


def _paper_order(name: str) -> int:
    return list(L2_WORDS).index(name) if name in L2_WORDS else len(L2_WORDS)


def _measures(scores: mmbench.MMBenchScores) -> list[Measure]:
    circular = [Measure("CircularEval", scores.circular)] if scores.circular else []
    return [*circular, Measure("Vanilla", scores.vanilla)]


def _published(found: mmbench.MMBenchReport) -> Sequence[mmbench.PublishedTable]:
    return () if found.edition == "CCBench" else mmbench.published()


def _row_name(row: mmbench.PublishedTable) -> str:
    return f"{row.model} (Table {row.table}, {row.split})"


def _apart(found: mmbench.MMBenchReport, scores: mmbench.MMBenchScores, row: mmbench.PublishedTable) -> str:
    """Return why a file and a published row cannot be compared; "" if they can."""
    reasons = []
    if scores.circular is None:
        reasons.append("this is vanilla accuracy, the table is CircularEval")
    if found.edition != "MMBench":
        reasons.append(f"this is {found.edition}, the table is MMBench")
    if scores.split != row.split:
        reasons.append(f"these are questions of {scores.split or 'no split'}, the table is {row.split}")
    return "; ".join(reasons)
