"""Hidden answers: the same figures as an open report, and none that tells a single answer."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from scoring.benchmarks.base import ChoicesError
from scoring.benchmarks.hidden import HiddenReport, report_of
from scoring.benchmarks.spec_benchmark import spec_benchmark
from scoring.questions.library import QuestionLibrary
from scoring.questions.opening import open_joined_file
from scoring.registry import BENCHMARKS, benchmark_of
from scoring.report import ScoreLine
from scoring.serialize import read_record, record_json
from scoring.specs.schema import read_spec
from tests.support.choice_tables import table_file
from tests.support.hidden_questions import (
    PASS,
    SPEC,
    TOPICS,
    choice_answers,
    choice_questions,
    choice_rows,
    riddle_answers,
    riddle_rows,
    riddles,
    told_by,
)


@pytest.fixture
def library(tmp_path, monkeypatch) -> QuestionLibrary:
    folder = tmp_path / "questions"
    folder.mkdir()
    monkeypatch.setitem(BENCHMARKS, "riddles", spec_benchmark("riddles", read_spec(SPEC.encode())))
    return QuestionLibrary(folder)


def with_spec(monkeypatch, old: str, new: str) -> None:
    """Another spec of the riddles."""
    spec = read_spec(SPEC.replace(old, new).encode())
    monkeypatch.setitem(BENCHMARKS, "riddles", spec_benchmark("riddles", spec))


def hide(questions: Path, answers: str = "hidden", benchmark: str = "mmbench") -> None:
    beside = questions.with_name(f"{questions.name}.yaml")
    beside.write_text(f"benchmark: {benchmark}\nanswers: {answers}\n")


def opened(library: QuestionLibrary, file: Path, benchmark: str = "mmbench", **how):
    beside = open_joined_file(library, file, benchmark=benchmark, **how).file
    assert beside, "the question file is found"
    return beside


def both(library, questions: Path, file: Path, benchmark="mmbench", protocol="strict"):
    """The hidden report of a file, and the open one of who has the question file."""
    hide(questions, "hidden", benchmark)
    hidden = report_of(opened(library, file, benchmark), protocol, "m")
    report = report_of(opened(library, file, benchmark, hides_truths=False), protocol, "m")
    assert isinstance(hidden, HiddenReport) and not isinstance(report, HiddenReport)
    return read_record(HiddenReport, record_json(hidden)), report


def numbers(line: ScoreLine) -> tuple:
    """A line as a page shows it."""
    shown = (line.mean, line.low, line.high, line.worst, line.best)
    return line.n, line.unscored, *(None if one is None else round(one, 1) for one in shown)


def lines(report: HiddenReport, figure: str) -> dict[str, ScoreLine]:
    """Every line of a figure's trees, by its name."""
    found = {}

    def walk(node) -> None:
        found[node.line.name] = node.line
        for child in node.children:
            walk(child)

    for table in report.tables:
        walk(table.trees[figure])
    return found


@pytest.mark.parametrize("protocol", ["strict", "mmbench-paper"])
def test_circular_figures_are_those_of_an_open_report(library, tmp_path, protocol):
    rows = choice_rows()
    questions = choice_questions(library.folder, rows)
    file = choice_answers(tmp_path / "mine.json", rows)
    hidden, report = both(library, questions, file, protocol=protocol)
    benchmark = BENCHMARKS["mmbench"]
    assert [figure.name for figure in hidden.figures] == ["CircularEval", "Vanilla"]
    assert numbers(hidden.figures[0].line) == numbers(benchmark.headline(report))
    scores = benchmark.choice_tables(report).splits[-1]
    for way, tree in (("CircularEval", scores.circular), ("Vanilla", scores.vanilla)):
        known = {benchmark.words(node.line.name): node.line for node in tree.walk()}
        told = lines(hidden, way)
        assert {name: numbers(line) for name, line in told.items()} == {
            name: numbers(known[name]) for name in told
        }
    assert "Image topic" in told and "OCR" in told
    assert benchmark_of(hidden).sentence(hidden).startswith("m scores ")
    assert hidden.edition == "MMBench test"
    assert hashlib.md5(questions.read_bytes()).hexdigest() not in record_json(hidden)
    assert told_by(record_json(hidden), rows) == []


