"""What an upload gives: answers, questions and a spec, told apart by their columns or refused in a sentence."""

import json
import socket
from pathlib import Path

import pytest

from arena.io.tables import RowsError
from scoring.jobs.file_roles import FileRolesError, file_roles
from scoring.jobs.uploads import StoredUpload, UploadedFile
from scoring.specs.problems import SpecError
from scoring.specs.schema import spec_of

ANSWERS = "index,prediction\n1,A\n2,B\n"
QUESTIONS = "index,question,A,B,answer\n1,Which?,x,y,A\n2,And?,x,y,A\n"
WHOLE = "index,question,A,B,answer,prediction\n1,Which?,x,y,A,A\n"
SPEC = """name: Zoo
about: Animals.
columns: {id: case, answer: reply}
rule: {kind: rubric, grades: [0, 2], prompt: grade.txt}
questions: [{name: q.tsv, url: "https://example.org/q.tsv"}]
published: paper.csv
"""
PROMPT = "Is {answer} an animal?"
PAPER = "model,figure,score,protocol,source\nGPT-4,Overall,61.5,strict,https://example.org/paper\n"
REPLIES = "case,reply\n1,A dog\n"
CASES = "case,question\n1,Which animal?\n"


def upload(folder: Path, **files: str) -> StoredUpload:
    """An upload of these files; a name's underscore stands for its point."""
    stored = []
    for number, (written, content) in enumerate(files.items()):
        name = ".".join(written.rsplit("_", 1))
        path = folder / f"token.owner.network.{number}{Path(name).suffix}"
        path.write_text(content, "utf-8")
        stored.append(UploadedFile(path, name))
    return StoredUpload("token", "owner", tuple(stored), 0.0)


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Addresses in a spec are data."""

    def refuse(*_):
        raise AssertionError("an upload asked the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize("order", [1, -1])
def test_answers_and_questions_are_told_apart_by_their_columns(tmp_path, order):
    files = {"m_csv": ANSWERS, "q_tsv": QUESTIONS.replace(",", "\t")}
    found = file_roles(upload(tmp_path, **dict([*files.items()][::order])))
    assert (found.name, found.questions_name, found.spec) == ("m.csv", "q.tsv", None)
    assert found.answers.read_text() == ANSWERS and found.questions is not None


@pytest.mark.parametrize(
    "answers",
    [
        ANSWERS,
        "Index,Model Answer\n1,A\n",
        "index,text\n1,A\n",
        "index,answer\n1,A\n",
        json.dumps({"1": "A"}),
        json.dumps([{"doc_id": 1, "filtered_resps": ["A"]}]),
    ],
)
def test_answers_may_be_called_as_toolkits_do(tmp_path, answers):
    name = "m_csv" if answers.startswith(("i", "I")) else "m_json"
    found = file_roles(upload(tmp_path, q_csv=QUESTIONS, **{name: answers}))
    assert found.name.startswith("m.") and found.questions_name == "q.csv"


def test_one_table_is_the_answers_whatever_it_holds(tmp_path):
    for content in (ANSWERS, QUESTIONS, "x"):
        assert file_roles(upload(tmp_path, m_csv=content)).name == "m.csv"


def test_a_spec_comes_with_the_files_that_it_names_and_calls_the_answers_as_it_likes(tmp_path):
    files = {"grade_txt": PROMPT, "q_csv": CASES, "zoo_yaml": SPEC, "paper_csv": PAPER}
    found = file_roles(upload(tmp_path, **files, a_csv=REPLIES))
    assert (found.name, found.questions_name) == ("a.csv", "q.csv")
    assert found.spec and found.spec.name == "Zoo" and found.spec.published[0].score == 61.5
    assert found.spec.rule[0].rule.names == ("answer",)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"zoo_yaml": "name: Zoo\nabout: x\nrule: letter"}, "Drop your answers together with it"),
        ({"a_txt": "x"}, "a.txt isn't used, because no benchmark.yaml names it"),
        ({"a_yaml": SPEC, "b_yml": SPEC, "m_csv": ANSWERS}, "a.yaml and b.yml each say how"),
        ({"a_csv": ANSWERS, "b_csv": ANSWERS, "q_csv": QUESTIONS}, "q.csv are 3 tables"),
        ({"a_csv": ANSWERS, "b_csv": WHOLE}, "a.csv and b.csv both have a model's answers"),
        ({"a_csv": QUESTIONS, "b_csv": QUESTIONS}, "Neither of a.csv and b.csv has a column"),
    ],
)
def test_what_is_missing_or_too_much_is_told(tmp_path, files, why):
    with pytest.raises(FileRolesError) as error:
        file_roles(upload(tmp_path, **files))
    assert why in str(error.value)


@pytest.mark.parametrize(
    ("files", "problems"),
    [
        (
            {"zoo_yaml": SPEC, "a_csv": REPLIES},
            [("published", "The file 'paper.csv' isn't beside the spec")],
        ),
        (
            {"zoo_yaml": SPEC.replace("paper.csv", "../paper.csv"), "paper_csv": PAPER},
            [("published", "The file '../paper.csv' isn't beside the spec")],
        ),
        (
            {"zoo_yaml": SPEC.replace("grade.txt", "vqa_marks.txt"), "paper_csv": PAPER},
            [("rule.prompt", "The file 'vqa_marks.txt' isn't beside the spec")],
        ),
        (
            {"zoo_yaml": "name: Zoo\nrule: leter\nsize: [1]", "a_csv": REPLIES},
            [
                ("about", "Say in a sentence"),
                ("size", "Write a text"),
                ("rule", "'leter' isn't one of"),
            ],
        ),
        (
            {"zoo_yaml": "task: zoo\ndataset_path: org/zoo", "a_csv": REPLIES},
            [("", "is a task of lmms-eval. Make it a spec first")],
        ),
        ({"zoo_yaml": "a: &x 1", "a_csv": REPLIES}, [("", "This begins with & or *")]),
    ],
)
def test_each_problem_of_a_spec_is_told_with_its_place(tmp_path, files, problems):
    with pytest.raises(SpecError) as error:
        file_roles(upload(tmp_path, **files))
    assert error.value.file == "zoo.yaml"
    for problem, (place, text) in zip(error.value.problems, problems, strict=True):
        assert problem.place == place and text in problem.text


def test_a_table_that_cannot_be_read_is_told_by_its_name(tmp_path):
    with pytest.raises(RowsError, match=r"^b\.csv: The file is empty"):
        file_roles(upload(tmp_path, a_csv=ANSWERS, b_csv=""))


def test_an_equal_spec_is_read_once_and_a_changed_one_anew(tmp_path):
    own = upload(tmp_path, m_csv=REPLIES, z_yaml=SPEC, grade_txt=PROMPT, paper_csv=PAPER)
    first = file_roles(own).spec
    assert first is not None
    assert file_roles(own).spec is first
    assert spec_of(json.loads(first.json_text)) is spec_of(json.loads(first.json_text))
    (prompt,) = (file.path for file in own.files if file.name == "grade.txt")
    prompt.write_text("Is {answer} a plant?")
    changed = file_roles(own).spec
    assert changed is not None
    assert changed.digest != first.digest
