"""MM-Vet: what a judge is asked, how its replies are read, and the paper's tables and files.

There are two protocols. `paper` follows the authors' script call by call, and asks again at rising temperatures if a
reply cannot be read. `hardened` asks for the same score by the same rubric and examples, but fences the texts off,
reads strictly, and leaves unreadable grades unscored. It also grades canaries, which deserve 0, and each flagged
prediction again under another question's truth.
"""

import hashlib
import json
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from arena.database import now
from arena.locale import t
from arena.reasoning import answer_of
from arena.sheets import Sheet
from arena.types import grouped
from scoring.benchmarks.base import BenchmarkOptions
from scoring.benchmarks.mm_vet_files import authors_files, model_stem
from scoring.benchmarks.mm_vet_questions import truth_parts
from scoring.benchmarks.mm_vet_tables import (
    OBEYED,
    OFF_GRID,
    UNREADABLE,
    MMVetArticle,
    capability_sheet,
    score_tables,
)
from scoring.benchmarks.predictions import Missing
from scoring.judges import injection
from scoring.judges.injection import neutralise
from scoring.judges.replies import LIKELY, ROOM, Scale, quote_reply, read_score
from scoring.judges.run import Task
from scoring.judges.spec import Ask, Grading, JudgeSpec, Message, closed_schema, prompt_text
from scoring.no_answers import no_answer, unscored_because
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
    audit,
    line,
    missing_csv,
    safe_csv,
    scores,
)
from scoring.score_sheets import no_answer_sheet, sheet_files
from scoring.specs.file_columns import FileColumn

_FENCED_ROW = prompt_text("mm_vet_hardened_row.txt")
PARSERS: Mapping[Protocol, str] = {"paper": "mm-vet first token 1", "hardened": "judge score 1"}
"""Name and version of each protocol's parser."""
OBEDIENCE = 0.5
"""Lowest score under another question's truth that shows that the judge obeys the answer: none can earn as much."""

CORRECTNESS = Scale(0.0, 1.0)
_RAMP_TEMPERATURES = (0.0, 0.5, 1.0, 1.5, 2.0)
_REMINDER = "\nReply with one number from 0.0 to 1.0 and nothing else."
_REPLIES_READ: Mapping[Protocol, int] = {"paper": 5, "hardened": 3}
"""Number of replies read: the script pays for a sixth that it never parses."""
_SCHEMA = closed_schema("score", "number", [tenths / 10 for tenths in range(11)])


@dataclass(frozen=True)
class Wording:
    """The words of an edition's prompts around the texts to compare."""

    paper: str
    """The authors' instruction and examples."""
    row: Callable[[str, str, str], str]
    """The line after it: question, ground truth and prediction."""
    again: str
    """The sentence that their script adds after an unreadable reply."""
    hardened: str
    """Our instruction and examples, for the system's message."""


V1 = Wording(
    paper=prompt_text("mm_vet.txt"),
    row=lambda question, truth, prediction: "\n" + " | ".join([question, truth, prediction, ""]),
    again="\nPredict the correctness of the answer (digit): ",
    hardened=prompt_text("mm_vet_hardened.txt"),
)


EXAMPLES = 7
"""Number of examples in both prompts, a line each."""
_TABLE_RULE = "--- | --- | --- | ---\n"
"""The line above the examples."""


def with_examples(wording: Wording, examples: Collection[int]) -> Wording:
    """The wording with only the examples of these numbers, from 1."""
    return replace(
        wording,
        paper=_with_examples(wording.paper, examples),
        hardened=_with_examples(wording.hardened, examples),
    )


def _with_examples(prompt: str, examples: Collection[int]) -> str:
    lines = prompt.splitlines(keepends=True)
    rule = lines.index(_TABLE_RULE)
    kept = []
    for place, text in enumerate(lines):
        number = place - rule
        is_example = 1 <= number <= EXAMPLES
        if not is_example or number in examples:
            kept.append(text)
    return "".join(kept)


