"""Admin page: filled for operators only; every event checks the caller again."""

import json

import gradio as gr

from arena.admin.dashboard import DashboardService
from arena.admin.service import ADMIN_ERRORS, AdminService
from arena.database import DatabaseError
from arena.leaderboard.overview import Overview
from arena.settings import settings_read
from arena.templates import macros
from arena.web.admin_auth import Operators
from arena.web.admin_campaigns import address
from arena.web.admin_view import HTML, dashboard_html
from arena.web.events import EACH, RAW, REFUSED, Updates, into_view

PARTS = macros("parts.html")
LOOK = "look"
"""The action that changes nothing; it is about what a route has done, in words."""
_FOCUS = """() => requestAnimationFrame(() => {
  const said = document.getElementById("operator-said");
  if (document.activeElement !== document.body || !said) return;
  said.tabIndex = -1;
  said.focus({ preventScroll: true });
})"""
"""In the browser: where the new view lacks the button that was pressed, the focus goes to what was said."""


class AdminTab:
    """The page's components as attributes, its handlers as methods."""

    def __init__(
        self, watch: DashboardService, service: AdminService, operators: Operators, boards: Overview
    ) -> None:
        self._watch = watch
        self._boards = boards
        self._service = service
        self._operators = operators
        self.said = gr.HTML(elem_id="operator-said", padding=False)
        self.view = gr.HTML(elem_id="operator", padding=False)
        self.order = gr.Textbox(visible="hidden")
        self.about = gr.Textbox(visible="hidden")
        # the button may stand far below
        self.said.change(None, js=into_view("#operator-said [role]"))
        self.do = gr.Button(visible="hidden", elem_id="operator-do")

    def listen(self, page: gr.Blocks) -> None:
        page.load(
            self.on_enter, self.about, [self.said, self.view], js="() => operatorEnter()", **RAW
        )
        order = [self.order, self.about]
        done = self.do.click(self.on_order, order, [self.said], js="() => operatorOrder()", **EACH)
        done.failure(None, None, self.said, js=f"() => {json.dumps(str(PARTS.alert(REFUSED)))}")
        # after each action, whichever is answered last
        looked = done.then(self.on_look, None, [self.view], **RAW)
        looked.then(None, js=_FOCUS)

    def on_enter(self, problem: object, request: gr.Request) -> Updates:
        """`problem`: what the link's code did not open, if anything."""
        return {self.said: PARTS.alert(problem) if problem else "", **self.on_look(request)}

    def on_look(self, request: gr.Request) -> Updates:
        if not self._who(request):
            return {self.view: HTML.refused()}
        try:
            settings = settings_read(self._watch.settings)
            health = self._boards.health()
            here = address(request.request) if request.request else ""
            return {self.view: dashboard_html(self._watch.overview(), health, settings, here)}
        except (DatabaseError, OSError) as error:
            return {self.view: PARTS.alert(error)}

    def on_order(self, order: object, about: object, request: gr.Request) -> Updates:
        who = self._who(request)
        if who is None:
            return {self.said: HTML.refused()}
        try:
            told = about if order == LOOK else self._service.do(who, order, about)
            said = HTML.done(told) if told else ""
        except ADMIN_ERRORS as error:
            said = PARTS.alert(error)
        return {self.said: said}

    def _who(self, request: gr.Request) -> str | None:
        try:
            return self._operators.of(request.headers)
        except DatabaseError:
            return None
