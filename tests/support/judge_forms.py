"""Forms in which judges of today reply, each with the score 0.7, the mark 4 or the letter B."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from scoring.judges import run
from scoring.judges.client import Judge
from tests.support.openai_server import prompt

_CASE = re.compile(r"case (\d+)\.")
_WRAPPED = (
    "{}", " {}.\n", "**{}**", "`{}`", "({})", "```\n{}\n```",
    "$\\boxed{{{}}}$", "<answer>{}</answer>", "{}<|im_end|>",
    "{}</s>", "{}<end_of_turn>", "{}<|eot_id|>",
    "<think>Is it 0.2, 3 or C?</think>\n{}", "[THINK]C, 3 or 0.2[/THINK]{}",
    "◁think▷0.2?◁/think▷{}", "<|channel|>analysis<|message|>0.2?<|end|><|start|>assistant<|channel|>final<|message|>{}",
    "<|begin_of_box|>{}<|end_of_box|>", "{}\n\nExplanation: it names a cat.", "It names a cat.\n\n{}", "输出：{}",
)  # fmt: skip
_SCORED = (
    "Score: {}", "The correctness score is {}.", "**Score:** {}", '{{"score": {}}}', '```json\n{{"score": {}}}\n```',
    '{{"reason": "a cat", "score": {}}}', "<score>{}</score>", "评分：{}", "I would give it a score of {}.",
    "{} (nearly right)", "{} - nearly right",
)  # fmt: skip
_LETTERED = (
    "The answer is {}", "The answer is {}.", "{}. cat", "Option {}", "答案：{}", "Answer: {}. cat",
    '{{"choice": "{}"}}',
    '```json\n{{"answer": "{}"}}\n```', "The response is most similar to option {}.", "**Answer:** ({}) cat",
)  # fmt: skip
SCORES: tuple[str, ...] = tuple(form.format("0.7") for form in (*_WRAPPED, *_SCORED)) + ("0.7/1.0",)
MARKS = tuple(form.format("4") for form in (*_WRAPPED, *_SCORED)) + ("Your mark: 4", "4/5")
LETTERS = tuple(form.format("B") for form in (*_WRAPPED, *_LETTERED))


def answered_by_case(forms: Sequence[str], other: str = "Hm.") -> Callable[[Any, int], str]:
    """A fake judge that replies to the answer "case 7." in the eighth form, and to others with `other`."""

    def reply(body: Any, sample: int) -> str:
        cases = _CASE.findall(prompt(body))
        return forms[int(cases[-1])] if cases and int(cases[-1]) < len(forms) else other

    return reply


def ask_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a judge asked on, however many of its replies cannot be read: a file is judged to its end."""
    monkeypatch.setattr(Judge, "trials", 10**6)
    monkeypatch.setattr(run, "UNREADABLE_IN_A_ROW", 10**6)
