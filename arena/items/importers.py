"""Item importers: VisIT-Bench's files, folders of items and predictions files become drafts for `ingest.py`.

Every file is read whole and checked before anything is stored; errors name file, row and column.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from arena.io.fetch import FetchError, fetch_all
from arena.io.images import PictureError, PictureStore, read_picture
from arena.io.tables import COMMAND_LINE, JSON, Record, RowsError, parse_json, read_records
from arena.items.ingest import Changes, ImageDraft, Ingest, ItemDraft
from arena.items.store import ItemBank, KeptPicture, KnownItem
from arena.types import DATASET_ANSWER, REFERENCE, RIGHT, UNRELATED, SourceKind, folded, item_key

DEMO_FOLDER = Path(__file__).parent / "demo"
DEMO_SOURCE = "demo bank"
FETCHED_AT_ONCE = 32
PREDICTION = " prediction"
"""Suffix of the answer column's name in VisIT-Bench's submission files."""

_PARAMETERS = re.compile(r"[?#]")
_STRING_OR_NAN = re.compile(r'("(?:[^"\\]|\\.)*+"?)|\bNaN\b')

T = TypeVar("T")
Progress = Callable[[Sequence[T], str], Iterable[T]]
"""Iterates over a sequence under a title, showing progress."""


class ImportReport(NamedTuple):
    """Result of an import."""

    changes: Changes
    left_out: int = 0
    """Rows left out by rule: instances rated incorrect, answers to items that are not in the bank."""
    problems: tuple[str, ...] = ()
    """Images that could not be fetched; their items wait."""


def quietly(members: Sequence[T], _title: str) -> Iterable[T]:
    """Progress that is not shown."""
    return members


@dataclass(frozen=True)
class ItemImporter:
    """Imports files into one item bank, and pictures into one store."""

    ingest: Ingest
    items: ItemBank
    pictures: PictureStore
    progress: Progress = quietly

    def demo(self) -> ImportReport:
        """Import the built-in demo bank."""
        return self.folder(DEMO_FOLDER, DEMO_SOURCE, "demo")

    def folder(self, folder: Path, name: str, kind: SourceKind = "folder") -> ImportReport:
        """Import a folder: `items.jsonl` and the images it names, each by a path below the folder or by URL."""
        file = folder / "items.jsonl"
        records = list(read_records(file, COMMAND_LINE))
        kept = self.items.kept_pictures()
        drafts = [self._folder_draft(record, file, kept) for record in self.progress(records, "items")]
        if kind == "check":
            for record, draft in zip(records, drafts, strict=True):
                _check_answers(draft, record, file)
        return ImportReport(self.ingest.add_items(name, kind, drafts))

    def visit(self, file: Path, name: str, fetch: bool = False) -> ImportReport:
        """Import one of VisIT-Bench's CSV files, single- or multi-image; with `fetch` its images too.

        The reference is `output_human_annotated`, or `gpt4_prediction` where `human_ratings_gpt4_correct` is true;
        instances rated incorrect are left out, as in the paper (section 3). A `reference_output` that is filled is the
        answer of the contestant "dataset answer".
        """
        records = list(read_records(file, COMMAND_LINE))
        kept = self.items.kept_pictures()
        verified = [record for record in records if _is_verified(record, file)]
        drafts = [self._visit_draft(record, file, kept) for record in self.progress(verified, "instances")]
        problems: tuple[str, ...] = ()
        if fetch:
            drafts, problems = self._fetched(drafts)
        changes = self.ingest.add_items(name, "visit", drafts)
        return ImportReport(changes, left_out=len(records) - len(verified), problems=problems)

    def answers(self, file: Path, model: str | None = None) -> ImportReport:
        """Import one model's predictions file.

        Rows name their item by `item` (its key), or by `instruction` and `image` or `images`. The answers stand in
        "<model name> prediction", or in `prediction` if the caller names the model. Rows of items that are not in the
        bank are left out and counted; raises RowsError if there are no others.
        """
        records = list(read_records(file, COMMAND_LINE))
        column, model = _answer_column(records, file, model)
        known = _KnownItems(self.items.known_items())
        found: dict[int, str] = {}
        unmatched = 0
        for record in self.progress(records, "answers"):
            item = known.find(record, file)
            text = _text(record, column, file, empty=True)
            if item is None:
                unmatched += 1
            elif found.setdefault(item, text) != text:
                raise RowsError(
                    "holds a second, different answer to the same item; keep one", file.name, record.row, column
                )
        if not found:
            raise RowsError(
                "no row fits an item of the bank; import the items first (`items list` shows them)", file.name
            )
        return ImportReport(self.ingest.add_answers(model, file.name, found), left_out=unmatched)

    def _folder_draft(self, record: Record, file: Path, kept: Mapping[str, KeptPicture]) -> ItemDraft:
        names = _list(record, "images", file)
        captions = _list(record, "captions", file) if "captions" in record.values else [""] * len(names)
        if len(captions) != len(names):
            raise RowsError(
                f"holds {len(captions)} captions for {len(names)} images", file.name, record.row, "captions"
            )
        credit, licence = (str(record.values.get(column) or "") for column in ("credit", "licence"))
        images = tuple(
            replace(self._image(name, "images", record, file, kept), caption=caption, credit=credit, licence=licence)
            for name, caption in zip(names, captions, strict=True)
        )
        answers = _answers(record, file)
        if record.values.get("reference"):
            answers[REFERENCE] = _text(record, "reference", file)
        return ItemDraft(_text(record, "instruction", file), _text(record, "family", file), images, answers)

    def _visit_draft(self, record: Record, file: Path, kept: Mapping[str, KeptPicture]) -> ItemDraft:
        multi = "images" in record.values
        image_column = (
            "images" if multi else next((name for name in ("image_url", "image") if name in record.values), "")
        )
        names = _cell_list(record, "images", file) if multi else [_text(record, image_column or "image_url", file)]
        captions = _captions(
            record, file, len(names), "images_dense_captions" if multi else "image_dense_caption", multi
        )
        images = tuple(
            replace(self._image(name, image_column, record, file, kept), caption=caption)
            for name, caption in zip(names, captions, strict=True)
        )
        reference = "gpt4_prediction" if "gpt4_prediction" in record.values else "output_human_annotated"
        answers = {REFERENCE: _text(record, reference, file)}
        if str(record.values.get("reference_output") or "").strip():
            answers[DATASET_ANSWER] = _text(record, "reference_output", file)
        family = _text(record, "instruction_category", file)
        return ItemDraft(_text(record, "instruction", file), family, images, answers)

    def _image(self, name: str, column: str, record: Record, file: Path, kept: Mapping[str, KeptPicture]) -> ImageDraft:
        """Draft of an image named by URL or by path; a file is read and its picture kept."""
        if _is_address(name):
            known = kept.get(name)
            held = known if known and self.pictures.has(known.sha256) else None
            return ImageDraft(name, _last_part(name), url=name, **(held._asdict() if held else {}))
        try:
            path = (file.parent / name).resolve()
            if not path.is_relative_to(file.parent.resolve()):
                raise RowsError(f"names an image outside the folder: {name!r}", file.name, record.row, column)
            data = path.read_bytes()
            key = hashlib.sha256(data).hexdigest()
            known = kept.get(key)
            if known is None or not self.pictures.has(known.sha256):
                known = self._keep(data)
        except (OSError, RuntimeError, PictureError) as error:  # a RuntimeError is a link to itself
            raise RowsError(f"names the image {name!r}: {error}", file.name, record.row, column) from error
        return ImageDraft(key, path.name, **known._asdict())

    def _keep(self, data: bytes) -> KeptPicture:
        picture = read_picture(data)
        self.pictures.keep(picture)
        return KeptPicture(picture.sha256, picture.suffix)

    def _fetched(self, drafts: Sequence[ItemDraft]) -> tuple[list[ItemDraft], tuple[str, ...]]:
        """Fetch the remote images that are not kept yet; returns the drafts with them, and what failed."""
        missing = sorted({image.url for draft in drafts for image in draft.images if image.url and not image.sha256})
        batches = [missing[start : start + FETCHED_AT_ONCE] for start in range(0, len(missing), FETCHED_AT_ONCE)]
        pictures: dict[str, KeptPicture] = {}
        problems = []
        for batch in self.progress(batches, "images"):
            for url, data in fetch_all(batch).items():
                if isinstance(data, FetchError):
                    problems.append(str(data))
                    continue
                try:
                    pictures[url] = self._keep(data)
                except PictureError as error:
                    problems.append(f"{url}: {error}")
        return [_with_pictures(draft, pictures) for draft in drafts], tuple(problems)


class _KnownItems:
    """Index of known items, to find the item of a predictions row."""

    def __init__(self, known: Sequence[KnownItem]) -> None:
        self._by_key = {item.key: item.id for item in known}
        self._by_names: dict[tuple[str, tuple[str, ...]], int | None] = {}
        for item in known:
            name = (folded(item.instruction), item.image_names)
            self._by_names[name] = None if name in self._by_names else item.id

    def find(self, record: Record, file: Path) -> int | None:
        """Id of the item by its key, by instruction and URLs, or by instruction and file names; None if unknown."""
        if "item" in record.values:
            return self._by_key.get(_text(record, "item", file))
        instruction = _text(record, "instruction", file)
        column = next((name for name in ("images", "image", "image_url") if name in record.values), "image")
        names = _cell_list(record, column, file)
        by_address = self._by_key.get(item_key(instruction, names))
        return by_address or self._by_names.get((folded(instruction), tuple(map(_last_part, names))))


def _is_verified(record: Record, file: Path) -> bool:
    """Whether an instance's reference was verified: not rated incorrect."""
    rating = record.values.get("human_ratings_gpt4_correct")
    if rating is None or str(rating).strip().lower() == "true":
        return True
    if str(rating).strip().lower() == "false":
        return False
    column = "human_ratings_gpt4_correct"
    raise RowsError(f"holds {rating!r}; expected True or False", file.name, record.row, column)


