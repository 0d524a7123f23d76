"""Item bank ingest: adds items and answers, withdraws predictions, renames and retires models.

Each change is one transaction. An import corrects the captions, credits and licences of known items; the rest stays
unchanged. Importing the same file twice changes nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from sqlalchemy import Connection, Table, insert, or_, select, update

from arena.database import Database, bump_counter, now, take_turn
from arena.items.store import ANSWER, BANK_VERSION, FAMILY, IMAGE, ITEM, MODEL, PREDICTIONS, SOURCE
from arena.thinking import split_thinking
from arena.types import SourceKind, item_key

_CORRECTED_FIELDS = ("caption", "credit", "licence")
"""The fields of a known item's images that an import corrects."""


class IngestError(ValueError):
    """A change to the bank is wrong; the message says why and how to fix it."""


@dataclass(frozen=True)
class ImageDraft:
    """An incoming image of an item."""

    key: str
    """The source key: the URL, or else the sha256 of the file's bytes."""
    name: str
    """The last part of the URL or path; predictions files may name the image by it."""
    url: str | None = None
    sha256: str | None = None
    """The hash of the stored picture, if there is one."""
    suffix: str = ""
    caption: str = ""
    credit: str = ""
    licence: str = ""
    look: str | None = None
    """The perceptual hash of the stored picture."""


@dataclass(frozen=True)
class ItemDraft:
    """An incoming item, with answers by model name."""

    instruction: str
    family: str
    images: tuple[ImageDraft, ...]
    answers: Mapping[str, str]

    @property
    def key(self) -> str:
        """The item's public id."""
        return item_key(self.instruction, [image.key for image in self.images])


@dataclass
class Changes:
    """The counts of an import: changes, and known items and answers."""

    items_new: int = 0
    items_known: int = 0
    items_corrected: int = 0
    """Known items with a changed caption, credit or licence."""
    answers_new: int = 0
    answers_known: int = 0
    pictures_new: int = 0


class _NewAnswer(NamedTuple):
    item_id: int
    model_id: int
    whole: str
    """The text as the model wrote it, with its thinking."""


