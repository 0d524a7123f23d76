"""A spec is a benchmark without Python: files are read, scored, shown and compared, by its ten lines alone."""

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from arena.io.tables import Record
from scoring import registry
from scoring.benchmarks.base import ChoicesError
from scoring.benchmarks.spec_benchmark import OWN, SpecBenchmark, spec_benchmark
from scoring.benchmarks.spec_checks import canary_notes, distrust_caveats
from scoring.registry import BENCHMARKS, benchmark_of, open_upload
from scoring.report import csv_bytes
from scoring.rules.base import Judged, Reading
from scoring.serialize import read_record, record_json
from scoring.specs.files import load_folder, load_spec
from scoring.specs.problems import SpecError
from scoring.specs.reading import derived_rows, items_of, read_spec_rows, split_of
from scoring.specs.report import (
    SpecReport,
    figure_lines,
    grouped_lines,
    no_answer_lines,
    spec_of_report,
)
from scoring.specs.schema import read_spec, spec_of
from scoring.specs.sheets import published_sheets
from scoring.specs.trees import figure_tables, whole_figures

DOC = Path(__file__).parents[3] / "docs" / "add-a-benchmark.md"
PAIRS = b"""
name: Pairs
about: Whether two questions on a picture are both answered.
called: [Pairs]
columns: {id: case, truth: key, answer: reply}
derive: {pair: {from: case, less: 1, div: 2}}
groups: [topic]
splits: part
rule:
  - {when: {A: ""}, rule: text}
  - {rule: letter}
figures: {Accuracy: mean, Pairs: {all: [pair]}}
headline: Pairs
"""
CELLS = {"question": "What is it?", "A": "a dog", "B": "a cat", "key": "A"}


def rows(*replies, **cells):
    return [
        {"case": str(number), **CELLS, "topic": "pets", "part": "dev", "reply": reply, **cells}
        for number, reply in enumerate(replies, 1)
    ]


def put(path, lines):
    heads = list(dict.fromkeys(name for line in lines for name in line))
    path.write_bytes(csv_bytes(heads, [[line.get(head, "") for head in heads] for line in lines]))
    return path


def opened(path, spec=PAIRS, **how):
    return open_upload(path, benchmark=spec_benchmark(OWN, read_spec(spec)), **how)


def report(path, lines, spec=PAIRS, protocol="strict"):
    return opened(put(path, lines), spec).report(protocol)


def told(found):
    return {name: line.mean for name, line in figure_lines(found).items()}


def problems(path, lines, spec=PAIRS, **how):
    return [problem.text for problem in opened(put(path, lines), spec, **how).problems]


def blocks(names):
    """The code blocks of the recipe that follow these words, in order."""
    text = DOC.read_text()
    return [text.split(f"{name}", 1)[1].split("```")[1].partition("\n")[2] for name in names]


VERDICTS = b"""
name: Pairs
about: Whether answers are better than a baseline's.
called: [Pairs]
columns: {id: case, truth: null, answer: reply}
rule:
  kind: pairwise
  baseline: base
  prompt: "{question} {answer_a} {answer_b}"
  verdicts: {"A>B": -1, "A=B": 0, "B>A": 1}
figures: {Mean: mean}
"""


def test_a_text_that_is_no_answer_counts_between_the_lowest_and_the_highest_verdict(tmp_path):
    lines = [
        {"case": number, "question": "What is it?", "reply": "", "base": "a dog"}
        for number in "123"
    ]
    found = report(tmp_path / "a.csv", lines, VERDICTS)
    (unscored,) = no_answer_lines(found)
    assert (unscored.mean, unscored.worst, unscored.best) == (None, -100, 100)
    worst = [replace(row, reading=replace(row.reading, score=-1.0)) for row in found.rows]
    (scored,) = no_answer_lines(replace(found, rows=tuple(worst)))
    assert scored.low == scored.mean == -100 < scored.high


