"""Files of labels: wrong answers drawn to be labelled, and what people said of them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from arena.io.csv_text import csv_text, plain_cell
from arena.io.strict_json import RowsError
from arena.io.tables import Record, read_records, told_rows
from scoring.benchmarks.article import ScoredAnswer
from scoring.people.error_sample import DrawnError
from scoring.people.errors import ERROR_KINDS, ErrorKey, Label
from scoring.people.label_agreement import DoubtedQuestion
from scoring.report import answer_digest

Who = Literal["labeller", "proposed_by"]
"""The column that names who says it: a person labels, rules or a judge propose. No file has both."""
COLUMNS = ("item", "group", "answer_sha256", "labeller", "round", "main", "further", "note")
_NO_LABELS = (
    "expected people's labels, found proposals (column proposed_by); give them as --proposals"
)
_NO_PROPOSALS = "expected proposals, with the column proposed_by, as `errors propose` writes them"
DRAWN = (*COLUMNS, "chance", "question", "truth", "answer")


def draw_csv(drawn: Iterable[DrawnError]) -> str:
    """Drawn answers with empty cells for who labels them; `chance`: that of being drawn, whose inverse weighs."""
    rows = [
        (one.answer.id, one.group, answer_digest(one.answer.answer), "", 1, "", "", "")
        + (f"{one.chance:.6g}", one.answer.question, one.answer.truth, one.answer.answer)
        for one in drawn
    ]
    return csv_text([DRAWN, *rows])


def labels_csv(labels: Iterable[Label], digests: Mapping[str, str], who: Who = "labeller") -> str:
    """Labels as `read_labels` reads them; `digests`: sha256 of each item's answer."""
    rows = [
        (one.item, one.group, digests.get(one.item, ""), one.labeller, one.round)
        + (one.main, " ".join(one.further), one.note)
        for one in labels
    ]
    return csv_text([[who if name == "labeller" else name for name in COLUMNS], *rows])


def doubted_csv(questions: Iterable[DoubtedQuestion]) -> str:
    rows = [(*one[:-1], "; ".join(one.notes)) for one in questions]
    return csv_text([("item", "group", "people", "models", "annotation", "right", "notes"), *rows])


class ReadLabels(NamedTuple):
    """Labels that can be used, and what was said against others."""

    labels: tuple[Label, ...]
    problems: tuple[str, ...]


def read_labels(
    path: Path, errors: Mapping[str, tuple[ScoredAnswer, str]], who: Who = "labeller"
) -> ReadLabels:
    """Labels of a model's errors, which are answers with their group by item, or what was proposed for them.

    Raises RowsError without the columns, and for proposals in place of people's labels.
    """
    wrong: dict[str, list[int]] = {}
    kept: dict[tuple[str, str, int], Label] = {}
    for record in read_records(path):
        cells = _cells(record, who, path.name)
        if not cells["main"]:
            continue  # not labelled yet
        problem = _problem(cells, errors)
        label = None if problem else _label(cells, errors[cells["item"]][1])
        if label and (place := (label.item, label.labeller, label.round)) in kept:
            problem = "this person labelled this answer in a row before"
        elif label:
            kept[place] = label
        if problem:
            wrong.setdefault(problem, []).append(record.row)
    return ReadLabels(
        tuple(kept.values()), tuple(told_rows(one, rows) for one, rows in wrong.items())
    )


def named_items(path: Path) -> list[str]:
    """The items of a file of drawn answers. Raises RowsError without the column item."""
    found = []
    for record in read_records(path):
        if "item" not in record.values:
            raise RowsError(
                "expected the column item, as `errors draw` writes it", path.name, record.row
            )
        found.append(_plain(record.values["item"]))
    return found


def _cells(record: Record, who: Who, file: str) -> Mapping[str, str]:
    for name in ("item", "main"):
        if name not in record.values:
            raise RowsError("expected the columns item and main", file, record.row)
    if (who == "proposed_by") != ("proposed_by" in record.values):
        raise RowsError(_NO_PROPOSALS if who == "proposed_by" else _NO_LABELS, file, record.row)
    return {
        name: _plain(record.values.get(who if name == "labeller" else name)) for name in COLUMNS
    }


def _plain(value: object) -> str:
    """A cell as text: a list of kinds parted by blanks, and no apostrophe that `safe_cell` put before it."""
    return plain_cell(
        " ".join(map(str, value)) if isinstance(value, list) else str(value or "").strip()
    )


def _problem(cells: Mapping[str, str], errors: Mapping[str, tuple[ScoredAnswer, str]]) -> str:
    unknown = [
        kind for kind in (cells["main"], *cells["further"].split()) if kind not in ERROR_KINDS
    ]
    if unknown:
        return f"{unknown[0][:40]!r} is none of the kinds {', '.join(ERROR_KINDS)}"
    if cells["item"] not in errors:
        return "it is none of the wrong answers of this file"
    if cells["answer_sha256"] and cells["answer_sha256"] != answer_digest(
        errors[cells["item"]][0].answer
    ):
        return "the label is of another answer: answer_sha256 differs"
    return (
        ""
        if cells["round"] in ("", "1", "2")
        else "a round is 1, or 2 for the same person's second time"
    )


def _label(cells: Mapping[str, str], group: str) -> Label:
    main = _key(cells["main"])
    further = set(cells["further"].split())
    more: tuple[ErrorKey, ...] = tuple(key for key in ERROR_KINDS if key in further and key != main)
    number = int(cells["round"] or 1)
    return Label(
        cells["item"], group, cells["labeller"] or "unnamed", main, more, cells["note"], number
    )


def _key(text: str) -> ErrorKey:
    return next(key for key in ERROR_KINDS if key == text)
