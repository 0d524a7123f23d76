"""Named options: the options that an answer names by their content (whole words, longest match, denials left out).

A number is named by its value, and a Chinese option by its characters. A word that occurs in any sentence ("no",
"right", "one") counts only at the start of the answer.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from string import ascii_lowercase
from types import MappingProxyType
from typing import NamedTuple

from arena.cache import Cache
from scoring.multiple_choice.formulas import is_formula, is_operand
from scoring.multiple_choice.numbers import (
    Number,
    equal_options,
    number_at,
    numbers_in_digits,
    numbers_in_words,
    text_as_number,
)
from scoring.multiple_choice.phrases import (
    COMMON,
    FILLERS,
    NOT,
    UNSURE,
    PatternWithStarts,
    places_of,
    words,
    words_of,
)
from scoring.multiple_choice.plain_answers import lowered, plain_content, with_brackets
from scoring.multiple_choice.types import LETTERS

_CJK = r"\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_CJK_SIGN = re.compile(f"[{_CJK}]")
_WORD_SIGN = re.compile(rf"[^\W{_CJK}]")
_SENTENCE_END = re.compile(r"[.!?\n;。;](?:(?<!\.)|(?<!\d\.)(?!\w)|(?=\s))")


class Mention(NamedTuple):
    """Position of an option's content in the answer."""

    letter: str
    start: int
    end: int


