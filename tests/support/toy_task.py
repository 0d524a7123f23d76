"""A toy task for seats: is this number even? What seats give lies in memory; all else is what a campaign has."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import SystemRandom
from typing import Annotated, Any

from markupsafe import Markup

from arena.database import now
from arena.errors import VoterError
from arena.locale import t
from arena.seats.campaigns import Campaign
from arena.seats.quality import is_check_due, wanted_checks
from arena.seats.seats import Seat
from arena.seats.spec import CampaignSpec
from arena.seats.task import ExamAnswer, Piece, SeatProgress, SeatTask
from arena.templates import macros
from arena.validation import whole
from arena.web.exam_questions import ChoiceQuestion

HTML = macros("campaign.html")
EXAM = "small numbers"
CHECKS = range(100, 110)
"""Numbers of the checks; others are work."""
NOTES = range(50, 70)
"""Numbers of the sample tasks, whose answers an operator reads."""


class ToySpec(CampaignSpec):
    """Numbers from 1000 on, each given to one worker."""

    numbers: Annotated[int, whole(1, 1000)] = 100
    notes: int = 0
    """Sample tasks."""

    @property
    def sample_count(self) -> int:
        return self.notes


class Note(ChoiceQuestion):
    """A sample task: whatever is chosen, an operator says whether it is right."""

    def read(self, form: Mapping[str, str]) -> ExamAnswer:
        return super().read(form)._replace(is_right=None)


@dataclass
class Shown:
    """A number that a seat was shown."""

    number: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(8))
    answer: str = ""
    answered_at: datetime | None = None
    is_final: bool = False
    is_skipped: bool = False

    @property
    def is_check(self) -> bool:
        return self.number in CHECKS

    @property
    def is_right(self) -> bool:
        return self.answer == right(self.number)


def right(number: int) -> str:
    return "ba"[number % 2 == 0]


class ToyTask(SeatTask):
    """See `seats.task.SeatTask`."""

    def __init__(self) -> None:
        self.shown: dict[int, list[Shown]] = {}
        self._coin = SystemRandom()
        self.seconds: float | None = None

    def _of(self, seat: Seat) -> list[Shown]:
        return self.shown.setdefault(seat.id, [])

    def _find(self, seat: Seat, token: str) -> Shown:
        found = next((one for one in self._of(seat) if one.token == token), None)
        if found is None:
            raise VoterError("This is none of your numbers.")
        return found

    def progress(self, seat: Seat) -> SeatProgress:
        given = [one for one in self._of(seat) if one.answer]
        checks = [one for one in given if one.is_check]
        skipped = sum(one.is_skipped for one in self._of(seat))
        failed = sum(not one.is_right for one in checks)
        last = max((one.answered_at for one in given if one.answered_at), default=None)
        return SeatProgress(len(given) - len(checks), len(checks), failed, skipped, last)

    def checks_wanted(self, seat: Seat) -> int:
        return wanted_checks(seat.campaign.spec.checks, seat.campaign.spec.seat.votes, len(CHECKS))

    def whole_seconds(self, campaign: Campaign) -> float | None:
        return self.seconds

    def piece(self, seat: Seat, network: str | None) -> Piece | None:
        last = next(
            (one for one in self._of(seat) if not one.is_final and not one.is_skipped), None
        ) or self._draw(seat)
        if last is None:
            return None
        state = (
            ("voted", t("vote.chose", side=last.answer.upper())) if last.answer else ("open", "")
        )
        return Piece(last.token, _page(last.number), last.token, *state, last.answer)

    def _draw(self, seat: Seat) -> Shown | None:
        if seat.campaign.ended_at is not None:
            return None
        given, votes = self.progress(seat), seat.campaign.spec.seat.votes
        spec = seat.campaign.spec
        assert isinstance(spec, ToySpec)
        taken = {one.number for shown in list(self.shown.values()) for one in shown}
        had = {one.number for one in self._of(seat)}
        work = [number for number in range(1000, 1000 + spec.numbers) if number not in taken]
        checks_left = self.checks_wanted(seat) - given.checks
        if checks_left > 0 and is_check_due(max(0, votes - given.votes), checks_left, self._coin):
            drawn = self._coin.choice([number for number in CHECKS if number not in had])
        elif given.votes < votes and work:
            drawn = self._coin.choice(work)
        else:
            return None
        self._of(seat).append(Shown(drawn))
        return self._of(seat)[-1]

    def waits(self, seat: Seat) -> bool:
        return any(
            not one.answer and not one.is_check
            for shown in list(self.shown.values())
            for one in shown
        )

    def dock(
        self, seat: Seat, piece: Piece, action: str, problem: str, typed: Mapping[str, str]
    ) -> str:
        state = (piece.name, piece.phase, piece.message, piece.undo_seconds, piece.answer)
        return HTML.work(action, piece.token, *state, problem)

    def take(self, seat: Seat, token: str, form: Mapping[str, str]) -> None:
        shown, answer = self._find(seat, token), form.get("answer", "")
        if (
            answer not in ("a", "b")
            or shown.is_final
            or shown.is_skipped
            or shown.answer not in ("", answer)
        ):
            raise VoterError("This cannot be answered so.")
        shown.answer, shown.answered_at = answer, now()

    def undo(self, seat: Seat, token: str) -> None:
        shown = self._find(seat, token)
        if shown.is_final:
            raise VoterError("This is final.")
        shown.answer = ""

    def finish(self, seat: Seat, token: str) -> None:
        shown = self._find(seat, token)
        if not shown.answer:
            raise VoterError("Choose first.")
        shown.is_final = True

    def skip(self, seat: Seat, token: str, reason: Any) -> None:
        shown = self._find(seat, token)
        if shown.answer:
            raise VoterError("You already chose.")
        shown.is_skipped = True

    def exam_names(self, source: str) -> Sequence[str]:
        return [str(number) for number in range(20)] if source == EXAM else []

    def sample_names(self, seat: Seat) -> Sequence[str]:
        spec = seat.campaign.spec
        assert isinstance(spec, ToySpec)
        return [str(number) for number in NOTES[: spec.notes]]

    def exam_question(self, seat: Seat, name: str) -> ChoiceQuestion | None:
        kind = Note if int(name) in NOTES else ChoiceQuestion
        return kind(name, _page(name), f"{seat.id}-{name}", right(int(name)), ("a", "b"))


def _page(number: object) -> Markup:
    return Markup('<p id="number">{}</p>').format(number)
