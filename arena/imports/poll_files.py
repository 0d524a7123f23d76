"""Polls from vote files: each person's choices in each contest, and judges' verdicts on them."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from arena.formats.base import Battles, Row, Vote
from arena.formats.native import ORIGIN_ROW
from arena.formats.registry import read
from arena.io.tables import refuse_repeated
from arena.items.importers import PREDICTION
from arena.ratings.agreement import Choices, Contest, Poll, Verdict, contest_of
from arena.types import REFERENCE

PUBLISHED_REFERENCE = "human_verified_reference"
"""The name of the reference in VisIT-Bench's preference file."""


class _ContestVote(NamedTuple):
    """A vote between two models, by the bank's names, and its contest."""

    contest: Contest
    vote: Vote


def read_poll(paths: Sequence[Path]) -> Poll:
    """Returns the votes and verdicts of different files in any format of `arena/formats`. Raises RowsError."""
    refuse_repeated(paths)
    parts = []
    notices = []
    for path in paths:
        battles = read(path)
        parts.append(battles)
        notices += [f"{path.name}: {notice}" for notice in battles.notices]
    return gather_poll(parts, notices)


def gather_poll(parts: Iterable[Battles], notices: Sequence[str] = ()) -> Poll:
    """Returns several parts as one poll; votes without a choice between two models are left out and counted.

    A judge's vote is a verdict, by its voter; verdicts without a voter are all by one "a judge". Any other vote without
    a voter counts as another person's. The last of a voter's votes in a contest counts. Answers are included if the
    rows have both (columns A and B).
    """
    verdicts: dict[tuple[Contest, str], Verdict] = {}
    """By contest and judge."""
    chosen: dict[tuple[Contest, str], str] = {}
    """The chosen model by contest and voter."""
    unnamed_votes: Counter[tuple[Contest, str]] = Counter()
    """The number of votes of unknown voters, by contest and chosen model."""
    answers: dict[tuple[str, str], str] = {}
    """By item and model."""
    counts: Counter[str] = Counter()
    """The number of votes left out, by the reason."""
    superseded_reason = "left out because the same voter's later one counts"
    for contest, vote in _contest_votes(parts, counts, answers):
        model = _chosen_model(vote)
        if vote.judge:
            judge = vote.voter or "a judge"
            if (contest, judge) in verdicts:
                counts[f"verdicts {superseded_reason}"] += 1
            winner = "tie" if vote.winner == "both_bad" else vote.winner
            verdicts[contest, judge] = Verdict(
                contest.item, vote.model_a, vote.model_b, winner, judge
            )
        elif model is None:
            counts["votes left out because neither answer was chosen"] += 1
            # A later vote for neither takes an earlier choice back.
            if vote.voter is not None and chosen.pop((contest, vote.voter), None) is not None:
                counts[f"votes {superseded_reason}"] += 1
        elif vote.voter is None:
            unnamed_votes[contest, model] += 1
        else:
            if (contest, vote.voter) in chosen:
                counts[f"votes {superseded_reason}"] += 1
            chosen[contest, vote.voter] = model
    votes = Counter((contest, model) for (contest, _voter), model in chosen.items())
    votes.update(unnamed_votes)
    left_out = [f"{reason}: {count:,}" for reason, count in counts.items()]
    return Poll(
        choices=choices_of(votes),
        answers=answers,
        verdicts=tuple(verdicts.values()),
        notices=(*notices, *left_out),
    )


def _chosen_model(vote: Vote) -> str | None:
    if vote.winner == "a":
        return vote.model_a
    return vote.model_b if vote.winner == "b" else None


def _contest_votes(
    parts: Iterable[Battles], counts: Counter[str], answers: dict[tuple[str, str], str]
) -> Iterator[_ContestVote]:
    """Yields the votes between two models on a known item, and adds the answers in their rows to `answers`.

    The other votes are counted in `counts`.
    """
    lines = chain.from_iterable(
        zip(battles.votes(), battles.rows, strict=True) for battles in parts
    )
    for vote, row in lines:
        model_a = bank_name(vote.model_a)
        model_b = bank_name(vote.model_b)
        if vote.item is None:
            counts["votes left out because their item isn't known"] += 1
            continue
        if model_a == model_b:
            counts["votes left out because both answers are from one model"] += 1
            continue
        texts = _answer_texts(row)
        if texts is not None:
            text_a, text_b = texts
            answers.setdefault((vote.item, model_a), text_a)
            answers.setdefault((vote.item, model_b), text_b)
        contest = contest_of(vote.item, model_a, model_b)
        yield _ContestVote(contest, vote._replace(model_a=model_a, model_b=model_b))


def choices_of(votes: Counter[tuple[Contest, str]]) -> dict[Contest, Choices]:
    """Returns the choices in each contest from the numbers of votes by contest and chosen model."""
    contests = dict.fromkeys(contest for contest, _model in votes)
    return {
        contest: Choices(votes[contest, contest.first], votes[contest, contest.second])
        for contest in contests
    }


def bank_name(model: str) -> str:
    """Returns a model's name as in the item bank; VisIT-Bench's files have the names of answer columns."""
    return REFERENCE if model == PUBLISHED_REFERENCE else model.removesuffix(PREDICTION)


def _answer_texts(row: Row) -> tuple[str, str] | None:
    """Returns the texts of answers A and B in the original row, or in this row if there is no original.

    None unless it has both.
    """
    original = _original_row(row)
    row_with_texts = row if original is None else original
    text_a = row_with_texts.get("A")
    text_b = row_with_texts.get("B")
    if isinstance(text_a, str) and isinstance(text_b, str):
        return text_a, text_b
    return None


def _original_row(row: Row) -> Row | None:
    """Returns the row that a vote of our own format had at first; None if it has none, or not as a JSON object."""
    text = row.get(ORIGIN_ROW)
    if not isinstance(text, str):
        return None
    try:
        original = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return original if isinstance(original, dict) else None
