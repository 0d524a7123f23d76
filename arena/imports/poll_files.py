"""Polls from vote files: what each person chose in each contest, and the verdicts of judges beside them."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from arena.formats.base import Battles, Row, Vote
from arena.formats.native import ORIGIN_ROW
from arena.formats.registry import read
from arena.items.importers import PREDICTION
from arena.ratings.agreement import Choices, Contest, Poll, Verdict, contest_of
from arena.types import REFERENCE

PUBLISHED_REFERENCE = "human_verified_reference"
"""The name of the reference in VisIT-Bench's preference file."""


def read_poll(paths: Sequence[Path]) -> Poll:
    """Return the votes and verdicts of files in any format of `arena/formats`. Raises RowsError."""
    files = [(path.name, read(path)) for path in paths]
    notices = [f"{name}: {notice}" for name, battles in files for notice in battles.notices]
    return gather_poll([battles for _, battles in files], notices)


def gather_poll(parts: Iterable[Battles], notices: Sequence[str] = ()) -> Poll:
    """Return several parts as one poll; votes that are no choice between two models are left out and counted.

    A judge's vote is a verdict, by its voter; a vote without a voter counts as a person's own. Of a voter's several
    votes in a contest the last counts. Answers are included where the rows hold both (columns A and B).
    """
    gathered = _PollBuilder()
    for battles in parts:
        for vote, row in zip(battles.votes(), battles.rows, strict=True):
            gathered.add(vote, row)
    return gathered.poll(notices)


class _PollBuilder:
    """A poll being gathered from the votes of several parts."""

    def __init__(self) -> None:
        self._verdicts: dict[tuple[Contest, str], Verdict] = {}
        self._known: dict[tuple[Contest, str], str] = {}
        """The model that a voter chose, by contest and voter."""
        self._unknown: list[tuple[Contest, str]] = []
        """The models that voters without a name chose."""
        self._answers: dict[tuple[str, str], str] = {}
        self._counts: Counter[str] = Counter()

    def add(self, vote: Vote, row: Row) -> None:
        one, other = bank_name(vote.model_a), bank_name(vote.model_b)
        if vote.item is None or one == other:
            what = "the item they are on is not known" if vote.item is None else "both answers are one model's"
            self._counts[f"votes left out, {what}"] += 1
            return
        contest = contest_of(vote.item, one, other)
        if vote.judge:
            self._judge(contest, vote, one, other)
        else:
            self._person(contest, vote.voter, {"a": one, "b": other}.get(vote.winner))
        for model, text in zip((one, other), _texts(row), strict=False):
            self._answers.setdefault((vote.item, model), text)

    def poll(self, notices: Sequence[str]) -> Poll:
        chosen: dict[Contest, Counter[str]] = {}
        for contest, model in [*((contest, model) for (contest, _), model in self._known.items()), *self._unknown]:
            chosen.setdefault(contest, Counter())[model] += 1
        return Poll(
            choices={contest: Choices(of[contest.first], of[contest.second]) for contest, of in chosen.items()},
            answers=self._answers,
            verdicts=tuple(self._verdicts.values()),
            notices=(*notices, *(f"{reason}: {count:,}" for reason, count in self._counts.items())),
        )

    def _person(self, contest: Contest, voter: str | None, model: str | None) -> None:
        if model is None:
            self._counts["votes left out, neither answer was chosen"] += 1
        elif voter is None:
            self._unknown.append((contest, model))
        else:
            self._replaced("votes", (contest, voter) in self._known)
            self._known[contest, voter] = model

    def _judge(self, contest: Contest, vote: Vote, one: str, other: str) -> None:
        judge = vote.voter or "a judge"
        winner = "tie" if vote.winner == "both_bad" else vote.winner
        self._replaced("verdicts", (contest, judge) in self._verdicts)
        self._verdicts[contest, judge] = Verdict(contest.item, one, other, winner, judge)

    def _replaced(self, what: str, again: bool) -> None:
        if again:
            self._counts[f"{what} left out, the same voter's later one counts"] += 1


def bank_name(model: str) -> str:
    """Return a model's name as in the item bank: VisIT-Bench's files name the columns of its answers."""
    return REFERENCE if model == PUBLISHED_REFERENCE else model.removesuffix(PREDICTION)


def _texts(row: Row) -> list[str]:
    """Return the texts of both answers if a row, or its original row, holds them."""
    origin = row.get(ORIGIN_ROW)
    first = json.loads(origin) if isinstance(origin, str) and origin else row
    texts = [first.get("A"), first.get("B")]
    return [text for text in texts if isinstance(text, str)] if None not in texts else []
