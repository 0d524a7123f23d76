"""Endpoint of an OpenAI-compatible server: its URL and key, its public name, and the removal of the key from texts.

Azure OpenAI has an address for each deployment,
`https://NAME.openai.azure.com/openai/deployments/MODEL?api-version=DATE`, and a newer one for all of them,
`https://NAME.openai.azure.com/openai/v1?api-version=preview`
(https://learn.microsoft.com/azure/ai-foundry/openai/reference and .../api-version-lifecycle). Both read the key from a
header of its own."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from urllib.parse import quote, quote_plus

import httpx2

from arena.network import is_public
from arena.types import Secret

_URL_FORM = re.compile(
    r"https?://(\[[0-9a-fA-F:.]+\]|[\w.-]+)"  # scheme, and an IPv6 address in brackets or another host
    r"(:\d{1,5})?"  # port
    r"(/[\w.~%/-]*)?"  # path
    r"(?P<query>(?<=[\w.~%/-])\?[^\s#]{0,300}+)?",  # query, but not right after the brackets
    re.ASCII,
)
"""The form of a base URL."""
_AZURE_PATH = re.compile(
    r"(?P<folder>[^?\s]{1,2000}/openai/(?P<place>deployments/[\w.~%-]{1,200}+|v1))(?:/chat/completions)?/?"
)
"""An Azure address without its query. `folder` is its base URL, also if the address includes the path of the call."""
_VERSION_FORM = re.compile(r"api-version=[\w.-]{1,40}", re.ASCII)
_AZURE_EXAMPLE = "https://NAME.openai.azure.com/openai/deployments/MODEL?api-version=2024-10-21"
_HIDDEN_URL_NOTE = "(Yours isn't shown, since it may hold a key.)"
_PRIVATE_ENDINGS = frozenset(
    "arpa corp home internal intranet invalid lan local localdomain localhost private test".split()
)
"""The last parts of names that only have a meaning on a private network."""
_KEY_FORM = re.compile(r"[!-~]{0,2000}")
_PERCENT_CODE = re.compile("%[0-9A-F]{2}")
_SHORTEST_KEY = 8
"""The minimum length of a key that is redacted: a shorter one also occurs in ordinary text."""


class EndpointError(ValueError):
    """Invalid endpoint URL or key; the message shows neither."""


class Credentials(NamedTuple):
    """The header with an endpoint's key."""

    header: str
    value: Secret


@dataclass(frozen=True)
class Endpoint:
    """Base URL of an OpenAI-compatible server, with its key."""

    base_url: str
    key: Secret
    owner: str | None = None
    """The supplier; None: the operator."""

    def __post_init__(self) -> None:
        url = _url(self.base_url)
        if url is None:
            raise EndpointError(
                "the address must look like https://api.example.org/v1, without user, password or query. "
                f"{_HIDDEN_URL_NOTE}"
            )
        path, question_mark, query = self.base_url.partition("?")
        azure = _AZURE_PATH.fullmatch(path)
        is_azure_query = azure is not None and _VERSION_FORM.fullmatch(query) is not None
        if question_mark and not is_azure_query:
            raise EndpointError(
                "the address has a query. Only an Azure address may have one, with api-version alone: "
                f"{_AZURE_EXAMPLE} {_HIDDEN_URL_NOTE}"
            )
        if azure and not question_mark and azure["place"] != "v1":
            raise EndpointError(
                "the address of an Azure deployment needs its api-version. "
                f"It looks like {_AZURE_EXAMPLE} {_HIDDEN_URL_NOTE}"
            )
        if not _KEY_FORM.fullmatch(self.key.reveal()):
            raise EndpointError(
                "the key has characters that keys never have, such as spaces. Copy it again."
            )
        if self.owner is not None and url.scheme != "https":
            raise EndpointError(
                "the address begins with http:, which would expose your key. Use https."
            )
        if self.owner is not None and url.port not in (None, 443):
            raise EndpointError(
                f"the address has port {url.port}, but only port 443 is allowed. Leave the port out."
            )

    @property
    def address(self) -> str:
        """The URL that identifies the server; the public sees `place_of` it."""
        _, question_mark, query = self.base_url.partition("?")
        return f"{self.folder.rstrip('/')}{question_mark}{query}"

    @property
    def folder(self) -> str:
        """URL to which `/chat/completions` is added, without a query."""
        path = self.base_url.partition("?")[0]
        match = _AZURE_PATH.fullmatch(path)
        return match["folder"] if match else path

    @property
    def query(self) -> Mapping[str, str]:
        """The query of every request: Azure's version of its API."""
        name, _, value = self.base_url.partition("?")[2].partition("=")
        return {name: value} if name else {}

    @property
    def credentials(self) -> Credentials:
        """The header with the key."""
        if self.query:
            return Credentials("api-key", self.key)
        return Credentials("authorization", Secret(f"Bearer {self.key.reveal()}"))

    def redact(self, text: str) -> str:
        """Returns the text without the key, also in its base64, hex and percent encodings."""
        redaction = KeyRedaction(self)
        return redaction.take(text) + redaction.rest

    @cached_property
    def key_spellings(self) -> tuple[str, ...]:
        """The key's `spellings`; none for a short key. (They make no pattern: `re` would cache it with the key.)"""
        key = self.key.reveal()
        return spellings(key) if len(key) >= _SHORTEST_KEY else ()


