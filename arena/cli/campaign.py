"""Commands `campaign ...`: make a campaign, its links, its pay sheet."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

from typer import Option, Typer

from arena.admin.campaigns import CampaignAdmin, CampaignStanding
from arena.admin.projects import ProjectAdmin, ProjectStanding, project_admin
from arena.battles.vote_table import VoteTable
from arena.cli.votes import COMMAND_LINE
from arena.database import Database
from arena.inference.catalogue import Models, read_catalogue
from arena.io.images import PictureStore
from arena.io.strict_json import row_errors
from arena.io.tables import COMMAND_LINE as FILE_LIMITS
from arena.io.tables import read_records
from arena.items.store import ItemBank
from arena.seats.spec import CampaignError
from arena.seats.worker_list import read_workers
from arena.server.hub_token import catalogue_keys
from arena.settings import Settings
from arena.sheets import Sheet, as_csv

app = Typer(rich_markup_mode=None)
campaign = Typer()
app.add_typer(campaign, name="campaign")


class Admins(NamedTuple):
    """The administration of campaigns of battles, and of projects."""

    battles: CampaignAdmin
    projects: ProjectAdmin


def admins() -> Admins:
    """Returns the administration of this arena's campaigns."""
    settings = Settings.from_env()
    database = Database(settings.database_url)
    bank = ItemBank(database, settings.image_hosts)
    pictures = PictureStore(settings.pictures_dir)
    models = Models(
        read_catalogue(settings.models, catalogue_keys(settings)), settings.local_models
    )
    projects = project_admin(settings, database, bank, pictures, models)
    return Admins(CampaignAdmin(settings, database, bank, VoteTable(database)), projects)


def _admin_of(name: str) -> CampaignAdmin | ProjectAdmin:
    """Returns the administration of a campaign of this name, for any task."""
    battles, projects = admins()
    return projects if projects.store.find(name) else battles


def _address(address: str | None) -> str:
    """Returns the address without a slash at its end; by default that of the Space or of this machine."""
    settings = Settings.from_env()
    if not address:
        space = settings.oauth.host if settings.oauth else ""
        address = f"https://{space}" if space else f"http://127.0.0.1:{settings.port}"
    return address.rstrip("/")


@contextmanager
def named_spec(file: Path) -> Iterator[None]:
    """Adds the TOML file's name to an error about its content."""
    try:
        yield
    except CampaignError as error:
        raise CampaignError(f"{file.name}: {error}") from error


def _battle_table(name: str, table: str) -> Iterator[str]:
    """Returns a table that only campaigns of battles have, as CSV."""
    admin = _admin_of(name)
    if table not in admin.tables:
        raise CampaignError(
            f"{name} is a project, which has no {table}. Run: python -m arena drafts board {name}"
        )
    return csv_lines(admin.tables[table](name))


def csv_lines(sheet: Sheet) -> Iterator[str]:
    """Yields a table as CSV, all its lines in one text."""
    yield as_csv(sheet).removesuffix("\n")


Address = Annotated[
    str | None,
    Option(
        help="address where workers reach this arena, as in https://arena.example.org; default: this machine"
    ),
]


@campaign.command()
def new(
    file: Path,
    tuples: Annotated[
        Path | None, Option(help="for design = 'fixed': a table of item (key), model_a, model_b")
    ] = None,
    address: Address = None,
) -> Iterator[str]:
    """Make a campaign from a TOML file."""
    admin = admins().battles
    with named_spec(file), row_errors(tuples.name if tuples else None):
        rows = read_records(tuples, FILE_LIMITS) if tuples else None
        made = admin.make(COMMAND_LINE, file.read_bytes(), rows)
    yield from admin.summary(made)
    if made.spec.platform.kind == "plain":
        yield f"Links: python -m arena campaign links {made.name} --workers FILE"
    else:
        yield f"{_address(address)}{admin.link(made)}"


@campaign.command()
def links(
    name: str,
    workers: Annotated[
        Path | None,
        Option(
            help="for a plain campaign: a worker's name on each line, or a CSV, TSV or XLSX with the column `worker`"
        ),
    ] = None,
    address: Address = None,
) -> Iterator[str]:
    """Print a campaign's signed links: a CSV with one for each worker, or the one for logins, Prolific or MTurk."""
    admin = _admin_of(name)
    target = admin.store.get(name)
    base_address = _address(address)
    if target.spec.platform.kind != "plain":
        if workers:
            raise CampaignError(f"{name} has one link for all workers. Leave out --workers.")
        yield f"{base_address}{admin.link(target)}"
        return
    if workers is None:
        raise CampaignError(
            f"{name} has a link for each worker. Give --workers FILE with a worker's name on each line."
        )
    with row_errors(workers.name):
        yield from csv_lines(admin.worker_links(target, read_workers(workers), base_address))


@campaign.command("list")
def list_campaigns() -> Iterator[str]:
    """List the campaigns with their progress."""
    battles, projects = admins()
    for standing in battles.standings():
        pending = f" ({standing.pending:,} pending)" if standing.pending else ""
        votes = f"{standing.votes:,} of {standing.wanted:,} votes{pending}"
        tuples = f"{standing.full:,} of {standing.tuples:,} tuples"
        yield _standing_line(standing, standing.problem or f"{votes}, {tuples}")
    for project in projects.standings():
        accepted = sum(row.accepted for row in project.families)
        wanted = sum(row.wanted for row in project.families)
        yield _standing_line(project, f"{accepted:,} of {wanted:,} items accepted")


def _standing_line(standing: CampaignStanding | ProjectStanding, progress: str) -> str:
    """Returns a campaign's line in the list; `progress`: its progress in words, or its problem."""
    listed = standing.campaign
    people = ", ".join(f"{number} {state}" for state, number in standing.states.items())
    run_state = f"ended: {listed.why_ended}" if listed.ended_at else "running"
    return f"{listed.name} ({listed.spec.platform.kind}), {run_state}; {progress}; workers: {people or 'none yet'}"


@campaign.command()
def end(name: str) -> Iterator[str]:
    """End a campaign; workers who are still active see a notice and are paid."""
    yield _admin_of(name).end(COMMAND_LINE, name)


@campaign.command()
def participants(name: str, file: Path) -> Iterator[str]:
    """Import the platform's own list: Prolific's export, MTurk's batch results, or a table with `worker`."""
    with row_errors(file.name):
        yield _admin_of(name).bring_participants(COMMAND_LINE, name, read_records(file))


@campaign.command()
def sheet(name: str) -> Iterator[str]:
    """Print the pay sheet as CSV: each worker's state, votes, time, checks, flags, and a proposal with its reason."""
    return csv_lines(_admin_of(name).sheet(name))


@campaign.command()
def quality(name: str) -> Iterator[str]:
    """Print each worker's quality as CSV: checks, agreement, Dawid-Skene; a second opinion, never a board's number."""
    return _battle_table(name, "quality")


@campaign.command()
def votes(name: str) -> Iterator[str]:
    """Print every answer with its worker as CSV, for operators only."""
    return _battle_table(name, "votes")
