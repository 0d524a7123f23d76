"""Item bank ingest: adds items and answers, withdraws predictions, renames and retires models.

Each change is one transaction. An import corrects the captions, credits and licences of known items; the rest stays
unchanged. Importing the same file twice changes nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, Table, insert, or_, select, update

from arena.database import Database, bump_counter, now, take_turn
from arena.items.store import ANSWER, BANK_VERSION, FAMILY, IMAGE, ITEM, MODEL, PREDICTIONS, SOURCE
from arena.thinking import split_thinking
from arena.types import SourceKind, item_key

_CORRECTED = ("caption", "credit", "licence")
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
            source_id = _source(connection, source, kind)
            models = _codes(
                connection, MODEL, sorted({name for draft in drafts for name in draft.answers})
            )
            families = _codes(connection, FAMILY, sorted({draft.family for draft in drafts}))
            answers: list[tuple[int, int, str]] = []
            first = {draft.key: draft for draft in reversed(drafts)}
            for draft in drafts:
                corrects = first[draft.key] is draft
                item_id = _item(
                    connection, source_id, families[draft.family], draft, changes, corrects
                )
                answers += [(item_id, models[model], text) for model, text in draft.answers.items()]
            _add_answers(connection, answers, None, changes)
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
            file_of_model = insert(PREDICTIONS).values(
                model_id=model_id, file=file, imported_at=now()
            )
            predictions = connection.scalar(file_of_model.returning(PREDICTIONS.c.id))
            of_model = [(item_id, model_id, text) for item_id, text in answers.items()]
            _add_answers(connection, of_model, predictions, changes, cut)
            if changes.answers_new == 0:
                connection.execute(PREDICTIONS.delete().where(PREDICTIONS.c.id == predictions))
            bump_counter(connection, BANK_VERSION)
        return changes

    def withdraw(self, file: str, model: str | None = None) -> int:
        """Takes a predictions file's answers out of sampling; returns their number.

        Raises IngestError for no or two files.
        """
        with self._database.write() as connection:
            query = select(PREDICTIONS.c.id, MODEL.c.name).join(
                MODEL, MODEL.c.id == PREDICTIONS.c.model_id
            )
            in_use = query.where(PREDICTIONS.c.file == file, PREDICTIONS.c.withdrawn_at.is_(None))
            rows = [row for row in connection.execute(in_use) if model in (None, row.name)]
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
            moment = now()
            answers = update(ANSWER).where(
                ANSWER.c.predictions_id.in_(ids), ANSWER.c.withdrawn_at.is_(None)
            )
            gone = connection.execute(answers.values(withdrawn_at=moment)).rowcount
            connection.execute(
                update(PREDICTIONS).where(PREDICTIONS.c.id.in_(ids)).values(withdrawn_at=moment)
            )
            bump_counter(connection, BANK_VERSION)
        return gone

    def rename(self, model: str, display: str) -> None:
        """Shows a model under another name. Raises IngestError for a bad or taken one, or an unknown model."""
        display = display.strip()
        if not display:
            raise IngestError("The new name is empty. Give the model a name.")
        _check_readable(display)
        with self._database.write() as connection:
            taken = connection.scalar(
                select(MODEL.c.name).where(MODEL.c.display == display, MODEL.c.name != model)
            )
            if taken:
                raise IngestError(
                    f"The name {display!r} is already taken by {taken!r}. Choose another."
                )
            _change_model(connection, model, display=display)
            bump_counter(connection, BANK_VERSION)

    def retire(self, model: str) -> None:
        """Takes a model out of sampling; its votes and board rows stay. Raises IngestError for an unknown model."""
        with self._database.write() as connection:
            _change_model(connection, model, retired_at=now())
            bump_counter(connection, BANK_VERSION)


def _source(connection: Connection, name: str, kind: SourceKind) -> int:
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
    """Returns the integer codes of names in a table of names; new names get the next codes."""
    known = {
        row.name: row.id for row in connection.execute(select(table).where(table.c.name.in_(names)))
    }
    for name in names:
        if name not in known:
            if table is MODEL:
                _check_model_name(connection, name)
            values = {"name": name, "display": name} if table is MODEL else {"name": name}
            known[name] = connection.execute(
                insert(table).values(values).returning(table.c.id)
            ).scalar_one()
    return known


def _check_model_name(connection: Connection, name: str) -> None:
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


def _item(
    connection: Connection,
    source_id: int,
    family_id: int,
    draft: ItemDraft,
    changes: Changes,
    corrects: bool,
) -> int:
    """Adds an item, or a known item's missing pictures; with `corrects`, corrects it too. Returns its id."""
    key = draft.key
    known = connection.execute(
        select(ITEM.c.id, ITEM.c.source_id).where(ITEM.c.key == key)
    ).one_or_none()
    if known is None:
        changes.items_new += 1
        changes.pictures_new += sum(image.sha256 is not None for image in draft.images)
        values = {
            "key": key,
            "source_id": source_id,
            "family_id": family_id,
            "instruction": draft.instruction,
        }
        new = insert(ITEM).values(**values, multi=len(draft.images) > 1).returning(ITEM.c.id)
        item = connection.execute(new).scalar_one()
        images = [
            {"item_id": item, "position": place, **asdict(image)}
            for place, image in enumerate(draft.images)
        ]
        connection.execute(insert(IMAGE), images)
        return item
    if known.source_id != source_id:
        other = connection.scalar(select(SOURCE.c.name).where(SOURCE.c.id == known.source_id))
        raise IngestError(
            f"The item {key} ({draft.instruction[:60]!r}) already belongs to the source {other!r}. "
            "Import it under that --name, or leave it out."
        )
    changes.items_known += 1
    for position, image in enumerate(draft.images):
        if image.sha256 is not None:
            lacks = (
                (IMAGE.c.item_id == known.id)
                & (IMAGE.c.position == position)
                & IMAGE.c.sha256.is_(None)
            )
            filled = (
                update(IMAGE)
                .where(lacks)
                .values(sha256=image.sha256, suffix=image.suffix, look=image.look)
            )
            changes.pictures_new += connection.execute(filled).rowcount
    if corrects:
        _correct(connection, known.id, draft, changes)
    return known.id


