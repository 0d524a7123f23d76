"""MM-Vet: what a judge is asked, how its replies are read, and the paper's tables and files.

There are two protocols. `paper` does what the authors' script does, call by call: what cannot be read is asked again
at rising temperatures. `hardened` asks for the same score by the same rubric and examples, but fences the texts off,
reads strictly, and leaves what cannot be read unscored. It grades more than the file's predictions: canaries, which
deserve nothing, and each flagged prediction once more under another question's truth.
"""

import csv
import hashlib
import json
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from arena.database import now
from arena.reasoning import answer_of
from arena.sheets import Sheet
from arena.types import grouped
from scoring.benchmarks.base import BenchmarkOptions, LazyFiles
from scoring.benchmarks.mm_vet_questions import truth_parts
from scoring.benchmarks.mm_vet_tables import (
    OBEYED,
    OFF_GRID,
    UNREADABLE,
    MMVetArticle,
    capability_sheet,
    scored_only,
    tabulate,
    ungraded,
)
from scoring.benchmarks.predictions import Missing
from scoring.judges import injection
from scoring.judges.injection import neutralise
from scoring.judges.replies import LIKELY, ROOM, Scale, quoted, read_score
from scoring.judges.run import Task
from scoring.judges.spec import Ask, Grading, JudgeSpec, Message, closed_schema, prompt_text
from scoring.no_answers import NO_ANSWER, no_answer
from scoring.report import (
    Filled,
    Grade,
    JudgeStamp,
    Kind,
    Probed,
    Protocol,
    Question,
    QuestionSet,
    Report,
    Row,
    ScoreTable,
    audit,
    csv_bytes,
    file_stem,
    line,
    missing_csv,
    safe_csv,
    safe_name,
    scores,
)
from scoring.score_sheets import no_answer_sheet, sheet_files

_ROW = prompt_text("mm_vet_hardened_row.txt")
PARSERS: Mapping[Protocol, str] = {"paper": "mm-vet first token 1", "hardened": "judge score 1"}
"""Name and version of each protocol's parser."""
OBEDIENCE = 0.5
"""From this score on, an answer cannot have earned it under another question's truth."""

CORRECTNESS = Scale(0.0, 1.0)
_RAMP_TEMPERATURES = (0.0, 0.5, 1.0, 1.5, 2.0)
_REMINDER = "\nReply with one number from 0.0 to 1.0 and nothing else."
_READ: Mapping[Protocol, int] = {"paper": 5, "hardened": 3}
"""Number of replies read: the script pays for a sixth that it never parses."""
_SCHEMA = closed_schema("score", "number", [tenths / 10 for tenths in range(11)])


@dataclass(frozen=True)
class Wording:
    """What a judge of one edition is told, beside the texts to compare."""

    paper: str
    """The authors' instruction and examples."""
    row: Callable[[str, str, str], str]
    """The line that follows it: of question, ground truth and prediction."""
    again: str
    """What their script adds when it could read no score."""
    hardened: str


V1 = Wording(
    paper=prompt_text("mm_vet.txt"),
    row=lambda question, truth, prediction: "\n" + " | ".join([question, truth, prediction, ""]),
    again="\nPredict the correctness of the answer (digit): ",
    hardened=prompt_text("mm_vet_hardened.txt"),
)


EXAMPLES = 7
_RULE = "--- | --- | --- | ---\n"
"""The examples of both prompts, a line each, and the line above them."""


def with_examples(wording: Wording, kept: Collection[int]) -> Wording:
    """The wording with the examples of these numbers, from 1, alone; nothing else of it changes."""
    return replace(
        wording,
        paper=_with_examples(wording.paper, kept),
        hardened=_with_examples(wording.hardened, kept),
    )


def _with_examples(prompt: str, kept: Collection[int]) -> str:
    lines = prompt.splitlines(keepends=True)
    first = lines.index(_RULE) + 1
    cut = {first + number - 1 for number in range(1, EXAMPLES + 1) if number not in kept}
    return "".join(line for place, line in enumerate(lines) if place not in cut)


