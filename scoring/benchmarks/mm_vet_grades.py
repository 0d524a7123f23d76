"""MM-Vet's grade files, `*-grade-*.json`: a judge's grades from the authors' script become a report again.

A file has {id: {"model": [...], "content": [...], "score": [...]}} with one place a run, and no answers.
"""

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
from arena.io.tables import KEY, PAGE, FileLimits, Record, RowsError, read_records
from scoring.benchmarks.mm_vet import missed, model_stem, read_paper
from scoring.benchmarks.mm_vet_tables import OFF_GRID, UNREADABLE
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
from scoring.benchmarks.result_files import JUDGE, LMMS_SCORE, Toolkit, grades_toolkit, lmms_score
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
UNNAMED = "a judge that the file does not name"
_JUDGED = re.compile(
    rf"(.{{1,200}})_MM-?Vet(?:_Hard)?_({JUDGE})(?:_score)?", re.IGNORECASE | re.DOTALL
)
"""<model>_MMVet_<judge>; a name with `_final` has no judge."""
_SUCCESS = "succeed"
_FAILURE = re.compile(r"fail|invalid|error")
"""VLMEvalKit's log of a scored answer ends in "Succeed"; other logs have only failed tries."""
_COLUMNS = ("model", "content", "score")


class _Grades(TypedDict):
    model: list[Annotated[str, StringConstraints(min_length=1, max_length=200)]]
    content: list[str]
    score: list[float | None]


_GRADES = TypeAdapter(_Grades)


