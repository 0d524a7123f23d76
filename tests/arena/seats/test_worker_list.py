"""Lists of workers: as lines or as tables, with and without a header, from any editor and any spreadsheet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.io.csv_text import csv_text
from arena.io.strict_json import RowsError
from arena.io.tables import temporary_file
from arena.seats.worker_list import parse_workers, read_workers
from arena.seats.worker_names import is_name, tidy_name
from tests.support.workbooks import workbook

PEOPLE = st.text(max_size=24).map(tidy_name).filter(is_name)


def names(name: str, content: str | bytes) -> list[tuple[int, str]]:
    data = content.encode() if isinstance(content, str) else content
    with temporary_file(data, name) as path:
        return [*map(tuple, read_workers(path))]


HEADERS = ["worker", "Workers", "worker_id", "WorkerId", "Worker ID:", "name", " Names ", "ID"]
HEADERS += ["Participant id", "person", '"worker"', "Worker I.D.", "Name."]


@pytest.mark.parametrize("file", ["list", "list.txt", "list.csv", "list.tsv"])
@pytest.mark.parametrize("header", ["", *HEADERS])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n \n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_header_and_what_editors_add_are_no_worker(file, header, end, mark):
    lines = [*([header] if header else []), '"O\'Neil, Tip"', "Ada Lovelace", " 李小龍\t"]
    found = names(file, mark + end.join(lines) + end)
    assert [name for _, name in found] == ["O'Neil, Tip", "Ada Lovelace", "李小龍"]


@pytest.mark.parametrize(
    "first",
    ["wörker", "worker 1", "Idé", "nameless", "w1", "编号id", "worker@x.org", "I.D.", "I. D. S."],
)
def test_a_first_line_that_is_no_header_is_a_worker(first):
    assert names("list.csv", f"{first}\nada\n") == [(1, first), (2, "ada")]


@pytest.mark.parametrize(
    "file, content",
    [
        ("list.csv", "mail,Worker\nx,ada\ny,Bob B\n"),
        ("list.csv", "\n\nmail,Worker\n\nx,ada\n,\n\ny,Bob B\n"),
        ("list.csv", '"mail";"worker id";"name"\r\n"x";"ada";"A"\r\n"y";"Bob B";"B"\r\n'),
        ("list.csv", "\ufeffid,name\n1,ada\n2,Bob B\n"),
        ("list.tsv", "mail\tParticipant id\nx\tada\ny\tBob B\n"),
        ("list.txt", "name\tmail\nada\tx\nBob B\ty\n"),
        ("list.xlsx", workbook(["mail", "name"], ["x", "ada"], ["y", "Bob B"])),
        ("list.xlsx", workbook(["WorkerId"], ["ada"], ["Bob B"])),
        ("list.jsonl", '{"worker": "ada"}\n{"worker": null}\n{"worker": "Bob B"}\n'),
    ],
)
def test_a_table_has_its_workers_in_a_column(file, content):
    assert [name for _, name in names(file, content)] == ["ada", "Bob B"]


def test_rows_are_counted_as_an_editor_does():
    assert names("list.csv", "\nmail,worker\n\nx,ada\n\ny,bob\n") == [(4, "ada"), (6, "bob")]
    assert names("list.txt", "\nworker\n\nada\n\nbob\n") == [(4, "ada"), (6, "bob")]


@pytest.mark.parametrize(
    "file, content, told",
    [
        ("list.txt", "worker\n", "Expected a worker's name on each line, found none"),
        ("list.csv", "mail,worker\n", "Expected a worker's name on each line, found none"),
        ("list.txt", " \n\n", "Expected a worker's name on each line, found none"),
        ("list.csv", "ada,x\nbob,y\n", "row 2: Expected a column 'worker', found 'ada', 'x'"),
        ("list.xlsx", workbook(["ada"], ["bob"]), "Expected a column 'worker', found 'ada'"),
        ("list.csv", "worker,Worker\na,b\n", "found 'worker' and 'Worker'. Delete one"),
        ("list.csv", "\nworker,mail\n\nada\n", "row 4: Expected 2 cells"),
        ("list.txt", "Zo\u00eb\n".encode("latin-1"), "Expected UTF-8 text"),
        ("list.txt", "ada\nbob\nada \n", "found 'ada' on rows 1 and 3. Delete"),
        ("list.csv", "worker,x\nZo\u00eb,1\nZoe\u0308,2\n", "found 'Zo\u00eb' on rows 2 and 3"),
        (
            "list.txt",
            "".join(f"w{one % 7}\n" for one in range(70)),
            "found 'w0' on rows 1 and 8 and 15 and 22 and 29, .* 'w4' on rows [0-9 and]+ and 2 more. Delete",
        ),
    ],
)
def test_a_wrong_list_says_what_is_wrong(file, content, told):
    with pytest.raises(RowsError, match=told):
        names(file, content)


def test_a_list_from_a_box_names_no_file():
    """Also one of several columns, which is read as a file."""
    for text, row in (
        ("ada\nbob\nada\n", "Expected each worker once"),
        ("worker,x\na\n", "row 2: "),
    ):
        with pytest.raises(RowsError) as error:
            parse_workers(text.split("\n"))
        assert str(error.value).startswith(row)


@given(st.lists(PEOPLE, min_size=1, unique=True), st.booleans())
def test_a_download_of_ours_is_a_list_of_the_same_workers(people, has_links):
    table = [("worker", "link"), *((one, "https://x") for one in people)]
    text = csv_text(table if has_links else [row[:1] for row in table])
    assert [name for _, name in parse_workers(text.split("\n"))] == people
