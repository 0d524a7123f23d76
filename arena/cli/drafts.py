"""Commands `drafts ...`: projects in which people write items. `campaign` has their links, end, list and pay sheet."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

from typer import Argument, Option, Typer

from arena.admin.project_sheets import project_sheets
from arena.admin.projects import CHECKS
from arena.admin.seat_admin import action_note
from arena.authoring.choice_tsv import TEXT_ONLY
from arena.authoring.choices import options_text
from arena.authoring.events import Fault
from arena.authoring.exports import ExportError, Exports, Form, left_out_text
from arena.authoring.hub_dataset import TOP_NAMES, CardWords
from arena.authoring.spec import KINDS, project_of
from arena.authoring.store import Draft, DraftStore
from arena.authoring.visit_csv import import_visit
from arena.cli.campaign import admins, csv_lines, named_spec
from arena.cli.output_paths import output_folder
from arena.cli.votes import COMMAND_LINE
from arena.database import Database
from arena.io.images import PictureStore
from arena.io.named_files import named_file
from arena.seats.campaigns import CampaignStore
from arena.server.hub_upload import upload_dataset
from arena.settings import Settings
from arena.sheets import as_text, record_sheet
from arena.templates import plural

app = Typer(rich_markup_mode=None)
drafts = Typer()
imports = Typer()
app.add_typer(drafts, name="drafts")
drafts.add_typer(imports, name="import", help="Import finished items from elsewhere.")


class OpenProjects:
    """The projects of this arena's database."""

    def __init__(self) -> None:
        settings = Settings.from_env()
        database = Database(settings.database_url)
        self.campaigns = CampaignStore(database, KINDS)
        self.drafts = DraftStore(database)
        self.pictures = PictureStore(settings.pictures_dir)


@drafts.command()
def new(file: Path) -> Iterator[str]:
    """Make a project from a TOML file, with its examples' pictures in the same folder."""
    admin = admins().projects
    with named_spec(file):
        made = admin.make(
            COMMAND_LINE, file.read_bytes(), lambda name: named_file(file.parent, name).read_bytes()
        )
    yield from admin.summary(made)
    workers = " --workers FILE" if made.spec.platform.kind == "plain" else ""
    yield f"Links: python -m arena campaign links {made.name}{workers}"


@drafts.command()
def board(project: str) -> Iterator[str]:
    """Show a project's progress: families, yield next to the paper's, minutes, and each worker's part."""
    admin = admins().projects
    standing = admin.standing(admin.store.get(project))
    for sheet in project_sheets(standing):
        yield from as_text(sheet)
        yield ""
    agreed_share = standing.agreement
    if agreed_share is None:
        yield "No answer has two verdicts yet."
    elif standing.spec.is_choice:
        yield f"People who answered the same question, its author included, agree in {agreed_share:.1%} of pairs."
    else:
        yield f"Verifiers of the same answer agree in {agreed_share:.1%} of pairs."


@drafts.command()
def reject(
    project: str,
    item: int,
    fault: Annotated[
        Fault, Option(help="what is wrong with it; `picture` includes a withdrawn licence")
    ],
    why: Annotated[str, Option(help="a note for operators")],
) -> Iterator[str]:
    """Remove an item, even an accepted one; its texts stay stored."""
    admin = admins().projects
    yield admin.reject(COMMAND_LINE, project, str(item), why, fault)


class UnreadRow(NamedTuple):
    """A sample that waits to be read."""

    sample: str
    at: str
    picture: str
    instruction: str
    caption: str


@drafts.command()
def samples(project: str) -> Iterator[str]:
    """Print the sample captions waiting for you as CSV, the oldest first."""
    admin = admins().projects
    rows = [
        UnreadRow(
            sample=unread.answer.name,
            at=f"{unread.answer.at:%Y-%m-%d %H:%M}",
            picture=str(admin.pictures.path(unread.sample.picture) or unread.sample.picture),
            instruction=unread.sample.instruction,
            caption=unread.answer.answer,
        )
        for unread in admin.unread(project)
    ]
    yield from csv_lines(record_sheet("samples", "Samples to read", UnreadRow, rows))


@drafts.command()
def judge(
    project: str,
    sample: Annotated[str, Argument(help="its name in the list, as in 17.1.3")],
    verdict: Annotated[str, Argument(metavar="good|poor")],
) -> Iterator[str]:
    """Judge a writer's sample, so that the writer can continue."""
    admin = admins().projects
    yield admin.judge(COMMAND_LINE, project, sample, verdict)


