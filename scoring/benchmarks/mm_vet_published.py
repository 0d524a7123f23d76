"""MM-Vet's published tables: the paper's Tables 2 to 5, 9 and 10, each with the conditions of its measurement.

`mm_vet_published.csv` lists the tables with their conditions; each table has its own file, with a line for each model.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from arena.sheets import Sheet
from arena.types import grouped
from scoring.benchmarks.article import PublishedBoard, PublishedRow, models_sheet
from scoring.benchmarks.base import read_table
from scoring.benchmarks.mm_vet_questions import CAPABILITIES, CAPABILITY_NAMES, integrations
from scoring.judges.spec import prompt_text
from scoring.report import Report, ScoreTable

Groups = Literal["capabilities", "integrations"]
TOTAL = "Total"


@dataclass(frozen=True)
class TableConditions:
    """A table of the paper, with the conditions of its measurement."""

    table: int
    questions: str
    """The questions, by the name of a report's edition."""
    groups: Groups
    judge: str
    runs: int
    """Runs of the judge behind each mean."""
    note: str = ""

    @property
    def benchmark(self) -> str:
        """The benchmark's name, before that of a part of its questions, as in "MM-Vet, Bard set"."""
        return self.questions.split(", ")[0]


@dataclass(frozen=True)
class PublishedScores:
    """A line of a table: percentages by capability or integration (None: a dash), and in total."""

    model: str
    scores: Mapping[str, float | None]
    std: float
    """Standard deviation of the total over the runs."""
    prompt: str = ""
    """The file of the prompt before each question; "" for none."""

    @property
    def prompt_text(self) -> str:
        """The prompt that the model read before each question."""
        return prompt_text(self.prompt) if self.prompt else ""


@cache
def published_tables() -> tuple[TableConditions, ...]:
    return read_table(TableConditions, "mm_vet_published.csv")


@cache
def published_lines(table: int) -> tuple[PublishedScores, ...]:
    """The lines of a table of the paper, in its order."""
    groups_by_table = {conditions.table: conditions.groups for conditions in published_tables()}
    is_by_capability = groups_by_table[table] == "capabilities"
    columns = CAPABILITIES if is_by_capability else tuple(integrations())
    return read_table(PublishedScores, f"mm_vet_table_{table}.csv", (*columns, "total"))


def published_sheets(name: str) -> list[Sheet]:
    """The paper's tables on the questions of the benchmark of this name, and on parts of them."""
    ordered = sorted(published_tables(), key=lambda conditions: conditions.table)
    tables = [conditions for conditions in ordered if conditions.benchmark == name]
    return [
        models_sheet(
            f"published-{conditions.table}",
            f"The paper's Table {conditions.table}: {conditions.groups}, {conditions.questions}",
            _columns(published_lines(conditions.table), conditions.groups),
            [_row(line, conditions.groups) for line in published_lines(conditions.table)],
            note=conditions.note,
        )
        for conditions in tables
    ]


def published_board(
    report: Report, edition: str, groups: Groups, score_table: ScoreTable
) -> PublishedBoard | None:
    """The published models on a report's questions, with the differences in conditions; None for other questions.

    `score_table` has the report's scores of these `groups`.
    """
    tables = [
        conditions
        for conditions in published_tables()
        if conditions.questions == edition and conditions.groups == groups
    ]
    if not tables:
        return None
    # a model in two tables has one line
    lines = {
        line.model: line for conditions in tables for line in published_lines(conditions.table)
    }
    means = {line.name: line.mean for line in score_table.lines}
    any_line = next(iter(lines.values()))
    any_table = tables[0]  # all have the same judge and runs
    notes = [
        *_prompts(lines.values(), report.asked),
        *(conditions.note for conditions in tables if conditions.note),
    ]
    return PublishedBoard(
        source=_source([conditions.table for conditions in tables]),
        columns=_columns(lines.values(), groups),
        rows=tuple(_row(line, groups) for line in lines.values()),
        own={_head(name, groups): means.get(name) for name in any_line.scores},
        apart=tuple(_differences(report, any_table)),
        own_spread=score_table.spread if report.runs > 1 else None,
        note=" ".join(notes),
    )


def _columns(lines: Iterable[PublishedScores], groups: Groups) -> tuple[str, ...]:
    """The heads of a table, the total first; all lines have the same columns."""
    any_line = next(iter(lines))
    heads = [_head(name, groups) for name in any_line.scores if name != "total"]
    return (TOTAL, *heads)


def _row(line: PublishedScores, groups: Groups) -> PublishedRow:
    scores = {_head(name, groups): score for name, score in line.scores.items()}
    return PublishedRow(line.model, scores, line.std)


def _source(numbers: Sequence[int]) -> str:
    lowest = min(numbers)
    highest = max(numbers)
    if lowest == highest:
        return f"the paper's Table {lowest}"
    return f"the paper's Tables {lowest} and {highest}"


def _head(name: str, groups: Groups) -> str:
    """The heading of a column: a capability in words, an integration in the paper's short forms."""
    if name == "total":
        return TOTAL
    if groups == "capabilities":
        return CAPABILITY_NAMES[name]
    return " + ".join(
        code.upper() if code == "ocr" else code.capitalize() for code in name.split("_")
    )


def _prompts(lines: Iterable[PublishedScores], own_prompt: str) -> Iterator[str]:
    """Yields sentences on the models with a prompt before each question."""
    by_prompt = grouped((line.prompt_text, line.model) for line in lines if line.prompt_text)
    for prompt, models in by_prompt.items():
        like = ", as this model" if prompt == own_prompt else ""
        yield f"{', '.join(models)}: asked with “{prompt}” before each question{like}."


def _differences(report: Report, table: TableConditions) -> Iterator[str]:
    """Yields the differences between the conditions of a report and a table."""
    if table.judge not in (report.judge.model, *report.judge.versions):
        yield f"{table.judge} judged the table, {report.judge.model} this report"
    if report.protocol != "paper":
        yield "the table has the paper's protocol, this report the hardened one"
    elif not report.judge.prompt:
        yield "the table has the paper's protocol, and that of this report's grades isn't known"
    if report.sampled or report.runs != table.runs:
        yield f"the table's numbers are means of {table.runs} runs, this report has {_runs_words(report)}"
    if report.asked:
        yield f"this model read “{report.asked}” before each question"


def _runs_words(report: Report) -> str:
    if report.sampled:
        return f"{report.runs} samples of one call"
    return "1 run" if report.runs == 1 else f"{report.runs} runs"
