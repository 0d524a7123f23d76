"""Rubrics: a judge grades an answer on a scale, or both a baseline's answer and the model's."""

import json
import math
import re
from collections.abc import Generator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from arena.inference.messages import ending
from arena.interval_text import bracketed
from arena.reasoning import answer_of
from scoring.intervals import Ends
from scoring.judges.replies import Scale, read_score
from scoring.judges.spec import Ask, JudgeSpec, Reply, closed_schema
from scoring.multiple_choice.extract import ask_until_read
from scoring.rules.base import Item, Judged, Reading, RuleProtocol
from scoring.rules.prompted import PromptedRule

_Grade = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
_MOST_STEPS = 1_000
"""Steps from the lowest grade to the highest."""
_MOST_LISTED_GRADES = 101
"""Most grades listed in a closed schema; with more, the schema allows any number."""
_OBJECT = re.compile(r"(?:```(?:json)?\s*+)?(\{[^{}]{0,2000}\})(?:\s*+```)?")
_MARK_NAMES = ("baseline", "answer")
"""Names of two grades in a reply that is a JSON object."""
_UNREAD_MARKS = (-1.0, -1.0)
"""VLMEvalKit's marks for an unreadable reply; they stay in its means."""


class RubricRule(PromptedRule):
    """A judge's grade; a score is its place on the scale, from 0 for the lowest to 1 for the highest."""

    has_canaries: ClassVar[bool] = True
    answer_names: ClassVar[tuple[str, ...]] = ("answer",)
    unread_as: ClassVar[str] = "two marks of -1, which stay in the means"
    notes: ClassVar[Mapping[RuleProtocol, str]] = {
        "strict": "Strict protocol (ours): answers are fenced off from the judge's instructions. Without a clear "
        "grade, an answer stays unscored and doesn't count",
        "vlmevalkit": "VLMEvalKit's rules (August 2026): two grades in the first line of one reply. Without them both "
        "are -1 and count in the means",
        "mmbench-paper": "MMBench's protocol: the paper's prompt with the answer as it is. Without a clear grade, the "
        "judge is asked again. Then the answer stays unscored",
    }

    heading: ClassVar[str] = "Graded by a judge"
    kind: Literal["rubric"] = "rubric"
    grades: tuple[_Grade, _Grade]
    """The lowest and the highest grade."""
    step: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = None
    """The distance between grades; None for any number on the scale."""
    marks: Literal[1, 2] = 1
    """The number of grades for an answer; of two the baseline's is first."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        low, high = self.grades
        if low >= high:
            bounds = bracketed(low, high, "g")
            raise ValueError(
                f"Grades go from the lowest to the highest, and these are {bounds}. Correct them."
            )
        if self.step is not None:
            steps = (high - low) / self.step
            if abs(steps - round(steps)) > 1e-9 or not 1 <= round(steps) <= _MOST_STEPS:
                raise ValueError(
                    f"Grades in steps of {self.step:g} don't lead from {self._scale_text}. Correct step or grades."
                )
        return self

    @property
    def measure(self) -> str:
        return "mean grade"

    @property
    def mark_ends(self) -> Ends | None:
        return Ends(*self.grades)

    @property
    def mark_count(self) -> int:
        return self.marks

    @property
    def _scale_text(self) -> str:
        """The scale as a judge reads it: "0 to 2"."""
        return " to ".join(f"{grade:g}" for grade in self.grades)

    @property
    def scale(self) -> Scale:
        return Scale(*self.grades, step=self.step)

    def protocols(self) -> frozenset[RuleProtocol]:
        return frozenset(("strict", "vlmevalkit" if self.marks == 2 else "mmbench-paper"))

    def judging(
        self, item: Item, answer: str, protocol: RuleProtocol, spec: JudgeSpec, turn: int = 0
    ) -> Generator[Ask, Reply, Judged]:
        ask = self._ask(item, answer, protocol, spec)
        if protocol == "vlmevalkit":
            result = yield from ask_until_read(ask, self._read_kit_marks, attempts=1)
        else:
            read = self._read_marks if self.marks == 2 else self._read_grade
            result = yield from ask_until_read(ask, read)
        reading = result.read or self._unread_reading(protocol)
        return Judged(reading, result.replies, result.model)

    def _ask(self, item: Item, answer: str, protocol: RuleProtocol, spec: JudgeSpec) -> Ask:
        if protocol != "strict":
            return self.plain_ask(item, {"answer": answer})
        members = _MARK_NAMES if self.marks == 2 else ("grade",)
        schema = closed_schema(members, "number", self._listed_grades)
        return self.fenced_ask(item, {"answer": answer}, spec, schema, self._reply_form(spec))

    @property
    def _listed_grades(self) -> Sequence[float]:
        """All grades; empty if they are too many, or any number on the scale is one."""
        low, high = self.grades
        if self.step is None:
            return ()
        steps = round((high - low) / self.step)
        if steps + 1 > _MOST_LISTED_GRADES:
            return ()
        grades = [round(low + place * self.step, 9) for place in range(steps + 1)]
        return [int(grade) if grade.is_integer() else grade for grade in grades]

    @property
    def words(self) -> str:
        """A grade in words: "a number from 0 to 2 in steps of 1"."""
        steps = f" in steps of {self.step:g}" if self.step is not None else ""
        return f"a number from {self._scale_text}{steps}"

    def _reply_form(self, spec: JudgeSpec) -> str:
        """The sentence that tells the judge the form of its reply."""
        if self.marks == 2:
            if spec.json_schema:
                form = '{"baseline": number, "answer": number}'
                return f"Reply with {form} and nothing else; each is {self.words}."
            text = "Begin with a line that holds two grades alone, with a blank between them"
            return f"{text}: the baseline's, then the answer's. Each is {self.words}."
        if spec.json_schema:
            return f'Reply with {{"grade": number}} and nothing else; it is {self.words}.'
        return f"End with a line that is the grade alone, {self.words}."

    def _read_grade(self, reply: str, finish: str) -> Reading | None:
        grade = read_score(reply, self.scale, finish)
        if grade is None:
            return None
        return Reading(self._score(grade), f"{grade:g}", "the judge's grade", marks=(grade,))

    def _read_marks(self, reply: str, finish: str) -> Reading | None:
        """Two grades: the members of an object, or the whole first line of a reply."""
        marks = _marks_of_object(reply, finish) or _marks_of_line(reply, finish)
        if marks is None:
            return None
        are_on_scale = all(self.scale.score(mark) is not None for mark in marks)
        return self._reading_of_marks(marks) if are_on_scale else None

    def _read_kit_marks(self, reply: str, finish: str) -> Reading | None:
        """VLMEvalKit's reading: the two parts of the first line, with commas as blanks, even off the scale."""
        parts = reply.split("\n")[0].replace(",", " ").split(" ")
        marks = _two_numbers(parts)
        return self._reading_of_marks(marks) if marks is not None else None

    def _reading_of_marks(self, marks: tuple[float, float]) -> Reading:
        """The reading of two grades, the baseline's and the model's: the model's is the score."""
        baseline_mark, model_mark = marks
        read = f"{baseline_mark:g} {model_mark:g}"
        return Reading(self._score(model_mark), read, "the judge's marks", marks=marks)

    def _score(self, grade: float) -> float:
        """A grade's place on the scale, from 0 to 1."""
        low, high = self.grades
        return (grade - low) / (high - low)

    def _unread_reading(self, protocol: RuleProtocol) -> Reading:
        wanted = "two grades" if self.marks == 2 else "a grade"
        why = f"no reply of the judge holds {wanted} from {self._scale_text}"
        if protocol == "vlmevalkit":
            return Reading(0.0, "", why, marks=_UNREAD_MARKS)
        return Reading(None, "", why)


