"""Judge replies: parses the body of a chat completion into an answer."""

import json
from dataclasses import dataclass
from typing import Any

from arena.inference.openai_client import Tokens, Trouble, counted


@dataclass(frozen=True)
class JudgeAnswer:
    """Complete, well-formed reply."""

    texts: tuple[str, ...]
    finish: tuple[str, ...]
    model: str
    tokens: Tokens | None
    reasons: bool
    """Whether the model reasoned before it replied, as far as the reply shows."""
    logprobs: bool


def read_answer(content: bytes) -> JudgeAnswer | Trouble:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return Trouble("bad reply", "a reply that is no JSON")
    tokens, choices = counted(_under(found, "usage")), _under(found, "choices")
    if not isinstance(choices, list) or not choices:
        return Trouble("bad reply", "a reply without choices", tokens=tokens)
    read = [_choice(choice) for choice in sorted(choices, key=lambda choice: _number(_under(choice, "index")))]
    whole = [choice for choice in read if choice]
    if len(whole) < len(read):
        return Trouble("bad reply", "a reply without its text or finish_reason", tokens=tokens)
    model, hidden = _under(found, "model"), _under(found, "usage", "completion_tokens_details", "reasoning_tokens")
    texts, finish, reasons, logprobs = zip(*whole, strict=True)
    name = _storable(model)[:200] if isinstance(model, str) else ""
    return JudgeAnswer(texts, finish, name, tokens, any(reasons) or _number(hidden) > 0, all(logprobs))


def _choice(choice: object) -> tuple[str, str, bool, bool] | None:
    """Return a choice's text, finish reason, and whether it shows reasoning and has logprobs; a refusal is its text."""
    message, finish = _under(choice, "message"), _under(choice, "finish_reason")
    if not isinstance(message, dict) or not isinstance(finish, str) or not finish:
        return None
    text = message.get("content")
    text = message.get("refusal") if text is None else text
    if not isinstance(text, str | None):
        return None
    reasons = any(message.get(name) for name in ("reasoning", "reasoning_content"))
    return _storable(text or ""), _storable(finish)[:40], reasons, bool(_under(choice, "logprobs"))


def _under(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _number(value: object) -> int:
    return value if type(value) is int else 0


def _storable(text: str) -> str:
    """Return the text with what no database stores, NUL and lone surrogates, replaced."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
