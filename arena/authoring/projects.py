"""Projects: operators make them from a TOML file and its pictures, and take drafts out of them."""

from collections.abc import Callable, Mapping
from typing import Any

from arena.authoring.board import due_checks
from arena.authoring.checks import DraftError
from arena.authoring.events import Check, Fault, Judged, Reject
from arena.authoring.spec import ProjectSpec
from arena.authoring.store import DraftStore
from arena.inference.catalogue import Catalogue, CatalogueError
from arena.io.images import PictureStore, read_picture
from arena.seats.campaigns import Campaign, CampaignStore, Note
from arena.seats.spec import CampaignError, read_spec

ReadFile = Callable[[str], bytes]
"""Returns the bytes of a file that a project names; may raise OSError."""


class Projects:
    """The projects among the campaigns of one database; `campaigns` must know the kinds of `authoring.spec.KINDS`."""

    def __init__(
        self,
        campaigns: CampaignStore,
        drafts: DraftStore,
        pictures: PictureStore,
        catalogue: Catalogue,
    ) -> None:
        self.campaigns = campaigns
        self.drafts = drafts
        self._pictures = pictures
        self._catalogue = catalogue

    def make(
        self, content: bytes | Mapping[str, Any], read: ReadFile, note: Note | None = None
    ) -> Campaign:
        """Makes a project from a TOML file or its values, and stores the pictures of its examples and samples.

        Raises CampaignError, and OSError if a picture cannot be written.
        """
        spec = read_spec(ProjectSpec, content)
        for model in filter(None, (spec.model, spec.blind_model)):
            try:
                self._catalogue.card(model)
            except CatalogueError as error:
                raise CampaignError(str(error)) from None
        families = []
        for family in spec.families:
            names = [
                self._keep_picture("families.pictures", name, read) for name in family.pictures
            ]
            families.append(family.model_copy(update={"pictures": tuple(names)}))
        samples = []
        for sample in spec.samples:
            name = self._keep_picture("samples.picture", sample.picture, read)
            samples.append(sample.model_copy(update={"picture": name}))
        stored = spec.model_copy(update={"families": tuple(families), "samples": tuple(samples)})
        return self.campaigns.create(stored.item_kind.task, stored, note)

    def _keep_picture(self, key: str, name: str, read: ReadFile) -> str:
        """Stores a picture; returns its name in the picture store. Raises CampaignError, which names `key`."""
        try:
            picture = read_picture(read(name))
        except (OSError, ValueError) as error:  # a PictureError, or a name with NUL
            raise CampaignError(f"{key} names {name[:200]!r}: {error}") from error
        self._pictures.keep(picture)
        return f"{picture.sha256}.{picture.suffix}"

    def reject(
        self, campaign: Campaign, draft: int, fault: Fault, why: str, note: Note | None = None
    ) -> None:
        """Takes a draft out, even an accepted one, as when a picture's licence was withdrawn. Raises DraftError.

        Its texts and votes stay stored. Its item in the bank has to be hidden by moderation.
        """
        stored = self.drafts.find(campaign, draft)
        if stored is None or stored.state.step == "rejected":
            raise DraftError(
                "There is no item {} in {} that can be removed. Check its number.",
                draft,
                campaign.name,
            )
        self.drafts.append(draft, Reject(fault=fault, note=why[:500]), note)

    def check(
        self, campaign: Campaign, draft: int, judgement: Judged, note: Note | None = None
    ) -> None:
        """Stores an operator's judgement of a question in the checked sample; a fault ends it. Raises DraftError."""
        due = due_checks(self.drafts.drafts(campaign), campaign)
        if draft not in [question.id for question in due]:
            raise DraftError(
                "There is no question {} in {} to check. Someone may have checked it already.",
                draft,
                campaign.name,
            )
        self.drafts.append(draft, Check(said=judgement), note)
