"""Multiple-choice files: rows become questions with predictions, and every problem is reported.

Nothing is repaired. A problem that excludes a row, or a file from an evaluation, is reported with its row and index.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, NamedTuple, TypeVar, get_args

from pydantic import StrictInt

from arena.io.tables import Record, RowsError
from arena.types import grouped
from scoring.multiple_choice.columns import lettered_options, option_columns, unambiguous_columns
from scoring.multiple_choice.coordinates import Unit
from scoring.multiple_choice.option_texts import (
    LIST_COLUMNS,
    do_name_letters,
    is_reworded,
    listed_options,
    options_in_text,
)
from scoring.multiple_choice.pictures import picture_cell, picture_digests
from scoring.multiple_choice.truths import TruthCell, Truths, plain_option, read_truths
from scoring.multiple_choice.types import (
    LETTERS,
    MODES,
    PASS,
    Answered,
    ChoiceQuestion,
    ChosenBy,
)
from scoring.report import EMPTY_CELLS, NO_ANSWERS, repeats

T = TypeVar("T")
Blocks = Literal["scoring", "whole", "circular", "nothing"]
"""What a problem prevents: any score, a score of the whole benchmark, a circular score, or nothing."""

IMAGE_COLUMNS = ("image", "Image", "IMAGE", "images", "img", "image_path")
"""Columns that may hold pictures: readers skip them, or keep digests."""
MODE_NOTE = "mode_note"
"""The column in which the command `answer` notes a question that a mode could not change."""
CHOSEN_BY = "chosen_by"
"""The column in which the command `answer` notes that options were chosen by likelihood, not by the model's text."""
_PREDICTIONS = ("prediction", "pred", "response", "output", "model_answer")
_INDEXES = ("index", "id", "question_id", "idx")
_MODELS = ("model", "model_id", "model_name")
_GROUPS = ("l2_category", "l2", "meta_task")
_WHOLE_NUMBER = re.compile(r"\d{1,12}(?:\.0*)?|\d(?:\.\d{1,11})?[eE]\+?\d{1,2}", re.ASCII)
"""A number as tables write whole ones: 12, 12.0 or 1.2e1. `_is_whole_number` checks that it is one."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem in a file, its place and how to fix it."""

    row: StrictInt
    """0 if it concerns the whole file."""
    index: StrictInt | None
    text: str
    blocks: Blocks


@dataclass(frozen=True, slots=True)
class ReadFile(Generic[T]):
    """A file of answers, read completely."""

    rows: tuple[T, ...]
    problems: tuple[Problem, ...]
    model: str = ""
    """The model's name if the file gives it; else ""."""
    mode: str = ""
    """The mode of all questions, maybe with the program that drew the pictures; "" if the file names none."""
    chosen_by: ChosenBy = "text"
    reworded: int = 0
    """Number of rows that show another question than the question file, as `is_reworded` compares them."""

    @property
    def scorable(self) -> bool:
        """Whether no problem prevents the scoring."""
        return not any(problem.blocks == "scoring" for problem in self.problems)


class ReadQuestions(NamedTuple):
    """A benchmark's own questions, read completely."""

    by_index: dict[int, ChoiceQuestion]
    problems: tuple[Problem, ...]


def read_questions(records: Iterable[Record]) -> ReadQuestions:
    """Reads a benchmark's own questions; predictions are not needed."""
    reader = _Reader(None, with_predictions=False)
    for record in records:
        reader.take(record)
    problems = reader.finish()
    return ReadQuestions({row.question.index: row.question for row in reader.rows}, problems)


def read_choices(
    records: Iterable[Record], questions: Mapping[int, ChoiceQuestion] | None = None
) -> ReadFile[Answered]:
    """Reads a file's answers; `questions` by index are needed if the file has no options.

    A row without an index is matched to the questions by its text or, without questions, numbered.
    Raises RowsError for ambiguous columns, and for a cell that is no text.
    """
    reader = _Reader(questions, with_predictions=True)
    for record in records:
        reader.take(record)
    problems = reader.finish()
    return ReadFile(
        rows=tuple(reader.rows),
        problems=problems,
        model=_only_name(reader.models),
        mode=_only_name(reader.modes),
        chosen_by="likelihood" if reader.likelihood_rows else "text",
        reworded=reader.reworded,
    )


def _only_name(names: Iterable[str]) -> str:
    """The only one of distinct names; "" if there are none or several."""
    distinct = list(names)
    return distinct[0] if len(distinct) == 1 else ""


