"""Strict extraction, our own protocol: named rules in a fixed order, each either sure of a letter or silent.

A wrong letter is worse than none. Nothing is decided if readings exclude each other, or if the answer addresses its
reader.
"""

import re
from collections.abc import Callable, Mapping
from itertools import islice

from scoring.failures import is_error, is_nothing
from scoring.multiple_choice.abroad import CALLED_WRONG
from scoring.multiple_choice.letters_alone import common_answer, letter_clue
from scoring.multiple_choice.named_options import SIGN_BEHIND, AnswerText
from scoring.multiple_choice.other_things import (
    has_another_option_as_clause,
    initial_and_surname,
    is_compound,
    is_one_of_both,
    is_taken_back_later,
    loses_sign,
)
from scoring.multiple_choice.phrases import (
    ARTICLE,
    COMMON,
    FILLERS,
    IN_A_WORD,
    INTRODUCED,
    NOBODY,
    NONE_LIKE,
    NONE_OF_THE_OPTIONS,
    NOT,
    ORDINALS,
    PLACE_ALONE,
    PLACE_WORDS,
    REFUSALS,
    SECOND_THOUGHTS,
    STILL_ANSWERS,
    SYNONYMS,
)
from scoring.multiple_choice.plain_answers import (
    bare_text,
    plain_answer,
    plain_content,
    with_brackets,
)
from scoring.multiple_choice.statements import (
    Reference,
    instruction_to_reader,
    is_hedged,
    is_taken_back,
    last_statement,
    reference_at,
)
from scoring.multiple_choice.types import USUAL_LETTERS, Clue, Decision, Rule, none_of
from scoring.multiple_choice.wrappers import InnerText, inner_text, without_list

ENDS = 4_000
"""Characters read at the start and at the end of a longer answer, after its reasoning is removed."""
_LONGEST_REFUSAL = 400
"""Characters of the longest refusal."""
_ENDLESS_REPETITIONS = 6
"""Repetitions from which a passage is endless."""
_LAST_CHARACTERS = 12
"""Characters at the end of an answer that are searched for earlier in it, to find a repetition."""
_LONGEST_LETTER = 400
"""Characters from which an answer is more than a letter in wrappers."""
_LONGEST_PLACE = 60
"""Characters from which an answer is more than an option's place."""

