"""Report model of all benchmarks: questions, predictions, grades, and the score tables and downloads made from them.

An unknown outcome is `None` with a reason: it stays out of every mean and is counted beside it.
"""

import csv
import hashlib
import json
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import StrictBool, StrictFloat, StrictInt

from arena.inference.endpoint import place_of
from arena.io.csv_text import csv_text
from arena.io.strict_json import RowsError
from scoring.intervals import UNIT, Ends, mean_ends, percent_ends, possible_ends
from scoring.no_answers import unscored_because
from scoring.serialize import read_record

DATA = Path(__file__).parent / "data"
Protocol = Literal["paper", "hardened"]
Probed = Literal["flagged", "all"]
"""Predictions that are judged once more under another question's truth."""
Kind = Literal["item", "canary", "probe"]
"""item: a prediction of the file; canary: an answer that deserves nothing; probe: a flagged one under another truth."""


class NoAnswersError(RowsError):
    """Error for a file without any answers."""

    exit_code = 5


@dataclass(frozen=True)
class Question:
    """A question of a benchmark."""

    id: str
    text: str
    truth: str
    """Ground truth as published."""
    groups: tuple[str, ...]
    """Abilities that the question tests; in MM-Vet, its capabilities."""
    image: str = ""
    """File name of its image, as published; of several, the first."""
    further_images: tuple[str, ...] = ()


_LEAST_ECHO = 20
"""The fewest characters of a question whose text in its answer is no coincidence."""


def repeats(answer: str, question: str) -> bool:
    """Whether the answer holds its question's text, as files of prompts with answers do."""
    text = question.strip()
    return len(text) >= _LEAST_ECHO and text in answer


EMPTY_CELLS = ("nan", "NaN", "NA", "<NA>")
"""Words of pandas and R for an empty cell."""
NO_ANSWERS = ("NA", "None")
"""Words that tools write where there is no answer, but that a model may also have answered."""


def answer_digest(answer: str) -> str:
    """Digest (sha256) of an answer, by which marks and labels of another edition of a file aren't taken for its own."""
    return hashlib.sha256(answer.encode("utf-8", "surrogatepass")).hexdigest()


class Filled(NamedTuple):
    """A question with its prediction; None if the file has none."""

    question: Question
    prediction: str | None


@dataclass(frozen=True)
class QuestionSet:
    """The questions that a file is scored on, and their source."""

    benchmark: str
    name: str
    digest: str
    """sha256 of the questions; reports name it."""
    official: StrictBool
    """Whether these are the published questions, complete and unchanged."""
    questions: tuple[Question, ...]
    outside: tuple[Question, ...] = ()
    """For a subset, the other questions of the whole set: a file may answer them, and reports do not keep them."""


@dataclass(frozen=True)
class Grade:
    """Grade by the judge of one prediction in one run."""

    question: str
    run: StrictInt
    score: StrictFloat | None
    reason: str = ""
    """Reason for no score or (paper protocol) for a score of 0.0; else empty."""
    flags: tuple[str, ...] = ()
    replies: tuple[str, ...] = ()
    """Replies of the judge, in order."""
    model: str = ""
    """Name the server gave the model of the last reply."""


@dataclass(frozen=True)
class Row:
    """A question of a report with its prediction (None if the file has none) and one grade per run."""

    question: Question
    prediction: str | None
    grades: tuple[Grade, ...]
    flags: tuple[str, ...] = ()
    no_answer: str = ""
    """Reason why the prediction is no answer of a model; "" for an answer."""

    @property
    def answered(self) -> bool:
        """Whether the file has a prediction, or as a file of grades the judge's replies to one."""
        return self.prediction is not None or any(grade.replies for grade in self.grades)


@dataclass(frozen=True)
class JudgeStamp:
    """Stamp of the judge and its prompt, which makes two scores comparable."""

    model: str
    """Name of the requested model."""
    versions: tuple[str, ...]
    """Names the server gave the models that replied."""
    address: str
    """Base URL without user, password or query."""
    prompt: str
    """Digest (sha256) of the prompt's fixed part."""
    parser: str
    """Name and version of the reply parser."""

    @property
    def public(self) -> "JudgeStamp":
        """Stamp for files that anybody may read: an operator's own server has no address there."""
        if not self.address:
            return self
        # The host of a public server, which is in its address. For an own server there are words instead.
        place = place_of(self.address)
        return self if place in self.address else replace(self, address=place)

    def with_versions(self, models: Iterable[str]) -> "JudgeStamp":
        """Stamp after the judging, with the names of the models that replied ("" for none)."""
        return replace(self, versions=tuple(sorted({*models} - {""})))