class Ingest:
    """Changes to the item bank of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add_items(self, source: str, kind: SourceKind, drafts: Sequence[ItemDraft]) -> Changes:
        """Adds items with answers; known ones get pictures they lacked, and other captions, credits and licences.

        The first of several drafts of an item counts. Raises IngestError for another answer, family or source.
        """
        changes = Changes()
        with self._database.write() as connection:
            take_turn(connection, SOURCE)
            source_id = _source_id(connection, source, kind)
            names = {name for draft in drafts for name in draft.answers}
            models = _codes(connection, MODEL, sorted(names))
            families = _codes(connection, FAMILY, sorted({draft.family for draft in drafts}))
            answers: list[_NewAnswer] = []
            seen_keys: set[str] = set()
            for draft in drafts:
                key = draft.key
                is_first = key not in seen_keys
                seen_keys.add(key)
                family_id = families[draft.family]
                item_id = _add_item(connection, source_id, family_id, draft, changes, is_first)
                for model, text in draft.answers.items():
                    answers.append(_NewAnswer(item_id, models[model], text))
            _add_answers(connection, answers, predictions_id=None, changes=changes)
            bump_counter(connection, BANK_VERSION)
        return changes

    def add_answers(
        self, model: str, file: str, answers: Mapping[int, str], cut: Collection[int] = ()
    ) -> Changes:
        """Adds a model's answers by item id, as a predictions file. Raises IngestError for another answer to an item.

        `cut`: items with answers that ended at the limit of tokens.
        """
        changes = Changes()
        with self._database.write() as connection:
            take_turn(connection, SOURCE)
            model_id = _codes(connection, MODEL, [model])[model]
            insert_file = insert(PREDICTIONS).values(
                model_id=model_id, file=file, imported_at=now()
            )
            predictions_id = connection.scalar(insert_file.returning(PREDICTIONS.c.id))
            new_answers = [_NewAnswer(item, model_id, text) for item, text in answers.items()]
            _add_answers(connection, new_answers, predictions_id, changes, cut)
            if changes.answers_new == 0:
                connection.execute(PREDICTIONS.delete().where(PREDICTIONS.c.id == predictions_id))
            bump_counter(connection, BANK_VERSION)
        return changes

    def withdraw(self, file: str, model: str | None = None) -> int:
        """Takes a predictions file's answers out of sampling; returns their number.

        Raises IngestError if no model, or more than one, has a file of this name in use.
        """
        with self._database.write() as connection:
            query = select(PREDICTIONS.c.id, MODEL.c.name).join(
                MODEL, MODEL.c.id == PREDICTIONS.c.model_id
            )
            query = query.where(PREDICTIONS.c.file == file, PREDICTIONS.c.withdrawn_at.is_(None))
            rows = connection.execute(query).all()
            # Compared here: a command's argument that isn't UTF-8 can't be sent to the database.
            if model is not None:
                rows = [row for row in rows if row.name == model]
            models = sorted({row.name for row in rows})
            if not rows:
                raise IngestError(
                    f"No file of answers named {file!r} is in use. To see those that are: python -m arena items list"
                )
            if len(models) > 1:
                raise IngestError(
                    f"Several models have a file named {file!r}: {', '.join(models)}. Choose one with --model."
                )
            ids = [row.id for row in rows]
            withdrawn_at = now()
            withdraw_answers = (
                update(ANSWER)
                .where(ANSWER.c.predictions_id.in_(ids), ANSWER.c.withdrawn_at.is_(None))
                .values(withdrawn_at=withdrawn_at)
            )
            withdrawn_answers = connection.execute(withdraw_answers).rowcount
            connection.execute(
                update(PREDICTIONS)
                .where(PREDICTIONS.c.id.in_(ids))
                .values(withdrawn_at=withdrawn_at)
            )
            bump_counter(connection, BANK_VERSION)
        return withdrawn_answers

    def rename(self, model: str, display: str) -> None:
        """Shows a model under another name. Raises IngestError for a bad or taken name, or an unknown model."""
        display = display.strip()
        if not display:
            raise IngestError("The new name is empty. Give the model a name.")
        _check_readable(display)
        with self._database.write() as connection:
            owner = connection.scalar(
                select(MODEL.c.name).where(MODEL.c.display == display, MODEL.c.name != model)
            )
            if owner:
                raise IngestError(
                    f"The name {display!r} is already taken by {owner!r}. Choose another."
                )
            _change_model(connection, model, display=display)
            bump_counter(connection, BANK_VERSION)

    def retire(self, model: str) -> None:
        """Takes a model out of sampling; its votes and board rows stay. Raises IngestError for an unknown model."""
        with self._database.write() as connection:
            _change_model(connection, model, retired_at=now())
            bump_counter(connection, BANK_VERSION)


def _source_id(connection: Connection, name: str, kind: SourceKind) -> int:
    """Returns a source's id, adding the source if it is new. Raises IngestError for another kind."""
    row = connection.execute(select(SOURCE).where(SOURCE.c.name == name)).one_or_none()
    if row is None:
        return connection.execute(
            insert(SOURCE).values(name=name, kind=kind).returning(SOURCE.c.id)
        ).scalar_one()
    if row.kind != kind:
        problem = f"There's already a source {name!r}, of kind {row.kind!r}"
        raise IngestError(f"{problem}. Give this one another --name.")
    return row.id


def _codes(connection: Connection, table: Table, names: Sequence[str]) -> dict[str, int]:
    """Returns the ids of names in a table of names, adding the new ones. Raises IngestError for a bad model name."""
    query = select(table).where(table.c.name.in_(names))
    codes = {row.name: row.id for row in connection.execute(query)}
    for name in names:
        if name in codes:
            continue
        values = {"name": name}
        if table is MODEL:
            _check_model_name(connection, name)
            values["display"] = name
        insert_name = insert(table).values(values).returning(table.c.id)
        codes[name] = connection.execute(insert_name).scalar_one()
    return codes


