"""The files that a report offers."""

import re
from collections.abc import Mapping
from pathlib import Path

from scoring.benchmarks import BENCHMARKS
from scoring.results import Report, audit, safe_csv


def downloads(report: Report) -> Mapping[str, bytes]:
    """Return every file by its name: the benchmark's own, the lossless audit, and a CSV that is safe in Excel."""
    stem = re.sub(r"[^\w.+@ -]|^\.+", "_", Path(report.file).stem)[:100] or "_"
    more = {f"{stem}-audit.jsonl": audit(report), f"{stem}-audit.csv": safe_csv(report)}
    return {**BENCHMARKS[report.benchmark].files(report), **more}