class UncheckedRow(NamedTuple):
    """An accepted question that waits to be checked."""

    question: int
    category: str
    picture: str
    text: str
    options: str
    right: str
    text_only: str
    """Whether the text-only model got it right; empty if it wasn't asked."""


@drafts.command()
def questions(project: str) -> Iterator[str]:
    """Print the multiple-choice questions waiting for your check as CSV: half of each category, at most 100."""
    admin = admins().projects
    standing = admin.standing(admin.store.get(project))
    rows = [_unchecked_row(draft, admin.pictures) for draft in standing.unchecked]
    yield from csv_lines(record_sheet("questions", "Questions to check", UncheckedRow, rows))


def _unchecked_row(draft: Draft, pictures: PictureStore) -> UncheckedRow:
    question = draft.state.instruction
    assert question
    picture = question.pictures[0].name
    return UncheckedRow(
        question=draft.id,
        category=draft.family,
        picture=str(pictures.path(picture) or picture),
        text=question.text,
        options=options_text(question.options),
        right=question.answer,
        text_only=TEXT_ONLY[draft.state.blind_is_right],
    )


@drafts.command()
def check(
    project: str,
    question: Annotated[str, Argument(help="its number in the list")],
    verdict: Annotated[str, Argument(metavar="|".join(CHECKS))],
) -> Iterator[str]:
    """Store your check of a question; anything but `correct` removes it."""
    admin = admins().projects
    yield admin.check(COMMAND_LINE, project, question, verdict)


@imports.command("visit")
def import_finished(
    file: Path,
    project: Annotated[
        str, Option(help="the project, created if it doesn't exist")
    ] = "visit-bench",
) -> Iterator[str]:
    """Import VisIT-Bench's table of multi-image items, with people's verdicts on GPT-4's answers."""
    here = OpenProjects()
    note = action_note(COMMAND_LINE, "made a campaign", project)
    imported = import_visit(here.campaigns, here.drafts, file, project, note)
    project_drafts = here.drafts.drafts(imported.project)
    accepted = sum(draft.state.step == "accepted" for draft in project_drafts)
    yield f"{project}: {plural(imported.new_items, 'new item')}. {accepted} are accepted in all."


@drafts.command()
def export(
    project: str,
    form: Annotated[
        Form,
        Option(
            "--as",
            help="bank: a folder for `items folder`; hub: a dataset for the Hub; visit: VisIT-Bench's CSV; "
            "tsv: multiple-choice questions for toolkits",
        ),
    ],
    out: Annotated[Path, Option(metavar="DIR", callback=output_folder, help="a new folder")],
    texts: Annotated[
        bool,
        Option(
            "--with-texts",
            help="include a sealed project's captions, references and right answers; keep them private",
        ),
    ] = False,
    language: Annotated[str, Option(help="for --as hub: the items' language, as in en")] = "",
    contact: Annotated[
        str,
        Option(
            help="for --as hub: an e-mail address or page for anyone who wants a picture removed"
        ),
    ] = "",
    push: Annotated[
        str | None,
        Option(metavar="OWNER/NAME", help="for --as hub: the dataset to create or update"),
    ] = None,
    private: Annotated[bool, Option("--private/--public", help="for --push")] = True,
) -> Iterator[str]:
    """Export a project's accepted items: for this arena, for the Hub, or as a benchmark's table."""
    here = OpenProjects()
    campaign = here.campaigns.get(project)
    if push and form != "hub":
        raise ExportError(f"--push sends a dataset to the Hub. Write --as hub, not --as {form}.")
    if push and texts and not private and project_of(campaign.spec).visibility == "sealed":
        raise ExportError(f"{project} is sealed. Leave out --with-texts or --public.")
    words = CardWords(language, contact) if form == "hub" else None
    counts = Exports(here.drafts, here.pictures).write(campaign, form, out, texts, words)
    noun = "question" if form == "tsv" else "item"
    yield f"{project}: {plural(counts.items, noun)} written to {out}."
    if sentence := left_out_text(counts):
        yield sentence
    if form == "bank":
        yield f"To import them: python -m arena items folder {out} --name {project}"
    if form == "tsv":
        has_right_answers = texts or project_of(campaign.spec).visibility != "sealed"
        if has_right_answers:
            yield f"To score answers: python -m scoring score FILE --questions {out / project}.tsv --out DIR"
        else:
            yield "Their right answers are left out. Score with the table that --with-texts writes."
    if push:
        upload_dataset(out, push, private, TOP_NAMES)
        yield f"Sent to the {'private' if private else 'public'} dataset {push}."
