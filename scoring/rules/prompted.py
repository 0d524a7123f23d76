"""Rules by a judge with the benchmark's own prompt: the texts put into it, and the fence around answers.

Names in braces are replaced in one pass, so that braces in data are never read. Under `strict` an answer is between two
lines with a code that none of the texts can contain; the toolkits insert it unchanged.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from arena.reasoning import answer_of
from scoring.judges.injection import neutralise
from scoring.judges.replies import LIKELY
from scoring.judges.spec import Ask, JudgeSpec, Message, ShownImage, prompt_text
from scoring.rules.base import Item, Reading, RuleExample, RuleKind, RuleProtocol, cell_of
from scoring.text_lists import listed_texts

BRACES = re.compile(r"\{(\w{1,40})\}")
"""A name in braces in a prompt."""
PROMPT_FILE = re.compile(r"[\w+@ -][\w.+@ -]{0,114}\.txt")
LONGEST = 20_000
"""Characters of the longest prompt."""
_ROLES = ("question", "truth")
_FENCE = prompt_text("fenced_answers.txt")
_ROOM = 1_024
"""Tokens for a judge's reply: a prompt may ask for reasons first."""
_LIKELY_WITHOUT_SCHEMA = 200
"""Likely tokens of a reply without a schema."""


def _checked_prompt(value: object) -> object:
    """Returns a prompt. Raises ValueError for the name of a file that isn't beside the spec.

    A name of a file that is there was replaced by its text before (`scoring/specs/files.py`).
    """
    if isinstance(value, str) and value.endswith(".txt") and "\n" not in value:
        raise ValueError(
            f"The file {value[:60]!r} isn't beside the spec. Put it there, or write the prompt itself."
        )
    return value


Prompt = Annotated[
    str, BeforeValidator(_checked_prompt), Field(min_length=1, max_length=LONGEST, strict=True)
]


class PromptedRule(RuleKind):
    """A kind with a judge for every answer, by the benchmark's own prompt."""

    is_compared: ClassVar[bool] = False
    answer_names: ClassVar[tuple[str, ...]]
    """Names in braces for the answers, all of which the prompt must have."""

    prompt: Prompt
    """Names in braces are those of `texts` and `answer_names`; all others are columns."""
    show: Literal["pictures"] | None = None
    """Whether the judge is shown the question's pictures beside the texts."""

    @model_validator(mode="after")
    def _has_answer_names(self) -> Self:
        lacking = [f"{{{name}}}" for name in self.answer_names if name not in self.names]
        if lacking:
            text = f"The prompt has no {' and no '.join(lacking)}, where the answer goes. Add it."
            raise ValueError(text)
        return self

    @property
    def example(self) -> RuleExample:
        return RuleExample("Describe the animal.", "A grey cat on a red sofa.", "A cat on a sofa.")

    @property
    def names(self) -> Sequence[str]:
        """The names in the prompt's braces."""
        return tuple(dict.fromkeys(BRACES.findall(self.prompt)))

    @property
    def required(self) -> Sequence[str]:
        return tuple(name for name in self.names if name in _ROLES)

    @property
    def prompt_columns(self) -> Sequence[str]:
        known = (*_ROLES, "options", *self.answer_names)
        return tuple(name for name in self.names if name not in known)

    @property
    def shows_pictures(self) -> bool:
        return self.show is not None

    def _read(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        return Reading(None, "", "a judge reads it", is_open=True)

    def judge_prompt(self, item: Item, protocol: RuleProtocol) -> str:
        return self.prompt if protocol != "strict" else f"{_FENCE}\n{self.prompt}"

    def texts(self, item: Item) -> Mapping[str, str]:
        """The texts that a prompt may name beside columns and answers.

        Several right answers are a list as Python writes it, each of them once.
        """
        options = "\n".join(f"{letter}. {text}" for letter, text in item.options.items())
        truth = self.truth_of(item) or ""
        several = listed_texts(truth)
        if several:
            truth = str([*dict.fromkeys(several)])
        return {"question": item.question, "truth": truth, "options": options}

    def plain_ask(self, item: Item, answers: Mapping[str, str]) -> Ask:
        """The toolkits' question, with all texts unchanged."""
        text = self._fill_prompt(item, answers)
        return Ask(
            (Message("user", text, self._shown_pictures(item)),),
            reply_tokens=_ROOM,
            likely_tokens=_LIKELY_WITHOUT_SCHEMA,
        )

    def fenced_ask(
        self, item: Item, answers: Mapping[str, str], spec: JudgeSpec, schema: str, reply: str
    ) -> Ask:
        """Our question: each answer between two lines with a code, followed by the form of the reply.

        `reply` describes that form in words, and `schema` is for a judge that takes one.
        """
        plain_answers = {name: neutralise(answer_of(text).text) for name, text in answers.items()}
        digested = [item.id, item.question, self.truth_of(item), plain_answers]
        code = hashlib.sha256(json.dumps(digested).encode()).hexdigest()[:16]
        fenced = {
            name: f"\nBEGIN {code}\n{text}\nEND {code}\n" for name, text in plain_answers.items()
        }
        messages = (
            Message("system", _FENCE),
            Message(
                "user", f"{self._fill_prompt(item, fenced)}\n\n{reply}", self._shown_pictures(item)
            ),
        )
        if spec.json_schema:
            return Ask(messages, reply_tokens=_ROOM, likely_tokens=LIKELY, schema=schema)
        return Ask(messages, reply_tokens=_ROOM, likely_tokens=_LIKELY_WITHOUT_SCHEMA)

    def _fill_prompt(self, item: Item, answers: Mapping[str, str]) -> str:
        texts = {**self.texts(item), **answers}

        def text_of(match: re.Match[str]) -> str:
            name = match[1]
            if name in texts:
                return texts[name]
            return cell_of(item, name) or ""

        return BRACES.sub(text_of, self.prompt)

    def _shown_pictures(self, item: Item) -> tuple[ShownImage, ...]:
        return item.pictures if self.show else ()
