"""Projects' view: the operators' page of items that people write, as HTML."""

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
"""The most people in a project's table, the latest ones. The pay sheet has all."""
MOST_UNREAD = 20
"""The most samples of writers on the page, the oldest ones."""
MOST_UNCHECKED = 10
"""The most unchecked questions on the page."""
_NEEDS = {True: "needs its picture", False: "answered without its picture too", None: ""}
"""The words for whether an item needs its picture; None: unknown."""


def projects_html(
    projects: Sequence[ProjectStanding],
    links: Mapping[str, str],
    address: str,
    shown_keys: Set[str] = frozenset(),
    sent: SentForm = NOTHING_SENT,
) -> str:
    """Returns the section of projects.

    `links`: path and query of each project that has one link for all its workers; `address`: the site's address;
    `shown_keys`: keys of the bank's items that aren't hidden.
    """
    boards = []
    for project in projects:
        name = project.campaign.name
        link = f"{address}{links[name]}" if name in links else ""
        board = HTML.project(
            project,
            link,
            _samples_html(project),
            _checks_html(project),
            _tables_html(project) + _items_html(project, shown_keys, sent),
            sent,
        )
        boards.append(board)
    return HTML.projects(boards, sent)


def _samples_html(project: ProjectStanding) -> str:
    """Returns the samples that wait for an operator; empty if there are none."""
    if not project.unread:
        return ""
    action = f"/run/projects/{project.campaign.name}/samples"
    return HTML.samples(action, project.unread[:MOST_UNREAD], len(project.unread))


class UncheckedQuestion(NamedTuple):
    """An accepted question that waits for an operator's check."""

    number: int
    family: str
    text: str
    options: str
    right: str
    """The answer that its writer marked as right."""
    picture: str
    """The name of the first picture's file."""
    needs: str
    """Whether it needs the picture, in words; empty if that is unknown."""


def _checks_html(project: ProjectStanding) -> str:
    """Returns the questions that wait for an operator's check; empty if there are none."""
    if not project.unchecked:
        return ""
    action = f"/run/projects/{project.campaign.name}/checks"
    questions = [_unchecked_question(draft) for draft in project.unchecked[:MOST_UNCHECKED]]
    return HTML.checks(action, questions, len(project.unchecked), CHECKS)


def _unchecked_question(draft: Draft) -> UncheckedQuestion:
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


def _tables_html(project: ProjectStanding) -> str:
    """Returns the tables of people and kinds of items, with the verifiers' agreement."""
    agreed = "" if project.agreement is None else f"{project.agreement:.0%}"
    none_yet = PARTS.empty("None yet.")
    tables = [as_html(sheet) or none_yet for sheet in project_sheets(project, MOST_PERSONS)]
    return HTML.tables(tables, agreed, project.spec.is_choice)


class ProjectItem(NamedTuple):
    """An item that people write, as a row of the list."""

    number: int
    family: str
    instruction: str
    step: str
    """Its state in words."""
    needs: str
    """As in `UncheckedQuestion`."""
    can_go: bool
    """Whether an operator can take it out."""
    key: str
    """The key of the same item in the bank; empty if the bank doesn't show it."""


def _items_html(project: ProjectStanding, shown_keys: Set[str], sent: SentForm) -> str:
    """Returns the list of items; empty if there are none."""
    rows = [_project_item(draft, shown_keys) for draft in project.drafts]
    if not rows:
        return ""
    # The drafts are cut at this number, so a list of that length may lack some.
    is_whole_list = len(rows) < MOST_ITEMS
    return HTML.items(project.campaign.name, rows, is_whole_list, sent)


def _project_item(draft: Draft, shown_keys: Set[str]) -> ProjectItem:
    state = draft.state
    assert state.instruction
    pictures = [picture.sha256 for picture in state.instruction.pictures]
    key = item_key(state.instruction.text, pictures)
    return ProjectItem(
        number=draft.id,
        family=draft.family,
        instruction=state.instruction.text[:90],
        step=_step(state),
        needs=_NEEDS[state.needs_picture],
        can_go=state.step != "rejected",
        key=key if key in shown_keys else "",
    )


def _step(state: DraftState) -> str:
    """Returns an item's step, with the reason of a rejection and the letters that other people chose."""
    if not state.fault:
        return state.step
    step = f"{state.step}: {state.fault}"
    chosen = ", ".join(verdict.chosen for verdict in state.verdicts if verdict.chosen)
    if not chosen:
        return step
    marked = state.instruction.answer if state.instruction else ""
    return f"{step} ({chosen} chosen, {marked} marked)"