@dataclass(frozen=True)
class GradeFile:
    """A file of grades, read completely."""

    upload: Upload
    """Its ids; answers are empty, since the authors' files have none."""
    grades: Mapping[str, tuple[Grade, ...]]
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
        others = {question.id for question in questions.outside}
        predictions = tuple(
            prediction for prediction in self.upload.predictions if prediction.id not in others
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

    Other problems are reported when the file is read.
    """
    if toolkit_of(path, limits, name):
        return True
    if path.suffix.lower() != ".json":
        return False
    for record in read_records(path, limits, name=name, members=True):
        lists = [isinstance(record.values.get(name), list) for name in _COLUMNS]
        if sum(lists) > 1:
            return True
    return False


def toolkit_of(path: Path, limits: FileLimits = PAGE, name: str | None = None) -> Toolkit | None:
    """The toolkit that wrote its judge's grades beside the answers; None for another file."""
    return grades_toolkit(read_records(path, limits, IMAGE_COLUMNS, name, members=True))


def grades_for(
    path: Path, questions: QuestionSet, limits: FileLimits = PAGE, name: str | None = None
) -> GradeFile:
    """The grades in a file for a question set: a toolkit's, or the authors'. Raises RowsError."""
    toolkit = toolkit_of(path, limits, name)
    if toolkit is None:
        return read_grades(path, limits, name)
    label = name or path.name
    upload = read_predictions(path, questions, limits, name)
    title = upload.title
    judge = UNNAMED
    if toolkit == "VLMEvalKit":
        title, judge = _named_judge(label, upload.title)
    grades: dict[str, tuple[Grade, ...]] = {}
    for joined in joined_records(path, QuestionIndex(questions), limits, label):
        with row_errors(label, joined.record.row):
            id = joined.prediction.id
            grades[id] = (_toolkits_grade(id, joined.source, judge),)
    return GradeFile(replace(upload, title=title), grades, 1, toolkit)


def _named_judge(file: str, title: str) -> tuple[str, str]:
    """The model and the judge in a file's name, if it has them; else the title and UNNAMED."""
    match = _JUDGED.fullmatch(Path(file).stem)
    return (match[1], match[2]) if match else (title, UNNAMED)


def _toolkits_grade(id: str, record: Record, judge: str) -> Grade:
    """A question's grade in a toolkit's row. Raises RowsError."""
    cells = {name.strip().lower(): cell for name, cell in record.values.items()}
    outcome = cells.get(LMMS_SCORE)
    column = "score" if outcome is None else LMMS_SCORE
    cell = cells.get("score") if outcome is None else lmms_score(outcome)
    if isinstance(outcome, dict) and isinstance(outcome.get("eval_model"), str):
        judge = str(outcome["eval_model"])[:200] or judge
    log = str(cells.get("log") or "")
    if cell is None or str(cell).strip() in ("", *EMPTY_CELLS):
        return Grade(id, 0, None, "the file has no score for this answer", (UNREADABLE,), (), judge)
    try:
        score = float(str(cell)) if not isinstance(cell, bool) else math.nan
    except ValueError:
        score = math.nan
    if not 0 <= score <= 1:
        problem = f"The score is {str(cell)[:40]!r}, but must be from 0.0 to 1.0. Correct it."
        raise RowsError(problem, column=column)
    tries = log.lower()
    failed = _SUCCESS not in tries and bool(_FAILURE.search(tries))
    is_without_reply = (
        isinstance(outcome, dict) and outcome.get("eval_model") == ""
    )  # lmms-eval's, no reply
    if score == 0 and (failed or is_without_reply):
        why = f" ({' '.join(log[:200].split())!r:.80})" if failed else ""
        reason = f"none of the judge's replies holds a score{why}"
        return Grade(id, 0, score, reason, (UNREADABLE,), (), judge)
    flags = () if round(score * 10, 9) in range(11) else (OFF_GRID,)
    return Grade(id, 0, score, "", flags, (), judge)


def read_grades(path: Path, limits: FileLimits = PAGE, name: str | None = None) -> GradeFile:
    """Grades by question id. Raises RowsError."""
    label = name or path.name
    grades: dict[str, tuple[Grade, ...]] = {}
    predictions = []
    for record in read_records(path, limits, name=label, members=True):
        with row_errors(label, record.row):
            row_grades = _grades(record)
        id = row_grades[0].question
        grades[id] = row_grades
        predictions.append(Prediction(id, "", record.row))
    runs = max(map(len, grades.values()), default=0)
    if incomplete := [
        prediction for prediction in predictions if len(grades[prediction.id]) < runs
    ]:
        scores = len(grades[incomplete[0].id])
        problem = f"It has {scores} of {runs} scores. Add the missing ones."
        raise RowsError(problem, label, incomplete[0].row, incomplete[0].id)
    return GradeFile(
        Upload(label, "authors' grades", model_stem(label), tuple(predictions)), grades, runs
    )


def graded_report(
    file: GradeFile,
    questions: QuestionSet,
    missing: Missing = "stop",
    title: str = "",
    answers: Upload | None = None,
) -> Report:
    """The report of a grade file, with the graded answers if they are available. Raises UploadError."""
    file = file.within(questions)
    filled = fill(questions, file.upload, missing)
    if file.toolkit:
        answers = file.upload
    filled_answers = fill(questions, answers, missing) if answers else ()
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
        rows.append(Row(question, text, grades, no_answer=missed(Filled(question, text))))
    judge, *others = file.judges
    return Report(
        benchmark=questions.benchmark,
        questions=questions,
        protocol="paper",
        judge=JudgeStamp(judge, (judge, *others), "", "", file.parser),
        runs=file.runs,
        sampled=False,
        title=title.strip()[:120] or file.upload.title,
        file=file.upload.file,
        created=now().isoformat(timespec="seconds"),
        rows=tuple(rows),
    )


def _grades(record: Record) -> tuple[Grade, ...]:
    """The grades of a question, one a run. Raises RowsError."""
    id = str(record.values.get(KEY, ""))
    try:
        entry = {name: record.values[name] for name in record.values if name != KEY}
        lists = _GRADES.validate_python(entry, strict=True)
    except ValidationError as error:
        problem = (
            "It needs three lists: model, content and score. "
            "Use the file exactly as the authors' script wrote it."
        )
        raise RowsError(problem, column=id) from error
    if len({len(lists[name]) for name in _COLUMNS}) > 1 or not lists["score"]:
        raise RowsError(
            "Its lists model, content and score have different lengths or are empty. Correct them.",
            column=id,
        )
    if wrong := [score for score in lists["score"] if score is not None and not 0 <= score <= 1]:
        raise RowsError(
            f"A score is {wrong[0]:g}, but must be from 0.0 to 1.0. Correct it.", column=id
        )
    places = list(zip(lists["model"], lists["content"], lists["score"], strict=True))
    for _, content, score in places:
        read = read_paper(content)
        if read is not None and score != read:
            problem = f"The score is {score}, but its reply says {content[:40]!r}. Correct one of the two."
            raise RowsError(problem, column=id)
    return tuple(
        _grade(id, run, model, content, score) for run, (model, content, score) in enumerate(places)
    )


def _grade(id: str, run: int, model: str, content: str, score: float | None) -> Grade:
    if score is None or (score == 0 and read_paper(content) is None):
        reason = f"the judge's reply {content!r:.80} holds no score"
        return Grade(id, run, score, reason, (UNREADABLE,), (content,), model)
    flags = () if round(score * 10, 9) in range(11) else (OFF_GRID,)
    return Grade(id, run, float(score), "", flags, (content,), model)
