"""Known answers: words or short phrases that a good text names, such as `bus|coach` if either will do."""

import re
from collections.abc import Sequence
from unicodedata import category, normalize

SIGNS = r"\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""The signs of Thai, Lao, Burmese, Khmer, Japanese and Chinese, including vowels and tones."""
_HANGUL = r"\uac00-\ud7a3"
"""The syllables of Korean, which has blanks but joins particles to its words."""
_SIGN = re.compile(f"[{SIGNS}{_HANGUL}]")
_BETWEEN = "|"


def words(text: str) -> str:
    """Returns the words of a text with one blank around each, whatever their case, width and composition.

    A sign of a script without blanks is a word; letters keep their accents and vowel signs.
    """
    plain = normalize("NFKC", normalize("NFKC", text).casefold())
    parted = _SIGN.sub(r" \g<0> ", plain)
    return f" {' '.join(''.join(map(_plain_sign, parted)).split())} "


def _plain_sign(sign: str) -> str:
    kind = category(sign)
    if kind == "Cf":
        return ""
    return sign if kind[0] in "LMN" else " "


def alternatives(known: str) -> list[str]:
    return [phrase.strip() for phrase in known.split(_BETWEEN)]


def is_known(known: str) -> bool:
    """Returns whether each alternative has a word that a text can name."""
    return all(words(phrase).strip() for phrase in alternatives(known))


def lacking(text: str, known: Sequence[str]) -> list[str]:
    """Returns the known answers that a text does not name."""
    text_words = words(text)
    return [
        answer
        for answer in known
        if not any(words(part) in text_words for part in alternatives(answer))
    ]
