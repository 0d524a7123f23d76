"""Benchmarks page: a line for each benchmark, grouped by kind of rule, and a page for each with its facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fastapi import APIRouter, Request, Response

from arena.locale import t, translated
from arena.sheets import as_html
from arena.templates import macros
from arena.types import grouped
from arena.web.addresses import NAME, SCORE
from arena.web.heads import Head
from arena.web.layout import PageLayout
from scoring.benchmarks.base import Benchmark
from scoring.benchmarks.listing import by_kind, facts_line
from scoring.benchmarks.specified import SpecifiedBenchmark
from scoring.jobs.service import JobService
from scoring.registry import offered_benchmarks
from scoring.specs.file_columns import columns_sheet
from scoring.web.citations import citations
from scoring.web.report_parts import sheet_html

HTML = macros("benchmarks.html")
PATH = "/benchmarks"


class ListedBenchmark(NamedTuple):
    """A line of the list."""

    address: str
    name: str
    facts: str


def summary_html(benchmark: Benchmark[Any]) -> str:
    """Return a benchmark in a sentence, the columns of its files, and a link to its page."""
    return HTML.about(benchmark, f"{PATH}/{benchmark.key}", columns_html(benchmark))


def columns_html(benchmark: Benchmark[Any]) -> str:
    """Return the columns of a benchmark's files with one made-up row; "" if they are unknown."""
    columns = [column._replace(holds=translated(column.holds)) for column in benchmark.columns()]
    return as_html(columns_sheet(columns, benchmark.columns_note))


@dataclass(frozen=True)
class BenchmarksPage:
    """The pages of the benchmarks that anybody can choose; a user's own benchmark has none."""

    service: JobService
    layout: PageLayout

    def show_list(self, request: Request) -> Response:
        keys_with_questions = self.service.benchmarks_here()
        groups = {}
        for heading, benchmarks in by_kind(offered_benchmarks().values()).items():
            groups[heading] = [
                ListedBenchmark(
                    address=f"{PATH}/{benchmark.key}",
                    name=translated(benchmark.name),
                    facts=facts_line(benchmark, benchmark.key in keys_with_questions),
                )
                for benchmark in benchmarks
            ]
        head = Head(f"{t('benchmarks.title')} · {NAME}", t("benchmarks.description"))
        return self.layout.page(request, head, HTML.listed(groups), here=SCORE)

    def show_benchmark(self, key: str, request: Request) -> Response:
        benchmark = offered_benchmarks().get(key)
        if benchmark is None:
            return self.layout.nothing_here(request)
        html = HTML.benchmark(
            benchmark=benchmark,
            facts=grouped((fact.name, fact.text) for fact in benchmark.facts()),
            columns=columns_html(benchmark),
            questions=self._question_sources(key),
            published=[(sheet.title, sheet_html(sheet)) for sheet in benchmark.published_sheets()],
            spec=benchmark.spec.yaml if isinstance(benchmark, SpecifiedBenchmark) else "",
            citation=citations().get(benchmark.cited, ""),
        )
        head = Head(f"{translated(benchmark.name)} · {NAME}", translated(benchmark.about))
        return self.layout.page(request, head, html, here=SCORE)

    def _question_sources(self, key: str) -> Sequence[str]:
        """The names of a benchmark's question sets and files on this server."""
        sets = [
            translated(questions.name)
            for questions in self.service.question_sets.values()
            if questions.benchmark == key
        ]
        files = [file.name for file in self.service.library.files() if file.benchmark == key]
        return [*sets, *files]


def routes(page: BenchmarksPage) -> APIRouter:
    router = APIRouter()
    router.add_api_route(PATH, page.show_list, methods=["GET", "HEAD"])
    router.add_api_route(f"{PATH}/{{key}}", page.show_benchmark, methods=["GET", "HEAD"])
    return router
