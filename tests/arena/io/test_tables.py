"""Every file comes in through one strict door: what it accepts arrives unchanged, what it refuses has a place."""

import csv
import io
import json
import os
import pickle
import random
import tracemalloc
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.io.csv_rows import CsvReader
from arena.io.tables import (
    COMMAND_LINE,
    PAGE,
    Record,
    RowsError,
    parse_json,
    read_json,
    read_lines,
    read_records,
    require_columns,
)
from tests.support.examples import examples
from tests.support.workbooks import workbook

SMALL = replace(PAGE, rows=5, cell=40, columns=4, line=400, depth=3, values=12)


def read(folder: Path, name: str, content: str | bytes, limits=PAGE, **options) -> list[Record]:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(read_records(path, limits, **options))


def parquet(rows: list[dict]) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    return file.getvalue()


def values(records: Iterable[Record]) -> list[dict]:
    return [dict(record.values) for record in records]


def refusal(folder: Path, name: str, content: str | bytes, limits=PAGE, **options) -> RowsError:
    with pytest.raises(RowsError) as caught:
        read(folder, name, content, limits, **options)
    assert caught.value.file == name
    assert str(caught.value).startswith(name)
    assert "\n" not in str(caught.value)
    return caught.value


# What is refused, and the place that the refusal names: suffix, content, row, column, a word of the sentence.
TEXT_FAULTS = [
    ("csv", "", None, None, "file is empty"),
    ("csv", "\n\n", 1, None, "header"),
    ("csv", b"\xff\xfea\x00,\x00b\x00", 1, None, "UTF-16"),
    ("csv", b"\xfe\xff\x00a\x00,\x00b", 1, None, "UTF-16"),
    (
        "csv",
        b"\xff\xd8\xff\xe0\x00\x10JFIF",
        None,
        None,
        "is a picture named .csv. Choose the file",
    ),
    ("jsonl", b"%PDF-1.7\n%\xe2\xe3", None, None, "is a PDF named .jsonl"),
    ("csv", "a,b\n1,2\n3,é\n".encode("latin-1"), 3, None, "0xE9 at offset 10"),
    ("csv", b"\xef\xbb\xbfa,b\n1,\xe9\n", 2, None, "0xE9 at offset 9"),
    ("csv", "a,b\n1,\0\n", 2, "b", "NUL"),
    ("csv", "a\0,b\n1,2\n", 1, "a\0", "NUL"),
    ("csv", "a,b\n1,2,3\n", 2, None, "found 3"),
    ("csv", "a,b\n1\n", 2, None, "found 1"),
    ("csv", 'a,b\n"x\ny",1\n1,2,3\n', 4, None, "found 3"),
    ("csv", "a;b\n1;2;3\n", 2, None, "';'"),
    ("csv", "a\tb\n1\t2\t3\n", 2, None, r"'\t'"),
    ("csv", "a,b\n1,2\n\n3,4\n", 3, None, "line is empty"),
    ("csv", "\na,b\n1,2\n", 1, None, "line is empty"),
    ("csv", "a,a\n1,2\n", 1, "a", "Two columns"),
    ("csv", "a,,b\n1,2,3\n", 1, None, "Column 2"),
    ("csv", ",pred\n0,x\n", 1, None, "index=False"),
    ("csv", "My model,\nid,pred\n0,x\n", 1, None, "title"),
    ("csv", "sep=,\nid,pred\n0,x\n", 1, None, "title"),
    ("csv", "My model\nid,pred\n0,x\n", 2, None, "title"),
    ("csv", "id,pred\n0\n", 2, None, "found 1. Write every cell"),
    ("json", '[{"a": 1},]', 1, None, "isn't JSON at ']' (character 11)"),
    ("json", '{"a": 1}\n{"a": 2}\n', 2, None, ".jsonl one per line."),
    ("jsonl", '{"a": 1},\n{"a": 2},\n', 1, None, "isn't JSON at ',' (character 9)"),
    ("jsonl", '[{"a": 1}]\n', 1, None, "name the file .json if it's one list."),
    ("gz", "a,b\n1,2\n", None, None, "Unpack"),
    ("csv", "a,b,c,d,e\n", 1, None, "5 columns, more than 4"),
    ("csv", 'a,b\n"a"b,2\n', 2, None, "closing quote"),
    ("csv", 'a,b\n1,2\n"x,2\n3,4\n', 3, None, "has no closing quote"),
    ("csv", 'a,b\n1,"x"y"\n', 2, None, "closing quote"),
    ("csv", '"a,b\n1,2\n', 1, None, "has no closing quote"),
    ("csv", "a,b\r1,2\r", 1, None, "CR alone"),
    ("csv", "a,b\n1,2\r3,4\n", 2, None, "CR alone"),
    ("csv", "a,b\n1," + "x" * 41 + "\n", 2, "b", "more than 40"),
    ("csv", "a,b\n1," + "x" * 500 + "\n", 2, None, "The line has over 400"),
    ("csv", "a\n" + "1\n" * 6, 7, None, "over 5 records"),
    ("csv", "a,b,c,d\n" + "1,2,3,4\n" * 4, 5, None, "over 12 values"),
    ("csv", "\n" * 10_001, 1, None, "over 10,000 empty lines"),
    ("csv", "a\n1\n" + "\n" * 10_001, 3, None, "over 10,000 empty lines"),
    ("tsv", "a\tb\n1,2\n", 2, None, r"'\t'"),
    ("tsv", 'a\tb\n1\t"Yes" he said\n', 2, None, "closing quote"),
    ("jsonl", "", None, None, "file is empty"),
    ("jsonl", '{"a":1}\n{"a":1\n', 2, None, "JSON"),
    ("jsonl", '{"a":1}\n{"a":1} {"a":2}\n', 2, None, "This isn't JSON at"),
    ("jsonl", '{"a":1}\r{"a":2}', 1, None, "This isn't JSON at"),
    ("jsonl", '{"a":1}\n[1]\n', 2, None, "object"),
    ("jsonl", '{"a":1}\n\n{"a":2}\n', 2, None, "line is empty"),
    ("jsonl", '{"a":1}\n{"a":1,"a":2}\n', 2, "a", "twice"),
    ("jsonl", '{"a":1}\n{"a":NaN}\n', 2, None, "NaN"),
    ("jsonl", '{"a":1e999}\n', 1, None, "1e999"),
    ("jsonl", '{"a":9223372036854775808}\n', 1, None, "64 bits"),
    ("jsonl", '{"a":"\\ud800"}\n', 1, "a", "surrogate"),
    ("jsonl", '{"a":["\\u0000"]}\n', 1, "a", "NUL"),
    ("jsonl", '{"\\u0000":1}\n', 1, None, "NUL"),
    ("jsonl", '{"a":"' + "x" * 41 + '"}\n', 1, "a", "more than 40"),
    ("jsonl", '{"a":{"b":["' + "x" * 41 + '"]}}\n', 1, "a", "more than 40"),
    ("jsonl", '{"a":1}\n{"a":[[[1]]]}\n', 2, None, "3 deep"),
    ("jsonl", '{"a":1,"b":2,"c":3,"d":4,"e":5}\n', 1, None, "5 columns, more than 4"),
    ("jsonl", '{"a":"é"}\n'.encode("latin-1"), 1, None, "offset 6"),
    ("csv", "a,b\n1,这是什么\n".encode("gb18030"), 2, None, "found GB18030"),
    ("json", '[\n{"a":"天坛"}]'.encode("gbk"), 2, None, "found GB18030"),
    ("csv", "a,b\n1,crème\n2,“á la carte”\n".encode("cp1252"), 2, None, "Windows-1252"),
    ("csv", "a,b\n1,정답은 무엇\n".encode("euc_kr"), 2, None, "offset 6. Save"),
    ("csv", "a,b\n1,картинке\n".encode("cp1251"), 2, None, "offset 6. Save"),
    ("csv", "a,b\n1,画像の建物\n".encode("euc_jp"), 2, None, "offset 6. Save"),
    ("csv", "a,b\n1,猫と犬\n".encode("shift_jis"), 2, None, "offset 6. Save"),
    ("csv", "a,b\n1,圖片中的動物是什麼\n".encode("big5"), 2, None, "offset 6. Save"),
    (
        "csv",
        "a,b\n1,é\n2,圖片中的動物是什麼\n".encode("big5", "replace").replace(b"?", b"\xe9"),
        2,
        None,
        "offset 6. Save",
    ),
    ("jsonl", '{"a":1}\n' * 6, 6, None, "over 5 records"),
    ("jsonl", '{"a":1}\n' + "\n" * 10_001, 2, None, "over 10,000 empty lines"),
    ("jsonl", '{"a":[1,1,1,1,1]}\n' * 3, None, None, "over 12 values"),
    ("json", '[{"a":[{},{},{},{},{},{}]}]', None, None, "over 12 values"),
    ("json", '{"a":1,"b":[{},{},{},{},{},{}]}', None, None, "over 12 values"),
    ("json", "{}", 1, None, "list of objects"),
    ("json", '{"a":1}\n{"a":2}\n', 2, None, ".jsonl"),
    ("json", '[\n{"a":1},\n3]', None, None, "Item 2"),
    ("json", '[\n{"a":1},\n{"b":2,\n"b":3}]', 4, "b", "twice"),
    ("json", '[\n{"a":1},\n{"b":-Infinity}]', 3, None, "-Infinity"),
    ("json", '[\n{"a":1},\n{"b":"\\udc00"}]', 3, "b", "surrogate"),
    ("json", '[\n{"a":1},\n{"b":1,}]', 3, None, "This isn't JSON at"),
    ("json", '[\n{"a":1}\n{"b":1}]', 3, None, "JSON"),
    ("json", '[{"a":1}]\n]', 2, None, "This isn't JSON at"),
    ("json", '[{"a":\n[[[1]]]}]', 2, None, "3 deep"),
    ("json", '[{"a":"é"}]'.encode("utf-16"), 1, None, "UTF-16"),
    ("json", '[\n{"a":"é"}]'.encode("latin-1"), 2, None, "offset 8"),
    ("json", '[{"a":1},\n' + "{},\n" * 4 + "{}]", 6, None, "over 5 records"),
    ("txt", "a,b\n", None, None, ".jsonl"),
    ("json.gz", "a,b\n", None, None, ".jsonl"),
    ("xls", "a,b\n", None, None, ".xlsx"),
]


