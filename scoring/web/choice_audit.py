"""Every answer of a multiple-choice report: the span that was read, and the rules that read it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from unicodedata import normalize

from arena.locale import t, translated
from scoring.benchmarks import mmbench
from scoring.multiple_choice.metrics import Difference, differences
from scoring.multiple_choice.types import NONE, PROTOCOL_WORDS, Decided, Decision, Protocol, Rule
from scoring.web.report_parts import (
    CHOICE,
    REPORT,
    ListPage,
    OutcomeText,
    list_answers,
    replies_heading,
)

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
"""Filters by name, with their conditions; DIFFERS compares two protocols, and has none for a single row."""
_LETTER_OR_DIGIT = re.compile(r"[A-Za-z0-9]")
_MOST_SPANS = 1000
"""Places of a span that are looked at, since a long answer may have very many."""


def list_choices(
    rows: Sequence[Decided],
    other_rows: Sequence[Decided],
    other_protocol: Protocol,
    show: str = ALL,
    category: str = "",
    page: int = 1,
    ability_name: Callable[[str], str] = str,
) -> ListPage:
    """Returns one page of the matching answers; `category` "" is any.

    `other_rows` are the same rows under the other protocol; only the filter DIFFERS needs them.
    """
    entries: Sequence[Decided | Difference] = [row for row in rows if SHOWS[show](row)]
    if show == DIFFERS:  # the one filter without a condition
        entries = differences(rows, other_rows)
    matching = [
        entry for entry in entries if not category or category == _row(entry).question.category
    ]
    return list_answers(
        matching, len(rows), page, lambda entry: _entry_html(entry, other_protocol, ability_name)
    )


def marked_html(prediction: str, span: str, last: bool = False) -> str:
    """Returns the answer with its decisive span marked, at its first or last place in the answer.

    Rules read a normalised text, so the span may have other white space and letter forms than the answer.
    """
    start, end = _position(prediction, span, last) or (0, 0)
    return CHOICE.marked(prediction[:start], prediction[start:end], prediction[end:])


def _row(entry: Decided | Difference) -> Decided:
    return entry.row if isinstance(entry, Difference) else entry


def _entry_html(
    entry: Decided | Difference, other_protocol: Protocol, ability_name: Callable[[str], str]
) -> str:
    row = _row(entry)
    question = row.question
    decision = row.decision
    # MMBench's files spell their groups in several ways; other benchmarks' groups stay as they are.
    group = mmbench.L2.get(question.group.lower(), question.group)
    names = (question.split, ability_name(group), ability_name(question.category))
    about = " · ".join(filter(None, names))
    trails = _trail_html(decision)
    if isinstance(entry, Difference):
        name = t(
            "choices_report.under",
            protocol=translated(PROTOCOL_WORDS[other_protocol]),
            letter=_letter_words(entry.other.letter),
        )
        trails = CHOICE.both(trails, name, _trail_html(entry.other))
    if decision.letter:
        reading = t("report.read_as", option=_letter_words(decision.letter))
    elif decision.step == "failed":
        reading = t("report.no_model_answer")
    else:
        reading = t("report.undecided")
    return choice_html(row, about, reading, _outcome(row.right), trails)


def _outcome(is_right: bool | None) -> OutcomeText:
    if is_right is None:
        return OutcomeText("open", t("report.not_scored"))
    if is_right:
        return OutcomeText("right", t("report.right"))
    return OutcomeText("wrong", t("report.wrong"))


def choice_html(
    row: Decided, about: str, reading: str, outcome: OutcomeText, trails: str = ""
) -> str:
    """Returns an answer with its question, its reading in words, and the outcome.

    `about`: the question's groups in words. `trails`: the rules that read the answer, as HTML; "" for those of `row`.
    """
    decision = row.decision
    # Of several statements the last one decides.
    is_last = decision.rule is Rule.STATEMENT
    text = marked_html(row.prediction, decision.span, last=is_last)
    replies = list(map(REPORT.quoted, decision.replies))
    heading = replies_heading(decision.model) if replies else ""
    trails = trails or _trail_html(decision)
    return CHOICE.item(
        row, about, outcome.kind, reading, outcome.words, text, trails, heading, replies
    )


def _trail_html(decision: Decision) -> str:
    clues = []
    for clue in decision.trail:
        # Text that was cut off decides nothing, so it has no letter.
        letter = "" if clue.rule is Rule.CUT else _letter_words(clue.letter)
        clues.append((clue.rule.value, letter, clue.span))
    return CHOICE.trail(clues)


def _letter_words(letter: str | None) -> str:
    if letter is None:
        return t("report.undecided")
    return t("report.none_of_options") if letter == NONE else letter


def _position(text: str, span: str, last: bool) -> tuple[int, int] | None:
    """Returns the start and end of a span at its first place in a text, or at its last if `last`; None without any.

    White space and letter forms are ignored. If the span is whole words anywhere, other places don't count.
    """
    # The text's normalised characters, and the place in the text that each comes from.
    characters = []
    places = []
    for place, char in enumerate(text):
        for normal in normalize("NFKC", char):
            if not normal.isspace():
                characters.append(normal)
                places.append(place)
    normal_span = "".join(normalize("NFKC", span).split())
    if not normal_span:
        return None
    positions = []
    for start in islice(_starts("".join(characters), normal_span), _MOST_SPANS):
        last_character = start + len(normal_span) - 1
        positions.append((places[start], places[last_character] + 1))
    whole = [(start, end) for start, end in positions if _are_whole_words(text, start, end)]
    candidates = whole or positions
    if not candidates:
        return None
    return candidates[-1] if last else candidates[0]


def _starts(text: str, span: str) -> Iterator[int]:
    """Yields the places in a text where a span begins, without overlaps."""
    place = text.find(span)
    while place >= 0:
        yield place
        place = text.find(span, place + len(span))


def _are_whole_words(text: str, start: int, end: int) -> bool:
    """Whether a part of a text neither begins nor ends within a word or number."""
    return not _is_within_word(text, start) and not _is_within_word(text, end)


def _is_within_word(text: str, place: int) -> bool:
    """Whether letters or digits are on both sides of a place between two characters."""
    before = text[place - 1 : place]
    after = text[place : place + 1]
    return bool(_LETTER_OR_DIGIT.match(before) and _LETTER_OR_DIGIT.match(after))
