"""Troubles of calls to an OpenAI-compatible server: each error in our own words, and the time to try again.

A server's error text may echo the key and name the model. So its sentence is separate from our words, shortened and
without secrets.
"""

import asyncio
import json
import math
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Literal, NamedTuple

from arena.io.strict_json import storable

_MOST_BACKOFF = 8.0
"""Seconds."""


class Tokens(NamedTuple):
    """Tokens of a call as the server counted them."""

    prompt: int
    completion: int


TroubleKind = Literal[
    "again",
    "loading",
    "busy",
    "slow",
    "bad reply",
    "too big",
    "refused",
    "field",
    "spent",
    "hopeless",
    "unknown",
]
PASSING = frozenset[TroubleKind](("again", "loading", "busy", "slow", "bad reply"))
"""The troubles after which the same call may succeed."""
STOPPING = frozenset[TroubleKind](("spent", "hopeless", "unknown"))
"""The troubles that every other call would have too."""


@dataclass(eq=False)
class Trouble(Exception):
    """A call without a (whole) answer, in our own words.

    Some kinds pass: again (the server or the network failed), loading (the model is not in memory yet), busy (too many
    calls at the moment), slow, bad reply. Others concern this prompt only: too big, refused. field: the model does not
    take a field that was sent; spent: the account is empty; unknown: the server has no such model, or not any more;
    hopeless: no call will succeed.
    """

    kind: TroubleKind
    words: str
    wait: float | None = None
    """The seconds that the server asks to wait."""
    tokens: Tokens | None = None
    fields: frozenset[str] = frozenset()
    """The request's fields that the server's error names."""
    reason: str = ""
    """The server's own sentence, bounded and without secrets; it may name the model."""
    status: int | None = None
    """The HTTP status of a refusal: always 402 for an empty account and 404 for no such model."""

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, kw_only=True)
class Retries:
    """A retry policy: waits as the server asks, or else short growing ones."""

    attempts: int = 8
    backoff: float = 0.05
    """Seconds before the second attempt; tripled before each further one, up to 8."""
    patience: float = 120.0
    """The most seconds to wait, even if the server asks for more."""

    def seconds_to_wait(self, attempt: int, requested: float | None) -> float:
        """Returns the seconds to wait after an attempt (from 1), with jitter, so that calls don't retry together."""
        if requested is not None:
            return min(requested, self.patience) + self.backoff * random.uniform(0.0, 0.5)
        return min(self.backoff * 3 ** (attempt - 1), _MOST_BACKOFF) * random.uniform(0.5, 1.0)

    async def wait_to_retry(self, attempt: int, trouble: Trouble) -> bool:
        """Waits before the next attempt; returns False if there is none."""
        if trouble.kind not in PASSING or attempt >= self.attempts:
            return False
        await asyncio.sleep(self.seconds_to_wait(attempt, trouble.wait))
        return True