@dataclass(frozen=True)
class QuestionStamp:
    """Question file that answers were joined to."""

    name: str
    md5: str
    """Empty for a file of secret right answers: a reader who knows most of them could find the others by it."""
    is_published: bool
    """Whether the benchmark's authors publish the file, byte for byte."""
    reworded: int = 0
    """Rows of the answers with another question than the file's, so that the model may have read the other one."""

    @property
    def words(self) -> str:
        """The file in words, as reports name it."""
        words = f"{self.name}, md5 {self.md5}" if self.md5 else self.name
        if self.is_published:
            words = f"{self.name}, as its authors publish it"
        if self.reworded:
            words += f"; {self.reworded:,} of the answers' rows show another question"
        return words


class AnyReport(typing.Protocol):
    """Fields that the reports of all benchmarks share, whatever their rows.

    `benchmark` is a key, `judge` is there also before the judging (None if rules alone decide), `title` is the model's
    name as its owner gave it, `created` an ISO time in UTC.
    """

    __dataclass_fields__: typing.ClassVar[dict[str, Any]]

    @property
    def benchmark(self) -> str: ...

    @property
    def protocol(self) -> str: ...

    @property
    def judge(self) -> JudgeStamp | None: ...

    @property
    def title(self) -> str: ...

    @property
    def file(self) -> str: ...

    @property
    def created(self) -> str: ...


@dataclass(frozen=True)
class Report:
    """Scored file, complete: every table and download is computed from it."""

    benchmark: str
    questions: QuestionSet
    protocol: Protocol
    judge: JudgeStamp
    runs: StrictInt
    sampled: StrictBool
    """Whether the runs are samples of one call (`n`) instead of separate calls."""
    title: str
    file: str
    created: str
    rows: tuple[Row, ...]
    canaries: tuple[Grade, ...] = ()
    canary_seed: str = ""
    """Draws the job's own canaries; without one, there are only those that everybody knows."""
    probed: Probed = "flagged"
    asked: str = ""
    """Text that the model read before each question, as its file tells; "" for the question alone."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Ids of questions without an answer; if there are any, the report is partial."""
        return tuple(row.question.id for row in self.rows if not row.answered)

    @property
    def is_trusted(self) -> bool:
        """Whether no canary got a score above zero; an unscored canary proves nothing."""
        return not self.distrust

    @property
    def distrust(self) -> str:
        """Reason for not trusting the judge; "" for a trusted judge."""
        positive_scores = [grade.score for grade in self.canaries if grade.score]
        if not positive_scores:
            return ""
        mean = sum(positive_scores) / len(positive_scores)
        count = len(positive_scores)
        total = len(self.canaries)
        return (
            f"don't trust this score: the judge gave {count:,} of {total:,} worthless answers {mean:.2f} points on "
            "average"
        )


@dataclass(frozen=True)
class ScoreLine:
    """Line of a score table; means are over runs and questions, times 100, and None if nothing is scored."""

    name: str
    n: int
    """Number of questions."""
    unscored: int
    """Number of grades (question and run) without a score."""
    mean: float | None
    low: float | None
    high: float | None
    """Ends of the 95% interval, of the mean over new questions, or with many unscored over all of these.

    None if nothing is scored.
    """
    worst: float
    best: float
    """Mean if every unscored grade were the lowest there is, and if it were the highest."""
    places: int = 1
    """Digits behind the point, as people read it."""

    @property
    def form(self) -> str:
        """Format of its numbers: ".1f"."""
        return f".{self.places}f"


@dataclass(frozen=True)
class ScoreTable:
    """Score lines under a heading, the total last."""

    name: str
    lines: tuple[ScoreLine, ...]
    run_totals: tuple[float | None, ...]
    """Total of each run, times 100."""
    spread: float | None
    """Population standard deviation of the runs' totals, as MM-Vet's authors print it."""


Matrix: TypeAlias = NDArray[np.float64]
"""Shape (questions, runs); NaN where there is no score."""
LEAST_MISSED = 0.5
"""The least size of the two imagined differences in `difference`'s interval, however small the observed ones are."""


