"""Reports in the form that jobs store: JSON, beside the columns that lists of jobs show."""

import hashlib
from dataclasses import replace
from typing import NamedTuple

from scoring.registry import benchmark_of
from scoring.report import AnyReport
from scoring.serialize import record_json


class StoredReport(NamedTuple):
    """A report, or the draft of one that a judge completes, as its job stores it."""

    benchmark: str
    benchmark_name: str
    protocol: str
    title: str
    file: str
    address: str
    model: str
    json: str
    digest: str = ""
    """sha256 of the report without its date, the same for equal reports; "" for a draft."""
    score: str = ""
    """The score in words; "" for a draft."""


def stored_draft(report: AnyReport) -> StoredReport:
    judge = report.judge
    return StoredReport(
        report.benchmark,
        benchmark_of(report).name,
        report.protocol,
        report.title,
        report.file,
        judge.address if judge else "",
        judge.model if judge else "",
        record_json(report),
    )


def stored_report(report: AnyReport) -> StoredReport:
    """Returns a complete report as it is stored, with its digest and score."""
    digest = hashlib.sha256(record_json(replace(report, created="")).encode()).hexdigest()
    return stored_draft(report)._replace(digest=digest, score=score_text(report))


def score_text(report: AnyReport) -> str:
    head = benchmark_of(report).headline(report)
    return "no score" if head is None or head.mean is None else f"{head.mean:{head.form}}"
