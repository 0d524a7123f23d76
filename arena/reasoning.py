"""Removes reasoning and special tokens around an answer, in the formats of current models.

Letters, VQA, MM-Vet, free answers and judges' replies all use the tables `FORMATS` and `ANSWERS`. For answers that
people read, `thinking.py` separates thinking more cautiously.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from arena.types import grouped


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer without its reasoning."""

    text: str
    """Without reasoning and special tokens, and without blanks around it."""
    cuts: tuple[str, ...]
    """Names of the formats that were removed, in order, each once."""
    is_endless: bool = False
    """Whether its reasoning never ends, so that the text is empty."""


class WrappedAnswer(NamedTuple):
    """An answer inside a tag or a box."""

    name: str
    """The tag, as in "<answer>", or "\\boxed"."""
    text: str
    start: int
    """Where the wrapper starts in the text around it."""
    end: int
    """Where the wrapper ends there."""


class MarkFormat(NamedTuple):
    """Text between two marks."""

    name: str
    opening: str
    """Pattern of the opening mark."""
    closing: str
    """Pattern of the closing mark."""
    source: str
    """Models that use the format, or where it is described."""
    opens_in_prompt: bool = True
    """Whether the prompt may hold the opening; all text before a lone closing is reasoning then."""
    must_close: bool = False
    """Whether a lone opening is ignored; otherwise all text behind it is reasoning without an end."""
    is_thinking: bool = False
    """Whether it holds thinking, for a format where `opens_in_prompt` and `must_close` don't already say so."""

    @property
    def is_folded(self) -> bool:
        """Whether pages fold it away as thinking; otherwise it is part of an answer, such as its summary or steps."""
        return self.is_thinking or (self.opens_in_prompt and not self.must_close)


SPECIAL_TOKENS = "special tokens"
"""The name of what is cut off that isn't reasoning: what a tokenizer adds, such as `<|im_end|>`."""
MOST_LAYERS = 8
"""Most layers of formats around an answer; with more, there is no answer."""
_LESS = r"(?:<|&lt;|\\u003c|%3c)"
"""`<`, also as HTML, JSON or an address writes it; `_MORE`: `>`."""
_MORE = r"\\?(?:>|&gt;|\\u003e|%3e)"


def _tags(
    names: str, source: str, opens_in_prompt: bool = True, must_close: bool = False
) -> list[MarkFormat]:
    return [
        MarkFormat(
            f"<{name}>",
            rf"{_LESS}{name}(?:\s[^<>&]{{0,80}})?{_MORE}",
            rf"{_LESS}\\?/{name}\s?{_MORE}",
            source,
            opens_in_prompt,
            must_close,
        )
        for name in names.split()
    ]


def _marks(opening: str, closing: str, source: str) -> MarkFormat:
    return MarkFormat(opening, re.escape(opening), re.escape(closing), source)


_THOUGHT = "(?:think|thought|reason|思考|推理)"
_THINKING = "(?:think(?:ing)?|thoughts?)"
_NAME = rf"[\w:.-]{{0,20}}?{_THOUGHT}[\w:.-]{{0,20}}"
"""Name of any mark of thinking, also of models that are not listed yet."""
# `_LESS` and `_MORE`, with ‹ and › too, and the first with a bar and blanks behind it, as in <| think.
_ANGLE = r"(?:<|&lt;|\\u003c|%3c|‹)\s?\|?\s?"
_END_ANGLE = r"\\?(?:>|&gt;|\\u003e|%3e|›)"

