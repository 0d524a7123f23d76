"""Endpoint of an OpenAI-compatible server: its URL and key, its public name, and the removal of the key from texts.

Azure OpenAI has an address for each deployment,
`https://NAME.openai.azure.com/openai/deployments/MODEL?api-version=DATE`, and a newer one for all of them,
`https://NAME.openai.azure.com/openai/v1?api-version=preview`
(https://learn.microsoft.com/azure/ai-foundry/openai/reference and .../api-version-lifecycle). Both read the key from a
header of its own."""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, quote_plus

import httpx2

from arena.network import is_public
from arena.types import Secret

_FORM = re.compile(
    r"https?://(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?(/[\w.~%/-]*)?(?P<query>(?<=[\w.~%/-])\?[^\s#]{0,300}+)?",
    re.ASCII,
)
_AZURE = re.compile(
    r"(?P<folder>[^?\s]{1,2000}/openai/(?P<place>deployments/[\w.~%-]{1,200}+|v1))(?:/chat/completions)?/?"
)
_VERSION = re.compile(r"api-version=[\w.-]{1,40}", re.ASCII)
_AZURE_FORM = "https://NAME.openai.azure.com/openai/deployments/MODEL?api-version=2024-10-21"
_NOT_SHOWN = "(Yours isn't shown, since it may hold a key.)"
_INNER = frozenset(
    "arpa corp home internal intranet invalid lan local localdomain localhost private test".split()
)
"""The last parts of names that only have a meaning on a private network."""
_KEY = re.compile(r"[!-~]{0,2000}")
_SHORTEST = 8
"""The minimum length of a key that is redacted: a shorter one also occurs in ordinary text."""


class EndpointError(ValueError):
    """Invalid endpoint URL or key; the message shows neither."""


@dataclass(frozen=True)
class Endpoint:
    """Base URL of an OpenAI-compatible server, with its key."""

    base_url: str
    key: Secret
    owner: str | None = None
    """The supplier; None: the operator."""

    def __post_init__(self) -> None:
        url = _url(self.base_url) if _FORM.fullmatch(self.base_url) else None
        if url is None:
            raise EndpointError(
                "the address must look like https://api.example.org/v1, without user, password or query. "
                f"{_NOT_SHOWN}"
            )
        path, mark, query = self.base_url.partition("?")
        azure = _AZURE.fullmatch(path)
        if mark and not (azure and _VERSION.fullmatch(query)):
            raise EndpointError(
                "the address has a query. Only an Azure address may have one, with api-version alone: "
                f"{_AZURE_FORM} {_NOT_SHOWN}"
            )
        if azure and not mark and azure["place"] != "v1":
            raise EndpointError(
                f"the address of an Azure deployment needs its api-version. It looks like {_AZURE_FORM} {_NOT_SHOWN}"
            )
        if not _KEY.fullmatch(self.key.reveal()):
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
        version = "".join(f"?{name}={value}" for name, value in self.query.items())
        return f"{self.folder.rstrip('/')}{version}"

    @property
    def folder(self) -> str:
        """URL to which `/chat/completions` is added, without a query."""
        path = self.base_url.partition("?")[0]
        match = _AZURE.fullmatch(path)
        return match["folder"] if match else path

    @property
    def query(self) -> Mapping[str, str]:
        """The query of every request: Azure's version of its API."""
        name, _, value = self.base_url.partition("?")[2].partition("=")
        return {name: value} if name else {}

    @property
    def credentials(self) -> tuple[str, Secret]:
        """The header with the key, and its value."""
        if self.query:
            return "api-key", self.key
        return "authorization", Secret(f"Bearer {self.key.reveal()}")

    def redacted(self, text: str) -> str:
        """Returns the text without the key, also in its base64, hex and percent encodings."""
        redaction = KeyRedaction(self)
        return redaction.take(text) + redaction.rest

    @cached_property
    def traces(self) -> tuple[str, ...]:
        """The spellings of the key. (They are no pattern, since `re` would cache it.)"""
        key = self.key.reveal()
        return spellings(key) if len(key) >= _SHORTEST else ()


def place_of(base_url: str) -> str:
    """Returns the public name of a server: its host, unless it may be on the operator's own network.

    Public services have https, its usual port, and a global address or a name with a public ending.
    """
    url = _url(base_url) if _FORM.fullmatch(base_url) else None
    host = (
        url.raw_host.decode().rstrip(".")
        if url and url.scheme == "https" and url.port in (None, 443)
        else ""
    )
    return host if _is_open(host) else "the operator's own server"


def _is_open(host: str) -> bool:
    try:
        return is_public(host)
    except ValueError:
        _, dot, ending = host.rpartition(".")
        return (
            bool(dot) and ending not in _INNER and (ending.isalpha() or ending.startswith("xn--"))
        )


def _url(text: str) -> httpx2.URL | None:
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL:
        return None
    return url if (url.port or 0) < 2**16 else None


def spellings(secret: str) -> tuple[str, ...]:
    """Returns the spellings of a secret in a text: plain, quoted, in percent encoding, in hex, and in base64."""
    plain = (
        secret,
        quote(secret, safe=""),
        quote_plus(secret),
        repr(secret)[1:-1],
        secret.encode().hex(),
    )
    return tuple(dict.fromkeys([*plain, *sorted(_base64_cores(secret.encode()))]))


def _base64_cores(key: bytes) -> set[str]:
    """Returns the base64 text that the key always produces, for each offset in a longer text and in both alphabets."""
    cores = set()
    for before in range(3):
        whole = base64.b64encode(bytes(before) + key).decode()
        shared = len(whole.rstrip("=")) - (1 if whole.endswith("=") else 0)
        core = whole[(0, 2, 3)[before] : shared]
        cores |= {core, core.translate(str.maketrans("+/", "-_"))}
    return cores


class KeyRedaction:
    """Removal of a key from a text that comes in pieces of any size."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._traces = endpoint.traces
        self._longest = max(map(len, self._traces), default=1) - 1
        self.rest = ""
        """The end of the text so far that may be the beginning of the key, held back until more comes."""

    def take(self, piece: str) -> str:
        """Returns the next text that can be shown."""
        text = self.rest + piece
        for trace in self._traces:
            text = text.replace(trace, "[key]")
        end = max(0, len(text) - self._longest)
        while end < len(text) and not self._may_begin(text[end:]):
            end += 1
        self.rest = text[end:]
        return text[:end]

    def _may_begin(self, text: str) -> bool:
        """Returns whether the text is the beginning of a spelling of the key."""
        return any(trace.startswith(text) for trace in self._traces)
