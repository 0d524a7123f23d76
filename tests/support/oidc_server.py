"""An OpenID provider on loopback, as Hugging Face is one, as well or as badly as it is told."""

import base64
import hashlib
import json
import secrets
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import parse_qs, urlencode, urlsplit

CLIENT, SECRET = "our-client", "canary-oauth-secret"
CREDENTIALS = f"{CLIENT}:{SECRET}".encode()
Fault = Literal[
    "expired", "other client", "other nonce", "other issuer", "no name", "no subject", "no token", "two parts",
    "not JSON", "a list", "500", "moved", "other discovery",
]  # fmt: skip


@dataclass(frozen=True)
class Person:
    """Who is logged in at the provider."""

    sub: str
    name: str


class OidcServer:
    """A provider with one registered client; whoever comes is `person`, and agrees at once."""

    def __init__(self) -> None:
        self.person = Person("65f0c0ffee", "Anna")
        self.fault: Fault | None = None
        self.is_public = False
        """Whether our app is registered without a secret."""
        self.expires_in: object = 28_800
        """Seconds for which a token holds."""
        self.tokens: list[str] = []
        """The tokens that were given to who allowed more than a login."""
        self.asked: list[dict[str, str]] = []
        """What was asked at /authorize."""
        self._codes: dict[str, dict[str, str]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def environ(self) -> dict[str, str]:
        """The settings that a Space gives an app that uses this provider."""
        return {
            "OAUTH_CLIENT_ID": CLIENT,
            "OAUTH_CLIENT_SECRET": SECRET,
            "OAUTH_SCOPES": "openid profile write-discussions inference-api",
            "OPENID_PROVIDER_URL": self.address,
        }

    def discovery(self) -> dict[str, str]:
        issuer = "https://other.example" if self.fault == "other discovery" else self.address
        endpoints = {
            f"{name}_endpoint": f"{self.address}/{name}" for name in ("authorization", "token")
        }
        return {"issuer": issuer, **endpoints}

    def authorize(self, asked: dict[str, str]) -> str:
        """Return where the browser is sent back to, with a code that can be used once."""
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        self.asked.append(asked)
        code = secrets.token_urlsafe(8)
        self._codes[code] = {**asked, "sub": self.person.sub, "name": self.person.name}
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, sent: dict[str, str], who: str) -> bytes | None:
        """Return the answer to a code; None refuses it."""
        asked = self._codes.pop(sent.get("code", ""), None)
        us = "" if self.is_public else f"Basic {base64.b64encode(CREDENTIALS).decode()}"
        if asked is None or who != us or sent["redirect_uri"] != asked["redirect_uri"]:
            return None
        if asked["client_id"] != CLIENT or digest(sent["code_verifier"]) != asked["code_challenge"]:
            return None
        if self.fault in ("not JSON", "a list", "no token"):
            return {"not JSON": b"<html>", "a list": b"[]", "no token": b"{}"}[self.fault]
        token = "never-used"
        if asked["scope"] != "openid profile":
            token = f"hf_oauth_{secrets.token_hex(16)}-{asked['name']}"
            self.tokens.append(token)
        return json.dumps(
            {
                "id_token": self._id_token(asked),
                "access_token": token,
                "token_type": "bearer",
                "expires_in": self.expires_in,
                "scope": asked["scope"],
            }
        ).encode()

    def _id_token(self, asked: dict[str, str]) -> str:
        claims: dict[str, object] = {
            "iss": "https://other.example" if self.fault == "other issuer" else self.address,
            "aud": "other-client" if self.fault == "other client" else CLIENT,
            "nonce": "other" if self.fault == "other nonce" else asked["nonce"],
            "exp": int(time.time()) + (-3600 if self.fault == "expired" else 3600),
        }
        claims |= {} if self.fault == "no subject" else {"sub": asked["sub"]}
        claims |= {} if self.fault == "no name" else {"preferred_username": asked["name"]}
        parts = [
            base64.urlsafe_b64encode(json.dumps(part).encode()).decode()
            for part in ({"alg": "RS256"}, claims)
        ]
        return ".".join(parts if self.fault == "two parts" else [*parts, "signature"])

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path, query = urlsplit(self.path).path, urlsplit(self.path).query
                if path == "/authorization":
                    asked = {name: values[0] for name, values in parse_qs(query).items()}
                    self._answer(303, b"", location=provider.authorize(asked))
                elif provider.fault == "moved":
                    self._answer(302, b"", location=f"{provider.address}/elsewhere")
                else:
                    self._answer(
                        500 if provider.fault == "500" else 200,
                        json.dumps(provider.discovery()).encode(),
                    )

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                sent = {name: values[0] for name, values in parse_qs(body).items()}
                answer = provider.token(sent, self.headers.get("authorization", ""))
                self._answer(
                    400 if answer is None else 200, answer or b'{"error": "invalid_grant"}'
                )

            def _answer(self, status: int, body: bytes, location: str | None = None) -> None:
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                if location:
                    self.send_header("location", location)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


def digest(verifier: str) -> str:
    """What PKCE makes of a verifier."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
