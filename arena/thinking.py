"""Thinking: separates a model's thinking from the answer that people read.

Thinking has one of the formats of `reasoning.py` that pages fold away. It is at the start of the text or of a line
outside of code, or it is all text before a lone closing mark, whose opening is in the prompt. An answer that merely
mentions such marks keeps them.
"""

import re
from typing import NamedTuple

from arena.markdown import visible_text
from arena.reasoning import (
    BARE_ANALYSIS,
    BARE_FINAL,
    CLOSINGS,
    FINAL_CHANNEL,
    FORMATS,
    MARK_START,
    OPENINGS,
    TOKENS,
    TURN_END,
    ClosingMarks,
)

_FOLDED = frozenset(number for number, form in enumerate(FORMATS, 1) if form.is_folded)
"""Numbers of the groups in `OPENINGS` and `CLOSINGS` for the formats that pages fold away."""
_OPENED_IN_PROMPT = frozenset(number for number in _FOLDED if FORMATS[number - 1].opens_in_prompt)
_ESCAPED_STARTS = (r"\u003c", "%3c")
"""The sign "<", with which a mark may begin, as JSON and addresses escape it."""
_MOST_MARK = 300
"""Most characters of a mark."""
_MOST_OPENING = 120
"""Most characters of a growing text in which a mark at its start may still become complete."""
_MOST_INDENT = 10
"""Most characters before a mark at the start of a line."""
_BLANK = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]*+")
"""Blanks and invisible characters."""
_FENCE = "```"
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Letters of languages without spaces between words."""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\s{_UNSPACED}]++")
"""A word; in languages without spaces, a character."""


class Thought(str):
    """A piece of a stream that is thinking and not part of the answer."""


class Loading(str):
    """A piece of a stream without text, sent while the model is being loaded."""

    def __new__(cls) -> "Loading":
        return super().__new__(cls)


class SplitText(NamedTuple):
    """A model's text, separated into thinking and answer."""

    thinking: str
    text: str


class ShownAnswer(NamedTuple):
    """An answer as pages show it."""

    text: str
    thinking: str = ""
    """Folded away, and not part of the answer that is voted on."""
    cut: bool = False
    """Whether it ended at the limit of tokens."""

    @property
    def words_thought(self) -> int:
        """The number of words of its thinking."""
        return word_count(self.thinking)


def word_count(text: str) -> int:
    """Returns the number of words; in languages without spaces, of characters."""
    return sum(1 for _ in _WORD.finditer(text))


def says_something(text: str) -> bool:
    """Returns whether a model's text has more than thinking, special tokens and invisible characters."""
    answer = split_thinking(text).text
    answer = TURN_END.sub("", answer)
    answer = TOKENS.sub("", answer)
    return bool(visible_text(answer).strip())


def split_thinking(text: str) -> SplitText:
    """Separates thinking and answer of a text, and removes an end of turn that a tokenizer left.

    Any other text stays as it is. The time is linear in the text.
    """
    if not text:
        return SplitText("", text)
    if not MARK_START.search(text):
        return _bare_harmony(text) or SplitText("", text)
    text = _without_turn_end(text)
    thoughts: list[str] = []
    start = _after_leading(text, thoughts)
    if not thoughts and start == 0:
        start = _after_lone_closing(text, thoughts)
    answer = _without_inner(text[start:], thoughts)
    if not thoughts and start == 0:
        return _bare_harmony(text) or SplitText("", text)
    stripped = [thought.strip() for thought in thoughts]
    return SplitText("\n\n".join(filter(None, stripped)), answer.strip())


