"""Strict extraction, our own protocol: named rules in a fixed order, each either sure of a letter or silent.

A wrong letter is worse than none: if readings exclude each other, or the answer addresses its reader, nothing is
decided.
"""

import re
from collections.abc import Callable, Mapping
from unicodedata import is_normalized

from scoring.failures import is_error
from scoring.multiple_choice.named_options import AnswerText
from scoring.multiple_choice.phrases import (
    FILLERS,
    IN_A_WORD,
    NONE_LIKE,
    NOT,
    REFUSALS,
    SECOND_THOUGHTS,
    STILL_ANSWERS,
)
from scoring.multiple_choice.plain_answers import plain, plain_content
from scoring.multiple_choice.statements import (
    Reference,
    hedged,
    last_statement,
    reference_at,
    speaks,
    taken_back,
)
from scoring.multiple_choice.types import USUAL, Clue, Decision, Rule, none_of

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
    rf"{_OPEN}{_NOUN}([A-Za-z])(?:[\s,.]++\1){{0,3}}{_CLOSE}(?:(?:选项|项){_CLOSE})?", re.IGNORECASE
)
_ASKED = re.compile(r"\(?([A-Z])[.:)]?(?:(?<=[.:)])\s+(\S.*))?", re.ASCII)
_STATED = re.compile(
    r"[Tt]he (?:correct )?answer is:? \(?([A-Z])\)?[.:]?(?:(?<=[.:)]) (\S.*))?", re.ASCII
)
_RETRACTED = re.compile(
    r"[\s\"')*]*+(?:\?|(?:in the previous|if|[,;.]?\s*(?:but )?I lied)\b|[,;]?\s*(?:but|which|and (?:this|that|it))\b"
    r"[^.!?]{0,20}(?:(?:\bnot|n't) (?:right|correct|true|sure)|\b(?:wrong|incorrect|false|unsure))\b)",
    re.IGNORECASE,
)
"""What takes a statement back right behind it: "B? No", "B, which is wrong", "B if it barks"."""
_NO = re.compile(r"(?:no|(?:this|that|it) is (?:false|wrong|incorrect))\b[\s.!]*", re.IGNORECASE)
_LABEL = re.compile(
    rf"[\s\"'(\[*#>-]*([A-Z])(?!{IN_A_WORD})[\"')\]*]*[ \t]*([.:,)、-]?)[\"')\]*]*\s*"
)
_REASON = re.compile(r"(?:because|since|as|due to|given|for|因为)\b")
_LINE = re.compile(rf"{_OPEN}(?:(?:option|choice)\s+)?([A-Z]){_CLOSE}")
_SENTENCES = re.compile(r"[.!?\n。;]+")
_STANDING = re.compile(
    rf"(?:(?<!{IN_A_WORD})(?<![-/.])|(?<=option|choice)(?<!{IN_A_WORD}option)(?<!{IN_A_WORD}choice)(?<![-/.]option)"
    rf"(?<![-/.]choice))([B-HJ-Z])(?!{IN_A_WORD}|-\w)"
)
_SET_OFF = re.compile(
    r"(?<![\w'’])[(\[\"]?([AI])(?:[)\]\":,.](?=\s|$|[)\]\",.])|$)"
    r"|\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)s?\s+([AI])(?!\w)"
)
_TOKEN = re.compile(r"[\w'’]+")


def strict(prediction: str, options: Mapping[str, str]) -> Decision:
    """The letter by the strict rules, from the surest to the boldest; None if they are not sure."""
    if clue := as_asked(prediction, options):
        return Decision(clue.letter, (clue,))
    text, cuts, torn = plain(prediction)
    trail = tuple(Clue(Rule.CUT, None, cut) for cut in cuts)
    if not text:
        return Decision(None, (*trail, Clue(Rule.TORN if torn else Rule.EMPTY, None, "")))
    if is_error(text) and not AnswerText(text, options).mentions:
        return Decision(None, (*trail, Clue(Rule.FAILED, None, text[:200])))
    if len(text) > 2 * ENDS:
        text = _ends(text)
        trail = (
            *trail,
            Clue(Rule.CUT, None, f"all but the first and the last {ENDS:,} characters"),
        )
    answer = AnswerText(text, options)
    for rule in _RULES:
        if clue := rule(answer):
            return Decision(clue.letter, (*trail, clue))
    return Decision(None, (*trail, Clue(Rule.UNDECIDED, None, text[:200])))


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
    if stated and any(len(text.strip()) == 1 for text in options.values()):
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
    return _alone(found[1], answer.text, answer.options) if found else None


def _alone(written: str, span: str, options: Mapping[str, str]) -> Clue | None:
    """The label that is written; another letter is an option's content, or no option."""
    if written in options:
        return Clue(Rule.ALONE, written, span)
    letter = written.upper()
    if not any(
        len(text) < 12 and plain_content(text) == written.lower() for text in options.values()
    ):
        return (
            Clue(Rule.ALONE, letter, span)
            if letter in options
            else Clue(Rule.OUTSIDE, none_of(options), span)
        )
    return Clue(Rule.CONFLICT, None, span) if letter in options else None


def _content_alone(answer: AnswerText) -> Clue | None:
    """One option's text, which may be a number, and nothing else."""
    letters = answer.contents.equal(plain_content(answer.text))
    if not letters:
        return None
    return Clue(Rule.EXACT, letters[0], answer.text) if len(letters) == 1 else _conflict(answer)


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
            Clue(Rule.OUTSIDE, none_of(answer.options), found.span)
            if found.named is None and not answer.named.every
            else None
        )
    retracted = _RETRACTED.match(answer.masked, found.end)
    sure = not (retracted or found.doubted or hedged(answer, found) or _contradicted(answer, found))
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
    own = label.named == label.letter
    listed = _cut_short(answer, found[1], rest)
    marked = found[2] not in ("", "-") or "\n" in found[0] or found[0].lstrip()[0] in "(["
    if label.named not in (None, label.letter):
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
        if label and label.named == label.letter:
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
    words = _TOKEN.findall(answer.text)
    if len(words) > 8:
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
    affirmed, every = answer.named
    if len(affirmed) != 1:
        return _conflict(answer) if len(affirmed) > 1 else None
    letter = next(iter(affirmed))
    span = next(answer.text[one.start : one.end] for one in answer.mentions if one.letter == letter)
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
    sentences = [part.strip(" ,\"'()*") for part in _SENTENCES.split(text[: MOST_REFUSAL + 1])]
    told = [one for one in sentences if one]
    is_short = len(text) <= MOST_REFUSAL
    return (
        is_short
        and bool(told)
        and all(REFUSALS.fullmatch(one) and not STILL_ANSWERS.search(one) for one in told)
    )


_RULES: tuple[Callable[[AnswerText], Clue | None], ...] = (
    _letter_alone,
    _content_alone,
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


def _letter_places(masked: str) -> list[int]:
    """Positions of letters that stand alone; A and I are words unless a mark sets them off."""
    found = [one.start(1) for one in _STANDING.finditer(masked)]
    return found + [one.start(one.lastindex or 1) for one in _SET_OFF.finditer(masked)]


def _letters(answer: AnswerText, start: int = 0) -> set[str]:
    """Letters that stand alone from here on, as options do; a late one only where it is an option."""
    masked = answer.masked[start:]
    letters = {masked[place] for place in _letter_places(masked)}
    return {letter for letter in letters if letter in USUAL or letter in answer.options}
