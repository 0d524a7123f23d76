"""Polls from vote files: each person's choices in each contest, and judges' verdicts on them."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from arena.formats.base import Battles, Row, Vote
from arena.formats.native import ORIGIN_ROW
from arena.formats.registry import read
from arena.io.tables import refuse_repeated
from arena.items.importers import PREDICTION
from arena.ratings.agreement import Choices, Contest, Poll, Verdict, contest_of
from arena.types import REFERENCE

PUBLISHED_REFERENCE = "human_verified_reference"
"""The name of the reference in VisIT-Bench's preference file."""


def read_poll(paths: Sequence[Path]) -> Poll:
    """Returns the votes and verdicts of different files in any format of `arena/formats`. Raises RowsError."""
    refuse_repeated(paths)
    files = [(path.name, read(path)) for path in paths]
    notices = [f"{name}: {notice}" for name, battles in files for notice in battles.notices]
    return gather_poll([battles for _, battles in files], notices)


def gather_poll(parts: Iterable[Battles], notices: Sequence[str] = ()) -> Poll:
    """Returns several parts as one poll; votes without a choice between two models are left out and counted.

    A judge's vote is a verdict, by its voter; a vote without a voter counts as another person's. The last of a voter's
    votes in a contest counts. Answers are included if the rows have both (columns A and B).
    """
    verdicts: dict[tuple[Contest, str], Verdict] = {}
    chosen: dict[tuple[Contest, str], str] = {}
    """The chosen model by contest and voter."""
    unnamed: list[tuple[Contest, str]] = []
    """The choices of unknown voters."""
    answers: dict[tuple[str, str], str] = {}
    counts: Counter[str] = Counter()
    again = "left out because the same voter's later one counts"
    for contest, vote in _contested(parts, counts, answers):
        model = {"a": vote.model_a, "b": vote.model_b}.get(vote.winner)
        if vote.judge:
            judge = vote.voter or "a judge"
            if (contest, judge) in verdicts:
                counts[f"verdicts {again}"] += 1
            winner = "tie" if vote.winner == "both_bad" else vote.winner
            verdicts[contest, judge] = Verdict(
                contest.item, vote.model_a, vote.model_b, winner, judge
            )
        elif model is None:
            counts["votes left out because neither answer was chosen"] += 1
        elif vote.voter is None:
            unnamed.append((contest, model))
        else:
            if (contest, vote.voter) in chosen:
                counts[f"votes {again}"] += 1
            chosen[contest, vote.voter] = model
    of_voters = [(contest, model) for (contest, _), model in chosen.items()]
    return Poll(
        choices=choices_of(Counter([*of_voters, *unnamed])),
        answers=answers,
        verdicts=tuple(verdicts.values()),
        notices=(*notices, *(f"{reason}: {count:,}" for reason, count in counts.items())),
    )


def _contested(
    parts: Iterable[Battles], counts: Counter[str], answers: dict[tuple[str, str], str]
) -> Iterator[tuple[Contest, Vote]]:
    """Yields the votes between two models, by the bank's names, and collects the answers in their rows."""
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
        for model, text in zip((model_a, model_b), _texts(row), strict=False):
            answers.setdefault((vote.item, model), text)
        contest = contest_of(vote.item, model_a, model_b)
        yield contest, vote._replace(model_a=model_a, model_b=model_b)


def choices_of(votes: Counter[tuple[Contest, str]]) -> dict[Contest, Choices]:
    """Returns the choices in each contest from the numbers of votes for each of its models."""
    contests = dict.fromkeys(contest for contest, _ in votes)
    return {
        contest: Choices(votes[contest, contest.first], votes[contest, contest.second])
        for contest in contests
    }


def bank_name(model: str) -> str:
    """Returns a model's name as in the item bank; VisIT-Bench's files have the names of answer columns."""
    return REFERENCE if model == PUBLISHED_REFERENCE else model.removesuffix(PREDICTION)


def _texts(row: Row) -> list[str]:
    """Returns the texts of both answers if a row, or its original row, has them."""
    origin = row.get(ORIGIN_ROW)
    first = json.loads(origin) if isinstance(origin, str) and origin else row
    texts = [first.get("A"), first.get("B")]
    return [text for text in texts if isinstance(text, str)] if None not in texts else []
