"""Files of a spec's answers: records become rows with their cells by the spec's names, with a list of all problems."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pydantic import StrictInt

from arena.io.tables import Record
from arena.types import grouped
from scoring.multiple_choice.columns import columns_by_plain_name, lettered_options, option_columns
from scoring.multiple_choice.option_texts import LIST_COLUMNS, listed_options, options_in_text
from scoring.multiple_choice.pictures import picture_cell, picture_digests
from scoring.multiple_choice.reader import Blocks, Problem, ReadFile, oddities
from scoring.multiple_choice.truths import Truths, read_truths
from scoring.multiple_choice.types import LETTERS
from scoring.report import EMPTY_CELLS
from scoring.rules.base import TOOLKITS, Item, RuleKind, RuleProtocol
from scoring.specs.derived import Derived, cell_members, cell_text
from scoring.specs.layout import layout_of, layout_of_answers
from scoring.specs.schema import Case, Spec

_MODEL_COLUMNS = ("model", "model_id", "model_name")
"""Columns that may name the model."""
_RULE = "rule"
"""Place of a rule in a spec."""
_SHOWN = 20
"""Names or ids that a problem lists."""
_MOST_MEMBER_ROWS = 200
"""Rows that one row may become where its cells are split."""


@dataclass(frozen=True, slots=True)
class SpecRow:
    """A question with the model's answer: all cells of a row by the spec's names."""

    id: str
    answer: str
    cells: Mapping[str, Any]
    row: StrictInt
    """The row of the file on which it starts, from 1."""
    picture: str = ""
    """Identity of its picture; "" if the file has none."""
    letter: str | None = None
    """Letter of its right option, if the question file shows it."""


def items_of(spec: Spec, rows: Sequence[SpecRow], protocol: RuleProtocol) -> list[Item]:
    """The questions of these rows, for a rule.

    Under a toolkit's protocol, an empty right answer is compared too, unless the whole split has none.
    """
    items = _with_letters(spec, [item_of(spec, row) for row in rows])
    if protocol not in TOOLKITS or spec.columns.truth is None:
        return items
    splits = [split_of(spec, row.cells) for row in rows]
    splits_with_truths = {
        split for split, item in zip(splits, items, strict=True) if item.truth is not None
    }
    return [
        replace(item, truth="") if item.truth is None and split in splits_with_truths else item
        for split, item in zip(splits, items, strict=True)
    ]


class _TruthColumn(NamedTuple):
    """Right answers that are letters, texts or places of options, read together: only a whole column shows which."""

    places: Sequence[int]
    """The places of their questions, among all."""
    truths: Truths


def _truth_columns(spec: Spec, items: Sequence[Item]) -> Iterator[_TruthColumn]:
    """Yields the right answers of questions without a letter so far, one of the file's columns at a time."""
    cells = []
    for place, item in enumerate(items):
        case = case_of(spec, item.cells)
        cell = case.rule.truth_cell(item) if case else None
        if case and cell and item.letter is None and not is_empty(cell.written):
            cells.append((case.rule.truth, (place, cell)))
    for column in grouped(cells).values():
        places = [place for place, _ in column]
        yield _TruthColumn(places, read_truths([cell for _, cell in column]))


def _with_letters(spec: Spec, items: Sequence[Item]) -> list[Item]:
    """The questions, each with the letter of its right option if the column of right answers shows it."""
    lettered = [*items]
    for column in _truth_columns(spec, items):
        for place, letter in zip(column.places, column.truths.letters, strict=True):
            lettered[place] = replace(items[place], letter=letter)
    return lettered


def item_of(spec: Spec, row: SpecRow) -> Item:
    """The question of a row; its truth is None where the cell is empty."""
    columns = spec.columns
    truth = _truth_text(row.cells.get(columns.truth)) if columns.truth is not None else ""
    return Item(
        id=row.id,
        question=cell_text(row.cells.get(columns.question)),
        truth=None if is_empty(truth) else truth,
        options=options_of(spec, row.cells),
        cells=row.cells,
        letter=row.letter,
    )


