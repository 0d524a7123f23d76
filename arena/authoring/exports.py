"""Exports: a project's accepted items as a folder for the item bank, a Hub dataset, or VisIT-Bench's table;
multiple-choice questions as VLMEvalKit's table.

Captions, references and keys of a sealed project are left out, unless the operator asks for them.
"""

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from arena.authoring.choice_tsv import CHOICE_COLUMNS, choice_row
from arena.authoring.events import ItemPicture
from arena.authoring.hub_dataset import CardWords, ExportedItem, ExportedPicture, write_hub
from arena.authoring.spec import project_of
from arena.authoring.store import Draft, DraftStore
from arena.authoring.visit_csv import VISIT_COLUMNS, visit_row
from arena.io.csv_text import write_csv
from arena.io.images import PictureStore
from arena.items.importers import credit_line
from arena.seats.campaigns import Campaign
from arena.types import item_key

Form = Literal["bank", "hub", "visit", "tsv"]
_MOST_LISTED = 20
"""The most items that a sentence names."""


class ExportError(ValueError):
    """A project cannot be exported; the message names it, the item and the field, and says how to fix it."""


@dataclass(frozen=True)
class ItemExportCounts:
    """The counts of an export: items written, and items left out."""

    items: int
    left_out: Mapping[str, int]
    """Counts by the reason for leaving items out."""
    unfetched: tuple[int, ...] = ()
    """Accepted items with a picture that is only known by its address."""


class _StoredItems(NamedTuple):
    """The items of an export, with all their pictures stored, and their counts."""

    items: list[ExportedItem]
    counts: ItemExportCounts


class Exports:
    """The exports of one database's projects; `pictures` stores their items' pictures."""

    def __init__(self, drafts: DraftStore, pictures: PictureStore) -> None:
        self._drafts = drafts
        self._pictures = pictures

    def write(
        self,
        project: Campaign,
        form: Form,
        folder: Path,
        with_texts: bool = False,
        words: CardWords | None = None,
    ) -> ItemExportCounts:
        """Writes a new folder, whole or not at all. Raises ExportError and OSError.

        `with_texts`: also the captions, references and keys of a sealed project.
        `words`: the words of the card, for `hub`.
        """
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ExportError(f"{folder} isn't empty. Choose a new folder.")
        is_choice = project_of(project.spec).is_choice
        if form == "tsv" and not is_choice:
            raise ExportError(
                f"{project.name} has no multiple-choice questions. Write --as bank, hub or visit."
            )
        if form != "tsv" and is_choice:
            raise ExportError(f"{project.name} has multiple-choice questions. Write --as tsv.")
        if form == "hub" and words is None:
            raise ExportError("A Hub dataset needs a card. Give --language and --contact.")
        with_texts = with_texts or project_of(project.spec).visibility == "open"
        drafts = self._drafts.drafts(project)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".being-written-") as parent:
            new_folder = Path(parent) / "export"
            new_folder.mkdir()
            if form == "visit":
                counts = self._write_visit(project, drafts, new_folder, with_texts)
            elif form == "tsv":
                counts = self._write_tsv(project, drafts, new_folder, with_texts)
            else:
                stored = self._items(project, drafts, with_texts)
                counts = stored.counts
                if form == "hub":
                    assert words is not None
                    write_hub(new_folder, project, drafts, stored.items, words)
                else:
                    _write_bank(new_folder, stored.items)
            new_folder.rename(folder)
        return counts

    def _items(self, project: Campaign, drafts: Sequence[Draft], with_texts: bool) -> _StoredItems:
        """Returns the accepted items with all their pictures stored. Raises ExportError."""
        items: dict[str, ExportedItem] = {}
        unfetched = []
        for draft in drafts:
            if draft.state.step != "accepted":
                continue
            assert draft.state.instruction and draft.state.answer
            if not all(picture.name for picture in draft.state.instruction.pictures):
                unfetched.append(draft.id)
                continue
            item = self._item(project, draft, with_texts)
            twin = items.get(item.key)
            if twin is not None:
                raise ExportError(
                    f"{project.name}: items {twin.draft} and {item.draft} have the same instruction and pictures, "
                    "and an item can exist only once. Remove one: "
                    f"python -m arena drafts reject {project.name} {item.draft} --fault instruction"
                )
            items[item.key] = item
        left_out = {
            "rejected": sum(draft.state.step == "rejected" for draft in drafts),
            "not finished": sum(draft.state.is_open for draft in drafts),
            "with a picture that isn't stored here": len(unfetched),
        }
        return _StoredItems(list(items.values()), _counts(project, len(items), left_out, unfetched))

    def _item(self, project: Campaign, draft: Draft, with_texts: bool) -> ExportedItem:
        state = draft.state
        own_licence = project_of(project.spec).licence
        assert state.instruction and state.answer
        pictures = []
        for picture in state.instruction.pictures:
            credit = picture.credit
            licence = own_licence if credit.licence == "own" else credit.licence or ""
            file = self._file(project, draft, picture)
            pictures.append(ExportedPicture(file, credit, licence))
        return ExportedItem(
            draft=draft.id,
            key=item_key(
                state.instruction.text, [picture.sha256 for picture in state.instruction.pictures]
            ),
            family=draft.family,
            instruction=state.instruction.text,
            pictures=tuple(pictures),
            captions=state.captions if with_texts else None,
            reference=state.answer.text if with_texts else None,
            verified_by=sum(verdict.said == "correct" for verdict in state.verdicts),
            created=draft.created_at.isoformat(),
        )

    def _file(self, project: Campaign, draft: Draft, picture: ItemPicture) -> Path:
        """Returns the file of a stored picture. Raises ExportError."""
        path = self._pictures.path(picture.name)
        if path is None:
            raise ExportError(
                f"{project.name}, item {draft.id}: the picture {picture.name} is missing. Restore it from a copy of "
                f"DATA_DIR/pictures, or remove the item: python -m arena drafts reject "
                f"{project.name} {draft.id} --fault picture"
            )
        return path

    def _write_tsv(
        self, project: Campaign, drafts: Sequence[Draft], folder: Path, with_texts: bool
    ) -> ItemExportCounts:
        """Writes the table of accepted questions with their pictures. Raises ExportError."""
        spec = project_of(project.spec)
        accepted = [draft for draft in drafts if draft.state.step == "accepted"]
        picture_files = [self._file(project, draft, _only_picture(draft)) for draft in accepted]
        rows = (
            choice_row(draft, picture_file, spec, with_keys=with_texts).values()
            for draft, picture_file in zip(accepted, picture_files, strict=True)
        )
        with (folder / f"{project.name}.tsv").open("w", encoding="utf-8", newline="") as table:
            write_csv(table, chain([CHOICE_COLUMNS], rows), exact=True, delimiter="\t")
        left_out = {
            "rejected": sum(draft.state.step == "rejected" for draft in drafts),
            "not finished": sum(draft.state.is_open for draft in drafts),
        }
        return _counts(project, len(accepted), left_out)

    def _write_visit(
        self, project: Campaign, drafts: Sequence[Draft], folder: Path, with_texts: bool
    ) -> ItemExportCounts:
        """Writes the table of verified items, with uploaded pictures beside it. Raises ExportError."""
        if not with_texts:
            raise ExportError(
                f"{project.name} is sealed, and VisIT-Bench's table has captions and answers. Add --with-texts and "
                "keep the folder private, or choose --as bank."
            )
        own_licence = project_of(project.spec).licence
        verified = [draft for draft in drafts if _has_visit_row(draft)]
        for draft in verified:
            assert draft.state.instruction
            for picture in draft.state.instruction.pictures:
                if not picture.url:
                    shutil.copyfile(self._file(project, draft, picture), folder / picture.name)
        unfinished = sum(draft.state.is_open for draft in drafts)
        removed = len(drafts) - len(verified) - unfinished
        left_out = {
            "removed, or with a fault that the table has no column for": removed,
            "not finished": unfinished,
        }
        counts = _counts(project, len(verified), left_out)
        with (folder / f"{project.name}.csv").open("w", encoding="utf-8", newline="") as file:
            write_csv(
                file,
                [VISIT_COLUMNS, *(visit_row(draft, own_licence).values() for draft in verified)],
                exact=True,
            )
        return counts


