"""MM-Vet's grade files, `*-grade-*.json`: a judge's grades from the authors' script become a report again.

A file has {id: {"model": [...], "content": [...], "score": [...]}} with one place a run, and no answers.
"""

import contextlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import StringConstraints, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from arena.database import now
from arena.io.strict_json import row_errors
from arena.io.tables import JSON, KEY, PAGE, FileLimits, Record, RowsError, read_records
from scoring.benchmarks.mm_vet import grid_flags, no_answer_reason, read_paper
from scoring.benchmarks.mm_vet_files import model_stem
from scoring.benchmarks.mm_vet_tables import UNREADABLE
from scoring.benchmarks.predictions import (
    Missing,
    Prediction,
    QuestionIndex,
    Upload,
    UploadError,
    fill,
    joined_records,
    read_predictions,
)
from scoring.benchmarks.result_files import (
    JUDGE,
    LMMS_SCORE,
    Toolkit,
    lmms_score,
    toolkit_of_grades,
)
from scoring.multiple_choice.reader import IMAGE_COLUMNS
from scoring.report import (
    EMPTY_CELLS,
    Filled,
    Grade,
    JudgeStamp,
    QuestionSet,
    Report,
    Row,
)

PARSER = "grades of a file 1"
"""Name and version of the parser of the authors' files."""
UNNAMED = "a judge that the file does not name"
_JUDGED_NAME = re.compile(
    rf"(.{{1,200}})_MM-?Vet(?:_Hard)?_({JUDGE})(?:_score)?", re.IGNORECASE | re.DOTALL
)
"""VLMEvalKit's <model>_MMVet_<judge>; a name with `_final` has no judge."""
_SUCCESS = "succeed"
"""In VLMEvalKit's log of a scored answer, in lower case; earlier tries in the same log may have failed."""
_FAILURE = re.compile(r"fail|invalid|error")
"""A failed try in such a log, in lower case."""
_LISTS = ("model", "content", "score")


class _Entry(TypedDict):
    """A question's grades in the authors' file: three lists with a place for each run."""

    model: list[Annotated[str, StringConstraints(min_length=1, max_length=200)]]
    content: list[str]
    score: list[float | None]


_ENTRY = TypeAdapter(_Entry)


@dataclass(frozen=True)
class GradeFile:
    """A file of grades, read completely."""

    upload: Upload
    """Its ids; in the authors' files answers are empty."""
    grades: Mapping[str, tuple[Grade, ...]]
    """The grades of each question, one a run, by its id."""
    runs: int
    toolkit: Toolkit | None = None
    """The toolkit that wrote the answers and their grades into one file; None for the authors' grade files."""

    @property
    def parser(self) -> str:
        return f"grades of {self.toolkit} 1" if self.toolkit else PARSER

    @property
    def judges(self) -> tuple[str, ...]:
        return tuple(sorted({grade.model for grades in self.grades.values() for grade in grades}))

    def within(self, questions: QuestionSet) -> "GradeFile":
        """The file without grades of questions outside a subset, which are counted. Raises UploadError without any."""
        outside_ids = {question.id for question in questions.outside}
        predictions = tuple(
            prediction for prediction in self.upload.predictions if prediction.id not in outside_ids
        )
        if not predictions:
            raise UploadError(
                self.upload.file,
                (f"It has no grades of {questions.name}. Choose the file that has them.",),
            )
        outside = self.upload.outside + len(self.upload.predictions) - len(predictions)
        upload = replace(self.upload, predictions=predictions, outside=outside)
        grades = {prediction.id: self.grades[prediction.id] for prediction in predictions}
        return replace(self, upload=upload, grades=grades)


def holds_grades(path: Path, limits: FileLimits = PAGE, name: str | None = None) -> bool:
    """Whether a file has grades: the authors', by two of their three lists in an entry, or a toolkit's, by its columns.

    Two lists suffice, so that `read_grades` can say that the third is missing. Raises RowsError for a file that can't
    be read.
    """
    if toolkit_of(path, limits, name):
        return True
    if path.suffix.lower() != ".json":
        return False
    for record in read_records(path, limits, name=name, allow_object=True):
        lists = [column for column in _LISTS if isinstance(record.values.get(column), list)]
        if len(lists) > 1:
            return True
    return False


