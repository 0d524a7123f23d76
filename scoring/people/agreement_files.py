"""Agreement files: models' answers and other metrics' scores in, agreement as JSON and CSV out."""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from arena.imports.poll_files import bank_name
from arena.io.csv_text import csv_text, plain_cell
from arena.io.strict_json import FileLimits, RowsError
from arena.io.tables import COMMAND_LINE, Record, read_records, require_columns
from arena.ratings.agreement import Level, Poll, contest_of
from arena.ratings.shares import Share
from arena.types import REFERENCE
from scoring.people.agreement import PeopleAgreement

MOST_METRICS = 50
LONGEST_METRIC = 100
"""Metrics of a file, each of which is held against every contest and drawn, and characters of their names."""


def read_answers(path: Path) -> dict[tuple[str, str], str]:
    """The answers by (item, model) in a file with columns item, model, answer. Raises RowsError for a duplicate."""
    answers: dict[tuple[str, str], str] = {}
    for record in read_records(path, COMMAND_LINE):
        item, model, answer = _texts(record, path.name, "item", "model", "answer")
        key = item, bank_name(model)
        if key in answers:
            problem = (
                f"expected one answer of {model!r} to item {item!r}, found a second; delete one"
            )
            raise RowsError(problem, path.name, record.row)
        answers[key] = answer
    if not answers:
        raise RowsError(
            "holds no answers; expected a row `item, model, answer` for each", path.name
        )
    return answers


def read_scores(
    path: Path, taken: Collection[str], limits: FileLimits = COMMAND_LINE, name: str | None = None
) -> dict[str, dict[tuple[str, str], float]]:
    """The scores by metric, then (item, model), in a table; no metric is named as one `taken`. Raises RowsError."""
    label = name or path.name
    scores: dict[str, dict[tuple[str, str], float]] = {}
    for record in read_records(path, limits, name=label):
        item, model, metric = _texts(record, label, "item", "model", "metric")
        value = _number(record, label)
        if metric in taken:
            raise RowsError(
                f"expected a name of its own, found {metric!r}; rename it",
                label,
                record.row,
                "metric",
            )
        if len(metric) > LONGEST_METRIC:
            problem = f"expected a name of at most {LONGEST_METRIC} characters, found {len(metric):,}; shorten it"
            raise RowsError(problem, label, record.row, "metric")
        known = scores.setdefault(metric, {})
        key = (item, bank_name(model))
        if len(scores) > MOST_METRICS:
            problem = f"expected at most {MOST_METRICS} metrics, found one more; put the others in a file of their own"
            raise RowsError(problem, label, record.row, "metric")
        if key in known:
            problem = f"expected one score of {metric!r} for {model!r} on item {item!r}, found a second; delete one"
            raise RowsError(problem, label, record.row)
        known[key] = value
    if not scores:
        raise RowsError(
            "holds no scores; expected a row `item, model, metric, score` for each", label
        )
    return scores


def noted(poll: Poll, keys: Sequence[tuple[str, str]], file: str) -> Poll:
    """The poll with a notice of a file's rows, by (item, model), that match no vote. Raises RowsError if none does."""
    contests = [
        *poll.choices,
        *(contest_of(one.item, one.model_a, one.model_b) for one in poll.verdicts),
    ]
    met = {(one.item, model) for one in contests for model in (one.first, one.second, REFERENCE)}
    other = [key for key in keys if key not in met]
    if len(other) == len(keys):
        item, model, _ = contests[0]
        expected = f"such as item {item!r} and model {model!r}; name both as the votes do"
        raise RowsError(f"none of its rows is of an answer that was voted on, {expected}", file)
    if not other:
        return poll
    item, model = other[0]
    told = f"{len(other):,} of {len(keys):,} rows, the first of item {item!r} and model {model!r}"
    return replace(
        poll, notices=(*poll.notices, f"{file}: left out, of no answer that was voted on: {told}")
    )


def agreement_json(found: PeopleAgreement) -> str:
    people = asdict(found.people) | {"levels": _levels(found.people.levels)}
    measures = [asdict(one) | {"levels": _levels(one.levels)} for one in found.reproductions]
    document = asdict(found) | {"people": people, "reproductions": measures}
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def measures_csv(found: PeopleAgreement) -> str:
    """Figure 9 as a table: a row for each measure and level of unanimity, "all" first."""
    rows: list[Sequence[object]] = [
        ("measure", "level", "reproduced", "n", "share", "low_95", "high_95")
    ]
    for one in found.reproductions:
        shares = {"all": one.overall} | {
            f"{level.most} of {level.votes}": share for level, share in one.levels.items()
        }
        for level, share in shares.items():
            rows.append(
                (one.measure, level, share.hits, share.n, share.value, share.low, share.high)
            )
    return csv_text(rows)


def scores_csv(answers: Iterable[tuple[str, str]]) -> str:
    """A template for `read_scores`: one row per (item, model), its metric and score empty."""
    empty = ((item, model, "", "") for item, model in answers)
    return csv_text([("item", "model", "metric", "score"), *empty])


def _texts(record: Record, file: str, *columns: str) -> list[str]:
    require_columns(record, columns, file)
    texts = []
    for column in columns:
        value = record.values[column]
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(text, str) or not (text.strip() or column == "answer"):
            raise RowsError(
                f"expected a text, found {value!r}; write it in", file, record.row, column
            )
        texts.append(text if column == "answer" else plain_cell(text))
    return texts


def _number(record: Record, file: str) -> float:
    require_columns(record, ["score"], file)
    value = record.values["score"]
    try:
        number = (
            float(value)
            if isinstance(value, str | int | float) and not isinstance(value, bool)
            else math.nan
        )
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise RowsError(
            f"expected a number, found {str(value)[:40]!r}; write digits", file, record.row, "score"
        )
    return number


def _levels(levels: Mapping[Level, Share]) -> list[dict[str, float]]:
    return [{**level._asdict(), **asdict(share)} for level, share in levels.items()]
