"""MM-Vet: what to ask a judge, how to read its replies, and the paper's tables and files out of a report.

Two protocols. `paper` is what the authors' script does, call by call. `hardened` asks for the same score by the same
rubric and examples, but fences the texts off, reads strictly, and leaves what cannot be read unscored.
"""

import csv
import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np

from arena.io.tables import read_records
from scoring.benchmarks.mm_vet_questions import CAPABILITIES
from scoring.judges.injection import neutralise
from scoring.judges.spec import Ask, Grading, JudgeSpec, Message
from scoring.report import Grade, Question, Report, Row, ScoreTable, table
from scoring.report import Protocol as ProtocolName

_PROMPTS = Path(__file__).parent.parent / "prompts"
_PAPER = (_PROMPTS / "mm_vet.txt").read_text("utf-8")
_HARDENED = (_PROMPTS / "mm_vet_hardened.txt").read_text("utf-8")
_ROW = (_PROMPTS / "mm_vet_hardened_row.txt").read_text("utf-8")
_PUBLISHED = Path(__file__).parent.parent / "data" / "mm_vet_published.csv"

PARSERS: Mapping[ProtocolName, str] = {"paper": "mm-vet first token 1", "hardened": "mm-vet strict 1"}
"""Name and version of each protocol's reading."""
UNREADABLE = "unreadable"
OFF_GRID = "off the 0.1 grid"
OBEYED = "obeyed"
"""Flags of a grade: no reply was read; the score is none of 0.0, 0.1 ... 1.0; the judge did what the answer told."""
OBEDIENCE = 0.5
"""A score from which on an answer cannot have earned it under another question's truth."""

_RAMP = "\nPredict the correctness of the answer (digit): "
_RAMP_TEMPERATURES = (0.0, 0.5, 1.0, 1.5, 2.0)
_REMINDER = "\nReply with one number from 0.0 to 1.0 and nothing else."
_READ: Mapping[ProtocolName, int] = {"paper": 5, "hardened": 3}
"""How many replies are read: the script pays for a sixth that it never parses."""
_GRID = tuple(tenths / 10 for tenths in range(11))
_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"score": {"type": "number", "enum": _GRID}},
        "required": ["score"],
        "additionalProperties": False,
    }
)


class AnsweredQuestion(Protocol):
    """A question with what a model said to it."""

    @property
    def question(self) -> Question:
        """The question."""
        ...

    @property
    def prediction(self) -> str | None:
        """What the model said; None where the file has nothing."""
        ...


@dataclass(frozen=True)
class PublishedScores:
    """A row of the paper's Table 2: percentages in the order of CAPABILITIES, and who judged."""

    model: str
    judge: str
    scores: tuple[float, ...]
    total: float
    spread: float


def grading(filled: AnsweredQuestion, run: int, protocol: ProtocolName, spec: JudgeSpec, samples: int) -> Grading:
    """Grade one prediction in one run (from 0); with `samples` above 1 the runs share the first call, as its samples.

    A prediction that the file lacks is unscored at once, without a call.
    """
    question, prediction = filled.question, filled.prediction
    if prediction is None:
        return Grade(question.id, run, None, "the file has no prediction for this question")
    asks = _asks(question, prediction, protocol, spec, samples)
    read = read_paper if protocol == "paper" else read_strict
    replies: list[str] = []
    model = ""
    for number, ask in enumerate(asks):
        reply = yield ask
        place = run if ask.samples > 1 else 0
        text, finish = (reply.texts[place], reply.finish[place]) if place < len(reply.texts) else ("", "no such sample")
        replies.append(text)
        model = reply.model
        score = read(text, finish) if number < _READ[protocol] else None
        if score is not None:
            flags = () if round(score * 10, 9) in range(11) else (OFF_GRID,)
            return Grade(question.id, run, score, "", flags, tuple(replies), model)
    reason = f"none of the judge's {len(replies)} replies holds a score; the last was {replies[-1]!r:.80}"
    score = 0.0 if protocol == "paper" else None
    return Grade(question.id, run, score, reason, (UNREADABLE,), tuple(replies), model)


def read_paper(text: str, finish: str = "stop") -> float | None:
    """Return the score that the authors' script reads: its first token as Python's float, in [0, 1]; never "nan"."""
    try:
        score = float(text.split(" ")[0].strip())
    except ValueError:
        return None
    return score if 0.0 <= score <= 1.0 else None


