"""Projects: made by an operator out of a TOML file and the pictures that it names; drafts that he takes out."""

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
"""The bytes of a file that a project names; may raise OSError."""


class Projects:
    """The projects among the campaigns of one database, which know `spec.KINDS`."""

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
        """Make a project as a TOML file, or values, have it, and keep the pictures of its examples and samples.

        Raises CampaignError, and OSError where the disk takes no picture.
        """
        spec = read_spec(ProjectSpec, content)
        for model in filter(None, (spec.model, spec.blind_model)):
            try:
                self._catalogue.card(model)
            except CatalogueError as error:
                raise CampaignError(str(error)) from None
        families = tuple(
            family.model_copy(
                update={
                    "pictures": tuple(
                        self._kept("families.pictures", name, read) for name in family.pictures
                    )
                }
            )
            for family in spec.families
        )
        samples = tuple(
            sample.model_copy(
                update={"picture": self._kept("samples.picture", sample.picture, read)}
            )
            for sample in spec.samples
        )
        kept = spec.model_copy(update={"families": families, "samples": samples})
        return self.campaigns.create(kept.item_kind.task, kept, note)

    def _kept(self, key: str, name: str, read: ReadFile) -> str:
        try:
            picture = read_picture(read(name))
        except (OSError, ValueError) as error:  # a PictureError, or a name with NUL
            raise CampaignError(f"{key} names {name[:200]!r}: {error}") from error
        self._pictures.keep(picture)
        return f"{picture.sha256}.{picture.suffix}"

    def reject(
        self, campaign: Campaign, draft: int, fault: Fault, why: str, note: Note | None = None
    ) -> None:
        """Take a draft out, an accepted one too, as when a picture's licence was withdrawn; what it has stays stored.

        Its item in the bank is hidden by moderation; the votes stay. Raises DraftError.
        """
        found = self.drafts.find(campaign, draft)
        if found is None or found.state.step == "rejected":
            raise DraftError(
                "There is no item {} in {} that can be taken out.", draft, campaign.name
            )
        self.drafts.append(draft, Reject(fault=fault, note=why[:500]), note)

    def check(self, campaign: Campaign, draft: int, said: Judged, note: Note | None = None) -> None:
        """Store what an operator says of a question of the sample; a fault ends it. Raises DraftError."""
        due = due_checks(self.drafts.drafts(campaign), campaign)
        if draft not in [question.id for question in due]:
            raise DraftError(
                "There is no question {} in {} that waits to be checked.", draft, campaign.name
            )
        self.drafts.append(draft, Check(said=said), note)
