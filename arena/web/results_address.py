"""Results' addresses: reads the address of a board, a plot or a model, and makes it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, combinations
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from arena.leaderboard.board import Board, BoardKey
from arena.leaderboard.overview import Overview
from arena.leaderboard.plots import PLOTS
from arena.leaderboard.selection import BoardSelection, BoardSelectionError
from arena.web.addresses import MOST_NAME, RESULTS, Address, parse_address
from arena.web.model_filter import FIELDS as FILTERS
from arena.web.model_filter import ModelFilter

MOST_ADDRESS = 4_000
"""The characters that are read of an address."""
PLOT_NAMES = {"-".join(name.lower().replace(".", "").split()): name for name in PLOTS}
"""The plots below a board, by their names in addresses."""
_BOARD_FIELDS = ("source", "images", "family", "since", "until", "voters", "votes")
"""The parameters of `Leaderboard.choose`."""
_KNOWN_FIELDS = (*_BOARD_FIELDS, *FILTERS, "plot", "before")
_LEFT_OUT = tuple(
    chain.from_iterable(combinations(("since", "until", "votes"), count) for count in range(4))
)
"""Sets of fields to leave out until there is a board for the others, the smallest first."""


class ResultsAddress(NamedTuple):
    """An address of the results, as it was sent."""

    model: str | None
    """The model of a model's page; None for a board."""
    battle: str | None
    """The token of a finished battle."""
    fields: Mapping[str, str]
    """The parameters of the board, its filter of models, its plot, and `before`: a model's page lists lost battles with
    a smaller number."""

    @classmethod
    def parse(cls, sent: object) -> "ResultsAddress":
        """Reads the path and query of a browser; fields that no page has are dropped."""
        text = sent if isinstance(sent, str) else ""
        path, _, search = text[:MOST_ADDRESS].partition("?")
        query = dict(parse_qsl(search, max_num_fields=50)) if search.count("&") < 50 else {}
        address = parse_address(path) or Address(RESULTS)
        fields = {name: query[name] for name in _KNOWN_FIELDS if name in query}
        if address.kind == "board":
            fields = {"source": address.name, **fields}
        return cls(
            model=address.name if address.kind == "model" else None,
            battle=address.name if address.kind == "battle" else None,
            fields=fields,
        )

    @property
    def plot(self) -> str:
        """A name of PLOT_NAMES; empty for no plot."""
        plot = self.fields.get("plot", "")
        return plot if plot in PLOT_NAMES else ""

    @property
    def filter(self) -> ModelFilter:
        """The filter of a board's models. A model's page has none."""
        return ModelFilter.parse(self.fields if self.model is None else {})

    @property
    def before(self) -> int | None:
        """The number of the battle from which a model's page goes on; None for the newest ones."""
        before = self.fields.get("before", "")
        is_number = before.isascii() and before.isdigit() and len(before) < 16
        return int(before) if is_number else None

    def choose(self, overview: Overview) -> BoardSelection | None:
        """Returns the board of the address, or the nearest one; None if there is no board."""
        fields = {name: self.fields[name] for name in _BOARD_FIELDS if name in self.fields}
        for left_out in _LEFT_OUT:
            valid = {name: value for name, value in fields.items() if name not in left_out}
            with suppress(BoardSelectionError):
                return overview.choose(**valid, model=self.model)
        return None

    def ignored(self, choice: BoardSelection) -> Sequence[str]:
        """Returns the fields of the address, as `name=value`, that the chosen board doesn't have."""
        used = {
            # Where there is a single board, it has everyone's votes, so that `votes=everyone` fits it.
            "votes": "everyone",
            **board_query(choice),
            **self.filter.query,
            "plot": self.plot,
            "before": "" if self.before is None else self.fields["before"],
        }
        return [
            f"{name}={value}"[:60]
            for name, value in self.fields.items()
            # Days and facts are read without blanks around them.
            if used.get(name, "") not in (value, value.strip())
        ]


def board_query(choice: BoardSelection) -> dict[str, str]:
    """Returns a board's parameters of `Leaderboard.choose`."""
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
    """Returns a board's address. A field that is changed to "" is left out."""
    fields = {**query, **changed}
    filled = {name: value for name, value in fields.items() if value}
    return f"/results?{urlencode(filled)}"


def model_address(name: str, query: Mapping[str, str]) -> str:
    """Returns the address of a model's page on the board with this query."""
    path = f"/model/{quote(name, safe='')}"
    return f"{path}?{urlencode(query)}" if query else path


def model_addresses(board: Board, query: Mapping[str, str]) -> dict[str, str]:
    """Returns the addresses of a board's models, by name. A model with a very long name has no page."""
    return {
        line.model: model_address(line.model, query)
        for line in board.standings
        if len(line.model) <= MOST_NAME
    }
