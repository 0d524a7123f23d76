"""Readers of letters in free text by lmms-eval and authors of benchmarks, with their known errors.

Each reader takes an answer and its options by letter, and returns a letter, which may be none of the options', or "".
lmms-eval: 75571cfe, August 2026.
"""

import re
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from scoring.multiple_choice.types import LETTERS
from scoring.rules.edits import edit_distance

LetterReader = Literal["shared", "initial", "standing", "mmvp", "mmmu", "llava", "nearest", "sign"]
"""The reader of a benchmark; `shared` is lmms-eval's for all other benchmarks."""

_FEWEST_LETTERS = 4
"""Letters that lmms-eval searches for even if a question has fewer options."""
_END_MARKS = ",.!?;:'\""
_PHRASES = (
    "the answer is|answer is|the correct answer is|correct answer is|the best answer is|best answer is"
    "|the correct option is|correct option is|the best option is|best option is|the choice is|choice is"
    "|the correct choice is|correct choice is|i choose|i select|i pick|my answer is|my choice is"
    "|옵션|정답은|답은|답:|答案是|答案为|选|答えは"
).split("|")
_FORMS = (("({})", 6), ("{}.", 5), ("{}:", 4), ("{})", 3), ("{} ", 2))
"""Forms of a letter, each with the weight of a candidate in it."""
# Weights of candidates at the start, at the end, behind a phrase, and anywhere.
_START_WEIGHT = 10
_END_WEIGHT = 9
_PHRASE_WEIGHT = 7
_ANYWHERE_WEIGHT = 0
_INITIAL = re.compile(r"[(\s]*+([A-Z])", re.IGNORECASE)
_A_OR_B_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"\A\(?([AB])\)?\.?\Z",
        r"\A\(?([AB])\)?[.\s]",
        r"answer\s++is\s++\(?([AB])",
        r"option\s++\(?([AB])",
        r"([AB])\)?(?:\s|\Z)",
        r"\A([AB])",
    )
)
_SEPARATE_LETTER = re.compile(r"\b([A-Z])\b", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"\(([a-zA-Z])\)")
_MMMU_FORMS = (("({})", "({})"), ("{} ", " {} "), ("{}.", " {} "))
"""Forms of a letter, each with the form in which MMMU's code looks for the last of several."""
_FEW_WORDS = 5
"""Words of an answer up to which MMMU's parser doesn't look for the options' texts."""


class _Candidate(NamedTuple):
    """A letter that may be the answer, and its place in the text."""

    weight: int
    place: int
    letter: str


def shared_letter(answer: str, options: Mapping[str, str]) -> str:
    """lmms-eval's extractor: the candidate with the largest weight, and among these the last."""
    text = answer.strip()
    for mark in _END_MARKS:
        text = text.strip(mark)
    letters = LETTERS[: max(_FEWEST_LETTERS, len(options))]
    # As in lmms-eval, an answer of marks alone goes on as an empty text.
    candidates = _candidates(f" {text} ", letters) if answer.strip() else []
    if not candidates:
        return ""
    best = max(candidates, key=lambda candidate: (candidate.weight, candidate.place))
    return best.letter


def _candidates(text: str, letters: str) -> list[_Candidate]:
    candidates = [
        _Candidate(weight, text.rfind(form.format(letter)), letter)
        for form, weight in _FORMS
        for letter in letters
        if form.format(letter) in text
    ]
    lower = text.lower()
    starts = [lower.find(phrase) + len(phrase) for phrase in _PHRASES if phrase in lower]
    for start in sorted({*starts}):
        following = [
            _Candidate(_PHRASE_WEIGHT, text.find(letter, start), letter) for letter in letters
        ]
        candidates += [candidate for candidate in following if candidate.place >= 0]
    bare = text.strip()
    if bare[:1] and bare[0] in letters and not bare[1:2].isalpha():
        candidates.append(_Candidate(_START_WEIGHT, 0, bare[0]))
    if bare[-1:] and bare[-1] in letters and not bare[-2:-1].isalpha():
        candidates.append(_Candidate(_END_WEIGHT, 0, bare[-1]))
    if candidates:
        return candidates
    return [
        _Candidate(_ANYWHERE_WEIGHT, text.rfind(letter), letter)
        for letter in letters
        if letter in text
    ]


def initial_letter(answer: str, options: Mapping[str, str]) -> str:
    """The letter that the answer begins with, maybe behind a bracket, even of a word (BLINK, CV-Bench in lmms-eval)."""
    match = _INITIAL.match(answer.strip())
    return match[1].upper() if match else ""


def mmvp_letter(answer: str, options: Mapping[str, str]) -> str:
    """A or B alone, at the start, after "answer is" or "option", at the end of a word, or as the first character."""
    text = answer.strip()
    for form in _A_OR_B_FORMS:
        match = form.search(text)
        if match:
            return match[1].upper()
    return ""


def separate_letter(answer: str, options: Mapping[str, str]) -> str:
    """The first of the options' letters as a separate word, in any case; A or B without options (NaturalBench)."""
    letters = options or {"A": "", "B": ""}
    for match in _SEPARATE_LETTER.finditer(answer):
        if match[1].upper() in letters:
            return match[1].upper()
    return ""


def mmmu_letter(answer: str, options: Mapping[str, str]) -> str:
    """MMMU's parser: the last letter in brackets, or before a blank or full stop, else the last option in a long text.

    If it finds nothing, its authors draw an option at random; this reader returns "".
    """
    for mark in _END_MARKS[:-1]:  # all but the double quotation mark
        answer = answer.strip(mark)
    text = f" {answer} "
    for form, last_form in _MMMU_FORMS:
        letters = [letter for letter in options if form.format(letter) in text]
        if len(letters) == 1:
            return letters[0]
        if letters:
            return max(letters, key=lambda letter: text.rfind(last_form.format(letter)))
    if len(text.split()) <= _FEW_WORDS:
        return ""
    lower = text.lower()
    letters = [letter for letter, option in options.items() if option.lower() in lower]
    return max(letters, key=lambda letter: lower.rfind(options[letter].lower()), default="")


def llava_letter(answer: str, options: Mapping[str, str]) -> str:
    """The letter alone, in any case, or a capital and a full stop at the start (LLaVA's ScienceQA)."""
    text = answer.strip()
    if len(text) == 1:
        return text.upper()
    if text[:1].isupper() and text[1:2] == ".":
        return text[0]
    return ""


def nearest_letter(answer: str, options: Mapping[str, str]) -> str:
    """The letter that is the text or in brackets, else the option with the fewest edits (MathVista in lmms-eval)."""
    text = answer.strip()
    in_brackets = _IN_BRACKETS.search(text)
    if in_brackets:
        text = in_brackets[1].upper()
    if text in options:
        return text
    return min(options, key=lambda letter: edit_distance(text, options[letter]), default="")


def first_character(answer: str, options: Mapping[str, str]) -> str:
    """The first character, whatever it is, as a capital (SEED-Bench in lmms-eval)."""
    return answer.strip()[:1].upper()


READERS: Mapping[LetterReader, Callable[[str, Mapping[str, str]], str]] = {
    "shared": shared_letter,
    "initial": initial_letter,
    "standing": separate_letter,
    "mmvp": mmvp_letter,
    "mmmu": mmmu_letter,
    "llava": llava_letter,
    "nearest": nearest_letter,
    "sign": first_character,
}
