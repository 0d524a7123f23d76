"""Admin view: the operators' page as HTML; text from visitors and files is escaped, and no secret is shown."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from pathlib import Path

from arena.admin.dashboard import HOURS, Dashboard
from arena.admin.hiding import HiddenItem
from arena.admin.moderation import Upload
from arena.web.backup_status import ago, is_late

ADMIN_HEAD = f"<script>{(Path(__file__).parent / 'admin.js').read_text('utf-8')}</script>"
NOT_YOURS = '<p class="problem" role="alert">This page is for the operators of this arena. Nothing was changed.</p>'
_GIB = 1024**3
_LITTLE = 0.1
"""Free share of a disk below which the page warns."""


def said_html(text: str) -> str:
    """Render the result of an action."""
    return f'<p role="status">{escape(text)}</p>'


def problem_html(text: str) -> str:
    """Render why an action failed."""
    return f'<p class="problem" role="alert">{escape(text)}</p>'


def dashboard_html(overview: Dashboard) -> str:
    parts = (
        _section("Votes", _hours(overview.hours)),
        _section("Live answers", _pause(overview)),
        _section("Waiting", _table(("Queue", "Waiting"), ((one.name, str(one.number)) for one in overview.queues))),
        _section("Disk and copy", _disk(overview)),
        _section("Budgets", _budgets(overview)),
        _section("Failures of live models", _failures(overview)),
        _section("Flagged voters", _flagged(overview)),
        _section("Items", _items(overview)),
        _section("Images that visitors let us keep", _uploads(overview)),
        _section("Forget a visitor", _FORGET),
        _section("What operators did", _actions(overview)),
    )
    again = _button("look", "", "Look again")
    return f'<div class="operator"><p>As of {_time(overview.read_at)} {again}</p>{"".join(parts)}</div>'


def _section(title: str, body: str) -> str:
    return f"<section><h2>{title}</h2>{body}</section>"


def _time(moment: datetime) -> str:
    return f'<time datetime="{moment:%Y-%m-%dT%H:%M:%SZ}">{moment:%Y-%m-%d %H:%M} UTC</time>'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], empty: str = "None.") -> str:
    """Render a table of texts."""
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    if not body:
        return f'<p class="empty">{empty}</p>'
    titles = "".join(f'<th scope="col">{title}</th>' for title in head)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def _button(order: str, about: str, text: str, sure: str = "") -> str:
    """Render a button for an action; `sure` is the question that confirms it."""
    ask = f' data-sure="{escape(sure)}"' if sure else ""
    return f'<button type="button" data-order="{order}" data-about="{escape(about)}"{ask}>{text}</button>'


def _form(order: str, label: str, text: str, sure: str = "") -> str:
    """Render a text field for what an action applies to."""
    ask = f' data-sure="{escape(sure)}"' if sure else ""
    field = '<input name="about" required maxlength="200" autocomplete="off" spellcheck="false">'
    return f'<form data-order="{order}"{ask}><label>{label} {field}</label><button>{text}</button></form>'


def _hours(hours: Sequence[int]) -> str:
    most = max(*hours, 1)
    bars = "".join(f'<i style="height:{100 * number / most:.0f}%"></i>' for number in hours)
    told = f"Choices: {sum(hours):,} in the last {HOURS} hours; {hours[-1]:,} in this one, {most:,} in the busiest."
    listed = ", ".join(map(str, hours))
    return f'<p>{told}</p><div class="hours" role="img" aria-label="By hour, the latest last: {listed}">{bars}</div>'


def _pause(overview: Dashboard) -> str:
    if overview.paused_since:
        return f"<p>Paused since {_time(overview.paused_since)}. {_button('resume', '', 'Let them go on')}</p>"
    return f"<p>Live battles and the chat are open. {_button('pause', '', 'Pause them')}</p>"


def _disk(overview: Dashboard) -> str:
    disk, copy = overview.disk, overview.copy
    little = "" if disk.free > _LITTLE * disk.total else ' <b class="problem">That is little.</b>'
    lines = [f"{disk.free / _GIB:.1f} GiB of {disk.total / _GIB:.1f} GiB are free.{little}"]
    if copy is None:
        lines.append("There is no copy: MIRROR is not set.")
    else:
        copied = f"all until {ago(overview.read_at - copy.copied_at)} ago" if copy.copied_at else "nothing yet"
        lines.append(f"Copied: {copied}; {copy.waiting:,} changes wait.")
        if is_late(copy, overview.read_at):
            problem = f": {escape(copy.problem)}" if copy.problem else ""
            lines.append(f'<b class="problem">The copy is late{problem}.</b>')
    return "".join(f"<p>{line}</p>" for line in lines)


def _budgets(overview: Dashboard) -> str:
    rows = (
        (name, _dollars(total.spent), _dollars(total.held), _dollars(total.ceiling)) for name, total in overview.budgets
    )
    return _table(("Budget", "Spent", "On its way", "At most"), rows)


def _dollars(amount: int) -> str:
    return f"${amount / 1e6:,.2f}"


def _failures(overview: Dashboard) -> str:
    return _table(("Model", "Failures"), ((one.name, f"{one.number:,}") for one in overview.failures))


def _flagged(overview: Dashboard) -> str:
    rows = (
        (
            str(one.voter),
            f"{one.reason.value}{f': {one.model}' if one.model else ''}",
            f"{one.strength:.1f}",
            "yes" if one.left_out else "no, one weak reason",
            f"{one.raised_at:%Y-%m-%d %H:%M}",
        )
        for one in overview.flagged
    )
    return _table(("Voter", "What it looks like", "Evidence (log10)", "Left out", "Since (UTC)"), rows)


def _items(overview: Dashboard) -> str:
    form = _form("hide", "Item (the key behind <code>?item=</code> in its link)", "Hide it")
    return f"{form}<ul>{''.join(map(_hidden, overview.hidden))}</ul>" if overview.hidden else form


def _hidden(item: HiddenItem) -> str:
    again = _button("show", item.key, "Show again")
    return f"<li><code>{escape(item.key)}</code> {escape(item.instruction[:90])} {again}</li>"


def _uploads(overview: Dashboard) -> str:
    uploads = overview.uploads
    told = f"<p>{uploads.unseen:,} that nobody has looked at, {uploads.kept:,} kept.</p>"
    return f'{told}<ul class="uploads">{"".join(map(_upload, uploads.first))}</ul>' if uploads.first else told


def _upload(upload: Upload) -> str:
    number = str(upload.id)
    picture = f'<img src="operators/uploads/{number}" alt="Upload {number}" loading="lazy">'
    kept = "kept" if upload.seen else _button("keep", number, "Keep")
    down = _button("take down", number, "Take down", f"Delete upload {number} for good?")
    return f"<li>{picture}<span>{number}, {upload.arrived_at:%Y-%m-%d}</span> {kept} {down}</li>"


_FORGET = (
    "<p>A visitor finds their code at <code>/you</code> in their own browser. Their images and words are deleted, and "
    "what tells who they were; their votes stay. This cannot be taken back.</p>"
    + _form("forget", "Code", "Forget", "Delete this visitor's data for good?")
)


def _actions(overview: Dashboard) -> str:
    rows = ((f"{act.done_at:%Y-%m-%d %H:%M:%S}", act.who, act.deed, act.about) for act in overview.acts)
    return _table(("When (UTC)", "Who", "What", "About"), rows)