_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|h|m|s)", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
"""The seconds of each unit."""
_BAD_REQUEST = (400, 413, 422)
_LOADING_STATUSES = (409, 425, 429)
"""The statuses below 500 that servers send while a model is being loaded."""
_LOADING = re.compile(
    # "is currently loading"
    r"\b(?:is|are|still|currently|being|model) (?:\w{1,20} )?(?:loading|warming up|starting up|initiali[sz]ing)\b"
    r"|\b(?:loading|initiali[sz]ing|warming up) (?:the )?(?:model|weights|engine)"  # "Loading model"
    r"|\bcold start|\bbeing loaded|not (?:yet )?(?:loaded|ready)"
    r"|\bscal(?:ing|ed) (?:up|to zero)"
)
_LOAD_FAILED = re.compile(
    r"fail|could not|cannot|can't|unable|error (?:while )?loading|no such|out of memory"
)
_LOADING_SECONDS = 5.0
"""The wait for a model that is being loaded, if its server asks for none."""
_MOST_ESTIMATE = 86_400.0
"""The most seconds of a believable estimate."""
_STATUS_OF_KIND: Mapping[TroubleKind, int] = {"spent": 402, "unknown": 404}
"""The statuses that stand for some troubles, whichever status the server sent."""
_WITHOUT_REASON = frozenset[TroubleKind](("hopeless", "spent", "unknown"))
"""Troubles whose sentence isn't given as a reason: it's about the key or the account, or already in our words."""
_KEY_REFUSED = re.compile(r"api.?key|authenticat|credential|unauthori[sz]ed")
_QUOTA = re.compile(r"insufficient_quota|billing|credit|exceeded your current quota|payment")
_RATE_LIMIT_CODE = "rate_limit_exceeded"
"""The code of a limit that passes; the sentences of OpenAI and Groq beside it name their billing pages."""
_NO_MODEL = re.compile(
    r"model_?not_?found|unknown_?model|invalid_?model|deployment_?not_?found"  # codes
    r"|(?:invalid|not a valid) model|no endpoints found"
    # "the model x does not exist", with no other model named in between
    r"|\b(?:models?|deployment)\b(?:(?!\b(?:models?|deployment)\b).)*"
    r"(?:not found|not exist|not a valid|unknown|not supported by|not available)"
)
_NO_PROVIDER = re.compile(r"model_not_supported|not supported by any provider")
"""The sentence of Hugging Face's router if none of the key owner's providers serves a model."""
_RETIRED = re.compile(
    r"decommission|deprecated|retired|sunset|discontinued|end[ -]of[ -]life|no longer (?:supported|available|offered)"
    r"|shut down"
)
_NO_ACCESS = re.compile(r"(?:not|n['’]t) have access|no access|access to (?:the )?model")
_ABOUT_MODEL = re.compile(r"\b(?:models?|deployment)\b|model_|deployment_|modelnot|deploymentnot")
_PAGE_START = re.compile(r"\s*<")
_SECRET = re.compile(
    r"(?i:bearer|basic)\s+[^\s'\",)]{4,}+"  # a header: "Bearer x1y2"
    r"|\b(?:sk|pk|gsk|xai|hf|key|org|proj)[-_][\w-]{6,}+"  # a known prefix: "sk-x1y2z3"
    r"|\b[A-Za-z0-9+/_]{32,}+={0,2}"  # hex or base64
    r"|\b(?i:[a-z][a-z0-9+.-]{0,15}://)[^\s/]{0,200}@"  # "https://user:password@"
    # any other prefix, before digits and capitals: "abc-x1Y2x1Y2x1Y2x1Y2"
    r"|\b[a-z][a-z0-9]{0,10}[-_](?=[\w-]{0,60}\d)(?=[\w-]{0,60}[A-Z])[\w-]{16,}+"
    r"|\b(?:AIza|AKIA|ASIA|eyJ)[\w-]{8,}+(?:\.[\w-]{1,4000}+){0,2}"  # keys of Google and AWS, JSON web tokens
    # a name and its value: "api_key=x1y2", "token: Bearer x1y2"
    r"|(?i:(?:api[ _-]?key|(?<![a-z])key(?==)|token|secret|passw(?:or)?d|pwd|signature|authorization|credentials?)"
    r"[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?:(?:bearer|basic|token)\s{1,3})?[^\s'\",;&)]{4,}+)"
)
"""Texts that look like a key, a token or an account in a server's sentence."""
_SENTENCE_FIELDS = ("message", "msg", "error_msg", "error", "detail", "errors", "description")
"""The fields of an error with its sentence, or a part of it, in the forms of different servers."""
_MOST_DEPTH = 4
_MOST_SOURCE = 4000
"""The most characters of a server's error that are made into a sentence."""
_MOST_SENTENCE = 200
"""The most characters of a server's sentence."""
_POLICY = re.compile(
    r"content_?(filter|policy)|content management policy|responsible_?ai|safety|invalid_prompt|flagged"
)
_TOO_LONG = re.compile(
    r"context.?length|maximum context|too (?:long|large|many)|string_above_max|reduce the length"
)
_FIELD_REFUSED = re.compile(
    r"unsupported|unrecognized|not support|extra inputs|unknown (field|parameter|name)|unexpected (field|keyword)"
)
_REQUEST_FIELDS = frozenset(
    "temperature max_tokens max_completion_tokens n seed response_format stream_options".split()
)
"""The fields of a request that some models don't take."""
_WORD = re.compile(r"\w+")


