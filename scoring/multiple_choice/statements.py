"""Explicit statements of an answer: "the answer is B", "I would choose the cat", "B is correct", "答案是B".

A statement that is denied, supposed or taken back does not count, and the last one wins. Text that addresses the reader
of the answer instead of answering is found here too.
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
    PLACES,
    PLAIN_NOT,
    RIGHT,
    SPEAK_WORDS,
    TAKEN_BACK,
)


@dataclass(frozen=True, slots=True)
class Reference:
    """An option meant at one place of the answer."""

    letter: str
    named: str | None
    """The option whose content directly follows the letter, or that is meant by its content alone."""
    start: int
    end: int
    span: str
    doubted: bool = False
    """Whether it only "could be" this option, and another one is stated too."""


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
"""Start of a frame that only tells what an option is: "option A is a dog"."""
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
"""Whoever else states something: "the user chose B", "his answer is B"."""
_WOULD = re.compile(r"\b(?:would|could|might)\b", re.IGNORECASE)
_BEFORE_FRAME = 48
"""Characters before a statement in which it is denied, or given to someone else."""
_CONDITION = re.compile(
    rf"(?:(?<!\w){IF}(?!{IN_A_WORD})|\b(?:had|were)\sit\b|\b(?:if|unless|suppos\w{{1,3}}|assuming)\s(?:it|this|that"
    r"|the\s(?:image|picture|photo|animal|object))\b)(?:(?!\b(?:so|therefore|thus|hence)\b|所以|因此|故)[^.!?;:\n])*\Z",
    re.IGNORECASE,
)
"""What a statement behind it hangs on: "if it meows, the answer is B"."""
_LONGEST_IF = 120
"""Characters between a condition and its statement at most."""
_COULD_BE = re.compile(r"\b(?:could|might|may) be\b", re.IGNORECASE)
_PERHAPS = r"(?:maybe|perhaps|possibly|probably|alternatively|also|even)\b"
_OTHER = re.compile(
    rf"\s*+(?:[,/&|;、.]\s*+|\((?=or\b|and\b|{_PERHAPS}))?(?:(?:and/or|or|and)\b\s*+)?(?:{_PERHAPS},?\s*+)?"
    r"(?:(?:或者|或|和|及|与|以及)\s*+)?",
    re.I,
)
_JOINED = re.compile(r"[,/&|、]|\b(?:or|and)\b|[或和及与]", re.IGNORECASE)


_PIECE = 20_000
_OVERLAP = 4_000
"""Characters of a piece of text, and of the overlap read after it: the longest address has about 2,000."""
_NEAR = 160
"""Characters before a place in which the start of its clause is looked for first."""
_LONGEST_RIGHT = 400
"""Maximum characters between a letter and the end of what calls it right, without its content."""
_LONGEST_PHRASE = 32
"""Maximum characters of a clause mark or a denial, not counting a word's own ending."""


class _InClause:
    """Search for denials before places, each within its clause; places ascend, so that nothing is read twice."""

    def __init__(self, text: str, denials: re.Pattern[str]) -> None:
        self._text = text
        self._denials = denials
        self._clause = self._unread = self._last = 0
        self._found = False

    def before(self, place: int) -> bool:
        """Whether a denial is between the start of the clause and this place, as if the text ended here."""
        if (start := self._clause_start(place)) is not None:
            self._clause = self._unread = start
            self._found = False
        self._last = place
        if self._found:
            return True
        # A word may start at the start of its clause, whatever precedes it: so the text before the clause is cut off.
        offset = self._clause if self._unread == self._clause else 0
        found = self._denials.search(
            self._text[offset:place] if offset else self._text,
            self._unread - offset,
            place - offset,
        )
        last = max(self._clause, place - _LONGEST_PHRASE)
        self._unread = last
        self._found = found is not None and (
            found.end() + offset < place or found.start() + offset < last
        )
        return found is not None

    def _clause_start(self, place: int) -> int | None:
        """The last start of a clause that was not seen yet; most are near."""
        begin = max(self._clause, self._last - _LONGEST_PHRASE)
        starts: list[re.Match[str]] = []
        for first in (max(begin, place - _NEAR), begin):
            starts = starts or [*CLAUSE_START.finditer(self._text, first, place)]
        return starts[-1].end() if starts else None


def speaks(answer: AnswerText) -> str:
    """The part of the answer that tells its reader what to output; "" if there is none."""
    if answer.words.isdisjoint(SPEAK_WORDS):
        return ""
    if answer.has_other_letters:
        address = _in_pieces(ADDRESSES.pattern, answer.masked)
    else:
        address = next(answer.matches(ADDRESSES), None)
    may_order = not answer.words.isdisjoint(ORDER_WORDS) or "answer only" in answer.lower
    order = _in_pieces(ORDERS, answer.masked) if may_order else None
    found = min(filter(None, (address, order)), key=re.Match.start, default=None)
    return answer.text[found.start() : found.end() + 20].strip() if found else ""


