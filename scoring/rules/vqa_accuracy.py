"""VQA accuracy: an answer beside ten references (Antol et al. 2015), as the toolkit of its authors computes it.

VLMEvalKit differs in two places: a full stop behind a digit stays ("10."), and a single reference is never met.
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
"""As many as the published code takes off: it passes a flag, which has this value, where the count stands."""
_CONTRACTIONS = {
    word[:place] + word[place + 1 :]: word
    for word in (DATA / "vqa_contractions.txt").read_text("utf-8").split()
    for place, sign in enumerate(word)
    if sign == "'"
} | {"somebody'd": "somebodyd"}
"""Contractions by their spelling without one of their apostrophes; the last one is the published code's slip."""


def normal(answer: str, as_kit: bool = False) -> str:
    """An answer as the VQA evaluation compares it (Antol et al. 2015; the code its authors published).

    A mark becomes a blank, or nothing if one of its kind stands beside a blank, or if the answer has a comma between
    digits; full stops, articles and missing apostrophes go, words of numbers become digits.
    """
    line = answer.replace("\n", " ").replace("\t", " ").strip()
    words = (
        _NUMBERS.get(word, word) for word in without_marks(line, as_kit=as_kit).lower().split()
    )
    return " ".join(_CONTRACTIONS.get(word, word) for word in words if word not in _ARTICLES)


def without_marks(line: str, as_kit: bool = True) -> str:
    """The text without punctuation marks, as the VQA evaluation takes them out."""
    joined = bool(_THOUSANDS.search(line))
    text = line
    for mark in _MARKS:
        text = text.replace(mark, "" if joined or f"{mark} " in line or f" {mark}" in line else " ")
    full_stop = _KIT_FULL_STOP if as_kit else _FULL_STOP
    return full_stop.sub("", text, count=_FULL_STOPS)


def consensus(prediction: str, answers: Sequence[str], as_kit: bool = False) -> float:
    """VQA accuracy of one answer: mean over references of min(1, matches among the other references / 3)."""
    said = normal(prediction, as_kit)
    given = [normal(answer, as_kit) for answer in answers]
    if len(given) == 1 and not as_kit:
        return float(said == given[0])
    matches = given.count(said)
    return math.fsum(min(1.0, (matches - (one == said)) / 3) for one in given) / len(given)
