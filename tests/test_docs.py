"""The docs: short paragraphs, links that lead somewhere, and commands that print what is printed there."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from arena.admin import seat_admin
from arena.database import Database
from arena.items.ingest import Ingest
from arena.settings import Settings
from tests.support import docs
from tests.support.commands import run
from tests.support.offline_answers import serve
from tests.support.servers import ROOT, drafts

BY_HAND = ("deploy", "fetch", "publish", "task-vectors")
"""Commands that ask the Hub or a benchmark's authors: not run here."""
LONG = {"answer mmbench", "score my-vlm.tsv"}
"""Commands on the 4,329 questions of MMBench."""


@pytest.mark.parametrize("page", docs.PAGES, ids=lambda page: page.name)
def test_a_paragraph_has_at_most_four_sentences(page):
    assert [text for text in docs.prose(page) if docs.sentences(text) > 4] == []


@pytest.mark.parametrize("page", docs.PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page):
    for name, anchor in docs.links(page):
        target = ROOT / name
        assert target.exists(), name
        assert not anchor or anchor in docs.anchors(target), f"{name}#{anchor}"


@pytest.mark.parametrize("page", docs.PAGES, ids=lambda page: page.name)
def test_tests_that_a_page_names_exist(page):
    for file, name in docs.named_tests(page):
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE), name
