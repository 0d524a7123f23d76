"""`python -m arena plan`: what paid votes cost, before any vote."""

import re

import pytest

from arena.__main__ import main
from arena.formats.base import Battles, Vote, columns_of
from arena.formats.registry import write
from tests.support.vote_samples import sample


def plan(capsys, *words: str) -> tuple[int, str, str]:
    code = main(["plan", *words])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_plan_names_votes_workers_hours_and_money(capsys):
    known = ("--within-tuple", "0.5", "--within-item", "0", "--pay", "18", "--fee", "0")
    code, out, _ = plan(capsys, "--models", "7", "--items", "574", "--half-width", "30", *known)
    title, head, one, five, note, words, *_ = out.splitlines()
    assert (code, title) == (0, "What it costs")
    assert re.split(
        r" {2,}", head.strip()
    ) == "per tuple,votes,tuples,workers,hours,money,half width".split(",")
    each, votes, tuples, workers, hours, money, width = one.replace(",", "").split()
    assert (each, votes, width, int(workers)) == ("1", tuples, "±30.0", -(-int(votes) // 20))
    assert int(money) == pytest.approx(int(hours) * 18, abs=18)
    assert int(five.replace(",", "").split()[1]) == pytest.approx(3 * int(votes), rel=0.02)
    assert (
        note
        == "Half width: half the width of the models' 95% intervals, on average, in rating points."
    )
    assert words == "One vote per tuple costs a third of five."


def test_a_plan_says_what_cannot_be_reached_or_is_missing(capsys):
    code, out, _ = plan(
        capsys, "--models", "8", "--items", "20", "--half-width", "5", "--each", "1"
    )
    assert code == 0 and "not enough items" in out
    code, out, err = plan(capsys, "--models", "8", "--items", "20")
    assert (code, out) == (2, "") and "goal. Give --half-width or --gap." in err
    code, _, err = plan(capsys, "--models", "1", "--items", "20", "--gap", "30")
    assert code == 2 and "--models" in err


def test_own_votes_tell_how_they_hang_together(capsys, tmp_path):
    """Half of the tuples agree in all three couples of votes, half in one of three: (1 + (1 - 2) / 3) / 2 = 1/3."""
    votes = []
    for item in range(20):
        first, last = ("a", "b") if item % 4 < 2 else ("b", "a")
        votes += [
            Vote("x", "y", winner, f"item {item}")
            for winner in (first, first, last if item % 2 else first)
        ]
    path = tmp_path / "votes.jsonl"
    write(Battles(None, *columns_of(votes), rows=({},) * len(votes)), path, "stereoscope")
    shape = ("--models", "4", "--items", "574", "--gap", "60")
    code, out, _ = plan(capsys, *shape, "--votes", str(path))
    assert code == 0 and "0.33 within a tuple" in out and "0.10 within an item" in out
    code, out, _ = plan(capsys, *shape, "--votes", str(path), "--within-tuple", "0.9")
    assert code == 0 and "0.90 within a tuple" in out
    code, _, err = plan(capsys, *shape, "--votes", str(sample("three-columns", tmp_path)))
    assert code == 2
    assert err == (
        "sample.csv doesn't say which items its votes are about. "
        "Choose another file, or leave out --votes.\n"
    )
    path.write_text("")
    code, _, err = plan(capsys, *shape, "--votes", str(path))
    assert code == 2 and "votes.jsonl has no votes to plan with. Choose another file" in err
