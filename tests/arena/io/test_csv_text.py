"""CSV: what strangers wrote is a text in every spreadsheet, and numbers stay numbers."""

import csv
import io

import pytest

from arena.io.csv_text import csv_text, plain_cell, safe_cell
from scoring.multiple_choice.metrics import fractions_csv


@pytest.mark.parametrize(
    "text", ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", " =1", "＝1", "\r=1", "-x"]
)
def test_what_a_spreadsheet_would_run_is_a_text(text):
    for name in (text, f"{text}\n"):
        (heads, (cell, *_)) = csv.reader(io.StringIO(csv_text([[name], [name]])))
        assert heads == [cell] and cell.startswith("'")


@pytest.mark.parametrize("text", ["=1", "'=1", "''@ann", "'", "'cat'", "-7"])
def test_a_text_comes_back_from_its_cell(text):
    assert plain_cell(safe_cell(text)) == text


@pytest.mark.parametrize("text", ["-0.5", "-1e-05", "-7", "-", "", "cat - dog", "a\nb", "a,b"])
def test_numbers_and_honest_texts_stay_as_they_are(text):
    assert (
        next(csv.reader(io.StringIO(csv_text([[text, ""]], lineterminator="\r\n"), newline="")))[0]
        == text
    )


def test_a_line_break_of_any_kind_stays_in_its_cell():
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
        assert (
            len(
                list(
                    csv.reader(
                        io.StringIO(csv_text([["a\r\nb\rc\nd", 1]], quoting=quoting), newline="")
                    )
                )
            )
            == 1
        )


def test_cells_for_programs_are_exact():
    assert csv_text([["=1", "-x"]], exact=True) == "=1,-x\n"


def test_category_and_split_names_are_made_safe():
    """The public toolkit's table has names of the uploaded file as its headings."""
    heads, row = csv.reader(
        io.StringIO(fractions_csv(["=cmd|' /C calc'!A0"], [("@dev", [50.0])]).decode())
    )
    assert (heads[1], row) == ("'=cmd|' /C calc'!A0", ["'@dev", "0.5"])
