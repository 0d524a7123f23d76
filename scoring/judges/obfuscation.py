"""Obfuscation: the plain texts that an obfuscated text may hide, to find hidden instructions like open ones."""

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import partial
from urllib.parse import unquote

_SHORTEST_DECODED = 12
"""Minimum length in characters of a decoded text worth checking."""
_MOST_LEVELS = 2
"""Levels of decoding."""

_HOMOGLYPHS = str.maketrans(
    dict(
        zip(
            "авеѕіјкмнорстухуԁһԛԝӏгαβεζηικμνορτυχωɑɡɩʀꜱᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘᴛᴜᴠᴡʏᴢ",
            "abesijkmhopctyxydhqwlrabeznikmvoptuxwagirsabcdefghijklmnoptuvwyz",
            strict=True,
        )
    )
)
_LEET = str.maketrans("0134579@$!", "oieastgasi")
_LEET_L = str.maketrans("0134579@$!", "oleastgasl")
"""Digits and signs that stand for letters; 1 and ! for i, or for l."""
_LEET_SIGN = re.compile(r"[0134579@$!]")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX = re.compile(r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}[\s:,-]{0,2}){12,}")
_BINARY = re.compile(r"(?:[01]{8}[\s,]*){12,}")
_TAG_SIGNS = re.compile(r"[\U000e0020-\U000e007e]")
"""Invisible characters, each 0xE0000 above the ASCII character that it stands for."""
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")
_WORD = re.compile(r"[a-z0134579@$!]{2,}")
_SPACED_LETTERS = re.compile(r"(?<!\w)\w(?:[\s.\-_*·/]{1,3}\w){5,}(?!\w)")
_BREAKS = re.compile(r"\r\n|[\r\v\f\x85\u2028\u2029]")
_BLANKS = re.compile(r"(?:[^\S\n]|\u2800)+")
"""Braille's blank counts too."""
_NO_LETTERS = re.compile(r"[\W_]")
_BETWEEN_BYTES = re.compile(r"0x|\\x|[\s:,-]")
_OCTETS = re.compile(r"[01]{8}")
_UNSEEN_CATEGORIES = {"Cc", "Cf", "Co", "Cn"}
"""Unicode's categories of characters that aren't shown."""
_FILLERS = "\u115f\u1160"
"""Letters that aren't shown; NFKC makes them of U+3164 and U+FFA0."""


def readings(text: str) -> Mapping[str, bool]:
    """Every reading of a text, and whether it is hidden from a person who sees the text.

    A reading without diacritics is not hidden.
    """
    plain = _plain_text(text)
    is_hidden = dict.fromkeys((plain, without_diacritics(plain)), False)
    for other in _hidden_readings(text, plain, _MOST_LEVELS):
        is_hidden.setdefault(other, True)
    return is_hidden


def _plain_text(text: str) -> str:
    """The text without invisible characters, NFKC-normalised, in lower case, with words separated by one space."""
    visible = _BREAKS.sub("\n", unicodedata.normalize("NFKC", text)).replace("\t", " ")
    unseen = [
        sign
        for sign in {*visible} - {"\n"}
        if sign in _FILLERS or unicodedata.category(sign) in _UNSEEN_CATEGORIES
    ]
    if unseen:
        visible = visible.translate(dict.fromkeys(map(ord, unseen)))
    return _BLANKS.sub(" ", visible).casefold().strip()


def _hidden_readings(text: str, plain: str, levels: int) -> Iterator[str]:
    """Yields further readings of a text; decoded parts are read in the same way, `levels` times."""
    yield without_diacritics(plain).translate(_HOMOGLYPHS)
    if _LEET_SIGN.search(plain):
        for alphabet in (_LEET, _LEET_L):
            yield _WORD.sub(partial(_replace_leet, alphabet), plain)
    yield _SPACED_LETTERS.sub(lambda run: _NO_LETTERS.sub("", run[0]), plain)
    yield plain[::-1]
    yield codecs.encode(plain, "rot13")
    if not levels:
        return
    for decoded in _decodings(text):
        if len(decoded) >= _SHORTEST_DECODED and decoded != text:
            inner = _plain_text(decoded)
            yield inner
            yield from _hidden_readings(decoded, inner, levels - 1)


def _replace_leet(alphabet: dict[int, int], word: re.Match[str]) -> str:
    """The word with letters in place of digits and signs; a number stays."""
    return word[0] if word[0].isdigit() else word[0].translate(alphabet)


def without_diacritics(text: str) -> str:
    """The text without diacritics."""
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFD", text)
    bare = "".join(char for char in parts if unicodedata.category(char) != "Mn")
    return unicodedata.normalize("NFC", bare)


def _decodings(text: str) -> Iterator[str]:
    """Yields the results of all decodings of a text or its parts."""
    yield "".join(chr(ord(sign) - 0xE0000) for sign in _TAG_SIGNS.findall(text))
    yield html.unescape(text)
    yield unquote(text, errors="replace")
    unescaped = _ESCAPE.sub(lambda code: chr(int(code[1] or code[2], 16)), text)
    # Joins pairs of surrogates: such an escape writes a character of more than 16 bits as two.
    yield unescaped.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    for chunk in _BASE64.findall(text):
        yield _utf8_text(_from_base64(chunk))
    for chunk in _HEX.findall(text):
        yield _utf8_text(bytes.fromhex(_BETWEEN_BYTES.sub("", chunk)))
    for chunk in _BINARY.findall(text):
        yield _utf8_text(bytes(int(octet, 2) for octet in _OCTETS.findall(chunk)))


def _from_base64(chunk: str) -> bytes:
    body = chunk.rstrip("=").replace("-", "+").replace("_", "/")
    padding = "=" * (-len(body) % 4)
    try:
        return base64.b64decode(body + padding)
    except binascii.Error:
        return b""


def _utf8_text(raw: bytes) -> str:
    """The bytes as UTF-8 text; "" if they are not UTF-8, or have no letter.

    Honest dates and numbers may decode to texts without a letter.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return text if any(map(str.isalpha, text)) else ""
