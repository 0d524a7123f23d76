"""Tab "Do they agree?": how far people agree, and which measures follow; own metrics stay private."""

from collections.abc import Mapping, Sequence

import gradio as gr

from arena.database import DatabaseError
from arena.io.aside import AsideError, while_waited
from arena.io.tables import RowsError
from arena.ratings.agreement import LEAST_CONTESTS, ROUNDS, Reproduction
from arena.web.cookies import owner_of
from arena.web.events import LATEST, Updates, offered, still_there
from arena.web.results_view import picture_html
from scoring.jobs.uploads import UploadStoreError
from scoring.people.agreement import PeopleAgreement
from scoring.people.agreement_service import AgreementService
from scoring.web.agreement_view import AGREEMENT, measures_html, people_html, reproduction_plot
from scoring.web.citations import citations
from scoring.web.report_parts import PARTS

NO_SOURCE = (
    "There are no pictures to vote on yet. Once several people have chosen between the same two answers, it says here "
    "how far they agree."
)


class AgreementTab:
    """Components of the tab as attributes, event handlers as methods."""

    def __init__(self, service: AgreementService) -> None:
        self._service = service
        with gr.Row():
            self.source = gr.Dropdown(
                [], label="Items", elem_id="agreement-source", scale=0, min_width=320
            )
        self.tells = gr.HTML(AGREEMENT.reading(), elem_id="agreement-tells", padding=False)
        with gr.Column(visible=False, elem_id="agreement-body") as self.body:
            self.plot = gr.HTML(elem_id="agreement-plot", padding=False)
            self.people = gr.HTML(elem_id="agreement-people", padding=False)
            self.measures = gr.HTML(elem_id="agreement-measures", padding=False)
            self.downloads = gr.HTML(elem_id="agreement-downloads", padding=False)
            gr.HTML(AGREEMENT.own_metric(), padding=False)
            self.own = gr.HTML(elem_id="agreement-own", padding=False)
            self.notes = gr.HTML(elem_id="agreement-notes", padding=False)
        self.token = gr.Textbox(visible="hidden", elem_id="scores-token")
        # clicked by upload.js; hidden by CSS
        self.arrived = gr.Button("Read the scores", elem_id="scores-arrived")

    def listen(self, tab: gr.Tab) -> None:
        shown = [
            self.source,
            self.tells,
            self.body,
            self.people,
            self.measures,
            self.downloads,
            self.own,
        ]
        shown += [self.plot, self.notes]
        opened = [tab.select, self.source.input, self.arrived.click]
        gr.on(opened, self.on_open, [self.source, self.token], shown, **LATEST)

    def on_open(self, source: object, token: object, request: gr.Request) -> Updates:
        try:
            sources = self._service.sources()
            if not sources:
                return {self.tells: PARTS.empty(NO_SOURCE), self.body: gr.update(visible=False)}
            chosen = source if isinstance(source, str) and source in sources else sources[-1]
            listed = gr.update(**offered(sources, chosen, source))
            return {self.source: listed, **self._found(chosen, token, request)}
        except DatabaseError as error:
            return {self.tells: PARTS.alert(error), self.body: gr.update(visible=False)}

    def _found(self, source: str, token: object, request: gr.Request) -> Updates:
        """Return a source's figures; if the visitor's file is invalid or gone, the error replaces their metrics."""
        query = {"source": source}
        if not isinstance(token, str) or not token:
            return self._shown(self._service.of(source), query)
        try:
            with while_waited(still_there(request)):
                found, own = self._service.beside(source, owner_of(request.headers), token)
            return self._shown(found, query | {"own": token}, own)
        except (UploadStoreError, RowsError, AsideError) as error:
            return {**self._shown(self._service.of(source), query), self.own: PARTS.alert(error)}

    def _shown(
        self, shown: PeopleAgreement, query: Mapping[str, str], own: Sequence[Reproduction] = ()
    ) -> Updates:
        measures = measures_html(shown)
        plot = reproduction_plot(shown) if measures else None
        return {
            self.tells: AGREEMENT.tells(shown, LEAST_CONTESTS),
            self.body: gr.update(visible=bool(shown.people.contests)),
            self.people: people_html(shown.people),
            self.measures: measures,
            self.downloads: AGREEMENT.links(query, citations()["bitton2023visitbench"]),
            self.own: AGREEMENT.own(own),
            self.plot: picture_html(plot, "agreement", "agreement/figure", query),
            self.notes: AGREEMENT.notes(shown, ROUNDS, LEAST_CONTESTS),
        }
