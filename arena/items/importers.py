"""Item importers: they turn VisIT-Bench's files, folders of items and predictions files into drafts for `ingest.py`.

Every file is read and checked as a whole before anything is stored. Errors name file, row and column.
"""

import ast
import contextlib
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from arena.io.data_urls import data_url_content, is_data_url, shown_name
from arena.io.fetch import FetchError, fetch_all
from arena.io.images import PictureError, PictureStore, difference_hash, read_picture
from arena.io.named_files import composed_name, named_file
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
    unread_columns,
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
"""_IMAGES, _CAPTIONS, _REFERENCES: column names in VisIT-Bench's files; the first that a row fills counts."""
_CREDITS = ("attribution", "creator", "author", "photographer", "credit", "artist", "owner")
_LICENCES = ("license", "licence", "license_name", "rights", "license_url")
_LONGEST_RIGHTS = 20_000
"""Most characters of a cell of `public_images_metadata` that is read."""
_LONGEST_RIGHTS_TEXT = 500
"""Most characters of one credit or licence in such a cell; longer texts are cut."""
_PYTHON_WORDS = {"null": "None", "NaN": "None", "nan": "None", "true": "True", "false": "False"}
_STRING_OR_WORD = re.compile(r"""'(?:[^'\\]|\\.)*+'?|"(?:[^"\\]|\\.)*+"?|\b[A-Za-z]++\b""")
"""_PYTHON_WORDS, _STRING_OR_WORD: JSON's words outside of strings become Python's, so that Python reads the cell."""
_LIST_START = re.compile(r'\s*+\[\s*+(?:"|null\b|\])')
"""The beginning of captions in a JSON list; a plain caption may begin with a bracket too, as in "[A] dog"."""
_STRING_OR_NAN = re.compile(r'("(?:[^"\\]|\\.)*+"?)|\bNaN\b')
"""A string, as group 1, or the word NaN outside of strings."""
_PARAMETERS = re.compile(r"[?#]")
"""The beginning of a URL's query or fragment."""

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
    """Columns of the folder's rows that no import reads."""


class Rights(NamedTuple):
    """The credit and the licence of an image; "" if it has none."""

    credit: str
    licence: str


class _AnswerColumn(NamedTuple):
    """The column of the answers in a predictions file, and the model that gave them."""

    column: str
    model: str


class _FetchedDrafts(NamedTuple):
    """Drafts with their fetched images, and errors of images that could not be fetched."""

    drafts: list[ItemDraft]
    problems: tuple[str, ...]


def no_progress(members: Iterable[T], _title: str) -> Iterable[T]:
    """Shows nothing."""
    return members


