"""Thinking: what a model thinks in its text before it answers, parted from what it says to people.

Of the formats in `reasoning.py` those alone that hold thinking: where the text begins with one, where one begins a line
outside of code, and all before a lone closing mark, whose opening the prompt holds. An answer that only speaks of such
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
"""Groups of `OPENINGS` and `CLOSINGS`."""
_IN_PROMPT = frozenset(number for number in _FOLDS if FORMATS[number - 1].opens_in_prompt)
_MOST_MARK = 300
"""Most characters of a mark."""
_MOST_OPENING = 120
"""Characters of a growing text that begins like a mark for which its opening is awaited."""
_MOST_INDENT = 10
_BLANK = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]*+")
"""Blanks, and characters that nobody sees."""
_FENCE = "```"
_DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_DENSE}]|[^\s{_DENSE}]++")
"""A word; in languages without spaces, a character."""


class Thought(str):
    """A piece of a stream that is thinking and no part of the answer."""


class Loading(str):
    """A piece of a stream without text: the model is being loaded."""

    def __new__(cls) -> "Loading":
        return super().__new__(cls)


class Parted(NamedTuple):
    """A model's text: its thinking, and what it says."""

    thinking: str
    text: str


class ShownAnswer(NamedTuple):
    """An answer as people read it."""

    text: str
    thinking: str = ""
    """Folded away; no part of what is voted on."""
    cut: bool = False
    """Whether it ended at the limit of tokens."""

    @property
    def words_thought(self) -> int:
        return word_count(self.thinking)


def word_count(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))


def says_something(text: str) -> bool:
    """Whether a model's text is more than thinking, special tokens and what nobody can see."""
    return bool(visible_text(TOKENS.sub("", TURN_END.sub("", parted(text).text))).strip())


def parted(text: str) -> Parted:
    """The thinking of a text and its answer, without the end of a turn that a tokenizer left behind it.

    Any other text stays as it is. Its work grows with the text.
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
    """Blocks of code of a text, asked for places in order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._counted = 0
        self._fences = 0

    def hold(self, place: int) -> bool:
        """Whether a place is within code."""
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
    """Where the answer begins behind the thinking that opens the text; 0 if none does."""
    closings = grouped((found.lastindex, found) for found in CLOSINGS.finditer(text))
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
    """Whether an opening is thinking before its end has come: "[Thoughts]" may be a heading."""
    return opening[0] == "[THINK]" or opening[0][0] not in "[【{〈《"


def _end_of_blank(text: str, place: int) -> int:
    blank = _BLANK.match(text, place)
    return blank.end() if blank else place


def _after_lone_closing(text: str, thoughts: list[str]) -> int:
    """Where the answer begins behind a closing that ends a line, or begins one, and that nothing opened."""
    opened = {found.lastindex for found in OPENINGS.finditer(text)}
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
    """The answer without thinking that begins a line of it outside of code."""
    closings = grouped((found.lastindex, found) for found in CLOSINGS.finditer(text))
    kept: list[str] = []
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
        kept.append(text[place : opening.start()])
        thoughts.append(text[opening.end() : end])
        place = same[number].end() if number < len(same) else len(text)
    return "".join([*kept, text[place:]])


def _bare_harmony(text: str) -> Parted | None:
    """gpt-oss's channels after a tokenizer has skipped their tokens, "analysisThe user ...assistantfinalRed"."""
    begun = BARE_ANALYSIS.match(text) if text else None
    final = BARE_FINAL.search(text, begun.end()) if begun else None
    if begun is None or final is None:
        return None
    return Parted(text[begun.end() : final.start()].strip(), text[final.end() :].strip())


class ThinkingStream:
    """The thinking that opens a growing text, apart from the answer behind it."""

    def __init__(self) -> None:
        self._held = ""
        """The beginning of the text, which may become a mark."""
        self._format: int | None = None
        """Group of the format whose closing is awaited."""
        self._answers = False
        self._thoughts: list[str] = []

    @property
    def thinking(self) -> str:
        return "".join(self._thoughts).strip()

    def think(self, text: str) -> None:
        """Adds thinking that came beside the text."""
        self._thoughts.append(text)

    def take(self, piece: str) -> str:
        """The new text of the answer."""
        if self._answers:
            return piece
        self._held += piece
        while not self._answers and (self._think() if self._format else self._open()):
            continue
        if not self._answers:
            return ""
        return self._begun()

    def end(self) -> str:
        """The last text of the answer: no more will come."""
        if self._format:
            self._thoughts.append(self._held)
            self._held = ""
        return self._begun()

    def _begun(self) -> str:
        """The beginning of the answer, without blanks where thinking stood before it."""
        text = self._held.lstrip() if self._thoughts else self._held
        self._held = ""
        return text

    def _open(self) -> bool:
        """Look for a mark at the beginning; returns whether it was found, or cannot come any more."""
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
        """The mark of thinking that opens at a place, or that of harmony's answer."""
        opening = OPENINGS.match(self._held, place)
        if opening and opening.lastindex in _FOLDS and _is_sure(opening):
            return opening
        return FINAL_CHANNEL.match(self._held, place)

    def _think(self) -> bool:
        """Look for the closing mark; returns whether it was found."""
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
