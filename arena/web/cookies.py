"""Voter cookies: random values, signed with the time of their issue. The server stores their hashes."""

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
"""A random value; in voter cookies also the time of issue in hexadecimal seconds, and the signature."""
_VALUE_LENGTH = 32
"""The characters of the random value."""
YEAR_SECONDS = 365 * 24 * 3600
NO_STORE = {"cache-control": "private, no-store", "x-robots-tag": "noindex"}
"""Headers of a response for one visitor alone."""


class VoterCookies:
    """Issues and checks voter cookies. A cookie has a random value, the time of its issue, and their signature."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def new(self) -> str:
        """Returns a new voter cookie, issued now."""
        return self.signed(new_cookie_value(), now())

    def signed(self, cookie: str, since: datetime) -> str:
        """Returns a cookie with the random value of `cookie`, the time of issue `since` and our signature."""
        content = f"{cookie[:_VALUE_LENGTH]}.{int(since.timestamp()):08x}"
        signature = hmac.digest(self._key, content.encode(), "sha256")[:16]
        return f"{content}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"

    def valid_cookie(self, headers: Mapping[str, str]) -> str | None:
        """Returns the first voter cookie of a request that has our signature, if any."""
        return next(filter(self._is_signed, _cookies(headers, COOKIE)), None)

    def _is_signed(self, cookie: str) -> bool:
        since = cookie_since(cookie)
        return since is not None and hmac.compare_digest(cookie, self.signed(cookie, since))


def new_cookie_value() -> str:
    """Returns a fresh random value of 192 bits."""
    return secrets.token_urlsafe(24)


def cookie_hash(value: str) -> str:
    """Returns the sha256 of a cookie's random value, which is stored in place of it."""
    return hashlib.sha256(value[:_VALUE_LENGTH].encode()).hexdigest()


def cookie_since(cookie: str) -> datetime | None:
    """Returns a cookie's time of issue, if it has one."""
    match = _SHAPE.fullmatch(cookie)
    if match is None or not match[2]:
        return None
    return datetime.fromtimestamp(int(match[2], 16), UTC)


def sent_cookie(headers: Mapping[str, str], name: str = COOKIE) -> str | None:
    """Returns the first cookie of this name and of our form in a request's headers, if any.

    The middleware has removed voter cookies without our signature.
    """
    return next(_cookies(headers, name), None)


def owner_of(headers: Mapping[str, str]) -> str:
    """Returns the hash of a request's voter cookie; without a cookie, a hash that owns nothing."""
    return cookie_hash(sent_cookie(headers) or "")


def with_cookie(
    headers: list[tuple[bytes, bytes]], cookie: str | None
) -> list[tuple[bytes, bytes]]:
    """Returns a request's raw headers with this voter cookie in place of the voter cookies that it sent."""
    sent = "; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie")
    pairs = [pair.strip() for pair in sent.split(";")]
    cookies = [pair for pair in pairs if pair and pair.partition("=")[0] != COOKIE]
    if cookie:
        cookies.append(f"{COOKIE}={cookie}")
    other_headers = [(name, value) for name, value in headers if name != b"cookie"]
    if not cookies:
        return other_headers
    return [*other_headers, (b"cookie", "; ".join(cookies).encode("latin-1"))]


def cookie_header(value: str, https: bool, name: str = COOKIE, seconds: int = YEAR_SECONDS) -> str:
    """Returns the Set-Cookie header: third-party and partitioned on https (a Space is a frame), Lax on plain http."""
    scope = "Secure; SameSite=None; Partitioned" if https else "SameSite=Lax"
    return f"{name}={value}; Max-Age={seconds}; Path=/; HttpOnly; {scope}"


def is_https(scope: Scope, headers: Headers) -> bool:
    """Whether the browser uses https, to this server or to the first of the proxies before it."""
    first_protocol = headers.get("x-forwarded-proto", "").partition(",")[0].strip()
    return scope["scheme"] == "https" or first_protocol == "https"


def _cookies(headers: Mapping[str, str], name: str) -> Iterator[str]:
    """Yields the values of our form under a cookie's name."""
    for pair in headers.get("cookie", "").split(";"):
        key, _, value = pair.strip().partition("=")
        if key == name and _SHAPE.fullmatch(value):
            yield value
