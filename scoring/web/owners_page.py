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
SHOW_CODE = "/you/code"
"""The address of the form that shows a code."""
ENTER_CODE = "/you/reports"
"""The address of the form that takes a code."""


@dataclass(frozen=True)
class OwnersPage:
    """The part of `/you`, the page of a visitor's data, that moves reports to another browser, and its two forms.

    The code is only in a form and on a page that nobody caches, never in an address.
    """

    owners: ReportOwners
    cookies: VoterCookies
    layout: PageLayout
    https: bool
    """Whether a proxy speaks https for us."""

    def part_html(self, request: Request) -> str:
        has_cookie = sent_cookie(request.headers) is not None
        return HTML.part(has_cookie)

    def show_code(self, request: Request) -> Response:
        """Returns the page with a new code for this browser's reports."""
        cookie = sent_cookie(request.headers)
        if cookie is None:
            return self._page(request, status=403)
        code = self.owners.show_code(cookie_hash(cookie))
        return self._page(request, code=code)

    async def enter_code(self, request: Request) -> Response:
        """Lets this browser and the one that showed the code own each other's reports.

        A browser without a cookie gets one.
        """
        typed = form_of(await request.body()).get("code", "")
        old_cookie = sent_cookie(request.headers)
        cookie = old_cookie or self.cookies.new()
        try:
            await asyncio.to_thread(self.owners.enter_code, cookie_hash(cookie), typed)
        except CodeError:
            return self._page(request, is_wrong=True, status=403)
        answer = RedirectResponse(f"/{SCORE}", status_code=303, headers=NO_STORE)
        if old_cookie is None:
            https = self.https or is_https(request.scope, request.headers)
            answer.headers.append("set-cookie", cookie_header(cookie, https))
        return answer

    def return_to_forms(self) -> Response:
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
    router.add_api_route(SHOW_CODE, page.show_code, methods=["POST"])
    router.add_api_route(ENTER_CODE, page.enter_code, methods=["POST"])
    for path in (SHOW_CODE, ENTER_CODE):
        router.add_api_route(path, page.return_to_forms, methods=["GET", "HEAD"])
    return router