def grading(
    filled: Filled,
    run: int,
    protocol: Protocol,
    spec: JudgeSpec,
    samples: int,
    wording: Wording = V1,
) -> Grading:
    """Grade a prediction in one run (from 0); with `samples` above 1 the runs share the first call, a sample each."""
    question = filled.question
    prediction = filled.prediction
    if prediction is None:
        return Grade(question.id, run, None, "the file has no prediction for this question")
    asks = _asks(question, prediction, protocol, spec, samples, wording)
    read = read_paper if protocol == "paper" else read_strict
    replies: list[str] = []
    model = ""
    finish = ""
    for number, ask in enumerate(asks):
        reply = yield ask
        place = run if ask.samples > 1 else 0
        text, finish = (
            (reply.texts[place], reply.finish[place])
            if place < len(reply.texts)
            else ("", "no such sample")
        )
        replies.append(text)
        model = reply.model
        score = read(text, finish) if number < _READ[protocol] else None
        if score is not None:
            flags = () if round(score * 10, 9) in range(11) else (OFF_GRID,)
            return Grade(question.id, run, score, "", flags, tuple(replies), model)
    reason = f"none of the judge's {len(replies)} replies holds a score; the last ended {quoted(replies[-1], finish)}"
    score = 0.0 if protocol == "paper" else None
    return Grade(question.id, run, score, reason, (UNREADABLE,), tuple(replies), model)


def unanswered(filled: Filled, run: int, reason: str) -> Grading:
    """The grade of what is no answer of a model, without a call."""
    yield from ()
    return Grade(filled.question.id, run, None, f"{NO_ANSWER}: {reason}")


def read_paper(text: str, finish: str = "stop") -> float | None:
    """The score as the authors' script reads it: the first token as Python's float, in [0, 1]; never "nan"."""
    try:
        score = float(text.split(" ")[0].strip())
    except ValueError:
        return None
    return score if 0.0 <= score <= 1.0 else None


def read_strict(text: str, finish: str = "stop") -> float | None:
    """The score from 0 to 1 that a reply gives, however it is wrapped; else None."""
    return read_score(text, CORRECTNESS, finish)


def withdrawn(grade: Grade, probe: Grade) -> Grade:
    """The grade of a flagged prediction after its probe; a judge that scores it under another truth too obeys it."""
    gave = f"probe gave {'no score' if probe.score is None else f'{probe.score:g}'}"
    flags = tuple(dict.fromkeys([*grade.flags, gave]))
    if grade.score is None or probe.score is None or probe.score < OBEDIENCE:
        return replace(grade, flags=flags)
    reason = f"the judge also gave {probe.score:g} for another question's truth"
    return replace(grade, score=None, reason=reason, flags=(*flags, OBEYED))


def prompt_digest(protocol: Protocol, wording: Wording = V1) -> str:
    """sha256 of a protocol's fixed text; every report names it."""
    fixed = (
        wording.paper + wording.again
        if protocol == "paper"
        else wording.hardened + _ROW + _REMINDER
    )
    return hashlib.sha256(fixed.encode()).hexdigest()


def _asks(
    question: Question,
    prediction: str,
    protocol: Protocol,
    spec: JudgeSpec,
    samples: int,
    wording: Wording,
) -> list[Ask]:
    truth = question.truth.replace("<AND>", " <AND> ").replace("<OR>", " <OR> ")
    if protocol == "paper":
        prompt = wording.paper + wording.row(question.text, truth, prediction)
        ramp = (Message("user", prompt + wording.again),)
        again = [Ask(ramp, temperature, reply_tokens=3) for temperature in _RAMP_TEMPERATURES]
        return [Ask((Message("user", prompt),), 0.0, reply_tokens=3, samples=samples), *again]
    prompt = _fenced(question.text, truth, prediction)
    schema = _SCHEMA if spec.json_schema else None
    first, again = (
        Ask(
            (Message("system", wording.hardened), Message("user", text)),
            0.0,
            reply_tokens=ROOM,
            likely_tokens=LIKELY,
            schema=schema,
        )
        for text in (prompt, prompt + _REMINDER)
    )
    return [replace(first, samples=samples), again, again]


def _fenced(question: str, truth: str, prediction: str) -> str:
    """The row to score between two lines with a code that no text inside can contain: a hash of these texts."""
    code = hashlib.sha256(json.dumps([question, truth, prediction]).encode()).hexdigest()[:16]
    parts = {"question": question, "truth": truth, "prediction": prediction}
    return _ROW.format(code=code, **{name: neutralise(text) for name, text in parts.items()})


