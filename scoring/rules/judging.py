"""A judge for short answers: the judge copies the answer from a longer text, and the kind of rule reads the copy.

Letters have a different judge (`scoring.multiple_choice.extract`).
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from typing import ClassVar

from arena.inference.messages import ending
from arena.reasoning import answer_of
from scoring.judges.spec import Ask, JudgeSpec, Reply, closed_schema, prompt_text
from scoring.multiple_choice.extract import ask_until_read, judge_request
from scoring.multiple_choice.types import Rule
from scoring.rules.base import (
    TOOLKITS,
    Item,
    Judged,
    Reading,
    RuleKind,
    RuleProtocol,
    unread_reading,
)
from scoring.rules.short_answers import unwrap_answer

PROMPT = prompt_text("answer_extract.txt")
UNKNOWN = "Unknown"
"""A judge's reply for a text without an answer, or with several."""
NOT_FOUND = "the judge found no answer"
"""The reason for no reading after this reply."""
_LONGEST = 400
"""Characters of the longest reply that counts as a copied answer."""
_OBJECT = re.compile(r"(?:```(?:json)?\s*+)?(\{.*\})(?:\s*+```)?", re.DOTALL)


class JudgedKind(RuleKind, ABC):
    """A kind with answers that a judge can copy."""

    form: ClassVar[str]
    """The content of the judge's reply, in words: "one number"."""
    choices: ClassVar[Sequence[str]] = ()
    """The allowed replies beside `UNKNOWN`; empty for any text."""

    def judging(
        self, item: Item, answer: str, protocol: RuleProtocol, spec: JudgeSpec, turn: int = 0
    ) -> Generator[Ask, Reply, Judged]:
        schema = None
        if spec.json_schema:
            replies = [*self.choices, UNKNOWN] if self.choices else []
            schema = closed_schema("answer", "string", replies)
        ask = judge_request(
            PROMPT, answer, is_strict=True, schema=schema, question=item.question, form=self.form
        )

        def read(text: str, finish: str) -> Reading | None:
            copied = copied_answer(text, finish)
            if copied is None:
                return None
            if copied.strip(" .").casefold() == UNKNOWN.casefold():
                return unread_reading(protocol, NOT_FOUND)
            reading = self.copied_reading(item, copied, protocol)
            if protocol in TOOLKITS:  # an unreadable copy is wrong there
                return reading
            return reading if reading.read else None  # None: the judge is asked again

        reply = yield from ask_until_read(ask, read)
        # "no reply of the judge is one number"
        reason = Rule.UNREAD.replace("a letter", self.form)
        reading = reply.read or unread_reading(protocol, reason)
        return Judged(self._unscored_without_truth(item, reading), reply.replies, reply.model)

    def judge_prompt(self, item: Item, protocol: RuleProtocol) -> str:
        return PROMPT

    @abstractmethod
    def copied_reading(self, item: Item, copied: str, protocol: RuleProtocol) -> Reading:
        """The reading of an answer that a judge copied; without text if it can't be read."""


def copied_answer(reply: str, finish: str = "stop") -> str | None:
    """The copied answer in a judge's reply; None for a reply that is cut short, filtered, empty or too long."""
    if ending(finish) != "whole":
        return None
    text = answer_of(reply).text.strip()
    if len(text) > _LONGEST:
        return None
    json_object = _OBJECT.fullmatch(text)
    if json_object:
        return _answer_of_object(json_object[1])
    return unwrap_answer(text) or None


def _answer_of_object(text: str) -> str | None:
    """The answer in a JSON object: a list as JSON, a number or a text as text; None for any other value."""
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        return None
    answer = members.get("answer") if isinstance(members, dict) else None
    if isinstance(answer, list):
        return json.dumps(answer, ensure_ascii=False)
    if answer is None or isinstance(answer, dict | bool):
        return None
    return str(answer).strip() or None


def is_reply_read(reading: Reading) -> bool:
    """Whether a judge's reply could be read.

    This also holds if the judge found no answer, obeyed the model's answer, or its server declined to reply.
    """
    no_text = (NOT_FOUND, str(Rule.OBEYED))
    return bool(reading.read) or reading.why in no_text or reading.why.startswith(Rule.DECLINED)
