"""A workbook is read in a bounded process: cells arrive as a person sees them, faults as RowsError."""

import datetime
import io
import json
import os
import random
import re
import subprocess
import sys
import zipfile
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO
from unittest.mock import patch
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.utils import get_column_letter

from arena.io import bounded_reader, tables
from arena.io.tables import PAGE, FileLimits, Record, RowsError, read_records
from tests.support.workbooks import workbook

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def raw_workbook(sheet: str, strings: str = "", **extra: str) -> bytes:
    """Write a workbook by hand from the XML of its rows and shared strings, for what openpyxl would not write."""
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
        f'<Override PartName="/xl/workbook.xml" ContentType="{TYPES}.sheet.main+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{TYPES}.sharedStrings+xml"/></Types>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{strings}</sst>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{sheet}</sheetData></worksheet>',
        **extra,
    }
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return written.getvalue()


def text_cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'


HEADER = f'<row r="1">{text_cell("A1", "id")}{text_cell("B1", "answer")}</row>'


def second_row(cell: str) -> bytes:
    return raw_workbook(f'{HEADER}<row r="2">{text_cell("A2", "1")}{cell}</row>')


def read(folder: Path, content: bytes, limits: FileLimits = PAGE, **options) -> list[Record]:
    path = folder / "answers.xlsx"
    path.write_bytes(content)
    return list(read_records(path, limits, **options))


@pytest.fixture
def in_this_process(monkeypatch) -> None:
    """Read workbooks without a process for each: to start it and to load openpyxl takes nine tenths of the time."""

    def read_here(command: list[str], stdin: BinaryIO, stdout: BinaryIO, **_: object) -> None:
        lines = io.StringIO()
        given = SimpleNamespace(buffer=stdin)
        try:
            with patch("sys.stdin", given), redirect_stdout(lines):
                bounded_reader.main(command[-2], json.loads(command[-1]))
        except Exception as error:  # it ends the process
            raise subprocess.SubprocessError from error
        stdout.write(lines.getvalue().encode())

    monkeypatch.setattr(bounded_reader, "bound_process", lambda *_: None)
    monkeypatch.setattr(tables.subprocess, "run", read_here)


def refusal(folder: Path, content: bytes, limits: FileLimits = PAGE) -> RowsError:
    with pytest.raises(RowsError) as caught:
        read(folder, content, limits)
    assert str(caught.value).startswith("answers.xlsx")
    assert "Traceback" not in str(caught.value)
    return caught.value


def test_cells_arrive_as_a_person_sees_the_stored_value(tmp_path):
    day, hour = datetime.date(2024, 1, 2), datetime.time(9, 5)
    moment = datetime.datetime.combine(day, hour)
    cells = ["NA", "nan", "001", " x\ny ", 7, 1.0, 0.1, 1e300, True, False, None, moment, day, hour]
    (record,) = read(tmp_path, workbook([f"c{place}" for place in range(len(cells))], cells))
    seen = ["NA", "nan", "001", " x\ny ", "7", "1", "0.1", "1e+300", "TRUE", "FALSE", ""]
    assert list(record.values.values()) == [*seen, "2024-01-02T09:05:00", "2024-01-02", "09:05:00"]
    assert record.row == 2


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (text_cell("B2", "=1+1"), "=1+1"),
        (text_cell("B2", "line_x000D_\nnext"), "line\r\nnext"),
        (text_cell("B2", "_x005F_x000D_"), "_x000D_"),
        (text_cell("B2", "x005F_"), "x005F_"),
        ('<c r="B2" t="str"><v>computed elsewhere</v></c>', "computed elsewhere"),
        ('<c r="B2"><v>0.30000000000000004</v></c>', "0.30000000000000004"),
        ('<c r="B2" t="inlineStr"><is><r><t>rich </t></r><r><t>text</t></r></is></c>', "rich text"),
        (r'<c r="B2"><f> \angle D = \angle E</f><v>0</v></c>', r"= \angle D = \angle E"),
        ('<c r="B2"><f>1+1</f><v>0</v></c>', "=1+1"),
        ('<c r="B2"><f>no idea</f></c>', "=no idea"),
        ("", ""),
    ],
)
def test_text_is_read_to_the_letter(tmp_path, cell, expected):
    (record,) = read(tmp_path, second_row(cell))
    assert dict(record.values) == {"id": "1", "answer": expected}