FORMATS: Sequence[MarkFormat] = (
    *_tags("think", "DeepSeek-R1, Qwen3, GLM-4.1V, InternVL3.5, MiMo-VL, Phi-4-reasoning"),
    *_tags("thinking thoughts", "Claude's prompting guide, Reflection-70B"),
    *_tags("thought", "EXAONE Deep"),
    *_tags("reasoning", "LLaVA-CoT (arXiv 2411.10440), Reka Flash 3"),
    *_tags("analysis reflection", "Keye-VL, Reflection-70B"),
    *_tags("reason rationale scratchpad cot deliberation", "prompts of research code"),
    *_tags("scratch_pad", "prompts of research code"),
    *_tags("internal inner_monologue monologue planning plan", "prompts of agents"),
    *_tags("seed:think", "ByteDance Seed-OSS"),
    *_tags("think:opensource mm:think longcat_think antml:thinking", "Hunyuan, MiniMax, LongCat, Claude"),
    *_tags("summary caption", "LLaVA-CoT (arXiv 2411.10440)", opens_in_prompt=False),
    *_tags("step steps observation tool_call tool_response", "Hermes, Qwen and other agents", opens_in_prompt=False),
    *_tags("details explanation", "pages of chats", opens_in_prompt=False, must_close=True),
    MarkFormat("[THINK]", rf"[\[【{{]{_THINKING}[\]】}}]", rf"[\[【{{]/{_THINKING}[\]】}}]", "Mistral Magistral"),
    _marks("[Start thinking]", "[End thinking]", "llama.cpp"),
    _marks("◁think▷", "◁/think▷", "Kimi-VL-Thinking"),
    _marks("<|begin_of_thought|>", "<|end_of_thought|>", "Sky-T1, OpenThinker"),
    _marks("<start_of_thought>", "<end_of_thought>", "Gemma derivatives"),
    _marks("<begin_of_thought>", "<end_of_thought>", "Gemma derivatives"),
    _marks("<|think|>", "<|/think|>", "Solar Open"),
    _marks("<|START_THINKING|>", "<|END_THINKING|>", "Cohere Command A Reasoning"),
    _marks("<unused94>", "<unused95>", "MedGemma"),
    MarkFormat("<ctrl94>thought", r"<ctrl\d{1,3}>\s?thought\b", r"<ctrl\d{1,3}>(?!\s?thought)", "Gemini 2.5"),
    MarkFormat("<|channel>thought", r"<\|channel>\s?thought\b", r"<channel\|>", "Gemma 4"),
    MarkFormat(
        "<|im_start|>think",
        r"<\|im_start\|>\s?think(?:ing)?\b",
        r"<\|im_end\|>",
        "s1 (arXiv 2501.19393)",
        opens_in_prompt=False,
        is_thinking=True,
    ),
    MarkFormat(
        "harmony",
        r"<\|channel\|>\s?(?:analysis|commentary)\b[^<>]{0,80}(?:<\|constrain\|>[^<>]{0,20})?<\|message\|>",
        r"<\|(?:end|call)\|>",
        "gpt-oss (OpenAI's harmony response format)",
        opens_in_prompt=False,
        is_thinking=True,
    ),
    MarkFormat(
        "```thinking",
        rf"(?:```|~~~){_THOUGHT}\w{{0,8}}[ \t]*+\n",
        r"```|~~~",
        "pages of chats",
        opens_in_prompt=False,
    ),
    # An opening name doesn't begin with "no" (<no_think>) and has no "end" or "stop" in it. A closing name has a slash
    # before it (</my_think>), begins with "end" or "stop" (<end_of_thought>), or ends with one (<think_end>): a
    # lookbehind has one length, so "top" stands for "stop".
    MarkFormat(
        "a mark of thinking",
        rf"{_ANGLE}(?!no|[\w:.]{{0,20}}(?:end|stop)){_NAME}(?<!end)(?<!stop)(?:\s[^<>&]{{0,80}})?\|?\s?{_END_ANGLE}",
        rf"{_ANGLE}(?:[/\\]\|?\s?{_NAME}|(?:end|stop)_(?:of_)?{_NAME}|{_NAME}(?<=end|top))\|?\s?{_END_ANGLE}",
        "chat templates, and models that are in no list yet",
    ),
    MarkFormat(
        "a bracket of thinking",
        rf"[\[【〈《]{_NAME}[\]】〉》]",
        rf"[\[【〈《]/{_NAME}[\]】〉》]",
        "chat templates; a lone one is a heading",
        must_close=True,
        is_thinking=True,
    ),
)  # fmt: skip
"""Formats with reasoning between marks."""
ANSWERS: Sequence[MarkFormat] = (
    *_tags("conclusion", "LLaVA-CoT (arXiv 2411.10440)"),
    *_tags("response output solution", "ERNIE 4.5 VL, prompts of research code"),
    _marks("<|begin_of_box|>", "<|end_of_box|>", "GLM-4.1V-Thinking, GLM-4.5V"),
    _marks("<|begin_of_solution|>", "<|end_of_solution|>", "Sky-T1, OpenThinker"),
    _marks("<|START_RESPONSE|>", "<|END_RESPONSE|>", "Cohere Command A Reasoning"),
    _marks("[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]", "Apriel 1.5"),
)
"""Formats with the answer between marks; the last one with text is read."""


