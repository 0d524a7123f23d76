"""Multiple-choice files: rows become questions with predictions, and every problem is reported.

Nothing is repaired: what keeps out a row, or keeps a file from an evaluation, is reported with its row and index.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar, get_args

from pydantic import StrictInt

from arena.io.tables import Record, RowsError
from arena.types import grouped
from scoring.multiple_choice.coordinates import Unit
from scoring.multiple_choice.option_texts import (
    LIST_COLUMNS,
    listed_options,
    name_letters,
    options_in_text,
)
from scoring.multiple_choice.pictures import picture_cell, pictures
from scoring.multiple_choice.truths import TruthCell, Truths, plain_option, read_truths
from scoring.multiple_choice.types import (
    LETTERS,
    MODES,
    PASS,
    USUAL,
    Answered,
    ChoiceQuestion,
    ChosenBy,
)
from scoring.report import EMPTY_CELLS, NO_ANSWERS, repeats

T = TypeVar("T")
Blocks = Literal["scoring", "whole", "circular", "nothing"]
"""What a problem prevents; "whole" prevents the score from being that of the whole benchmark."""

IMAGE_COLUMNS = ("image", "Image", "IMAGE", "images", "img", "image_path")
"""Columns that may hold pictures: readers skip them, or keep digests."""
MODE_NOTE = "mode_note"
"""Column in which `answer` tells what a mode could not do with a question."""
CHOSEN_BY = "chosen_by"
"""Column in which `answer` tells that options were chosen by likelihood, and not by what the model wrote."""
_PREDICTIONS = ("prediction", "pred", "response", "output", "model_answer")
_INDEXES = ("index", "id", "question_id", "idx")
_MODELS = ("model", "model_id", "model_name")
_GROUPS = ("l2_category", "l2", "meta_task")
_GAPS = re.compile(r"[\s-]+")
_WHOLE = re.compile(r"\d{1,12}(?:\.0*)?|\d(?:\.\d{1,11})?[eE]\+?\d{1,2}", re.ASCII)


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
    """The mode that all of it was asked in, maybe with what drew its pictures; "" if the file names none."""
    chosen_by: ChosenBy = "text"

    @property
    def scorable(self) -> bool:
        return not any(problem.blocks == "scoring" for problem in self.problems)


def read_questions(
    records: Iterable[Record],
) -> tuple[dict[int, ChoiceQuestion], tuple[Problem, ...]]:
    """A benchmark's own questions by index, and their problems; they need no predictions."""
    reader = _Reader(None, with_predictions=False)
    for record in records:
        reader.take(record)
    problems = reader.finished()
    return {row.question.index: row.question for row in reader.rows}, problems


def read_choices(
    records: Iterable[Record], questions: Mapping[int, ChoiceQuestion] | None = None
) -> ReadFile[Answered]:
    """A file's answers, to `questions` if it has no options; a row without an index goes by its text, or is counted."""
    reader = _Reader(questions, with_predictions=True)
    for record in records:
        reader.take(record)
    problems = reader.finished()
    model, mode = (
        next(iter(names)) if len(names) == 1 else "" for names in (reader.models, reader.modes)
    )
    chosen_by: ChosenBy = "likelihood" if reader.weighed else "text"
    return ReadFile(tuple(reader.rows), problems, model, mode, chosen_by)