def grading(
    filled: Filled,
    run: int,
    protocol: Protocol,
    spec: JudgeSpec,
    samples: int,
    wording: Wording = V1,
) -> Grading:
    """Grades a prediction in a run (from 0); with `samples` above 1 the runs share the first call, a sample each.

    A generator: it yields calls, is sent the replies, and returns the Grade.
    """
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
        sample = run if ask.samples > 1 else 0
        text = ""
        finish = "no such sample"
        if sample < len(reply.texts):
            text = reply.texts[sample]
            finish = reply.finish[sample]
        replies.append(text)
        model = reply.model
        score = read(text, finish) if number < _REPLIES_READ[protocol] else None
        if score is not None:
            flags = grid_flags(score)
            return Grade(question.id, run, score, flags=flags, replies=tuple(replies), model=model)
    end = quote_reply(replies[-1], finish)
    reason = f"none of the judge's {len(replies)} replies holds a score; the last ended {end}"
    score = 0.0 if protocol == "paper" else None
    return Grade(question.id, run, score, reason, (UNREADABLE,), tuple(replies), model)


def grid_flags(score: float) -> tuple[str, ...]:
    """The flag of a score that is none of 0.0, 0.1 ... 1.0; () for one of these."""
    is_on_grid = round(score * 10, 9) in range(11)
    return () if is_on_grid else (OFF_GRID,)


def no_answer_grading(filled: Filled, run: int, reason: str) -> Grading:
    """Grades a prediction that is no answer of a model, without a call."""
    yield from ()  # makes it a generator, as `grading` is
    return Grade(filled.question.id, run, None, unscored_because(reason))


def read_paper(text: str, finish: str = "stop") -> float | None:
    """The score by the authors' script: the first token as Python's float, in [0, 1]; never "nan".

    Like the script, it ignores `finish`.
    """
    try:
        score = float(text.split(" ")[0].strip())
    except ValueError:
        return None
    return score if 0.0 <= score <= 1.0 else None


def read_strict(text: str, finish: str = "stop") -> float | None:
    """The score from 0 to 1 in a reply, in any wrapping; else None."""
    return read_score(text, CORRECTNESS, finish)


def grade_after_probe(grade: Grade, probe: Grade) -> Grade:
    """The grade of a prediction after its probe: a judge that also scores it under another truth obeys it."""
    score = "no score" if probe.score is None else f"{probe.score:g}"
    flags = tuple(dict.fromkeys([*grade.flags, f"probe gave {score}"]))
    if grade.score is None or probe.score is None or probe.score < OBEDIENCE:
        return replace(grade, flags=flags)
    reason = f"the judge also gave {probe.score:g} for another question's truth"
    return replace(grade, score=None, reason=reason, flags=(*flags, OBEYED))


def prompt_digest(protocol: Protocol, wording: Wording = V1) -> str:
    """sha256 of a protocol's fixed text; every report names it."""
    fixed_text = wording.hardened + _FENCED_ROW + _REMINDER
    if protocol == "paper":
        fixed_text = wording.paper + wording.again
    return hashlib.sha256(fixed_text.encode()).hexdigest()


def _asks(
    question: Question,
    prediction: str,
    protocol: Protocol,
    spec: JudgeSpec,
    samples: int,
    wording: Wording,
) -> list[Ask]:
    """The calls of a grade, in order; later ones are made only after unreadable replies."""
    truth = question.truth.replace("<AND>", " <AND> ").replace("<OR>", " <OR> ")
    if protocol == "paper":
        prompt = wording.paper + wording.row(question.text, truth, prediction)
        first = Ask((Message("user", prompt),), 0.0, reply_tokens=3, samples=samples)
        messages = (Message("user", prompt + wording.again),)
        ramp = [Ask(messages, temperature, reply_tokens=3) for temperature in _RAMP_TEMPERATURES]
        return [first, *ramp]
    row = _fenced_row(question.text, truth, prediction)
    first = _hardened_ask(row, spec, wording)
    reminding = _hardened_ask(row + _REMINDER, spec, wording)
    return [replace(first, samples=samples), reminding, reminding]


