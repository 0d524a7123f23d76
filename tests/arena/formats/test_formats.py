"""Exchange: every format people hold is told from its content, read whole, and written back with nothing lost."""

import csv
import json
from collections import Counter
from dataclasses import fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.formats.base import Battles, Vote, columns_of
from arena.formats.registry import FORMAT_NAMES, FORMATS, read, write
from arena.formats.three_columns import THREE_COLUMNS
from arena.io.strict_json import RowsError
from arena.types import item_key
from tests.support.vote_samples import (
    CHAT,
    CLEAN,
    COMPARIA,
    EVALICA,
    IMAGE,
    LOG,
    SAMPLES,
    SIMPLE,
    THREE,
    VISION_ARENA,
    VISIT,
    WILDVISION,
    put,
    sample,
)


def content(path: Path) -> list[dict]:
    """Return the rows of a file by the plainest reading."""
    text = path.read_text("utf-8")
    if path.suffix == ".csv":
        return list(csv.DictReader(text.splitlines(keepends=True)))
    return (
        json.loads(text)
        if text.startswith("[")
        else [json.loads(line) for line in text.split("\n") if line]
    )


def test_a_fastchat_log_gives_its_battle_votes_and_says_what_it_leaves_out(tmp_path):
    battles = read(sample("fastchat-log", tmp_path))
    assert battles.format == "fastchat-log"
    assert battles.winner == ("a", "b", "tie", "both_bad", "both_bad", "a")
    assert set(battles.model_a) == {"model x"} and set(battles.model_b) == {"model y"}
    assert battles.blind == (True, True, False, False, True, False)
    assert battles.images == (0, 1, 0, 0, 0, 0)
    assert battles.turns == (1, 2, 1, 1, 1, 1)
    assert battles.item[0] == item_key("How many?", [])
    assert battles.item[1] == item_key("What is \u2028 this? 🔭", [IMAGE])
    assert (battles.voter[0], battles.time[0], battles.conversation[0]) == (
        "1.2.3.4",
        1712345678.1234,
        "c1",
    )
    assert battles.notices == (
        "rows left out, of type 'chat', no battle vote: 1",
        "rows left out, of type 'upvote', no battle vote: 1",
        "rows left out, the names on the page are not those behind it: 1",
        "rows left out, of type 'share', no battle vote: 1",
    )


def test_a_log_torn_in_its_middle_is_refused_with_the_row(tmp_path):
    lines = [json.dumps(row) for row in LOG[1:4]]
    path = tmp_path / "conv.json"
    path.write_text("\n".join([lines[0], lines[1][:50], lines[2], ""]))
    with pytest.raises(RowsError) as caught:
        read(path)
    assert (caught.value.file, caught.value.row) == ("conv.json", 2)


@pytest.mark.parametrize(
    "text", ["", " \n\n", "[]", "model_a,model_b,winner\n", '{"tstamp": 1, "ty']
)
@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_a_file_without_votes_is_read_with_a_report(tmp_path, text, suffix):
    path = tmp_path / f"conv{suffix}"
    path.write_text(text)
    if suffix == ".json" and text.startswith("model"):
        with pytest.raises(RowsError, match="isn't JSON|The JSON ends"):
            read(path)
        return
    battles = read(path)
    assert (
        len(battles) == 0
        and battles.rows == ()
        and battles.notices[-1] == f"conv{suffix} has no votes"
    )


@pytest.mark.parametrize(
    "form", [form for form in FORMATS if form.suffixes], ids=attrgetter("name")
)
def test_no_votes_are_written_in_every_format(tmp_path, form):
    for suffix in form.suffixes:
        path = tmp_path / f"none{suffix}"
        assert write(Battles(None, *columns_of(()), rows=()), path, form.name) == ()
        assert len(read(path)) == 0


def test_a_log_of_chats_alone_holds_no_votes(tmp_path):
    battles = read(put(tmp_path / "conv.json", [CHAT, CHAT], lines=True))
    assert battles.notices == (
        "rows left out, of type 'chat', no battle vote: 2",
        "conv.json has no votes",
    )


