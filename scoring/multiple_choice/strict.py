"""Strict extraction, our own protocol: named rules in a fixed order, each either sure of a letter or silent.

A wrong letter is worse than none. Nothing is decided if readings exclude each other, or if the answer addresses its
reader.
"""

import re
from collections.abc import Callable, Mapping
from itertools import islice
from unicodedata import is_normalized

from scoring.failures import is_error, is_nothing
from scoring.multiple_choice.abroad import CALLED_WRONG
from scoring.multiple_choice.named_options import SIGN_BEHIND, AnswerText
from scoring.multiple_choice.other_things import (
    initial_and_surname,
    is_another_word,
    is_compound,
    is_one_of_both,
    is_taken_back_later,
    loses_sign,
)
from scoring.multiple_choice.phrases import (
    ABBREVIATED,
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
    SAME,
    SECOND_THOUGHTS,
    STILL_ANSWERS,
)
from scoring.multiple_choice.plain_answers import bare_text, plain, plain_content, with_brackets
from scoring.multiple_choice.statements import (
    Reference,
    instruction_to_reader,
    is_hedged,
    is_taken_back,
    last_statement,
    reference_at,
)
from scoring.multiple_choice.types import USUAL_LETTERS, Clue, Decision, Rule, none_of
from scoring.multiple_choice.wrappers import Inner, inner_text, without_list

ENDS = 4_000
"""Characters read at the start and at the end of a longer answer, after its reasoning is removed."""
MOST_REFUSAL = 400
"""Characters of the longest refusal."""
_ENDLESS = 6
"""Repetitions from which a passage is endless."""
_LAST = 12
"""Characters at the end of an answer that are searched for earlier in it, to find a repetition."""