def table(
    name: str, groups: Mapping[str, Sequence[Row]], rows: Sequence[Row], runs: int
) -> ScoreTable:
    """Table with a line for each group of rows and the total of all rows last."""
    totals = _run_means(scores(rows, runs))
    known_totals = totals[~np.isnan(totals)]
    return ScoreTable(
        name=name,
        lines=tuple(
            line(group, scores(group_rows, runs), [row.question.image for row in group_rows])
            for group, group_rows in [*groups.items(), ("total", rows)]
        ),
        run_totals=tuple(_none_if_nan(total) for total in totals),
        spread=float(known_totals.std()) if known_totals.size else None,
    )


def scores(rows: Iterable[Row], runs: int) -> Matrix:
    """Scores of rows, of shape (rows, runs); a missing grade is NaN, like a grade without a score."""
    lines = []
    for row in rows:
        score_by_run = {grade.run: grade.score for grade in row.grades if grade.score is not None}
        lines.append([score_by_run.get(run, np.nan) for run in range(runs)])
    return np.array(lines, dtype=np.float64).reshape(len(lines), runs)


def line(name: str, values: Matrix, pictures: Sequence[str] = (), scale: Ends = UNIT) -> ScoreLine:
    """Line of a group: the mean of each run over its scored questions, then the mean over runs.

    `values` are scores, as `scores` returns them; `scale` has the lowest and the highest there are. Questions about the
    same picture have the same text in `pictures`, "" for an unknown picture.
    """
    unscored = np.isnan(values)
    worst = _mean(_run_means(np.where(unscored, scale.low, values)))
    best = _mean(_run_means(np.where(unscored, scale.high, values)))
    ends = mean_ends(values, pictures, scale, scale)
    low = None
    high = None
    if ends:
        low, high = percent_ends(possible_ends(ends, worst / 100, best / 100, scale))
    return ScoreLine(
        name=name,
        n=len(values),
        unscored=int(unscored.sum()),
        mean=_none_if_nan(_mean(_run_means(values))),
        low=low,
        high=high,
        worst=worst,
        best=best,
    )


def difference(
    name: str, values: Sequence[float], pictures: Sequence[str], largest: float
) -> ScoreLine:
    """Line of differences of two scores of each question; `largest` is the largest difference of all groups.

    Few questions may by chance show no large difference. The interval is therefore that with two imagined questions
    more, one up and one down by `largest` or LEAST_MISSED if that is larger, and by 1 if `largest` is 0.
    """
    column = np.array(values, dtype=np.float64).reshape(-1, 1)  # one run
    reach = max(largest, LEAST_MISSED) if largest else 1.0
    mean = _mean(_run_means(column))
    ends = mean_ends(column, pictures, Ends(-reach, reach), Ends(-1.0, 1.0))
    low, high = percent_ends(ends) if ends else (None, None)
    return ScoreLine(
        name=name,
        n=len(column),
        unscored=0,
        mean=_none_if_nan(mean),
        low=low,
        high=high,
        worst=mean,
        best=mean,
    )


def _run_means(values: Matrix) -> NDArray[np.float64]:
    """Mean of every run times 100.

    Questions are summed one by one, as MM-Vet's script does, so its totals match to the last bit.
    """
    scored = ~np.isnan(values)
    counts = scored.sum(axis=0)
    if not len(values):
        return np.full(values.shape[1], np.nan)
    sums = np.cumsum(np.where(scored, values, 0.0), axis=0)[-1] + 0.0  # never -0.0
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0) * 100


def _mean(run_means: NDArray[np.float64]) -> float:
    """Mean over the runs that have a score; NaN if none has."""
    known = run_means[~np.isnan(run_means)]
    return float(known.mean()) if known.size else np.nan


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


F = TypeVar("F", bound=Callable[..., Any])
_MOST_REMEMBERED = 8
"""Number of results that a remembered function keeps."""


class _Remembered(NamedTuple):
    """A result of a function, with its arguments: while they live, no other object has their identities."""

    args: tuple[Any, ...]
    result: Any


def remembered(function: F) -> F:
    """Decorates a function of a report, to call it once: a report never changes, and is known by its identity."""
    results: dict[tuple[int, ...], _Remembered] = {}

    @wraps(function)
    def call_once(*args: Any) -> Any:
        key = tuple(map(id, args))
        if key not in results:
            result = function(*args)
            surplus = max(0, len(results) + 1 - _MOST_REMEMBERED)
            for old_key in list(results)[:surplus]:
                results.pop(old_key, None)  # Another thread may have done so.
            results[key] = _Remembered(args, result)
        return results[key].result

    return cast(F, call_once)


