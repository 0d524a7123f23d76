"""Submissions: files of answers for the servers of benchmarks whose authors keep the right answers.

json map: {id: answer} (MMMU). json list: [{"questionId": id, "answer": answer}] (DocVQA). tsv and xlsx: VLMEvalKit's
table of the questions with the predictions. In a benchmark of letters, the column `opt` has the letter that was read:
MMBench's server reads `prediction` itself, MMT-Bench's takes `opt`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from arena.io.xlsx_file import xlsx_bytes
from scoring.report import csv_bytes

Form = Literal["json map", "json list", "tsv", "xlsx"]
_CONTROL_CHARACTERS = {number: None for number in (*range(0x20), 0x7F) if chr(number) not in "\n\t"}
"""For `str.translate`, which drops them."""


class SubmittedAnswer(NamedTuple):
    """A row of a submission."""

    id: str
    answer: str
    """The answer in a JSON form."""
    cells: Mapping[str, object]
    """The cells in a table, by column."""


@dataclass(frozen=True)
class ServerSubmission:
    """A file for a benchmark's own server."""

    form: Form
    stem: str
    """The beginning of its name."""
    splits: tuple[str, ...]
    """The splits of its questions; "" for one without a name."""
    answers: Sequence[SubmittedAnswer]

    @property
    def name(self) -> str:
        ending = "json" if self.form.startswith("json") else self.form
        return f"{self.stem}_submission.{ending}"

    @property
    def sentence(self) -> str:
        """The sentence about it in a report."""
        questions = these_questions(self.splits)
        return (
            f"The right answers of {questions} are with their authors. Submit {self.name}, below."
        )

    @property
    def content(self) -> bytes:
        return _WRITERS[self.form](self.answers)


def these_questions(splits: Sequence[str]) -> str:
    """The questions of some splits in words."""
    names = [split for split in splits if split]
    if not names:
        return "these questions"
    word = "split" if len(names) == 1 else "splits"
    return f"the {word} {' and '.join(names)}"


def printable(text: str) -> str:
    """The text without control characters, line breaks and tabs apart; every line break becomes "\\n"."""
    one_kind_of_breaks = text.replace("\r\n", "\n").replace("\r", "\n")
    return one_kind_of_breaks.translate(_CONTROL_CHARACTERS)


def _json_map(answers: Sequence[SubmittedAnswer]) -> bytes:
    return _json({answer.id: answer.answer for answer in answers})


def _json_list(answers: Sequence[SubmittedAnswer]) -> bytes:
    return _json(
        [{"questionId": _number(answer.id), "answer": answer.answer} for answer in answers]
    )


def _json(value: object) -> bytes:
    return f"{json.dumps(value, indent=4)}\n".encode("ascii")


def _number(id: str) -> int | str:
    """An id as a whole number if writing the number gives the same id; else the id."""
    is_number = id.isascii() and id.isdigit() and len(id) < 16 and str(int(id)) == id
    return int(id) if is_number else id


def _tsv(answers: Sequence[SubmittedAnswer]) -> bytes:
    return csv_bytes(_heads(answers), _rows(answers), "utf-8", exact=True, delimiter="\t")


def _xlsx(answers: Sequence[SubmittedAnswer]) -> bytes:
    return xlsx_bytes(_heads(answers), _rows(answers))


def _heads(answers: Sequence[SubmittedAnswer]) -> list[str]:
    return [*dict.fromkeys(name for answer in answers for name in answer.cells)]


def _rows(answers: Sequence[SubmittedAnswer]) -> list[list[object]]:
    heads = _heads(answers)
    return [[_printable_cell(answer.cells.get(name, "")) for name in heads] for answer in answers]


def _printable_cell(cell: object) -> object:
    return printable(cell) if isinstance(cell, str) else cell


_WRITERS: Mapping[Form, Callable[[Sequence[SubmittedAnswer]], bytes]] = {
    "json map": _json_map,
    "json list": _json_list,
    "tsv": _tsv,
    "xlsx": _xlsx,
}