def place_of(base_url: str) -> str:
    """Returns the public name of a server: its host, unless it may be on the operator's own network.

    Public services have https, its usual port, and a global address or a name with a public ending.
    """
    unnamed = "the operator's own server"
    url = _url(base_url)
    if url is None or url.scheme != "https" or url.port not in (None, 443):
        return unnamed
    host = url.raw_host.decode().rstrip(".")
    return host if _is_public_host(host) else unnamed


def _is_public_host(host: str) -> bool:
    """Returns whether a host is a global IP address, or a name with a public ending."""
    try:
        return is_public(host)
    except ValueError:  # a name
        _, dot, ending = host.rpartition(".")
        is_word = ending.isalpha() or ending.startswith("xn--")
        return bool(dot) and is_word and ending not in _PRIVATE_ENDINGS


def _url(text: str) -> httpx2.URL | None:
    """Returns a base URL in parts; None if it hasn't the form of one."""
    if not _URL_FORM.fullmatch(text):
        return None
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL:
        return None
    has_valid_port = url.port is None or url.port < 2**16
    return url if has_valid_port else None


def spellings(secret: str) -> tuple[str, ...]:
    """Returns the spellings of a secret in a text: plain, escaped, in percent encoding, in hex, and in base64.

    Escapes are those of Python and JSON, some of whose writers also escape slashes. Hex digits have either case.
    """
    in_json = json.dumps(secret)[1:-1]
    in_percents = (quote(secret, safe=""), quote_plus(secret))
    in_hex = secret.encode().hex()
    plain = (
        secret,
        *in_percents,
        *(_PERCENT_CODE.sub(_in_lower_case, text) for text in in_percents),
        repr(secret)[1:-1],
        in_json,
        in_json.replace("/", "\\/"),
        in_hex,
        in_hex.upper(),
    )
    return tuple(dict.fromkeys([*plain, *sorted(_base64_cores(secret.encode()))]))


def _in_lower_case(code: re.Match[str]) -> str:
    return code[0].lower()


def _base64_cores(key: bytes) -> set[str]:
    """Returns the base64 text that the key always produces, for each offset in a longer text and in both alphabets.

    A character of base64 holds 6 bits, so characters at the key's ends may also depend on the bytes beside it.
    """
    cores = set()
    # 1 byte before the key reaches into the second character, 2 bytes into the third.
    for bytes_before, shared_before in ((0, 0), (1, 2), (2, 3)):
        encoded = base64.b64encode(bytes(bytes_before) + key).decode()
        end = len(encoded.rstrip("="))
        if encoded.endswith("="):
            end -= 1  # the last character before the padding has bits of the next byte too
        core = encoded[shared_before:end]
        cores.add(core)
        cores.add(core.translate(str.maketrans("+/", "-_")))
    return cores


class KeyRedaction:
    """Removal of a key from a text that comes in pieces of any size."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._spellings = endpoint.key_spellings
        self._most_held_back = max(map(len, self._spellings), default=1) - 1
        """The most characters that may begin a key: one less than its longest spelling."""
        self.rest = ""
        """The end of the text so far that may be the beginning of the key, held back until more comes."""

    def take(self, piece: str) -> str:
        """Returns the next text that can be shown."""
        text = self.rest + piece
        for spelling in self._spellings:
            text = text.replace(spelling, "[key]")
        end = max(0, len(text) - self._most_held_back)
        while end < len(text) and not self._may_begin(text[end:]):
            end += 1
        self.rest = text[end:]
        return text[:end]

    def _may_begin(self, text: str) -> bool:
        """Returns whether the text is the beginning of a spelling of the key."""
        return any(spelling.startswith(text) for spelling in self._spellings)
