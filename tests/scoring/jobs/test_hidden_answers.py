"""Files with hidden right answers, from upload to report: what is stored, told and logged, and how often one may."""

import hashlib
import json
import logging
import re
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from arena.database import Database, now
from scoring.benchmarks.hidden import HiddenReport
from scoring.benchmarks.spec_benchmark import spec_benchmark
from scoring.jobs.files import FileChoice, JobServiceError
from scoring.jobs.report_pictures import REPORT_PICTURE
from scoring.jobs.secret_days import MOST_EVER, MOST_OF_NETWORK, MOST_OF_OWNER, SECRET_REPORT
from scoring.jobs.store import JOB, JobError
from scoring.registry import BENCHMARKS, benchmark_of
from scoring.specs.schema import read_spec
from tests.support.hidden_questions import (
    SPEC,
    choice_answers,
    choice_questions,
    choice_rows,
    riddle_answers,
    riddle_rows,
    riddles,
    told_by,
)
from tests.support.judging_process import Bench
from tests.support.scoring_desk import Visit

CHOICES = FileChoice("mmbench")
RIDDLES = FileChoice("riddles")
OF_ROWS = set(
    "rows row index id answer prediction truth letter decision reading right missing".split()
)
"""Names that a stored report has where it has rows."""


@pytest.fixture
def questions(tmp_path, monkeypatch) -> Path:
    """A folder of question files with hidden right answers."""
    folder = tmp_path / "questions"
    folder.mkdir()
    monkeypatch.setitem(BENCHMARKS, "riddles", spec_benchmark("riddles", read_spec(SPEC.encode())))
    for path in (choice_questions(folder, choice_rows()), riddles(folder, riddle_rows())):
        key = "riddles" if path.name == "Riddles.tsv" else "mmbench"
        path.with_name(f"{path.name}.yaml").write_text(f"benchmark: {key}\nanswers: hidden\n")
    return folder


@pytest.fixture
def store(sqlite_tables, tmp_path):
    """A database in a file whose bytes can be read."""
    (tmp_path / "data").mkdir()
    path = shutil.copy(sqlite_tables, tmp_path / "data" / "arena.db")
    with closing(Database(f"sqlite:///{path}")) as database:
        yield database


def visit(database, folder: Path, questions: Path, **more) -> Visit:
    return Visit(Bench(database, "http://127.0.0.1:9/v1"), folder, questions=questions, **more)