_OPEN = r"[\s\"'‘’“”«»(\[{<*_>~=:→\-–—•.,#|/]*+"
_CLOSE = r"[\s\"'‘’“”«»)\]}>*_.,:;!?。、…|/\\-]*+"
_NOUN = r"(?:(?:the\s+)?(?:option|choice|letter|answer|选项|答案|选择|选)\s*+[:.]?\s*+[\"'(\[]*+)?"
_NOTHING_MORE = re.compile(
    rf"{_OPEN}{_NOUN}([A-Za-z])(?:[\s,.]++\1){{0,3}}{_CLOSE}(?:(?:选项|项|입니다|이다|です|だ){_CLOSE})?",
    re.IGNORECASE,
)
_SMILES = re.compile(r"[:;=]-?[CDOP]", re.ASCII)
_SIZE = re.compile(r"\|[J-Z]\|")
"""A formula of a letter that is unlikely to be a label: "|x|"."""
_LABELLED = re.compile(r"\(?([A-Z])[.:)]?(?:(?<=[.:)])\s+(\S.*))?", re.ASCII)
_STATED = re.compile(
    r"[Tt]he (?:correct )?answer is:? \(?([A-Z])\)?[.:]?(?:(?<=[.:)]) (\S.*))?", re.ASCII
)
_RETRACTED = re.compile(
    rf"[\s\"')*]*+(?:\(?{CALLED_WRONG}\b|[吗么]?\?|[吗么]|일\s?수도|일까|かも|:\s?(?:wrong|incorrect|false|no)\b"
    r"|\.{0,3}\s?or is it\b|(?:in the previous|if|[,;.]?\s*(?:but )?I lied)\b"
    r"|[,;]?\s*(?:but|which|and (?:this|that|it))\b"
    r"[^.!?]{0,20}(?:(?:\bnot|n't) (?:right|correct|true|sure)|\b(?:wrong|incorrect|false|unsure))\b)",
    re.IGNORECASE,
)
"""A retraction directly after a statement: "B? No", "B, which is wrong", "B if it barks"."""
_NO = re.compile(r"(?:no|(?:this|that|it) is (?:false|wrong|incorrect))\b[\s.!]*", re.IGNORECASE)
_LABEL = re.compile(
    rf"[\s\"'(\[*#>-]*([A-Z])(?!{IN_A_WORD})[\"')\]*]*[ \t]*([.:,)、-]?)(?![\\/])[\"')\]*]*\s*"
)
_INITIAL = re.compile(r"[A-Z]\.(?!\w)(?:\s|\Z)")
"""A second initial: "C. S. Lewis" is no option C."""
_OF_A_THING = re.compile(
    r"\b(?:(?:the|an?|in|of|on|at|from|with)\s(?!(?:correct|right|best|final|option|choice|answer|letter)\b)[a-z]{2,20}"
    r"|image|picture|photo|figure|panel|frame|graph|chart|diagram|view|car|person|object|line|point|region|sample|group)\s\Z",
    re.IGNORECASE,
)
"""Words that make the letter behind them a name: "image B", "the car B"."""
_BEFORE = 32
_LABELS = 6
"""Letters from A on that a model may use as labels, whatever the question's labels are."""
_LABELS_ITSELF = re.compile(r"\W{0,3}[A-Z]\W")
_SCORED = re.compile(r"[\"']\s?:\s?[.\d]")
"""A score behind an option's letter, as in "A": 0.1, one of several."""
_REASON = re.compile(r"(?:because|since|as|due to|given|for|因为)\b")
_LINE = re.compile(rf"{_OPEN}(?:(?:option|choice)\s+)?([A-Z]){_CLOSE}")
_SENTENCES = re.compile(r"[.!?\n。;]+")
_LETTER_ALONE = re.compile(
    # The letter comes first, so that all other places are skipped quickly.
    rf"([B-HJ-Z])(?!{IN_A_WORD}|-\w)(?:(?<!{IN_A_WORD}[A-Z])(?<![-/.][A-Z])|(?<=(?:option|choice)[A-Z])"
    rf"(?<!{IN_A_WORD}option[A-Z])(?<!{IN_A_WORD}choice[A-Z])(?<![-/.]option[A-Z])(?<![-/.]choice[A-Z]))"
)
_SET_OFF = re.compile(
    r"(?<![\w'’])[(\[\"]?([AI])(?:[)\]\":,.](?=\s|$|[)\]\",.])|$)"
    r"|\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)s?\s+([AI])(?!\w)"
)
_TRICKY = re.compile(
    r"\A(?:actually|honestly|hmm|well|okay|ok)?,?\s?(?:this|that|it)(?:\s(?:one|question))?\sis\s(?:a\s)?(?:tricky|hard|difficult)"
    r"[^.,]{0,20},\s?(?:and\s|so\s)?",
    re.IGNORECASE,
)
_NOT_THIS = re.compile(
    r",\s(?:and\s|but\s)?not\s(?:(?:an?|the|option)\s)?[-\w(][-\w.()%°]{0,24}\s?\Z", re.IGNORECASE
)
_NOT = re.compile(r"not\b")
_TOKEN = re.compile(r"[\w'’]+")
_MOST_WORDS = 8
"""Most words of an answer that is a letter among fillers."""
_WRAPS = re.compile(r"[b<{](?:(?<!b)|ox)")
MOST_BOX = 400
"""Most characters of a box."""
_BARE_LETTER = re.compile(
    rf"{_OPEN}(?i:(?:(?:the|my)\s)?(?:(?:final|correct)\s)?(?:answer|letter|choice)\s?(?:is|:)?)?{_OPEN}([A-Z]){_CLOSE}"
)
_MAY_BE_LETTER = re.compile(r"\s*\w(?:\W{1,2})?\s*\Z")
_SIGNED_LETTER = re.compile(r"\s*[A-Za-z]{1,2}[-+*#\u2212\u2013]{1,2}\s*\Z")
_SHORTEST = 8
"""Characters from which an option is longer than a letter in any wrapping."""
_BY_LETTER = (Rule.ALONE, Rule.EXACT, Rule.STATEMENT, Rule.LABEL, Rule.LINE, Rule.FILLERS)


def strict_decision(prediction: str, options: Mapping[str, str]) -> Decision:
    """The letter by the strict rules, from the surest to the boldest; None if none of them is sure."""
    if clue := common_answer(prediction, options):
        return Decision(clue.letter, (clue,))
    text, cuts, torn = plain(prediction)
    trail = tuple(Clue(Rule.CUT, None, cut) for cut in cuts)
    if torn:
        return Decision(None, (*trail, Clue(Rule.TORN, None, "")))
    if is_nothing(text) and not AnswerText(text, options).mentions:
        return Decision(None, (*trail, Clue(Rule.EMPTY, None, text)))
    if is_error(text) and not AnswerText(text, options).mentions:
        return Decision(None, (*trail, Clue(Rule.FAILED, None, text[:200])))
    inner = _in_wrappers(text, options)
    text = _without_denial(bare_text(without_list(inner.text, options)), options)
    trail += tuple(Clue(Rule.CUT, None, cut) for cut in inner.cuts)
    if len(text) > 2 * ENDS:
        text = _ends(text)
        cut = f"all but the first and the last {ENDS:,} characters"
        trail = (*trail, Clue(Rule.CUT, None, cut))
    clue = _clue(AnswerText(text, options)) or Clue(Rule.UNDECIDED, None, text[:200])
    if inner.rest or inner.claims:
        clue = _beside_wrappers(clue, inner, options)
    return Decision(clue.letter, (*trail, clue))