class _Reader:
    """Reads one record at a time and keeps only what the rows say, so that a file of any length can stream through."""

    def __init__(
        self, questions: Mapping[int, ChoiceQuestion] | None, with_predictions: bool
    ) -> None:
        self.rows: list[Answered] = []
        self.models: Counter[str] = Counter()
        self.modes: Counter[str] = Counter()
        self.weighed = 0
        """Rows whose option was chosen by likelihood."""
        self._questions = questions
        self._turns = any(index >= PASS for index in questions or ())
        """Whether the question file has passes of its own."""
        self._with_predictions = with_predictions
        self._problems: list[Problem] = []
        self._columns: dict[str, str] = {}
        self._shared: dict[str, str] = {}
        self._by_text = grouped(
            (_folded(question.text), index) for index, question in (questions or {}).items()
        )
        self._truths: list[str] = []
        """What each row's column answer holds; "" where its question file has no right answer to compare with."""
        self._pictures: list[str] = []
        """What each row says of its picture."""
        self._unnamed_options = 0
        self._counted = False
        self._noted = 0

    def take(self, record: Record) -> None:
        self._columns = columns_by_name(record, _PREDICTIONS)
        prediction = self._text(record, (*_PREDICTIONS, "text"))
        if self._with_predictions and prediction is None:
            found = ", ".join(map(repr, list(record.values)[:20])) or "none"
            self._tell(
                f"expected a column prediction with text, found {found}; rename or add it",
                record.row,
            )
            return
        index = self._index(record)
        if index is None:
            return
        question = self._question(record, index)
        if question is not None:
            self.rows.append(Answered(question, prediction or ""))
            is_compared = self._questions is None or question.answer is not None
            self._truths.append(self._truth(record) if is_compared else "")
            self._pictures.append(picture_cell(self._columns, record.values))
            model = self._text(record, _MODELS)
            self.models.update([model.strip()] if model and model.strip() else [])
            self._take_mode(record)
            self.weighed += (self._text(record, (CHOSEN_BY,)) or "").strip() == "likelihood"

    def _take_mode(self, record: Record) -> None:
        """Note the mode in a file that `answer` wrote; other files' column mode is of another kind."""
        mode = self._mode(record)
        if mode.split(" ")[0] in MODES:
            self.modes[mode] += 1
            self._noted += bool(self._text(record, (MODE_NOTE,)))

    def _mode(self, record: Record) -> str:
        return (self._text(record, ("mode",)) or "").strip()

    def finished(self) -> tuple[Problem, ...]:
        """All problems, those of the whole file first."""
        self._read_truths()
        self._take_pictures()
        self._tell_doubles()
        self._tell_oddities()
        if len(self.models) > 1:
            named = ", ".join(sorted(self.models)[:20])
            self._tell(f"expected one model's answers, found those of {named}; split the file")
        if len(self.modes) > 1:
            self._tell(
                f"expected answers in one mode, found {', '.join(sorted(self.modes)[:20])}; split the file"
            )
        if 0 < self.weighed < len(self.rows):
            self._tell(
                f"expected options chosen in one way, found {self.weighed:,} of {len(self.rows):,} rows chosen by "
                f"likelihood (column {CHOSEN_BY}); split the file"
            )
        if not self.rows:
            self._tell("expected rows with predictions, found none that can be used")
        return tuple(sorted(self._problems, key=lambda problem: problem.row))

    def _read_truths(self) -> None:
        """Give each row its right letter, which only the whole column tells, or say why it has none."""
        places = [place for place, written in enumerate(self._truths) if written]
        cells = [
            TruthCell(self._truths[place], self.rows[place].question.options) for place in places
        ]
        truths = read_truths(cells)
        if self._questions is None and self._tell_unclear(truths, places):
            return
        if truths.way:
            self._tell(truths.way, blocks="nothing")
        for number, (place, letter) in enumerate(zip(places, truths.letters, strict=True)):
            row = self.rows[place]
            if letter is None and not truths.ambiguous:
                self._tell_unread(row.question, self._truths[place], number in truths.doubtful)
            elif letter and row.question.answer and letter != row.question.answer:
                self._tell_other(row.question)
            elif letter and row.question.answer is None:
                self.rows[place] = replace(row, question=replace(row.question, answer=letter))
        if places and not any(row.question.answer for row in self.rows):
            self._tell(
                "expected an option's letter in the column answer, found none in any row; write letters there"
            )

    def _take_pictures(self) -> None:
        found = pictures(self._pictures, [str(row.question.index) for row in self.rows])
        for place, picture in enumerate(found):
            if picture:
                row = self.rows[place]
                self.rows[place] = replace(row, question=replace(row.question, picture=picture))

    def _tell_unclear(self, truths: Truths, places: Sequence[int]) -> bool:
        """Tell why a column of numbers is not read, and return whether it is so."""
        if truths.misfit:
            number, problem = truths.misfit
            question = self.rows[places[number]].question
            self._tell(problem, question.row, question.index)
        elif truths.ambiguous:
            self._tell(truths.ambiguous)
        return bool(truths.misfit or truths.ambiguous)

    def _tell_unread(self, question: ChoiceQuestion, written: str, doubtful: bool) -> None:
        """Tell that a cell of the column answer is no option, and what counts instead."""
        known = ", ".join(question.options)
        why = (
            "is the letter of one option and the text of another"
            if doubtful
            else f"is none of the options {known}"
        )
        counts = (
            f"{question.answer} counts, as in the question file"
            if question.answer
            else "it is not scored until corrected"
        )
        text = f"the answer {written[:40]!r} {why}; {counts}"
        self._tell(text, question.row, question.index, "nothing")

    def _tell_other(self, question: ChoiceQuestion) -> None:
        text = (
            f"index {question.index} has other options or another answer than in the question file; "
            "choose the right one"
        )
        self._tell(text, question.row, question.index)

    def _tell_doubles(self) -> None:
        times = Counter(row.question.index for row in self.rows)
        for row in self.rows:
            if times[row.question.index] > 1:
                text = f"{times[row.question.index]} rows have the index {row.question.index}. Keep one of them"
                self._tell(text, row.question.row, row.question.index)

    def _tell_oddities(self) -> None:
        if len(splits := dict.fromkeys(row.question.split for row in self.rows)) > 1:
            named = ", ".join(split or "(none)" for split in splits)
            self._tell(
                f"the file mixes the splits {named}; each is reported on its own", blocks="nothing"
            )
        said = [(row.prediction, row.question.text) for row in self.rows]
        self._problems += told_oddities(said)
        if self._unnamed_options:
            text = (
                f'{self._unnamed_options:,} option cells say "nan" or "NA" behind the last option'
            )
            self._tell(f"{text}; they are taken as empty", blocks="nothing")
        if self._noted:
            said = "questions were left as they are, or asked with a remark"
            text = f"{self._noted:,} {said}: the column {MODE_NOTE} says why"
            self._tell(text, blocks="nothing")
        if self._counted:
            text = "the file has no column index; its rows are counted from 0, and cannot be told to be circular passes"
            self._tell(text, blocks="nothing")

    def _tell(
        self, text: str, row: int = 0, index: int | None = None, blocks: Blocks = "scoring"
    ) -> None:
        self._problems.append(Problem(row, index, text, blocks))

    def _text(self, record: Record, names: Sequence[str]) -> str | None:
        """Text of the first of these columns that exists; numbers in JSON become text, null becomes ""."""
        column = next((self._columns[name] for name in names if name in self._columns), None)
        return None if column is None else _written(record, column)

    def _index(self, record: Record) -> int | None:
        written = self._text(record, _INDEXES)
        if written is None:
            return self._index_by_text(record)
        if not _WHOLE.fullmatch(written.strip()) or not math.isclose(
            float(written), round(float(written)), abs_tol=1e-9
        ):
            mend = "write one, delete the row, or leave out the column: rows are counted then"
            self._tell(
                f"expected a whole number as index, found {written[:40]!r}; {mend}", record.row
            )
            return None
        return self._pass(record, round(float(written)))

    def _pass(self, record: Record, index: int) -> int | None:
        """The index as i + k * PASS, where g_index names question i.

        The public toolkit's circular files go on by the power of ten above all of their indices, a million or more.
        """
        written = (self._text(record, ("g_index",)) or "").strip()
        if not _WHOLE.fullmatch(written):
            return index
        question = round(float(written))
        further = index - question
        if question >= PASS:
            self._tell(
                f"g_index is {question:,}; number the questions below {PASS:,}", record.row, index
            )
            return None
        if further < 0 or further % PASS:
            text = (
                f"index {index} is no pass of the question that g_index names; expected {question}, "
                f"{question + PASS}, {question + 2 * PASS}, ...; take both columns as the toolkit wrote them"
            )
            self._tell(text, record.row, index)
            return None
        number = further // PASS
        while number >= 10 and number % 10 == 0:
            number //= 10
        return question + number * PASS

    def _index_by_text(self, record: Record) -> int | None:
        if self._questions is None:
            self._counted = True
            return len(self.rows)
        meant = self._by_text.get(_folded(self._text(record, ("question",)) or ""), [])
        if len(meant) == 1:
            return meant[0]
        found = "none" if not meant else f"{len(meant)} of them"
        self._tell(
            f"expected the text of one question, found {found}; add a column index", record.row
        )
        return None

    def _question(self, record: Record, index: int) -> ChoiceQuestion | None:
        options = self._options(record)
        if self._questions is not None:
            known = self._questions.get(index) or self._turned(index, options)
            return self._known(record, index, known, options)
        if not options:
            text = self._listed_badly(record) or (
                "expected option columns A, B ..., or one column options with a list; add them, or give the "
                "benchmark's question file as well"
            )
            self._tell(text, record.row, index)
            return None
        if len(options) == 1:
            self._tell(
                f"index {index} has one option only; it is scored as it is",
                record.row,
                index,
                "nothing",
            )
        return ChoiceQuestion(
            index=index,
            text=self._text(record, ("question",)) or "",
            options=options,
            answer=None,
            category=self._same(record, ("category", "subtask")),
            group=self._same(record, _GROUPS),
            split=self._same(record, ("split",)),
            hint=self._text(record, ("hint",)) or "",
            row=record.row,
            one_pass="g_index" in self._columns and name_letters(options.values()),
        )

    def _turned(self, index: int, options: Mapping[str, str]) -> ChoiceQuestion | None:
        """A pass that the question file, which has base rows alone, doesn't: with its options in the row's order."""
        base = self._questions.get(index % PASS) if self._questions and not self._turns else None
        if base is None or not options:
            return None
        texts = {letter: plain_option(text) for letter, text in options.items()}
        if sorted(texts.values()) != sorted(map(plain_option, base.options.values())):
            return replace(base, index=index)
        return replace(base, index=index, options=options, answer=turned_letter(base, options))

    def _known(
        self, record: Record, index: int, known: ChoiceQuestion | None, options: Mapping[str, str]
    ) -> ChoiceQuestion | None:
        if known is None:
            self._tell(
                f"index {index} is none of the benchmark's; correct or delete it", record.row, index
            )
            return None
        if self._mode(record) in get_args(Unit) and options.keys() == known.options.keys():
            known = replace(known, options=options)  # their coordinates are rewritten
        known = replace(known, row=record.row)
        other = [
            letter
            for letter, text in options.items()
            if plain_option(text) != plain_option(known.options.get(letter, ""))
        ]
        if other:
            self._tell_other(known)
        return known

    def _options(self, record: Record) -> Mapping[str, str]:
        """The options that exist: in columns A, B, ..., else in one list, else in the question's text."""
        if option_columns(record.values):
            return self._lettered_options(record)
        column = next((self._columns[name] for name in LIST_COLUMNS if name in self._columns), None)
        texts = listed_options(record.values[column]) if column else None
        if texts:
            return dict(zip(LETTERS, texts, strict=False)) if len(texts) <= len(LETTERS) else {}
        if self._questions is not None:
            return {}
        return options_in_text(self._text(record, ("question",)) or "")

    def _listed_badly(self, record: Record) -> str:
        """What is wrong with the cell of a list column; "" without such a column."""
        column = next((self._columns[name] for name in LIST_COLUMNS if name in self._columns), None)
        if column is None or option_columns(record.values):
            return ""
        cell = record.values[column]
        found = cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
        if listed := listed_options(cell):
            return f"expected {len(LETTERS)} options at most in {column}, found {len(listed)}; delete the others"
        return f'expected a list of options in {column}, found {found[:40]!r}; write ["cat", "dog"]'

    def _lettered_options(self, record: Record) -> dict[str, str]:
        """Cells of the letters' columns; `EMPTY_CELLS` after the last of them is a cell without an option."""
        cells = {letter: _written(record, letter) for letter in option_columns(record.values)}
        options = lettered_options(cells, (self._text(record, ("answer",)) or "").strip())
        self._unnamed_options += sum(bool(text.strip()) for text in cells.values()) - len(options)
        return options

    def _truth(self, record: Record) -> str:
        """The right answer as the row writes it; "" if it has none."""
        written = (self._text(record, ("answer",)) or "").strip()
        return "" if written in EMPTY_CELLS else written

    def _same(self, record: Record, names: Sequence[str]) -> str:
        """A text that repeats in many rows, always as the same object."""
        text = (self._text(record, names) or "").strip()
        return self._shared.setdefault(text, "" if text == "nan" else text)