def test_a_question_without_the_rules_own_truth_is_no_row_of_a_figure(tmp_path):
    spec = b"""
name: Pairs
about: Whether numbers are read.
called: [Pairs]
columns: {id: case, truth: null, answer: reply}
rule: {kind: number, truth: gold}
figures: {Mean: mean}
"""
    lines = [
        {"case": gold, "question": "How many?", "reply": "5", "gold": gold[1:]}
        for gold in ("a5", "b5", "c")
    ]
    (line,) = figure_lines(report(tmp_path / "a.csv", lines, spec)).values()
    assert (line.n, line.unscored, line.mean) == (2, 0, 100)


def test_a_yaml_file_is_a_benchmark_without_a_line_of_the_registry(tmp_path):
    shutil.copytree(registry.SPECS, tmp_path / "specs", ignore=shutil.ignore_patterns("*.py"))
    (tmp_path / "specs" / "animals.yaml").write_text(blocks(["`animals.yaml`:"])[0])
    added = dict(load_folder(tmp_path / "specs")).keys() - BENCHMARKS.keys()
    assert added == {"animals"}
    clash = tmp_path / "specs" / "zoo.yaml"
    clash.write_text("name: Zoo\nabout: Animals.\nrule: letter\ncalled: [ANIMALS]\n")
    with pytest.raises(
        SpecError, match=r"zoo\.yaml: called: 'ANIMALS' is already the name of Animals"
    ):
        dict(load_folder(tmp_path / "specs"))


def test_a_column_without_a_name_is_no_split():
    spec = read_spec(PAIRS.replace(b"splits: part\n", b""))
    assert split_of(spec, {"": "dev"}) == ""
    assert split_of(read_spec(PAIRS), {"": "x", "part": "dev"}) == "dev"


def test_groups_with_names_that_look_alike_have_a_file_each(tmp_path):
    spec = PAIRS.replace(b"groups: [topic]", b"groups: [the topic, the-topic]")
    cells = {"the topic": "pets", "the-topic": "wild"}
    found = report(tmp_path / "m.csv", rows("A", "B", **cells), spec)
    names = [sheet.name for sheet in benchmark_of(found).sheets(found)]
    assert names == ["figures", "by-the-topic", "by-the-topic-2", "rules"]


def test_figures_groups_splits_and_what_is_unread(tmp_path):
    lines = rows("A", "A", "B", "A or B", "The answer is A.", "A")
    lines[5] |= {"topic": "wild", "part": "test"}
    found = report(tmp_path / "m.csv", lines)
    assert told(found) == {"Accuracy": 80.0, "Pairs": pytest.approx(200 / 3)}
    benchmark = benchmark_of(found)
    head = benchmark.headline(found)
    assert (head.name, head.n, head.unscored) == ("Pairs", 3, 0)
    sheets = {sheet.name: sheet for sheet in benchmark.sheets(found)}
    assert [*sheets] == ["figures", "by-part", "by-topic", "by-topic-dev", "by-topic-test", "rules"]
    assert {row["name"]: row["n"] for row in sheets["by-topic"].rows} == {"pets": 3, "wild": 1}
    assert "Undecided: 1 of 6 answers." in " ".join(c.text for c in benchmark.caveats(found))
    assert "scores 66.7 on Pairs (Pairs" in benchmark.sentence(found)
    whole = read_record(SpecReport, record_json(found))
    assert whole == found and told(whole) == told(found)


def test_a_mean_of_figures_has_a_bar_only_if_they_do(tmp_path):
    figures = b"""
figures:
  Points: {mean: rows, scale: 1000}
  Share: mean
  Mean of points: {mean: [Points, Share]}
  Mean of shares: {mean: [Share]}
headline: Share
"""
    spec = PAIRS.partition(b"figures")[0] + figures
    found = report(tmp_path / "m.csv", rows("A", "B"), spec)
    sheets = {sheet.name: sheet for sheet in benchmark_of(found).sheets(found)}
    bars = [column.head for column in sheets["by-topic"].columns if column.bar]
    assert bars == ["Share", "Mean of shares"]


