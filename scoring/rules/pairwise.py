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
from scoring.multiple_choice.extract import ATTEMPTS, ask_until_read
from scoring.rules.base import Item, Judged, NamedColumn, Reading, RuleProtocol, cell_of, unread
from scoring.rules.prompted import PromptedRule

_LABEL = re.compile(r"[^\[\]{}\"\\\n]{1,40}")


def _is_label(value: object) -> object:
    if not isinstance(value, str) or not _LABEL.fullmatch(value):
        raise ValueError(f"{str(value)[:40]!r} isn't a label. Write one such as 'A>B'.")
    return value


_Label = Annotated[str, BeforeValidator(_is_label)]
ONE_VERDICT = "one verdict in both orders"
TWO_VERDICTS = "the mean of two verdicts, one in each order"
_TOOLKITS_LABELS = ("A>B", "A>>B", "A=B", "B>A", "B>>A")
"""The toolkits' labels, in lmms-eval's order of search."""
_KIT_LABEL = re.compile(r"\[\[([AB<>=]+)\]\]")
"""The toolkits' pattern; it also matches `A<B`, which counts 0."""
_STRICT_LABEL = re.compile(r"\[\[([^\[\]\n]{1,40})\]\]")
_OBJECT = re.compile(r"(?:```(?:json)?\s*+)?(\{[^{}]{0,2000}\})(?:\s*+```)?")


class PairwiseRule(PromptedRule):
    """A verdict's value: high if the model's answer, which is B, is better than the baseline's."""

    places: ClassVar[tuple[str, ...]] = ("answer_a", "answer_b")
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
        low, high = self.ends
        values = [*self.verdicts.values()]
        for label, value in self.verdicts.items():
            if not any(abs(low + high - value - other) < 1e-9 for other in values):
                raise ValueError(
                    f"The verdict {label!r} has no counterpart in the other order. Add one with the value "
                    f"{low + high - value:g}."
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
    def needed(self) -> Sequence[str]:
        return (*super().needed, self.baseline)

    def protocols(self) -> frozenset[RuleProtocol]:
        is_toolkits = {*self.verdicts} == {*_TOOLKITS_LABELS}
        return frozenset(("strict", "vlmevalkit", "lmms-eval") if is_toolkits else ("strict",))

    def baseline_of(self, item: Item) -> str:
        return cell_of(item, self.baseline) or ""

    def turns(self, protocol: RuleProtocol) -> int:
        return 2 if protocol == "strict" else 1

    def judging(
        self, item: Item, answer: str, protocol: RuleProtocol, spec: JudgeSpec, turn: int = 0
    ) -> Generator[Ask, Reply, Judged]:
        baseline = self.baseline_of(item)
        if protocol == "strict":
            answers = (answer, baseline) if turn else (baseline, answer)
            ask = self._ask(item, answers, spec)
            verdict = yield from ask_until_read(ask, self._strict, ATTEMPTS)
        else:
            ask = self.plain_ask(item, dict(zip(self.places, (baseline, answer), strict=True)))
            if protocol == "vlmevalkit":
                verdict = yield from ask_until_read(ask, _only_label, 2)
            else:
                verdict = yield from ask_until_read(ask, _contained_label, 1)
            turn = 0
        reading = self._reading(verdict.read, turn) if verdict.read else self._unread(protocol)
        return Judged(reading, verdict.replies, verdict.model)

    def combine_turns(self, turns: Sequence[Judged]) -> Judged:
        """The mean of both orders; unread if one of them is unread."""
        replies = tuple(reply for turn in turns for reply in turn.replies)
        model = turns[-1].model
        scores = [turn.reading.score for turn in turns if turn.reading.score is not None]
        if len(turns) == 1 or len(scores) < len(turns):
            first = min(turns, key=lambda turn: turn.reading.score is not None)
            return Judged(first.reading, replies, model)
        reads = dict.fromkeys(turn.reading.read for turn in turns)
        why = ONE_VERDICT if len(reads) == 1 else TWO_VERDICTS
        reading = Reading(sum(scores) / len(scores), ", ".join(reads), why)
        return Judged(reading, replies, model)

    def _ask(self, item: Item, answers: tuple[str, str], spec: JudgeSpec) -> Ask:
        labels = [*self.verdicts]
        schema = closed_schema("verdict", "string", labels)
        if spec.json_schema:
            form = f'Reply with {{"verdict": label}} and nothing else; it is one of {", ".join(labels)}.'
        else:
            bracketed = ", ".join(f"[[{label}]]" for label in labels)
            form = f"End with your verdict in double brackets, one of {bracketed}."
        texts = dict(zip(self.places, answers, strict=True))
        return self.fenced_ask(item, texts, spec, schema, form)

    def _strict(self, reply: str, finish: str) -> str | None:
        """The verdict of an object, or the only label in a reply, reasoning included, if the answer has it too."""
        if ending(finish) != "whole":
            return None
        answer = answer_of(reply).text.strip()
        if json_object := _OBJECT.fullmatch(answer):
            return self._verdict_in(json_object[1])
        labels = {*_STRICT_LABEL.findall(reply)}
        label = labels.pop() if len(labels) == 1 else ""
        return label if label in self.verdicts and f"[[{label}]]" in answer else None

    def _verdict_in(self, text: str) -> str | None:
        """The verdict in a JSON object; None without a known label."""
        try:
            label = json.loads(text).get("verdict")
        except (ValueError, RecursionError):
            return None
        return label if isinstance(label, str) and label in self.verdicts else None

    def _reading(self, label: str, turn: int = 0) -> Reading:
        """The reading of a label; in the second order, that of the label with the opposite value."""
        low, high = self.ends
        value = self.verdicts.get(label, self._tie)
        if turn:
            value = low + high - value
            label = next(name for name, other in self.verdicts.items() if abs(other - value) < 1e-9)
        return Reading(value, label, "the judge's verdict")

    def _unread(self, protocol: RuleProtocol) -> Reading:
        reading = unread(protocol, "no reply of the judge holds one verdict")
        if protocol == "strict":
            return reading
        return Reading(self._tie, "", "no reply of the judge holds one verdict, which is a tie")

    @property
    def _tie(self) -> float:
        return (self.ends.low + self.ends.high) / 2


def _only_label(reply: str, finish: str) -> str | None:
    """VLMEvalKit's reading: the only label in a reply, however often it occurs."""
    labels = {*_KIT_LABEL.findall(reply)}
    return labels.pop() if len(labels) == 1 else None


def _contained_label(reply: str, finish: str) -> str | None:
    """lmms-eval's reading: the first verdict, in its order, in the only label, or else in the whole reply."""
    text = _only_label(reply, finish) or reply
    return next((label for label in _TOOLKITS_LABELS if label in text), None)
