"""Vote logs as they are found in the field (`data/field/votes`), and today's layouts: what each of them tells."""

import csv
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from arena.__main__ import main
from arena.formats.registry import read, write
from arena.types import bare, item_key
from tests.support.vote_samples import (
    CLEAN,
    COMPARIA_TURNS,
    EXPERT_5K,
    KAGGLE_ARENA,
    LABEL_STUDIO,
    LABEL_STUDIO_FLAT,
    OPEN_WEBUI,
    PREFERENCE_100K,
    PREFERENCE_140K,
    SEARCH_ARENA,
    THREE,
    WILDVISION,
    put,
)


@pytest.fixture
def field(data) -> Path:
    return data / "field" / "votes"


def rate(path: Path, out: Path, *words: str) -> list[dict[str, str]]:
    """The rows of a file's board, the best model first."""
    assert main(["rate", str(path), "--out", str(out), "--bootstrap", "0", *words]) == 0
    with (out / "board.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


NAMED = "30 votes with model names visible left out. To include them, add --named"
FOUND = [
    ("fc_named.json", [], NAMED, "m1", 10),
    ("fc_named.json", ["--named"], "votes cast with the model names visible: 30", "m2", 40),
    ("cb_dedup.json", [], "20 votes marked as duplicate by the file left out", "m1", 5),
    ("c_samemodel.jsonl", [], "2 votes comparing a model with itself left out", "a", 1),
    ("r5_case.csv", [], "differ only in case, dashes or blanks: 'GPT-4o', 'GPT\u20114o'", None, 14),
    (
        "r5_case.csv",
        ["--alias", "gpt-4o=GPT-4o", "--alias", "GPT\u20114o=GPT-4o"],
        "votes: 14, models: 2",
        "GPT-4o",
        14,
    ),
    ("t_iso.jsonl", [], "votes: 6, models: 2", "b", 6),
    ("t_ms.jsonl", [], "votes: 6, models: 2", "a", 6),
    ("rf1_140k.jsonl", [], "votes: 60, models: 3", None, 60),
]


@pytest.mark.parametrize(("name", "words", "said", "leads", "votes"), FOUND)
def test_a_log_of_the_field_is_rated(field, tmp_path, capsys, name, words, said, leads, votes):
    board = rate(field / name, tmp_path / "out", *words)
    printed = capsys.readouterr().out
    assert said in printed and f"votes: {votes}, " in printed
    assert leads in (None, board[0]["model"])


def as_100k(row: dict) -> dict:
    question = row["conversation_a"][0]["content"][0]["text"]
    turns = json.dumps([{"role": "user", "content": question}])
    names = {column: row[column] for column in ("model_a", "model_b", "winner")}
    return {
        **names,
        "question_id": row["id"],
        "conversation_a": turns,
        "conversation_b": turns,
        "judge_hash": row["evaluation_session_id"],
        "anony": True,
    }


def as_search_arena(row: dict) -> dict:
    return {
        **{column: row[column] for column in ("model_a", "model_b", "winner")},
        "messages_a": row["conversation_a"],
        "messages_b": row["conversation_b"],
        "judge": row["evaluation_session_id"],
    }


def as_comparia(row: dict) -> dict:
    return {
        **{column: row[column] for column in ("model_a", "model_b")},
        "choice": {"tie": "both_good"}.get(row["winner"], row["winner"]),
        "mode": "random",
        "full_conversation_a": row["conversation_a"],
        "visitor_id": row["evaluation_session_id"],
    }


def test_the_same_votes_have_the_same_intervals_in_every_layout(field, tmp_path):
    lines = (field / "cmp_140k.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    board = rate(field / "cmp_140k.jsonl", tmp_path / "140k")
    assert len(board) == 4 and {row["bt_for"] for row in board} == {"for voters like these"}
    assert rate(field / "cmp_100k.jsonl", tmp_path / "100k") == board
    for other in (as_100k, as_search_arena, as_comparia):
        path = put(tmp_path / f"{other.__name__}.jsonl", list(map(other, rows)))
        assert rate(path, tmp_path / other.__name__) == board


def test_a_report_names_the_votes_that_were_let_in_and_the_models_that_were_merged(field, tmp_path):
    rate(field / "fc_named.json", tmp_path, "--named", "--alias", "m2=m3")
    parameters = json.loads((tmp_path / "report.json").read_text("utf-8"))["parameters"]
    assert (parameters["named"], parameters["aliases"]) == (True, ["m2=m3"])


# Pictures


def test_pictures_are_known_by_their_bytes(field, tmp_path):
    one = read(field / "wv_path.parquet")
    other = read(field / "wv_samepath.parquet")
    assert len(set(one.picture)) == len(set(other.picture)) == 8
    assert set(one.item) == set(other.item) and None not in one.item
    write(other, tmp_path / "votes.jsonl", "wildvision")
    assert read(tmp_path / "votes.jsonl").item == other.item, "base64 in JSON is the same picture"
    rate(field / "wv_samepath.parquet", tmp_path / "out")
    record = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert record["bradley_terry"]["intervals"]["clusters"] == 8


def test_a_null_path_is_no_name_of_a_picture(tmp_path):
    rows = [
        {**WILDVISION[0], "question_id": f"q{number}", "image": {"bytes": held, "path": path}}
        for number, (held, path) in enumerate(
            [(b"1", None), (b"1", "a.png"), (b"2", None), (None, "a.png"), (None, "a.png")]
        )
    ]
    path = tmp_path / "votes.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    items = read(path).item
    assert items[0] == items[1] != items[2] and items[3] == items[4] == item_key(
        "Count.", ["a.png"]
    )
    parts = [
        {"type": "text", "text": "Count."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,MQ=="}},
    ]
    shown = {**CLEAN[0], "conversation_a": [{"role": "user", "content": parts}]}
    assert read(put(tmp_path / "votes.json", [shown])).item == (items[0],), "a data URL holds bytes"
    nothing = {**WILDVISION[0], "question_id": None, "image": {"bytes": None, "path": None}}
    assert read(put(tmp_path / "votes.jsonl", [nothing])).item == (None,)


# What today's layouts tell

COUNT = item_key("Count.", [])
BONJOUR = item_key("Bonjour", [])
LAYOUTS = {
    "arena-human-preference-140k": (
        PREFERENCE_140K,
        {
            "winner": ("a", "b", "tie", "both_bad"),
            "item": (COUNT,) * 4,
            "voter": ("s0", "s0", "s1", "s1"),
            "time": (1748779200.0,) * 4,
            "language": ("en",) * 4,
        },
    ),
    "arena-human-preference-100k": (
        PREFERENCE_100K,
        {
            "item": (COUNT,) * 4,
            "voter": ("s0", "s0", "s1", "s1"),
            "time": (1748779200.0,) * 4,
            "blind": (True,) * 4,
        },
    ),
    "arena-expert-5k": (EXPERT_5K, {"item": (COUNT,) * 4, "voter": (None,) * 4}),
    "search-arena": (
        SEARCH_ARENA,
        {
            "winner": ("a", "tie", "both_bad"),
            "item": (COUNT, item_key("Read it.", []), item_key("Why?", [])),
            "voter": ("78996144fc08f820",) * 3,
            "time": (1742315940.55,) * 3,
            "language": ("English",) * 3,
            "category": ("Factual Lookup",) * 3,
            "notices": ("rows left out, no vote was cast: 1",),
        },
    ),
    "Kaggle's 55k, one-hot": (
        KAGGLE_ARENA,
        {
            "winner": ("a", "b", "tie"),
            "item": (COUNT,) * 3,
            "turns": (2,) * 3,
            "voter": (None,) * 3,
        },
    ),
    "Kaggle's WSDM Cup": (
        [
            {
                "id": "e1",
                "prompt": "Count.",
                "response_a": "5",
                "response_b": "6",
                "winner": "model_b",
                "model_a": "x",
                "model_b": "y",
                "language": "English",
            }
        ],
        {"winner": ("b",), "item": (COUNT,), "language": ("English",)},
    ),
    "comparIA's newer table": (
        COMPARIA_TURNS,
        {
            "winner": ("a", "b", "tie", "both_bad"),
            "item": (BONJOUR,) * 4,
            "picture": (item_key(bare("Bonjour"), []),) * 4,
            "time": (1785860155.911,) * 4,
            "conversation": ("c0", "c1", "c2", "c3"),
            "turns": (1,) * 4,
            "language": ("fr",) * 4,
            "category": ("Education",) * 4,
            "notices": ("rows left out, no choice was made on the turn: 2",),
        },
    ),
    "Label Studio, JSON": (
        LABEL_STUDIO,
        {
            "model_a": ("x", "x"),
            "winner": ("a", "b"),
            "item": (COUNT,) * 2,
            "voter": ("1",) * 2,
            "time": (1711690794.721157,) * 2,
            "notices": ("rows left out, the annotator skipped the task: 1",),
        },
    ),
    "Label Studio, JSON_MIN": (
        LABEL_STUDIO_FLAT,
        {
            "winner": ("a", "b"),
            "item": (COUNT,) * 2,
            "voter": ("1",) * 2,
            "time": (1711690794.721157,) * 2,
        },
    ),
    "Label Studio, CSV": (
        [{**row, "pw": json.dumps(row["pw"])} for row in LABEL_STUDIO_FLAT],
        {"winner": ("a", "b"), "item": (COUNT,) * 2, "voter": ("1",) * 2},
    ),
    "Evalica": (
        [
            {"left": "x", "right": "y", "winner": winner}
            for winner in ("left", "right", "tie", "Left", "", "skip")
        ],
        {
            "winner": ("a", "b", "tie", "a"),
            "notices": (
                "rows left out, a winner that evalica ignores (it reads left, right and tie): 2",
            ),
        },
    ),
    "Open WebUI": (
        OPEN_WEBUI,
        {
            "winner": ("a", "b"),
            "item": (COUNT,) * 2,
            "voter": ("u1",) * 2,
            "time": (1729946400.0,) * 2,
            "blind": (True,) * 2,
            "notices": (
                "rows left out, no other model answered beside it: 1",
                "rows left out, neither a thumb up nor a thumb down: 1",
            ),
        },
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_of_today_tells_its_items_voters_and_times(tmp_path, layout):
    rows, told = LAYOUTS[layout]
    suffix = (
        ".csv" if "CSV" in layout or layout in ("Evalica", "Kaggle's 55k, one-hot") else ".json"
    )
    battles = read(put(tmp_path / f"votes{suffix}", rows))
    assert {column: getattr(battles, column) for column in told} == told


def test_a_row_of_several_votes_gives_each_of_them(tmp_path):
    (task, *_) = LABEL_STUDIO
    (annotation,) = task["annotations"]
    second = {**annotation, "id": 11, "completed_by": {"id": 2, "email": "b@example.org"}}
    tasks = [{**task, "annotations": [annotation, second]}, {**task, "annotations": []}]
    battles = read(put(tmp_path / "tasks.json", tasks))
    assert battles.voter == ("1", "b@example.org")
    assert battles.notices == ("rows left out, no choice of left or right: 1",)
    thumb = {**OPEN_WEBUI[0], "data": {**OPEN_WEBUI[0]["data"], "sibling_model_ids": ["y", "z"]}}
    battles = read(put(tmp_path / "feedback.json", [thumb]))
    assert (battles.model_a, battles.model_b) == (("x", "x"), ("y", "z"))


@pytest.mark.parametrize("prompt", ['{"a": 1}', "[1, 2]", "{'a', 'b'}", "['a', 2]"])
def test_a_prompt_that_reads_like_data_is_a_text(tmp_path, prompt):
    battles = read(put(tmp_path / "votes.csv", [{**KAGGLE_ARENA[0], "prompt": prompt}]))
    assert (battles.item, battles.turns) == ((item_key(prompt, []),), (1,))


def test_an_error_tells_the_whole_length_of_a_data_url(tmp_path):
    url = f"data:image/png;base64,{'A' * 400}"
    with pytest.raises(ValueError, match="found 'a data URL of 422 characters'"):
        read(put(tmp_path / "votes.jsonl", [{**CLEAN[0], "tstamp": url}]))


@pytest.mark.parametrize("row", [CLEAN[0], THREE[0]], ids=["clean-battles", "three-columns"])
def test_a_name_ends_before_a_line_end(tmp_path, row):
    battles = read(put(tmp_path / "votes.jsonl", [{**row, "model_a": "gpt-4\n"}]))
    assert battles.model_a == ("gpt-4",)


def test_a_thumb_beside_an_unknown_model_leaves_the_other_thumbs(tmp_path):
    thumbs = [
        {**OPEN_WEBUI[0], "data": {**OPEN_WEBUI[0]["data"], **data}}
        for data in (
            {"sibling_model_ids": ["y", None, "z"]},
            {"sibling_model_ids": [None]},
            {"model_id": None},
            {"rating": -1.0},
        )
    ]
    battles = read(put(tmp_path / "feedback.json", thumbs))
    assert (battles.model_b, battles.winner) == (("y", "z", "y"), ("a", "a", "b"))
    assert battles.notices == (
        "rows left out, no other model answered beside it: 1",
        "rows left out, the answer has no model: 1",
    )


def test_a_task_that_names_no_models_is_refused_and_one_without_a_prompt_is_its_own_item(tmp_path):
    (task, *_) = LABEL_STUDIO
    unnamed = {**task, "data": {"text1": "5", "text2": "6"}}
    with pytest.raises(ValueError, match=r"tasks.json, row \d: Expected two members"):
        read(put(tmp_path / "tasks.json", [unnamed]))
    plain = {**task, "data": {"left_model": "x", "right_model": "y"}}
    assert read(put(tmp_path / "tasks.json", [plain])).item == ("task 0",)


def test_members_of_a_task_are_in_alphabetical_order_in_any_case(tmp_path):
    (task, *_) = LABEL_STUDIO
    mixed = {**task, "data": {"Model_b": "y", "model_a": "x"}}
    battles = read(put(tmp_path / "tasks.json", [mixed]))
    assert (battles.model_a, battles.model_b, battles.winner) == (("x",), ("y",), ("a",))


def test_a_table_says_in_words_that_no_task_was_skipped(tmp_path):
    rows = [{**row, "was_cancelled": "False"} for row in LABEL_STUDIO_FLAT]
    assert read(put(tmp_path / "tasks.csv", rows)).winner == ("a", "b")