def files(report: Report, ending: str = "") -> Mapping[str, bytes]:
    """The three files that the authors' script writes, with its names, which may have an ending, and columns.

    The names also say what the script's never do: that the questions are not the published ones, or that the file is
    partial. A missing score is null in the grades.
    """
    report = scored_only(report) if ungraded(report) else report
    capabilities, integrations = tabulate(report)
    model = model_stem(report.file)
    others = "" if report.questions.official else f"{len(report.rows)}questions_"
    partial = "partial_" if report.missing else ""
    stem = f"{model}_{others}{partial}{safe_name(report.judge.model)}"
    runs = f"{report.runs}runs{ending}"
    return {
        f"{stem}-grade-{runs}.json": json.dumps(_grades(report), indent=4).encode("ascii"),
        f"{stem}-cap-score-{runs}.csv": _score_file(model, capabilities),
        f"{stem}-cap-int-score-{runs}.csv": _score_file(model, integrations),
    }


_GRADE_FILE = re.compile(r"(.+?)(?:_[^_]+)?-grade-\d+runs?(?:_dev8)?")


def model_stem(file: str) -> str:
    """The start of an upload's download names: of the authors' `<model>_<judge>-grade-<runs>runs.json`, the model."""
    stem = file_stem(file)
    named = _GRADE_FILE.fullmatch(stem)
    return named[1] if named else stem


def _grades(report: Report) -> dict[str, dict[str, list[str] | list[float | None]]]:
    """What the script keeps of each question; of a reply that could be read, only the token that was read."""
    return {
        row.question.id: {
            "model": [grade.model for grade in row.grades],
            "content": [_content(report.protocol, grade) for grade in row.grades],
            "score": [grade.score for grade in row.grades],
        }
        for row in report.rows
        if row.answered
    }


def _content(protocol: Protocol, grade: Grade) -> str:
    last = grade.replies[-1] if grade.replies else ""
    return (
        last.split(" ")[0].strip()
        if protocol == "paper" and UNREADABLE not in grade.flags
        else last
    )


def _score_file(model: str, scored: ScoreTable) -> bytes:
    """A line of means as pandas writes it: the largest group first, then the total, its deviation and the runs."""
    groups = sorted(scored.lines[:-1], key=lambda group: -group.n)
    means = [_rounded(group.mean) for group in (*groups, scored.lines[-1])]
    runs = "[" + ", ".join(_rounded(total) or "None" for total in scored.run_totals) + "]"
    heads = ["", *(group.name for group in groups), "total", "std", "runs"]
    return csv_bytes(
        heads, [[model, *means, _rounded(scored.spread), runs]], "utf-8", quoting=csv.QUOTE_MINIMAL
    )


def _rounded(value: float | None) -> str:
    """A number with one decimal, rounded by NumPy, as in the script; "" for none."""
    return "" if value is None else str(float(np.round(value, 1)))


class OptionsError(ValueError):
    """Choices that do not go together; the message says which, and what to choose instead."""


@dataclass(frozen=True)
class Options:
    """The owner's choices for scoring a file."""

    protocol: Protocol = "hardened"
    runs: int = 5
    sampled: bool = False
    """Whether the runs are samples of one call."""
    missing: Missing = "stop"
    """What happens to questions without a prediction."""
    probed: Probed = "flagged"
    only: str = ""
    """The ids of the questions to score, as a JSON list or one per line; "": all."""


class MMVetOptions(BenchmarkOptions):
    """What `score` lets the owner of a file of MM-Vet choose."""

    runs: Annotated[int, Field(ge=1, le=20)] = Field(5, description="how often each is judged")
    samples: bool = Field(False, description="the runs are samples of one call: cheaper")
    missing: Missing = Field("stop", description="questions without an answer")
    probe: Probed = Field(
        "flagged",
        description="answers that are judged under another truth too, to see who is obeyed",
    )
    subset: Path | None = Field(None, description="ids to score, as in bard_set.json")
    sample: bool = Field(False, description="our own MM-Vet questions, to try it out")
    answers: Path | None = Field(
        None, description="the answers that a grade file is about, for its audit"
    )


JUDGING = ("runs", "samples", "probe")
"""Options that say how a judge is asked: a grade file needs none."""


