"""`python -m scoring agreement`: planted files whose figures are known, through the command; and what it refuses."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arena.formats.base import Battles as Held
from arena.formats.base import Vote, columns_of
from arena.formats.native import STEREOSCOPE
from arena.formats.registry import write
from arena.imports.poll_files import gather_poll, read_poll
from arena.types import REFERENCE
from scoring.people.agreement import people_agreement
from tests.support.commands import Done, run

PREFERENCES = (
    "image_url",
    "instruction",
    "A",
    "B",
    "A_model",
    "B_model",
    "model_selection.A",
    "model_selection.B",
)
LONG, SHORT = "one two three four", "one two"


def address(number: int) -> str:
    return f"https://images.test/{number}.jpg"


def preferences(
    path: Path, pairs: Iterable[tuple[str, str, int, int]], swapped: bool = False
) -> Path:
    """Write VisIT-Bench's preference file: for each pair the models and how many people chose either.

    The first model's answer is the longer one. Swapped: every other vote of a pair is shown the other way round.
    """
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(PREFERENCES)
        for number, (one, other, ones, others) in enumerate(pairs):
            for place, chosen in enumerate([True] * ones + [False] * others):
                sides = [(LONG, one, chosen), (SHORT, other, not chosen)]
                if swapped and place % 2:
                    sides.reverse()
                texts, models, choices = zip(*sides, strict=True)
                writer.writerow([address(number), f"Task {number}", *texts, *models, *choices])
    return path


def battles(
    path: Path, rows: Iterable[tuple[int, str, str, Sequence[str]]], backed: bool = False
) -> Path:
    """Write the authors' battle file: for each match the number of its task, the models and the two results."""
    with path.open("w") as file:
        for number, one, other, results in rows:
            row: dict[str, Any] = {
                **{
                    "A_model": one,
                    "B_model": other,
                    "A": LONG,
                    "B": SHORT,
                    "image_url": address(number),
                },
                **{
                    "instruction": f"Task {number}",
                    "instruction_category": "x",
                    "engine": "gpt-4-0613",
                },
                **{"evaluated_with_reference": backed, "auto_evaluation_result": list(results)},
                "auto_evaluation_cot": ["", ""],
            }
            file.write(json.dumps(row) + "\n")
    return path


def table(path: Path, columns: str, *rows: Sequence[object]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns.split(), *rows])
    return path


@pytest.fixture
def command() -> Callable[..., Done]:
    return partial(run, "scoring", "agreement")


def found(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "agreement.json").read_text("utf-8"))


def test_planted_files_give_the_planted_figures(tmp_path, command):
    """Eight pairs of two models, five votes each, and two pairs with the reference.

    Votes for m1: 5 5 5 0 4 4 1 3, so levels 4 x 5/5, 3 x 4/5, 1 x 3/5. Alpha by hand, each pair also with its models
    exchanged: unlike coincidences 2 (3 * 2*4*1 + 2*3*2) / 4 = 18, chance 2 * 40 * 40 / 79: 1 - 18 * 79 / 3200. AC1:
    agreement (4 + 3 * 12/20 + 8/20) / 8 = 0.775, chance 1/2.
    """
    people = (5, 5, 5, 0, 4, 4, 1, 3)
    pairs = [("m1", "m2", ones, 5 - ones) for ones in people]
    pairs += [("m1", "human_verified_reference", 1, 4), ("human_verified_reference", "m2", 4, 1)]
    votes = preferences(tmp_path / "votes.csv", pairs)
    # The judge: right on six, a tie on the seventh, nothing on the eighth; with the reference: the other way round.
    results = [("A", "A")] * 3 + [("B", "B")] + [("A", "A")] * 2 + [("A", "B")]
    free = battles(
        tmp_path / "free.jsonl", [(n, "m1", "m2", pair) for n, pair in enumerate(results)]
    )
    turned = [tuple({"A": "B", "B": "A"}[one] for one in pair) for pair in results[:6]]
    backed = battles(
        tmp_path / "backed.jsonl",
        [(n, "m1", "m2", pair) for n, pair in enumerate(turned)],
        backed=True,
    )
    keys = [vote.item for vote in read_poll([free]).verdicts]
    answers = table(
        tmp_path / "answers.csv", "item model answer", *([key, REFERENCE, LONG] for key in keys[:4])
    )
    scores = [
        (key, model, "mine", value)
        for key in keys[:5]
        for model, value in (("m1", "0.5"), ("m2", "-1e-3"))
    ]
    given = table(tmp_path / "scores.csv", "item model metric score", *scores)

    done = command(
        votes, free, backed, "--answers", answers, "--scores", given, "--out", tmp_path / "out"
    )

    assert done.code == 0, done.err
    assert (
        "pairs with several votes: 8 (40 votes); 2 more with the reference are left out" in done.out
    )
    assert re.search(r"Krippendorff's alpha +8 +40 +0\.556\n", done.out)
    assert re.search(r"Gwet's AC1 +8 +40 +0\.550\n", done.out)
    assert "No interval below 10 pairs." in done.out
    told = found(tmp_path / "out")
    assert [(level["most"], level["hits"], level["n"]) for level in told["people"]["levels"]] == [
        (5, 4, 8),
        (4, 3, 8),
        (3, 1, 8),
    ]
    by_name = {one["measure"]: one for one in told["reproductions"]}
    overall = {name: (one["overall"]["hits"], one["overall"]["n"]) for name, one in by_name.items()}
    tie = overall["gpt-4-0613, reference-free"][0] - 6
    assert tie in (0, 1), "the coin decides the tie"
    assert (
        by_name["gpt-4-0613, reference-free"]["ties"],
        by_name["gpt-4-0613, reference-free"]["missing"],
    ) == (1, 1)
    assert overall == {
        "length": (6, 8),  # the longer answer is m1's, and most chose m1 on six
        "BLEU-4": (3, 4),
        "ROUGE-L": (3, 4),
        "mine": (4, 5),
        "gpt-4-0613, reference-free": (6 + tie, 7),
        "gpt-4-0613, reference-backed": (0, 6),
        "random": overall["random"],
    }
    names = [one["measure"] for one in told["reproductions"]]
    assert names == sorted(names, key=lambda name: (-overall[name][0] / overall[name][1], name)), (
        "as Figure 9: best first"
    )
    with (tmp_path / "out" / "measures.csv").open(newline="") as file:
        (length,) = [row for row in csv.DictReader(file) if row["measure"] == "length"]
    levels = ("all", "5_of_5", "4_of_5", "3_of_5")
    assert [(float(length[level]), length[f"{level}_n"]) for level in levels] == [
        (6 / 8, "8"),
        (3 / 4, "4"),
        (2 / 3, "3"),
        (1.0, "1"),
    ]
    html = (tmp_path / "out" / "measures.html").read_text("utf-8")
    assert (
        "<title>length: 75.0% (" in html and 'length</th><td class="percent">75.0% <small>' in html
    )


