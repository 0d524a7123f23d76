"""VisIT-Bench report view: the report's own board, Figure 8, and every match."""

from typing import Any

import gradio as gr

from arena.figures import plotly_figure
from arena.web.events import LATEST, Updates
from scoring.jobs.store import Jobs
from scoring.visit_bench.benchmark import boards
from scoring.visit_bench.matches import MatchReport
from scoring.web.submissions_view import family_figure, note_html
from scoring.web.visit_bench_view import SHOWS, MatchFilter, boards_html, head_html, matches_html, opponents

EVERY = "every opponent"


class MatchesView:
    """Components of the view as attributes, event handlers as methods."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        with gr.Column(visible=False) as self.body:
            self.boards = gr.HTML(elem_id="match-boards", padding=False)
            self.plot = gr.Plot(show_label=False, visible=False, elem_id="match-plot")
            self.note = gr.HTML(padding=False)
            gr.HTML("<h3>Every match</h3>", padding=False)
            with gr.Row():
                self.show = gr.Dropdown(list(SHOWS), value="all matches", label="Show", elem_id="match-show")
                self.opponent = gr.Dropdown([EVERY], value=EVERY, label="Opponent", elem_id="match-opponent")
                self.page = gr.Number(1, label="Page", minimum=1, precision=0, elem_id="match-page")
            self.matches = gr.HTML(elem_id="matches", padding=False)

    @property
    def shown(self) -> list[Any]:
        """Components that `opened` fills."""
        return [self.boards, self.plot, self.note, self.opponent, self.matches]

    def listen(self, link: gr.Textbox) -> None:
        chosen = [link, self.show, self.opponent, self.page]
        filters = [self.show.input, self.opponent.input]
        gr.on(filters, self.on_filter, chosen, [self.page, self.matches], **LATEST)
        self.page.input(self.on_page, chosen, self.matches, **LATEST)

    def head(self, link: str, report: MatchReport) -> str:
        """Return the report's header."""
        job = self._jobs.find(link)
        return head_html(report, own_key=job is not None and job.own_key)

    def opened(self, link: str, report: MatchReport) -> Updates:
        """Return the report's boards, Figure 8 of the larger one, and the first page of the matches."""
        found = boards(report)
        figure = family_figure(max(found, key=lambda board: board.matches)) if found else None
        return {
            self.boards: boards_html(found),
            self.plot: gr.update(value=plotly_figure(figure), visible=True) if figure else gr.update(visible=False),
            self.note: note_html(figure.note) if figure else "",
            self.opponent: gr.update(choices=[EVERY, *opponents(report)], value=EVERY),
            self.matches: matches_html(report, MatchFilter()),
        }

    def on_filter(self, link: object, show: object, opponent: object, page: object) -> Updates:
        """Show the first page of the selected matches."""
        return {self.page: 1, **self.on_page(link, show, opponent, 1)}

    def on_page(self, link: object, show: object, opponent: object, page: object) -> Updates:
        """Show another page of the matches."""
        report = self._jobs.report(str(link))
        if not isinstance(report, MatchReport):
            return {self.matches: ""}
        return {self.matches: matches_html(report, _filter(report, show, opponent, page))}


def _filter(report: MatchReport, show: object, opponent: object, page: object) -> MatchFilter:
    """Return the filter from the browser's input; an unknown value counts as not chosen."""
    chosen = SHOWS.get(str(show), "all matches")
    met = str(opponent) if opponent in opponents(report) else ""
    return MatchFilter(chosen, met, int(page) if isinstance(page, int | float) and 1 <= page <= 1e6 else 1)