@pytest.mark.parametrize(("suffix", "content", "row", "column", "word"), TEXT_FAULTS)
def test_a_bad_text_file_is_refused_with_its_exact_place(
    tmp_path, suffix, content, row, column, word
):
    error = refusal(tmp_path, f"answers.{suffix}", content, SMALL)
    assert (error.row, error.column) == (row, column)
    assert word in error.problem


def test_an_error_is_one_sentence_with_file_row_column_and_mend(tmp_path):
    error = refusal(tmp_path, "pred.csv", "id,answer\n1," + "x" * 41, SMALL)
    assert str(error) == (
        "pred.csv, row 2, column 'answer': The cell has 41 characters, more than 40. Shorten it."
    )


def test_an_error_can_be_placed_again_and_pickled():
    error = RowsError("wrong", row=1).at(file="a.csv", row=7, column="images")
    assert (error.file, error.row, error.column, error.problem) == ("a.csv", 7, "images", "wrong")
    assert error.at().row == 7
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_file_that_is_not_there_or_too_large_is_refused(tmp_path):
    with pytest.raises(RowsError, match="gone.csv: The file can't be opened"):
        list(read_records(tmp_path / "gone.csv"))
    assert (
        "4 bytes, more than 3"
        in refusal(tmp_path, "a.csv", "a,b\n", replace(PAGE, bytes=3)).problem
    )