@pytest.mark.parametrize(
    ("rule", "right", "wrong", "why"),
    [
        ("letter", "A", "a wolf", "isn't one of the options"),
        ("yes_no", "yes", "maybe", "is neither yes nor no"),
        ("number", "7", "seven or so", "isn't a number"),
        ("open", "7", "[]", "is an empty list"),
        ("text", "7", "[]", "is an empty list"),
        ("anls", "7", "[]", "is an empty list"),
        ("relaxed", "7", "[]", "is an empty list"),
    ],
)
def test_a_right_answer_that_cannot_be_read_is_told_and_unscored(tmp_path, rule, right, wrong, why):
    spec = f"name: Toy\nabout: A toy.\ncolumns: {{id: case, truth: key}}\nrule: {rule}".encode()
    lines = [
        {"case": str(at), **CELLS, "key": key, "prediction": right}
        for at, key in enumerate([right, wrong, right])
    ]
    found = opened(put(tmp_path / "toy.csv", lines), spec)
    assert found.lines[0] == "Toy: 3 answers; 2 can be scored"
    told = f"Our rules leave 1 question unscored, since the right answer {why}: id 1"
    assert found.lines[1] == told
    scores = [row.reading.score for row in found.report("strict").rows]
    assert scores == [1.0, None, 1.0]


def test_downloads_hold_every_figure_every_answer_and_the_spec(tmp_path):
    found = report(tmp_path / "m.csv", rows("A", "B"))
    files = benchmark_of(found).files(found)
    table = [*csv.DictReader(files["m-all-figures.csv"].decode().splitlines())]
    assert [(row["group"], row["figure"], row["value"]) for row in table][:2] == [
        ("", "Accuracy", "50.0"),
        ("", "Pairs", "0.0"),
    ]
    spec = spec_of_report(found)
    assert {(row["spec"], row["licence"]) for row in table} == {(spec.digest, "unknown")}
    head, first, *_ = map(json.loads, files["m-audit.jsonl"].decode().splitlines())
    assert head["licence"] == "unknown" and head["spec"] == spec.digest
    assert (first["id"], first["answer"], first["read"], first["score"]) == ("1", "A", "A", 1.0)
    assert read_spec(files["m-benchmark.yaml"]) == spec


def test_a_column_that_decides_between_rules_is_missed(tmp_path):
    cases = "[{when: {form: number}, rule: number}, {rule: text}]"
    spec = f"name: Toy\nabout: A toy.\ncolumns: {{id: case, truth: key}}\nrule: {cases}".encode()
    row = {"case": "1", **CELLS, "key": "7", "prediction": "seven"}
    assert not opened(put(tmp_path / "a.csv", [row | {"form": "number"}]), spec).problems
    [problem] = opened(put(tmp_path / "b.csv", [row]), spec).problems
    told = "rule: The file has no column 'form', so every cell of it counts as empty."
    assert (problem.text, problem.blocks) == (told, "nothing")


def test_what_a_file_lacks_is_told_with_its_place(tmp_path):
    lines = rows("A", "B")
    assert "columns.answer: The file has no 'reply'. It has 'case'" in " ".join(
        problems(
            tmp_path / "a.csv", [{k: v for k, v in line.items() if k != "reply"} for line in lines]
        )
    )
    assert (
        "columns.truth: The file has no 'key'. It has 'case', 'question', 'A', 'B', 'topic', 'part', 'reply'."
        in (
            problems(
                tmp_path / "b.csv",
                [{k: v for k, v in line.items() if k != "key"} for line in lines],
            )
        )
    )
    bare = [{k: v for k, v in line.items() if k not in ("topic", "part")} for line in lines]
    found = problems(tmp_path / "c.csv", bare)
    assert found == [
        "groups: The file has no column 'topic', so this is left out.",
        "splits: The file has no column 'part', so this is left out.",
    ]
    assert told(report(tmp_path / "c.csv", bare))["Accuracy"] == 50.0
    lines[1] |= {"case": "x"}
    assert "derive.pair: In case, 'x' isn't a whole number. Correct it." in problems(
        tmp_path / "d.csv", lines
    )
    lines[1] |= {"case": "1"}
    assert "2 rows have the id 1. Keep one of them." in problems(tmp_path / "e.csv", lines)
    with pytest.raises(ChoicesError, match="2 rows have the id 1"):
        report(tmp_path / "e.csv", lines)