_OPEN = r"[\s\"'‘’“”«»(\[{<*_>~=:→\-–—•.,#|/]*+"
_CLOSE = r"[\s\"'‘’“”«»)\]}>*_.,:;!?。、…|/\\-]*+"
_NOUN = r"(?:(?:the\s+)?(?:option|choice|letter|answer|选项|答案|选择|选)\s*+[:.]?\s*+[\"'(\[]*+)?"
_NOTHING_MORE = re.compile(
    rf"{_OPEN}{_NOUN}([A-Za-z])(?:[\s,.]++\1){{0,3}}{_CLOSE}(?:(?:选项|项|입니다|이다|です|だ){_CLOSE})?",
    re.IGNORECASE,
)
_SMILEY = re.compile(r"[:;=]-?[CDOP]", re.ASCII)
_MAGNITUDE = re.compile(r"\|[J-Z]\|")
"""A formula of a letter that is unlikely to be a label: "|x|"."""
_RETRACTION = re.compile(
    rf"[\s\"')*]*+(?:\(?{CALLED_WRONG}\b|[吗么]?\?|[吗么]|일\s?수도|일까|かも|:\s?(?:wrong|incorrect|false|no)\b"
    r"|\.{0,3}\s?or is it\b|(?:in the previous|if|[,;.]?\s*(?:but )?I lied)\b"
    r"|[,;]?\s*(?:but|which|and (?:this|that|it))\b"
    r"[^.!?]{0,20}(?:(?:\bnot|n't) (?:right|correct|true|sure)|\b(?:wrong|incorrect|false|unsure))\b)",
    re.IGNORECASE,
)
"""A retraction directly after a statement: "B? No", "B, which is wrong", "B if it barks"."""
_PLAIN_NO = re.compile(
    r"(?:no|(?:this|that|it) is (?:false|wrong|incorrect))\b[\s.!]*", re.IGNORECASE
)
_LEADING_LABEL = re.compile(
    rf"[\s\"'(\[*#>-]*([A-Z])(?!{IN_A_WORD})[\"')\]*]*[ \t]*([.:,)、-]?)(?![\\/])[\"')\]*]*\s*"
)
_INITIAL = re.compile(r"[A-Z]\.(?!\w)(?:\s|\Z)")
"""A second initial: "C. S. Lewis" is no option C."""
_THING_BEFORE_LETTER = re.compile(
    r"\b(?:(?:the|an?|in|of|on|at|from|with)\s(?!(?:correct|right|best|final|option|choice|answer|letter)\b)[a-z]{2,20}"
    r"|image|picture|photo|figure|panel|frame|graph|chart|diagram|view|car|person|object|line|point|region|sample|group)\s\Z",
    re.IGNORECASE,
)
"""Words that make the letter behind them a name: "image B", "the car B"."""
_FRONT_CHARACTERS = 32
"""Characters before a letter to search for such words."""
_STARTS_WITH_LETTER = re.compile(r"\W{0,3}[A-Z]\W")
_SCORE = re.compile(r"[\"']\s?:\s?[.\d]")
"""A score behind an option's letter, as in "A": 0.1, one of several."""
_REASON = re.compile(r"(?:because|since|as|due to|given|for|因为)\b")
_LINE = re.compile(rf"{_OPEN}(?:(?:option|choice)\s+)?([A-Z]){_CLOSE}")
_SENTENCES = re.compile(r"[.!?\n。;]+")
_SEPARATE_LETTER = re.compile(
    # The letter comes first, which skips all other places quickly. "option" may be directly before it: "optionB".
    rf"([B-HJ-Z])(?!{IN_A_WORD}|-\w)(?:(?<!{IN_A_WORD}[A-Z])(?<![-/.][A-Z])|(?<=(?:option|choice)[A-Z])"
    rf"(?<!{IN_A_WORD}option[A-Z])(?<!{IN_A_WORD}choice[A-Z])(?<![-/.]option[A-Z])(?<![-/.]choice[A-Z]))"
)
_SEPARATE_A_OR_I = re.compile(
    r"(?<![\w'’])[(\[\"]?([AI])(?:[)\]\":,.](?=\s|$|[)\]\",.])|$)"
    r"|\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)s?\s+([AI])(?!\w)"
)
_TRICKY_QUESTION = re.compile(
    r"\A(?:actually|honestly|hmm|well|okay|ok)?,?\s?(?:this|that|it)(?:\s(?:one|question))?\sis\s(?:a\s)?(?:tricky|hard|difficult)"
    r"[^.,]{0,20},\s?(?:and\s|so\s)?",
    re.IGNORECASE,
)
_NOT_ANOTHER_THING = re.compile(
    r",\s(?:and\s|but\s)?not\s(?:(?:an?|the|option)\s)?[-\w(][-\w.()%°]{0,24}\s?\Z", re.IGNORECASE
)
_NOT = re.compile(r"not\b")
_ANY_WORD = re.compile(r"[\w'’]+")
_MOST_WORDS = 8
"""Most words of an answer that is a letter among fillers."""
_WRAPPER_START = re.compile(r"[b<{](?:(?<!b)|ox)")  # "box", "<" or "{", by the first character
_LONGEST_BOX = 400
"""Most characters of a box."""
_BARE_LETTER = re.compile(
    rf"{_OPEN}(?i:(?:(?:the|my)\s)?(?:(?:final|correct)\s)?(?:answer|letter|choice)\s?(?:is|:)?)?{_OPEN}([A-Z]){_CLOSE}"
)
_LETTER_RULES = (Rule.ALONE, Rule.EXACT, Rule.STATEMENT, Rule.LABEL, Rule.LINE, Rule.FILLERS)


