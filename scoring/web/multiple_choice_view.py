"""Multiple-choice report as HTML: totals, worst abilities, how letters were read, published rows, file problems."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from scoring.benchmarks import mmbench, mmt_bench
from scoring.benchmarks.choice_report import Compared
from scoring.multiple_choice.metrics import Comparison, LetterCount, Node, Success
from scoring.multiple_choice.reader import Blocks, Problem
from scoring.report import ScoreLine
from scoring.web.levels_view import L2_WORDS, bar_html, label, name_html

WORST = 10
"""Abilities in the worst-first list before it is unfolded."""
MOST_PROBLEMS = 100
"""Maximum number of problems of one kind on a page."""
BLOCKS: Mapping[Blocks, str] = {
    "scoring": "This keeps the file from being scored",
    "whole": "What is missing: the score is partial",
    "circular": "This keeps the file from CircularEval",
    "nothing": "Good to know",
}


class Total(NamedTuple):
    """Headline number of a report, with its name."""

    name: str
    line: ScoreLine


def totals_html(totals: Sequence[Total]) -> str:
    """Return a report's headline numbers side by side, each with its name and interval."""
    return f'<dl class="totals">{"".join(map(total_html, totals))}</dl>'


def total_html(total: Total) -> str:
    """Return one headline number, with its interval and its denominator."""
    line = total.line
    interval = "" if line.low is None or line.high is None else f"95% interval {line.low:.1f} to {line.high:.1f}"
    count = f"{line.n - line.unscored:,} of {line.n:,} decided" if line.unscored else f"n {line.n:,}"
    return opening_html(total.name, number(line.mean), (interval, count))


def opening_html(name: str, value: str, notes: Sequence[str]) -> str:
    """Return a headline number with its name and notes; empty notes are skipped."""
    small = "".join(f"<small>{escape(note)}</small>" for note in notes if note)
    return f"<div><dt>{escape(name)}</dt><dd><b>{value}</b>{small}</dd></div>"


def overalls_html(scores: mmt_bench.MMTBenchScores) -> str:
    """Return MMT-Bench's three Overalls, each named, beside the scores of guessing."""
    own, random, frequent = scores.overall, scores.random, scores.frequency
    lines = (
        (own.subtasks, random.subtasks, frequent.subtasks),
        (own.samples, random.samples, frequent.samples),
        (own.star, random.star, frequent.star),
    )
    rows = "".join(
        f'<tr><th scope="row" class="name">{escape(line.name)}</th><td>{bar_html(line)}</td>'
        f"{''.join(f'<td>{number(one.mean)}</td>' for one in guesses)}</tr>"
        for line, *guesses in lines
    )
    return (
        '<div class="figures levels"><table><caption>Overall, beside guessing</caption><thead><tr>'
        '<th scope="col" class="name"></th><th scope="col" class="measure">This file</th><th scope="col">Random</th>'
        f'<th scope="col">Frequency</th></tr></thead><tbody>{rows}</tbody></table></div>'
        '<p class="note">Random: a guess among the options. Frequency: always the most frequent right letter of a '
        "subtask. Both are of the questions of this file.</p>"
    )


def worst_html(what: str, nodes: Iterable[Node]) -> str:
    """Return the abilities, worst first, without those that have no score."""
    scored = sorted((node.line for node in nodes if node.line.mean is not None), key=lambda line: line.mean or 0.0)
    rows = [
        f'<li><span class="name">{name_html(line.name)} <small>n {line.n:,}</small></span>'
        f"<span>{bar_html(line)}</span></li>"
        for line in scored
    ]
    first, rest = rows[:WORST], rows[WORST:]
    more = ""
    if rest:
        more = f'<details><summary>{len(rest)} more</summary><ol start="{WORST + 1}">{"".join(rest)}</ol></details>'
    return f'<section class="worst"><h3>Worst {escape(what)} first</h3><ol>{"".join(first)}</ol>{more}</section>'


def letters_html(counts: Sequence[LetterCount]) -> str:
    """Return how often each letter is predicted and how often it is right, as in MMBench's Figure 4."""
    predicted, right = sum(one.predicted for one in counts), sum(one.right for one in counts)
    if not predicted or not right:
        return ""
    most = max(max(one.predicted / predicted, one.right / right) for one in counts)
    rows = "".join(
        f'<tr><th scope="row">{escape(one.letter)}</th>'
        f'<td class="predicted">{_share(one.predicted, predicted, most)}</td>'
        f'<td class="right">{_share(one.right, right, most)}</td></tr>'
        for one in counts
    )
    return (
        '<div class="figures letters"><table><caption>Letters predicted, beside the right ones</caption><thead><tr>'
        '<th scope="col">Letter</th><th scope="col">Predicted</th><th scope="col">Right</th></tr></thead>'
        f'<tbody>{rows}</tbody></table><p class="note">As in MMBench\'s Figure 4. Z: none of the options.</p></div>'
    )


def mmbench_success_html(title: str, success: Success) -> str:
    """Return how many answers each step read, as in MMBench's Table 2."""
    own = (success.rules, success.rate("letter", "content", "none", "judge"), success.refused)
    heads = ("Step 1: rules", "Step 2: and judge", "None of the options")
    return _success(heads, ((title, own),), "As in MMBench's Table 2; what says none of the options is read too.")


