"""Run: the operators' page and the acts of its forms. Each act checks the caller again.

An act redirects to its section, which shows what was done. A refused act shows the page with the form as it was filled
in. Other people read that the page is for operators.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from arena.admin.dashboard import DashboardService
from arena.admin.service import ADMIN_ERRORS, AdminService
from arena.authoring.checks import DraftError
from arena.database import DatabaseError
from arena.io.strict_json import RowsError
from arena.leaderboard.overview import Overview
from arena.live.images import OwnImages
from arena.seats.spec import CampaignError
from arena.settings import setting_values
from arena.web.addresses import NAME, RUN
from arena.web.admin_auth import DAY, OPERATOR_COOKIE, LinkError, Operators
from arena.web.cookies import NO_STORE, cookie_header, is_https
from arena.web.heads import Head
from arena.web.layout import PageLayout
from arena.web.run_forms import (
    NOTHING_SENT,
    Notice,
    SentForm,
    forget_notice,
    remember_notice,
    remembered_notice,
    sent_form,
)
from arena.web.run_view import RunInputs, places, run_html, stranger_html

HEAD = Head(f"Run · {NAME}", "The operators' page.", is_private=True)
REPORTS = "/run/reports"
"""The path of the form that withdraws a report."""
MOST_SEARCH = 200
"""Most characters of a search."""
_ERRORS = (*ADMIN_ERRORS, CampaignError, DraftError, RowsError)
_REFUSED = "Only operators can do that. Nothing was changed."
_PLACES = frozenset(places())


@dataclass(frozen=True)
class RunPage:
    """The page of one arena."""

    watch: DashboardService
    boards: Overview
    service: AdminService
    operators: Operators
    images: OwnImages
    layout: PageLayout

    def show(self, request: Request) -> Response:
        """Returns the page, once with the notice of the last act; a page that fails leaves it for the next one."""
        notice = remembered_notice(request)
        response = self._page(request, notice)
        if notice and response.status_code == 200:
            forget_notice(response, request)
        return response

    def _page(
        self,
        request: Request,
        notice: Notice | None = None,
        sent: SentForm = NOTHING_SENT,
        status: int = 200,
    ) -> Response:
        try:
            if self.operators.of(request.headers) is None:
                return self.stranger(request)
            inputs = RunInputs(
                dashboard=self.watch.overview(),
                boards=self.boards.health(),
                settings=setting_values(self.watch.settings),
                address=site_address(request),
                notice=notice,
                sent=sent,
                wanted=request.query_params.get("find", "")[:MOST_SEARCH],
            )
        except (DatabaseError, OSError) as error:
            return self.stranger(request, str(error), 503)
        return self.layout.page(
            request, HEAD, run_html(inputs), RUN, is_operators=True, status=status, is_kept=False
        )

    def stranger(self, request: Request, problem: str = "", status: int = 200) -> Response:
        """Returns the page for people who are no operators."""
        body = stranger_html(problem, self.operators.by_link)
        return self.layout.page(
            request, HEAD, body, RUN, is_operators=True, status=status, is_kept=False
        )

    def operator_of(self, request: Request) -> str | None:
        """Returns the name of the operator who sent a request.

        None for other people, and while the database fails.
        """
        try:
            return self.operators.of(request.headers)
        except DatabaseError:
            return None

    def enter(self, request: Request, code: str) -> Response:
        """Makes a browser with the link's code an operator's, unless it is one already."""
        response = RedirectResponse(f"/{RUN}", status_code=303, headers=NO_STORE)
        if self.operator_of(request) is not None:
            return response
        try:
            cookie = self.operators.redeem(code)
        except LinkError as error:
            return self.stranger(request, str(error), 429 if error.too_many else 403)
        https = is_https(request.scope, request.headers)
        response.headers.append("set-cookie", cookie_header(cookie, https, OPERATOR_COOKIE, DAY))
        return response

    def do(self, request: Request, sent: SentForm, act: Callable[[str], str]) -> Response:
        """Runs a form's act in an operator's name and goes back to its section, which shows what was done.

        `act` gets the operator's name, and returns the sentence about what was done.
        """
        search = sent.fields.get("find", "")[:MOST_SEARCH]
        query = f"?{urlencode({'find': search})}" if search else ""
        section = _section(sent)

        def act_and_return(operator: str) -> Response:
            address = f"/{RUN}{query}#{section}"
            response = RedirectResponse(address, status_code=303, headers=NO_STORE)
            remember_notice(response, Notice(section, act(operator)), request)
            return response

        return self.answer(request, sent, act_and_return)

    def answer(self, request: Request, sent: SentForm, make: Callable[[str], Response]) -> Response:
        """Returns the response that `make` builds for an operator, or the page with the reason of a refusal."""
        try:
            operator = self.operators.of(request.headers)
        except DatabaseError as error:
            return self.stranger(request, str(error), 503)
        if operator is None:
            return self.stranger(request, _REFUSED, 403)
        try:
            return make(operator)
        except _ERRORS as error:
            status = 503 if isinstance(error, (DatabaseError, OSError)) else 422
            problem = str(error)
            notice = Notice(_section(sent), problem, is_problem=True, form_anchor=sent.anchor)
            return self._page(request, notice, sent._replace(problem=problem), status)


def _section(sent: SentForm) -> str:
    """Returns the section of a form; the first one for a form without a section of the page."""
    return sent.section if sent.section in _PLACES else "needs"


def routes(page: RunPage) -> APIRouter:
    router = APIRouter()
    router.add_api_route(f"/{RUN}", page.show, methods=["GET", "HEAD"], response_class=Response)

    @router.post("/run/enter")
    async def enter(request: Request) -> Response:
        sent = await sent_form(request)
        return await run_in_threadpool(page.enter, request, sent.fields.get("code", ""))

    @router.post("/run/act")
    async def act(request: Request) -> Response:
        sent = await sent_form(request)
        order = sent.fields.get("order", "")
        about = sent.fields.get("about", "")
        run_order = partial(page.service.do, order=order, about=about)
        return await run_in_threadpool(page.do, request, sent, run_order)

    @router.post(REPORTS)
    async def withdraw(request: Request) -> Response:
        sent = await sent_form(request)
        withdraw_report = partial(
            page.service.withdraw_report,
            address=sent.fields.get("address", ""),
            reason=sent.fields.get("reason", ""),
        )
        return await run_in_threadpool(page.do, request, sent, withdraw_report)

    @router.get("/run/uploads/{image}")
    def upload(image: str, request: Request) -> Response:
        """Returns an image to operators; other people get 404."""
        is_number = image.isascii() and image.isdigit() and len(image) < 10
        number = int(image) if is_number else 0
        path = page.images.kept_path(number) if page.operator_of(request) else None
        if path is None:
            return PlainTextResponse("There is no such image.", status_code=404)
        return FileResponse(path, headers=NO_STORE)

    return router


def site_address(request: Request) -> str:
    """Returns the address under which a browser reached this arena."""
    scheme = "https" if is_https(request.scope, request.headers) else "http"
    return f"{scheme}://{request.headers.get('host', '')}"
