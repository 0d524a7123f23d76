"""Editions: the published question sets that a report's questions were compared with, and their names on the Hub."""

from dataclasses import dataclass
from functools import cache

from scoring.benchmarks.base import FileBenchmark, read_table
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.registry import BENCHMARKS, SHIPPED
from scoring.report import AnyReport, QuestionStamp, Report
from scoring.specs.report import SpecReport

_TABLE = "hub_benchmarks.csv"


@dataclass(frozen=True)
class HubBenchmark:
    """A published question set with public answers, as model repositories name it."""

    edition: str
    """Its key here: "mmbench-dev-en-v1.0"."""
    benchmark: str
    """Key of `BENCHMARKS`."""
    file: str
    """Name of its question file, as its authors publish it."""
    name: str
    dataset: str
    """Its dataset on the Hub."""
    task: str
    """Its task in the dataset's `eval.yaml`."""
    metric: str
    lowest: float
    highest: float
    """Ends of the headline's scale."""
    checked: str = ""
    """Day on which somebody compared dataset and task with the Hub; "" for never."""

    @property
    def is_percent(self) -> bool:
        """Whether the headline is a percentage; a metric named score counts points, even up to 100."""
        return self.highest == 100 and self.metric != "score"


@cache
def hub_benchmarks() -> tuple[HubBenchmark, ...]:
    return read_table(HubBenchmark, _TABLE)


def edition_of(report: AnyReport) -> HubBenchmark | None:
    """The published set that the report's ids and right answers were compared with; None if they were not.

    A question file is recognised by its md5. A report that used it has its right answers, because uploaded rows with
    other ones are refused. A report has no edition if its rows show other questions, or if the set's right answers
    aren't public: they would come from the uploaded file itself.
    """
    if report.benchmark not in SHIPPED:
        return None
    file = _published_file(report)
    for row in hub_benchmarks():
        if row.benchmark == report.benchmark and row.file == file:
            return row
    return None


def _published_file(report: AnyReport) -> str:
    """The name under which the authors publish the report's question file; "" if the report has no edition."""
    if isinstance(report, Report):
        return "mm-vet.json" if report.questions.official else ""
    if isinstance(report, ChoiceReport | SpecReport) and report.questions is not None:
        return _file_with_answers(report.benchmark, report.questions)
    return ""


def _file_with_answers(key: str, stamp: QuestionStamp) -> str:
    """The name of the published question file with this md5 and public right answers.

    "" if there is none, or if the report's rows show other questions.
    """
    benchmark = BENCHMARKS[key]
    if not isinstance(benchmark, FileBenchmark) or not stamp.is_published or stamp.reworded:
        return ""
    for file in benchmark.question_files:
        if file.md5 == stamp.md5 and file.answers == "there":
            return file.name
    return ""