NO_SCORE = "No score"


def mostly_unread(unread: int, judged: int, unit: str) -> str:
    """Sentence that more than half of a judge's replies could not be read; "" if they could."""
    if 2 * unread <= judged:
        return ""
    return (
        f"{NO_SCORE}: the judge's replies could not be read for {unread:,} of {judged:,} {unit}s, more than half. "
        "Score the file again with another judge"
    )


def missing_notice(report: Report) -> str:
    """Number of questions without a prediction, and the first of their ids."""
    ids = ", ".join(report.missing[:20])
    others = len(report.missing) - 20
    if others > 0:
        ids = f"{ids} and {others:,} more. All are in the file -missing.csv"
    total = len(report.rows)
    return f"No answer to {len(report.missing):,} of the {total:,} questions, which are unscored: {ids}."


def csv_bytes(
    heads: Sequence[str],
    rows: Iterable[Iterable[object]],
    encoding: str = "utf-8-sig",
    **options: Any,
) -> bytes:
    """Table as Excel reads it, every cell quoted; `options` are others of `write_csv`."""
    return csv_text([heads, *rows], **{"quoting": csv.QUOTE_ALL, **options}).encode(
        encoding, "replace"
    )


def missing_csv(report: Report) -> bytes:
    """Table of the questions without an answer."""
    missing = [row.question for row in report.rows if not row.answered]
    rows = ((question.id, " ".join(question.groups), question.text) for question in missing)
    return csv_bytes(["id", "groups", "question"], rows)


_NOT_IN_A_NAME = re.compile(r"[^\w.+@ -]|^\.+")


def file_stem(file: str) -> str:
    """Common start of an uploaded file's download names."""
    return safe_name(Path(file).stem)


def safe_name(text: str) -> str:
    """Part of a file's name: 100 bytes at most, of the 255 that a file system takes."""
    return _NOT_IN_A_NAME.sub("_", text).encode()[:100].decode(errors="ignore") or "_"


def audit(report: Report) -> bytes:
    """JSONL, in ASCII since replies may not fit into UTF-8: the report without its rows, then each row.

    Nothing is lost but the address of an operator's own server.
    """
    head = asdict(replace(report, rows=(), judge=report.judge.public))
    records = [head, *map(asdict, report.rows)]
    return "".join(json.dumps(record) + "\n" for record in records).encode("ascii")


NO_AUDIT = (
    "This isn't the -audit.jsonl of a judged MM-Vet report. Choose the one that "
    "python -m scoring score wrote."
)


def read_audit(path: Path) -> Report:
    """Report that an `audit` holds. Raises RowsError."""
    try:
        head, *rows = map(json.loads, path.read_bytes().splitlines())
        report = read_record(Report, json.dumps({**head, "rows": rows}))
    except (ValueError, TypeError, RecursionError) as error:
        raise RowsError(NO_AUDIT, path.name) from error
    for row in report.rows:
        for grade in row.grades:
            if grade.score is not None and not 0 <= grade.score <= 1:
                problem = (
                    f"The score of {row.question.id} is {grade.score}. Write a number from 0 to 1."
                )
                raise RowsError(problem, path.name)
    return report


def safe_csv(report: Report) -> bytes:
    """Table with a line per question, safe in spreadsheets; the JSONL has texts uncut."""
    rows = []
    columns = (
        "id",
        "groups",
        "question",
        "truth",
        "prediction",
        *(f"score_{run + 1}" for run in range(report.runs)),
        "flags",
        "reasons",
        "replies",
    )
    for row, row_scores in zip(report.rows, scores(report.rows, report.runs), strict=True):
        question = row.question
        grades = row.grades
        no_answer_flags = [unscored_because(row.no_answer)] if row.no_answer else []
        flags = [*no_answer_flags, *row.flags, *(flag for grade in grades for flag in grade.flags)]
        rows.append(
            [
                question.id,
                " ".join(question.groups),
                question.text,
                question.truth,
                "" if row.prediction is None else row.prediction,
                *("" if np.isnan(score) else f"{score:g}" for score in row_scores),
                "; ".join(dict.fromkeys(flags)),
                "; ".join(dict.fromkeys(grade.reason for grade in grades if grade.reason)),
                " / ".join(reply for grade in grades for reply in grade.replies),
            ]
        )
    return csv_bytes(columns, rows, lineterminator="\r\n")
