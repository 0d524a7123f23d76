"""Accuracies of MMT-Bench reports: one by its link, and the published ones by how they were read and on what."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from arena.kept import Kept
from scoring.benchmarks.choice import ChoiceReport
from scoring.benchmarks.mmt_bench import MMT_BENCH, subtasks
from scoring.jobs.published import PublishedJobs
from scoring.jobs.store import Jobs
from scoring.task_map.types import ModelAccuracies

MOST_REPORTS = 40
"""Newest published reports that are read."""


class Pool(NamedTuple):
    """How a report's letters were read, and which questions they answer: reports of one pool compare."""

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
    """Accuracies of one server's reports; a finished report never changes, so each is read once."""

    def __init__(self, jobs: Jobs, published: PublishedJobs) -> None:
        self._jobs = jobs
        self._published = published
        self._kept: Kept[PooledReport | None] = Kept(2 * MOST_REPORTS, 3600)

    def of(self, link: str) -> PooledReport | None:
        """A report's, for whoever has its link or its slug; None without an MMT-Bench report that scored something."""
        job = self._jobs.find(link)
        return (
            self._read(job.link)
            if job and job.state == "done" and job.benchmark == MMT_BENCH.key
            else None
        )

    def pools(self) -> Mapping[Pool, tuple[PooledReport, ...]]:
        """The published reports, the newest of each title in a pool."""
        found: dict[Pool, dict[str, PooledReport]] = {}
        for job in self._published.newest(MMT_BENCH.key, MOST_REPORTS):
            if one := self._read(job.link):
                found.setdefault(one.pool, {}).setdefault(job.title, one)
        return {pool: tuple(reports.values()) for pool, reports in found.items()}

    def _read(self, link: str) -> PooledReport | None:
        return self._kept.of(link, lambda: self._read_report(link))

    def _read_report(self, link: str) -> PooledReport | None:
        report = self._jobs.report(link)
        return pooled(link, report) if isinstance(report, ChoiceReport) else None


def pooled(link: str, report: ChoiceReport) -> PooledReport | None:
    """None where nothing was scored."""
    found = MMT_BENCH.tabulated(report)
    line = found.splits[-1].overall.subtasks if found.splits else None
    if line is None or line.mean is None:
        return None
    lines = [node.line for node in found.splits[-1].tree.find("subtask")]
    means = {one.name: one.mean for one in lines if one.mean is not None and one.name in subtasks()}
    pool = Pool(report.protocol, MMT_BENCH.edition(report))
    return PooledReport(link, pool, ModelAccuracies(report.title, means, line.mean))