def _answer_column(records: Sequence[Record], file: Path, model: str | None) -> tuple[str, str]:
    """Column of the answers, and the model's name. Raises RowsError."""
    if not records:
        raise RowsError("holds no rows", file.name)
    columns = list(records[0].values)
    named = [column for column in columns if column.endswith(PREDICTION) and column != PREDICTION]
    if model is not None and not model.strip():
        raise RowsError("the model's name is empty; give one with --model", file.name, 1)
    if model is not None and f"{model}{PREDICTION}" in named:
        return f"{model}{PREDICTION}", model
    if model is not None and "prediction" in columns:
        return "prediction", model
    if len(named) == 1:
        return named[0], model or named[0].removesuffix(PREDICTION)
    raise RowsError(
        'expected one column "<model name> prediction", or "prediction" and --model; found ' + ", ".join(columns),
        file.name,
        1,
    )


def _text(record: Record, column: str, file: Path, empty: bool = False) -> str:
    value: Any = record.values.get(column)
    if not isinstance(value, str):
        found = "it is missing" if value is None else f"it holds {type(value).__name__}"
        raise RowsError(f"expected text; {found} (columns: {', '.join(record.values)})", file.name, record.row, column)
    if not (empty or value.strip()):
        raise RowsError("is empty; expected text", file.name, record.row, column)
    return value


