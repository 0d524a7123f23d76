"""Judge replies: parses a server's response into an answer, or into a trouble in our own words.

A server's text is used for nothing but the answer: an error may echo the key.
"""

import json
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import mktime_tz, parsedate_tz
from typing import Any, Literal

LONGEST_WAIT = 120.0
"""Maximum wait in seconds, whatever the server asks for."""

_GATEWAY_TIMEOUTS = (504, 524)
"""Proxy statuses for a reply that came too late: the model may have run."""
_KEY = re.compile(r"api.?key|authenticat|credential|unauthori[sz]ed")
_QUOTA = re.compile(r"insufficient_quota|billing|credit|exceeded your current quota|payment")
_MODEL = re.compile(
    r"model_not_found|\bmodel\b(?:(?!\bmodel\b).)*(?:not found|not exist|not a valid|unknown|not supported by)"
)
_POLICY = re.compile(
    r"content_?(filter|policy)|content management policy|responsible_?ai|safety|invalid_prompt|flagged"
)
_LENGTH = re.compile(
    r"context_length|context length|maximum context|too long|too large|string_above_max|reduce the length"
)
_FIELD = re.compile(
    r"unsupported|unrecognized|not support|extra inputs|unknown (field|parameter|name)|unexpected (field|keyword)"
)
_FIELDS = frozenset("temperature max_tokens max_completion_tokens n seed logprobs response_format".split())


@dataclass(frozen=True)
class Usage:
    """Tokens counted by the server."""

    prompt: int
    completion: int


@dataclass(frozen=True)
class JudgeAnswer:
    """Complete, well-formed reply."""

    texts: tuple[str, ...]
    finish: tuple[str, ...]
    model: str
    usage: Usage | None
    reasons: bool
    """Whether the model reasoned before it replied, as far as the reply shows."""
    logprobs: bool


@dataclass(frozen=True)
class Trouble:
    """Failed call: what came instead of an answer."""

    kind: Literal["again", "busy", "refused", "field", "hopeless"]
    """again: temporary, retry; busy: too many calls at the moment; refused: this prompt only; field: the model does not
    accept a field that was sent; hopeless: no call will succeed."""
    words: str
    wait: float | None = None
    """Seconds that the server asks to wait."""
    billed: bool = False
    """Whether the call may have cost money."""
    usage: Usage | None = None


def read_answer(content: bytes) -> JudgeAnswer | Trouble:
    """Parse the body of a 200; a malformed one is a Trouble that may have been billed, since the model may have run."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return _broken("a reply that is no JSON")
    if not isinstance(found, dict):
        return _broken("a reply that is no JSON object")
    usage, choices = _usage(found.get("usage")), found.get("choices")
    if not isinstance(choices, list) or not choices:
        return _broken("a reply without choices", usage)
    read = [_choice(choice) for choice in sorted(choices, key=_index)]
    whole = [choice for choice in read if isinstance(choice, _Choice)]
    if len(whole) < len(read):
        return _broken("a reply without its text or finish_reason", usage)
    model = found.get("model")
    return JudgeAnswer(
        tuple(choice.text for choice in whole),
        tuple(choice.finish for choice in whole),
        _storable(model)[:200] if isinstance(model, str) else "",
        usage,
        any(choice.reasons for choice in whole) or _counted(_under(found, "usage", "completion_tokens_details")),
        all(choice.logprobs for choice in whole),
    )


def refusal(status: int, headers: Mapping[str, str], body: object) -> Trouble:
    """Return the Trouble for an HTTP status other than 200, with its headers and decoded body."""
    error = body.get("error", body) if isinstance(body, dict) else body
    said = json.dumps(error)[:5000].lower() if isinstance(error, dict) else str(error)[:5000].lower()
    if status == 402 or (status in (403, 429) and _QUOTA.search(said)):
        return Trouble("hopeless", "the account has no quota or credit left; add some, then resume")
    if status in (401, 403):
        return Trouble("hopeless", f"the server does not accept the key ({status}); check it and what it may use")
    if status == 404:
        return Trouble("hopeless", "the server knows no such model or address (404); check their spelling")
    if status == 429:
        return Trouble("busy", "the server's rate limit (429)", wait=retry_after(headers))
    if status in (408, 409, 425) or status >= 500:
        words = f"an error of the server ({status})"
        return Trouble("again", words, wait=retry_after(headers), billed=status in _GATEWAY_TIMEOUTS)
    if status in (400, 413, 422):
        return _bad_request(status, said, error)
    return Trouble("hopeless", f"the server answered {status}, as no judge does; check the address")


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds that the headers ask to wait, capped (RFC 9110 10.2.3, or OpenAI's milliseconds), or None."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _seconds(headers.get(name, ""), unit, time.time() if now is None else now)
        if seconds is not None:
            return min(max(seconds, 0.0), LONGEST_WAIT)
    return None


def _seconds(text: str, unit: float, now: float) -> float | None:
    try:
        seconds = float(text) * unit
    except ValueError:
        date = parsedate_tz(text)
        return mktime_tz(date) - now if date else None
    return seconds if math.isfinite(seconds) else None


def _bad_request(status: int, said: str, error: object) -> Trouble:
    """Distinguish a request that is wrong for every prompt from one that is wrong for this prompt only."""
    field = error.get("param") if isinstance(error, dict) else None
    if _KEY.search(said):
        return Trouble("hopeless", f"the server does not accept the key ({status}); check it and what it may use")
    if _POLICY.search(said):
        return Trouble("refused", "the server's content policy refuses this prompt")
    if status == 413 or _LENGTH.search(said):
        return Trouble("refused", "the prompt is too long for the judge")
    if field in _FIELDS or _FIELD.search(said):
        name = field if isinstance(field, str) and field in _FIELDS else "a field of the request"
        return Trouble("field", f"the model does not take {name}; choose another judge, or have it probed anew")
    if _MODEL.search(said):
        return Trouble("hopeless", f"the server knows no such model ({status}); check its spelling")
    return Trouble("refused", f"the server refuses this prompt ({status})")


def _broken(words: str, usage: Usage | None = None) -> Trouble:
    return Trouble("again", words, billed=True, usage=usage)


@dataclass(frozen=True)
class _Choice:
    text: str
    finish: str
    reasons: bool
    logprobs: bool


def _choice(choice: object) -> _Choice | None:
    """Parse a choice; a refusal is its text, and a missing text is ""."""
    message = _under(choice, "message")
    finish = _under(choice, "finish_reason")
    if not isinstance(message, dict) or not isinstance(finish, str) or not finish:
        return None
    text = message.get("content")
    text = message.get("refusal") if text is None else text
    if not isinstance(text, str | None):
        return None
    reasons = any(message.get(name) for name in ("reasoning", "reasoning_content"))
    return _Choice(_storable(text or ""), _storable(finish)[:40], reasons, bool(_under(choice, "logprobs")))


def _index(choice: object) -> int:
    index = _under(choice, "index")
    return index if type(index) is int else 0


def _under(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _usage(found: object) -> Usage | None:
    """Parse the token counts; a prompt of 0 tokens is no count."""
    prompt, completion = _under(found, "prompt_tokens"), _under(found, "completion_tokens")
    counts = [count for count in (prompt, completion) if type(count) is int and 0 <= count < 10**9]
    return Usage(*counts) if len(counts) == 2 and counts[0] else None


def _counted(details: object) -> bool:
    tokens = _under(details, "reasoning_tokens")
    return type(tokens) is int and tokens > 0


def _storable(text: str) -> str:
    """Return the text with what no database stores, NUL and lone surrogates, replaced."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
