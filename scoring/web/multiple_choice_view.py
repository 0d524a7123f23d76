"""Multiple-choice report view: header, levels, bars, worst abilities, model comparison, what-if, and every answer."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import gradio as gr

from arena.kept import Kept
from arena.markdown import visible_name
from arena.web.events import LATEST, Updates
from scoring.benchmarks.choice import ChoiceReport, under_protocol
from scoring.jobs.store import Jobs
from scoring.multiple_choice.metrics import ChoiceTables, Difference, differences
from scoring.multiple_choice.types import PROTOCOL_WORDS, Protocol
from scoring.registry import choice_benchmark
from scoring.report import ScoreLine
from scoring.web.answer_list import AnswerList, shows_report_errors
from scoring.web.article import head_html
from scoring.web.benchmark_views import (
    BENCHMARK_VIEWS,
    CHOICE,
    NUMBERS,
    BenchmarkView,
    Pair,
    label,
    letters_html,
    split_names,
)
from scoring.web.choice_audit import DIFFERS, SHOWS, audit_html
from scoring.web.report_parts import REPORT, TableRow, folded_problems_html, headline, number

EVERY = "every ability"
MOST_CATEGORIES = 300
CHANGE = 0.05
"""Minimum change in percent of a mean that a what-if lists."""


class _Seen(NamedTuple):
    """Report with its tables."""

    report: ChoiceReport
    found: ChoiceTables[Any]

    @property
    def benchmark_view(self) -> BenchmarkView:
        return BENCHMARK_VIEWS[self.report.benchmark]

    @property
    def others(self) -> list[Protocol]:
        return [protocol for protocol in PROTOCOL_WORDS if protocol != self.report.protocol]


class ChoiceView:
    """Components of the view as attributes, event handlers as methods."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._kept: Kept[_Seen] = Kept(100_000, 60, weigh=lambda seen: 1 + len(seen.report.rows))
        with gr.Column(visible=False) as self.body:
            self.split = gr.Radio([], label="Split", elem_id="choice-split")
            with gr.Row():
                with gr.Column(scale=3, min_width=460):
                    self.levels = gr.HTML(elem_id="levels", padding=False)
                with gr.Column(scale=2, min_width=300):
                    self.worst = gr.HTML(elem_id="worst", padding=False)
            self.more = gr.HTML(elem_id="choice-more", padding=False)
            with gr.Row():
                with gr.Column(min_width=300):
                    self.letters = gr.HTML(elem_id="letters", padding=False)
                with gr.Column(min_width=420):
                    self.success = gr.HTML(elem_id="success", padding=False)
        self.shown = [self.split, self.levels, self.worst, self.more, self.success, self.letters]

    def build_list(self) -> None:
        with gr.Column(visible=False, elem_classes="report-list") as self.below:
            gr.HTML(REPORT.heading("What if another protocol read the file?"), padding=False)
            self.other = gr.Radio([], show_label=False, container=False, elem_id="what-if")
            self.what_if = gr.HTML(elem_id="what-if-answer", padding=False)
            self.category = gr.Dropdown(
                [EVERY], value=EVERY, label="Ability", elem_id="choice-category", render=False
            )
            self.answers = AnswerList(
                "Every answer", "choice", "choice-audit", SHOWS, self._listed, self.category
            )
        self.shown += [self.other, self.category, self.answers.list]

    def listen(self, link: gr.Textbox) -> None:
        tables = [self.levels, self.worst, self.more]
        self.split.input(self.on_split, [link, self.split], tables, **LATEST)
        what_if = [self.what_if, self.answers.show, self.answers.page, self.answers.list]
        self.other.input(self.on_what_if, [link, self.other, self.category], what_if, **LATEST)
        self.answers.listen(link, self.other)

    def opened(self, link: str, report: ChoiceReport) -> tuple[str, Updates]:
        seen = self._tabulated(link)
        splits = split_names(seen.found)
        categories = list(
            dict.fromkeys(row.question.category for row in report.rows if row.question.category)
        )
        named = [(visible_name(label(name)), name) for name in sorted(categories)[:MOST_CATEGORIES]]
        others = [(PROTOCOL_WORDS[protocol], protocol) for protocol in seen.others]
        return choice_head_html(report, seen.found, -1), {
            self.split: gr.update(
                choices=list(splits), value=splits[-1] if splits else None, visible=len(splits) > 2
            ),
            self.other: gr.update(choices=others, value=None),
            self.category: gr.update(choices=[EVERY, *named], value=EVERY, visible=len(named) > 1),
            self.success: seen.benchmark_view.success(report.title, seen.found),
            self.letters: letters_html(seen.found.letters),
            self.answers.list: audit_html(report.rows, (), seen.others[0]),
            **self._tables(seen, splits[-1] if splits else None),
        }

    @shows_report_errors("levels")
    def on_split(self, link: object, split: object) -> Updates:
        seen = self._seen(str(link))
        return self._tables(seen, split) if seen else {self.levels: ""}

    @shows_report_errors("what_if")
    def on_what_if(self, link: object, other: object, category: object) -> Updates:
        seen = self._seen(str(link))
        if seen is None or other not in seen.others:
            return {self.what_if: ""}
        there = self._under(str(link), other)
        parted = differences(seen.report.rows, there.report.rows)
        pairs = seen.benchmark_view.pairs(seen.found, there.found)
        return {
            self.what_if: what_if_html(seen.report, other, pairs, parted),
            self.answers.show: DIFFERS,
            **self.answers.on_filter(link, other, DIFFERS, category, 1),
        }

    def _listed(
        self, link: object, other: object, show: object, category: object, page: object
    ) -> str:
        seen = self._seen(str(link))
        if seen is None:
            return ""
        chosen = str(show) if show in SHOWS else "all answers"
        protocol = other if other in seen.others else seen.others[0]
        others = self._under(str(link), protocol).report.rows if chosen == DIFFERS else ()
        return audit_html(
            seen.report.rows,
            others,
            protocol,
            chosen,
            "" if category == EVERY else str(category),
            page,
        )

    def _tables(self, seen: _Seen, split: object) -> Updates:
        if not seen.found.splits:
            return {self.levels: "", self.worst: "", self.more: ""}
        place = _place(seen.found, split)
        levels, worst, more = seen.benchmark_view.tables(seen.report.title, seen.found, place)
        return {self.levels: levels, self.worst: worst, self.more: more}

    def _seen(self, link: str) -> _Seen | None:
        """Return the report under a link while it exists; a finished report never changes, so it is cached."""
        job = self._jobs.find(link)
        there = job is not None and job.state == "done" and job.benchmark in BENCHMARK_VIEWS
        return self._tabulated(link) if there else None

    def _tabulated(self, link: str) -> _Seen:
        return self._kept.of(link, lambda: self._read(link))

    def _under(self, link: str, protocol: Protocol) -> _Seen:
        return self._kept.of((link, protocol), lambda: self._reread(link, protocol))

    def _read(self, link: str) -> _Seen:
        report = self._jobs.report(link)
        assert isinstance(report, ChoiceReport)
        return _Seen(report, choice_benchmark(report).tabulated(report))

    def _reread(self, link: str, protocol: Protocol) -> _Seen:
        report = under_protocol(self._tabulated(link).report, protocol)
        return _Seen(report, choice_benchmark(report).tabulated(report))


