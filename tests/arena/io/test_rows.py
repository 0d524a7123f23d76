"""Rows of people's tables: rows by a model, or one sentence that says where, what was expected and what to do."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, Field, model_validator

from arena.io.csv_text import csv_text, safe_cell
from arena.io.rows import (
    FileRow,
    Heading,
    Name,
    cell,
    column_named,
    read_rows,
    rows_of,
    sound_rows,
)
from arena.io.strict_json import JSON, RowsError
from arena.io.tables import Record, read_records


class Mark(FileRow):
    """A person's mark."""

    item: Name
    marker: Annotated[
        str,
        Heading(("marker", "workerid"), "a column 'marker'", "Write it above the names."),
        cell("a person's name", "Delete the row.", bool),
    ]
    score: Annotated[float, Field(ge=0, le=1)]
    round: Annotated[int, Field(gt=0, lt=3)] = 1
    kind: Literal["first", "check"] = "first"
    is_paid: bool = False
    status: Annotated[
        str, Heading(("status",)), cell("a status", "Write ok.", lambda text: text == "ok")
    ] = ""
    note: Annotated[str, Heading(as_written=True), Field(max_length=100)] = ""

    @model_validator(mode="after")
    def _checked(self) -> "Mark":
        if self.kind == "check" and self.round == 2:
            raise ValueError("expected a check once; delete the second")
        return self


class Only(FileRow):
    """A row without other columns."""

    model_config = ConfigDict(extra="forbid")

    item: Name
    note: str = ""


MARK = {"item": "i", "marker": "ada", "score": "0.5"}


def marks(*rows: Mapping[str, JSON], key: tuple[str, ...] = ()) -> list[tuple[int, Mark]]:
    records = [Record(number, row) for number, row in enumerate(rows, 2)]
    return list(rows_of(records, Mark, key))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({}, {"round": 1, "kind": "first", "is_paid": False, "status": "", "note": ""}),
        ({"score": " 1 ", "round": "2"}, {"score": 1.0, "round": 2}),
        ({"score": 1, "round": 2.0}, {"score": 1.0, "round": 2}),
        ({"round": "", "kind": None}, {"round": 1, "kind": "first"}),
        ({"is_paid": "yes"}, {"is_paid": True}),
        ({"is_paid": False}, {"is_paid": False}),
        ({"item": 7}, {"item": "7"}),
        ({"item": f" {safe_cell('@ann')} "}, {"item": "@ann"}),
        ({"item": "'tis"}, {"item": "'tis"}),
        ({"note": " '=1 "}, {"note": " '=1 "}),
        ({"note": None}, {"note": ""}),
        ({"another": "x"}, {"item": "i"}),
    ],
)
def test_cells_are_fields(cells, expected):
    ((number, mark),) = marks({**MARK, **cells})
    assert number == 2
    assert {name: getattr(mark, name) for name in expected} == expected


@pytest.mark.parametrize("column", ["marker", "Marker", "Worker id", "worker_ID:"])
def test_a_column_is_found_in_any_spelling_that_its_model_names(column):
    assert marks({"item": "i", column: "ada", "score": "1"})[0][1].marker == "ada"


def test_the_first_spelling_that_there_is_counts():
    assert marks({**MARK, "WorkerId": "w1"})[0][1].marker == "ada"
    assert column_named(["b", "A "], ("a", "b")) == "A "
    assert column_named(["c"], ("a", "b")) is None