def _clue(answer: AnswerText) -> Clue | None:
    """The clue of the first rule that has one; a conflict if its letter may be an option's content."""
    for rule in _RULES:
        if clue := rule(answer):
            return Clue(Rule.CONFLICT, None, clue.span) if _is_unclear(answer, clue) else clue
    return None


def _is_unclear(answer: AnswerText, clue: Clue) -> bool:
    """Whether a bare letter may be a label or another option's content: "A" among blood groups, "C" beside C++."""
    if clue.rule in (Rule.FILLERS, Rule.LINE) and answer.contents.are_all_letters:
        return True
    bare = _BARE_LETTER.fullmatch(clue.span) if clue.rule in _BY_LETTER else None
    if not bare or bare[1] not in answer.contents.unclear_letters:
        return False
    has_sign = SIGN_BEHIND.match(clue.span, bare.end(1)) and not clue.span.startswith("*")
    return not (has_sign and answer.contents.has_signed_letter)


def _in_wrappers(text: str, options: Mapping[str, str]) -> Inner:
    """The text inside wrappers such as a box, if one of them has a letter."""
    if not _WRAPS.search(text):
        return Inner(text, (), "")

    def read_letter(inner: str) -> str | None:
        if len(inner) > MOST_BOX:
            return None
        clue = _clue(AnswerText(bare_text(inner), options))
        return clue.letter if clue and clue.letter in options else None

    def is_claim(inner: str) -> bool:
        answer = AnswerText(bare_text(inner)[:MOST_BOX], options)
        is_letter = bool(_NOTHING_MORE.fullmatch(answer.text))
        is_number = bool(answer.contents.values) and any(sign.isdigit() for sign in answer.text)
        return is_letter or is_number or bool(answer.mentions) or len(_letters(answer)) > 1

    return inner_text(text, read_letter, is_claim)


def _beside_wrappers(clue: Clue, inner: Inner, options: Mapping[str, str]) -> Clue:
    """The clue, unless a later statement contradicts it, or a rival box is not settled by a later statement."""
    rest = last_statement(AnswerText(bare_text(inner.rest)[-ENDS:], options))
    if inner.claims and (rest is None or rest.letter not in options):
        return Clue(Rule.CONFLICT, None, inner.claims[:200])
    if rest and rest.letter in options and clue.letter in options and rest.letter != clue.letter:
        return Clue(Rule.CONFLICT, None, rest.span)
    return clue


def _without_denial(text: str, options: Mapping[str, str]) -> str:
    """The text without a denial of another thing at its end: "B, not A". An option such as "not sure" keeps it."""
    match = _NOT_THIS.search(text)
    if not match or any(_NOT.match(plain_content(option)) for option in options.values()):
        return text
    return text[: match.start()]


def _ends(text: str) -> str:
    """The first and the last part of a long answer; a sentence broken by the cut is left out."""
    tail = text[-ENDS:]
    broken = _SENTENCES.search(tail)
    return text[:ENDS] + "\n" + tail[broken.end() if broken else 0 :]


def common_answer(prediction: str, options: Mapping[str, str]) -> Clue | None:
    """The clue of the most common answers, "B.", "B. cat" or "The answer is B.": a shortcut with the rules' result."""
    stated = _STATED.fullmatch(prediction)
    match = stated or _LABELLED.fullmatch(prediction)
    if not match or match[1] not in options:
        return None
    letter = match[1]
    content = match[2]
    short = [text for text in options.values() if len(text) < _SHORTEST]
    if stated and any(map(_MAY_BE_LETTER.match, short)):
        return None
    if not stated and not content and any(map(_SIGNED_LETTER.match, short)):
        return None
    if not content:
        return (
            Clue(Rule.STATEMENT, letter, prediction)
            if stated
            else _alone(letter, prediction, options)
        )
    is_own = options[letter].strip() == content
    if not is_own or not is_normalized("NFKC", prediction):
        return None
    return Clue(Rule.STATEMENT if stated else Rule.LABEL, letter, prediction)