def _one_of(patterns: Sequence[str]) -> str:
    """Returns a pattern with a group for each of these, tried only at characters with which marks begin."""
    groups = "|".join(f"({pattern})" for pattern in patterns)
    return rf"(?=(?:[<&\[{{◁‹〈《【]|\\u003c|%3c)[\s|/\\]{{0,3}}\w|```|~~~)(?:{groups})"


OPENINGS = re.compile(_one_of([form.opening for form in FORMATS]), re.IGNORECASE)
CLOSINGS = re.compile(_one_of([form.closing for form in FORMATS]), re.IGNORECASE)
_ANSWER_OPENINGS = re.compile(_one_of([form.opening for form in ANSWERS]), re.IGNORECASE)
_ANSWER_CLOSINGS = re.compile(_one_of([form.closing for form in ANSWERS]), re.IGNORECASE)
MARK_START = re.compile(
    # the characters come first, since the search is fast for a set, and are then looked at again
    r"[<◁\[{&‹〈《【\\%`~](?:(?<=[<◁\[{&‹〈《【])|(?<=\\)u003c|(?<=%)3c|(?<=`)``|(?<=~)~~)",
    re.IGNORECASE,
)
"""A character with which marks begin."""

FINAL_CHANNEL = re.compile(
    r"<\|channel\|>\s?final\b[^<>]{0,20}(?:<\|constrain\|>[^<>]{0,20})?<\|message\|>"
)
BARE_ANALYSIS = re.compile(r"\s*+(?:assistant)?analysis(?=[A-Z\"'(*\u3400-\u9fff])")
"""harmony's first channel without its tokens, as in "analysisThe picture"."""
BARE_FINAL = re.compile(r"assistantfinal|assistant\nfinal(?![a-z])")
_ANALYSIS_LINE = re.compile(r"\s*+(?:assistant\s*+)?analysis\s*+(?::|\n)", re.IGNORECASE)
_FINAL_LINE = re.compile(r"^[ \t]*+(?:assistant[ \t]*+)?final[ \t]*+(?::|$)", re.I | re.M)
_DONE_THINKING = re.compile(r"^[ \t]*+\.{0,3}\s?done thinking\.?[ \t]*+$", re.I | re.M)
_THINKING_BEGUN = re.compile(r"\s*+Thinking\.\.\.[ \t]*+\n")
"""Ollama's first line."""
_QUOTED_THINKING = re.compile(
    r"\s*+>[ \t]*+[*_]*+(?:thinking|thoughts?|reasoning|thought process)\b[^\n]*+(?:\n[ \t]*+>[^\n]*+)*+",
    re.IGNORECASE,
)
_HEAD = r"(?:#{1,6}[ \t]*+)?[*_]{0,3}"
_THINKING_HEAD = re.compile(
    rf"\s*+{_HEAD}(?:thinking|thoughts?|thought process|here is my thought process|here are my reasoning steps"
    r"|(?:my |step-by-step )?reasoning(?:_content)?|rationale|analysis|思考|思考过程|推理|推理过程)"
    r"[*_]*+[ \t]*+(?:[:：][*_]*+|\n)",
    re.IGNORECASE,
)
_THOUGHT_PROCESS = re.compile(r"\s*+here is my thought process\s*+:", re.IGNORECASE)
"""Granite's first line; "Here is my response:" always follows the thoughts."""
_ANSWER_HEAD = re.compile(
    rf"^[ \t]*+{_HEAD}(?:(?:my |the )?(?:final )?(?:answer|response|conclusion|output)|content|here is my response"
    r"|最终答案|答案|回答|结论)[*_]*+[ \t]*+(?:[:：][*_]*+|$)",
    re.IGNORECASE | re.MULTILINE,
)
_ANSWER_BRACKET = re.compile(
    r"[\[【](?:final )?(?:answer|response|最终答案|答案|回答)[\]】]", re.IGNORECASE
)
_JSON_THINKING = re.compile(rf"\s*+(?:```(?:json)?\s*+)?\{{\s*+[\"'][\w ]{{0,20}}{_THOUGHT}", re.I)
_THINKING_KEY = re.compile(_THOUGHT, re.IGNORECASE)
_JSON_KEY = re.compile(r"[{,\n][^\S\n]*+[\"']([\w ./()-]{1,40})[\"']\s?:")
_FINISH = re.compile(
    r"\bAction(?: \d{1,3})?\s?:\s?(?i:Finish|Answer|Final Answer|Submit)\s?"
    r"(?:\[([^\[\]\n]{1,400})\]|\(([^()\n]{1,400})\))"
)
"""ReAct's last action, which holds the answer (arXiv 2210.03629)."""
_REACT = re.compile(r"\s*+Thought(?: \d{1,3})?\s?:")
_ACTION = re.compile(r"^[ \t]*+(?:Action|Observation)(?: \d{1,3})?\s?:", re.MULTILINE)
_PROMPT = re.compile(r"\s*+(?:USER|Human)\s?:")
_REPLY = re.compile(r"\b(?:ASSISTANT|Assistant)\s?:")
"""A reply in the conversations of LLaVA and Vicuna, in an answer that repeats its prompt."""

