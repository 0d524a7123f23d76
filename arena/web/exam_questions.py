"""Exam questions: the questions of a qualification on pages, a forced choice or a sample to be written."""

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
    """A forced choice with a known answer."""

    name: str
    html: str
    shown_name: str
    """The name of the scene on the page."""
    right_answer: str
    answers: Sequence[str]
    """All possible answers."""

    def read(self, form: Mapping[str, str]) -> ExamAnswer:
        answer = form.get("answer", "")
        if answer not in self.answers:
            raise QualificationError("Choose one of the answers.")
        return ExamAnswer(answer, answer == self.right_answer)

    def dock(
        self, action: str, number: str, note: str, problem: str, typed: Mapping[str, str]
    ) -> str:
        hidden_fields = {"number": number}
        return CHOICE.exam(action, hidden_fields, self.shown_name, "open", note, "", problem)

    def result(self, action: str, answer: ExamAnswer) -> str:
        key = "worker.right" if answer.is_right else "worker.wrong"
        verdict = t(key, side=self.right_answer.upper())
        return CHOICE.exam(action, {}, self.shown_name, "revealed", verdict, self.right_answer, "")


class CaptionLengths(NamedTuple):
    """The bounds of a caption."""

    least_words: int
    most_characters: int


class SampleQuestion(NamedTuple):
    """A picture to be described, as in the work. Its caption is marked by the things it names, or by an operator."""

    name: str
    html: str
    sample: SampleSpec
    address: str
    """The address that takes its form: a caption is longer than the usual form may be."""

    def read(self, form: Mapping[str, str]) -> ExamAnswer:
        caption = check_caption(1, form.get("caption-1", ""), answer="", least=self.sample.least)
        known = self.sample.known
        is_right = not lacking(caption, known) if known else None
        return ExamAnswer(caption, is_right)

    def dock(
        self, action: str, number: str, note: str, problem: str, typed: Mapping[str, str]
    ) -> str:
        # An old page may send another question's number: its caption isn't for this question.
        text = typed.get("caption-1", "") if typed.get("number") == number else ""
        # The browser keeps what was typed for a `piece`. The path of a seat ends in its number and our signature.
        _, _, token = action.rpartition("/")
        seat, _, _ = token.partition(".")
        hidden_fields = {"number": number, "piece": f"{seat}.{number}"}
        lengths = CaptionLengths(self.sample.least, LONGEST["caption"])
        form = WRITING.caption([text], lengths, ())
        return WRITING.sample(self.address, hidden_fields, note, problem, form)

    def result(self, action: str, answer: ExamAnswer) -> str:
        known = self.sample.known
        lacks = lacking(answer.text, known)
        verdict = t("writing.sample_right" if answer.is_right else "writing.sample_wrong")
        names = t("writing.sample_names", names=_names_text(known)) if known else ""
        left_out = t("writing.sample_lacks", names=_names_text(lacks)) if lacks else ""
        return WRITING.sample_told(action, verdict, names, left_out, answer.text)


def _names_text(known: Sequence[str]) -> str:
    """Returns the first alternative of each known thing, in one line."""
    return t("writing.sample_comma").join(alternatives(name)[0] for name in known)