def _hardened_ask(text: str, spec: JudgeSpec, wording: Wording) -> Ask:
    return Ask(
        (Message("system", wording.hardened), Message("user", text)),
        0.0,
        reply_tokens=ROOM,
        likely_tokens=LIKELY,
        schema=_SCHEMA if spec.json_schema else None,
    )


def _fenced_row(question: str, truth: str, prediction: str) -> str:
    """The row to score, between two lines with a code. The code is a hash of the texts, so none of them contains it."""
    code = hashlib.sha256(json.dumps([question, truth, prediction]).encode()).hexdigest()[:16]
    return _FENCED_ROW.format(
        code=code,
        question=neutralise(question),
        truth=neutralise(truth),
        prediction=neutralise(prediction),
    )


class OptionsError(ValueError):
    """Options that do not go together; the message names them, and a better choice."""


@dataclass(frozen=True)
class Options:
    """The owner's choices for scoring a file, from a page or the command line."""

    protocol: Protocol = "hardened"
    runs: int = 5
    sampled: bool = False
    """Whether the runs are samples of one call."""
    missing: Missing = "stop"
    """The treatment of questions without a prediction."""
    probed: Probed = "flagged"
    """The answers that are judged under another question's truth too."""
    only: str = ""
    """The ids of the questions to score, as a JSON list or one per line; "": all."""


class MMVetOptions(BenchmarkOptions):
    """MM-Vet's options of the command `score`, each given with `-o`."""

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
"""Options of the judging, which a grade file does not need."""