TURN_END = re.compile(
    r"</s>|<\|(?:im_end|eot_id|endoftext|end_of_text|end|eom_id|eos|return|END_OF_TURN_TOKEN|end▁of▁sentence)\|>"
    r"|<｜end▁of▁sentence｜>|<end_of_(?:turn|utterance)>|<turn\|>|<eos>"
)
TOKENS = re.compile(
    r"(?:<\|(?:im_start|start_header_id|start|turn)\|>|<start_of_turn>|<\|turn>)\s*(?:assistant|model|answer)\b:?"
    r"|<\|[^<>|]{1,40}\|>|<｜[^<>｜]{1,40}｜>|<\|(?:turn|channel)>|<channel\|>"
    r"|</?(?:s|pad|unk|bos|eos|start_of_turn|image|video)>|<unused\d{1,3}>|\[/?INST\]|\[(?:BEGIN|END) FINAL RESPONSE\]"
)
_TAGGED = re.compile(
    r"<(answer|final_answer|final|choice|option|result)>(.*?)(?:</\1>|$)", re.DOTALL | re.IGNORECASE
)
_ANSWER_TAG = re.compile("<answer>", re.IGNORECASE | re.ASCII)
_CLOSED_ANSWER = re.compile(r"<(answer|final_answer)>([^<>]{1,4000})</\1>\s*+\Z", re.IGNORECASE)
_BRACE = re.compile(r"\\?\b(?:boxed|fbox)\s?\{|(?<!\\)[{}]")


class ClosingMarks:
    """The closing marks of a text by format, for a pattern made of formats, such as `CLOSINGS`."""

    def __init__(self, pattern: re.Pattern[str], text: str) -> None:
        self._by_group = grouped((mark.lastindex, mark) for mark in pattern.finditer(text))

    def after(self, opening: re.Match[str]) -> re.Match[str] | None:
        """Returns the next closing mark of an opening's format; None if there is none."""
        marks = self._by_group.get(opening.lastindex, [])
        index = bisect_left(marks, opening.end(), key=re.Match.start)
        return marks[index] if index < len(marks) else None


def answer_of(text: str) -> Answer:
    """Returns the answer without reasoning and special tokens. Idempotent, in time linear in the text."""
    remaining = text.strip()
    cuts: list[str] = []
    is_endless = False
    for _ in range(MOST_LAYERS + 1):  # the last one finds nothing more
        before = remaining
        for remove_format in _STEPS:
            step = remove_format(remaining)
            if step is None or step.text.strip() == remaining:
                continue
            remaining = step.text.strip()
            is_endless = is_endless or step.is_endless
            for cut in step.cuts:
                if cut not in cuts:
                    cuts.append(cut)
        if remaining == before:
            return Answer(remaining, tuple(cuts), is_endless and not remaining)
    return Answer("", tuple(cuts), is_endless=True)


def wrapped_answers(text: str) -> tuple[WrappedAnswer, ...]:
    """Returns the answers in tags, as in `<answer>B</answer>`, and in `\\boxed{}`, in order."""
    in_tags = [
        WrappedAnswer(f"<{match[1].lower()}>", match[2].strip(), match.start(), match.end())
        for match in _TAGGED.finditer(text)
    ]
    answers = [*in_tags, *_boxes(text)]
    return tuple(sorted(answers, key=lambda answer: answer.start))


