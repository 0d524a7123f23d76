"""Addresses: which page each opens, and the thing that it is about.

The first word of a path names its page: a few pages of Gradio stand behind all of them. A wrong address has a page
that says so.
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
}
"""What a page is about where its address names a thing: in its query, or behind `/results/`."""
_THINGS: dict[str, tuple[str, Kind]] = {
    "item": (VOTE, "item"),
    "model": (RESULTS, "model"),
    "battle": (RESULTS, "battle"),
}
"""By the first word of a path: the page of Gradio that it opens, and what it is about."""
_READ: dict[str, tuple[str, Kind]] = {"report": (SCORE, "report")}
"""Pages that are read, in the same way: the door that they belong to, and what they are about."""
_QUERIED: dict[str, str] = {VOTE: "item", RESULTS: "source"}
"""Parameter of a page's query that names what it is about."""
MOST_NAME = 200
"""Most letters of a model's name in an imported file; longer ones, which a bank may hold, have no page."""


class Address(NamedTuple):
    """A page, and the thing it is about by its kind and its name, which may be anybody's words."""

    page: str
    kind: Kind = "page"
    name: str = ""


def described(path: str) -> Address | None:
    """Return what a path is about, of Gradio's pages and of those that are read; None for a wrong one."""
    first, _, rest = path.strip("/").partition("/")
    if first in _READ and rest:
        return Address(*_READ[first], unquote(rest)[: MOST_NAME + 1])
    return opened(path)


def opened(path: str, query: str = "") -> Address | None:
    """Return what a path opens of Gradio's pages; None for a wrong one."""
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
