"""A benchmark is one file: a judged toy in Python, with a line of the registry, and one in YAML go all the way."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from arena.io.tables import Record
from arena.web.cookies import cookie_hash
from scoring.benchmarks.base import AnswerLook, FileBenchmark, LazyFiles, OpenedFile
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from scoring.benchmarks.spec_benchmark import spec_benchmark
from scoring.judges.run import Task
from scoring.judges.spec import Ask, Grading, JudgeSpec, Message
from scoring.multiple_choice.reader import ReadFile
from scoring.registry import BENCHMARKS, open_upload
from scoring.report import Grade, JudgeStamp, Question, QuestionStamp, Row, ScoreLine, line, scores
from scoring.score_sheets import sheet_files
from scoring.specs.schema import read_spec
from tests.support.choice_tables import ChoiceCommand, row, table_file
from tests.support.job_worker import ended, running
from tests.support.openai_server import OpenAIServer
from tests.support.scoring_person import SENT, Person


@dataclass(frozen=True)
class RiddleReport:
    """Riddles with their grades."""

    benchmark: str
    protocol: str
    title: str
    file: str
    created: str
    judge: JudgeStamp | None
    rows: tuple[Row, ...]
    questions: QuestionStamp | None = None

    @property
    def left(self) -> int:
        return sum(not row.grades for row in self.rows)


@dataclass(frozen=True, kw_only=True)
class Riddles(FileBenchmark[RiddleReport]):
    """A judged benchmark whose files have the columns riddle, truth and said."""

    def fits(self, first: Record) -> bool:
        return "riddle" in first.values

    def read(self, rows: Iterable[Record], questions: object) -> ReadFile[Row]:
        cells = (
            (str(row.row), *(str(row.values[name]) for name in ("riddle", "truth", "said")))
            for row in rows
        )
        return ReadFile(
            tuple(Row(Question(id, text, truth, ()), said, ()) for id, text, truth, said in cells),
            (),
        )

    def lines(self, file: ReadFile[Row]) -> tuple[str, ...]:
        return (f"{len(file.rows)} riddles",)

    def look(self, row: Row) -> AnswerLook:
        return AnswerLook(
            row.question.id, row.question.text, row.prediction or "", row.question.truth
        )

    def rules_report(self, opened: OpenedFile, head: Mapping[str, Any]) -> RiddleReport:
        return RiddleReport(**head, rows=opened.file.rows)

    def draft(self, report: RiddleReport, spec: JudgeSpec, address: str) -> RiddleReport:
        return replace(report, judge=JudgeStamp(spec.model, (), address, "no prompt", "riddle 1"))

    def tasks(self, report: RiddleReport, spec: JudgeSpec) -> Sequence[Task]:
        def grading(row: Row) -> Grading:
            reply = yield Ask(
                (Message("user", f"Riddle: {row.question.text} Said: {row.prediction}"),)
            )
            score = float(reply.texts[0]) if reply.texts[0] else None
            return Grade(row.question.id, 0, score, "", (), reply.texts, reply.model)

        return [
            Task(
                0,
                lambda row=row: grading(row),
                lambda why, row=row: Grade(row.question.id, 0, None, why),
            )
            for row in report.rows
            if not row.grades
        ]

    def with_outcomes(self, report: RiddleReport, outcomes: Sequence[Grade]) -> RiddleReport:
        rows = tuple(
            replace(row, grades=(grade,)) for row, grade in zip(report.rows, outcomes, strict=True)
        )
        return replace(
            report,
            judge=report.judge and report.judge.with_versions(one.model for one in outcomes),
            rows=rows,
        )

    def ungraded_note(self, report: RiddleReport) -> str:
        return "Nothing was graded: no judge was asked" if report.left else ""

    def scores(self, report: RiddleReport) -> Sequence[ScoreLine]:
        return (line("All riddles", scores(report.rows, 1)),)

    def files(self, report: RiddleReport) -> Mapping[str, bytes]:
        kept = json.dumps([asdict(row) for row in report.rows]).encode()
        return LazyFiles(
            {"riddles.json": lambda: kept, **sheet_files("riddles", self.sheets(report))}
        )


RIDDLES = Riddles(
    key="riddles",
    name="Riddles",
    report=RiddleReport,
    way="judge first",
    protocols={"As ever": "as ever"},
    start="Show what riddles cost",
    unit="riddle",
)


ANIMALS = spec_benchmark(
    "animals",
    read_spec(
        b"""
