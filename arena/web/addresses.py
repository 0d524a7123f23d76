"""Addresses: the page in a path, and the item, board, model or battle that it is about."""

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
DOORS = (
    (VOTE, "pages.door_vote"),
    (OWN, "pages.door_own"),
    (RESULTS, "pages.door_results"),
    (SCORE, "pages.door_score"),
)
"""Pages in the bar, with the keys of their names; an operator's bar has one more."""
NAME = "Stereoscope"
"""The app's name."""

Kind = Literal["page", "item", "board", "model", "battle"]
_PAGES: dict[str, Kind] = {VOTE: "item", OWN: "page", RESULTS: "board", SCORE: "page"}
"""The pages that have an `Address`, and the kind of thing that it may name, in its query or after `/results/`.

The kind `page` names nothing.
"""
_THINGS: dict[str, tuple[str, Kind]] = {
    "item": (VOTE, "item"),
    "model": (RESULTS, "model"),
    "battle": (RESULTS, "battle"),
}
"""The page and the kind of thing of a path such as `/model/NAME`, by the path's first word."""
_QUERY_PARAMETERS: dict[str, str] = {VOTE: "item", RESULTS: "source"}
"""The parameter of a page's query that names the thing."""
_GRADIO_PAGES = frozenset({VOTE, OWN, SCORE})
"""The pages that Gradio serves."""
FILE_PATHS = frozenset({f"/{AGREEMENT}"})
"""Paths of pages without Gradio that take a visitor's own file. Their cookie makes the file the visitor's."""
MOST_NAME = 200
"""Most letters of a model's name in an imported file. Models with longer names, which a bank may hold, have no page."""
_MOST_READ = MOST_NAME + 1
"""The letters that are read of a name: one too many, so that a longer name isn't taken for its beginning."""


def gradio_path(page: str, language: str) -> str:
    """Returns the path at which Gradio has a page.

    The score page has one for each language, since its labels are made in Python when it is built.
    """
    if page == SCORE and language != "en":
        return f"{page}-{language}"
    return page


class Address(NamedTuple):
    """A page, and the thing that it is about. The thing's name may be any text."""

    page: str
    kind: Kind = "page"
    name: str = ""


def parse_address(path: str, query: str = "") -> Address | None:
    """Returns the address in a quoted path and its query; None for a wrong path, and for pages without an Address."""
    first_word, _, rest = path.strip("/").partition("/")
    name = unquote(rest)[:_MOST_READ]
    if first_word in _THINGS:
        page, kind = _THINGS[first_word]
        return Address(page, kind, name) if name else None
    if first_word not in _PAGES:
        return None
    if name and first_word != RESULTS:
        return None
    if not name:
        name = _queried_name(first_word, query)[:_MOST_READ]
    return Address(first_word, _PAGES[first_word], name) if name else Address(first_word)


def gradio_address(path: str, query: str = "") -> Address | None:
    """Returns the address in a path to one of Gradio's pages; None for other paths."""
    address = parse_address(path, query)
    return address if address and address.page in _GRADIO_PAGES else None


def _queried_name(page: str, query: str) -> str:
    """Returns the name of the thing in a page's query; empty if there is none."""
    if page not in _QUERY_PARAMETERS:
        return ""
    values = parse_qs(query[:2000]).get(_QUERY_PARAMETERS[page], [""])
    return values[0]


def usual_path(path: str) -> str:
    """Returns a path in its usual form: its first word in lower case, without needless slashes and escapes."""
    first_word, slash, rest = path.strip("/").partition("/")
    if not rest:
        slash = ""
    # An escaped slash stays escaped: "//" at the start would lead to another host.
    return f"/{quote(unquote(first_word).lower(), safe='')}{slash}{rest}"
