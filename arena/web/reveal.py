"""Reveal: what the page tells with the names of a battle, from final votes and boards that were computed before."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from arena.battles.outcomes import BattleOutcome, Outcomes
from arena.battles.store import BattleStore
from arena.interval_text import dashed
from arena.items.fact_store import FactStore
from arena.items.store import ItemBank
from arena.leaderboard.board import Board, Standing
from arena.leaderboard.service import Leaderboard
from arena.templates import macros
from arena.types import SIDES, Battle, Names, Side
from arena.web.facts_view import at_reveal
from arena.web.words import Words

HTML = macros("battle.html")
EVERY = 10
"""After so many votes, and each time after as many more, voters see which models they have preferred."""


class Told(NamedTuple):
    """The HTML of a reveal."""

    titles: Mapping[Side, str]
    others: str
    """How others chose, as a sentence."""
    more: str
    votes: int
    """How many the voter has given."""


@dataclass(frozen=True)
class Reveal:
    """Tells of revealed battles."""

    store: BattleStore
    items: ItemBank
    outcomes: Outcomes
    leaderboard: Leaderboard
    facts: FactStore

    def prepare(self, battle: Battle) -> None:
        """Have the battle's board computed in time for the reveal."""
        self._board(battle)

    def of(self, voter: int, battle: Battle, names: Names, words: Words) -> Told:
        """Return what to tell; raises ChoiceError before the reveal."""
        board = self._board(battle)
        outcome = self.outcomes.of(voter, battle)
        lines = {line.model: line for line in board.standings} if board else {}
        facts = self.facts.snapshot()
        titles: dict[Side, str] = {}
        for side in SIDES:
            name = getattr(names, side)
            titles[side] = HTML.title(
                side,
                words,
                name,
                chosen=battle.choice == side,
                standing=_standing(lines.get(name), board, words),
                linked=True,
                about=at_reveal(facts.of(name), words),
            )
        votes = self.store.votes_of(voter)
        mine = self.outcomes.preferences(voter) if votes and votes % EVERY == 0 else ()
        return Told(
            titles,
            others_line(outcome, words),
            HTML.outcome(outcome.reference, mine, battle.link, words),
            votes,
        )

    def _board(self, battle: Battle) -> Board | None:
        item = self.items.bank().items.get(battle.item)
        key = item and self.leaderboard.official_key(item.source, item.multi)
        return key and self.leaderboard.latest(key)


def _standing(line: Standing | None, board: Board | None, words: Words) -> str:
    """Return a model's rank and rating with their ranges, in words."""
    if line is None or line.rank is None or board is None:
        return words["provisional"] if line else ""
    ranked = sum(one.rank is not None for one in board.standings)
    said = words["rank"].format(round(line.rank.value), ranked)
    rank = line.rank
    has_range = False
    if rank.low is not None and rank.high is not None and rank.low != rank.high:
        has_range = True
        said += f" ({words['places'].format(round(rank.low), round(rank.high))})"
    if line.rating is not None:
        said += f" · {line.rating.value:.0f}"
        rating_range = dashed(line.rating.low, line.rating.high)
        if rating_range:
            said += f" ({rating_range})"
            has_range = True
    return f"{said} · {words['level']}" if has_range else said


def others_line(outcome: BattleOutcome, words: Words) -> str:
    if outcome.closed:
        return words["others_later"]
    if not outcome.others:
        return words["first"]
    if outcome.others == 1:
        return words["alike_one" if outcome.alike else "unlike_one"]
    few = outcome.others < 5
    share = f"{outcome.alike}" if few else f"{outcome.alike / outcome.others:.0%}"
    return words["alike_few" if few else "alike"].format(share, outcome.others)
