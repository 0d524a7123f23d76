"""A template of scores that is filled in and comes back is of the same answers."""

from scoring.agreement.reader import read_scores, scores_csv


def test_items_and_models_that_a_spreadsheet_would_run_come_back_under_their_names(tmp_path):
    answers = [("-dQw4w9WgXc", "@model"), ("'quoted", "m1")]
    template = scores_csv(answers)
    assert "'-dQw4w9WgXc,'@model,," in template
    path = tmp_path / "scores.csv"
    path.write_text(template.replace(",,", ",mine,0.5"), "utf-8")
    assert read_scores(path, ()) == {"mine": dict.fromkeys(answers, 0.5)}
