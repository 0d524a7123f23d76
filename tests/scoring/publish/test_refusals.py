"""What keeps a score from being published: one row of the table each."""

import csv
from dataclasses import replace

import pytest

from scoring.benchmarks.hidden import hidden_report
from scoring.benchmarks.spec_benchmark import own_benchmark, spec_benchmark
from scoring.publish.editions import edition_of, hub_benchmarks
from scoring.publish.refusals import refusals
from scoring.questions.library import QuestionLibrary
from scoring.questions.opening import open_joined_file, opened_beside
from scoring.registry import BENCHMARKS
from scoring.report import Grade
from scoring.specs.files import load_spec
from scoring.visit_bench.matches import Instance, Match, MatchReport, Verdict
from scoring.visit_bench.sealed import SealedCount, SealedReport
from tests.support.choice_tables import table_file
from tests.support.hidden_questions import choice_answers, choice_questions, choice_rows
from tests.support.mm_vet_reports import mm_vet_report
from tests.support.open_answers import open_report
from tests.support.own_benchmarks import zoo
from tests.support.published_questions import checked_report, published_questions
from tests.support.question_files import circular


def with_grades(report, change, count):
    """A report whose first rows have other grades."""
    rows = [
        replace(row, grades=tuple(change(grade) for grade in row.grades)) if place < count else row
        for place, row in enumerate(report.rows)
    ]
    return replace(report, rows=tuple(rows))


def without_answers(report, count):
    unanswered = Grade("", 0, None, "no answer")
    changed = with_grades(report, lambda grade: replace(unanswered, question=grade.question), count)
    rows = [
        replace(row, prediction=None) if place < count else row
        for place, row in enumerate(changed.rows)
    ]
    return replace(changed, rows=tuple(rows))


def unscored(report, count):
    return with_grades(report, lambda grade: replace(grade, score=None), count)


