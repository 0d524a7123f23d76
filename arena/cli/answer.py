"""Command `answer`: a model of the catalogue answers the bank's items that it has not answered yet."""

import re
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from typer import Option, Typer

from arena.battles.sampling import in_draw
from arena.database import Database
from arena.inference.catalogue import Models, read_catalogue
from arena.inference.offline import AnswerFile, Task, TaskError, ask_model, fingerprint
from arena.io.images import PictureStore
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.server.hub_token import catalogue_keys
from arena.settings import Settings
from arena.types import Item, Turn

app = Typer(rich_markup_mode=None)
_NOT_IN_A_NAME = re.compile(r"(?:[^\w.-]|_)+")
"""Characters that become a hyphen in a file's name. Letters and digits of every script stay, to keep the names of two
models apart."""


@app.command()
def answer(
    model: Annotated[
        str, Option(metavar="CARD", help="a model's name in the models file (MODELS)")
    ],
) -> Iterator[str]:
    settings = Settings.from_env()
    models = Models(
        read_catalogue(settings.models, catalogue_keys(settings)), settings.local_models
    )
    card = models.catalogue.card(model)
    answer_path = settings.data_dir / "answers" / _file_name(card.name)
    with closing(Database(settings.database_url)) as database:
        bank = ItemBank(database)
        ingest = Ingest(database)
        pictures = PictureStore(settings.pictures_dir)
        answered = bank.answered_items(card.name)
        items = [item for item in in_draw(bank.bank(), "on") if item.id not in answered]
        ready = [
            item
            for item in items
            if all(image.sha256 and pictures.has(image.sha256) for image in item.images)
        ]
        # Reports a name that belongs to another model before any request.
        ingest.add_answers(card.name, "", {})
        with AnswerFile(answer_path, fingerprint(card, "item bank")) as file:
            tasks = [Task(item.key, partial(_turns, item, pictures)) for item in ready]
            # One round: no question depends on earlier answers.
            outcome = ask_model(models, models.vlm(card.name), [lambda _: tasks], len(tasks), file)
            ids = {item.key: item.id for item in ready}
            answers = {ids[key]: text for key, text in file.answers.items() if key in ids}
            if answers:
                name = f"{card.name}, asked {datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
                cut = {ids[key] for key in file.cut if key in ids}
                ingest.add_answers(card.name, name, answers, cut)
            file.delete()
    yield f"{len(answers)} new answers from {card.name}. {len(answered)} were already there."
    if len(items) > len(ready):
        yield f"{len(items) - len(ready)} items are waiting for their images. Import them with --fetch-images."
    yield from outcome.lines
    outcome.check()


def _file_name(model: str) -> str:
    return f"{_NOT_IN_A_NAME.sub('-', model)}.jsonl"


def _turns(item: Item, pictures: PictureStore) -> tuple[Turn, ...]:
    paths = [pictures.path(f"{image.sha256}.{image.suffix}") for image in item.images]
    if None in paths:
        raise TaskError("Its image is gone. Import it again.")
    try:
        return (Turn("user", item.instruction, tuple(path.read_bytes() for path in paths if path)),)
    except OSError as error:
        raise TaskError(f"Its image can't be read: {error.strerror}. Import it again.") from error
