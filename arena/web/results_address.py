"""Results' addresses: what an address asks for, and the address of a board, a plot or a model."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from arena.leaderboard.board import BoardKey
from arena.leaderboard.selection import BoardSelection
from arena.web.addresses import RESULTS, Address, opened

MOST_ADDRESS = 2_000
_FIELDS = ("source", "images", "family", "since", "until", "voters", "votes")
"""What `Leaderboard.choose` takes."""


class ResultsAddress(NamedTuple):
    """What an address of the results asks for."""

    model: str | None
    """The model of a model's page; None: a board."""
    board: Mapping[str, str]
    """What names the board, as `Overview.choose` takes it."""
    plot: str
    """A plot below the board, by its address."""
    before: int | None
    """The lost battle below which a model's page goes on."""
    battle: str | None = None
    """The number of a finished battle, as it was sent."""

    @classmethod
    def parse(cls, sent: object) -> "ResultsAddress":
        """Return what a browser's path and query ask for; anything unknown is ignored."""
        path, _, search = (sent if isinstance(sent, str) else "")[:MOST_ADDRESS].partition("?")
        query = dict(parse_qsl(search, max_num_fields=50)) if search.count("&") < 50 else {}
        about = opened(path) or Address(RESULTS)
        names = {about.kind: about.name}
        board = {name: query[name] for name in _FIELDS if name in query}
        if "board" in names:
            board = {"source": about.name, **board}
        before = query.get("before", "")
        number = int(before) if before.isascii() and before.isdigit() and len(before) < 16 else None
        return cls(names.get("model"), board, query.get("plot", ""), number, names.get("battle"))


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
    return f"results?{urlencode({name: value for name, value in {**query, **changed}.items() if value})}"


def model_address(name: str, query: Mapping[str, str]) -> str:
    return f"model/{quote(name, safe='')}?{urlencode(query)}"
