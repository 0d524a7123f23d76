"""Task: the interface of any work in a seat, which draws pieces, shows them and takes answers.

Errors are `VoterError`s, which the worker reads.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from arena.locale import named
from arena.seats.campaigns import Campaign
from arena.seats.seats import Seat

FEWEST_TIMED = 30
"""The fewest answers for a median time."""
FRESH_SECONDS = 60.0
"""Seconds until a time is measured again."""


@dataclass(frozen=True)
class Piece:
    """A piece of work as a worker sees it."""

    token: str
    """The token that the page sends back with the answer; the task checks its owner."""
    html: str
    name: str
    """The part of the token that stays when an answer is taken back."""
    phase: Literal["open", "voted"]
    message: str = ""
    """A sentence for the worker about the piece's state."""
    answer: str = ""
    """The answer given, which can be taken back for `undo_seconds`."""
    undo_seconds: int = 0


class SeatProgress(NamedTuple):
    """A seat's progress: votes (or other pieces of work) and, counted apart, checks."""

    votes: int = 0
    checks: int = 0
    failed_checks: int = 0
    skipped: int = 0
    last: datetime | None = None
    """The time of the last answer."""


class ExamAnswer(NamedTuple):
    """A worker's answer to a question of the qualification."""

    text: str
    is_right: bool | None
    """None: an operator has to read it."""


class ExamQuestion(Protocol):
    """A question of the qualification for a page."""

    @property
    def name(self) -> str: ...

    @property
    def html(self) -> str:
        """The question, above the form."""
        ...

    def read(self, form: Mapping[str, str]) -> ExamAnswer:
        """Returns the answer in a form. Raises VoterError for none."""
        ...

    def dock(
        self, action: str, number: str, note: str, problem: str, typed: Mapping[str, str]
    ) -> str:
        """Returns the HTML of the form, which also sends the question's `number` to `action`; `note` is shown above it.

        `problem` is why the form was refused, or ""; `typed` are its fields, which are not lost.
        """
        ...

    def result(self, action: str, answer: ExamAnswer) -> str:
        """Returns the HTML of the feedback on an answer, with a button for the next question."""
        ...


class SeatTask(Protocol):
    """The work of a seat in a task; by default without texts, checks and practice of its own."""

    @property
    def texts(self) -> Sequence[str]:
        """Locale tables of the task's own texts: with "writing", `writing.worker.limit` comes before `worker.limit`."""
        return ()

    def instructions(self, campaign: Campaign) -> str:
        """Returns the instructions in Markdown; by default the operator's."""
        return named(campaign.spec.instructions)

    def progress(self, seat: Seat) -> SeatProgress: ...

    def checks_wanted(self, seat: Seat) -> int:
        """Returns the number of checks that a seat gets."""
        return 0

    def whole_seconds(self, campaign: Campaign) -> float | None:
        """Returns the usual time for a whole seat, with its checks, in seconds; None if unknown."""
        return None

    def piece(self, seat: Seat, network: str | None) -> Piece | None:
        """Returns the seat's unfinished piece, or a new one; None if the campaign has nothing left for it.

        `network` is the code of the worker's network, if it is known.
        """
        ...

    def is_full(self, campaign: Campaign) -> bool:
        """Returns whether nothing is left for new workers, although the campaign has not ended."""
        return False

    def waits(self, seat: Seat) -> bool:
        """Returns whether a seat without a piece may get one later: others hold it now, or the worker skipped it."""
        return False

    def dock(
        self, seat: Seat, piece: Piece, action: str, problem: str, typed: Mapping[str, str]
    ) -> str:
        """Returns the HTML of the form under a piece, which is sent to `action`; its buttons are the possible answers.

        `problem` is why the form was refused, or ""; `typed` are its fields, which are not lost.
        """
        ...

    def take(self, seat: Seat, token: str, form: Mapping[str, str]) -> None:
        """Stores the answer in a form."""
        ...

    def undo(self, seat: Seat, token: str) -> None:
        """Takes an answer back."""
        ...

    def finish(self, seat: Seat, token: str) -> None:
        """Makes an answer final, so that the next piece may be drawn."""
        ...

    def skip(self, seat: Seat, token: str, reason: Any) -> None:
        """Leaves a piece without an answer, for a reason of the task's own kind."""
        ...

    def exam_names(self, source: str) -> Sequence[str]:
        """Returns the names of the qualification's questions from a source of check items, in a stable order."""
        return ()

    def sample_names(self, seat: Seat) -> Sequence[str]:
        """Returns the names of the sample tasks of the seat's campaign, in a stable order."""
        return ()

    def exam_question(self, seat: Seat, name: str) -> ExamQuestion | None:
        """Returns the question of this name; None if it was removed."""
        return None


class MeasuredTimes:
    """The usual seconds of a question in each campaign, measured at most once a minute.

    A worker sees them before consent.
    """

    def __init__(self, measure: Callable[[Campaign], float | None]) -> None:
        self._measure = measure
        self._measured: dict[int, tuple[float, float | None]] = {}

    def seconds(self, campaign: Campaign) -> float | None:
        """Returns the seconds of a campaign's question; None if nothing is known."""
        present = time.monotonic()
        if campaign.id in self._measured:
            measured_at, seconds = self._measured[campaign.id]
            if present - measured_at <= FRESH_SECONDS:
                return seconds
        seconds = self._measure(campaign)
        self._measured[campaign.id] = (present, seconds)
        return seconds