def refusal(
    status: int,
    headers: Mapping[str, str],
    body: object,
    redact: Callable[[str], str] = lambda text: text,
) -> Trouble:
    """Returns the Trouble of an HTTP status other than 200, with its headers and decoded body.

    `redact` removes the endpoint's key from a text.
    """
    if isinstance(body, list) and len(body) == 1:
        body = body[0]  # Gemini sends errors in a list.
    trouble = _trouble_of_status(status, headers, body, redact)
    trouble.status = _STATUS_OF_KIND.get(trouble.kind, status)
    if trouble.kind not in _WITHOUT_REASON:
        trouble.reason = _sentence(_error_in(body), redact)
    return trouble


def _error_in(body: object) -> object:
    """Returns the error in a body, which may be the whole body."""
    if isinstance(body, dict):
        return body.get("error") or body
    return body


def _trouble_of_status(
    status: int,
    headers: Mapping[str, str],
    body: object,
    redact: Callable[[str], str],
) -> Trouble:
    """Returns the Trouble of a status, without its `status` and `reason`."""
    error = _error_in(body)
    text = json.dumps(error, ensure_ascii=False) if isinstance(error, dict) else str(error)
    text = text[:5000].lower()
    lacks_quota = _QUOTA.search(text) and _RATE_LIMIT_CODE not in text
    if status == 402 or (status in (403, 429) and lacks_quota):
        return Trouble("spent", "the account has no quota or credit left. Add some, then resume")
    if status in (404, 410) or (status == 403 and _lacks_model(text)):
        return Trouble("unknown", _unknown_model(status, text, _sentence(error, redact)))
    if status in (401, 403) or (status in _BAD_REQUEST and _KEY_REFUSED.search(text)):
        return Trouble(
            "hopeless",
            f"the server doesn't accept the key ({status}). Check the key and its permissions",
        )
    if (status in _LOADING_STATUSES or status >= 500) and is_loading(text, body):
        wait = asked_wait(headers) or _estimated_time(body) or _LOADING_SECONDS
        return Trouble("loading", "the model is still loading", wait)
    if status == 429:
        return Trouble("busy", "the server's rate limit is reached (429)", asked_wait(headers))
    if status in (408, 409, 425) or status >= 500:
        return Trouble("again", f"the server has an error ({status})", asked_wait(headers))
    if status in _BAD_REQUEST:
        return _bad_request(status, text, error, redact)
    return Trouble(
        "hopeless",
        f"the server answered {status}, which isn't a chat completion. Check the address",
    )


def is_loading(text: str, body: object) -> bool:
    """Returns whether an error says that the model is not in memory yet; `text` is the error in lower case.

    Such errors come from llama.cpp's server ("Loading model"), from Hugging Face ("Model ... is currently loading",
    with `estimated_time`), and from servers that scale from zero.
    """
    if _estimated_time(body) is not None:
        return True
    return bool(_LOADING.search(text)) and not _LOAD_FAILED.search(text)


def _estimated_time(body: object) -> float | None:
    """Returns the seconds until the model is loaded, by Hugging Face's estimate."""
    seconds = body.get("estimated_time") if isinstance(body, dict) else None
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        return None
    return float(seconds) if 0 <= seconds < _MOST_ESTIMATE else None


def _bad_request(status: int, text: str, error: object, redact: Callable[[str], str]) -> Trouble:
    """Distinguishes a request that is wrong for every prompt from one that is wrong for this prompt only."""
    param = error.get("param") if isinstance(error, dict) else None
    is_known_field = isinstance(param, str) and param in _REQUEST_FIELDS
    fields = _REQUEST_FIELDS & set(_WORD.findall(text))
    if _NO_PROVIDER.search(text):
        return Trouble("unknown", _unknown_model(status, text, _sentence(error, redact)))
    if _POLICY.search(text):
        return Trouble("refused", "the server's content policy refuses this prompt")
    if status == 413 or _TOO_LONG.search(text):
        return Trouble("too big", "the prompt is too long for the model", fields=fields)
    if is_known_field or _FIELD_REFUSED.search(text):
        name = param if is_known_field else "a field of the request"
        return Trouble("field", f"the model doesn't accept {name}", fields=fields)
    if _lacks_model(text) and not fields:
        return Trouble("unknown", _unknown_model(status, text, _sentence(error, redact)))
    return Trouble("refused", f"the server refuses this prompt ({status})", fields=fields)


