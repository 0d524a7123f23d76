"""Who votes: a random cookie that only the server can read, kept as its hash."""

import hashlib
import re
import secrets

COOKIE = "stereoscope_voter"
_SHAPE = re.compile(r"[A-Za-z0-9_-]{32}")
_YEAR = 365 * 24 * 3600


def new_cookie() -> str:
    """Return a fresh cookie value of 192 random bits."""
    return secrets.token_urlsafe(24)


def is_cookie(value: str | None) -> bool:
    """Tell whether a value has the shape of our cookies."""
    return value is not None and _SHAPE.fullmatch(value) is not None


def cookie_hash(value: str) -> str:
    """Return what is stored of a cookie: its sha256."""
    return hashlib.sha256(value.encode()).hexdigest()


def cookie_header(value: str, https: bool) -> str:
    """Return the Set-Cookie line: third-party and partitioned on https (a Space is a frame), Lax on plain http."""
    where = "Secure; SameSite=None; Partitioned" if https else "SameSite=Lax"
    return f"{COOKIE}={value}; Max-Age={_YEAR}; Path=/; HttpOnly; {where}"
