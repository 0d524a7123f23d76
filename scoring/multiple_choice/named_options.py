"""Named options: the options that an answer names by their content (whole words, longest match, denials left out).

A number is named by its value, and a Chinese option by its characters. A word that occurs in any sentence ("no",
"right", "one") counts only at the start of the answer.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from string import ascii_lowercase
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
    CJK,
    COMMON,
    FILLERS,
    NOT,
    UNSURE,
    PatternWithStarts,
    places_of,
    words,
    words_of,
)
from scoring.multiple_choice.plain_answers import lower_in_place, plain_content, with_brackets
from scoring.multiple_choice.types import LETTERS

_CJK_CHARACTER = re.compile(f"[{CJK}]")
_WORD_CHARACTER = re.compile(rf"[^\W{CJK}]")
_SENTENCE_END = re.compile(r"[.!?\n;。;](?:(?<!\.)|(?<!\d\.)(?!\w)|(?=\s))")
"""A mark that ends a sentence; a point in a number or a name, as in 0.5 or cat.png, doesn't."""
_SYMBOL = re.compile(r"(?<![a-z\s])[a-z]{1,2}(?![a-z])")
"""A symbol of a formula, as n in "n^2" and "2n"; behind a blank, as in "10^2 n", it may be a unit."""
_COMMON_WORDS = COMMON - {*ascii_lowercase}
"""Common words that are no symbols."""
_NAME_OF_NUMBER = re.compile(
    r"\b(?:no\.?|figure|fig\.?|image|picture|photo|step|option|choice|table|page|question|frame|version|chapter|lane|room)"
    r"\s*+[#:]?\s*+"
)
_RESULT = re.compile(
    r"[^\d=]{0,200}[\d(][\d\s().,+×*/÷·^%°-]{2,80}[=≈]\s?+(?P<result>[^=-][^=]{0,200})", re.DOTALL
)
"""The only calculation of an answer: "4 + 5 + 7 = 16"; a dash behind "=" may be punctuation."""
_CAPITALISED_WORD = re.compile(
    r"(?P<first>(?:\A|[.!?:\n])[\s*\"'(-]{0,3})?(?<![\w'’-])(?P<word>[a-z]?[A-Z][a-z]{2,20})\s(?=\d)"
)
"""A word that makes a name of the number behind it, as in "Route 27".

At the start of a sentence (`first`), the capital may mean nothing.
"""
# Capitalised words that may come before a count, as in "About 27" or "Answer 27".
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
"""The text after a common word that is a whole clause: "No, ...", "No" and a line break, not "no idea", "No. 5".

The single character is a mark, since `_is_whole` excludes a word that goes on.
"""
_FRONT_CHARACTERS = 32
"""Characters before an option's text to search for words that change its meaning."""
_LABEL_CHARACTERS = 24
"""Characters before an option's text to search for its own letter."""
_OPPOSITE = re.compile(
    r"\b(?:(?:opposite|reverse|inverse|complement|lack|absence) of|contrary to|far from|once was|was once|previously"
    r"|formerly|(?:used|ceased|ceases) to be|(?:wish|wishes) (?:it|they|he|she) (?:were|was))\s(?:(?:an?|the)\s)?\Z"
)
_OPPOSITE_WORDS = words(
    """opposite reverse inverse complement lack absence contrary far once previously formerly used ceased ceases wish
    wishes was"""
)
_BESIDE_A_THING = re.compile(
    r"\b(?:to|near|behind|beside|with|by|from|of|as|above|below|under|over|opposite)\s(?:an?|the)\s\Z"
)
_PRONOUN_ONE = re.compile(r"\sones?\b")
_BEFORE_SIDE = re.compile(
    r"\b(?:(?:on|to|towards?|from|at)\s(?:the|its|his|her|their|my|our|your)"
    r"|(?:turn|go|fac|point|look|head|veer|bend|curv)(?:s|es|e|ing|ed)?)\s\Z"
)
_RIGHT_SIDE = re.compile(r"right\s(?:turn|lane|side|arrow)\b")
_BEFORE_VERDICT = re.compile(
    r"\b(?:statement|claim|sentence|assertion|caption|hypothesis)\s(?:is|was)\s\Z"
)
_BEFORE_COMMON_WORD: Mapping[str, re.Pattern[str]] = {
    "right": _BEFORE_SIDE,
    "true": _BEFORE_VERDICT,
    "false": _BEFORE_VERDICT,
}
# Letters with signs: a blood group, a grade.
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
_BEFORE_OTHER_NUMBER = re.compile(
    r"(?:[.+]|\d,|-\s?|(?<![a-z])(?:minus|negative|at least|at most|than|over|under|up to)\s|[负負]|零下|[<>≤≥≠]\s?)\Z"
)
"""Text that makes another number of the digits behind it."""
_LINK = r"(?:[.:,)\]-]|\bis\b|\bare\b|\bshows?\b|\bsays?\b|=|是)*+"
_LABELS = {
    letter: tuple(
        re.compile(
            rf"(?<![\w']){letter}[\"')\]*]*+\s*+{_LINK}\s*+(?:an?\b|the\b)?[\s\"'(]*+$", flags
        )
        for flags in (re.NOFLAG, re.IGNORECASE)
    )
    for letter in LETTERS
}
"""An option's letter before its content: as it is, and in either case."""


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
        self.values = self._numeric_options()
        """The options that are numbers, by letter."""
        self.formulas = frozenset(
            letter
            for letter, text in self.texts.items()
            if letter not in self.values and text not in _COMMON_WORDS and is_formula(text)
        )
        """Options that are formulas or symbols: as a part of a larger formula they are not named."""
        self._counted_thing = self._thing_that_all_count()
        """The word behind the number in every option, "apples" in "3 apples" and "4 apples"; else ""."""
        self._counts = self._numbers_before_thing()
        """The numbers before this word, by letter."""
        self.has_signed_letter = any(map(_SIGNED.fullmatch, self.texts.values()))
        """Whether an option is a letter with a sign behind it, such as a blood group or a grade."""
        self.are_all_letters = all(
            len(text) == 1 and text.isalpha() for text in self.texts.values()
        )
        self.unclear_letters = self._unclear_letters()
        self._nonempty = tuple(text for text in self.texts.values() if text)
        self._longest_first = sorted(self.texts, key=lambda letter: -len(self.texts[letter]))

    def _numeric_options(self) -> Mapping[str, Number]:
        """The options that are numbers, by letter.

        Without those whose unit is a symbol in another option: beside "n^2", "2n" isn't two newtons.
        """
        numbers = _with_values(self.texts)
        symbols: set[str] = set()
        for letter, text in self.texts.items():
            if letter not in numbers and is_formula(text):
                symbols.update(_SYMBOL.findall(text))
        return {letter: number for letter, number in numbers.items() if number.unit not in symbols}

    def _thing_that_all_count(self) -> str:
        """The same word behind the first blank of all options; "" if there is none, or if options are numbers."""
        things = {text.partition(" ")[2] for text in self.texts.values()}
        if self.values or len(self.texts) < 2 or len(things) != 1:
            return ""
        thing = things.pop()
        return thing if thing.isalpha() else ""

    def _numbers_before_thing(self) -> Mapping[str, Number]:
        if not self._counted_thing:
            return {}
        return _with_values({letter: text.partition(" ")[0] for letter, text in self.texts.items()})

    def _unclear_letters(self) -> frozenset[str]:
        """Labels that are also another option's text, alone or before a sign; none if all options are letters."""
        if self.are_all_letters:
            return frozenset()
        return frozenset(
            label
            for label in self.texts
            for letter, text in self.texts.items()
            if letter != label
            and text[:1] == label.lower()
            and (len(text) == 1 or _SIGNED.fullmatch(text))
        )

    def equal_letters(self, text: str) -> list[str]:
        """Letters of the options equal to the text, by wording or by number."""
        same_wording = [letter for letter, content in self.texts.items() if content == text]
        if same_wording:
            return same_wording
        if len(text) < _SHORT and _OPERATOR.search(text):
            bare = text.replace(" ", "")
            same_formula = [
                letter for letter, content in self.texts.items() if content.replace(" ", "") == bare
            ]
            if same_formula:
                return same_formula
        if self._counts:
            number = text_as_number(text.removesuffix(self._counted_thing).strip())
            return equal_options(number, self._counts) if number else []
        number = text_as_number(text) if self.values else None
        return equal_options(number, self.values) if number else []

    def mention_at(self, lower: str, place: int) -> Mention | None:
        """The longest option that starts exactly here, possibly after an article.

        None if there is none, or if a number equals several options.
        """
        number = number_at(lower, place) if self.values else None
        if number:
            letters = equal_options(number, self.values)
            if len(letters) > 1:
                return None
            if letters:
                return Mention(letters[0], place, number.end)
        starts = [place]
        if article := _ARTICLE.match(lower, place):
            starts.append(article.end())
        for start in starts:
            if not lower.startswith(self._nonempty, start):
                continue
            # A number that equals no option rules out those that are numbers.
            mention = self._mention_in_words(lower, start, may_be_number=number is None)
            if mention:
                return mention
        return None

    def _mention_in_words(self, lower: str, start: int, may_be_number: bool) -> Mention | None:
        """The longest option whose text starts exactly here."""
        for letter in self._longest_first:
            content = self.texts[letter]
            if not content or (letter in self.values and not may_be_number):
                continue
            if lower.startswith(content, start) and self._is_whole(letter, lower, start):
                return Mention(letter, start, start + len(content))
        return None

    def mentions(self, text: str, lower: str) -> list[Mention]:
        """Every named option, in order, without those inside a longer option; options with the same text all count."""
        mentions = self._number_mentions(text, lower)
        opening = opening_of(lower)
        for letter, content in self.texts.items():
            is_single_character = len(content) == 1 and _CJK_CHARACTER.match(content)
            if letter in self.values or not content or is_single_character:
                continue
            # A common word counts only as the first clause, or where a sentence leads to it, as in "to the right".
            is_common = content in COMMON
            may_be_complement = content in _BEFORE_COMMON_WORD
            last_place = opening if is_common and not may_be_complement else len(lower)
            place = lower.find(content)
            while 0 <= place <= last_place:
                end = place + len(content)
                # `text` has the same places as `lower`, and also the line breaks.
                is_clause = place <= opening and bool(_CLAUSE_ENDS.match(text, end))
                may_count = not is_common or is_clause or self._is_complement(lower, content, place)
                if may_count and self._is_whole(letter, lower, place):
                    mentions.append(Mention(letter, place, end))
                place = lower.find(content, end)
        return _outermost(mentions)

    def _is_whole(self, letter: str, lower: str, start: int) -> bool:
        """Whether the option's text here is neither part of a word nor of a formula."""
        end = start + len(self.texts[letter])
        is_part_of_formula = letter in self.formulas and is_operand(lower, start, end)
        return _stands_alone(lower, start, end) and not is_part_of_formula

    def _is_complement(self, lower: str, content: str, place: int) -> bool:
        """Whether a common word is the point of a sentence: "to the right", "the statement is false"."""
        before = _BEFORE_COMMON_WORD.get(content)
        if before is None:
            return False
        has_side = content == "right" and _RIGHT_SIDE.match(lower, place)
        if not has_side and not before.search(lower, max(0, place - _FRONT_CHARACTERS), place):
            return False
        # An answer with both words, such as "true or false", names neither.
        other_options = set(self.texts.values()) - {content}
        other_words = other_options & _BEFORE_COMMON_WORD.keys()
        return not any(word in lower for word in other_words)

    def _number_mentions(self, text: str, lower: str) -> list[Mention]:
        """Numbers that are options; none if the text has another number, since it then may count something else."""
        if not self.values:
            return []
        numbers = _counting_numbers(text, lower)
        units = {option.unit for option in self.values.values()}
        if len(units) == 1 and "" not in units:
            with_unit = [number for number in numbers if number.unit in units]
            if with_unit:
                numbers = with_unit  # The others count other things.
        mentions = []
        for number in numbers:
            letters = equal_options(number, self.values)
            option_texts = {self.texts[letter] for letter in letters}
            if len(option_texts) != 1:  # no option, or several that differ
                return []
            mentions += [Mention(letter, number.start, number.end) for letter in letters]
        return mentions


