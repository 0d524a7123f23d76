"""Multiple-choice report view: levels, bars, worst abilities, model comparison, what-if, and every answer."""

from functools import lru_cache
from html import escape
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import gradio as gr

from arena.figures import plotly_figure
from arena.web.events import LATEST, Updates
from scoring.benchmarks.choice_report import ChoiceReport, ComparisonError, comparisons, tabulated, under_protocol
from scoring.jobs.store import Jobs
from scoring.multiple_choice.metrics import differences
from scoring.multiple_choice.types import Protocol
from scoring.web.audit_view import PROTOCOL_WORDS, SHOWS, AuditFilter, audit_html
from scoring.web.benchmark_views import BENCHMARK_VIEWS, BenchmarkView, split_names
from scoring.web.levels_view import label
from scoring.web.multiple_choice_view import comparison_html, letters_html
from scoring.web.report_head import Found, choice_head_html, what_if_html

EVERY = "every ability"
MOST_CATEGORIES = 300
"""Maximum number of abilities to choose from; a file may contain any number."""


class _Seen(NamedTuple):
    """Report with its tables."""

    report: ChoiceReport
    found: Found

    @property
    def benchmark_view(self) -> BenchmarkView:
        return BENCHMARK_VIEWS[self.report.benchmark]

    @property
    def others(self) -> list[Protocol]:
        """Every protocol except the report's own."""
        return [protocol for protocol in PROTOCOL_WORDS if protocol != self.report.protocol]


