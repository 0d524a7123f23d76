"""Export API: public routes for the public export, and for a visitor's own code."""

import asyncio
from collections.abc import Callable

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, PlainTextResponse

from arena.admin.erasure import code_of
from arena.admin.public_export import FILES, PublicFiles
from arena.database import DatabaseError
from arena.io.strict_json import RowsError
from arena.locale import t
from arena.templates import macros
from arena.web.addresses import NAME
from arena.web.cookies import cookie_hash, sent_cookie
from arena.web.heads import Head
from arena.web.layout import PageLayout

HTML = macros("page.html")


def routes(
    files: PublicFiles, layout: PageLayout, more: Callable[[Request], str] = lambda request: ""
) -> APIRouter:
    """Returns the routes. `more` returns further parts of a visitor's page, as HTML."""
    router = APIRouter()

    @router.get("/export/{name}", response_model=None)
    async def export(name: str) -> Response:
        try:
            path = await files.path(name)
            file_stat = await asyncio.to_thread(path.stat) if path else None
        except (DatabaseError, RowsError, OSError) as error:
            return PlainTextResponse(f"The export can't be written now: {error}", status_code=503)
        if path is None or file_stat is None:
            return PlainTextResponse(f"The files are {', '.join(FILES)}.", status_code=404)
        headers = {"cache-control": "no-store"}
        return FileResponse(
            path, media_type=FILES[name], filename=name, headers=headers, stat_result=file_stat
        )

    @router.api_route("/you", methods=["GET", "HEAD"], response_model=None)
    def you(request: Request) -> Response:
        cookie = sent_cookie(request.headers)
        about = (
            t("you.none") if cookie is None else t("you.code", code=code_of(cookie_hash(cookie)))
        )
        head = Head(f"{t('pages.you')} · {NAME}", "", is_private=True)
        body = HTML.text(t("pages.you"), about, ("/terms", t("pages.terms_link"))) + more(request)
        return layout.page(request, head, body, is_kept=False)

    return router
