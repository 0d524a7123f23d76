"""A sealed project that has ended, with items that came finished, and files of answers to them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.authoring.events import Captions, DraftAnswer, Instruction, ItemPicture, Verification
from arena.authoring.spec import ITEM_KINDS, KINDS, ProjectSpec
from arena.authoring.store import DraftStore, FinishedDraft
from arena.database import Database
from arena.seats.campaigns import Campaign, CampaignStore
from arena.seats.spec import read_spec
from arena.types import item_key
from tests.support.openai_server import Body, prompt


@dataclass(frozen=True)
class Sealed:
    """The project, the keys of its items, and the texts that nobody but the judge may read."""

    campaign: Campaign
    keys: tuple[str, ...]
    texts: tuple[str, ...]

    def answers(self, path: Path, text: str = "A cat, number {}.") -> Path:
        """Write a file of answers to every item, with their numbers in them."""
        rows = [
            {"item": key, "my-model prediction": text.format(number)}
            for number, key in enumerate(self.keys)
        ]
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        return path

    def told_by(self, text: str) -> list[str]:
        """The sealed texts, or the words by which one knows them, that a text holds."""
        return [word for sealed in self.texts for word in sealed.split() if word in text]


def sealed_project(
    database: Database,
    families: Sequence[str] = ("Counting",) * 25 + ("Color",) * 22,
    visibility: str = "sealed",
    ended: bool = True,
) -> Sealed:
    """Make a project with an item for each of these families; each word of a sealed text is of one item alone."""
    campaigns = CampaignStore(database, KINDS)
    values = {
        "name": "held-out",
        "seat": {"votes": 1, "pay": 0},
        "visibility": visibility,
        "families": [{"name": family} for family in dict.fromkeys(families)],
    }
    campaign = campaigns.create(ITEM_KINDS["captions"].task, read_spec(ProjectSpec, values))
    drafts = []
    texts = []
    for number, family in enumerate(families):
        instruction = f"What is in picture {number}?"
        url = f"https://example.org/{number}.png"
        caption = f"captionqx{number:03} captionqy{number:03}"
        reference = " ".join([f"referenceqx{number:03} referenceqy{number:03}"] * (1 + number % 3))
        done = (
            Instruction(text=instruction, pictures=(ItemPicture(url=url),)),
            Captions(texts=(caption,)),
            DraftAnswer(text=reference),
            Verification(said="correct"),
        )
        drafts.append(FinishedDraft(item_key(instruction, [url]), family, done))
        texts += [caption, reference]
    DraftStore(database).add_finished(campaign, drafts)
    if ended:
        campaigns.end(campaign, "enough")
    keys = tuple(key for key, _, _ in drafts)
    return Sealed(campaigns.get(campaign.name), keys, tuple(texts))


def quotes(body: Body, sample: int) -> str:
    """Repeat all that was sent, and then say which response is better: that of the model for even items."""
    asked = prompt(body)
    own = asked.rpartition("A cat, number ")
    number = int("".join(filter(str.isdigit, own[2][:4])) or 0)
    is_first = asked.find("A cat, number ") < asked.find("referenceqx")
    better = "A" if is_first == (number % 2 == 0) else "B"
    return f"{asked}\nOverall, Response {better} is better."