def _two_numbers(parts: Sequence[str]) -> tuple[float, float] | None:
    """Two finite numbers by Python's reading; None for other parts."""
    if len(parts) != 2:
        return None
    try:
        marks = (float(parts[0]), float(parts[1]))
    except ValueError:
        return None
    return marks if all(map(math.isfinite, marks)) else None


def _marks_of_line(reply: str, finish: str) -> tuple[float, float] | None:
    """The two numbers on a reply's first line; None also if the reply was cut short within the line."""
    line, line_break, _ = reply.strip().partition("\n")
    end = ending(finish)
    is_cut_short = end != "whole" and not line_break
    if end == "filtered" or is_cut_short:
        return None
    return _two_numbers(line.replace(",", " ").split())


def _marks_of_object(reply: str, finish: str) -> tuple[float, float] | None:
    """The two grades of a reply that is a JSON object."""
    match = _OBJECT.fullmatch(answer_of(reply).text.strip())
    if match is None or ending(finish) == "filtered":
        return None
    try:
        members = json.loads(match[1])
    except (ValueError, RecursionError):
        return None
    marks = [members.get(name) for name in _MARK_NAMES]
    if any(isinstance(mark, bool) or not isinstance(mark, int | float) for mark in marks):
        return None
    return _two_numbers([str(mark) for mark in marks])