def _only_picture(draft: Draft) -> ItemPicture:
    """Returns the picture of a multiple-choice question, which has exactly one."""
    assert draft.state.instruction
    (picture,) = draft.state.instruction.pictures
    return picture


def _has_visit_row(draft: Draft) -> bool:
    """Returns whether VisIT-Bench's table has a row for a draft: it is accepted, or has a fault that the columns can
    express.
    """
    state = draft.state
    if state.step != "rejected":
        return state.step == "accepted"
    # The fault is the verifiers', not one for which an operator removed the item.
    is_verifiers_fault = bool(state.judgements) and state.judgements[-1] == state.fault
    return is_verifiers_fault and state.fault in ("caption", "answer", "not told")


def _counts(
    project: Campaign, items: int, left_out: Mapping[str, int], unfetched: Sequence[int] = ()
) -> ItemExportCounts:
    """Returns the counts of an export. Raises ExportError if it has no items."""
    reasons = {reason: number for reason, number in left_out.items() if number}
    counts = ItemExportCounts(items, reasons, tuple(unfetched))
    if not items:
        raise ExportError(
            f"{project.name} has no items to export yet. {left_out_text(counts)}".strip()
        )
    return counts


def left_out_text(counts: ItemExportCounts) -> str:
    """Returns sentences about items left out and how to include them; empty if none."""
    if not counts.left_out:
        return ""
    reasons = ", ".join(f"{number} {reason}" for reason, number in counts.left_out.items())
    sentence = f"Left out: {reasons}."
    if counts.unfetched:
        numbers = ", ".join(map(str, counts.unfetched[:_MOST_LISTED]))
        if len(counts.unfetched) > _MOST_LISTED:
            numbers += ", ..."
        sentence += (
            f" Items {numbers} have only the addresses of their pictures. To import them with pictures: "
            "python -m arena items visit FILE --fetch-images."
        )
    return sentence


def _write_bank(folder: Path, items: Sequence[ExportedItem]) -> None:
    """Writes `items.jsonl` and its images, as `items.importers` reads them."""
    (folder / "images").mkdir()
    with (folder / "items.jsonl").open("w", encoding="utf-8") as lines:
        for item in items:
            for picture in item.pictures:
                shutil.copyfile(picture.file, folder / "images" / picture.file.name)
            row = {
                "images": [f"images/{picture.file.name}" for picture in item.pictures],
                "instruction": item.instruction,
                "family": item.family,
                **item.texts,
                "credit": [credit_line(picture.credit.model_dump()) for picture in item.pictures],
                "licence": [picture.licence for picture in item.pictures],
            }
            lines.write(f"{json.dumps(row, ensure_ascii=False)}\n")