@dataclass(frozen=True)
class ItemImporter:
    """Imports files into one item bank, and pictures into one store."""

    ingest: Ingest
    items: ItemBank
    pictures: PictureStore
    progress: Progress = no_progress

    def import_demo(self) -> ImportReport:
        """Imports the demo items that come with the program."""
        return self.import_folder(DEMO_FOLDER, DEMO_SOURCE, "demo")

    def import_folder(self, folder: Path, name: str, kind: SourceKind = "folder") -> ImportReport:
        """Imports a folder: `items.jsonl` and its images, each by a path below the folder or by URL.

        Without such a file it imports a dataset of the Hub (`folder_rows`), with the family `name` if rows have none.
        """
        stored = self.items.kept_pictures()
        drafts: list[ItemDraft] = []
        columns: dict[str, None] = {}  # an ordered set

        def with_columns_noted(records: Iterable[Record]) -> Iterator[Record]:
            for record in records:
                columns.update(dict.fromkeys(record.values))
                yield record

        for file in read_folder(folder):
            records: Iterable[Record] = with_columns_noted(file.records)
            # A file is checked whole before its pictures are stored. Parquet holds pictures, too many for the memory.
            if file.path.suffix != ".parquet":
                records = list(records)
            read_row = partial(
                self._folder_draft,
                folder=file.names_from,
                stored=stored,
                kind=kind,
                family=None if file.path.name == ITEMS_FILE else name,
            )
            drafts += self._read_rows(file.path, records, "items", read_row)
        changes = self.ingest.add_items(name, kind, drafts)
        return ImportReport(changes, unread=unread_columns(columns))

    def import_visit_bench(self, file: Path, name: str, fetch: bool = False) -> ImportReport:
        """Imports one of VisIT-Bench's files, single- or multi-image, or `metadata.csv`; with `fetch` also its images.

        The reference is the first of `gpt4_prediction`, `output_human_annotated` and `reference_output` that a row
        fills. Instances whose `human_ratings_gpt4_correct` is false are left out, as in the paper (section 3). A
        `reference_output` beside another reference is the answer of the contestant "dataset answer".
        """
        records = list(read_records(file, COMMAND_LINE))
        stored = self.items.kept_pictures()
        read_row = partial(self._visit_draft, folder=file.parent, stored=stored)
        drafts_or_none = self._read_rows(file, records, "instances", read_row)
        drafts = [draft for draft in drafts_or_none if draft is not None]
        left_out = len(records) - len(drafts)
        problems: tuple[str, ...] = ()
        if fetch:
            fetched = self._fetch_images(drafts)
            drafts = fetched.drafts
            problems = fetched.problems
        changes = self.ingest.add_items(name, "visit", drafts)
        return ImportReport(changes, left_out=left_out, problems=problems)

    def import_answers(self, file: Path, model: str | None = None) -> ImportReport:
        """Imports one model's predictions file.

        Rows name their item by `item` (its key), or by `instruction` and `image` or `images`. The column of answers is
        "<model name> prediction", or `prediction` if the caller names the model. Rows of unknown items are left out and
        counted. Raises RowsError if all items are unknown.
        """
        records = list(read_records(file, COMMAND_LINE))
        answers = _answer_column(records, file, model)
        known = _KnownItems(self.items.known_items())
        texts: dict[int, str] = {}

        def take_answer(row: Row) -> bool:
            """Takes a row's answer; returns whether its item is known."""
            item = known.find(row)
            text = text_in(row, answers.column, may_be_empty=True)
            if item is None:
                return False
            if item in texts and texts[item] != text:
                raise RowsError(
                    "is a second, different answer to the same item. Keep one",
                    column=answers.column,
                )
            texts[item] = text
            return True

        are_known = self._read_rows(file, records, "answers", take_answer)
        if not texts:
            problem = (
                "no row is about an imported item. Import the items first, or check `items list`"
            )
            raise RowsError(problem, file.name)
        changes = self.ingest.add_answers(answers.model, file.name, texts)
        return ImportReport(changes, left_out=are_known.count(False))

    def _read_rows(
        self, file: Path, records: Iterable[Record], title: str, read_row: Callable[[Row], T]
    ) -> list[T]:
        """Reads each record and shows progress. Raises a RowsError that names every wrong row, up to MOST_NAMED."""
        results = []
        wrong: list[RowsError] = []
        for record in self.progress(records, title):
            try:
                results.append(read_row(record.values))
            except RowsError as error:
                wrong.append(error.at(row=record.row))
                if len(wrong) == MOST_NAMED:
                    break
        if wrong:
            first, *others = wrong
            problems = [first.problem, *map(str, others)]  # The error has the place of the first.
            if len(wrong) == MOST_NAMED:
                problems.append("later rows weren't checked")
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
        captions = [""] * len(images)
        if "captions" in row:
            captions = texts_in(row["captions"], "captions")
        if len(captions) != len(images):
            raise RowsError(
                f"has {len(captions)} captions for {len(images)} images. Give one for each",
                column="captions",
            )
        drafts = []
        for image in images:
            if isinstance(image, str):
                drafts.append(self._image(image, column, folder, stored))
            else:
                subject = f"names the image {shown_name(image.name)}"
                drafts.append(self._image_file(image, subject, column, stored))
        rights = (
            _listed_rights(row, len(images)) if "credits" in row else _row_rights(row, len(images))
        )
        captioned = _with_captions(drafts, captions, rights)
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
        drafts = [self._image(name, column, folder, stored) for name in names]
        captions = captions_in(row, len(names))
        images = _with_captions(drafts, captions, _visit_rights(row, len(names)))
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
            draft = ImageDraft(name, last_part(name), url=name)
            known = stored.get(name)
            if known is not None and self.pictures.has(known.sha256):
                draft = replace(draft, **known._asdict())
            return draft
        image_name = shown_name(name)
        if is_data_url(name):
            try:
                content = data_url_content(name)
            except ValueError as error:
                raise RowsError(f"holds {image_name}: {error}", column=column) from error
            return self._image_file(ImageFile("", content), f"holds {image_name}", column, stored)
        subject = f"names the image {image_name}"
        try:
            path = named_file(folder, name).resolve()
            if not path.is_relative_to(folder.resolve()):
                raise RowsError(f"names an image outside the folder: {image_name}", column=column)
            data = path.read_bytes()
        except OSError as error:
            raise RowsError(f"{subject}: {error.strerror}", column=column) from error
        except RuntimeError as error:
            raise RowsError(f"{subject}: a link to itself", column=column) from error
        return self._image_file(ImageFile(name, data), subject, column, stored)

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
        """Stores the picture in a file. Raises PictureError and OSError."""
        picture = read_picture(data)
        self.pictures.keep(picture)
        return KeptPicture(picture.sha256, picture.suffix, difference_hash(picture))

    def _fetch_images(self, drafts: Sequence[ItemDraft]) -> _FetchedDrafts:
        """Fetches the remote images that are not stored yet."""
        urls = set()
        for draft in drafts:
            urls |= {image.url for image in draft.images if image.url and not image.sha256}
        missing = sorted(urls)
        starts = range(0, len(missing), FETCHED_AT_ONCE)
        batches = [missing[start : start + FETCHED_AT_ONCE] for start in starts]
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
        return _FetchedDrafts(with_pictures, tuple(problems))