def test_a_group_of_19_is_not_told_nor_what_would_tell_it(library, tmp_path):
    rows = choice_rows()
    questions = choice_questions(library.folder, rows)
    file = choice_answers(tmp_path / "mine.json", rows)
    hide(questions)
    report = report_of(opened(library, file), "strict")
    told = lines(report, "CircularEval")
    assert "Reasoning" in told and told["Reasoning"].n == 59
    assert not {"Relation reasoning (RR)", "Nature relation", "Social relation"} & {
        name for name, line in told.items() if line.n in (19, 40)
    }
    (caveat,) = [one.text for one in report.limits if "fewer than 20" in one.text]
    assert "2" in caveat and report.left_out == 2


def test_the_figures_of_a_spec_are_those_of_an_open_report(library, tmp_path):
    rows = riddle_rows()
    questions = riddles(library.folder, rows)
    file = riddle_answers(tmp_path / "mine.json", rows)
    hidden, report = both(library, questions, file, "riddles")
    benchmark = benchmark_of(report)
    known = {line.name: numbers(line) for line in benchmark.scores(report)}
    assert {one.name: numbers(one.line) for one in hidden.figures} == known
    groups = {line.name: numbers(line) for line in benchmark.groups(report)}
    told = {name: numbers(line) for name, line in lines(hidden, "Overall").items()}
    assert groups.items() <= told.items() and {"kind 0", "kind 1", "kind 2"} <= told.keys()
    assert lines(hidden, "pairs")["kind 2"].n == 23
    assert told_by(record_json(hidden), rows) == []
    assert "keyq" not in record_json(hidden)


def test_groups_within_a_group_give_away_no_small_one(library, tmp_path):
    """Kinds of 30 and 15 in one field of 45, and of 40 and 25 in another: the field less 30 would tell the 15."""
    rows = riddle_rows(kinds=(30, 15, 40, 25))
    questions = riddles(library.folder, rows)
    file = riddle_answers(tmp_path / "mine.json", rows)
    hide(questions, benchmark="riddles")
    told = lines(report_of(opened(library, file, "riddles"), "strict"), "Overall")
    assert told.keys() == {"All", "field 0", "field 1", "kind 2", "kind 3"}


def test_columns_of_the_answers_make_no_groups(library, tmp_path):
    """A question file without kinds, and answers with kinds of their own."""
    rows = [{**one, "kind": ""} for one in riddle_rows()]
    questions = table_file(
        library.folder / "Riddles.tsv",
        rows,
        ["index", "riddle", "number", "part", "field", "pair"],
    )
    columns = ["index", "kind", "number", "prediction"]
    file = table_file(
        tmp_path / "mine.tsv",
        [{"index": one["index"], "kind": f"own {place % 2}", "prediction": "5", "number": "5"}
         for place, one in enumerate(rows)],
        columns,
    )  # fmt: skip
    hide(questions, benchmark="riddles")
    beside = opened(library, file, "riddles")
    assert [problem for problem in beside.problems if problem.blocks != "nothing"] == []
    told = lines(report_of(beside, "strict"), "Overall")
    assert "own 0" not in told and "field 0" in told
    assert told["All"].mean == 0.0, "right answers of one's own count for nothing"


def test_what_is_told_of_an_upload_compares_it_with_no_right_answer(library, tmp_path):
    """A file with a guess beside each answer, of which some are right."""
    rows = choice_rows()
    questions = choice_questions(library.folder, rows)
    hide(questions)
    guessed = [
        {**one, "prediction": "A", "answer": "A" if place % 2 else one["answer"]}
        for place, one in enumerate(rows)
    ]
    beside = opened(library, table_file(tmp_path / "mine.tsv", guessed))
    assert beside.problems == ()
    looks = [beside.benchmark.look(one) for one in beside.file.rows]
    assert {look.truth for look in looks} == {""}
    assert "right letter" not in " ".join(beside.lines)
    assert "answer_key" not in repr(beside)
    hide(questions, "there")
    assert any(
        "another answer" in problem.text
        for problem in opened(library, tmp_path / "mine.tsv").problems
    )


def test_a_missing_pass_tells_nothing_of_its_question(library, tmp_path):
    """Of one question a pass is missing: whether its others are right must not decide how the file is scored."""
    rows = choice_rows()
    questions = choice_questions(library.folder, rows)
    hide(questions)
    for said in ("right", "wrong"):
        gone = [one for one in rows if one["index"] != str(3 + 3 * PASS)]
        file = choice_answers(tmp_path / f"{said}.json", gone, wrong=0.0)
        if said == "wrong":
            text = file.read_text()
            right = next(one["answer"] for one in rows if one["index"] == "3")
            file.write_text(text.replace(f'"3": "{right}"', '"3": "E"'))
        report = report_of(opened(library, file), "strict")
        assert [figure.name for figure in report.figures] == ["Vanilla"]
        assert any("scored as vanilla" in one.text for one in report.limits)