def test_an_answer_is_in_the_groups_of_its_cell_whatever_its_type(tmp_path):
    topics = ["pets", None, 3.0, ["cats", "dogs", "cats"], '["cats"]', " pets "]
    lines = [{**rows("A")[0], "case": case, "topic": topic} for case, topic in enumerate(topics, 1)]
    path = tmp_path / "vlm.json"
    path.write_text(json.dumps(lines))
    found = opened(path).report("strict")
    answers = spec_benchmark(OWN, read_spec(PAIRS)).scored_answers(found)
    assert [answer.groups for answer in answers] == [
        ("pets",),
        (),
        ("3",),
        ("cats", "dogs"),
        ("cats",),
        ("pets",),
    ]


@pytest.mark.parametrize("protocol", ["strict", "lmms-eval"])
def test_an_answer_is_in_the_derived_groups_of_its_row(tmp_path, protocol):
    spec = PAIRS.replace(b"groups: [topic]", b"groups: [kind]\nprotocols: [strict, lmms-eval]")
    spec = spec.replace(b"derive: {", b'derive: {kind: {from: topic, split: ","}, ')
    lines = [{**rows("A")[0], "case": case} for case in (1, 2, 3)]
    lines[0]["topic"] = "cats, dogs,cats"
    lines[1]["topic"] = ""
    found = report(tmp_path / "m.csv", lines, spec, protocol)
    answers = spec_benchmark(OWN, read_spec(spec)).scored_answers(found)
    assert [answer.groups for answer in answers] == [("cats", "dogs"), (), ("pets",)]


def test_unread_answers_that_no_score_would_count_have_no_bounds(tmp_path):
    lines = rows("A", "a dog or a cat")
    lines[1]["key"] = ""
    benchmark = spec_benchmark(OWN, read_spec(PAIRS))
    texts = [caveat.text for caveat in benchmark.caveats(report(tmp_path / "a.csv", lines))]
    assert "Undecided: 1 of 2 answers." in texts
    lines[1]["key"] = "B"
    texts = [caveat.text for caveat in benchmark.caveats(report(tmp_path / "b.csv", lines))]
    undecided = "Undecided: 1 of 2 answers."
    assert f"{undecided} If they counted, the score would be 50.0 to 100.0 (Accuracy)." in texts


def test_a_file_of_answers_is_joined_to_its_question_file(tmp_path):
    whole = rows("", "", "")
    questions = put(
        tmp_path / "q.csv", [{k: v for k, v in row.items() if k != "reply"} for row in whole]
    )
    benchmark = spec_benchmark(OWN, read_spec(PAIRS))
    known = benchmark.own_questions(questions)
    answers = put(tmp_path / "m.csv", [{"case": "1", "reply": "A"}, {"case": "2", "reply": "B"}])
    found = open_upload(answers, benchmark=benchmark, questions=known).report("strict")
    assert told(found)["Accuracy"] == 50.0 and found.missing == 1
    assert benchmark.caveats(found)[0].kind == "Partial"
    plain = PAIRS.replace(b"headline: Pairs", b"headline: Accuracy")
    found = opened(answers, plain, questions=known).report("strict")
    caveat = benchmark.caveats(found)[0].text
    assert caveat.endswith("If they counted, the score would be 33.3 to 66.7 (Accuracy).")
    assert (
        "There are no bounds for Pairs over all questions: a question without"
        in benchmark.caveats(opened(answers, PAIRS, questions=known).report("strict"))[0].text
    )
    put(answers, [{"case": "1", "reply": "A", "key": "B"}, {"case": "9", "reply": "B"}])
    text = " ".join(
        problem.text
        for problem in open_upload(answers, benchmark=benchmark, questions=known).problems
    )
    assert "Index 1 has other options or another answer in the question file" in text
    assert "Index 9 is not in the question file" in text


