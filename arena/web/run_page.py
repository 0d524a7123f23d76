"""Run: the operators' page, and the acts of its forms, each of which checks the caller again.

An act redirects to the section that it came from, which says what was done. One that is refused shows the page with the
form as it was filled in. Anybody else reads what the page is for.
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
from arena.settings import settings_read
from arena.web.addresses import NAME, RUN
from arena.web.admin_auth import DAY, OPERATOR_COOKIE, LinkError, Operators
from arena.web.cookies import NO_STORE, cookie_header, over_https
from arena.web.heads import Head
from arena.web.layout import PageLayout
from arena.web.run_forms import (
    NOTHING_SENT,
    Said,
    SentForm,
    forget_done,
    remember,
    remembered,
    sent_form,
)
from arena.web.run_view import RunInputs, places, run_html, stranger_html

HEAD = Head(f"Run · {NAME}", "The operators' page.", is_private=True)
REPORTS = "/run/reports"
"""Where the form that withdraws a report is sent."""
MOST_WANTED = 200
"""Most characters of what is searched for."""
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
        """Return the page, once with what was done before it."""
        said = remembered(request)
        answer = self._page(request, said)
        if said:
            forget_done(answer, request)
        return answer

    def _page(
        self,
        request: Request,
        said: Said | None = None,
        sent: SentForm = NOTHING_SENT,
        status: int = 200,
    ) -> Response:
        if self.who(request) is None:
            return self.stranger(request)
        try:
            given = RunInputs(
                seen=self.watch.overview(),
                boards=self.boards.health(),
                settings=settings_read(self.watch.settings),
                address=address(request),
                said=said,
                sent=sent,
                wanted=request.query_params.get("find", "")[:MOST_WANTED],
            )
        except (DatabaseError, OSError) as error:
            return self.stranger(request, str(error), 503)
        return self.layout.page(request, HEAD, run_html(given), RUN, status=status, is_kept=False)

    def stranger(self, request: Request, problem: str = "", status: int = 200) -> Response:
        """Return what anybody else sees."""
        body = stranger_html(problem, self.operators.by_link)
        return self.layout.page(request, HEAD, body, RUN, status=status, is_kept=False)

    def who(self, request: Request) -> str | None:
        """Return the operator who asks; None for anybody else, and while the database fails."""
        try:
            return self.operators.of(request.headers)
        except DatabaseError:
            return None

    def enter(self, request: Request, code: str) -> Response:
        """Bind the browser that sends the link's code, unless it is an operator's already."""
        answer = RedirectResponse(f"/{RUN}", status_code=303, headers=NO_STORE)
        if self.who(request) is not None:
            return answer
        try:
            cookie = self.operators.redeem(code)
        except LinkError as error:
            return self.stranger(request, str(error), 429 if error.too_many else 403)
        https = over_https(request.scope, request.headers)
        answer.headers.append("set-cookie", cookie_header(cookie, https, OPERATOR_COOKIE, DAY))
        return answer

    def do(self, request: Request, sent: SentForm, act: Callable[[str], str]) -> Response:
        """Do what a form asks, in an operator's name, and go back to its section, which says what was done."""

        def done(who: str) -> Response:
            answer = RedirectResponse(f"/{RUN}{query}#{place}", status_code=303, headers=NO_STORE)
            remember(answer, Said(place, act(who)), request)
            return answer

        wanted = sent.fields.get("find", "")[:MOST_WANTED]
        query = f"?{urlencode({'find': wanted})}" if wanted else ""
        place = _place(sent)
        return self.answer(request, sent, done)

    def answer(self, request: Request, sent: SentForm, make: Callable[[str], Response]) -> Response:
        """Return what is made for an operator; the page where it is refused."""
        who = self.who(request)
        if who is None:
            return self.stranger(request, _REFUSED, 403)
        try:
            return make(who)
        except _ERRORS as error:
            status = 503 if isinstance(error, DatabaseError) else 422
            problem = str(error)
            said = Said(_place(sent), problem, is_problem=True, form=sent.place)
            return self._page(request, said, sent._replace(problem=problem), status)


def _place(sent: SentForm) -> str:
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
        given = partial(page.service.do, order=order, about=about)
        return await run_in_threadpool(page.do, request, sent, given)

    @router.post(REPORTS)
    async def withdraw(request: Request) -> Response:
        sent = await sent_form(request)
        withdrawn = partial(
            page.service.withdraw_report,
            address=sent.fields.get("address", ""),
            reason=sent.fields.get("reason", ""),
        )
        return await run_in_threadpool(page.do, request, sent, withdrawn)

    @router.get("/run/uploads/{image}")
    def upload(image: str, request: Request) -> Response:
        """Return an image to an operator; anybody else gets 404."""
        number = int(image) if image.isascii() and image.isdigit() and len(image) < 10 else 0
        path = page.images.kept_path(number) if page.who(request) else None
        if path is None:
            return PlainTextResponse("There is no such image.", status_code=404)
        return FileResponse(path, headers=NO_STORE)

    return router


def address(request: Request) -> str:
    """The address under which a browser reached this arena."""
    scheme = "https" if over_https(request.scope, request.headers) else "http"
    return f"{scheme}://{request.headers.get('host', '')}"
