"""Heads: what a browser's tab, a search engine and the preview of a shared link say of an address.

An address names an item, a board, a model or a finished battle; one that is not here has the head of its page.
"""

from dataclasses import dataclass
from textwrap import shorten
from typing import NamedTuple
from urllib.parse import quote

from arena.battles.outcomes import Outcomes
from arena.interval_text import interval_text
from arena.items.store import ItemBank
from arena.leaderboard.board import Board, Standing
from arena.leaderboard.headline import headline, needs, only_for, places_in_words
from arena.leaderboard.overview import Overview
from arena.leaderboard.service import Leaderboard
from arena.locale import t
from arena.markdown import visible_text
from arena.templates import plural
from arena.types import Item
from arena.web.addresses import NAME, OWN, RESULTS, SCORE, VOTE, Address

_ASKED = "Which one helped more?"
VOTE_WORDS = f"Two hidden vision-language models looked at a picture. {_ASKED} Every choice counts."
_LETTERS = 110
"""Most letters of an instruction in a title or a description."""


class Head(NamedTuple):
    """The head of an address; `title` and `description` may hold anybody's words."""

    title: str
    description: str
    preview: str = ""
    """Path of the preview picture, without its suffix; empty: none."""
    is_private: bool = False
    """Whether search engines are asked to stay away."""
    picture: str | None = None
    """Hash of the picture that the preview shows."""
    image: str = ""
    """Path of the preview picture, where it is none of the previews."""


PAGES = {
    VOTE: Head(t("vote.title"), VOTE_WORDS, "vote"),
    OWN: Head(f"Your own picture · {NAME}", t("own.lead"), "vote"),
    RESULTS: Head(
        f"Elo ranking · {NAME}",
        "Elo ratings of vision-language models from people's blind choices, with 95% intervals.",
        "results",
    ),
    SCORE: Head(
        f"Score a model · {NAME}",
        "Upload a model's answers to MM-Vet, MMBench, MMT-Bench or VisIT-Bench and get them scored.",
        "score",
    ),
}


@dataclass(frozen=True)
class Heads:
    """The heads of addresses, by what is in the database."""

    items: ItemBank
    outcomes: Outcomes
    leaderboard: Leaderboard
    overview: Overview

    def of(self, address: Address) -> Head:
        """Return an address's head. Raises DatabaseError."""
        makers = {
            "item": self._item,
            "board": self._board,
            "model": self._model,
            "battle": self._battle,
        }
        made = makers[address.kind](address.name) if address.kind in makers else None
        return made or PAGES[address.page]

    def _item(self, key: str) -> Head | None:
        item = self.items.bank().by_key(key)
        if item is None:
            return None
        title = f"{_begun(item.instruction)} · {NAME}"
        return Head(title, VOTE_WORDS, f"item/{key}", picture=_picture(item))

    def _battle(self, token: str) -> Head | None:
        battle = self.outcomes.finished(token)
        item = battle and self.items.bank().items.get(battle.item)
        if battle is None or item is None:
            return None
        title = f"{battle.names.a} or {battle.names.b}? · {NAME}"
        description = f"{battle.verdict} {_begun(item.instruction)}"
        return Head(title, description, f"battle/{token}", picture=_picture(item))

    def _board(self, source: str) -> Head | None:
        board, source = self.board(source)
        if board is None:
            return None
        return Head(
            f"{source} · Elo ranking · {NAME}", headline(board), f"results/{quote(source, safe='')}"
        )

    def _model(self, name: str) -> Head | None:
        if not self.items.is_model(name, self.leaderboard.closed()):
            return None
        board, _ = self.board()
        lines = board.standings if board and board.statistics else ()
        line = next((line for line in lines if line.model == name), None)
        description = f"How people's blind choices rank {name}: wins, losses, families, battles."
        description = standing(line, only_for(board)) if board and line else description
        return Head(f"{name} · {NAME}", description, f"model/{quote(name, safe='')}")

    def board(self, source: str = "", patience: float | None = None) -> tuple[Board | None, str]:
        """Return the board that a source opens with, by default the results', and its source.

        As it was last computed, or, with `patience`, as it is after at most so many seconds of waiting for ranks.
        """
        choice = self.overview.choose(source)
        if choice is None or source not in ("", choice.source):
            return None, source
        if patience is None:
            return self.leaderboard.latest(choice.key), choice.source
        return self.leaderboard.board(choice.key, patience), choice.source


def standing(line: Standing, only: str = "") -> str:
    """Return where a model stands, in one sentence; `only`: whom its interval holds for, where not for others."""
    cast = plural(line.votes, "vote")
    if line.rank is None or line.rating is None:
        return f"Still gathering votes: {needs(line) or 'no rating yet'}, after {cast}."
    rank = line.rank
    rating = line.rating
    places = f"{rank.value:.0f}" + (f" ({places_in_words(rank)})" if rank.low != rank.high else "")
    interval = interval_text(rating.low, rating.high, ".0f") + (f" {only}" if only else "")
    return f"Rank {places}, Elo rating {rating.value:.0f} ({interval}) by {cast} of people."


def _begun(instruction: str) -> str:
    shown = " ".join(visible_text(instruction[:1000]).split())
    whole = shorten(shown, _LETTERS, placeholder=" …")
    return whole if len(whole) > _LETTERS // 2 or whole == shown else f"{shown[:_LETTERS]} …"


def _picture(item: Item) -> str | None:
    return next((image.sha256 for image in item.images if image.sha256), None)
