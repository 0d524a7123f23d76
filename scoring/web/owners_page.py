"""Your reports on another device: a code that one browser shows, and the other one enters."""

import asyncio
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from arena.locale import t
from arena.templates import macros
from arena.web.addresses import NAME, SCORE
from arena.web.campaign_api import form_of
from arena.web.cookies import (
    NO_STORE,
    VoterCookies,
    cookie_hash,
    cookie_header,
    is_https,
    sent_cookie,
)
from arena.web.heads import Head
from arena.web.layout import PageLayout
from scoring.jobs.owners import CodeError, ReportOwners

HTML: Any = macros("owners.html")
CODE = "/you/code"
REPORTS = "/you/reports"


@dataclass(frozen=True)
class OwnersPage:
    """The part of the page of what is kept of a visitor, and what its two buttons do.

    The code is in a form and in an answer that nobody keeps, never in an address.
    """

    owners: ReportOwners
    cookies: VoterCookies
    layout: PageLayout
    https: bool
    """Whether a proxy speaks https for us."""

    def part(self, request: Request) -> str:
        has_cookie = sent_cookie(request.headers) is not None
        return HTML.part(has_cookie)

    def shows(self, request: Request) -> Response:
        cookie = sent_cookie(request.headers)
        if cookie is None:
            return self._page(request, status=403)
        code = self.owners.show_code(cookie_hash(cookie))
        return self._page(request, code=code)

    async def enters(self, request: Request) -> Response:
        typed = form_of(await request.body()).get("code", "")
        sent = sent_cookie(request.headers)
        cookie = sent or self.cookies.new()
        try:
            await asyncio.to_thread(self.owners.enter_code, cookie_hash(cookie), typed)
        except CodeError:
            return self._page(request, is_wrong=True, status=403)
        answer = RedirectResponse(f"/{SCORE}", status_code=303, headers=NO_STORE)
        if sent is None:
            https = self.https or is_https(request.scope, request.headers)
            answer.headers.append("set-cookie", cookie_header(cookie, https))
        return answer

    def returns(self) -> Response:
        """Redirects to the page with the forms, when somebody opens the address of a form."""
        return RedirectResponse("/you", status_code=303, headers=NO_STORE)

    def _page(
        self, request: Request, code: str = "", is_wrong: bool = False, status: int = 200
    ) -> Response:
        head = Head(f"{t('you.reports_elsewhere')} · {NAME}", "", is_private=True)
        has_cookie = sent_cookie(request.headers) is not None
        body = HTML.page(has_cookie, code, is_wrong)
        return self.layout.page(request, head, body, status=status, is_kept=False)


def routes(page: OwnersPage) -> APIRouter:
    router = APIRouter()
    router.add_api_route(CODE, page.shows, methods=["POST"])
    router.add_api_route(REPORTS, page.enters, methods=["POST"])
    for sent in (CODE, REPORTS):
        router.add_api_route(sent, page.returns, methods=["GET", "HEAD"])
    return router
