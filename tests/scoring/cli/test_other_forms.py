"""Benchmarks in other forms on the command line: described, turned into specs that score, and written."""

from pathlib import Path

import pytest

from tests.support.commands import run
from tests.support.other_forms import EVAL, TASK, TEMPLATE

DOC = (Path(__file__).parents[3] / "docs" / "add-a-benchmark.md").read_text()


def block(name: str) -> str:
    return DOC.split(name, 1)[1].split("```")[1].partition("\n")[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "eval.yaml").write_text(EVAL)
    (tmp_path / "zoo_val.yaml").write_text(TASK)
    (tmp_path / "_zoo_template_yaml").write_text(TEMPLATE)
    (tmp_path / "animals.yaml").write_text(block("`animals.yaml`:"))
    (tmp_path / "animals.csv").write_text(block("`animals.csv`:"))
    return tmp_path


def printed(*words: str) -> str:
    done = run("scoring", *words)
    assert done.code == 0, done.err
    return done.out


def refused(*words: str) -> str:
    done = run("scoring", *words)
    assert done.code == 2 and "Traceback" not in done.err
    return " ".join(done.err.replace("│", " ").split())


def test_an_eval_yaml_is_checked_made_a_spec_and_scored(folder):
    told = printed("check", "eval.yaml")
    assert "Read from         the Hub's eval.yaml: zoo:cages" in told
    assert "Not taken         scorers.f1: not read; the score is that of choice" in told
    assert told.rstrip().endswith("eval.yaml has no problems.")
    assert "Choose one with --task NAME" in refused("benchmarks", "eval.yaml", "--as", "spec")
    words = ("eval.yaml", "--as", "spec", "--task", "zoo:cages", "--out", "zoo.yaml")
    assert printed("benchmarks", *words) == "zoo.yaml: Zoo: zoo:cages\n"
    assert "# Not taken: shuffle_choices: options are not shuffled" in Path("zoo.yaml").read_text()
    Path("answers.csv").write_text(
        "question,options,answer,house,prediction\nq,\"['a', 'b']\",B,cats,B\nr,\"['c', 'd']\",A,cats,B\n"
    )
    read = ("score", "answers.csv", "--no-judge", "--out", "o", "--benchmark")
    assert "50.0 on Zoo: zoo:cages" in printed(*read, "zoo.yaml")
    for name, form in (
        ("eval.yaml", "the Hub's eval.yaml"),
        ("zoo_val.yaml", "a task of lmms-eval"),
    ):
        way = f"python -m scoring benchmarks {name} --as spec"
        assert f"{name} is {form}. Make it a spec first: {way}" in refused(*read, name)
    assert "Not taken         doc_to_visual: !function" in printed("benchmarks", "zoo_val.yaml")


def test_a_table_is_written_for_the_toolkit(folder):
    words = ("benchmarks", "animals.yaml", "--as", "tsv", "--questions", "animals.csv", "--out")
    assert printed(*words, "Animals.tsv") == "Animals.tsv: 4 questions for VLMEvalKit\n"
    lines = Path("Animals.tsv").read_text().splitlines()
    assert lines[:2] == [
        "index\tquestion\tA\tB\tanswer\tcategory",
        "1\tWhat is on the sofa?\ta cat\ta fox\tA\tpets",
    ]
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("animals.yaml --as csv", "'csv' isn't a form. Choose spec, eval.yaml or tsv."),
        (
            "animals.yaml --out zoo.yaml",
            "Nothing is to be written. Add --as spec, eval.yaml or tsv.",
        ),
        ("mmstar --task x", "--task names a task in a file, such as eval.yaml. Leave it out."),
        ("--task x", "--task names a task in a file, such as eval.yaml. Leave it out."),
        ("--as spec", "--as writes one benchmark. Name it."),
        (
            "animals.yaml --as tsv",
            "A TSV needs questions and an output. Add --questions FILE and --out FILE.",
        ),
        (
            "animals.yaml --as spec --out animals.yaml",
            "This command reads animals.yaml, so it can't overwrite it",
        ),
        ("animals.yaml --as eval.yaml", "columns.options: No columns of options are known."),
        ("mm-vet --as spec", "MM-Vet isn't a spec, so --as can't write it. Choose another."),
        (
            "absent.yaml --as spec",
            "absent.yaml: The file can't be read: No such file or directory. Choose another.",
        ),
        ("eval.yaml --as spec --task x", "'x' isn't a task in it. Choose zoo:cages or zoo:names."),
    ],
)
def test_what_cannot_be_written_is_told(folder, words, told):
    assert told in refused("benchmarks", *words.split())
