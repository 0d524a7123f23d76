"""Training of task vectors: files without anything to learn, and runs that were stopped."""

import base64
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from arena.inference.adapter_process import TrainingSettings
from scoring.task_map import training
from scoring.task_map.adapters import CONFIG, WEIGHTS
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


class Trainer:
    """A trainer that learns nothing, and saves as the real one does."""

    parameter_count = 1

    def __init__(self, settings: TrainingSettings = SETTINGS) -> None:
        pass

    def __enter__(self) -> "Trainer":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def train(self, samples: list, folder: Path) -> SimpleNamespace:
        folder.mkdir()
        for name in (CONFIG, WEIGHTS):
            (folder / name).write_text("learned", "utf-8")
        return SimpleNamespace(samples=len(samples), first=2.0, last=1.0, seconds=0.1)


def test_a_task_whose_weights_alone_were_deleted_is_trained_again(tmp_path):
    trainer: Any = Trainer()
    training._train(trainer, "cats", [], tmp_path)
    (tmp_path / "cats" / WEIGHTS).unlink()
    assert training._train(trainer, "cats", [], tmp_path).startswith("cats: 0 samples")
    assert sorted(file.name for file in (tmp_path / "cats").iterdir()) == [CONFIG, WEIGHTS]


@pytest.mark.parametrize("name", ["cats/holiday.jpg", "cats"])
def test_what_is_in_an_adapters_place_and_is_none_stays(tmp_path, monkeypatch, name):
    monkeypatch.setattr(training, "AdapterTrainer", Trainer)
    questions = tmp_path / "questions.tsv"
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "PNG")
    picture = base64.b64encode(file.getvalue()).decode()
    heading = "index\timage\tquestion\tA\tB\tanswer\tcategory"
    questions.write_text(f"{heading}\n1\t{picture}\tWhat?\tx\ty\tA\tcats\n")
    own = tmp_path / name
    own.parent.mkdir(exist_ok=True)
    own.write_text("mine", "utf-8")
    with pytest.raises(TaskMapError, match="cats has other files, and an adapter goes there"):
        list(make_vectors(questions, tmp_path, SETTINGS, None))
    assert own.read_text("utf-8") == "mine"


def test_a_run_that_was_killed_while_it_wrote_its_record_can_be_repeated(tmp_path, monkeypatch):
    file = tmp_path / "training.json"
    write = Path.write_text

    def write_half(path: Path, text: str, encoding: str) -> None:
        write(path, text[:20], encoding)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "write_text", write_half)
        training._check_record(file, {"base": "toys/base", "seed": 0})
    for _ in range(2):
        training._check_record(file, {"base": "toys/base", "seed": 0})
    with pytest.raises(TaskMapError, match=r"other settings: seed\."):
        training._check_record(file, {"base": "toys/base", "seed": 1})
