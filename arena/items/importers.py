"""Item importers: they turn VisIT-Bench's files, folders of items and predictions files into drafts for `ingest.py`.

Every file is read and checked as a whole before anything is stored. Errors name file, row and column.
"""

import ast
import contextlib
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeGuard, TypeVar
from urllib.parse import unquote, urlsplit

from arena.io.data_urls import data_url_content, is_data_url, shown_name
from arena.io.fetch import FetchError, fetch_all
from arena.io.images import PictureError, PictureStore, difference_hash, read_picture
from arena.io.named_files import named_file, same_name
from arena.io.strict_json import row_errors
from arena.io.tables import COMMAND_LINE, JSON, Record, RowsError, parse_json, read_records
from arena.items.folder_rows import (
    CREDIT_PARTS,
    ITEMS_FILE,
    ImageFile,
    Row,
    read_folder,
    row_images,
    texts_in,
    unread,
)
from arena.items.ingest import Changes, ImageDraft, Ingest, ItemDraft
from arena.items.store import ItemBank, KeptPicture, KnownItem
from arena.types import DATASET_ANSWER, REFERENCE, RIGHT, UNRELATED, SourceKind, folded, item_key

DEMO_FOLDER = Path(__file__).parent / "demo"
DEMO_SOURCE = "demo items"
FETCHED_AT_ONCE = 32
MOST_NAMED = 10
"""The most wrong rows that a message names."""
PREDICTION = " prediction"
"""The suffix of the answer column's name in VisIT-Bench's submission files."""

_IMAGES = ("images", "image_url", "image", "file_name", "file_names")
_CAPTIONS = (
    "images_dense_captions",
    "image_dense_captions",
    "image_dense_caption",
    "instruction_conditioned_captions",
    "instruction_conditioned_caption",
    "visual",
)
_REFERENCES = ("gpt4_prediction", "output_human_annotated", "reference_output")
"""_IMAGES, _CAPTIONS, _REFERENCES: column names in VisIT-Bench's files; the first that exists counts."""
_CREDITS = ("attribution", "creator", "author", "photographer", "credit", "artist", "owner")
_LICENCES = ("license", "licence", "license_name", "rights", "license_url")
_LONGEST_RIGHTS = 20_000
_LIST_START = re.compile(r'\s*+\[\s*+(?:"|null\b|\])')
_STRING_OR_NULL = re.compile(r"""("(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?)|\b(?:null|NaN|nan)\b""")

_PARAMETERS = re.compile(r"[?#]")
_STRING_OR_NAN = re.compile(r'("(?:[^"\\]|\\.)*+"?)|\bNaN\b')

T = TypeVar("T")
Progress = Callable[[Iterable[T], str], Iterable[T]]
"""Returns an iterator that shows progress under a title."""


class ImportReport(NamedTuple):
    """The result of an import."""

    changes: Changes
    left_out: int = 0
    """The number of excluded rows: instances rated incorrect, answers to items that are not in the bank."""
    problems: tuple[str, ...] = ()
    """Errors of images that could not be fetched; their items wait."""
    unread: tuple[str, ...] = ()
    """Keys of `items.jsonl` that no import reads."""


def quietly(members: Iterable[T], _title: str) -> Iterable[T]:
    return members


