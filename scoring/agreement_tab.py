"""The "Judges and people" tab: how far people agree, and how often each metric and judge reproduces their majority."""

from typing import Any

import gradio as gr

from arena.database import DatabaseError
from arena.plots import plotly_figure
from scoring.agreement_page import (
    NO_SOURCE,
    measures_html,
    notes_html,
    people_html,
    problem_html,
    reproduction_figure,
    tells_html,
)
from scoring.concordance import Concordances

READING = '<p class="empty" role="status">Reading the votes …</p>'

Updates = dict[Any, Any]


class AgreementTab:
    """Components of the tab as attributes, its handlers as methods."""

    def __init__(self, concordances: Concordances) -> None:
        self._concordances = concordances
        with gr.Row():
            self.source = gr.Dropdown([], label="Items", elem_id="agreement-source", scale=0, min_width=320)
        self.tells = gr.HTML(READING, elem_id="agreement-tells", padding=False)
        with gr.Column(visible=False, elem_id="agreement-body") as self.body:
            self.people = gr.HTML(elem_id="agreement-people", padding=False)
            self.measures = gr.HTML(elem_id="agreement-measures", padding=False)
            self.plot = gr.Plot(show_label=False, visible=False, elem_id="agreement-plot")
            self.note = gr.HTML(elem_id="agreement-note", padding=False)
            self.notes = gr.HTML(elem_id="agreement-notes", padding=False)

    def listen(self, tab: gr.Tab) -> None:
        """Bind the handlers: the votes are read when the tab is opened or other items are chosen."""
        settings: dict[str, Any] = {"queue": False, "api_visibility": "private", "show_progress": "hidden"}
        # Whatever the browser sends is looked up among the sources that there are.
        settings["preprocess"] = False
        shown = [self.source, self.tells, self.body, self.people, self.measures, self.plot, self.note, self.notes]
        gr.on([tab.select, self.source.input], self.on_open, self.source, shown, **settings)

    def on_open(self, source: object) -> Updates:
        """Show the chosen source, at first the newest."""
        try:
            sources = self._concordances.sources()
            if not sources:
                return {self.tells: NO_SOURCE, self.body: gr.update(visible=False)}
            chosen = source if isinstance(source, str) and source in sources else sources[-1]
            found = self._concordances.of(chosen)
        except DatabaseError as error:
            return {self.tells: problem_html(str(error)), self.body: gr.update(visible=False)}
        figure = reproduction_figure(found) if measures_html(found) else None
        return {
            self.source: gr.update(choices=list(sources), value=chosen),
            self.tells: tells_html(found),
            self.body: gr.update(visible=bool(found.people.contests)),
            self.people: people_html(found.people),
            self.measures: measures_html(found),
            self.plot: gr.update(value=plotly_figure(figure) if figure else None, visible=figure is not None),
            self.note: f'<p class="note">{figure.note}</p>' if figure else "",
            self.notes: notes_html(found),
        }
