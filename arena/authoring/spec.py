"""Project spec: the kinds of items and their steps, and a project's families, writers and licence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import Field

from arena.authoring.choices import MOST_OPTION, MOST_OPTIONS
from arena.authoring.known import is_known_answer
from arena.seats.seats import Seat
from arena.seats.spec import CampaignSpec, SpecPart, text_rule
from arena.validation import must_be, number, whole

Step = Literal["instruction", "caption", "answer", "verify", "accepted", "rejected"]
"""The steps of an item, then its two ends. Nobody takes two steps of one item."""
STEPS: tuple[Step, ...] = ("instruction", "caption", "answer", "verify")
"""The steps that wait for somebody, in order."""
Kind = Literal["captions", "multiple choice"]
"""captions: an instruction with a verified answer, as in VisIT-Bench. multiple choice: a question with options, one of
them right, as in MMBench and MMT-Bench."""


@dataclass(frozen=True)
class ItemKind:
    """The way that items of a kind are written."""

    task: str
    """Its name as a campaign's task."""
    steps: tuple[Step, ...]
    """Its steps, out of `STEPS`: the last one verifies, the others write."""
    model_step: Step
    """The step at which the project's model acts before people do."""
    most_pictures: int
    """The most pictures of an item."""


ITEM_KINDS: Mapping[Kind, ItemKind] = {
    "captions": ItemKind("writing", STEPS, model_step="answer", most_pictures=10),
    "multiple choice": ItemKind(
        "writing choices", ("instruction", "verify"), model_step="verify", most_pictures=1
    ),
}

Licence = Literal[
    "CC0", "PD", "CC BY", "CC BY-SA", "CC BY-NC", "CC BY-NC-SA", "CC BY-ND", "CC BY-NC-ND", "own"
]
"""A picture's licence, in any version. PD: public domain; own: the writer made the picture and publishes it under the
project's licence."""
LICENCES: tuple[Licence, ...] = get_args(Licence)
UNFREE: tuple[Licence, ...] = ("CC BY-NC", "CC BY-NC-SA", "CC BY-ND", "CC BY-NC-ND")
"""The licences that forbid commercial use or changes."""
TextLicence = Literal["CC0 1.0", "CC BY 4.0", "CC BY-SA 4.0", "CC BY-NC 4.0", "CC BY-NC-SA 4.0"]
MOST_PICTURES = ITEM_KINDS["captions"].most_pictures
LEAST_CAPTION = 15
"""The fewest words of a caption; each sign of a script without blanks, such as Chinese or Thai, is a word."""
MOST_SAMPLES = 20
KnownAnswer = Annotated[
    str,
    Field(max_length=200),
    must_be("words or a short phrase, as in 'bus|coach' if either will do", is_known_answer),
]


class FamilySpec(SpecPart):
    """A family: a kind of items, with an example for its authors."""

    name: Annotated[str, text_rule("the name of a family")]
    group: Annotated[str, Field(max_length=200)] = ""
    """The larger group that it is part of: a question's `l2-category`."""
    wanted: Annotated[int, whole(1, 10_000)] = 10
    most: Annotated[int, whole(1, 10_000)] | None = None
    """The limit on its items once every family has what it wants; None: no more than wanted."""
    hint: Annotated[str, Field(max_length=2000)] = ""
    instruction: Annotated[str, Field(max_length=5000)] = ""
    answer: Annotated[str, Field(max_length=10_000)] = ""
    others: Annotated[
        tuple[Annotated[str, text_rule("a wrong answer", MOST_OPTION)], ...],
        Field(strict=False, max_length=MOST_OPTIONS - 1),
    ] = ()
    """The wrong answers of the example, for a multiple-choice question."""
    pictures: Annotated[tuple[str, ...], Field(strict=False, max_length=MOST_PICTURES)] = ()
    """Files beside the project's file; names in the picture store once the project is made."""

    @property
    def cap(self) -> int:
        """The most items that the family may have."""
        return max(self.wanted, self.most or 0)


class SampleSpec(SpecPart):
    """A sample task of the qualification: a picture to describe for an instruction."""

    picture: Annotated[str, text_rule("the name of a picture's file", 1000)]
    """A file beside the project's file; a name in the picture store once the project is made."""
    instruction: Annotated[str, text_rule("an instruction", 2000)]
    known: Annotated[tuple[KnownAnswer, ...], Field(strict=False, max_length=20)] = ()
    """Answers that a good caption names; empty: an operator reads the captions."""
    least: Annotated[int, whole(1, 500)] = LEAST_CAPTION
    """The fewest words of a caption."""


