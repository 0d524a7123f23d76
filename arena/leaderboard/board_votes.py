"""Board votes: masks on the vote table for the votes that a board counts, and the counts of these votes.

The marks (`fraud/flags.py`) know the voters who count and those who are flagged. `service.py` keeps the counts of each
board up to date, and `board.py` rates the models by them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from arena.battles.vote_table import COLUMNS, LIVE_OWN, OUTSIDE, rows_of, values
from arena.database import EPOCH
from arena.fraud.flags import VoterMarks
from arena.imports.tables import ImportedSource
from arena.imports.vote_columns import UNKNOWN_CODE, ImportedVotes
from arena.leaderboard.board import NO_COUNTS, BoardKey, Counts, ExcludedVotes, ImportSummary
from arena.leaderboard.statistics import POINTS_IN_TIME, BoardSample, BoardVotes, History, history
from arena.ratings.votes import Codes, Floats, Outcome, Votes
from arena.settings import CountRule

Mask = npt.NDArray[np.bool_]
_DAY_MICROSECONDS = 24 * 3600 * 1_000_000
_NO_FAMILY = 0
_RANKED = OUTSIDE.index("")
"""The value in the column `outside` of votes that are ranked; the others are the reasons against it."""
_STOPPED = OUTSIDE.index("stopped")
_NAMED = OUTSIDE.index("named itself")


class BoardFrames(NamedTuple):
    """The votes that a board may count."""

    cast: pd.DataFrame
    """Votes cast here; none for a board of imported votes."""
    imported: pd.DataFrame | None
    """Imported votes, if any count."""


def frames_of(cast: pd.DataFrame, imported: ImportedVotes | None, key: BoardKey) -> BoardFrames:
    """Returns the votes of a board's kind."""
    if key.kind == "imported":
        return BoardFrames(cast.iloc[:0], imported.own_boards if imported else None)
    return BoardFrames(cast, imported.bank_boards if imported and key.kind == "bank" else None)


def board_mask(votes: pd.DataFrame, key: BoardKey) -> Mask:
    """Returns the mask of votes on a board's source, kind of images, family and days."""
    mask = values(votes, "source") == key.source
    mask &= values(votes, "multi") == key.multi
    if key.family is not None:
        mask &= values(votes, "family") == key.family
    if key.dated:
        voted_at = values(votes, "voted_at")
        mask &= voted_at != UNKNOWN_CODE
        if key.since is not None:
            mask &= voted_at >= _midnight(key.since)
        if key.until is not None:
            mask &= voted_at < _midnight(key.until + timedelta(days=1))
    return mask


def counted_on_board(votes: pd.DataFrame, key: BoardKey, marks: VoterMarks) -> Mask:
    """Returns the mask of the votes cast here that a board counts."""
    mask = (
        board_mask(votes, key) & (values(votes, "outside") == _RANKED) & marks.counted_mask(votes)
    )
    if key.unflagged:
        mask &= ~marks.flagged_mask(votes) & ~marks.crowd_votes(votes).mask
    return mask


def imported_mask(votes: pd.DataFrame, key: BoardKey) -> Mask:
    """Returns the mask of imported votes that a board counts.

    Excluded are votes of a model against itself, "both bad" votes by the import's setting, and repeated votes.
    """
    mask = board_mask(votes, key)
    for note in ("alone", "out", "repeated"):
        mask &= ~values(votes, note)
    return mask


def families_of(frames: BoardFrames, key: BoardKey) -> set[int]:
    """Returns the families with ranked votes on a board of all families, from any voter."""
    ranked = board_mask(frames.cast, key) & (values(frames.cast, "outside") == _RANKED)
    families = _distinct(values(frames.cast, "family")[ranked])
    if frames.imported is not None:
        counted = imported_mask(frames.imported, key)
        families |= _distinct(values(frames.imported, "family")[counted])
    return families - {_NO_FAMILY}


def _distinct(codes: Codes) -> set[int]:
    """Returns the distinct codes, which are small; this is faster than np.unique, which sorts."""
    return set(np.flatnonzero(np.bincount(codes)).tolist())


@dataclass(frozen=True, eq=False)
class Tally:
    """The counted and excluded votes of a board (see `ExcludedVotes`) among some of the votes cast here.

    Tallies of different votes can be added.
    """

    counts: Counts
    flagged_voters: frozenset[int] = frozenset()
    flagged: int = 0
    of_crowd: int = 0
    crowd_models: frozenset[int] = frozenset()
    uncounted: int = 0
    stopped: int = 0
    named: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(
            counts=added_counts(self.counts, other.counts),
            flagged_voters=self.flagged_voters | other.flagged_voters,
            flagged=self.flagged + other.flagged,
            of_crowd=self.of_crowd + other.of_crowd,
            crowd_models=self.crowd_models | other.crowd_models,
            uncounted=self.uncounted + other.uncounted,
            stopped=self.stopped + other.stopped,
            named=self.named + other.named,
        )

    def excluded(self, rule: CountRule) -> ExcludedVotes:
        return ExcludedVotes(
            voters=len(self.flagged_voters),
            flagged=self.flagged,
            of_crowd=self.of_crowd,
            crowd_models=self.crowd_models,
            uncounted=self.uncounted,
            stopped=self.stopped,
            named=self.named,
            rule=rule,
        )


