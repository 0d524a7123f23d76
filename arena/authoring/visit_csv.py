"""VisIT-Bench's public table of multi-image items as finished drafts, and back, cell for cell.

The table has only the pictures' addresses. One of its hundred rows is marked incorrect without a fault in the caption
or in GPT-4's answer.
"""

import json
from collections import Counter
from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import NamedTuple

from arena.authoring.events import (
    AnyValue,
    Captions,
    Credit,
    DraftAnswer,
    Instruction,
    ItemPicture,
    Judged,
    Reject,
    Verification,
)
from arena.authoring.spec import ITEM_KINDS, MOST_PICTURES, ProjectSpec, TextLicence, project_of
from arena.authoring.store import Draft, DraftStore, FinishedDraft
from arena.io.strict_json import RowsError, row_errors
from arena.io.tables import COMMAND_LINE, Record, read_records, require_columns
from arena.items.importers import Row, captions_in, list_in, text_in
from arena.seats.campaigns import Campaign, CampaignStore, Note
from arena.seats.spec import CampaignError, read_spec
from arena.types import item_key

TASK = ITEM_KINDS["captions"].task
DRAFTER = "GPT-4"
"""The model that wrote the table's answers."""
_IS_CORRECT = "human_ratings_gpt4_correct"
_IS_CAPTION_FAULTY = "human_ratings_problem_in_caption"
_IS_ANSWER_FAULTY = "human_ratings_problem_in_gpt4"
_RIGHTS = "public_images_metadata"
_UNCHANGED_COLUMNS = ("images_blip2_captions", "reference_output", _RIGHTS)
"""Columns that no step here writes; they are stored unchanged."""
VISIT_COLUMNS = (
    "instruction_category",
    "images",
    "is_multiple_images",
    "instruction",
    "gpt4_prediction",
    "images_dense_captions",
    "images_blip2_captions",
    "reference_output",
    _IS_CORRECT,
    _IS_CAPTION_FAULTY,
    _IS_ANSWER_FAULTY,
    _RIGHTS,
)
"""The table's columns, in order."""


class VisitImport(NamedTuple):
    """The outcome of an import."""

    project: Campaign
    new_items: int


def read_visit(path: Path) -> list[FinishedDraft]:
    """Returns the rows of a table. Raises RowsError, which names file, row and column."""
    drafts = []
    for record in read_records(path, COMMAND_LINE):
        with row_errors(path.name, record.row):
            drafts.append(_finished_draft(record))
    if not drafts:
        raise RowsError("has no rows. Choose VisIT-Bench's table", path.name)
    return drafts


def import_visit(
    campaigns: CampaignStore, store: DraftStore, path: Path, name: str, note: Note | None = None
) -> VisitImport:
    """Imports a table into the project of this name, which the first import makes.

    Raises RowsError, and CampaignError if another kind of campaign has the name, or the project has three verifiers.
    """
    drafts = read_visit(path)
    project = campaigns.find(name)
    # For a name that another kind of campaign has, `create` raises the error.
    if project is None or project.task != TASK:
        wanted = Counter(draft.family for draft in drafts)
        families = [{"name": family, "wanted": number} for family, number in wanted.items()]
        values = {
            "name": name,
            "seat": {"votes": 1, "pay": 0},
            "free_pictures": False,
            "families": families,
        }
        try:
            spec = read_spec(ProjectSpec, values)
        except CampaignError as error:
            raise CampaignError(
                f"{path.name} can't become the project {name[:80]!r}: {error}"
            ) from None
        project = campaigns.create(TASK, spec, note, end_reason="its items were imported finished")
    if project_of(project.spec).verifiers != 1:
        raise CampaignError(
            f"{name} needs three verifiers, but the table has one verdict per row. Choose another name."
        )
    return VisitImport(project, store.add_finished(project, drafts))


