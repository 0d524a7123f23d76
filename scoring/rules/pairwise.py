"""Pairs: a judge compares the model's answer with a baseline's and gives a verdict.

Under `strict` the judge is asked in both orders, since judges prefer a place, and the score is the mean of both. The
toolkits ask once, with the baseline's answer as A.
"""

import json
import re
from collections.abc import Generator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from arena.inference.messages import ending
from arena.reasoning import answer_of
from scoring.intervals import Ends
from scoring.judges.spec import Ask, JudgeSpec, Reply, closed_schema
from scoring.multiple_choice.extract import ask_until_read
from scoring.report import EMPTY_CELLS
from scoring.rules.base import (
    Item,
    Judged,
    NamedColumn,
    Reading,
    RuleProtocol,
    cell_of,
    unread_reading,
)
from scoring.rules.prompted import PromptedRule

_LABEL = re.compile(r"[^\[\]{}\"\\\n]{1,40}")


def _checked_label(value: object) -> object:
    if not isinstance(value, str) or not _LABEL.fullmatch(value):
        raise ValueError(f"{str(value)[:40]!r} isn't a label. Write one such as 'A>B'.")
    return value


_Label = Annotated[str, BeforeValidator(_checked_label)]
ONE_VERDICT = "one verdict in both orders"
TWO_VERDICTS = "the mean of two verdicts, one in each order"
NO_BASELINE = "no answer to compare with"
_TOOLKITS_LABELS = ("A>B", "A>>B", "A=B", "B>A", "B>>A")
"""The toolkits' labels, in lmms-eval's order of search."""
_KIT_LABEL = re.compile(r"\[\[([AB<>=]+)\]\]")
"""The toolkits' pattern; it also matches `A<B`, which counts as a tie."""
_STRICT_LABEL = re.compile(r"\[\[([^\[\]\n]{1,40})\]\]")
_OBJECT = re.compile(r"(?:```(?:json)?\s*+)?(\{[^{}]{0,2000}\})(?:\s*+```)?")


