"""Terms shown before the first vote; each vote records the version it was given under."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from fastapi import APIRouter, Request, Response

from arena.locale import current_locale, t
from arena.templates import macros
from arena.web.addresses import NAME
from arena.web.heads import Head
from arena.web.layout import PageLayout

HTML = macros("page.html")
_FILES = {"en": "terms.md", "zh": "terms.zh.md"}


class Text(NamedTuple):
    """The terms in one language."""

    title: str
    body: str
    """Markdown."""


class Terms(NamedTuple):
    """The version of `terms.md`, which is the beginning of its sha256, and the terms by language."""

    version: str
    texts: Mapping[str, Text]

    @classmethod
    def read(cls) -> "Terms":
        here = Path(__file__).parent
        contents = {language: (here / name).read_text("utf-8") for language, name in _FILES.items()}
        digest = hashlib.sha256(contents["en"].encode()).hexdigest()
        texts = {language: _text(content) for language, content in contents.items()}
        return cls(digest[:12], texts)


def _text(content: str) -> Text:
    title, _, body = content.strip().partition("\n")
    return Text(title.removeprefix("# "), body)


def routes(terms: Terms, layout: PageLayout) -> APIRouter:
    router = APIRouter()

    @router.api_route("/terms", methods=["GET", "HEAD"])
    def page(request: Request) -> Response:
        text = terms.texts[current_locale().language]
        head = Head(f"{text.title} · {NAME}", t("heads.terms"))
        return layout.page(request, head, HTML.text(text.title, text.body))

    return router
