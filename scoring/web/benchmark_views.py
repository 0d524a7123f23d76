"""Benchmark views of multiple-choice reports: the tables that MMBench and MMT-Bench each show."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, TypeAlias

from arena.figures import Figure
from arena.templates import macros
from scoring.benchmarks import mmbench, mmt_bench
from scoring.multiple_choice.metrics import Compared, Comparison, LetterCount, Level, Node
from scoring.report import ScoreLine
from scoring.web.report_parts import PARTS, REPORT, PublishedBars, TableRow, bars_figure, number, rows_figure

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
WORST = 10
NUMBERS = "figures numbers"


def levels_html(caption: str, measures: Mapping[str, Node]) -> str:
    """Accuracies by level, a column per way of counting, each a tree from Overall down; the first has every ability."""
    tree, *beside = measures.values()
    undecided = {"Undecided": "undecided"} if any(node.line.unscored for node in tree.walk()) else {}
    columns = {"Ability": "name", "n": "", **dict.fromkeys(measures, "measure"), **undecided}
    return REPORT.table("figures levels", CHOICE.caption(caption), columns, list(_rows(tree, beside, 0, True)))


def board_html(caption: str, head: str, lines: Iterable[ScoreLine]) -> str:
    rows = [TableRow((line.name, f"{line.n:,}", REPORT.bar(line))) for line in lines]
    return REPORT.table("figures levels", caption, {head: "name", "n": "", "Accuracy": "measure"}, rows)


def label(name: str) -> str:
    return _words().get(name, name)


@cache
def _words() -> Mapping[str, str]:
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
    below = [{(child.level, child.line.name): child for child in one.children} if one else {} for one in beside]
    for child in node.children:
        others = [named.get((child.level, child.line.name)) for named in below]
        yield from _rows(child, others, depth + 1, shown and unfolded)


def overalls_html(scores: mmt_bench.MMTBenchScores) -> str:
    ways = (scores.overall, scores.random, scores.frequency)
    rows = [
        TableRow((own.name, REPORT.bar(own), number(random.mean), number(frequent.mean)))
        for own, random, frequent in zip(*ways, strict=True)
    ]
    columns = {"": "name", "This file": "measure", "Random": "", "Frequency": ""}
    note = PARTS.note(
        "Random: a guess among the options. Frequency: always the most frequent right letter of a subtask. Both are of "
        "the questions of this file."
    )
    return REPORT.together([REPORT.table("figures levels", "Overall, beside guessing", columns, rows), note])


def worst_html(what: str, nodes: Iterable[Node]) -> str:
    scored = sorted((node.line for node in nodes if node.line.mean is not None), key=lambda line: line.mean or 0.0)
    return CHOICE.worst(what, [(label(line.name), line) for line in scored], WORST)


def letters_html(counts: Sequence[LetterCount]) -> str:
    predicted, right = sum(one.predicted for one in counts), sum(one.right for one in counts)
    if not predicted or not right:
        return ""
    most = max(max(one.predicted / predicted, one.right / right) for one in counts)
    rows = [
        TableRow((one.letter, _share(one.predicted, predicted, most), _share(one.right, right, most))) for one in counts
    ]
    columns = {"Letter": "", "Predicted": "predicted", "Right": "right"}
    table = REPORT.table("figures letters", "Letters predicted, beside the right ones", columns, rows)
    return REPORT.together([table, PARTS.note("As in MMBench's Figure 4. Z: none of the options.")])


def _share(times: int, of: int, most: float) -> str:
    return REPORT.share(times, of, most * of)


def success_html(heads: Sequence[str], rates: Sequence[tuple[str, Sequence[float | None]]], note: str) -> str:
    rows = [TableRow((name, *("–" if rate is None else f"{rate:.1f}%" for rate in given))) for name, given in rates]
    rows[0] = rows[0]._replace(attributes={"class": "own"})
    columns = {"Model": "name", **dict.fromkeys(heads, "")}
    return REPORT.together([REPORT.table(NUMBERS, "Answers read after each step", columns, rows), PARTS.note(note)])


def published_html(title: str, own: Node | None, rows: Sequence[mmbench.PublishedTable], apart: str) -> str:
    """Return a file's CircularEval beside Table 5 or 6; `apart` says why they cannot be compared, "" if they can."""
    names = ("Overall", *L2_WORDS)
    columns = {"Model": "name", **{CHOICE.abbreviated(name, L2_WORDS.get(name, name)): "" for name in names}}
    means = {node.line.name: node.line.mean for node in own.walk()} if own else {}
    first = [TableRow((title, *(number(means.get(name)) for name in names)), {"class": "own"})] if own else []
    other = [TableRow((row.model, *(number(row.scores[name]) for name in names))) for row in rows]
    caption = f"CircularEval beside Table {rows[0].table} ({rows[0].split})"
    table = REPORT.table(NUMBERS, caption, columns, [*first, *other])
    return REPORT.together([PARTS.warning(apart) if apart else "", table])


