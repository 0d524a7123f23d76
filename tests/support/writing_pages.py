"""People who write items through the pages of a project, without scripts: what they see, and what they send."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI
from starlette.testclient import TestClient

from arena.authoring.spec import ITEM_KINDS, KINDS
from arena.battles.quotas import Networks
from arena.battles.voters import Voters
from arena.database import Database
from arena.io.images import PictureStore
from arena.io.scaled_pictures import ScaledPictures
from arena.seats.campaigns import CampaignStore
from arena.seats.links import Arrival
from arena.seats.qualification import Qualification
from arena.seats.seats import SeatStore
from arena.web import campaign_api, pictures, writing_task
from arena.web.battle_task import BattleTask
from arena.web.campaign_api import CampaignPages
from arena.web.request_locale import RequestLocale
from tests.support.campaign_worker import Worker
from tests.support.writers import CAPTION, FREE, Project, photo

_ACTION = re.compile(r'action="(/c/~form\?[^"]*)"')
_STEP = re.compile(r'data-step="(\w+)"')
FREE_FIELDS = {"source": FREE.source, "creator": FREE.creator, "licence": "CC BY"}


def credited(number: int, **changes: str) -> dict[str, str]:
    """The fields of a picture that is used."""
    fields = {f"{name}-{number}": value for name, value in {**FREE_FIELDS, **changes}.items()}
    return {f"use-{number}": "yes", **fields}


@dataclass
class WritingPages:
    """A project and its pages; `answerable` has the drafts that a model was to answer."""

    project: Project
    client: TestClient
    answerable: list[int]

    @classmethod
    def on(cls, database: Database, folder: Path, **changes: Any) -> "WritingPages":
        project = Project.on(database, folder, **changes)
        answerable: list[int] = []
        store = PictureStore(folder / "pictures")
        scaled = ScaledPictures(store, folder / "scaled")
        tasks = {
            item_kind.task: writing_task.WritingTask(
                kind=kind,
                writing=project.writing,
                scaled=scaled,
                battles=cast(BattleTask, None),
                on_answerable=lambda _, draft: answerable.append(draft),
            )
            for kind, item_kind in ITEM_KINDS.items()
        }
        stores = (CampaignStore(database, KINDS), SeatStore(database), Qualification(database))
        pages = CampaignPages(*stores, tasks, Voters(database), Networks(1), ())
        app = FastAPI()
        app.add_middleware(RequestLocale)
        app.include_router(writing_task.form_routes(pages, project.writing))
        app.include_router(campaign_api.routes(pages))
        app.include_router(pictures.routes(store, scaled, tuple))
        return cls(project, TestClient(app), answerable)

    def writer(self, person: str, language: str = "en") -> "Writer":
        """Somebody on the page of his seat."""
        seat = self.project.seats.enter(self.project.campaign, Arrival(person), None)
        writer = Writer(self.client, f"/c/{seat.campaign.name}/{seat.token}", language=language)
        writer.get()
        return writer


class Writer(Worker):
    """A worker who sends the long forms."""

    @property
    def step(self) -> str:
        """What the open page asks for; empty for no work."""
        found = _STEP.search(self.html)
        return found[1] if found else ""

    def write(self, *files: tuple[str, bytes], **fields: str) -> "Writer":
        """Send the page's form as a browser does; fields whose names have hyphens come with `fields_of`."""
        return self.fill(fields, *files)

    def fill(self, fields: Mapping[str, str], *files: tuple[str, bytes]) -> "Writer":
        action = _ACTION.search(self.html)
        assert action, self.html[:500]
        parts = [("files", one) for one in files or [("", b"")]]
        data = {**self.hidden, **fields}
        address = html.unescape(action[1])
        return self._took(self.client.post(address, data=data, files=parts, headers=self.headers))

    def do(self, seed: int = 1, said: str = "correct") -> str:
        """Do the step that the page asks for; return its name."""
        step = self.step
        if step == "instruction":
            self.write(("photo.jpg", photo(seed)), act="bring")
            text = f"How many balls lie near animal number {seed}?"
            self.fill(
                {"text": text, "answer": f"SECRET answer {seed}", **credited(1), "act": "send"}
            )
        elif step == "caption":
            self.fill({"caption-1": CAPTION.format(f"SECRET caption {seed}"), "act": "send"})
        elif step == "answer":
            self.write(text="There is one ball.", act="send")
        elif step:
            self.write(said=said)
        return step
