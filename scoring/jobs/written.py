"""Reports as jobs store them, with the columns that a job shows of its report."""

import hashlib
from dataclasses import replace
from typing import NamedTuple

from scoring.registry import benchmark_of
from scoring.report import AnyReport
from scoring.serialize import record_json


class Written(NamedTuple):
    """A report as it is stored, with the columns that its job shows."""

    benchmark: str
    benchmark_name: str
    protocol: str
    title: str
    file: str
    address: str
    model: str
    json: str
    digest: str = ""
    """The sha256 of all but the time; "" for a draft."""
    score: str = ""
    """The score in words; "" for a draft."""


def written(report: AnyReport, is_done: bool = False) -> Written:
    """Returns a report as it is stored: a draft for a judge, or with `is_done` one that needs none."""
    judge = report.judge
    made = Written(
        report.benchmark,
        benchmark_of(report).name,
        report.protocol,
        report.title,
        report.file,
        judge.address if judge else "",
        judge.model if judge else "",
        record_json(report),
    )
    if not is_done:
        return made
    digest = hashlib.sha256(record_json(replace(report, created="")).encode()).hexdigest()
    return made._replace(digest=digest, score=score_text(report))


def score_text(report: AnyReport) -> str:
    head = benchmark_of(report).headline(report)
    return "no score" if head is None or head.mean is None else f"{head.mean:{head.form}}"