def cells_of(path):
    """The rows of a table with tabs."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def kinds(report):
    return [
        (refusal.kind, "".join(sorted(stop[0] for stop in refusal.stops)))
        for refusal in refusals(report)
    ]


def reasons(report):
    return [refusal.reason for refusal in refusals(report)]


JUDGE = mm_vet_report().judge
WHOLE = mm_vet_report()


class TestMMVet:
    def test_a_complete_score_of_the_published_questions_goes_anywhere(self):
        assert refusals(WHOLE) == []
        assert edition_of(WHOLE).edition == "mm-vet"

    @pytest.mark.parametrize(
        ("report", "reason", "kind", "stops"),
        [
            (unscored(WHOLE, 60), "It has no score.", "no score", "hnt"),
            (
                replace(WHOLE, canaries=(Grade("c", 0, 0.5),)),
                "Don't trust this score: its judge gave points to answers that should get 0.",
                "judge not trusted",
                "hn",
            ),
            (
                without_answers(WHOLE, 2),
                "Partial: no answer to 2 of 60 questions.",
                "partial",
                "hn",
            ),
            (
                without_answers(WHOLE, 1),
                "Partial: no answer to 1 of 60 questions.",
                "partial",
                "hn",
            ),
            (
                unscored(WHOLE, 4),
                "6.7% are unscored. The limit is 5%.",
                "6.7% unscored",
                "hn",
            ),
            (
                replace(WHOLE, judge=replace(JUDGE, versions=("gpt-4-0314", "gpt-4-0613"))),
                "Several judges gave these grades: gpt-4-0314, gpt-4-0613.",
                "several judges",
                "h",
            ),
            (
                replace(WHOLE, questions=replace(WHOLE.questions, official=False)),
                "Its questions weren't checked against the published set. Score it with the authors' question file.",
                "not checked",
                "h",
            ),
        ],
    )  # fmt: skip
    def test_each_reason_by_itself(self, report, reason, kind, stops):
        assert reasons(report) == [reason]
        assert kinds(report) == [(kind, stops)]

    def test_five_per_cent_may_be_unscored_and_runs_are_counted(self):
        assert refusals(unscored(WHOLE, 3)) == []
        twice = with_grades(WHOLE, lambda grade: grade, 0)
        rows = [
            replace(row, grades=(row.grades[0], replace(row.grades[0], run=1, score=None if place < 6 else 0.5)))
            for place, row in enumerate(twice.rows)
        ]  # fmt: skip
        assert refusals(replace(twice, runs=2, rows=tuple(rows))) == []

    def test_an_answer_that_is_none_of_a_model_is_missing_unless_the_paper_counts_it(self):
        rows = (replace(WHOLE.rows[0], no_answer="an error"), *WHOLE.rows[1:])
        hardened = replace(WHOLE, rows=rows, protocol="hardened")
        assert reasons(hardened) == ["Partial: no answer to 1 of 60 questions."]
        assert refusals(replace(WHOLE, rows=rows)) == []

    def test_the_second_edition_is_known_by_its_ids_alone_and_so_unchecked(self):
        second = replace(WHOLE, benchmark="mm-vet-v2")
        assert kinds(second) == [("not checked", "h")]


class TestFilesOfAnswers:
    def test_a_file_beside_the_published_questions_has_an_edition(self, tmp_path, monkeypatch):
        published_questions(tmp_path / "questions", monkeypatch)
        report = checked_report(tmp_path / "questions")
        assert refusals(report) == []
        assert edition_of(report).edition == "mmbench-dev-en-v1.0"

    def test_a_file_without_a_question_is_partial(self, tmp_path, monkeypatch):
        published_questions(tmp_path / "questions", monkeypatch)
        report = checked_report(tmp_path / "questions", circular([3, 241, 252, 1050]))
        assert reasons(report)[0] == "Partial: no answer to 1 of 5 questions."

    def test_a_question_without_one_of_its_passes_is_one_of_the_five(self, tmp_path, monkeypatch):
        published_questions(tmp_path / "questions", monkeypatch)
        said = circular()
        del said["3000003"]
        report = checked_report(tmp_path / "questions", said)
        assert reasons(report)[0] == "Partial: no answer to 1 of 5 questions."

    def test_a_question_whose_passes_all_failed_is_one_of_the_five(self, tmp_path, monkeypatch):
        published_questions(tmp_path / "questions", monkeypatch)
        failed = dict.fromkeys(circular([241]), "Failed to obtain answer via API.")
        report = checked_report(tmp_path / "questions", circular() | failed)
        assert reasons(report)[0] == "Partial: no answer to 1 of 5 questions."
        del failed["3000241"]
        said = {**circular([3, 252, 1050, 2003]), **failed}
        report = checked_report(tmp_path / "questions", said)
        assert reasons(report)[0] == "Partial: no answer to 1 of 5 questions."

    @pytest.mark.parametrize(
        ("changes", "is_checked"),
        [
            ({}, True),
            ({"question": "  What is it,  241? ", "hint": "nan"}, True),
            ({"question": "An easier question?"}, False),
            ({"hint": "The answer is B."}, False),
            ({"C": "", "D": ""}, False),
        ],
    )
    def test_answers_beside_another_question_were_not_checked(
        self, tmp_path, monkeypatch, changes, is_checked
    ):
        path = published_questions(tmp_path / "questions", monkeypatch)
        rows = [{**one, "prediction": one["answer"]} for one in cells_of(path)]
        rows[4] |= changes
        table_file(tmp_path / "model.tsv", rows, [*rows[0], "hint"])
        opened = open_joined_file(
            QuestionLibrary(tmp_path / "questions"), tmp_path / "model.tsv"
        ).file
        report = opened.report("strict")
        assert kinds(report) == ([] if is_checked else [("not checked", "h")])
        assert is_checked or "; 1 of the answers' rows show another question" in (
            report.questions.words
        )

    def test_a_changed_question_file_gives_no_edition(self, tmp_path, monkeypatch):
        path = published_questions(tmp_path / "questions", monkeypatch)
        path.write_text(path.read_text().replace("cat", "cow"))
        assert kinds(checked_report(tmp_path / "questions")) == [("not checked", "h")]

    def test_right_answers_that_are_not_published_cannot_be_compared(self, tmp_path, monkeypatch):
        published_questions(tmp_path / "questions", monkeypatch, answers="absent")
        assert kinds(checked_report(tmp_path / "questions")) == [("not checked", "h")]

    def test_questions_of_the_file_itself_are_unchecked(self):
        assert ("not checked", "h") in kinds(open_report({}))

    def test_a_mode_is_named(self, tmp_path, monkeypatch):
        published_questions(tmp_path / "questions", monkeypatch)
        report = replace(checked_report(tmp_path / "questions"), mode="one-image")
        assert reasons(report) == ["This is a mode of the benchmark (one-image)."]
        assert kinds(report) == [("mode one-image", "h")]

    def test_what_a_paper_counts_as_wrong_is_scored(self):
        undecided = open_report({0: None, 1: None}, protocol="mmbench-paper")
        assert not any("unscored" in kind for kind, _ in kinds(undecided))
        strict = open_report({0: None, 1: None})
        assert any("unscored" in kind for kind, _ in kinds(strict))

    def test_an_own_benchmark_has_no_published_set(self, tmp_path, monkeypatch):
        answers, asked, spec = zoo(tmp_path, "ABAA")
        own = own_benchmark(load_spec(spec))
        report = opened_beside(answers, asked, own).report("strict")
        assert kinds(report) == [("own benchmark", "h")]
        monkeypatch.setitem(BENCHMARKS, "zoo", spec_benchmark("zoo", load_spec(spec)))
        offered = opened_beside(answers, asked, BENCHMARKS["zoo"]).report("strict")
        assert kinds(offered) == [("own benchmark", "h")]


def test_hidden_right_answers_are_for_this_server_alone(tmp_path):
    folder = tmp_path / "questions"
    folder.mkdir()
    asked = choice_questions(folder, choice_rows())
    asked.with_name(f"{asked.name}.yaml").write_text("answers: hidden\n")
    said = choice_answers(tmp_path / "m.json", choice_rows())
    opened = open_joined_file(QuestionLibrary(folder), said).file
    assert opened is not None
    report = hidden_report(opened, "strict")
    assert kinds(report) == [("hidden answers", "h")]
    first = choice_rows()[:400]
    part = open_joined_file(
        QuestionLibrary(folder), choice_answers(tmp_path / "p.json", first)
    ).file
    assert part is not None
    assert reasons(hidden_report(part, "strict"))[0] == "Partial: some questions have no answer."


def test_a_sealed_set_is_for_this_server_alone():
    total = SealedCount("all", 30, 10, 0, 0)
    sealed = SealedReport(
        benchmark="sealed-items",
        protocol="paper",
        title="m",
        file="m.csv",
        created=WHOLE.created,
        judge=JUDGE,
        project="p",
        digest="d",
        answers=(),
        total=total,
        groups=(),
        unread=0,
        replies=80,
        steady=40,
        both=40,
    )
    assert kinds(sealed) == [("sealed", "h")]


def test_matches_against_other_models_are_no_score_of_the_benchmark():
    pair = ("a", "a")
    matches = [
        Match(f"item {number}", "m", "other", tuple(Verdict(winner, "", ("A",)) for winner in pair))
        for number in range(3)
    ]
    items = [Instance(match.item, "f", "", ("a caption",), (), (), None) for match in matches]
    report = MatchReport(
        benchmark="visit-bench",
        protocol="paper",
        title="m",
        file="m.csv",
        created=WHOLE.created,
        judge=JUDGE,
        reference="free",
        context="captions",
        source="s",
        complete=True,
        stored=True,
        instances=tuple(items),
        responses=(),
        matches=tuple(matches),
    )
    assert kinds(report) == [("other models' matches", "h")]


def test_the_table_names_question_files_with_public_answers():
    known = {
        (key, file.name)
        for key, benchmark in BENCHMARKS.items()
        for file in getattr(benchmark, "question_files", ())
        if file.answers == "there"
    }
    rows = {(row.benchmark, row.file) for row in hub_benchmarks()}
    assert rows - known == {("mm-vet", "mm-vet.json")}
    assert len({row.edition for row in hub_benchmarks()}) == len(hub_benchmarks())
    assert all(row.lowest < row.highest and row.dataset.count("/") == 1 for row in hub_benchmarks())