class _Fences:
    """Code blocks of a text; places must be asked for in ascending order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._counted = 0
        self._fences = 0

    def contain(self, place: int) -> bool:
        """Returns whether a place is within code."""
        self._fences += self._text.count(_FENCE, self._counted, place)
        self._counted = place
        return self._fences % 2 == 1

    def skip(self, place: int) -> None:
        """Leaves out the fences before a place that were not counted yet."""
        self._counted = place


def _without_turn_end(text: str) -> str:
    """Returns a text without the marks at its end, and the blanks between them."""
    end = len(text)
    for mark in reversed(list(TURN_END.finditer(text))):
        if text[mark.end() : end].strip():
            break
        end = mark.start()
    return text[:end]


def _after_leading(text: str, thoughts: list[str]) -> int:
    """Returns where the answer begins after thinking at the start of the text; 0 if there is none.

    The thinking is added to `thoughts`.
    """
    closings = ClosingMarks(CLOSINGS, text)
    end = 0  # of the last thinking
    place = 0  # also behind blanks and tokens, which stay in the answer if no more thinking follows
    while True:
        place = _end_of_blank(text, place)
        final = FINAL_CHANNEL.match(text, place)
        if final:
            return final.end()
        opening = OPENINGS.match(text, place)
        if opening and opening.lastindex in _FOLDED:
            closing = closings.after(opening)
            if closing is None and not _is_sure(opening):
                return end
            if closing is None:
                return _after_endless(text, opening, thoughts)
            thoughts.append(text[opening.end() : closing.start()])
            end = closing.end()
            place = end
        elif token := TOKENS.match(text, place):
            place = token.end()
        else:
            return end


def _after_endless(text: str, opening: re.Match[str], thoughts: list[str]) -> int:
    """Returns where the answer begins after thinking without a closing mark; the thinking is added to `thoughts`."""
    final = FINAL_CHANNEL.search(text, opening.end())
    if final is None:
        thoughts.append(text[opening.end() :])
        return len(text)
    thoughts.append(text[opening.end() : final.start()])
    return final.end()


def _is_sure(opening: re.Match[str]) -> bool:
    """Returns whether an opening without its closing is thinking; "[Thoughts]" may be a heading."""
    return opening[0] == "[THINK]" or opening[0][0] not in "[【{〈《"


def _end_of_blank(text: str, place: int) -> int:
    blank = _BLANK.match(text, place)
    return blank.end() if blank else place


def _after_lone_closing(text: str, thoughts: list[str]) -> int:
    """Returns where the answer begins after a lone closing mark at the start or end of a line; 0 if there is none.

    The thinking is added to `thoughts`.
    """
    opened_groups = {mark.lastindex for mark in OPENINGS.finditer(text)}
    fences = _Fences(text)
    for closing in CLOSINGS.finditer(text):
        is_lone = closing.lastindex in _OPENED_IN_PROMPT and closing.lastindex not in opened_groups
        begins_line = _begins_line(text, closing.start())
        ends_line = text[closing.end() : closing.end() + 1] in ("", "\n")
        if is_lone and (begins_line or ends_line) and not fences.contain(closing.start()):
            thoughts.append(text[: closing.start()])
            return closing.end()
    return 0


def _begins_line(text: str, place: int) -> bool:
    before = text[max(0, place - _MOST_INDENT) : place]
    has_line_start = "\n" in before or place <= _MOST_INDENT
    indent = before.rpartition("\n")[2]
    return has_line_start and _BLANK.fullmatch(indent) is not None


def _without_inner(text: str, thoughts: list[str]) -> str:
    """Returns the answer without thinking that starts on a new line outside of code, which is added to `thoughts`."""
    closings = ClosingMarks(CLOSINGS, text)
    pieces: list[str] = []
    place = 0
    fences = _Fences(text)
    for opening in OPENINGS.finditer(text):
        if opening.lastindex not in _FOLDED or opening.start() < place:
            continue
        if fences.contain(opening.start()) or not _begins_line(text, opening.start()):
            continue
        closing = closings.after(opening)
        if closing is None and not _is_sure(opening):
            continue
        pieces.append(text[place : opening.start()])
        if closing is None:
            thoughts.append(text[opening.end() :])
            place = len(text)
        else:
            thoughts.append(text[opening.end() : closing.start()])
            place = closing.end()
            fences.skip(place)  # Code in the thinking is no part of the answer.
    pieces.append(text[place:])
    return "".join(pieces)


def _bare_harmony(text: str) -> SplitText | None:
    """Separates gpt-oss's channels without their tokens, as in "analysisThe user ...assistantfinalRed"."""
    analysis = BARE_ANALYSIS.match(text)
    if analysis is None:
        return None
    final = BARE_FINAL.search(text, analysis.end())
    if final is None:
        return None
    return SplitText(text[analysis.end() : final.start()].strip(), text[final.end() :].strip())


