"""Voter cookies: random values that only the server can read, stored as hashes."""

import hashlib
import re
import secrets
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.types import Scope

COOKIE = "stereoscope_voter"
_SHAPE = re.compile(r"[A-Za-z0-9_-]{32}")
YEAR = 365 * 24 * 3600
"""In seconds."""
NO_STORE = {"cache-control": "private, no-store", "x-robots-tag": "noindex"}
"""Headers of an answer that is for the holder of a cookie alone."""


def new_cookie() -> str:
    """Return a fresh cookie value of 192 random bits."""
    return secrets.token_urlsafe(24)


def cookie_hash(value: str) -> str:
    """Return the sha256 of a cookie, which is stored instead of it."""
    return hashlib.sha256(value.encode()).hexdigest()


def sent_cookie(headers: Mapping[str, str], name: str = COOKIE) -> str | None:
    """Return a cookie of ours from a request's headers; None if it does not have the form of our cookies."""
    pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
    return next((value for sent, _, value in pairs if sent == name and _SHAPE.fullmatch(value)), None)


def cookie_header(value: str, https: bool, name: str = COOKIE, seconds: int = YEAR) -> str:
    """Return the Set-Cookie header: third-party and partitioned on https (a Space is a frame), Lax on plain http."""
    where = "Secure; SameSite=None; Partitioned" if https else "SameSite=Lax"
    return f"{name}={value}; Max-Age={seconds}; Path=/; HttpOnly; {where}"


def over_https(scope: Scope, headers: Headers) -> bool:
    """Whether the browser uses https, with us or with the proxy in front of us."""
    return scope["scheme"] == "https" or headers.get("x-forwarded-proto") == "https"
