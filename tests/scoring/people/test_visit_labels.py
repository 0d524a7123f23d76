"""Labels of VisIT-Bench's answers: one of each answer, which stays the same whatever voters may still see."""

from collections.abc import Collection

import pytest

from arena.database import Database
from scoring.jobs.store import Jobs
from scoring.people.error_sample import known_errors
from scoring.people.labels import label_results
from scoring.people.marking import Marking, answers_for
from scoring.people.plan import answer_key
from scoring.people.store import MarkEntry
from scoring.report import JudgeStamp
from scoring.visit_bench.matches import (
    NOT_SHOWN,
    Instance,
    Match,
    MatchReport,
    Response,
    Verdict,
    without_texts,
)
from tests.support.marked_reports import OWNER, MarkedReport

ITEMS = [f"item-{number}" for number in range(6)]
OPPONENTS = ("alpha", "beta", "zeta")


def report(won: Collection[tuple[str, str]] = (), stored: bool = False) -> MatchReport:
    """A report of a model that meets three others on six items, and loses but on these items to these."""
    matches = []
    for item in ITEMS:
        for opponent in OPPONENTS:
            a, b = sorted(("newcomer", opponent))
            winner = "newcomer" if (item, opponent) in won else opponent
            verdict = Verdict("a" if winner == a else "b", "", ("so",), "j")
            matches.append(Match(item, a, b, (verdict, verdict)))
    return MatchReport(
        benchmark="visit-bench",
        protocol="hardened",
        title="newcomer",
        file="newcomer.jsonl",
        created="2026-11-28T10:00:00+00:00",
        judge=JudgeStamp("j", (), "", "", ""),
        reference="free",
        context="captions",
        source="test",
        complete=True,
        stored=stored,
        instances=tuple(
            Instance(
                item, "Color", f"What is {item}?", ("A caption.",), (), (item,), f"It's {item}."
            )
            for item in ITEMS
        ),
        responses=tuple(
            Response(item, model, f"{model} says {item}")
            for item in ITEMS
            for model in ("newcomer", *OPPONENTS)
        ),
        matches=tuple(matches),
    )


class BlindReport:
    """A report on a database, some of whose items voters may still see."""

    def __init__(self, database: Database, whole: MatchReport) -> None:
        self.blind: list[str] = []
        self._database = database
        self._jobs = Jobs(database, redact=lambda _: without_texts(whole, self.blind))
        self._job = self._jobs.add_done(OWNER, whole)

    def shown(self) -> MarkedReport:
        """The report as it is shown now: what was read before isn't kept."""
        return MarkedReport(self._database, Marking(self._database, self._jobs), self._job)

    def labels(self):
        here = self.shown()
        shown_report = self._jobs.readable_report(self._job.link)
        assert shown_report
        return label_results(here.marking, here.job, shown_report)


def test_a_label_counts_before_and_after_voters_see_its_item(database):
    blind = BlindReport(database, report())
    blind.blind += ITEMS
    seat = blind.shown().seat(kind="labels")
    drawn = blind.shown().marking.draw(seat)
    assert drawn and "newcomer says" in drawn.answer.answer
    assert drawn.answer.truth == NOT_SHOWN
    blind.blind.clear()
    again = blind.shown().marking.draw(seat)
    assert again and again.shown == drawn.shown
    assert again.answer.truth.startswith("It's item-")
    blind.shown().marking.store.enter(seat, drawn.shown.token, MarkEntry("reasoning"))
    for items in ([], ITEMS, ITEMS[:3]):
        blind.blind[:] = items
        found = blind.labels()
        assert found and (found.shares.labelled, found.shares.wrong) == (1, 6)


def test_an_answer_that_is_not_shown_any_more_makes_way_for_another(database):
    blind = BlindReport(database, report(stored=True))
    seat = blind.shown().seat(kind="labels")
    first = blind.shown().marking.draw(seat)
    assert first
    blind.blind.append(first.answer.id)
    second = blind.shown().marking.draw(seat)
    assert second and second.answer.id != first.answer.id
    blind.shown().marking.store.enter(seat, second.shown.token, MarkEntry("reasoning"))
    blind.blind.clear()
    back = blind.shown().marking.draw(seat)
    assert back and back.shown == first.shown


@pytest.mark.parametrize(("wins", "is_error"), [(0, True), (1, True), (2, False), (3, False)])
def test_an_answer_is_wrong_by_the_mean_of_its_matches(wins, is_error):
    won = {("item-2", opponent) for opponent in OPPONENTS[:wins]}
    answers = answers_for("labels", report(won))
    assert len({answer_key(answer) for answer in answers}) == len(answers) == 6
    known = known_errors(answers)
    assert ("item-2" in known.by_item) == is_error
    assert sum(known.sizes.values()) == len(known.by_item) == 5 + is_error