NO_TALLY = Tally(NO_COUNTS)


def tally(votes: pd.DataFrame, key: BoardKey, marks: VoterMarks) -> Tally:
    """Counts some of the votes cast here, for a board."""
    on_board = board_mask(votes, key)
    outside = values(votes, "outside")
    ranked = on_board & (outside == _RANKED)
    counting = marks.counted_mask(votes)
    flagged = ranked & counting & marks.flagged_mask(votes)
    crowd = marks.crowd_votes(votes)
    of_crowd = ranked & counting & crowd.mask
    return Tally(
        counts=counts_of(votes, counted_on_board(votes, key, marks)),
        flagged_voters=frozenset(np.unique(values(votes, "voter")[flagged]).tolist()),
        flagged=int(flagged.sum()),
        of_crowd=int(of_crowd.sum()),
        crowd_models=frozenset(np.unique(crowd.models[of_crowd]).tolist()),
        uncounted=int((ranked & ~counting).sum()),
        stopped=int((on_board & (outside == _STOPPED)).sum()),
        named=int((on_board & (outside == _NAMED)).sum()),
    )


def counts_of(votes: pd.DataFrame, mask: Mask) -> Counts:
    """Counts the wins of each pair of models in the votes of a mask."""
    winner = values(votes, "winner")[mask]
    loser = values(votes, "loser")[mask]
    tied = values(votes, "tied")[mask]
    left = values(votes, "left")[mask]
    codes = _codes(winner, loser)
    models = len(codes)
    highest = int(codes[-1]) if models else -1
    places = np.zeros(highest + 1, np.int64)  # by code
    places[codes] = np.arange(models)
    pair = places[winner] * models + places[loser]
    # The `winner` of a tie is the model on side A.
    one_way_ties = _grid(pair[tied], models)
    ties = one_way_ties + one_way_ties.T
    return Counts(
        codes=tuple(codes.tolist()),
        wins=_grid(pair[~tied], models) + ties / 2,
        left=_grid(pair[left & ~tied], models),
        ties=ties,
    )


def _codes(winner: Codes, loser: Codes) -> Codes:
    """Returns the models that played, ascending."""
    size = int(max(winner.max(initial=0), loser.max(initial=0))) + 1
    battles = np.bincount(winner, minlength=size) + np.bincount(loser, minlength=size)
    return np.flatnonzero(battles)


def _grid(pair: Codes, models: int) -> Floats:
    """Counts each pair, winners x losers; a pair is coded as place of the winner * models + place of the loser."""
    number = np.bincount(pair, minlength=models * models)
    return number.reshape(models, models).astype(np.float64)


def added_counts(counts: Counts, other: Counts) -> Counts:
    if not other.codes:
        return counts
    codes = np.union1d(counts.codes, other.codes).astype(np.int64)
    wins = np.zeros((len(codes), len(codes)))
    left = np.zeros_like(wins)
    ties = np.zeros_like(wins)
    for part in (counts, other):
        places = np.searchsorted(codes, part.codes)
        grid = np.ix_(places, places)
        wins[grid] += part.wins
        left[grid] += part.left
        ties[grid] += part.ties
    return Counts(codes=tuple(codes.tolist()), wins=wins, left=left, ties=ties)


def same_counts(counts: Counts, other: Counts) -> bool:
    return (
        counts.codes == other.codes
        and np.array_equal(counts.wins, other.wins)
        and np.array_equal(counts.left, other.left)
        and np.array_equal(counts.ties, other.ties)
    )


def import_summary(
    votes: pd.DataFrame, key: BoardKey, sources: Mapping[int, ImportedSource]
) -> ImportSummary | None:
    """Returns the summary of a board's imported votes; None if it has none. `sources` are imported ones by code."""
    on_board = rows_of(votes, board_mask(votes, key))
    if on_board.empty:
        return None
    origins = [sources[code] for code in np.unique(values(on_board, "origin")).tolist()]
    alone = values(on_board, "alone")
    repeated = values(on_board, "repeated")
    out = values(on_board, "out")
    is_valid = ~repeated & ~alone
    counted = rows_of(on_board, is_valid & ~out)
    both_bad = values(counted, "both_bad")
    return ImportSummary(
        votes=len(counted),
        sources=tuple(sorted(source.name for source in origins)),
        judge=any(source.judge for source in origins),
        ties=int((values(counted, "tied") & ~both_bad).sum()),
        both_bad=int(both_bad.sum()),
        both_bad_out=int((is_valid & out).sum()),
        alone=int(alone.sum()),
        repeated=int((repeated & ~alone).sum()),
        named=int(values(counted, "named").sum()),
        no_item=int((values(counted, "item") < 0).sum()),
        no_voter=int((values(counted, "voter") == UNKNOWN_CODE).sum()),
        no_time=int((values(counted, "voted_at") == UNKNOWN_CODE).sum()),
        no_images=int(values(counted, "no_images").sum()),
    )