def test_only_the_metrics_that_were_asked_are_told(tmp_path, command):
    votes = preferences(tmp_path / "votes.csv", [("m1", "m2", 5, 0)] * 3 + [("m1", "m2", 2, 3)])
    done = command(votes, "--metrics", "length", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert re.search(r"5/5 chose the same +3 +4 +75\.0%", done.out)
    assert re.search(r"length +75\.0%", done.out)
    assert "random" not in done.out


def test_which_side_an_answer_stood_on_changes_nothing(tmp_path):
    pairs = [("m1", "m2", 3, 2), ("m3", "m1", 5, 0), ("m2", "m3", 1, 4)] * 7
    as_they_are, turned = (
        preferences(tmp_path / f"{swap}.csv", pairs, swap) for swap in (False, True)
    )
    one, other = (read_poll([path]) for path in (as_they_are, turned))
    assert one == other
    assert people_agreement(one) == people_agreement(other)


def held(*votes: Vote) -> Held:
    return Held("stereoscope", *columns_of(votes), rows=tuple(map(STEREOSCOPE.row, votes)))


def test_each_voter_counts_once_and_choices_of_neither_do_not(tmp_path):
    votes = [
        Vote("m1", "m2", "a", item="i", voter="ann"),
        Vote("m2", "m1", "a", item="i", voter="ann"),  # ann again: now she prefers m2
        Vote("m1 prediction", "m2", "b", item="i", voter="bob"),  # as VisIT-Bench names a column
        Vote("m1", "m2", "tie", item="i", voter="cid"),
        Vote("m1", "m2", "b", item="j", voter="ann"),
        Vote("m1", "m2", "b", item="i", voter="gpt", judge=True),
        Vote("m1", "m2", "a", item="i", voter="gpt", judge=True),
        Vote("m1", "m2", "a", voter="ann"),
        Vote("m1", "m1", "a", item="i", voter="ann"),
    ]
    write(held(*votes), tmp_path / "votes.jsonl")
    poll = read_poll([tmp_path / "votes.jsonl"])
    assert {contest.item: tuple(chosen) for contest, chosen in poll.choices.items()} == {
        "i": (0, 2),
        "j": (0, 1),
    }
    assert poll.notices == (
        "votes left out because the same voter's later one counts: 1",
        "votes left out because neither answer was chosen: 1",
        "verdicts left out because the same voter's later one counts: 1",
        "votes left out because their item isn't known: 1",
        "votes left out because both answers are from one model: 1",
    )
    assert [(verdict.judge, verdict.winner) for verdict in poll.verdicts] == [("gpt", "a")]


def test_a_later_tie_takes_an_earlier_choice_back():
    votes = [
        Vote("m1", "m2", "a", item="i", voter="ann"),
        Vote("m1", "m2", "tie", item="i", voter="ann"),
        Vote("m1", "m2", "both_bad", item="i", voter="bob"),
        Vote("m1", "m2", "b", item="i", voter="bob"),
    ]
    poll = gather_poll([held(*votes)])
    assert [tuple(choices) for choices in poll.choices.values()] == [(0, 1)]
    assert poll.notices == (
        "votes left out because neither answer was chosen: 2",
        "votes left out because the same voter's later one counts: 1",
    )


@pytest.mark.parametrize("origin_row", ["no JSON", "[1]", '"A"', "[" * 100_000])
def test_a_vote_counts_whatever_stands_in_place_of_its_first_row(origin_row):
    row = {**STEREOSCOPE.row(Vote("m1", "m2", "a", item="i")), "origin_row": origin_row}
    poll = gather_poll([replace(held(Vote("m1", "m2", "a", item="i")), rows=(row,))])
    assert [tuple(choices) for choices in poll.choices.values()] == [(1, 0)]
    assert not poll.answers


def test_alpha_is_said_to_be_undefined(tmp_path, command):
    alone = preferences(tmp_path / "alone.csv", [("m1", "m2", 1, 0)])
    done = command(alone, "--out", tmp_path / "none")
    assert done.code == 0 and "pairs with several votes: 0 (0 votes)" in done.out
    assert "Undefined: no pair has votes from several people." in done.out
    assert found(tmp_path / "none")["people"]["alpha"] == {"value": None, "low": None, "high": None}
    assert re.search(r"length +0 +0 +0\n", done.out)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("votes.csv", "who,what\nm1,m2\n", "votes.csv: Expected the columns of one of"),
        (
            "scores.csv",
            "item,model,metric,score\ni,m1,length,1\n",
            "'length' is already the name of another metric. Rename it.",
        ),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(tmp_path, command, name, text, told):
    preferences(tmp_path / "votes.csv", [("m1", "m2", 2, 1)])
    (tmp_path / "scores.csv").write_text("item,model,metric,score\ni,m1,x,1\n")
    (tmp_path / name).write_text(text)
    done = command(
        tmp_path / "votes.csv", "--scores", tmp_path / "scores.csv", "--out", tmp_path / "out"
    )
    assert done.code == 2 and told in done.err
    assert not (tmp_path / "out").exists()


def test_rows_of_answers_that_nobody_voted_on_are_counted_and_a_file_of_nothing_else_is_refused(
    tmp_path, command
):
    votes = preferences(tmp_path / "votes.csv", [("m1", "m2", 3, 1)])
    ((item, *_),) = read_poll([votes]).choices
    answers = table(
        tmp_path / "a.csv",
        "item model answer",
        (item, "m1", LONG),
        (item, "m3", "x"),
        ("none", "m1", "x"),
    )
    scores = [(item, "m1", "mine", 1), (item, "m2", "mine", 0), (item, "M2", "mine", 0)]
    given = table(tmp_path / "s.csv", "item model metric score", *scores)
    done = command(votes, "--answers", answers, "--scores", given, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    told = [
        "a.csv: 2 of 3 rows are left out, since nobody voted on their answers. "
        f"The first has item '{item}' and model 'm3'.",
        "s.csv: 1 of 3 rows are left out, since nobody voted on their answers. "
        f"The first has item '{item}' and model 'M2'.",
    ]
    assert (
        all(line in done.out for line in told) and told == found(tmp_path / "out")["notices"][-2:]
    )
    for option, name, columns, row in (
        ("--answers", "other.csv", "item model answer", ("1", "m1", "x")),
        ("--scores", "others.csv", "item model metric score", (item, "m9", "mine", 1)),
    ):
        done = command(
            votes, option, table(tmp_path / name, columns, row), "--out", tmp_path / "none"
        )
        assert (
            done.code == 2
            and f"{name}: None of its rows is an answer with votes. Name item and model as the votes do, such as"
            in done.err
        )
        assert f"'{item}' and 'm1'" in done.err and not (tmp_path / "none").exists()


def test_votes_are_given_once(tmp_path, command):
    votes = preferences(tmp_path / "votes.csv", [("m1", "m2", 3, 1)])
    (copy := tmp_path / "copy.csv").write_bytes(votes.read_bytes())
    for second in (votes, copy):
        done = command(votes, second, "--out", tmp_path / "out")
        assert (
            done.code == 2 and f"{second.name}: This is the same file as votes.csv" in done.err
        ), done
    others = preferences(tmp_path / "others.csv", [("m1", "m2", 1, 1)])
    assert command(votes, others, "--out", tmp_path / "out").code == 0