_LONGEST_NAME = 100


def _name(column: str) -> str:
    """A column's name in one spelling; the options' single capitals stay distinct, and long ones are nobody's."""
    if len(column) > _LONGEST_NAME:
        return column
    bare = column.strip()
    return bare if len(bare) == 1 and bare in LETTERS else _GAPS.sub("_", bare.lower())


def columns_by_name(record: Record, answers: Sequence[str]) -> dict[str, str]:
    """A record's columns by their names in one spelling. Raises RowsError where two have a name, or the answers."""
    columns: dict[str, str] = {}
    for column in record.values:
        if (other := columns.setdefault(_name(column), column)) is not column:
            raise _ambiguous(_name(column), (other, column), record)
    if len(several := [columns[name] for name in answers if name in columns]) > 1:
        raise _ambiguous("with the model's answers", several, record)
    return columns


def has_options(record: Record) -> bool:
    """Whether a row has options: in columns A, B, ..., in one list, or in its text, as circular files may."""
    if len(option_columns(record.values)) > 1:
        return True
    names = {column.strip().lower(): column for column in record.values}
    listed = [record.values[names[name]] for name in LIST_COLUMNS if name in names]
    return "g_index" in names or any(listed_options(cell) is not None for cell in listed)


def spelled(columns: Iterable[str]) -> dict[str, str]:
    """Columns by their names in one spelling; of two with one name, the first."""
    names: dict[str, str] = {}
    for column in columns:
        names.setdefault(_name(column), column)
    return names