@pytest.mark.parametrize("count", [19, 20])
def test_too_few_answers_get_no_score(library, tmp_path, count):
    rows = riddle_rows(kinds=(25,))
    questions = riddles(library.folder, rows)
    hide(questions, benchmark="riddles")
    file = riddle_answers(tmp_path / "mine.json", rows[:count])
    report = report_of(opened(library, file, "riddles"), "strict")
    assert bool(report.figures) == (count == 20)
    record = benchmark_of(report)
    assert "Partial" in [caveat.kind for caveat in record.caveats(report)]
    assert ("No score" in record.ungraded_note(report)) == (count == 19)
    assert bool(record.sheets(report)) == (count == 20)


def test_an_answer_that_counts_in_several_groups_is_one(library, tmp_path, monkeypatch):
    """Fifteen riddles of two kinds each count thirty times, and are fifteen answers all the same."""
    derived = 'derive: {tag: {from: kind, split: ","}}\ngroups: [tag]'
    with_spec(monkeypatch, "groups: [field, kind]", derived)
    rows = [{**one, "kind": "odd, new"} for one in riddle_rows(kinds=(25,))]
    questions = riddles(library.folder, rows)
    hide(questions, benchmark="riddles")
    for count in (15, 20):
        file = riddle_answers(tmp_path / f"{count}.json", rows[:count])
        report = report_of(opened(library, file, "riddles"), "strict")
        assert bool(report.figures) == (count == 20)


@pytest.mark.parametrize("left", [10, 25])
def test_a_figure_of_some_rows_gives_the_others_not_away(library, tmp_path, monkeypatch, left):
    new = "figures:\n  most: {mean: rows, where: {kind: kind 0}}"
    with_spec(monkeypatch, "figures:", new)
    rows = riddle_rows(kinds=(40, left))
    questions = riddles(library.folder, rows)
    hide(questions, benchmark="riddles")
    file = riddle_answers(tmp_path / "mine.json", rows)
    report = report_of(opened(library, file, "riddles"), "strict")
    assert report.figures[0].name == "Overall"
    assert ("most" in [figure.name for figure in report.figures]) == (left == 25)
    assert all("most" not in table.trees for table in report.tables)


def groups_told(library, tmp_path, rows: list[dict], said: str = "5") -> HiddenReport:
    """The report of one answer said to all of these riddles."""
    hide(riddles(library.folder, rows), benchmark="riddles")
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({row["index"]: said for row in rows}))
    return report_of(opened(library, file, "riddles"), "strict")


def test_groups_of_two_columns_that_differ_in_one_answer_are_not_both_told(library, tmp_path):
    """A field of 21 within a kind of 22: the one less the other is an answer."""
    rows = [
        {**one, "field": f"field {place > 20}", "kind": f"kind {place > 21}"}
        for place, one in enumerate(riddle_rows(kinds=(100,)))
    ]
    assert [*lines(groups_told(library, tmp_path, rows), "Overall")] == [
        "All",
        "field False",
        "field True",
    ]


def test_fields_that_make_up_a_kind_but_for_one_answer_are_not_told_beside_it(library, tmp_path):
    rows = [
        {**one, "field": f"field {place // 25}", "kind": f"kind {place > 50}"}
        for place, one in enumerate(riddle_rows(kinds=(100,)))
    ]
    told = lines(groups_told(library, tmp_path, rows), "Overall")
    assert "field 0" in told and "kind False" not in told


def test_tags_that_differ_in_an_answer_each_are_not_told(library, tmp_path, monkeypatch):
    derived = 'derive: {tag: {from: kind, split: ","}}\ngroups: [tag]'
    with_spec(monkeypatch, "groups: [field, kind]", derived)
    tags = ["chart", "table", *["chart, table"] * 58]
    rows = [{**one, "kind": tag} for one, tag in zip(riddle_rows(kinds=(60,)), tags, strict=True)]
    report = groups_told(library, tmp_path, rows)
    assert report.tables == () and report.figures[0].n == 118


