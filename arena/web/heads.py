"""Heads: title, description and preview of an address, for a browser's tab, search engines and shared links.

An address may name an item, a board, a model or a finished battle. If that doesn't exist, it has the head of its page.
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

_MOST_LETTERS = 110
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


class _PageTexts(NamedTuple):
    """The keys of a page's title and description, and the path of its preview."""

    title: str
    description: str
    preview: str


PAGES = {
    VOTE: _PageTexts("vote.title", "heads.vote", "vote"),
    OWN: _PageTexts("heads.own", "own.lead", "vote"),
    RESULTS: _PageTexts("heads.results", "heads.results_more", "results"),
    SCORE: _PageTexts("heads.score", "heads.score_more", "score"),
}


def page_head(page: str) -> Head:
    """Returns the head of a page's address that names no item, board, model or battle."""
    texts = PAGES[page]
    return Head(t(texts.title), t(texts.description), texts.preview)


class SourceBoard(NamedTuple):
    """A source's board with the most votes, and the source's label."""

    board: Board | None
    """None for an unknown source, and until the board is computed."""
    source: str


@dataclass(frozen=True)
class Heads:
    """The heads of addresses, from the database."""

    items: ItemBank
    outcomes: Outcomes
    leaderboard: Leaderboard
    overview: Overview

    def head(self, address: Address) -> Head:
        """Returns an address's head. Raises DatabaseError."""
        head = None
        if address.kind == "item":
            head = self._item_head(address.name)
        elif address.kind == "board":
            head = self._board_head(address.name)
        elif address.kind == "model":
            head = self._model_head(address.name)
        elif address.kind == "battle":
            head = self._battle_head(address.name)
        return head or page_head(address.page)

    def _item_head(self, key: str) -> Head | None:
        item = self.items.bank().by_key(key)
        if item is None:
            return None
        title = f"{_beginning(item.instruction)} · {NAME}"
        return Head(title, t("heads.vote"), f"item/{key}", picture=_picture(item))

    def _battle_head(self, token: str) -> Head | None:
        battle = self.outcomes.find_finished(token)
        if battle is None:
            return None
        item = self.items.bank().items.get(battle.item)
        if item is None:
            return None
        title = t("battle.title", a=named(battle.names.a), b=named(battle.names.b))
        description = f"{translated(battle.verdict)} {_beginning(item.instruction)}"
        return Head(f"{title} · {NAME}", description, f"battle/{token}", picture=_picture(item))

    def _board_head(self, source: str) -> Head | None:
        board, source = self.board(source)
        if board is None:
            return None
        title = f"{named(source)} · {t('results.ranking')} · {NAME}"
        return Head(title, headline(board), f"results/{quote(source, safe='')}")

    def _model_head(self, name: str) -> Head | None:
        if not self.items.is_model(name, self.leaderboard.closed_sources()):
            return None
        board, _ = self.board()
        lines = board.standings if board and board.statistics else ()
        line = next((line for line in lines if line.model == name), None)
        if board and line:
            description = standing_sentence(line, voters_caveat(board))
        else:
            description = t("heads.model", model=named(name))
        return Head(f"{named(name)} · {NAME}", description, f"model/{quote(name, safe='')}")

    def board(self, source: str = "", patience: float | None = None) -> SourceBoard:
        """Returns a source's board with the most votes; without a source, the one with the most of all boards.

        The board is as it was last computed. With `patience`, the call waits up to that many seconds for ranks.
        """
        choice = self.overview.choose(source)
        # For an unknown source, `choose` returns another board.
        if choice is None or source not in ("", choice.source):
            return SourceBoard(None, source)
        if patience is None:
            return SourceBoard(self.leaderboard.latest(choice.key), choice.source)
        return SourceBoard(self.leaderboard.board(choice.key, patience), choice.source)


def standing_sentence(line: Standing, caveat: str = "") -> str:
    """Returns a model's rank and rating in one sentence. `caveat`: the words of `voters_caveat`."""
    votes = t("board.votes", count=line.votes)
    if line.rank is None or line.rating is None:
        if line.retired:
            return t("heads.retired", votes=votes)
        needed = needs_in_words(line) or t("heads.no_rating")
        return t("heads.gathering", needed=needed, votes=votes)
    rank = line.rank
    rating = line.rating
    place = f"{rank.value:.0f}"
    if rank.low != rank.high:
        place = t("heads.place", place=place, places=places_in_words(rank))
    interval = interval_text(rating.low, rating.high, ".0f")
    if caveat:
        interval = f"{interval} {caveat}"
    return t("heads.rank", place=place, rating=rating.value, interval=interval, votes=votes)


def _beginning(instruction: str) -> str:
    """Returns the beginning of an instruction, cut at a word if that leaves enough of it."""
    text = " ".join(visible_text(instruction[:1000]).split())
    whole_words = shorten(text, _MOST_LETTERS, placeholder=" …")
    if whole_words == text or len(whole_words) > _MOST_LETTERS // 2:
        return whole_words
    return f"{text[:_MOST_LETTERS]} …"


def _picture(item: Item) -> str | None:
    return next((image.sha256 for image in item.images if image.sha256), None)