class _Reader:
    """A reader of one record at a time that keeps little of each row, so that a file of any length can stream."""

    def __init__(
        self, questions: Mapping[int, ChoiceQuestion] | None, with_predictions: bool
    ) -> None:
        self.rows: list[Answered] = []
        self.models: set[str] = set()
        self.modes: set[str] = set()
        self.likelihood_rows = 0
        """Rows with an option chosen by likelihood."""
        self.reworded = 0
        self._questions = questions
        self._has_passes = any(index >= PASS for index in questions or ())
        """Whether the question file itself has the circular passes."""
        self._with_predictions = with_predictions
        self._problems: list[Problem] = []
        self._columns: dict[str, str] = {}
        """The current row's columns by their names in one spelling."""
        self._shared: dict[str, str] = {}
        """Texts that many rows have, see `_shared_text`."""
        self._indexes_by_text = grouped(
            (_with_single_blanks(question.text), index)
            for index, question in (questions or {}).items()
        )
        self._truth_cells: list[str] = []
        """Each row's cell in the column answer; "" where its question file has no right answer to compare with."""
        self._pictures: list[str] = []
        """Each row's picture cell."""
        self._empty_words = 0
        """Option cells behind the last option that hold a word for an empty cell, such as nan."""
        self._is_numbered = False
        """Whether rows without an index were numbered."""
        self._mode_notes = 0
        """Rows with a note of a mode."""

    def take(self, record: Record) -> None:
        """Reads a row, or reports why it is left out."""
        self._columns = unambiguous_columns(record, _PREDICTIONS)
        # LLaVA's answers are in "text"; beside another column of answers it holds something else.
        prediction = self._text(record, (*_PREDICTIONS, "text"))
        if self._with_predictions and prediction is None:
            columns = ", ".join(map(repr, list(record.values)[:20])) or "none"
            self._report(
                f"The file needs a column prediction with text, and it has {columns}. Rename a column or add one.",
                record.row,
            )
            return
        options = self._options(record)
        index = self._index(record, options)
        if index is None:
            return
        question = self._question(record, index, options)
        if question is None:
            return
        self.rows.append(Answered(question, prediction or ""))
        is_compared = self._questions is None or question.answer is not None
        self._truth_cells.append(self._truth_cell(record) if is_compared else "")
        self._pictures.append(picture_cell(self._columns, record.values))
        model = self._stripped_text(record, _MODELS)
        if model:
            self.models.add(model)
        self._note_mode(record)
        if self._stripped_text(record, (CHOSEN_BY,)) == "likelihood":
            self.likelihood_rows += 1

    def _note_mode(self, record: Record) -> None:
        """Notes the mode in a file that `answer` wrote; in other files the column mode means something else."""
        mode = self._mode(record)
        if mode.split(" ")[0] in MODES:
            self.modes.add(mode)
            if self._text(record, (MODE_NOTE,)):
                self._mode_notes += 1

    def _mode(self, record: Record) -> str:
        return self._stripped_text(record, ("mode",))

    def finish(self) -> tuple[Problem, ...]:
        """Completes the rows by what only the whole file shows; returns all problems, those of the whole file first."""
        self._read_truths()
        self._identify_pictures()
        self._report_duplicates()
        self._report_oddities()
        if len(self.models) > 1:
            names = ", ".join(sorted(self.models)[:20])
            self._report(f"The file has the answers of several models: {names}. Split the file.")
        if len(self.modes) > 1:
            modes = ", ".join(sorted(self.modes)[:20])
            self._report(f"The file has answers in several modes: {modes}. Split the file.")
        if 0 < self.likelihood_rows < len(self.rows):
            self._report(
                f"Only {self.likelihood_rows:,} of {len(self.rows):,} rows chose options by likelihood "
                f"(column {CHOSEN_BY}). Split the file."
            )
        if not self.rows:
            self._report("No row has a usable prediction.")
        return tuple(sorted(self._problems, key=lambda problem: problem.row))

    def _read_truths(self) -> None:
        """Gives each row its right letter, read from the whole column, or reports why it has none."""
        # The places of the rows with a cell. Truths have a cell's position in this list.
        places = [place for place, cell in enumerate(self._truth_cells) if cell]
        cells = [
            TruthCell(self._truth_cells[place], self.rows[place].question.options)
            for place in places
        ]
        truths = read_truths(cells)
        # A column that can't be read matters only where no question file has the right answers.
        if self._questions is None and self._report_unreadable_column(truths, places):
            return
        if truths.notice:
            self._report(truths.notice, blocks="nothing")
        for position, (place, letter) in enumerate(zip(places, truths.letters, strict=True)):
            row = self.rows[place]
            if letter is None and not truths.ambiguous:
                # In an ambiguous column no cell has a letter, and none is to blame.
                is_doubtful = position in truths.doubtful
                self._report_unread_cell(row.question, self._truth_cells[place], is_doubtful)
            elif letter and row.question.answer and letter != row.question.answer:
                # The question file has another answer.
                self._report_other_question(row.question)
            elif letter and row.question.answer is None:
                # No question file has an answer, so the row's own counts.
                self.rows[place] = replace(row, question=replace(row.question, answer=letter))
        if places and not any(row.question.answer for row in self.rows):
            self._report("No row has an option's letter in the column answer. Write letters there.")

    def _identify_pictures(self) -> None:
        """Gives each row its picture's identity, if its cell shows it."""
        ids = [str(row.question.index) for row in self.rows]
        for place, picture in enumerate(picture_digests(self._pictures, ids)):
            if picture:
                row = self.rows[place]
                self.rows[place] = replace(row, question=replace(row.question, picture=picture))

    def _report_unreadable_column(self, truths: Truths, places: Sequence[int]) -> bool:
        """Reports why a column of numbers cannot be read, and returns whether that is so."""
        if truths.misfit:
            question = self.rows[places[truths.misfit.position]].question
            self._report(truths.misfit.problem, question.row, question.index)
            return True
        if truths.ambiguous:
            self._report(truths.ambiguous)
            return True
        return False

    def _report_unread_cell(self, question: ChoiceQuestion, cell: str, is_doubtful: bool) -> None:
        """Reports that a cell of the column answer is not an option, and the answer that counts instead."""
        effect = "It isn't scored until you correct it."
        if question.answer:
            effect = f"{question.answer} counts, as in the question file."
        answer = repr(cell[:40])
        text = (
            f"The answer {answer} isn't one of the options {', '.join(question.options)}. {effect}"
        )
        if is_doubtful:
            text = (
                f"The answer {answer} is the letter of one option and the text of another. {effect}"
            )
        self._report(text, question.row, question.index, "nothing")

    def _report_other_question(self, question: ChoiceQuestion) -> None:
        text = f"Index {question.index} has other options or another answer in the question file. Choose the right one."
        self._report(text, question.row, question.index)

    def _report_duplicates(self) -> None:
        times = Counter(row.question.index for row in self.rows)
        for row in self.rows:
            index = row.question.index
            if times[index] > 1:
                text = f"{times[index]} rows have the index {index}. Keep one of them."
                self._report(text, row.question.row, index)

    def _report_oddities(self) -> None:
        splits = dict.fromkeys(row.question.split for row in self.rows)
        if len(splits) > 1:
            names = ", ".join(split or "(none)" for split in splits)
            text = f"The file mixes the splits {names}. Each gets its own scores."
            self._report(text, blocks="nothing")
        predictions = [row.prediction for row in self.rows]
        questions = [row.question.text for row in self.rows]
        self._problems += oddities(predictions, questions)
        if self._empty_words:
            text = (
                f'{self._empty_words:,} option cells say "nan" or "NA" behind the last option. '
                "They count as empty."
            )
            self._report(text, blocks="nothing")
        if self._mode_notes:
            text = (
                f"{self._mode_notes:,} questions were asked as they are, or with a remark. "
                f"The column {MODE_NOTE} says why."
            )
            self._report(text, blocks="nothing")
        if self._is_numbered:
            text = "The file has no column index: rows are counted from 0, and circular passes aren't known."
            self._report(text, blocks="nothing")

    def _report(
        self, text: str, row: int = 0, index: int | None = None, blocks: Blocks = "scoring"
    ) -> None:
        self._problems.append(Problem(row, index, text, blocks))

    def _text(self, record: Record, names: Sequence[str]) -> str | None:
        """The text in the first of these columns that exists; numbers in JSON become text, null becomes ""."""
        column = self._column(names)
        return None if column is None else _cell_text(record, column)

    def _stripped_text(self, record: Record, names: Sequence[str]) -> str:
        """The same without blanks around it; "" without such a column."""
        return (self._text(record, names) or "").strip()

    def _column(self, names: Sequence[str]) -> str | None:
        """The first of these columns that exists."""
        for name in names:
            if name in self._columns:
                return self._columns[name]
        return None

    def _index(self, record: Record, options: Mapping[str, str]) -> int | None:
        """The row's index, with its pass; None after reporting a problem."""
        text = self._text(record, _INDEXES)
        if text is None:
            return self._index_by_text(record)
        if not _is_whole_number(text):
            remedy = "Write one, delete the row, or delete the column to number the rows instead."
            self._report(f"The index {text[:40]!r} isn't a whole number. {remedy}", record.row)
            return None
        return self._index_with_pass(record, round(float(text)), options)

    def _index_with_pass(
        self, record: Record, index: int, options: Mapping[str, str]
    ) -> int | None:
        """The index as i + k * PASS, where g_index is question i; None after reporting a problem.

        In the public toolkit's circular files, pass k adds k times the first power of ten above all indices, which is
        `PASS` or more.
        """
        text = self._stripped_text(record, ("g_index",))
        if not _WHOLE_NUMBER.fullmatch(text):
            return index
        base_index = round(float(text))
        difference = index - base_index
        if base_index >= PASS:
            self._report(
                f"The g_index {base_index:,} is too high. Number the questions below {PASS:,}.",
                record.row,
                index,
            )
            return None
        if difference < 0 or difference % PASS:
            text = (
                f"Index {index} is no pass of the question in g_index, as {base_index}, {base_index + PASS} and "
                f"{base_index + 2 * PASS} are. Take both columns as the toolkit wrote them."
            )
            self._report(text, record.row, index)
            return None
        base = (self._questions or {}).get(base_index)
        if base is not None and not options:
            options = base.options
        # No question has more passes than options, so a larger number shows a power of ten above `PASS`.
        passes = max(10, len(options))
        pass_number = difference // PASS
        while pass_number >= passes and pass_number % 10 == 0:
            pass_number //= 10
        return base_index + pass_number * PASS

    def _index_by_text(self, record: Record) -> int | None:
        """The index of the question with the row's text; the row's number if there are no questions to match.

        None after reporting a problem.
        """
        if self._questions is None:
            self._is_numbered = True
            return len(self.rows)
        text = _with_single_blanks(self._text(record, ("question",)) or "")
        indexes = self._indexes_by_text.get(text, [])
        if len(indexes) == 1:
            return indexes[0]
        self._report(
            f"{len(indexes)} questions have this text, and one is needed. Add a column index.",
            record.row,
        )
        return None

    def _question(
        self, record: Record, index: int, options: Mapping[str, str]
    ) -> ChoiceQuestion | None:
        """The row's question, without its right answer if no question file has it; None after reporting a problem."""
        if self._questions is not None:
            return self._known_question(record, index, options)
        if not options:
            text = self._list_problem(record) or (
                "The options are missing. Add columns A, B ..., or one column options with a list, or the "
                "benchmark's question file."
            )
            self._report(text, record.row, index)
            return None
        if len(options) == 1:
            text = f"Index {index} has only one option. It's scored as it is."
            self._report(text, record.row, index, "nothing")
        # Only the toolkit's circular files have g_index, and the toolkit doesn't rotate options that name letters.
        one_pass = "g_index" in self._columns and do_name_letters(options.values())
        return ChoiceQuestion(
            index=index,
            text=self._text(record, ("question",)) or "",
            options=options,
            answer=None,
            category=self._shared_text(record, ("category", "subtask")),
            group=self._shared_text(record, _GROUPS),
            split=self._shared_text(record, ("split",)),
            hint=self._text(record, ("hint",)) or "",
            row=record.row,
            one_pass=one_pass,
        )

    def _rotated_question(self, index: int, options: Mapping[str, str]) -> ChoiceQuestion | None:
        """A circular pass of a question that the question file has only once, with the options in the row's order."""
        base = None
        if self._questions and not self._has_passes:
            base = self._questions.get(index % PASS)
        if base is None or not options:
            return None
        texts = sorted(plain_option(text) for text in options.values())
        if texts != sorted(plain_option(text) for text in base.options.values()):
            return replace(base, index=index)  # `_known_question` reports that the options differ
        return replace(base, index=index, options=options, answer=rotated_letter(base, options))

    def _known_question(
        self, record: Record, index: int, options: Mapping[str, str]
    ) -> ChoiceQuestion | None:
        """The question file's question for a row; reports a row with other options."""
        in_file = (self._questions or {}).get(index) or self._rotated_question(index, options)
        if in_file is None:
            text = f"Index {index} isn't in the benchmark. Correct or delete it."
            self._report(text, record.row, index)
            return None
        known = replace(in_file, row=record.row)
        if self._mode(record) in get_args(Unit) and options.keys() == known.options.keys():
            known = replace(known, options=options)  # a mode rewrites coordinates
        has_other_options = any(
            plain_option(text) != plain_option(known.options.get(letter, ""))
            for letter, text in options.items()
        )
        if has_other_options:
            self._report_other_question(known)
        texts = {column: self._text(record, (column,)) or "" for column in ("question", "hint")}
        if is_reworded(known, texts, options):
            self.reworded += 1
        return known

    def _options(self, record: Record) -> Mapping[str, str]:
        """The row's options: in columns A, B, ..., else in one list, else in the question's text."""
        if option_columns(self._columns):
            return self._options_in_columns(record)
        column = self._column(LIST_COLUMNS)
        texts = listed_options(record.values[column]) if column else None
        if texts and len(texts) > len(LETTERS):
            return {}  # `_list_problem` says why
        if texts:
            return dict(zip(LETTERS, texts, strict=False))
        if self._questions is not None:
            return {}  # the question file has them
        return options_in_text(self._text(record, ("question",)) or "")

    def _list_problem(self, record: Record) -> str:
        """The problem with the cell of a list column in a row without options; "" without such a column."""
        column = self._column(LIST_COLUMNS)
        if column is None or option_columns(self._columns):
            return ""
        cell = record.values[column]
        texts = listed_options(cell)
        if texts:  # Options that can be read were left out since they are too many.
            return f"{column} has {len(texts)} options, and {len(LETTERS)} is the most. Delete the others."
        text = cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
        return f'{column} has {text[:40]!r} instead of a list of options. Write ["cat", "dog"].'

    def _options_in_columns(self, record: Record) -> dict[str, str]:
        """The options in the letters' columns, as `lettered_options` reads them."""
        cells = {
            letter: _cell_text(record, self._columns[letter])
            for letter in option_columns(self._columns)
        }
        options = lettered_options(cells, self._stripped_text(record, ("answer",)))
        filled = [text for text in cells.values() if text.strip()]
        self._empty_words += len(filled) - len(options)
        return options

    def _truth_cell(self, record: Record) -> str:
        """The right answer as it is in the row; "" if it has none."""
        text = self._stripped_text(record, ("answer",))
        return "" if text in EMPTY_CELLS else text

    def _shared_text(self, record: Record, names: Sequence[str]) -> str:
        """A text that repeats in many rows, always as the same object."""
        text = self._stripped_text(record, names)
        if text == "nan":
            text = ""
        return self._shared.setdefault(text, text)


