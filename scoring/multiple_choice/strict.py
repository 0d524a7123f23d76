"""Strict extraction, our own protocol: named rules in a fixed order, each either sure of a letter or silent.

A wrong letter is worse than none: if readings exclude each other, or the answer addresses its reader, nothing is
decided.
"""

import re
from collections.abc import Callable, Mapping
from itertools import islice
from unicodedata import is_normalized

from scoring.failures import is_error, is_nothing
from scoring.multiple_choice.abroad import CALLED_WRONG
from scoring.multiple_choice.named_options import SIGN_BEHIND, AnswerText
from scoring.multiple_choice.other_things import (
    is_another_word,
    is_compound,
    is_half,
    is_taken_back_later,
    loses_sign,
    surname,
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
    PLACES,
    REFUSALS,
    SAME,
    SECOND_THOUGHTS,
    STILL_ANSWERS,
)
from scoring.multiple_choice.plain_answers import bare_text, plain, plain_content, with_brackets
from scoring.multiple_choice.statements import (
    Reference,
    hedged,
    last_statement,
    reference_at,
    speaks,
    taken_back,
)
from scoring.multiple_choice.types import USUAL, Clue, Decision, Rule, none_of
from scoring.multiple_choice.wrappers import Inner, inner_text, without_list

ENDS = 4_000
"""Characters read at the start and at the end of a longer answer, after its reasoning is removed."""
MOST_REFUSAL = 400
"""Characters of a refusal at most."""
_ENDLESS = 6
_LAST = 12
"""Times from which a passage is endless, and the characters at the end that are looked for before."""

