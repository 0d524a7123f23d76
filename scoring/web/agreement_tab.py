"""Tab "Judges and people": how far people agree, and how often each metric and judge reproduces their majority.

A visitor's own metrics appear beside the others, for this visitor only, while the file with their scores is in the
upload store.
"""

import gradio as gr

from arena.database import DatabaseError
from arena.figures import plotly_figure
from arena.io.tables import RowsError
from arena.web.cookies import cookie_hash, sent_cookie
from arena.web.events import LATEST, Updates, offered
from scoring.agreement.service import AgreementFound, AgreementService
from scoring.jobs.uploads import UploadStoreError
from scoring.web.agreement_view import (
    AGREEMENT,
    measures_html,
    notes_html,
    people_html,
    reproduction_figure,
    tells_html,
)
from scoring.web.report_parts import PARTS, REPORT

NO_SOURCE = "There are no items yet, so nobody has voted."


class AgreementTab:
    """Components of the tab as attributes, event handlers as methods."""

    def __init__(self, service: AgreementService) -> None:
        self._service = service
        with gr.Row():
            self.source = gr.Dropdown([], label="Items", elem_id="agreement-source", scale=0, min_width=320)
        self.tells = gr.HTML(AGREEMENT.reading(), elem_id="agreement-tells", padding=False)
        with gr.Column(visible=False, elem_id="agreement-body") as self.body:
            self.people = gr.HTML(elem_id="agreement-people", padding=False)
            self.measures = gr.HTML(elem_id="agreement-measures", padding=False)
            self.plot = gr.Plot(show_label=False, visible=False, elem_id="agreement-plot")
            self.note = gr.HTML(elem_id="agreement-note", padding=False)
            self.downloads = gr.HTML(elem_id="agreement-downloads", padding=False)
            gr.HTML(AGREEMENT.own_metric(), padding=False)
            self.own = gr.HTML(elem_id="agreement-own", padding=False)
            self.notes = gr.HTML(elem_id="agreement-notes", padding=False)
        self.token = gr.Textbox(visible="hidden", elem_id="scores-token")
        self.arrived = gr.Button("Read the scores", elem_id="scores-arrived")  # clicked by upload.js; hidden by CSS

    def listen(self, tab: gr.Tab) -> None:
        """Bind the handlers: the votes are read when the tab opens, the items change or scores arrive.

        The browser's input is looked up among the existing sources and the visitor's own upload.
        """
        shown = [self.source, self.tells, self.body, self.people, self.measures, self.downloads, self.own]
        shown += [self.plot, self.note, self.notes]
        opened = [tab.select, self.source.input, self.arrived.click]
        gr.on(opened, self.on_open, [self.source, self.token], shown, **LATEST)

    def on_open(self, source: object, token: object, request: gr.Request) -> Updates:
        """Show the chosen source, initially the newest, with the visitor's own metrics."""
        try:
            sources = self._service.sources()
            if not sources:
                return {self.tells: PARTS.empty(NO_SOURCE), self.body: gr.update(visible=False)}
            chosen = source if isinstance(source, str) and source in sources else sources[-1]
            listed = gr.update(**offered(sources, chosen, source))
            return {self.source: listed, **self._found(chosen, token, request)}
        except DatabaseError as error:
            return {self.tells: REPORT.alert(error), self.body: gr.update(visible=False)}

    def _found(self, source: str, token: object, request: gr.Request) -> Updates:
        """Return a source's figures; if the visitor's file is invalid or gone, the error replaces their metrics."""
        own = token if isinstance(token, str) else ""
        try:
            found = self._service.beside(source, cookie_hash(sent_cookie(request.headers) or ""), own) if own else None
        except (UploadStoreError, RowsError) as error:
            return {**self._shown(source, self._service.of(source), ""), self.own: REPORT.alert(error)}
        return self._shown(source, found or self._service.of(source), own)

    def _shown(self, source: str, found: AgreementFound, own: str) -> Updates:
        shown = found.people_agreement
        measures = measures_html(shown)
        figure = reproduction_figure(shown) if measures else None
        return {
            self.tells: tells_html(shown),
            self.body: gr.update(visible=bool(shown.people.contests)),
            self.people: people_html(shown.people),
            self.measures: measures,
            self.downloads: AGREEMENT.links({"source": source, **({"own": own} if own else {})}),
            self.own: AGREEMENT.own(found.own),
            self.plot: gr.update(value=plotly_figure(figure) if figure else None, visible=figure is not None),
            self.note: PARTS.note(figure.note) if figure else "",
            self.notes: notes_html(shown),
        }
