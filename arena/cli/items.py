"""Commands `items`: manage the item bank, also while the server runs."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

from tqdm import tqdm
from typer import Option, Typer

from arena.database import Database
from arena.io.images import PictureStore
from arena.items.folder_rows import KEYS
from arena.items.importers import ImportReport, ItemImporter
from arena.items.ingest import Ingest
from arena.items.store import ItemBank, lacks_text
from arena.settings import Settings

MOST_PROBLEMS = 20
"""The most problems, or unread keys, that are printed."""
app = Typer(rich_markup_mode=None)
items = Typer(rich_markup_mode=None)
app.add_typer(items, name="items")
FolderName = Annotated[str | None, Option(help="name of the source; default: the folder's name")]


def _bar(members: Iterable, title: str) -> Iterable:
    return tqdm(members, desc=title, disable=None)  # None: no bar unless in a terminal


class OpenBank:
    """The arena's item bank, for reading and for bringing in."""

    def __init__(self) -> None:
        settings = Settings.from_env()
        database = Database(settings.database_url)
        self.items = ItemBank(database, settings.image_hosts)
        self.ingest = Ingest(database)
        self._importer = ItemImporter(
            self.ingest, self.items, PictureStore(settings.pictures_dir), _bar
        )

    def bring_in(
        self, bring: Callable[[ItemImporter], ImportReport], left_out: str = "left out"
    ) -> Iterator[str]:
        """Imports with `bring`, and yields lines about what came in; `left_out` ends the line about what didn't."""
        report = bring(self._importer)
        changes = report.changes
        corrected = ""
        if changes.items_corrected:
            corrected = f", {changes.items_corrected} items corrected"
        yield (
            f"{changes.items_new} new items ({changes.items_known} known), {changes.answers_new} new answers "
            f"({changes.answers_known} known), {changes.pictures_new} new pictures{corrected}."
        )
        if report.left_out:
            yield f"{report.left_out} {left_out}."
        if report.unread:
            unread = ", ".join(map(repr, report.unread[:MOST_PROBLEMS]))
            yield f"Keys that weren't read: {unread}. A line can have {', '.join(KEYS)}."
        for problem in report.problems[:MOST_PROBLEMS]:
            yield f"not fetched: {problem}"
        if len(report.problems) > MOST_PROBLEMS:
            yield f"not fetched: {len(report.problems) - MOST_PROBLEMS} more"
        if waiting := self.items.bank().items_without_picture:
            yield f"{waiting} items are waiting for their images. Import with --fetch-images, or set IMAGE_HOSTS."


@items.command()
def demo() -> Iterator[str]:
    """Import the demo items."""
    return OpenBank().bring_in(ItemImporter.import_demo)


@items.command()
def visit(
    file: Path,
    name: Annotated[str, Option(help="name of the source and its boards")] = "VisIT-Bench",
    fetch: Annotated[
        bool, Option("--fetch-images", help="download the images (https, public addresses)")
    ] = False,
) -> Iterator[str]:
    """Import VisIT-Bench's CSV, with one or more images per item."""
    return OpenBank().bring_in(
        lambda importer: importer.import_visit_bench(file, name, fetch),
        "left out, because they're rated incorrect",
    )


@items.command("folder")
def items_folder(folder: Path, name: FolderName = None) -> Iterator[str]:
    """Import a folder with items.jsonl and images, or a Hub dataset with data/*.parquet."""
    return OpenBank().bring_in(
        lambda importer: importer.import_folder(folder, name or folder.resolve().name)
    )


@items.command()
def checks(folder: Path, name: FolderName = None) -> Iterator[str]:
    """Import a folder of attention tests, each with a right and an unrelated answer."""
    return OpenBank().bring_in(
        lambda importer: importer.import_folder(folder, name or folder.resolve().name, kind="check")
    )


@items.command()
def answers(
    file: Path,
    model: Annotated[
        str | None, Option(help='the model, if no column is named "<model name> prediction"')
    ] = None,
) -> Iterator[str]:
    """Import a file of one model's answers."""
    left_out = "rows left out, because their items aren't imported"
    return OpenBank().bring_in(lambda importer: importer.import_answers(file, model), left_out)


@items.command()
def withdraw(
    file: Path,
    model: Annotated[
        str | None, Option(help="the file's model, if several models have a file of this name")
    ] = None,
) -> Iterator[str]:
    """Withdraw a file of answers; votes on them stay."""
    yield f"{OpenBank().ingest.withdraw(file.name, model)} answers withdrawn. Votes on them stay."


@items.command("list")
def list_items() -> Iterator[str]:
    """List the sources with their items, and the files of answers."""
    store = OpenBank().items
    bank = store.bank()
    for source in bank.sources:
        states = bank.states[source.id]
        ready = states["ready"]
        visible = ready + states["without pair"]  # those without a pair can be opened, not voted on
        shown = f"{source.name} ({source.kind}): {visible} items shown"
        lacks = lacks_text(states)
        ending = f"; {lacks}" if lacks else ""
        yield f"{shown}, {ready} with answers from two or more models{ending}"
    for part in store.contributions():
        yield f"{part.file}: {part.answers} answers from {part.model}, {'withdrawn' if part.withdrawn else 'in use'}"
