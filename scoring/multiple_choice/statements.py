"""Explicit statements of an answer: "the answer is B", "I would choose the cat", "B is correct", "答案是B".

A statement that is denied, supposed or retracted does not count, and the last one wins. This module also finds text
that addresses the reader of the answer instead of answering.
"""

import re
from dataclasses import dataclass, replace

from scoring.multiple_choice.abroad import IF, NOT_BEFORE
from scoring.multiple_choice.named_options import AnswerText, Mention
from scoring.multiple_choice.phrases import (
    ADDRESSES,
    CLAUSE_START,
    COUNTED,
    DENIED,
    FRAME_WORDS,
    FRAMES,
    HAN,
    IN_A_WORD,
    ORDER_WORDS,
    ORDERS,
    ORDINAL,
    ORDINALS,
    PLACE_WORDS,
    PLAIN_NOT,
    RIGHT,
    SPEAK_WORDS,
    TAKEN_BACK,
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to an option at one place of the answer."""

    letter: str
    content: str | None
    """The letter of the option with the content directly after the letter, or of a reference by content alone."""
    start: int
    end: int
    span: str
    doubted: bool = False
    """Whether it only "could be" this option, and another option is stated too."""


_OPEN = r"[\s\"'“”‘’(\[{<*_]*+"
_CLOSE = r"[\"'“”‘’)\]}>*_]*+"
_LETTER = re.compile(
    rf"{_OPEN}(?:(?:option|choice|letter|answer|选项)\s*+[:#]?{_OPEN})?([A-Za-z])(?!{IN_A_WORD}){_CLOSE}",
    re.I,
)
_CONTENT_OPENS = re.compile(r"[ \t\n\"'“‘(\[]*+")
_SEPARATOR = re.compile(r"\s*(?:[.:,;、)\]-]|–|—|\bis\b|=)?[\s\"'“”(\[*]*")
_AFTER_WORD = re.compile(
    r"\s*(?:$|[.,:;!?)\]}\"'*。、|/-]|\n|(?:because|since|as|due|given|with|for|based|and|or|which|that|is|was"
    r"|from|in the (?:list|options)"
    r"|,)\b)"
)
_DESCRIBED = re.compile(
    r"(?<!correct )(?<!right )(?<!best )(?<!final )\b(?:option|choice|letter)s?"
    rf"\s*+[\"'(\[*]*+(?-i:[A-Z])(?!{IN_A_WORD})",
    re.IGNORECASE,
)
"""Start of a frame that only describes an option: "option A is a dog"."""
_IS = re.compile(r"[\"')\]*]*+\s++(?:is|are)\b")
_IF = re.compile(
    r"\bif\s+(?:it|this|that|there|they|the\s+\w{1,20}(?:\s+\w{1,20})?)\s+(?:were|was|had|did|\w{2,20}ed)\b[^.!?\n]*\Z",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"\b(?:user|student|teacher|expert|person|people|human|annotator|friend|someone|somebody|some|many|most|others|you"
    r"|he|she|they|his|her|their|gpt[\w-]{0,8}|chatgpt|claude|gemini|model|assistant)(?:['’]?s|['’])?\s"
    r"(?:(?:\w{1,12}ly|has|have|had|would|will|might|may|could|first|final)\s){0,2}"
    r"(?:(?:thinks?|thought|says?|said|believes?|claims?|claimed|suggests?|suggested|insists?|guess(?:es|ed)?)\s"
    r"(?:that\s)?(?:the\s(?:correct\s|right\s|best\s)?)?)?\Z",
    re.IGNORECASE,
)
"""Another person as the source of a statement: "the user chose B", "his answer is B"."""
_WOULD = re.compile(r"\b(?:would|could|might)\b", re.IGNORECASE)
_BEFORE_FRAME = 48
"""Characters before a statement to search for a denial or another source."""
_CONDITION = re.compile(
    rf"(?:(?<!\w){IF}(?!{IN_A_WORD})|\b(?:had|were)\sit\b|\b(?:if|unless|suppos\w{{1,3}}|assuming)\s(?:it|this|that"
    r"|the\s(?:image|picture|photo|animal|object))\b)(?:(?!\b(?:so|therefore|thus|hence)\b|所以|因此|故)[^.!?;:\n])*\Z",
    re.IGNORECASE,
)
"""A condition of the statement after it: "if it meows, the answer is B"."""
_LONGEST_IF = 120
"""Most characters between a condition and its statement."""
_COULD_BE = re.compile(r"\b(?:could|might|may) be\b", re.IGNORECASE)
_PERHAPS = r"(?:maybe|perhaps|possibly|probably|alternatively|also|even)\b"
_OTHER = re.compile(
    rf"\s*+(?:[,/&|;、.]\s*+|\((?=or\b|and\b|{_PERHAPS}))?(?:(?:and/or|or|and)\b\s*+)?(?:{_PERHAPS},?\s*+)?"
    r"(?:(?:或者|或|和|及|与|以及)\s*+)?",
    re.I,
)
_JOINED = re.compile(r"[,/&|、]|\b(?:or|and)\b|[或和及与]", re.IGNORECASE)


_PIECE = 20_000
"""Characters of a piece of text."""
_OVERLAP = 4_000
"""Characters read after a piece: the longest address has about 2,000."""
_NEAR = 160
"""Characters before a place that are searched first for the start of its clause."""
_LONGEST_RIGHT = 400
"""Most characters from a letter to the end of the words that call it right, without its content."""
_LONGEST_PHRASE = 32
"""Most characters of a clause mark or a denial, not counting a word's own ending."""


class _InClause:
    """A search for denials before places, each within its clause. Places must ascend, so that no text is read twice."""

    def __init__(self, text: str, denials: re.Pattern[str]) -> None:
        self._text = text
        self._denials = denials
        self._clause = 0
        """The start of the current clause."""
        self._unread = 0
        """The first character that was not searched."""
        self._last = 0
        """The last place asked about."""
        self._is_denied = False
        """Whether the current clause has a denial for all places that follow."""

    def before(self, place: int) -> bool:
        """Whether a denial is between the start of the clause and this place, as if the text ended here."""
        start = self._clause_start(place)
        if start is not None:
            self._clause = start
            self._unread = start
            self._is_denied = False
        self._last = place
        if self._is_denied:
            return True
        # The text before the clause is cut off, so that a word boundary holds at the start of the clause.
        offset = self._clause if self._unread == self._clause else 0
        denial = self._denials.search(
            self._text[offset:place] if offset else self._text,
            self._unread - offset,
            place - offset,
        )
        last = max(self._clause, place - _LONGEST_PHRASE)
        self._unread = last
        self._is_denied = denial is not None and (
            denial.end() + offset < place or denial.start() + offset < last
        )
        return denial is not None

    def _clause_start(self, place: int) -> int | None:
        """The last start of a clause since the last place; None if there is none. Most are near."""
        begin = max(self._clause, self._last - _LONGEST_PHRASE)
        starts: list[re.Match[str]] = []
        for first in (max(begin, place - _NEAR), begin):
            starts = starts or [*CLAUSE_START.finditer(self._text, first, place)]
        return starts[-1].end() if starts else None


def speaks(answer: AnswerText) -> str:
    """The part of the answer that instructs its reader; "" if there is none."""
    if answer.words.isdisjoint(SPEAK_WORDS):
        return ""
    if answer.has_other_letters:
        address = _in_pieces(ADDRESSES.pattern, answer.masked)
    else:
        address = next(answer.matches(ADDRESSES), None)
    may_order = not answer.words.isdisjoint(ORDER_WORDS) or "answer only" in answer.lower
    order = _in_pieces(ORDERS, answer.masked) if may_order else None
    matches = [match for match in (address, order) if match]
    if not matches:
        return ""
    first = min(matches, key=re.Match.start)
    return answer.text[first.start() : first.end() + 20].strip()


def _in_pieces(phrase: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match in a text, searched in pieces: one search of a megabyte would block all other threads."""
    for begin in range(0, len(text), _PIECE):
        match = phrase.search(text, begin, begin + _PIECE + _OVERLAP)
        if match and match.start() < begin + _PIECE:
            return match
    return None


def last_statement(answer: AnswerText) -> Reference | None:
    """The option in the last explicit statement without a denial or retraction; None if there is none."""
    frames = [] if answer.words.isdisjoint(FRAME_WORDS) else [*answer.matches(FRAMES)]
    if end := _plain_end(answer, frames):
        return end
    statements: list[Reference] = []
    supposed: list[Reference] = []
    denied = _InClause(answer.masked, DENIED)
    for frame in frames:
        reference = _stated(answer, frame, denied)
        if reference and _COULD_BE.search(frame[0]):
            supposed.append(reference)
        elif reference:
            statements.append(reference)
    denied = _InClause(answer.masked, DENIED)
    statements += [
        reference
        for reference in _right_ones(answer)
        if not denied.before(reference.start) and not taken_back(answer, reference.end)
    ]
    last = max(statements + supposed, key=lambda reference: reference.end, default=None)
    if last not in supposed:
        return last
    is_doubted = any(statement.letter != last.letter for statement in statements)
    return replace(last, doubted=is_doubted)


def _plain_end(answer: AnswerText, frames: list[re.Match[str]]) -> Reference | None:
    """The option in the last frame, if no statement follows it. Most answers end so, and need no further reading."""
    frame = next((frame for frame in reversed(frames) if _option_at(answer, frame.end())), None)
    if frame is None or _COULD_BE.search(frame[0]):
        return None
    words = answer.lower[frame.start() : frame.end()]
    if any(words in content for content in answer.contents.texts.values()):
        return None
    reference = _stated(answer, frame, _InClause(answer.masked, DENIED))
    place = frames.index(frame)
    before = _option_at(answer, frames[place - 1].end()) if place else None
    if reference is None or (before and before.end >= reference.end):
        return None
    right_ones = _right_ones(answer, max(0, frame.start() - _LONGEST_RIGHT))
    has_later = any(right.end > reference.end for right in right_ones)
    return None if has_later else reference


def _stated(answer: AnswerText, frame: re.Match[str], denied: _InClause) -> Reference | None:
    """The option that a frame states, unless it is denied, supposed, another person's, or retracted."""
    reference = _option_at(answer, frame.end())
    if reference is None:
        return None
    is_void = (
        _DESCRIBED.match(answer.masked, frame.start())
        or is_conditional(answer.masked, frame.start(), frame.end())
        or _is_foreign(answer.masked, frame)
        or denied.before(frame.start())
        or taken_back(answer, reference.end)
    )
    return None if is_void else reference


def _option_at(answer: AnswerText, place: int) -> Reference | None:
    """The option referred to at this place, by content, letter or ordinal."""
    return _content_at(answer, place) or reference_at(answer, place) or _ordinal_at(answer, place)


def reference_at(answer: AnswerText, place: int) -> Reference | None:
    """The option of the letter at this place, with the content directly after it; None for an article or pronoun."""
    match = _LETTER.match(answer.masked, place)
    if not match or not _is_letter(answer, match):
        return None
    letter = match[1].upper()
    content = _content_behind(answer, match.end())
    if (
        content
        and letter in answer.options
        and answer.contents.texts[letter] == answer.contents.texts[content.letter]
    ):
        content = content._replace(letter=letter)
    end = content.end if content else match.end()
    return Reference(
        letter=letter,
        content=content.letter if content else None,
        start=match.start(1),
        end=end,
        span=answer.text[match.start() : end].strip(),
    )


def _is_letter(answer: AnswerText, match: re.Match[str]) -> bool:
    """Whether it is a letter, not a word: "A", "I" and small letters need punctuation or the end of the text next."""
    letter = match[1]
    end = match.end()
    is_wrapped = end - match.end(1) > 0
    if letter in "AI":
        if is_wrapped or _AFTER_WORD.match(answer.masked, end):
            return True
        own = _content_behind(answer, end)
        return own is not None and own.letter == letter
    if letter.islower():
        if is_wrapped:
            return True
        rest = answer.masked[end:].lstrip()
        if rest in ("", "."):
            return True
        return letter not in "ai" and rest[0] in ".,:;)\n"
    return True


def _content_behind(answer: AnswerText, end: int) -> Mention | None:
    """The option with its content after a letter that ends here."""
    behind = _SEPARATOR.match(answer.lower, end)
    return answer.contents.mention_at(answer.lower, behind.end() if behind else end)


def is_conditional(text: str, start: int, end: int) -> bool:
    """Whether a statement only holds if something else does: "if it barked, the answer would be A"."""
    if _CONDITION.search(text, max(0, start - _LONGEST_IF), start):
        return True
    would = _WOULD.search(text, start, end)
    return would is not None and bool(
        _IF.search(text, max(0, would.start() - _LONGEST_IF), would.start())
    )


def _is_foreign(text: str, frame: re.Match[str]) -> bool:
    """Whether a statement is another person's, or denied in another language."""
    front = text[max(0, frame.start() - _BEFORE_FRAME) : frame.start()]
    return bool(_OTHERS.search(front) or (frame["abroad"] and NOT_BEFORE.search(front)))


def _content_at(answer: AnswerText, place: int) -> Reference | None:
    """The option with its content at this place; None for a single letter, and for a content that two options share."""
    opening = _CONTENT_OPENS.match(answer.text, place)
    start = opening.end() if opening else place
    content = answer.contents.mention_at(answer.lower, start)
    if content is None:
        return None
    is_sign = answer.text[content.start].isdigit() or HAN.match(answer.text, content.start)
    if content.end - content.start < 2 and not is_sign:
        return None
    texts = answer.contents.texts
    if sum(text == texts[content.letter] for text in texts.values()) > 1:
        return None
    return Reference(
        letter=content.letter,
        content=content.letter,
        start=content.start,
        end=content.end,
        span=answer.text[content.start : content.end],
    )


def _ordinal_at(answer: AnswerText, place: int) -> Reference | None:
    """The option referred to by its place, "the second option", or its number."""
    match = ORDINAL.match(answer.text, place)
    if not match:
        return _counted_at(answer, place)
    word = (match[1] or match[2]).lower()
    letters = list(answer.options)
    number = len(letters) - 1 if word == "last" else ORDINALS[word]
    if number >= len(letters):
        return None
    return Reference(letters[number], None, match.start(), match.end(), match[0].strip())


def _counted_at(answer: AnswerText, place: int) -> Reference | None:
    """The option referred to by its number, "option number 2", if no option's text has a number."""
    match = COUNTED.match(answer.text, place)
    if not match or any(map(PLACE_WORDS.search, answer.options.values())):
        return None
    number = int(match[1]) - 1
    letters = list(answer.options)
    if not 0 <= number < len(letters):
        return None
    return Reference(letters[number], None, match.start(), match.end(), match[0].strip())


_STANDING = re.compile(
    # In a run of quotes only the first position is tried; after a word, the first that follows a quote other than "'".
    # The lookahead at the first character skips most places quickly.
    rf"(?=[\"'(\[*ocA-Z])(?:(?<!{IN_A_WORD})(?<![-/\"(\[*])|(?:(?<=[^\W\u3400-\u9fff])|(?<=[’&+#/-]))'*+[\"(\[*])"
    rf"(?P<all>[\"'(\[*]*+(?:(?:[Oo]ption|[Cc]hoice)\s+[\"'(\[*]*+)?"
    rf"(?<!{IN_A_WORD})(?P<letter>[A-Z])(?!{IN_A_WORD}))"
)
_BARE = re.compile(r"[\"')\]*.:,]*")


def _right_ones(answer: AnswerText, start: int = 0) -> list[Reference]:
    """Options called right directly after their letter: "B is correct", "(B) cat is the answer"."""
    references = []
    for letter in _STANDING.finditer(answer.masked, start):
        bare = _BARE.match(answer.masked, letter.end())
        end = bare.end() if bare else letter.end()
        reference = reference_at(answer, letter.start("all"))
        for place in {end, reference.end if reference else end}:
            right = RIGHT.match(answer.masked, place)
            if right:
                content = reference.content if reference else None
                span = answer.text[letter.start("all") : right.end()].strip()
                references.append(
                    Reference(letter["letter"], content, letter.start("letter"), right.end(), span)
                )
                break
    return references


def taken_back(answer: AnswerText, end: int) -> bool:
    """Whether the option named before this place is called wrong directly after it."""
    return bool(TAKEN_BACK.match(answer.masked, end))


def denied_letter(answer: AnswerText, letter: str) -> bool:
    """Whether the letter is denied wherever it occurs alone: "It is not B", "B is wrong"."""
    denied = _InClause(answer.text, PLAIN_NOT)
    places = [place for place in _STANDING.finditer(answer.text) if place["letter"] == letter]
    for place in places:
        if not denied.before(place.start("all")) and not TAKEN_BACK.match(answer.text, place.end()):
            return False
    return bool(places)


def hedged(answer: AnswerText, statement: Reference) -> bool:
    """Whether another option follows directly: "A or B", "B/C", or a list of all options."""
    other = _OTHER.match(answer.text, statement.end)
    place = other.end() if other else statement.end
    is_joined = bool(other and _JOINED.search(other[0]))
    beside = reference_at(answer, place)
    if beside and beside.letter in answer.options and beside.letter != statement.letter:
        is_described = beside.content == beside.letter and _IS.match(answer.text, beside.start + 1)
        if is_described and not is_joined:
            return False  # "B. A is a dog" only describes A
        sign = answer.text[beside.start + 1 : beside.start + 2]
        is_label = beside.content is not None or sign in (".", ":", ")", "、")
        return is_joined or is_label or not answer.text[beside.end :].strip(" .")
    content = answer.contents.mention_at(answer.lower, place) if is_joined else None
    return content is not None and content.letter != statement.letter