def _in_pieces(phrase: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Search a text in pieces: a single search of a megabyte would block all other threads."""
    for begin in range(0, len(text), _PIECE):
        found = phrase.search(text, begin, begin + _PIECE + _OVERLAP)
        if found and found.start() < begin + _PIECE:
            return found
    return None


def last_statement(answer: AnswerText) -> Reference | None:
    """The option in the last explicit statement that is neither denied nor taken back; None if there is none."""
    frames = [] if answer.words.isdisjoint(FRAME_WORDS) else [*answer.matches(FRAMES)]
    if plain := _plain_end(answer, frames):
        return plain
    found: list[Reference] = []
    supposed: list[Reference] = []
    denied = _InClause(answer.masked, DENIED)
    for frame in frames:
        meant = _stated(answer, frame, denied)
        if meant:
            (supposed if _COULD_BE.search(frame[0]) else found).append(meant)
    denied = _InClause(answer.masked, DENIED)
    found += [
        meant
        for meant in _right_ones(answer)
        if not denied.before(meant.start) and not taken_back(answer, meant.end)
    ]
    last = max(found + supposed, key=lambda one: one.end, default=None)
    if last not in supposed:
        return last
    return replace(last, doubted=any(one.letter != last.letter for one in found))


def _plain_end(answer: AnswerText, frames: list[re.Match[str]]) -> Reference | None:
    """What the last frame states, where nothing is stated behind it: so most answers end, and no more need be read."""
    frame = next((frame for frame in reversed(frames) if _meant_at(answer, frame.end())), None)
    if frame is None or _COULD_BE.search(frame[0]):
        return None
    words = answer.lower[frame.start() : frame.end()]
    if any(words in content for content in answer.contents.texts.values()):
        return None
    meant = _stated(answer, frame, _InClause(answer.masked, DENIED))
    place = frames.index(frame)
    before = _meant_at(answer, frames[place - 1].end()) if place else None
    if meant is None or (before and before.end >= meant.end):
        return None
    right_ones = _right_ones(answer, max(0, frame.start() - _LONGEST_RIGHT))
    return None if any(one.end > meant.end for one in right_ones) else meant


def _stated(answer: AnswerText, frame: re.Match[str], denied: _InClause) -> Reference | None:
    """The option that a frame states, unless it is denied, supposed, another's, or taken back."""
    meant = _meant_at(answer, frame.end())
    if meant is None or (
        _DESCRIBED.match(answer.masked, frame.start())
        or is_conditional(answer.masked, frame.start(), frame.end())
        or _is_no_own(answer.masked, frame)
        or denied.before(frame.start())
        or taken_back(answer, meant.end)
    ):
        return None
    return meant


def _meant_at(answer: AnswerText, place: int) -> Reference | None:
    return _content_at(answer, place) or reference_at(answer, place) or _ordinal_at(answer, place)


def reference_at(answer: AnswerText, place: int) -> Reference | None:
    """The option that a letter here means, with the content directly after it; None for an article or pronoun."""
    found = _LETTER.match(answer.masked, place)
    if not found or not _is_letter(answer, found):
        return None
    letter = found[1].upper()
    content = _content_behind(answer, found.end())
    if (
        content
        and letter in answer.options
        and answer.contents.texts[letter] == answer.contents.texts[content.letter]
    ):
        content = content._replace(letter=letter)
    end = content.end if content else found.end()
    return Reference(
        letter,
        content.letter if content else None,
        found.start(1),
        end,
        answer.text[found.start() : end].strip(),
    )


def _is_letter(answer: AnswerText, found: re.Match[str]) -> bool:
    """Whether it is a letter, not a word: "A" and "I" before words, and small letters, need a mark or the end next."""
    letter = found[1]
    end = found.end()
    wrapped = end - found.end(1) > 0
    if letter in "AI":
        if wrapped or _AFTER_WORD.match(answer.masked, end):
            return True
        own = _content_behind(answer, end)
        return own is not None and own.letter == letter
    if letter.islower():
        rest = answer.masked[end:].lstrip()
        return (
            wrapped
            or (letter not in "ai" and (not rest or rest[0] in ".,:;)\n"))
            or rest in ("", ".")
        )
    return True


def _content_behind(answer: AnswerText, end: int) -> Mention | None:
    """The option whose content follows a letter that ends here."""
    behind = _SEPARATOR.match(answer.lower, end)
    return answer.contents.at(answer.lower, behind.end() if behind else end)


def is_conditional(text: str, start: int, end: int) -> bool:
    """Whether a statement only holds if something else does: "if it barked, the answer would be A"."""
    if _CONDITION.search(text, max(0, start - _LONGEST_IF), start):
        return True
    would = _WOULD.search(text, start, end)
    return would is not None and bool(
        _IF.search(text, max(0, would.start() - _LONGEST_IF), would.start())
    )


def _is_no_own(text: str, frame: re.Match[str]) -> bool:
    """Whether someone else makes a statement, or a word of another language denies it."""
    front = text[max(0, frame.start() - _BEFORE_FRAME) : frame.start()]
    return bool(_OTHERS.search(front) or (frame["abroad"] and NOT_BEFORE.search(front)))


def _content_at(answer: AnswerText, place: int) -> Reference | None:
    opening = _CONTENT_OPENS.match(answer.text, place)
    start = opening.end() if opening else place
    content = answer.contents.at(answer.lower, start)
    if (
        content is None
        or content.end - content.start < 2
        and not (answer.text[content.start].isdigit() or HAN.match(answer.text, content.start))
    ):
        return None
    texts = answer.contents.texts
    if sum(text == texts[content.letter] for text in texts.values()) > 1:
        return None
    return Reference(
        content.letter,
        content.letter,
        content.start,
        content.end,
        answer.text[content.start : content.end],
    )


def _ordinal_at(answer: AnswerText, place: int) -> Reference | None:
    found = ORDINAL.match(answer.text, place)
    if not found:
        return _counted_at(answer, place)
    word = (found[1] or found[2]).lower()
    letters = list(answer.options)
    number = len(letters) - 1 if word == "last" else ORDINALS[word]
    if number >= len(letters):
        return None
    return Reference(letters[number], None, found.start(), found.end(), found[0].strip())


def _counted_at(answer: AnswerText, place: int) -> Reference | None:
    """The option that is meant by its number, "option number 2", where no option says a number."""
    found = COUNTED.match(answer.text, place)
    if not found or any(map(PLACES.search, answer.options.values())):
        return None
    number = int(found[1]) - 1
    letters = list(answer.options)
    if not 0 <= number < len(letters):
        return None
    return Reference(letters[number], None, found.start(), found.end(), found[0].strip())


_STANDING = re.compile(
    # In a run of quotes only the first position is tried; after a word, the first that follows a quote other than "'".
    # The look at the first sign passes over most places quickly.
    rf"(?=[\"'(\[*ocA-Z])(?:(?<!{IN_A_WORD})(?<![-/\"(\[*])|(?:(?<=[^\W\u3400-\u9fff])|(?<=[’&+#/-]))'*+[\"(\[*])"
    rf"(?P<all>[\"'(\[*]*+(?:(?:[Oo]ption|[Cc]hoice)\s+[\"'(\[*]*+)?"
    rf"(?<!{IN_A_WORD})(?P<letter>[A-Z])(?!{IN_A_WORD}))"
)
_BARE = re.compile(r"[\"')\]*.:,]*")


def _right_ones(answer: AnswerText, start: int = 0) -> list[Reference]:
    """Options called right directly after their letter: "B is correct", "(B) cat is the answer"."""
    found = []
    for letter in _STANDING.finditer(answer.masked, start):
        bare = _BARE.match(answer.masked, letter.end())
        end = bare.end() if bare else letter.end()
        meant = reference_at(answer, letter.start("all"))
        for place in {end, meant.end if meant else end}:
            if right := RIGHT.match(answer.masked, place):
                named = meant.named if meant else None
                span = answer.text[letter.start("all") : right.end()].strip()
                found.append(
                    Reference(letter["letter"], named, letter.start("letter"), right.end(), span)
                )
                break
    return found


def taken_back(answer: AnswerText, end: int) -> bool:
    """Whether the option named before this place is called wrong directly after it."""
    return bool(TAKEN_BACK.match(answer.masked, end))


def denied_letter(answer: AnswerText, letter: str) -> bool:
    """Whether the letter is denied wherever it stands alone: "It is not B", "B is wrong"."""
    denied = _InClause(answer.text, PLAIN_NOT)
    places = [found for found in _STANDING.finditer(answer.text) if found["letter"] == letter]
    for found in places:
        if not denied.before(found.start("all")) and not TAKEN_BACK.match(answer.text, found.end()):
            return False
    return bool(places)


def hedged(answer: AnswerText, found: Reference) -> bool:
    """Whether another option follows directly: "A or B", "B/C", or a list of all options."""
    other = _OTHER.match(answer.text, found.end)
    place = other.end() if other else found.end
    joined = bool(other and _JOINED.search(other[0]))
    beside = reference_at(answer, place)
    if beside and beside.letter in answer.options and beside.letter != found.letter:
        if (
            not joined
            and beside.named == beside.letter
            and _IS.match(answer.text, beside.start + 1)
        ):
            return False  # "B. A is a dog" tells what A is
        labels = beside.named is not None or answer.text[beside.start + 1 : beside.start + 2] in (
            ".",
            ":",
            ")",
            "、",
        )
        return joined or labels or not answer.text[beside.end :].strip(" .")
    content = answer.contents.at(answer.lower, place) if joined else None
    return content is not None and content.letter != found.letter
