"""Sheets: a table in six forms says the same in each, whatever stands in its cells."""

import csv
import io
import json
from dataclasses import replace
from typing import NamedTuple

import pandas as pd
import pytest

from arena.sheets import (
    Column,
    Sheet,
    as_csv,
    as_html,
    as_json,
    as_latex,
    as_markdown,
    as_text,
    interval,
    plain_sheet,
    record_sheet,
)

ROWS = [
    {"level": 0, "name": "Overall", "n": 4329, "mean": 61.25, "low": 58.0, "high": 64.375},
    {"level": 1, "name": "a_b|c", "n": 12, "mean": None, "low": None, "high": None},
]
COLUMNS = (
    Column("name", "Ability"),
    Column("n", "n", "count"),
    Column("mean", "CircularEval", "score", "low", "high", bar=True),
)
SHEET = Sheet("levels", "By level", pd.DataFrame(ROWS), COLUMNS, "A note.", level="level")
RENDERERS = {
    "html": as_html,
    "text": lambda sheet: "\n".join(as_text(sheet)),
    "csv": as_csv,
    "markdown": as_markdown,
    "latex": as_latex,
    "json": as_json,
}
HOSTILE = "<script>alert(1)</script>|`*$&#%_{}~^\\=HYPERLINK()"


def only(kind: str, value: object, **more: object) -> Sheet:
    """A sheet with one number beside its row's name."""
    column = Column("value", "Value", kind, **more)
    frame = pd.DataFrame([{"name": "row", "value": value, "low": 0.5, "high": 12.75, "runs": 0.25}])
    return Sheet("one", "One", frame, (Column("name", "Name"), column))


@pytest.mark.parametrize("form", RENDERERS)
def test_a_column_that_is_added_stands_in_every_form(form):
    before = RENDERERS[form](SHEET)
    frame = SHEET.frame.assign(published=[76.5, 7.25])
    columns = (*COLUMNS, Column("published", "Published", "score"))
    after = RENDERERS[form](replace(SHEET, frame=frame, columns=columns))
    name = "published" if form == "csv" else "Published"
    assert name not in before and name in after
    assert "76.5" in after and "7.2" in after


@pytest.mark.parametrize("form", RENDERERS)
def test_every_form_says_title_or_head_numbers_and_interval(form):
    shown = RENDERERS[form](SHEET)
    assert ("4329" if form in ("csv", "json") else "4,329") in shown
    assert "Overall" in shown
    if form in ("csv", "json"):
        assert "61.25" in shown and "58.0" in shown and "64.375" in shown
    else:
        ends = "[58.0, 64.4]" if form == "text" else "58.0 to 64.4"
        assert ends in shown and "61.2" in shown


def test_a_file_keeps_all_digits_and_says_nothing_for_what_is_missing():
    rows = list(csv.reader(io.StringIO(as_csv(SHEET))))
    assert rows[0] == ["level", "name", "n", "mean", "low", "high"]
    assert rows[2] == ["1", "a_b|c", "12", "", "", ""]
    told = json.loads(as_json(SHEET))
    assert told["rows"][1]["mean"] is None and told["note"] == "A note."
    assert told["columns"][2]["keys"] == ["mean", "low", "high"]


@pytest.mark.parametrize(
    "sheet, text",
    [
        (only("count", 1234567), "1,234,567"),
        (only("percent", 0.1234), "12.3%"),
        (only("score", 34.56, runs="runs"), "34.6 (runs ±0.2)"),
        (only("difference", 4.0), "+4.0"),
        (only("difference", -4.0), "−4.0"),
        (only("rank", 3, low="low", high="high"), "3 (0 to 13)"),
        (only("p", 0.00004), "0.0000"),
        (only("score", float("nan")), "–"),
        (only("text", None), "–"),
    ],
)
def test_numbers_are_written_by_their_kind(sheet, text):
    assert f"| {text} |" in as_markdown(sheet)


def test_a_name_is_no_markup_and_an_infinite_number_none_in_json():
    assert r"| \_i\_ \~s\~ \&lt; |" in as_markdown(only("text", "_i_ ~s~ &lt;"))
    assert json.loads(as_json(only("score", float("inf"))))["rows"][0]["value"] is None