def test_the_kinds_of_tie_are_kept_apart_and_keep_their_spelling(tmp_path):
    battles = read(sample("clean-battles", tmp_path))
    assert battles.winner == ("a", "b", "tie", "both_bad", "both_bad")
    write(battles, tmp_path / "again.json", "clean-battles")
    assert [row["winner"] for row in content(tmp_path / "again.json")] == [
        row["winner"] for row in CLEAN
    ]


def test_clean_battles_and_their_kin_give_what_they_know(tmp_path):
    battles = read(sample("clean-battles", tmp_path))
    counts = item_key("Count.", []), item_key("Count.", [IMAGE])
    assert battles.item == (*counts, item_key("Read it.", []), "q3", item_key("Why?", []))
    assert battles.images == (None, 1, None, 1, None)
    assert (battles.voter[0], battles.language[0]) == ("arena_user_7", "English")
    arena = read(put(tmp_path / "va.jsonl", VISION_ARENA))
    assert (arena.format, arena.images, arena.item) == (
        "clean-battles",
        (1,),
        (item_key("Count.", [f"{IMAGE}.png"]),),
    )
    wild = read(sample("wildvision", tmp_path))
    assert (wild.format, wild.category[0], wild.images[0], wild.time[0]) == (
        "wildvision",
        "Daily",
        1,
        1712345678,
    )
    assert wild.item[0] == item_key("Count.", ["in.png"])
    simple = read(put(tmp_path / "simple.json", SIMPLE))
    assert simple.format == "clean-battles" and simple.item == (None,) * 5


def test_two_images_without_names_are_not_taken_for_one(tmp_path):
    rows = [{**row, "image": {"bytes": None, "path": None}} for row in WILDVISION]
    assert read(put(tmp_path / "wild.jsonl", rows)).item == ("q0", "q2", "q3"), (
        "their questions' numbers"
    )


def test_visit_bench_votes_name_the_bank_s_items(tmp_path):
    battles = read(sample("visit-bench", tmp_path))
    assert (
        battles.winner == ("a", "b", "b") and battles.model_b == ("human_verified_reference",) * 3
    )
    key = item_key(VISIT[0]["instruction"], [VISIT[0]["image_url"]])
    assert (
        battles.item == (key,) * 3 and battles.images == (1,) * 3 and battles.voter == (None,) * 3
    )


def test_a_judges_result_that_its_reply_contradicts_is_no_vote(tmp_path):
    """A file whose results mean the side that was shown, and not the row's, is found out, and nothing of it is lost."""
    (row, *_) = SAMPLES["visit-battles"][0]
    replies = ["Step 1.\n**Overall, Response A is better.**", "Overall, Response B is better."]
    right = {**row, "auto_evaluation_cot": replies, "auto_evaluation_result": ["A", "A"]}
    shown = {**right, "auto_evaluation_result": ["A", "B"]}
    odd = {
        **shown,
        "B_model_in_cot": ["someone else", 7],
        "auto_evaluation_cot": [None, *replies[1:]],
    }
    rows = [right, shown, odd, {**shown, "B_model_in_cot": None}]
    path = put(tmp_path / "battles.jsonl", rows)
    battles = read(path)
    assert battles.winner == ("a", "tie", "tie"), "names that are not there tell nothing"
    assert battles.notices == ("rows left out, a result is not what the judge's reply says: 1",)
    write(battles, tmp_path / "again.jsonl", "visit-battles")
    again = map(json.loads, (tmp_path / "again.jsonl").read_text("utf-8").splitlines())
    assert list(again) == rows


def test_comparia_names_the_chosen_model(tmp_path):
    battles = read(sample("comparia", tmp_path))
    assert battles.winner == ("a", "b", "tie", "b")
    assert battles.voter == ("v1", "s1", "v2", "v2")
    assert battles.time[0] == datetime(2024, 10, 20, 12, 34, 56, 789012, UTC).timestamp()


def test_a_models_answer_is_not_taken_for_the_question(tmp_path):
    row = {
        "model_a": "x",
        "model_b": "y",
        "choice": "a_better",
        "response_a": [{"role": "assistant", "content": "Salut"}],
    }
    battles = read(put(tmp_path / "turns.jsonl", [row]))
    assert battles.format == "comparia-turns"
    assert battles.item == battles.picture == (None,)


