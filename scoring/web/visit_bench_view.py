"""VisIT-Bench report view: header, the report's own board, Figure 8, and every match with the judge's replies."""

from collections.abc import Callable, Mapping

import gradio as gr

from arena.drawings import svg
from arena.markdown import answer_html, instruction_html, plain_html, visible_name
from arena.web.events import Updates
from scoring.jobs.store import Jobs
from scoring.visit_bench.benchmark import boards, family_words
from scoring.visit_bench.leaderboard import AutomaticBoard
from scoring.visit_bench.matches import (
    NOT_SHOWN,
    Instance,
    Match,
    MatchReport,
    Outcome,
    Winner,
    listed,
    steadiness,
)
from scoring.web.answer_list import AnswerList, of_report
from scoring.web.article import head_html
from scoring.web.report_parts import PARTS, REPORT, paged
from scoring.web.submissions_tab import VISIT, family_plot

SHOWS: Mapping[str, Callable[[Outcome, bool], bool]] = {
    "all matches": lambda outcome, steady: True,
    "won": lambda outcome, steady: outcome == "won",
    "lost": lambda outcome, steady: outcome == "lost",
    "tied": lambda outcome, steady: outcome == "tied",
    "decided by order": lambda outcome, steady: outcome is not None and not steady,
    "without a result": lambda outcome, steady: outcome is None,
}
EVERY = "every opponent"
BLIND = (
    "While voters may be asked to choose between answers of this bank, these are not shown, nor how each fared, nor "
    "which of them an uploaded answer met."
)
MATCHES_A_PAGE = 10


class MatchesView:
    """Components of the view as attributes, event handlers as methods."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def build_list(self) -> None:
        with gr.Column(visible=False, elem_classes="report-list") as self.below:
            self.plot = gr.HTML(elem_id="match-plot", padding=False)
            self.opponent = gr.Dropdown(
                [EVERY], value=EVERY, label="Opponent", elem_id="match-opponent", render=False
            )
            listed = of_report(self._jobs, MatchReport, matches_html)
            self.answers = AnswerList(
                "Every match", "match", "matches", SHOWS, listed, self.opponent
            )
        self.shown = [self.plot, self.opponent, self.answers.list]

    def listen(self, link: gr.Textbox) -> None:
        self.answers.listen(link)

    def opened(self, link: str, report: MatchReport) -> tuple[str, Updates]:
        job = self._jobs.find(link)
        found = boards(report)
        return visit_bench_head_html(report, own_key=job is not None and job.own_key), {
            self.plot: families_html(max(found, key=lambda board: board.matches, default=None)),
            self.opponent: gr.update(choices=[EVERY, *_opponents(report)], value=EVERY),
            self.answers.list: matches_html(report),
        }


def visit_bench_head_html(report: MatchReport, own_key: bool) -> str:
    """Return what was judged, and how steadily; with an own key it is on no public board."""
    private = "private: it was judged with its owner's key, so no public board has it"
    steady = VISIT.steady(steadiness(match.winners for match in report.matches))
    played = VISIT.played(len(report.matches))
    is_blind = any(response.text == NOT_SHOWN for response in report.responses)
    told = [PARTS.warning(private) if own_key else "", played, steady]
    return head_html(report, [*told, PARTS.note(BLIND) if is_blind else ""])


def families_html(board: AutomaticBoard | None) -> str:
    """Return Figure 8 of this report's matches; "" without any that was decided."""
    plot = family_plot(board) if board else None
    if plot is None or plot.drawing is None:
        return ""
    heading = REPORT.heading("By family of instructions")
    drawing = REPORT.scrolled(svg(plot.drawing, "families"))
    return REPORT.together([heading, drawing, PARTS.note(plot.note)])


def matches_html(
    report: MatchReport, show: str = "all matches", opponent: str = EVERY, page: object = 1
) -> str:
    """Return one page of the matching matches; a filter that does not exist counts as not chosen."""
    report = listed(report)
    fits = SHOWS.get(show, SHOWS["all matches"])
    everyone = opponent not in {model for _, model in _opponents(report)}
    met = [match for match in report.matches if everyone or opponent in (match.a, match.b)]
    fit = [
        match for match in met if fits(match.outcome(report.title), len(set(match.winners)) == 1)
    ]
    shown, place = paged(fit, page, MATCHES_A_PAGE)
    items = [
        _match(match, report.title, report.by_item[match.item], report.texts) for match in shown
    ]
    return VISIT.matches(f"{len(fit):,} matches; {place}", items)


def _opponents(report: MatchReport) -> list[tuple[str, str]]:
    """Return the other models as they are shown and as they are named."""
    models = {model for match in report.matches for model in (match.a, match.b)}
    return [(visible_name(model), model) for model in sorted(models - {report.title})]


def _match(
    match: Match, title: str, instance: Instance, texts: Mapping[tuple[str, str], str]
) -> str:
    names: Mapping[Winner | None, str] = {
        "a": match.a,
        "b": match.b,
        "tie": "a tie",
        None: "no verdict",
    }
    winner = match.winner and names[match.winner]
    models = (match.a, match.b) if match.a == title else (match.b, match.a)
    sides = [(model, model == winner, answer_html(texts[match.item, model])) for model in models]
    verdicts = [
        (first, names[verdict.winner], verdict.reason, list(map(plain_html, verdict.replies)))
        for verdict, first in zip(match.verdicts, (match.a, match.b), strict=False)
    ]
    return VISIT.match(
        instruction_html(instance.instruction), family_words(instance.family), sides, verdicts
    )