class Contents:
    """Contents of a question's options."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.texts = {letter: plain_content(text) for letter, text in options.items()}
        bracketed = {letter: with_brackets(text) for letter, text in options.items()}
        self.differ_in_brackets = len({*self.texts.values()}) < len({*bracketed.values()})
        """Whether two options differ only in brackets, as [2, 5) and (2, 5]."""
        if self.differ_in_brackets:
            self.texts = bracketed
        self.thing = ""
        self.values = {
            letter: number
            for letter, text in self.texts.items()
            if (number := text_as_number(text)) is not None and number.values
        }
        symbols = {
            symbol
            for letter, text in self.texts.items()
            if letter not in self.values and is_formula(text)
            for symbol in _SYMBOL.findall(text)
        }
        self.values = {
            letter: number
            for letter, number in self.values.items()
            if number.unit not in symbols  # "2n" beside "n^2" are no newtons
        }
        self.formulas = frozenset(
            letter
            for letter, text in self.texts.items()
            if letter not in self.values and text not in _WORDS and is_formula(text)
        )
        """Options that are formulas or symbols: as a part of a larger formula they are not named."""
        self.counted = self._counted_things()
        """The numbers of options that all count the same thing, as "3 apples" and "4 apples"."""
        self.signed = any(map(_SIGNED.fullmatch, self.texts.values()))
        """Whether an option is a letter with a sign behind it, such as a blood group or a grade."""
        self.all_letters = all(len(text) == 1 and text.isalpha() for text in self.texts.values())
        self.unclear = self._unclear_letters()
        self._nonempty = tuple(text for text in self.texts.values() if text)
        self._longest_first = sorted(self.texts, key=lambda letter: -len(self.texts[letter]))

    def _counted_things(self) -> Mapping[str, Number]:
        """The number before the same word in each option; empty unless all options count the same thing."""
        texts = [*self.texts.values()]
        things = {text.partition(" ")[2] for text in texts}
        if self.values or len(texts) < 2 or len(things) != 1:
            return {}
        thing = things.pop()
        if not thing.isalpha():
            return {}
        self.thing = thing
        numbers = {letter: text_as_number(text.partition(" ")[0]) for letter, text in self.texts.items()}
        return {letter: number for letter, number in numbers.items() if number and number.values}

    def _unclear_letters(self) -> frozenset[str]:
        """Labels that are also another option's text, alone or before a sign; none if all options are letters."""
        if self.all_letters:
            return frozenset()
        return frozenset(
            label
            for label in self.texts
            for letter, text in self.texts.items()
            if letter != label
            and text[:1] == label.lower()
            and (len(text) == 1 or _SIGNED.fullmatch(text))
        )

    def equal(self, text: str) -> list[str]:
        """Letters of the options equal to the text, by wording or by number."""
        worded = [letter for letter, content in self.texts.items() if content == text]
        if not worded and len(text) < _SHORT and _OPERATOR.search(text):
            bare = text.replace(" ", "")
            worded = [
                letter for letter, content in self.texts.items() if content.replace(" ", "") == bare
            ]
        if self.counted and not worded:
            number = text_as_number(text.removesuffix(self.thing).strip())
            return equal_options(number, self.counted) if number else []
        number = text_as_number(text) if self.values and not worded else None
        return worded or (equal_options(number, self.values) if number else [])

    def at(self, lower: str, place: int) -> Mention | None:
        """The longest option that starts exactly here, possibly after an article."""
        article = _ARTICLE.match(lower, place)
        start = article.end() if article else place
        number = number_at(lower, place) if self.values else None
        if number:
            letters = equal_options(number, self.values)
            if letters:
                return Mention(letters[0], place, number.end) if len(letters) == 1 else None
        for here in (place, start) if start > place else (place,):
            if not lower.startswith(self._nonempty, here):
                continue
            for letter in self._longest_first:
                content = self.texts[letter]
                if (
                    not (number and letter in self.values)
                    and content
                    and lower.startswith(content, here)
                    and self._is_whole(letter, lower, here)
                ):
                    return Mention(letter, here, here + len(content))
        return None

    def mentions(self, text: str, lower: str) -> list[Mention]:
        """Every named option, in order, without those inside a longer option; options with the same text all count."""
        mentions = self._numbers(text, lower)
        opening = opening_of(lower)
        for letter, content in self.texts.items():
            is_single_sign = len(content) == 1 and _CJK_SIGN.match(content)
            if letter in self.values or not content or is_single_sign:
                continue
            is_common = content in COMMON
            last = len(lower)
            if is_common and content not in _BEFORE_COMMON:
                last = opening
            place = lower.find(content)
            while 0 <= place <= last:
                end = place + len(content)
                is_clause = place <= opening and bool(_CLAUSE_ENDS.match(text, end))
                may_count = not is_common or is_clause or self._is_complement(lower, content, place)
                if may_count and self._is_whole(letter, lower, place):
                    mentions.append(Mention(letter, place, end))
                place = lower.find(content, end)
        return _outermost(mentions)

    def _is_whole(self, letter: str, lower: str, start: int) -> bool:
        """Whether the option's text here is neither part of a word nor of a formula."""
        end = start + len(self.texts[letter])
        if not _stands_alone(lower, start, end):
            return False
        return letter not in self.formulas or not is_operand(lower, start, end)

    def _is_complement(self, lower: str, content: str, place: int) -> bool:
        """Whether a common word is the point of a sentence: "to the right", "the statement is false"."""
        before = _BEFORE_COMMON.get(content)
        if before is None:
            return False
        has_side = content == "right" and _SIDED.match(lower, place)
        if not has_side and not before.search(lower, max(0, place - _BEFORE), place):
            return False
        others = {*self.texts.values()} & {*_BEFORE_COMMON} - {content}
        return not any(other in lower for other in others)

    def _numbers(self, text: str, lower: str) -> list[Mention]:
        """Numbers that are options; none if the text has another number, since it then may count something else."""
        if not self.values:
            return []
        written = _written_numbers(text, lower)
        units = {option.unit for option in self.values.values()}
        if len(units) == 1 and "" not in units:  # other things are counted without this unit
            written = [number for number in written if number.unit in units] or written
        mentions = []
        for number in written:
            letters = equal_options(number, self.values)
            if len({self.texts[letter] for letter in letters}) != 1:
                return []
            mentions += [Mention(letter, number.start, number.end) for letter in letters]
        return mentions


