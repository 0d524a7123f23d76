"""`python -m arena drafts`: a project from its file to its items in the bank, and its people paid."""

import csv
import io
from pathlib import Path

import pytest

import app  # noqa: F401 every table is there
from arena.__main__ import main
from arena.authoring.spec import KINDS
from arena.authoring.store import DraftStore
from arena.authoring.work import Writing
from arena.database import Database
from arena.io.images import PictureStore
from arena.items.store import ItemBank
from arena.seats.campaigns import CampaignStore
from arena.seats.links import Arrival
from arena.seats.qualification import ExamStanding, Qualification
from arena.seats.seats import SeatStore
from tests.support.writers import ANSWERS, Project, photo

TOML = """name = "pets"
seat = { votes = 20, pay = 6 }
visibility = "sealed"

[[families]]
name = "animals"
pictures = ["dog.jpg"]
"""
HUB = ("--as", "hub", "--language", "en", "--contact", "ada@example.org")


@pytest.fixture
def database(tmp_path, monkeypatch) -> Database:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setattr("arena.admin.seat_admin.is_lost_at_restart", lambda _: False)
    (tmp_path / "pets.toml").write_text(TOML)
    (tmp_path / "dog.jpg").write_bytes(photo(3))
    return Database(f"sqlite:///{tmp_path / 'arena.db'}")


@pytest.fixture
def arena(capsys):
    """A command: its code, what it prints and what went wrong."""

    def command(*words: object) -> tuple[int, str, str]:
        code = main([*map(str, words)])
        told = capsys.readouterr()
        return code, told.out, told.err

    return command


def written(database: Database, folder, items: int = 1) -> Project:
    """The project of the file, with items that four people wrote."""
    store, pictures = DraftStore(database), PictureStore(folder / "pictures")
    campaign = CampaignStore(database, KINDS).get("pets")
    project = Project(
        database, folder, campaign, Writing(store, pictures), None, SeatStore(database)
    )
    for person in ("ann", "bob", "cem", "dot"):
        for _ in range(items):
            assert project.do(project.seat(person))
    return project


def test_a_project_from_its_file_to_the_bank(database, arena, tmp_path):
    code, out, _ = arena("drafts", "new", tmp_path / "pets.toml")
    assert code == 0 and out.splitlines() == [
        "pets: 10 items in 1 family, 40 steps or more.",
        "2 seats with 20 steps each, for 6 USD each: 12.00 USD or more, before the platform's fee. "
        "An item takes 4 people.",
        "People write the answers, because model is empty.",
        "Links: python -m arena campaign links pets --workers FILE",
    ]
    (tmp_path / "people.txt").write_text("ann\nbob\n")
    _, out, _ = arena(
        "campaign",
        "links",
        "pets",
        "--workers",
        tmp_path / "people.txt",
        "--address",
        "https://a.org",
    )
    assert [row["worker"] for row in csv.DictReader(io.StringIO(out))] == [
        "ann",
        "bob",
    ] and "https://a.org/c/pets" in out
    project = written(database, tmp_path, 2)
    _, out, _ = arena("drafts", "board", "pets")
    rows = [line.split() for line in out.splitlines()]
    assert "animals 10 2 0 0 0 0 0".split() in rows
    assert any(row[:6] == "Correct 100.0% (34% to 100%) of".split() for row in rows)
    assert any(row[:6] == "dot 0 0 0 2 0".split() for row in rows)
    assert out.endswith("No answer has two verdicts yet.\n")
    code, out, _ = arena("drafts", "export", "pets", "--as", "bank", "--out", tmp_path / "out")
    assert code == 0 and out.splitlines() == [
        f"pets: 2 items written to {tmp_path / 'out'}.",
        f"To import them: python -m arena items folder {tmp_path / 'out'} --name pets",
    ]
    assert arena("items", "folder", tmp_path / "out", "--name", "pets")[0] == 0
    assert {item.instruction for item in ItemBank(database).bank().items.values()} == {
        draft.state.instruction.text for draft in project.drafts
    }


def test_its_people_are_listed_and_paid_by_the_commands_of_campaigns(database, arena, tmp_path):
    arena("drafts", "new", tmp_path / "pets.toml")
    written(database, tmp_path)
    assert (
        arena("campaign", "list")[1]
        == "pets (plain), running; 1 of 10 items accepted; workers: 4 working\n"
    )
    rows = list(csv.DictReader(io.StringIO(arena("campaign", "sheet", "pets")[1])))
    assert [(row["person"], row["votes"]) for row in rows] == [
        (name, "1") for name in ("ann", "bob", "cem", "dot")
    ]
    for word in ("quality", "votes"):
        told = f"pets is a project, which has no {word}. Run: python -m arena drafts board pets\n"
        assert arena("campaign", word, "pets") == (2, "", told)
    assert arena("campaign", "end", "pets")[1].startswith("pets has ended.")
    assert "pets (plain), ended: ended by an operator; 1 of 10" in arena("campaign", "list")[1]


