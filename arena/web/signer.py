"""Signer: texts that a browser stores and sends back.

The signature shows that this server gave out the text, and that it comes back from the same holder, such as a cookie.
"""

import base64
import binascii
import hmac
import re

_LONGEST = 4_000
"""The most characters that are compared with `_SHAPE`. No text of that length matches it."""
_SHAPE = re.compile(r"([A-Za-z0-9_-]{1,2000})\.([A-Za-z0-9_-]{43})", re.ASCII)
"""A text of at most 2,000 characters in base64, and its signature."""


class Signer:
    """Signs texts with a key of the server."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def signed(self, text: str, holder: str) -> str:
        """Returns a text in letters that are allowed in cookies and addresses, with a signature for this holder."""
        value = _encoded(text.encode())
        return f"{value}.{self._signature(value, holder)}"

    def read(self, signed: str, holder: str) -> str | None:
        """Returns the text, or None if it wasn't signed for this holder."""
        match = _SHAPE.fullmatch(signed[:_LONGEST])
        if match is None:
            return None
        value, signature = match.groups()
        if not hmac.compare_digest(signature, self._signature(value, holder)):
            return None
        padding = "=" * (-len(value) % 4)
        try:
            return base64.urlsafe_b64decode(value + padding).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None

    def _signature(self, value: str, holder: str) -> str:
        return _encoded(hmac.digest(self._key, f"{holder} {value}".encode(), "sha256"))


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
