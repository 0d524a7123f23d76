"""Messages of chat completions: the text, thinking and refusal in them, and the ending of an answer.

Shapes as servers document them: OpenAI's content parts and `refusal`, Mistral's parts of thinking, `reasoning_content`
(DeepSeek, vLLM, SGLang), `reasoning` (OpenRouter, vLLM, Groq), `thinking` (Ollama).
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

_TEXTS = frozenset(("text", "output_text"))
_THOUGHTS = frozenset(("thinking", "reasoning", "reasoning_text", "summary_text"))
"""_TEXTS, _THOUGHTS: the types of a content's parts with text, and with thinking; others are pictures or calls."""
_BESIDE = ("reasoning_content", "reasoning", "thinking")
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
    calls: bool
    """Whether it calls a tool."""


def read_message(message: Mapping[str, Any]) -> Message:
    """Reads a message or its delta. Raises TypeError for anything else."""
    text, thinking, refusal = _content(message.get("content"))
    thoughts = [_words(message.get(name), 0) for name in _BESIDE]
    thought = next(filter(None, thoughts), "")
    refused = message.get("refusal") or ""
    if not isinstance(refused, str):
        raise TypeError("refusal is no text")
    calls = bool(message.get("tool_calls") or message.get("function_call"))
    return Message(text, thinking or thought, refusal or refused, calls)


def thinks_beside(message: Mapping[str, Any]) -> bool:
    """Returns whether a message has thinking beside its text, in any form."""
    return any(message.get(name) for name in _BESIDE)


def _content(content: object) -> tuple[str, str, str]:
    """Returns the text, the thinking and the refusal of a content."""
    if isinstance(content, str | None):
        return content or "", "", ""
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        raise TypeError("content is no text")
    if not all(isinstance(part, Mapping) for part in content):
        raise TypeError("a part of the content is no object")
    texts = [_words(part.get("text"), 0) for part in content if _kind(part) in _TEXTS]
    thoughts = [_thought(part) for part in content if _kind(part) in _THOUGHTS]
    refusals = [_words(part.get("refusal"), 0) for part in content if _kind(part) == "refusal"]
    return "".join(texts), "".join(thoughts), "".join(refusals)


def _kind(part: Mapping[str, Any]) -> str:
    kind = part.get("type") or "text"
    return kind if isinstance(kind, str) else ""


def _thought(part: Mapping[str, Any]) -> str:
    return _words(part.get(_kind(part)) or part.get("text") or part.get("summary"), 0)


def _words(value: object, depth: int) -> str:
    """Returns the text in a part, which may be a list of parts again."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and depth < _MOST_DEPTH:
        return "".join(_words(part, depth + 1) for part in value)
    if isinstance(value, Mapping):
        return _words(value.get("text"), depth + 1) if depth < _MOST_DEPTH else ""
    return ""


def ending(finish: str) -> Ending:
    """Returns the ending of an answer by its finish reason, in any server's words.

    OpenAI, Azure, vLLM, SGLang, TGI, llama.cpp, Ollama, Mistral (`model_length`), Anthropic (`end_turn`, `max_tokens`),
    Gemini (`STOP`, `MAX_TOKENS`, `SAFETY`), Cohere (`COMPLETE`, `ERROR`), DeepSeek (`insufficient_system_resource`),
    Zhipu (`sensitive`, `network_error`). other: anything else.
    """
    name = finish[:100].strip().casefold().replace("-", "_").replace(" ", "_")
    if name in _WHOLE:
        return "whole"
    if _FAILED.search(name):
        return "failed"
    if _FILTERED.search(name):
        return "filtered"
    return "cut" if _CUT.search(name) else "other"