def toolkit_of(path: Path, limits: FileLimits = PAGE, name: str | None = None) -> Toolkit | None:
    """The toolkit that wrote its judge's grades beside the answers; None for another file. Raises RowsError."""
    return toolkit_of_grades(read_records(path, limits, IMAGE_COLUMNS, name, allow_object=True))


def grades_for(
    path: Path, questions: QuestionSet, limits: FileLimits = PAGE, name: str | None = None
) -> GradeFile:
    """The grades in a file for a question set: a toolkit's, or the authors'. Raises RowsError."""
    toolkit = toolkit_of(path, limits, name)
    if toolkit is None:
        return read_grades(path, limits, name)
    label = name or path.name
    upload = read_predictions(path, questions, limits, name)
    judge = UNNAMED
    if toolkit == "VLMEvalKit":
        match = _JUDGED_NAME.fullmatch(Path(label).stem)
        if match:
            upload = replace(upload, title=match[1])
            judge = match[2]
    grades: dict[str, tuple[Grade, ...]] = {}
    for joined in joined_records(path, QuestionIndex(questions), limits, label):
        with row_errors(label, joined.record.row):
            id = joined.prediction.id
            grades[id] = (_toolkit_grade(id, joined.source, judge),)
    return GradeFile(upload, grades, runs=1, toolkit=toolkit)


def _toolkit_grade(id: str, record: Record, judge: str) -> Grade:
    """A question's grade in a toolkit's row; `judge` is the one in the file's name. Raises RowsError."""
    cells = {name.strip().lower(): cell for name, cell in record.values.items()}
    outcome = cells.get(LMMS_SCORE)
    if outcome is not None:
        return _lmms_grade(id, outcome, judge)
    cell = cells.get("score")
    if _is_empty(cell):
        return _grade_without_score(id, judge)
    score = _score_in_cell(cell, "score")
    log = str(cells.get("log") or "")
    lower_log = log.lower()
    has_failed = _SUCCESS not in lower_log and _FAILURE.search(lower_log)
    if score == 0 and has_failed:
        quoted_log = f"{' '.join(log[:200].split())!r:.80}"
        return _grade_without_reply(id, judge, f" ({quoted_log})")
    return Grade(id, run=0, score=score, flags=grid_flags(score), model=judge)


def _lmms_grade(id: str, outcome: JSON, judge: str) -> Grade:
    """A grade from lmms-eval's outcome of a question, which may name the judge. Raises RowsError."""
    model = outcome.get("eval_model") if isinstance(outcome, dict) else None
    if isinstance(model, str) and model:
        judge = model[:200]
    cell = lmms_score(outcome)
    if _is_empty(cell):
        return _grade_without_score(id, judge)
    score = _score_in_cell(cell, LMMS_SCORE)
    if score == 0 and model == "":  # so lmms-eval writes that the judge gave no reply
        return _grade_without_reply(id, judge, "")
    return Grade(id, run=0, score=score, flags=grid_flags(score), model=judge)


def _is_empty(cell: JSON) -> bool:
    return cell is None or str(cell).strip() in ("", *EMPTY_CELLS)


def _score_in_cell(cell: JSON, column: str) -> float:
    """Returns a score from 0 to 1. Raises RowsError with the column."""
    score = math.nan
    if not isinstance(cell, bool) and "_" not in str(cell):  # float() would read 0_1 as 1
        with contextlib.suppress(ValueError):
            score = float(str(cell))
    if not 0 <= score <= 1:
        problem = f"The score is {str(cell)[:40]!r}, but must be from 0.0 to 1.0. Correct it."
        raise RowsError(problem, column=column)
    return score


def _grade_without_score(id: str, judge: str) -> Grade:
    reason = "the file has no score for this answer"
    return Grade(id, run=0, score=None, reason=reason, flags=(UNREADABLE,), model=judge)


def _grade_without_reply(id: str, judge: str, why: str) -> Grade:
    """The grade of an answer that got 0 because no reply of the judge had a score."""
    reason = f"none of the judge's replies holds a score{why}"
    return Grade(id, run=0, score=0.0, reason=reason, flags=(UNREADABLE,), model=judge)