class ProjectSpec(CampaignSpec):
    """A campaign in which people write items; each step counts as one vote of the seat."""

    kind: Kind = "captions"
    instructions: Annotated[str, text_rule("the text that workers read", 5000)] = (
        "Follow the instructions on each page."
    )
    families: Annotated[tuple[FamilySpec, ...], Field(strict=False, min_length=1, max_length=200)]
    licence: TextLicence = "CC BY 4.0"
    """The licence of texts that people write and of pictures that they made."""
    free_pictures: Annotated[bool, must_be("true or false")] = True
    """Whether pictures that forbid changes or commerce are refused."""
    model: str = ""
    """The catalogue's model that drafts answers; empty: people write them."""
    blind_model: str = ""
    """The catalogue's model that answers without picture and caption. Its right answers show the items that can be
    answered without them."""
    budget: Annotated[float, number(0, 10_000)] = 5.0
    """The most US dollars that drafts may cost."""
    visibility: Literal["open", "sealed"] = "open"
    """sealed: captions, references and keys leave only in an operator's export and the private backup. Once a project
    has ended, the site's judge reads captions and references to score uploaded answers."""
    verifiers: Literal[1, 3] = 1
    samples: Annotated[tuple[SampleSpec, ...], Field(strict=False, max_length=MOST_SAMPLES)] = ()

    @property
    def is_held_out(self) -> bool:
        """Whether its captions and references stay secret. Once it has ended, the site's judge scores by them."""
        return self.kind == "captions" and self.visibility == "sealed"

    @property
    def item_kind(self) -> ItemKind:
        return ITEM_KINDS[self.kind]

    @property
    def is_choice(self) -> bool:
        return self.kind == "multiple choice"

    @property
    def first_model(self) -> str:
        """The model that people wait for; empty: none."""
        return self.blind_model if self.is_choice else self.model

    @property
    def people(self) -> int:
        """The fewest people that an item takes."""
        if self.is_choice:
            return 1 + self.verifiers
        # One for the instruction, one for the captions and, without a model, one for the answer.
        writers = 2 if self.model else 3
        return writers + self.verifiers

    @property
    def sample_count(self) -> int:
        return len(self.samples)

    @property
    def is_read_first(self) -> bool:
        """Whether an operator reads captions before people may start, since a sample has no known answers."""
        return any(not sample.known for sample in self.samples)

    @property
    def named_samples(self) -> Mapping[str, SampleSpec]:
        """The sample tasks by their names in stored answers."""
        return {f"sample {number}": sample for number, sample in enumerate(self.samples, 1)}

    @property
    def by_name(self) -> Mapping[str, FamilySpec]:
        return {family.name: family for family in self.families}

    def mistake(self) -> str:
        names = [family.name for family in self.families]
        for name in names:
            if names.count(name) > 1:
                return f"Two families are named {name!r}. Rename one."
        mistake = self._choice_mistake() if self.is_choice else self._caption_mistake()
        return mistake or super().mistake()

    def _choice_mistake(self) -> str:
        if self.model:
            return (
                "model is only for projects with captions, and multiple-choice questions have none. Name the text-only "
                "model as blind_model."
            )
        if self.samples:
            return "[[samples]] ask for captions, and multiple-choice questions have none. Use qualify.items."
        return ""

    def _caption_mistake(self) -> str:
        for family in self.families:
            if family.others:
                return (
                    f"Family {family.name!r} has wrong answers (others). Delete them, or set "
                    'kind = "multiple choice".'
                )
        if self.blind_model and not self.model:
            return f"blind_model is {self.blind_model!r}, but model is empty. Set both, since they answer together."
        if self.samples and not (self.qualify and self.qualify.samples):
            return "The file has [[samples]], but nobody is asked any. Set qualify.samples."
        return ""


KINDS: Mapping[str, type[CampaignSpec]] = {kind.task: ProjectSpec for kind in ITEM_KINDS.values()}
"""The kinds of campaigns in which people write items: their specs, by task."""


def project_of(spec: CampaignSpec) -> ProjectSpec:
    assert isinstance(spec, ProjectSpec)
    return spec


def project_of_seat(seat: Seat) -> ProjectSpec:
    return project_of(seat.campaign.spec)
