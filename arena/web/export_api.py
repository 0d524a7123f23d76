"""Export API: public routes for the public export, and for a visitor's own code."""

import asyncio

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse

from arena.admin.erasure import code_of
from arena.admin.public_export import FILES, PublicFiles
from arena.database import DatabaseError
from arena.io.strict_json import RowsError
from arena.web.cookies import NO_STORE, cookie_hash, sent_cookie
from arena.web.terms import document

_YOU = """
# What is kept of you

{about}

The page /terms tells what is stored at all, and what is published.
"""
_CODE = """This browser is known here by a code:

`{code}`

To have your data deleted, send this code to the operators of this arena. They delete your images and words and whatever
tells who you are; your votes stay, without a person. Whoever has the code can ask for that: show it to nobody else.

Reports of outputs that you had scored stay under their links, and nobody is their owner any more: delete those that
shall not stay yourself, before, where you had them scored (*Score a model*)."""
_NO_CODE = "This browser has no code, and nothing is kept of you. Open the arena first if you have voted in it."


def routes(files: PublicFiles) -> APIRouter:
    router = APIRouter()

    @router.get("/export/{name}", response_model=None)
    async def export(name: str) -> Response:
        try:
            path = await files.path(name)
            found = path and await asyncio.to_thread(path.stat)
        except (DatabaseError, RowsError, OSError) as error:
            return PlainTextResponse(f"The export cannot be written now: {error}", status_code=503)
        if path is None or found is None:
            return PlainTextResponse(f"The files are {', '.join(FILES)}.", status_code=404)
        return FileResponse(
            path, media_type=FILES[name], filename=name, headers={"cache-control": "no-store"}, stat_result=found
        )

    @router.get("/you", response_model=None)
    def you(request: Request) -> Response:
        cookie = sent_cookie(request.headers)
        about = _NO_CODE if cookie is None else _CODE.format(code=code_of(cookie_hash(cookie)))
        return HTMLResponse(document(_YOU.format(about=about)), headers=NO_STORE)

    return router