def _truth_text(cell: Any) -> str:
    """The right answers of a cell as text; of an annotator's entry {"answer": ...}, as VQA has them, its answer."""
    if not isinstance(cell, list):
        return cell_text(cell)
    answers = [entry.get("answer", entry) if isinstance(entry, dict) else entry for entry in cell]
    return cell_text(answers)


def _truths_in(cell: Any) -> list[str]:
    """The right answers in a cell, the same for a list and for one written as text; none in an empty cell."""
    texts = map(str.strip, cell_members(cell))
    return [text for text in texts if not is_empty(text)]


def options_of(spec: Spec, cells: Mapping[str, Any]) -> Mapping[str, str]:
    """A row's options by letter: in columns, else in one list, else in the question's text; none if there are none."""
    columns = spec.columns.options
    truth = cell_text(_named_cell(cells, spec.columns.truth)).strip()
    if columns is not None and len(columns) > 1:
        texts = {
            letter: cell_text(cells.get(column))
            for letter, column in zip(LETTERS, columns, strict=False)
        }
        return lettered_options(texts, truth)
    letters = option_columns(cells) if columns is None else []
    if letters:
        return lettered_options({letter: cell_text(cells[letter]) for letter in letters}, truth)
    list_columns = [column for column in columns or LIST_COLUMNS if column in cells]
    listed = listed_options(cells[list_columns[0]]) if list_columns else None
    if listed:
        return dict(zip(LETTERS, listed, strict=False)) if len(listed) <= len(LETTERS) else {}
    if "letter" in spec.kinds:
        return options_in_text(cell_text(cells.get(spec.columns.question)))
    return {}


def split_of(spec: Spec, cells: Mapping[str, Any]) -> str:
    """The split of a row; "" where its spec or its file has no such column."""
    cell = _named_cell(_with_derived(spec, cells, [spec.splits]), spec.splits)
    return ", ".join(cell) if isinstance(cell, tuple) else cell_text(cell)


def _with_derived(
    spec: Spec, cells: Mapping[str, Any], columns: Iterable[str | None]
) -> Mapping[str, Any]:
    """A row's cells, with the derived columns if one of `columns` is derived; a cell that is split becomes a tuple."""
    if spec.derive.keys().isdisjoint(columns):
        return cells
    try:
        (all_cells,) = derived_rows(spec, cells, "lmms-eval")  # which never splits a row
    except ValueError:  # `_picture_cells` reports it
        return cells
    return all_cells


def _named_cell(cells: Mapping[str, Any], column: str | None) -> Any:
    """A row's cell in a column that a spec may leave out; None if it does, or if the row has no such cell."""
    return None if column is None else cells.get(column)


def case_of(spec: Spec, cells: Mapping[str, Any]) -> Case | None:
    """The first case that fits a row; None if none does."""
    columns = [column for case in spec.rule for column in case.when or {}]
    all_cells = _with_derived(spec, cells, columns)
    return next((case for case in spec.rule if fits(case.when or {}, all_cells)), None)


def fits(conditions: Mapping[str, str], cells: Mapping[str, Any]) -> bool:
    """Whether a row has these cells; "" is an empty or missing one."""
    return all(_is_cell(cells.get(column), value) for column, value in conditions.items())


def _is_cell(cell: Any, value: str) -> bool:
    """Whether a cell is this text, has it as a member, or is empty where the text is ""."""
    text = cell_text(cell)
    if not value:
        return all(map(is_empty, cell)) if isinstance(cell, tuple) else is_empty(text)
    return text == value or value in cell_members(cell)


def is_empty(text: str) -> bool:
    return not text.strip() or text in EMPTY_CELLS


def read_spec_rows(
    spec: Spec, records: Iterable[Record], questions: Mapping[str, Mapping[str, Any]] | None = None
) -> ReadFile[SpecRow]:
    """Reads a file's rows; with `questions`, the published cells by id, a row needs only an id and an answer."""
    reader = _RowReader(spec, questions)
    for record in records:
        reader.take(record)
    return reader.finish()


