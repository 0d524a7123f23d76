"""Commands `items`, `models` and `campaign`: manage the database, also while the server runs."""

import argparse
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

from arena.battles.campaigns import Campaigns
from arena.database import Database, DatabaseError
from arena.io.images import PictureStore
from arena.io.strict_json import RowsError
from arena.items.importers import ImportReport, ItemImporter
from arena.items.ingest import Ingest, IngestError
from arena.items.store import ItemBank
from arena.settings import SettingError, Settings

ERRORS = (SettingError, DatabaseError, IngestError, RowsError, OSError)
"""Failures of a command, reported to the user in one line."""
SHOWN_PROBLEMS = 20


class Commands:
    """One method per command; each yields its output lines."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._database = Database(settings.database_url)
        self._items = ItemBank(self._database, settings.image_hosts)
        self._ingest = Ingest(self._database)
        self._importer = ItemImporter(self._ingest, self._items, PictureStore(settings.pictures_dir), with_bar)

    def items_demo(self, _: argparse.Namespace) -> Iterator[str]:
        """Import the demo items."""
        return self._summary(self._importer.demo())

    def items_visit(self, arguments: argparse.Namespace) -> Iterator[str]:
        """Import one of VisIT-Bench's CSV files."""
        report = self._importer.visit(arguments.file, arguments.name, arguments.fetch_images)
        return self._summary(report, "rated incorrect, left out")

    def items_folder(self, arguments: argparse.Namespace) -> Iterator[str]:
        """Import a folder of items."""
        return self._summary(self._importer.folder(arguments.folder, arguments.name or arguments.folder.resolve().name))

    def items_checks(self, arguments: argparse.Namespace) -> Iterator[str]:
        """Import a folder of check items."""
        name = arguments.name or arguments.folder.resolve().name
        return self._summary(self._importer.folder(arguments.folder, name, "check"))

    def items_answers(self, arguments: argparse.Namespace) -> Iterator[str]:
        """Import one model's predictions file."""
        report = self._importer.answers(arguments.file, arguments.model)
        return self._summary(report, "rows of items not in the bank, left out")

    def items_withdraw(self, arguments: argparse.Namespace) -> Iterator[str]:
        """Withdraw a predictions file's answers from sampling."""
        gone = self._ingest.withdraw(Path(arguments.file).name, arguments.model)
        yield f"{gone} answers withdrawn; votes on them stay."

    def items_list(self, _: argparse.Namespace) -> Iterator[str]:
        """List the sources with their items, and the predictions files."""
        bank = self._items.bank()
        for source in bank.sources:
            items = [item for item in bank.items.values() if item.source == source.id]
            ready = sum(len(item.contestants) > 1 for item in items)
            shown = f"{source.name} ({source.kind}): {len(items)} items shown"
            yield f"{shown}, {ready} with answers of two models or more"
        if bank.missing:
            yield f"{bank.missing} items wait: image missing (import with --fetch-images, or set IMAGE_HOSTS)"
        for part in self._items.contributions():
            state = "withdrawn" if part.withdrawn else "in use"
            yield f"{part.file}: {part.answers} answers of {part.model}, {state}"

    def models_list(self, _: argparse.Namespace) -> Iterator[str]:
        for model in self._items.models():
            shown = f", shown as {model.display}" if model.display != model.name else ""
            yield f"{model.name}{shown}{', retired' if model.retired else ''}"

    def models_rename(self, arguments: argparse.Namespace) -> Iterator[str]:
        """Change a model's display name."""
        self._ingest.rename(arguments.model, arguments.display)
        yield f"{arguments.model} is now shown as {arguments.display}."

    def models_retire(self, arguments: argparse.Namespace) -> Iterator[str]:
        """Withdraw a model from sampling."""
        self._ingest.retire(arguments.model)
        yield f"{arguments.model} is retired; its votes stay."

    def campaign(self, arguments: argparse.Namespace) -> Iterator[str]:
        """List each worker's progress in a campaign as CSV; a worker is given the code once complete."""
        yield _csv_line("worker", "votes", "wanted", "complete", "code", "since")
        for row in Campaigns(self._database, self._settings.voters_per_pair).report(arguments.campaign):
            complete = "yes" if row.votes >= row.wanted else "no"
            yield _csv_line(row.worker, row.votes, row.wanted, complete, row.code, row.since.isoformat())

    def _summary(self, report: ImportReport, left_out: str = "left out") -> Iterator[str]:
        changes = report.changes
        yield (
            f"{changes.items_new} new items, {changes.items_known} known; {changes.answers_new} new answers, "
            f"{changes.answers_known} known; {changes.pictures_new} new pictures."
        )
        if report.left_out:
            yield f"{report.left_out} {left_out}."
        for problem in report.problems[:SHOWN_PROBLEMS]:
            yield f"not fetched: {problem}"
        if len(report.problems) > SHOWN_PROBLEMS:
            yield f"not fetched: {len(report.problems) - SHOWN_PROBLEMS} more"
        waiting = self._items.bank().missing
        if waiting:
            yield f"{waiting} items wait: image missing (import with --fetch-images, or set IMAGE_HOSTS)."