def strict_decision(prediction: str, options: Mapping[str, str]) -> Decision:
    """The letter by the strict rules, from the surest to the boldest; None if none of them is sure."""
    if clue := common_answer(prediction, options):
        return Decision(clue.letter, (clue,))
    plain = plain_answer(prediction)
    trail = [Clue(Rule.CUT, None, cut) for cut in plain.cuts]
    if plain.is_endless:
        return Decision(None, (*trail, Clue(Rule.TORN, None, "")))
    if is_nothing(plain.text) and not AnswerText(plain.text, options).mentions:
        return Decision(None, (*trail, Clue(Rule.EMPTY, None, plain.text)))
    if is_error(plain.text) and not AnswerText(plain.text, options).mentions:
        return Decision(None, (*trail, Clue(Rule.FAILED, None, plain.text[:200])))
    inner = _text_in_wrappers(plain.text, options)
    trail += [Clue(Rule.CUT, None, cut) for cut in inner.cuts]
    text = _without_denial(bare_text(without_list(inner.text, options)), options)
    if len(text) > 2 * ENDS:
        text = _both_ends(text)
        trail.append(Clue(Rule.CUT, None, f"all but the first and the last {ENDS:,} characters"))
    clue = _first_clue(AnswerText(text, options)) or Clue(Rule.UNDECIDED, None, text[:200])
    if trail and clue.rule is Rule.CONFLICT:
        # After the cuts, the rest may be a common answer, such as a letter with its own option's text.
        clue = common_answer(inner.text, options) or clue
    if inner.rest or inner.rival_claim:
        clue = _with_text_behind_wrappers(clue, inner, options)
    return Decision(clue.letter, (*trail, clue))


def _first_clue(answer: AnswerText) -> Clue | None:
    """The clue of the first rule that has one; a conflict if its letter may be an option's content."""
    for rule in _RULES:
        clue = rule(answer)
        if clue is None:
            continue
        if _is_unclear(answer, clue):
            return Clue(Rule.CONFLICT, None, clue.span)
        return clue
    return None


def _is_unclear(answer: AnswerText, clue: Clue) -> bool:
    """Whether a bare letter may be a label or another option's content: "A" among blood groups, "C" beside C++.

    A letter with a sign behind it, as "A+", can only be a content where one of them has a sign, so it isn't unclear.
    """
    if clue.rule in (Rule.FILLERS, Rule.LINE) and answer.contents.are_all_letters:
        return True
    bare_letter = _BARE_LETTER.fullmatch(clue.span) if clue.rule in _LETTER_RULES else None
    if not bare_letter or bare_letter[1] not in answer.contents.unclear_letters:
        return False
    if not answer.contents.has_signed_letter:
        return clue.rule is not Rule.ALONE  # A whole answer is a label, as for `common_answer`.
    is_bold = clue.span.startswith("*")
    return is_bold or not SIGN_BEHIND.match(clue.span, bare_letter.end(1))


def _text_in_wrappers(text: str, options: Mapping[str, str]) -> InnerText:
    """The text inside wrappers such as a box, if one of them has a letter."""
    if not _WRAPPER_START.search(text):
        return InnerText(text, (), "")

    def read_letter(inner: str) -> str | None:
        if len(inner) > _LONGEST_BOX:
            return None
        clue = _first_clue(AnswerText(bare_text(inner), options))
        return clue.letter if clue and clue.letter in options else None

    def is_claim(inner: str) -> bool:
        answer = AnswerText(bare_text(inner)[:_LONGEST_BOX], options)
        is_letter = bool(_NOTHING_MORE.fullmatch(answer.text))
        is_number = bool(answer.contents.values) and any(map(str.isdigit, answer.text))
        return is_letter or is_number or bool(answer.mentions) or len(_separate_letters(answer)) > 1

    return inner_text(text, read_letter, is_claim)


