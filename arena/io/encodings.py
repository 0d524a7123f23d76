"""Encodings of text that is not UTF-8, guessed from its bytes; one is named only where nearly all of the text fits."""

import codecs
from itertools import pairwise

_GB18030 = "GB18030 (GBK), as Chinese spreadsheets save it"
SAMPLE = 100_000
"""Bytes from which an encoding is recognised."""
_WESTERN = frozenset("“”‘’–—…•€£°«»¿¡§©®±²³µ½¼¾·´\xa0ŒœŠšŽžŸ")
"""Characters of Windows-1252 in plain texts, besides its letters from 0xC0 on."""


def guess_encoding(text: bytes, place: str) -> str:
    """Returns the likely encoding of text that is not UTF-8, in words for an error.

    `place` names the first wrong byte; it stands in for an unknown encoding, and before one that is less sure.
    """
    sample = text[:SAMPLE]
    if _is_gb18030(sample, is_cut=len(text) > SAMPLE):
        return _GB18030
    return f"{place} (Latin-1 or Windows-1252?)" if _is_windows_1252(sample) else place


def _is_gb18030(raw: bytes, is_cut: bool) -> bool:
    """Returns whether text that is not UTF-8 reads as Chinese in GB18030 or GBK.

    Its common characters are pairs of bytes above 0xA0, and most ideographs begin with 0xB0 to 0xD7. A letter of
    Latin-1 stands alone between ASCII; Korean's EUC-KR begins with 0xC8 at most; Japanese has kana; Cyrillic begins
    higher. `is_cut`: whether the last character may lack its end.
    """
    try:
        text = codecs.getincrementaldecoder("gb18030")().decode(raw, final=not is_cut)
    except UnicodeDecodeError:
        return False
    signs = [sign for sign in text if not sign.isascii()]
    pairs = [pair for pair in (sign.encode("gb18030") for sign in signs) if len(pair) == 2]
    common = [pair for pair in pairs if min(pair) > 0xA0]
    firsts = [pair[0] for pair in common if pair[0] >= 0xB0]
    frequent = [first for first in firsts if first <= 0xD7]
    has_kana = any("\u3041" <= sign <= "\u30fe" for sign in signs)
    is_beyond_korean = any(first > 0xC8 for first in firsts)
    are_half_frequent = 2 * len(frequent) >= len(firsts)
    are_most_common = 4 * len(common) >= 3 * len(signs)
    return is_beyond_korean and are_half_frequent and are_most_common and not has_kana


def _is_windows_1252(raw: bytes) -> bool:
    """Returns whether text that is not UTF-8 reads as a Western language: accented letters, rarely two in a row.

    In other encodings such bytes follow one another, or are none of its letters. A sample of ASCII shows nothing.
    """
    if raw.isascii():
        return False
    try:
        text = raw.decode("cp1252")
    except UnicodeDecodeError:
        return False
    letters = [place for place, sign in enumerate(text) if "\xc0" <= sign <= "\xff"]
    others = {sign for sign in text if not sign.isascii() and not "\xc0" <= sign <= "\xff"}
    neighbours = sum(first + 1 == second for first, second in pairwise(letters))
    return others <= _WESTERN and 10 * neighbours <= len(letters)