def _letter_alone(answer: AnswerText) -> Clue | None:
    """A single letter in any wrapper, in either case, possibly repeated."""
    match = _NOTHING_MORE.fullmatch(answer.text) if len(answer.text) < 400 else None
    if not match or (
        answer.contents.has_signed_letter and SIGN_BEHIND.match(answer.text, match.end(1))
    ):
        return None
    if _SIZE.fullmatch(answer.text.upper()):
        return None
    if _SMILES.fullmatch(answer.text):
        return _conflict(answer)
    return _alone(match[1], answer.text, answer.options)


def _alone(written: str, span: str, options: Mapping[str, str]) -> Clue | None:
    """The clue of a letter alone: a label, an option's initial, or unclear if it may be an option's content."""
    if written in options:
        return Clue(Rule.ALONE, written, span)
    letter = written.upper()
    is_content = any(
        len(text) < 12 and plain_content(text) == written.lower() for text in options.values()
    )
    if is_content:
        return Clue(Rule.CONFLICT, None, span) if letter in options else None
    if letter in options:
        return Clue(Rule.ALONE, letter, span)
    return _initial(letter, span, options)


def _initial(letter: str, span: str, options: Mapping[str, str]) -> Clue:
    """The clue of a letter that is no label: the one option that starts with it, as T for True."""
    texts = {label: plain_content(text) for label, text in options.items()}
    initials = {label: text[:1].upper() for label, text in texts.items()}
    meant = [label for label, initial in initials.items() if initial == letter]
    is_usual = bool({texts[label] for label in meant} & ABBREVIATED)
    next_label = USUAL_LETTERS[len(options) : len(options) + 1]  # "" after the last
    if letter == next_label and not is_usual:
        meant = []
    if not meant:
        return Clue(Rule.OUTSIDE, none_of(options), span)
    may_be_label = letter in USUAL_LETTERS[:_LABELS] and not is_usual
    sure = len(meant) == 1 and not may_be_label and not options.keys() & {*initials.values()}
    return Clue(Rule.EXACT, meant[0], span) if sure else Clue(Rule.CONFLICT, None, span)


def _content_alone(answer: AnswerText) -> Clue | None:
    """One option's text, which may be a number, and nothing else."""
    differ = answer.contents.differ_in_brackets
    text = with_brackets(answer.text) if differ else answer.plain
    letters = answer.contents.equal_letters(text)
    if not letters:
        return None
    is_factorial = answer.text.endswith("!") and answer.contents.formulas.issuperset(letters)
    if is_factorial or len(letters) > 1:
        return _conflict(answer)
    return Clue(Rule.EXACT, letters[0], answer.text)


def _same_in_other_words(answer: AnswerText) -> Clue | None:
    """A whole answer with the same meaning as one option: "nope", "No one" for "nobody", "none" for 0."""
    text = answer.plain
    introduction = INTRODUCED.match(text)
    if introduction:
        text = text[introduction.end() :]
    contents = answer.contents.texts
    synonyms = next((group for group in SAME if text in group), frozenset())
    letters = [letter for letter, content in contents.items() if content in synonyms]
    if not letters and (text in NOBODY or text in NONE_OF_THE_OPTIONS):
        letters = _meaning_none(answer, is_nobody=text in NOBODY)
        if not letters and any(map(NONE_LIKE.search, answer.options.values())):
            return _conflict(answer)
    elif not letters and not introduction:
        bare = ARTICLE.sub("", text)
        letters = [
            letter
            for letter, content in contents.items()
            if bare and ARTICLE.sub("", content) == bare
        ]
    if len(letters) > 1:
        return _conflict(answer)
    return Clue(Rule.EXACT, letters[0], answer.text) if letters else None


def _meaning_none(answer: AnswerText, is_nobody: bool) -> list[str]:
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
    match = PLACE_ALONE.fullmatch(answer.text.strip(" .。!\"'")) if len(answer.text) < 60 else None
    if not match or any(map(PLACE_WORDS.search, answer.options.values())):
        return None
    letters = list(answer.options)
    word = "last" if match["end"] else (match["word"] or match["han"] or "").lower()
    number = int(match["number"] or match["hash"] or match["digit"] or 0) - 1
    if word:
        number = len(letters) - 1 if word == "last" else ORDINALS[word]
    inside = 0 <= number < len(letters)
    return Clue(Rule.STATEMENT, letters[number], answer.text) if inside else None


