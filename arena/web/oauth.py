"""OpenID Connect client for login with Hugging Face: the authorization URL, and what a code stands for.

The authorization code flow with PKCE (RFC 6749, 7636; OpenID Connect Core 3.1). The id token comes from the provider's
token endpoint over TLS, which stands in for its signature (3.1.3.7, rule 6).
"""

import base64
import hashlib
import hmac
import re
import secrets
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple
from urllib.parse import urlencode

import httpx

from arena.battles.voters import Account
from arena.io.strict_json import JSON, RowsError, parse_json
from arena.settings import OAuthSettings
from arena.types import Secret

ATTEMPT_SECONDS = 600
"""How long a login may take at the provider."""
SKEW_SECONDS = 60
"""Largest difference between the provider's clock and ours."""
_SECONDS = 10.0
SCOPES = "openid profile"
"""What a login asks for: who somebody is."""
CREDITS_SCOPES = f"{SCOPES} inference-api"
"""What the use of somebody's credits asks for (https://huggingface.co/docs/hub/oauth#currently-supported-scopes)."""
PUBLISH_SCOPES = f"{SCOPES} write-discussions"
"""What a pull request in somebody's name asks for; private repositories would need more."""
_TOKEN_SECONDS = 8 * 3600.0
"""How long a token is taken to hold where the provider does not say."""
_NOBODY = "Hugging Face did not say who you are. Please log in again."
_BEGUN = re.compile(r"[0-9a-f]{8}")


class LoginError(ValueError):
    """A login failed; the message says why and what to do."""


class Attempt(NamedTuple):
    """Values that tie one login attempt to one browser, derived from its two cookies; none is stored."""

    state: str
    verifier: str
    nonce: str

    @classmethod
    def of(cls, key: str, voter_cookie: str) -> "Attempt":
        """Return the attempt of a key from `new_key`. Raises LoginError if it has expired."""
        begun = int(key[:8], 16) if _BEGUN.match(key) else 0
        if not 0 <= int(time.time()) - begun <= ATTEMPT_SECONDS:
            raise LoginError(
                "This login took too long, or was begun in another browser. Please log in again."
            )
        return cls(*(_digest(f"{what} {key} {voter_cookie}".encode()) for what in cls._fields))


class Grant(NamedTuple):
    """What a login brought: the account, and a token with the scopes that were asked for."""

    account: Account
    token: Secret
    seconds: float
    """How long the token holds."""


def new_key() -> str:
    """Return a fresh attempt key in the form of our cookies: its start time and 144 random bits."""
    return f"{int(time.time()):08x}{secrets.token_urlsafe(18)}"


@dataclass(frozen=True)
class Provider:
    """Client of the provider; `oauth` holds our client id and secret."""

    oauth: OAuthSettings

    async def address(self, attempt: Attempt, back: str, scopes: str) -> str:
        """Return the authorization URL, with `back` as the redirect URI. Raises LoginError."""
        asked = {
            "response_type": "code",
            "client_id": self.oauth.client_id,
            "redirect_uri": back,
            "scope": scopes,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": _digest(attempt.verifier.encode()),
            "code_challenge_method": "S256",
        }
        return f"{await self._endpoint('authorization_endpoint')}?{urlencode(asked)}"

    async def grant(self, attempt: Attempt, code: str, back: str) -> Grant:
        """Return what a code stands for. Raises LoginError."""
        sent = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back,
            "client_id": self.oauth.client_id,
            "code_verifier": attempt.verifier,
        }
        answer = await self._ask("POST", await self._endpoint("token_endpoint"), sent)
        claims = _claims(answer.get("id_token"))
        self._check(claims, attempt)
        subject = claims.get("sub")
        name = claims.get("preferred_username")
        if not (
            isinstance(subject, str)
            and isinstance(name, str)
            and 0 < len(subject) <= 255
            and 0 < len(name) <= 96
        ):
            raise LoginError(_NOBODY)
        token = answer.get("access_token")
        seconds = answer.get("expires_in")
        return Grant(
            account=Account(subject, name),
            token=Secret(token if isinstance(token, str) else ""),
            seconds=seconds if isinstance(seconds, int | float) else _TOKEN_SECONDS,
        )

    def _check(self, claims: dict[str, JSON], attempt: Attempt) -> None:
        """Refuse an id token for another client or another attempt, or one that is too old. Raises LoginError."""
        audience = claims.get("aud")
        expires = claims.get("exp")
        for_us = audience in (self.oauth.client_id, [self.oauth.client_id])
        fresh = isinstance(expires, int | float) and expires > time.time() - SKEW_SECONDS
        same = hmac.compare_digest(str(claims.get("nonce")).encode(), attempt.nonce.encode())
        if not (claims.get("iss") == self.oauth.provider and for_us and fresh and same):
            raise LoginError(
                "What Hugging Face answered does not belong to this login. Please log in again."
            )

    async def _endpoint(self, name: str) -> str:
        """Return one of the endpoints that the provider publishes. Raises LoginError."""
        found = await self._ask("GET", f"{self.oauth.provider}/.well-known/openid-configuration")
        endpoint = found.get(name)
        if found.get("issuer") != self.oauth.provider or not isinstance(endpoint, str):
            raise LoginError(
                "Hugging Face cannot be reached as it should be. Please try again later."
            )
        return endpoint

    async def _ask(
        self, method: str, address: str, sent: dict[str, str] | None = None
    ) -> dict[str, JSON]:
        client_secret = self.oauth.client_secret
        us = (self.oauth.client_id, client_secret.reveal()) if sent and client_secret else None
        try:
            async with httpx.AsyncClient(timeout=_SECONDS, verify=_tls()) as client:
                answer = await client.request(method, address, data=sent, auth=us)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise LoginError(
                "Hugging Face does not answer. You can vote as a guest; try again later."
            ) from error
        if answer.status_code != 200:
            raise LoginError("Hugging Face refused this login. Please log in again.")
        return _object(answer.content)


@cache
def _tls() -> ssl.SSLContext:
    """Return a TLS context, cached: loading the certificates for each login would be slow."""
    return httpx.create_ssl_context()


def _claims(token: JSON) -> dict[str, JSON]:
    """Return the claims of an id token. Raises LoginError if it cannot be read."""
    parts = token.split(".") if isinstance(token, str) else []
    with suppress(ValueError):
        if len(parts) == 3:
            return _object(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    raise LoginError(_NOBODY)


def _object(content: bytes) -> dict[str, JSON]:
    with suppress(RowsError, UnicodeDecodeError):
        found = parse_json(content.decode())
        if isinstance(found, dict):
            return found
    raise LoginError("Hugging Face answered something else than JSON. Please try again later.")


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
