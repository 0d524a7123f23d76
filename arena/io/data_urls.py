"""Data URLs: files written out as text, in base64 (RFC 2397); no message repeats one."""

import base64
import binascii
import re

_DATA_URL = re.compile(r"\bdata:(?:[\w.+/;=-]{0,200},|image/)[^\s'\"<>]*+", re.IGNORECASE)
"""Those of pictures also without the comma."""
_BEGUN = re.compile(r"\W*+data:", re.IGNORECASE)
"""How a data URL begins, also one without its comma."""
_HEAD = re.compile(r"\s*+data:[^,]{0,200},", re.IGNORECASE)
MOST_NAME = 200
"""Most letters of a name that a message repeats."""


def is_data_url(text: str) -> bool:
    return _HEAD.match(text) is not None


def data_url_content(url: str) -> bytes:
    """The file in a data URL. Raises ValueError if it is not in base64."""
    head, _, content = url.partition(",")
    if not head.strip().lower().endswith(";base64"):
        raise ValueError("expected base64")
    try:
        return base64.b64decode("".join(content.split()), validate=True)
    except binascii.Error as error:
        raise ValueError("expected base64") from error


def without_data_urls(text: str) -> str:
    """A message with each data URL told by its length."""
    return _DATA_URL.sub(_by_length, text)


def _by_length(found: re.Match[str]) -> str:
    url = found[0].rstrip(",;.")
    return f"a data URL of {len(url):,} letters{found[0][len(url) :]}"


def shown_name(name: str) -> str:
    """A name as a message repeats it: quoted and of bounded length; a data URL by its length."""
    if _BEGUN.match(name):
        return f"a data URL of {len(name):,} letters"
    return repr(name if len(name) <= MOST_NAME else f"{name[:MOST_NAME]}…")