def oddities(predictions: Sequence[str], questions: Sequence[str]) -> Iterator[Problem]:
    """Yields notices on predictions that repeat their question, and on those that are a word for no answer.

    `questions` has the text of each prediction's question.
    """
    echoes = sum(map(repeats, predictions, questions))
    if echoes:
        text = f"{echoes:,} answers repeat their question. If the prompt was written into the file, cut it off."
        yield Problem(0, None, text, "nothing")
    stripped = [prediction.strip() for prediction in predictions]
    words = Counter(prediction for prediction in stripped if prediction in NO_ANSWERS)
    if words:
        text = (
            f"{words.total():,} of {len(predictions):,} predictions say {' or '.join(words)}, which counts as the "
            "model's words. Where it gave no answer, empty the cell."
        )
        yield Problem(0, None, text, "nothing")


def rotated_letter(base: ChoiceQuestion, options: Mapping[str, str]) -> str | None:
    """The right letter for a question's options in another order; None if the question has no right answer."""
    if not base.answer:
        return None
    right = plain_option(base.options[base.answer])
    return next((letter for letter, text in options.items() if plain_option(text) == right), None)


def _is_whole_number(text: str) -> bool:
    """Whether a text is a whole number, also written as 3.0 or 1e3."""
    if not _WHOLE_NUMBER.fullmatch(text.strip()):
        return False
    return math.isclose(float(text), round(float(text)), abs_tol=1e-9)


def _cell_text(record: Record, column: str) -> str:
    """A cell's text. Raises RowsError for a JSON list, object or boolean."""
    value = record.values[column]
    if isinstance(value, str):
        return value
    if isinstance(value, bool | list | dict):
        raise RowsError(
            f"{json.dumps(value)[:40]} isn't text. Write it as text.",
            row=record.row,
            column=column,
        )
    return "" if value is None else str(value)


def _with_single_blanks(text: str) -> str:
    return " ".join(text.split())
