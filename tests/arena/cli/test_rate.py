"""`python -m arena rate` and `votes`: from any file of votes to a board, its plots and its parameters, and back."""

import csv
import itertools
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from arena.__main__ import main
from arena.formats import cells
from arena.formats.base import Battles, Vote, columns_of
from arena.formats.registry import read, write
from arena.plots import plots_page
from arena.ratings.report import BoardRow, RatingSettings, board_sheet, plots, rating_report
from arena.sheets import as_csv
from tests.support.sheets import texts
from tests.support.vote_samples import SAMPLES, THREE, VISIT, put, sample

ROOT = Path(__file__).parents[3]
COLUMNS = "model elo elo_median elo_low elo_high bt bt_low bt_high rank rank_low rank_high".split()
COLUMNS += ["battles", "wins", "losses", "ties", "bt_for"]
ELO, SPREAD, BT = COLUMNS[1:2], COLUMNS[2:5], COLUMNS[5:8]
SEED = 20231104
OUT = Path("boards", "out")
"""The folder of a file's board, which `rate` makes."""


def frame(votes: int, models: int, seed: int = SEED, ties: bool = True) -> list[dict]:
    """Return a three-column frame of models whose strengths grow with their number."""
    print(f"seed {seed}")
    coin = random.Random(seed)
    rows = []
    for _ in range(votes):
        a, b = coin.sample(range(models), 2)
        won = "model_a" if coin.random() < 1 / (1 + 2.718 ** ((b - a) * 0.3)) else "model_b"
        tie = coin.choice(["tie", "both_bad"]) if ties and coin.random() < 0.2 else won
        rows.append({"model_a": f"m{a}", "model_b": f"m{b}", "winner": tie})
    return rows


def rate(path: Path, *words: str) -> dict[str, dict[str, str]]:
    """Rate a file and return the board's rows by model."""
    out = path.parent / OUT
    assert main(["rate", str(path), "--out", str(out), *words]) == 0
    with (out / "board.csv").open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        assert reader.fieldnames == COLUMNS
        return {row["model"]: row for row in reader}


def record(path: Path) -> dict:
    return json.loads((path.parent / OUT / "report.json").read_text("utf-8"))


def published_elo(rows: list[dict]) -> dict[str, float]:
    """Elo as FastChat publishes it: K=4, scale 400, base 10, start 1000, both kinds of tie as half."""
    rating: dict[str, float] = {}
    score = {"model_a": 1.0, "model_b": 0.0}
    for row in rows:
        a, b = row["model_a"], row["model_b"]
        ra, rb = rating.setdefault(a, 1000.0), rating.setdefault(b, 1000.0)
        ea, eb = 1 / (1 + 10 ** ((rb - ra) / 400)), 1 / (1 + 10 ** ((ra - rb) / 400))
        sa = score.get(row["winner"], 0.5)
        rating[a] += 4 * (sa - ea)
        rating[b] += 4 * (1 - sa - eb)
    return rating


def test_the_board_holds_the_published_elo_the_likelihood_s_maximum_and_plain_counts(tmp_path):
    rows = frame(3000, 7)
    board = rate(put(tmp_path / "votes.csv", rows), "--prior", "0", "--bootstrap", "20")
    expected = published_elo(rows)
    assert {model: float(row["elo"]) for model, row in board.items()} == pytest.approx(
        expected, abs=1e-9
    )
    ratings = {model: float(row["bt"]) for model, row in board.items()}
    assert np.mean(list(ratings.values())) == pytest.approx(1000, abs=1e-9)
    share = {"model_a": 1.0, "model_b": 0.0}
    surprise: Counter[str] = Counter()
    for row in rows:
        a, b = row["model_a"], row["model_b"]
        more = share.get(row["winner"], 0.5) - 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / 400))
        surprise.update({a: more, b: -more})
    assert max(map(abs, surprise.values())) < 1e-6
    for model, row in board.items():
        won = sum((row["model_a"], row["winner"]) == (model, "model_a") for row in rows)
        won += sum((row["model_b"], row["winner"]) == (model, "model_b") for row in rows)
        tied = sum(
            model in (row["model_a"], row["model_b"]) and row["winner"] in ("tie", "both_bad")
            for row in rows
        )
        met = sum(model in (row["model_a"], row["model_b"]) for row in rows)
        assert [int(row[column]) for column in COLUMNS[-5:-1]] == [met, won, met - won - tied, tied]
        assert float(row["bt_low"]) < float(row["bt"]) < float(row["bt_high"])
        assert float(row["elo_low"]) <= float(row["elo_median"]) <= float(row["elo_high"])
        assert int(row["rank_low"]) <= int(row["rank_high"]) <= 7 and 1 <= int(row["rank"]) <= 7
    assert (
        list(board) == sorted(board, key=ratings.__getitem__, reverse=True)
        and list(board)[0] == "m6"
    )