def _check_model_name(connection: Connection, name: str) -> None:
    """Raises IngestError for an empty, unreadable or taken name."""
    if not name.strip():
        raise IngestError("A model has no name. Name the model of every answer.")
    _check_readable(name)
    owner = connection.scalar(select(MODEL.c.name).where(MODEL.c.display == name))
    if owner:
        raise IngestError(
            f"The name {name!r} is already taken by the model {owner!r}. Rename this one."
        )


def _check_readable(name: str) -> None:
    """Raises IngestError for a name that looks like another on a page, or that cannot be part of an address."""
    if not name.isprintable() or name in (".", ".."):
        raise IngestError(
            f"The model name {name!r} has invisible characters, or only dots. Write it without them."
        )


def _add_item(
    connection: Connection,
    source_id: int,
    family_id: int,
    draft: ItemDraft,
    changes: Changes,
    is_first: bool,
) -> int:
    """Adds an item, or a known item's missing pictures; the first draft of an item corrects it too. Returns its id.

    Raises IngestError if it belongs to another source, or has another family.
    """
    key = draft.key
    known = connection.execute(
        select(ITEM.c.id, ITEM.c.source_id).where(ITEM.c.key == key)
    ).one_or_none()
    if known is None:
        changes.items_new += 1
        changes.pictures_new += sum(image.sha256 is not None for image in draft.images)
        return _insert_item(connection, source_id, family_id, draft)
    if known.source_id != source_id:
        other = connection.scalar(select(SOURCE.c.name).where(SOURCE.c.id == known.source_id))
        raise IngestError(
            f"The item {key} ({draft.instruction[:60]!r}) already belongs to the source {other!r}. "
            "Import it under that --name, or leave it out."
        )
    changes.items_known += 1
    changes.pictures_new += _add_missing_pictures(connection, known.id, draft)
    if is_first:
        _correct_item(connection, known.id, draft, changes)
    return known.id


def _insert_item(connection: Connection, source_id: int, family_id: int, draft: ItemDraft) -> int:
    insert_item = insert(ITEM).values(
        key=draft.key,
        source_id=source_id,
        family_id=family_id,
        instruction=draft.instruction,
        multi=len(draft.images) > 1,
    )
    item_id = connection.execute(insert_item.returning(ITEM.c.id)).scalar_one()
    images = [
        {"item_id": item_id, "position": position, **asdict(image)}
        for position, image in enumerate(draft.images)
    ]
    connection.execute(insert(IMAGE), images)
    return item_id


def _add_missing_pictures(connection: Connection, item_id: int, draft: ItemDraft) -> int:
    """Stores the pictures of a draft that its known item lacks; returns their number."""
    added = 0
    for position, image in enumerate(draft.images):
        if image.sha256 is None:
            continue
        add_picture = (
            update(IMAGE)
            .where(
                IMAGE.c.item_id == item_id,
                IMAGE.c.position == position,
                IMAGE.c.sha256.is_(None),
            )
            .values(sha256=image.sha256, suffix=image.suffix, look=image.look)
        )
        added += connection.execute(add_picture).rowcount
    return added


def _correct_item(connection: Connection, item_id: int, draft: ItemDraft, changes: Changes) -> None:
    """Stores the captions, credits and licences of a draft that differ; an empty one changes nothing.

    Raises IngestError for another family.
    """
    family = connection.scalar(select(FAMILY.c.name).join(ITEM).where(ITEM.c.id == item_id))
    if family != draft.family:
        raise IngestError(
            f"The item {draft.key} ({draft.instruction[:60]!r}) has votes under the family {family!r}, but "
            f"the file says {draft.family!r}. Write {family!r} in the file, or leave the item out."
        )
    corrected_images = 0
    for position, image in enumerate(draft.images):
        texts = {name: getattr(image, name) for name in _CORRECTED_FIELDS if getattr(image, name)}
        if texts:
            differs = or_(*(IMAGE.c[name] != text for name, text in texts.items()))
            correct_image = (
                update(IMAGE)
                .where(IMAGE.c.item_id == item_id, IMAGE.c.position == position, differs)
                .values(texts)
            )
            corrected_images += connection.execute(correct_image).rowcount
    if corrected_images:
        changes.items_corrected += 1