def _boxes(text: str) -> list[WrappedAnswer]:
    """Returns the outermost boxes that end."""
    if "box" not in text:
        return []
    boxes: list[WrappedAnswer] = []
    open_braces: list[re.Match[str] | None] = []  # None for any that doesn't open an outermost box
    is_in_box = False
    for mark in _BRACE.finditer(text):
        if mark[0] == "}":
            opening = open_braces.pop() if open_braces else None
            if opening is not None:
                is_in_box = False
                inner = text[opening.end() : mark.start()].strip()
                boxes.append(WrappedAnswer(r"\boxed", inner, opening.start(), mark.end()))
        elif mark[0] == "{" or is_in_box:
            open_braces.append(None)
        else:
            is_in_box = True
            open_braces.append(mark)
    return boxes


def _final_channel(text: str) -> Answer | None:
    return _answer_behind_last(FINAL_CHANNEL, text, "harmony")


def _between_marks(text: str) -> Answer | None:
    """Removes reasoning between marks, all text before a lone closing, and all text behind a lone opening."""
    if not MARK_START.search(text):
        return None
    unpaired = without_pairs(text)
    remaining = unpaired.text
    cuts = [*unpaired.names]
    if not remaining.strip():
        # All text was between marks. Some models close their reasoning only after the answer, as in
        # "<think>It is red. <answer>B</answer></think>".
        last_closing = _last(CLOSINGS, text)
        if last_closing:
            remaining = _closed_answer(text, last_closing.start())
    lone_closing = _last_lone_closing(remaining)
    if lone_closing:
        cuts.append(_format_of(lone_closing).name)
        behind = remaining[lone_closing.end() :]
        remaining = _closed_answer(remaining, lone_closing.start()) + behind
    for opening in OPENINGS.finditer(remaining):
        mark_format = _format_of(opening)
        if not mark_format.must_close:
            cuts.append(f"{mark_format.name} without an end")
            before = remaining[: opening.start()]
            return Answer(
                before + _answer_in_endless(remaining, opening.end()), tuple(cuts), is_endless=True
            )
    return Answer(remaining, tuple(cuts))


class UnpairedText(NamedTuple):
    """A text without what was between pairs of marks, and the names of the formats removed from it."""

    text: str
    names: Sequence[str]


def without_pairs(text: str) -> UnpairedText:
    """Removes each opening with all text up to the next closing of its format. Every mark is visited once."""
    closings = ClosingMarks(CLOSINGS, text)
    pieces: list[str] = []
    names: list[str] = []
    place = 0
    opening = OPENINGS.search(text)
    while opening:
        closing = closings.after(opening)
        if closing:
            pieces += [text[place : opening.start()], " "]
            names.append(_format_of(opening).name)
            place = closing.end()
        opening = OPENINGS.search(text, max(place, opening.start() + 1))
    pieces.append(text[place:])
    return UnpairedText("".join(pieces), names)


def _format_of(mark: re.Match[str]) -> MarkFormat:
    """Returns the format of a match of `OPENINGS` or `CLOSINGS`, whose groups are numbered from 1."""
    return FORMATS[(mark.lastindex or 1) - 1]


def _last_lone_closing(text: str) -> re.Match[str] | None:
    """Returns the last closing of a text without pairs whose opening may be in the prompt."""
    last = None
    for closing in CLOSINGS.finditer(text):
        if _format_of(closing).opens_in_prompt:
            last = closing
    return last


def _closed_answer(text: str, end: int) -> str:
    """Returns the `<answer>...</answer>` that ends the text before this place, with its tags; "" if there is none."""
    reasoning = text[:end]
    tag = _last(_ANSWER_TAG, reasoning)
    if tag is None:
        return ""
    match = _CLOSED_ANSWER.match(reasoning, tag.start())
    return match[0] if match else ""


def _answer_in_endless(text: str, start: int) -> str:
    """Returns the answer in reasoning that starts here and has no end: in a tag, or from `[answer]` on; "" if none."""
    closed_answer = _closed_answer(text, len(text))
    if closed_answer:
        return closed_answer
    bracket = _last(_ANSWER_BRACKET, text[start:])
    return text[start + bracket.start() :] if bracket else ""


