"""Every answer of a multiple-choice report: the span that was read, and the rules that read it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from unicodedata import normalize

from arena.locale import t, translated
from scoring.benchmarks import mmbench
from scoring.multiple_choice.metrics import Difference, differences
from scoring.multiple_choice.types import NONE, PROTOCOL_WORDS, Decided, Decision, Protocol, Rule
from scoring.web.report_parts import CHOICE, REPORT, ListPage, list_answers, replies_heading

ALL = "all answers"
DIFFERS = "differs by protocol"
SHOWS: Mapping[str, Callable[[Decided], bool]] = {
    ALL: lambda row: True,
    "undecided": lambda row: row.decision.letter is None and row.decision.step != "failed",
    "no answer of the model": lambda row: row.decision.step == "failed",
    DIFFERS: lambda row: True,
    "wrong": lambda row: row.right is False,
    "none of the options": lambda row: (
        row.decision.letter == NONE and NONE not in row.question.options
    ),
    "read by the judge": lambda row: bool(row.decision.replies),
}
_ALNUM = re.compile(r"[A-Za-z0-9]")


def list_choices(
    rows: Sequence[Decided],
    others: Sequence[Decided],
    other: Protocol,
    show: str = ALL,
    category: str = "",
    page: int = 1,
    words: Callable[[str], str] = str,
) -> ListPage:
    """Returns one page of the matching answers; `category` "" is any.

    `others` are the same rows under another protocol. `words` returns the name of an ability.
    """
    entries = differences(rows, others) if show == DIFFERS else list(filter(SHOWS[show], rows))
    fit = [entry for entry in entries if category in ("", _row(entry).question.category)]
    return list_answers(fit, len(rows), page, lambda entry: _item(entry, other, words))


def marked_html(prediction: str, span: str, last: bool = False) -> str:
    """Returns the answer with its decisive span marked; rules read a normalised text, with other white space."""
    start, end = _place(prediction, span, last) or (0, 0)
    return CHOICE.marked(prediction[:start], prediction[start:end], prediction[end:])


def _row(entry: Decided | Difference) -> Decided:
    return entry.row if isinstance(entry, Difference) else entry


def _item(entry: Decided | Difference, other: Protocol, words_of: Callable[[str], str]) -> str:
    row = _row(entry)
    question = row.question
    decision = row.decision
    group = mmbench.L2.get(question.group.lower(), question.group)
    names = (question.split, words_of(group), words_of(question.category))
    about = " · ".join(filter(None, names))
    trails = _trail_html(decision)
    if isinstance(entry, Difference):
        name = t(
            "choices_report.under",
            protocol=translated(PROTOCOL_WORDS[other]),
            letter=_letter_words(entry.other.letter),
        )
        trails = CHOICE.both(trails, name, _trail_html(entry.other))
    words = t("report.no_model_answer" if decision.step == "failed" else "report.undecided")
    if decision.letter:
        words = t("report.read_as", option=_letter_words(decision.letter))
    kind, outcome = _outcome(row.right)
    return choice_html(row, about, words, kind, outcome, trails)


def _outcome(is_right: bool | None) -> tuple[str, str]:
    """Returns the kind of an outcome, as its style names it, and its words."""
    if is_right is None:
        return "open", t("report.not_scored")
    return ("right", t("report.right")) if is_right else ("wrong", t("report.wrong"))


def choice_html(
    row: Decided, about: str, words: str, kind: str, outcome: str, trails: str = ""
) -> str:
    """Returns an answer with its question, its reading in `words`, and the outcome."""
    decision = row.decision
    text = marked_html(row.prediction, decision.span, decision.rule is Rule.STATEMENT)
    replies = list(map(REPORT.quoted, decision.replies))
    heading = replies_heading(decision.model) if replies else ""
    trails = trails or _trail_html(decision)
    return CHOICE.item(row, about, kind, words, outcome, text, trails, heading, replies)


def _trail_html(decision: Decision) -> str:
    letters = (
        "" if clue.rule is Rule.CUT else _letter_words(clue.letter) for clue in decision.trail
    )
    clues = zip(decision.trail, letters, strict=True)
    return CHOICE.trail([(clue.rule.value, letter, clue.span) for clue, letter in clues])


def _letter_words(letter: str | None) -> str:
    if letter is None:
        return t("report.undecided")
    return t("report.none_of_options") if letter == NONE else letter


def _place(text: str, span: str, last: bool) -> tuple[int, int] | None:
    """Returns the position of a span in a text, ignoring white space and letter forms; whole words come first."""
    folded = []
    places = []
    for place, char in enumerate(text):
        for piece in normalize("NFKC", char):
            if not piece.isspace():
                folded.append(piece)
                places.append(place)
    wanted = "".join(normalize("NFKC", span).split())
    if not wanted:
        return None
    spans = [
        (places[at], places[at + len(wanted) - 1] + 1)
        for at in islice(_starts("".join(folded), wanted), 1000)
    ]
    whole = [(start, end) for start, end in spans if _whole(text, start, end)]
    candidates = whole or spans
    if not candidates:
        return None
    return candidates[-1] if last else candidates[0]


def _starts(text: str, wanted: str) -> Iterator[int]:
    place = text.find(wanted)
    while place >= 0:
        yield place
        place = text.find(wanted, place + len(wanted))


def _whole(text: str, start: int, end: int) -> bool:
    before = text[start - 1 : start]
    after = text[end : end + 1]
    return not (
        (_ALNUM.match(before) and _ALNUM.match(text[start]))
        or (_ALNUM.match(after) and _ALNUM.match(text[end - 1]))
    )
