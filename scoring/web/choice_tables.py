"""Tables of multiple-choice reports: worst abilities, how letters were read, published rows, two models compared."""

from collections.abc import Iterable, Sequence

from scoring.benchmarks import mmbench, mmt_bench
from scoring.multiple_choice.metrics import Compared, Comparison, LetterCount, Node
from scoring.web.levels_view import CHOICE, L2_WORDS, label
from scoring.web.report_parts import PARTS, REPORT, TableRow, number

WORST = 10
"""Abilities in the worst-first list before it is unfolded."""
NUMBERS = "figures numbers"


def overalls_html(scores: mmt_bench.MMTBenchScores) -> str:
    """Return MMT-Bench's three Overalls, each named, beside the scores of guessing."""
    ways = (scores.overall, scores.random, scores.frequency)
    rows = [
        TableRow((own.name, REPORT.bar(own), number(random.mean), number(frequent.mean)))
        for own, random, frequent in zip(*((one.subtasks, one.samples, one.star) for one in ways), strict=True)
    ]
    columns = {"": "name", "This file": "measure", "Random": "", "Frequency": ""}
    note = PARTS.note(
        "Random: a guess among the options. Frequency: always the most frequent right letter of a subtask. Both are of "
        "the questions of this file."
    )
    return REPORT.together([REPORT.table("figures levels", "Overall, beside guessing", columns, rows), note])


def worst_html(what: str, nodes: Iterable[Node]) -> str:
    """Return the abilities, worst first, without those that have no score."""
    scored = sorted((node.line for node in nodes if node.line.mean is not None), key=lambda line: line.mean or 0.0)
    return CHOICE.worst(what, [(label(line.name), line) for line in scored], WORST)


def letters_html(counts: Sequence[LetterCount]) -> str:
    """Return how often each letter is predicted and how often it is right, as in MMBench's Figure 4."""
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
    """Return what percentage of answers each step read, by model, the report's own first."""
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
    """Return McNemar's comparison of two models, ability by ability."""
    known = [(one.over, [line for line in one.lines if _pairs(line)]) for one in found]
    return CHOICE.versus(first, second, [_compared(over, lines) for over, lines in known if lines])


def _compared(over: str, lines: Sequence[Comparison]) -> tuple[str, str]:
    """Return the overall outcome in a sentence, and the table."""
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