@dataclass(frozen=True)
class MMVet(MMVetArticle):
    """An edition of the benchmark, with a task for each grade of an item, canary or probe."""

    wording: Wording = V1
    ending: str = ""
    """The end of the file names of the authors' script."""
    refusal: float | None = None
    """The score of the paper's script for a question that the judge's server refuses; None: no score."""
    question_count: int = 218
    question_licence: str = "CC BY-NC 4.0"
    example_id: str = "v1_0"

    @property
    def kinds(self) -> Sequence[str]:
        return ("rubric",)

    @property
    def size(self) -> str:
        return t("benchmarks.question_count", count=self.question_count)

    @property
    def measure(self) -> str:
        return "mean grade"

    @property
    def licence(self) -> str:
        return self.question_licence

    def columns(self) -> Sequence[FileColumn]:
        return (
            FileColumn("question_id", "The question's id", self.example_id),
            FileColumn("prediction", "The model's answer", "A cat on a sofa."),
        )

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
        """A file's report before its judging. Raises OptionsError for samples from a judge without samples."""
        if options.sampled and not spec.samples:
            raise OptionsError(f"{spec.model} gives one reply per call. Choose separate runs.")
        judged = [
            _as_judged(answer.question, answer.prediction, options.protocol) for answer in filled
        ]
        counts = injection.repeated_answers(answer.prediction for answer in judged)
        rows = tuple(
            _row(answer, _flags(judged_answer, counts))
            for answer, judged_answer in zip(filled, judged, strict=True)
        )
        prompt = prompt_digest(options.protocol, self.wording)
        parser = PARSERS[options.protocol]
        return Report(
            benchmark=questions.benchmark,
            # A report keeps no questions outside its subset.
            questions=replace(questions, outside=()),
            protocol=options.protocol,
            judge=JudgeStamp(
                model=spec.model, versions=(), address=address, prompt=prompt, parser=parser
            ),
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
        """A task for every grade; under the hardened protocol only answers of a model are sent."""
        protocol = report.protocol
        samples = report.runs if report.sampled else 1
        tasks = []
        for key, answer in _plan(report).items():
            reason = report.rows[key.place].no_answer if key.kind == "item" else ""
            if reason and protocol == "hardened":
                begin = partial(no_answer_grading, answer, key.run, reason)
            else:
                begin = partial(grading, answer, key.run, protocol, spec, samples, self.wording)
            tasks.append(self._task(answer, key.run, protocol, begin))
        return tasks

    def grading_tasks(
        self, answers: Iterable[Filled], protocol: Protocol, spec: JudgeSpec, wording: Wording
    ) -> list[Task[Grade]]:
        """A task for one grade of each answer under a wording, without canaries and probes."""
        tasks = []
        for answer in answers:
            judged = _as_judged(answer.question, answer.prediction, protocol)
            begin = partial(
                grading,
                judged,
                run=0,
                protocol=protocol,
                spec=spec,
                samples=1,
                wording=wording,
            )
            tasks.append(self._task(judged, run=0, protocol=protocol, begin=begin))
        return tasks

    def _task(
        self, answered: Filled, run: int, protocol: Protocol, begin: Callable[[], Grading]
    ) -> Task[Grade]:
        return Task(
            run,
            begin,
            refused=partial(self.refused, answered.question.id, run, protocol),
            seeded=protocol == "hardened",
            name=answered.question.id,
            is_read=_is_read,
        )

    def with_outcomes(self, report: Report, outcomes: Sequence[Grade]) -> Report:
        grades = dict(zip(_plan(report), outcomes, strict=True))
        canaries = tuple(grades[key] for key in sorted(grades) if key.kind == "canary")
        runs = range(report.runs)
        rows = []
        for place, row in enumerate(report.rows):
            row_grades = tuple(grades[_GradeKey("item", place, run)] for run in runs)
            if _GradeKey("probe", place, 0) in grades:
                probes = [grades[_GradeKey("probe", place, run)] for run in runs]
                best_probe = max(probes, key=_score_or_minus_one)
                # An answer without flags is probed only where all answers are, and marked only if the judge obeyed it.
                if row.flags or _score_or_minus_one(best_probe) >= OBEDIENCE:
                    row_grades = tuple(grade_after_probe(grade, best_probe) for grade in row_grades)
            rows.append(replace(row, grades=row_grades))
        judge = report.judge.with_versions(grade.model for grade in outcomes)
        return replace(report, judge=judge, rows=tuple(rows), canaries=canaries)

    def footnotes(self, report: Report) -> Sequence[str]:
        if report.is_trusted:
            return ()
        return (f"\nJUDGE NOT TRUSTED: {report.distrust}.",)

    def sheets(self, report: Report) -> Sequence[Sheet]:
        tables = score_tables(report)
        sheets = [
            capability_sheet("capabilities", tables.capabilities),
            capability_sheet("integrations", tables.integrations, place="folded"),
        ]
        rows_by_reason = grouped((row.no_answer, row) for row in report.rows if row.no_answer)
        if rows_by_reason:
            lines = [
                line(reason, scores(rows, report.runs)) for reason, rows in rows_by_reason.items()
            ]
            sheets.append(no_answer_sheet(lines))
        return sheets

    def files(self, report: Report) -> Mapping[str, bytes]:
        """The authors' three files, the scores with their bounds, and the audit: lossless, and safe in Excel."""
        extent = "partial_" if report.missing else ""
        stem = f"{extent}{model_stem(report.file)}"
        makers = sheet_files(stem, self.sheets(report))
        own_files = {
            **{name: make_file() for name, make_file in makers.items()},
            f"{stem}-audit.jsonl": audit(report),
            f"{stem}-audit.csv": safe_csv(report),
        }
        if report.missing:
            own_files[f"{stem}-missing.csv"] = missing_csv(report)
        return {**authors_files(report, self.ending), **own_files}


class _GradeKey(NamedTuple):
    """The identity of a grade in a report."""

    kind: Kind
    place: int
    """Index of the answer's row, or of the canary, from 0."""
    run: int
    """From 0."""


def _plan(report: Report) -> Mapping[_GradeKey, Filled]:
    """The answers to grade.

    The order is run by run, so that samples of one call are rarely awaited at the same time. The job's own canaries are
    graded in one run only.
    """
    is_hardened = report.protocol == "hardened"
    items = [_as_judged(row.question, row.prediction, report.protocol) for row in report.rows]
    answers_by_kind: Mapping[Kind, Mapping[int, Filled]] = {
        "item": dict(enumerate(items)),
        "canary": dict(enumerate(injection.canaries())) if is_hardened else {},
        "probe": dict(_probes(report)) if is_hardened else {},
    }
    plan: dict[_GradeKey, Filled] = {}
    for run in range(report.runs):
        for kind, answers in answers_by_kind.items():
            for place, answer in answers.items():
                plan[_GradeKey(kind, place, run)] = answer
    if report.canary_seed:
        answered = [item for item, row in zip(items, report.rows, strict=True) if not row.no_answer]
        own_canaries = injection.secret_canaries(answered, report.canary_seed)
        first_place = len(answers_by_kind["canary"])
        for place, canary in enumerate(own_canaries, first_place):
            plan[_GradeKey("canary", place, 0)] = canary
    return plan


def no_answer_reason(answer: Filled) -> str:
    """The reason why a prediction is no answer of a model; "" for an answer, and for a missing prediction."""
    if answer.prediction is None:
        return ""
    alternatives = truth_parts(answer.question.truth)
    return no_answer(answer.prediction, [*chain.from_iterable(alternatives)])


def _as_judged(question: Question, prediction: str | None, protocol: Protocol) -> Filled:
    """A prediction in the form for the judge: under the hardened protocol without reasoning and special tokens."""
    if prediction is not None and protocol == "hardened":
        prediction = answer_of(prediction).text
    return Filled(question, prediction)


def _row(answer: Filled, flags: tuple[str, ...]) -> Row:
    """A question before its judging; a prediction that is no answer has no flags, since no model wrote it."""
    reason = no_answer_reason(answer)
    row_flags = () if reason else flags
    return Row(answer.question, answer.prediction, grades=(), flags=row_flags, no_answer=reason)


def _flags(answer: Filled, counts: Mapping[str, int]) -> tuple[str, ...]:
    """What is suspicious in an answer, in words; `counts` is what `repeated_answers` returned for the whole file."""
    if answer.prediction is None:
        return ()
    flags = injection.flags(answer.prediction, answer.question)
    count = counts.get(" ".join(answer.prediction.split()))
    if not count:
        return tuple(flags)
    return (*flags, f"the same answer to {count} questions")


def _probes(report: Report) -> Iterator[tuple[int, Filled]]:
    """Yields the answers to probe, each with another question and its row's index."""
    questions = report.questions.questions
    for place, row in enumerate(report.rows):
        is_probed = row.flags or report.probed == "all"
        if is_probed and row.prediction is not None and not row.no_answer:
            judged = _as_judged(row.question, row.prediction, report.protocol)
            other = injection.with_swapped_truth(row.question, judged.prediction or "", questions)
            yield place, Filled(other, judged.prediction)


def _is_read(grade: Grade) -> bool:
    return UNREADABLE not in grade.flags


def _score_or_minus_one(grade: Grade) -> float:
    return -1.0 if grade.score is None else grade.score


MM_VET = MMVet(
    key="mm-vet",
    cited="yu2024mmvet",
    name="MM-Vet",
    about="Open questions that need several abilities at once. A judge grades each answer from 0 to 1.",
    holds="a JSON object of answers by id, or a table of ids and answers in VLMEvalKit, lmms-eval or LLaVA format",
    report=Report,
    way="questions first",
    protocols={"Hardened": "hardened", "As in the paper": "paper"},
    start="Start",
    unit="grade",
    parts=frozenset({"questions", "missing", "runs"}),
    options=MMVetOptions,
    why_unpictured="this server has no images folder next to its questions",
    notes={
        "paper": "Paper protocol: the authors' prompt and retries, with grades read as they do. An unreadable reply "
        "counts as 0.0",
        "hardened": "Hardened protocol: answers are fenced off from the judge's instructions, and an unreadable grade "
        "doesn't count",
    },
)