def comparison_html(first: str, second: str, found: Sequence[Compared]) -> str:
    known = [(one.over, [line for line in one.lines if _pairs(line)]) for one in found]
    return CHOICE.versus(first, second, [_compared(over, lines) for over, lines in known if lines])


def _compared(over: str, lines: Sequence[Comparison]) -> tuple[str, str]:
    heads = ("n", "Both", "Only this", "Only the other", "Neither", CHOICE.abbreviated("p", "exact McNemar test"))
    rows = [TableRow((label(line.name), *_cells(line)), {"class": "sure" if line.p < 0.05 else None}) for line in lines]
    table = REPORT.table(NUMBERS, f"Right over {over}", {"Ability": "name", **dict.fromkeys(heads, "")}, rows)
    return f"Over {over}: {_verdict(lines[0])}", table


def _pairs(one: Comparison) -> int:
    return one.both + one.first_only + one.second_only + one.neither


def _cells(one: Comparison) -> tuple[str, ...]:
    counts = (_pairs(one), one.both, one.first_only, one.second_only, one.neither)
    return (*(f"{count:,}" for count in counts), "< 0.001" if one.p < 0.001 else f"{one.p:.3f}")


def _verdict(overall: Comparison) -> str:
    n = _pairs(overall)
    here, there = (100 * (overall.both + only) / n for only in (overall.first_only, overall.second_only))
    sure = "no more than chance may do" if overall.p >= 0.05 else "more than chance does"
    return f"{here:.1f} and {there:.1f} of {n:,} in both files, {sure} (p = {overall.p:.2g})."


INTERVALS = "Accuracy in percent with 95% intervals."


Pair: TypeAlias = tuple[ScoreLine, ScoreLine]
"""One mean under two protocols."""


class BenchmarkView(Protocol):
    """Report view of a benchmark; `found` is the result of its `tabulate`, `place` the index of a split.

    `totals` are the headline numbers, `pairs` one file's means under two protocols, Overall first, `tables` the levels,
    the worst abilities and the rest, `beside` the published rows to compare with, the default first, `success` how
    letters were read.
    """

    def name(self, found: Any) -> str: ...
    def totals(self, found: Any, place: int) -> Sequence[tuple[str, ScoreLine]]: ...
    def pairs(self, here: Any, there: Any) -> Sequence[Pair]: ...
    def tables(self, title: str, found: Any, place: int) -> tuple[str, str, str]: ...
    def beside(self, found: Any) -> Sequence[str]: ...
    def figure(self, title: str, found: Any, place: int, beside: str) -> Figure: ...
    def success(self, title: str, found: Any) -> str: ...


