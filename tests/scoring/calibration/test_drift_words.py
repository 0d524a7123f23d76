"""What reports, the operators' page and the command line say of an accepted judge."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from arena.admin.checklist import ChecklistEntry
from arena.database import Database, now
from arena.inference.endpoint import Endpoint
from arena.types import Secret
from scoring.calibration.drift_store import DriftStore, FrozenScores, JudgeKey
from scoring.calibration.drift_words import drift_checks, drift_line, drift_list
from scoring.calibration.frozen_answers import frozen_answers, frozen_digest, ways
from scoring.jobs.worker import Operator
from scoring.report import JudgeStamp
from scoring.web.article import trust_html
from tests.support.drifting_judge import HARDENED, age
from tests.support.judging_process import SPEC
from tests.support.mm_vet_reports import INNER, mm_vet_report

JUDGE = JudgeStamp(SPEC.model, (), INNER, HARDENED.prompt, "mm-vet strict 1")
KEY = JudgeKey(INNER, SPEC.model, HARDENED.prompt)
OPERATOR = Operator(Endpoint(INNER, Secret("sk-test")), SPEC)
SIZE = len(frozen_answers())


@pytest.fixture
def database(tmp_path) -> Iterator[Database]:
    opened = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    yield opened
    opened.close()


def scores(*runs: float, names: tuple[str, ...] = ("test-judge-2026-01-01",)) -> FrozenScores:
    """Runs of a judge that gives 0.4 and 0.6 in turn, and so much more."""
    given = [
        tuple((0.4 if (place + run) % 2 else 0.6) + shift for place in range(SIZE)) for run, shift in enumerate(runs)
    ]
    return FrozenScores(frozen_digest(), tuple(given), names, ("fp_1",))


def line(database: Database, days_ago: float = 0.0, judge: JudgeStamp = JUDGE) -> str:
    """The line of a report that was judged so many days ago."""
    return drift_line(DriftStore(database), judge, now() - timedelta(days=days_ago))


def test_a_report_says_where_its_judge_stood_when_it_was_judged(database):
    store = DriftStore(database)
    assert line(database) == "Drift: never looked at; whether this judge scores as it used to is not known."
    baseline = store.accept(KEY, scores(0, 0, 0, 0, 0)).baseline
    accepted = f"{now():%Y-%m-%d}"
    assert line(database) == (
        f"Drift: never looked at since it was accepted on {accepted} (5 runs over 64 frozen answers)."
    )
    assert "is not known" in line(database, 1), "it was not accepted then"
    age(database, 20)
    store.add_look(baseline, scores(0))
    seen = f"{now():%Y-%m-%d}"
    named = "as test-judge-2026-01-01, fingerprint fp_1"
    assert line(database) == f"Drift: steady, looked at on {seen} over 64 frozen answers, {named}."
    age(database, 9)
    assert line(database) == "Drift: not looked at for 9 days, and steady until then."
    assert line(database, 8.5).startswith("Drift: steady, looked at on ")
    store.add_look(baseline, scores(0.06, names=("test-judge-2026-06-01",)))
    moved = line(database)
    assert moved.startswith("Drift: moved by +0.060 (p ") and moved.endswith("; older scores of it are not comparable.")
    assert "as test-judge-2026-06-01, fingerprint fp_1 (accepted as test-judge-2026-01-01, fingerprint fp_1)" in moved
    before = line(database, 8.5)
    assert (
        before.startswith("Drift: steady, ")
        and f"After this report, on {now():%Y-%m-%d}, it had moved by +0.0" in before
    )
    age(database, 30)
    store.accept(KEY, scores(0.06, 0.06, 0.06, 0.06, 0.06))
    assert line(database).startswith("Drift: never looked at since it was accepted")
    assert line(database, 20).startswith("Drift: moved by +0.060"), "old reports keep what was true of them"


def test_judges_of_other_prompts_are_not_looked_at_and_say_so(database):
    DriftStore(database).accept(KEY, scores(0, 0, 0, 0, 0))
    other = line(database, judge=replace(JUDGE, prompt="another benchmark's"))
    assert other == "Drift: never looked at with this prompt; judges are looked at with MM-Vet's present ones."
    assert "is not known" in line(database, judge=replace(JUDGE, address="https://elsewhere.example/v1"))
    assert "is not known" in line(database, judge=replace(JUDGE, prompt=list(ways())[1]))


def test_what_a_server_calls_itself_is_text_and_no_address_is_shown(database):
    hostile = "<img src=x onerror=alert(1)>"
    store = DriftStore(database)
    store.add_look(store.accept(KEY, scores(0, 0, 0, 0, 0)).baseline, scores(0, names=(hostile,)))
    html = trust_html(mm_vet_report(), "link", drift=line(database))
    assert "<li>Drift: steady, " in html and "&lt;img src=x" in html and hostile not in html
    told = [*drift_list(store, now()), *(one.told for one in drift_checks(store, OPERATOR, now())), line(database)]
    assert len(told) == 3 and not any("10.7.7.7" in one for one in told)
    assert told[0].startswith("test-judge at the operator's own server (MM-Vet, hardened), 1 look since ")


def test_operators_see_what_to_do_about_their_judge(database):
    store = DriftStore(database)

    def checks() -> list[ChecklistEntry]:
        return list(drift_checks(store, OPERATOR, now()))

    assert list(drift_checks(store, None, now())) == []
    (one,) = checks()
    assert not one.is_there and "Accept it: python -m scoring drift accept (docs/score.md)." in one.told
    baseline = store.accept(KEY, scores(0, 0, 0, 0, 0)).baseline
    (one,) = checks()
    assert one.what == "Judge's drift (MM-Vet, hardened)" and one.is_there
    age(database, 9)
    (one,) = checks()
    assert not one.is_there, "its first look is late"
    store.add_look(baseline, scores(0))
    assert [one.is_there for one in checks()] == [True]
    age(database, 9)
    (one,) = checks()
    assert not one.is_there and one.told == "not looked at for 9 days, and steady until then. The log says why."
    store.add_look(baseline, scores(0.06))
    (one,) = checks()
    assert not one.is_there and "accept it anew: python -m scoring drift accept" in one.told
