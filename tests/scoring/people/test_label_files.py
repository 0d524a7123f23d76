"""Files of labels: what goes out comes in, whatever people are called and wrote."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.io.strict_json import RowsError
from scoring.benchmarks.article import ScoredAnswer
from scoring.people.error_sample import GroupedError
from scoring.people.errors import ERROR_KINDS, ErrorKey, Label
from scoring.people.label_files import COLUMNS, labels_csv, read_labels
from scoring.report import answer_digest

KINDS: tuple[ErrorKey, ...] = tuple(ERROR_KINDS)
ERRORS = {
    str(at): GroupedError(ScoredAnswer(str(at), "", "", f"answer {at}", "", 0.0), f"g{at % 2}")
    for at in range(9)
}
DIGESTS = {item: answer_digest(error.answer.answer) for item, error in ERRORS.items()}
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=9)
LABELS = st.builds(
    lambda at, who, main, further, note, number: Label(
        str(at),
        f"g{at % 2}",
        who,
        main,
        tuple(key for key in KINDS if key in further and key != main),
        note,
        number,
    ),
    st.integers(0, 8),
    WORDS,
    st.sampled_from(KINDS),
    st.sets(st.sampled_from(KINDS), max_size=3),
    WORDS,
    st.integers(1, 2),
)


@given(
    st.lists(
        LABELS, min_size=1, max_size=9, unique_by=lambda one: (one.item, one.labeller, one.round)
    )
)
def test_what_goes_out_comes_in(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    path.write_text(labels_csv(labels, DIGESTS), "utf-8")
    assert read_labels(path, ERRORS) == (tuple(labels), ())


@pytest.mark.parametrize("note", ["=1+1", "'=1+1", "''@", "'"])
def test_no_spreadsheet_runs_a_note_and_its_apostrophe_is_no_part_of_a_name(tmp_path, note):
    label = Label("1", "g1", "@anna", "right", (), note)
    text = labels_csv([label], DIGESTS)
    (cells,) = csv.DictReader(io.StringIO(text))
    assert cells["note"] == (note if note == "'" else f"'{note}")
    assert cells["labeller"] == "'@anna"
    (tmp_path / "labels.csv").write_text(text, "utf-8")
    assert read_labels(tmp_path / "labels.csv", ERRORS).labels == (label,)


def test_jsonl_may_list_further_kinds(tmp_path):
    row = dict(
        zip(
            COLUMNS,
            ("1", "g1", DIGESTS["1"], "anna", 1, "right", ["reasoning", "refuse"], ""),
            strict=True,
        )
    )
    (tmp_path / "labels.jsonl").write_text(json.dumps(row) + "\n")
    assert read_labels(tmp_path / "labels.jsonl", ERRORS).labels == (
        Label("1", "g1", "anna", "right", ("reasoning", "refuse")),
    )


def test_wrong_rows_are_named_and_no_other_is_lost(tmp_path):
    rows = [
        {"item": "1", "main": "perception"},
        {"item": "2", "main": "blunder"},
        {"item": "999", "main": "refuse"},
        {"item": "3", "main": "refuse", "answer_sha256": "00"},
        {"item": "1", "main": "refuse"},
        {"item": "4", "main": "refuse", "round": 7},
        {"item": "5", "main": ""},
        {"item": "5", "main": "refuse", "round": 2.0},
    ]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    labels, problems = read_labels(tmp_path / "labels.jsonl", ERRORS)
    read = [(label.item, label.main, label.round) for label in labels]
    assert read == [("1", "perception", 1), ("5", "refuse", 2)]
    unknown, *others = problems
    assert unknown.startswith("row 2 left out: main: expected 'perception', 'reasoning',")
    assert unknown.endswith(", found 'blunder'")
    assert others == [
        "row 3 left out: it isn't one of this file's wrong answers",
        "row 4 left out: the label is of another answer: answer_sha256 differs",
        "row 5 left out: this person labelled this answer in a row before",
        "row 6 left out: round: expected 1, or 2 for the same person's second time, found '7'",
    ]


@pytest.mark.parametrize("heading", ["proposed_by", "Proposed by", "PROPOSEDBY"])
def test_proposals_are_no_labels_however_their_heading_is_spelled(tmp_path, heading):
    path = tmp_path / "labels.csv"
    path.write_text(f"item,main,{heading}\n1,reasoning,rules\n")
    with pytest.raises(RowsError, match="These are proposals"):
        read_labels(path, ERRORS)
    (label,) = read_labels(path, ERRORS, "proposed_by").labels
    assert label.labeller == "rules"