def mmt_success_html(title: str, success: Success) -> str:
    """Return how many answers each step read, beside MMT-Bench's Table A17."""
    steps = (success.rate("letter"), success.rate("letter", "content"), success.rate("letter", "content", "judge"))
    rows = [
        (f"{row.model} (Table A17)", (row.step1, row.step2, row.step3, row.refused))
        for row in mmt_bench.published_success()
    ]
    heads = ("Step 1: letters", "Step 2: and contents", "Step 3: and judge", "Refused")
    return _success(heads, ((title, (*steps, success.refused)), *rows), "Table A17 is of the whole benchmark.")


def published_html(title: str, own: Node | None, rows: Sequence[mmbench.PublishedTable], apart: str) -> str:
    """Return a file's CircularEval beside Table 5 or 6; `apart` says why they cannot be compared, "" if they can."""
    columns = ("Overall", *L2_WORDS)
    heads = "".join(f'<th scope="col"><abbr title="{L2_WORDS.get(name, name)}">{name}</abbr></th>' for name in columns)
    means = {node.line.name: node.line.mean for node in own.walk()} if own else {}
    first = _numbers(title, [number(means.get(name)) for name in columns], "own") if own else ""
    other = "".join(_numbers(row.model, [number(row.scores[name]) for name in columns]) for row in rows)
    warning = f'<p class="warning" role="note">{escape(apart)}</p>' if apart else ""
    return (
        f'{warning}<div class="figures numbers"><table><caption>CircularEval beside Table {rows[0].table} '
        f'({escape(rows[0].split)})</caption><thead><tr><th scope="col" class="name">Model</th>{heads}</tr></thead>'
        f"<tbody>{first}{other}</tbody></table></div>"
    )


def comparison_html(first: str, second: str, found: Sequence[Compared]) -> str:
    """Return McNemar's comparison of two models, ability by ability."""
    return (
        f'<p class="versus"><b>{escape(first)}</b> beside <b>{escape(second)}</b></p>{"".join(map(_compared, found))}'
        '<p class="note">p: exact McNemar test of "only this" against "only the other", not corrected for the number '
        "of rows. A question with an undecided answer on either side is left out.</p>"
    )


def file_problems_html(problems: Sequence[Problem]) -> str:
    """Return a file's problems, most serious first, each with its row and fix."""
    return "".join(
        _problems(blocks, those)
        for blocks in BLOCKS
        if (those := [problem for problem in problems if problem.blocks == blocks])
    )


def number(value: float | None) -> str:
    """Format a percentage or mark as in the tables."""
    return "–" if value is None else f"{value:.1f}"


def _share(times: int, total: int, most: float) -> str:
    share = times / total
    return f'<span style="--share:{share / most:.3f}"></span><b>{100 * share:.1f}%</b> <small>{times:,}</small>'


def _success(heads: Sequence[str], rows: Sequence[tuple[str, Sequence[float | None]]], note: str) -> str:
    columns = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    body = "".join(
        _numbers(name, ["–" if cell is None else f"{cell:.1f}%" for cell in cells], "" if place else "own")
        for place, (name, cells) in enumerate(rows)
    )
    return (
        '<div class="figures numbers"><table><caption>Answers read after each step</caption><thead>'
        f'<tr><th scope="col" class="name">Model</th>{columns}</tr></thead><tbody>{body}</tbody></table></div>'
        f'<p class="note">{escape(note)}</p>'
    )


def _numbers(name: str, cells: Iterable[str], kind: str = "") -> str:
    """Return a table row of numbers; `cells` are HTML, `name` is text."""
    numbers = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr class="{kind}"><th scope="row" class="name">{escape(name)}</th>{numbers}</tr>'


def _compared(found: Compared) -> str:
    lines = [line for line in found.lines if _pairs(line)]
    if not lines:
        return ""
    heads = ("n", "Both", "Only this", "Only the other", "Neither")
    columns = "".join(f'<th scope="col">{head}</th>' for head in heads)
    rows = "".join(_numbers(label(line.name), _cells(line), "sure" if line.p < 0.05 else "") for line in lines)
    return (
        f"<p>Over {escape(found.over)}: {_verdict(lines[0])}</p>"
        f'<div class="figures numbers"><table><caption>Right over {escape(found.over)}</caption><thead><tr>'
        f'<th scope="col" class="name">Ability</th>{columns}<th scope="col"><abbr title="exact McNemar test">p</abbr>'
        f"</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _pairs(one: Comparison) -> int:
    return one.both + one.first_only + one.second_only + one.neither


def _cells(one: Comparison) -> tuple[str, ...]:
    counts = (_pairs(one), one.both, one.first_only, one.second_only, one.neither)
    return (*(f"{count:,}" for count in counts), "&lt; 0.001" if one.p < 0.001 else f"{one.p:.3f}")


def _verdict(overall: Comparison) -> str:
    n = _pairs(overall)
    here, there = (100 * (overall.both + only) / n for only in (overall.first_only, overall.second_only))
    sure = "no more than chance may do" if overall.p >= 0.05 else "more than chance does"
    return f"{here:.1f} and {there:.1f} of {n:,} in both files, {sure} (p = {overall.p:.2g})."


def _problems(blocks: Blocks, problems: Sequence[Problem]) -> str:
    shown = "".join(f"<li>{_placed(problem)}</li>" for problem in problems[:MOST_PROBLEMS])
    rest = len(problems) - MOST_PROBLEMS
    more = f"<li>and {rest:,} more</li>" if rest > 0 else ""
    role = "note" if blocks == "nothing" else "alert"
    return f'<div class="problems {blocks}" role="{role}"><p>{BLOCKS[blocks]}:</p><ul>{shown}{more}</ul></div>'


def _placed(problem: Problem) -> str:
    return f"{f'Row {problem.row:,}: ' if problem.row else ''}{escape(problem.text)}"
