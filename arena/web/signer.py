"""Signer: what a browser keeps for us, or sends back, unchanged and by the same holder alone."""

import base64
import binascii
import hmac
import re

_MOST = 2_000
_SHAPE = re.compile(r"([A-Za-z0-9_-]{1,2000})\.([A-Za-z0-9_-]{43})", re.ASCII)


class Signer:
    """Signs texts with a key of the server."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def signed(self, text: str, holder: str) -> str:
        """Returns a text in letters that cookies and addresses take, with a signature for this holder."""
        value = _encoded(text.encode())
        return f"{value}.{self._signature(value, holder)}"

    def read(self, signed: str, holder: str) -> str | None:
        """Returns a text that was signed for this holder; None of anything else."""
        found = _SHAPE.fullmatch(signed[: 2 * _MOST])
        if found is None or not hmac.compare_digest(found[2], self._signature(found[1], holder)):
            return None
        try:
            return base64.urlsafe_b64decode(found[1] + "=" * (-len(found[1]) % 4)).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None

    def _signature(self, value: str, holder: str) -> str:
        return _encoded(hmac.digest(self._key, f"{holder} {value}".encode(), "sha256"))


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
