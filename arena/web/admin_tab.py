"""Admin page: filled for operators only; every event checks the caller again."""

import gradio as gr

from arena.admin.dashboard import Dashboard, DashboardService
from arena.admin.service import ADMIN_ERRORS, AdminService
from arena.database import DatabaseError
from arena.templates import macros
from arena.web.admin_auth import Operators
from arena.web.backup_status import ago, is_late
from arena.web.events import EACH, RAW, Updates
from arena.web.leaderboard_view import COUNTED

HTML, PARTS = macros("admin.html"), macros("parts.html")
LOOK = "look"
"""The action that changes nothing."""


def dashboard_html(seen: Dashboard, live_models: int) -> str:
    copy, copied = seen.copy, "nothing yet"
    if copy and copy.copied_at:
        copied = f"all until {ago(seen.read_at - copy.copied_at)} ago"
    failures = [(name, f"{number:,}") for name, number in seen.failures.items()]
    budgets = [(name, *(f"${amount / 1e6:,.2f}" for amount in total)) for name, total in seen.budgets.items()]
    flags = [
        (
            flag.voter,
            f"{flag.reason}: {flag.model}" if flag.model else flag.reason,
            f"{flag.strength:.1f}",
            "yes" if flag.left_out else "no, one weak reason",
            f"{flag.raised_at:%Y-%m-%d %H:%M}",
        )
        for flag in seen.flagged
    ]
    acts = [(f"{act.done_at:%Y-%m-%d %H:%M:%S}", act.who, act.deed, act.about) for act in seen.acts]
    late = copy is not None and is_late(copy, seen.read_at)
    counted = COUNTED.get(seen.who.rule)
    return HTML.dashboard(seen, max(*seen.hours, 1), copied, late, failures, budgets, counted, flags, acts, live_models)


class AdminTab:
    """The page's components as attributes, its handlers as methods."""

    def __init__(self, watch: DashboardService, service: AdminService, operators: Operators, live_models: int) -> None:
        self._watch, self._live_models = watch, live_models
        self._service = service
        self._operators = operators
        self.said = gr.HTML(elem_id="operator-said", padding=False)
        self.view = gr.HTML(elem_id="operator", padding=False)
        self.order = gr.Textbox(visible="hidden")
        self.about = gr.Textbox(visible="hidden")
        self.do = gr.Button(visible="hidden", elem_id="operator-do")

    def listen(self, page: gr.Blocks) -> None:
        page.load(self.on_enter, self.about, [self.said, self.view], js="() => operatorEnter()", **RAW)
        order = [self.order, self.about]
        done = self.do.click(self.on_order, order, [self.said], js="() => operatorOrder()", **EACH)
        done.then(self.on_look, None, [self.view], **RAW)  # after each action, whichever is answered last

    def on_enter(self, problem: object, request: gr.Request) -> Updates:
        """`problem`: what the link's code did not open, if anything."""
        return {self.said: PARTS.alert(problem) if problem else "", **self.on_look(request)}

    def on_look(self, request: gr.Request) -> Updates:
        if not self._who(request):
            return {self.view: HTML.refused()}
        try:
            return {self.view: dashboard_html(self._watch.overview(), self._live_models)}
        except (DatabaseError, OSError) as error:
            return {self.view: PARTS.alert(error)}

    def on_order(self, order: object, about: object, request: gr.Request) -> Updates:
        who = self._who(request)
        if who is None:
            return {self.said: HTML.refused()}
        try:
            said = "" if order == LOOK else HTML.done(self._service.do(who, order, about))
        except ADMIN_ERRORS as error:
            said = PARTS.alert(error)
        return {self.said: said}

    def _who(self, request: gr.Request) -> str | None:
        try:
            return self._operators.of(request.headers)
        except DatabaseError:
            return None