def test_rounds_and_methods_that_are_not_ordered_leave_their_columns_blank(tmp_path):
    path = put(tmp_path / "votes.csv", frame(400, 4))
    cases = {
        ("--bootstrap", "0"): SPREAD,
        ("--method", "elo", "--bootstrap", "9"): [*BT, "rank_low", "rank_high", "bt_for"],
        ("--method", "bt", "--bootstrap", "9"): [*ELO, *SPREAD],
        ("--method", "elo", "--bootstrap", "0"): [*SPREAD, *BT, "rank_low", "rank_high", "bt_for"],
    }
    for words, blank in cases.items():
        for row in rate(path, *words).values():
            assert [column for column in COLUMNS if row[column] == ""] == blank
    elo = rate(path, "--method", "elo", "--bootstrap", "9")
    medians = [float(row["elo_median"]) for row in elo.values()]
    assert medians == sorted(medians, reverse=True) and [row["rank"] for row in elo.values()] == [
        "1",
        "2",
        "3",
        "4",
    ]


def test_a_seed_gives_the_same_board_again_and_another_seed_another_spread(tmp_path):
    path = put(tmp_path / "votes.csv", frame(500, 4))
    boards = [rate(path, "--bootstrap", "25", "--seed", seed) for seed in ("1", "1", "2")]
    assert boards[0] == boards[1]
    assert boards[0]["m0"]["elo_median"] != boards[2]["m0"]["elo_median"]
    assert (
        boards[0]["m0"]["elo"] == boards[2]["m0"]["elo"]
        and boards[0]["m0"]["bt"] == boards[2]["m0"]["bt"]
    )


def test_both_bad_counts_half_or_not_at_all_and_says_so(tmp_path, capsys):
    rows = frame(600, 3)
    path = put(tmp_path / "votes.csv", rows)
    bad = sum(row["winner"] == "both_bad" for row in rows)
    half = rate(path, "--bootstrap", "0")
    assert f'votes for "both bad", counted as half for each side: {bad}' in capsys.readouterr().out
    out = rate(path, "--bootstrap", "0", "--both-bad", "out")
    assert f'votes for "both bad", left out: {bad}' in capsys.readouterr().out
    assert (
        sum(int(row["battles"]) for row in half.values())
        - sum(int(row["battles"]) for row in out.values())
        == 2 * bad
    )
    kept = put(tmp_path / "kept.csv", [row for row in rows if row["winner"] != "both_bad"])
    assert rate(kept, "--bootstrap", "0") == out


def test_clusters_widen_intervals_where_votes_repeat(tmp_path):
    coin = random.Random(SEED)
    rows = []
    for item in range(120):
        good = coin.random() < 0.6
        rows += [
            {
                **SAMPLES["clean-battles"][0][0],
                "winner": "model_a" if good else "model_b",
                "judge": f"v{item % 10}",
            }
        ] * 5
        words = [{"role": "user", "content": f"Item {item}"}]
        rows[-5:] = [
            {**row, "conversation_a": words, "question_id": f"{item}-{n}"}
            for n, row in enumerate(rows[-5:])
        ]
    path = put(tmp_path / "votes.json", rows)
    width = {}
    for cluster in ("none", "item", "tuple", "voter"):
        row = rate(path, "--cluster", cluster, "--bootstrap", "50")["model x"]
        width[cluster] = float(row["bt_high"]) - float(row["bt_low"])
        told = record(path)["bradley_terry"]["intervals"]
        assert told["cluster"] == {"none": "vote"}.get(cluster, cluster)
        assert told["clusters"] == {"none": 600, "item": 120, "tuple": 120, "voter": 10}[cluster]
    assert width["tuple"] / width["none"] == pytest.approx(5**0.5, rel=0.05)
    assert width["voter"] != width["tuple"] <= width["item"]


