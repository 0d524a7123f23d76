"""A judge for short answers: it copies out the answer that a longer text gives, and the kind of rule reads that.

Letters have a judge of their own (`scoring.multiple_choice.extract`).
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from typing import ClassVar

from arena.inference.messages import ending
from arena.reasoning import answer_of
from scoring.judges.spec import Ask, JudgeSpec, Reply, closed_schema, prompt_text
from scoring.multiple_choice.extract import ask_until_read, closed_ask
from scoring.multiple_choice.types import Rule
from scoring.rules.base import (
    TOOLKITS,
    Item,
    Judged,
    Reading,
    RuleKind,
    RuleProtocol,
    unread,
)
from scoring.rules.short_answers import unwrapped

PROMPT = prompt_text("answer_extract.txt")
UNKNOWN = "Unknown"
"""A judge's reply for a text that gives no answer, or several."""
NOT_FOUND = "the judge found no answer"
"""Why an answer has no reading after that reply, which was read."""
_LONGEST = 400
"""Characters of a reply above which it is no copied answer."""
_OBJECT = re.compile(r"(?:```(?:json)?\s*+)?(\{.*\})(?:\s*+```)?", re.DOTALL)


class JudgedKind(RuleKind, ABC):
    """A kind whose answers a judge can copy out."""

    form: ClassVar[str]
    """The content of the judge's reply, in words: "one number"."""
    choices: ClassVar[Sequence[str]] = ()
    """All that it may reply, beside `UNKNOWN`; empty for any text."""

    def judging(
        self, item: Item, answer: str, protocol: RuleProtocol, spec: JudgeSpec, turn: int = 0
    ) -> Generator[Ask, Reply, Judged]:
        schema = None
        if spec.json_schema:
            replies = [*self.choices, UNKNOWN] if self.choices else []
            schema = closed_schema("answer", "string", replies)
        ask = closed_ask(PROMPT, answer, True, schema, question=item.question, form=self.form)

        def read(text: str, finish: str) -> Reading | None:
            said = extracted(text, finish)
            if said is None:
                return None
            if said.strip(" .").casefold() == UNKNOWN.casefold():
                return unread(protocol, NOT_FOUND)
            reading = self.replied(item, said, protocol)
            return reading if reading.read or protocol in TOOLKITS else None

        found = yield from ask_until_read(ask, read)
        reading = found.read or unread(protocol, str(Rule.UNREAD).replace("a letter", self.form))
        return Judged(self._checked(item, reading), found.replies, found.model)

    def judge_prompt(self, item: Item, protocol: RuleProtocol) -> str:
        return PROMPT

    @abstractmethod
    def replied(self, item: Item, said: str, protocol: RuleProtocol) -> Reading:
        """The reading of an answer that a judge copied out; a reading without text if it can't be read."""


def extracted(reply: str, finish: str = "stop") -> str | None:
    """The answer that a judge's reply copies out; None for a reply that is cut short, filtered, empty or too long."""
    if ending(finish) != "whole":
        return None
    text = answer_of(reply).text.strip()
    if len(text) > _LONGEST:
        return None
    if found := _OBJECT.fullmatch(text):
        return _answer_in(found[1])
    return unwrapped(text) or None


def _answer_in(text: str) -> str | None:
    """The answer in a JSON object."""
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        return None
    said = members.get("answer") if isinstance(members, dict) else None
    if isinstance(said, list):
        return json.dumps(said, ensure_ascii=False)
    return None if said is None or isinstance(said, dict | bool) else str(said).strip() or None
