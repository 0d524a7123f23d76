"""Accuracies of MMT-Bench reports: a report by its link, and published reports by protocol and edition."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from arena.cache import Cache
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.benchmarks.mmt_bench import MMT_BENCH, subtasks
from scoring.jobs.published import PublishedJobs
from scoring.jobs.store import Jobs
from scoring.task_map.types import ModelAccuracies

MOST_REPORTS = 40
"""Newest published reports that are read."""


class Pool(NamedTuple):
    """The protocol and the questions of reports that can be compared."""

    protocol: str
    edition: str

    def __str__(self) -> str:
        return f"{self.edition}, {self.protocol}"


@dataclass(frozen=True, eq=False)
class PooledReport:
    """A report's accuracies by subtask."""

    link: str
    pool: Pool
    accuracies: ModelAccuracies


class ReportAccuracies:
    """Accuracies of one server's reports; each is read once, since a finished report never changes."""

    def __init__(self, jobs: Jobs, published: PublishedJobs) -> None:
        self._jobs = jobs
        self._published = published
        self._reports: Cache[PooledReport | None] = Cache(2 * MOST_REPORTS, seconds=3600)

    def report(self, link: str) -> PooledReport | None:
        """A report by its link or slug; None unless it is a finished, readable MMT-Bench report with a score."""
        job = self._jobs.find(link)
        if job is None or job.state != "done" or job.benchmark != MMT_BENCH.key:
            return None
        return self._read(job.link)

    def pools(self) -> Mapping[Pool, tuple[PooledReport, ...]]:
        """The published reports, the newest of each title in a pool."""
        newest: dict[Pool, dict[str, PooledReport]] = {}
        for job in self._published.newest(MMT_BENCH.key, MOST_REPORTS):
            report = self._read(job.link)
            if report:
                # Newer reports come first, so the first of a title stays.
                newest.setdefault(report.pool, {}).setdefault(job.title, report)
        return {pool: tuple(reports.values()) for pool, reports in newest.items()}

    def _read(self, link: str) -> PooledReport | None:
        """A report, from the cache if it was read before."""
        return self._reports.get(link, lambda: self._read_stored(link))

    def _read_stored(self, link: str) -> PooledReport | None:
        report = self._jobs.readable_report(link)
        return pooled_report(link, report) if isinstance(report, ChoiceReport) else None


def pooled_report(link: str, report: ChoiceReport) -> PooledReport | None:
    """A report's accuracies; None if no answer was scored."""
    tables = MMT_BENCH.choice_tables(report)
    if not tables.splits:
        return None
    whole = tables.whole
    overall = whole.overall.subtasks.mean
    if overall is None:
        return None
    # Each category is a subtask, or a name that MMT-Bench doesn't have, which is left out.
    lines = [node.line for node in whole.tree.find("category")]
    means = {
        line.name: line.mean for line in lines if line.mean is not None and line.name in subtasks()
    }
    pool = Pool(report.protocol, MMT_BENCH.edition(report))
    return PooledReport(link, pool, ModelAccuracies(report.title, means, overall))
