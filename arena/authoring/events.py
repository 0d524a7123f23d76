"""Draft events: what people, models and operators do to a draft; each kind has a record of its own."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field

from arena.authoring.spec import Licence

EventKind = Literal[
    "instruction", "caption", "answer", "failure", "blind", "verdict", "pass", "reject", "check"
]
Fault = Literal["caption", "answer", "instruction", "picture", "harm", "not told"]
"""Why an item is incorrect; VisIT-Bench's file has one without a reason."""
Judged = Literal["correct", Fault]
JUDGED: tuple[Judged, ...] = get_args(Judged)


class EventValue(BaseModel):
    """What an event says."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Credit(EventValue):
    """Where a picture comes from."""

    source: str = ""
    """Address of the page that shows it with its licence."""
    creator: str = ""
    licence: Licence | None = None
    """None: its file did not say; people must."""
    statement: str = ""
    """What else is said of its rights."""


class ItemPicture(EventValue):
    """A picture of an item: kept here, or at an address alone."""

    sha256: str = ""
    suffix: str = ""
    url: str = ""
    credit: Credit = Credit()

    @property
    def name(self) -> str:
        """Its name in the picture store; empty for one that is not kept."""
        return f"{self.sha256}.{self.suffix}" if self.sha256 else ""


class Instruction(EventValue):
    """An instruction with its pictures, or a question with its picture and options."""

    text: str
    pictures: tuple[ItemPicture, ...]
    answer: str = ""
    """What a right answer says, in the author's words; shown to nobody who captions. Of options: the right letter."""
    options: tuple[str, ...] = ()
    """Those of a multiple-choice question, A first."""
    warnings: tuple[str, ...] = ()
    """What the author was warned of."""
    columns: Mapping[str, str] = Field(default_factory=dict)
    """Of a file that the item came from: what has no place elsewhere."""


class Captions(EventValue):
    """A caption for each picture."""

    texts: tuple[str, ...]


class DraftAnswer(EventValue):
    """An answer to be verified."""

    text: str
    model: str = ""
    """Empty: a person wrote it."""
    prompt: str = ""
    """SHA-256 of the prompt file."""
    cost: int = 0
    """Millionths of a US dollar."""


class BlindAnswer(EventValue):
    """An answer of a model that had neither picture nor caption."""

    text: str
    model: str
    prompt: str
    cost: int = 0


class Failure(EventValue):
    """A model gave no answer."""

    model: str
    why: str


class Verification(EventValue):
    """What a verifier says of an answer. Who answers a question and chooses another option finds a fault in it."""

    said: Judged
    chosen: str = ""
    """The option's letter that a verifier of a question chose, without a look at the right one."""
    note: str = ""
    blind_correct: bool | None = None
    """Whether the blind answer is correct too; None without one."""


class Pass(EventValue):
    """A person leaves a draft to others."""

    reason: str = ""


class Reject(EventValue):
    """An operator, or a file, ends a draft, accepted ones too: a picture's licence was withdrawn."""

    fault: Fault
    note: str = ""


class Check(EventValue):
    """What an operator says of an accepted item of the sample that is checked."""

    said: Judged


AnyValue = (
    Instruction
    | Captions
    | DraftAnswer
    | BlindAnswer
    | Failure
    | Verification
    | Pass
    | Reject
    | Check
)
VALUES: Mapping[EventKind, type[AnyValue]] = {
    "instruction": Instruction,
    "caption": Captions,
    "answer": DraftAnswer,
    "failure": Failure,
    "blind": BlindAnswer,
    "verdict": Verification,
    "pass": Pass,
    "reject": Reject,
    "check": Check,
}
KIND_OF: Mapping[type[AnyValue], EventKind] = {kind: name for name, kind in VALUES.items()}


class DraftEvent(NamedTuple):
    """One action on a draft."""

    value: AnyValue
    seat: int | None
    voter: int | None
    """None: a model, an operator or a file."""
    began_at: datetime | None
    at: datetime