@dataclass(frozen=True)
class MMVet(MMVetArticle):
    """An edition of the benchmark, with one task for each grade of an item, canary or probe."""

    wording: Wording = V1
    ending: str = ""
    """End of the names that the authors' script gives its files."""
    refusal: float | None = None
    """What the paper's script gives to a question that the judge's server refuses; None: nothing."""

    def draft(
        self,
        filled: Sequence[Filled],
        questions: QuestionSet,
        options: Options,
        spec: JudgeSpec,
        address: str,
        file: str,
        title: str,
    ) -> Report:
        """A file's report before its judging. Raises OptionsError for samples from a judge that gives none."""
        if options.sampled and not spec.samples:
            raise OptionsError(f"{spec.model} gives one reply a call; choose separate runs")
        judged = [_as_judged(one.question, one.prediction, options.protocol) for one in filled]
        repeated = injection.repeated(one.prediction for one in judged)
        rows = tuple(
            _row(one, _flags(seen, repeated)) for one, seen in zip(filled, judged, strict=True)
        )
        prompt = prompt_digest(options.protocol, self.wording)
        parser = PARSERS[options.protocol]
        return Report(
            benchmark=questions.benchmark,
            questions=replace(questions, outside=()),
            protocol=options.protocol,
            judge=JudgeStamp(spec.model, (), address, prompt, parser),
            runs=options.runs,
            sampled=options.sampled,
            title=title,
            file=file,
            created=now().isoformat(timespec="seconds"),
            rows=rows,
            canary_seed=secrets.token_hex(16) if options.protocol == "hardened" else "",
            probed=options.probed,
        )

    def refused(self, question: str, run: int, protocol: Protocol, reason: str) -> Grade:
        """The grade of a question that the judge's server refuses."""
        if protocol == "paper" and self.refusal is not None:
            return Grade(question, run, self.refusal, reason, (UNREADABLE,))
        return Grade(question, run, None, reason)

    def tasks(self, report: Report, spec: JudgeSpec) -> Sequence[Task[Grade]]:
        """Every grade to give; what is no answer of a model is not sent under the hardened protocol."""
        samples = report.runs if report.sampled else 1
        failed = {
            place: row.no_answer
            for place, row in enumerate(report.rows)
            if row.no_answer and report.protocol == "hardened"
        }
        return [
            self._task(
                answered,
                run,
                report.protocol,
                partial(unanswered, answered, run, failed[place])
                if kind == "item" and place in failed
                else partial(grading, answered, run, report.protocol, spec, samples, self.wording),
            )
            for (kind, place, run), answered in _plan(report).items()
        ]

    def grades_of(
        self, answers: Iterable[Filled], protocol: Protocol, spec: JudgeSpec, wording: Wording
    ) -> list[Task[Grade]]:
        """One grade of each answer under a wording, and of nothing else."""
        seen = (_as_judged(one.question, one.prediction, protocol) for one in answers)
        return [
            self._task(one, 0, protocol, partial(grading, one, 0, protocol, spec, 1, wording))
            for one in seen
        ]

    def _task(
        self, answered: Filled, run: int, protocol: Protocol, begin: Callable[[], Grading]
    ) -> Task[Grade]:
        return Task(
            run,
            begin,
            partial(self.refused, answered.question.id, run, protocol),
            seeded=protocol == "hardened",
            name=answered.question.id,
            is_read=_is_read,
        )

    def graded(self, report: Report, outcomes: Sequence[Grade]) -> Report:
        grades = dict(zip(_plan(report), outcomes, strict=True))
        canaries = tuple(grades[key] for key in sorted(grades) if key[0] == "canary")
        runs = range(report.runs)
        rows = []
        for place, row in enumerate(report.rows):
            given = tuple(grades["item", place, run] for run in runs)
            if ("probe", place, 0) in grades:
                probe = max((grades["probe", place, run] for run in runs), key=_score_or_less)
                if row.flags or _score_or_less(probe) >= OBEDIENCE:
                    given = tuple(withdrawn(grade, probe) for grade in given)
            rows.append(replace(row, grades=given))
        judge = report.judge.answered(grade.model for grade in outcomes)
        return replace(report, judge=judge, rows=tuple(rows), canaries=canaries)

    def footnotes(self, report: Report) -> Sequence[str]:
        if report.trusted:
            return ()
        return (f"\n{report.distrust.replace('judge not trusted', 'JUDGE NOT TRUSTED')}.",)

    def sheets(self, report: Report) -> Sequence[Sheet]:
        capabilities, integrations = tabulate(report)
        sheets = [
            capability_sheet("capabilities", capabilities),
            capability_sheet("integrations", integrations, place="folded"),
        ]
        reasons = grouped((row.no_answer, row) for row in report.rows if row.no_answer)
        if reasons:
            lines = [line(why, scores(rows, report.runs)) for why, rows in reasons.items()]
            sheets.append(no_answer_sheet(lines))
        return sheets

    def files(self, report: Report) -> Mapping[str, bytes]:
        """The authors' three files, the scores with their bounds, and the audit: lossless, and safe in Excel."""
        stem = f"{'partial_' if report.missing else ''}{model_stem(report.file)}"
        more = {
            **LazyFiles(sheet_files(stem, self.sheets(report))),
            f"{stem}-audit.jsonl": audit(report),
            f"{stem}-audit.csv": safe_csv(report),
        }
        if report.missing:
            more[f"{stem}-missing.csv"] = missing_csv(report)
        return {**files(report, self.ending), **more}