class MMBenchView:
    """MMBench and its editions: vanilla and circular, three levels, Tables 5 and 6."""

    def name(self, found: mmbench.MMBenchReport) -> str:
        return found.edition

    def totals(self, found: mmbench.MMBenchReport, place: int) -> Sequence[tuple[str, ScoreLine]]:
        return [(name, tree.line) for name, tree in _measures(found.splits[place]).items()]

    def pairs(self, here: mmbench.MMBenchReport, there: mmbench.MMBenchReport) -> Sequence[Pair]:
        """Return Overall, L-1 and L-2; circular if both are, since whether a gap matters depends on the protocol."""
        if not here.splits:
            return ()
        one, other = here.splits[-1], there.splits[-1]
        first, second = one.circular, other.circular
        if first is None or second is None:
            first, second = one.vanilla, other.vanilla
        lines = {node.line.name: node.line for node in second.walk()}
        return [(node.line, lines[node.line.name]) for node in first.walk() if node.level != "L-3"]

    def tables(self, title: str, found: mmbench.MMBenchReport, place: int) -> tuple[str, str, str]:
        scores = found.splits[place]
        measures = _measures(scores)
        more = ""
        if rows := _published(found):
            table = max(row.table for row in rows) if scores.split == "test" else min(row.table for row in rows)
            of_table = [row for row in rows if row.table == table]
            shown = published_html(title, scores.circular, of_table, _apart(found, scores, of_table[0]))
            more = REPORT.folded(f"Beside the paper's Table {table}", shown)
        name, tree = next(iter(measures.items()))
        return levels_html(f"{name} by level", measures), worst_html("abilities", tree.find("L-3")), more

    def beside(self, found: mmbench.MMBenchReport) -> Sequence[str]:
        return list(map(_row_name, sorted(_published(found), key=lambda row: (row.table, -row.scores["Overall"]))))

    def figure(self, title: str, found: mmbench.MMBenchReport, place: int, beside: str) -> Figure:
        scores = found.splits[place]
        tree = next(iter(_measures(scores).values()))
        l2 = [node.line.name for node in tree.find("L-2")]
        names = sorted(l2, key=[*L2_WORDS, *l2].index) or [node.line.name for node in tree.find("L-3")]
        lines = {node.line.name: node.line for node in tree.walk()}
        row = next((row for row in _published(found) if _row_name(row) == beside), None)
        other = PublishedBars((row.model, "(published)"), row.scores, _apart(found, scores, row)) if row else None
        return bars_figure("Abilities", INTERVALS, title, [lines[name] for name in (*names, "Overall")], other)

    def success(self, title: str, found: mmbench.MMBenchReport) -> str:
        rate = found.success.rate
        steps = rate("letter", "content", "none"), rate("letter", "content", "none", "judge")
        heads = ("Step 1: rules", "Step 2: and judge", "None of the options")
        note = "As in MMBench's Table 2; what says none of the options is read too."
        return success_html(heads, [(title, (*steps, found.success.refused))], note)


class MMTBenchView:
    """MMT-Bench: three Overalls, meta-tasks and subtasks, boards by image type and capability, Table A17."""

    def name(self, found: mmt_bench.MMTBenchReport) -> str:
        return "MMT-Bench"

    def totals(self, found: mmt_bench.MMTBenchReport, place: int) -> Sequence[tuple[str, ScoreLine]]:
        overall = found.splits[place].overall
        return [
            ("Overall, mean over subtasks", overall.subtasks),
            ("Overall, mean over samples", overall.samples),
            ("Overall*, without Visual Recognition", overall.star),
        ]

    def pairs(self, here: mmt_bench.MMTBenchReport, there: mmt_bench.MMTBenchReport) -> Sequence[Pair]:
        lines = []
        for scores in (here.splits[-1], there.splits[-1]):
            lines.append([*scores.overall, *(node.line for node in scores.tree.find("meta-task"))])
        return list(zip(lines[0], lines[1], strict=True))

    def tables(self, title: str, found: mmt_bench.MMTBenchReport, place: int) -> tuple[str, str, str]:
        scores = found.splits[place]
        types = board_html("By image type", "Image type", scores.image_types)
        boards = CHOICE.pair(types, board_html("By capability", "Capability", scores.capabilities))
        note = PARTS.note("Means over subtasks; a subtask counts in every image type and capability it has.")
        levels = levels_html("By meta-task and subtask", {"Accuracy": scores.tree})
        worst = worst_html("subtasks", scores.tree.find("subtask"))
        return levels, worst, REPORT.together([overalls_html(scores), boards, note])

    def beside(self, found: mmt_bench.MMTBenchReport) -> Sequence[str]:
        """Return nothing: the paper's table of models has misplaced cells."""
        return ()

    def figure(self, title: str, found: mmt_bench.MMTBenchReport, place: int, beside: str) -> Figure:
        lines = [node.line for node in found.splits[place].tree.find("meta-task") if node.line.mean is not None]
        lines.sort(key=lambda line: line.mean or 0.0)
        return rows_figure("Meta-tasks", INTERVALS, title, lines, [label(line.name) for line in lines])

    def success(self, title: str, found: mmt_bench.MMTBenchReport) -> str:
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
    return tuple(scores.split or "(no split)" for scores in found.splits)


def _measures(scores: mmbench.MMBenchScores) -> Mapping[str, Node]:
    circular = {"CircularEval": scores.circular} if scores.circular else {}
    return {**circular, "Vanilla": scores.vanilla}


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