def test_an_error_of_a_project_names_its_file(database, arena, tmp_path):
    (tmp_path / "odd.toml").write_text("name = pets")
    code, _, err = arena("drafts", "new", tmp_path / "odd.toml")
    assert code == 2 and err.startswith("odd.toml: The file isn't valid TOML in UTF-8: ")


def test_an_item_is_taken_out(database, arena, tmp_path):
    arena("drafts", "new", tmp_path / "pets.toml")
    written(database, tmp_path)
    code, out, _ = arena(
        "drafts", "reject", "pets", 1, "--fault", "picture", "--why", "licence withdrawn"
    )
    assert code == 0 and out.startswith("Item 1 of pets is removed. If you've imported it")
    code, _, err = arena("drafts", "reject", "pets", 1, "--fault", "picture", "--why", "again")
    assert (code, err) == (2, "There is no item 1 in pets that can be removed. Check its number.\n")
    code, _, err = arena("drafts", "export", "pets", "--as", "bank", "--out", tmp_path / "out")
    assert (code, err) == (2, "pets has no items to export yet. Left out: 1 rejected.\n")
    assert not (tmp_path / "out").exists()


def test_samples_are_listed_and_judged(database, arena, tmp_path):
    sample = '[[samples]]\npicture = "dog.jpg"\ninstruction = "What?"\n'
    toml = TOML.replace("[[families]]", "qualify = { samples = 1, pass = 1 }\n[[families]]")
    (tmp_path / "pets.toml").write_text(toml + sample)
    code, out, _ = arena("drafts", "new", tmp_path / "pets.toml")
    assert (code, "you read their captions" in out) == (0, True)
    campaign = CampaignStore(database, KINDS).get("pets")
    seat = SeatStore(database).enter(campaign, Arrival("ann"), None)
    exam = Qualification(database)
    exam.answer(seat, ExamStanding(1, 1, 0, 1), "sample 1", "=A \x1b[2Jdog\non grass", None)
    (row,) = csv.DictReader(io.StringIO(arena("drafts", "samples", "pets")[1]))
    assert (row["sample"], row["instruction"]) == (f"{seat.id}.1.1", "What?")
    assert row["caption"] == "'=A [2Jdog\non grass"
    assert Path(row["picture"]).read_bytes()
    code, _, err = arena("drafts", "judge", "pets", f"{seat.id}.1.1", "fine")
    assert (code, err) == (2, "Say whether the sample is good or poor, as in: 17.1.3 good.\n")
    code, out, _ = arena("drafts", "judge", "pets", f"{seat.id}.1.1", "good")
    assert (code, out) == (0, f"Sample {seat.id}.1.1 of pets is good.\n")
    assert exam.has_passed(seat)
    code, _, err = arena("drafts", "judge", "pets", f"{seat.id}.1.1", "poor")
    assert (code, err) == (
        2,
        f"There's no sample {seat.id}.1.1 of pets to read. Someone may have read it already.\n",
    )
    assert arena("drafts", "samples", "pets")[1] == "sample,at,picture,instruction,caption\n"


def test_sealed_texts_are_never_sent_to_a_public_dataset(database, arena, tmp_path, monkeypatch):
    sent = []
    monkeypatch.setattr("arena.cli.drafts.upload_dataset", lambda *words: sent.append(words))
    arena("drafts", "new", tmp_path / "pets.toml")
    written(database, tmp_path)
    export = ("drafts", "export", "pets", "--out", tmp_path / "out")
    code, _, err = arena(*export, *HUB, "--push", "ada/pets", "--with-texts", "--public")
    assert (code, err) == (2, "pets is sealed. Leave out --with-texts or --public.\n")
    code, _, err = arena(*export, "--as", "bank", "--push", "ada/pets")
    assert code == 2 and "Write --as hub, not --as bank" in err
    assert not sent and not (tmp_path / "out").exists()
    code, out, _ = arena(*export, *HUB, "--push", "ada/pets")
    assert code == 0 and out.endswith("Sent to the private dataset ada/pets.\n")
    assert [words[1:3] for words in sent] == [("ada/pets", True)]
    code, _, err = arena("drafts", "export", "pets", "--as", "hub", "--out", tmp_path / "other")
    assert code == 2 and "--language is ''. Write an ISO 639 code" in err