def _with_values(texts: Mapping[str, str]) -> Mapping[str, Number]:
    """The texts that are numbers with a value, by letter."""
    numbers = {letter: text_as_number(text) for letter, text in texts.items()}
    return {letter: number for letter, number in numbers.items() if number and number.values}


def _with_sign(match: re.Match[str]) -> str:
    """The letter of a match of `_SIGN_WORDS` with its sign: "A+"."""
    is_positive = match[2] or match[3]
    return match[1] + ("+" if is_positive else "-")


def opening_of(lower: str) -> int:
    """The place where an answer begins, after an introduction such as "based on the image, "."""
    match = _OPENING.match(lower)
    return match.end() if match else 0


def _is_in_a_name(text: str, place: int) -> bool:
    """Whether a number in words is part of a name: "World War Two"."""
    letter_before_blank = text[max(0, place - 2) : place - 1]
    return text[place].isupper() and letter_before_blank.isalpha()


def _counting_numbers(text: str, lower: str) -> list[Number]:
    """Numbers that count something, unlike that of a name, as in "Route 27".

    Empty if a sentence's first word may be such a name.
    """
    if not any(map(str.isdigit, lower)):
        in_words = numbers_in_words(lower)
        return [] if any(_is_in_a_name(text, number.body) for number in in_words) else in_words
    name_ends = {name.end() for name in _NAME_OF_NUMBER.finditer(lower)}
    for name in _CAPITALISED_WORD.finditer(text):
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
        has_same_place = mention.start == widest.start and mention.end == widest.end
        if mention.end > widest.end or has_same_place:
            outermost.append(mention)
            widest = mention
    return outermost


