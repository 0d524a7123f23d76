"""Command `answer`: a model of the catalogue answers the bank's items that it has not answered yet."""

import argparse
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from arena.battles.sampling import in_draw
from arena.database import Database, DatabaseError
from arena.inference.catalogue import CatalogueError, Models, read_catalogue
from arena.inference.offline import AnswerFile, AnswerFileError, Task, TaskError, UnfinishedError, asked, fingerprint
from arena.io.images import PictureStore
from arena.items.ingest import Ingest, IngestError
from arena.items.store import ItemBank
from arena.settings import SettingError, Settings, secret
from arena.types import Item, Turn

ERRORS = (SettingError, DatabaseError, IngestError, CatalogueError, AnswerFileError, UnfinishedError, OSError)
"""Failures of the command, reported to the user in one line."""

_NOT_IN_A_NAME = re.compile(r"[^0-9A-Za-z.-]+")


def run(arguments: argparse.Namespace) -> Iterator[str]:
    """Generate the answers, ingest them, and yield the output lines."""
    settings = Settings.from_env()
    models = Models(read_catalogue(settings.models, secret), settings.local_models)
    card = models.catalogue.card(arguments.model)
    database = Database(settings.database_url)
    bank, ingest, pictures = ItemBank(database), Ingest(database), PictureStore(settings.pictures_dir)
    answered = bank.answered_by(card.name)
    items = [item for item in in_draw(bank.bank(), "on") if item.id not in answered]
    ready = [item for item in items if all(image.sha256 and pictures.has(image.sha256) for image in item.images)]
    kept = settings.data_dir / "answers" / f"{_NOT_IN_A_NAME.sub('-', card.name)}.jsonl"
    ingest.add_answers(card.name, "", {})  # before any request, reports a name that belongs to another model
    with AnswerFile(kept, fingerprint(card, "item bank")) as file:
        tasks = [Task(item.key, _turns(item, pictures)) for item in ready]
        outcome = asked(models, card.name, [lambda _: tasks], len(tasks), file)
        ids = {item.key: item.id for item in ready}
        answers = {ids[key]: text for key, text in file.answers.items() if key in ids}
        if answers:
            name = f"{card.name}, asked {datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
            ingest.add_answers(card.name, name, answers)
        file.delete()
    database.close()
    yield f"{len(answers)} new answers of {card.name}; {len(answered)} were there already."
    if len(items) > len(ready):
        yield f"{len(items) - len(ready)} items wait: their images are not kept here (import with --fetch-images)."
    yield from outcome.lines
    outcome.check()


def _turns(item: Item, pictures: PictureStore) -> Callable[[], tuple[Turn, ...]]:
    def load() -> tuple[Turn, ...]:
        try:
            images = tuple(_path(pictures, f"{image.sha256}.{image.suffix}").read_bytes() for image in item.images)
        except OSError as error:
            raise TaskError(f"its image cannot be read ({error.strerror}); import it again") from error
        return (Turn("user", item.instruction, images),)

    return load


def _path(pictures: PictureStore, name: str) -> Path:
    path = pictures.path(name)
    if path is None:
        raise TaskError("its image is not kept any more; import it again")
    return path


def add_answer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", required=True, metavar="CARD", help="name of a model in the catalogue (MODELS)")


ARGUMENTS = {"answer": add_answer}
"""Function that adds the command's arguments to its parser."""
