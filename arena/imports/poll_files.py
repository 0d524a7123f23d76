"""Polls from vote files: what each person chose in each contest, and the verdicts of judges beside them."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
    """Returns the votes and verdicts of files in any format of `arena/formats`, each given once. Raises RowsError."""
    refuse_repeated(paths)
    files = [(path.name, read(path)) for path in paths]
    notices = [f"{name}: {notice}" for name, battles in files for notice in battles.notices]
    return gather_poll([battles for _, battles in files], notices)


def gather_poll(parts: Iterable[Battles], notices: Sequence[str] = ()) -> Poll:
    """Returns several parts as one poll; votes that are no choice between two models are left out and counted.

    A judge's vote is a verdict, by its voter; a vote without a voter counts as a person's own. Of a voter's several
    votes in a contest the last counts. Answers are included where the rows hold both (columns A and B).
    """
    verdicts: dict[tuple[Contest, str], Verdict] = {}
    chosen: dict[tuple[Contest, str], str] = {}
    """The model that a voter chose, by contest and voter."""
    unnamed: list[tuple[Contest, str]] = []
    """The models that voters without a name chose."""
    answers: dict[tuple[str, str], str] = {}
    counts: Counter[str] = Counter()
    again = "left out, the same voter's later one counts"
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
            counts["votes left out, neither answer was chosen"] += 1
        elif vote.voter is None:
            unnamed.append((contest, model))
        else:
            if (contest, vote.voter) in chosen:
                counts[f"votes {again}"] += 1
            chosen[contest, vote.voter] = model
    named = [(contest, model) for (contest, _), model in chosen.items()]
    return Poll(
        choices=choices_of(Counter([*named, *unnamed])),
        answers=answers,
        verdicts=tuple(verdicts.values()),
        notices=(*notices, *(f"{reason}: {count:,}" for reason, count in counts.items())),
    )


def _contested(
    parts: Iterable[Battles], counts: Counter[str], answers: dict[tuple[str, str], str]
) -> Iterator[tuple[Contest, Vote]]:
    """Yields the votes between two models of the bank's names, and collect the answers that their rows hold."""
    for vote, row in (
        line for battles in parts for line in zip(battles.votes(), battles.rows, strict=True)
    ):
        one = bank_name(vote.model_a)
        other = bank_name(vote.model_b)
        if vote.item is None or one == other:
            what = (
                "the item they are on is not known"
                if vote.item is None
                else "both answers are one model's"
            )
            counts[f"votes left out, {what}"] += 1
            continue
        for model, text in zip((one, other), _texts(row), strict=False):
            answers.setdefault((vote.item, model), text)
        yield contest_of(vote.item, one, other), vote._replace(model_a=one, model_b=other)


def choices_of(votes: Counter[tuple[Contest, str]]) -> dict[Contest, Choices]:
    """Returns the choices in each contest from the numbers of votes for each of its models."""
    contests = dict.fromkeys(contest for contest, _ in votes)
    return {one: Choices(votes[one, one.first], votes[one, one.second]) for one in contests}


def bank_name(model: str) -> str:
    """Returns a model's name as in the item bank: VisIT-Bench's files name the columns of its answers."""
    return REFERENCE if model == PUBLISHED_REFERENCE else model.removesuffix(PREDICTION)


def _texts(row: Row) -> list[str]:
    """Returns the texts of both answers if a row, or its original row, holds them."""
    origin = row.get(ORIGIN_ROW)
    first = json.loads(origin) if isinstance(origin, str) and origin else row
    texts = [first.get("A"), first.get("B")]
    return [text for text in texts if isinstance(text, str)] if None not in texts else []
