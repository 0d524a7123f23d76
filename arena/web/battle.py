"""Battle: the component of a page in which battles happen, and the routes of what voters do in them."""

import gradio as gr
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from arena.battles.quotas import Networks
from arena.battles.voters import Voters
from arena.templates import macros
from arena.web.cookies import NO_STORE
from arena.web.scenes import ACTS, Actor, BattleScenes
from arena.web.visitor_api import ErrorRoute, JsonBody, sent_voter

FIELDS = ("battle", "value", "family", "item", "shown")
MOST_SENT = 500
"""Most characters of a text that a page sends with an act."""


def battle_place() -> gr.HTML:
    """Returns the place of the battle: its frame is in the document already, and `scene.js` moves it here."""
    return gr.HTML(
        "",
        html_template=macros("scene.html").place(),
        js_on_load="adopt(element)",
        apply_default_css=False,
    )


def routes(scenes: BattleScenes, voters: Voters, networks: Networks) -> APIRouter:
    router = APIRouter(route_class=ErrorRoute)

    @router.post("/battle/{act}")
    async def answer_act(request: Request, act: str) -> Response:
        if act not in ACTS:
            return PlainTextResponse("There is no such act.", status_code=404)
        body = await JsonBody.read(request)
        sent = {name: body.text(name, MOST_SENT) for name in FIELDS}

        def actor() -> Actor:
            voter = sent_voter(voters.voter, request.headers)
            return Actor(voter, networks.of(request))

        return JSONResponse(await scenes.act(act, sent, actor), headers=NO_STORE)

    return router
