"""Training of task vectors: files without anything to learn."""

import pytest

from arena.inference.adapter_process import TrainingSettings
from scoring.task_map.training import make_vectors
from scoring.task_map.types import TaskMapError

SETTINGS = TrainingSettings("toys/base", None, 2, 4, 0.0, ("q_proj",), None, 1e-4, 1, 0, "cpu")


def test_a_file_without_right_answers_trains_nothing(tmp_path):
    questions = tmp_path / "questions.tsv"
    questions.write_text("index\timage\tquestion\tA\tB\tcategory\n1\tAAAA\tWhat?\tx\ty\tcats\n")
    out = tmp_path / "out"
    with pytest.raises(TaskMapError, match="questions.tsv has no right answers"):
        list(make_vectors(questions, out, SETTINGS, None))
    assert not out.exists()