_SYMBOL = re.compile(r"(?<![a-z\s])[a-z]{1,2}(?![a-z])")
_WORDS = COMMON - {*ascii_lowercase}
_NAME_OF_NUMBER = re.compile(
    r"\b(?:no\.?|figure|fig\.?|image|picture|photo|step|option|choice|table|page|question|frame|version|chapter|lane|room)"
    r"\s*+[#:]?\s*+"
)
_RESULT = re.compile(
    r"[^\d=]{0,200}[\d(][\d\s().,+×*/÷·^%°-]{2,80}[=≈]\s?+(?P<result>[^=-][^=]{0,200})", re.DOTALL
)
"""The only calculation of an answer: "4 + 5 + 7 = 16"; a dash behind "=" may be punctuation."""
_CAPITALISED = re.compile(
    r"(?P<first>(?:\A|[.!?:\n])[\s*\"'(-]{0,3})?(?<![\w'’-])(?P<word>[a-z]?[A-Z][a-z]{2,20})\s(?=\d)"
)
"""A word that makes a name of the number behind it, "Route 27"; at the start of a sentence it only may."""
_BEFORE_NUMBERS = FILLERS | words(
    """only about exactly approximately around roughly total sum count result value number there are has have just
    nearly almost all least at answers option choice equals gives shows see got get makes what they you we
    contains showing counting counted"""
)
_ARTICLE = re.compile(r"(?:an?|the)\s+")
_OWN_ARTICLE = re.compile(r"\A\W{0,2}[Aa]\s\Z")
_OPENING = re.compile(
    r"[ \"'(\[]*+(?:(?:based on|looking at|judging by|according to|from|in)\s[^.,;:!?]{1,60},\s)?"
)
_CLAUSE_ENDS = re.compile(r"\Z|(?!\.\s?\d)[^\s'/-]|[^\S\n]?(?:\n|[–—(]|-\s)")
"""The text after a common word that is a whole clause: "No, ...", "No" and a line break, not "no idea", "No. 5"."""
_BEFORE = 32
"""Characters before a common word to search for words that make it the point of the sentence."""
_AWAY = re.compile(
    r"\b(?:(?:opposite|reverse|inverse|complement|lack|absence) of|contrary to|far from|once was|was once|previously"
    r"|formerly|(?:used|ceased|ceases) to be|(?:wish|wishes) (?:it|they|he|she) (?:were|was))\s(?:(?:an?|the)\s)?\Z"
)
_AWAY_WORDS = words(
    """opposite reverse inverse complement lack absence contrary far once previously formerly used ceased ceases wish
    wishes was"""
)
_BESIDE = re.compile(
    r"\b(?:to|near|behind|beside|with|by|from|of|as|above|below|under|over|opposite)\s(?:an?|the)\s\Z"
)
_ONE = re.compile(r"\sones?\b")
_SIDE = re.compile(
    r"\b(?:(?:on|to|towards?|from|at)\s(?:the|its|his|her|their|my|our|your)"
    r"|(?:turn|go|fac|point|look|head|veer|bend|curv)(?:s|es|e|ing|ed)?)\s\Z"
)
_SIDED = re.compile(r"right\s(?:turn|lane|side|arrow)\b")
_CALLED = re.compile(r"\b(?:statement|claim|sentence|assertion|caption|hypothesis)\s(?:is|was)\s\Z")
_BEFORE_COMMON: Mapping[str, re.Pattern[str]] = {"right": _SIDE, "true": _CALLED, "false": _CALLED}
_SIGNED = re.compile(r"[a-z]{1,2}[-+*#]{1,2}")
SIGN_BEHIND = re.compile(r"[-+*#]{1,2}(?!\w)")
_SIGNED_LETTER = re.compile(r"(?<![A-Za-z])[A-Za-z][-+*#]{1,2}(?!\w)")
_SIGN_WORDS = re.compile(
    r"(?<![A-Za-z])(A|B|AB|O)(?:\s?(?:Rh\s?)?(?:(positive|plus)|negative|minus)\b|\s?\^\s?\{?\s?(?:(\+)|-)\}?|–(?![\w\s]))"
)
"""A sign behind a letter in words, or raised: "A positive", "A^{+}"."""
_OPERATOR = re.compile(r"[-+×÷*/^=<>≤≥≠,:(]")
_SHORT = 60
"""Most characters of a formula, in which blanks have no meaning."""
_HALF_DAY = re.compile(r"\s?[ap]\.?m\b")
_OTHER_LETTER = re.compile(r"[^\W\d_a-zA-Z]")
_OTHER_SPACE = re.compile(r"[^\S ]")
_SIGN_BEFORE = re.compile(
    r"(?:[.+]|\d,|-\s?|(?<![a-z])(?:minus|negative|at least|at most|than|over|under|up to)\s|[负負]|零下|[<>≤≥≠]\s?)\Z"
)
"""Text that makes another number of the digits behind it."""
_SAYS = r"(?:[.:,)\]-]|\bis\b|\bare\b|\bshows?\b|\bsays?\b|=|是)*+"
_LABELS = {
    letter: tuple(
        re.compile(
            rf"(?<![\w']){letter}[\"')\]*]*+\s*+{_SAYS}\s*+(?:an?\b|the\b)?[\s\"'(]*+$", flags
        )
        for flags in (re.NOFLAG, re.IGNORECASE)
    )
    for letter in LETTERS
}
"""An option's letter before its content: as it is, and in either case."""