def test_rows_of_other_columns_are_read_by_their_own():
    rows = marks(MARK, {"workerid": "bob", "score": "1", "item": "j"})
    assert [row.marker for _, row in rows] == ["ada", "bob"]


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ({"item": " "}, "column 'item': Expected a text, found an empty cell. Write one."),
        ({"item": ["a"]}, "column 'item': Expected a text, found \"['a']\". Write one."),
        (
            {"marker": ""},
            "column 'marker': Expected a person's name, found an empty cell. Delete the row.",
        ),
        (
            {"score": "high"},
            "column 'score': Expected a number, found 'high'. Write it in digits",
        ),
        ({"score": "nan"}, "column 'score': Expected a number, found 'nan'. Write it in digits"),
        ({"score": "inf"}, "column 'score': Expected a number, found 'inf'. Write it in digits"),
        ({"score": True}, "column 'score': Expected a number, found 'True'. Write it in digits"),
        (
            {"score": ""},
            "column 'score': Expected a number, found an empty cell. Write it in digits",
        ),
        ({"score": [1]}, "column 'score': Expected a number, found '[1]'. Write it in digits"),
        (
            {"score": "-1"},
            "column 'score': Expected a number of at least 0.0, found '-1'. Change it",
        ),
        ({"score": "2"}, "column 'score': Expected a number of at most 1.0, found '2'. Change it"),
        ({"round": "1.5"}, "column 'round': Expected a whole number, found '1.5'. Write it in"),
        ({"round": {}}, "column 'round': Expected a whole number, found '{}'. Write it in digits"),
        ({"round": "1" * 5000}, "column 'round': Expected a shorter number, found '11"),
        ({"round": "0"}, "column 'round': Expected a number above 0, found '0'. Change it"),
        ({"round": "3"}, "column 'round': Expected a number below 3, found '3'. Change it"),
        ({"kind": "x"}, "column 'kind': Expected 'first' or 'check', found 'x'. Change it."),
        ({"is_paid": "ja"}, "column 'is_paid': Expected yes or no, found 'ja'. Write one of them."),
        ({"status": ""}, "column 'status': Expected a status, found an empty cell. Write ok."),
        ({"status": "x"}, "column 'status': Expected a status, found 'x'. Write ok."),
        (
            {"note": "x" * 101},
            f"column 'note': Expected at most 100 characters, found '{'x' * 80}'",
        ),
        ({"note": "\ud800"}, "column 'note': Expected another value, found '\\ud800'. Change it."),
    ],
)
def test_a_wrong_cell_is_told_in_words_of_its_model(cells, told):
    with pytest.raises(RowsError) as caught:
        marks(MARK, {**MARK, **cells})
    assert str(caught.value).startswith(f"row 3, {told}")
    assert len(str(caught.value)) < 250


def test_a_sentence_of_the_model_s_own_stands_alone():
    with pytest.raises(RowsError, match="^row 2: expected a check once; delete the second$"):
        marks({**MARK, "kind": "check", "round": 2})


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            {"item": "i", "marker": "ada"},
            "row 2, column 'score': Expected this column, found 'item', 'marker'. Rename or add it",
        ),
        (
            {"item": "i", "score": "1"},
            "row 2: Expected a column 'marker', found 'item', 'score'. Write it above the names.",
        ),
        ({}, "row 2, column 'item': Expected this column, found none. Rename or add it"),
        (
            {**MARK, "Marker": "x"},
            "row 2, column 'marker': Expected one such column, found 'marker' and 'Marker'. Delete one",
        ),
        (
            {f"column {number}": "" for number in range(1000)},
            "row 2, column 'item': Expected this column, found 'column 0', 'column 1', ",
        ),
    ],
)
def test_a_table_of_other_columns_says_which_are_there(row, told):
    with pytest.raises(RowsError) as caught:
        marks(row)
    assert str(caught.value).startswith(told)
    assert len(str(caught.value)) < 500


def test_a_model_may_want_no_other_columns():
    assert [row.item for _, row in rows_of([Record(2, {"item": "i"})], Only)] == ["i"]
    with pytest.raises(RowsError) as caught:
        list(rows_of([Record(2, {"item": "i", "notes": "x"})], Only))
    assert str(caught.value) == (
        "row 2, column 'notes': Expected only the columns 'item', 'note'. Rename or delete this one."
    )


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (("marker",), "row 4, column 'Marker': 'ada' is in row 2 too. Delete one of them."),
        (
            ("item", "marker"),
            "row 4: item 'i' and Marker 'ada' are in row 2 too. Delete one of them.",
        ),
        (
            ("item", "marker", "round"),
            "row 4: item 'i', Marker 'ada' and round '1' are in row 2 too. Delete one of them.",
        ),
    ],
)
def test_two_rows_of_one_key_are_told(key, told):
    rows = [{"item": "i", "Marker": name, "score": "1"} for name in ("ada", "bob", " ada")]
    assert len(marks(*rows)) == 3
    with pytest.raises(RowsError) as caught:
        marks(*rows, key=key)
    assert str(caught.value) == told