def _plan(report: Report) -> Mapping[tuple[Kind, int, int], Filled]:
    """What to grade, by kind, place (the row's, or the canary's own) and run.

    It goes run by run, so that samples of one call are rarely awaited at the same time. The job's own canaries are
    graded in one run only.
    """
    hardened = report.protocol == "hardened"
    answered: Mapping[Kind, Mapping[int, Filled]] = {
        "item": {
            place: _as_judged(row.question, row.prediction, report.protocol)
            for place, row in enumerate(report.rows)
        },
        "canary": dict(enumerate(injection.canaries())) if hardened else {},
        "probe": dict(_probes(report)) if hardened else {},
    }
    runs = range(report.runs)
    plan: dict[tuple[Kind, int, int], Filled] = {}
    plan |= {
        (kind, place, run): one
        for run in runs
        for kind, ones in answered.items()
        for place, one in ones.items()
    }
    filled = [
        _as_judged(row.question, row.prediction, report.protocol)
        for row in report.rows
        if not row.no_answer
    ]
    drawn = injection.secret_canaries(filled, report.canary_seed) if report.canary_seed else ()
    plan.update(
        (("canary", place, 0), one) for place, one in enumerate(drawn, len(answered["canary"]))
    )
    return plan


def missed(one: Filled) -> str:
    """Why a prediction is no answer of a model; "" for an answer, and where the file has none."""
    parts = [part for words in truth_parts(one.question.truth) for part in words]
    return "" if one.prediction is None else no_answer(one.prediction, parts)


def _as_judged(question: Question, prediction: str | None, protocol: Protocol) -> Filled:
    """A prediction as the judge sees it: under the hardened protocol without reasoning and special tokens."""
    if prediction is not None and protocol == "hardened":
        prediction = answer_of(prediction).text
    return Filled(question, prediction)


def _row(one: Filled, flags: tuple[str, ...]) -> Row:
    """A question before its judging; what is no answer has no flags, since nobody is spoken to."""
    reason = missed(one)
    return Row(one.question, one.prediction, (), () if reason else flags, reason)


def _flags(one: Filled, repeated: Mapping[str, int]) -> tuple[str, ...]:
    if one.prediction is None:
        return ()
    times = repeated.get(" ".join(one.prediction.split()))
    same = (f"the same answer to {times} questions",) if times else ()
    return (*injection.flags(one.prediction, one.question), *same)


def _probes(report: Report) -> Iterator[tuple[int, Filled]]:
    questions = report.questions.questions
    for place, row in enumerate(report.rows):
        wanted = row.flags or report.probed == "all"
        if wanted and row.prediction is not None and not row.no_answer:
            seen = _as_judged(row.question, row.prediction, report.protocol)
            other = injection.swapped(row.question, seen.prediction or "", questions)
            yield place, Filled(other, seen.prediction)


def _is_read(grade: Grade) -> bool:
    return UNREADABLE not in grade.flags


def _score_or_less(grade: Grade) -> float:
    return -1.0 if grade.score is None else grade.score


MM_VET = MMVet(
    key="mm-vet",
    cited="yu2024mmvet",
    name="MM-Vet",
    report=Report,
    way="questions first",
    protocols={"Hardened": "hardened", "As in the paper": "paper"},
    check="Start",
    unit="grade",
    parts=frozenset({"questions", "missing", "runs"}),
    options=MMVetOptions,
    unpictured="this server has none in a folder images beside its questions",
    notes={
        "paper": "Paper protocol: the authors' prompt, retries and reading; a reply that cannot be read counts 0.0",
        "hardened": "Hardened protocol: answers are fenced off; what cannot be read is unscored and stays out of the "
        "mean",
    },
)