def _repetition(answer: AnswerText) -> Clue | None:
    """An answer that ends in the same passage over and over, from a model that never stopped."""
    text = answer.text
    last = text[-min(_LAST, len(text) // 2) :]
    period = len(text) - len(last) - text.rfind(last, 0, -1)
    passage = text[-period:]
    endless = len(passage) > 1 and text.endswith(passage * _ENDLESS)
    return Clue(Rule.REPETITION, None, passage[:200]) if endless else None


def _speaks(answer: AnswerText) -> Clue | None:
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
            return None
        return Clue(Rule.ELSEWHERE, None, statement.span)
    is_unsure = (
        _RETRACTED.match(answer.masked, statement.end)
        or statement.is_doubted
        or is_hedged(answer, statement)
        or _contradicted(answer, statement)
        or _corrected(answer, statement)
    )
    if is_unsure:
        return Clue(Rule.CONFLICT, None, statement.span)
    return Clue(Rule.STATEMENT, statement.letter, statement.span)


def _leading_label(answer: AnswerText) -> Clue | None:
    """A label at the start of the answer: "B. cat", "B) because", "B" and a line break."""
    match = _LABEL.match(answer.masked)
    if not match or match[1] not in answer.options:
        return None
    label = reference_at(answer, match.start(1))
    if label is None:
        return None
    rest = answer.text[match.end() :]
    if _INITIAL.match(rest):
        return None
    own = label.content_letter == label.letter
    is_cut = _is_cut_short(answer, match[1], rest)
    is_marked = match[2] not in ("", "-") or "\n" in match[0] or match[0].lstrip()[0] in "(["
    is_article = match[0].strip() == "A" and own
    if label.content_letter not in (None, label.letter) or (
        is_article and answer.named_options.affirmed - {"A"}
    ):
        return Clue(Rule.CONFLICT, None, label.span)
    behind = label.end if own or is_cut else match.end()
    if any(
        is_taken_back(answer, end) or _RETRACTED.match(answer.masked, end)
        for end in (match.end(1), behind)
    ):
        return Clue(Rule.CONFLICT, None, label.span)
    is_label = own or is_cut or is_marked or _REASON.match(rest)
    if not is_label or (not own and _NO.fullmatch(rest)):
        return None
    others = _letters(answer, label.end) - {label.letter}
    if (
        others
        or is_hedged(answer, label)
        or SECOND_THOUGHTS.search(rest)
        or _contradicted(answer, label)
    ):
        return None if own and not others else Clue(Rule.CONFLICT, None, label.span)
    return Clue(Rule.LABEL, label.letter, label.span)


def _is_cut_short(answer: AnswerText, letter: str, rest: str) -> bool:
    """Whether the text after the label is the beginning of the option's content, cut by a token limit."""
    bare = plain_content(rest)
    return len(bare) > 2 and answer.contents.texts[letter].startswith(bare)


def _own_line(answer: AnswerText) -> Clue | None:
    """A letter on a line of its own, if no other letter has such a line."""
    lines = {}
    for line in answer.masked.split("\n"):
        match = _LINE.fullmatch(line)
        if match:
            lines[match[1]] = line.strip()
    if len(lines) != 1:
        return None
    letter, span = lines.popitem()
    if (
        letter not in answer.options
        or answer.named_options.affirmed - {letter}
        or _letters(answer) - {letter}
    ):
        return None
    return Clue(Rule.LINE, letter, span)


def _labelled_content(answer: AnswerText) -> Clue | None:
    """The only option that appears with its own label: "it shows (B) cat"; a list of options has several."""
    labels: dict[str, str] = {}
    for place in _letter_places(answer.masked):
        label = reference_at(answer, place)
        if label is None or label.content_letter != label.letter:
            continue
        if not _OF_A_THING.search(answer.masked, max(0, place - _BEFORE), place):
            labels[label.letter] = label.span
    if len(labels) != 1:
        return None
    letter, span = labels.popitem()
    denied = NOT.search(answer.sentence(answer.text.find(span)))
    if _letters(answer) - {letter} or answer.named_options.every - {letter} or denied:
        return None
    return Clue(Rule.LABELLED, letter, span)


def _among_fillers(answer: AnswerText) -> Clue | None:
    """A letter among filler words: "I think B", "B, of course"."""
    words = [word[0] for word in islice(_TOKEN.finditer(answer.text), _MOST_WORDS + 1)]
    if len(words) > _MOST_WORDS:
        return None
    letters = [word for word in words if len(word) == 1 and word.isupper() and word != "I"]
    others = [word.lower() for word in words if word not in letters]
    if "?" in answer.text or not FILLERS.issuperset(others):
        return None
    if len(letters) != 1:
        return None
    letter = letters[0]
    if letter not in answer.options or letter not in _letters(answer) - {"A"}:
        return None
    return Clue(Rule.FILLERS, letter, answer.text)


def _named_content(answer: AnswerText) -> Clue | None:
    """The only option named by its content, in full and without a denial."""
    affirmed = answer.named_options.affirmed
    every = answer.named_options.every
    if len(affirmed) != 1:
        return _conflict(answer) if len(affirmed) > 1 else None
    letter = next(iter(affirmed))
    if is_compound(answer, letter):
        return _conflict(answer)
    mention = next(mention for mention in answer.mentions if mention.letter == letter)
    span = answer.text[mention.start : mention.end]
    if (
        is_taken_back_later(answer, letter)
        or is_one_of_both(answer, letter)
        or loses_sign(answer, mention)
    ):
        return Clue(Rule.CONFLICT, None, span)
    if answer.contents.texts[letter] in COMMON and is_another_word(answer, letter):
        return Clue(Rule.CONFLICT, None, span)
    if _letters(answer) - {letter} or (len(every) > 1 and len(every) == len(answer.options)):
        return Clue(Rule.CONFLICT, None, span)
    return Clue(Rule.NAMED, letter, span)


def _refusal(answer: AnswerText) -> Clue | None:
    """An answer in which every sentence refuses, if no option means that none is right."""
    if answer.mentions or any(map(NONE_LIKE.search, answer.options.values())):
        return None
    if not refuses(answer.text) or _letters(answer):
        return None
    return Clue(Rule.REFUSAL, none_of(answer.options), answer.text)


def refuses(text: str) -> bool:
    """Whether every sentence of a short text refuses."""
    if len(text) > MOST_REFUSAL:
        return False
    sentences = []
    for part in _SENTENCES.split(text):
        sentence = INTRODUCED.sub("", part.strip(" ,\"'()*"), count=1)
        sentences.append(_TRICKY.sub("", sentence))
    sentences = [sentence for sentence in sentences if sentence]
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
    _speaks,
    _statement,
    _leading_label,
    _own_line,
    _labelled_content,
    _among_fillers,
    _named_content,
    _refusal,
)


def _conflict(answer: AnswerText) -> Clue:
    return Clue(Rule.CONFLICT, None, answer.text[:200])


def _contradicted(answer: AnswerText, statement: Reference) -> bool:
    """Whether the text around a statement names another option: beside it, or as the only affirmed option."""
    if statement.content_letter is not None and statement.content_letter != statement.letter:
        return True
    affirmed = answer.named_options.affirmed
    return len(affirmed) == 1 and statement.letter not in affirmed


def _corrected(answer: AnswerText, statement: Reference) -> bool:
    """Whether second thoughts and another letter follow a statement, or another label follows its content."""
    rest = answer.masked[statement.end :]
    if _SCORED.match(answer.text, statement.start + 1):
        return True
    others = _letters(answer, statement.end) - {statement.letter}
    if others and SECOND_THOUGHTS.search(rest):
        return True
    is_content = statement.content_letter is not None and not _LABELS_ITSELF.match(statement.span)
    sentence = _SENTENCES.split(rest.replace("i.e.", ""), maxsplit=1)[0]
    return bool(others) and is_content and any(f"option {letter}" in sentence for letter in others)


def _letter_places(masked: str) -> list[int]:
    """Positions of letters that stand alone; A and I are words unless punctuation sets them off."""
    places = [match.start(1) for match in _LETTER_ALONE.finditer(masked)]
    places += [match.start(match.lastindex or 1) for match in _SET_OFF.finditer(masked)]
    return places


def _letters(answer: AnswerText, start: int = 0) -> set[str]:
    """Letters that stand alone from here on, as options do; a letter after I only if it is an option."""
    masked = answer.masked[start:]
    letters = {masked[place] for place in _letter_places(masked)}
    return {letter for letter in letters if letter in USUAL_LETTERS or letter in answer.options}
