"""How fresh the copy of the votes is, in a line for whoever has just voted."""

from datetime import datetime, timedelta
from html import escape

from arena.mirror import EVERY, CopyState


def copy_line(state: CopyState | None, moment: datetime) -> str:
    """Return what to say of a stored vote as HTML; nothing where there is no copy, or nobody has looked at it yet."""
    if state is None:
        return ""
    if state.problem:
        return f'<span class="late">Saved; the copy is late: {escape(state.problem)}.</span>'
    if state.copied_at is None:
        return "Saved; nothing is copied yet."
    said = f"votes until {ago(moment - state.copied_at)} ago are copied."
    if moment - state.copied_at > 2 * EVERY:
        return f'<span class="late">Saved; the copy is late: only {said}</span>'
    return f"Saved; {said}"


def ago(age: timedelta) -> str:
    """Return an age in its largest unit, as in 20 s or 3 h."""
    seconds = max(0, int(age.total_seconds()))
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
