"""Agreement files: models' answers and other metrics' scores to read, agreement as JSON and CSV to write."""

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
"""Metrics in a file: each is compared with every contest and drawn in the chart."""
LONGEST_METRIC = 100
"""Characters of a metric's name."""


class _ItemModelRow(FileRow):
    """A row for an answer, with the item and model exactly as in the votes: blanks count."""

    strips = False

    item: Name
    model: Annotated[Name, AfterValidator(bank_name)]


class _AnswerRow(_ItemModelRow):
    """A row of a file of answers."""

    answer: Annotated[str, Heading(as_written=True)]


def _is_metric_name(text: str) -> bool:
    return bool(text.strip()) and len(text) <= LONGEST_METRIC


class _ScoreRow(_ItemModelRow):
    """A row of a file of scores."""

    metric: Annotated[
        str,
        cell(f"a name of at most {LONGEST_METRIC} characters", "Change it.", _is_metric_name),
    ]
    score: float


def read_answers(path: Path) -> dict[tuple[str, str], str]:
    """The answers by (item, model) in a file with columns item, model, answer. Raises RowsError for a duplicate."""
    rows = read_rows(path, _AnswerRow, key=("item", "model"), limits=COMMAND_LINE)
    answers = {(row.item, row.model): row.answer for _, row in rows}
    if not answers:
        raise RowsError(
            "It has no answers. Write a row with item, model and answer for each.", path.name
        )
    return answers


def read_scores(
    path: Path, taken: Collection[str], limits: FileLimits = COMMAND_LINE, name: str | None = None
) -> dict[str, dict[tuple[str, str], float]]:
    """The scores in a table by metric, then (item, model). Raises RowsError, also for a metric's name in `taken`.

    `name`: the file's name for its user, if it isn't the path's.
    """
    label = name or path.name
    scores: dict[str, dict[tuple[str, str], float]] = {}
    for number, row in read_rows(path, _ScoreRow, ("item", "model", "metric"), limits, label):
        if row.metric in taken:
            problem = f"{row.metric!r} is already the name of another metric. Rename it."
            raise RowsError(problem, label, number, "metric")
        scores.setdefault(row.metric, {})[row.item, row.model] = row.score
        if len(scores) > MOST_METRICS:
            problem = f"This is metric {MOST_METRICS + 1}, and a file has {MOST_METRICS} at most. Split the file."
            raise RowsError(problem, label, number, "metric")
    if not scores:
        raise RowsError(
            "It has no scores. Write a row with item, model, metric and score for each.", label
        )
    return scores


def note_unmatched_rows(poll: Poll, keys: Sequence[tuple[str, str]], file: str) -> Poll:
    """The poll with a notice of a file's rows, by (item, model), that match no vote. Raises RowsError if none does."""
    contests = [*poll.choices]
    contests += [
        contest_of(verdict.item, verdict.model_a, verdict.model_b) for verdict in poll.verdicts
    ]
    voted = {
        (contest.item, model)
        for contest in contests
        # A metric may also score the reference answer of an item with votes.
        for model in (contest.first, contest.second, REFERENCE)
    }
    unmatched = [key for key in keys if key not in voted]
    if len(unmatched) == len(keys):
        item, model, _ = contests[0]
        raise RowsError(
            "None of its rows is an answer with votes. Name item and model as the votes do, such as "
            f"{item!r} and {model!r}.",
            file,
        )
    if not unmatched:
        return poll
    item, model = unmatched[0]
    notice = (
        f"{file}: {len(unmatched):,} of {len(keys):,} rows are left out, since nobody voted on their answers. "
        f"The first has item {item!r} and model {model!r}."
    )
    return replace(poll, notices=(*poll.notices, notice))


def agreement_json(agreement: PeopleAgreement) -> str:
    """An agreement as indented JSON."""
    # `asdict` keeps the levels as keys of a mapping, where JSON takes only text.
    people = asdict(agreement.people) | {"levels": _levels(agreement.people.levels)}
    reproductions = [
        asdict(reproduction) | {"levels": _levels(reproduction.levels)}
        for reproduction in agreement.reproductions
    ]
    document = asdict(agreement) | {"people": people, "reproductions": reproductions}
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def scores_csv(answers: Iterable[tuple[str, str]]) -> str:
    """A template for `read_scores`: one row per (item, model), its metric and score empty."""
    rows = [(item, model, "", "") for item, model in answers]
    return csv_text([("item", "model", "metric", "score"), *rows])


def _levels(levels: Mapping[Level, Share]) -> list[dict[str, float]]:
    return [{**level._asdict(), **asdict(share)} for level, share in levels.items()]