_OPEN = r"[\s\"'‘’“”«»(\[{<*_>~=:→\-–—•.,#|/]*+"
_CLOSE = r"[\s\"'‘’“”«»)\]}>*_.,:;!?。、…|/\\-]*+"
_NOUN = r"(?:(?:the\s+)?(?:option|choice|letter|answer|选项|答案|选择|选)\s*+[:.]?\s*+[\"'(\[]*+)?"
_NOTHING_MORE = re.compile(
    rf"{_OPEN}{_NOUN}([A-Za-z])(?:[\s,.]++\1){{0,3}}{_CLOSE}(?:(?:选项|项|입니다|이다|です|だ){_CLOSE})?",
    re.IGNORECASE,
)
_SMILES = re.compile(r"[:;=]-?[CDOP]", re.ASCII)
_SIZE = re.compile(r"\|[J-Z]\|")
"""A formula of a letter that is hardly a label: "|x|"."""
_ASKED = re.compile(r"\(?([A-Z])[.:)]?(?:(?<=[.:)])\s+(\S.*))?", re.ASCII)
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
"""What takes a statement back right behind it: "B? No", "B, which is wrong", "B if it barks"."""
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
"""What makes the letter behind it a name: "image B", "the car B"."""
_BEFORE = 32
_LABELS = 6
"""Letters from A that a model may take for labels, whatever labels there are."""
_LABELS_ITSELF = re.compile(r"\W{0,3}[A-Z]\W")
_SCORED = re.compile(r"[\"']\s?:\s?[.\d]")
""""A": 0.1 is a score of the option, one of several."""
_REASON = re.compile(r"(?:because|since|as|due to|given|for|因为)\b")
_LINE = re.compile(rf"{_OPEN}(?:(?:option|choice)\s+)?([A-Z]){_CLOSE}")
_SENTENCES = re.compile(r"[.!?\n。;]+")
_STANDING = re.compile(
    # The letter comes first, so that all other places are passed over at once.
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
"""Words of a letter among fillers at most."""
_WRAPS = re.compile(r"[b<{](?:(?<!b)|ox)")
MOST_BOX = 400
"""Characters of a box at most."""
_BARE_LETTER = re.compile(
    rf"{_OPEN}(?i:(?:(?:the|my)\s)?(?:(?:final|correct)\s)?(?:answer|letter|choice)\s?(?:is|:)?)?{_OPEN}([A-Z]){_CLOSE}"
)
_MAY_BE_LETTER = re.compile(r"\s*\w(?:\W{1,2})?\s*\Z")
_SIGNED_LETTER = re.compile(r"\s*[A-Za-z]{1,2}[-+*#\u2212\u2013]{1,2}\s*\Z")
_SHORTEST = 8
"""Characters of an option from which it is no letter."""
_BY_LETTER = (Rule.ALONE, Rule.EXACT, Rule.STATEMENT, Rule.LABEL, Rule.LINE, Rule.FILLERS)


def strict(prediction: str, options: Mapping[str, str]) -> Decision:
    """The letter by the strict rules, from the surest to the boldest; None if they are not sure."""
    if clue := as_asked(prediction, options):
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
    """What the first rule says that says anything; unsure of a letter that may be an option's content."""
    for rule in _RULES:
        if clue := rule(answer):
            return Clue(Rule.CONFLICT, None, clue.span) if _is_unclear(answer, clue) else clue
    return None


def _is_unclear(answer: AnswerText, clue: Clue) -> bool:
    """Whether a bare letter may be a label or another option's content: "A" among blood groups, "C" beside C++."""
    if clue.rule in (Rule.FILLERS, Rule.LINE) and answer.contents.all_letters:
        return True
    bare = _BARE_LETTER.fullmatch(clue.span) if clue.rule in _BY_LETTER else None
    if not bare or bare[1] not in answer.contents.unclear:
        return False
    has_sign = SIGN_BEHIND.match(clue.span, bare.end(1)) and not clue.span.startswith("*")
    return not (has_sign and answer.contents.signed)


def _in_wrappers(text: str, options: Mapping[str, str]) -> Inner:
    if not _WRAPS.search(text):
        return Inner(text, (), "")

    def reads(inner: str) -> str | None:
        clue = _clue(AnswerText(bare_text(inner), options)) if len(inner) <= MOST_BOX else None
        return clue.letter if clue and clue.letter in options else None

    def claims(inner: str) -> bool:
        answer = AnswerText(bare_text(inner)[:MOST_BOX], options)
        is_letter = bool(_NOTHING_MORE.fullmatch(answer.text))
        is_number = bool(answer.contents.values) and any(sign.isdigit() for sign in answer.text)
        return is_letter or is_number or bool(answer.mentions) or len(_letters(answer)) > 1

    return inner_text(text, reads, claims)


def _beside_wrappers(clue: Clue, inner: Inner, options: Mapping[str, str]) -> Clue:
    """The clue, unless a statement behind the wrappers says otherwise, or no statement follows a rival box."""
    rest = last_statement(AnswerText(bare_text(inner.rest)[-ENDS:], options))
    if inner.claims and (rest is None or rest.letter not in options):
        return Clue(Rule.CONFLICT, None, inner.claims[:200])
    if rest and rest.letter in options and clue.letter in options and rest.letter != clue.letter:
        return Clue(Rule.CONFLICT, None, rest.span)
    return clue


def _without_denial(text: str, options: Mapping[str, str]) -> str:
    """The text without what else it is not, at its end: "B, not A"; "not sure" may be an option."""
    found = _NOT_THIS.search(text)
    if not found or any(_NOT.match(plain_content(option)) for option in options.values()):
        return text
    return text[: found.start()]


def _ends(text: str) -> str:
    """The first and the last part of a long answer; a sentence broken by the cut is left out."""
    tail = text[-ENDS:]
    broken = _SENTENCES.search(tail)
    return text[:ENDS] + "\n" + tail[broken.end() if broken else 0 :]


def as_asked(prediction: str, options: Mapping[str, str]) -> Clue | None:
    """The most common answers, "B.", "B. cat" or "The answer is B.": a shortcut to what the rules below would find."""
    stated = _STATED.fullmatch(prediction)
    found = stated or _ASKED.fullmatch(prediction)
    if not found or found[1] not in options:
        return None
    if not (stated or found[2]) and any(
        len(text) < _SHORTEST and _SIGNED_LETTER.match(text) for text in options.values()
    ):
        return None
    if stated and any(
        len(text) < _SHORTEST and _MAY_BE_LETTER.match(text) for text in options.values()
    ):
        return None
    if not found[2]:
        return (
            Clue(Rule.STATEMENT, found[1], prediction)
            if stated
            else _alone(found[1], prediction, options)
        )
    own = options[found[1]].strip() == found[2]
    rule = Rule.STATEMENT if stated else Rule.LABEL
    return Clue(rule, found[1], prediction) if own and is_normalized("NFKC", prediction) else None


def _letter_alone(answer: AnswerText) -> Clue | None:
    """A single letter in any wrapper, in either case, possibly repeated."""
    found = _NOTHING_MORE.fullmatch(answer.text) if len(answer.text) < 400 else None
    if not found or (answer.contents.signed and SIGN_BEHIND.match(answer.text, found.end(1))):
        return None
    if _SIZE.fullmatch(answer.text.upper()):
        return None
    if _SMILES.fullmatch(answer.text):
        return _conflict(answer)
    return _alone(found[1], answer.text, answer.options)


def _alone(written: str, span: str, options: Mapping[str, str]) -> Clue | None:
    """The label that is written; another letter is an option's content, or no option."""
    if written in options:
        return Clue(Rule.ALONE, written, span)
    letter = written.upper()
    if not any(
        len(text) < 12 and plain_content(text) == written.lower() for text in options.values()
    ):
        return (
            Clue(Rule.ALONE, letter, span) if letter in options else _initial(letter, span, options)
        )
    return Clue(Rule.CONFLICT, None, span) if letter in options else None


def _initial(letter: str, span: str, options: Mapping[str, str]) -> Clue:
    """What a letter that is no label says: the one option that starts so, as T for True."""
    texts = {label: plain_content(text) for label, text in options.items()}
    initials = {label: text[:1].upper() for label, text in texts.items()}
    meant = [label for label, initial in initials.items() if initial == letter]
    is_usual = bool({texts[label] for label in meant} & ABBREVIATED)
    if letter == USUAL[len(options) : len(options) + 1] and not is_usual:
        meant = []  # the next label
    if not meant:
        return Clue(Rule.OUTSIDE, none_of(options), span)
    may_be_label = letter in USUAL[:_LABELS] and not is_usual
    sure = len(meant) == 1 and not may_be_label and not options.keys() & {*initials.values()}
    return Clue(Rule.EXACT, meant[0], span) if sure else Clue(Rule.CONFLICT, None, span)


def _content_alone(answer: AnswerText) -> Clue | None:
    """One option's text, which may be a number, and nothing else."""
    differ = answer.contents.differ_in_brackets
    said = with_brackets(answer.text) if differ else answer.plain
    letters = answer.contents.equal(said)
    if not letters:
        return None
    is_factorial = answer.text.endswith("!") and answer.contents.formulas.issuperset(letters)
    if is_factorial or len(letters) > 1:
        return _conflict(answer)
    return Clue(Rule.EXACT, letters[0], answer.text)


def _same_in_other_words(answer: AnswerText) -> Clue | None:
    """A whole answer that says what one option says: "nope", "No one" where an option is "nobody", "none" for 0."""
    said = answer.plain
    introduction = INTRODUCED.match(said)
    said = said[introduction.end() :] if introduction else said
    texts = answer.contents.texts
    same = next((group for group in SAME if said in group), frozenset())
    meant = [letter for letter, text in texts.items() if text in same]
    if meant:
        pass
    elif said in NOBODY or said in NONE_OF_THE_OPTIONS:
        zero = {letter for letter, number in answer.contents.values.items() if number.values == {0}}
        there_is_none = said in NOBODY
        meant = [
            letter
            for letter, text in texts.items()
            if text in NONE_OF_THE_OPTIONS or (there_is_none and (text in NOBODY or letter in zero))
        ]
        if not meant and any(map(NONE_LIKE.search, answer.options.values())):
            return _conflict(answer)
    else:
        bare = "" if introduction else ARTICLE.sub("", said)
        meant = [letter for letter, text in texts.items() if bare and ARTICLE.sub("", text) == bare]
    if len(meant) > 1:
        return _conflict(answer)
    return Clue(Rule.EXACT, meant[0], answer.text) if meant else None


def _place_alone(answer: AnswerText) -> Clue | None:
    """A whole answer that counts the options, where none of them is about places or numbers."""
    found = PLACE_ALONE.fullmatch(answer.text.strip(" .。!\"'")) if len(answer.text) < 60 else None
    if not found or any(map(PLACES.search, answer.options.values())):
        return None
    letters = list(answer.options)
    word = "last" if found["end"] else (found["word"] or found["han"] or "").lower()
    number = int(found["number"] or found["hash"] or found["digit"] or 0) - 1
    if word:
        number = len(letters) - 1 if word == "last" else ORDINALS[word]
    inside = 0 <= number < len(letters)
    return Clue(Rule.STATEMENT, letters[number], answer.text) if inside else None


def _repetition(answer: AnswerText) -> Clue | None:
    """An answer that ends in one passage over and over, as models do that never come to an end."""
    text = answer.text
    last = text[-min(_LAST, len(text) // 2) :]
    period = len(text) - len(last) - text.rfind(last, 0, -1)
    passage = text[-period:]
    endless = len(passage) > 1 and text.endswith(passage * _ENDLESS)
    return Clue(Rule.REPETITION, None, passage[:200]) if endless else None


def _speaks(answer: AnswerText) -> Clue | None:
    """An answer that tells its reader what to output; the letter that it demands is in the span."""
    found = speaks(answer)
    return Clue(Rule.SPEAKS, None, found) if found else None


def _statement(answer: AnswerText) -> Clue | None:
    """The last explicit statement, by letter or content: "the answer is B", "I choose the cat", "答案是B"."""
    found = last_statement(answer)
    if found is None:
        return None
    if found.letter not in answer.options:
        return (
            Clue(Rule.ELSEWHERE, None, found.span)
            if found.named is None and not answer.named.every
            else None
        )
    retracted = _RETRACTED.match(answer.masked, found.end)
    sure = not (
        retracted
        or found.doubted
        or hedged(answer, found)
        or _contradicted(answer, found)
        or _corrected(answer, found)
    )
    return (
        Clue(Rule.STATEMENT, found.letter, found.span)
        if sure
        else Clue(Rule.CONFLICT, None, found.span)
    )


def _leading_label(answer: AnswerText) -> Clue | None:
    """A label at the start of the answer: "B. cat", "B) because", "B" and a line break."""
    found = _LABEL.match(answer.masked)
    if not found or found[1] not in answer.options:
        return None
    label = reference_at(answer, found.start(1))
    if label is None:
        return None
    rest = answer.text[found.end() :]
    if _INITIAL.match(rest):
        return None
    own = label.named == label.letter
    listed = _cut_short(answer, found[1], rest)
    marked = found[2] not in ("", "-") or "\n" in found[0] or found[0].lstrip()[0] in "(["
    is_article = found[0].strip() == "A" and own
    if label.named not in (None, label.letter) or (is_article and answer.named.affirmed - {"A"}):
        return Clue(Rule.CONFLICT, None, label.span)
    behind = label.end if own or listed else found.end()
    if any(
        taken_back(answer, end) or _RETRACTED.match(answer.masked, end)
        for end in (found.end(1), behind)
    ):
        return Clue(Rule.CONFLICT, None, label.span)
    if (not own and _NO.fullmatch(rest)) or not (own or listed or marked or _REASON.match(rest)):
        return None
    others = _letters(answer, label.end) - {label.letter}
    if (
        others
        or hedged(answer, label)
        or SECOND_THOUGHTS.search(rest)
        or _contradicted(answer, label)
    ):
        return None if own and not others else Clue(Rule.CONFLICT, None, label.span)
    return Clue(Rule.LABEL, label.letter, label.span)


def _cut_short(answer: AnswerText, letter: str, rest: str) -> bool:
    """Whether the text after the label is the beginning of its content, cut by a token limit."""
    bare = plain_content(rest)
    return len(bare) > 2 and answer.contents.texts[letter].startswith(bare)


def _own_line(answer: AnswerText) -> Clue | None:
    """A letter on a line of its own, if no other letter has one."""
    lines = {
        found[1]: line.strip()
        for line in answer.masked.split("\n")
        if (found := _LINE.fullmatch(line))
    }
    if len(lines) != 1:
        return None
    letter, span = lines.popitem()
    if (
        letter not in answer.options
        or answer.named.affirmed - {letter}
        or _letters(answer) - {letter}
    ):
        return None
    return Clue(Rule.LINE, letter, span)


def _labelled_content(answer: AnswerText) -> Clue | None:
    """The only option named with its own label: "it shows (B) cat"; a list of options names them all."""
    labels: dict[str, str] = {}
    for found in _letter_places(answer.masked):
        label = reference_at(answer, found)
        if label is None or label.named != label.letter:
            continue
        if not _OF_A_THING.search(answer.masked, max(0, found - _BEFORE), found):
            labels[label.letter] = label.span
    if len(labels) != 1:
        return None
    letter, span = labels.popitem()
    denied = NOT.search(answer.sentence(answer.text.find(span)))
    if _letters(answer) - {letter} or answer.named.every - {letter} or denied:
        return None
    return Clue(Rule.LABELLED, letter, span)


def _among_fillers(answer: AnswerText) -> Clue | None:
    """A letter among words that say nothing: "I think B", "B, of course"."""
    words = [word[0] for word in islice(_TOKEN.finditer(answer.text), _MOST_WORDS + 1)]
    if len(words) > _MOST_WORDS:
        return None
    letters = [word for word in words if len(word) == 1 and word.isupper() and word != "I"]
    others = [word.lower() for word in words if word not in letters]
    if "?" in answer.text or not FILLERS.issuperset(others):
        return None
    if (
        len(letters) != 1
        or letters[0] not in answer.options
        or letters[0] not in _letters(answer) - {"A"}
    ):
        return None
    return Clue(Rule.FILLERS, letters[0], answer.text)


def _named_content(answer: AnswerText) -> Clue | None:
    """The only option whose content the answer names, in full and not denied."""
    affirmed = answer.named.affirmed
    every = answer.named.every
    if len(affirmed) != 1:
        return _conflict(answer) if len(affirmed) > 1 else None
    letter = next(iter(affirmed))
    if is_compound(answer, letter):
        return _conflict(answer)
    mention = next(one for one in answer.mentions if one.letter == letter)
    span = answer.text[mention.start : mention.end]
    if (
        is_taken_back_later(answer, letter)
        or is_half(answer, letter)
        or loses_sign(answer, mention)
    ):
        return Clue(Rule.CONFLICT, None, span)
    if answer.contents.texts[letter] in COMMON and is_another_word(answer, letter):
        return Clue(Rule.CONFLICT, None, span)
    if _letters(answer) - {letter} or (len(every) > 1 and len(every) == len(answer.options)):
        return Clue(Rule.CONFLICT, None, span)
    return Clue(Rule.NAMED, letter, span)


def _refusal(answer: AnswerText) -> Clue | None:
    """An answer whose every sentence refuses, if no option says that none is right."""
    if answer.mentions or any(map(NONE_LIKE.search, answer.options.values())):
        return None
    return (
        Clue(Rule.REFUSAL, none_of(answer.options), answer.text)
        if refuses(answer.text) and not _letters(answer)
        else None
    )


def refuses(text: str) -> bool:
    """Whether every sentence of a short text refuses."""
    if len(text) > MOST_REFUSAL:
        return False
    sentences = [part.strip(" ,\"'()*") for part in _SENTENCES.split(text)]
    told = [
        one for part in sentences if (one := _TRICKY.sub("", INTRODUCED.sub("", part, count=1)))
    ]
    return bool(told) and all(
        REFUSALS.fullmatch(one) and not STILL_ANSWERS.search(one) for one in told
    )


_RULES: tuple[Callable[[AnswerText], Clue | None], ...] = (
    _letter_alone,
    _content_alone,
    _same_in_other_words,
    _place_alone,
    surname,
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


def _contradicted(answer: AnswerText, found: Reference) -> bool:
    """Whether the text around a statement names another option: beside it, or as the only affirmed one."""
    if found.named is not None and found.named != found.letter:
        return True
    affirmed = answer.named.affirmed
    return len(affirmed) == 1 and found.letter not in affirmed


def _corrected(answer: AnswerText, found: Reference) -> bool:
    """Whether second thoughts and another letter follow a statement, or another label follows its content."""
    rest = answer.masked[found.end :]
    if _SCORED.match(answer.text, found.start + 1):
        return True
    others = _letters(answer, found.end) - {found.letter}
    if others and SECOND_THOUGHTS.search(rest):
        return True
    is_content = found.named is not None and not _LABELS_ITSELF.match(found.span)
    sentence = _SENTENCES.split(rest.replace("i.e.", ""), maxsplit=1)[0]
    return bool(others) and is_content and any(f"option {letter}" in sentence for letter in others)


def _letter_places(masked: str) -> list[int]:
    """Positions of letters that stand alone; A and I are words unless a mark sets them off."""
    found = [one.start(1) for one in _STANDING.finditer(masked)]
    return found + [one.start(one.lastindex or 1) for one in _SET_OFF.finditer(masked)]


def _letters(answer: AnswerText, start: int = 0) -> set[str]:
    """Letters that stand alone from here on, as options do; a late one only where it is an option."""
    masked = answer.masked[start:]
    letters = {masked[place] for place in _letter_places(masked)}
    return {letter for letter in letters if letter in USUAL or letter in answer.options}
