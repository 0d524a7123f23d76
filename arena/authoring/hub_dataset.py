"""Hub dataset: accepted items as Parquet with their pictures, a folder of images where each has one, and a card."""

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from string import Template
from typing import Any, NamedTuple
from uuid import UUID

from arena.authoring.board import agreement, step_minutes, yield_table
from arena.authoring.events import KIND_OF, Credit
from arena.authoring.spec import project_of
from arena.authoring.store import Draft
from arena.formats.parquet import write_dataset
from arena.interval_text import spanned
from arena.ratings.shares import Share
from arena.seats.campaigns import Campaign
from arena.templates import plural

PARQUET = "data/test-00000-of-00001.parquet"
IMAGE_FOLDER = "imagefolder"
"""The folder for `datasets`' loader `imagefolder`, written if every item has one image."""
_IMAGE_FOLDER_WORDS = (
    f"\n`{IMAGE_FOLDER}/` has the same items as files, with `metadata.jsonl`: "
    f'`load_dataset("imagefolder", data_dir="{IMAGE_FOLDER}")`.\n'
)
TOP_NAMES = ("README.md", "data", IMAGE_FOLDER)
"""The top-level names of a dataset's folder."""
_CARD = Path(__file__).parent / "hub_card.md"
_TEXT_FEATURE = {"_type": "Value", "dtype": "string"}
_CREDIT = ("creator", "source", "licence", "statement")
FEATURES: Mapping[str, Any] = {
    "id": _TEXT_FEATURE,
    "family": _TEXT_FEATURE,
    "instruction": _TEXT_FEATURE,
    "images": {"_type": "Sequence", "feature": {"_type": "Image"}},
    "captions": {"_type": "Sequence", "feature": _TEXT_FEATURE},
    "reference": _TEXT_FEATURE,
    "credits": [dict.fromkeys(_CREDIT, _TEXT_FEATURE)],
    "verified_by": {"_type": "Value", "dtype": "int32"},
    "created": _TEXT_FEATURE,
}
"""The columns, as `datasets` describes them."""
_TEXT_COLUMNS = ("captions", "reference")
"""The columns that a sealed project's dataset lacks."""
_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}
"""The Hub's names of sizes, by the number of items that each stays below."""
_LANGUAGE = re.compile("[a-z]{2,3}")
_CONTACT = re.compile(r"[!-~]{3,200}")


class CardError(ValueError):
    """Words of a card are malformed; the message says what is expected."""


class CardWords(NamedTuple):
    """An operator's words about a dataset: the language of its items, and a contact."""

    language: str
    contact: str

    def check(self) -> None:
        """Raises CardError for malformed words."""
        if not _LANGUAGE.fullmatch(self.language):
            raise CardError(
                f"--language is {self.language[:80]!r}. Write an ISO 639 code, such as en, de or zh."
            )
        if not _CONTACT.fullmatch(self.contact):
            raise CardError(
                f"--contact is {self.contact[:80]!r}. Give an e-mail address or a page for people who made a "
                "picture or are in it."
            )


class ExportedPicture(NamedTuple):
    """A picture of an item: its file, its credit, and the licence that it is published under."""

    file: Path
    credit: Credit
    licence: str


@dataclass(frozen=True)
class ExportedItem:
    """An accepted item as it is exported."""

    draft: int
    key: str
    family: str
    instruction: str
    pictures: tuple[ExportedPicture, ...]
    captions: tuple[str, ...] | None
    reference: str | None
    """captions, reference: None if they are withheld."""
    verified_by: int
    """Verifiers who found the reference correct."""
    created: str
    """The time when it was begun, by ISO 8601 (UTC)."""

    @property
    def texts(self) -> dict[str, Any]:
        """The captions and the reference by column; empty if they are withheld."""
        if self.captions is None:
            return {}
        return {"captions": [*self.captions], "reference": self.reference}


def write_hub(
    folder: Path,
    project: Campaign,
    drafts: Sequence[Draft],
    items: Sequence[ExportedItem],
    words: CardWords,
) -> None:
    """Writes the files of a dataset. Raises CardError and OSError."""
    words.check()
    withheld_columns = [] if items[0].texts else [*_TEXT_COLUMNS]
    features = {name: feature for name, feature in FEATURES.items() if name not in withheld_columns}
    (folder / PARQUET).parent.mkdir()
    write_dataset(folder / PARQUET, features, map(_parquet_row, items))
    if all(len(item.pictures) == 1 for item in items):
        _write_image_folder(folder / IMAGE_FOLDER / "test", items)
    (folder / "README.md").write_text(
        _card(project, drafts, items, words, withheld_columns), "utf-8"
    )


