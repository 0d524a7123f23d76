"""VisIT-Bench's public table: its items come in finished, give Table 2's column, and go out cell for cell."""

import csv
import json
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from arena.authoring.board import family_rows, yield_table
from arena.authoring.spec import KINDS
from arena.authoring.store import DraftStore
from arena.authoring.visit_csv import VISIT_COLUMNS, import_visit, read_visit, visit_row
from arena.database import Database
from arena.io.strict_json import RowsError
from arena.seats.campaigns import Campaign, CampaignStore
from arena.seats.spec import CampaignError
from tests.support.writers import Project


def bring(database: Database, path: Path, name: str = "visit") -> tuple[Campaign, int]:
    return import_visit(CampaignStore(database, KINDS), DraftStore(database), path, name)


@pytest.fixture(scope="module")
def table(data) -> Path:
    return data / "visit-bench" / "visit_bench_multi_images.csv"


def test_the_public_table_comes_in_with_table_2s_column_and_goes_out_as_it_was(database, table):
    project, new = bring(database, table)
    assert (new, project.ended_at is not None) == (100, True)
    drafts = DraftStore(database).drafts(project)
    rows = {row.metric: row for row in yield_table(drafts)}
    assert {metric: (row.multi.hits, row.multi.n) for metric, row in rows.items()} == {
        "correct": (63, 100),
        "caption": (6, 100),
        "answer": (30, 100),
        "other": (1, 100),
    }
    assert rows["correct"].single.n == 0 and rows["correct"].single.value is None
    correct = rows["correct"].overall
    assert (round(correct.low, 4), round(correct.high, 4)) == (0.5322, 0.7182), "Wilson's"
    assert {
        (row.wanted, row.accepted + row.rejected) for row in family_rows(drafts, project.spec)
    } == {(10, 10)}
    with table.open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert list(read[0]) == list(VISIT_COLUMNS)
    assert [visit_row(draft, "CC BY 4.0") for draft in drafts] == read
    assert bring(database, table) == (project, 0), "what is there stays"


def test_an_import_that_dies_before_the_project_ends_leaves_none_open(database, table):
    def die(connection, cursor, statement, *others):
        if "INSERT INTO campaign_end" in statement:
            raise KeyboardInterrupt

    event.listen(Engine, "before_cursor_execute", die)
    try:
        with pytest.raises(KeyboardInterrupt):
            bring(database, table)
    finally:
        event.remove(Engine, "before_cursor_execute", die)
    assert not CampaignStore(database, KINDS).has("visit"), (
        "a seat of an open one could be given a draft"
    )
    project, new = bring(database, table)
    assert (new, project.why_ended) == (100, "its items were imported finished")


def test_the_row_that_is_incorrect_without_a_fault_is_allowed(table):
    faults = [draft.values[-1].fault for draft in read_visit(table) if len(draft.values) == 5]
    assert len(faults) == 37 and faults.count("not told") == 1


def test_true_and_false_of_json_are_read_as_those_of_the_table(table, tmp_path):
    truths = {"True": True, "False": False}
    with table.open(encoding="utf-8", newline="") as file:
        rows = [
            {name: truths.get(cell, cell) for name, cell in row.items()}
            for row in csv.DictReader(file)
        ]
    path = tmp_path / "visit.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert read_visit(path) == read_visit(table)


def changed(table: Path, folder: Path, **cells: str) -> Path:
    """The table's first row with other cells."""
    with table.open(encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file)) | cells
    with (folder / "changed.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [name for name in row if row[name] != "gone"])
        writer.writeheader()
        writer.writerow({name: value for name, value in row.items() if value != "gone"})
    return folder / "changed.csv"


@pytest.mark.parametrize(
    "cells, told",
    [
        (
            {"human_ratings_gpt4_correct": "yes"},
            "column 'human_ratings_gpt4_correct': is 'yes'. Write True or False",
        ),
        ({"human_ratings_problem_in_caption": "True"}, "only one of it"),
        (
            {"is_multiple_images": "False"},
            "column 'is_multiple_images': is False, and images has 2",
        ),
        ({"images": "[]"}, "column 'images': must be a list"),
        ({"images_dense_captions": '["one"]'}, "must be a list of 2 captions"),
        ({"gpt4_prediction": ""}, "column 'gpt4_prediction': is empty"),
        ({"reference_output": "gone"}, "column 'reference_output': Expected this column"),
    ],
)
def test_a_row_that_cannot_be_read_is_told_with_its_place_and_nothing_comes_in(
    database, table, tmp_path, cells, told
):
    with pytest.raises(RowsError, match=r"changed\.csv, row 2, ") as caught:
        bring(database, changed(table, tmp_path, **cells))
    assert told in str(caught.value)
    assert CampaignStore(database, KINDS).find("visit") is None


def test_a_table_that_makes_no_project_is_named(database, table, tmp_path):
    path = changed(table, tmp_path, instruction_category="f" * 201)
    with pytest.raises(
        CampaignError,
        match=f"{path.name} can't become the project 'visit': name is 'fff.*1 to 200 characters long",
    ):
        bring(database, path)


def test_a_project_of_three_verifiers_does_not_take_the_table(database, table, tmp_path):
    Project.on(database, tmp_path, name="visit", verifiers=3)
    with pytest.raises(CampaignError, match="needs three verifiers"):
        bring(database, table)