def _correct(connection: Connection, item_id: int, draft: ItemDraft, changes: Changes) -> None:
    """Stores the captions, credits and licences of a draft that differ; an empty one changes nothing."""
    family = connection.scalar(select(FAMILY.c.name).join(ITEM).where(ITEM.c.id == item_id))
    if family != draft.family:
        raise IngestError(
            f"The item {draft.key} ({draft.instruction[:60]!r}) has votes under the family {family!r}, but "
            f"the file says {draft.family!r}. Write {family!r} in the file, or leave the item out."
        )
    corrected = 0
    for position, image in enumerate(draft.images):
        texts = {name: getattr(image, name) for name in _CORRECTED if getattr(image, name)}
        if texts:
            differs = or_(*(IMAGE.c[name] != text for name, text in texts.items()))
            stored = update(IMAGE).where(
                IMAGE.c.item_id == item_id, IMAGE.c.position == position, differs
            )
            corrected += connection.execute(stored.values(texts)).rowcount
    changes.items_corrected += corrected > 0


def _add_answers(
    connection: Connection,
    answers: Sequence[tuple[int, int, str]],
    predictions: int | None,
    changes: Changes,
    cut: Collection[int] = (),
) -> None:
    """Adds new answers (item id, model id, text). Raises IngestError if another answer exists.

    Thinking is stored separately; `cut`: items with answers that ended at the limit of tokens.
    """
    items = [item_id for item_id, _, _ in answers]
    near = ANSWER.c.item_id.between(
        min(items, default=0), max(items, default=0)
    ) & ANSWER.c.withdrawn_at.is_(None)
    rows = connection.execute(
        select(ANSWER.c.item_id, ANSWER.c.model_id, ANSWER.c.text).where(near)
    )
    known = {(row.item_id, row.model_id): row.text for row in rows}
    new = []
    for item_id, model_id, whole in answers:
        thinking, text = split_thinking(whole)
        if (item_id, model_id) not in known:
            known[item_id, model_id] = text
            new.append(
                {
                    "item_id": item_id,
                    "model_id": model_id,
                    "predictions_id": predictions,
                    "text": text,
                    "thinking": thinking or None,
                    "cut": item_id in cut,
                }
            )
        elif known[item_id, model_id] in (text, whole):
            changes.answers_known += 1
        else:
            raise _other_answer(connection, item_id, model_id, predictions is not None)
    changes.answers_new += len(new)
    if new:
        connection.execute(insert(ANSWER), new)


def _other_answer(
    connection: Connection, item_id: int, model_id: int, is_predictions: bool
) -> IngestError:
    item = connection.execute(
        select(ITEM.c.key, ITEM.c.instruction).where(ITEM.c.id == item_id)
    ).one()
    name = connection.scalar(select(MODEL.c.name).where(MODEL.c.id == model_id))
    of_item = f"the item {item.key} ({item.instruction[:60]!r})"
    files = select(PREDICTIONS.c.file).select_from(ANSWER).outerjoin(PREDICTIONS)
    in_use = files.where(
        ANSWER.c.item_id == item_id,
        ANSWER.c.model_id == model_id,
        ANSWER.c.withdrawn_at.is_(None),
    )
    earlier = connection.execute(in_use).one_or_none()
    if earlier is None:
        return IngestError(
            f"The rows have two different answers from {name!r} to {of_item}. Keep one."
        )
    mend = (
        "choose another --model"
        if is_predictions
        else "put the earlier answer into the file, or leave the item out"
    )
    if earlier.file:
        mend = f"Withdraw the earlier file first (`items withdraw {earlier.file}`), or {mend}"
    else:
        mend = f"It came with the items and can't be withdrawn. {mend[0].upper()}{mend[1:]}"
    return IngestError(
        f"{name!r} already has another answer to {of_item}. Nothing was imported. {mend}."
    )


def _change_model(connection: Connection, name: str, **values) -> None:
    if connection.execute(update(MODEL).where(MODEL.c.name == name).values(**values)).rowcount == 0:
        raise IngestError(
            f"There's no model named {name!r}. To see the models: python -m arena models list"
        )
