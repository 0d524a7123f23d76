"""Voter cookies: random values that only the server can read, stored as hashes."""

import hashlib
import re
import secrets

COOKIE = "stereoscope_voter"
_SHAPE = re.compile(r"[A-Za-z0-9_-]{32}")
YEAR = 365 * 24 * 3600
"""In seconds."""


def new_cookie() -> str:
    """Return a fresh cookie value of 192 random bits."""
    return secrets.token_urlsafe(24)


def is_cookie(value: str | None) -> bool:
    """Whether a value has the form of our cookies."""
    return value is not None and _SHAPE.fullmatch(value) is not None


def cookie_hash(value: str) -> str:
    """Return the sha256 of a cookie, which is stored instead of it."""
    return hashlib.sha256(value.encode()).hexdigest()


def cookie_in(line: str, name: str = COOKIE) -> str | None:
    """Return the value of our cookie in a Cookie header; None if it does not have the form of our cookies."""
    pairs = (pair.strip().partition("=") for pair in line.split(";"))
    return next((value for sent, _, value in pairs if sent == name and is_cookie(value)), None)


def cookie_header(value: str, https: bool, name: str = COOKIE, seconds: int = YEAR) -> str:
    """Return the Set-Cookie header: third-party and partitioned on https (a Space is a frame), Lax on plain http."""
    where = "Secure; SameSite=None; Partitioned" if https else "SameSite=Lax"
    return f"{name}={value}; Max-Age={seconds}; Path=/; HttpOnly; {where}"