def written(folder: Path) -> str:
    """All that a server wrote, as text."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return "".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def keys(value: object) -> set[str]:
    """Every name in a JSON value."""
    if isinstance(value, dict):
        return {*value}.union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_nothing_that_is_written_told_or_logged_has_a_right_answer(
    store, questions, tmp_path, caplog
):
    caplog.set_level(logging.DEBUG)
    rows = [*choice_rows(), *riddle_rows()]
    desk = visit(store, tmp_path / "data", questions)
    mine = {
        CHOICES: choice_answers(tmp_path / "mine_MMBench_TEST_EN.json", choice_rows()),
        RIDDLES: riddle_answers(tmp_path / "mine_Riddles.json", riddle_rows()),
    }
    for left, (chosen, made) in zip((5, 4), mine.items(), strict=True):
        token = desk.brings(made)
        found = desk.service.recognise(desk.owner, token)
        name = BENCHMARKS[chosen.benchmark].name
        assert found.benchmark == chosen.benchmark and found.scorable
        assert "no judge is asked" in " ".join(found.lines)
        assert found.lines[-1].endswith(
            f"today: {left} of 5 reports on hidden answers. On {name} in all: 10 of 10."
        )
        assert {row.truth for row in found.rows} == {""}
        assert told_by(repr(found.lines) + repr(found.problems), rows) == []
        job = desk.service.report_by_rules(desk.owner, token, chosen, "strict", "my-model")
        assert (job.benchmark, job.model) == ("hidden", "")
        assert desk.service.count_left(job) == 0
        report = desk.bench.jobs.report(job.link)
        assert isinstance(report, HiddenReport)
        files = benchmark_of(report).files(report)
        assert [*files] == [f"{made.stem}-scores.csv"]
        shown = repr(report) + "".join(files[name].decode() for name in files)
        assert told_by(shown, rows) == []
        assert re.findall(r"keyq|Decided|letter=|right=|prediction=", shown) == []
    desk.service.pictures.stop()
    with store.read() as connection:
        assert connection.execute(select(REPORT_PICTURE)).all() == []
        stored = connection.execute(select(JOB.c.draft, JOB.c.report)).all()
    assert all(draft == "" for draft, _ in stored)
    assert not any("keyq" in report for _, report in stored)
    for _, report in stored:
        assert not keys({**json.loads(report), "published": None}) & OF_ROWS
    everything = written(tmp_path / "data") + caplog.text
    assert told_by(everything, rows) == []
    for path in questions.iterdir():  # a digest would confirm who guesses the last right answers
        assert hashlib.md5(path.read_bytes()).hexdigest() not in everything


def test_no_judge_is_asked(store, questions, tmp_path):
    desk = visit(store, tmp_path / "data", questions)
    file = riddle_answers(tmp_path / "mine.json", riddle_rows())
    draft = desk.service.draft_file(desk.owner, desk.brings(file), RIDDLES, "strict", "m")
    with pytest.raises(JobServiceError, match="only rules may score this file"):
        desk.service.price(desk.owner, draft, None)
    job = desk.service.report_by_rules(desk.owner, desk.brings(file), RIDDLES, "strict", "m")
    with pytest.raises(JobServiceError, match="no such report"):
        desk.service.price(desk.owner, desk.service.draft_rest(desk.owner, job.link), None)


def test_an_upload_that_fails_tells_no_right_answer(store, questions, tmp_path, caplog):
    """Ids that are none, options that differ, guesses beside the answers, cells of no kind."""
    caplog.set_level(logging.DEBUG)
    rows = choice_rows()
    desk = visit(store, tmp_path / "data", questions)
    guessed = [
        {"index": row["index"], "prediction": "A", "answer": row["answer"], "A": "x", "B": "y"}
        for row in rows
    ]
    for number, bad in enumerate((guessed, [*guessed, {**guessed[0], "index": "9"}], guessed[:1])):
        file = tmp_path / f"bad-{number}_MMBench_TEST_EN.json"
        file.write_text(json.dumps(bad))
        token = desk.brings(file)
        found = desk.service.recognise(desk.owner, token, CHOICES)
        assert told_by(repr(found.lines) + repr(found.problems), rows) == []
        assert {look.truth for look in found.rows} <= {""}
        with pytest.raises(ValueError) as raised:
            desk.service.report_by_rules(desk.owner, token, CHOICES, "strict", "m")
        assert told_by(str(raised.value) + caplog.text, rows) == []


@pytest.mark.locks_or_dialect
def test_five_reports_a_day_for_an_owner_and_twenty_for_a_network(database, questions, tmp_path):
    desk = visit(database, tmp_path, questions)
    rows = riddle_rows()[:20]

    def scored(number: int, network: str | None = "192.0.2.1"):
        file = riddle_answers(tmp_path / f"mine-{number}.json", rows)
        token = desk.brings(file, network=network)
        return desk.service.report_by_rules(desk.owner, token, RIDDLES, "strict", f"model {number}")

    jobs = [scored(number) for number in range(MOST_OF_OWNER)]
    assert scored(0).link == jobs[0].link, "a report that is there already tells nothing new"
    with pytest.raises(JobError, match="your 5 reports on hidden answers"):
        scored(9)
    for job in jobs:
        desk.service.delete(desk.owner, job.link)
    with pytest.raises(JobError, match="Come back tomorrow"):
        scored(0)
    token = desk.brings(riddle_answers(tmp_path / "again.json", rows))
    lines = desk.service.recognise(desk.owner, token, RIDDLES).lines
    assert lines[-1] == (
        "Left for you today: 0 of 5 reports on hidden answers. On Riddles in all: 5 of 10."
    )
    with database.write() as connection:
        network = connection.scalar(select(SECRET_REPORT.c.network))
        assert network and "192.0.2.1" not in network
        others = [
            {
                "kind": "hidden",
                "owner": f"other {number}",
                "network": network,
                "benchmark": "Riddles",
                "at": now(),
            }
            for number in range(MOST_OF_NETWORK - MOST_OF_OWNER)
        ]
        connection.execute(insert(SECRET_REPORT), others)
    desk.owner = "bob"
    with pytest.raises(JobError, match="Your network"):
        scored(10)
    assert scored(11, None).state == "done"
    yesterday = now().replace(year=2020)
    with database.write() as connection:
        connection.execute(update(SECRET_REPORT).values(at=yesterday))
    desk.owner = "ada"
    assert scored(12).state == "done"
    desk.bench.jobs.sweep()
    with database.read() as connection:
        early = select(SECRET_REPORT.c.network).where(SECRET_REPORT.c.at == yesterday)
        networks = connection.scalars(early).all()
    assert (len(networks), {*networks}) == (MOST_OF_NETWORK + 1, {None})


def test_ten_reports_on_a_benchmark_for_good(sqlite_tables, questions, tmp_path):
    """Deleted ones count, and those of earlier days."""
    path = shutil.copy(sqlite_tables, tmp_path / "arena.db")
    with closing(Database(f"sqlite:///{path}")) as database:
        desk = visit(database, tmp_path, questions)
        rows = riddle_rows()[:20]
        long_ago = now().replace(year=2020)

        def scored(number: int, chosen=RIDDLES):
            file = riddle_answers(tmp_path / f"mine-{number}.json", rows)
            token = desk.brings(file)
            return desk.service.report_by_rules(
                desk.owner, token, chosen, "strict", f"model {number}"
            )

        for number in range(MOST_EVER):
            desk.service.delete(desk.owner, scored(number).link)
            with database.write() as connection:
                connection.execute(update(SECRET_REPORT).values(at=long_ago))
            desk.bench.jobs.sweep()
        with pytest.raises(JobError, match="used your 10 reports on hidden answers of Riddles"):
            scored(11)
        token = desk.brings(riddle_answers(tmp_path / "more.json", rows))
        lines = desk.service.recognise(desk.owner, token, RIDDLES).lines
        assert lines[-1].endswith(
            "today: 5 of 5 reports on hidden answers. On Riddles in all: 0 of 10."
        )
        choices = choice_answers(tmp_path / "mine_MMBench_TEST_EN.json", choice_rows())
        other = desk.service.report_by_rules(
            desk.owner, desk.brings(choices), CHOICES, "strict", "m"
        )
        assert other.state == "done"