def test_a_mean_of_groups_tells_no_small_one(library, tmp_path, monkeypatch):
    """Kinds of 1 and 19: their sum and the mean of their means would tell both."""
    with_spec(monkeypatch, "pairs: {all: [pair]}", "average: {mean_of: kind}")
    for kinds, names in (((1, 19, 40), ["Overall"]), ((20, 40), ["Overall", "average"])):
        report = groups_told(library, tmp_path, riddle_rows(kinds=kinds))
        assert [figure.name for figure in report.figures] == names


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, ["Overall", "recall"]),
        ({7: "Yes"}, ["Overall", "recall"]),
        (dict.fromkeys(range(30), "Yes"), ["Overall", "precision", "recall"]),
        ({**dict.fromkeys(range(30), "Yes"), 7: "perhaps"}, ["Overall"]),
    ],
    ids=["no yes", "one yes", "many", "one unread"],
)
def test_what_counts_yes_and_no_tells_no_single_one(library, tmp_path, monkeypatch, said, told):
    figures = '  precision: {precision: "Yes"}\n  recall: {recall: "Yes"}'
    spec = SPEC.replace("rule: number", "rule: yes_no").replace("  pairs: {all: [pair]}", figures)
    benchmark = spec_benchmark("riddles", read_spec(spec.encode()))
    monkeypatch.setitem(BENCHMARKS, "riddles", benchmark)
    rows = [
        {**one, "number": ("No", "Yes")[place % 2]}
        for place, one in enumerate(riddle_rows(kinds=(60,)))
    ]
    hide(riddles(library.folder, rows), benchmark="riddles")
    file = tmp_path / "mine.json"
    answers = {row["index"]: said.get(place, "No") for place, row in enumerate(rows)}
    file.write_text(json.dumps(answers))
    report = report_of(opened(library, file, "riddles"), "strict")
    with_value = [figure.name for figure in report.figures if figure.mean is not None]
    assert with_value == told


@pytest.mark.parametrize("right", [0, 1])
def test_a_small_group_that_is_left_unscored_is_not_told(library, tmp_path, monkeypatch, right):
    """Open answers are scored if they are right and left to a judge else, so that no score is a verdict too."""
    with_spec(monkeypatch, "rule: number", "rule: open")
    rows = [{**one, "field": "field"} for one in riddle_rows(kinds=(60, 5))]
    hide(riddles(library.folder, rows), benchmark="riddles")
    said = {
        row["index"]: row["number"] if place < 40 or place >= len(rows) - right else "a bird"
        for place, row in enumerate(rows)
    }
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(said))
    report = report_of(opened(library, file, "riddles"), "strict")
    assert [*lines(report, "Overall")] == ["All", "field"]


@pytest.mark.parametrize("right", [0, 19, 20, 25])
def test_whether_a_group_of_open_answers_is_told_does_not_depend_on_the_right_ones(
    library, tmp_path, monkeypatch, right
):
    with_spec(monkeypatch, "rule: number", "rule: open")
    rows = riddle_rows(kinds=(25, 30, 45))
    hide(riddles(library.folder, rows), benchmark="riddles")
    said = {
        row["index"]: row["number"] if place < right else "a bird" for place, row in enumerate(rows)
    }
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(said))
    report = report_of(opened(library, file, "riddles"), "strict")
    told = lines(report, "Overall")
    assert [*told] == ["All", "field 0", "kind 0", "kind 1", "field 1", "kind 2"]
    kind = told["kind 0"]
    assert (kind.n, kind.unscored, kind.mean) == (25, 0, pytest.approx(4 * right))
    assert any(
        "counts as wrong, even if it means the same: no judge" in limit.text
        for limit in report.limits
    )


@pytest.mark.parametrize("truth", ["70000.00", "null"])
def test_a_group_of_answers_that_are_none_of_a_model_depends_on_no_right_one(
    library, tmp_path, monkeypatch, truth
):
    """The word "null" is a model's answer only where it is the right one too."""
    with_spec(monkeypatch, "rule: number", "rule: text")
    rows = [{**row, "number": truth} for row in riddle_rows(kinds=(25, 30, 45))]
    hide(riddles(library.folder, rows), benchmark="riddles")
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({row["index"]: "null" for row in rows}))
    assert report_of(opened(library, file, "riddles"), "strict").figures == ()


def test_a_score_has_no_digits_by_which_parts_of_it_are_told_apart(library, tmp_path, monkeypatch):
    """Right answers with more and more letters behind them score a part of their own each."""
    with_spec(monkeypatch, "rule: number", "rule: anls")
    rows = [{**one, "number": f"harbour{place}"} for place, one in enumerate(riddle_rows())]
    hide(riddles(library.folder, rows), benchmark="riddles")
    file = tmp_path / "mine.json"
    said = {row["index"]: row["number"] + "x" * (place % 9) for place, row in enumerate(rows)}
    file.write_text(json.dumps(said))
    report = report_of(opened(library, file, "riddles"), "strict")
    means = [line.mean for line in lines(report, "Overall").values()]
    assert means and all(mean == round(mean, 1) for mean in means)