def _with_text_behind_wrappers(clue: Clue, inner: InnerText, options: Mapping[str, str]) -> Clue:
    """The clue, unless a later statement contradicts it, or a rival box is not settled by a later statement."""
    statement = last_statement(AnswerText(bare_text(inner.rest)[-ENDS:], options))
    if statement is None or statement.letter not in options:
        if inner.rival_claim:
            return Clue(Rule.CONFLICT, None, inner.rival_claim[:200])
        return clue
    if clue.letter in options and statement.letter != clue.letter:
        return Clue(Rule.CONFLICT, None, statement.span)
    return clue


def _without_denial(text: str, options: Mapping[str, str]) -> str:
    """The text without a denial of another thing at its end: "B, not A". An option such as "not sure" keeps it."""
    match = _NOT_ANOTHER_THING.search(text)
    if not match or any(_NOT.match(plain_content(option)) for option in options.values()):
        return text
    return text[: match.start()]


def _both_ends(text: str) -> str:
    """The first and the last part of a long answer; sentences broken by the cuts are left out."""
    head_ends = [match.end() for match in _SENTENCES.finditer(text, 0, ENDS + 1)]
    head = text[: head_ends[-1] if head_ends else ENDS]
    tail = text[-ENDS:]
    sentence_end = _SENTENCES.search(tail)
    if sentence_end:
        tail = tail[sentence_end.end() :]
    return head + "\n" + tail


def _letter_alone(answer: AnswerText) -> Clue | None:
    """A single letter in any wrapper, in either case, possibly repeated."""
    match = _NOTHING_MORE.fullmatch(answer.text) if len(answer.text) < _LONGEST_LETTER else None
    if not match:
        return None
    if answer.contents.has_signed_letter and SIGN_BEHIND.match(answer.text, match.end(1)):
        return None
    if _MAGNITUDE.fullmatch(answer.text.upper()):
        return None
    if _SMILEY.fullmatch(answer.text):
        return _conflict(answer)
    return letter_clue(match[1], answer.text, answer.options)


def _content_alone(answer: AnswerText) -> Clue | None:
    """One option's text, which may be a number, and nothing else."""
    text = with_brackets(answer.text) if answer.contents.differ_in_brackets else answer.plain
    letters = answer.contents.equal_letters(text)
    if not letters:
        return None
    is_factorial = answer.text.endswith("!") and answer.contents.formulas.issuperset(letters)
    if is_factorial or len(letters) > 1:
        return _conflict(answer)
    return Clue(Rule.EXACT, letters[0], answer.text)


def _same_in_other_words(answer: AnswerText) -> Clue | None:
    """A whole answer with the same meaning as one option: "nope", "No one" for "nobody", "none" for 0."""
    introduction = INTRODUCED.match(answer.plain)
    text = answer.plain[introduction.end() :] if introduction else answer.plain
    letters = _letters_of_synonyms(answer, text)
    if not letters and (text in NOBODY or text in NONE_OF_THE_OPTIONS):
        letters = _letters_of_none(answer, is_nobody=text in NOBODY)
        if not letters and any(map(NONE_LIKE.search, answer.options.values())):
            return _conflict(answer)
    elif not letters and not introduction:
        letters = _letters_without_article(answer, text)
    if len(letters) > 1:
        return _conflict(answer)
    return Clue(Rule.EXACT, letters[0], answer.text) if letters else None


def _letters_of_synonyms(answer: AnswerText, text: str) -> list[str]:
    """Letters of the options in the text's group of words with the same meaning."""
    synonyms = next((group for group in SYNONYMS if text in group), frozenset())
    return [letter for letter, content in answer.contents.texts.items() if content in synonyms]


def _letters_without_article(answer: AnswerText, text: str) -> list[str]:
    """Letters of the options that differ from the text in the article at most."""
    bare = ARTICLE.sub("", text)
    if not bare:
        return []
    contents = answer.contents.texts
    return [letter for letter, content in contents.items() if ARTICLE.sub("", content) == bare]


def _letters_of_none(answer: AnswerText, is_nobody: bool) -> list[str]:
    """Letters of the options that mean none of the options or, with `is_nobody`, nobody or zero."""
    zero = {letter for letter, number in answer.contents.values.items() if number.values == {0}}
    letters = []
    for letter, content in answer.contents.texts.items():
        means_nobody = content in NOBODY or letter in zero
        if content in NONE_OF_THE_OPTIONS or (is_nobody and means_nobody):
            letters.append(letter)
    return letters