@pytest.mark.parametrize(
    "name", ["three-columns", "stereoscope", "comparia", "clean-battles", "visit-battles"]
)
def test_blanks_around_a_models_name_make_no_second_model(tmp_path, name):
    path = sample(name, tmp_path)
    plain, rows = read(path), content(path)
    names = [*plain.model_a, *plain.model_b]
    blank = [
        {column: f" {cell} " if cell in names else cell for column, cell in row.items()}
        for row in rows
    ]
    battles = read(put(path, blank))
    assert (battles.model_a, battles.model_b, battles.winner) == (
        plain.model_a,
        plain.model_b,
        plain.winner,
    )
    assert [line.row for line in battles.lines()] != [line.row for line in plain.lines()], (
        "rows stay as they came"
    )


WRONG = [
    ("fastchat-log", {"type": "leftvot"}),
    ("clean-battles", {"winner": "model_c"}),
    ("three-columns", {"winner": "Model_A"}),
    ("three-columns", {"winner": ""}),
    ("wildvision", {"winner": None}),
    ("visit-bench", {"model_selection.A": "maybe"}),
    ("visit-bench", {"model_selection.A": "False", "model_selection.B": "False"}),
    ("visit-bench", {"model_selection.A": "True", "model_selection.B": "True"}),
    ("comparia", {"chosen_model_name": "model z"}),
    ("comparia", {"chosen_model_name": None, "both_equal": False}),
    ("comparia", {"chosen_model_name": "model x", "both_equal": True}),
    ("comparia-turns", {"choice": "a"}),
    ("evalica", {"left": ""}),
    ("kaggle-arena", {"winner_model_a": 1}),
    ("kaggle-arena", {"winner_model_a": 0, "winner_model_b": 0}),
    ("stereoscope", {"winner": "left"}),
]


@pytest.mark.parametrize(("name", "change"), WRONG)
def test_an_unknown_winner_is_an_error_with_its_row(tmp_path, name, change):
    rows, suffix = SAMPLES[name]
    path = put(
        tmp_path / f"votes{suffix}",
        [rows[1], {**rows[1], **change}, rows[1]],
        lines=name == "fastchat-log",
    )
    row = 2 + (suffix == ".csv")
    if suffix == ".json" and name != "fastchat-log":
        row = path.read_text("utf-8").split("\n").index("  {", 2) + 1
    if name == "visit-bench":
        row = 4  # each instruction has a line break
    with pytest.raises(RowsError) as caught:
        read(path)
    assert caught.value.file == path.name and caught.value.column in {*change, "chosen_model_name"}
    assert caught.value.row == row, str(caught.value)


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_each_format_is_told_from_its_content(tmp_path, name):
    assert read(sample(name, tmp_path)).format == name


def test_what_no_format_fits_is_refused_by_what_was_found(tmp_path):
    path = put(tmp_path / "votes.csv", [{"left": "x", "right": "y", "won": "left"}])
    with pytest.raises(RowsError, match=r"three-columns.*Found 'left', 'right', 'won'"):
        read(path)
    with pytest.raises(RowsError, match="can't be opened"):
        read(tmp_path / "none.csv")


def test_an_object_over_several_lines_is_refused_as_one_and_an_empty_one_by_its_columns(tmp_path):
    (tmp_path / "votes.json").write_text(json.dumps({"votes": THREE}, indent=1), encoding="utf-8")
    with pytest.raises(RowsError, match="one JSON object over several lines"):
        read(tmp_path / "votes.json")
    with pytest.raises(RowsError, match=r"Found none\."):
        read(put(tmp_path / "empty.json", [{}]))


def test_columns_that_a_plain_format_does_not_read_are_named(tmp_path):
    rows = [*THREE, {**THREE[0], "voter": "p1", "item": "What is it?"}]
    path = put(tmp_path / "votes.json", rows)
    (notice,) = read(path).notices
    assert notice.startswith("columns that three-columns doesn't read: 'item', 'voter'. ")
    evalica = [{**row, "voter": "p1"} for row in EVALICA]
    assert "evalica doesn't read: 'voter'" in read(put(tmp_path / "e.csv", evalica)).notices[0]
    assert read(put(tmp_path / "three.json", THREE)).notices == ()


