"""Marking task: people mark, label or read answers on pages that show no model, judge or report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse, PlainTextResponse

from arena.locale import ENGLISH, t, translated
from arena.seats.campaigns import Campaign
from arena.seats.seats import Seat
from arena.seats.task import Piece, SeatProgress, SeatTask
from arena.templates import macros
from arena.web.campaign_api import CampaignPages
from arena.web.cookies import NO_STORE
from arena.web.pictures import ShownPicture
from scoring.people.errors import DECISION_ORDER, ERROR_KINDS
from scoring.people.mark_files import CANNOT
from scoring.people.marking import Marking, seat_work
from scoring.people.readings import NO_OPTION
from scoring.people.spec import MarkKind
from scoring.people.store import LONGEST_NOTE, MarkEntry, MarkError
from scoring.report import DATA
from scoring.web.question_pictures import QuestionPictures

HTML = macros("marking.html")
CANNOT_REASONS: Mapping[MarkKind, tuple[str, ...]] = {
    "marks": ("picture", "question_unclear", "dont_know"),
    "labels": ("picture", "question_unclear", "dont_know"),
    "readings": ("unclear", "dont_know"),
}
"""Reasons why an answer cannot be judged, by the keys of their texts; the English ones are stored."""
_PROMPT = (DATA.parent / "prompts/mm_vet.txt").read_text("utf-8")
"""The prompt of MM-Vet's judge."""
_EXAMPLES = _PROMPT.partition("Correctness\n")[2].strip()
"""The prompt's seven examples (Table 1 of MM-Vet's paper): its Markdown table below the column names."""


@dataclass(frozen=True)
class MarkingTask(SeatTask):
    """Draws answers, shows them, and stores marks, labels and readings. People can change theirs until the end."""

    kind: MarkKind
    marking: Marking
    pictures: QuestionPictures

    @property
    def texts(self) -> Sequence[str]:
        return self.kind, "marking"

    def instructions(self, campaign: Campaign) -> str:
        if self.kind == "marks":
            rows = _EXAMPLES.replace("<AND>", "*and*").replace("<OR>", "*or*")
            return t("marking.marks_task", examples=rows)
        if self.kind == "labels":
            questions = "\n".join(
                f"1. {translated(question)} *{translated(ERROR_KINDS[kind].title)}*"
                for question, kind in DECISION_ORDER
            )
            return t("marking.labels_task", questions=questions)
        return t("marking.readings_task")

    def progress(self, seat: Seat) -> SeatProgress:
        return self.marking.store.progress(seat)

    def piece(self, seat: Seat, network: str | None) -> Piece | None:
        if self.progress(seat).votes >= seat.campaign.spec.seat.votes:
            return None
        drawn = self.marking.draw(seat)
        if drawn is None:
            return None
        shown, answer = drawn
        is_repeated = shown.round > 1
        if self.kind == "readings":
            html = HTML.read(shown.token, answer, is_repeated)
            return Piece(shown.token, html, name=shown.token, phase="open")
        folder = f"/c/{seat.campaign.name}/{seat.token}/pictures/{shown.token}"
        files = self.pictures.pictures(seat_work(seat).link, answer)
        addresses = (f"{folder}/{number}" for number in range(1, len(files) + 1))
        pictures = [ShownPicture(address, address, "") for address in addresses]
        # Pictures in the report's own file have no name in `answer.pictures`.
        picture_count = max(len(answer.pictures), len(files))
        html = HTML.shown(shown.token, answer, pictures, picture_count, is_repeated)
        return Piece(shown.token, html, name=shown.token, phase="open")

    def waits(self, seat: Seat) -> bool:
        return self.marking.waits(seat)

    def dock(
        self, seat: Seat, piece: Piece, action: str, problem: str, typed: Mapping[str, str]
    ) -> str:
        last = self.marking.store.last(seat)
        reasons = {name: t(f"marking.{name}") for name in CANNOT_REASONS[self.kind]}
        last_token = last.token if last else ""
        if self.kind == "marks":
            return HTML.marks(action, piece.token, last_token, reasons, problem)
        if self.kind == "readings":
            answer = self.marking.answer(seat, piece.token)
            options = answer.options if answer else {}
            return HTML.readings(
                options, NO_OPTION, action, piece.token, last_token, reasons, problem
            )
        return HTML.labels(
            kinds=list(ERROR_KINDS.values()),
            longest=LONGEST_NOTE,
            action=action,
            token=piece.token,
            last=last_token,
            reasons=reasons,
            problem=problem,
        )

    def take(self, seat: Seat, token: str, form: Mapping[str, str]) -> None:
        self.marking.store.enter(seat, token, self._entry(seat, token, form))

    def _entry(self, seat: Seat, token: str, form: Mapping[str, str]) -> MarkEntry:
        """Returns a person's input in a form. Raises MarkError."""
        answer = form.get("answer", "")
        if self.kind == "marks":
            if not _is_tenths(answer):
                raise MarkError("Nothing was marked: press one of the grades, from 0.0 to 1.0.")
            return MarkEntry(str(int(answer)))
        if self.kind == "readings":
            question = self.marking.answer(seat, token)
            if question is None or answer not in (*question.options, NO_OPTION):
                raise MarkError("Nothing was matched: press one of the options.")
            return MarkEntry(answer)
        if answer not in ERROR_KINDS:
            raise MarkError("Nothing was labelled: press one of the kinds.")
        further = tuple(
            name for name in ERROR_KINDS if form.get(f"further-{name}") and name != answer
        )
        note = form.get("note", "").strip()[:LONGEST_NOTE]
        return MarkEntry(answer, further, note)

    def undo(self, seat: Seat, token: str) -> None:
        self.marking.store.enter(seat, token, MarkEntry(""))  # takes the last entry back

    def finish(self, seat: Seat, token: str) -> None:
        """Raises MarkError: no form of these pages finishes a piece, since entries can be changed until the end."""
        raise MarkError("Nothing was marked: press one of the grades, from 0.0 to 1.0.")

    def skip(self, seat: Seat, token: str, reason: object) -> None:
        if reason not in CANNOT_REASONS[self.kind]:
            raise MarkError("Say why it cannot be judged.")
        note = ENGLISH.text(f"marking.{reason}")
        self.marking.store.enter(seat, token, MarkEntry(CANNOT, note=note))


def _is_tenths(text: str) -> bool:
    """Whether a text is a whole number from 0 to 10."""
    is_short_number = text.isascii() and text.isdecimal() and len(text) <= 2
    return is_short_number and int(text) <= 10


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
        files = pictures.pictures(seat_work(seat_record).link, answer) if answer else ()
        by_number = {str(place): file for place, file in enumerate(files, 1)}
        file = by_number.get(number)
        if file is None:
            return PlainTextResponse("There is no such picture.", status_code=404)
        if isinstance(file, bytes):
            return Response(file, media_type="image/webp", headers=NO_STORE)
        return FileResponse(file, headers=NO_STORE)

    return router