name: Animals
about: Whether a model knows pets and wild animals.
called: [animals]
groups: [category]
rule: letter
"""
    ),
)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for benchmark in (RIDDLES, ANIMALS):
        monkeypatch.setitem(BENCHMARKS, benchmark.key, benchmark)


@pytest.fixture
def judge() -> Iterator[OpenAIServer]:
    with OpenAIServer(
        lambda body, sample: "A" if "Options" in str(body) or "option" in str(body) else "0.5"
    ) as server:
        yield server


@pytest.fixture
def riddles(tmp_path) -> Path:
    rows = [
        {"riddle": f"Number {number}?", "truth": "a dog", "said": f"cat {number}"}
        for number in range(3)
    ]
    return table_file(tmp_path / "riddles.tsv", rows, list(rows[0]))


@pytest.fixture
def animals(tmp_path) -> Path:
    rows = [
        row(number, "B" if number < 3 else "A", category="pets" if number % 2 else "wild")
        for number in range(4)
    ]
    return table_file(
        tmp_path / "animals.tsv", [*rows, row(4, "Cat or dog, hard to say", category="pets")]
    )


@pytest.fixture
def person(tmp_path, judge) -> Iterator[Person]:
    here = Person(tmp_path, judge)
    yield here
    here.bench.database.close()


def test_a_judged_toy_is_quoted_judged_shown_and_downloaded(person, riddles):
    link = person.checks(riddles, "riddles")
    assert (
        "3 riddles" in person.seen and "Number 0?" in person.seen and "under $0.01" in person.seen
    )
    assert person.bench.jobs.find(link).state == "waiting", (
        "one press starts what costs what was told"
    )
    with running(person.bench):
        assert ended(person.bench, link).state == "done"
    report = person.bench.jobs.report(link)
    assert [row.grades[0].score for row in report.rows] == [0.5] * 3 and report.judge.versions
    shown = person.opened(link)
    assert "All riddles" in shown and "scores 50.0 on Riddles (All riddles" in shown


@pytest.mark.parametrize(
    ("told", "state"),
    [("runs@90000000", "waiting"), ("runs@1", "quoted"), ("runs", "quoted")],
)
def test_what_costs_more_than_was_told_is_asked_about_once_more(person, told, state):
    form, sent = person.reads(SAMPLE_PREDICTIONS)
    assert sent[person.tab.offers] == "runs" and "\nruns@" in sent[person.tab.prices]
    pressed = person.tab.on_check({**sent, person.tab.prices: told}, person.request)
    assert person.bench.jobs.find(pressed[person.tab.link]).state == state
    assert ("105 calls" in pressed[person.tab.jobs.progress]) == (state == "quoted")


def test_a_toy_in_yaml_is_read_shown_and_its_rest_judged(person, animals):
    link = person.checks(animals, "animals")
    shown = person.opened(link)
    assert "scores 75.0 on Animals (Overall" in shown and "pets" in shown and "wild" in shown
    assert "read as A (" in shown
    listed = person.web.get(f"/report/{link}/answers?show=not+read").text
    assert "1 of 5 answers" in listed and "Cat or dog, hard to say" in listed
    assert person.service.count_left(person.bench.jobs.find(link)) == 1
    rest = person.service.quote(
        cookie_hash(SENT), person.service.draft_rest(cookie_hash(SENT), link), None
    )
    person.service.start(cookie_hash(SENT), rest.link, None)
    with running(person.bench):
        assert ended(person.bench, rest.link).state == "done"
    assert "60.0" in person.opened(rest.link)


@pytest.mark.parametrize(("name", "headline"), [("riddles", "50.0"), ("animals", "60.0")])
def test_the_command_line_scores_toys(name, headline, judge, tmp_path, request):
    file = request.getfixturevalue(name)
    command = ChoiceCommand(tmp_path)
    done = command("score", file, "--judge", "test-judge", "--base-url", judge.address, "--yes")
    assert done.code == 0 and headline in done.out, done.err
    found = open_upload(file)
    assert found and found.benchmark.key == name
    report = found.report(next(iter(BENCHMARKS[name].protocols.values())))
    assert set(command.files()) == set(BENCHMARKS[name].files(report))
    assert command("score", file, "--protocol", "none").err.startswith(
        f"{'none'!r} isn't a protocol here"
    )