@dataclass(frozen=True)
class ItemImporter:
    """Imports files into one item bank, and pictures into one store."""

    ingest: Ingest
    items: ItemBank
    pictures: PictureStore
    progress: Progress = quietly

    def demo(self) -> ImportReport:
        return self.folder(DEMO_FOLDER, DEMO_SOURCE, "demo")

    def folder(self, folder: Path, name: str, kind: SourceKind = "folder") -> ImportReport:
        """Imports a folder: `items.jsonl` and its images, each by a path below the folder or by URL.

        Without such a file it imports a dataset of the Hub (`folder_rows`), with the family `name` if rows have none.
        """
        stored = self.items.kept_pictures()
        drafts: list[ItemDraft] = []
        columns: dict[str, None] = {}
        for file in read_folder(folder):
            records = file.records
            if file.path.suffix != ".parquet":  # Files with embedded pictures are read row by row.
                records = list(records)
                columns |= dict.fromkeys(column for record in records for column in record.values)
            read = partial(
                self._folder_draft,
                folder=file.names_from,
                stored=stored,
                kind=kind,
                family=None if file.path.name == ITEMS_FILE else name,
            )
            drafts += self._each(file.path, records, "items", read)
        return ImportReport(self.ingest.add_items(name, kind, drafts), unread=unread(columns))

    def visit(self, file: Path, name: str, fetch: bool = False) -> ImportReport:
        """Imports one of VisIT-Bench's files, single- or multi-image, or `metadata.csv`; with `fetch` also its images.

        The reference is `gpt4_prediction` if `human_ratings_gpt4_correct` is true, else `output_human_annotated`, else
        `reference_output`. Instances rated incorrect are left out, as in the paper (section 3). A `reference_output`
        beside another reference is the answer of the contestant "dataset answer".
        """
        records = list(read_records(file, COMMAND_LINE))
        stored = self.items.kept_pictures()
        read = self._each(
            file, records, "instances", lambda row: self._visit_draft(row, file.parent, stored)
        )
        drafts = [draft for draft in read if draft is not None]
        left_out = len(records) - len(drafts)
        problems: tuple[str, ...] = ()
        if fetch:
            drafts, problems = self._fetched(drafts)
        return ImportReport(
            self.ingest.add_items(name, "visit", drafts), left_out=left_out, problems=problems
        )

    def answers(self, file: Path, model: str | None = None) -> ImportReport:
        """Imports one model's predictions file.

        Rows name their item by `item` (its key), or by `instruction` and `image` or `images`. The column of answers is
        "<model name> prediction", or `prediction` if the caller names the model. Rows of unknown items are left out and
        counted. Raises RowsError if all items are unknown.
        """
        records = list(read_records(file, COMMAND_LINE))
        column, model = _answer_column(records, file, model)
        known = _KnownItems(self.items.known_items())
        texts: dict[int, str] = {}

        def answer(row: Row) -> bool:
            item = known.find(row)
            text = text_in(row, column, empty=True)
            if item is not None and texts.setdefault(item, text) != text:
                raise RowsError(
                    "is a second, different answer to the same item. Keep one", column=column
                )
            return item is not None

        matched = self._each(file, records, "answers", answer)
        if not texts:
            problem = (
                "no row is about an imported item. Import the items first, or check `items list`"
            )
            raise RowsError(problem, file.name)
        return ImportReport(
            self.ingest.add_answers(model, file.name, texts), left_out=matched.count(False)
        )

    def _each(
        self, file: Path, records: Iterable[Record], title: str, read: Callable[[Row], T]
    ) -> list[T]:
        """Reads each record and shows progress. Raises a RowsError that names every wrong row, up to MOST_NAMED."""
        results = []
        wrong: list[RowsError] = []
        for record in self.progress(records, title):
            try:
                results.append(read(record.values))
            except RowsError as error:
                wrong.append(error.at(row=record.row))
                if len(wrong) == MOST_NAMED:
                    break
        if wrong:
            first, *others = wrong
            rest = ["later rows weren't checked"] if len(wrong) == MOST_NAMED else []
            problems = [first.problem, *map(str, others), *rest]
            problem = "; ".join(text.removesuffix(".") for text in problems)
            raise RowsError(problem, file.name, first.row, first.column)
        return results

    def _folder_draft(
        self,
        row: Row,
        folder: Path,
        stored: Mapping[str, KeptPicture],
        kind: SourceKind,
        family: str | None,
    ) -> ItemDraft:
        """Returns the draft of a folder's row; `family`: the family of rows without one, if it may be left out."""
        column, images = row_images(row)
        captions = (
            texts_in(row["captions"], "captions") if "captions" in row else [""] * len(images)
        )
        if len(captions) != len(images):
            raise RowsError(
                f"has {len(captions)} captions for {len(images)} images. Give one for each",
                column="captions",
            )
        rights = _credits(row, len(images)) if "credits" in row else _row_rights(row, len(images))
        drafts = (
            self._image(image, column, folder, stored)
            if isinstance(image, str)
            else self._image_file(
                image, f"names the image {shown_name(image.name)}", column, stored
            )
            for image in images
        )
        captioned = _captioned(drafts, captions, rights)
        answers = _answers(row)
        if row.get("reference"):
            answers[REFERENCE] = text_in(row, "reference")
        if family is None or "family" in row:
            family = text_in(row, "family")
        draft = ItemDraft(text_in(row, "instruction"), family, captioned, answers)
        is_pair = set(answers) == {RIGHT, UNRELATED} and all(map(str.strip, answers.values()))
        if kind == "check" and not is_pair:
            expected = f"needs two answers, named {RIGHT!r} and {UNRELATED!r}, and no reference"
            raise RowsError(f"a check item {expected}", column="answers")
        return draft

    def _visit_draft(
        self, row: Row, folder: Path, stored: Mapping[str, KeptPicture]
    ) -> ItemDraft | None:
        """Returns the draft of an instance; None if its reference is rated incorrect."""
        if not _is_verified(row):
            return None
        column = _image_column(row, "image_url")
        names = list_in(row, column)
        drafts = (self._image(name, column, folder, stored) for name in names)
        images = _captioned(drafts, captions_in(row, len(names)), _rights(row, len(names)))
        reference = _first_column(row, _REFERENCES, "output_human_annotated")
        answers = {REFERENCE: text_in(row, reference)}
        if reference != "reference_output" and str(row.get("reference_output") or "").strip():
            answers[DATASET_ANSWER] = text_in(row, "reference_output")
        return ItemDraft(
            text_in(row, "instruction"), text_in(row, "instruction_category"), images, answers
        )

    def _image(
        self, name: str, column: str, folder: Path, stored: Mapping[str, KeptPicture]
    ) -> ImageDraft:
        """Returns the draft of an image named by URL or by path; a file is read and its picture stored."""
        if _is_address(name):
            known = stored.get(name)
            is_stored = known is not None and self.pictures.has(known.sha256)
            picture = known._asdict() if known and is_stored else {}
            return ImageDraft(name, last_part(name), url=name, **picture)
        image_name = shown_name(name)
        if is_data_url(name):
            try:
                content = data_url_content(name)
            except ValueError as error:
                raise RowsError(f"holds {image_name}: {error}", column=column) from error
            return self._image_file(ImageFile("", content), f"holds {image_name}", column, stored)
        try:
            path = named_file(folder, name).resolve()
            if not path.is_relative_to(folder.resolve()):
                raise RowsError(f"names an image outside the folder: {image_name}", column=column)
            data = path.read_bytes()
        except OSError as error:
            raise RowsError(
                f"names the image {image_name}: {error.strerror}", column=column
            ) from error
        except RuntimeError as error:
            raise RowsError(
                f"names the image {image_name}: a link to itself", column=column
            ) from error
        return self._image_file(
            ImageFile(name, data), f"names the image {image_name}", column, stored
        )

    def _image_file(
        self, file: ImageFile, subject: str, column: str, stored: Mapping[str, KeptPicture]
    ) -> ImageDraft:
        """Returns the draft of an image from its file's bytes, and stores its picture; errors begin with `subject`."""
        key = hashlib.sha256(file.data).hexdigest()
        try:
            known = stored.get(key)
            if known is None or not self.pictures.has(known.sha256):
                known = self._keep(file.data)
        except PictureError as error:
            raise RowsError(f"{subject}: {error}", column=column) from error
        except OSError as error:
            raise RowsError(f"{subject}: {error.strerror}", column=column) from error
        return ImageDraft(key, PurePosixPath(file.name).name, **known._asdict())

    def _keep(self, data: bytes) -> KeptPicture:
        picture = read_picture(data)
        self.pictures.keep(picture)
        return KeptPicture(picture.sha256, picture.suffix, difference_hash(picture))

    def _fetched(self, drafts: Sequence[ItemDraft]) -> tuple[list[ItemDraft], tuple[str, ...]]:
        """Fetches the remote images that are not stored yet; returns the drafts with them, and the errors."""
        missing = sorted(
            {
                image.url
                for draft in drafts
                for image in draft.images
                if image.url and not image.sha256
            }
        )
        batches = [
            missing[start : start + FETCHED_AT_ONCE]
            for start in range(0, len(missing), FETCHED_AT_ONCE)
        ]
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

        def with_picture(image: ImageDraft) -> ImageDraft:
            if image.key not in pictures:
                return image
            return replace(image, **pictures[image.key]._asdict())

        with_pictures = [
            replace(draft, images=tuple(map(with_picture, draft.images))) for draft in drafts
        ]
        return with_pictures, tuple(problems)


