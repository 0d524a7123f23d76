"""Draft events: the actions of people, models and operators on a draft; each kind has a record of its own."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field

from arena.authoring.spec import Licence

EventKind = Literal[
    "instruction", "caption", "answer", "failure", "blind", "verdict", "pass", "reject", "check"
]
Fault = Literal["caption", "answer", "instruction", "picture", "harm", "not told"]
"""The reason why an item is incorrect. "not told" is for the one item of VisIT-Bench's file without a reason."""
Judged = Literal["correct", Fault]
JUDGED: tuple[Judged, ...] = get_args(Judged)


class EventValue(BaseModel):
    """The content of an event."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Credit(EventValue):
    """The origin and rights of a picture."""

    source: str = ""
    """Address of the page that shows it with its licence."""
    creator: str = ""
    licence: Licence | None = None
    """None: its file had none; a person has to choose one."""
    statement: str = ""
    """Other words about its rights."""


class ItemPicture(EventValue):
    """A picture of an item: stored here, or only known by its address."""

    sha256: str = ""
    suffix: str = ""
    url: str = ""
    credit: Credit = Credit()

    @property
    def name(self) -> str:
        """The name in the picture store; empty for a picture that is not stored."""
        return f"{self.sha256}.{self.suffix}" if self.sha256 else ""


class Instruction(EventValue):
    """An instruction with its pictures, or a question with its picture and options."""

    text: str
    pictures: tuple[ItemPicture, ...]
    answer: str = ""
    """A right answer in the author's words, hidden from people who write captions. With options: the right letter."""
    options: tuple[str, ...] = ()
    """The options of a multiple-choice question, A first."""
    warnings: tuple[str, ...] = ()
    """Warnings that the author saw."""
    columns: Mapping[str, str] = Field(default_factory=dict)
    """Cells of the file that the item came from, for columns without another place here."""


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
    """An answer of a model without picture or caption."""

    text: str
    model: str
    prompt: str
    cost: int = 0


class Failure(EventValue):
    """The failure of a model to answer."""

    model: str
    why: str


class Verification(EventValue):
    """A verifier's verdict on an answer. Another option than the right one counts as a fault in the question."""

    said: Judged
    chosen: str = ""
    """The letter that a verifier of a question chose, without knowing the right one."""
    note: str = ""
    blind_correct: bool | None = None
    """Whether the blind answer is correct too; None if there is none."""


class Pass(EventValue):
    """A person's decision to leave a draft to others."""

    reason: str = ""


class Reject(EventValue):
    """The end of a draft, which an operator or a file gives: even of an accepted one, if a licence was withdrawn."""

    fault: Fault
    note: str = ""


class Check(EventValue):
    """An operator's judgement of an accepted item in the checked sample."""

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
KIND_OF: Mapping[type[AnyValue], EventKind] = {record: kind for kind, record in VALUES.items()}


class DraftEvent(NamedTuple):
    """An action on a draft."""

    value: AnyValue
    seat: int | None
    voter: int | None
    """Seat and voter are None for a model, an operator or a file."""
    began_at: datetime | None
    at: datetime
