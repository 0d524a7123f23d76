"""The list of benchmarks: grouped by kind of rule, with a line for each."""

from collections.abc import Iterable, Mapping
from typing import Any

from arena.types import grouped
from scoring.benchmarks.base import Benchmark
from scoring.rules.kinds import KINDS
from scoring.specs.schema import UNKNOWN

MIXED = "Several kinds of rule"
"""Heading of the benchmarks with more than one kind."""


def by_kind(benchmarks: Iterable[Benchmark[Any]]) -> Mapping[str, list[Benchmark[Any]]]:
    """Benchmarks by the heading of their kind of rule, both in the order of the list."""
    groups = grouped((_heading(benchmark), benchmark) for benchmark in benchmarks)
    headings = [*(kind.heading for kind in KINDS.values()), MIXED]
    return {
        heading: sorted(groups[heading], key=lambda benchmark: benchmark.name.casefold())
        for heading in headings
        if heading in groups
    }


def _heading(benchmark: Benchmark[Any]) -> str:
    kinds = benchmark.kinds
    return KINDS[kinds[0]].heading if len(kinds) == 1 else MIXED


def benchmark_line(benchmark: Benchmark[Any], is_here: bool) -> str:
    """A benchmark in a line: name, size, main figure, questions, licence. `is_here`: this server has the questions."""
    return f"{benchmark.name} · {facts_line(benchmark, is_here)}"


def facts_line(benchmark: Benchmark[Any], is_here: bool) -> str:
    """The line without the benchmark's name."""
    licence = benchmark.licence if benchmark.licence != UNKNOWN else "licence unknown"
    parts = [
        benchmark.size,
        benchmark.measure,
        f"questions: {_where(benchmark, is_here)}",
        licence,
    ]
    return " · ".join(filter(None, parts))


def _where(benchmark: Benchmark[Any], is_here: bool) -> str:
    """Where a benchmark's questions are."""
    if benchmark.way in ("compare", "sealed"):
        return "items of this server"
    if is_here:
        return "here"
    if benchmark.way == "questions first":
        return "not here, the host can add them"
    return "not here, can be given"