def run(arguments: argparse.Namespace) -> Iterator[str]:
    """Run one command and yield its output lines."""
    return arguments.command(Commands(Settings.from_env()), arguments)


def with_bar(members: Sequence, title: str) -> Iterable:
    """Iterate over a sequence with a progress bar."""
    return tqdm(members, desc=title, disable=None)


def add_items(group: argparse.ArgumentParser) -> None:
    items = group.add_subparsers(required=True)
    items.add_parser("demo", help="the built-in demo bank").set_defaults(command=Commands.items_demo)
    visit = items.add_parser("visit", help="VisIT-Bench's CSV, single- or multi-image")
    visit.add_argument("file", type=Path)
    visit.add_argument("--name", default="VisIT-Bench", help="name of the source and its board")
    visit.add_argument("--fetch-images", action="store_true", help="download the images (https, public addresses)")
    visit.set_defaults(command=Commands.items_visit)
    folder = items.add_parser("folder", help="a folder with items.jsonl and images")
    folder.add_argument("folder", type=Path)
    folder.add_argument("--name", help="name of the source; the folder's name if left out")
    folder.set_defaults(command=Commands.items_folder)
    checks = items.add_parser("checks", help="a folder of attention tests, each with a right and an unrelated answer")
    checks.add_argument("folder", type=Path)
    checks.add_argument("--name", help="name of the source; the folder's name if left out")
    checks.set_defaults(command=Commands.items_checks)
    answers = items.add_parser("answers", help="one model's predictions file")
    answers.add_argument("file", type=Path)
    answers.add_argument("--model", help='the model, where no column is named "<model name> prediction"')
    answers.set_defaults(command=Commands.items_answers)
    withdraw = items.add_parser("withdraw", help="take a predictions file back; votes stay")
    withdraw.add_argument("file")
    withdraw.add_argument("--model", help="whose file, where files of several models have this name")
    withdraw.set_defaults(command=Commands.items_withdraw)
    items.add_parser("list", help="what is in the bank").set_defaults(command=Commands.items_list)


def add_models(group: argparse.ArgumentParser) -> None:
    models = group.add_subparsers(required=True)
    models.add_parser("list", help="names").set_defaults(command=Commands.models_list)
    rename = models.add_parser("rename", help="show a model under another name")
    rename.add_argument("model")
    rename.add_argument("display")
    rename.set_defaults(command=Commands.models_rename)
    retire = models.add_parser("retire", help="take a model out of the draw")
    retire.add_argument("model")
    retire.set_defaults(command=Commands.models_retire)


def add_campaign(group: argparse.ArgumentParser) -> None:
    group.add_argument("campaign")
    group.set_defaults(command=Commands.campaign)


def _csv_line(*cells: object) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


ARGUMENTS = {"items": add_items, "models": add_models, "campaign": add_campaign}
"""Functions that add each command's arguments to its parser."""
