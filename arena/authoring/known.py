"""Known answers: words or short phrases that a good text names, such as `bus|coach` if either will do."""

import re
from collections.abc import Sequence
from unicodedata import category, normalize

SIGNS = r"\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""The signs of Thai, Lao, Burmese, Khmer, Japanese and Chinese, including vowels and tones."""
_HANGUL = r"\uac00-\ud7a3"
"""The syllables of Korean, which has blanks but joins particles to its words."""
_SIGN = re.compile(f"[{SIGNS}{_HANGUL}]")
_VARIANT = re.compile(r"[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""An invisible sign that chooses a variant of the one before it, as behind emoji and rare Chinese signs."""


def words(text: str) -> str:
    """Returns the words of a text in one case, width and composition, with one blank around each.

    A sign of a script without blanks, or a syllable of Korean, is a word; letters keep their accents and vowel signs.
    """
    folded = normalize("NFKC", text).casefold()
    composed = normalize("NFKC", folded)  # casefold can leave letters and accents apart.
    parted = _SIGN.sub(r" \g<0> ", composed)
    plain = "".join(map(_plain_sign, parted))
    return f" {' '.join(plain.split())} "


def _plain_sign(sign: str) -> str:
    """Returns a letter, mark or digit unchanged, nothing for an invisible sign, and a blank for any other."""
    kind = category(sign)
    if kind == "Cf" or _VARIANT.match(sign):
        return ""
    return sign if kind[0] in "LMN" else " "


def alternatives(known: str) -> list[str]:
    """Returns the phrases of a known answer, any of which will do."""
    return [phrase.strip() for phrase in known.split("|")]


def is_known_answer(known: str) -> bool:
    """Returns whether each alternative has a word that a text can name."""
    return all(words(phrase).strip() for phrase in alternatives(known))


def lacking(text: str, known: Sequence[str]) -> list[str]:
    """Returns the known answers that a text does not name."""
    text_words = words(text)
    return [
        answer
        for answer in known
        if not any(words(phrase) in text_words for phrase in alternatives(answer))
    ]