def test_places_are_whole_numbers_in_a_file():
    """Beside a place that is missing, pandas holds all of them as floats."""
    frame = pd.DataFrame(
        {"name": ["a", "b"], "place": [2, None], "low": [1, None], "high": [3, None]}
    )
    columns = (Column("name", "Name"), Column("place", "Place", "rank", "low", "high"))
    rows = as_csv(Sheet("places", "Places", frame, columns)).splitlines()
    assert rows[1:] == ["a,2,1,3", "b,,,"]


def test_an_interval_may_stand_alone():
    sheet = replace(only("score", 1.0), columns=(Column("name", "Name"), interval("low", "high")))
    assert "| 0.5 to 12.8 |" in as_markdown(sheet)
    assert "[0.5, 12.8]" in "\n".join(as_text(sheet))
    rounded = replace(sheet, frame=sheet.frame.assign(low=-0.04))
    assert "| 0.0 to 12.8 |" in as_markdown(rounded), "as a score beside it, without a minus"
    assert list(csv.reader(io.StringIO(as_csv(sheet))))[0] == ["name", "low", "high"]


def test_rows_below_others_are_indented_and_may_be_folded():
    latex = as_latex(SHEET)
    assert "Overall &" in latex and "\\quad a\\_b\\textbar{}c &" in latex
    assert "  a_b|c" in "\n".join(as_text(SHEET))
    folded = replace(SHEET, unfolded=1)
    assert "a_b|c" not in "\n".join(as_text(folded)) and "a_b|c" in as_csv(folded)
    html = as_html(folded)
    assert 'aria-expanded="false"' in html and "hidden" in html and "hidden" not in as_html(SHEET)


def test_strangers_words_stay_words_in_every_form():
    frame = pd.DataFrame([{**ROWS[0], "name": HOSTILE}])
    sheet = replace(SHEET, title=f"{HOSTILE}\nnext", frame=frame)
    assert "<script" not in as_html(sheet)
    assert "\\<script\\>alert(1)\\</script\\>\\|\\`\\*$" in as_markdown(sheet)
    latex = as_latex(sheet)
    comment, *lines = latex.splitlines()
    assert comment.startswith("% ") and lines[0] == "\\begin{tabular}{lrr}"
    row = next(line for line in lines if "HYPERLINK" in line)
    assert "\\textbackslash{}" in row and "\\$\\&\\#\\%\\_\\{\\}" in row
    formula = replace(SHEET, frame=pd.DataFrame([{**ROWS[0], "name": "=1+1"}]))
    assert list(csv.reader(io.StringIO(as_csv(formula))))[1][1] == "'=1+1"


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("[1cm] tall", "{[}1cm] tall &"),
        ("*starred", "{*}starred &"),
        ("<a|b>", "\\textless{}a\\textbar{}b\\textgreater{} &"),
    ],
)
def test_a_row_of_latex_may_begin_with_what_the_row_before_would_take(name, cell):
    sheet = plain_sheet("names", "Names", ["name", "n"], [("first", 1), (name, 2)])
    assert cell in as_latex(sheet)


def test_a_terminal_gets_no_signs_that_it_would_obey():
    frame = pd.DataFrame([{**ROWS[0], "name": "red\x1b[31m\nname"}])
    lines = list(as_text(replace(SHEET, title="a\x1b[2Jtitle", frame=frame)))
    assert len(lines) == 4 and not {"\x1b", "\n"} & {*"".join(lines)}
    columns = (Column("name", "Ability\x1b[2J"), *COLUMNS[1:])
    lines = list(as_text(replace(SHEET, columns=columns, note="By \x1b[8mjudge")))
    assert "\x1b" not in "".join(lines) and lines[-1] == "By <U+001B>[8mjudge"
    assert any(line.split()[-3:] == ["-4.0", "[+0.5,", "+12.8]"] for line in as_text(NEGATIVE))


NEGATIVE = only("difference", -4.0, low="low", high="high")


