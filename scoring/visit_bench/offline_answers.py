"""VisIT-Bench answers: a model's run over the instructions, with images fetched or read from a folder."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from arena.inference.offline import Task, TaskError
from arena.io.csv_text import csv_text
from arena.io.fetch import FetchError, fetch
from arena.io.named_files import named_file
from arena.io.strict_json import row_errors
from arena.io.tables import (
    COMMAND_LINE,
    JSON,
    Record,
    RowsError,
    read_records,
    require_columns,
)
from arena.items.importers import last_part
from arena.types import Turn, item_key
from scoring.benchmarks.offline_answers import AnsweringError, Answers, OfflineBenchmark, picture
from scoring.visit_bench.reader import IMAGE_COLUMNS, image_names


class _Instance(NamedTuple):
    """An instruction with its images, and the column and cell of the file that name them."""

    key: str
    instruction: str
    category: str
    column: str
    cell: str
    images: tuple[str, ...]


def offline_visit_bench(
    file: Path, folder: Path | None = None, fetch_image: Callable[[str], bytes] = fetch
) -> OfflineBenchmark:
    """The instructions in a CSV file of VisIT-Bench, as the questions to a model.

    Images are in `folder`, else `fetch_image` fetches them by address. Raises RowsError and AnsweringError.
    """
    instances: dict[str, _Instance] = {}
    for record in read_records(file, COMMAND_LINE):
        instance = _instance(record, file)
        instances.setdefault(instance.key, instance)
    if not instances:
        raise AnsweringError(
            f"{file.name} has no instructions. Choose one of VisIT-Bench's CSV files."
        )
    column = next(iter(instances.values())).column  # the submission's heading: the first row's
    digest = hashlib.sha256("\n".join(instances).encode()).hexdigest()

    def tasks(_: Answers) -> Iterator[Task]:  # no task depends on earlier answers
        for instance in instances.values():
            yield Task(instance.key, partial(_load_turns, instance, folder, fetch_image))

    write = partial(_submission_csv, tuple(instances.values()), column)
    return OfflineBenchmark(digest, len(instances), (tasks,), write)


def _instance(record: Record, file: Path) -> _Instance:
    require_columns(record, ("instruction",), file.name)
    columns = [name for name in IMAGE_COLUMNS if name in record.values]
    if not columns:
        raise RowsError(
            f"There is no column of images. Add one named {' or '.join(IMAGE_COLUMNS)}.",
            file.name,
            record.row,
        )
    # As in a submission: the first that isn't empty counts.
    column = next((name for name in columns if not _is_empty(record.values[name])), columns[0])
    cell = _cell_text(record.values[column])
    instruction = _cell_text(record.values["instruction"])
    problem = "The cell names no image. Write its address, or a list of addresses."
    with row_errors(file.name, record.row):
        images = image_names(cell, column, problem)
    if not images:
        raise RowsError(problem, file.name, record.row, column)
    if not instruction.strip():
        raise RowsError(
            "The cell is empty. Write an instruction.", file.name, record.row, "instruction"
        )
    return _Instance(
        key=item_key(instruction, images),
        instruction=instruction,
        category=_cell_text(record.values.get("instruction_category")),
        column=column,
        cell=cell,
        images=images,
    )


def _is_empty(cell: JSON) -> bool:
    """Whether a cell has no image: null, blank, false, 0, or a list or object without members."""
    if isinstance(cell, str):
        return "".join(cell.split()) in ("", "[]")
    return not cell


def _cell_text(cell: JSON) -> str:
    """A cell as text: lists are JSON, and null is empty."""
    if cell is None or isinstance(cell, str):
        return cell or ""
    return json.dumps(cell, ensure_ascii=False)


def _load_turns(
    instance: _Instance, folder: Path | None, fetch_image: Callable[[str], bytes]
) -> tuple[Turn, ...]:
    images = tuple(picture(_load_image(name, folder, fetch_image)) for name in instance.images)
    return (Turn("user", instance.instruction, images),)


def _load_image(name: str, folder: Path | None, fetch_image: Callable[[str], bytes]) -> bytes:
    if folder is None:
        try:
            return fetch_image(name)
        except FetchError as error:
            text = f"Its image can't be fetched: {str(error).rstrip('.')}. Give a folder with --images."
            raise TaskError(text) from error
    path = named_file(folder, last_part(name))
    try:
        return path.read_bytes()
    except OSError as error:
        raise TaskError(
            f"Its image {path} can't be read: {error.strerror}. Put it there."
        ) from error


def _submission_csv(
    instances: Sequence[_Instance], column: str, answers: Answers, model: str
) -> bytes:
    """VisIT-Bench's submission file, with the model's name in the heading of the answers."""
    rows = [("instruction", "instruction_category", column, f"{model} prediction")]
    for instance in instances:
        if instance.key in answers:
            answer = answers[instance.key].replace("\0", "")
            rows.append((instance.instruction, instance.category, instance.cell, answer))
    return csv_text(rows, exact=True).encode("utf-8", "replace")
