"""Voter cookies: random values signed with the time of their issue; the server stores their hashes."""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from starlette.datastructures import Headers
from starlette.types import Scope

from arena.database import now

COOKIE = "stereoscope_voter"
_SHAPE = re.compile(r"([A-Za-z0-9_-]{32})(?:\.([0-9a-f]{8})\.[A-Za-z0-9_-]{22})?")
YEAR = 365 * 24 * 3600
"""In seconds."""
NO_STORE = {"cache-control": "private, no-store", "x-robots-tag": "noindex"}
"""Headers of an answer that is for the holder of a cookie alone."""


class VoterCookies:
    """Issues and checks voter cookies.

    A cookie is its random value, the time of its issue and their signature.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def new(self) -> str:
        return self.signed(new_cookie(), now())

    def signed(self, cookie: str, since: datetime) -> str:
        """Return a cookie with this time of issue, signed."""
        told = f"{cookie[:32]}.{int(since.timestamp()):08x}"
        signature = hmac.digest(self._key, told.encode(), "sha256")[:16]
        return f"{told}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"

    def sent(self, headers: Mapping[str, str]) -> str | None:
        """Return the first voter cookie of a request that has our signature; None without one."""
        return next(filter(self._is_signed, _sent(headers, COOKIE)), None)

    def _is_signed(self, cookie: str) -> bool:
        since = cookie_since(cookie)
        return since is not None and hmac.compare_digest(cookie, self.signed(cookie, since))


def new_cookie() -> str:
    """Return a fresh random value of 192 bits."""
    return secrets.token_urlsafe(24)


def cookie_hash(value: str) -> str:
    """Return the sha256 of a cookie's random value, which is stored instead of it."""
    return hashlib.sha256(value[:32].encode()).hexdigest()


def cookie_since(cookie: str) -> datetime | None:
    """Return a cookie's time of issue; None if it has none."""
    found = _SHAPE.fullmatch(cookie)
    return datetime.fromtimestamp(int(found[2], 16), UTC) if found and found[2] else None


def sent_cookie(headers: Mapping[str, str], name: str = COOKIE) -> str | None:
    """Return a cookie of ours from a request's headers; None if it does not have the form of our cookies.

    The middleware lets only voter cookies through that have our signature.
    """
    return next(_sent(headers, name), None)


def owner_of(headers: Mapping[str, str]) -> str:
    """Return the hash of a request's voter cookie; without one, nobody's, to whom nothing belongs."""
    return cookie_hash(sent_cookie(headers) or "")


def with_cookie(
    headers: list[tuple[bytes, bytes]], cookie: str | None
) -> list[tuple[bytes, bytes]]:
    """Return a request's raw headers with this voter cookie in place of those it sent."""
    text = "; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie")
    kept = [pair.strip() for pair in text.split(";") if pair.strip().partition("=")[0] != COOKIE]
    sent = "; ".join([*filter(None, kept), *([f"{COOKIE}={cookie}"] if cookie else [])])
    others = [(name, value) for name, value in headers if name != b"cookie"]
    return [*others, (b"cookie", sent.encode("latin-1"))] if sent else others


def _sent(headers: Mapping[str, str], name: str) -> Iterator[str]:
    pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
    return (value for sent, _, value in pairs if sent == name and _SHAPE.fullmatch(value))


def cookie_header(value: str, https: bool, name: str = COOKIE, seconds: int = YEAR) -> str:
    """Return the Set-Cookie header: third-party and partitioned on https (a Space is a frame), Lax on plain http."""
    where = "Secure; SameSite=None; Partitioned" if https else "SameSite=Lax"
    return f"{name}={value}; Max-Age={seconds}; Path=/; HttpOnly; {where}"


def over_https(scope: Scope, headers: Headers) -> bool:
    """Whether the browser uses https, with us or with the proxy in front of us."""
    return scope["scheme"] == "https" or headers.get("x-forwarded-proto") == "https"
