"""Audit view of a multiple-choice report as HTML: each answer, the span that was read, and the rules that read it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Literal, get_args
from unicodedata import normalize

from scoring.multiple_choice.metrics import Difference, differences
from scoring.multiple_choice.types import NONE, Clue, Decided, Decision, Protocol, Rule

Show = Literal["all answers", "undecided", "differs by protocol", "wrong", "none of the options", "read by the judge"]
SHOWS: Mapping[str, Show] = {show: show for show in get_args(Show)}
ROWS_A_PAGE = 25
PROTOCOL_WORDS: Mapping[Protocol, str] = {
    "strict": "Strict (ours)",
    "mmbench-paper": "MMBench's paper",
    "mmt-paper": "MMT-Bench's paper",
}
_ALNUM = re.compile(r"[A-Za-z0-9]")


@dataclass(frozen=True)
class AuditFilter:
    """Filter of the audit; an empty category means every one."""

    show: Show = "all answers"
    category: str = ""
    page: int = 1


def audit_html(rows: Sequence[Decided], others: Sequence[Decided], other: Protocol, chosen: AuditFilter) -> str:
    """Return one page of the matching answers; `others` are the same rows under another protocol."""
    fit = [one for one in _shown(rows, others, chosen.show) if chosen.category in ("", _row(one).question.category)]
    if not fit:
        return '<p class="empty">No answer fits.</p>'
    pages = pages_of(len(fit))
    page = min(max(chosen.page, 1), pages)
    items = "".join(_item(one, other) for one in fit[(page - 1) * ROWS_A_PAGE : page * ROWS_A_PAGE])
    head = f'<p class="note" role="status">{len(fit):,} of {len(rows):,} answers; page {page:,} of {pages:,}</p>'
    return f'{head}<ol class="audit choices">{items}</ol>'


def pages_of(count: int) -> int:
    """Return the number of pages for this many answers."""
    return max(1, -(-count // ROWS_A_PAGE))


def marked_html(prediction: str, span: str, last: bool = False) -> str:
    """Return the escaped answer with `span`, the part that was read, marked; the first occurrence, or the last.

    Rules read a normalised text, so wide letters and white space are ignored in the search.
    """
    found = _place(prediction, span, last)
    if found is None:
        return escape(prediction)
    start, end = found
    return f"{escape(prediction[:start])}<mark>{escape(prediction[start:end])}</mark>{escape(prediction[end:])}"


def letter_words(letter: str | None) -> str:
    """Return a decision's letter in words."""
    return {None: "undecided", NONE: "none of the options"}.get(letter, str(letter))


def _shown(rows: Sequence[Decided], others: Sequence[Decided], show: Show) -> Sequence[Decided | Difference]:
    if show == "differs by protocol":
        return differences(rows, others)
    return [row for row in rows if _fits(row, show)]


def _fits(row: Decided, show: Show) -> bool:
    return {
        "all answers": True,
        "undecided": row.decision.letter is None,
        "wrong": row.right is False,
        "none of the options": row.decision.letter == NONE,
        "read by the judge": bool(row.decision.replies),
    }[show]


def _row(one: Decided | Difference) -> Decided:
    return one.row if isinstance(one, Difference) else one


def _item(one: Decided | Difference, other: Protocol) -> str:
    row = _row(one)
    question, decision = row.question, row.decision
    about = " · ".join(filter(None, (question.split, question.group, question.category)))
    trails = _trail_html(decision)
    if isinstance(one, Difference):
        trails = (
            f'<div class="both"><div><h5>Here</h5>{trails}</div><div><h5>{escape(PROTOCOL_WORDS[other])}: '
            f"{escape(letter_words(one.other.letter))}</h5>{_trail_html(one.other)}</div></div>"
        )
    hint = f"<dt>Hint</dt><dd>{escape(question.hint)}</dd>" if question.hint.strip() else ""
    quiet = ' class="quiet"' if not row.prediction.strip() else ""
    text = marked_html(row.prediction, decision.span, decision.rule is Rule.STATEMENT) or "(empty)"
    return (
        f'<li><p class="about"><b>{question.index}</b> <span>{escape(about)}</span>{_verdict(row)}</p>'
        f"<dl>{hint}<dt>Question</dt><dd>{escape(question.text)}</dd><dt>Options</dt><dd>{_options(row)}</dd>"
        f"<dt>Answer</dt><dd{quiet}>{text}</dd><dt>Read</dt><dd>{trails}</dd></dl>{_replies(decision)}</li>"
    )


def _verdict(row: Decided) -> str:
    letter = row.decision.letter
    words = "read " + letter_words(letter) if letter else "undecided"
    kind = {True: "right", False: "wrong", None: "open"}[row.right]
    outcome = {True: "right", False: "wrong", None: "not scored"}[row.right]
    return f'<b class="verdict {kind}">{escape(words)} <small>{outcome}</small></b>'


def _options(row: Decided) -> str:
    def option(letter: str, text: str) -> str:
        tags = {"key": letter == row.question.answer, "said": letter == row.decision.letter}
        words = {"key": "right", "said": "read"}
        kinds = [kind for kind, true in tags.items() if true]
        told = "".join(f"<small>{words[kind]}</small>" for kind in kinds)
        return f'<li class="{" ".join(kinds)}"><b>{letter}</b> <span>{escape(text)}</span>{told}</li>'

    return f'<ul class="options">{"".join(option(*one) for one in row.question.options.items())}</ul>'


def _trail_html(decision: Decision) -> str:
    return f'<ol class="trail">{"".join(map(_clue, decision.trail))}</ol>'


def _clue(clue: Clue) -> str:
    to = "" if clue.rule is Rule.CUT else f" → <b>{escape(letter_words(clue.letter))}</b>"
    span = f" <q>{escape(clue.span)}</q>" if clue.span else ""
    return f"<li>{escape(clue.rule.value)}{to}{span}</li>"


def _replies(decision: Decision) -> str:
    if not decision.replies:
        return ""
    items = "".join(f"<li><q>{escape(reply) or '(empty)'}</q></li>" for reply in decision.replies)
    return f"<details><summary>Replies of {escape(decision.model or 'the judge')}</summary><ol>{items}</ol></details>"


def _place(text: str, span: str, last: bool) -> tuple[int, int] | None:
    """Return the position of a span in a text, ignoring white space and letter forms; whole words come first."""
    folded, places = [], []
    for place, char in enumerate(text):
        for piece in normalize("NFKC", char):
            if not piece.isspace():
                folded.append(piece)
                places.append(place)
    wanted = "".join(normalize("NFKC", span).split())
    if not wanted:
        return None
    found = [(places[at], places[at + len(wanted) - 1] + 1) for at in islice(_starts("".join(folded), wanted), 1000)]
    whole = [one for one in found if _whole(text, *one)] or found
    return whole[-1 if last else 0] if whole else None


def _starts(text: str, wanted: str) -> Iterator[int]:
    place = text.find(wanted)
    while place >= 0:
        yield place
        place = text.find(wanted, place + len(wanted))


def _whole(text: str, start: int, end: int) -> bool:
    """Tell whether a span neither starts nor ends inside a word."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (
        (_ALNUM.match(before) and _ALNUM.match(text[start])) or (_ALNUM.match(after) and _ALNUM.match(text[end - 1]))
    )
