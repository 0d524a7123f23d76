"""Heads: title, description and preview of an address, for a browser's tab, search engines and shared links.

An address may name an item, a board, a model or a finished battle. If there is none such, it has the head of its page.
"""

from dataclasses import dataclass
from textwrap import shorten
from typing import NamedTuple
from urllib.parse import quote

from arena.battles.outcomes import Outcomes
from arena.interval_text import interval_text
from arena.items.store import ItemBank
from arena.leaderboard.board import Board, Standing
from arena.leaderboard.headline import headline, needs_in_words, places_in_words, voters_caveat
from arena.leaderboard.overview import Overview
from arena.leaderboard.service import Leaderboard
from arena.locale import named, t, translated
from arena.markdown import visible_text
from arena.types import Item
from arena.web.addresses import NAME, OWN, RESULTS, SCORE, VOTE, Address

_LETTERS = 110
"""The most letters of an instruction in a title or a description."""


class Head(NamedTuple):
    """The head of an address. `title` and `description` may hold any person's words."""

    title: str
    description: str
    preview: str = ""
    """The path of the preview picture, without its suffix; empty for none."""
    is_private: bool = False
    """Whether search engines are asked to stay away."""
    picture: str | None = None
    """The hash of the item's picture in the preview."""
    image: str = ""
    """The path of another picture in place of the preview."""


PAGES = {
    VOTE: ("vote.title", "heads.vote", "vote"),
    OWN: ("heads.own", "own.lead", "vote"),
    RESULTS: ("heads.results", "heads.results_more", "results"),
    SCORE: ("heads.score", "heads.score_more", "score"),
}
"""The keys of each page's title and description, and its preview."""


def page_head(page: str) -> Head:
    """Return the head of a page that is about no one thing."""
    title, description, preview = PAGES[page]
    return Head(t(title), t(description), preview)


@dataclass(frozen=True)
class Heads:
    """The heads of addresses, from the database."""

    items: ItemBank
    outcomes: Outcomes
    leaderboard: Leaderboard
    overview: Overview

    def head(self, address: Address) -> Head:
        """Returns an address's head. Raises DatabaseError."""
        makers = {
            "item": self._item,
            "board": self._board,
            "model": self._model,
            "battle": self._battle,
        }
        made = makers[address.kind](address.name) if address.kind in makers else None
        return made or page_head(address.page)

    def _item(self, key: str) -> Head | None:
        item = self.items.bank().by_key(key)
        if item is None:
            return None
        title = f"{_begun(item.instruction)} · {NAME}"
        return Head(title, t("heads.vote"), f"item/{key}", picture=_picture(item))

    def _battle(self, token: str) -> Head | None:
        battle = self.outcomes.find_finished(token)
        item = battle and self.items.bank().items.get(battle.item)
        if battle is None or item is None:
            return None
        title = t("battle.title", a=named(battle.names.a), b=named(battle.names.b))
        description = f"{translated(battle.verdict)} {_begun(item.instruction)}"
        return Head(f"{title} · {NAME}", description, f"battle/{token}", picture=_picture(item))

    def _board(self, source: str) -> Head | None:
        board, source = self.board(source)
        if board is None:
            return None
        title = f"{named(source)} · {t('results.ranking')} · {NAME}"
        return Head(title, headline(board), f"results/{quote(source, safe='')}")

    def _model(self, name: str) -> Head | None:
        if not self.items.is_model(name, self.leaderboard.closed_sources()):
            return None
        board, _ = self.board()
        lines = board.standings if board and board.statistics else ()
        line = next((line for line in lines if line.model == name), None)
        description = t("heads.model", model=named(name))
        description = standing(line, voters_caveat(board)) if board and line else description
        return Head(f"{named(name)} · {NAME}", description, f"model/{quote(name, safe='')}")

    def board(self, source: str = "", patience: float | None = None) -> tuple[Board | None, str]:
        """Returns the first board of a source (by default, of the results), and its source.

        The board is as it was last computed. With `patience`, the call waits up to so many seconds for ranks.
        """
        choice = self.overview.choose(source)
        if choice is None or source not in ("", choice.source):
            return None, source
        if patience is None:
            return self.leaderboard.latest(choice.key), choice.source
        return self.leaderboard.board(choice.key, patience), choice.source


def standing(line: Standing, only: str = "") -> str:
    """Returns a model's rank and rating in one sentence. `only`: the voters for whom alone the interval holds."""
    cast = t("board.votes", count=line.votes)
    if line.rank is None or line.rating is None:
        return t("heads.gathering", needed=needs_in_words(line) or t("heads.no_rating"), votes=cast)
    rank = line.rank
    rating = line.rating
    place = f"{rank.value:.0f}"
    if rank.low != rank.high:
        place = t("heads.place", place=place, places=places_in_words(rank))
    interval = interval_text(rating.low, rating.high, ".0f")
    if only:
        interval = f"{interval} {only}"
    return t("heads.rank", place=place, rating=rating.value, interval=interval, votes=cast)


def _begun(instruction: str) -> str:
    """Returns the beginning of an instruction, cut at a word if that leaves enough of it."""
    text = " ".join(visible_text(instruction[:1000]).split())
    whole_words = shorten(text, _LETTERS, placeholder=" …")
    if whole_words == text or len(whole_words) > _LETTERS // 2:
        return whole_words
    return f"{text[:_LETTERS]} …"


def _picture(item: Item) -> str | None:
    return next((image.sha256 for image in item.images if image.sha256), None)
