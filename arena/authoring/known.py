"""Known answers: what a good text names, as words or short phrases, `bus|coach` where either will do."""

import re
from collections.abc import Sequence
from unicodedata import category, normalize

SIGNS = r"\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Of Thai, Lao, Burmese, Khmer, Japanese and Chinese, vowels and tones among them."""
_HANGUL = r"\uac00-\ud7a3"
"""Korean has blanks, and joins particles to its words."""
_SIGN = re.compile(f"[{SIGNS}{_HANGUL}]")
_BETWEEN = "|"


def words(text: str) -> str:
    """The words of a text with one blank around each, whatever their case, width and composition.

    A sign of a script without blanks is a word; letters keep their accents and vowel signs.
    """
    plain = normalize("NFKC", normalize("NFKC", text).casefold())
    parted = _SIGN.sub(r" \g<0> ", plain)
    return f" {' '.join(''.join(map(_kept, parted)).split())} "


def _kept(sign: str) -> str:
    kind = category(sign)
    if kind == "Cf":
        return ""
    return sign if kind[0] in "LMN" else " "


def alternatives(known: str) -> list[str]:
    return [one.strip() for one in known.split(_BETWEEN)]


def is_known(known: str) -> bool:
    """Whether each alternative has a word that a text can name."""
    return all(words(one).strip() for one in alternatives(known))


def lacking(text: str, known: Sequence[str]) -> list[str]:
    """What a text does not name of all that it should."""
    said = words(text)
    return [one for one in known if not any(words(part) in said for part in alternatives(one))]
