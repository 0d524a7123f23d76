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
    content_letter: str | None
    """The option named by its content, directly after the letter or instead of it; None if no content is named."""
    start: int
    """The place of the letter, or of the content if there is no letter."""
    end: int
    span: str
    """The text of the reference."""
    is_doubted: bool = False
    """Whether it only "could be" this option, and another option is stated too."""


_OPEN = r"[\s\"'“”‘’(\[{<*_]*+"
_CLOSE = r"[\"'“”‘’)\]}>*_]*+"
_LETTER = re.compile(
    rf"{_OPEN}(?:(?:option|choice|letter|answer|选项)\s*+[:#]?{_OPEN})?([A-Za-z])(?!{IN_A_WORD}){_CLOSE}",
    re.I,
)
_CONTENT_OPENS = re.compile(r"[ \t\n\"'“‘(\[]*+")
_SEPARATOR = re.compile(r"\s*(?:[.:,;、)\]-]|–|—|\bis\b|=)?[\s\"'“”(\[*]*")
_AFTER_LETTER = re.compile(
    r"\s*(?:$|[.,:;!?)\]}\"'*。、|/-]|\n|(?:because|since|as|due|given|with|for|based|and|or|which|that|is|was"
    r"|from|in the (?:list|options)"
    r"|,)\b)"
)
"""Text that shows the "A" or "I" before it to be a letter, not an article or a pronoun."""
_DESCRIPTION = re.compile(
    r"(?<!correct )(?<!right )(?<!best )(?<!final )\b(?:option|choice|letter)s?"
    rf"\s*+[\"'(\[*]*+(?-i:[A-Z])(?!{IN_A_WORD})",
    re.IGNORECASE,
)
"""Start of a frame that only describes an option: "option A is a dog"."""
_VERB_BEHIND_LETTER = re.compile(r"[\"')\]*]*+\s++(?:is|are)\b")
_UNREAL_CONDITION = re.compile(
    r"\bif\s+(?:it|this|that|there|they|the\s+\w{1,20}(?:\s+\w{1,20})?)\s+(?:were|was|had|did|\w{2,20}ed)\b[^.!?\n]*\Z",
    re.IGNORECASE,
)
"""A condition that a "would" after it makes unreal: "if it barked, the answer would be A"."""
_OTHER_PEOPLE = re.compile(
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
_BETWEEN_OPTIONS = re.compile(
    rf"\s*+(?:[,/&|;、.]\s*+|\((?=or\b|and\b|{_PERHAPS}))?(?:(?:and/or|or|and)\b\s*+)?(?:{_PERHAPS},?\s*+)?"
    r"(?:(?:或者|或|和|及|与|以及)\s*+)?",
    re.I,
)
"""Text between two options: ", " in "B, C", " or maybe " in "B or maybe C"; empty where there is none."""
_TAKEN_UP_AGAIN = re.compile(
    r"[\s\"'”’)\]}$*.,;:!…。，；！-]*+(?:(?:but|oh|so|ok|okay)\b[\s,.…]*+){0,2}"
    r"(?:(?:wait|hmm+|hold on|on second thought)\b|(?P<check>let (?:me|us) (?:just )?(?:double[- ]?check|re-?check"
    r"|check|verify|reconsider|re-?think|re-?examine|re-?read|think again|look again|look (?:closer|more closely))\b)"
    r"|(?:但是?[，,]?|不过[，,]?)?(?:等等|等一下|不对"
    r"|(?P<chinese_check>让我再|我再|再(?:看|检查|想|确认)|重新(?:看|检查|审视|考虑))))",
    re.IGNORECASE,
)
"""The sentence after a statement if it opens the question again: "Wait, the ears", "But let me double-check"."""
_SENTENCE_ENDS = (".", "!", "。", "！", "✓", "✔", ")", "$")
_CONFIRMED = re.compile(
    r"\b(?:yes|yeah|right|correct|confirm\w*|indeed|match(?:es)?|fits?|consistent|still|sure)\b|没错|正确|的确|确实|符合|对的",
    re.IGNORECASE,
)
_JOINING = re.compile(r"[,/&|、]|\b(?:or|and)\b|[或和及与]", re.IGNORECASE)


_PIECE_CHARACTERS = 20_000
"""Characters of a piece of text."""
_OVERLAP_CHARACTERS = 4_000
"""Characters read after a piece: the longest address has about 2,000."""
_SHOWN_CHARACTERS = 20
"""Characters shown after the words that instruct a reader."""
_NEAR_CHARACTERS = 160
"""Characters before a place that are searched first for the start of its clause."""
_LONGEST_RIGHT = 400
"""Most characters from a letter to the end of the words that call it right, without its content."""
_LONGEST_PHRASE = 32
"""Most characters of a clause mark or a denial, without the open ending of words such as "suppos..."."""


class _ClauseDenials:
    """The denials before places of a text, each within its clause.

    Places must ascend, so that little text is read twice.
    """

    def __init__(self, text: str, denials: re.Pattern[str]) -> None:
        self._text = text
        self._denials = denials
        self._clause_start = 0
        """The start of the current clause."""
        self._unread = 0
        """The start of the next search: shortly before the last place, but within the clause."""
        self._last_place = 0
        """The last place asked about."""
        self._is_denied = False
        """Whether the current clause has a denial for all places that follow."""

    def is_before(self, place: int) -> bool:
        """Whether a denial is between the start of the clause and this place, as if the text ended here."""
        new_clause_start = self._new_clause_start(place)
        if new_clause_start is not None:
            self._clause_start = new_clause_start
            self._unread = new_clause_start
            self._is_denied = False
        self._last_place = place
        if self._is_denied:
            return True
        if self._unread == self._clause_start:
            # The text before the clause is cut off, so that a word boundary holds at the start of the clause.
            offset = self._clause_start
            denial = self._denials.search(self._text[offset:place])
        else:
            offset = 0
            denial = self._denials.search(self._text, self._unread, place)
        # A denial may be longer than its part before this place, so the next search starts before it.
        self._unread = max(self._clause_start, place - _LONGEST_PHRASE)
        if denial is None:
            return False
        # A denial that ends right here may be none in the whole text, as "not" of "note": the next search looks again.
        # One that ends earlier is certain, and one that starts before the next search has to be remembered.
        ends_before = denial.end() + offset < place
        starts_in_read_text = denial.start() + offset < self._unread
        self._is_denied = ends_before or starts_in_read_text
        return True

    def _new_clause_start(self, place: int) -> int | None:
        """The last start of a clause since the last place; None if there is none."""
        first = max(self._clause_start, self._last_place - _LONGEST_PHRASE)
        near = max(first, place - _NEAR_CHARACTERS)
        # Most starts are near, so that the second search is rare.
        starts = [*CLAUSE_START.finditer(self._text, near, place)]
        if not starts:
            starts = [*CLAUSE_START.finditer(self._text, first, place)]
        return starts[-1].end() if starts else None


def instruction_to_reader(answer: AnswerText) -> str:
    """The part of the answer that instructs its reader; "" if there is none."""
    if answer.words.isdisjoint(SPEAK_WORDS):
        return ""
    # `matches` would search a text with other letters as a whole.
    if answer.has_other_letters:
        address = _in_pieces(ADDRESSES.pattern, answer.masked)
    else:
        address = next(answer.matches(ADDRESSES), None)
    # Most texts have the word "answer", so ORDER_WORDS leaves it out.
    may_order = not answer.words.isdisjoint(ORDER_WORDS) or "answer only" in answer.lower
    order = _in_pieces(ORDERS, answer.masked) if may_order else None
    matches = [match for match in (address, order) if match]
    if not matches:
        return ""
    first = min(matches, key=re.Match.start)
    return answer.text[first.start() : first.end() + _SHOWN_CHARACTERS].strip()


def _in_pieces(phrase: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match in a text, searched in pieces: one search of a megabyte would block all other threads."""
    for begin in range(0, len(text), _PIECE_CHARACTERS):
        match = phrase.search(text, begin, begin + _PIECE_CHARACTERS + _OVERLAP_CHARACTERS)
        if match and match.start() < begin + _PIECE_CHARACTERS:
            return match
    return None


def last_statement(answer: AnswerText) -> Reference | None:
    """The option in the last explicit statement without a denial or retraction; None if there is none."""
    may_have_frames = not answer.words.isdisjoint(FRAME_WORDS)
    frames = [*answer.matches(FRAMES)] if may_have_frames else []
    if last_frame_option := _statement_at_end(answer, frames):
        return last_frame_option
    statements: list[Reference] = []
    possible: list[Reference] = []
    denials = _ClauseDenials(answer.masked, DENIED)
    for frame in frames:
        reference = _stated_option(answer, frame, denials)
        if reference and _COULD_BE.search(frame[0]):
            possible.append(reference)
        elif reference:
            statements.append(reference)
    # Denials anew: places must ascend, and these begin at the front again.
    denials = _ClauseDenials(answer.masked, DENIED)
    statements += [
        reference
        for reference in _options_called_right(answer)
        if not denials.is_before(reference.start) and not is_taken_back(answer, reference.end)
    ]
    last = max(statements + possible, key=lambda reference: reference.end, default=None)
    if last is None or last not in possible:
        return last
    is_doubted = any(statement.letter != last.letter for statement in statements)
    return replace(last, is_doubted=is_doubted)


def _statement_at_end(answer: AnswerText, frames: list[re.Match[str]]) -> Reference | None:
    """The option in the last frame, if it is certain that no statement follows it; else None.

    Most answers end so, and need no further reading.
    """
    frame = next((frame for frame in reversed(frames) if _option_at(answer, frame.end())), None)
    if frame is None or _COULD_BE.search(frame[0]):
        return None
    # The frame may be words of an option's text.
    frame_words = answer.lower[frame.start() : frame.end()]
    if any(frame_words in content for content in answer.contents.texts.values()):
        return None
    reference = _stated_option(answer, frame, _ClauseDenials(answer.masked, DENIED))
    if reference is None:
        return None
    # The frame before this one may state a long content that ends later.
    number = frames.index(frame)
    if number > 0:
        option_before = _option_at(answer, frames[number - 1].end())
        if option_before and option_before.end >= reference.end:
            return None
    called_right = _options_called_right(answer, max(0, frame.start() - _LONGEST_RIGHT))
    has_later = any(right.end > reference.end for right in called_right)
    return None if has_later else reference


def _stated_option(
    answer: AnswerText, frame: re.Match[str], denials: _ClauseDenials
) -> Reference | None:
    """The option that a frame states, unless it is only described, denied, supposed, another person's, or retracted."""
    reference = _option_at(answer, frame.end())
    if reference is None:
        return None
    is_void = (
        _DESCRIPTION.match(answer.masked, frame.start())
        or is_conditional(answer.masked, frame.start(), frame.end())
        or _is_anothers_or_denied_abroad(answer.masked, frame)
        or denials.is_before(frame.start())
        or is_taken_back(answer, reference.end)
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
    mention = _mention_behind(answer, match.end())
    content_letter = None
    end = match.end()
    if mention:
        texts = answer.contents.texts
        # Two options may have the same text.
        is_own_text = letter in answer.options and texts[letter] == texts[mention.letter]
        content_letter = letter if is_own_text else mention.letter
        end = mention.end
    return Reference(
        letter=letter,
        content_letter=content_letter,
        start=match.start(1),
        end=end,
        span=answer.text[match.start() : end].strip(),
    )


def _is_letter(answer: AnswerText, match: re.Match[str]) -> bool:
    """Whether it is a letter, not a word: "A", "I" and small letters need punctuation or the end of the text next."""
    letter = match[1]
    end = match.end()
    is_wrapped = end > match.end(1)
    if letter in "AI":
        if is_wrapped or _AFTER_LETTER.match(answer.masked, end):
            return True
        # "A cat" is a letter with its own option's content, if A is the cat.
        mention = _mention_behind(answer, end)
        return mention is not None and mention.letter == letter
    if letter.islower():
        if is_wrapped:
            return True
        rest = answer.masked[end:].lstrip()
        if rest in ("", "."):
            return True
        # In the midst of a text, "a" and "i" are words.
        is_word = letter in "ai"
        return not is_word and rest[0] in ".,:;)"
    return True


def _mention_behind(answer: AnswerText, end: int) -> Mention | None:
    """The option with its content after a letter that ends here."""
    separator = _SEPARATOR.match(answer.lower, end)
    place = separator.end() if separator else end
    return answer.contents.mention_at(answer.lower, place)


def is_conditional(text: str, start: int, end: int) -> bool:
    """Whether a statement only holds if something else does: "if it barked, the answer would be A"."""
    if _CONDITION.search(text, max(0, start - _LONGEST_IF), start):
        return True
    would = _WOULD.search(text, start, end)
    if would is None:
        return False
    first = max(0, would.start() - _LONGEST_IF)
    return bool(_UNREAL_CONDITION.search(text, first, would.start()))


def _is_anothers_or_denied_abroad(text: str, frame: re.Match[str]) -> bool:
    """Whether a statement is another person's, or denied in a language other than English and Chinese."""
    front = text[max(0, frame.start() - _BEFORE_FRAME) : frame.start()]
    if frame["abroad"] and NOT_BEFORE.search(front):
        return True
    return bool(_OTHER_PEOPLE.search(front))


def _content_at(answer: AnswerText, place: int) -> Reference | None:
    """The option with its content at this place; None for a single letter, and for a content that two options share."""
    opening = _CONTENT_OPENS.match(answer.text, place)
    start = opening.end() if opening else place
    mention = answer.contents.mention_at(answer.lower, start)
    if mention is None:
        return None
    can_be_short = answer.text[mention.start].isdigit() or HAN.match(answer.text, mention.start)
    if mention.end - mention.start < 2 and not can_be_short:
        return None
    texts = [*answer.contents.texts.values()]
    if texts.count(answer.contents.texts[mention.letter]) > 1:
        return None
    return Reference(
        letter=mention.letter,
        content_letter=mention.letter,
        start=mention.start,
        end=mention.end,
        span=answer.text[mention.start : mention.end],
    )


def _ordinal_at(answer: AnswerText, place: int) -> Reference | None:
    """The option referred to by its place, "the second option", or its number."""
    match = ORDINAL.match(answer.text, place)
    if not match:
        return _numbered_at(answer, place)
    word = (match[1] or match[2]).lower()
    letters = list(answer.options)
    index = len(letters) - 1 if word == "last" else ORDINALS[word]
    if index >= len(letters):
        return None
    return _reference_by_place(letters[index], match)


def _numbered_at(answer: AnswerText, place: int) -> Reference | None:
    """The option referred to by its number, "option number 2", if no option's text has a number."""
    match = COUNTED.match(answer.text, place)
    if not match or any(map(PLACE_WORDS.search, answer.options.values())):
        return None
    index = int(match[1]) - 1
    letters = list(answer.options)
    if not 0 <= index < len(letters):
        return None
    return _reference_by_place(letters[index], match)


def _reference_by_place(letter: str, match: re.Match[str]) -> Reference:
    return Reference(
        letter=letter,
        content_letter=None,
        start=match.start(),
        end=match.end(),
        span=match[0].strip(),
    )


_LETTER_ALONE = re.compile(
    # This lookahead skips most places quickly.
    r"(?=[\"'(\[*ocA-Z])"
    # A match begins outside a word, and before a run of quotes and brackets rather than within it.
    rf"(?:(?<!{IN_A_WORD})(?<![-/\"(\[*])"
    # Directly after a word, as in "answer(B)", at least one of the marks must be other than "'".
    r"|(?:(?<=[^\W\u3400-\u9fff])|(?<=[’&+#/-]))'*+[\"(\[*])"
    rf"(?P<all>[\"'(\[*]*+(?:(?:[Oo]ption|[Cc]hoice)\s+[\"'(\[*]*+)?"
    rf"(?<!{IN_A_WORD})(?P<letter>[A-Z])(?!{IN_A_WORD}))"
)
"""A capital letter that is no part of a word; `all` also has "option" and opening marks before it."""
_CLOSING_MARKS = re.compile(r"[\"')\]*.:,]*")


def _options_called_right(answer: AnswerText, start: int = 0) -> list[Reference]:
    """Options called right directly after their letter: "B is correct", "(B) cat is the answer"."""
    references = []
    for match in _LETTER_ALONE.finditer(answer.masked, start):
        marks = _CLOSING_MARKS.match(answer.masked, match.end())
        end = marks.end() if marks else match.end()
        reference = reference_at(answer, match.start("all"))
        right = RIGHT.match(answer.masked, end)
        if right is None and reference:
            right = RIGHT.match(answer.masked, reference.end)
        if right:
            content_letter = reference.content_letter if reference else None
            span = answer.text[match.start("all") : right.end()].strip()
            references.append(
                Reference(
                    letter=match["letter"],
                    content_letter=content_letter,
                    start=match.start("letter"),
                    end=right.end(),
                    span=span,
                )
            )
    return references


def is_taken_back(answer: AnswerText, end: int) -> bool:
    """Whether the option named before this place is called wrong directly after it."""
    return bool(TAKEN_BACK.match(answer.masked, end))


def is_letter_denied(answer: AnswerText, letter: str) -> bool:
    """Whether the letter is denied wherever it occurs alone, also in an option's text: "It is not B", "B is wrong"."""
    denials = _ClauseDenials(answer.text, PLAIN_NOT)
    places = [match for match in _LETTER_ALONE.finditer(answer.text) if match["letter"] == letter]
    for place in places:
        is_denied = denials.is_before(place.start("all"))
        if not is_denied and not TAKEN_BACK.match(answer.text, place.end()):
            return False
    return bool(places)


def is_taken_up_again(text: str, end: int) -> bool:
    """Whether thoughts follow a statement that ends here, and none of them confirms it: it isn't the last word.

    A check that is carried to the end of a sentence leaves the statement as it is.
    """
    again = _TAKEN_UP_AGAIN.match(text, end)
    if again is None or _CONFIRMED.search(text, again.end()):
        return False
    is_check = again["check"] or again["chinese_check"]
    return not (is_check and text.rstrip().endswith(_SENTENCE_ENDS))


def is_hedged(answer: AnswerText, statement: Reference) -> bool:
    """Whether another option follows directly: "A or B", "B/C", or a list of all options; or second thoughts do."""
    if is_taken_up_again(answer.masked, statement.end):
        return True
    between = _BETWEEN_OPTIONS.match(answer.text, statement.end)
    place = between.end() if between else statement.end
    is_joined = bool(between and _JOINING.search(between[0]))
    other = reference_at(answer, place)
    if other and other.letter in answer.options and other.letter != statement.letter:
        return is_joined or _is_rival(answer, other)
    mention = answer.contents.mention_at(answer.lower, place) if is_joined else None
    return mention is not None and mention.letter != statement.letter


def _is_rival(answer: AnswerText, other: Reference) -> bool:
    """Whether another option directly behind a statement is chosen too; "B. A is a dog" only describes A."""
    has_own_content = other.content_letter == other.letter
    if has_own_content and _VERB_BEHIND_LETTER.match(answer.text, other.start + 1):
        return False
    # "B. C: bird" goes on with an option in a list, and "B. C" ends with one.
    sign = answer.text[other.start + 1 : other.start + 2]
    is_label = other.content_letter is not None or sign in (".", ":", ")", "、")
    is_last = not answer.text[other.end :].strip(" .")
    return is_label or is_last