def _stands_alone(lower: str, start: int, end: int) -> bool:
    """Whether these are whole words: "red" in "covered", "5" in "0.5" and "cat" in "cat-like" are not."""
    before = lower[start - 1 : start] if start else ""
    if lower[start].isdigit() and _BEFORE_OTHER_NUMBER.search(lower[max(0, start - 12) : start]):
        return False
    is_joined = before and (_WORD_CHARACTER.match(before) or before in "-_^\\")
    if is_joined and _WORD_CHARACTER.match(lower[start]):
        return False
    return _ends_alone(lower, start, end)


def _ends_alone(lower: str, start: int, end: int) -> bool:
    """Whether a word, number or sign ends here."""
    before = lower[start - 1 : start] if start else ""
    after = lower[end : end + 1]
    if not after:
        return True
    if not _WORD_CHARACTER.match(lower[end - 1]):
        is_sign = lower[end - 1] in "-+*#"
        is_continued = _WORD_CHARACTER.match(after) or after in "-+#"
        return not (is_sign and is_continued)
    if _WORD_CHARACTER.match(after) or after in "-_^+#":
        return False
    # "a*" isn't "a", and "5%" isn't "5"; "*red*" is "red" in Markdown.
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
        self.contents = _contents.get(tuple(options.items()), lambda: Contents(options))
        self.text = _SIGN_WORDS.sub(_with_sign, text) if self.contents.has_signed_letter else text
        self.lower = _OTHER_SPACE.sub(" ", lower_in_place(self.text))

    @cached_property
    def words(self) -> frozenset[str]:
        """Words of the text, which decide whether a pattern is worth trying."""
        return words_of(self.lower)

    @cached_property
    def has_other_letters(self) -> bool:
        return not self.text.isascii() and _OTHER_LETTER.search(self.text) is not None

    def matches(self, phrase: PatternWithStarts) -> Iterator[re.Match[str]]:
        """Yields every match in the masked text, in order, as `finditer` does."""
        if self.has_other_letters:
            yield from phrase.pattern.finditer(self.masked)
            return
        end = 0
        for place in places_of(self.lower, (self.words & phrase.words) | phrase.parts):
            if place < end:
                continue
            match = phrase.pattern.match(self.masked, place)
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
        characters = list(self.text)
        for mention in self.mentions:
            length = mention.end - mention.start
            if length > 1:
                characters[mention.start : mention.end] = "_" * length
        if self.contents.has_signed_letter:
            for signed_letter in _SIGNED_LETTER.finditer(self.text):
                length = signed_letter.end() - signed_letter.start()
                characters[signed_letter.start() : signed_letter.end()] = "_" * length
        return "".join(characters)

    @cached_property
    def named_options(self) -> NamedOptions:
        """The options that the answer names, without those behind their own label, which the rules of letters read."""
        affirmed: set[str] = set()
        denied: set[str] = set()
        beside: set[str] = set()
        every: set[str] = set()
        # By place: a label before a text that two options share decides for both.
        labelled_places = {
            (mention.start, mention.end) for mention in self.mentions if self._is_labelled(mention)
        }
        for mention in self.mentions:
            if (mention.start, mention.end) in labelled_places:
                continue
            every.add(mention.letter)
            is_common = self.contents.texts[mention.letter] in COMMON
            is_opening = is_common and mention.start <= opening_of(self.lower)
            sentence_number = self._sentence_number(mention.start)
            if not is_opening and self._is_beside(mention):
                beside.add(mention.letter)
                continue
            is_doubted = self._has_doubt(sentence_number) or self._is_opposite(mention)
            if is_opening or not is_doubted:
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
        return self.masked[self._sentence_starts[number] : self._sentence_starts[number + 1]]

    @cached_property
    def _sentence_starts(self) -> list[int]:
        """Starts of all sentences, and the end of the last one."""
        return [
            0,
            *(match.end() for match in _SENTENCE_END.finditer(self.masked)),
            len(self.text) + 1,
        ]

    def _sentence_number(self, place: int) -> int:
        return bisect_right(self._sentence_starts, place) - 1

    def _has_doubt(self, sentence_number: int) -> bool:
        """Whether a sentence asks, or has a word that keeps it from affirming an option."""
        start = self._sentence_starts[sentence_number]
        end = self._sentence_starts[sentence_number + 1]
        is_question = self.masked[start:end].rstrip().endswith("?")
        next_doubt = bisect_left(self._doubt_places, start)
        if next_doubt == len(self._doubt_places):
            return is_question
        return is_question or self._doubt_places[next_doubt] < end

    @cached_property
    def _doubt_places(self) -> list[int]:
        """Places of the words that keep their sentences from affirming an option, in order."""
        return [match.start() for match in self.matches(UNSURE)]

    def _front(self, mention: Mention) -> str:
        return self.lower[max(0, mention.start - _FRONT_CHARACTERS) : mention.start]

    def _is_opposite(self, mention: Mention) -> bool:
        """Whether the text means something other than the option: "the opposite of red", "was once red"."""
        return not self.words.isdisjoint(_OPPOSITE_WORDS) and bool(
            _OPPOSITE.search(self._front(mention))
        )

    def _is_beside(self, mention: Mention) -> bool:
        """Whether the option describes another thing, as "red" in "next to the red one"; it counts only with others."""
        has_one = _PRONOUN_ONE.match(self.lower, mention.end) is not None
        return has_one and bool(_BESIDE_A_THING.search(self._front(mention)))

    def _is_labelled(self, mention: Mention) -> bool:
        """Whether an option's own letter precedes it: "(B) cat", "B is a cat"; "a cat" has an article."""
        front = self.masked[max(0, mention.start - _LABEL_CHARACTERS) : mention.start]
        if mention.letter == "A" and _OWN_ARTICLE.search(front):
            return False
        label, label_in_any_case = _LABELS[mention.letter]
        # A lone letter at the start of an answer is a label in either case, as in "b cat".
        pattern = label_in_any_case if len(front.strip()) < 2 else label
        return bool(pattern.search(front))
