"""A worker of a campaign, who opens its pages and sends their forms as a browser does, without scripts."""

import html
import re
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit

from fastapi import FastAPI
from starlette.testclient import TestClient

from arena.web import campaign_api
from arena.web.campaign_api import CampaignPages
from arena.web.request_locale import RequestLocale

_INPUT = re.compile(r'<input type="hidden" name="([^"]*)" value="([^"]*)">')
_FACTS = {
    "kind": re.compile(r'<main data-kind="(\w+)"'),
    "phase": re.compile(r'<form class="dock"[^>]* data-phase="(\w+)"'),
    "code": re.compile(r'<output id="code">([^<]*)'),
    "title": re.compile(r"<h1>([^<]*)"),
    "problem": re.compile(r'class="problem" role="alert">([^<]*)'),
    "number": re.compile(r'<p id="number">([^<]*)'),
    "lead": re.compile(r'<h1 class="lead">([^<]*)'),
    "alert": re.compile(r'<p role="alert">([^<]*)'),
    "back": re.compile(r'<a class="primary" href="([^"]*)"'),
    "reply": re.compile(r'<form method="post" action="(http[^"]*)"'),
    "said": re.compile(r'<div id="status"[^>]*>(.*?)</div>', re.DOTALL),
}


def client_of(pages: CampaignPages) -> TestClient:
    """A client of an app that has the campaigns' routes alone."""
    app = FastAPI()
    app.add_middleware(RequestLocale)
    app.include_router(campaign_api.routes(pages))
    return TestClient(app, raise_server_exceptions=True)


class Worker:
    """One person at a client; `html` is the page that is open, `status` the code that it came with."""

    def __init__(
        self, client: TestClient, link: str, network: str = "8.8.8.8", language: str = "en"
    ) -> None:
        self.client, self.link = client, link
        self.headers = {"x-forwarded-for": network, "accept-language": language}
        self.html, self.status, self.path = "", 0, ""

    def __getattr__(self, name: str) -> str:
        """A fact of the open page; empty if the page has none."""
        if name not in _FACTS:
            raise AttributeError(name)
        found = _FACTS[name].search(self.html)
        return html.unescape(found[1]).strip() if found else ""

    @property
    def hidden(self) -> dict[str, str]:
        return {
            html.unescape(name): html.unescape(value) for name, value in _INPUT.findall(self.html)
        }

    @property
    def seat(self) -> str:
        """The address of the seat."""
        return "/".join(self.path.split("/")[:4]) if self.path.count("/") == 3 else ""

    def get(self, path: str = "") -> "Worker":
        return self._took(self.client.get(path or self.link, headers=self.headers))

    def post(self, path: str, form: Mapping[str, object] | str | bytes) -> "Worker":
        body = urlencode(form) if isinstance(form, Mapping) else form
        headers = {**self.headers, "content-type": "application/x-www-form-urlencoded"}
        return self._took(self.client.post(path, content=body, headers=headers))

    def _took(self, answer) -> "Worker":
        self.html, self.status, self.path = (
            answer.text,
            answer.status_code,
            urlsplit(str(answer.url)).path,
        )
        return self

    def enter(self) -> "Worker":
        """Open the link and consent."""
        return self.get().post(self.link, {"consent": "yes"})

    def send(self, **form: str) -> "Worker":
        """Press a button of the open page."""
        return self.post(self.path, {**self.hidden, **form})

    def choose(self, side: str) -> "Worker":
        return self.send(answer=side)

    def decide(self, side: str) -> "Worker":
        """Choose and go on."""
        return self.choose(side).send(act="finish")

    def answer(self, side: str) -> "Worker":
        """Answer a question of the qualification, and read what was right."""
        return self.choose(side).get(self.seat)
