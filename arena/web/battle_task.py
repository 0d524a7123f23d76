"""Battle task: a campaign's battles as a worker's pages show them."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arena.battles.choices import undo_seconds
from arena.campaign_battles.task import BattleWork
from arena.io.scaled_pictures import ScaledPictures
from arena.locale import t
from arena.seats.campaigns import Campaign
from arena.seats.links import signature
from arena.seats.seats import Seat
from arena.seats.task import Piece, SeatProgress, SeatTask
from arena.templates import macros
from arena.types import SIDES, Battle, Phase, SkipReason
from arena.web.exam_questions import ChoiceQuestion
from arena.web.pictures import shown_images

HTML = macros("campaign.html")


@dataclass(frozen=True)
class BattleTask(SeatTask):
    """Draws, shows and takes battles."""

    work: BattleWork
    scaled: ScaledPictures
    terms: str
    """Version of the terms under which votes are given."""

    def progress(self, seat: Seat) -> SeatProgress:
        return self.work.progress(seat)

    def checks_wanted(self, seat: Seat) -> int:
        return self.work.checks_wanted(seat)

    def whole_seconds(self, campaign: Campaign) -> float | None:
        return self.work.whole_seconds(campaign)

    def piece(self, seat: Seat, network: str | None) -> Piece | None:
        battle = self.work.battle(seat, network)
        return self._piece(battle) if battle else None

    def _piece(self, battle: Battle) -> Piece:
        item = self.work.items.bank().items[battle.item]
        texts = self.work.items.shown_answers((battle.answer_a, battle.answer_b))
        name = battle.token.partition(".")[0]
        html = HTML.pair(item, shown_images(item.images, self.scaled), texts)
        if battle.phase is not Phase.VOTED or battle.choice is None or battle.voted_at is None:
            message = t("vote.taken_back") if battle.attempt == 2 else ""
            return Piece(battle.token, html, name, phase="open", message=message)
        seconds = undo_seconds(battle.attempt, battle.voted_at)
        message = t("vote.chose", side=battle.choice.upper())
        if seconds:
            message = f"{message} {t('worker.final', seconds=seconds)}"
        return Piece(
            battle.token,
            html,
            name,
            phase="voted",
            message=message,
            answer=battle.choice,
            undo_seconds=seconds,
        )

    def is_full(self, campaign: Campaign) -> bool:
        return self.work.is_full(campaign)

    def waits(self, seat: Seat) -> bool:
        return self.work.waits(seat)

    def dock(
        self, seat: Seat, piece: Piece, action: str, problem: str, typed: Mapping[str, str]
    ) -> str:
        return HTML.work(
            action,
            piece.token,
            piece.name,
            piece.phase,
            piece.message,
            piece.undo_seconds,
            piece.answer,
            problem,
        )

    def take(self, seat: Seat, token: str, form: Mapping[str, str]) -> None:
        self.work.take(seat, token, form.get("answer", ""), self.terms)

    def undo(self, seat: Seat, token: str) -> None:
        self.work.held_battle(seat, token)
        self.work.store.undo(seat.voter, token)

    def finish(self, seat: Seat, token: str) -> None:
        self.work.held_battle(seat, token)
        self.work.store.reveal(seat.voter, token)

    def skip(self, seat: Seat, token: str, reason: SkipReason) -> None:
        self.work.held_battle(seat, token)
        self.work.store.skip(seat.voter, token, reason)

    def exam_names(self, source: str) -> Sequence[str]:
        return [item.key for item in self.work.check_items(source)]

    def exam_question(self, seat: Seat, name: str) -> ChoiceQuestion | None:
        """Returns a check item as a question. Each seat has its own order of sides, the same at each opening."""
        item = self.work.items.bank().by_key(name)
        if item is None or len(item.contestants) != 2:
            return None
        coin = random.Random(signature(seat.campaign.key, "sides", seat.id, name))
        sides = dict(zip(SIDES, coin.sample(item.contestants, 2), strict=True))
        # Wrong answers are stored under a model of their own.
        right_side = next(
            side for side, answer in sides.items() if answer.model != self.work.unrelated_model()
        )
        texts = self.work.items.shown_answers([answer.answer for answer in sides.values()])
        battle_name = f"{seat.id}-{item.id}"
        html = HTML.pair(item, shown_images(item.images, self.scaled), texts)
        return ChoiceQuestion(name, html, battle_name, right_side, SIDES)