def _lacks_model(text: str) -> bool:
    """Returns whether an error says that the server has no such model, no longer has it, or not for this key."""
    if _NO_MODEL.search(text):
        return True
    is_gone = _RETIRED.search(text) or _NO_ACCESS.search(text)
    return bool(is_gone and _ABOUT_MODEL.search(text))


def _unknown_model(status: int, text: str, sentence: str) -> str:
    """Returns the words for a model or address that a server doesn't have, with the server's own sentence.

    `text` is its whole error in lower case.
    """
    if not _ABOUT_MODEL.search(text):
        words = f"the server doesn't know this model or address ({status}). Check their spelling"
    elif _RETIRED.search(text):
        words = f"the server no longer offers this model ({status}). Choose another"
    elif _NO_ACCESS.search(text):
        words = (
            f"this key has no access to the model ({status}). Check its spelling, or choose another"
        )
    else:
        words = (
            f"the server doesn't know this model ({status}). Check its spelling, or choose another"
        )
    return f"{words}. The server says: {sentence!r}" if sentence else words


def _sentence(error: object, redact: Callable[[str], str]) -> str:
    """Returns the sentence of a server's error, shortened and without possible secrets; "" for an HTML page."""
    text = _first_text(error)
    if _PAGE_START.match(text):
        return ""
    plain = " ".join(storable(redact(text[:_MOST_SOURCE])).split())
    hidden = _SECRET.sub("[hidden]", plain)
    return hidden if len(hidden) <= _MOST_SENTENCE else f"{hidden[:_MOST_SENTENCE]}..."


def _first_text(error: object, depth: int = 0) -> str:
    """Returns the first text of an error, in any server's form; OpenRouter adds the text of a model's own server."""
    if isinstance(error, str):
        return error
    if depth > _MOST_DEPTH:
        return ""
    if isinstance(error, list):
        return _first_of(error[:10], depth)
    if not isinstance(error, dict):
        return ""
    text = _first_of([error.get(name) for name in _SENTENCE_FIELDS], depth)
    metadata = error.get("metadata")
    own_server_text = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(own_server_text, str) and own_server_text:
        return f"{text}: {own_server_text}"
    return text


def _first_of(parts: Sequence[object], depth: int) -> str:
    for part in parts:
        text = _first_text(part, depth + 1)
        if text:
            return text
    return ""


def asked_wait(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Returns the seconds that headers ask to wait: `retry-after` (RFC 9110 10.2.3), or the reset of used-up limits.

    None if they don't ask. `now` is the Unix time; by default the clock's.
    """
    if now is None:
        now = time.time()
    for name, unit in (("retry-after-ms", "ms"), ("retry-after", "s")):
        if (seconds := _header_seconds(headers.get(name, ""), unit, now)) is not None:
            return seconds
    used_up = [
        name
        for name in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{name}") == "0"
    ]
    resets = [
        _header_seconds(headers.get(f"x-ratelimit-reset-{name}", ""), "s", now) for name in used_up
    ]
    return max((seconds for seconds in resets if seconds is not None), default=None)


def _header_seconds(text: str, unit: str, now: float) -> float | None:
    """Returns the seconds in a header: a number of units, a duration as in 6m0s, or a date. None for anything else."""
    try:
        seconds = float(text) * _UNITS[unit]
    except ValueError:
        if parts := _DURATION.findall(text):
            return sum(float(amount) * _UNITS[name] for amount, name in parts)
        seconds = _seconds_to_date(text, now)
    if seconds is None or not math.isfinite(seconds):
        return None
    return max(seconds, 0.0)


def _seconds_to_date(text: str, now: float) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp() - now
    except (ValueError, OverflowError):  # No date, or one with an impossible year.
        return None


def token_counts(usage: object) -> Tokens | None:
    """Returns the token counts of a reply's `usage`; a prompt of 0 tokens is no count."""
    if not isinstance(usage, Mapping):
        return None
    prompt = _token_count(usage.get("prompt_tokens"))
    completion = _token_count(usage.get("completion_tokens"))
    if not prompt or completion is None:
        return None
    return Tokens(prompt, completion)


def _token_count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 10**9 else None
