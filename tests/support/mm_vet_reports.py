"""A judged MM-Vet report out of made-up questions."""

from dataclasses import replace
from typing import Any

from scoring.report import Grade, JudgeStamp, Question, QuestionSet, Report, Row

INNER = "http://10.7.7.7:8123/v1"
"""Address of the judge, which no page may show."""
CAPABILITIES = ("rec", "ocr", "know", "gen", "spat", "math")


def mm_vet_report(score: float = 0.5, **changes: Any) -> Report:
    """A judged report on 60 questions, ten of each capability; the later a capability, the better."""
    rows = []
    for number in range(60):
        question = Question(
            f"v1_{number}", f"What is {number}?", f"truth {number}", (CAPABILITIES[number // 10],)
        )
        given = round(score + number // 10 / 20, 2)
        rows.append(
            Row(
                question, f"answer {number}", (Grade(question.id, 0, given, replies=(str(given),)),)
            )
        )
    judge = JudgeStamp("gpt-4-0613", ("gpt-4-0613",), INNER, "c0ffee" * 10, "mm-vet first token 1")
    questions = QuestionSet("mm-vet", "MM-Vet", "d1ge57", True, ())
    made = ("A <b>model</b>", "m.json", "2026-11-21T12:00:00+00:00")
    return replace(
        Report("mm-vet", questions, "paper", judge, 1, False, *made, tuple(rows)), **changes
    )