def test_shared_strings_are_read_to_the_letter(tmp_path):
    strings = "<si><t>=1</t></si><si><t>_x005F_x000D_ x005F_</t></si><si><t>_x000D_</t></si>"
    sheet = HEADER + f'<row r="2">{text_cell("A2", "1")}<c r="B2" t="s"><v>0</v></c></row>'
    sheet += '<row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" t="s"><v>2</v></c></row>'
    first, second = read(tmp_path, raw_workbook(sheet, strings))
    assert first.values["answer"] == "=1"
    assert dict(second.values) == {"id": "_x000D_ x005F_", "answer": "\r"}


REFUSED = [
    (second_row('<c r="B2"><f>1+1</f><v>2</v></c>'), 2, "answer", "paste it as values"),
    (second_row('<c r="B2"><f>A2</f><v>0</v></c>'), 2, "answer", "formula"),
    (second_row('<c r="B2"><f>SUM(x)</f></c>'), 2, "answer", "formula"),
    (second_row('<c r="B2" t="str"><f>x</f><v>text</v></c>'), 2, "answer", "formula"),
    (second_row('<c r="B2"><f t="array" ref="B2">x</f><v>0</v></c>'), 2, "answer", "formula"),
    (second_row('<c r="B2" t="e"><v>#REF!</v></c>'), 2, "answer", "#REF!"),
    (second_row('<c r="B2"><v>1e999</v></c>'), 2, "answer", "finite"),
    (second_row(text_cell("B2", "_x0000_")), 2, "answer", "NUL"),
    (second_row(text_cell("B2", "_xD800_")), 2, "answer", "surrogate"),
    (second_row(text_cell("B2", "x" * 32_767)), 2, "answer", "32,767"),
    (second_row(text_cell("C2", "stray")), 2, "C", "2 cells"),
    (second_row(text_cell("A2", "again")), 2, None, "aren't in order. Save"),
    (second_row('<c r="B2" t="s"><v>9</v></c>'), None, None, "isn't a readable .xlsx"),
    (raw_workbook(HEADER + f'<row r="4">{text_cell("A4", "1")}</row>'), 2, None, "row 4"),
    (raw_workbook(HEADER + HEADER), 2, None, "row 1"),
    (workbook(["My model"], ["id", "a"]), 2, "B", "title"),
    (raw_workbook(f'<row r="2">{text_cell("A2", "1")}</row>'), 1, None, "row 2"),
    (
        raw_workbook(f'<row r="1">{text_cell("A1", "a")}{text_cell("B1", "a")}</row>'),
        1,
        "a",
        "Two columns",
    ),
    (raw_workbook(f'<row r="1">{text_cell("B1", "a")}</row>'), 1, None, "Column 1"),
    (raw_workbook(""), None, None, "found none"),
    (raw_workbook("<row>"), None, None, "isn't a readable .xlsx"),
    (workbook(["a"], ["b"], more={"Notes": ["x"]}), None, None, "'Sheet', 'Notes'"),
    (workbook(["id", "a"], [1, "x" * 1_001]), 2, "a", "characters, more than 1,000"),
    (workbook(["a"], *[[1]] * 21), 22, None, "over 20 records"),
    (b"not a zip", None, None, "workbook (is it an"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 100, None, None, "password"),
    (workbook(["a"])[:-30], None, None, "workbook (is it an"),
]


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(("content", "row", "column", "word"), REFUSED)
def test_a_bad_workbook_is_refused_with_its_exact_place(tmp_path, content, row, column, word):
    limits = replace(PAGE, rows=20) if "records" in word else PAGE
    limits = replace(limits, cell=1_000) if "characters" in word else limits
    error = refusal(tmp_path, content, limits)
    assert (error.row, error.column) == (row, column)
    assert word in error.problem


def test_empty_sheets_and_trailing_blank_rows_do_not_matter(tmp_path):
    assert (
        len(
            read(
                tmp_path,
                workbook(["a"], ["x"], [None], [""], more={"Sheet2": [], "Sheet3": [None]}),
            )
        )
        == 1
    )


def test_a_skipped_column_stays_unread(tmp_path):
    content = second_row('<c r="B2"><f>SUM(A1:A9)</f><v>3</v></c>')
    assert [dict(record.values) for record in read(tmp_path, content, skip=["answer"])] == [
        {"id": "1"}
    ]


# Bombs.