class _KnownItems:
    """Index of known items, to find the item of a predictions row."""

    def __init__(self, known: Sequence[KnownItem]) -> None:
        self._by_key = {item.key: item.id for item in known}
        self._by_names: dict[tuple[str, tuple[str, ...]], int | None] = {}
        for item in known:
            name = (folded(item.instruction), tuple(map(same_name, item.image_names)))
            self._by_names[name] = None if name in self._by_names else item.id

    def find(self, row: Row) -> int | None:
        """Returns the item's id by its key, by instruction and URLs, or by instruction and file names; None if
        unknown.
        """
        if "item" in row:
            return self._by_key.get(text_in(row, "item"))
        instruction = text_in(row, "instruction")
        names = list_in(row, _image_column(row))
        by_address = self._by_key.get(item_key(instruction, names))
        files = tuple(same_name(last_part(name)) for name in names)
        return by_address or self._by_names.get((folded(instruction), files))


def _is_verified(row: Row) -> bool:
    """Returns whether an instance's reference was verified: not rated incorrect."""
    column = "human_ratings_gpt4_correct"
    rating = row.get(column, True)
    word = str(rating).strip().lower()
    if rating is not None and word not in ("true", "false"):
        raise RowsError(f"is {rating!r}. Write True or False", column=column)
    return word != "false"