def _place_alone(answer: AnswerText) -> Clue | None:
    """A whole answer with an option's place, as "the second", if no option is about places or numbers."""
    bare = answer.text.strip(" .。!\"'")
    match = PLACE_ALONE.fullmatch(bare) if len(answer.text) < _LONGEST_PLACE else None
    if not match or any(map(PLACE_WORDS.search, answer.options.values())):
        return None
    letters = list(answer.options)
    index = _place_index(match, len(letters))
    if not 0 <= index < len(letters):
        return None
    return Clue(Rule.STATEMENT, letters[index], answer.text)


def _place_index(match: re.Match[str], options: int) -> int:
    """The index of an option's place, from 0, in a match of `PLACE_ALONE`; it may be outside of the options."""
    word = (match["word"] or match["han"] or "").lower()
    if match["end"] or word == "last":
        return options - 1
    if word:
        return ORDINALS[word]
    return int(match["number"] or match["hash"] or match["digit"]) - 1


def _repetition(answer: AnswerText) -> Clue | None:
    """An answer that ends in the same passage over and over, from a model that never stopped."""
    text = answer.text
    tail = text[-min(_LAST_CHARACTERS, len(text) // 2) :]
    earlier = text.rfind(tail, 0, -1)
    period = len(text) - len(tail) - earlier
    passage = text[-period:]
    is_endless = len(passage) > 1 and text.endswith(passage * _ENDLESS_REPETITIONS)
    return Clue(Rule.REPETITION, None, passage[:200]) if is_endless else None


def _instruction(answer: AnswerText) -> Clue | None:
    """An answer that instructs its reader; the letter that it demands is in the span."""
    span = instruction_to_reader(answer)
    return Clue(Rule.SPEAKS, None, span) if span else None


def _statement(answer: AnswerText) -> Clue | None:
    """The last explicit statement, by letter or content: "the answer is B", "I choose the cat", "答案是B"."""
    statement = last_statement(answer)
    if statement is None:
        return None
    if statement.letter not in answer.options:
        if statement.content_letter is not None or answer.named_options.every:
            return None  # A later rule may read the option that is named by its content.
        return Clue(Rule.ELSEWHERE, None, statement.span)
    is_unsure = (
        _RETRACTION.match(answer.masked, statement.end)
        or statement.is_doubted
        or is_hedged(answer, statement)
        or _is_contradicted(answer, statement)
        or _is_corrected(answer, statement)
    )
    if is_unsure:
        return Clue(Rule.CONFLICT, None, statement.span)
    return Clue(Rule.STATEMENT, statement.letter, statement.span)


def _leading_label(answer: AnswerText) -> Clue | None:
    """A label at the start of the answer: "B. cat", "B) because", "B" and a line break."""
    match = _LEADING_LABEL.match(answer.masked)
    if not match or match[1] not in answer.options:
        return None
    label = reference_at(answer, match.start(1))
    if label is None:
        return None
    rest = answer.text[match.end() :]
    if _INITIAL.match(rest):
        return None
    conflict = Clue(Rule.CONFLICT, None, label.span)
    has_own_content = label.content_letter == label.letter
    has_content = has_own_content or _is_cut_short(answer, match[1], rest)
    label_end = label.end if has_content else match.end()
    if (
        _has_other_content(answer, match, label)
        or _is_retracted(answer, match.end(1))
        or _is_retracted(answer, label_end)
    ):
        return conflict
    is_label = has_content or _is_marked(match) or _REASON.match(rest)
    if not is_label or (not has_own_content and _PLAIN_NO.fullmatch(rest)):
        return None
    if _separate_letters(answer, label.end) - {label.letter}:
        return conflict
    is_unsure = (
        is_hedged(answer, label) or SECOND_THOUGHTS.search(rest) or _is_contradicted(answer, label)
    )
    if is_unsure:
        return None if has_own_content else conflict
    return Clue(Rule.LABEL, label.letter, label.span)


def _has_other_content(answer: AnswerText, match: re.Match[str], label: Reference) -> bool:
    """Whether the content after the label is another option's, or the label may be an article: "A cat and a dog"."""
    if label.content_letter is None:
        return False
    if label.content_letter != label.letter:
        return True
    may_be_article = match[0].strip() == "A"
    return may_be_article and bool(answer.named_options.affirmed - {"A"})


def _is_marked(label: re.Match[str]) -> bool:
    """Whether a sign, a bracket or a line break sets a label off: "B.", "(B)"."""
    has_sign = label[2] not in ("", "-")
    return has_sign or "\n" in label[0] or label[0].lstrip()[0] in "(["


def _is_retracted(answer: AnswerText, end: int) -> bool:
    """Whether the option that ends here is called wrong, or retracted, directly after it."""
    return is_taken_back(answer, end) or _RETRACTION.match(answer.masked, end) is not None


def _is_cut_short(answer: AnswerText, letter: str, rest: str) -> bool:
    """Whether the text after the label is the beginning of the option's content, cut by a token limit."""
    bare = plain_content(rest)
    return len(bare) > 2 and answer.contents.texts[letter].startswith(bare)


def _letter_on_its_line(answer: AnswerText) -> Clue | None:
    """A letter on a line of its own, if no other letter has such a line."""
    line_by_letter = {}
    for line in answer.masked.split("\n"):
        match = _LINE.fullmatch(line)
        if match:
            line_by_letter[match[1]] = line.strip()
    if len(line_by_letter) != 1:
        return None
    letter, span = line_by_letter.popitem()
    has_rival = answer.named_options.affirmed - {letter} or _separate_letters(answer) - {letter}
    if letter not in answer.options or has_rival:
        return None
    return Clue(Rule.LINE, letter, span)


def _labelled_content(answer: AnswerText) -> Clue | None:
    """The only option that appears with its own label: "it shows (B) cat"; a list of options has several."""
    span_by_letter: dict[str, str] = {}
    for place in _separate_letter_places(answer.masked):
        label = reference_at(answer, place)
        if label is None or label.content_letter != label.letter:
            continue
        if not _THING_BEFORE_LETTER.search(answer.masked, max(0, place - _FRONT_CHARACTERS), place):
            span_by_letter[label.letter] = label.span
    if len(span_by_letter) != 1:
        return None
    letter, span = span_by_letter.popitem()
    has_rival = _separate_letters(answer) - {letter} or answer.named_options.every - {letter}
    is_denied = NOT.search(answer.sentence(answer.text.find(span)))
    if has_rival or is_denied:
        return None
    return Clue(Rule.LABELLED, letter, span)


def _letter_among_fillers(answer: AnswerText) -> Clue | None:
    """A letter among filler words: "I think B", "B, of course"."""
    words = [word[0] for word in islice(_ANY_WORD.finditer(answer.text), _MOST_WORDS + 1)]
    if len(words) > _MOST_WORDS:
        return None
    letters = [word for word in words if len(word) == 1 and word.isupper() and word != "I"]
    other_words = [word.lower() for word in words if word not in letters]
    if len(letters) != 1 or "?" in answer.text or not FILLERS.issuperset(other_words):
        return None
    letter = letters[0]
    # Among words, "A" may be the article.
    if letter == "A" or letter not in answer.options or letter not in _separate_letters(answer):
        return None
    return Clue(Rule.FILLERS, letter, answer.text)


def _only_named_content(answer: AnswerText) -> Clue | None:
    """The only option named by its content, in full and without a denial."""
    affirmed = answer.named_options.affirmed
    if not affirmed:
        return None
    letter = next(iter(affirmed))
    if len(affirmed) > 1 or is_compound(answer, letter):
        return _conflict(answer)
    mention = next(mention for mention in answer.mentions if mention.letter == letter)
    is_common = answer.contents.texts[letter] in COMMON
    named = len(answer.named_options.every)
    are_all_named = named > 1 and named == len(answer.options)
    is_unsure = (
        is_taken_back_later(answer, letter)
        or is_one_of_both(answer, letter)
        or loses_sign(answer, mention)
        or (is_common and has_another_option_as_clause(answer, letter))
        or _separate_letters(answer) - {letter}
        or are_all_named
    )
    span = answer.text[mention.start : mention.end]
    if is_unsure:
        return Clue(Rule.CONFLICT, None, span)
    return Clue(Rule.NAMED, letter, span)


def _refusal(answer: AnswerText) -> Clue | None:
    """An answer in which every sentence refuses, if no option means that none is right."""
    if answer.mentions or any(map(NONE_LIKE.search, answer.options.values())):
        return None
    if not refuses(answer.text) or _separate_letters(answer):
        return None
    return Clue(Rule.REFUSAL, none_of(answer.options), answer.text)


def refuses(text: str) -> bool:
    """Whether every sentence of a short text refuses."""
    if len(text) > _LONGEST_REFUSAL:
        return False
    sentences = []
    for part in _SENTENCES.split(text):
        without_introduction = INTRODUCED.sub("", part.strip(" ,\"'()*"), count=1)
        sentence = _TRICKY_QUESTION.sub("", without_introduction)
        if sentence:
            sentences.append(sentence)
    return bool(sentences) and all(
        REFUSALS.fullmatch(sentence) and not STILL_ANSWERS.search(sentence)
        for sentence in sentences
    )


_RULES: tuple[Callable[[AnswerText], Clue | None], ...] = (
    _letter_alone,
    _content_alone,
    _same_in_other_words,
    _place_alone,
    initial_and_surname,
    _repetition,
    _instruction,
    _statement,
    _leading_label,
    _letter_on_its_line,
    _labelled_content,
    _letter_among_fillers,
    _only_named_content,
    _refusal,
)


def _conflict(answer: AnswerText) -> Clue:
    return Clue(Rule.CONFLICT, None, answer.text[:200])


def _is_contradicted(answer: AnswerText, statement: Reference) -> bool:
    """Whether the text around a statement names another option: beside it, or as the only affirmed option."""
    if statement.content_letter is not None and statement.content_letter != statement.letter:
        return True
    affirmed = answer.named_options.affirmed
    return len(affirmed) == 1 and statement.letter not in affirmed


def _is_corrected(answer: AnswerText, statement: Reference) -> bool:
    """Whether second thoughts with another letter, another option's label, or a score follow a statement."""
    if _SCORE.match(answer.text, statement.start + 1):
        return True
    is_small = answer.text[statement.start] == statement.letter.lower()
    later_letters = _separate_letters(answer, statement.end, in_any_case=is_small)
    other_letters = later_letters - {statement.letter}
    if not other_letters:
        return False
    rest = answer.masked[statement.end :]
    if SECOND_THOUGHTS.search(rest):
        return True
    if statement.content_letter is None or _STARTS_WITH_LETTER.match(statement.span):
        return False
    rest_of_sentence = _SENTENCES.split(rest.replace("i.e.", ""), maxsplit=1)[0]
    return any(f"option {letter}" in rest_of_sentence for letter in other_letters)


def _separate_letter_places(masked: str) -> list[int]:
    """Positions of separate letters; A and I are words unless punctuation sets them off."""
    places = [match.start(1) for match in _SEPARATE_LETTER.finditer(masked)]
    # Of the pattern's two groups, the one that matched has the letter.
    places += [match.start(match.lastindex or 1) for match in _SEPARATE_A_OR_I.finditer(masked)]
    return places


def _separate_letters(answer: AnswerText, start: int = 0, in_any_case: bool = False) -> set[str]:
    """Separate letters from `start` on, which may name options; a letter after I only if it is an option."""
    masked = answer.masked[start:].upper() if in_any_case else answer.masked[start:]
    letters = {masked[place] for place in _separate_letter_places(masked)}
    return {letter for letter in letters if letter in USUAL_LETTERS or letter in answer.options}