class _KnownItems:
    """Index of known items, to find the item of a predictions row."""

    def __init__(self, known: Sequence[KnownItem]) -> None:
        self._by_key = {item.key: item.id for item in known}
        self._by_names: dict[tuple[str, tuple[str, ...]], int | None] = {}
        for item in known:
            files = tuple(composed_name(last_part(name)) for name in item.image_names)
            names = (folded(item.instruction), files)
            is_ambiguous = names in self._by_names
            self._by_names[names] = None if is_ambiguous else item.id

    def find(self, row: Row) -> int | None:
        """Returns the id of a row's item by its key, by instruction and URLs, or by instruction and file names.

        None if it is unknown. Raises RowsError.
        """
        if "item" in row:
            return self._by_key.get(text_in(row, "item"))
        instruction = text_in(row, "instruction")
        names = list_in(row, _image_column(row))
        by_address = self._by_key.get(item_key(instruction, names))
        files = tuple(composed_name(last_part(name)) for name in names)
        return by_address or self._by_names.get((folded(instruction), files))


def _is_verified(row: Row) -> bool:
    """Returns whether an instance's reference was verified: not rated incorrect. Raises RowsError."""
    column = "human_ratings_gpt4_correct"
    rating = row.get(column)
    if rating is None:
        return True
    word = str(rating).strip().lower()
    if word not in ("true", "false"):
        raise RowsError(f"is {rating!r}. Write True or False", column=column)
    return word != "false"


def _answer_column(records: Sequence[Record], file: Path, model: str | None) -> _AnswerColumn:
    """Returns the column of the answers; `model`: the name that the caller gives. Raises RowsError."""
    if not records:
        raise RowsError("has no rows", file.name)
    columns = list(records[0].values)
    answer_columns = [
        column
        for column in columns
        if column.endswith(PREDICTION) and column.removesuffix(PREDICTION).strip()
    ]
    if model is not None:
        model = model.strip()
        if not model:
            raise RowsError("the model's name is empty. Give one with --model", file.name, 1)
        if f"{model}{PREDICTION}" in answer_columns:
            return _AnswerColumn(f"{model}{PREDICTION}", model)
        if "prediction" in columns:
            return _AnswerColumn("prediction", model)
    if len(answer_columns) == 1:
        column = answer_columns[0]
        return _AnswerColumn(column, model or column.removesuffix(PREDICTION).strip())
    expected = 'It needs one column "<model name> prediction", or "prediction" and --model'
    raise RowsError(f"the columns are {', '.join(columns)}. {expected}", file.name, 1)


def text_in(row: Row, column: str, may_be_empty: bool = False) -> str:
    """Returns the text in a cell. Raises RowsError for no text, and for an empty one unless it `may_be_empty`."""
    value = row.get(column)
    if not isinstance(value, str):
        problem = "is missing" if value is None else f"is {type(value).__name__}, not text"
        raise RowsError(f"{problem}. The columns are {', '.join(row)}", column=column)
    if not may_be_empty and not value.strip():
        raise RowsError("is empty. Write a text", column=column)
    return value


def _image_column(row: Row, default: str = "image") -> str:
    return _first_column(row, _IMAGES, default)


def _first_column(row: Row, columns: Sequence[str], default: str) -> str:
    """Returns the first of these columns with a value, else the first that exists, else the default."""
    existing = [name for name in columns if name in row]
    filled = [name for name in existing if row[name]]
    candidates = [*filled, *existing, default]
    return candidates[0]


def list_in(row: Row, column: str) -> list[str]:
    """Returns the list of texts in a cell, which may be JSON text or a single plain string. Raises RowsError."""
    value: Any = row.get(column)
    if isinstance(value, str) and value.lstrip().startswith("["):
        with row_errors(column=column):
            value = parse_json(value)
    elif isinstance(value, str):
        value = [text_in(row, column)]
    return texts_in(value, column)


def credit_line(credit: Mapping[str, JSON]) -> str:
    """Returns an image's credit line: its creator, source and statement."""
    return ", ".join(str(credit[name]) for name in CREDIT_PARTS if credit.get(name))


