"""MM-Vet's files as the authors' script writes them: each question's grades, and the means of both tables."""

import csv
import json
import re
from collections.abc import Mapping

import numpy as np

from scoring.benchmarks.mm_vet_tables import UNREADABLE, score_tables, scored_only, ungraded_note
from scoring.report import Grade, Protocol, Report, ScoreTable, csv_bytes, file_stem, safe_name

_GRADE_FILE = re.compile(r"(.+?)(?:_[^_]+)?-grade-\d+runs?(?:_dev8)?")
"""The name of the script's file of grades, with the model and maybe the judge."""


def authors_files(report: Report, ending: str = "") -> Mapping[str, bytes]:
    """The three files of the authors' script, by name, with its columns. A missing score is null in the grades.

    The names are the script's, with `ending` behind the number of runs. They also say if the questions are not the
    published ones, or if the file is partial.
    """
    # Where most grades are unreadable, their zeros would pass for the model's.
    report = scored_only(report) if ungraded_note(report) else report
    tables = score_tables(report)
    model = model_stem(report.file)
    questions = "" if report.questions.official else f"{len(report.rows)}questions_"
    extent = "partial_" if report.missing else ""
    stem = f"{model}_{questions}{extent}{safe_name(report.judge.model)}"
    runs = f"{report.runs}runs{ending}"
    return {
        f"{stem}-grade-{runs}.json": json.dumps(_grades(report), indent=4).encode("ascii"),
        f"{stem}-cap-score-{runs}.csv": _score_file(model, tables.capabilities),
        f"{stem}-cap-int-score-{runs}.csv": _score_file(model, tables.integrations),
    }


def model_stem(file: str) -> str:
    """The start of the names of an upload's downloads: its own name without the suffix.

    Of the authors' grades, `<model>_<judge>-grade-<runs>runs.json`, it is only the model.
    """
    stem = file_stem(file)
    match = _GRADE_FILE.fullmatch(stem)
    return match[1] if match else stem


def _grades(report: Report) -> dict[str, dict[str, list[str] | list[float | None]]]:
    """The script's record of each question; of a readable reply, only the token that was read."""
    return {
        row.question.id: {
            "model": [grade.model for grade in row.grades],
            "content": [_content(report.protocol, grade) for grade in row.grades],
            "score": [grade.score for grade in row.grades],
        }
        for row in report.rows
        if row.answered
    }


def _content(protocol: Protocol, grade: Grade) -> str:
    """The last reply; of the paper's protocol only its first token, if that was read."""
    last = grade.replies[-1] if grade.replies else ""
    if protocol == "paper" and UNREADABLE not in grade.flags:
        return last.split(" ")[0].strip()
    return last


def _score_file(model: str, score_table: ScoreTable) -> bytes:
    """A line of means in pandas' form: the largest group first, then the total, its deviation and the runs."""
    *group_lines, total_line = score_table.lines
    groups = sorted(group_lines, key=lambda group: -group.n)
    means = [_rounded(line.mean) for line in (*groups, total_line)]
    totals = ", ".join(_rounded(total) or "None" for total in score_table.run_totals)
    heads = ["", *(group.name for group in groups), "total", "std", "runs"]
    row = [model, *means, _rounded(score_table.spread), f"[{totals}]"]
    return csv_bytes(heads, [row], "utf-8", quoting=csv.QUOTE_MINIMAL)


def _rounded(value: float | None) -> str:
    """A number with one decimal, rounded by NumPy, as in the script; "" for none."""
    return "" if value is None else str(float(np.round(value, 1)))
