"""Projects' view: the owner's boards of items that people write, as HTML."""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from arena.admin.project_sheets import project_sheets
from arena.admin.projects import CHECKS, MOST_ITEMS, ProjectStanding
from arena.authoring.choices import options_text
from arena.authoring.state import DraftState
from arena.authoring.store import Draft
from arena.sheets import as_html
from arena.templates import macros
from arena.types import item_key
from arena.web.run_forms import NOTHING_SENT, SentForm

HTML = macros("projects.html")
PARTS = macros("parts.html")
MOST_PERSONS = 200
"""People of a project that its table shows, the latest; the pay sheet has all."""
MOST_UNREAD = 20
"""Samples of a project's writers that are shown to be read, the oldest."""
MOST_UNCHECKED = 10
"""Questions that are shown to be checked."""
_NEEDS = {True: "needs its picture", False: "answered blindly too", None: ""}


def projects_html(
    projects: Sequence[ProjectStanding],
    links: Mapping[str, str],
    address: str,
    shown: Set[str] = frozenset(),
    sent: SentForm = NOTHING_SENT,
) -> str:
    """`links`: path and query of each project that has one link; `address`: where this arena is reached.

    `shown`: keys of the bank's items that are shown.
    """
    boards = []
    for one in projects:
        name = one.campaign.name
        link = f"{address}{links[name]}" if name in links else ""
        tables = _tables(one) + _items(one, shown, sent)
        boards.append(HTML.project(one, link, _samples(one), _checks(one), tables, sent))
    return HTML.projects(boards, sent)


def _samples(one: ProjectStanding) -> str:
    """What the operator has to read, if anything."""
    here = f"/run/projects/{one.campaign.name}/samples"
    first = one.unread[:MOST_UNREAD]
    return HTML.samples(here, first, len(one.unread)) if first else ""


class UncheckedQuestion(NamedTuple):
    """An accepted question that an operator is to check."""

    number: int
    family: str
    text: str
    options: str
    right: str
    picture: str
    needs: str


def _checks(one: ProjectStanding) -> str:
    """The questions of the sample that are unchecked, if any."""
    here = f"/run/projects/{one.campaign.name}/checks"
    first = [_unchecked(draft) for draft in one.unchecked[:MOST_UNCHECKED]]
    return HTML.checks(here, first, len(one.unchecked), CHECKS) if first else ""


def _unchecked(draft: Draft) -> UncheckedQuestion:
    instruction = draft.state.instruction
    assert instruction
    return UncheckedQuestion(
        number=draft.id,
        family=draft.family,
        text=instruction.text,
        options=options_text(instruction.options),
        right=instruction.answer,
        picture=instruction.pictures[0].name,
        needs=_NEEDS[draft.state.needs_picture],
    )


def _tables(one: ProjectStanding) -> str:
    agreed = "" if one.agreement is None else f"{one.agreement:.0%}"
    none_yet = PARTS.empty("None yet.")
    tables = [as_html(sheet) or none_yet for sheet in project_sheets(one, MOST_PERSONS)]
    return HTML.tables(tables, agreed, one.spec.is_choice)


class ProjectItem(NamedTuple):
    """An item that people write, as it is listed."""

    number: int
    family: str
    instruction: str
    step: str
    needs: str
    can_go: bool
    """Whether it can be taken out."""
    key: str
    """Of the same item in the bank, where it is shown there; empty otherwise."""


def _items(one: ProjectStanding, shown: Set[str], sent: SentForm) -> str:
    rows = [_item(draft, shown) for draft in one.drafts]
    if not rows:
        return ""
    return HTML.items(one.campaign.name, rows, len(rows) < MOST_ITEMS, sent)


def _item(draft: Draft, shown: Set[str]) -> ProjectItem:
    state = draft.state
    assert state.instruction
    key = item_key(state.instruction.text, [one.sha256 for one in state.instruction.pictures])
    return ProjectItem(
        number=draft.id,
        family=draft.family,
        instruction=state.instruction.text[:90],
        step=_step(state),
        needs=_NEEDS[state.needs_picture],
        can_go=state.step != "rejected",
        key=key if key in shown else "",
    )


def _step(state: DraftState) -> str:
    """Where an item stands; of a question that was answered otherwise, by which letters."""
    if not state.fault:
        return state.step
    chosen = ", ".join(verdict.chosen for verdict in state.verdicts if verdict.chosen)
    key = state.instruction.answer if state.instruction and chosen else ""
    return f"{state.step}: {state.fault}" + (f" ({chosen} chosen, {key} marked)" if chosen else "")
