"""Addresses: which page each opens, and the thing that it is about.

The first word of a path names its page: a few pages of Gradio stand behind all of them. A wrong address has a page
that says so.
"""

from typing import Literal, NamedTuple
from urllib.parse import parse_qs, quote, unquote

VOTE = ""
OWN = "own"
RESULTS = "results"
JUDGES = "judges"
AGREEMENT = "agreement"
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
    SCORE: "page",
}
"""What a page of Gradio is about where its query names a thing."""
_THINGS: dict[str, tuple[str, Kind]] = {
    "item": (VOTE, "item"),
}
"""By the first word of a path: the page of Gradio that it opens, and what it is about."""
_READ: dict[str, tuple[str, Kind]] = {
    "model": (RESULTS, "model"),
    "battle": (RESULTS, "battle"),
    "report": (SCORE, "report"),
}
"""Pages that are read, in the same way: the door that they belong to, and what they are about."""
_QUERIED: dict[str, str] = {VOTE: "item", RESULTS: "source"}
"""Parameter of a page's query that names what it is about."""
TAKES_FILES = frozenset({f"/{AGREEMENT}"})
"""Pages that are read, and take a visitor's own file: they give a cookie, by which it is theirs."""
MOST_NAME = 200
"""Most letters of a model's name in an imported file; longer ones, which a bank may hold, have no page."""


class Address(NamedTuple):
    """A page, and the thing it is about by its kind and its name, which may be anybody's words."""

    page: str
    kind: Kind = "page"
    name: str = ""


def described(path: str, query: str = "") -> Address | None:
    """Return what a path is about, of Gradio's pages and of those that are read; None for a wrong one."""
    first, _, rest = path.strip("/").partition("/")
    name = unquote(rest)[: MOST_NAME + 1]
    if first in _READ:
        return Address(*_READ[first], name) if name else None
    if first == RESULTS:
        source = name or _queried(RESULTS, query)[: MOST_NAME + 1]
        return Address(RESULTS, "board", source) if source else Address(RESULTS)
    return opened(path, query)


def opened(path: str, query: str = "") -> Address | None:
    """Return what a path opens of Gradio's pages; None for a wrong one."""
    first, _, rest = path.strip("/").partition("/")
    name = unquote(rest)[: MOST_NAME + 1]
    if first in _THINGS:
        return Address(*_THINGS[first], name) if name else None
    if first not in _PAGES or name:
        return None
    name = _queried(first, query)[: MOST_NAME + 1]
    return Address(first, _PAGES[first], name) if name else Address(first)


def _queried(page: str, query: str) -> str:
    found = parse_qs(query[:2000]) if page in _QUERIED else {}
    return found.get(_QUERIED.get(page, ""), [""])[0]


def plain(path: str) -> str:
    """Return an address as it is written here: the first word in small letters, without needless signs."""
    first, _, rest = path.strip("/").partition("/")
    return f"/{quote(unquote(first).lower())}{rest and '/'}{rest}"
