"""Every answer of a report: its filters, and the page of answers that an address asks for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlencode

from arena.locale import t, translated
from scoring.multiple_choice.types import PROTOCOL_WORDS
from scoring.web.report_parts import REPORT, ListPage, PageLink, page_number


class Choice(NamedTuple):
    """An option of a filter: its value in an address, and its words."""

    value: str
    words: str


class _Filter(NamedTuple):
    """A menu of options, as the template shows it."""

    name: str
    """Its parameter in an address."""
    label: str
    options: Sequence[Choice]
    chosen: str


class Chosen(NamedTuple):
    """The choices of an address, as they came; `AnswerList.html` takes unknown ones for not chosen."""

    path: str
    show: str = ""
    """A filter by outcome; "" shows all."""
    group: str = ""
    protocol: str = ""
    """Another protocol, under which the file's letters are read."""
    page: int = 1

    @classmethod
    def from_query(cls, path: str, query: Mapping[str, str]) -> "Chosen":
        return cls(
            path,
            show=query.get("show", ""),
            group=query.get("group", ""),
            protocol=query.get("protocol", ""),
            page=page_number(query.get("page", "")),
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
    list_page: Callable[[Any, Chosen], ListPage]
    """Lists the answers of a report that are chosen."""
    group: str = ""
    """Key of the label of the filter by group; "" without one."""
    groups: Callable[[Any], Sequence[Choice]] = no_groups
    """The options of the filter by group, the first of which shows all."""

    def html(self, report: Any, chosen: Chosen) -> str:
        """Returns the filters and the list."""
        first, *others = self.shows
        shows = [Choice("", translated(first))]
        shows += [Choice(show, translated(show)) for show in others]
        groups = self.groups(report)
        chosen = chosen._replace(
            show=_offered(chosen.show, (choice.value for choice in shows)),
            group=_offered(chosen.group, (choice.value for choice in groups)),
            protocol=_offered(chosen.protocol, PROTOCOL_WORDS),
        )
        filters = [_Filter("show", t("report.show"), shows, chosen.show)]
        if len(groups) > 2:  # with one group, all answers are in it
            filters.append(_Filter("group", t(self.group), groups, chosen.group))
        list_page = self.list_page(report, chosen)
        links = _page_links(chosen, list_page)
        return REPORT.answer_list(chosen, filters, list_page.html, links)


def _offered(value: str, values: Iterable[str]) -> str:
    """Returns the value if it is one of those offered; else "", which is no choice."""
    return value if value in values else ""


def _page_links(chosen: Chosen, list_page: ListPage) -> list[PageLink]:
    """Returns the links to other pages of the list."""
    page = list_page.page
    pages = list_page.pages
    numbers = {"first": 1, "previous": page - 1, "next": page + 1, "last": pages}
    return [
        PageLink(chosen.address(page=number), t(f"report.page_{name}"))
        for name, number in numbers.items()
        if 1 <= number <= pages and number != page
    ]