def _finished_draft(record: Record) -> FinishedDraft:
    """Returns a row as the actions on a draft. Raises RowsError."""
    row = record.values
    require_columns(record, VISIT_COLUMNS)
    addresses = list_in(row, "images")
    text = text_in(row, "instruction")
    if len(addresses) > MOST_PICTURES:
        raise RowsError(
            f"has {len(addresses)} images, more than {MOST_PICTURES}. Remove some",
            column="images",
        )
    if _flag(row, "is_multiple_images") is not (len(addresses) > 1):
        raise RowsError(
            f"is {row['is_multiple_images']}, and images has {len(addresses)}",
            column="is_multiple_images",
        )
    instruction = Instruction(
        text=text,
        pictures=tuple(ItemPicture(url=address) for address in addresses),
        columns={column: text_in(row, column, may_be_empty=True) for column in _UNCHANGED_COLUMNS},
    )
    judgement = _judgement(row)
    captions = Captions(texts=tuple(captions_in(row, len(addresses))))
    answer = DraftAnswer(text=text_in(row, "gpt4_prediction"), model=DRAFTER)
    values: list[AnyValue] = [instruction, captions, answer, Verification(said=judgement)]
    if judgement != "correct":
        # Here a fault can return a draft to an earlier step; in the table it was final.
        values.append(Reject(fault=judgement))
    return FinishedDraft(
        origin=item_key(text, addresses),
        family=text_in(row, "instruction_category"),
        values=tuple(values),
    )


def _judgement(row: Row) -> Judged:
    is_correct = _flag(row, _IS_CORRECT)
    is_caption_faulty = _flag(row, _IS_CAPTION_FAULTY)
    is_answer_faulty = _flag(row, _IS_ANSWER_FAULTY)
    if [is_correct, is_caption_faulty, is_answer_faulty].count(True) > 1:
        raise RowsError(
            f"only one of it, {_IS_CAPTION_FAULTY} and {_IS_ANSWER_FAULTY} can be True. Correct the row",
            column=_IS_CORRECT,
        )
    if is_correct:
        return "correct"
    if is_caption_faulty:
        return "caption"
    return "answer" if is_answer_faulty else "not told"


def _flag(row: Row, column: str) -> bool:
    text = str(row[column])  # JSON and Parquet have True itself
    if text not in ("True", "False"):
        raise RowsError(f"is {text[:60]!r}. Write True or False", column=column)
    return text == "True"


def visit_row(draft: Draft, own_licence: TextLicence) -> dict[str, str]:
    """Returns a verified draft as a row of the table, its pictures by address or name. Raises ValueError.

    `own_licence`: the licence of pictures that people made themselves.
    """
    state = draft.state
    if not (state.instruction and state.answer and state.judgements):
        raise ValueError(f"item {draft.id} isn't verified, so it has no row")
    judgement = state.judgements[-1]
    pictures = state.instruction.pictures
    # The table's list always has MOST_PICTURES captions. Those of pictures that an item lacks are NaN.
    captions: Sequence[str | float] = [
        *state.captions,
        *[nan] * (MOST_PICTURES - len(state.captions)),
    ]
    values = {
        "instruction_category": draft.family,
        "images": json.dumps([picture.url or picture.name for picture in pictures]),
        "is_multiple_images": str(len(pictures) > 1),
        "instruction": state.instruction.text,
        "gpt4_prediction": state.answer.text,
        "images_dense_captions": json.dumps(captions),
        _IS_CORRECT: str(judgement == "correct"),
        _IS_CAPTION_FAULTY: str(judgement == "caption"),
        _IS_ANSWER_FAULTY: str(judgement == "answer"),
        **{column: state.instruction.columns.get(column, "") for column in _UNCHANGED_COLUMNS},
    }
    # An imported draft keeps its own cell, also an empty one.
    if not values[_RIGHTS] and not draft.origin:
        values[_RIGHTS] = json.dumps(
            [_credit_cell(picture.credit, own_licence) for picture in pictures]
        )
    return {column: values[column] for column in VISIT_COLUMNS}


def _credit_cell(credit: Credit, own_licence: TextLicence) -> dict[str, str]:
    """Returns a picture's credit with the keys that `items.importers` reads in this table."""
    licence = own_licence if credit.licence == "own" else credit.licence or ""
    return {"creator": credit.creator, "license": licence, "source": credit.source}