def test_without_items_the_intervals_say_what_they_are(tmp_path, capsys):
    path = put(tmp_path / "votes.csv", frame(50, 3))
    rate(path, "--bootstrap", "0")
    assert "too narrow if items repeat)" in capsys.readouterr().out
    assert record(path)["bradley_terry"]["intervals"]["cluster"] == "vote"
    assert main(["rate", str(path), "--cluster", "voter", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "text", ["", "[]", "model_a,model_b,winner\n", "model_a,model_b,winner\nx,x,tie\n"]
)
@pytest.mark.parametrize("method", ["elo", "bt", "all"])
def test_a_file_without_a_battle_gives_a_clear_board(tmp_path, text, method):
    path = tmp_path / "votes.csv"
    path.write_text(text) if text != "[]" else (path := tmp_path / "votes.json").write_text(text)
    board = rate(path, "--method", method)
    assert board == {}
    assert (path.parent / OUT / "plots.html").exists() and record(path)["notices"]


def test_one_vote_gives_finite_flagged_numbers(tmp_path):
    path = put(tmp_path / "votes.csv", THREE[:1])
    board = rate(path)
    assert 1000 < float(board["x"]["bt"]) < float(board["x"]["bt_high"]) < 3000
    assert board["x"]["rank"] == board["y"]["rank"] == "1"
    assert [row["status"] for row in record(path)["board"]] == ["unbeaten", "winless"]
    assert rate(path, "--prior", "0")["x"]["bt"] == ""
    assert any("no rating without a prior" in notice for notice in record(path)["notices"])


def test_models_that_never_met_are_not_ranked_against_each_other(tmp_path, capsys):
    rows = [
        {**row, "model_a": f"left {row['model_a']}", "model_b": f"left {row['model_b']}"}
        for row in frame(300, 4)
    ]
    rows += [
        {**row, "model_a": f"right {row['model_a']}", "model_b": f"right {row['model_b']}"}
        for row in frame(90, 3)
    ]
    path = put(tmp_path / "votes.csv", rows)
    for method in ("all", "elo"):
        board = rate(path, "--bootstrap", "30", "--method", method)
        assert (
            "2 groups of models can't be compared, so each has its own ranks"
            in capsys.readouterr().out
        )
        assert board["left m3"]["rank"] == board["right m2"]["rank"] == "1"
        assert [model.split()[0] for model in board] == ["left"] * 4 + ["right"] * 3
    assert [len(names) for names in record(path)["bradley_terry"]["components"]] == [4, 3]


def test_the_record_names_the_file_and_every_parameter(tmp_path):
    path = sample("visit-bench", tmp_path)
    rate(path, "--bootstrap", "7", "--seed", "3", "--prior", "0.25", "--cluster", "none")
    told = record(path)
    assert told["parameters"] == {
        "method": "all",
        "bootstrap": 7,
        "cluster": "none",
        "prior": 0.25,
        "seed": 3,
        "both_bad": "half",
        "named": False,
        "aliases": [],
    }
    assert told["file"]["format"] == "visit-bench" and len(told["file"]["sha256"]) == 64
    assert (told["elo"]["k"], told["elo"]["scale"], told["elo"]["base"], told["elo"]["start"]) == (
        4,
        400,
        10,
        1000,
    )
    assert told["elo"]["median_low_high"]["confidence_interval"] is False
    with (path.parent / OUT / "board.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [{key: str(row[key]) for key in COLUMNS} for row in told["board"]] == rows


def test_a_file_with_a_name_that_is_no_text_is_rated(tmp_path):
    path = put(tmp_path / os.fsdecode(b"v\xff.csv"), THREE)
    rate(path)
    assert record(path)["file"]["name"] == "v\ufffd.csv"
    assert "Ratings of v\ufffd.csv" in (path.parent / OUT / "plots.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (
            ["rate", "wrong.csv", "--out", "out"],
            "wrong.csv, row 3, column 'winner': Expected one of",
        ),
        (["rate", "none.csv", "--out", "out"], "none.csv: The file can't be opened"),
        (
            ["votes", "export", "tie.csv", "--format", "visit-bench", "--out", "v.csv"],
            "v.csv, row 2: ",
        ),
        (
            ["votes", "export", "tie.csv", "--out", "v.csv"],
            "stereoscope goes into files that end in",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(tmp_path, monkeypatch, capsys, words, part):
    put(tmp_path / "wrong.csv", [THREE[0], {**THREE[0], "winner": "left"}])
    put(tmp_path / "tie.csv", [THREE[0], THREE[2]])
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and part in said and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["rate"],
        ["rate", "x", "--out", "o", "--prior", "-1"],
        ["rate", "x", "--out", "o", "--bootstrap", "x"],
        ["rate", "x", "--out", "o", "--bootstrap", "100001"],
        ["rate", "x", "--out", "o", "--bootstrap", "99999999999999999999999"],
    ],
)
def test_wrong_words_get_the_usage(words, capsys):
    assert main(words) == 2 and "Usage: python -m arena" in capsys.readouterr().err


def test_votes_go_into_our_format_with_all_they_came_with_and_back_as_they_were(tmp_path, capsys):
    path = sample("fastchat-log", tmp_path)
    ours, back = tmp_path / "ours.parquet", tmp_path / "back.json"
    assert main(["votes", "export", str(path), "--out", str(ours)]) == 0
    assert "rows left out, of type 'share', no battle vote: 1" in capsys.readouterr().out
    assert main(["votes", "export", str(ours), "--format", "fastchat-log", "--out", str(back)]) == 0
    assert read(back) == read(back, "fastchat-log") and read(back).rows == read(path).rows
    assert (
        main(
            [
                "votes",
                "export",
                str(ours),
                "--format",
                "three-columns",
                "--out",
                str(tmp_path / "t.csv"),
            ]
        )
        == 0
    )
    assert (
        "left out because three-columns has no column for it, voter: 6" in capsys.readouterr().out
    )


def test_a_name_is_never_a_formula_nor_markup(tmp_path):
    bad = ["=cmd|'/c calc'!A1", "</script><script>alert(1)</script>", "@SUM(1)", "\uff1d1+1"]
    rows = [{"model_a": a, "model_b": b, "winner": "tie"} for a in bad for b in bad if a < b]
    path = put(tmp_path / "votes.csv", rows)
    board = rate(path, "--bootstrap", "0")
    assert set(board) == {bad[1], *(f"'{name}" for name in (bad[0], *bad[2:]))}
    html = (tmp_path / OUT / "plots.html").read_text("utf-8")
    drawn = html[html.index("<body>") :]
    assert "alert(1)" in drawn and "<script" not in html
    assert not re.search(r"src=|href=|url\(|http", html), "the page needs no network"


def test_rounds_have_a_bound_that_is_named_and_a_seed_has_none(tmp_path, capsys):
    path = put(tmp_path / "votes.csv", frame(60, 3))
    assert main(["rate", str(path), "--out", str(tmp_path / "out"), "--bootstrap", "1000000"]) == 2
    assert "'--bootstrap': Input should be less than or equal to 100000" in capsys.readouterr().err
    assert rate(path, "--bootstrap", "3", "--seed", "99999999999999999999999")


def test_the_page_of_plots_has_drawings_with_their_tables(tmp_path):
    path = put(tmp_path / "votes.csv", frame(200, 5))
    for method, titles in (
        ("all", ["Ratings with 95% intervals", "Predicted win rates", "Battles"]),
        ("elo", ["Elo over vote orders", "Battles"]),
    ):
        shown = list(plots(rating_report(read(path), RatingSettings(method=method, bootstrap=5))))
        assert [plot.title for plot in shown] == titles
        for plot in shown:
            assert plot.drawing and plot.table and len(plot.table.frame) == 5
    html = plots_page("Ratings", shown)
    assert html.count("<svg") == html.count("<table>") == 2
    assert "prefers-color-scheme:dark" in html and "@media print" in html


def test_a_model_without_a_number_is_not_drawn(tmp_path):
    """Without a prior, the votes alone do not rate a model that never lost."""
    rows = [("B", "C"), ("C", "B"), ("A", "B")]
    path = put(
        tmp_path / "votes.csv", [{"model_a": a, "model_b": b, "winner": "model_a"} for a, b in rows]
    )
    report = rating_report(read(path), RatingSettings(prior=0, bootstrap=0))
    assert {row.model for row in report.rows if row.bt is None} == {"A"}
    ratings, chances, _ = plots(report)
    assert [name for name, _ in texts(ratings.table)] == ["B", "C"]
    assert texts(chances.table)[-1][1:] == ["–", "–", "–"]


def test_a_board_s_columns_are_those_that_were_promised():
    row = BoardRow("x", 1.5, None, None, None, None, None, None, None, None, None, 0, 0, 0, 0, None)
    assert as_csv(board_sheet([row])).split("\n")[0] == ",".join(COLUMNS)
    assert as_csv(board_sheet([row])).split("\n")[1] == "x,1.5,,,,,,,,,,0,0,0,0,"


def test_rating_a_file_loads_nothing_that_a_board_does_not_need(tmp_path):
    path = put(tmp_path / "votes.csv", frame(50, 3))
    heavy = (
        "gradio",
        "sqlalchemy",
        "tqdm",
        "torch",
        "PIL",
        "httpx",
        "latex2mathml",
    )
    program = (
        f"import sys; from arena.__main__ import main; main(['rate', {str(path)!r}, '--out', {str(tmp_path / 'o')!r}]);"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.rstrip().endswith("[]"), done.stdout


def test_no_notice_says_more_than_is_so_without_a_prior(tmp_path, capsys):
    """Separated groups that have numbers of their own are not called without; a lone vote makes no two groups."""
    rows = [("A", "B"), ("B", "C"), ("C", "A"), ("A", "C"), ("D", "E"), ("E", "D"), ("A", "D")]
    lines = ["model_a,model_b,winner", *(f"{one},{other},model_a" for one, other in rows)]
    (tmp_path / "separated.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "one.csv").write_text("model_a,model_b,winner\nA,B,model_a\n")
    for name, said, unsaid in (
        ("separated", "each has its own ranks: A, B, C; D, E", "no rating without"),
        ("one", "unbeaten, no rating without a prior: A", "its own ranks"),
    ):
        arguments = [
            "rate",
            str(tmp_path / f"{name}.csv"),
            "--prior",
            "0",
            "--bootstrap",
            "20",
            "--out",
        ]
        assert main([*arguments, str(tmp_path / name)]) == 0
        out = capsys.readouterr().out
        assert said in out and unsaid not in out


def test_a_rank_lies_within_its_own_range(tmp_path):
    """Also of one vote, of which every draw makes the same order."""
    rows = [f"m{one},m{two},{'model_a' if (one + two + turn) % 3 else 'tie'}"
            for turn in range(7) for one in range(6) for two in range(6) if one != two]  # fmt: skip
    for name, lines in (
        ("near", rows),
        ("one", ["A,B,model_a"]),
        ("ties", ["A,B,tie"] * 9 + ["B,C,tie"] * 9),
    ):
        (tmp_path / f"{name}.csv").write_text("\n".join(["model_a,model_b,winner", *lines]) + "\n")
        assert (
            main(
                [
                    "rate",
                    str(tmp_path / f"{name}.csv"),
                    "--bootstrap",
                    "50",
                    "--out",
                    str(tmp_path / name),
                ]
            )
            == 0
        )
        with (tmp_path / name / "board.csv").open(newline="") as file:
            board = list(csv.DictReader(file))
        assert all(
            int(row["rank_low"]) <= int(row["rank"]) <= int(row["rank_high"]) for row in board
        )
    assert [(row["rank_low"], row["rank_high"]) for row in board] == [("1", "3")] * 3


def test_of_votes_that_a_voter_gave_again_the_last_counts(tmp_path, capsys):
    """FastChat's buttons take a second choice on the same conversation; another voter's stands beside it."""
    first = Vote("x", "y", "a", conversation="c1", voter="ada")
    votes = [
        first,
        first,
        first._replace(winner="b"),
        first._replace(voter="eve"),
        first._replace(winner="b"),
    ]
    votes += [first._replace(conversation="c2"), *[first._replace(voter=None)] * 2]
    write(
        Battles(None, *columns_of(votes), rows=({},) * len(votes)),
        tmp_path / "votes.jsonl",
        "stereoscope",
    )
    board = rate(tmp_path / "votes.jsonl", "--bootstrap", "0")
    assert {model: (row["wins"], row["losses"]) for model, row in board.items()} == {
        "x": ("4", "1"),
        "y": ("1", "4"),
    }
    said = capsys.readouterr().out
    assert (
        "one conversation (only the last counts): 3" in said
        and "differ from the last one: 2" in said
    )


def test_where_no_item_is_told_the_question_is_one(tmp_path):
    """As in WildVision-Bench: many pairs of models answer one numbered question."""
    models = ["left", "middle", "right"]
    rows = [
        {
            "question_id": f"q{number % 20}",
            "model_a": a,
            "model_b": b,
            "winner": "model_a",
            "judge": f"v{number}",
        }
        for number, (a, b) in enumerate(
            itertools.islice(itertools.cycle(itertools.permutations(models, 2)), 240)
        )
    ]
    path = put(tmp_path / "votes.json", rows)
    rate(path, "--bootstrap", "0")
    told = record(path)["bradley_terry"]["intervals"]
    assert (told["cluster"], told["clusters"]) == ("item", 20)
    assert told["whose"] == "for voters like these"


def test_without_voters_the_first_line_says_whom_intervals_are_for(tmp_path, capsys):
    path = put(tmp_path / "votes.csv", frame(200, 3))
    board = rate(path, "--bootstrap", "0")
    first = capsys.readouterr().out.partition("format: three-columns\n")[2]
    assert first.startswith(
        "The votes don't say who cast them. Intervals are for these voters only"
    )
    assert {row["bt_for"] for row in board.values()} == {"for these voters only"}
    assert "intervals for these voters only" in (tmp_path / OUT / "plots.html").read_text("utf-8")
    assert record(path)["bradley_terry"]["intervals"]["whose"] == "for these voters only"
    rate(path, "--method", "elo")
    assert "these voters only" not in capsys.readouterr().out, "Elo has no intervals"


def test_families_are_clusters_on_request(tmp_path, capsys):
    """Ten families of which every other one prefers the first model: two hundred items tell little of the next ten."""
    votes = [
        Vote(
            "x", "y", "a" if family % 2 else "b", f"i{number}", f"v{number}", category=f"f{family}"
        )
        for number, family in enumerate([*range(10)] * 20)
    ]
    path = tmp_path / "votes.jsonl"
    write(Battles(None, *columns_of(votes), rows=({},) * len(votes)), path)
    reach = {}
    for cluster in ("item", "picture", "family"):
        row = rate(path, "--cluster", cluster, "--bootstrap", "0")["x"]
        reach[cluster] = float(row["bt_high"]) - float(row["bt"])
    told = record(path)["bradley_terry"]["intervals"]
    assert (told["cluster"], told["clusters"]) == ("family", 10)
    assert reach["item"] == reach["picture"] < 0.5 * reach["family"]
    path = put(tmp_path / "votes.csv", frame(50, 3))
    assert main(["rate", str(path), "--cluster", "family", "--out", str(tmp_path / "out")]) == 2
    assert "don't say which family" in capsys.readouterr().err


def test_items_with_one_picture_hang_together_in_every_format_that_names_it(tmp_path):
    """Also near copies of a text without pictures."""
    rows = [
        {**VISIT[0], "instruction": f"Question {number}?", "image_url": f"https://h/{number % 3}"}
        for number in range(30)
    ]
    path = put(tmp_path / "votes.csv", rows)
    rate(path, "--bootstrap", "0")
    assert record(path)["bradley_terry"]["intervals"]["clusters"] == 3
    texts = ["Hello!", "hello", "Hi", "HELLO ..."]
    picture = [cells.picture_of(text, []) for text in texts]
    assert picture[0] == picture[1] == picture[3] != picture[2]
    assert cells.picture_of("Hello", ["a", "b"]) == cells.picture_of("Hi", ["a"]) != picture[0]
    assert cells.picture_of("Hello", [{}]) is cells.picture_of(" ", ["a"]) is None
