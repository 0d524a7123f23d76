"""Multiple-choice report view: what another protocol would have read, and every answer."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import gradio as gr

from arena.kept import Kept
from arena.markdown import visible_name
from arena.web.events import LATEST, Updates
from scoring.benchmarks.choice import ChoiceReport, MultipleChoice, under_protocol
from scoring.benchmarks.choice_sheets import change_sheets
from scoring.jobs.store import Jobs
from scoring.multiple_choice.metrics import ChoiceTables, Difference, differences
from scoring.multiple_choice.types import PROTOCOL_WORDS, Protocol
from scoring.registry import BENCHMARKS, choice_benchmark
from scoring.web.answer_list import AnswerList, shows_report_errors
from scoring.web.article import head_html
from scoring.web.choice_audit import DIFFERS, SHOWS, audit_html
from scoring.web.report_parts import CHOICE, REPORT, folded_problems_html, sheet_html

EVERY = "every ability"
MOST_CATEGORIES = 300


class _Seen(NamedTuple):
    """Report with its tables."""

    report: ChoiceReport
    found: ChoiceTables[Any]

    @property
    def others(self) -> list[Protocol]:
        return [protocol for protocol in PROTOCOL_WORDS if protocol != self.report.protocol]


class ChoiceView:
    """Components of the view as attributes, event handlers as methods."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._kept: Kept[_Seen] = Kept(100_000, 60, weigh=lambda seen: 1 + len(seen.report.rows))

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
        self.shown = [self.other, self.category, self.answers.list]

    def listen(self, link: gr.Textbox) -> None:
        what_if = [self.what_if, self.answers.show, self.answers.page, self.answers.list]
        self.other.input(self.on_what_if, [link, self.other, self.category], what_if, **LATEST)
        self.answers.listen(link, self.other)

    def opened(self, link: str, report: ChoiceReport) -> tuple[str, Updates]:
        seen = self._tabulated(link)
        words = choice_benchmark(report).words
        categories = {row.question.category for row in report.rows if row.question.category}
        named = [(visible_name(words(name)), name) for name in sorted(categories)[:MOST_CATEGORIES]]
        others = [(PROTOCOL_WORDS[protocol], protocol) for protocol in seen.others]
        problems = (*seen.found.problems, *report.problems)
        return head_html(report, [folded_problems_html(problems)]), {
            self.other: gr.update(choices=others, value=None),
            self.category: gr.update(choices=[EVERY, *named], value=EVERY, visible=len(named) > 1),
            self.answers.list: audit_html(report.rows, (), seen.others[0], words=words),
        }

    @shows_report_errors("what_if")
    def on_what_if(self, link: object, other: object, category: object) -> Updates:
        seen = self._seen(str(link))
        if seen is None or other not in seen.others:
            return {self.what_if: ""}
        there = self._under(str(link), other)
        parted = differences(seen.report.rows, there.report.rows)
        return {
            self.what_if: what_if_html(seen.report, there.report, parted),
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
            choice_benchmark(seen.report).words,
        )

    def _seen(self, link: str) -> _Seen | None:
        """Return the report under a link while it exists; a finished report never changes, so it is cached."""
        job = self._jobs.find(link)
        there = (
            job is not None
            and job.state == "done"
            and isinstance(BENCHMARKS[job.benchmark], MultipleChoice)
        )
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


def what_if_html(here: ChoiceReport, there: ChoiceReport, parted: Sequence[Difference]) -> str:
    if not parted:
        return CHOICE.alike()
    read = sum(one.row.decision.letter is None for one in parted)
    lost = sum(one.other.letter is None for one in parted)
    benchmark = choice_benchmark(here)
    pairs = benchmark.pairs(here, there)
    head, moved = change_sheets(pairs, benchmark.words, here.protocol, there.protocol)
    return CHOICE.what_if(
        parted=len(parted),
        of=len(here.rows),
        read=read,
        lost=lost,
        judged=here.judge is not None,
        overall=sheet_html(head),
        moved=len(moved.frame),
        changes=sheet_html(moved),
    )