def test_the_name_that_the_person_gave_decides_the_format_and_stands_in_the_error(tmp_path):
    stored = tmp_path / "0f3a"
    stored.write_text("a\n1\n")
    assert values(read_records(stored, name="mine.CSV")) == [{"a": "1"}]
    with pytest.raises(RowsError, match="^mine.json, row 1: "):
        list(read_records(stored, name="mine.json"))


def test_a_missing_column_is_named_with_the_columns_found(tmp_path):
    (record,) = read(tmp_path, "a.csv", "index,Prediction\n1,x\n")
    require_columns(record, ["index"])
    with pytest.raises(
        RowsError, match=r"a.csv, row 2, column 'prediction': .*found 'index', 'Prediction'"
    ):
        require_columns(record, ["index", "prediction"], file="a.csv")


@pytest.mark.parametrize(
    "cell",
    [
        "NA",
        "nan",
        "null",
        "None",
        "001",
        "1/2",
        "1e5",
        "1.0",
        "=1+1",
        "TRUE",
        " x ",
        "",
        "'",
        "\ufeff",
        "\x85",
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_table_cell_arrives_exactly_as_written(tmp_path, suffix, cell):
    delimiter = {"csv": ",", "tsv": "\t"}[suffix]
    assert values(read(tmp_path, f"a.{suffix}", f"a{delimiter}b\n{cell}{delimiter}1\n")) == [
        {"a": cell, "b": "1"}
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b\n1,2", [(2, {"a": "1", "b": "2"})]),
        ("\ufeffa,b\r\n1,2\r\n\r\n\r\n", [(2, {"a": "1", "b": "2"})]),
        (
            '"a","b"\n"x\n""y""","2"\n"3","4"\n',
            [(2, {"a": 'x\n"y"', "b": "2"}), (4, {"a": "3", "b": "4"})],
        ),
        ("a;b\n1;2,5\n", [(2, {"a": "1", "b": "2,5"})]),
        ("a\tb\n1\t2\n", [(2, {"a": "1", "b": "2"})]),
        ('a\n""\n1\n', [(2, {"a": ""}), (3, {"a": "1"})]),
        ('a,b\n1,say "hi"\n', [(2, {"a": "1", "b": 'say "hi"'})]),
        ("a,b\n", []),
    ],
)
def test_honest_csv_of_every_kind_is_read_with_the_line_of_each_record(tmp_path, content, expected):
    assert [
        (record.row, dict(record.values)) for record in read(tmp_path, "a.csv", content)
    ] == expected


def test_records_of_a_json_list_carry_the_line_on_which_they_start(tmp_path):
    content = '\ufeff[\n  {"a": "]{",\n   "b": [{}]},\n  {"a": null}, {"a": 1.5}\n]\n\n'
    records = read(tmp_path, "a.json", content)
    assert [record.row for record in records] == [2, 4, 4]
    assert values(records) == [{"a": "]{", "b": [{}]}, {"a": None}, {"a": 1.5}]


def test_members_of_a_json_object_are_records_only_where_they_are_wanted(tmp_path):
    content = (
        '{"a": "]{",\n "b": {"x": {"y": 1}, "image": "skipped"}, "c": null,\n\n "d": [{"e": 1}]}'
    )
    records = read(tmp_path, "a.json", content, allow_object=True, skip=["image"])
    assert [(record.row, dict(record.values)) for record in records] == [
        (1, {"(key)": "a", "(value)": "]{"}),
        (2, {"(key)": "b", "x": {"y": 1}}),
        (2, {"(key)": "c", "(value)": None}),
        (4, {"(key)": "d", "(value)": [{"e": 1}]}),
    ]
    assert "list of objects" in refusal(tmp_path, "a.json", content).problem
    assert (
        "Rename it" in refusal(tmp_path, "a.json", '{"a": {"(key)": 1}}', allow_object=True).problem
    )
    assert values(read(tmp_path, "a.json", '[{"a": 1}]', allow_object=True)) == [{"a": 1}]


def test_lines_are_read_without_their_ends(tmp_path):
    path = tmp_path / "ids.txt"
    path.write_bytes("\ufeffa \r\n\né".encode())
    assert read_lines(path) == ["a ", "", "é"]
    path.write_bytes(b"a\nb\0")
    with pytest.raises(RowsError, match="^ids.txt: .*NUL"):
        read_lines(path)


def test_jsonl_may_end_in_blank_lines_and_crlf(tmp_path):
    assert values(read(tmp_path, "a.ndjson", '{"a":1}\r\n{"a":2}\r\n \n\n')) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json"])
def test_a_skipped_column_is_left_out_whatever_it_holds(tmp_path, suffix):
    image = "x" * 300_000 + ("\0" if suffix.endswith("sv") else "")
    content = {
        "csv": f"image,a\n{image},1\n",
        "tsv": f"image\ta\n{image}\t1\n",
        "jsonl": json.dumps({"image": image, "a": "1"}),
        "json": json.dumps([{"image": image, "a": "1"}]),
    }[suffix]
    small = replace(PAGE, cell=10)
    assert values(read(tmp_path, f"a.{suffix}", content, small, skip=["image"])) == [{"a": "1"}]
    assert refusal(tmp_path, f"a.{suffix}", content, small).column == "image"


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json", "xlsx", "parquet"])
def test_of_a_digested_column_only_what_tells_cells_apart_is_kept(tmp_path, suffix):
    """Short cells are names or references to other rows, and stay."""
    first, second = "x" * 30_000, "y" * 30_000
    if suffix in ("json", "jsonl"):
        first += "\0"
    cells = [first, second, first, "a.png", ""]
    rows = [{"image": cell, "a": str(at)} for at, cell in enumerate(cells)]
    makers = {
        "csv": lambda: "image,a\n" + "".join(f"{row['image']},{row['a']}\n" for row in rows),
        "tsv": lambda: "image\ta\n" + "".join(f"{row['image']}\t{row['a']}\n" for row in rows),
        "jsonl": lambda: "".join(json.dumps(row) + "\n" for row in rows),
        "json": lambda: json.dumps(rows),
        "xlsx": lambda: workbook(["image", "a"], *[[*row.values()] for row in rows]),
        "parquet": lambda: parquet(rows),
    }
    content = makers[suffix]()
    small = replace(PAGE, cell=64)
    found = values(read(tmp_path, f"a.{suffix}", content, small, digested=["image"]))
    assert [row["a"] for row in found] == list("01234")
    one, other, same, *short = [row["image"] for row in found]
    assert one == same != other and one.startswith("sha256:") and len(one) < 64
    assert short == ["a.png", ""]


def test_long_columns_of_parquet_and_its_pictures_are_left_out_where_others_are_digested(tmp_path):
    rows = [
        {"image": str(at) * 9_000_000, "a": 1, "b": {"bytes": b"x", "path": "x.png"}}
        for at in range(7)
    ]
    assert (
        values(read(tmp_path, "a.parquet", parquet(rows), digested=["image", "b"]))
        == [{"a": 1}] * 7
    )


def test_a_long_digested_column_of_lists_is_left_out_of_parquet_like_one_of_texts(tmp_path):
    rows = [{"image": [str(number) * 9_000_000], "a": 1} for number in range(7)]
    records = read(tmp_path, "a.parquet", parquet(rows), digested=["image"])
    assert values(records) == [{"a": 1}] * 7


@pytest.mark.parametrize(
    "cell", [b"\x89PNG", [b"a", b"\x89PNG"], {"data": b"\x89PNG"}, [{"data": [b"\x89PNG"]}]]
)
def test_bytes_of_parquet_that_are_no_text_are_left_out_at_any_depth(tmp_path, cell):
    content = parquet([{"a": 1, "b": cell, "c": [b"text"]}])
    assert values(read(tmp_path, "a.parquet", content)) == [{"a": 1, "c": ["text"]}]


def test_nanoseconds_of_parquet_are_left_out_of_times(tmp_path):
    nanoseconds = 86_399_000_000_001
    table = pyarrow.table(
        {
            "at": pyarrow.array([nanoseconds, None], pyarrow.timestamp("ns", "UTC")),
            "clock": pyarrow.array([nanoseconds, None], pyarrow.time64("ns")),
            "took": pyarrow.array([nanoseconds, None], pyarrow.duration("ns")),
        }
    )
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file)
    assert values(read(tmp_path, "a.parquet", file.getvalue())) == [
        {"at": "1970-01-01 23:59:59+00:00", "clock": "23:59:59", "took": "23:59:59"},
        {"at": None, "clock": None, "took": None},
    ]