def read_questions(spec: Spec, records: Iterable[Record]) -> ReadFile[SpecRow]:
    """The rows of a question file, which need no answers."""
    reader = _RowReader(spec, None, with_answers=False)
    for record in records:
        reader.take(record)
    return reader.finish()


class _NeededColumn(NamedTuple):
    """A column that every file of answers must have, and its place in the spec."""

    place: str
    name: str


class _RowReader:
    def __init__(
        self,
        spec: Spec,
        questions: Mapping[str, Mapping[str, Any]] | None,
        with_answers: bool = True,
    ) -> None:
        self._spec = spec
        self._questions = questions
        self._with_answers = with_answers
        self._rows: list[SpecRow] = []
        self._problems: list[Problem] = []
        self._models: Counter[str] = Counter()
        self._layouts: dict[tuple[str, ...], Mapping[str, str]] = {}
        """The file's columns by the spec's names, for each set of columns that records have."""
        self._present_columns: dict[str, None] = {}
        """Columns that some row has, by the spec's names: a set that keeps its order."""
        self._rows_without_id: list[int] = []
        """The numbers of the rows that are counted, in place of an id."""
        self._reworded = 0
        """Rows with another question than the question file's."""
        self._ids_by_text = grouped(
            (self._question_text(cells), id) for id, cells in (questions or {}).items()
        )
        """The ids of the question file by their questions' texts."""

    def take(self, record: Record) -> None:
        """Reads a record as the next row, or adds its problem."""
        layout = self._layout(record)
        cells = {name: record.values[column] for name, column in layout.items()}
        self._present_columns.update(dict.fromkeys(cells))
        columns = self._spec.columns
        if columns.answer not in cells and self._with_answers:
            self._add_missing_column("columns.answer", columns.answer, [*record.values], record.row)
            return
        answer = cells.get(columns.answer) if self._with_answers else ""
        if isinstance(answer, list | dict | bool):
            text = f"{columns.answer!r} has {cell_text(answer)[:40]} instead of a text. Write the answer as text."
            self._add_problem(text, record.row)
            return
        id = self._row_id(cells, record)
        if id is None:
            return
        if self._questions is not None:
            published = self._questions.get(id)
            if published is None:
                text = f"Index {id[:40]} is not in the question file. Correct or delete it."
                self._add_problem(text, record.row)
                return
            self._check_differences(published, cells, id, record.row)
            cells = {**cells, **published}
            self._present_columns.update(dict.fromkeys(published))
        question_cells = {name: cell for name, cell in cells.items() if name != columns.answer}
        self._rows.append(SpecRow(id, cell_text(answer), question_cells, record.row))
        models = [str(cells[name]).strip() for name in _MODEL_COLUMNS if cells.get(name)]
        model = next(filter(None, models), "")
        if model:
            self._models[model] += 1

    def finish(self) -> ReadFile[SpecRow]:
        """Returns the rows with all problems, those of the whole file too."""
        self._check_columns()
        if self._questions is not None:
            self._read_published_letters(self._questions)
            self._check_missing_answers(self._questions)
        self._check_right_letters()
        self._check_repeated_ids()
        cells = self._picture_cells()
        self._check_empty_ids()
        if len(self._models) > 1:
            names = ", ".join(sorted(self._models)[:_SHOWN])
            self._add_problem(
                f"The file has the answers of several models: {names}. Split the file."
            )
        if not self._rows and not self._problems:
            self._add_problem("No row has an answer.")
        question = self._spec.columns.question
        answers = [row.answer for row in self._rows]
        questions = [cell_text(row.cells.get(question)) for row in self._rows]
        self._problems += oddities(answers, questions)
        picture_names = picture_digests(cells, [row.id for row in self._rows])
        rows = [
            replace(row, picture=picture)
            for row, picture in zip(self._rows, picture_names, strict=True)
        ]
        problems = sorted(self._problems, key=lambda problem: problem.row)
        model = next(iter(self._models)) if len(self._models) == 1 else ""
        return ReadFile(tuple(rows), tuple(problems), model, reworded=self._reworded)

    def _layout(self, record: Record) -> Mapping[str, str]:
        key = tuple(record.values)
        if key not in self._layouts:
            layout = layout_of(self._spec, key)
            if self._questions is not None:
                layout = layout_of_answers(self._spec, layout)
            self._layouts[key] = layout
        return self._layouts[key]

    def _row_id(self, cells: Mapping[str, Any], record: Record) -> str | None:
        """The row's id; without a column of ids, that of its question's text, else its number in the file's order.

        None after reporting a problem.
        """
        text = cell_text(cells.get(self._spec.columns.id)).strip()
        whole_number = text.removesuffix(".0")  # pandas makes 3.0 of 3 in a column with empty cells
        if whole_number.removeprefix("-").isdecimal():
            return whole_number
        if text:
            return text
        number = str(len(self._rows))
        if self._questions is not None and self._spec.columns.id not in cells:
            question = self._question_text(cells)
            ids = self._ids_of_text(question)
            if len(ids) == 1:
                return ids[0]
            known_question = self._question_text(self._questions.get(number, {}))
            # Either text may be part of a longer prompt. A missing text is part of every other.
            if question not in known_question and known_question not in question:
                column = self._spec.columns.id
                text = f"{len(ids)} questions have this text, and one is needed. Add a column {column!r}."
                self._add_problem(text, record.row)
                return None
        self._rows_without_id.append(record.row)
        return number

    def _question_text(self, cells: Mapping[str, Any]) -> str:
        """A question's text with single blanks; "" without one."""
        return " ".join(cell_text(cells.get(self._spec.columns.question)).split())

    def _ids_of_text(self, text: str) -> Sequence[str]:
        """The ids of the question file's questions with this text; none for no text."""
        return self._ids_by_text.get(text, ()) if text else ()

    def _check_differences(
        self, published: Mapping[str, Any], cells: Mapping[str, Any], id: str, row: int
    ) -> None:
        """Reports a row with the text of another question, or other options or another truth than the question file.

        Rows with any other text are only counted: the model may have been asked in other words.
        """
        question = self._question_text(cells)
        ids = self._ids_of_text(question)
        if ids and id not in ids:
            text = f"This is the question of {ids[0][:40]}, not of {id[:40]}. Correct the ids, or delete them."
            self._add_problem(text, row)
            return
        truth = self._spec.columns.truth
        options = options_of(self._spec, cells)
        published_options = options_of(self._spec, published)
        options_differ = bool(options and published_options) and options != published_options
        truths = _truths_in(_named_cell(cells, truth))
        published_truths = _truths_in(_named_cell(published, truth))
        answers_differ = bool(truths and published_truths) and truths != published_truths
        if options_differ or answers_differ:
            text = f"Index {id} has other options or another answer in the question file. Choose the right one."
            self._add_problem(text, row)
        if question and not ids:
            self._reworded += 1

    def _check_columns(self) -> None:
        """Reports the columns that the spec names and the file lacks, and what is left out without them."""
        if not self._rows:
            return
        spec = self._spec
        present = self._present_columns
        self._check_rule_columns()
        needed = {f"figures.{name}": spec.needed_columns(name) for name in spec.figures}
        needed |= {"groups": spec.groups, "splits": [*filter(None, [spec.splits])]}
        for field, names in needed.items():
            lacking = [name for name in map(spec.source_of, names) if name not in present]
            for column in dict.fromkeys(lacking):
                text = f"{field}: The file has no column {column!r}, so this is left out."
                self._add_problem(text, blocks="nothing")
        for name, figure in spec.figures.items():
            needed_columns = map(spec.source_of, spec.needed_columns(name))
            if all(column in present for column in needed_columns):
                conditions = map(spec.source_of, figure.condition_columns)
                self._add_empty_columns(f"figures.{name}", conditions)
        for protocol in spec.protocols:
            figures = spec.figures_under(protocol, present)
            if not figures:
                self._add_problem(
                    f"No figure of the protocol {protocol} has its columns in the file."
                )

    def _check_rule_columns(self) -> None:
        """Reports the missing columns that the rows' rules need or name, and that cases ask for."""
        spec = self._spec
        used_cases = [case_of(spec, row.cells) for row in self._rows]
        rules = [case.rule for case in spec.rule if any(case is used for used in used_cases)]
        needed = dict.fromkeys(column for rule in rules for column in self._needed_columns(rule))
        for place, name in needed:
            if name not in self._present_columns:
                self._add_missing_column(place, name, [*self._present_columns])
        for name in dict.fromkeys(name for rule in rules for name in rule.prompt_columns):
            if name not in self._present_columns:
                text = f"{_RULE}: The file has no column {name!r}, so it stays empty in the prompt."
                self._add_problem(text, blocks="nothing")
        named = {column.name for rule in rules for column in rule.named_columns}
        conditions = [name for case in spec.rule for name in case.when or {}]
        names = [*sorted(named - {name for _, name in needed}), *map(spec.source_of, conditions)]
        self._add_empty_columns(_RULE, names)

    def _needed_columns(self, rule: RuleKind) -> Iterator[_NeededColumn]:
        """Yields the columns that a rule can't do without."""
        columns = self._spec.columns
        for name in rule.required:
            if name == "question":
                yield _NeededColumn("columns.question", columns.question)
            elif name != "truth":
                yield _NeededColumn(_RULE, name)
            elif not self._with_answers:
                continue  # A question file may leave the right answers with its authors.
            elif rule.truth is not None:
                yield _NeededColumn(_RULE, rule.truth)
            elif columns.truth is not None:
                yield _NeededColumn("columns.truth", columns.truth)

    def _add_empty_columns(self, place: str, columns: Iterable[str]) -> None:
        """Reports those of these columns that the file lacks, where an empty cell means something too."""
        for column in dict.fromkeys(columns):
            if column not in self._present_columns:
                text = f"{place}: The file has no column {column!r}, so every cell of it counts as empty."
                self._add_problem(text, blocks="nothing")

    def _add_missing_column(
        self, place: str, column: str, present: Sequence[str], row: int = 0
    ) -> None:
        names = ", ".join(map(repr, present[:_SHOWN])) or "none"
        self._add_problem(f"{place}: The file has no {column!r}. It has {names}.", row)

    def _read_published_letters(self, questions: Mapping[str, Mapping[str, Any]]) -> None:
        """Gives the rows their right options as the question file's whole columns show them.

        The rows alone may be too few to show how right options are counted.
        """
        ids = [*questions]
        items = [item_of(self._spec, SpecRow(id, "", questions[id], row=0)) for id in ids]
        letters: dict[str, str | None] = {}
        for places, truths in _truth_columns(self._spec, items):
            letters |= {ids[at]: letter for at, letter in zip(places, truths.letters, strict=True)}
            if truths.notice:
                self._add_problem(truths.notice, blocks="nothing")
        self._rows = [replace(row, letter=letters.get(row.id)) for row in self._rows]

    def _check_right_letters(self) -> None:
        """Reports how columns of right options were read, or why they can't be."""
        items = [item_of(self._spec, row) for row in self._rows]
        for places, truths in _truth_columns(self._spec, items):
            if truths.misfit:
                row = self._rows[places[truths.misfit.position]].row
                self._add_problem(truths.misfit.problem, row)
            elif truths.ambiguous:
                self._add_problem(truths.ambiguous)
            elif truths.notice:
                self._add_problem(truths.notice, blocks="nothing")

    def _check_empty_ids(self) -> None:
        """Reports the rows without an id, or that the whole file has none."""
        column = self._spec.columns.id
        if any(column in layout for layout in self._layouts.values()):
            for row in self._rows_without_id:
                self._add_problem("The id is empty. Write it there.", row)
        elif self._rows_without_id:
            text = f"The file has no column {column!r}, so its rows are counted from 0."
            self._add_problem(text, blocks="nothing")

    def _check_repeated_ids(self) -> None:
        times = Counter(row.id for row in self._rows)
        for row in self._rows:
            if times[row.id] > 1:
                text = f"{times[row.id]} rows have the id {row.id[:40]}. Keep one of them."
                self._add_problem(text, row.row)

    def _picture_cells(self) -> list[str]:
        """Returns the identity of each row's picture, from the spec's columns or else a toolkit's.

        Also reports cells from which nothing can be derived.
        """
        image_columns = columns_by_plain_name(self._spec.columns.images or ())
        picture_cells = []
        for row in self._rows:
            cells = with_id(self._spec, row)
            try:
                # Where a row is split, all its parts are about its picture.
                cells = derived_rows(self._spec, cells)[0]
            except ValueError as error:
                self._add_problem(str(error), row.row)
            picture_cells.append(picture_cell(columns_by_plain_name(cells), cells, image_columns))
        if image_columns and self._rows and not any(picture_cells):
            text = (
                "The file doesn't show which questions share a picture, so intervals may be too narrow. Add a column "
                "image_id, or give the question file."
            )
            self._add_problem(text, blocks="nothing")
        return picture_cells

    def _check_missing_answers(self, questions: Mapping[str, Mapping[str, Any]]) -> None:
        answered = {row.id for row in self._rows}
        missing = [id for id in questions if id not in answered]
        if missing:
            ids = ", ".join(missing[:_SHOWN])
            others = len(missing) - _SHOWN
            if others > 0:
                ids = f"{ids} and {others:,} more"
            count = f"{len(missing):,} of the {len(questions):,} questions"
            text = f"No answer to {count} in the question file. Add id {ids}."
            self._add_problem(text, blocks="whole")

    def _add_problem(self, text: str, row: int = 0, blocks: Blocks = "scoring") -> None:
        self._problems.append(Problem(row, None, text, blocks))