def choice_head_html(report: ChoiceReport, found: ChoiceTables[Any], place: int) -> str:
    totals = BENCHMARK_VIEWS[report.benchmark].totals(found, place) if found.splits else ()
    shown = (
        REPORT.totals([headline(name, line) for name, line in totals])
        if totals
        else REPORT.total("nothing scored")
    )
    return head_html(report, shown, [folded_problems_html((*found.problems, *report.problems))])


def what_if_html(
    report: ChoiceReport, other: Protocol, pairs: Sequence[Pair], parted: Sequence[Difference]
) -> str:
    if not parted:
        return CHOICE.alike()
    read = sum(one.row.decision.letter is None for one in parted)
    lost = sum(one.other.letter is None for one in parted)
    moved = [(here, there) for here, there in pairs[1:] if _moves(here, there)]
    protocols = (report.protocol, other)
    return CHOICE.what_if(
        parted=len(parted),
        of=len(report.rows),
        read=read,
        lost=lost,
        judged=report.judge is not None,
        overall=_changes(protocols, pairs[:1]),
        moved=len(moved),
        changes=_changes(protocols, moved),
    )


def _changes(protocols: Sequence[Protocol], pairs: Sequence[Pair]) -> str:
    if not pairs:
        return ""
    columns = {"Ability": "name", **{PROTOCOL_WORDS[one]: "" for one in protocols}, "Change": ""}
    rows = []
    for here, there in pairs:
        change = (
            "–"
            if here.mean is None or there.mean is None
            else f"{there.mean - here.mean:+.1f}".replace("-", "−")
        )
        rows.append(
            TableRow((REPORT.name(label(here.name)), number(here.mean), number(there.mean), change))
        )
    return REPORT.table(NUMBERS, "", columns, rows)


def _moves(here: ScoreLine, there: ScoreLine) -> bool:
    if here.mean is None or there.mean is None:
        return here.mean is not there.mean
    return abs(here.mean - there.mean) > CHANGE


def _place(found: ChoiceTables[Any], split: object) -> int:
    """Return the index of the chosen split; if none is chosen, the last, which holds all of them."""
    names = split_names(found)
    return names.index(str(split)) if split in names else -1
