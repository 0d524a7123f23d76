"""Data URLs: files as base64 text (RFC 2397); error messages never repeat one."""

import base64
import binascii
import re

_DATA_URL = re.compile(r"\bdata:(?:[\w.+/;=-]{0,200},|image/)[^\s'\"<>]*+", re.IGNORECASE)
"""A data URL inside a text; one of a picture also without the comma."""
_SCHEME = re.compile(r"\W*+data:", re.IGNORECASE)
"""The scheme of a data URL, maybe in quotes."""
_HEAD = re.compile(r"\s*+data:[^,]{0,200},", re.IGNORECASE)
"""The part of a data URL before its content."""
MOST_NAME = 200
"""Most characters of a name that an error message repeats."""


def is_data_url(text: str) -> bool:
    return _HEAD.match(text) is not None


def data_url_content(url: str) -> bytes:
    """Returns the file in a data URL. Raises ValueError if it is not in base64."""
    head, _, content = url.partition(",")
    if not head.strip().lower().endswith(";base64"):
        raise ValueError("expected base64")
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except binascii.Error as error:
        raise ValueError("expected base64") from error


def without_data_urls(text: str) -> str:
    """Returns a message with each data URL replaced by its length."""
    return _DATA_URL.sub(_by_length, text)


def _by_length(match: re.Match[str]) -> str:
    url = match[0].rstrip(",;.")  # These belong to the sentence.
    return f"a data URL of {len(url):,} characters{match[0][len(url) :]}"


def shown_name(name: str) -> str:
    """Returns a name for an error message: quoted and cut; for a data URL, its length."""
    if _SCHEME.match(name):
        return f"a data URL of {len(name):,} characters"
    return repr(name if len(name) <= MOST_NAME else f"{name[:MOST_NAME]}…")