def test_a_map_of_parquet_is_read_like_a_list(tmp_path):
    kind = pyarrow.map_(pyarrow.string(), pyarrow.float64())
    scores = pyarrow.array([[("x", 0.5), ("y", float("nan"))]], kind)
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"scores": scores}), file)
    records = read(tmp_path, "a.parquet", file.getvalue())
    assert values(records) == [{"scores": [["x", 0.5], ["y", None]]}]


def test_the_field_limit_of_the_csv_module_is_never_lowered(tmp_path):
    before = csv.field_size_limit(10**9)
    try:
        read(tmp_path, "a.csv", "a\n1\n")
        assert csv.field_size_limit() == 10**9
    finally:
        csv.field_size_limit(before)


# JSON: what JSONTestSuite calls y_ and n_, in our own words.

WELL_FORMED = (
    """
[]¦{}¦""¦0¦-0¦1E+2¦1e-2¦0.1¦-1.5e3¦true¦false¦null¦ [ 1 ] ¦[[]   ]¦{"a":[]}¦{"":0}¦"\\u0061\\u30af"¦"\\ud83d\\ude39"
¦"\\"\\\\\\/\\b\\f\\n\\r\\t"¦"\u007f"¦"\u2028"¦"\U0010ffff"¦"\\u0022"¦"\\uFFFF"¦[1,null,"x",{"y":2.50}]
¦9223372036854775807¦-9223372036854775808¦[123e-10000000]¦"π"¦"\\\\u0000"¦"\\\\ud800"
""".strip()
    .replace("\n¦", "¦")
    .split("¦")
)

