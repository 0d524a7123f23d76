"""Task vectors from a benchmark's questions: an adapter for each task, trained one after the other.

A run that was stopped continues with the tasks that have no adapter yet.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from arena.inference.adapter_process import AdapterTrainer, Sample, TrainingError, TrainingSettings
from arena.inference.offline import TaskError
from arena.io.csv_text import csv_text
from arena.io.tables import COMMAND_LINE, read_json, read_records
from scoring.benchmarks.mm_vet_questions import file_sha256
from scoring.benchmarks.offline_answers import offline_choices
from scoring.multiple_choice.reader import IMAGE_COLUMNS, read_questions
from scoring.multiple_choice.types import ChoiceQuestion
from scoring.task_map.adapters import CONFIG, TASKS, WEIGHTS
from scoring.task_map.types import TaskMapError
from scoring.task_map.vectors import TRAINING


def make_vectors(
    questions: Path, out: Path, settings: TrainingSettings, most: int | None
) -> Iterator[str]:
    """Trains an adapter for each task of a question file on at most `most` samples; yields progress.

    Raises RowsError and AnsweringError for the file, TrainingError, and TaskMapError for a file without right answers
    and for a folder with other settings or other files.
    """
    all_questions, _ = read_questions(read_records(questions, COMMAND_LINE, IMAGE_COLUMNS))
    with_truths = {
        str(question.index): question
        for question in all_questions.values()
        if question.answer is not None
    }
    if not with_truths:
        raise TaskMapError(f"{questions.name} has no right answers to learn. Choose another file.")
    sizes = Counter(question.named_category for question in with_truths.values())
    folders = Counter(map(_folder, sizes))
    shared = [name for name, count in folders.items() if count > 1]
    if shared:
        raise TaskMapError(
            f"{questions.name}: Two categories would have the folder {shared[0]!r}. Rename one."
        )
    out.mkdir(parents=True, exist_ok=True)
    record = {**asdict(settings), "samples": most, "questions": file_sha256(questions)}
    _check_record(out / TRAINING, record)
    finished = {task for task in sizes if (out / _folder(task) / WEIGHTS).is_file()}
    if finished:
        yield f"{len(finished):,} of {len(sizes):,} tasks are there already."
    for task in sizes.keys() - finished:
        _check_place(out / _folder(task))
    if len(finished) < len(sizes):
        with AdapterTrainer(settings) as trainer:
            yield f"{settings.base}: {trainer.parameter_count:,} numbers an adapter."
            for task, samples in _task_samples(questions, with_truths, sizes, finished, most):
                yield _train(trainer, task, samples, out)
    rows = [[task, _folder(task), min(size, most or size)] for task, size in sizes.items()]
    (out / TASKS).write_text(csv_text([["task", "folder", "n"], *rows]), "utf-8")
    yield f"{len(sizes):,} adapters are in {out}: python -m scoring task-map {out} --out DIR"


def _train(trainer: AdapterTrainer, task: str, samples: list[Sample], out: Path) -> str:
    """Trains and saves the adapter of one task, and returns a line of progress. Raises TrainingError."""
    folder = out / f"{_folder(task)}.part"  # renamed when it is complete
    shutil.rmtree(folder, ignore_errors=True)
    try:
        learned = trainer.train(samples, folder)
    except TrainingError as error:
        raise TrainingError(
            f"{task}: {error}. Finished tasks are kept. Run the same command again to continue."
        ) from error
    # The folder may be there with an adapter that lost its weights.
    shutil.rmtree(out / _folder(task), ignore_errors=True)
    folder.rename(out / _folder(task))
    left_out = len(samples) - learned.samples
    too_long = f", {left_out} too long" if left_out else ""
    loss = f"loss {learned.first:.3f} to {learned.last:.3f}"
    return f"{task}: {learned.samples} samples{too_long}, {loss}, {learned.seconds:.1f} s"


def _check_record(file: Path, record: Mapping[str, object]) -> None:
    """Writes the record of a folder's adapters, or compares it with the existing one. Raises TaskMapError."""
    if not file.exists():
        unfinished = file.with_suffix(".part")
        unfinished.write_text(json.dumps(record, indent=1), "utf-8")
        unfinished.replace(file)
        return
    as_written = json.loads(json.dumps(record))  # a tuple comes back as a list
    old = read_json(file)
    differing = [*as_written]
    if isinstance(old, dict):
        differing = [name for name, value in as_written.items() if old.get(name) != value]
    if differing:
        raise TaskMapError(
            f"{file} has adapters with other settings: {', '.join(differing)}. Choose another --out, or the same "
            "settings."
        )


def _check_place(folder: Path) -> None:
    """Raises TaskMapError if an adapter's place has anything but an adapter, since it is replaced."""
    is_adapter = (folder / CONFIG).is_file()
    is_empty = folder.is_dir() and not any(folder.iterdir())
    if folder.exists() and not is_adapter and not is_empty:
        raise TaskMapError(
            f"{folder} has other files, and an adapter goes there. Move them, or choose another --out."
        )


def _task_samples(
    file: Path,
    with_truths: Mapping[str, ChoiceQuestion],
    sizes: Mapping[str, int],
    finished: set[str],
    most: int | None,
) -> Iterator[tuple[str, list[Sample]]]:
    """Yields each task with its samples as soon as the file has given them all.

    `sizes` are the tasks' numbers of questions, `most` is the largest number of samples; None for all. Raises
    TaskMapError for a question without its picture.
    """
    samples_by_task: dict[str, list[Sample]] = {}
    read: Counter[str] = Counter()
    (ask_all,) = offline_choices(file, circular=False).rounds
    for question_task in ask_all({}):
        question = with_truths.get(question_task.key)
        if question is None or question.answer is None or question.named_category in finished:
            continue
        category = question.named_category
        read[category] += 1
        samples = samples_by_task.setdefault(category, [])
        if len(samples) < (most or sizes[category]):
            try:
                (turn,) = question_task.load()
            except TaskError as error:
                raise TaskMapError(f"{file.name}, index {question_task.key}: {error}") from error
            answer = f"{question.answer}. {question.options[question.answer]}"
            samples.append(Sample(turn.text, turn.images, answer))
        if read[category] == sizes[category]:
            yield category, samples_by_task.pop(category)


def _folder(task: str) -> str:
    """A task's folder: its name, without characters that have a meaning in paths."""
    characters = [sign if sign.isalnum() or sign in "_- " else "_" for sign in task]
    return "".join(characters) or "_"