def test_a_named_format_is_taken_at_its_word(tmp_path):
    path = put(tmp_path / "votes.json", CLEAN)
    assert read(path, "three-columns").format == "three-columns"
    with pytest.raises(RowsError, match="A_model|model_selection"):
        read(path, "visit-bench")


@pytest.mark.parametrize("name", [form.name for form in FORMATS if form.suffixes])
def test_a_round_trip_loses_nothing(tmp_path, name):
    path = sample(name, tmp_path)
    battles = read(path)
    again = tmp_path / f"again{path.suffix}"
    assert write(battles, again, name) == ()
    voted = {id(row) for row in battles.rows}
    assert len(voted) == len(battles)
    if name == "fastchat-log":
        assert content(again) == LOG, "chats and other lines stay, each in its place"
    else:
        assert again.read_bytes() == path.read_bytes() or content(again) == content(path)
    assert columns(read(again)) == columns(battles)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_a_round_trip_through_our_votes_loses_nothing(tmp_path, name, suffix):
    path = sample(name, tmp_path)
    battles = read(path)
    ours, direct, back = (
        tmp_path / f"ours{suffix}",
        tmp_path / f"direct{path.suffix}",
        tmp_path / f"back{path.suffix}",
    )
    assert write(battles, ours) == ()
    imported = read(ours)
    assert imported.format == "stereoscope" and columns(imported) == columns(battles)
    if name not in {form.name for form in FORMATS if form.suffixes}:
        with pytest.raises(RowsError, match=f"read from {name} but not written to it"):
            write(imported, back, name)
        return
    assert write(imported, back, name) == ()
    write(battles, direct, name)
    assert back.read_bytes() == direct.read_bytes() or content(back) == content(direct)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet"])
def test_the_three_columns_go_through_every_kind_of_file(tmp_path, suffix):
    battles = read(sample("three-columns", tmp_path))
    path = tmp_path / f"votes{suffix}"
    write(battles, path, "three-columns")
    assert read(path) == battles
    empty = tmp_path / f"empty{suffix}"
    write(read(put(tmp_path / "none.json", [])), empty, "three-columns")
    assert len(read(empty)) == 0
    if suffix == ".csv":
        assert content(path) == content(sample("three-columns", tmp_path))


def test_parquet_keeps_pictures_and_times(tmp_path):
    at = datetime(2024, 10, 20, 12, tzinfo=UTC)
    rows = [
        {**COMPARIA[0], "timestamp": at, "picture": b"\x89PNG"},
        {**COMPARIA[1], "timestamp": at, "picture": b"\0"},
    ]
    votes = [Vote("model x", "model y", winner, time=at.timestamp()) for winner in ("a", "b")]
    battles = Battles("comparia", *columns_of(votes), rows=tuple(rows))
    write(battles, tmp_path / "votes.parquet", "comparia")
    again = read(tmp_path / "votes.parquet")
    assert again.rows == battles.rows and again.time == battles.time
    write(again, tmp_path / "ours.jsonl")
    assert (
        json.loads(json.loads((tmp_path / "ours.jsonl").read_text().split("\n")[0])["origin_row"])[
            "picture"
        ]
        == "iVBORw=="
    )


def test_a_broken_parquet_is_refused(tmp_path):
    path = tmp_path / "votes.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(RowsError, match="This isn't readable Parquet"):
        read(path)


def test_what_a_format_has_no_word_for_is_refused_with_its_place_and_nothing_is_written(tmp_path):
    battles = read(sample("three-columns", tmp_path))
    for name, place in (("visit-bench", 3), ("comparia", 4)):
        path = tmp_path / "out.csv"
        with pytest.raises(RowsError) as caught:
            write(battles, path, name)
        assert caught.value.row == place and not path.exists()
    with pytest.raises(RowsError, match=r"\.csv, \.tsv"):
        write(battles, tmp_path / "out.json", "visit-bench")


def test_what_a_format_has_no_place_for_is_told(tmp_path):
    battles = read(sample("stereoscope", tmp_path))
    told = write(battles, tmp_path / "out.csv", "three-columns")
    lost = {"item", "voter", "time", "category", "turns", "images", "conversation", "blind"}
    assert set(told) == {
        f"left out because three-columns has no column for it, {column}: 1" for column in lost
    }


TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12
)
NAMES = TEXTS.map(str.strip).filter(lambda text: text not in ("", "Model A", "Model B"))
TIMES = st.integers(0, 4_000_000_000).map(float)


@st.composite
def votes_of(draw, form) -> list[Vote]:
    """Draw votes that say no more than a format holds."""
    without_both_bad = dict.fromkeys(("comparia", "evalica", "visit-battles"), ["a", "b", "tie"])
    winners = {"visit-bench": ["a", "b"], **without_both_bad}.get(
        form.name, ["a", "b", "tie", "both_bad"]
    )
    drawn = {
        "item": TEXTS,
        "voter": TEXTS,
        "time": TIMES,
        "category": TEXTS,
        "language": TEXTS,
        "turns": st.integers(1, 99),
        "images": st.integers(0, 9),
        "conversation": TEXTS,
        "blind": st.booleans(),
        "judge": st.booleans(),
        "picture": TEXTS,
    }
    held = {
        column: st.none() | values if column in form.holds else st.none()
        for column, values in drawn.items()
    }
    if form.name == "fastchat-log":
        held["blind"] = st.booleans()
    if form.name == "visit-battles":
        held["judge"] = st.just(True)
    vote = st.builds(Vote, NAMES, NAMES, st.sampled_from(winners), **held)
    return draw(
        st.lists(vote.filter(lambda vote: vote.model_a != vote.model_b), min_size=1, max_size=6)
    )


WRITTEN = [(form, suffix) for form in FORMATS for suffix in form.suffixes]


@pytest.mark.parametrize(("form", "suffix"), WRITTEN, ids=lambda part: getattr(part, "name", part))
def test_votes_from_elsewhere_come_back_from_every_file(tmp_path_factory, form, suffix):
    path = tmp_path_factory.mktemp("votes") / f"votes{suffix}"

    @settings(max_examples=10, deadline=None)
    @given(votes_of(form))
    def comes_back(votes: list[Vote]) -> None:
        made = Battles(None, *columns_of(votes), rows=({},) * len(votes))
        assert write(made, path, form.name) == ()
        again = read(path)
        assert again.format == form.name and not again.notices
        assert list(again.votes()) == votes

    comes_back()


def test_a_long_frame_is_read_as_row_by_row_and_its_wrong_row_is_found(tmp_path):
    rows = [
        {"model_a": f"m{place}", "model_b": "n", "winner": THREE[place % 4]["winner"]}
        for place in range(10_001)
    ]
    path = put(tmp_path / "votes.csv", rows)
    battles = read(path)
    assert list(battles.rows) == rows
    assert list(battles.votes()) == [THREE_COLUMNS.vote(row) for row in rows]
    for wrong in ({"winner": "left"}, {"model_b": " "}):
        column = next(iter(wrong))
        put(path, [*rows[:9000], {**rows[9000], **wrong}, *rows[9001:]])
        with pytest.raises(RowsError) as caught:
            read(path)
        assert (caught.value.row, caught.value.column) == (9002, column)


def test_a_long_log_keeps_its_votes_and_columns_aligned(tmp_path):
    lines = [{**LOG[place % len(LOG)], "ip": f"user {place}"} for place in range(9000)]
    battles = read(put(tmp_path / "conv.json", lines, lines=True))
    assert len(battles) == 5400 and battles.voter == tuple(row["ip"] for row in battles.rows)
    assert battles.winner == ("a", "b", "tie", "both_bad", "both_bad", "a") * 900
    assert battles.notices[0] == "rows left out, of type 'chat', no battle vote: 900"
    assert columns_of([]) == [()] * len(Vote._fields)


def columns(battles: Battles) -> Battles:
    """Return battles without what tells from which file they came."""
    return replace(battles, format=None, rows=(), others=(), notices=())


def test_the_columns_of_battles_are_those_of_a_vote():
    names = [field.name for field in fields(Battles)]
    assert names[1 : 1 + len(Vote._fields)] == list(Vote._fields)
    assert Counter(names).most_common(1)[0][1] == 1
