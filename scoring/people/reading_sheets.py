"""Reading sheets: how often extractors choose what people choose, with MMBench's numbers, and where they do not."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from arena.ratings.shares import Share
from arena.sheets import Column, Sheet, estimate, estimate_cells
from scoring.people.published import PAPER_ALIGNED, PAPER_APART, PAPER_CASES, PAPER_READ
from scoring.people.readings import Alignment

_NOTE = (
    "The same: people and the extractor choose the same option, or both none. Case I: one of the two says that the answer "
    "means no option. Case II: they choose two options. Not read: nobody could say what the extractor chose; in no share. "
    f"MMBench: section 4.3 and Figure 5, {PAPER_READ} answers of 8 models that exact matching left open. Its cases are of "
    f"{PAPER_APART} answers, {PAPER_CASES[0]:.0%} and {PAPER_CASES[1]:.0%} of them."
)


def alignment_sheet(found: Sequence[Alignment]) -> Sheet:
    """A row an extractor and model, and below them the paper's."""
    columns = (
        Column("extractor", "Who chose"),
        Column("model", "Answers of"),
        Column("answers", "n", "count"),
        estimate("same", "The same as people", "percent"),
        estimate("one_none", "Case I", "percent"),
        Column("chose", "Case I: option where people say none", "count"),
        estimate("other_option", "Case II", "percent"),
        Column("unread", "Not read", "count"),
    )
    rows = [*map(_aligned, found), *_published()]
    frame = pd.DataFrame(rows, columns=[key for column in columns for key in column.keys])
    return Sheet("alignment", "How often extractors and people agree", frame, columns, _NOTE)


def _aligned(one: Alignment) -> dict[str, Any]:
    row = {"extractor": one.extractor, "model": one.model, "answers": one.answers}
    row |= {"chose": one.chose, "unread": one.unread}
    return row | _cells("same", one.same) | _cells("one_none", one.one_none) | _cells("other_option", one.other_option)


def _cells(key: str, share: Share) -> dict[str, float | None]:
    if not share.n:
        return estimate_cells(key, None, None, None)
    return estimate_cells(key, share.value, share.low, share.high)


def _published() -> Iterable[dict[str, Any]]:
    """The paper's extractors, of which ChatGPT alone has its disagreements told apart."""
    for extractor, same in PAPER_ALIGNED.items():
        row = {"extractor": f"MMBench: {extractor}", "model": "8 models", "answers": PAPER_READ, "same": same}
        if extractor.startswith("ChatGPT"):
            one_none, other_option = (share * PAPER_APART / PAPER_READ for share in PAPER_CASES)
            row |= {"one_none": one_none, "other_option": other_option}
        yield row