class PairwiseRule(PromptedRule):
    """A verdict's value: high if the model's answer, which is B, is better than the baseline's."""

    answer_names: ClassVar[tuple[str, ...]] = ("answer_a", "answer_b")
    unread_as: ClassVar[str] = "a tie"
    notes: ClassVar[Mapping[RuleProtocol, str]] = {
        "strict": "Strict protocol (ours): the judge compares in both orders, and the mean counts. Without a clear "
        "verdict in both, an answer stays unscored and doesn't count",
        "vlmevalkit": "VLMEvalKit's rules (August 2026): one order, the baseline first. Without a single label the "
        "judge is asked again. Then it is a tie",
        "lmms-eval": "lmms-eval's rules (August 2026): one order, the baseline first. Of several labels, the first in "
        "its own list counts. Without any it is a tie",
    }

    heading: ClassVar[str] = "Compared by a judge"
    kind: Literal["pairwise"] = "pairwise"
    baseline: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """Column of the baseline's answers."""
    verdicts: Annotated[
        Mapping[_Label, Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]],
        Field(min_length=2, max_length=20),
    ]
    """Values by label."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        values = [*self.verdicts.values()]
        for label, value in self.verdicts.items():
            opposite = self._opposite(value)
            if self._label_of(opposite) is None:
                raise ValueError(
                    f"The verdict {label!r} has no counterpart in the other order. Add one with the value "
                    f"{opposite:.12g}."
                )
        if len({*values}) < len(values):
            raise ValueError("Two verdicts have the same value. Keep one of them.")
        return self

    @property
    def ends(self) -> Ends:
        return Ends(min(self.verdicts.values()), max(self.verdicts.values()))

    @property
    def measure(self) -> str:
        return "mean verdict"

    @property
    def named_columns(self) -> Sequence[NamedColumn]:
        baseline = NamedColumn(self.baseline, "The answer to compare with", "It is a dog.")
        return [*super().named_columns, baseline]

    @property
    def required(self) -> Sequence[str]:
        return (*super().required, self.baseline)

    def protocols(self) -> frozenset[RuleProtocol]:
        if {*self.verdicts} == {*_TOOLKITS_LABELS}:
            return frozenset(("strict", "vlmevalkit", "lmms-eval"))
        return frozenset(("strict",))

    def baseline_of(self, item: Item) -> str:
        return cell_of(item, self.baseline) or ""

    def _read(self, item: Item, answer: str, protocol: RuleProtocol) -> Reading:
        """Left to the judge; under `strict`, nothing is compared with a baseline's empty cell."""
        baseline = self.baseline_of(item).strip()
        if protocol == "strict" and baseline in ("", *EMPTY_CELLS):
            return Reading(None, "", NO_BASELINE)
        return super()._read(item, answer, protocol)

    def turns(self, protocol: RuleProtocol) -> int:
        return 2 if protocol == "strict" else 1

    def judging(
        self, item: Item, answer: str, protocol: RuleProtocol, spec: JudgeSpec, turn: int = 0
    ) -> Generator[Ask, Reply, Judged]:
        baseline = self.baseline_of(item)
        is_swapped = protocol == "strict" and turn == 1
        answers = (answer, baseline) if is_swapped else (baseline, answer)
        texts = dict(zip(self.answer_names, answers, strict=True))
        if protocol == "strict":
            ask = self._strict_ask(item, texts, spec)
            verdict = yield from ask_until_read(ask, self._read_strict_label)
        elif protocol == "vlmevalkit":
            ask = self.plain_ask(item, texts)
            verdict = yield from ask_until_read(ask, _read_only_label, attempts=2)
        else:
            ask = self.plain_ask(item, texts)
            verdict = yield from ask_until_read(ask, _read_contained_label, attempts=1)
        reading = self._unread_reading(protocol)
        if verdict.read:
            reading = self._verdict_reading(verdict.read, is_swapped)
        return Judged(reading, verdict.replies, verdict.model)

    def combine_turns(self, turns: Sequence[Judged]) -> Judged:
        """The mean of both orders; unread if one of them is unread."""
        replies = tuple(reply for turn in turns for reply in turn.replies)
        model = turns[-1].model
        if len(turns) == 1:
            return Judged(turns[0].reading, replies, model)
        scores = []
        for turn in turns:
            if turn.reading.score is None:
                return Judged(turn.reading, replies, model)
            scores.append(turn.reading.score)
        labels = dict.fromkeys(turn.reading.read for turn in turns)
        why = ONE_VERDICT if len(labels) == 1 else TWO_VERDICTS
        reading = Reading(sum(scores) / len(scores), ", ".join(labels), why)
        return Judged(reading, replies, model)

    def _strict_ask(self, item: Item, texts: Mapping[str, str], spec: JudgeSpec) -> Ask:
        labels = [*self.verdicts]
        schema = closed_schema("verdict", "string", labels)
        if spec.json_schema:
            form = f'Reply with {{"verdict": label}} and nothing else; it is one of {", ".join(labels)}.'
        else:
            bracketed = ", ".join(f"[[{label}]]" for label in labels)
            form = f"End with your verdict in double brackets, one of {bracketed}."
        return self.fenced_ask(item, texts, spec, schema, form)

    def _read_strict_label(self, reply: str, finish: str) -> str | None:
        """The verdict in a JSON object; else the only label of the whole reply, if it isn't in the reasoning alone."""
        if ending(finish) != "whole":
            return None
        answer = answer_of(reply).text.strip()
        json_object = _OBJECT.fullmatch(answer)
        if json_object:
            return self._verdict_of_object(json_object[1])
        labels = {*_STRICT_LABEL.findall(reply)}
        if len(labels) != 1:
            return None
        [label] = labels
        is_in_answer = f"[[{label}]]" in answer
        return label if label in self.verdicts and is_in_answer else None

    def _verdict_of_object(self, text: str) -> str | None:
        """The verdict in a JSON object; None without a known label."""
        try:
            label = json.loads(text).get("verdict")
        except (ValueError, RecursionError):
            return None
        return label if isinstance(label, str) and label in self.verdicts else None

    def _verdict_reading(self, label: str, is_swapped: bool) -> Reading:
        """The reading of a label; in the second order, that of the label with the opposite value."""
        if is_swapped:
            label = self._label_of(self._opposite(self.verdicts[label])) or ""
        value = self.verdicts.get(label, self._tie)
        return Reading(value, label, "the judge's verdict")

    def _opposite(self, value: float) -> float:
        """The value of the same verdict in the other order."""
        return self.ends.low + self.ends.high - value

    def _label_of(self, value: float) -> str | None:
        for label, label_value in self.verdicts.items():
            if abs(label_value - value) < 1e-9:
                return label
        return None

    def _unread_reading(self, protocol: RuleProtocol) -> Reading:
        if protocol == "strict":
            return unread_reading(protocol, "no reply of the judge holds one verdict")
        return Reading(self._tie, "", "no reply of the judge holds one verdict, which is a tie")

    @property
    def _tie(self) -> float:
        return (self.ends.low + self.ends.high) / 2


def _read_only_label(reply: str, finish: str) -> str | None:
    """VLMEvalKit's reading: the only label in a reply, however often it occurs."""
    labels = {*_KIT_LABEL.findall(reply)}
    return labels.pop() if len(labels) == 1 else None


def _read_contained_label(reply: str, finish: str) -> str | None:
    """lmms-eval's reading: the first of its labels, in its order, that the reply contains.

    If the reply has only one label in double brackets, the rest of the reply doesn't count.
    """
    text = _read_only_label(reply, finish) or reply
    return next((label for label in _TOOLKITS_LABELS if label in text), None)
