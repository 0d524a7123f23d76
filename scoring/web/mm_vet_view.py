"""MM-Vet report as HTML: header, tables, and the audit of every question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, get_args
from urllib.parse import quote

from arena.figures import Figure
from scoring.benchmarks.mm_vet import UNREADABLE, PublishedScores, scored_only, tabulate, ungraded
from scoring.benchmarks.mm_vet_questions import CAPABILITIES
from scoring.report import Grade, Report, Row, ScoreLine, ScoreTable, missing_notice

Show = Literal["all questions", "unscored", "flagged", "runs disagree", "below 0.5", "no prediction"]
SHOWS: Mapping[str, Show] = {show: show for show in get_args(Show)}
ROWS_A_PAGE = 25
DISAGREEMENT = 0.2
"""Runs disagree when a question's best and worst scores differ by at least this."""

PROTOCOL_NOTES = {
    "paper": "paper protocol: the authors' prompt, retries and reading; a reply that cannot be read counts 0.0",
    "hardened": "hardened protocol: answers are fenced off; what cannot be read is unscored and stays out of the mean",
}


@dataclass(frozen=True)
class MMVetFilter:
    """Filter of the audit; an empty group means every one."""

    show: Show = "all questions"
    group: str = ""
    page: int = 1

    def rows(self, report: Report) -> list[Row]:
        return [row for row in report.rows if self.group in ("", *row.question.groups) and _fits(row, self.show)]


def head_html(report: Report, total: ScoreTable) -> str:
    """Return what was scored, by which judge, how, and the total."""
    line = total.lines[-1]
    notes = [PROTOCOL_NOTES[report.protocol]]
    unread = sum(UNREADABLE in grade.flags for row in report.rows for grade in row.grades)
    runs = f"{report.runs} separate runs" if report.runs > 1 else "1 run"
    notes.append(f"{report.runs} samples of one call" if report.sampled else runs)
    if not report.questions.official:
        notes.append(f"questions: {report.questions.name}")
    nothing = ungraded(report)
    warnings = [nothing] if nothing else []
    if report.missing:
        warnings.append(f"partial: {missing_notice(report)}")
    if not report.trusted:
        warnings.append("judge not trusted: it gave points to an answer that deserves none")
    if line.unscored:
        warnings.append(
            f"{line.unscored:,} of {line.n * report.runs:,} grades unscored: the mean lies between {line.worst:.1f} "
            f"and {line.best:.1f}"
        )
    if report.protocol == "paper" and unread and not nothing:
        scored = tabulate(scored_only(report))[0].lines[-1].mean
        warnings.append(
            f"{unread} grades could not be read and count 0.0 as in the paper's script; over those that were read the "
            f"mean is {scored:.1f}"
        )
    judged = f"{report.judge.model} at {report.judge.address}"
    versions = ", ".join(version for version in report.judge.versions if version != report.judge.model)
    if versions:
        judged += f" (answered as {versions})"
    return (
        f'<section class="report-head"><p class="kind">{escape(report.benchmark)} · {escape(report.file)} · '
        f"{escape(report.created[:16].replace('T', ' '))} UTC</p>"
        f'<h2 tabindex="-1" id="report-heading">{escape(report.title)}</h2>{_total_html(line, total)}'
        + "".join(f'<p class="warning" role="note">{escape(text)}</p>' for text in warnings)
        + f'<p class="note">Judge: {escape(judged)}. {escape(_sentence(notes))}</p>'
        + f'<p class="note">Prompt {report.judge.prompt[:12]} · reading {escape(report.judge.parser)}</p></section>'
    )


