"""Agreement files: models' answers and other metrics' scores in, agreement as JSON and CSV out."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from arena.imports.poll_files import bank_name
from arena.io.csv_text import csv_text
from arena.io.rows import FileRow, Heading, Name, cell, read_rows
from arena.io.strict_json import FileLimits, RowsError
from arena.io.tables import COMMAND_LINE
from arena.ratings.agreement import Level, Poll, contest_of
from arena.ratings.shares import Share
from arena.types import REFERENCE
from scoring.people.agreement import PeopleAgreement

MOST_METRICS = 50
LONGEST_METRIC = 100
"""Metrics of a file, each of which is held against every contest and drawn, and characters of their names."""


class _AnsweredRow(FileRow):
    """A row of an answer, named as the votes name it: blanks count."""

    strips = False

    item: Name
    model: Annotated[Name, AfterValidator(bank_name)]


class _AnswerRow(_AnsweredRow):
    """A row of a file of answers."""

    answer: Annotated[str, Heading(as_written=True)]


def _names_a_metric(text: str) -> bool:
    return bool(text.strip()) and len(text) <= LONGEST_METRIC


class _ScoreRow(_AnsweredRow):
    """A row of a file of scores."""

    metric: Annotated[
        str,
        cell(f"a name of at most {LONGEST_METRIC} characters", "change it", _names_a_metric),
    ]
    score: float


def read_answers(path: Path) -> dict[tuple[str, str], str]:
    """The answers by (item, model) in a file with columns item, model, answer. Raises RowsError for a duplicate."""
    rows = read_rows(path, _AnswerRow, key=("item", "model"), limits=COMMAND_LINE)
    answers = {(row.item, row.model): row.answer for _, row in rows}
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
    for number, row in read_rows(path, _ScoreRow, ("item", "model", "metric"), limits, label):
        if row.metric in taken:
            problem = f"expected a name of its own, found {row.metric!r}; rename it"
            raise RowsError(problem, label, number, "metric")
        scores.setdefault(row.metric, {})[row.item, row.model] = row.score
        if len(scores) > MOST_METRICS:
            problem = f"expected at most {MOST_METRICS} metrics, found one more; put the others in a file of their own"
            raise RowsError(problem, label, number, "metric")
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


def scores_csv(answers: Iterable[tuple[str, str]]) -> str:
    """A template for `read_scores`: one row per (item, model), its metric and score empty."""
    empty = ((item, model, "", "") for item, model in answers)
    return csv_text([("item", "model", "metric", "score"), *empty])


def _levels(levels: Mapping[Level, Share]) -> list[dict[str, float]]:
    return [{**level._asdict(), **asdict(share)} for level, share in levels.items()]
