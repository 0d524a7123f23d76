"""A template of scores that is filled in and comes back is of the same answers; what is wrong in one has its place."""

import pytest

from arena.io.tables import RowsError
from scoring.people.agreement_files import read_scores, scores_csv


def test_items_and_models_that_a_spreadsheet_would_run_come_back_under_their_names(tmp_path):
    answers = [("-dQw4w9WgXc", "@model"), ("'quoted", "m1")]
    template = scores_csv(answers)
    assert "'-dQw4w9WgXc,'@model,," in template
    path = tmp_path / "scores.csv"
    path.write_text(template.replace(",,", ",mine,0.5"), "utf-8")
    assert read_scores(path, ()) == {"mine": dict.fromkeys(answers, 0.5)}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("i,m1,x,1\ni,m2,x,nan\n", "row 3, column 'score': Expected a number, found 'nan'"),
        ("i,m1,x,good\n", "row 2, column 'score': Expected a number, found 'good'"),
        (
            "i,m1,x,1\ni,m1,x,1\n",
            "row 3: item 'i', model 'm1' and metric 'x' are in row 2 too. Delete one of them",
        ),
        (
            "i,m1,length,1\n",
            "row 2, column 'metric': 'length' is already the name of another metric",
        ),
        ("i,,x,1\n", "row 2, column 'model': Expected a text, found an empty cell"),
    ],
)
def test_a_wrong_score_is_refused_with_its_place(tmp_path, rows, told):
    (tmp_path / "scores.csv").write_text(f"item,model,metric,score\n{rows}")
    with pytest.raises(RowsError, match=f"^scores.csv, {told}"):
        read_scores(tmp_path / "scores.csv", ("length",))


def test_a_file_without_a_column_or_without_scores_is_refused(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("item,model,score\ni,m1,1\n")
    with pytest.raises(
        RowsError, match=r"^scores.csv, row 2, column 'metric': Expected this column"
    ):
        read_scores(path, ())
    path.write_text("item,model,metric,score\n")
    with pytest.raises(RowsError, match=r"^scores.csv: It has no scores"):
        read_scores(path, ())