def test_vqa_data_sets_own_files_are_question_files(tmp_path):
    """GQA's is {id: {question, answer}}, and OK-VQA's annotators give {"answer": ...} each."""
    path = put(tmp_path / "m_GQA.csv", [{"index": "201", "prediction": "Dog."}])
    questions = tmp_path / "testdev_balanced_questions.json"
    questions.write_text('{"201": {"question": "What is it?", "answer": "dog"}}')
    gqa = BENCHMARKS["gqa"]
    assert isinstance(gqa, SpecBenchmark)
    found = open_upload(path, benchmark=gqa, questions=gqa.own_questions(questions))
    assert found and told(found.report("strict")) == {"Overall": 100}
    people = [{"answer": "dog", "answer_id": place} for place in range(2)]
    people += [{"answer": "hound", "answer_id": place} for place in range(2, 10)]
    path = tmp_path / "samples_ok_vqa_val2014.jsonl"
    row = {"question_id": 2971475, "question": "?", "answers": people, "prediction": "a dog"}
    path.write_text(json.dumps(row))
    found = open_upload(path)
    assert found and found.benchmark.name == "OK-VQA"
    assert told(found.report("strict"))["Overall"] == pytest.approx(60)


def test_reports_of_two_specs_are_never_compared(tmp_path):
    ours = report(tmp_path / "a.csv", rows("A", "B"))
    theirs = report(tmp_path / "b.csv", rows("A", "A"))
    benchmark = benchmark_of(ours)
    (sheet,) = benchmark.compare(ours, theirs)
    assert next(iter(sheet.rows))["n"] == 2
    other = report(tmp_path / "c.csv", rows("A", "A"), PAIRS.replace(b"both answered", b"right"))
    with pytest.raises(ChoicesError, match="Choose two reports of one spec and one protocol"):
        benchmark.compare(ours, other)
    assert benchmark.comparable_facts(ours) != benchmark_of(other).comparable_facts(other)


def test_every_spec_here_scores_a_made_up_row(tmp_path):
    for benchmark in BENCHMARKS.values():
        if not isinstance(benchmark, SpecBenchmark):
            continue
        spec = benchmark.spec
        named = {name: "x" for name in [*spec.groups, *filter(None, [spec.splits])]}
        needed = {
            spec.source_of(column): "1"
            for name in spec.figures
            for column in spec.needed_columns(name)
        }
        columns = [
            name for case in spec.rule for name in (*case.rule.required, *case.rule.prompt_columns)
        ]
        needed |= dict.fromkeys(columns, "x")
        row = {**named, **needed, "index": "1", "question": "Is it a dog?", "A": "Yes", "B": "No"}
        row |= {"answer": "A", spec.columns.truth or "answer": "A", "prediction": "A"}
        called = spec.called[0] if spec.called else "chosen"
        path = put(tmp_path / f"m_{called}.csv", [row])
        found = open_upload(path, benchmark=None if spec.called else benchmark.key)
        assert found and found.benchmark.key == benchmark.key
        for protocol in spec.protocols:
            made = found.report(protocol)
            assert benchmark.sheets(made) and benchmark.sentence(made)


TASKS = b"""
name: Tasks
about: Tasks of several groups, in a table beside the spec.
derive:
  topic: {from: task, names: tasks.csv, column: topic, others: ""}
  image: {from: task, names: tasks.csv, column: images, list: ;}
groups: [topic, image]
rule: letter
figures:
  Over tasks: {mean_of: task}
  Without animals: {mean_of: task, without: {topic: animals}}
  Random: {mean_of: task, chance: options}
  Frequent: {mean_of: task, frequent: task}
headline: Over tasks
"""