def votes_of(frames: BoardFrames, key: BoardKey, marks: VoterMarks, judged: bool) -> BoardVotes:
    """Returns a board's votes; those without a voter count as one person's. `judged`: a judge model cast them."""
    votes = _all_counted(frames, key, marks)
    item = values(votes, "item")
    picture = values(votes, "picture")
    voter = values(votes, "voter")
    tied = values(votes, "tied")
    codes = _codes(values(votes, "winner"), values(votes, "loser"))
    has_voter = voter != UNKNOWN_CODE
    people, votes_of_each = np.unique(voter[has_voter], return_counts=True)
    # A code below 0 stands for an imported vote without an item, or for a battle on own images. Such a battle is an
    # item of its own.
    is_known = (item > 0) | (values(votes, "source") == LIVE_OWN)
    columns = Votes(
        a=np.searchsorted(codes, values(votes, "winner")),
        b=np.searchsorted(codes, values(votes, "loser")),
        outcome=np.where(tied, Outcome.TIE, Outcome.A).astype(np.int8),
        models=len(codes),
        items=item,
        voters=None if judged else np.where(has_voter, voter, voter.max(initial=0) + 1),
        pictures=picture,
    )
    return BoardVotes(
        codes=tuple(codes.tolist()),
        family=values(votes, "family"),
        left=values(votes, "left"),
        votes=columns,
        sample=BoardSample(
            voters=len(people),
            busiest=int(votes_of_each.max(initial=0)),
            items=len(np.unique(item[is_known])),
            pictures=len(np.unique(picture[is_known])),
        ),
        items_known=bool(is_known.all()),
        judged=judged,
    )


def history_of(frames: BoardFrames, key: BoardKey, marks: VoterMarks) -> History:
    """Returns the ratings of a board at the end of chosen days, from the votes that have a time."""
    votes = _all_counted(frames, key, marks)
    votes = rows_of(votes, values(votes, "voted_at") != UNKNOWN_CODE)
    voted_on = values(votes, "voted_at") // _DAY_MICROSECONDS
    days, day_of_vote = np.unique(voted_on, return_inverse=True)
    points = min(len(days), POINTS_IN_TIME)
    chosen = np.linspace(0, len(days) - 1, points).round().astype(int)
    # The first chosen day with the vote in its ratings: the day of the vote, or the next that is chosen.
    point_of_vote = np.searchsorted(chosen, day_of_vote)
    winner = values(votes, "winner")
    loser = values(votes, "loser")
    codes = _codes(winner, loser)
    winner = np.searchsorted(codes, winner)
    loser = np.searchsorted(codes, loser)
    won = np.where(values(votes, "tied"), 0.5, 1.0)
    wins = np.zeros((points, len(codes), len(codes)))
    np.add.at(wins, (point_of_vote, winner, loser), won)
    np.add.at(wins, (point_of_vote, loser, winner), 1.0 - won)
    dates = [(EPOCH + timedelta(days=number)).date() for number in days[chosen].tolist()]
    return history(dates, codes.tolist(), wins)


def lost_by(votes: pd.DataFrame, key: BoardKey, marks: VoterMarks, model: int) -> pd.DataFrame:
    """Returns the votes cast here by which a model lost on a board, the last battle first."""
    mask = counted_on_board(votes, key, marks) & (values(votes, "loser") == model)
    lost = rows_of(votes, mask & ~values(votes, "tied"))
    return lost.take(np.argsort(values(lost, "battle"))[::-1])


def _all_counted(frames: BoardFrames, key: BoardKey, marks: VoterMarks) -> pd.DataFrame:
    cast = rows_of(frames.cast, counted_on_board(frames.cast, key, marks))
    if frames.imported is None:
        return cast
    imported = rows_of(frames.imported, imported_mask(frames.imported, key))
    columns = {}
    for name in COLUMNS:
        columns[name] = np.concatenate([values(cast, name), values(imported, name)])
    return pd.DataFrame(columns)


def _midnight(day: date) -> int:
    """Returns the start of a day (UTC), in microseconds since 1970."""
    return (datetime.combine(day, time.min, UTC) - EPOCH) // timedelta(microseconds=1)
