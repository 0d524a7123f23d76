"""Thinking: separates a model's thinking from the answer that people read.

Only those formats of `reasoning.py` count that hold thinking: at the start of the text, at the start of a line outside
of code, and all text before a lone closing mark, whose opening is in the prompt. An answer that merely mentions such
marks keeps them.
"""

import re
from bisect import bisect_left
from typing import NamedTuple

from arena.markdown import visible_text
from arena.reasoning import (
    BARE_ANALYSIS,
    BARE_FINAL,
    CLOSINGS,
    FINAL_CHANNEL,
    FORMATS,
    MARKED,
    OPENINGS,
    TOKENS,
    TURN_END,
)
from arena.types import grouped

_FOLDS = frozenset(number for number, form in enumerate(FORMATS, 1) if form.folds)
"""Groups of `OPENINGS` and `CLOSINGS` of formats that pages fold away."""
_IN_PROMPT = frozenset(number for number in _FOLDS if FORMATS[number - 1].opens_in_prompt)
_MOST_MARK = 300
"""Most characters of a mark."""
_MOST_OPENING = 120
"""Most characters of a growing text in which a mark at its start may still become complete."""
_MOST_INDENT = 10
_BLANK = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]*+")
"""Blanks and invisible characters."""
_FENCE = "```"
_DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_DENSE}]|[^\s{_DENSE}]++")
"""A word; in languages without spaces, a character."""


class Thought(str):
    """A piece of a stream that is thinking and not part of the answer."""


class Loading(str):
    """A piece of a stream without text, sent while the model is being loaded."""

    def __new__(cls) -> "Loading":
        return super().__new__(cls)


class Parted(NamedTuple):
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
        return word_count(self.thinking)


def word_count(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))


def says_something(text: str) -> bool:
    """Returns whether a model's text has more than thinking, special tokens and invisible characters."""
    return bool(visible_text(TOKENS.sub("", TURN_END.sub("", parted(text).text))).strip())


def parted(text: str) -> Parted:
    """Separates thinking and answer of a text, and removes an end of turn that a tokenizer left.

    Any other text stays as it is. The time is linear in the text.
    """
    if not text or not MARKED.search(text):
        return _bare_harmony(text) or Parted("", text)
    text = _without_turn_end(text)
    thoughts: list[str] = []
    place = _after_leading(text, thoughts)
    if not thoughts and not place:
        place = _after_lone_closing(text, thoughts)
    answer = _without_inner(text[place:], thoughts)
    if not thoughts and not place:
        return _bare_harmony(text) or Parted("", text)
    return Parted(_joined(thoughts), answer.strip())


class _Fences:
    """Code blocks of a text; places must be asked for in order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._counted = 0
        self._fences = 0

    def hold(self, place: int) -> bool:
        """Returns whether a place is within code."""
        self._fences += self._text.count(_FENCE, self._counted, place)
        self._counted = place
        return self._fences % 2 == 1


def _without_turn_end(text: str) -> str:
    end = len(text)
    for mark in reversed([*TURN_END.finditer(text)]):
        if text[mark.end() : end].strip():
            break
        end = mark.start()
    return text[:end]


def _joined(thoughts: list[str]) -> str:
    return "\n\n".join(filter(None, map(str.strip, thoughts)))


def _after_leading(text: str, thoughts: list[str]) -> int:
    """Returns where the answer begins after thinking at the start of the text; 0 if there is none."""
    closings = grouped((mark.lastindex, mark) for mark in CLOSINGS.finditer(text))
    end = 0
    place = 0
    while True:
        place = _end_of_blank(text, place)
        opening = OPENINGS.match(text, place)
        if final := FINAL_CHANNEL.match(text, place):
            return final.end()
        if opening and opening.lastindex in _FOLDS:
            same = closings.get(opening.lastindex, [])
            number = bisect_left(same, opening.end(), key=re.Match.start)
            if number == len(same) and not _is_sure(opening):
                return end
            if number == len(same):
                final = FINAL_CHANNEL.search(text, opening.end())
                thoughts.append(text[opening.end() : final.start() if final else len(text)])
                return final.end() if final else len(text)
            thoughts.append(text[opening.end() : same[number].start()])
            place = end = same[number].end()
        elif token := TOKENS.match(text, place):
            place = token.end()
        else:
            return end


def _is_sure(opening: re.Match[str]) -> bool:
    """Returns whether an opening without its closing is thinking; "[Thoughts]" may be a heading."""
    return opening[0] == "[THINK]" or opening[0][0] not in "[【{〈《"


def _end_of_blank(text: str, place: int) -> int:
    blank = _BLANK.match(text, place)
    return blank.end() if blank else place


def _after_lone_closing(text: str, thoughts: list[str]) -> int:
    """Returns where the answer begins after a closing without opening that starts or ends a line; 0 if none does."""
    opened = {mark.lastindex for mark in OPENINGS.finditer(text)}
    fences = _Fences(text)
    for closing in CLOSINGS.finditer(text):
        is_lone = closing.lastindex in _IN_PROMPT and closing.lastindex not in opened
        begins = _begins_line(text, closing.start())
        ends = text[closing.end() : closing.end() + 1] in ("", "\n")
        if is_lone and (begins or ends) and not fences.hold(closing.start()):
            thoughts.append(text[: closing.start()])
            return closing.end()
    return 0


def _begins_line(text: str, place: int) -> bool:
    before = text[max(0, place - _MOST_INDENT) : place]
    line_is_whole = "\n" in before or place <= _MOST_INDENT
    return line_is_whole and _BLANK.fullmatch(before.rpartition("\n")[2]) is not None


def _without_inner(text: str, thoughts: list[str]) -> str:
    """Returns the answer without thinking that starts on a new line outside of code."""
    closings = grouped((mark.lastindex, mark) for mark in CLOSINGS.finditer(text))
    pieces: list[str] = []
    place = 0
    fences = _Fences(text)
    for opening in OPENINGS.finditer(text):
        if opening.lastindex not in _FOLDS or opening.start() < place:
            continue
        if fences.hold(opening.start()) or not _begins_line(text, opening.start()):
            continue
        same = closings.get(opening.lastindex, [])
        number = bisect_left(same, opening.end(), key=re.Match.start)
        if number == len(same) and not _is_sure(opening):
            continue
        end = same[number].start() if number < len(same) else len(text)
        pieces.append(text[place : opening.start()])
        thoughts.append(text[opening.end() : end])
        place = same[number].end() if number < len(same) else len(text)
    return "".join([*pieces, text[place:]])


def _bare_harmony(text: str) -> Parted | None:
    """Separates gpt-oss's channels without their tokens, as in "analysisThe user ...assistantfinalRed"."""
    begun = BARE_ANALYSIS.match(text) if text else None
    final = BARE_FINAL.search(text, begun.end()) if begun else None
    if begun is None or final is None:
        return None
    return Parted(text[begun.end() : final.start()].strip(), text[final.end() :].strip())


