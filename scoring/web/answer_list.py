"""Every answer of a report: its filters, and the page of answers that an address asks for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

from arena.locale import t, translated
from scoring.multiple_choice.types import PROTOCOL_WORDS
from scoring.web.report_parts import REPORT, Listed

Choice = tuple[str, str]
"""Value of an option, and its words."""


class Chosen(NamedTuple):
    """The choices of an address; unknown ones count as not chosen."""

    path: str
    show: str = ""
    """A filter by outcome; "" shows all."""
    group: str = ""
    protocol: str = ""
    """Another protocol, under which the file's letters are read."""
    page: int = 1

    @classmethod
    def from_query(cls, path: str, query: Mapping[str, str]) -> "Chosen":
        page = query.get("page", "")[:6]
        return cls(
            path,
            show=query.get("show", ""),
            group=query.get("group", ""),
            protocol=query.get("protocol", ""),
            page=int(page) if page.isascii() and page.isdecimal() else 1,
        )

    def address(self, **changed: object) -> str:
        """Returns the address of the same list with something else chosen."""
        chosen = {"show": self.show, "group": self.group, "protocol": self.protocol, **changed}
        query = urlencode({name: value for name, value in chosen.items() if value})
        return f"{self.path}?{query}" if query else self.path


def no_groups(report: Any) -> Sequence[Choice]:
    return ()


@dataclass(frozen=True)
class AnswerList:
    """The list of answers of one kind of report."""

    title: str
    """Key of its title."""
    shows: Iterable[str]
    """Filters by outcome, as addresses have them, the first of which shows all."""
    html: Callable[[Any, Chosen], Listed]
    group: str = ""
    """Key of the other filter's label; "" without one."""
    groups: Callable[[Any], Sequence[Choice]] = no_groups

    def body(self, report: Any, chosen: Chosen) -> str:
        """Returns the filters and the list."""
        shows = [
            ("" if place == 0 else show, translated(show)) for place, show in enumerate(self.shows)
        ]
        groups = self.groups(report)
        chosen = chosen._replace(
            show=_known(chosen.show, shows),
            group=_known(chosen.group, groups),
            protocol=_known(chosen.protocol, PROTOCOL_WORDS.items()),
        )
        filters: list[tuple[str, str, Sequence[Choice], str]] = [
            ("show", t("report.show"), shows, chosen.show)
        ]
        if len(groups) > 2:
            filters.append(("group", t(self.group), groups, chosen.group))
        listed = self.html(report, chosen)
        return REPORT.answer_list(chosen, filters, listed.html, _pager(chosen, listed))


def _known(value: str, choices: Iterable[Choice]) -> str:
    return value if any(value == known for known, _ in choices) else ""


def _pager(chosen: Chosen, listed: Listed) -> list[Choice]:
    """Returns the links to other pages of the list, by address and words."""
    last = listed.pages
    places = {"first": 1, "previous": listed.page - 1, "next": listed.page + 1, "last": last}
    there = {place: page for place, page in places.items() if 1 <= page <= last != 1}
    return [
        (chosen.address(page=page), t(f"report.page_{place}"))
        for place, page in there.items()
        if page != listed.page
    ]
