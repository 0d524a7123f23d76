"""Task: what a person does in a seat, whatever it is: a seat draws pieces, shows them, takes answers.

Errors are `VoterError`s, which the worker reads. `words` is the language of the page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from arena.seats.campaigns import Campaign
from arena.seats.seats import Seat

Words = Mapping[str, str]


@dataclass(frozen=True)
class Piece:
    """A piece of work as a worker sees it."""

    token: str
    """What the page sends back with the answer; the task checks whose it is."""
    html: str
    name: str
    """What stays of the token when an answer is taken back."""
    phase: Literal["open", "voted"]
    said: str = ""
    answer: str = ""
    undo_seconds: int = 0


class SeatProgress(NamedTuple):
    """What a seat has given: votes, or other pieces of work, and checks apart."""

    votes: int = 0
    checks: int = 0
    failed_checks: int = 0
    skipped: int = 0
    last: datetime | None = None
    """Time of the last answer."""


class ExamAnswer(NamedTuple):
    """What a worker answered to a question of the qualification."""

    text: str
    is_right: bool | None
    """None: an operator has to read it."""


class ExamQuestion(Protocol):
    """A question of the qualification, as a page shows it."""

    @property
    def name(self) -> str: ...

    @property
    def html(self) -> str:
        """What is asked, above the form."""
        ...

    def read(self, form: Mapping[str, str]) -> ExamAnswer:
        """The answer that a form gives. Raises VoterError for none."""
        ...

    def dock(
        self, action: str, number: str, said: str, problem: str, words: Words, typed: Words
    ) -> str:
        """The form, which sends `number` along; `said` stands above it."""
        ...

    def told(self, action: str, answer: ExamAnswer, words: Words) -> str:
        """What a worker reads about an answer that is right or wrong, and the way on."""
        ...


class SeatTask(Protocol):
    """What every task does for a seat; by itself it has no words, checks and practice of its own."""

    @property
    def words(self) -> Mapping[str, Words]:
        """What the pages of this task say otherwise, by language."""
        return {}

    def progress(self, seat: Seat) -> SeatProgress: ...

    def checks_wanted(self, seat: Seat) -> int:
        return 0

    def whole_seconds(self, campaign: Campaign) -> float | None:
        """How long a seat usually takes for all its pieces and checks; None where nothing is known."""
        return None

    def piece(self, seat: Seat, network: str | None, words: Words) -> Piece | None:
        """The seat's unfinished piece, or a new one; None if the campaign has nothing left for it."""
        ...

    def is_full(self, campaign: Campaign) -> bool:
        """Whether nothing is left for anybody new, though the campaign has not ended."""
        return False

    def waits(self, seat: Seat) -> bool:
        """Whether a seat without a piece may still get one: others hold what is left, or it was skipped."""
        return False

    def dock(
        self, seat: Seat, piece: Piece, action: str, problem: str, words: Words, typed: Words
    ) -> str:
        """The form under a piece, which is sent to `action`; its buttons are what may be answered.

        `typed`: the fields of a form that was not taken, which are not lost.
        """
        ...

    def take(self, seat: Seat, token: str, form: Mapping[str, str]) -> None: ...

    def undo(self, seat: Seat, token: str) -> None: ...

    def finish(self, seat: Seat, token: str) -> None:
        """Makes an answer final: the next piece may be drawn."""
        ...

    def skip(self, seat: Seat, token: str, reason: Any) -> None: ...

    def exam_names(self, source: str) -> Sequence[str]:
        """The questions of a source, by name, in an order that stays."""
        return ()

    def sample_names(self, seat: Seat) -> Sequence[str]:
        """The sample tasks of the seat's campaign, likewise."""
        return ()

    def exam_question(self, seat: Seat, name: str, words: Words) -> ExamQuestion | None:
        return None