MALFORMED = (
    """
[1 true]¦["": 1]¦[""],¦[,1]¦[1,,2]¦["x"]]¦["",]¦["x"¦[x¦[3[4]]¦[1:2]¦[,]¦[-]¦[   , ""]¦[1,]¦["a"¦[*]¦[fals]¦[nul]¦[tru]
¦[++1]¦[+1]¦[-01]¦[-1.0.]¦[-2.]¦[-NaN]¦[.-1]¦[.2e-3]¦[0.1.2]¦[0.3e+]¦[0.3e]¦[0.e1]¦[0E+]¦[0e]¦[1.0e+]¦[1 000.0]¦[1eE2]
¦[2.e3]¦[9.e+]¦[Inf]¦[NaN]¦[Infinity]¦[-Infinity]¦[0x1]¦[1+2]¦[- 1]¦[-012]¦[.123]¦[1.]¦[012]¦[１]¦{"x", null}¦{"x"::"b"}
¦{[: "x"}¦{"a":"a" 123}¦{key: 'v'}¦{"a" "b"}¦{"a":¦{"a"¦{1:1}¦{,}¦{"id":0,}¦{'a':0}¦{"a":"b"}/**/¦{"a":"b"}#¦{"a":"b",,}
¦{"a":"a¦{a: "b"}¦{"a":"b"}{}¦["\\uD800\\"]¦["\\u00A"]¦["\\x00"]¦["\\\\\\"]¦["\\a"]¦["\\uqqqq"]¦['x']¦"¦"\\u¦"a\tb"
¦["\u00a0"\u00a0]¦¦[1]x¦abc¦[\u2060]¦<null>¦{"":¦TRUE¦[¦]¦{}}¦1]¦//\n1¦[\f1]¦{"a":1e}¦"\\ud800"¦"\\udc00\\ud800"¦"\\u0000"¦{"a":1,"a":1}
¦[1e999]¦[-1e999]¦[9223372036854775808]¦[-9223372036854775809]
""".strip()
    .replace("\n¦", "¦")
    .split("¦")
)