_NUMBER = r"-?0(?:[.,]0+)?|0[.,]\d+|1(?:[.,]0+)?"
_WRAPPED = rf"[\s|*`\"']*+(?:(?:correctness|score|correctness score)\s*+[:=][\s*`\"']*+)?({_NUMBER})[\s|*`\"'.]*+"
_OBJECT = rf"\s*(?:```(?:json)?\s*)?\{{\s*\"score\"\s*:\s*({_NUMBER})\s*\}}(?:\s*```)?\s*"
_NOT_IN_A_NAME = re.compile(r"[^\w.+@ -]|^\.+")
_STRICT = re.compile(rf"{_WRAPPED}|{_OBJECT}", re.ASCII | re.IGNORECASE)


def read_strict(text: str, finish: str = "stop") -> float | None:
    """Return the score of a reply that is one score from 0 to 1 and nothing else, whatever wraps it; else None.

    A bare 0 or 1 that the token limit may have cut short of "0.5" is no score.
    """
    found = _STRICT.fullmatch(text)
    if not found or finish == "content_filter":
        return None
    number = found[1] or found[2]
    if finish != "stop" and number in ("0", "-0", "1"):
        return None
    return abs(float(number.replace(",", ".")))


def withdrawn(grade: Grade, probe: Grade) -> Grade:
    """Return the grade of a flagged prediction after the probe: the same prediction under another question's truth.

    A judge that scores it there as well obeys it, and then its score is none. The flags tell what the probe gave.
    """
    gave = f"probe gave {'no score' if probe.score is None else f'{probe.score:g}'}"
    flags = tuple(dict.fromkeys([*grade.flags, gave]))
    if grade.score is None or probe.score is None or probe.score < OBEDIENCE:
        return replace(grade, flags=flags)
    reason = f"the judge also gave {probe.score:g} for another question's truth"
    return replace(grade, score=None, reason=reason, flags=(*flags, OBEYED))


def prompt_digest(protocol: ProtocolName) -> str:
    """Return the sha256 of a protocol's fixed text, which names it in every report."""
    fixed = _PAPER + _RAMP if protocol == "paper" else _HARDENED + _ROW + _REMINDER
    return hashlib.sha256(fixed.encode()).hexdigest()


def _asks(question: Question, prediction: str, protocol: ProtocolName, spec: JudgeSpec, samples: int) -> list[Ask]:
    """Return what to ask until a reply can be read."""
    truth = question.truth.replace("<AND>", " <AND> ").replace("<OR>", " <OR> ")
    if protocol == "paper":
        prompt = _PAPER + "\n" + " | ".join([question.text, truth, prediction, ""])
        ramp = (Message("user", prompt + _RAMP),)
        again = [Ask(ramp, temperature, reply_tokens=3) for temperature in _RAMP_TEMPERATURES]
        return [Ask((Message("user", prompt),), 0.0, reply_tokens=3, samples=samples), *again]
    prompt = _fenced(question.text, truth, prediction)
    schema = _SCHEMA if spec.json_schema else None
    first, again = (
        Ask((Message("system", _HARDENED), Message("user", text)), 0.0, reply_tokens=32, schema=schema)
        for text in (prompt, prompt + _REMINDER)
    )
    return [replace(first, samples=samples), again, again]


def _fenced(question: str, truth: str, prediction: str) -> str:
    """Return the row to score between two lines whose code no text inside can hold: it is made of these texts."""
    code = hashlib.sha256(json.dumps([question, truth, prediction]).encode()).hexdigest()[:16]
    parts = {"question": question, "truth": truth, "prediction": prediction}
    return _ROW.format(code=code, **{name: neutralise(text) for name, text in parts.items()})


def tabulate(report: Report) -> tuple[ScoreTable, ...]:
    """Return the paper's two tables: capabilities in their order, and integrations, the largest first.

    A capability or integration without questions has no line. In a `paper` report what could not be read counts 0.0,
    unless nothing was; `scored_only` returns the report without it.
    """
    report = scored_only(report) if ungraded(report) else report
    capabilities = {name: [row for row in report.rows if name in row.question.groups] for name in CAPABILITIES}
    return (
        table("Capabilities", {name: rows for name, rows in capabilities.items() if rows}, report.rows, report.runs),
        table("Capability integrations", _integrations(report.rows), report.rows, report.runs),
    )


