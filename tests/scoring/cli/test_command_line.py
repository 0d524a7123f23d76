"""The two command lines: help that loads nothing, mistyped words, and how a command ends."""

import os
import signal
import subprocess
import sys
from contextlib import redirect_stdout

import pytest
from typer import Typer

from arena.__main__ import COMMANDS as ARENA
from arena.cli.lazy_group import Command, LazyGroup
from arena.io.tables import RowsError
from scoring.__main__ import COMMANDS as SCORING
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS
from tests.support.commands import Command as ScoringCommand
from tests.support.commands import run
from tests.support.servers import ROOT

app = Typer(rich_markup_mode=None)
"""Commands of this file."""
WORDS = [*(("arena", word) for word in ARENA), *(("scoring", word) for word in SCORING)]


@app.command()
def fail():
    yield str(1 // 0)


@app.command()
def refuse():
    yield "begun"
    raise RowsError("expected votes, found none")


def test_the_list_of_commands_loads_none_of_them():
    heavy = ("pandas", "openai", "scipy", "sqlalchemy", "numpy", "rich", "arena.settings")
    program = (
        "import sys; from scoring.__main__ import main; code = main(['--help']); "
        f"print(code, [name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0 []"
    assert all(f"  {word} " in done.stdout for word in SCORING)


@pytest.mark.parametrize(
    ("half", "word", "option"), [*((*word, "--help") for word in WORDS), ("scoring", "score", "-h")]
)
def test_every_command_says_how_it_is_called(half, word, option):
    done = run(half, word, option)
    assert (
        done.code == 0
        and done.err == ""
        and done.out.startswith(f"Usage: python -m {half} {word} ")
    )


@pytest.mark.parametrize(
    ("half", "words", "told"),
    [
        (
            "scoring",
            ["scor"],
            "Error: No such command 'scor'. Did you mean 'score'?",
        ),
        ("arena", ["votes", "exprt"], "Error: No such command 'exprt'. Did you mean 'export'?"),
        ("scoring", ["score", "x.tsv"], "Error: Missing option '--out'."),
        (
            "scoring",
            ["score", "x.tsv", "--ou", "y"],
            "Error: No such option: --ou (Possible options: --out)",
        ),
        ("arena", [], "Error: Missing command."),
        (
            "scoring",
            ["agreement", "x.csv", "--out", "y", "--metrics", "BLEU"],
            "isn't a metric. Choose from random, length, ",
        ),
    ],
)
def test_wrong_words_end_with_2_and_what_is_expected(half, words, told):
    done = run(half, *words)
    assert (done.code, done.out) == (2, "") and told in done.err.splitlines()[-1]


def test_an_error_of_ours_is_one_line_and_one_that_nobody_foresaw_is_not_hidden(capsys):
    group = LazyGroup("here", "", dict.fromkeys(("fail", "refuse"), Command("", __name__)))
    assert group.run(["refuse"]) == 2
    assert capsys.readouterr() == ("begun\n", "expected votes, found none\n")
    with pytest.raises(ZeroDivisionError):
        group.run(["fail"])


def test_a_reader_who_has_enough_lines_ends_a_command_without_a_word(capsys):
    group = LazyGroup("here", "", {"refuse": Command("", __name__)})
    end, start = os.pipe()
    os.close(end)
    with os.fdopen(start, "w") as lines, redirect_stdout(lines):
        assert group.run(["refuse"]) == 1, "as `| head -1` ends others"
        os.dup2(os.open(os.devnull, os.O_WRONLY), start)  # where what was left is flushed
    assert capsys.readouterr() == ("", "")


def test_a_process_that_is_interrupted_says_how_to_go_on(tmp_path):
    words = (
        "-o",
        "sample=true",
        SAMPLE_PREDICTIONS,
        "--judge",
        "test-judge",
        "--base-url",
        "http://127.0.0.1:9",
    )
    with ScoringCommand(tmp_path).process("score", "--benchmark=mm-vet", *words) as process:
        assert "We don't know test-judge." in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (
        process.returncode == 4
        and err == "Stopped. Grades so far are kept. Run the same command again to continue.\n"
    )