@pytest.mark.parametrize("text", WELL_FORMED)
def test_well_formed_json_is_accepted_with_the_value_of_the_standard_library(text):
    assert parse_json(text) == json.loads(text)


@pytest.mark.parametrize(
    "text", [*MALFORMED, "[" * 100_000, '{"a":' * 100_000, "[" + "9" * 5_000 + "]", "1" * 5_000]
)
def test_malformed_or_unstorable_json_is_refused(text):
    with pytest.raises(RowsError):
        parse_json(text)


def test_brackets_inside_strings_do_not_count_as_depth():
    assert parse_json(json.dumps("[" * 500)) == "[" * 500
    assert parse_json("[" * 64 + "]" * 64) is not None
    with pytest.raises(RowsError, match="64 deep"):
        parse_json("[" * 65 + "]" * 65)


def test_read_json_names_file_and_line(tmp_path):
    path = tmp_path / "mm-vet.json"
    path.write_text('{\n"v1_0": "x",\n"v1_1": {"v1_0": 1},\n"v1_0": "y"\n}')
    with pytest.raises(RowsError, match="^mm-vet.json, row 4, column 'v1_0': .*twice"):
        read_json(path)
    path.write_text('\ufeff{"v1_0": "x"}\n')
    assert read_json(path) == {"v1_0": "x"}


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
NAMES = st.lists(TEXT.filter(bool), min_size=2, max_size=4, unique=True)


def table_of(names: list[str], cells: st.SearchStrategy) -> st.SearchStrategy:
    row = st.lists(cells, min_size=len(names), max_size=len(names))
    return st.tuples(st.just(names), st.lists(row, max_size=5))


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
@given(table=NAMES.flatmap(lambda names: table_of(names, TEXT)))
@settings(max_examples=examples(150), deadline=None)
def test_what_the_csv_module_writes_comes_back_identical(tmp_path_factory, suffix, quoting, table):
    names, rows = table
    written = io.StringIO(newline="")
    csv.writer(written, delimiter={"csv": ",", "tsv": "\t"}[suffix], quoting=quoting).writerows(
        [names, *rows]
    )
    text = written.getvalue()
    if text.startswith("\ufeff"):
        text = "\ufeff" + text
    got = read(tmp_path_factory.getbasetemp(), f"round.{suffix}", text)
    assert values(got) == [dict(zip(names, row, strict=True)) for row in rows]


