"""Answers of splits whose right ones are with their authors: read, not scored, and written as servers want them."""

import io
import json
from pathlib import Path

import openpyxl
import pytest

from arena.io.tables import read_records
from scoring.benchmarks.hidden import HiddenReport, report_of
from scoring.benchmarks.spec_benchmark import spec_benchmark
from scoring.benchmarks.submission import printable
from scoring.questions.library import QuestionLibrary
from scoring.questions.opening import open_joined_file
from scoring.registry import BENCHMARKS, benchmark_of
from scoring.specs.schema import read_spec
from tests.support.choice_tables import row, table_file

CHOICES = """
name: Colleges
about: Some with options, some without.
splits: split
rule: {kind: letter, open: Other Answers}
protocols: [strict, vlmevalkit]
submission: FORM
questions: [{name: Colleges.tsv, split: test, answers: absent}]
"""
PAGES = """
name: Pages
about: Short answers on pages.
rule: anls
protocols: [strict, lmms-eval]
submission: FORM
questions: [{name: Pages.tsv, answers: absent}]
"""
THOUGHT = "<think>Is it the cat?</think>\n"


@pytest.fixture
def library(tmp_path) -> QuestionLibrary:
    folder = tmp_path / "questions"
    folder.mkdir()
    return QuestionLibrary(folder)


def benchmark(monkeypatch, text: str, form: str) -> None:
    spec = read_spec(text.replace("FORM", form).encode())
    monkeypatch.setitem(BENCHMARKS, "toy", spec_benchmark("toy", spec))


def beside(questions: Path, key: str = "toy", answers: str = "") -> None:
    said = f"answers: {answers}\n" if answers else ""
    questions.with_name(f"{questions.name}.yaml").write_text(f"benchmark: {key}\n{said}")


def answered(folder: Path, said: dict[str, str]) -> Path:
    path = folder / "my_model.json"
    path.write_text(json.dumps(said))
    return path


def report(library: QuestionLibrary, file: Path, key: str = "toy", protocol: str = "strict"):
    opened = open_joined_file(library, file, benchmark=key).file
    assert opened
    return opened, report_of(opened, protocol)


def files(report) -> dict[str, bytes]:
    found = benchmark_of(report).files(report)
    return {name: found[name] for name in found if "_submission" in name}


def colleges(library: QuestionLibrary, answers: str = "") -> Path:
    rows = [
        row(1, id="test_Art_1", split="test", answer=""),
        row(2, id="test_Art_2", split="test", answer=""),
        row(3, id="test_Art_3", split="test", answer="", A="", B="", C="", D=""),
    ]
    columns = ["index", "id", "question", "A", "B", "C", "D", "split"]
    columns += ["answer"] if answers else []
    path = table_file(library.folder / "Colleges.tsv", rows, columns)
    beside(path)
    return path


@pytest.mark.parametrize("protocol", ["strict", "vlmevalkit"])
def test_mmmus_server_gets_letters_by_its_own_ids(library, tmp_path, monkeypatch, protocol):
    benchmark(monkeypatch, CHOICES, "json map")
    colleges(library)
    file = answered(tmp_path, {"1": "The answer is B", "2": "Hm?", "3": f"{THOUGHT}**12**"})
    opened, made = report(library, file, protocol=protocol)
    assert opened.truth_places == {"test": "absent"}
    assert [problem for problem in opened.problems if problem.blocks != "nothing"] == []
    assert any("of the split test are with their authors" in line for line in opened.lines)
    assert files(made) == {
        "my_model_submission.json": (
            b'{\n    "test_Art_1": "B",\n    "test_Art_2": "Hm?",\n    "test_Art_3": "12"\n}\n'
        )
    }
    record = benchmark_of(made)
    assert record.headline(made).mean is None
    assert record.sentence(made) == "my_model has no score on Colleges."
    told = [caveat.text for caveat in record.caveats(made)]
    assert any("Submit my_model_submission.json, below" in text for text in told)


def test_docvqas_server_gets_numbers_as_ids_and_words_alone(library, tmp_path, monkeypatch):
    benchmark(monkeypatch, PAGES, "json list")
    rows = [{"index": "49153", "question": "Who?"}, {"index": "x7", "question": "When?"}]
    beside(table_file(library.folder / "Pages.tsv", rows, ["index", "question"]))
    said = {"49153": f"{THOUGHT}Answer: J. Müller", "x7": "\\boxed{1997}"}
    _, made = report(library, answered(tmp_path, said))
    assert files(made) == {
        "my_model_submission.json": (
            b"[\n    {\n"
            b'        "questionId": 49153,\n        "answer": "J. M\\u00fcller"\n'
            b"    },\n    {\n"
            b'        "questionId": "x7",\n        "answer": "1997"\n'
            b"    }\n]\n"
        )
    }