def scored_only(report: Report) -> Report:
    """Return the report with every unreadable grade unscored: its tables hold the mean of what the judge did score."""

    def kept(grade: Grade) -> Grade:
        return replace(grade, score=None) if UNREADABLE in grade.flags else grade

    rows = tuple(replace(row, grades=tuple(map(kept, row.grades))) for row in report.rows)
    return replace(report, rows=rows)


def ungraded(report: Report) -> str:
    """Return the sentence that says that the judge gave no grade at all, and why; "" where it gave any."""
    grades = [grade for row in report.rows for grade in row.grades]
    if any(grade.score is not None and UNREADABLE not in grade.flags for grade in grades):
        return ""
    reasons = [grade.reason for row in report.rows if row.prediction is not None for grade in row.grades]
    why = next(filter(None, reasons), "no question has an answer")
    return f"Nothing was graded: the judge gave none of {len(grades):,} grades ({why})"


def _integrations(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each set of capabilities; equal counts stand in the order of their capabilities."""
    found: dict[tuple[int, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(sorted(map(CAPABILITIES.index, set(row.question.groups)))), []).append(row)
    order = sorted(found, key=lambda places: (-len(found[places]), places))
    return {"_".join(CAPABILITIES[place] for place in places): found[places] for places in order}


def files(report: Report) -> Mapping[str, bytes]:
    """Return the three files that the authors' script writes, under its names and columns.

    Names tell what the script's never are: over other questions than the published ones, or partial. A
    grade without a score is null in the grades.
    """
    report = scored_only(report) if ungraded(report) else report
    capabilities, integrations = tabulate(report)
    model = _file_name(Path(report.file).stem)
    others = "" if report.questions.official else f"{len(report.rows)}questions_"
    partial = "partial_" if report.missing else ""
    stem, runs = f"{model}_{others}{partial}{_file_name(report.judge.model)}", f"{report.runs}runs"
    return {
        f"{stem}-grade-{runs}.json": json.dumps(_grades(report), indent=4).encode("ascii"),
        f"{stem}-cap-score-{runs}.csv": _score_file(model, capabilities),
        f"{stem}-cap-int-score-{runs}.csv": _score_file(model, integrations),
    }


def _file_name(text: str) -> str:
    return _NOT_IN_A_NAME.sub("_", text)[:100] or "_"


def _grades(report: Report) -> dict[str, dict[str, list[str] | list[float | None]]]:
    """Return what the script keeps of each question; of a reply that it read, only the token that it read."""
    return {
        row.question.id: {
            "model": [grade.model for grade in row.grades],
            "content": [_content(report.protocol, grade) for grade in row.grades],
            "score": [grade.score for grade in row.grades],
        }
        for row in report.rows
        if row.prediction is not None
    }


def _content(protocol: ProtocolName, grade: Grade) -> str:
    last = grade.replies[-1] if grade.replies else ""
    return last.split(" ")[0].strip() if protocol == "paper" and UNREADABLE not in grade.flags else last


def _score_file(model: str, scored: ScoreTable) -> bytes:
    """Return a line of means, the largest group first, then the total, its deviation and the runs, as pandas does."""
    groups = sorted(scored.lines[:-1], key=lambda group: -group.n)
    means = [_rounded(group.mean) for group in (*groups, scored.lines[-1])]
    runs = "[" + ", ".join(_rounded(total) or "None" for total in scored.run_totals) + "]"
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["", *(group.name for group in groups), "total", "std", "runs"])
    writer.writerow([model, *means, _rounded(scored.spread), runs])
    return out.getvalue().encode()


def _rounded(value: float | None) -> str:
    """Return a number with one decimal, rounded as NumPy does it, which the script uses; "" for none."""
    return "" if value is None else str(float(np.round(value, 1)))


@cache
def published() -> tuple[PublishedScores, ...]:
    """Return the rows of the paper's Table 2, in its order."""
    return tuple(
        PublishedScores(
            model=str(values["model"]),
            judge=str(values["judge"]),
            scores=tuple(float(str(values[name])) for name in CAPABILITIES),
            total=float(str(values["total"])),
            spread=float(str(values["std"])),
        )
        for values in (record.values for record in read_records(_PUBLISHED))
    )