def option_columns(columns: Container[str]) -> list[str]:
    """Columns named A, B, ... I, and from J on those that follow one another: a lone column X is no option."""
    found = [letter for letter in USUAL if letter in columns]
    if len(found) == len(USUAL):
        for letter in LETTERS[len(USUAL) :]:
            if letter not in columns:
                break
            found.append(letter)
    return found


def lettered_options(cells: Mapping[str, str], answer: str) -> dict[str, str]:
    """The cells with an option, by letter; one of `EMPTY_CELLS` after the last of them is a cell without an option."""
    options = {letter: text for letter, text in cells.items() if text.strip()}
    filled = len(options)
    while (
        len(options) > 1
        and (last := next(reversed(options))) != answer
        and options[last] in EMPTY_CELLS
    ):
        if len(options) == filled == 2:  # no empty cell after it is written so: it is an option
            break
        del options[last]
    return options


def told_oddities(said: Sequence[tuple[str, str]]) -> Iterator[Problem]:
    """Yield what to know of predictions, given beside their questions: echoes, and words for no answer."""
    if echoes := sum(repeats(prediction, question) for prediction, question in said):
        text = f"answers that repeat their question: {echoes:,}; was the prompt written into the file? cut it off"
        yield Problem(0, None, text, "nothing")
    words = Counter(word for prediction, _ in said if (word := prediction.strip()) in NO_ANSWERS)
    if words:
        text = f"{words.total():,} of {len(said):,} predictions say {' or '.join(words)}"
        text += ", read as the model's words; where it gave no answer, empty the cell"
        yield Problem(0, None, text, "nothing")


def turned_letter(base: ChoiceQuestion, options: Mapping[str, str]) -> str | None:
    """The right letter where a question's options are in another order."""
    right = plain_option(base.options[base.answer]) if base.answer else None
    return next((letter for letter, text in options.items() if plain_option(text) == right), None)


def _ambiguous(what: str, columns: Iterable[str], record: Record) -> RowsError:
    found = " and ".join(map(repr, columns))
    return RowsError(
        f"expected one column {what}, found {found}; delete or rename one", row=record.row
    )


def _written(record: Record, column: str) -> str:
    value = record.values[column]
    if isinstance(value, str):
        return value
    if isinstance(value, bool | list | dict):
        raise RowsError(
            f"expected text, found {json.dumps(value)[:40]}; write it as text",
            None,
            record.row,
            column,
        )
    return "" if value is None else str(value)


def _folded(text: str) -> str:
    return " ".join(text.split())