def _add_answers(
    connection: Connection,
    answers: Sequence[_NewAnswer],
    predictions_id: int | None,
    changes: Changes,
    cut: Collection[int] = (),
) -> None:
    """Adds new answers, with their thinking apart. Raises IngestError if another answer exists.

    `predictions_id` is None for answers that came with the items. `cut`: items with answers that ended at the limit of
    tokens.
    """
    items = [answer.item_id for answer in answers]
    # a range of items, since a statement can't name thousands of them
    in_use = select(ANSWER.c.item_id, ANSWER.c.model_id, ANSWER.c.text).where(
        ANSWER.c.item_id.between(min(items, default=0), max(items, default=0)),
        ANSWER.c.withdrawn_at.is_(None),
    )
    known = {(row.item_id, row.model_id): row.text for row in connection.execute(in_use)}
    new = []
    for item_id, model_id, whole in answers:
        thinking, text = split_thinking(whole)
        if (item_id, model_id) not in known:
            known[item_id, model_id] = text
            new.append(
                {
                    "item_id": item_id,
                    "model_id": model_id,
                    "predictions_id": predictions_id,
                    "text": text,
                    "thinking": thinking or None,
                    "cut": item_id in cut,
                }
            )
        elif known[item_id, model_id] in (text, whole):  # earlier versions stored the whole
            changes.answers_known += 1
        else:
            is_predictions = predictions_id is not None
            raise _other_answer_error(connection, item_id, model_id, is_predictions)
    changes.answers_new += len(new)
    if new:
        connection.execute(insert(ANSWER), new)


def _other_answer_error(
    connection: Connection, item_id: int, model_id: int, is_predictions: bool
) -> IngestError:
    """Returns the error for a second answer of a model to an item, in a predictions file or beside the items."""
    item = connection.execute(
        select(ITEM.c.key, ITEM.c.instruction).where(ITEM.c.id == item_id)
    ).one()
    name = connection.scalar(select(MODEL.c.name).where(MODEL.c.id == model_id))
    item_text = f"the item {item.key} ({item.instruction[:60]!r})"
    files = select(PREDICTIONS.c.file).select_from(ANSWER).outerjoin(PREDICTIONS)
    in_use = files.where(
        ANSWER.c.item_id == item_id,
        ANSWER.c.model_id == model_id,
        ANSWER.c.withdrawn_at.is_(None),
    )
    earlier = connection.execute(in_use).one_or_none()
    if earlier is None:
        return IngestError(
            f"The rows have two different answers from {name!r} to {item_text}. Keep one."
        )
    if is_predictions:
        other_way = "choose another --model"
    else:
        other_way = "put the earlier answer into the file, or leave the item out"
    if earlier.file:
        advice = (
            f"Withdraw the earlier file first (`items withdraw {earlier.file}`), or {other_way}"
        )
    else:
        sentence = other_way[0].upper() + other_way[1:]
        advice = f"It came with the items and can't be withdrawn. {sentence}"
    return IngestError(
        f"{name!r} already has another answer to {item_text}. Nothing was imported. {advice}."
    )


def _change_model(connection: Connection, name: str, **values) -> None:
    """Changes columns of a model. Raises IngestError for an unknown one."""
    change = update(MODEL).where(MODEL.c.name == name).values(**values)
    if connection.execute(change).rowcount == 0:
        raise IngestError(
            f"There's no model named {name!r}. To see the models: python -m arena models list"
        )