def _with_sign(match: re.Match[str]) -> str:
    return match[1] + ("+" if match[2] or match[3] else "-")


def opening_of(lower: str) -> int:
    """The place where an answer begins, after an introduction such as "based on the image, "."""
    match = _OPENING.match(lower)
    return match.end() if match else 0


def _is_titled(text: str, place: int) -> bool:
    """Whether a number in words is part of a name: "World War Two"."""
    return text[place].isupper() and text[max(0, place - 2) : place - 1].isalpha()


def _written_numbers(text: str, lower: str) -> list[Number]:
    """Numbers that count something, unlike that of a name, as in "Route 27".

    Empty if a sentence's first word may be such a name.
    """
    if not any(map(str.isdigit, lower)):
        in_words = numbers_in_words(lower)
        return [] if any(_is_titled(text, number.body) for number in in_words) else in_words
    name_ends = {name.end() for name in _NAME_OF_NUMBER.finditer(lower)}
    for name in _CAPITALISED.finditer(text):
        if name["word"].lower() in _BEFORE_NUMBERS or name.end() in name_ends:
            continue
        if name["first"] is not None:
            return []
        name_ends.add(name.end())
    result = _RESULT.fullmatch(lower)
    start = result.start("result") if result else 0
    return [
        number
        for number in numbers_in_digits(lower)
        if number.start not in name_ends and number.start >= start
    ]


def _outermost(mentions: list[Mention]) -> list[Mention]:
    """Mentions that are not inside a longer one, in order; all of several options with the same text."""
    outermost: list[Mention] = []
    widest = Mention("", -1, -1)
    for mention in sorted(
        mentions, key=lambda mention: (mention.start, -mention.end, mention.letter)
    ):
        if mention.end > widest.end or mention[1:] == widest[1:]:
            outermost.append(mention)
            widest = mention
    return outermost


def _stands_alone(lower: str, start: int, end: int) -> bool:
    """Whether these are whole words: "red" in "covered", "5" in "0.5" and "cat" in "cat-like" are not."""
    before = lower[start - 1 : start] if start else ""
    if lower[start].isdigit() and _SIGN_BEFORE.search(lower[max(0, start - 12) : start]):
        return False
    is_joined = before and (_WORD_SIGN.match(before) or before in "-_^\\")
    if is_joined and _WORD_SIGN.match(lower[start]):
        return False
    return _ends_alone(lower, start, end)


def _ends_alone(lower: str, start: int, end: int) -> bool:
    """Whether a word, number or sign ends here."""
    before = lower[start - 1 : start] if start else ""
    after = lower[end : end + 1]
    if not after:
        return True
    if not _WORD_SIGN.match(lower[end - 1]):
        return lower[end - 1] not in "-+*#" or not (_WORD_SIGN.match(after) or after in "-+#")
    if _WORD_SIGN.match(after) or after in "-_^+#":
        return False
    if after in "*%" and lower[start] != "*" and before != "*":
        return False
    if after in "'’":
        return lower[end + 1 : end + 2] != "s"
    if lower[end - 1].isdigit() and _HALF_DAY.match(lower, end):
        return False
    following = lower[end + 1 : end + 2]
    return not (after in ".,:/" and following.isdigit() and lower[end - 1].isdigit())


class NamedOptions(NamedTuple):
    """The options that an answer names by their contents."""

    affirmed: frozenset[str]
    """Letters of the options named in a sentence without denial, comparison or doubt."""
    every: frozenset[str]
    """Letters of all named options."""
    denied: frozenset[str]
    """Letters of the options with a denial in the last sentence that names them."""


_contents: Cache[Contents] = Cache(
    2_000_000, weigh=lambda contents: 1_000 + sum(map(len, contents.texts.values()))
)
"""The contents of questions' options, which many answers and rules need."""