FINITE = st.floats(allow_nan=False, allow_infinity=False)
JSON_VALUES = st.recursive(
    st.sampled_from([None, True, False]) | st.integers(-(2**63), 2**63 - 1) | FINITE | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
@given(
    records=st.lists(st.dictionaries(TEXT, JSON_VALUES, max_size=4), max_size=5),
    ascii_only=st.booleans(),
)
@settings(max_examples=50, deadline=None)
def test_what_the_json_module_writes_comes_back_identical(
    tmp_path_factory, suffix, records, ascii_only
):
    lines = [json.dumps(record, ensure_ascii=ascii_only) for record in records]
    content = (
        "[" + ",\n".join(lines) + "]"
        if suffix == "json"
        else "".join(line + "\n" for line in lines) or "\n"
    )
    assert values(read(tmp_path_factory.getbasetemp(), f"round.{suffix}", content)) == records


HONEST = {
    "csv": 'id,answer\n1,"a, ""b""\nc"\n2,é中\n3,=1\n',
    "tsv": 'id\tanswer\n1\t"a\t""b"""\n2\té中\n',
    "jsonl": '{"id": 1, "answer": "a\\nb\\u00e9"}\n{"id": 2, "answer": [1.5e3, null, {"x": "\\ud83d\\ude39"}]}\n',
    "json": '[{"id": 1, "answer": "a\\nb"},\n {"id": 2, "answer": [1.5, null, true, {"x": -3}]}]\n',
}
SPICE = [*(bytes([code]) for code in b'",\t\n\r\0\\{[}]\xff'), b"\xef\xbb\xbf", b"1e999", b"NaN"]


def mutated(honest: bytes, dice: random.Random) -> bytes:
    raw = bytearray(honest)
    for _ in range(dice.randint(1, 4)):
        place, length = dice.randrange(len(raw) + 1), dice.randrange(4)
        raw[place : place + length] = dice.choice(
            [b"", dice.choice(SPICE), dice.randbytes(2), bytes(raw[:length])]
        )
    return bytes(raw)


@pytest.mark.parametrize("suffix", HONEST)
@pytest.mark.parametrize("count", [150, pytest.param(500, marks=pytest.mark.soak)])
def test_mutated_text_files_are_read_or_refused_but_never_crash(tmp_path, suffix, count):
    dice, refused = random.Random(f"rows {suffix}"), 0
    for _ in range(count):
        try:
            records = read(tmp_path, f"a.{suffix}", mutated(HONEST[suffix].encode(), dice))
        except RowsError as error:
            refused += 1
            assert error.file == f"a.{suffix}"
            str(error).encode()
        else:
            json.dumps(values(records), allow_nan=False, ensure_ascii=False).encode()
    assert count / 10 < refused < count


@pytest.mark.soak
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_long_file_is_streamed_on_the_command_line(tmp_path, suffix):
    path = tmp_path / f"long.{suffix}"
    line = (
        "7," + "x" * 100 + "\n"
        if suffix == "csv"
        else json.dumps({"id": 7, "answer": "x" * 100}) + "\n"
    )
    with path.open("w") as file:
        file.write("id,answer\n" if suffix == "csv" else "")
        file.writelines([line] * 80_000)
    assert path.stat().st_size > 8_000_000
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_records(path, COMMAND_LINE))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 80_000
    assert peak < 1_000_000
    with pytest.raises(RowsError, match="over 60,000 records"):
        list(read_records(path, PAGE))


def test_a_row_of_100_000_cells_is_refused(tmp_path):
    assert (
        "columns, more than 1,000"
        in refusal(tmp_path, "a.csv", ",".join(map(str, range(100_000)))).problem
    )


def data(path: str) -> Path:
    folder = os.environ.get("STEREOSCOPE_DATA")
    if folder is None:
        if os.environ.get("CI") == "true":
            pytest.fail("STEREOSCOPE_DATA must name the folder of real files in CI")
        pytest.skip("STEREOSCOPE_DATA names no folder of real files")
    return Path(folder) / path


@cache
def records_of(path: str) -> list[Record]:
    return list(read_records(data(path)))


@pytest.mark.parametrize(
    ("path", "count", "columns"),
    [
        (
            "visit-bench/visit_bench_multi_images.csv",
            100,
            ["images", "instruction", "gpt4_prediction"],
        ),
        ("vlmevalkit/vila_8b_MMT-Bench_VAL.xlsx", 3_127, ["index", "question", "prediction"]),
        pytest.param(
            *("vlmevalkit/vila_8b_CCBench.xlsx", 2_040, ["index", "question", "prediction"]),
            marks=pytest.mark.soak,
        ),
        ("vlmevalkit/vila_8b_TextVQA_VAL.csv", 1_000, ["index", "question", "prediction"]),
    ],
)
def test_real_files_are_read_whole(path, count, columns):
    records = records_of(path)
    assert len(records) == count
    for record in records:
        require_columns(record, columns)


def test_the_image_lists_of_visit_bench_are_strict_json():
    for record in records_of("visit-bench/visit_bench_multi_images.csv"):
        urls = parse_json(str(record.values["images"]))
        assert isinstance(urls, list) and len(urls) >= 2


def test_text_that_pandas_stored_as_a_formula_arrives_as_it_was_written():
    record = records_of("vlmevalkit/vila_8b_MMT-Bench_VAL.xlsx")[2739]
    assert record.row == 2741
    assert record.values["A"] == r"= \angle D F N + \angle N F E = \angle D O F - \angle F O E"


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        (
            "id;question, hint;prediction\n1;x, y;z\n",
            {"id": "1", "question, hint": "x, y", "prediction": "z"},
        ),
        ('id;"a, b";c\n1;"x;y";z\n', {"id": "1", "a, b": "x;y", "c": "z"}),
        ("id;a, b\n1;x, y, z\n", {"id": "1", "a, b": "x, y, z"}),
        ("id\ta, b\n1\tx\n", {"id": "1", "a, b": "x"}),
        ("index,answer (a;b;c)\n1,x\n", {"index": "1", "answer (a;b;c)": "x"}),
        ('id,"a;b;c"\n1,"x;y;z"\n', {"id": "1", "a;b;c": "x;y;z"}),
    ],
)
def test_the_delimiter_is_that_which_header_and_row_share(tmp_path, text, cells):
    assert values(read(tmp_path, "a.csv", text)) == [cells]
    assert values(read(tmp_path, "a.csv", text, replace(PAGE, rows=1))) == [cells]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json"])