def _listed_rights(row: Row, count: int) -> list[Rights]:
    """Returns the rights in each image, from `credits`, a list of objects."""
    cell: Any = row["credits"]
    is_list = isinstance(cell, list) and len(cell) == count
    if not is_list or not all(isinstance(entry, dict) for entry in cell):
        raise RowsError(f"must be a list of {count} credits, one per image", column="credits")
    return [Rights(credit_line(entry), str(entry.get("licence") or "")) for entry in cell]


def _row_rights(row: Row, count: int) -> list[Rights]:
    """Returns the rights in each image, from `credit` and `licence`: a text for all, or one an image."""
    image_credits = _text_of_each(row, "credit", count)
    licences = _text_of_each(row, "licence", count)
    return list(map(Rights, image_credits, licences))


def _text_of_each(row: Row, column: str, count: int) -> list[str]:
    """Returns the text of a column for each image. Raises RowsError."""
    cell = row.get(column) or ""
    if not isinstance(cell, list):
        return [str(cell)] * count
    if len(cell) != count:
        raise RowsError(
            f"has {len(cell)} texts for {count} images. Give one text, or one per image",
            column=column,
        )
    return [str(text or "") for text in cell]


def _with_captions(
    images: Iterable[ImageDraft], captions: Sequence[str], rights: Sequence[Rights]
) -> tuple[ImageDraft, ...]:
    """Returns the images with their captions, credits and licences."""
    captioned = []
    for image, caption, (credit, licence) in zip(images, captions, rights, strict=True):
        captioned.append(replace(image, caption=caption, credit=credit, licence=licence))
    return tuple(captioned)


def captions_in(row: Row, count: int) -> list[str]:
    """Returns an instance's captions, one an image, from any of the authors' columns, or blanks. Raises RowsError."""
    columns = [name for name in _CAPTIONS if row.get(name)]
    if not columns:
        return [""] * count
    column = columns[0]
    captions: Any = row[column]
    if isinstance(captions, str):
        # VisIT-Bench's file fills its lists of ten captions with NaN, which isn't JSON.
        json_text = _STRING_OR_NAN.sub(lambda match: match[1] or "null", captions)
        is_list = column.startswith("images") or _LIST_START.match(json_text)
        with row_errors(column=column):
            captions = parse_json(json_text) if is_list else [captions]
    if not isinstance(captions, list) or len(captions) < count or any(captions[count:]):
        raise RowsError(f"must be a list of {count} captions, one per image", column=column)
    return [str(caption or "") for caption in captions[:count]]


def _visit_rights(row: Row, count: int) -> list[Rights]:
    """Returns the rights in each image, from `public_images_metadata`.

    The cell is an object for all images, or has one object an image, in a list or by name.
    """
    metadata: Any = row.get("public_images_metadata")
    if isinstance(metadata, str) and len(metadata) <= _LONGEST_RIGHTS:
        literal = _STRING_OR_WORD.sub(lambda word: _PYTHON_WORDS.get(word[0], word[0]), metadata)
        with contextlib.suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            metadata = ast.literal_eval(literal)
    if isinstance(metadata, dict) and len(metadata) == count:
        entries = list(metadata.values())
        if all(isinstance(entry, dict) for entry in entries):
            metadata = entries
    has_one_each = isinstance(metadata, list) and len(metadata) == count
    entries = metadata if has_one_each else [metadata] * count
    return [
        Rights(_field_text(entry, _CREDITS), _field_text(entry, _LICENCES)) for entry in entries
    ]


def _field_text(entry: Any, names: Iterable[str]) -> str:
    """Returns the first of these fields with a text, on one line; the case of field names doesn't matter."""
    if not isinstance(entry, dict):
        return ""
    texts: dict[str, str] = {}
    for name, value in entry.items():
        text = " ".join(value.split()) if isinstance(value, str) else ""
        # A literal may have escaped characters that no database stores, such as a zero byte.
        if text and text.isprintable():
            texts[str(name).lower()] = text[:_LONGEST_RIGHTS_TEXT]
    return next((texts[name] for name in names if name in texts), "")


def _answers(row: Row) -> dict[str, str]:
    """Returns a row's answers by model name, without blanks around it. Raises RowsError."""
    answers = row.get("answers", {})
    is_object = isinstance(answers, dict)
    if not is_object or not all(
        isinstance(text, str) and name.strip() for name, text in answers.items()
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
    path = name
    if "://" in name:
        path = _PARAMETERS.split(name)[0]
    return PurePosixPath(unquote(path)).name


def _is_address(name: str) -> bool:
    try:
        parts = urlsplit(name)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
