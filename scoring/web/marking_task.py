"""Marking task: people mark, label or read answers on pages that show no model, judge or report."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse, PlainTextResponse

from arena.seats.seats import Seat
from arena.seats.task import Piece, SeatProgress, SeatTask
from arena.templates import macros
from arena.web.campaign_api import CampaignPages
from arena.web.cookies import NO_STORE
from arena.web.pictures import Shown
from arena.web.words import Words
from scoring.people.errors import ERROR_KINDS
from scoring.people.mark_files import CANNOT
from scoring.people.marking import Marking, of_seat
from scoring.people.readings import NO_OPTION
from scoring.people.spec import MarkKind
from scoring.people.store import LONGEST_NOTE, MarkEntry, MarkError
from scoring.web.marking_words import CANNOT_REASONS, MARKING_WORDS
from scoring.web.question_pictures import QuestionPictures

HTML = macros("marking.html")
TENTHS = range(11)


@dataclass(frozen=True)
class MarkingTask(SeatTask):
    """Draws answers, shows them, and stores marks, labels and readings. People can change theirs until the end."""

    kind: MarkKind
    marking: Marking
    pictures: QuestionPictures

    @property
    def words(self) -> Mapping[str, Words]:
        return MARKING_WORDS[self.kind]

    def progress(self, seat: Seat) -> SeatProgress:
        return self.marking.store.progress(seat)

    def piece(self, seat: Seat, network: str | None, words: Words) -> Piece | None:
        if self.progress(seat).votes >= seat.campaign.spec.seat.votes:
            return None
        drawn = self.marking.draw(seat)
        if drawn is None:
            return None
        draw, answer = drawn
        if self.kind == "readings":
            html = HTML.read(draw.token, answer, draw.round > 1, words)
            return Piece(draw.token, html, draw.token, "open")
        folder = f"/c/{seat.campaign.name}/{seat.token}/pictures/{draw.token}"
        files = self.pictures.files(of_seat(seat)[1], answer)
        addresses = (f"{folder}/{number}" for number in range(1, len(files) + 1))
        pictures = [Shown(address, address, "") for address in addresses]
        html = HTML.shown(
            draw.token,
            answer,
            pictures,
            max(len(answer.pictures), len(files)),
            draw.round > 1,
            words,
        )
        return Piece(draw.token, html, draw.token, "open")

    def dock(
        self, seat: Seat, piece: Piece, action: str, problem: str, words: Words, typed: Words
    ) -> str:
        last = self.marking.store.last(seat)
        reasons = {name: words[name] for name in CANNOT_REASONS[self.kind]}
        last_token = last.token if last else ""
        if self.kind == "marks":
            return HTML.marks(action, piece.token, last_token, reasons, problem, words)
        if self.kind == "readings":
            answer = self.marking.answer(seat, piece.token)
            options = answer.options if answer else {}
            return HTML.readings(
                options, NO_OPTION, action, piece.token, last_token, reasons, problem, words
            )
        return HTML.labels(
            kinds=list(ERROR_KINDS),
            longest=LONGEST_NOTE,
            action=action,
            token=piece.token,
            last=last_token,
            reasons=reasons,
            problem=problem,
            w=words,
        )

    def take(self, seat: Seat, token: str, form: Mapping[str, str]) -> None:
        answer = form.get("answer", "")
        if self.kind == "marks":
            if not (
                answer.isdecimal()
                and answer.isascii()
                and len(answer) <= 2
                and int(answer) in TENTHS
            ):
                raise MarkError("Nothing was marked: press one of the grades, from 0.0 to 1.0.")
            self.marking.store.enter(seat, token, MarkEntry(str(int(answer))))
            return
        if self.kind == "readings":
            question = self.marking.answer(seat, token)
            if question is None or answer not in (*question.options, NO_OPTION):
                raise MarkError("Nothing was matched: press one of the options.")
            self.marking.store.enter(seat, token, MarkEntry(answer))
            return
        if answer not in ERROR_KINDS:
            raise MarkError("Nothing was labelled: press one of the kinds.")
        further = tuple(
            name for name in ERROR_KINDS if form.get(f"further-{name}") and name != answer
        )
        self.marking.store.enter(
            seat, token, MarkEntry(answer, further, form.get("note", "").strip()[:LONGEST_NOTE])
        )

    def undo(self, seat: Seat, token: str) -> None:
        self.marking.store.enter(seat, token, MarkEntry(""))

    def finish(self, seat: Seat, token: str) -> None:
        raise MarkError("Nothing was marked: press one of the grades, from 0.0 to 1.0.")

    def skip(self, seat: Seat, token: str, reason: object) -> None:
        if reason not in CANNOT_REASONS[self.kind]:
            raise MarkError("Say why it cannot be judged.")
        self.marking.store.enter(
            seat, token, MarkEntry(CANNOT, (), MARKING_WORDS[self.kind]["en"][str(reason)])
        )


def picture_routes(pages: CampaignPages, marking: Marking, pictures: QuestionPictures) -> APIRouter:
    """Returns the router of a seat's pictures, whose addresses name neither file nor report."""
    router = APIRouter()

    @router.get("/c/{name}/{seat}/pictures/{token}/{number}")
    def picture(name: str, seat: str, token: str, number: str) -> Response:
        campaign = marking.campaign(name)
        seat_record = campaign and pages.seats.find(campaign, seat)
        if not seat_record:
            return PlainTextResponse("There is no such seat.", status_code=404)
        try:
            answer = marking.answer(seat_record, token)
        except MarkError as error:
            return PlainTextResponse(str(error), status_code=404)
        files = pictures.files(of_seat(seat_record)[1], answer) if answer else ()
        by_number = {str(place): file for place, file in enumerate(files, 1)}
        file = by_number.get(number)
        if file is None:
            return PlainTextResponse("There is no such picture.", status_code=404)
        if isinstance(file, bytes):
            return Response(file, media_type="image/webp", headers=NO_STORE)
        return FileResponse(file, headers=NO_STORE)

    return router