def test_a_sheet_without_rows_is_no_table_of_a_page():
    assert as_html(replace(SHEET, frame=SHEET.frame.head(0))) == ""


@pytest.mark.parametrize(
    ("ends", "text"),
    [((0.521, 0.699), "61% (52–70%)"), ((0.611, 0.612), "61%"), ((None, None), "61%")],
)
def test_where_there_is_little_room_an_interval_has_a_dash_and_says_no_number_twice(ends, text):
    frame = pd.DataFrame([{"name": "row", "value": 0.61, "low": ends[0], "high": ends[1]}])
    column = Column("value", "Won", "percent", "low", "high", places=0, dash=True)
    sheet = Sheet("one", "One", frame, (Column("name", "Name"), column))
    assert f"| {text} |" in as_markdown(sheet)


def test_a_short_interval_below_0_has_the_minus_of_its_number():
    sheet = only("score", -5.0, low="least", high="high", places=0, dash=True)
    below_0 = replace(sheet, frame=sheet.frame.assign(least=-12.0))
    assert "| −5 (−12–13) |" in as_markdown(below_0)


def test_a_share_with_an_interval_has_a_bar_of_it():
    frame = pd.DataFrame([{"name": "row", "value": 0.61, "low": 0.5, "high": 0.75}])
    column = Column("value", "Won", "percent", "low", "high", bar=True)
    html = as_html(Sheet("one", "One", frame, (Column("name", "Name"), column)))
    assert 'class="bar" style="--from:50.0%;--to:75.0%;--at:61.0%"' in html


def test_a_text_may_lead_to_an_address_which_stays_one():
    frame = pd.DataFrame([{"name": HOSTILE, "address": '/x"y'}, {"name": "b", "address": ""}])
    html = as_html(Sheet("one", "One", frame, (Column("name", "Name", href="address"),)))
    assert '<a href="/x&#34;y">' in html and html.count("<a ") == 1 and "<script" not in html


def test_a_head_may_have_its_meaning_on_a_page():
    columns = (COLUMNS[0], replace(COLUMNS[1], meaning="How many."), COLUMNS[2])
    assert 'title="How many."' in as_html(replace(SHEET, columns=columns))


def test_a_sheet_of_many_columns_breaks_its_rows_on_a_phone_or_is_scrolled_by_keys():
    wide = replace(SHEET, columns=(*COLUMNS, COLUMNS[1]))
    assert " wide" in as_html(wide) and "tabindex" not in as_html(wide)
    scrolled = as_html(replace(wide, scrolls=True))
    assert " wide" not in scrolled
    assert 'tabindex="0" role="group" aria-label="By level"' in scrolled


def test_files_may_have_columns_that_no_table_shows():
    whole = replace(SHEET, columns=COLUMNS[:1], whole=True)
    assert as_csv(whole) == as_csv(SHEET)
    assert json.loads(as_json(whole))["rows"] == json.loads(as_json(SHEET))["rows"]
    assert "61" not in as_markdown(whole)
    none = replace(whole, frame=SHEET.frame.head(0))
    assert as_csv(none) == "level,name,n,mean,low,high\n"


class Fruit(NamedTuple):
    """A row of a plain sheet."""

    name: str
    in_stock: int | None
    price: float | None
    is_ripe: bool


def test_plain_sheets_count_whole_numbers_and_leave_all_else_as_it_is():
    fruits = [Fruit("fig", 1200, 0.25, True), Fruit("kiwi", None, None, False)]
    sheet = record_sheet("fruits", "Fruits", Fruit, fruits)
    assert as_csv(sheet) == "name,in_stock,price,is_ripe\nfig,1200,0.25,True\nkiwi,,,False\n"
    assert "| fig | 1,200 | 0.25 | True |" in as_markdown(sheet)
    assert as_csv(record_sheet("fruits", "Fruits", Fruit, [])) == "name,in_stock,price,is_ripe\n"
    twice = plain_sheet("two", "Two", ("Paper", "Paper"), [(1, "a")])
    assert "| Paper | Paper |" in as_markdown(twice) and "| 1 | a |" in as_markdown(twice)
