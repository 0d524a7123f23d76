"""Addresses: which page each opens, and the thing that it is about.

The first word of a path names its page. A wrong address has a page that says so.
"""

from typing import Literal, NamedTuple
from urllib.parse import parse_qs, quote, unquote

VOTE = ""
OWN = "own"
RESULTS = "results"
SCORE = "score"
RUN = "run"
"""The pages, by their path."""
DOORS = ((VOTE, "door_vote"), (OWN, "door_own"), (RESULTS, "door_results"), (SCORE, "door_score"))
"""Pages in the bar, with the words for them; who runs the server has one more. OWN takes two models that answer."""
NAME = "Stereoscope"

Kind = Literal["page", "item", "board", "model", "battle", "report"]
_PAGES: dict[str, Kind] = {
    VOTE: "item",
    OWN: "page",
    RESULTS: "board",
    SCORE: "page",
    RUN: "page",
}
"""What a page is about where its address names a thing: in its query, or behind `/results/`."""
_THINGS: dict[str, tuple[str, Kind]] = {
    "item": (VOTE, "item"),
    "model": (RESULTS, "model"),
    "battle": (RESULTS, "battle"),
    "report": (SCORE, "report"),
}
"""By the first word of a path: the page that it opens, and what it is about."""
_READ = frozenset({RESULTS})
"""The pages that are read: Gradio has no part in them."""
_QUERIED: dict[str, str] = {VOTE: "item", RESULTS: "source"}
"""Parameter of a page's query that names what it is about."""
MOST_NAME = 200
"""Most letters of a model's name in an imported file; longer ones, which a bank may hold, have no page."""


class Address(NamedTuple):
    """A page, and the thing it is about by its kind and its name, which may be anybody's words."""

    page: str
    kind: Kind = "page"
    name: str = ""


def opened(path: str, query: str = "") -> Address | None:
    """Return which page of Gradio a path opens, and what it is about; None for every other path."""
    address = named(path, query)
    return None if address is None or address.page in _READ else address


def named(path: str, query: str = "") -> Address | None:
    """Return what a path is about, on a page of Gradio or on one that is read; None for a wrong one."""
    first, _, rest = path.strip("/").partition("/")
    name = unquote(rest)[: MOST_NAME + 1]
    if first in _THINGS:
        return Address(*_THINGS[first], name) if name else None
    if first not in _PAGES or (name and first != RESULTS):
        return None
    name = name or _queried(first, query)[: MOST_NAME + 1]
    return Address(first, _PAGES[first], name) if name else Address(first)


def _queried(page: str, query: str) -> str:
    found = parse_qs(query[:2000]) if page in _QUERIED else {}
    return found.get(_QUERIED.get(page, ""), [""])[0]


def plain(path: str) -> str:
    """Return an address as it is written here: the first word in small letters, without needless signs."""
    first, _, rest = path.strip("/").partition("/")
    return f"/{quote(unquote(first).lower())}{rest and '/'}{rest}"
