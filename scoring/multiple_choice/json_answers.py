"""Answers in JSON objects: whole, several, with LaTeX or line breaks in their strings, or cut off.

The reasoning in an object is never read as its answer.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

_ANSWER_KEYS = (
    "final_answer answer choice option letter correct_answer correct_option selection 答案 answer_letter "
    "selected_option predicted_answer prediction conclusion response output result"
).split()
"""Names of an answer, in order of preference."""
_THINKING_KEY = re.compile(
    r"think|thought|reason|rationale|analysis|explanation|steps?\b|思考|推理|分析|理由", re.I
)
_OBJECT_START = re.compile(r"\s*+(?:```\s*+)?(?:json\s*+)?\[?\s*+\{\s*+[\"']", re.IGNORECASE)
_FLAT_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)
_PYTHON_PAIR = re.compile(r"'(\w+)'\s*:\s*'([^']*)'")
_LATEX = re.compile(r"\\(\\|(?=boxed|fbox|frac|text|times|theta|beta|[^\"\\/bfnrtu]))")
"""A backslash of LaTeX in a string, where JSON asks for two; group 1 is the second one, if it is there."""
_CUT_ANSWER = re.compile(
    rf"[\"'](?:{'|'.join(_ANSWER_KEYS)})[\"']\s{{0,8}}:\s{{0,8}}[\"']?([^\"'\n{{}}]{{0,400}})",
    re.IGNORECASE,
)
"""The answer in an object that doesn't end or isn't JSON."""
_DECODER = json.JSONDecoder(strict=False)


def starts_with_object(text: str) -> bool:
    """Whether a text begins with a JSON object or a list of them, also in a fence."""
    return _OBJECT_START.match(text) is not None


def answers_in_objects(text: str) -> tuple[str, ...]:
    """The distinct answers in JSON objects.

    An object whose answer is null has the answer "".
    """
    if "{" not in text:
        return ()
    answers: list[str] = []
    plain = _LATEX.sub(r"\\\\", text)
    start = plain.find("{")
    try:
        record, end = _DECODER.raw_decode(plain, start)
    except (ValueError, RecursionError):
        answers += _answers_in_flat_objects(text)
        if not answers and starts_with_object(text):
            answers += _CUT_ANSWER.findall(text)[-1:]
    else:
        answer = _answer_in(record)
        if answer is None:
            answers += _answers_in_flat_objects(text)
        else:
            answers += [answer, *_answers_in_flat_objects(plain[end:])]
    return tuple(dict.fromkeys(answers))


def _answers_in_flat_objects(text: str) -> list[str]:
    """The answers in the objects without an object inside, which may be Python's."""
    answers = []
    for json_text in _FLAT_OBJECT.findall(text):
        try:
            record = json.loads(json_text)
        except (ValueError, RecursionError):
            record = dict(_PYTHON_PAIR.findall(json_text))
        answer = _answer_in(record)
        if answer:
            answers.append(answer)
    return answers


def _answer_in(record: Mapping[str, Any]) -> str | None:
    """The answer in an object, or the object without its reasoning; None for an object with neither."""
    by_name = {str(key).strip().lower().replace(" ", "_"): value for key, value in record.items()}
    for key in _ANSWER_KEYS:
        if key in by_name:
            return _text_of(by_name[key])
    others = {name: value for name, value in by_name.items() if not _THINKING_KEY.search(name)}
    return _text_of(others) if others and len(others) < len(by_name) else None


def _text_of(value: Any) -> str:
    """A value as text; "" for null."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)