def test_a_workbook_or_parquet_named_as_text_is_told_by_its_content(tmp_path, suffix):
    error = refusal(tmp_path, f"a.{suffix}", workbook(["a"], [1]))
    assert (
        error.problem
        == f"This is a workbook (.xlsx) named .{suffix}. Name it .xlsx, or save it as .{suffix}."
    )
    error = refusal(tmp_path, f"b.{suffix}", b"PAR1" + bytes(20))
    assert (
        error.problem
        == f"This is Parquet named .{suffix}. Name it .parquet, or save it as .{suffix}."
    )


@pytest.mark.parametrize(("suffix", "kind"), [("parquet", "Parquet"), ("xlsx", ".xlsx")])
def test_a_file_that_takes_too_long_to_read_is_refused_by_its_kind(tmp_path, suffix, kind):
    error = refusal(tmp_path, f"a.{suffix}", workbook(["a"], ["x"]), replace(PAGE, seconds=0))
    assert (
        error.problem
        == f"This isn't a readable {kind}, or it's too large. Save it again, or as .csv."
    )


def test_a_folder_in_place_of_a_file_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (Path(), tmp_path):
        with pytest.raises(RowsError) as caught:
            read_lines(folder)
        assert str(caught.value) == f"{folder.name or '.'}: This is a folder. Choose a file in it."


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("never closed", b"x\n" * 400_000),
        ("quotes inside", b'say ""x""\n' * 400_000),
        ("closed at last", b"x\n" * 400_000 + b'"\n'),
    ],
)
def test_a_cell_over_lines_is_refused_as_soon_as_it_passes_its_limit(tmp_path, name, cell):
    """Its first lines are read, and no others."""
    began = b'a,b\n1,"one\ntwo"\n2,"'
    limits = replace(PAGE, cell=1_000)
    error = refusal(tmp_path, "x.csv", began + cell, limits)
    assert (error.row, "quote never closed" in error.problem) == (4, True)
    with pytest.raises(RowsError):
        list(read_records(tmp_path / "x.csv", replace(limits, rows=None)))
    lines = iter(map(bytes.decode, io.BytesIO(began + cell)))
    with pytest.raises(RowsError):
        list(CsvReader(lines, limits, ".csv"))
    assert sum(1 for _ in lines) > 390_000


def test_cells_over_lines_within_their_limit_are_read_as_the_standard_library_reads_them(tmp_path):
    rows = [["a", "b"], *([f'5" {"x" * 30}', 'he said ""\n' * 60 + '"'] for _ in range(50))]
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    found = read(tmp_path, "x.csv", text.getvalue(), replace(PAGE, cell=900))
    assert [[*one.values.values()] for one in found] == rows[1:]


DATA = "A" * 5000


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (
            f"Expected a number, found 'data:image/png;base64,{DATA}'. Mend it",
            "Expected a number, found 'a data URL of 5,022 characters'. Mend it",
        ),
        (
            f"holds DATA:image/svg+xml;charset=utf-8,{DATA} and data:,{DATA}",
            "holds a data URL of 5,033 characters and a data URL of 5,006 characters",
        ),
        (
            f"has data:image/png;base64{DATA}, data:,{DATA}; name",
            "has a data URL of 5,021 characters, a data URL of 5,006 characters; name",
        ),
        ("the metadata: one, two; data: three", "the metadata: one, two; data: three"),
    ],
)
def test_no_error_repeats_a_data_url(problem, told):
    error = RowsError(problem, "a.csv", 2)
    assert error.problem == told
    assert str(error.at(column="image")) == f"a.csv, row 2, column 'image': {told}"
    named = str(error.at(column=f"data:image/png;base64,{DATA}"))
    assert named == f"a.csv, row 2, column 'a data URL of 5,022 characters': {told}"


@pytest.mark.parametrize(
    "text", ["NaN1:1a", "[NaN:-:", "\n[1e999:", '{"a": Infinity: 1}', "-Infinity:"]
)
def test_a_number_that_is_refused_before_what_is_no_json_is_a_fault_of_its_row(text):
    """The decoder refuses the number before it reads what follows."""
    with pytest.raises(RowsError, match="finite number") as error:
        parse_json(text)
    assert error.value.row == 1 + text.count("\n")
