"""Results' addresses: what an address asks for, and the address of a board, a plot or a model."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, combinations
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from arena.leaderboard.board import Board, BoardKey
from arena.leaderboard.overview import Overview
from arena.leaderboard.plots import PLOTS
from arena.leaderboard.selection import BoardSelection, BoardSelectionError
from arena.web.addresses import MOST_NAME, RESULTS, Address, described
from arena.web.model_filter import FIELDS as FILTERS
from arena.web.model_filter import ModelFilter

MOST_ADDRESS = 4_000
FURTHER = {"-".join(name.lower().replace(".", "").split()): name for name in PLOTS}
"""The plots below a board by their names in addresses."""
_FIELDS = ("source", "images", "family", "since", "until", "voters", "votes")
"""What `Leaderboard.choose` takes."""
_KNOWN = (*_FIELDS, *FILTERS, "plot", "before")
_REFUSED = tuple(
    chain.from_iterable(combinations(("since", "until", "votes"), count) for count in range(4))
)
"""Fields for whose values there may be no board, the fewest first."""


class ResultsAddress(NamedTuple):
    """What an address of the results asks for."""

    model: str | None
    """The model of a model's page; None: a board."""
    battle: str | None
    """The token of a finished battle, as it was sent."""
    asked: Mapping[str, str]
    """The fields of a board, which models it shows, the plot below it, and the lost battle `before` which a model's
    page goes on."""

    @classmethod
    def parse(cls, sent: object) -> "ResultsAddress":
        """Return what a browser's path and query ask for; fields that no page has are ignored."""
        path, _, search = (sent if isinstance(sent, str) else "")[:MOST_ADDRESS].partition("?")
        query = dict(parse_qsl(search, max_num_fields=50)) if search.count("&") < 50 else {}
        about = described(path) or Address(RESULTS)
        names = {about.kind: about.name}
        asked = {name: query[name] for name in _KNOWN if name in query}
        if "board" in names:
            asked = {"source": about.name, **asked}
        return cls(names.get("model"), names.get("battle"), asked)

    @property
    def plot(self) -> str:
        """A plot of FURTHER; empty: none."""
        plot = self.asked.get("plot", "")
        return plot if plot in FURTHER else ""

    @property
    def filter(self) -> ModelFilter:
        return ModelFilter.of(self.asked if self.model is None else {})

    @property
    def before(self) -> int | None:
        before = self.asked.get("before", "")
        return int(before) if before.isascii() and before.isdigit() and len(before) < 16 else None

    def choose(self, overview: Overview) -> BoardSelection | None:
        """Return the board that is asked for, or the nearest there is."""
        for refused in _REFUSED:
            with suppress(BoardSelectionError):
                fields = {
                    name: self.asked[name]
                    for name in _FIELDS
                    if name in self.asked and name not in refused
                }
                return overview.choose(**fields, model=self.model)
        return None

    def strange(self, choice: BoardSelection) -> Sequence[str]:
        """Return the parts of the address that the board chosen does not have."""
        found = {
            "votes": "everyone",
            **board_query(choice),
            **self.filter.query,
            "plot": self.plot,
            "before": str(self.before or ""),
        }
        return [
            f"{name}={value}"[:60]
            for name, value in self.asked.items()
            if value != found.get(name, "")
        ]


def board_query(choice: BoardSelection) -> dict[str, str]:
    """Return the query parameters of a board, as `Leaderboard.choose` takes them."""
    key: BoardKey = choice.key
    parts = {
        "source": choice.source,
        "images": "multiple" if key.multi else "single",
        "family": choice.family or "",
        "since": str(key.since or ""),
        "until": str(key.until or ""),
        "voters": "" if key.unflagged else "all",
        "votes": choice.votes or "",
    }
    return {name: value for name, value in parts.items() if value}


def board_address(query: Mapping[str, str], **changed: str) -> str:
    """Return a board's address; what is changed to "" is left out."""
    return f"/results?{urlencode({name: value for name, value in {**query, **changed}.items() if value})}"


def model_address(name: str, query: Mapping[str, str]) -> str:
    path = f"/model/{quote(name, safe='')}"
    return f"{path}?{urlencode(query)}" if query else path


def model_addresses(board: Board, query: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses of a board's models by name; a model whose name is too long has no page."""
    return {
        line.model: model_address(line.model, query)
        for line in board.standings
        if len(line.model) <= MOST_NAME
    }