def test_a_table_is_the_kits_with_what_was_said_and_read(library, tmp_path, monkeypatch):
    benchmark(monkeypatch, CHOICES, "tsv")
    colleges(library)
    file = answered(tmp_path, {"1": "=B", "2": 'Hm,\t"well"?\x07', "3": "12"})
    _, made = report(library, file)
    assert files(made) == {
        "my_model_submission.tsv": (
            b'"index"\t"id"\t"question"\t"A"\t"B"\t"C"\t"D"\t"split"\t"prediction"\t"opt"\n'
            b'"1"\t"test_Art_1"\t"What is it?"\t"dog"\t"cat"\t"bird"\t"fish"\t"test"\t"=B"\t"B"\n'
            b'"2"\t"test_Art_2"\t"What is it?"\t"dog"\t"cat"\t"bird"\t"fish"\t"test"\t"Hm,\t""well""?"\t"Z"\n'
            b'"3"\t"test_Art_3"\t"What is it?"\t""\t""\t""\t""\t"test"\t"12"\t"Z"\n'
        )
    }


def test_a_workbook_holds_the_same_rows_and_no_formula(library, tmp_path, monkeypatch):
    benchmark(monkeypatch, CHOICES, "xlsx")
    colleges(library)
    file = answered(tmp_path, {"1": "=B", "2": "Hm?\x07 <&>", "3": "12"})
    _, made = report(library, file)
    content = files(made)["my_model_submission.xlsx"]
    assert content == files(report(library, file)[1])["my_model_submission.xlsx"]
    sheet = openpyxl.load_workbook(io.BytesIO(content)).active
    rows = [[cell.value for cell in line] for line in sheet.iter_rows()]
    assert rows[0][:3] == ["index", "id", "question"] and len(rows) == 4
    assert [line[-2:] for line in rows] == [
        ["prediction", "opt"],
        ["=B", "B"],
        ["Hm? <&>", "Z"],
        ["12", "Z"],
    ]
    assert {cell.data_type for line in sheet.iter_rows() for cell in line} <= {
        "s",
        "inlineStr",
        "n",
    }
    read = tmp_path / "back.xlsx"
    read.write_bytes(content)
    assert [record.values["prediction"] for record in read_records(read)] == ["=B", "Hm? <&>", "12"]


def test_mmbenchs_server_gets_predictions_as_they_are(library, tmp_path):
    rows = [row(id, answer="", split="test", category="ocr") for id in (3, 1005)]
    columns = ["index", "question", "A", "B", "C", "D", "category", "split"]
    beside(table_file(library.folder / "MMBench_TEST_EN.tsv", rows, columns), "mmbench")
    opened, made = report(library, answered(tmp_path, {"3": "B. cat", "1005": "Hm?"}), "mmbench")
    assert opened.problems == ()
    assert files(made) == {
        "my_model_submission.tsv": (
            b'"index"\t"question"\t"A"\t"B"\t"C"\t"D"\t"category"\t"l2-category"\t"split"\t"prediction"\t"opt"\n'
            b'"3"\t"What is it?"\t"dog"\t"cat"\t"bird"\t"fish"\t"ocr"\t""\t"test"\t"B. cat"\t"B"\n'
            b'"1005"\t"What is it?"\t"dog"\t"cat"\t"bird"\t"fish"\t"ocr"\t""\t"test"\t"Hm?"\t"Z"\n'
        )
    }
    record = benchmark_of(made)
    told = [caveat.text for caveat in record.caveats(made)]
    assert any("split test are with their authors. Submit my_model_sub" in text for text in told)


def test_right_answers_of_ones_own_score_nothing(library, tmp_path, monkeypatch):
    benchmark(monkeypatch, CHOICES, "json map")
    colleges(library)
    said = [row(1, answer="B"), row(2, answer="A"), row(3, answer="12", A="", B="", C="", D="")]
    file = table_file(tmp_path / "my_model.tsv", said, ["index", "prediction", "answer"])
    opened, made = report(library, file)
    assert [problem for problem in opened.problems if problem.blocks == "scoring"] == []
    assert benchmark_of(made).headline(made).mean is None
    choices = [row(id, answer="", split="test") for id in (3, 1005)]
    beside(table_file(library.folder / "MMBench_TEST_EN.tsv", choices), "mmbench")
    own = [row(id, answer=answer) for id, answer in ((3, "B"), (1005, "Nobody knows"))]
    opened, made = report(library, table_file(tmp_path / "m.tsv", own), "mmbench")
    assert opened.problems == () and benchmark_of(made).headline(made) is None


def test_a_text_keeps_its_line_breaks_and_tabs_and_no_other_control_character():
    assert printable("a\rb\r\nc\nd\te\0f\x7f") == "a\nb\nc\nd\tef"


def test_each_split_goes_its_own_way(library, tmp_path, monkeypatch):
    """One that is open, one without answers; then one that is hidden, one without answers."""
    benchmark(monkeypatch, CHOICES, "json map")
    rows = [row(id, split="val") for id in range(1, 26)]
    rows += [row(id, split="test", answer="") for id in range(26, 29)]
    path = table_file(library.folder / "Colleges.tsv", rows)
    beside(path)
    file = answered(tmp_path, {one["index"]: "B" for one in rows})
    _, made = report(library, file)
    record = benchmark_of(made)
    assert record.headline(made).n == 25
    assert json.loads(files(made)["my_model_submission.json"]) == {"26": "B", "27": "B", "28": "B"}
    beside(path, answers="{val: hidden}")
    _, made = report(library, file)
    assert isinstance(made, HiddenReport)
    record = benchmark_of(made)
    assert (record.headline(made).n, record.headline(made).mean) == (25, 100.0)
    assert json.loads(files(made)["my_model_submission.json"]) == {"26": "B", "27": "B", "28": "B"}