def tasks_report(folder, answers):
    """The report of answers by their task; every right answer is A, but for the task `cars`."""
    (folder / "tasks.yaml").write_bytes(TASKS)
    (folder / "tasks.csv").write_text(
        "task,topic,images\ncats,animals,Photo; Drawing\ncars,things,Photo\ncups,things,Drawing\n"
    )
    lines = [
        {
            **CELLS,
            "task": task,
            "C": "a bird" if task == "cups" else "",
            "answer": truth,
            "prediction": letter,
        }
        for task, truth, letter in answers
    ]
    spec = load_spec(folder / "tasks.yaml")
    return open_upload(put(folder / "m.csv", lines), benchmark=spec_benchmark(OWN, spec)).report(
        "strict"
    )


def test_tasks_of_a_table_need_no_python(tmp_path):
    answers = [("cats", "A", "A"), ("cats", "A", "B"), ("cups", "A", "A"), ("owls", "A", "A")]
    answers += [("cars", truth, "B") for truth in "ABBB"]
    report = tasks_report(tmp_path, answers)
    figures = {name: line.mean for name, line in figure_lines(report).items()}
    assert figures == pytest.approx(
        {
            "Over tasks": (50 + 100 + 100 + 75) / 4,
            "Without animals": (100 + 100 + 75) / 3,
            "Random": (50 + 100 / 3 + 50 + 50) / 4,
            "Frequent": (100 + 100 + 100 + 75) / 4,
        }
    )
    groups = {
        column: {
            group.name: group.lines["Over tasks"].mean
            for group in grouped_lines(report, column, "")
        }
        for column in ("topic", "image")
    }
    assert groups == {
        "topic": {"animals": 50.0, "things": 87.5, "(none)": 100.0},
        "image": {"Photo": 62.5, "Drawing": 75.0, "owls": 100.0},
    }
    assert figure_lines(report)["Over tasks"].n == len(answers)


def test_a_sheet_of_groups_has_a_name_for_files(tmp_path):
    (tmp_path / "own.yaml").write_text(
        "name: Own\nabout: Own questions.\ngroups: [task/kind]\nrule: letter\n"
    )
    right = {"answer": "A", "prediction": "A"}
    answers = [{**CELLS, **right, "task/kind": "ab"[n % 2]} for n in range(80)]
    benchmark = spec_benchmark(OWN, load_spec(tmp_path / "own.yaml"))
    report = open_upload(put(tmp_path / "m.csv", answers), benchmark=benchmark).report("strict")
    assert [table.name for table in figure_tables(report)] == ["by-task_kind"]


def test_guesses_are_in_no_hidden_report(tmp_path):
    report = tasks_report(tmp_path, [("cats", "A", "A"), ("cars", "B", "A")] * 20)
    assert [line.name for line in whole_figures(report)] == ["Over tasks", "Without animals"]
    shown = {figure for table in figure_tables(report) for figure in table.trees}
    assert shown == {"Over tasks"}


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (
            None,
            "derive.topic: The file 'tasks.csv' isn't beside the spec. Put it there, or leave it out.",
        ),
        (
            "task,kind\ncats,animals\n",
            "has the columns task, kind. Set `column` to one of them after the first.",
        ),
        ("task,kind\ncats,animals,more\n", "has the columns task, kind. Set `column` to one of"),
        ('task,topic\n"cats', "derive.topic: tasks.csv isn't CSV. Save it as CSV in UTF-8."),
        ("task,topic\n" + "cats,x\n" * 10_000, "tasks.csv is over 64,000 bytes"),
    ],
)
def test_a_table_that_lacks_what_a_column_needs_says_so(tmp_path, table, told):
    (tmp_path / "tasks.yaml").write_bytes(TASKS)
    if table is not None:
        (tmp_path / "tasks.csv").write_text(table)
    with pytest.raises(SpecError) as raised:
        load_spec(tmp_path / "tasks.yaml")
    assert told in str(raised.value)