@pytest.mark.parametrize(("first", "told"), [(1, 1), (20, 3)])
def test_a_mean_over_subtasks_tells_no_small_one(library, tmp_path, first, told):
    rows = [
        {**row, "category": "art_design" if place < first else "geometry_math"}
        for place, row in enumerate(choice_rows("TEST", topics=["x"] * 40))
    ]
    hide(choice_questions(library.folder, rows, "MMT-Bench_TEST.tsv"), benchmark="mmt-bench")
    file = choice_answers(tmp_path / "mine.json", rows)
    report = report_of(opened(library, file, "mmt-bench"), "strict")
    assert len(report.figures) == told and bool(report.tables) == (told == 3)


def test_no_group_is_named_by_a_right_answer(library, tmp_path, monkeypatch):
    with_spec(monkeypatch, "groups: [field, kind]", "groups: [number, kind]")
    rows = [{**one, "number": f"7123{place % 2}.00"} for place, one in enumerate(riddle_rows())]
    questions = riddles(library.folder, rows)
    hide(questions, benchmark="riddles")
    file = riddle_answers(tmp_path / "mine.json", rows)
    report = report_of(opened(library, file, "riddles"), "strict")
    assert "kind 0" in lines(report, "Overall")
    assert told_by(record_json(report), rows) == []


def test_a_file_of_two_splits_is_hidden_for_one_of_them(library, tmp_path):
    shown = riddle_rows("val", (40,), 90_000)
    rows = [*shown, *riddle_rows("test", (30,))]
    questions = riddles(library.folder, rows)
    hide(questions, "{val: there, test: hidden}", "riddles")
    whole = opened(library, riddle_answers(tmp_path / "whole.json", rows), "riddles")
    report = report_of(whole, "strict")
    assert isinstance(report, HiddenReport)
    assert {"val", "test"} <= lines(report, "Overall").keys()
    assert any("split val are open" in one.text for one in report.limits)
    alone = opened(library, riddle_answers(tmp_path / "alone.json", shown), "riddles")
    report = report_of(alone, "strict")
    assert len(report.rows) == 40 and told_by(record_json(report), rows[40:]) == []
    few = opened(library, riddle_answers(tmp_path / "few.json", rows[:50]), "riddles")
    assert report_of(few, "strict").figures == (), "the whole less what is open would tell ten"


def test_splits_of_choices_are_told_apart(library, tmp_path):
    rows = [*choice_rows("dev", topics=TOPICS[:30]), *choice_rows("test", 1000, TOPICS[:30])]
    questions = choice_questions(library.folder, rows)
    hide(questions, "{dev: there, test: hidden}")
    report = report_of(opened(library, choice_answers(tmp_path / "m.json", rows)), "strict")
    tree = report.tables[0].trees["CircularEval"]
    assert [split.line.name for split in tree.children] == ["dev", "test"]


def test_groups_are_read_from_the_first_table_that_still_has_a_figure(library, tmp_path):
    report = groups_told(library, tmp_path, riddle_rows())
    benchmark = benchmark_of(report)
    without_trees = replace(report.tables[0], trees={})
    beside = replace(report, tables=(without_trees, *report.tables))
    assert benchmark.groups(report)
    assert benchmark.groups(beside) == benchmark.groups(report)


def test_what_goes_wrong_while_they_are_scored_repeats_nothing(
    library, tmp_path, monkeypatch, caplog
):
    rows = riddle_rows()
    questions = riddles(library.folder, rows)
    hide(questions, benchmark="riddles")
    beside = opened(library, riddle_answers(tmp_path / "mine.json", rows), "riddles")

    def fails(self, report):
        raise ValueError(f"{report.rows[0].row.cells['number']} is odd")

    monkeypatch.setattr(type(beside.benchmark), "figures", fails)
    with pytest.raises(ChoicesError) as raised:
        report_of(beside, "strict")
    chain = [raised.value, raised.value.__context__, raised.value.__cause__]
    assert told_by(repr(chain) + caplog.text, rows) == []
    assert "ask the people who run this site" in str(raised.value)
    assert "ValueError" in caplog.text
