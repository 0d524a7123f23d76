"""Answer cleaning: removes reasoning, chat tokens and wrappers around a model's answer.

Every cut is named, so that the trail of a decision shows it.
"""

import json
import re
import unicodedata
from bisect import bisect_left
from typing import NamedTuple

from arena.types import grouped


class Plain(NamedTuple):
    """An answer without its surroundings."""

    text: str
    cuts: tuple[str, ...]
    """Names of the removed parts, in order."""


_WORDS = (
    r"think|thinking|thought|thoughts|reasoning|reason|rationale|reflection|analysis|scratchpad|cot"
    r"|summary|caption"
)
_REASONING_OPENS = re.compile(
    rf"<({_WORDS})\b[^<>]*>|◁think▷|\[THINK\]|<\|begin_of_thought\|>", re.IGNORECASE
)
_REASONING_CLOSES = re.compile(
    rf"</(?:{_WORDS})>|◁/think▷|\[/THINK\]|<\|end_of_thought\|>", re.IGNORECASE
)
_CLOSE_OF = {
    "◁think▷": "◁/think▷",
    "[think]": "[/think]",
    "<|begin_of_thought|>": "<|end_of_thought|>",
}
_REASONING_END = re.compile(rf"^.*(?:{_REASONING_CLOSES.pattern})", re.DOTALL | re.IGNORECASE)
_REASONING_CUT_OFF = re.compile(
    rf"(?:<(?:{_WORDS})>|◁think▷|\[THINK\]|<\|begin_of_thought\|>).*$", re.DOTALL | re.I
)
_FINAL_CHANNEL = re.compile(r"^.*<\|channel\|>\s*final\s*<\|message\|>", re.DOTALL)
_TURN_END = re.compile(
    r"</s>|<\|(?:im_end|eot_id|endoftext|end|eom_id|eos|return)\|>|<end_of_(?:turn|utterance)>|<eos>"
)
_TOKENS = re.compile(
    r"(?:<\|(?:im_start|start_header_id)\|>|<start_of_turn>)\s*(?:assistant|model)\b:?|<\|[^<>|]{1,40}\|>"
    r"|</?(?:s|pad|unk|bos|eos|start_of_turn|image|video)>|\[/?INST\]"
)
_NEXT_QUESTION = re.compile(
    r"(?<=\S)[^\S\n]*+\n\s*+(?:#++\s*+)?(?:question|q|user|human|问题)\s*+\d*+\s*+:", re.IGNORECASE
)
_MARKUP = re.compile(
    r"\*\*|__|`|\\(?:text|mathrm|mathbf|textbf|mathsf|textsf|rm|bf)\s*\{([^{}]*)\}|\\[()\[\]]|\$"
    r"|(?-i:</?(?:b|i|p|em|strong|span|div|u|br|center|font|h[1-6])\s*/?>)"
    r"|^#++\s+|\A\s*+#++\s+|((?<!\s)[^\S\n]*+\n)\s*+#++\s+|\A\s*+(?:assistant|助手)\s*:",
    re.MULTILINE | re.IGNORECASE,
)
_TAGGED = re.compile(
    r"<(answer|final_answer|final|choice|option)>(.*?)(?:</\1>|$)", re.DOTALL | re.IGNORECASE
)
_BOXED = re.compile(r"\\?\bboxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)
_PYTHON_PAIR = re.compile(r"'(\w+)'\s*:\s*'([^']*)'")
_KEYS = (
    "final_answer answer choice option letter correct_answer correct_option selection 答案".split()
)
_RAW = re.compile(r"[<◁\[{]")
_RUNS = re.compile(r"([^\w\s])\1{3,}|\s{2,}")
_SPACES = re.compile(r"\s+")
_AROUND = " \t\r\n.,;:!?\"'“”‘’«»()[]*。、…"


def squeezed(text: str) -> str:
    """The text with runs of blanks and of one mark shortened, so that no pattern is slow; letters stay."""
    return _RUNS.sub(lambda run: run[1] * 3 if run[1] else "\n" if "\n" in run[0] else " ", text)


def plain_content(text: str) -> str:
    """An option's text as searched for in a plain answer: lower case, without emphasis and end marks."""
    bare = _MARKUP.sub(_kept, unicodedata.normalize("NFKC", text))
    return lowered(_SPACES.sub(" ", bare).strip(_AROUND)) or lowered(bare.strip())


def lowered(text: str) -> str:
    """The text in lower case, every character in its place."""
    lower = text.lower()
    return (
        lower
        if len(lower) == len(text)
        else "".join(low if len(low := sign.lower()) == 1 else sign for sign in text)
    )


def plain(answer: str) -> Plain:
    """The answer in NFKC without reasoning, special tokens, an invented next question, wrappers and emphasis."""
    text = squeezed(unicodedata.normalize("NFKC", answer))
    cuts = []
    if _RAW.search(text):
        for name, cut in (("reasoning", _without_reasoning), ("special tokens", _without_tokens)):
            shorter = cut(text)
            if shorter.strip() != text.strip():
                cuts.append(name)
            text = shorter
    if next_question := _NEXT_QUESTION.search(text):
        text = text[: next_question.start()]
        cuts.append("a question that it asks itself")
    wrapped = _unwrapped(text) if _RAW.search(text) else None
    if wrapped and wrapped.text.strip():
        text = wrapped.text
        cuts += wrapped.cuts
    return Plain(_MARKUP.sub(_kept, text).strip(), tuple(cuts))


def _kept(mark: re.Match[str]) -> str:
    """What stays of a mark: the text that it wraps, or the line break before a heading's sign."""
    return mark[1] or mark[2] or ""


def _without_reasoning(text: str) -> str:
    text = _without_closed_reasoning(_FINAL_CHANNEL.sub("", text))
    return _REASONING_CUT_OFF.sub("", _REASONING_END.sub("", text))


def _without_closed_reasoning(text: str) -> str:
    """The text without what is between an opening mark and the next closing one of its name; visits each mark once."""
    closes = grouped((close[0].lower(), close) for close in _REASONING_CLOSES.finditer(text))
    kept = []
    place = 0
    opening = _REASONING_OPENS.search(text)
    while opening:
        close_mark = (
            f"</{opening[1]}>".lower() if opening[1] else _CLOSE_OF.get(opening[0].lower(), "")
        )
        same = closes.get(close_mark, [])
        number = bisect_left(same, opening.end(), key=re.Match.start)
        if number < len(same):
            kept.append(text[place : opening.start()])
            place = same[number].end()
        opening = _REASONING_OPENS.search(text, max(place, opening.start() + 1))
    return "".join([*kept, text[place:]])


def _without_tokens(text: str) -> str:
    """The first turn with text: what follows a model's own end of turn is no answer."""
    turns = (_TOKENS.sub(" ", turn) for turn in _TURN_END.split(text))
    return next((turn for turn in turns if turn.strip()), "")


def _unwrapped(text: str) -> Plain | None:
    """Content of the last answer tag, box or JSON object; None if there is none."""
    if tags := _TAGGED.findall(text):
        return Plain(tags[-1][1], (f"<{tags[-1][0].lower()}>",))
    if boxes := _BOXED.findall(text):
        return Plain(boxes[-1], ("\\boxed",))
    for found in reversed(_OBJECT.findall(text)):
        try:
            value = json.loads(found)
        except (ValueError, RecursionError):
            value = dict(_PYTHON_PAIR.findall(found))
        by_name = {
            str(key).strip().lower().replace(" ", "_"): inner for key, inner in value.items()
        }
        inner = next((by_name[key] for key in _KEYS if key in by_name), None)
        if isinstance(inner, str | int | float) and not isinstance(inner, bool):
            return Plain(str(inner), ("JSON",))
    return None
