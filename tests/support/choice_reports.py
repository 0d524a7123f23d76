"""Reports of multiple-choice answers that a test has decided."""

from scoring.benchmarks.choice_report import ChoiceReport


def choice_report(rows, protocol="strict", benchmark="mmbench", title="m", file="", **more):
    """A report of these rows; without a file's name, of no edition."""
    return ChoiceReport(
        benchmark=benchmark, protocol=protocol, title=title, file=file, created="2026-11-01T00:00:00+00:00",
        judge=None, rows=tuple(rows), problems=(), **more,
    )  # fmt: skip