class AnswerText:
    """A plain answer and the options of its question; properties for the rules are computed once."""

    def __init__(self, text: str, options: Mapping[str, str]) -> None:
        self.options = options
        self.contents = _contents.get(
            tuple(options.items()), lambda: Contents(MappingProxyType(dict(options)))
        )
        self.text = _SIGN_WORDS.sub(_with_sign, text) if self.contents.signed else text
        self.lower = _OTHER_SPACE.sub(" ", lowered(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        """Words of the text, which decide whether a pattern is worth trying."""
        return words_of(self.lower)

    @cached_property
    def has_other_letters(self) -> bool:
        return not self.text.isascii() and _OTHER_LETTER.search(self.text) is not None

    def matches(self, phrase: PatternWithStarts) -> Iterator[re.Match[str]]:
        """Yields every match in the masked text, as `finditer` does."""
        if self.has_other_letters:
            yield from phrase.pattern.finditer(self.masked)
            return
        end = 0
        for place in places_of(self.lower, self.words & phrase.words | phrase.parts):
            match = phrase.pattern.match(self.masked, place) if place >= end else None
            if match:
                yield match
                end = match.end()

    @cached_property
    def plain(self) -> str:
        """The text in the form in which it is compared with options."""
        return plain_content(self.text)

    @cached_property
    def mentions(self) -> list[Mention]:
        return self.contents.mentions(self.text, self.lower)

    @cached_property
    def masked(self) -> str:
        """The text with every named content longer than a letter blanked, so that no letter is read from it."""
        signs = list(self.text)
        for mention in self.mentions:
            if mention.end - mention.start > 1:
                signs[mention.start : mention.end] = "_" * (mention.end - mention.start)
        if self.contents.signed:
            for sign in _SIGNED_LETTER.finditer(self.text):
                signs[sign.start() : sign.end()] = "_" * (sign.end() - sign.start())
        return "".join(signs)

    @cached_property
    def named_options(self) -> NamedOptions:
        """The options that the answer names, without those that follow their own label."""
        affirmed: set[str] = set()
        denied: set[str] = set()
        beside: set[str] = set()
        every: set[str] = set()
        labelled = {
            (mention.start, mention.end) for mention in self.mentions if self._is_labelled(mention)
        }
        for mention in self.mentions:
            if (mention.start, mention.end) in labelled:
                continue
            every.add(mention.letter)
            is_common = self.contents.texts[mention.letter] in COMMON
            opening = is_common and mention.start <= opening_of(self.lower)
            number = self._sentence_number(mention.start)
            if not opening and self._is_beside(mention):
                beside.add(mention.letter)
            elif opening or not (self._denies(number) or self._is_away(mention)):
                affirmed.add(mention.letter)
                denied.discard(mention.letter)
            elif NOT.search(self.sentence(mention.start)):
                denied.add(mention.letter)
        if affirmed:
            affirmed |= beside
        return NamedOptions(frozenset(affirmed), frozenset(every), frozenset(denied))

    def sentence(self, place: int) -> str:
        """The masked sentence at this place."""
        number = self._sentence_number(place)
        return self.masked[self._starts[number] : self._starts[number + 1]]

    @cached_property
    def _starts(self) -> list[int]:
        """Starts of all sentences, and the end of the last one."""
        return [
            0,
            *(match.end() for match in _SENTENCE_END.finditer(self.masked)),
            len(self.text) + 1,
        ]

    def _sentence_number(self, place: int) -> int:
        return bisect_right(self._starts, place) - 1

    def _denies(self, number: int) -> bool:
        start = self._starts[number]
        end = self._starts[number + 1]
        doubt = bisect_left(self._doubts, start)
        has_doubt = doubt < len(self._doubts) and self._doubts[doubt] < end
        return has_doubt or self.masked[start:end].rstrip().endswith("?")

    @cached_property
    def _doubts(self) -> list[int]:
        """Places of the words that keep their sentences from affirming an option."""
        return [match.start() for match in self.matches(UNSURE)]

    def _before(self, mention: Mention) -> str:
        return self.lower[max(0, mention.start - _BEFORE) : mention.start]

    def _is_away(self, mention: Mention) -> bool:
        """Whether the text means something other than the option: "the opposite of red", "was once red"."""
        return not self.words.isdisjoint(_AWAY_WORDS) and bool(_AWAY.search(self._before(mention)))

    def _is_beside(self, mention: Mention) -> bool:
        """Whether the option describes another thing, as "red" in "next to the red one"; it counts only with others."""
        has_one = _ONE.match(self.lower, mention.end) is not None
        return has_one and bool(_BESIDE.search(self._before(mention)))

    def _is_labelled(self, mention: Mention) -> bool:
        """Whether an option's own letter precedes it: "(B) cat", "B is a cat"; "a cat" has an article."""
        front = self.masked[max(0, mention.start - 24) : mention.start]
        if mention.letter == "A" and _OWN_ARTICLE.search(front):
            return False
        label, label_in_any_case = _LABELS[mention.letter]
        pattern = label_in_any_case if len(front.strip()) < 2 else label
        return bool(pattern.search(front))
