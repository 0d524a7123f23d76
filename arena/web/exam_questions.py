"""Exam questions: those of a qualification as pages show them, a forced choice and a sample to be written."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from arena.authoring.checks import LONGEST, check_caption
from arena.authoring.known import alternatives, lacking
from arena.authoring.spec import SampleSpec
from arena.seats.qualification import QualificationError
from arena.seats.task import ExamAnswer
from arena.templates import macros
from arena.web.words import Words

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
        self, action: str, number: str, said: str, problem: str, words: Words, typed: Words
    ) -> str:
        sent = {"number": number}
        return CHOICE.exam(action, sent, self.shown, "open", said, "", problem, words)

    def told(self, action: str, answer: ExamAnswer, words: Words) -> str:
        verdict = words["c_right" if answer.is_right else "c_wrong"].format(self.right.upper())
        return CHOICE.exam(action, {}, self.shown, "revealed", verdict, self.right, "", words)


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
        self, action: str, number: str, said: str, problem: str, words: Words, typed: Words
    ) -> str:
        # a page kept from before another question was answered sends its own number
        text = typed.get("caption-1", "") if typed.get("number") == number else ""
        seat = action.rpartition("/")[2].partition(".")[0]
        sent = {"number": number, "piece": f"{seat}.{number}"}
        least = (self.sample.least, LONGEST["caption"])
        form = WRITING.caption([text], least, (), words)
        return WRITING.sample(self.address, sent, said, problem, form, words)

    def told(self, action: str, answer: ExamAnswer, words: Words) -> str:
        known = self.sample.known
        lacks = lacking(answer.text, known)
        verdict = words["i_sample_right" if answer.is_right else "i_sample_wrong"]
        named = words["i_sample_names"].format(_listed(known, words)) if known else ""
        left_out = words["i_sample_lacks"].format(_listed(lacks, words)) if lacks else ""
        return WRITING.sample_told(action, verdict, named, left_out, answer.text, words)


def _listed(known: Sequence[str], words: Words) -> str:
    return words["i_sample_comma"].join(alternatives(one)[0] for one in known)