def test_the_public_table_comes_in_and_goes_out(database, arena, tmp_path, data):
    table = data / "visit-bench" / "visit_bench_multi_images.csv"
    assert (
        arena("drafts", "import", "visit", table)[1]
        == "visit-bench: 100 new items. 63 are accepted in all.\n"
    )
    assert (
        arena("drafts", "import", "visit", table)[1]
        == "visit-bench: 0 new items. 63 are accepted in all.\n"
    )
    code, out, _ = arena(
        "drafts", "export", "visit-bench", "--as", "visit", "--out", tmp_path / "out"
    )
    assert code == 0 and out == f"visit-bench: 100 items written to {tmp_path / 'out'}.\n"
    assert "Correct        63.0% (53% to 72%) of 100" in arena("drafts", "board", "visit-bench")[1]


def test_what_cannot_be_done_is_one_line(database, arena, tmp_path):
    for words, told in (
        (("new", tmp_path / "none.toml"), "none.toml"),
        (("board", "pets"), "There's no campaign named 'pets'. Campaigns: none yet"),
        (
            ("export", "pets", "--as", "bank", "--out", tmp_path / "out"),
            "There's no campaign named 'pets'",
        ),
        (("import", "visit", tmp_path / "none.csv"), "none.csv"),
    ):
        code, out, err = arena("drafts", *words)
        assert (code, out, err.count("\n")) == (2, "", 1) and told in err


def test_a_project_of_questions_from_its_file_to_its_table(database, arena, tmp_path):
    toml = TOML.replace("visibility", 'kind = "multiple choice"\nvisibility')
    (tmp_path / "pets.toml").write_text(toml)
    out = arena("drafts", "new", tmp_path / "pets.toml")[1]
    assert "pets: 10 questions in 1 family, 20 steps or more." in out
    assert "A question takes 2 people." in out
    assert "No model tries the questions without their pictures" in out
    store, pictures = DraftStore(database), PictureStore(tmp_path / "pictures")
    campaign = CampaignStore(database, KINDS).get("pets")
    project = Project(
        database, tmp_path, campaign, Writing(store, pictures), None, SeatStore(database)
    )
    assert [project.do(project.seat(person)) for person in ("ann", "bob")] == [
        "instruction",
        "verify",
    ]
    board = arena("drafts", "board", "pets")[1]
    assert "Second person" in board and "Caption" not in board
    assert board.endswith("its author included, agree in 100.0% of pairs.\n")
    code, _, err = arena("drafts", "export", "pets", "--as", "bank", "--out", tmp_path / "out")
    assert (code, err) == (2, "pets has multiple-choice questions. Write --as tsv.\n")
    out = arena("drafts", "export", "pets", "--as", "tsv", "--out", tmp_path / "out")[1]
    assert out.splitlines() == [
        f"pets: 1 question written to {tmp_path / 'out'}.",
        "Their right answers are left out. Score with the table that --with-texts writes.",
    ]
    export = ("drafts", "export", "pets", "--as", "tsv", "--with-texts")
    out = arena(*export, "--out", tmp_path / "kept")[1]
    kept = tmp_path / "kept" / "pets.tsv"
    assert out.endswith(f"python -m scoring score FILE --questions {kept} --out DIR\n")


def test_half_of_the_questions_are_listed_and_checked(database, arena, tmp_path):
    families = [{"name": "counting", "wanted": 3}]
    project = Project.on(database, tmp_path, kind="multiple choice", families=families)
    for person in ("ann", "bob"):
        while project.do(project.seat(person)):
            pass
    code, out, _ = arena("drafts", "questions", "pets")
    rows = [*csv.DictReader(io.StringIO(out))]
    assert (code, len(rows)) == (0, 2)
    right = f"{rows[0]['right']}. {ANSWERS[0]}"
    assert right in rows[0]["options"].splitlines() and Path(rows[0]["picture"]).is_file()
    first, second = (row["question"] for row in rows)
    done = arena("drafts", "check", "pets", first, "correct")
    assert done == (0, f"Question {first} of pets is good.\n", "")
    code, _, err = arena("drafts", "check", "pets", second, "caption")
    assert code == 2 and err.endswith(": correct, answer, instruction, picture, harm.\n")
    arena("drafts", "check", "pets", second, "answer")
    assert project.drafts[int(second) - 1].state.fault == "answer"
    assert arena("drafts", "questions", "pets")[1].splitlines()[1:] == []
    assert arena("drafts", "check", "pets", first, "correct")[0] == 2