def _answer_column(records: Sequence[Record], file: Path, model: str | None) -> tuple[str, str]:
    """Returns the column of the answers, and the model's name. Raises RowsError."""
    if not records:
        raise RowsError("has no rows", file.name)
    columns = list(records[0].values)
    model = model and model.strip()
    answer_columns = [
        column for column in columns if column.endswith(PREDICTION) and column != PREDICTION
    ]
    if model == "":
        raise RowsError("the model's name is empty. Give one with --model", file.name, 1)
    if model is not None and f"{model}{PREDICTION}" in answer_columns:
        return f"{model}{PREDICTION}", model
    if model is not None and "prediction" in columns:
        return "prediction", model
    if len(answer_columns) == 1:
        return answer_columns[0], model or answer_columns[0].removesuffix(PREDICTION).strip()
    expected = 'It needs one column "<model name> prediction", or "prediction" and --model'
    raise RowsError(f"the columns are {', '.join(columns)}. {expected}", file.name, 1)


def text_in(row: Row, column: str, empty: bool = False) -> str:
    value = row.get(column)
    if not isinstance(value, str):
        problem = "is missing" if value is None else f"is {type(value).__name__}, not text"
        raise RowsError(f"{problem}. The columns are {', '.join(row)}", column=column)
    if not (empty or value.strip()):
        raise RowsError("is empty. Write a text", column=column)
    return value


def _image_column(row: Row, default: str = "image") -> str:
    return _first_column(row, _IMAGES, default)


def _first_column(row: Row, columns: Sequence[str], default: str) -> str:
    """Returns the first of these columns with a value, else the first that exists, else the default."""
    existing = [name for name in columns if name in row]
    filled = [name for name in existing if row[name]]
    return [*filled, *existing, default][0]


def list_in(row: Row, column: str) -> list[str]:
    """Returns the list in a cell, which is JSON text or a single plain string."""
    value: Any = row.get(column)
    if isinstance(value, str):
        with row_errors(column=column):
            value = parse_json(value) if value.lstrip().startswith("[") else [text_in(row, column)]
    return texts_in(value, column)


def credit_line(credit: Mapping[str, JSON]) -> str:
    """Returns an image's credit line: its creator, source and statement."""
    return ", ".join(str(credit[name]) for name in CREDIT_PARTS if credit.get(name))


def _credits(row: Row, count: int) -> list[tuple[str, str]]:
    """Returns the credit and the licence of each image in `credits`, a list of objects."""
    cell: Any = row["credits"]
    if (
        not isinstance(cell, list)
        or len(cell) != count
        or not all(isinstance(image_credit, dict) for image_credit in cell)
    ):
        raise RowsError(f"must be a list of {count} credits, one per image", column="credits")
    return [
        (credit_line(image_credit), str(image_credit.get("licence") or "")) for image_credit in cell
    ]