def test_two_rows_on_one_line_of_json_are_two(tmp_path):
    path = tmp_path / "marks.json"
    path.write_text('[{"item": "i"}, {"item": "j"}, {"item": "i"}]')
    assert [row.item for _, row in read_rows(path, Only)] == ["i", "j", "i"]
    with pytest.raises(RowsError, match="row 1, column 'item': 'i' is in row 1 too"):
        list(read_rows(path, Only, key=("item",)))
    found = sound_rows(read_records(path), Only, key=("item",))
    assert [row.item for _, row in found.rows] == ["i", "j"]


def written(folder: Path, *rows: tuple[object, ...]) -> Path:
    path = folder / "marks.csv"
    path.write_text(csv_text([("item", "marker", "score"), *rows]), "utf-8")
    return path


def test_a_file_is_named_as_its_person_named_it(tmp_path):
    path = written(tmp_path, ("i", "ada", "0.5"), ("j", "ada", "x"))
    for name, shown in ((None, "marks.csv"), ("mine.csv", "mine.csv")):
        rows = read_rows(path, Mark, name=name)
        assert next(rows)[1].item == "i"
        with pytest.raises(RowsError, match=f"^{shown}, row 3, column 'score': Expected a number"):
            next(rows)


def test_sound_rows_are_kept_and_the_others_told_by_problem():
    rows = [
        MARK,
        {**MARK, "score": "x"},
        {**MARK, "item": "unknown"},
        {**MARK, "score": "y"},
        {**MARK, "score": "1"},
        {**MARK, "marker": "bob"},
        {**MARK, "kind": "check", "round": 2},
        {**MARK, "kind": "x"},
        {**MARK, "kind": "x"},
    ]
    found = sound_rows(
        [Record(number, row) for number, row in enumerate(rows, 2)],
        Mark,
        check=lambda mark: "" if mark.item == "i" else "there is no such item",
        key=("item", "marker"),
        repeat_problem="this person marked it before",
    )
    assert [(number, row.marker) for number, row in found.rows] == [(2, "ada"), (7, "bob")]
    assert found.problems == (
        "rows 3, 5 left out: score: expected a number, found 'x' and others",
        "row 4 left out: there is no such item",
        "row 6 left out: this person marked it before",
        "row 8 left out: expected a check once; delete the second",
        "rows 9, 10 left out: kind: expected 'first' or 'check', found 'x'",
    )


class Written(FileRow):
    """A row whose blanks count."""

    strips = False

    item: Name
    answer: Annotated[str, Heading(as_written=True)]


def test_blanks_may_be_part_of_a_cell_and_no_answer_is_not_an_empty_one():
    cells = {"item": " i ", "answer": ""}
    ((_, row),) = rows_of([Record(2, cells)], Written)
    assert (row.item, row.answer) == (" i ", "")
    with pytest.raises(RowsError, match="column 'answer': Expected a text, found an empty cell"):
        list(rows_of([Record(2, {**cells, "answer": None})], Written))
    for column, value in (("item", " "), ("item", None), ("item", [])):
        with pytest.raises(RowsError, match=f"column '{column}': Expected a text, found .* Write"):
            list(rows_of([Record(2, {**cells, column: value})], Written))


def test_without_a_key_like_rows_are_kept():
    found = sound_rows([Record(2, MARK), Record(3, MARK)], Mark)
    assert (len(found.rows), found.problems) == (2, ())


CELLS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text())
COLUMNS = st.sampled_from(["item", "marker", "Worker ID", "score", "round", "note", "status"])


@given(st.lists(st.dictionaries(COLUMNS | st.text(max_size=5), CELLS | st.just("1"), max_size=9)))
def test_any_table_gives_rows_or_a_rows_error(rows):
    records = [Record(number, row) for number, row in enumerate(rows, 2)]
    for kind in (Mark, Only):
        for read in (
            lambda kind=kind: list(rows_of(records, kind, ("item",))),
            lambda kind=kind: sound_rows(records, kind, key=("item",)).problems,
        ):
            try:
                read()
            except RowsError as error:
                assert "\n" not in str(error)