def read_grades(path: Path, limits: FileLimits = PAGE, name: str | None = None) -> GradeFile:
    """The grades in a file of the authors' script. Raises RowsError."""
    label = name or path.name
    grades: dict[str, tuple[Grade, ...]] = {}
    predictions = []
    for record in read_records(path, limits, name=label, allow_object=True):
        with row_errors(label, record.row):
            row_grades = _grades(record)
        id = row_grades[0].question
        grades[id] = row_grades
        predictions.append(Prediction(id, "", record.row))
    runs = max(map(len, grades.values()), default=0)
    for prediction in predictions:
        count = len(grades[prediction.id])
        if count < runs:
            problem = f"It has {count} of {runs} scores. Add the missing ones."
            raise RowsError(problem, label, prediction.row, prediction.id)
    upload = Upload(label, "authors' grades", model_stem(label), tuple(predictions))
    return GradeFile(upload, grades, runs)


def graded_report(
    file: GradeFile,
    questions: QuestionSet,
    missing: Missing = "stop",
    title: str = "",
    answers: Upload | None = None,
) -> Report:
    """The report of a grade file, with the graded `answers` if their file is given. Raises UploadError.

    A toolkit's file has both.
    """
    file = file.within(questions)
    filled = fill(questions, file.upload, missing)
    answer_file = file.upload if file.toolkit else answers
    filled_answers = fill(questions, answer_file, missing) if answer_file else ()
    # An answer without a grade counts as missing.
    texts = {
        answer.question.id: answer.prediction
        for answer in filled_answers
        if answer.question.id in file.grades
    }
    rows = []
    for graded in filled:
        question = graded.question
        text = texts.get(question.id)
        grades = file.grades.get(question.id, ())
        reason = no_answer_reason(Filled(question, text))
        rows.append(Row(question, text, grades, no_answer=reason))
    judges = file.judges
    return Report(
        benchmark=questions.benchmark,
        questions=questions,
        protocol="paper",
        judge=JudgeStamp(
            model=judges[0], versions=judges, address="", prompt="", parser=file.parser
        ),
        runs=file.runs,
        sampled=False,
        title=title.strip()[:120] or file.upload.title,
        file=file.upload.file,
        created=now().isoformat(timespec="seconds"),
        rows=tuple(rows),
    )


def _grades(record: Record) -> tuple[Grade, ...]:
    """The grades of a question, one a run. Raises RowsError."""
    if KEY not in record.values:
        problem = "It isn't an entry under a question's id. Use the file exactly as the authors' script wrote it."
        raise RowsError(problem)
    id = str(record.values[KEY])
    try:
        entry = {name: record.values[name] for name in record.values if name != KEY}
        lists = _ENTRY.validate_python(entry, strict=True)
    except ValidationError as error:
        problem = (
            "It needs three lists: model, content and score. "
            "Use the file exactly as the authors' script wrote it."
        )
        raise RowsError(problem, column=id) from error
    lengths = {len(lists[name]) for name in _LISTS}
    if len(lengths) > 1 or lengths == {0}:
        raise RowsError(
            "Its lists model, content and score have different lengths or are empty. Correct them.",
            column=id,
        )
    if wrong := [score for score in lists["score"] if score is not None and not 0 <= score <= 1]:
        raise RowsError(
            f"A score is {wrong[0]:g}, but must be from 0.0 to 1.0. Correct it.", column=id
        )
    grades = []
    runs = zip(lists["model"], lists["content"], lists["score"], strict=True)
    for run, (model, content, score) in enumerate(runs):
        score_in_reply = read_paper(content)
        if score_in_reply is not None and score != score_in_reply:
            problem = f"The score is {score}, but its reply says {content[:40]!r}. Correct one of the two."
            raise RowsError(problem, column=id)
        grades.append(_grade(id, run, model, content, score))
    return tuple(grades)


def _grade(id: str, run: int, model: str, content: str, score: float | None) -> Grade:
    """A grade of the authors' file; a 0 for a reply without a score is flagged."""
    if score is None or (score == 0 and read_paper(content) is None):
        reason = f"the judge's reply {content!r:.80} holds no score"
        return Grade(
            id,
            run,
            score=score,
            reason=reason,
            flags=(UNREADABLE,),
            replies=(content,),
            model=model,
        )
    return Grade(
        id, run, score=float(score), flags=grid_flags(score), replies=(content,), model=model
    )