def _row_rights(row: Row, count: int) -> list[tuple[str, str]]:
    """Returns the credit and the licence of each image in `credit` and `licence`: a text for all, or one an image."""
    image_credits = _text_of_each(row, "credit", count)
    licences = _text_of_each(row, "licence", count)
    return list(zip(image_credits, licences, strict=True))


def _text_of_each(row: Row, column: str, count: int) -> list[str]:
    """Returns the text of a column for each image."""
    cell = row.get(column) or ""
    each = [str(text) for text in cell] if isinstance(cell, list) else [str(cell)] * count
    if len(each) != count:
        raise RowsError(
            f"has {len(each)} texts for {count} images. Give one text, or one per image",
            column=column,
        )
    return each


def _captioned(
    images: Iterable[ImageDraft], captions: Sequence[str], rights: Sequence[tuple[str, str]]
) -> tuple[ImageDraft, ...]:
    """Returns the images with their captions, credits and licences."""
    return tuple(
        replace(image, caption=caption, credit=credit, licence=licence)
        for image, caption, (credit, licence) in zip(images, captions, rights, strict=True)
    )


def captions_in(row: Row, count: int) -> list[str]:
    """Returns an instance's captions, one an image, from any of the columns that its authors used; "" without."""
    columns = [name for name in _CAPTIONS if row.get(name)]
    if not columns:
        return [""] * count
    column = columns[0]
    captions: Any = row[column]
    if isinstance(captions, str):
        # VisIT-Bench's file fills its lists of ten captions with NaN, which is no JSON.
        filled = _STRING_OR_NAN.sub(lambda match: match[1] or "null", captions)
        listed = column.startswith("images") or _LIST_START.match(filled)
        with row_errors(column=column):
            captions = parse_json(filled) if listed else [captions]
    if not isinstance(captions, list) or len(captions) < count or any(captions[count:]):
        raise RowsError(f"must be a list of {count} captions, one per image", column=column)
    return [str(caption or "") for caption in captions[:count]]


def _rights(row: Row, count: int) -> list[tuple[str, str]]:
    """Returns the credit and the licence of each image in `public_images_metadata`; "" if it has none.

    The cell is an object for all images, or has one object an image.
    """
    metadata: Any = row.get("public_images_metadata")
    if isinstance(metadata, str) and len(metadata) <= _LONGEST_RIGHTS:
        literal = _STRING_OR_NULL.sub(lambda match: match[1] or "None", metadata)
        with contextlib.suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            metadata = ast.literal_eval(literal)
    if (
        isinstance(metadata, dict)
        and len(metadata) == count
        and all(isinstance(entry, dict) for entry in metadata.values())
    ):
        metadata = list(metadata.values())
    is_each = isinstance(metadata, list) and len(metadata) == count
    entries = metadata if is_each else [metadata] * count
    return [(_first(entry, _CREDITS), _first(entry, _LICENCES)) for entry in entries]


def _first(entry: Any, names: Iterable[str]) -> str:
    """Returns the first of these fields with a text, on one line; the case of field names doesn't matter."""
    fields = entry.items() if isinstance(entry, dict) else ()
    texts = {str(name).lower(): text for name, text in fields if _storable(text)}
    for name in names:
        if texts.get(name):
            return " ".join(texts[name].split())[:500]
    return ""


def _storable(text: object) -> TypeGuard[str]:
    """Returns whether it is a text that a database can store; unlike a file, a literal may have other signs."""
    return isinstance(text, str) and "\0" not in text and text.isprintable()


def _answers(row: Row) -> dict[str, str]:
    answers = row.get("answers", {})
    if not isinstance(answers, dict) or not all(
        isinstance(answers[name], str) and name.strip() for name in answers
    ):
        raise RowsError("must be an object of answers by model name", column="answers")
    texts = {name.strip(): str(text) for name, text in answers.items()}
    if len(texts) < len(answers):
        raise RowsError(
            "names one model twice, apart from blanks around its name. Keep one", column="answers"
        )
    return texts


def last_part(name: str) -> str:
    """Returns the file name at the end of a URL or path."""
    return PurePosixPath(unquote(_PARAMETERS.split(name)[0] if "://" in name else name)).name


def _is_address(name: str) -> bool:
    try:
        parts = urlsplit(name)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