def with_id(spec: Spec, row: SpecRow) -> Mapping[str, Any]:
    """A row's cells, with its id as it was read. A row that was only counted gets none: its place says nothing."""
    id = spec.columns.id
    return {**row.cells, id: row.id} if id in row.cells else row.cells


def _derived_cell(derived: Derived, cell: Any) -> str | tuple[str, ...]:
    """The cell derived from another; from a tuple of members, a tuple of what each gives. Raises ValueError."""
    if not isinstance(cell, tuple):
        return derived.derive_cell(cell_text(cell))
    members: dict[str, None] = {}  # a set that keeps its order
    for member in cell:
        value = derived.derive_cell(member)
        members.update(dict.fromkeys(value if isinstance(value, tuple) else (value,)))
    return tuple(members)


def _without(cells: Mapping[str, Any], column: str) -> Mapping[str, Any]:
    return {name: cell for name, cell in cells.items() if name != column}


def derived_rows(
    spec: Spec, cells: Mapping[str, Any], protocol: RuleProtocol = "strict"
) -> Sequence[Mapping[str, Any]]:
    """A row's cells with the columns derived from them, once for each member of a cell that is split.

    lmms-eval counts a question once, in whatever groups it is: under it, the members stay together as a tuple. Raises
    ValueError where a number is needed and a cell has none, and for too many rows.
    """
    rows: list[Mapping[str, Any]] = [cells]
    for name, derived in spec.derive.items():
        rows_with_column = []
        for row in rows:
            if derived.source not in row:
                rows_with_column.append(_without(row, name))
                continue
            try:
                value = _derived_cell(derived, row[derived.source])
            except ValueError as error:
                raise ValueError(f"derive.{name}: In {derived.source}, {error}") from None
            is_split = derived.split is not None and protocol != "lmms-eval"
            values = value if is_split and isinstance(value, tuple) else (value,)
            rows_with_column += [{**row, name: member} for member in values]
        if len(rows_with_column) > _MOST_MEMBER_ROWS:
            raise ValueError(
                f"derive.{name}: The row has over {_MOST_MEMBER_ROWS} members. Leave some out."
            )
        rows = rows_with_column
    return rows
