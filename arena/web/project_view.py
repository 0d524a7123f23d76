"""Projects' view: the owner's boards of items that people write, as HTML."""

from collections.abc import Mapping, Sequence

from arena.admin.project_sheets import items_sheet, project_sheets
from arena.admin.projects import MOST_ITEMS, ProjectStanding
from arena.sheets import as_html
from arena.templates import macros

HTML = macros("projects.html")
PARTS = macros("parts.html")
MOST_PERSONS = 200
"""People of a project that its table shows, the latest; the pay sheet has all."""
MOST_UNREAD = 20
"""Samples of a project's writers that are shown to be read, the oldest."""


def projects_html(
    projects: Sequence[ProjectStanding], links: Mapping[str, str], address: str
) -> str:
    """`links`: path and query of each project that has one link; `address`: where this arena is reached."""
    boards = [
        (one, f"{address}{links[one.campaign.name]}" if one.campaign.name in links else "")
        for one in projects
    ]
    return HTML.projects(
        [HTML.project(one, link, _samples(one), _tables(one)) for one, link in boards]
    )


def _samples(one: ProjectStanding) -> str:
    """What the operator has to read, if anything."""
    here = f"operators/projects/{one.campaign.name}/samples"
    first = one.unread[:MOST_UNREAD]
    return HTML.samples(here, first, len(one.unread)) if first else ""


def _tables(one: ProjectStanding) -> str:
    agreed = "" if one.agreement is None else f"{one.agreement:.0%}"
    none_yet = PARTS.empty("None yet.")
    tables = [as_html(sheet) or none_yet for sheet in project_sheets(one, MOST_PERSONS)]
    items = as_html(items_sheet(one))
    return HTML.tables(tables, agreed) + HTML.items(items, len(one.drafts), MOST_ITEMS)
