"""Label Studio's pairwise annotations: exports as JSON, JSON_MIN and CSV.

Sources: labelstud.io/tags/pairwise, and `converter/exports/csv2.py` and `converter/utils.py` of the repository
HumanSignal/label-studio-sdk. An annotation has `selected: left` or `right`; left is the object that the tag names
first. A project chooses the names of its task's data. The two members with "model" in their names are the models, in
alphabetical order (left before right, a before B); a prompt has to have a usual name. Without a prompt, the task is the
item. No export says whether the models' names were shown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from arena.formats import cells
from arena.formats.base import Format, Row, SkippedRow, Vote, Winner
from arena.io.strict_json import RowsError

_SIDES: dict[str, Winner] = {"left": "a", "right": "b"}
_PROMPTS = ("prompt", "question", "instruction", "query")
_FLAT_COLUMNS = {"annotator", "annotation_id", "lead_time"}
"""The columns that JSON_MIN and CSV always have."""


class _Annotation(NamedTuple):
    """An annotator's annotation of a task."""

    data: Mapping[str, Any]
    """The task's own data; in JSON_MIN and CSV the whole row, which includes them."""
    values: Sequence[Any]
    """The values that may contain the choice."""
    record: Mapping[str, Any]
    """The record of the annotator and the time."""


def _split(row: Row) -> Sequence[Row]:
    """Returns a task as rows with one annotation each."""
    annotations = cells.listed(row.get("annotations"))
    if len(annotations) < 2:
        return (row,)
    return [{**row, "annotations": [annotation]} for annotation in annotations]


def _vote(row: Row) -> Vote | SkippedRow:
    is_task = "annotations" in row
    annotation = _annotation_of_task(row) if is_task else _annotation_of_flat_row(row)
    if cells.flag(annotation.record, "was_cancelled"):
        return SkippedRow("the annotator skipped the task")
    sides: list[Winner] = []
    for value in annotation.values:
        sides += _selected_sides(value)
    if not sides:
        return SkippedRow("no choice of left or right")
    if len(sides) > 1:
        return SkippedRow("several choices")
    left, right = _model_members(annotation.data)
    question = cells.text(annotation.data, cells.first_filled(annotation.data, *_PROMPTS)) or ""
    image = annotation.data.get("image")
    images = [image] if image else []
    task = cells.text(row, "id")
    item = cells.item_of(question, images)
    if item is None and task is not None:
        item = f"task {task}"
    return Vote(
        model_a=cells.name(annotation.data, left),
        model_b=cells.name(annotation.data, right),
        winner=sides[0],
        item=item,
        voter=_voter(annotation.record),
        time=cells.moment(annotation.record, "created_at"),
        images=len(images) or None,
        conversation=task,
        picture=cells.picture_of(question, images),
    )


def _annotation_of_task(row: Row) -> _Annotation:
    """Returns the single annotation of a task in JSON."""
    annotation = next(iter(cells.records(row["annotations"])), {})
    results = cells.records(annotation.get("result"))
    data = row.get("data")
    return _Annotation(
        data=data if isinstance(data, dict) else {},
        values=[result.get("value") for result in results if result.get("type") == "pairwise"],
        record=annotation,
    )


def _annotation_of_flat_row(row: Row) -> _Annotation:
    """Returns the annotation in a row of JSON_MIN or CSV; the project chooses the name of the choice's column."""
    return _Annotation(
        data=row,
        values=[cells.parsed(cell) for cell in row.values()],
        record=row,
    )


def _selected_sides(value: Any) -> Iterator[Winner]:
    """Yields the sides that a value selects."""
    regions = value if isinstance(value, list) else [value]
    for region in regions:
        selected = region.get("selected") if isinstance(region, dict) else region
        if isinstance(selected, str) and selected in _SIDES:
            yield _SIDES[selected]


def _model_members(data: Mapping[str, Any]) -> Sequence[str]:
    """Returns the two members of a task's data with the models' names, the left one first. Raises RowsError."""
    members = sorted((member for member in data if "model" in member.lower()), key=str.lower)
    if len(members) != 2:
        found_members = ", ".join(map(repr, members)) or "none"
        raise RowsError(
            f"Expected two members of the task's data that name the models, such as model_a and model_b, "
            f"found {found_members[:200]}. Rename them."
        )
    return members


def _voter(record: Mapping[str, Any]) -> str | None:
    """Returns the annotator, which exports have as a number, an address, or a record with both."""
    annotator = record.get("completed_by") or record.get("annotator")
    if isinstance(annotator, dict):
        annotator = annotator.get("email") or annotator.get("id")
    return str(annotator) if annotator else None


LABEL_STUDIO = Format(
    name="label-studio",
    fits=lambda columns: {"annotations", "data"} <= columns or columns >= _FLAT_COLUMNS,
    vote=_vote,
    split=_split,
)
