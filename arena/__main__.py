"""The arena's command line: `python -m arena items|models|campaign ...`; it may run beside the server."""

import argparse
import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tqdm import tqdm

from arena.campaigns import Campaigns
from arena.database import Database, DatabaseError
from arena.importers import Importer, ImportReport
from arena.intake import Intake, IntakeError
from arena.items import ItemBank
from arena.pictures import PictureStore
from arena.rows import RowsError
from arena.settings import SettingError, Settings

SHOWN_PROBLEMS = 20


class Commands:
    """What the command line does, one method a command."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._database = Database(settings.database_url)
        self._items = ItemBank(self._database, settings.image_hosts)
        self._intake = Intake(self._database)
        self._importer = Importer(self._intake, self._items, PictureStore(settings.pictures_dir), with_bar)

    def items_demo(self, _: argparse.Namespace) -> None:
        """Bring in the demo bank."""
        self._summarise(self._importer.demo())

    def items_visit(self, arguments: argparse.Namespace) -> None:
        """Bring in one of VisIT-Bench's CSV files."""
        report = self._importer.visit(arguments.file, arguments.name, arguments.fetch_images)
        self._summarise(report, "rated incorrect, left out")

    def items_folder(self, arguments: argparse.Namespace) -> None:
        """Bring in a folder of items."""
        self._summarise(self._importer.folder(arguments.folder, arguments.name or arguments.folder.resolve().name))

    def items_answers(self, arguments: argparse.Namespace) -> None:
        """Bring in one model's predictions file."""
        self._summarise(
            self._importer.answers(arguments.file, arguments.model), "rows of items not in the bank, left out"
        )

    def items_withdraw(self, arguments: argparse.Namespace) -> None:
        """Take a predictions file's answers out of the draw."""
        gone = self._intake.withdraw(Path(arguments.file).name, arguments.model)
        print(f"{gone} answers withdrawn; votes on them stay.")

    def items_list(self, _: argparse.Namespace) -> None:
        """Print the sources with their items, and the predictions files."""
        bank = self._items.bank()
        for source in bank.sources:
            items = [item for item in bank.items.values() if item.source == source.id]
            ready = sum(len(item.contestants) > 1 for item in items)
            print(
                f"{source.name} ({source.kind}): {len(items)} items shown, {ready} with answers of two models or more"
            )
        if bank.missing:
            print(f"{bank.missing} items wait: image missing (import with --fetch-images, or set IMAGE_HOSTS)")
        for part in self._items.contributions():
            state = "withdrawn" if part.withdrawn else "in use"
            print(f"{part.file}: {part.answers} answers of {part.model}, {state}")

    def models_list(self, _: argparse.Namespace) -> None:
        """Print the models."""
        for model in self._items.models():
            shown = f", shown as {model.display}" if model.display != model.name else ""
            print(f"{model.name}{shown}{', retired' if model.retired else ''}")

    def models_rename(self, arguments: argparse.Namespace) -> None:
        """Show a model under another name."""
        self._intake.rename(arguments.model, arguments.display)
        print(f"{arguments.model} is now shown as {arguments.display}.")

    def models_retire(self, arguments: argparse.Namespace) -> None:
        """Take a model out of the draw."""
        self._intake.retire(arguments.model)
        print(f"{arguments.model} is retired; its votes stay.")

    def campaign(self, arguments: argparse.Namespace) -> None:
        """Print as CSV what each worker of a campaign has done; the code is theirs when it is complete."""
        writer = csv.writer(sys.stdout)
        writer.writerow(["worker", "votes", "wanted", "complete", "code", "since"])
        for row in Campaigns(self._database, self._settings.voters_per_pair).report(arguments.campaign):
            complete = "yes" if row.votes >= row.wanted else "no"
            writer.writerow([row.worker, row.votes, row.wanted, complete, row.code, row.since.isoformat()])

    def _summarise(self, report: ImportReport, left_out: str = "left out") -> None:
        changes = report.changes
        print(
            f"{changes.items_new} new items, {changes.items_known} known; {changes.answers_new} new answers, "
            f"{changes.answers_known} known; {changes.pictures_new} new pictures."
        )
        if report.left_out:
            print(f"{report.left_out} {left_out}.")
        for problem in report.problems[:SHOWN_PROBLEMS]:
            print(f"not fetched: {problem}")
        if len(report.problems) > SHOWN_PROBLEMS:
            print(f"not fetched: {len(report.problems) - SHOWN_PROBLEMS} more")
        waiting = self._items.bank().missing
        if waiting:
            print(f"{waiting} items wait: image missing (import with --fetch-images, or set IMAGE_HOSTS).")


def with_bar(members: Sequence, title: str) -> Iterable:
    """Show a progress bar while a sequence is worked through."""
    return tqdm(members, desc=title, disable=None)


def parser() -> argparse.ArgumentParser:
    """Build the command line's grammar; each command names its method of Commands."""
    root = argparse.ArgumentParser(prog="python -m arena", description=__doc__)
    groups = root.add_subparsers(required=True)
    items = groups.add_parser("items", help="bring items and answers in").add_subparsers(required=True)
    items.add_parser("demo", help="the built-in demo bank").set_defaults(run=Commands.items_demo)
    visit = items.add_parser("visit", help="VisIT-Bench's CSV, single- or multi-image")
    visit.add_argument("file", type=Path)
    visit.add_argument("--name", default="VisIT-Bench", help="name of the source and its board")
    visit.add_argument("--fetch-images", action="store_true", help="download the images (https, public addresses)")
    visit.set_defaults(run=Commands.items_visit)
    folder = items.add_parser("folder", help="a folder with items.jsonl and images")
    folder.add_argument("folder", type=Path)
    folder.add_argument("--name", help="name of the source; the folder's name if left out")
    folder.set_defaults(run=Commands.items_folder)
    answers = items.add_parser("answers", help="one model's predictions file")
    answers.add_argument("file", type=Path)
    answers.add_argument("--model", help='the model, where no column is named "<model name> prediction"')
    answers.set_defaults(run=Commands.items_answers)
    withdraw = items.add_parser("withdraw", help="take a predictions file back; votes stay")
    withdraw.add_argument("file")
    withdraw.add_argument("--model", help="whose file, where files of several models have this name")
    withdraw.set_defaults(run=Commands.items_withdraw)
    items.add_parser("list", help="what is in the bank").set_defaults(run=Commands.items_list)
    _add_models(groups)
    campaign = groups.add_parser("campaign", help="what the workers of a campaign link have done, as CSV")
    campaign.add_argument("campaign")
    campaign.set_defaults(run=Commands.campaign)
    return root


def _add_models(groups) -> None:
    models = groups.add_parser("models", help="the models").add_subparsers(required=True)
    models.add_parser("list", help="names").set_defaults(run=Commands.models_list)
    rename = models.add_parser("rename", help="show a model under another name")
    rename.add_argument("model")
    rename.add_argument("display")
    rename.set_defaults(run=Commands.models_rename)
    retire = models.add_parser("retire", help="take a model out of the draw")
    retire.add_argument("model")
    retire.set_defaults(run=Commands.models_retire)


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; return 2 with one clear line if it cannot be done."""
    arguments = parser().parse_args(words)
    try:
        arguments.run(Commands(Settings.from_env()), arguments)
    except (SettingError, DatabaseError, IntakeError, RowsError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
