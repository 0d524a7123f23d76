"""Downloads of a spec's report: its figures, every answer, the spec, and where protocols read differently."""

import json
from collections.abc import Callable, Iterator, Mapping

from scoring.multiple_choice.downloads import problems_csv
from scoring.report import ScoreLine, csv_bytes, file_stem
from scoring.score_sheets import sheet_files
from scoring.specs.report import (
    ReadRow,
    SpecReport,
    figure_lines,
    grouped_lines,
    spec_of_report,
    splits_of,
    under_protocol,
)
from scoring.specs.sheets import report_sheets

_FIGURE_COLUMNS = (
    "split",
    "column",
    "group",
    "figure",
    "n",
    "unscored",
    "value",
    "low",
    "high",
    "least",
    "most",
    "protocol",
    "spec",
    "licence",
)


def report_files(report: SpecReport) -> Mapping[str, Callable[[], bytes]]:
    """Returns functions that write the files, by file name; each file is written when it is asked for."""
    stem = f"{'partial_' if report.missing else ''}{file_stem(report.file)}"
    writers: dict[str, Callable[[], bytes]] = {
        # For scripts: in plain "utf-8", without the mark by which spreadsheets see the encoding.
        f"{stem}-all-figures.csv": lambda: csv_bytes(
            _FIGURE_COLUMNS, _figure_rows(report), "utf-8"
        ),
        f"{stem}-audit.jsonl": lambda: "".join(_audit_lines(report)).encode("ascii"),
        f"{stem}-problems.csv": lambda: problems_csv(report.problems),
        f"{stem}-benchmark.yaml": lambda: spec_of_report(report).yaml.encode(),
    }
    spec = spec_of_report(report)
    if len(spec.protocols) > 1 and any(case.rule.is_compared for case in spec.rule):
        writers[f"{stem}-differences.csv"] = lambda: differences_csv(report)
    return writers | sheet_files(stem, [*report_sheets(report)])


def _figure_rows(report: SpecReport) -> Iterator[list[object]]:
    """Yields every figure of the whole file, of each split, and of each group."""
    spec = spec_of_report(report)
    source = [report.protocol, spec.digest, spec.licence]

    def rows_of_lines(
        split: str, column: str, group: str, lines: Mapping[str, ScoreLine]
    ) -> Iterator[list[object]]:
        for line in lines.values():
            numbers = {
                "value": line.mean,
                "low": line.low,
                "high": line.high,
                "least": line.worst,
                "most": line.best,
            }
            cells = ["" if number is None else repr(number) for number in numbers.values()]
            yield [split, column, group, line.name, line.n, line.unscored, *cells, *source]

    yield from rows_of_lines("", "", "", figure_lines(report))
    if spec.splits:
        for split_lines in grouped_lines(report, spec.splits, ""):
            yield from rows_of_lines(split_lines.name, "", "", split_lines.lines)
    for column in spec.groups:
        for split in ("", *splits_of(report)):
            for group in grouped_lines(report, column, split):
                yield from rows_of_lines(split, column, group.name, group.lines)


def _audit_lines(report: SpecReport) -> Iterator[str]:
    """Yields a line on the report, then a line for each answer."""
    spec = spec_of_report(report)
    head = {
        "benchmark": spec.name,
        "protocol": report.protocol,
        "spec": spec.digest,
        "licence": spec.licence,
        "file": report.file,
        "canaries": [
            {"read": canary.reading.read, "score": canary.reading.score, "replies": canary.replies}
            for canary in report.canaries
        ],
    }
    yield json.dumps(head) + "\n"
    for read_row in report.rows:
        yield json.dumps(_audit_record(read_row)) + "\n"


def _audit_record(read_row: ReadRow) -> Mapping[str, object]:
    file_row = read_row.row
    return {
        "id": file_row.id,
        "row": file_row.row,
        "answer": file_row.answer,
        "read": read_row.reading.read,
        "score": read_row.reading.score,
        "marks": read_row.reading.marks,
        "rule": read_row.reading.why,
        "open": read_row.reading.is_open,
        "no answer": read_row.no_answer,
        "cells": file_row.cells,
        "replies": read_row.replies,
        "judge": read_row.model,
    }


def differences_csv(report: SpecReport) -> bytes:
    """The answers that two of the spec's protocols read or score differently.

    The report's own protocol includes its judge's readings; the others are read by rules alone.
    """
    protocols = spec_of_report(report).protocols
    reports = [
        report if protocol == report.protocol else under_protocol(report, protocol)
        for protocol in protocols
    ]
    heads = ["id", "answer"]
    for protocol in protocols:
        heads += [f"{protocol}: read", f"{protocol}: score", f"{protocol}: rule"]
    lines = []
    rows_by_protocol = [protocol_report.rows for protocol_report in reports]
    for answer_rows in zip(*rows_by_protocol, strict=True):
        outcomes = {(row.reading.read, row.reading.score) for row in answer_rows}
        if len(outcomes) == 1:
            continue
        cells: list[object] = [answer_rows[0].row.id, answer_rows[0].row.answer]
        for row in answer_rows:
            score = "" if row.reading.score is None else row.reading.score
            cells += [row.reading.read, score, row.reading.why]
        lines.append(cells)
    return csv_bytes(heads, lines)