SPLIT = {"derive": {"tags": {"from": "topic", "split": ","}}, "groups": ["tags"]}
UNBOUNDED = {
    "f1": ({"figures": {"F": {"f1": "Yes"}}}, "how many of the other right answers are Yes"),
    "mean_of": ({"figures": {"F": {"mean_of": "topic"}}}, "the others' groups aren't known"),
    "all": ({"figures": {"F": {"all": ["topic"]}}}, "can undo others that it counts together"),
    "sum": (
        {"figures": {"a": "mean", "F": {"sum": ["a"], "over": "topic"}}, "headline": "F"},
        "the others' groups aren't known",
    ),
    "where": (
        {"figures": {"F": {"mean": "rows", "where": {"topic": "pets"}}}},
        "it counts only some questions",
    ),
    "split cells": ({**SPLIT, "figures": {"F": "mean"}}, "once in each of its groups"),
}


@pytest.mark.parametrize("fields, why", UNBOUNDED.values(), ids=UNBOUNDED)
def test_a_partial_file_says_why_its_figure_has_no_bounds(tmp_path, fields, why):
    text = partial_caveat(tmp_path, fields)
    assert " There are no bounds for F over all questions: " in text and why in text


def test_a_partial_file_bounds_the_share_of_answers_above_a_score(tmp_path):
    text = partial_caveat(tmp_path, {"figures": {"F": {"above": 0}}})
    assert text.endswith("If they counted, the score would be 25.0 to 75.0 (F).")


def partial_caveat(folder, fields):
    """What is said of two answers, one of them right, to four questions."""
    spec = spec_of({"name": "Toy", "about": "A toy.", "rule": "yes_no", **fields})
    benchmark = spec_benchmark(OWN, spec)
    asked = [
        {"index": str(at), "question": "Is it?", "answer": "Yes", "topic": "pets"}
        for at in range(4)
    ]
    known = benchmark.own_questions(put(folder / "q.csv", asked))
    said = [{"index": "0", "prediction": "Yes"}, {"index": "1", "prediction": "No"}]
    answers = put(folder / "m.csv", said)
    found = open_upload(answers, benchmark=benchmark, questions=known).report("strict")
    return benchmark.caveats(found)[0].text


def read(*cells, questions=None, **fields):
    """The ids of the rows that are read from these records, and the problems."""
    spec = spec_of({"name": "Toy", "about": "A toy.", "rule": "text", **fields})
    records = [Record(number, values) for number, values in enumerate(cells, 1)]
    file = read_spec_rows(spec, records, questions)
    return [row.id for row in file.rows], [(problem.row, problem.text) for problem in file.problems]


ASKED = {"question": "What is it?", "answer": "cat", "prediction": "a cat"}


@pytest.mark.parametrize("second", [{"index": " "}, {}])
def test_a_row_without_an_id_among_others_is_wrong_and_not_counted(second):
    _, problems = read({"index": "7", **ASKED}, {**second, **ASKED})
    assert problems == [(2, "The id is empty. Write it there.")]
    _, problems = read(ASKED, ASKED)
    assert problems == [(0, "The file has no column 'index', so its rows are counted from 0.")]


@pytest.mark.parametrize(
    "cell, published, differ",
    [
        ("['cat', 'dog']", ["cat", "dog"], False),
        ("nan", "cat", False),
        (" cat", "cat", False),
        ("['cat', 'cow']", ["cat", "dog"], True),
        ("dog", "cat", True),
    ],
)
def test_a_right_answer_is_the_question_files_however_it_is_written(cell, published, differ):
    row = {"index": "0", "answer": cell, "prediction": "a cat"}
    _, problems = read(row, questions={"0": {"question": "What is it?", "answer": published}})
    assert len(problems) == differ


