"""Readings: people say which option an answer means, and an extractor is held against them as MMBench does."""

from dataclasses import replace

import pytest

from scoring.benchmarks.choice_report import decide_rows
from scoring.multiple_choice.types import NONE, Clue, Decision, Rule
from scoring.people.imports import import_readings
from scoring.people.open_answers import DRAWN, draw_open, open_answers
from scoring.people.published import PAPER_ALIGNED, PAPER_CASES, PAPER_MISALIGNED, PAPER_READ
from scoring.people.reading_files import readings_csv
from scoring.people.reading_results import STRICT_RULES, reading_results
from scoring.people.reading_sheets import alignment_sheet
from scoring.people.readings import (
    ALL_MODELS,
    NO_OPTION,
    AnswerKey,
    PairedChoice,
    PersonReading,
    align,
    align_people,
    option_of,
    peoples_choices,
)
from scoring.people.store import MarkEntry
from tests.support.marked_reports import OWNER, MarkedReport
from tests.support.open_answers import JUDGE, open_report


def pairs(same: int, one_none: int, other: int, unread: int = 0) -> list[PairedChoice]:
    """Choices of people and an extractor, each of a question of its own."""
    chosen = [("A", "A")] * same + [("A", NO_OPTION)] * one_none + [("A", "B")] * other
    return [
        PairedChoice(str(place), people, other)
        for place, (people, other) in enumerate([*chosen, *[("A", None)] * unread])
    ]


def test_the_paper_s_answers_give_the_paper_s_numbers():
    one_none, other = (round(share * PAPER_MISALIGNED) for share in PAPER_CASES)
    found = align("ChatGPT", "", pairs(327, one_none - 1, other))
    assert found.answers == PAPER_READ, "the paper counts 50 apart, and 87.0% leaves 49"
    same = PAPER_ALIGNED["ChatGPT (gpt-3.5-turbo-0613)"]
    assert found.same.value == pytest.approx(same, abs=5e-4)
    assert (found.same.low, found.same.high) == pytest.approx((0.832, 0.900), abs=2e-3), "Wilson's"
    sheet = alignment_sheet([found])
    own, *paper = sheet.rows
    row = next(row for row in paper if "ChatGPT" in row["extractor"])
    for share in ("one_none", "other_option"):
        assert own[share] == pytest.approx(row[share], abs=3e-3)


@pytest.mark.parametrize(
    ("people", "other", "outcome"),
    [
        ("A", "A", "same"),
        (NO_OPTION, NO_OPTION, "same"),
        ("A", NO_OPTION, "one none"),
        (NO_OPTION, "A", "one none"),
        ("A", "B", "other option"),
        (NO_OPTION, None, "unread"),
    ],
)
def test_people_and_an_extractor_differ_in_two_ways(people, other, outcome):
    assert PairedChoice("1", people, other).outcome == outcome


def test_what_nobody_read_is_in_no_share_and_case_one_says_who_chose_an_option():
    found = align("judge", "", [*pairs(6, 1, 0, unread=3), PairedChoice("9", NO_OPTION, "A")])
    assert (found.answers, found.unread, found.one_none.hits, found.chose) == (8, 3, 2, 1)
    assert align("judge", "", pairs(0, 0, 0, unread=2)).same.value is None