def entity_bomb() -> bytes:
    entities = '<!ENTITY a0 "xxxxxxxxxx">' + "".join(
        f'<!ENTITY a{depth} "{f"&a{depth - 1};" * 10}">' for depth in range(1, 9)
    )
    sheet = f'<!DOCTYPE x [{entities}]><worksheet xmlns="{MAIN}"><sheetData>{HEADER}<row r="2">'
    sheet += '<c r="A2" t="inlineStr"><is><t>&a8;</t></is></c></row></sheetData></worksheet>'
    return raw_workbook("", **{"xl/worksheets/sheet1.xml": sheet})


def amplifier() -> bytes:
    cells = "".join(
        f'<row r="{row}"><c r="A{row}" t="s"><v>0</v></c></row>' for row in range(1, 100)
    )
    return raw_workbook(cells, f"<si><t>{'y' * 30_000}</t></si>")


def locked() -> bytes:
    raw = bytearray(workbook(["a"]))
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    return bytes(raw)


@pytest.mark.parametrize(
    ("bomb", "word"),
    [
        (lambda: raw_workbook(" " * 20_000_000), "unpacks to"),
        (
            lambda: raw_workbook("", **{f"junk{part}.xml": "" for part in range(60)}),
            "over 50 parts",
        ),
        (entity_bomb, "isn't a readable .xlsx"),
        (amplifier, "more text than"),
        (locked, "password"),
        (
            lambda: raw_workbook(f'{HEADER}<row r="999999999">{text_cell("A2", "x")}</row>'),
            "row 999999999",
        ),
    ],
)
def test_a_bomb_is_refused_in_words(tmp_path, bomb, word):
    limits = replace(PAGE, unpacked=2_000_000) if bomb is amplifier else PAGE
    assert word in refusal(tmp_path, bomb(), limits).problem


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux bounds the address space"
)
def test_a_workbook_that_needs_too_much_memory_is_refused(tmp_path):
    dice = random.Random(5)
    strings = "".join(f"<si><t>{dice.getrandbits(64):x}</t></si>" for _ in range(20_000))
    content = raw_workbook(HEADER + f'<row r="2">{text_cell("A2", "1")}</row>', strings)
    assert len(read(tmp_path, content)) == 1
    assert "too large" in refusal(tmp_path, content, replace(PAGE, memory=30_000_000)).problem


def test_the_process_that_reads_a_workbook_runs_without_the_environment_of_python(tmp_path):
    (tmp_path / "openpyxl.py").write_text("raise SystemExit('a stranger')")
    (tmp_path / "answers.xlsx").write_bytes(workbook(["a"], ["x"]))
    code = "import sys; from pathlib import Path; from arena.io.tables import read_records; "
    code += f"assert len(list(read_records(Path({str(tmp_path / 'answers.xlsx')!r})))) == 1; "
    code += "assert 'openpyxl' not in sys.modules"
    environment = {**os.environ, "PYTHONPATH": f"{Path(__file__).parents[3]}{os.pathsep}{tmp_path}"}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)


# Round trip and mutations.

SHEET_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Cn"], include_characters="\n\t"),
    min_size=1,
    max_size=12,
).filter(lambda text: not text.startswith("=") and not re.search("_x[0-9A-Fa-f]{4}_", text))
# openpyxl writes 16 digits of a number, and a whole one without its point.
FRACTIONS = (
    st.floats(-1e9, 1e9)
    .map(lambda number: float(f"{number:.15g}"))
    .filter(lambda number: number % 1)
)
CELLS = SHEET_TEXT | st.integers(-(2**53), 2**53) | st.booleans() | FRACTIONS


def shown(cell: str | int | float | bool) -> str:
    return str(cell).upper() if isinstance(cell, bool) else str(cell)


@given(rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=20))
@settings(max_examples=4, deadline=None)
def test_what_openpyxl_writes_comes_back_identical(tmp_path_factory, rows):
    records = read(tmp_path_factory.getbasetemp(), workbook(["a", "b", "c"], *rows))
    assert [list(record.values.values()) for record in records] == [
        [shown(cell) for cell in row] for row in rows
    ]


@pytest.mark.parametrize("turns", [5, pytest.param(40, marks=pytest.mark.soak)])
def test_mutated_workbooks_are_read_or_refused_but_never_crash(tmp_path, turns):
    dice = random.Random("xlsx")
    refused = 0
    made = workbook(["id", "answer"], [1, "a"], [2, "é中"], [3.5, None])
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    # the time in it would move the places that are changed
    del parts["docProps/core.xml"]
    honest = raw_workbook("", **parts)
    for turn in range(turns):
        if turn % 2:
            content = bytearray(honest)
            for _ in range(3):
                content[dice.randrange(len(content))] = dice.randrange(256)
        else:
            name = dice.choice(
                sorted(part for part in parts if part.startswith(("xl/w", "xl/s", "[")))
            )
            text = parts[name]
            place = dice.randrange(len(text))
            spice = dice.choice(['"', "<", "9", "", "s", "/>", "-"])
            changed = text[:place] + spice + text[place + dice.randrange(5) :]
            content = raw_workbook("", **{**parts, name: changed})
        try:
            json.dumps([dict(record.values) for record in read(tmp_path, bytes(content))]).encode()
        except RowsError as error:
            refused += 1
            assert error.file == "answers.xlsx"
    assert 1 < refused < turns