def _parquet_row(item: ExportedItem) -> dict[str, Any]:
    return {
        "id": item.key,
        "family": item.family,
        "instruction": item.instruction,
        "images": [
            {"bytes": picture.file.read_bytes(), "path": picture.file.name}
            for picture in item.pictures
        ],
        **item.texts,
        "credits": [
            {**picture.credit.model_dump(), "licence": picture.licence} for picture in item.pictures
        ],
        "verified_by": item.verified_by,
        "created": item.created,
    }


def _write_image_folder(folder: Path, items: Iterable[ExportedItem]) -> None:
    folder.mkdir(parents=True)
    with (folder / "metadata.jsonl").open("w", encoding="utf-8") as lines:
        for item in items:
            (picture,) = item.pictures
            name = f"{item.key}{picture.file.suffix}"
            shutil.copyfile(picture.file, folder / name)
            texts = {}
            if item.captions is not None:
                texts = {"caption": item.captions[0], "reference": item.reference}
            row = {
                "file_name": name,
                "id": item.key,
                "family": item.family,
                "instruction": item.instruction,
                **texts,
                **picture.credit.model_dump(),
                "licence": picture.licence,
                "verified_by": item.verified_by,
                "created": item.created,
            }
            lines.write(f"{json.dumps(row, ensure_ascii=False)}\n")


def _card(
    project: Campaign,
    drafts: Sequence[Draft],
    items: Sequence[ExportedItem],
    words: CardWords,
    withheld_columns: Sequence[str],
) -> str:
    """Returns the data card: `hub_card.md` with this project's numbers."""
    spec = project_of(project.spec)
    agreed_share = agreement(drafts)
    agreement_words = "not measured, since each answer had one verifier"
    if agreed_share is not None:
        agreement_words = f"{agreed_share:.1%} of pairs of verdicts"
    withheld = "none"
    if withheld_columns:
        withheld = (
            f"{' and '.join(withheld_columns)}, to avoid contamination. To score answers with them, upload a file with "
            "the columns `item` (the `id` here) and `prediction` on the page *Score a model* of the site that made this"
        )
    has_image_folder = all(len(item.pictures) == 1 for item in items)
    return Template(_CARD.read_text("utf-8")).substitute(
        name=project.name,
        license=spec.licence.lower().replace(" ", "-"),
        licence=spec.licence,
        language=words.language,
        contact=words.contact,
        size=_size(len(items)),
        items=plural(len(items), "item"),
        pictures=plural(sum(len(item.pictures) for item in items), "image"),
        families=_table(("family", "items"), Counter(item.family for item in items).items()),
        drafters=_table(("written by", "references"), _drafters(drafts).items()),
        people=_table(("step", "people", "median minutes"), _people_rows(drafts)),
        verifiers=plural(spec.verifiers, "other person"),
        pay=f"{spec.seat.pay:g} {spec.seat.currency} for up to {plural(spec.seat.votes, 'step')}",
        yields=_table(
            ("first judgement", "all", "one image", "several images"), _yield_rows(drafts)
        ),
        agreement=agreement_words,
        licences=_table(
            ("licence", "images"),
            Counter(picture.licence for item in items for picture in item.pictures).items(),
        ),
        withheld=withheld,
        image_folder=_IMAGE_FOLDER_WORDS if has_image_folder else "",
        canary=UUID(bytes=hashlib.sha256(b"canary of " + project.key).digest()[:16], version=4),
    )


def _size(items: int) -> str:
    """Returns the Hub's name of a data set's size."""
    for limit, name in _SIZES.items():
        if items < limit:
            return name
    return "n>1M"


def _table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns a Markdown table."""
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    for row in rows:
        lines.append(f"| {' | '.join(map(_cell, row))} |")
    return "\n".join(lines)


def _cell(value: object) -> str:
    """Returns a value as one line, with its bars escaped."""
    line = " ".join(str(value).split())
    return line.replace("|", "\\|")


def _drafters(drafts: Iterable[Draft]) -> Counter[str]:
    """Counts the references of accepted items by their writer."""
    answers = (draft.state.answer for draft in drafts if draft.state.step == "accepted")
    return Counter(answer.model or "a person" for answer in answers if answer)


def _people_rows(drafts: Sequence[Draft]) -> Iterator[tuple[str, int, str]]:
    """Yields each step's kind, its number of people, and its median minutes."""
    for step in step_minutes(drafts):
        events = chain.from_iterable(draft.events for draft in drafts)
        seats = {event.seat for event in events if KIND_OF[type(event.value)] == step.kind}
        seats.discard(None)
        yield step.kind, len(seats), "–" if step.median is None else f"{step.median:.1f}"


def _yield_rows(drafts: Iterable[Draft]) -> Iterator[tuple[str, ...]]:
    for row in yield_table(drafts):
        yield row.metric, percent(row.overall), percent(row.single), percent(row.multi)


def percent(share: Share) -> str:
    """Returns a share with its interval as text; – if its total is zero."""
    if share.value is None:
        return "–"
    return f"{share.value:.1%} ({spanned(share.low, share.high, '.1%')}) of {share.n:,}"