def _list(record: Record, column: str, file: Path) -> list[str]:
    return _strings(record.values.get(column), record, column, file)


def _cell_list(record: Record, column: str, file: Path) -> list[str]:
    """List in a cell, as JSON text or as a single plain string."""
    value = record.values.get(column)
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _parsed(value, record, column, file)
    return _strings([value] if isinstance(value, str) else value, record, column, file)


def _parsed(text: str, record: Record, column: str, file: Path) -> JSON:
    try:
        return parse_json(text)
    except RowsError as error:
        raise error.at(file=file.name, row=record.row, column=column) from error


def _strings(value: JSON, record: Record, column: str, file: Path) -> list[str]:
    if not isinstance(value, list) or not value or not all(isinstance(part, str) and part for part in value):
        raise RowsError("expected a list of one or more texts", file.name, record.row, column)
    return [str(part) for part in value]


def _captions(record: Record, file: Path, count: int, column: str, multi: bool) -> list[str]:
    value = record.values.get(column)
    if not value:
        return [""] * count
    captions = _parsed(_without_nan(str(value)), record, column, file) if multi else [value]
    if not isinstance(captions, list) or len(captions) < count or any(captions[count:]):
        raise RowsError(f"expected a list of {count} captions, one an image", file.name, record.row, column)
    return [str(caption or "") for caption in captions[:count]]


def _without_nan(text: str) -> str:
    """JSON text with null for NaN: VisIT-Bench's file fills its lists of ten captions up with NaN."""
    return _STRING_OR_NAN.sub(lambda found: found[1] or "null", text)


def _answers(record: Record, file: Path) -> dict[str, str]:
    answers = record.values.get("answers", {})
    named = isinstance(answers, dict) and all(isinstance(text, str) for text in answers.values())
    if not (isinstance(answers, dict) and named and all(name.strip() for name in answers)):
        raise RowsError("expected an object of answers by model name", file.name, record.row, "answers")
    return {name: str(text) for name, text in answers.items()}


def _check_answers(draft: ItemDraft, record: Record, file: Path) -> None:
    """Refuse a check item without its two answers, or with others beside them."""
    if set(draft.answers) != {RIGHT, UNRELATED} or not all(text.strip() for text in draft.answers.values()):
        expected = f"expected two answers, named {RIGHT!r} and {UNRELATED!r}, and no reference"
        raise RowsError(f"is no check item: {expected}", file.name, record.row, "answers")


def _with_pictures(draft: ItemDraft, pictures: Mapping[str, KeptPicture]) -> ItemDraft:
    images = tuple(
        replace(image, **pictures[image.key]._asdict()) if image.key in pictures else image for image in draft.images
    )
    return replace(draft, images=images)


def _last_part(name: str) -> str:
    """File name at the end of a URL or path."""
    return PurePosixPath(unquote(_PARAMETERS.split(name)[0] if "://" in name else name)).name


def _is_address(name: str) -> bool:
    """Whether an image is named by a web address."""
    try:
        parts = urlsplit(name)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
