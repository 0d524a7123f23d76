"""A project in which people write items, and people who do every step as they are told."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from arena.admin.projects import ProjectAdmin, project_admin
from arena.authoring.drafting import Drafting
from arena.authoring.events import Credit
from arena.authoring.projects import Projects
from arena.authoring.spec import KINDS
from arena.authoring.store import Draft, DraftStore
from arena.authoring.work import OfferedPicture, OpenStep, Writing
from arena.budget import Budget, Ceilings
from arena.database import Database
from arena.inference.catalogue import Catalogue, Models, read_catalogue
from arena.io.images import PictureStore
from arena.items.store import ItemBank
from arena.seats.campaigns import Campaign, CampaignStore
from arena.seats.links import Arrival
from arena.seats.seats import Seat, SeatStore
from arena.settings import Settings, secret
from arena.types import VLM, ModelCard

FREE = Credit(source="https://example.org/photo", creator="Ada", licence="CC BY")
CAPTION = (
    "A brown dog stands on green grass beside a red ball, and behind it a low white fence runs {}"
)
ANSWERS = ("One ball", "Two balls", "Three balls", "No ball")
"""Of each multiple-choice question, the right one first."""
SPEC = {
    "name": "pets",
    "seat": {"votes": 50, "pay": 3},
    "families": [{"name": "animals", "wanted": 20}],
}


def photo(seed: int, gps: bool = False) -> bytes:
    """A picture unlike that of another seed, as a JPEG."""
    image = Image.new("RGB", (90, 80))
    draw = ImageDraw.Draw(image)
    for place in range(72):
        shade = (seed * 2654435761 >> place % 31) * (place + 7) % 256
        draw.rectangle(
            (place % 9 * 10, place // 9 * 10, place % 9 * 10 + 9, place // 9 * 10 + 9), (shade,) * 3
        )
    exif = Image.Exif()
    if gps:
        exif.get_ifd(0x8825)[1] = "N"
        exif.get_ifd(0x8825)[2] = (48.0, 8.0, 13.0)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=95, exif=exif.tobytes() if gps else b"")
    return out.getvalue()


def projects_of(settings: Settings, database: Database) -> ProjectAdmin:
    """The operators' side of a server's projects, with the models that its settings name."""
    models = Models(read_catalogue(settings.models, secret), settings.local_models)
    items = ItemBank(database, settings.image_hosts)
    pictures = PictureStore(settings.pictures_dir)
    return project_admin(settings, database, items, pictures, models)


@dataclass
class Project:
    """A project on a database; `say`: what each person says of an answer, "correct" if not told."""

    database: Database
    folder: Path
    campaign: Campaign
    writing: Writing
    projects: Projects
    seats: SeatStore

    @classmethod
    def on(cls, database: Database, folder: Path, **changes: Any) -> "Project":
        store, pictures = DraftStore(database), PictureStore(folder / "pictures")
        cards = tuple(ModelCard(name, "api", name) for name in ("writer", "blind"))
        projects = Projects(CampaignStore(database, KINDS), store, pictures, Catalogue(cards))
        campaign = projects.make({**SPEC, **changes}, lambda name: (folder / name).read_bytes())
        return cls(
            database, folder, campaign, Writing(store, pictures), projects, SeatStore(database)
        )

    @property
    def store(self) -> DraftStore:
        return self.writing.store

    @property
    def drafts(self) -> list[Draft]:
        return self.store.drafts(self.campaign)

    def seat(self, person: str) -> Seat:
        return self.seats.enter(self.campaign, Arrival(person), None)

    def drafting(self, *models: VLM, dollars: float = 5.0) -> Drafting:
        limits = Ceilings(*(round(dollars * 1e6),) * 3)
        named = {one.card.name: one for one in models}
        return Drafting(self.store, named.__getitem__, Budget(self.database, limits))

    def offer(self, seat: Seat, token: str, seed: int, credit: Credit = FREE) -> OfferedPicture:
        return OfferedPicture(self.writing.upload_picture(seat, token, photo(seed)).sha256, credit)

    def do(self, seat: Seat, said: str | Callable[[OpenStep], str] = "correct") -> str:
        """Do the seat's next step; return its name, empty where there is none."""
        step = self.writing.next(seat)
        if step is None:
            return ""
        token, draft = step.claim.token, step.draft
        if step.claim.step == "instruction":
            offered = [self.offer(seat, token, draft.id)]
            text = f"How many balls lie near animal number {draft.id}?"
            right, *wrong = ANSWERS if self.campaign.spec.is_choice else [""]
            written = self.writing.check_instruction(seat, token, text, offered, right, wrong)
            self.writing.write(seat, token, written)
        elif step.claim.step == "caption":
            self.writing.caption(seat, token, [CAPTION.format(draft.id)])
        elif step.claim.step == "answer":
            self.writing.answer(seat, token, f"There is one ball in item {draft.id}.")
        else:
            verdict = said if isinstance(said, str) else said(step)
            if draft.state.instruction.options and verdict == "correct":
                verdict = draft.state.instruction.answer
            self.writing.verify(seat, token, verdict)
        return step.claim.step
