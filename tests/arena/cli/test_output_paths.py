"""What `python -m arena` writes: never over a file that it reads, nor over another's in the folder of an export."""

from pathlib import Path

import pytest

from tests.support.commands import run

VOTES = "model_a,model_b,winner,item\nx,y,model_a,1\ny,z,model_b,2\n"


@pytest.fixture
def votes(tmp_path) -> Path:
    path = tmp_path / "board.csv"
    path.write_text(VOTES)
    return path


@pytest.mark.parametrize(
    "words", [("rate", "{0}", "--out", "{1}"), ("votes", "export", "{0}", "--out", "{0}")]
)
def test_votes_that_are_read_are_never_written_over(words, votes, tmp_path):
    done = run("arena", *(word.format(votes, tmp_path) for word in words))
    assert done.code == 2 and f"This command reads {votes}, so it can't overwrite it" in done.err, (
        done
    )
    assert votes.read_text() == VOTES and list(tmp_path.iterdir()) == [votes]


def test_a_source_is_of_this_arenas_votes_and_not_of_a_file(votes, tmp_path):
    out = tmp_path / "out.jsonl"
    done = run("arena", "votes", "export", votes, "--source", "pictures", "--out", out)
    assert done.code == 2 and "Leave out --source, or the file" in " ".join(done.err.split()), done
    assert not out.exists()


@pytest.mark.parametrize("name", ["README.md", "votes.jsonl"])
def test_an_export_replaces_what_an_export_wrote_and_nothing_else(name, tmp_path):
    environ, folder = {"DATA_DIR": str(tmp_path / "data")}, tmp_path / "public"
    for _ in range(2):
        assert run("arena", "export", "--out", folder, environ=environ).code == 0
    mine = tmp_path / name
    mine.write_text("my own")
    done = run("arena", "export", "--out", tmp_path, environ=environ)
    assert done.code == 2 and f"{mine} isn't from an export. Choose an empty folder." in done.err
    assert mine.read_text() == "my own"


def test_a_place_that_cannot_be_used_is_told_in_words(votes, tmp_path):
    done = run("arena", "rate", votes, "--out", votes)
    assert done.code == 2 and "board.csv is a file. Name a folder" in " ".join(done.err.split())
    done = run(
        "arena",
        "campaign",
        "new",
        tmp_path / "none.toml",
        environ={"DATA_DIR": str(tmp_path / "data")},
    )
    assert done.code == 2 and done.err.startswith(
        f"{tmp_path / 'none.toml'} can't be used (No such file"
    ), done.err
