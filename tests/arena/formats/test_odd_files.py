"""Exchange: odd files are read as they are or refused with the row, torn ones up to there; no loss is untold."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pyarrow
import pyarrow.parquet
import pytest

from arena.__main__ import main
from arena.formats import cells
from arena.formats.base import Battles, OtherRow, Vote, columns_of
from arena.formats.registry import FORMAT_NAMES, read, write
from arena.imports.ranked_votes import rankable_battles
from arena.io.strict_json import RowsError
from tests.support.vote_samples import (
    CHAT,
    CLEAN,
    COMPARIA,
    LOG,
    OURS,
    SAMPLES,
    THREE,
    WILDVISION,
    log_line,
    put,
    state,
)

ODD = [
    None,
    "",
    5,
    -1,
    1.5,
    1e15,
    1e300,
    True,
    [],
    {},
    [None, None],
    [["x"]],
    ["a", "b"],
    [1, [2]],
    "nan",
    "inf",
]


def made(*votes: Vote) -> Battles:
    """Return votes that came from nowhere."""
    return Battles(None, *columns_of(votes), rows=({},) * len(votes))


def refused(path: Path, name=None) -> RowsError:
    with pytest.raises(RowsError) as caught:
        read(path, name)
    assert caught.value.file == path.name and "\n" not in str(caught.value)
    return caught.value


# Rows and formats


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", SAMPLES)
def test_a_cell_of_any_kind_is_read_or_refused_and_what_is_read_can_be_written(
    tmp_path, name, every
):
    """In the suite each column has every fourth of the odd cells, columns side by side have others."""
    rows = SAMPLES[name][0]
    first = max(rows, key=len)
    for number, column in enumerate(first):
        without = {key: first[key] for key in first if key != column}
        odd_rows = [without, *({**first, column: odd} for odd in ODD)]
        for row in odd_rows[number % every :: every]:
            path = put(tmp_path / "votes.jsonl", [row])
            for form in FORMAT_NAMES:
                try:
                    battles = read(path, form)
                except RowsError as error:
                    assert error.row == 1
                    continue
                if form == name:
                    assert len(rankable_battles(battles)) <= len(battles)
                    for to in set(FORMAT_NAMES) - {"visit-bench"}:
                        comes_back(battles, tmp_path / "out.jsonl", to)


def comes_back(battles: Battles, path: Path, name) -> None:
    try:
        write(battles, path, name)
    except RowsError:
        return
    assert len(read(path, name)) == len(battles)


def test_wildvision_s_rows_have_an_image_or_null(tmp_path):
    text_only = {**WILDVISION[0], "image": None}
    battles = read(put(tmp_path / "wild.jsonl", [WILDVISION[0], text_only]))
    assert battles.format == "wildvision" and battles.images == (1, None)
    without = {key: value for key, value in WILDVISION[0].items() if key != "image"}
    error = refused(put(tmp_path / "wild.jsonl", [WILDVISION[0], without]))
    assert (error.row, error.column) == (2, "image")


def test_a_file_under_the_wrong_format_is_an_error_of_one_line(tmp_path, capsys):
    near = put(tmp_path / "near.csv", THREE)
    assert main(["rate", str(near), "--format", "wildvision", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert (
        said.startswith("near.csv, row 2, column 'image': Expected this column")
        and said.count("\n") == 1
    )


@pytest.mark.parametrize("origin_row", ["no JSON", "[1]", "[" * 100_000])
def test_a_first_row_that_is_none_is_refused_with_its_vote(tmp_path, origin_row):
    rows = [{**OURS[0], "origin": "clean-battles", "origin_row": text} for text in ("", origin_row)]
    path = put(tmp_path / "ours.jsonl", rows)
    with pytest.raises(RowsError) as caught:
        write(read(path), tmp_path / "again.jsonl", "clean-battles")
    assert (caught.value.row, caught.value.column) == (2, "origin_row")
    assert not (tmp_path / "again.jsonl").exists()


@pytest.mark.parametrize("column", ["origin", "origin_row"])
@pytest.mark.parametrize("winner", ["a", None])
def test_an_origin_that_is_no_text_is_refused(tmp_path, column, winner):
    origin = {"origin": "clean-battles", "origin_row": "{}", column: {"winner": "model_a"}}
    path = put(tmp_path / "ours.jsonl", [OURS[0], {**OURS[0], "winner": winner, **origin}])
    error = refused(path)
    assert (error.row, error.column) == (2, column)


def test_an_origin_without_a_first_row_is_a_vote_without_one(tmp_path):
    first, second = ({**OURS[0], "origin": "three-columns", "origin_row": None} for _ in range(2))
    del second["origin_row"]
    votes = read(put(tmp_path / "ours.jsonl", [first, second]))
    write(votes, tmp_path / "votes.csv", "three-columns")
    one, other = read(tmp_path / "votes.csv").votes()
    assert one == other


# Parquet


def test_what_only_parquet_has_goes_through_json_without_loss(tmp_path):
    beside = {
        "day": date(2024, 10, 20),
        "at": datetime(2024, 10, 20, 12, 30, tzinfo=UTC),
        "hour": clock(12, 30, 5),
        "price": Decimal("12345678901234567890.123456789"),
        "took": timedelta(days=1, microseconds=7),
        "code": UUID(int=7),
    }
    rows = [{**CLEAN[0], **beside, "tstamp": Decimal("1712345678.25")}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "votes.parquet")
    battles = read(tmp_path / "votes.parquet")
    assert battles.time == (1712345678.25,)
    assert write(battles, tmp_path / "ours.jsonl") == ()
    again = json.loads(json.loads((tmp_path / "ours.jsonl").read_text())["origin_row"])
    assert (
        again["day"] == "2024-10-20"
        and again["at"] == "2024-10-20T12:30:00+00:00"
        and again["hour"] == "12:30:05"
    )
    assert Decimal(again["price"]) == beside["price"] and again["took"] == "1 day, 0:00:00.000007"
    assert UUID(again["code"]) == beside["code"]
    write(battles, tmp_path / "again.parquet", "clean-battles")
    assert read(tmp_path / "again.parquet").rows == battles.rows
    write(battles, tmp_path / "votes.jsonl", "clean-battles")
    assert read(tmp_path / "votes.jsonl").time == battles.time


def test_bytes_of_parquet_are_base64_in_a_table_as_in_json(tmp_path):
    rows = [{**THREE[0], "picture": b"\x89PNG"}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "votes.parquet")
    battles = read(tmp_path / "votes.parquet")
    for suffix in (".csv", ".jsonl"):
        write(battles, tmp_path / f"votes{suffix}", "three-columns")
        (row,) = read(tmp_path / f"votes{suffix}").rows
        assert row["picture"] == "iVBORw=="


def test_an_empty_row_of_a_log_comes_back_as_it_was(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (LOG[0], {})))
    battles = read(path, "fastchat-log")
    write(battles, tmp_path / "ours.jsonl")
    for first in (battles, read(tmp_path / "ours.jsonl")):
        write(first, tmp_path / "again.jsonl", "fastchat-log")
        assert json.loads((tmp_path / "again.jsonl").read_text().splitlines()[-1]) == {}


def test_a_day_is_a_time_of_comparia(tmp_path):
    rows = [{**COMPARIA[0], "timestamp": date(2024, 10, 20)}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "votes.parquet")
    assert read(tmp_path / "votes.parquet").time == (
        datetime(2024, 10, 20, tzinfo=UTC).timestamp(),
    )


def test_not_a_number_in_parquet_is_none_as_pandas_writes_it(tmp_path):
    nan = float("nan")
    rows = [
        {**OURS[0], "time": nan, "scores": [{"of": 1.5}, {"of": nan}]},
        {**OURS[1], "time": 5.0, "scores": []},
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "votes.parquet")
    battles = read(tmp_path / "votes.parquet")
    assert battles.time == (None, 5.0) and battles.rows[0]["scores"] == [{"of": 1.5}, {"of": None}]
    write(battles, tmp_path / "votes.jsonl")
    assert list(read(tmp_path / "votes.jsonl").votes()) == list(battles.votes())


@pytest.mark.parametrize("column", ["time", "scores"])
def test_an_infinite_number_in_parquet_is_refused_with_its_row_and_column(tmp_path, column):
    rows = [
        {**OURS[0], "time": 5.0, "scores": 1.0},
        {**OURS[0], "time": 5.0, "scores": 1.0, column: float("-inf")},
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "votes.parquet")
    error = refused(tmp_path / "votes.parquet")
    assert (error.row, error.column) == (2, column) and "finite" in error.problem


def test_a_date_that_python_has_not_is_refused(tmp_path):
    far = pyarrow.array([2**30], pyarrow.int32()).cast("date32")
    votes = pyarrow.table({"model_a": ["x"], "model_b": ["y"], "winner": ["tie"], "day": far})
    pyarrow.parquet.write_table(votes, tmp_path / "votes.parquet")
    assert "This isn't readable Parquet" in refused(tmp_path / "votes.parquet").problem


# Times


@pytest.mark.parametrize("name", ["fastchat-log", "clean-battles", "wildvision", "stereoscope"])
@pytest.mark.parametrize("time", ["nan", "inf", "-Infinity", 1e18, -1e18, True, [], "20/10/2024"])
def test_a_time_that_is_none_is_refused_with_its_row(tmp_path, name, time):
    row = SAMPLES[name][0][1]
    column = "time" if name == "stereoscope" else "tstamp"
    error = refused(put(tmp_path / "votes.jsonl", [row, {**row, column: time}]))
    assert (error.row, error.column) == (2, column)


TIMES = [
    (1718020800, 1718020800.0),
    (1718020800.5, 1718020800.5),
    (1718020800500, 1718020800.5),
    ("1718020800500", 1718020800.5),
    (1718020800500000, 1718020800.5),
    (0, 0.0),
    ("2024-06-10T12:00:00Z", 1718020800.0),
    ("2024-06-10T14:00:00+02:00", 1718020800.0),
    ("2024-06-10 12:00:00", 1718020800.0),
    ("2024-06-10T12:00:00.500000", 1718020800.5),
    ("2024-06-10", 1717977600.0),
]


@pytest.mark.parametrize(("written", "seconds"), TIMES)
@pytest.mark.parametrize(
    "name",
    ["fastchat-log", "clean-battles", "wildvision", "comparia", "search-arena", "open-webui"],
)
def test_a_time_is_read_in_every_unit(tmp_path, name, written, seconds):
    row = SAMPLES[name][0][1]
    column = next(column for column in ("tstamp", "timestamp", "created_at") if column in row)
    assert read(put(tmp_path / "votes.jsonl", [{**row, column: written}])).time == (seconds,)


def test_a_time_beyond_the_calendar_is_refused_before_it_is_written(tmp_path, capsys):
    path = put(tmp_path / "hugetime.jsonl", [{**CLEAN[0], "tstamp": 1e18}])
    assert (
        main(
            [
                "votes",
                "export",
                str(path),
                "--format",
                "comparia",
                "--out",
                str(tmp_path / "out.jsonl"),
            ]
        )
        == 2
    )
    assert capsys.readouterr().err.startswith(
        "hugetime.jsonl, row 1, column 'tstamp': Expected a time such as 2024"
    )
    edge = [Vote("x", "y", "a", time=time) for time in (-62135510400.0, 253402214399.0)]
    write(made(*edge), tmp_path / "edge.jsonl", "comparia")
    assert list(read(tmp_path / "edge.jsonl").votes()) == edge
    put(tmp_path / "early.jsonl", [{**COMPARIA[0], "timestamp": "0001-01-01T00:00:00+05:00"}])
    assert refused(tmp_path / "early.jsonl").column == "timestamp"


# Torn lines and blank ones


@pytest.mark.parametrize(
    "last",
    [
        '{"tstamp": NaN, "type": "leftvote", "models": ["", ""]}',
        "[1,2]",
        '{"a": 1} {"b": ',
        '{"a": 1}}',
        '{"a" 1}',
        "x",
    ],
)
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_a_last_line_that_is_whole_and_wrong_is_no_torn_one(tmp_path, last, end):
    path = tmp_path / "conv.json"
    path.write_text(f"{json.dumps(LOG[1])}\n{last}{end}")
    assert refused(path).row == 2


@pytest.mark.parametrize("end", ["", "\n", "\n\n \n\t\r\n"])
def test_a_torn_last_line_is_one_whatever_blank_lines_follow(tmp_path, end):
    whole = json.dumps(log_line("leftvote", ["", ""], 'Is "{" a \\ bracket? ]}"'))
    path = tmp_path / "conv.json"
    for torn in range(1, len(whole)):
        path.write_text(f"{json.dumps(LOG[1])}\n{whole[:torn]}{end}")
        battles = read(path)
        assert len(battles) == 1 and battles.notices == (
            "row 2, the last, is torn and was skipped",
        )
    path.write_text(f"{json.dumps(LOG[1])}\n{whole}{end}")
    assert len(read(path)) == 2 and not read(path).notices


def test_votes_below_a_long_blank_are_not_passed_over(tmp_path):
    path = tmp_path / "votes.json"
    path.write_text(" " * 5000 + json.dumps(THREE))
    assert len(read(path)) == len(THREE)
    path.write_text("\n" * 9000 + json.dumps(THREE[0]))
    assert "line is empty" in refused(path).problem


# What a format cannot say


def test_a_log_says_of_no_vote_that_it_was_blind_or_not_where_that_is_unknown(tmp_path):
    votes = made(
        Vote("x", "y", "a"), Vote("x", "y", "b", blind=False), Vote("x", "y", "b", blind=True)
    )
    (told,) = write(votes, tmp_path / "conv.json", "fastchat-log")
    assert told == (
        "left out because fastchat-log has no column for it, "
        "that blind is unknown (written as with the names in view): 1"
    )


def test_fractions_of_a_second_that_wildvision_has_no_place_for_are_told(tmp_path):
    votes = made(
        Vote("x", "y", "a", time=5.75), Vote("x", "y", "b", time=5.0), Vote("x", "y", "tie")
    )
    told = write(votes, tmp_path / "wild.jsonl", "wildvision")
    assert told == ("left out because wildvision has no column for it, fractions of a second: 1",)
    assert read(tmp_path / "wild.jsonl").time == (5.0, 5.0, None)


def test_a_model_that_beat_itself_is_written_where_it_can_be_read_back(tmp_path):
    tie, won = Vote("x", "x", "tie"), Vote("x", "x", "b")
    write(made(tie), tmp_path / "votes.jsonl", "comparia")
    assert list(read(tmp_path / "votes.jsonl").votes()) == [tie]
    with pytest.raises(
        RowsError, match="comparIA names the chosen model, but both are 'x'"
    ) as caught:
        write(made(tie, won), tmp_path / "out.jsonl", "comparia")
    assert caught.value.row == 2 and not (tmp_path / "out.jsonl").exists()


def test_a_row_without_a_vote_is_refused_with_its_own_place(tmp_path):
    chat = {"origin": "fastchat-log", "origin_row": "not json"}
    votes = made(Vote("x", "y", "a"), Vote("x", "y", "b"))
    battles = replace(votes, format="stereoscope", others=(OtherRow(1, chat),))
    with pytest.raises(RowsError) as caught:
        write(battles, tmp_path / "log.jsonl", "fastchat-log")
    assert caught.value.row == 2 and caught.value.column == "origin_row"


# FastChat's log


def test_a_vote_whose_page_named_null_is_left_out_as_fastchat_s_cleaner_does(tmp_path):
    for models in ([None, None], ["", None], [None, "model y"]):
        battles = read(
            put(tmp_path / "conv.json", [LOG[1], {**LOG[1], "models": models}], lines=True)
        )
        assert len(battles) == 1 and battles.notices == (
            "rows left out, null for a name on the page: 1",
        )
        assert len(battles.others) == 1
    for models in (["model x", ""], ["", "model y"]):
        nameless = [{**state("x", "?"), "model_name": None}] * 2
        for states in (LOG[1]["states"], nameless):
            row = {**LOG[1], "models": models, "states": states}
            battles = read(put(tmp_path / "conv.json", [LOG[1], row], lines=True))
            assert battles.notices == (
                "rows left out, the names on the page are not those behind it: 1",
            )


def test_a_vote_that_names_no_model_is_refused_with_its_row(tmp_path):
    nameless = {**LOG[1], "states": [{**state("x", "?"), "model_name": None}] * 2}
    for row in (
        nameless,
        {**LOG[1], "models": "x"},
        {**LOG[1], "models": ["x"]},
        {**LOG[1], "models": [1, 2]},
    ):
        error = refused(put(tmp_path / "conv.json", [CHAT, row], lines=True))
        assert (error.row, error.column) == (2, "models")


@pytest.mark.parametrize("rows", [THREE, CLEAN], ids=["three-columns", "clean-battles"])
def test_a_name_has_at_most_200_characters(tmp_path, rows):
    longest = {**rows[1], "model_b": "n" * 200}
    assert read(put(tmp_path / "votes.jsonl", [rows[0], longest])).model_b[1] == "n" * 200
    error = refused(put(tmp_path / "votes.jsonl", [rows[0], {**rows[1], "model_b": "n" * 201}]))
    assert (error.row, error.column) == (
        2,
        "model_b",
    ) and "at most 200 characters, found 201" in str(error)


def test_cells_with_blanks_around_a_name_and_decimal_flags_are_read():
    assert cells.name({"model": f" {'x' * 200} "}, "model") == "x" * 200
    assert cells.flag({"tie": Decimal(1)}, "tie") is True


@pytest.mark.parametrize("text", ["{'a', 'b'}", "[...]", "[1], 2", "{'a': {1}}", "[b'a']", "[1j]"])
def test_a_cell_that_only_looks_like_a_list_or_an_object_stays_text(text):
    assert cells.parsed(text) == text


def test_a_whole_number_with_a_decimal_point_is_the_same_text(tmp_path):
    """pandas writes 7 as 7.0 if a column has gaps."""
    rows = [{**CLEAN[0], "judge": 7.0}, {**CLEAN[0], "judge": 7}, {**CLEAN[0], "judge": None}]
    assert read(put(tmp_path / "votes.jsonl", rows)).voter == ("7", "7", None)
    refused(put(tmp_path / "half.jsonl", [{**CLEAN[0], "judge": 7.5}]))


@pytest.mark.parametrize("written", [1718020800, "1718020800", "2024-06-10T14:00:00+02:00"])
def test_a_time_of_ours_is_in_seconds_or_a_date(tmp_path, written):
    row = {**SAMPLES["stereoscope"][0][1], "time": written}
    assert read(put(tmp_path / "votes.jsonl", [row])).time == (1718020800.0,)


def test_lists_are_read_from_cells_of_a_table_as_from_json(tmp_path):
    battle = {**CLEAN[0], "images": [{"bytes": None, "path": "a.png"}]}
    for row in (battle, SAMPLES["visit-battles"][0][1], SAMPLES["fastchat-log"][0][1]):
        cells = {
            column: json.dumps(value) if isinstance(value, list) else value
            for column, value in row.items()
        }
        in_table = read(put(tmp_path / "votes.csv", [cells]))
        assert list(in_table.votes()) == list(read(put(tmp_path / "votes.json", [row])).votes())
