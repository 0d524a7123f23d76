"""Reading sheets: how often extractors choose as people do, with MMBench's numbers, and the answers that differ."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from arena.ratings.shares import Share
from arena.sheets import Column, Sheet, estimate, estimate_cells
from scoring.people.published import PAPER_ALIGNED, PAPER_CASES, PAPER_MISALIGNED, PAPER_READ
from scoring.people.reading_files import ExtractedFile
from scoring.people.readings import Alignment, PersonReading, peoples_choices

_NOTE = (
    "Case I: people or the extractor say that the answer means none of the options, and the other one chose an option. "
    f"Case II: they chose two options. MMBench's rows are of section 4.3 and Figure 5: {PAPER_READ} answers that exact "
    f"matching left open; of ChatGPT's {PAPER_MISALIGNED} disagreements {PAPER_CASES[0]:.0%} are case I, "
    f"{PAPER_CASES[1]:.0%} case II."
)
_COLUMNS = (
    Column("extractor", "Who chose"),
    Column("model", "Answers of"),
    Column("answers", "n", "count"),
    estimate("same", "Same choice as people", "percent"),
    estimate("one_none", "Case I", "percent"),
    Column("chose", "Case I: people say none", "count"),
    estimate("other_option", "Case II", "percent"),
)
_UNREAD = Column("unread", "Not read, in no share", "count")


def alignment_sheet(alignments: Sequence[Alignment]) -> Sheet:
    """A row for each extractor and model, followed by the paper's rows."""
    columns = _COLUMNS
    if any(alignment.unread for alignment in alignments):
        columns = (*_COLUMNS, _UNREAD)
    rows = [*map(_alignment_row, alignments), *_published_rows()]
    frame = pd.DataFrame(rows, columns=[key for column in columns for key in column.keys])
    return Sheet("alignment", "How often extractors and people agree", frame, columns, _NOTE)


def _alignment_row(alignment: Alignment) -> dict[str, Any]:
    return {
        "extractor": alignment.extractor,
        "model": alignment.model,
        "answers": alignment.answers,
        "chose": alignment.chose,
        "unread": alignment.unread,
        **_cells("same", alignment.same),
        **_cells("one_none", alignment.one_none),
        **_cells("other_option", alignment.other_option),
    }


def _cells(key: str, share: Share) -> dict[str, float | None]:
    if not share.n:
        return estimate_cells(key, None, None, None)
    return estimate_cells(key, share.value, share.low, share.high)


def _published_rows() -> Iterable[dict[str, Any]]:
    """Yields the rows of the paper's extractors; only ChatGPT's disagreements are divided into cases."""
    for extractor, same in PAPER_ALIGNED.items():
        row = {
            "extractor": f"MMBench: {extractor}",
            "model": "8 models",
            "answers": PAPER_READ,
            "same": same,
        }
        if extractor.startswith("ChatGPT"):
            case_1, case_2 = PAPER_CASES
            row |= {
                "one_none": case_1 * PAPER_MISALIGNED / PAPER_READ,
                "other_option": case_2 * PAPER_MISALIGNED / PAPER_READ,
            }
        yield row


def differing_sheet(files: Iterable[ExtractedFile], readings: Sequence[PersonReading]) -> Sheet:
    """Answers that an extractor and people read differently, such as those in MMBench's Figure 6."""
    people = peoples_choices(readings)
    rows = []
    for file in files:
        for key, pair in file.pairs(people).items():
            if pair.is_differing:
                row = {
                    "item": key.item,
                    "model": file.model,
                    "extractor": file.extractor,
                    "case": "II" if pair.outcome == "other option" else "I",
                    "people": pair.people,
                    "chosen": pair.other,
                    "answer": file.answers[key],
                }
                rows.append(row)
    columns = (
        Column("item", "Question"),
        Column("model", "Answer of"),
        Column("extractor", "Who chose"),
        Column("case", "Case"),
        Column("people", "People"),
        Column("chosen", "Chosen"),
        Column("answer", "Answer"),
    )
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    return Sheet("apart", "Where people and extractors differ", frame, columns)
