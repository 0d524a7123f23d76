"""VQA accuracy: an answer against ten references (Antol et al. 2015), by its authors' toolkit.

VLMEvalKit differs in two places: a full stop after a digit stays ("10."), and a single reference is never matched.
"""

import math
import re
from collections.abc import Sequence

from scoring.report import DATA

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {"none": "0", **{word: str(number) for number, word in enumerate(_WORDS)}}
_ARTICLES = frozenset(("a", "an", "the"))
_MARKS = ';/[]"{}()=+\\_-><@`,?!'
_THOUSANDS = re.compile(r"\d,\d")
_FULL_STOP = re.compile(r"\.(?!\d)")
_KIT_FULL_STOP = re.compile(r"(?<!\d)\.(?!\d)")
_FULL_STOPS = 32
"""Full stops removed by the published code, which passes a flag with this value as the count."""
_CONTRACTIONS = {
    word[:place] + word[place + 1 :]: word
    for word in (DATA / "vqa_contractions.txt").read_text("utf-8").split()
    for place, sign in enumerate(word)
    if sign == "'"
} | {"somebody'd": "somebodyd"}
"""Contractions by their spelling without one of their apostrophes; the last one is the published code's slip."""


def normal_answer(answer: str, as_kit: bool = False) -> str:
    """An answer in the form in which the VQA evaluation compares it (Antol et al. 2015; its authors' code).

    A mark becomes a blank, or is dropped if the same mark occurs beside a blank, or if the answer has a comma between
    digits. Full stops and articles are dropped, contractions get their apostrophes, and numbers in words become digits.
    """
    line = answer.replace("\n", " ").replace("\t", " ").strip()
    words = without_marks(line, as_kit=as_kit).lower().split()
    numbers = [_NUMBERS.get(word, word) for word in words]
    return " ".join(_CONTRACTIONS.get(word, word) for word in numbers if word not in _ARTICLES)


def without_marks(line: str, as_kit: bool) -> str:
    """The text without punctuation marks, by the VQA evaluation's rules."""
    has_thousands = bool(_THOUSANDS.search(line))
    text = line
    for mark in _MARKS:
        is_dropped = has_thousands or f"{mark} " in line or f" {mark}" in line
        text = text.replace(mark, "" if is_dropped else " ")
    full_stop = _KIT_FULL_STOP if as_kit else _FULL_STOP
    return full_stop.sub("", text, count=_FULL_STOPS)


def consensus_accuracy(prediction: str, answers: Sequence[str], as_kit: bool = False) -> float:
    """VQA accuracy of one answer: mean over references of min(1, matches among the other references / 3)."""
    normal_prediction = normal_answer(prediction, as_kit)
    references = [normal_answer(answer, as_kit) for answer in answers]
    if len(references) == 1 and not as_kit:
        return float(normal_prediction == references[0])
    matches = references.count(normal_prediction)
    shares = []
    for reference in references:
        other_matches = matches - 1 if reference == normal_prediction else matches
        shares.append(min(1.0, other_matches / 3))
    return math.fsum(shares) / len(shares)