def test_many_answers_to_one_question_say_less_than_answers_to_many():
    apart = pairs(60, 20, 0)
    alike = [one._replace(question=str(place // 10)) for place, one in enumerate(apart)]
    wide, narrow = (align("judge", "", one).same for one in (alike, apart))
    assert wide.value == narrow.value and wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    ("letter", "rule", "options", "option"),
    [
        ("B", Rule.JUDGE, "ABCD", "B"),
        (NONE, Rule.JUDGE, "ABCD", NO_OPTION),
        (NONE, Rule.JUDGE, "ABZ", NONE),
        (None, Rule.UNREAD, "ABCD", None),
        ("B", Rule.RANDOM, "ABCD", None),
        (NONE, Rule.ASSIGNED_NONE, "ABCD", None),
    ],
)
def test_an_assigned_letter_is_no_choice(letter, rule, options, option):
    assert option_of(Decision(letter, (Clue(rule, letter, ""),)), options) == option


def reading(reader: str, option: str, round: int = 1, item: str = "1") -> PersonReading:
    return PersonReading(AnswerKey(item, "sha"), reader, option, round)


def test_most_people_decide_and_where_two_differ_a_third():
    given = [reading("ann", "A"), reading("bob", "B")]
    (key,) = peoples_choices(given)
    assert peoples_choices(given)[key] == "B"
    assert peoples_choices([*given, reading("cid", "A")])[key] == "A"
    assert peoples_choices([*given, reading("bob", "A", 2)])[key] == "A", "a person's last word"
    one, again = align_people([*given, reading("bob", "A", 2)])
    assert (one.same.hits, one.same.n, one.chose) == (1, 1, None), "ann and bob's last word"
    assert (again.same.hits, again.other_option.hits) == (0, 1)


# Under a report


@pytest.fixture
def once(monkeypatch):
    """Nobody is shown an answer twice."""
    monkeypatch.setattr("scoring.people.plan.REPEATED_PART", 0.0)


def read_as(marked: MarkedReport, options: str, person: str = "owner") -> None:
    """Have a person match the next answers, each by a letter, "0" for none and "?" where nobody can tell."""
    seat = marked.seat(person, "readings")
    for option in options:
        marked.mark(seat, {"0": NO_OPTION, "?": "cannot"}.get(option, option))


def test_people_are_shown_what_rules_leave_open_and_nothing_that_a_judge_chose(database):
    judged = MarkedReport.on(database, open_report({0: "C"}))
    shown, answer = judged.marking.draw(judged.seat(kind="readings"))
    assert answer.options == {"A": "dog", "B": "cat", "C": "bird", "D": "fish"}
    assert (answer.question, answer.truth, answer.grade) == ("What is it?", "", "")
    assert len(judged.marking.material("readings", judged.job.link).plan) == 12, (
        "and not the one that rules read"
    )
    order = [one.item for one in judged.marking.material("readings", judged.job.link).plan]
    unjudged = MarkedReport.on(database, open_report(None, title="Other", answers=9))
    other = [one.item for one in unjudged.marking.material("readings", unjudged.job.link).plan]
    assert other == [item for item in order if int(item) < 9], "the same questions of every model"


def test_376_are_drawn_by_lot():
    answers = open_answers(open_report(None, answers=400))
    drawn = [one.id for one in draw_open(answers)]
    assert len(drawn) == DRAWN < len(answers) and drawn != sorted(drawn, key=int)
    assert drawn != [one.id for one in draw_open(answers, seed=1)]


def test_other_options_make_it_another_question(database):
    marked = MarkedReport.on(database, open_report({}))
    read_as(marked, "B")
    report = open_report({})
    question = replace(report.rows[0].question, options={"A": "one", "B": "two"})
    rows = tuple(
        replace(row, question=replace(question, index=row.question.index)) for row in report.rows
    )
    job = marked.marking.jobs.add_done(OWNER, replace(report, rows=rows))
    assert reading_results(marked.marking, job, replace(report, rows=rows)) is None


def test_a_judge_is_held_against_people_by_model_and_beside_another_judge(database, once):
    report = open_report({2: None})
    marked = MarkedReport.on(database, report)
    assert reading_results(marked.marking, marked.job, report) is None
    read_as(marked, "BBBBA0?BBBBB")
    other = MarkedReport.on(database, open_report({}, title="Other model", answers=6))
    read_as(other, "BBBBBB")
    same_answers = open_report(dict.fromkeys(range(12), "A"), judge="always-a")
    marked.marking.jobs.add_done(OWNER, same_answers)
    found = reading_results(marked.marking, marked.job, report)
    assert (found.read, found.open, found.cannot) == (11, 12, 1)
    told = {(one.extractor, one.model): one for one in found.alignments}
    assert next(iter(told)) == (JUDGE, ALL_MODELS), "the report's own judge first"
    own = told[JUDGE, "Model of letters"]
    apart = own.one_none.hits + own.other_option.hits
    assert own.same.hits + apart + own.unread == 11 and own.chose == own.one_none.hits
    assert told[JUDGE, "Other model"].same.hits == 6
    assert told[JUDGE, ALL_MODELS].same.hits == own.same.hits + 6
    assert told["always-a", "Model of letters"].same.hits == 1
    assert {one.pair.outcome for one in found.differing} <= {"one none", "other option"}
    assert len(found.differing) == apart
    alone = reading_results(marked.marking, marked.job, report, with_others=False)
    assert [one.model for one in alone.alignments] == ["Model of letters"]


def test_our_rules_are_held_against_people_where_a_paper_s_left_an_answer_open(database, once):
    report = open_report(None, protocol="mmbench-paper")
    rows = tuple(replace(row, prediction="The answer is a cat.") for row in report.rows)
    report = replace(report, rows=decide_rows(rows, "mmbench-paper"))
    marked = MarkedReport.on(database, report)
    read_as(marked, "BBBC")
    (found,) = reading_results(marked.marking, marked.job, report).alignments
    assert (found.extractor, found.same.hits, found.answers) == (STRICT_RULES, 3, 4)


@pytest.mark.locks_or_dialect
def test_two_people_who_differ_bring_a_third(database, once, monkeypatch):
    monkeypatch.setattr("scoring.people.plan.SHARED_PART", 1.0)
    marked = MarkedReport.on(database, open_report({}, answers=1))
    read_as(marked, "A", "owner")
    read_as(marked, "B", "helper-1")
    read_as(marked, "A", "helper-2")
    assert marked.marking.draw(marked.seat("helper-3", "readings")) is None, "two of three agree"
    found = reading_results(marked.marking, marked.job, open_report({}, answers=1))
    assert (found.read, found.people[0].same.n, found.people[0].same.hits) == (1, 3, 1)
    assert found.alignments[0].other_option.hits == 1


def test_readings_go_out_and_come_in_again(database, once, tmp_path):
    report = open_report({})
    marked = MarkedReport.on(database, report)
    read_as(marked, "AB0")
    found = reading_results(marked.marking, marked.job, report)
    path = tmp_path / "readings.csv"
    path.write_text(readings_csv(found.readings), "utf-8")
    marked.marking.store.drop(OWNER, marked.job.link)
    count, problems = import_readings(marked.marking, marked.job, report, path)
    assert (count, problems) == (3, ())
    again = reading_results(marked.marking, marked.job, report)
    assert {one.option for one in again.readings} == {"A", "B", NO_OPTION}
    lines = path.read_text("utf-8").splitlines()
    lines[1:] = [
        lines[1].replace(",A,", ",Z,").replace(",B,", ",Z,").replace(",none,", ",Z,"),
        lines[2].replace(lines[2].split(",")[1], "0" * 64),
        lines[3].replace(",1,", ",1,x"),
    ]
    path.write_text("\n".join(lines), "utf-8")
    count, problems = import_readings(marked.marking, marked.job, report, path)
    assert count == 0 and len(problems) == 3
    told = "; ".join(problems)
    assert (
        "no option Z" in told
        and "isn't one of the answers" in told
        and "an option's letter" in told
    )


def test_a_person_who_takes_everything_back_has_read_nothing(database):
    report = open_report({})
    marked = MarkedReport.on(database, report)
    seat = marked.seat(kind="readings")
    (token,) = marked.mark(seat, "B")
    marked.marking.store.enter(seat, token, MarkEntry(""))
    assert reading_results(marked.marking, marked.job, report) is None
