"""Project spec: the families of items that are wanted, who may write them, and under which licence."""

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import Field

from arena.authoring.choices import MOST_OPTION, MOST_OPTIONS
from arena.authoring.kinds import ITEM_KINDS, ItemKind, Kind
from arena.authoring.known import is_known
from arena.seats.seats import Seat
from arena.seats.spec import CampaignSpec, SpecPart, worded
from arena.validation import must_be, number, whole

Licence = Literal[
    "CC0", "PD", "CC BY", "CC BY-SA", "CC BY-NC", "CC BY-NC-SA", "CC BY-ND", "CC BY-NC-ND", "own"
]
"""Of a picture, in whatever version its source says. PD: public domain; own: who brings it made it, and gives it under
the project's licence."""
LICENCES: tuple[Licence, ...] = get_args(Licence)
UNFREE: tuple[Licence, ...] = ("CC BY-NC", "CC BY-NC-SA", "CC BY-ND", "CC BY-NC-ND")
TextLicence = Literal["CC0 1.0", "CC BY 4.0", "CC BY-SA 4.0", "CC BY-NC 4.0", "CC BY-NC-SA 4.0"]
MOST_PICTURES = ITEM_KINDS["captions"].most_pictures
LEAST_CAPTION = 15
"""Words of a caption; a sign of a script that is written without blanks, as Chinese or Thai, is one."""
MOST_SAMPLES = 20
Known = Annotated[
    str,
    Field(max_length=200),
    must_be("words or a short phrase, as in 'bus|coach' where either will do", is_known),
]


class FamilySpec(SpecPart):
    """A kind of items, and the example that its authors see."""

    name: Annotated[str, worded("the name of a family")]
    group: Annotated[str, Field(max_length=200)] = ""
    """What it is a part of: a question's `l2-category`."""
    wanted: Annotated[int, whole(1, 10_000)] = 10
    most: Annotated[int, whole(1, 10_000)] | None = None
    """Of its items, once every family has what it wants; None: no more than wanted."""
    hint: Annotated[str, Field(max_length=2000)] = ""
    instruction: Annotated[str, Field(max_length=5000)] = ""
    answer: Annotated[str, Field(max_length=10_000)] = ""
    others: Annotated[
        tuple[Annotated[str, worded("a wrong answer", MOST_OPTION)], ...],
        Field(strict=False, max_length=MOST_OPTIONS - 1),
    ] = ()
    """Of a multiple-choice question: the wrong answers of the example."""
    pictures: Annotated[tuple[str, ...], Field(strict=False, max_length=MOST_PICTURES)] = ()
    """Files beside the project's; once it is made, names of kept pictures."""

    @property
    def cap(self) -> int:
        return max(self.wanted, self.most or 0)


class SampleSpec(SpecPart):
    """A sample task of the qualification: a picture to be described for an instruction."""

    picture: Annotated[str, worded("the name of a picture's file", 1000)]
    """A file beside the project's; once it is made, the name of a kept picture."""
    instruction: Annotated[str, worded("an instruction", 2000)]
    known: Annotated[tuple[Known, ...], Field(strict=False, max_length=20)] = ()
    """What a good caption names; nothing: an operator reads the captions."""
    least: Annotated[int, whole(1, 500)] = LEAST_CAPTION
    """Words of a caption."""


class ProjectSpec(CampaignSpec):
    """A campaign in which people write items; a seat's votes are its steps."""

    kind: Kind = "captions"
    instructions: Annotated[str, worded("what a worker is told", 5000)] = (
        "Do each step as its page says."
    )
    families: Annotated[tuple[FamilySpec, ...], Field(strict=False, min_length=1, max_length=200)]
    licence: TextLicence = "CC BY 4.0"
    """Of the texts that people write, and of the pictures that they made."""
    free_pictures: Annotated[bool, must_be("true or false")] = True
    """Whether pictures that forbid changes or commerce are refused."""
    model: str = ""
    """The catalogue's model that drafts answers; empty: people write them."""
    blind_model: str = ""
    """The catalogue's model that answers without picture and caption, so that it is known which items need them."""
    budget: Annotated[float, Field(strict=False), number(0, 10_000)] = 5.0
    """Most US dollars that drafts cost."""
    visibility: Literal["open", "sealed"] = "open"
    """sealed: captions, references and keys leave by an operator's export alone, and in the private backup. Once a
    project has ended, the site's judge reads captions and references beside answers that are brought to be scored."""
    verifiers: Literal[1, 3] = 1
    samples: Annotated[tuple[SampleSpec, ...], Field(strict=False, max_length=MOST_SAMPLES)] = ()

    @property
    def is_held_out(self) -> bool:
        """Whether its captions and references judge answers once it has ended, read by the site's judge alone."""
        return self.kind == "captions" and self.visibility == "sealed"

    @property
    def item_kind(self) -> ItemKind:
        return ITEM_KINDS[self.kind]

    @property
    def is_choice(self) -> bool:
        return self.kind == "multiple choice"

    @property
    def first_model(self) -> str:
        """The model for whose answer people wait; empty: they wait for none."""
        return self.blind_model if self.is_choice else self.model

    @property
    def people(self) -> int:
        """How many people an item takes at least."""
        if self.is_choice:
            return 1 + self.verifiers
        return 2 + self.verifiers + (not self.model)

    @property
    def sample_count(self) -> int:
        return len(self.samples)

    @property
    def is_read_first(self) -> bool:
        return any(not sample.known for sample in self.samples)

    @property
    def named_samples(self) -> Mapping[str, SampleSpec]:
        """The sample tasks by what stored answers call them."""
        return {f"sample {number}": one for number, one in enumerate(self.samples, 1)}

    @property
    def by_name(self) -> Mapping[str, FamilySpec]:
        return {family.name: family for family in self.families}

    def mistake(self) -> str:
        names = [family.name for family in self.families]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            return f"two families are named {twice!r}; give one another name"
        if told := self._mistake_of_choice() if self.is_choice else self._mistake_of_captions():
            return told
        return super().mistake()

    def _mistake_of_choice(self) -> str:
        if self.model:
            return (
                "model drafts answers to captions, and a multiple-choice question has none; name the text-only model "
                "as blind_model"
            )
        if self.samples:
            return "[[samples]] are captions to be written; multiple-choice questions have qualify.items"
        return ""

    def _mistake_of_captions(self) -> str:
        if name := next((family.name for family in self.families if family.others), ""):
            return f'family {name!r} has wrong answers, others, which only a project of kind = "multiple choice" shows'
        if self.blind_model and not self.model:
            return f"blind_model is {self.blind_model!r}, and model is empty: name one, since both answer together"
        if self.samples and not (self.qualify and self.qualify.samples):
            return "there are [[samples]], and nobody is asked any: set qualify.samples"
        return ""


KINDS: Mapping[str, type[CampaignSpec]] = {kind.task: ProjectSpec for kind in ITEM_KINDS.values()}


def project_of(spec: CampaignSpec) -> ProjectSpec:
    assert isinstance(spec, ProjectSpec)
    return spec


def project_of_seat(seat: Seat) -> ProjectSpec:
    return project_of(seat.campaign.spec)