FEW = replace(PAGE, rows=3, values=8)


def rows_of(*texts: tuple[str, str]) -> str:
    return HEADER + "".join(
        f'<row r="{row}">{text_cell(f"A{row}", one)}{text_cell(f"B{row}", other)}</row>'
        for row, (one, other) in enumerate(texts, start=2)
    )


def test_a_sheet_of_more_rows_is_refused_before_any_cell_is_read(tmp_path):
    """As the work on a cell is a hundred times that on its count: no cell's fault and no shared string was met."""
    formula = '<row r="2"><c r="A2"><f>B2</f><v>1</v></c></row>'
    many = "".join(f'<row r="{row}"><c r="A{row}"><v>1</v></c></row>' for row in range(3, 9))
    error = refusal(tmp_path, raw_workbook(HEADER + formula + many, "<si><t>torn"), FEW)
    assert (error.row, error.problem) == (5, "The file has over 3 records. Split it.")


def test_a_sheet_of_more_values_is_refused_before_any_cell_is_read(tmp_path):
    formula = '<row r="2"><c r="A2"><f>B2</f></c></row>'
    cells = "".join(f'<c r="{column}3"><v>1</v></c>' for column in "ABCDEFGH")
    error = refusal(tmp_path, raw_workbook(f'{HEADER}{formula}<row r="3">{cells}</row>'), FEW)
    assert error.problem.startswith("The file has over 8 values")


def test_rows_without_anything_and_skipped_columns_are_not_counted(tmp_path):
    empty = "".join(
        f'<row r="{row}"><c r="A{row}"/><c r="B{row}" s="1"/></row>' for row in range(5, 99)
    )
    sheet = rows_of(("1", "a"), ("2", "b"), ("3", "c")) + empty
    assert len(read(tmp_path, raw_workbook(sheet), FEW)) == 3
    narrow = replace(FEW, values=3)
    assert len(read(tmp_path, raw_workbook(sheet), narrow, skip={"answer"})) == 3


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_rows_are_counted_however_their_names_are_written(tmp_path, encoding):
    sheet = rows_of(*[("1", "a")] * 6).replace("<", "<x:").replace("<x:/", "</x:")
    part = (
        f'<?xml version="1.0" encoding="{encoding}"?><x:worksheet xmlns:x="{MAIN}"><x:sheetData>{sheet}'
        "</x:sheetData></x:worksheet>"
    ).encode(encoding)
    book = raw_workbook("", **{"xl/worksheets/sheet1.xml": part})  # type: ignore[arg-type]
    assert refusal(tmp_path, book, FEW).problem.startswith("The file has over 3 records")


@pytest.mark.soak
@pytest.mark.parametrize(("rows", "columns"), [(1_000_000, 1), (65_000, 20), (60_000, 51)])
def test_a_large_sheet_is_refused_soon(tmp_path, rows, columns):
    names = [get_column_letter(place) for place in range(1, columns + 1)]
    head = "".join(text_cell(f"{name}1", name) for name in names)
    cells = "".join(f"<c><v>{place}</v></c>" for place in range(columns))
    sheet = f'<row r="1">{head}</row>' + f"<row>{cells}</row>" * rows
    content = raw_workbook(sheet)
    begun = cpu_seconds()
    assert "The file has over" in str(refusal(tmp_path, content, replace(PAGE, ratio=10_000)))
    assert cpu_seconds() - begun < 10


def cpu_seconds() -> float:
    """What this process and those that it started have computed."""
    return sum(os.times()[:4])


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ("9007199254740991.0", "9007199254740991"),
        ("9.007199254740992E15", "9007199254740992"),
        ("1.5E300", "1.5e+300"),
    ],
)
def test_a_whole_number_of_any_size_has_no_point(tmp_path, in_this_process, stored, text):
    (record,) = read(tmp_path, second_row(f'<c r="B2"><v>{stored}</v></c>'))
    assert record.values["answer"] == text