class ChoiceView:
    """Components of the view as attributes, event handlers as methods."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._tabulated = lru_cache(maxsize=4)(self._read)
        self._under = lru_cache(maxsize=2)(self._reread)
        with gr.Column(visible=False) as self.body:
            self.split = gr.Radio([], label="Split", elem_id="choice-split")
            with gr.Row():
                with gr.Column(scale=3, min_width=300):
                    self.levels = gr.HTML(elem_id="levels", padding=False)
                with gr.Column(scale=2, min_width=300):
                    self.beside = gr.Dropdown([], label="Beside (Tables 5 and 6)", elem_id="choice-beside")
                    self.plot = gr.Plot(show_label=False, elem_id="choice-plot")
            self.more = gr.HTML(elem_id="choice-more", padding=False)
            with gr.Row():
                with gr.Column(scale=3, min_width=300):
                    self.worst = gr.HTML(elem_id="worst", padding=False)
                with gr.Column(scale=2, min_width=300):
                    self.letters = gr.HTML(elem_id="letters", padding=False)
                    self.success = gr.HTML(elem_id="success", padding=False)
            self._build_comparison()
            self._build_audit()

    def _build_comparison(self) -> None:
        gr.HTML("<h3>Beside another model</h3>", padding=False)
        with gr.Row():
            self.second = gr.Textbox(
                label="Link of its report", placeholder="…?report=…", max_length=500, elem_id="second", scale=4
            )
            self.compare = gr.Button("Compare", elem_id="compare", scale=1, min_width=120)
        self.comparison = gr.HTML(elem_id="comparison", padding=False)

    def _build_audit(self) -> None:
        gr.HTML("<h3>What if another protocol read the file?</h3>", padding=False)
        self.other = gr.Radio([], show_label=False, container=False, elem_id="what-if")
        self.what_if = gr.HTML(elem_id="what-if-answer", padding=False)
        gr.HTML("<h3>Every answer</h3>", padding=False)
        with gr.Row():
            self.show = gr.Dropdown(list(SHOWS), value="all answers", label="Show", elem_id="choice-show")
            self.category = gr.Dropdown([EVERY], value=EVERY, label="Ability", elem_id="choice-category")
            self.page = gr.Number(1, label="Page", minimum=1, precision=0, elem_id="choice-page")
        self.audit = gr.HTML(elem_id="choice-audit", padding=False)

    @property
    def shown(self) -> list[Any]:
        """Components that `opened` fills."""
        choices = [self.split, self.beside, self.other, self.category]
        return [*choices, self.levels, self.worst, self.more, self.plot, self.success, self.letters, self.audit]

    def listen(self, link: gr.Textbox) -> None:
        """Bind the handlers; the browser's input is looked up in the report."""
        tables = [self.levels, self.worst, self.more, self.plot]
        self.split.input(self.on_split, [link, self.split, self.beside], tables, **LATEST)
        self.beside.input(self.on_beside, [link, self.split, self.beside], self.plot, **LATEST)
        gr.on([self.compare.click, self.second.submit], self.on_compare, [link, self.second], self.comparison, **LATEST)
        chosen = [link, self.other, self.show, self.category, self.page]
        audit = [self.page, self.audit]
        self.other.input(
            self.on_what_if, [link, self.other, self.category], [self.what_if, self.show, *audit], **LATEST
        )
        gr.on([self.show.input, self.category.input], self.on_filter, chosen, audit, **LATEST)
        self.page.input(self.on_page, chosen, self.audit, **LATEST)

    def head(self, link: str, report: ChoiceReport) -> str:
        """Return the report's header, with the totals over all splits."""
        return choice_head_html(report, self._tabulated(link).found, -1)

    def opened(self, link: str, report: ChoiceReport) -> Updates:
        """Return the tables over all splits, and the first page of the audit."""
        seen = self._tabulated(link)
        splits, beside = split_names(seen.found), seen.benchmark_view.beside(seen.found)
        categories = list(dict.fromkeys(row.question.category for row in report.rows if row.question.category))
        named = [(label(name), name) for name in sorted(categories)[:MOST_CATEGORIES]]
        others = [(PROTOCOL_WORDS[protocol], protocol) for protocol in seen.others]
        return {
            self.split: gr.update(choices=list(splits), value=splits[-1] if splits else None, visible=len(splits) > 2),
            self.beside: gr.update(choices=list(beside), value=beside[0] if beside else None, visible=bool(beside)),
            self.other: gr.update(choices=others, value=None),
            self.category: gr.update(choices=[EVERY, *named], value=EVERY, visible=len(named) > 1),
            self.success: seen.benchmark_view.success(report.title, seen.found),
            self.letters: letters_html(seen.found.letters),
            self.audit: audit_html(report.rows, (), seen.others[0], AuditFilter()),
            **self._tables(seen, splits[-1] if splits else None, beside[0] if beside else None),
        }

    def on_split(self, link: object, split: object, beside: object) -> Updates:
        seen = self._seen(str(link))
        return self._tables(seen, split, beside) if seen else {self.levels: ""}

    def on_beside(self, link: object, split: object, beside: object) -> Updates:
        """Show the bars beside another published row."""
        seen = self._seen(str(link))
        return {self.plot: _plot(seen, split, beside) if seen else None}

    def on_compare(self, link: object, second: object) -> Updates:
        """Compare with the report under another link."""
        first, other = (self._seen(_link(one)) for one in (link, second))
        if first is None or other is None:
            told = '<p class="problem" role="alert">There is no report of multiple choice under this link.</p>'
            return {self.comparison: told}
        try:
            found = comparisons(first.report, other.report)
        except ComparisonError as error:
            return {self.comparison: f'<p class="problem" role="alert">{escape(str(error))}</p>'}
        return {self.comparison: comparison_html(first.report.title, other.report.title, found)}

    def on_what_if(self, link: object, other: object, category: object) -> Updates:
        """Show the report under another protocol, then the answers that differ."""
        seen = self._seen(str(link))
        if seen is None or other not in seen.others:
            return {self.what_if: ""}
        there = self._under(str(link), other)
        parted = differences(seen.report.rows, there.report.rows)
        pairs = seen.benchmark_view.pairs(seen.found, there.found)
        return {
            self.what_if: what_if_html(seen.report, other, pairs, parted),
            self.show: "differs by protocol",
            **self.on_filter(link, other, "differs by protocol", category, 1),
        }

    def on_filter(self, link: object, other: object, show: object, category: object, page: object) -> Updates:
        """Show the first page of the matching answers."""
        return {self.page: 1, **self.on_page(link, other, show, category, 1)}

    def on_page(self, link: object, other: object, show: object, category: object, page: object) -> Updates:
        """Show another page of the audit; an unknown value counts as not chosen."""
        seen = self._seen(str(link))
        if seen is None:
            return {self.audit: ""}
        chosen = SHOWS.get(str(show), "all answers")
        protocol = other if other in seen.others else seen.others[0]
        others = self._under(str(link), protocol).report.rows if chosen == "differs by protocol" else ()
        number = int(page) if isinstance(page, int | float) and 1 <= page <= 1e6 else 1
        fit = AuditFilter(chosen, "" if category == EVERY else str(category), number)
        return {self.audit: audit_html(seen.report.rows, others, protocol, fit)}

    def _tables(self, seen: _Seen, split: object, beside: object) -> Updates:
        if not seen.found.splits:
            return {self.levels: "", self.worst: "", self.more: "", self.plot: None}
        tables = seen.benchmark_view.tables(seen.report.title, seen.found, _place(seen.found, split))
        plot = _plot(seen, split, beside)
        return {self.levels: tables.levels, self.worst: tables.worst, self.more: tables.more, self.plot: plot}

    def _seen(self, link: str) -> _Seen | None:
        """Return the report under a link while it exists; a finished report never changes, so it is cached."""
        job = self._jobs.find(link)
        there = job is not None and job.state == "done" and job.benchmark in BENCHMARK_VIEWS
        return self._tabulated(link) if there else None

    def _read(self, link: str) -> _Seen:
        report = self._jobs.report(link)
        assert isinstance(report, ChoiceReport)
        return _Seen(report, tabulated(report))

    def _reread(self, link: str, protocol: Protocol) -> _Seen:
        report = under_protocol(self._tabulated(link).report, protocol)
        return _Seen(report, tabulated(report))


def _plot(seen: _Seen, split: object, beside: object) -> Any:
    if not seen.found.splits:
        return None
    place = _place(seen.found, split)
    return plotly_figure(seen.benchmark_view.figure(seen.report.title, seen.found, place, str(beside)))


def _place(found: Found, split: object) -> int:
    """Return the index of the chosen split; if none is chosen, the last, which holds all of them."""
    names = split_names(found)
    return names.index(str(split)) if split in names else -1


def _link(typed: object) -> str:
    """Return the link from a user's input: a full URL or the link alone."""
    text = str(typed or "").strip()[:500]
    return parse_qs(urlsplit(text).query).get("report", [text])[0]
