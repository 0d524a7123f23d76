"""Messages of chat completions: the text, thinking and refusal in them, and the ending of an answer.

Shapes as servers document them: OpenAI's content parts and `refusal`, Mistral's parts of thinking, `reasoning_content`
(DeepSeek, vLLM, SGLang), `reasoning` (OpenRouter, vLLM, Groq), `thinking` (Ollama).
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

_TEXT_KINDS = frozenset(("text", "output_text"))
"""The types of a content's parts with text."""
_THINKING_KINDS = frozenset(("thinking", "reasoning", "reasoning_text", "summary_text"))
"""The types of a content's parts with thinking; parts of all other types are pictures or calls."""
_THINKING_FIELDS = ("reasoning_content", "reasoning", "thinking")
"""The fields of a message with thinking; a server with two of them sends the same in both."""
_MOST_DEPTH = 3

Ending = Literal["whole", "cut", "filtered", "failed", "other"]

_WHOLE = frozenset(
    "stop eos eos_token end_turn stop_sequence complete completed end done finished".split()
)
_FAILED = re.compile(r"error|fail|abort|cancel|interrupt|insufficient|time_?out|malformed")
_FILTERED = re.compile(
    r"filter|safety|sensitive|recitation|block|prohibited|spii|moderat|violation|toxic"
)
_CUT = re.compile(r"length|max_?(?:new_|output_)?token|limit|context_window")


class Message(NamedTuple):
    """The parts of a message, or of a piece of it; "" for missing ones."""

    text: str
    thinking: str
    refusal: str
    has_calls: bool
    """Whether it calls a tool."""


class _Content(NamedTuple):
    """The parts of a message's content; "" for missing ones."""

    text: str
    thinking: str
    refusal: str


def read_message(message: Mapping[str, Any]) -> Message:
    """Reads a message or its delta. Raises TypeError for content or a refusal of another form."""
    content = _content(message.get("content"))
    refusal = message.get("refusal") or ""
    if not isinstance(refusal, str):
        raise TypeError("refusal is no text")
    return Message(
        text=content.text,
        thinking=content.thinking or _field_thinking(message),
        refusal=content.refusal or refusal,
        has_calls=bool(message.get("tool_calls") or message.get("function_call")),
    )


def _field_thinking(message: Mapping[str, Any]) -> str:
    """Returns the thinking in the first filled field of a message beside its content."""
    for field in _THINKING_FIELDS:
        if thinking := _nested_text(message.get(field)):
            return thinking
    return ""


def has_thinking_field(message: Mapping[str, Any]) -> bool:
    """Returns whether a message has thinking beside its content, in any form."""
    return any(message.get(name) for name in _THINKING_FIELDS)


def _content(content: object) -> _Content:
    """Reads a message's content: a text, a part, or a list of parts. Raises TypeError for anything else."""
    if isinstance(content, str | None):
        return _Content(content or "", "", "")
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        raise TypeError("content is no text")
    if not all(isinstance(part, Mapping) for part in content):
        raise TypeError("a part of the content is no object")
    texts = [_nested_text(part.get("text")) for part in content if _kind(part) in _TEXT_KINDS]
    thoughts = [_thinking(part) for part in content if _kind(part) in _THINKING_KINDS]
    refusals = [_nested_text(part.get("refusal")) for part in content if _kind(part) == "refusal"]
    return _Content("".join(texts), "".join(thoughts), "".join(refusals))


def _kind(part: Mapping[str, Any]) -> str:
    kind = part.get("type") or "text"
    return kind if isinstance(kind, str) else ""


def _thinking(part: Mapping[str, Any]) -> str:
    """Returns the thinking in a part: under its own type (Mistral's `thinking`), `text`, or `summary` (OpenAI)."""
    return _nested_text(part.get(_kind(part)) or part.get("text") or part.get("summary"))


def _nested_text(value: object, depth: int = 0) -> str:
    """Returns the text of a value: itself, or the text in its parts, which may have parts again."""
    if isinstance(value, str):
        return value
    if depth >= _MOST_DEPTH:
        return ""
    if isinstance(value, list):
        return "".join(_nested_text(part, depth + 1) for part in value)
    if isinstance(value, Mapping):
        return _nested_text(value.get("text"), depth + 1)
    return ""


def ending(finish: str) -> Ending:
    """Returns the ending of an answer by its finish reason, in any server's words.

    The words are those of OpenAI, Azure, vLLM, SGLang, TGI, llama.cpp, Ollama, Mistral (`model_length`), Anthropic
    (`end_turn`, `max_tokens`), Gemini (`STOP`, `MAX_TOKENS`, `SAFETY`), Cohere (`COMPLETE`, `ERROR`), DeepSeek
    (`insufficient_system_resource`), Zhipu (`sensitive`, `network_error`). other: anything else.
    """
    name = finish[:100].strip().casefold().replace("-", "_").replace(" ", "_")
    if name in _WHOLE:
        return "whole"
    if _FAILED.search(name):
        return "failed"
    if _FILTERED.search(name):
        return "filtered"
    return "cut" if _CUT.search(name) else "other"