class ThinkingStream:
    """Separates thinking at the start of a growing text from the answer behind it."""

    def __init__(self) -> None:
        self._held = ""
        """Text that was not returned yet, since it may become a mark."""
        self._format: int | None = None
        """Group of the open format."""
        self._answers = False
        self._thoughts: list[str] = []

    @property
    def thinking(self) -> str:
        return "".join(self._thoughts).strip()

    def think(self, text: str) -> None:
        """Adds thinking that came separately from the text."""
        self._thoughts.append(text)

    def take(self, piece: str) -> str:
        """Adds a piece and returns the new text of the answer."""
        if self._answers:
            return piece
        self._held += piece
        while not self._answers and (self._think() if self._format else self._open()):
            continue
        if not self._answers:
            return ""
        return self._begun()

    def end(self) -> str:
        """Ends the text and returns the last text of the answer."""
        if self._format:
            self._thoughts.append(self._held)
            self._held = ""
        return self._begun()

    def _begun(self) -> str:
        """Returns the beginning of the answer, without blanks after thinking."""
        text = self._held.lstrip() if self._thoughts else self._held
        self._held = ""
        return text

    def _open(self) -> bool:
        """Looks for a mark at the beginning; returns whether it is there or can no longer come."""
        begin = _end_of_blank(self._held, 0)
        place = begin
        while (mark := self._mark(place)) is None and (token := TOKENS.match(self._held, place)):
            place = _end_of_blank(self._held, token.end())
        if mark:
            self._held = self._held[mark.end() :]
            self._format = mark.lastindex
            self._answers = mark.re is FINAL_CHANNEL
        else:
            may_open = begin == len(self._held) or MARKED.match(self._held, begin)
            self._answers = not may_open or len(self._held) > _MOST_OPENING
        return self._answers or self._format is not None

    def _mark(self, place: int) -> re.Match[str] | None:
        """Returns the opening mark of thinking at a place, or the mark of harmony's answer."""
        opening = OPENINGS.match(self._held, place)
        if opening and opening.lastindex in _FOLDS and _is_sure(opening):
            return opening
        return FINAL_CHANNEL.match(self._held, place)

    def _think(self) -> bool:
        """Looks for the closing mark; returns whether it is there."""
        same = (mark for mark in CLOSINGS.finditer(self._held) if mark.lastindex == self._format)
        if mark := next(same, None) or FINAL_CHANNEL.search(self._held):
            self._thoughts += [self._held[: mark.start()], "\n\n"]
            self._held = self._held[mark.end() :]
            self._format = None
            self._answers = mark.re is FINAL_CHANNEL
            return True
        cut = max(0, len(self._held) - _MOST_MARK)
        self._thoughts.append(self._held[:cut])
        self._held = self._held[cut:]
        return False