def table_html(table: ScoreTable) -> str:
    """Return one table, total last, with a column of unscored grades if there are any."""
    unscored = any(line.unscored for line in table.lines)
    rows = "".join(_line(line, line is table.lines[-1], unscored) for line in table.lines)
    more = '<th scope="col">Unscored</th>' if unscored else ""
    return (
        f'<div class="board scores"><table><caption>{escape(table.name)}</caption><thead><tr><th scope="col" '
        f'class="name"></th><th scope="col">n</th><th scope="col">Mean</th><th scope="col">95% interval</th>{more}'
        f"</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def audit_html(report: Report, chosen: MMVetFilter) -> str:
    """Return one page of the matching questions: truth, prediction, scores, replies, flags."""
    rows = chosen.rows(report)
    pages = pages_of(rows)
    page = min(max(chosen.page, 1), pages)
    shown = rows[(page - 1) * ROWS_A_PAGE : page * ROWS_A_PAGE]
    if not rows:
        return '<p class="empty">No question fits.</p>'
    head = f'<p class="note" role="status">{len(rows):,} of {len(report.rows):,} questions; page {page} of {pages}</p>'
    return f'{head}<ol class="audit">{"".join(map(_audit_row, shown))}</ol>'


def pages_of(rows: Sequence[Row]) -> int:
    """Return the number of pages for these rows."""
    return max(1, -(-len(rows) // ROWS_A_PAGE))


def _fits(row: Row, show: Show) -> bool:
    scores = [grade.score for grade in row.grades if grade.score is not None]
    return {
        "all questions": True,
        "unscored": row.prediction is not None and len(scores) < len(row.grades),
        "flagged": bool(flags_of(row)),
        "runs disagree": len(scores) > 1 and max(scores) - min(scores) >= DISAGREEMENT,
        "below 0.5": bool(scores) and sum(scores) / len(scores) < 0.5,
        "no prediction": row.prediction is None,
    }[show]


def flags_of(row: Row) -> tuple[str, ...]:
    """Return the flags of a question and its grades, without duplicates."""
    return tuple(dict.fromkeys([*row.flags, *(flag for grade in row.grades for flag in grade.flags)]))


def _total_html(line: ScoreLine, table: ScoreTable) -> str:
    if line.mean is None:
        return '<p class="total">nothing scored</p>'
    spread = "" if table.spread is None or len(table.run_totals) < 2 else f" ± {table.spread:.1f}"
    runs = ", ".join("–" if total is None else f"{total:.1f}" for total in table.run_totals)
    return (
        f'<p class="total">{line.mean:.1f}<small>{spread}</small></p>'
        f'<p class="note">Total over {line.n:,} questions; {_interval(line)}. Runs: {runs}.</p>'
    )


def _sentence(notes: Sequence[str]) -> str:
    text = "; ".join(notes)
    return f"{text[0].upper()}{text[1:]}."


def _interval(line: ScoreLine) -> str:
    return "no interval" if line.low is None or line.high is None else f"95% interval {line.low:.1f} to {line.high:.1f}"


def _line(line: ScoreLine, last: bool, with_unscored: bool) -> str:
    mean = "–" if line.mean is None else f"{line.mean:.1f}"
    interval = "–" if line.low is None or line.high is None else f"{line.low:.1f} to {line.high:.1f}"
    unscored = f"{line.unscored} <small>({line.worst:.1f} to {line.best:.1f})</small>" if line.unscored else ""
    more = f"<td>{unscored}</td>" if with_unscored else ""
    kind = ' class="last"' if last else ""
    name = escape(line.name).replace("_", "_<wbr>")
    return (
        f'<tr{kind}><th scope="row" class="name">{name}</th><td>{line.n:,}</td><td>{mean}</td>'
        f"<td>{interval}</td>{more}</tr>"
    )


def _shown(score: float | None) -> str:
    """Return a score with the digits of the judge's scale; one between its steps in full."""
    if score is None:
        return "–"
    return f"{score:.1f}" if round(score, 1) == score else f"{score:g}"


def _audit_row(row: Row) -> str:
    scores = " ".join(_shown(grade.score) for grade in row.grades) or "–"
    prediction = "no prediction in the file" if row.prediction is None else row.prediction
    quiet = ' class="quiet"' if not row.prediction else ""
    flags = "".join(f'<span class="flag">{escape(flag)}</span>' for flag in flags_of(row))
    groups = " ".join(row.question.groups)
    return (
        f'<li><p class="about"><b>{escape(row.question.id)}</b> <span>{escape(groups)}</span>{flags}'
        f'<b class="scores" title="one score a run">{scores}</b></p>'
        f"<dl><dt>Question</dt><dd>{escape(row.question.text)}</dd><dt>Truth</dt><dd>{escape(row.question.truth)}</dd>"
        f"<dt>Prediction</dt><dd{quiet}>{escape(prediction) or '(empty)'}</dd></dl>"
        f"<details><summary>Replies</summary><ol>{''.join(map(_grade, row.grades))}</ol></details></li>"
    )


def _grade(grade: Grade) -> str:
    score = "unscored" if grade.score is None else _shown(grade.score)
    reason = f" ({escape(grade.reason)})" if grade.reason else ""
    replies = "".join(f"<q>{escape(reply) or '(empty)'}</q> " for reply in grade.replies)
    return f"<li>{score}{reason}: {replies}</li>"


def files_html(link: str, names: Sequence[str]) -> str:
    """Return the report's download links."""
    items = "".join(
        f'<li><a href="reports/{quote(link)}/{quote(name)}" download>{escape(name)}</a></li>' for name in names
    )
    return f'<ul class="files">{items}</ul>'


def capability_figure(report: Report, capabilities: ScoreTable, row: PublishedScores) -> Figure:
    """Return the capabilities as bars with intervals, beside a published row and the name of its judge."""
    names = [line.name for line in capabilities.lines]
    means = [line.mean for line in capabilities.lines]
    below = [None if line.low is None or line.mean is None else line.mean - line.low for line in capabilities.lines]
    above = [None if line.high is None or line.mean is None else line.high - line.mean for line in capabilities.lines]
    published: dict[str, float] = dict(zip((*CAPABILITIES, "total"), (*row.scores, row.total), strict=True))
    error = {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 1.5}
    ours = {"type": "bar", "name": escape(report.title), "x": names, "y": means, "error_y": error}
    theirs = {"name": f"{escape(row.model)}<br>(published, judged by {escape(row.judge)})", "x": names}
    comparable = report.judge.model == row.judge and report.questions.official and not report.missing
    title = "Capabilities"
    if not comparable:
        title += "<br><sub>not comparable: another judge or other questions</sub>"
    layout = {
        "barmode": "group",
        "height": 380,
        "title": {"text": title, "font": {"size": 14}},
        "legend": {"orientation": "h", "y": -0.12},
        "margin": {"l": 34, "r": 6, "t": 56, "b": 10},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "yaxis": {"range": [0, 100]},
    }
    bars = (
        {**ours, "marker": {"color": "#3f4db8"}},
        {**theirs, "type": "bar", "y": [published[name] for name in names], "marker": {"color": "#8a8f98"}},
    )
    return Figure("Capabilities", f"Beside {row.model} of MM-Vet's Table 2.", bars, layout)