def _may_become_escape(text: str) -> bool:
    """Returns whether a growing text may become one of `_ESCAPED_STARTS`."""
    return any(start.startswith(text.lower()) for start in _ESCAPED_STARTS)


class ThinkingStream:
    """Separates thinking at the start of a growing text from the answer behind it."""

    def __init__(self) -> None:
        self._held = ""
        """Text that was not returned yet, since it may become a mark."""
        self._format: int | None = None
        """The open format, by its group in `CLOSINGS`; None outside of thinking."""
        self._is_answering = False
        self._thoughts: list[str] = []

    @property
    def thinking(self) -> str:
        """All thinking so far."""
        return "".join(self._thoughts).strip()

    def think(self, text: str) -> None:
        """Adds thinking that came separately from the text."""
        self._thoughts.append(text)

    def take(self, piece: str) -> str:
        """Adds a piece and returns the new text of the answer."""
        if self._is_answering:
            return piece
        self._held += piece
        while not self._is_answering:
            is_decided = self._close_format() if self._format else self._open_format()
            if not is_decided:
                return ""
        return self._take_held()

    def end(self) -> str:
        """Ends the text and returns the last text of the answer."""
        if self._format:
            self._thoughts.append(self._held)
            self._held = ""
        return self._take_held()

    def _take_held(self) -> str:
        """Returns the beginning of the answer, without blanks after thinking."""
        text = self._held.lstrip() if self._thoughts else self._held
        self._held = ""
        return text

    def _open_format(self) -> bool:
        """Looks for a mark at the beginning; returns whether it is there or can no longer come."""
        start = _end_of_blank(self._held, 0)
        place = start
        mark = self._mark_at(place)
        while mark is None and (token := TOKENS.match(self._held, place)):
            place = _end_of_blank(self._held, token.end())
            mark = self._mark_at(place)
        if mark:
            self._held = self._held[mark.end() :]
            self._format = mark.lastindex  # None for the mark of harmony's answer
            self._is_answering = mark.re is FINAL_CHANNEL
        else:
            rest = self._held[start:]
            may_open = not rest or MARK_START.match(rest) or _may_become_escape(rest)
            self._is_answering = not may_open or len(self._held) > _MOST_OPENING
        return self._is_answering or self._format is not None

    def _mark_at(self, place: int) -> re.Match[str] | None:
        """Returns the opening mark of thinking at a place, or the mark of harmony's answer."""
        opening = OPENINGS.match(self._held, place)
        if opening and opening.lastindex in _FOLDED and _is_sure(opening):
            return opening
        return FINAL_CHANNEL.match(self._held, place)

    def _close_format(self) -> bool:
        """Looks for the closing mark; returns whether it is there."""
        closings = CLOSINGS.finditer(self._held)
        closing = next((mark for mark in closings if mark.lastindex == self._format), None)
        mark = closing or FINAL_CHANNEL.search(self._held)
        if mark:
            self._thoughts += [self._held[: mark.start()], "\n\n"]
            self._held = self._held[mark.end() :]
            self._format = None
            self._is_answering = mark.re is FINAL_CHANNEL
            return True
        # the end is held back, since a mark may begin in it
        held_from = max(0, len(self._held) - _MOST_MARK)
        self._thoughts.append(self._held[:held_from])
        self._held = self._held[held_from:]
        return False