def _bare_harmony(text: str) -> Answer | None:
    """Removes harmony's channels after a tokenizer has skipped the special tokens."""
    if answer := _answer_behind_last(BARE_FINAL, text, "harmony without its tokens"):
        return answer
    if BARE_ANALYSIS.match(text):
        return Answer("", ("harmony without its tokens or an end",), is_endless=True)
    if _ANALYSIS_LINE.match(text):
        return _answer_behind_last(_FINAL_LINE, text, "harmony without its tokens")
    return None


def _plain_thinking(text: str) -> Answer | None:
    """Removes thinking without marks: before "...done thinking.", in a quotation, or under its own heading."""
    if answer := _answer_behind_last(_DONE_THINKING, text, "thinking"):
        return answer
    if _THINKING_BEGUN.match(text):
        return Answer("", ("thinking without an end",), is_endless=True)
    if quoted := _QUOTED_THINKING.match(text):
        rest = text[quoted.end() :]
        return Answer(rest, ("thinking in a quotation",)) if rest.strip() else None
    if _THINKING_HEAD.match(text):
        answer = _answer_behind_last(_ANSWER_HEAD, text, "thinking under a heading")
        if answer is None and _THOUGHT_PROCESS.match(text):
            return Answer("", ("thinking under a heading without an end",), is_endless=True)
        return answer
    return None


def _endless_object(text: str) -> Answer | None:
    """Removes a JSON object that has only keys of reasoning, since its answer was cut off."""
    if not _JSON_THINKING.match(text):
        return None
    if all(_THINKING_KEY.search(key[1]) for key in _JSON_KEY.finditer(text)):
        return Answer("", ("thinking in JSON without an end",), is_endless=True)
    return None


def _react_answer(text: str) -> Answer | None:
    """Returns the answer of ReAct's last action; an empty one, without an end, if no action has an answer."""
    action = _last(_FINISH, text) if "Action" in text else None
    answer = (action[1] or action[2]) if action else ""
    if answer.strip():
        return Answer(answer, ("ReAct",))
    if _REACT.match(text) and _ACTION.search(text):
        return Answer("", ("ReAct without an end",), is_endless=True)
    return None


def _answer_format(text: str) -> Answer | None:
    """Returns the last answer with text in a format of `ANSWERS`."""
    if not MARK_START.search(text):
        return None
    closings = ClosingMarks(_ANSWER_CLOSINGS, text)
    answer = None
    for opening in _ANSWER_OPENINGS.finditer(text):
        closing = closings.after(opening)
        end = closing.start() if closing else len(text)
        if _has_text(text, opening.end(), end):
            name = ANSWERS[(opening.lastindex or 1) - 1].name
            answer = Answer(text[opening.end() : end], (name,))
    return answer


def _has_text(text: str, start: int, end: int) -> bool:
    """Returns whether there is text at the start of a part; only 100 characters are read, as parts may overlap."""
    return start < end and not text[start : min(end, start + 100)].isspace()


def _repeated_prompt(text: str) -> Answer | None:
    """Removes a prompt that comes before the reply."""
    if not _PROMPT.match(text):
        return None
    reply = _REPLY.search(text)
    return Answer(text[reply.end() :], ("the prompt",)) if reply else None


def _special_tokens(text: str) -> Answer | None:
    """Returns the first turn with text; text after a model's own end of turn is not part of the answer."""
    if not MARK_START.search(text):
        return None
    turns = (TOKENS.sub(" ", turn) for turn in TURN_END.split(text))
    first_turn = next((turn for turn in turns if turn.strip()), "")
    return Answer(first_turn, (SPECIAL_TOKENS,))


def _answer_behind_last(mark: re.Pattern[str], text: str, name: str) -> Answer | None:
    """Returns the text behind the last mark that has text behind it; None if there is none."""
    end = len(text.rstrip())
    last = None
    for candidate in mark.finditer(text):
        if candidate.end() < end:
            last = candidate
    return Answer(text[last.end() :], (name,)) if last else None


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    last = None
    for match in pattern.finditer(text):
        last = match
    return last


_STEPS: Sequence[Callable[[str], Answer | None]] = (
    _final_channel,
    _between_marks,
    _bare_harmony,
    _plain_thinking,
    _answer_format,
    _endless_object,
    _react_answer,
    _repeated_prompt,
    _special_tokens,
)
"""Each removes its formats from a text; None if the text has none of them."""