def test_a_column_without_a_name_is_no_split_and_no_right_answer():
    lines = [{"": 0, **ASKED}, {"": 1, **ASKED, "answer": ""}]
    spec = spec_of({"name": "Toy", "about": "A toy.", "rule": "text"})
    rows = read_spec_rows(spec, [Record(1, line) for line in lines]).rows
    assert [split_of(spec, row.cells) for row in rows] == ["", ""]
    assert [item.truth for item in items_of(spec, rows, "vlmevalkit")] == ["cat", ""]
    judged = {"columns": {"truth": None}, "rule": {"kind": "rubric", "grades": [0, 2], "step": 1}}
    judged["rule"]["prompt"] = "{question} {answer}"
    row = {"": 1, "index": "0", "prediction": "a cat"}
    assert read(row, questions={"0": {"": 0, "question": "What is it?"}}, **judged) == (["0"], [])


def test_an_id_loses_the_point_of_a_whole_number_alone():
    ids, problems = read(*({"index": id, **ASKED} for id in ("7.0", "v1", "v1.0", "-2.0")))
    assert (ids, problems) == (["7", "v1", "v1.0", "-2"], [])


@pytest.mark.parametrize("sign", ["list", "split"])
def test_a_column_made_of_members_is_made_of_each(sign):
    names = {"from": "tag", "names": {"x": "Ex", "y": "Why"}, "others": "Other"}
    derive = {"tag": {"from": "tags", sign: ","}, "word": names}
    spec = spec_of({"name": "Toy", "about": "A toy.", "rule": "text", "derive": derive})
    rows = derived_rows(spec, {"tags": "x, y, z, w"}, "lmms-eval")
    assert [row["word"] for row in rows] == [("Ex", "Why", "Other")]


def test_the_model_is_the_first_filled_cell_of_the_columns_that_name_it():
    spec = spec_of({"name": "Toy", "about": "A toy.", "rule": "text"})
    record = Record(1, {"index": "0", **ASKED, "model": " ", "model_id": "vlm-a"})
    assert read_spec_rows(spec, [record]).model == "vlm-a"


def test_canaries_without_a_grade_are_not_counted_among_those_with_one():
    grades = [Reading(0.5, "1", ""), Reading(0.0, "0", ""), Reading(None, "", "")]
    judged = SimpleNamespace(canaries=[Judged(reading, (), "") for reading in grades])
    assert "gave 1 of 2 worthless" in [*canary_notes(judged)][0]
    assert "gave 1 of 2 worthless" in [*distrust_caveats(judged)][0].text


@pytest.mark.parametrize("sign", ["猫", "🙂"])
def test_a_prompts_file_that_is_too_long_is_not_cut(tmp_path, sign):
    """64,000 bytes of four-byte signs would be few enough characters for a prompt."""
    (tmp_path / "grade.txt").write_text(f"{{answer}} {sign * 30_000}", encoding="utf-8")
    spec = "name: Toy\nabout: A toy.\nrule: {kind: rubric, grades: [0, 2], prompt: grade.txt}\n"
    (tmp_path / "toy.yaml").write_text(spec)
    with pytest.raises(SpecError, match=r"rule\.prompt: grade\.txt is over 64,000 bytes"):
        load_spec(tmp_path / "toy.yaml")


@pytest.mark.parametrize(("scores", "places"), [([123456.789, 2], 3), ([1234567.5], 1), ([50], 0)])
def test_published_numbers_keep_their_digits(scores, places):
    row = {"model": "vlm-a", "figure": "Overall", "protocol": "strict", "source": "Paper, Table 1"}
    published = [{**row, "score": score} for score in scores]
    fields = {"name": "Toy", "about": "A toy.", "rule": "text", "published": published}
    (sheet,) = published_sheets(spec_of(fields))
    assert [column.places for column in sheet.columns if column.kind == "score"] == [places]
