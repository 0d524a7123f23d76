"""OpenID Connect client for login with Hugging Face: the authorization URL, and the account and token of a code.

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
"""The longest time of a login at the provider."""
SKEW_SECONDS = 60
"""Largest difference between the provider's clock and ours."""
_TIMEOUT_SECONDS = 10.0
"""The longest wait for the provider."""
SCOPES = "openid profile"
"""The scopes of a login: the person's identity."""
CREDITS_SCOPES = f"{SCOPES} inference-api"
"""The scopes to use a person's credits (https://huggingface.co/docs/hub/oauth#currently-supported-scopes)."""
PUBLISH_SCOPES = f"{SCOPES} write-discussions"
"""The scopes of a pull request in a person's name. Private repositories would need more."""
_TOKEN_SECONDS = 8 * 3600.0
"""The life of a token if the provider doesn't name one."""
_NO_IDENTITY = "Hugging Face didn't say who you are. Please log in again."
_START_TIME = re.compile(r"[0-9a-f]{8}")
"""The beginning of an attempt's key: seconds since 1970 in hexadecimal."""


class LoginError(ValueError):
    """A login failed. The message says why and what to do."""


class Attempt(NamedTuple):
    """Values that tie one login attempt to one browser, derived from its two cookies; none is stored."""

    state: str
    """The provider returns it to the redirect URI."""
    verifier: str
    """The provider gets its hash at first, and itself with the code (PKCE)."""
    nonce: str
    """The provider writes it into the id token."""

    @classmethod
    def from_key(cls, key: str, voter_cookie: str) -> "Attempt":
        """Returns the attempt of a key from `new_key`. Raises LoginError if it has expired."""
        # A key of another form counts as expired.
        started_at = int(key[:8], 16) if _START_TIME.match(key) else 0
        age = int(time.time()) - started_at
        if not 0 <= age <= ATTEMPT_SECONDS:
            raise LoginError(
                "This login took too long, or was started in another browser. Please log in again."
            )
        cookies = f"{key} {voter_cookie}"
        return cls(
            state=_digest(f"state {cookies}".encode()),
            verifier=_digest(f"verifier {cookies}".encode()),
            nonce=_digest(f"nonce {cookies}".encode()),
        )


class Grant(NamedTuple):
    """The result of a login: the account, and a token with the requested scopes."""

    account: Account
    token: Secret
    seconds: float
    """The life of the token."""


def new_key() -> str:
    """Returns a fresh attempt key in the form of our cookies: its start time and 144 random bits."""
    return f"{int(time.time()):08x}{secrets.token_urlsafe(18)}"


@dataclass(frozen=True)
class Provider:
    """Client of the provider; `oauth` holds our client id and secret."""

    oauth: OAuthSettings

    async def address(self, attempt: Attempt, redirect_uri: str, scopes: str) -> str:
        """Returns the authorization URL, for a person's browser. Raises LoginError."""
        parameters = {
            "response_type": "code",
            "client_id": self.oauth.client_id,
            "redirect_uri": redirect_uri,
            "scope": scopes,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": _digest(attempt.verifier.encode()),
            "code_challenge_method": "S256",
        }
        return f"{await self._endpoint('authorization_endpoint')}?{urlencode(parameters)}"

    async def grant(self, attempt: Attempt, code: str, redirect_uri: str) -> Grant:
        """Returns the account and the token of a code. Raises LoginError."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self.oauth.client_id,
            "code_verifier": attempt.verifier,
        }
        tokens = await self._request("POST", await self._endpoint("token_endpoint"), form)
        claims = _claims(tokens.get("id_token"))
        self._check_claims(claims, attempt)
        subject = claims.get("sub")
        name = claims.get("preferred_username")
        if not isinstance(subject, str) or not 0 < len(subject) <= 255:
            raise LoginError(_NO_IDENTITY)
        if not isinstance(name, str) or not 0 < len(name) <= 96:
            raise LoginError(_NO_IDENTITY)
        token = tokens.get("access_token")
        seconds = tokens.get("expires_in")
        return Grant(
            account=Account(subject, name),
            token=Secret(token if isinstance(token, str) else ""),
            seconds=seconds if isinstance(seconds, int | float) else _TOKEN_SECONDS,
        )

    def _check_claims(self, claims: dict[str, JSON], attempt: Attempt) -> None:
        """Raises LoginError for an id token of another client or another attempt, or an old one."""
        audience = claims.get("aud")
        expires = claims.get("exp")
        nonce = str(claims.get("nonce")).encode()
        is_from_provider = claims.get("iss") == self.oauth.provider
        is_for_us = audience in (self.oauth.client_id, [self.oauth.client_id])
        is_fresh = isinstance(expires, int | float) and expires > time.time() - SKEW_SECONDS
        is_of_attempt = hmac.compare_digest(nonce, attempt.nonce.encode())
        if not (is_from_provider and is_for_us and is_fresh and is_of_attempt):
            raise LoginError(
                "Hugging Face's reply doesn't belong to this login. Please log in again."
            )

    async def _endpoint(self, name: str) -> str:
        """Returns an endpoint that the provider publishes. Raises LoginError."""
        address = f"{self.oauth.provider}/.well-known/openid-configuration"
        configuration = await self._request("GET", address)
        endpoint = configuration.get(name)
        if configuration.get("issuer") != self.oauth.provider or not isinstance(endpoint, str):
            raise LoginError("Can't connect to Hugging Face properly. Please try again later.")
        return endpoint

    async def _request(
        self, method: str, address: str, form: dict[str, str] | None = None
    ) -> dict[str, JSON]:
        """Returns the JSON object of the provider's answer. `form`: the body of a POST. Raises LoginError."""
        client_secret = self.oauth.client_secret
        auth = (self.oauth.client_id, client_secret.reveal()) if form and client_secret else None
        try:
            async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS, verify=_tls()) as client:
                response = await client.request(method, address, data=form, auth=auth)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise LoginError(
                "Hugging Face isn't answering. Vote as a guest, or try again later."
            ) from error
        if response.status_code != 200:
            raise LoginError("Hugging Face refused this login. Please log in again.")
        return _json_object(response.content)


@cache
def _tls() -> ssl.SSLContext:
    """Returns a TLS context, cached because loading the certificates for each login would be slow."""
    return httpx.create_ssl_context()


def _claims(token: JSON) -> dict[str, JSON]:
    """Returns the claims of an id token. Raises LoginError if it can't be read."""
    parts = token.split(".") if isinstance(token, str) else []
    if len(parts) != 3:
        raise LoginError(_NO_IDENTITY)
    _, claims, _ = parts
    padding = "=" * (-len(claims) % 4)
    with suppress(ValueError):  # No base64, or a LoginError: no JSON object.
        return _json_object(base64.urlsafe_b64decode(claims + padding))
    raise LoginError(_NO_IDENTITY)


def _json_object(content: bytes) -> dict[str, JSON]:
    """Returns the JSON object in a reply. Raises LoginError."""
    with suppress(RowsError, UnicodeDecodeError):
        value = parse_json(content.decode())
        if isinstance(value, dict):
            return value
    raise LoginError("Hugging Face's reply can't be read. Please try again later.")


def _digest(data: bytes) -> str:
    """Returns the sha256 in base64url without padding, as PKCE's S256 has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
