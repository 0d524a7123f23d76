"""Exam questions: those of a qualification as pages show them, a forced choice and a sample to be written."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arena.authoring.checks import LONGEST, check_caption
from arena.authoring.known import alternatives, lacking
from arena.authoring.spec import SampleSpec
from arena.locale import t
from arena.seats.qualification import QualificationError
from arena.seats.task import ExamAnswer
from arena.templates import macros

CHOICE = macros("campaign.html")
WRITING = macros("writing.html")


class ChoiceQuestion(NamedTuple):
    """A question with a known answer, which is chosen."""

    name: str
    html: str
    shown: str
    """Name of what the page shows."""
    right: str
    answers: Sequence[str]
    """All that may be answered."""

    def read(self, form: Mapping[str, str]) -> ExamAnswer:
        answer = form.get("answer", "")
        if answer not in self.answers:
            raise QualificationError("Choose one of the answers.")
        return ExamAnswer(answer, answer == self.right)

    def dock(
        self, action: str, number: str, said: str, problem: str, typed: Mapping[str, str]
    ) -> str:
        sent = {"number": number}
        return CHOICE.exam(action, sent, self.shown, "open", said, "", problem)

    def told(self, action: str, answer: ExamAnswer) -> str:
        verdict = t("worker.right" if answer.is_right else "worker.wrong", side=self.right.upper())
        return CHOICE.exam(action, {}, self.shown, "revealed", verdict, self.right, "")


class SampleQuestion(NamedTuple):
    """A picture to be described, as in the work; its caption is marked by what it names, or read by an operator."""

    name: str
    html: str
    sample: SampleSpec
    address: str
    """Where its form goes: captions are longer than answers."""

    def read(self, form: Mapping[str, str]) -> ExamAnswer:
        caption = check_caption(1, form.get("caption-1", ""), "", self.sample.least)
        known = self.sample.known
        return ExamAnswer(caption, not lacking(caption, known) if known else None)

    def dock(
        self, action: str, number: str, said: str, problem: str, typed: Mapping[str, str]
    ) -> str:
        # a page kept from before another question was answered sends its own number
        text = typed.get("caption-1", "") if typed.get("number") == number else ""
        seat = action.rpartition("/")[2].partition(".")[0]
        sent = {"number": number, "piece": f"{seat}.{number}"}
        least = (self.sample.least, LONGEST["caption"])
        form = WRITING.caption([text], least, ())
        return WRITING.sample(self.address, sent, said, problem, form)

    def told(self, action: str, answer: ExamAnswer) -> str:
        known = self.sample.known
        lacks = lacking(answer.text, known)
        verdict = t("writing.sample_right" if answer.is_right else "writing.sample_wrong")
        named = t("writing.sample_names", names=_listed(known)) if known else ""
        left_out = t("writing.sample_lacks", names=_listed(lacks)) if lacks else ""
        return WRITING.sample_told(action, verdict, named, left_out, answer.text)


def _listed(known: Sequence[str]) -> str:
    return t("writing.sample_comma").join(alternatives(one)[0] for one in known)
