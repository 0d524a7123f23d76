"""Writing task: the pages on which people write an item step by step, and the route of their long forms."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from arena.authoring.checks import LONGEST, DraftError
from arena.authoring.choices import LETTERS, MOST_OPTIONS
from arena.authoring.events import Instruction
from arena.authoring.spec import (
    LEAST_CAPTION,
    LICENCES,
    Kind,
    SampleSpec,
    project_of_seat,
)
from arena.authoring.store import MOST_BROUGHT, BroughtPicture, Draft
from arena.authoring.work import QUESTION_FAULTS, OfferedPicture, OpenStep, Writing, credit_of
from arena.errors import VoterError
from arena.io.images import MAX_BYTES
from arena.io.scaled_pictures import ScaledPictures
from arena.locale import translated
from arena.seats.campaigns import Campaign
from arena.seats.seats import Seat
from arena.seats.task import ExamQuestion, Piece, SeatProgress, SeatTask
from arena.templates import macros
from arena.types import Image
from arena.web.battle_task import BattleTask
from arena.web.campaign_api import CampaignPages, CampaignRoutes, check_charset
from arena.web.cookies import NO_STORE
from arena.web.exam_questions import SampleQuestion
from arena.web.pictures import Shown, shown_images

HTML = macros("writing.html")
FORM = "/c/~form"
"""The path of writers' forms, which may be long. No campaign can have this name."""
MOST_FORM = 2 * MAX_BYTES
"""The most bytes of a form with its pictures."""
_MOST_FIELDS = 6 * MOST_BROUGHT
_MOST_VALUE = 20_000
KEYS = {
    "y": "correct",
    "c": "caption",
    "a": "answer",
    "h": "harm",
    "i": "instruction",
    "p": "picture",
}
"""The verdict on an answer of each key."""
_NUMBERED = ("source", "creator", "licence", "statement")
TEXTS: Mapping[Kind, Sequence[str]] = {
    "captions": ("writing",),
    "multiple choice": ("choices", "writing"),
}
"""The tables of texts for the pages of each kind of items."""
_WRONG = [f"wrong-{number}" for number in range(1, MOST_OPTIONS)]
"""The fields of a question's wrong answers."""


class WarnedError(DraftError):
    """An instruction has warnings. Its author may send it as it is after reading them."""

    def __init__(self, warnings: Sequence[str]) -> None:
        super().__init__("Please look at this first. Change it, or send it again as it is.")
        self.text = "\n".join(warnings)


@dataclass(frozen=True)
class WritingTask(SeatTask):
    """The task of writing items. Its questions with a known answer are those of battles."""

    kind: Kind
    writing: Writing
    scaled: ScaledPictures
    battles: BattleTask
    answerable: Callable[[Campaign, int], None]
    """Called with a campaign and a draft that a model may answer now."""

    @property
    def texts(self) -> Sequence[str]:
        return TEXTS[self.kind]

    def progress(self, seat: Seat) -> SeatProgress:
        return self.writing.progress(seat)

    def whole_seconds(self, campaign: Campaign) -> float | None:
        return self.writing.whole_seconds(campaign)

    def piece(self, seat: Seat, network: str | None) -> Piece | None:
        open_step = self.writing.next(seat)
        if open_step is None:
            return None
        token = open_step.claim.token
        html = self._piece_html(open_step)
        return Piece(token, html, token, "open")

    def waits(self, seat: Seat) -> bool:
        return self.writing.waits(seat)

    def _piece_html(self, open_step: OpenStep) -> str:
        """Returns the parts of the draft that a step needs. Verifiers read captions last."""
        state = open_step.draft.state
        step = open_step.claim.step
        if step == "instruction":
            return HTML.example(open_step.family, self._stored_pictures(open_step.family.pictures))
        assert state.instruction
        subject = HTML.subject(state.instruction.text, self._pictures(state.instruction))
        if step == "caption" or state.instruction.options:
            return HTML.left(subject)
        if step == "answer":
            return HTML.left(subject, HTML.captions(state.captions, True))
        assert state.answer
        return HTML.left(
            subject,
            HTML.answered(state.answer.text),
            HTML.captions(state.captions, False),
        )

    def _stored_pictures(self, pictures: Sequence[str]) -> Sequence[Shown]:
        """Returns an operator's pictures by their names in the store."""
        names = (name.partition(".") for name in pictures)
        return shown_images(
            [Image(sha256, suffix, None, "", "", "") for sha256, _, suffix in names], self.scaled
        )

    def _pictures(self, instruction: Instruction) -> Sequence[Shown]:
        stored = [picture for picture in instruction.pictures if picture.sha256]
        return shown_images(
            [Image(picture.sha256, picture.suffix, None, "", "", "") for picture in stored],
            self.scaled,
        )

    def dock(
        self, seat: Seat, piece: Piece, action: str, problem: str, typed: Mapping[str, str]
    ) -> str:
        open_step = self.writing.step(seat, piece.token)
        spec = project_of_seat(seat)
        draft = open_step.draft
        state = open_step.draft.state
        lost = ""
        if typed.get("piece", piece.token) != piece.token:
            texts = [typed[name] for name in sorted(typed) if _is_text(name)]
            lost = "\n\n".join(filter(None, texts))
            typed = {}
        sent = (_address(seat), piece.token)
        notices = HTML.told(problem, typed.get("warned", ""), lost)
        way = "writing"
        if open_step.claim.step == "instruction":
            brought = _rows(self.writing.store.brought_pictures(seat, draft.id), typed)
            terms = (LICENCES, spec.licence, spec.item_kind.most_pictures)
            if spec.is_choice:
                form = HTML.question(brought, terms, LONGEST, _WRONG, typed)
            else:
                form = HTML.instruction(brought, terms, LONGEST, typed)
        elif open_step.claim.step == "caption":
            assert state.instruction
            texts = [
                typed.get(f"caption-{number}", "")
                for number in _numbers(len(state.instruction.pictures))
            ]
            form = HTML.caption(texts, (LEAST_CAPTION, LONGEST["caption"]), _notes(draft))
        elif open_step.claim.step == "answer":
            form = HTML.answer(
                typed.get("text", ""), LONGEST["answer"], _notes(draft), state.failure
            )
        elif spec.is_choice:
            assert state.instruction
            options = list(zip(LETTERS, state.instruction.options, strict=False))
            form = HTML.choose(options, QUESTION_FAULTS, LONGEST["note"], typed)
        else:
            way = "marking"
            blind = state.blind.text if state.blind else ""
            form = HTML.verify(KEYS, blind, LONGEST["note"], typed)
        return HTML.dock(way, open_step.claim.step, sent, notices, form)

    def take(self, seat: Seat, token: str, form: Mapping[str, str]) -> None:
        step = self.writing.step(seat, token)
        if step.claim.step == "instruction":
            offered = []
            for number, picture in enumerate(self.writing.brought_pictures(seat, token), 1):
                if f"use-{number}" in form:
                    credit = {name: form.get(f"{name}-{number}", "") for name in _NUMBERED}
                    offered.append(OfferedPicture(picture.sha256, credit_of(credit)))
            wrong = [form.get(name, "") for name in _WRONG]
            written = self.writing.instruction(
                seat, token, form.get("text", ""), offered, form.get("answer", ""), wrong
            )
            warned = "\n".join(written.warnings)
            if warned and _lines(form.get("sure", "")) != warned:
                raise WarnedError(written.warnings)
            self.writing.write(seat, token, written)
            if written.options:
                self.answerable(seat.campaign, step.draft.id)
        elif step.claim.step == "caption":
            instruction = step.draft.state.instruction
            pictures = instruction.pictures if instruction else ()
            captions = [form.get(f"caption-{place}", "") for place in _numbers(len(pictures))]
            draft = self.writing.caption(seat, token, captions)
            self.answerable(seat.campaign, draft)
        elif step.claim.step == "answer":
            self.writing.answer(seat, token, form.get("text", ""))
        else:
            blind = {"yes": True, "no": False}.get(form.get("blind", ""))
            self.writing.verify(seat, token, form.get("said", ""), form.get("note", ""), blind)

    def undo(self, seat: Seat, token: str) -> None:
        raise DraftError(
            "You can't take back a single step. You can withdraw all of your work below."
        )

    def finish(self, seat: Seat, token: str) -> None:
        raise DraftError("Nothing was sent. Fill in the page, then send it.")

    def skip(self, seat: Seat, token: str, reason: str) -> None:
        self.writing.skip(seat, token, reason)

    def exam_names(self, source: str) -> Sequence[str]:
        return self.battles.exam_names(source)

    def sample_names(self, seat: Seat) -> Sequence[str]:
        return list(_samples(seat))

    def exam_question(self, seat: Seat, name: str) -> ExamQuestion | None:
        sample = _samples(seat).get(name)
        if sample is None:
            return self.battles.exam_question(seat, name)
        subject = HTML.subject(sample.instruction, self._stored_pictures([sample.picture]))
        return SampleQuestion(name, HTML.left(subject), sample, _address(seat))


def _samples(seat: Seat) -> Mapping[str, SampleSpec]:
    return project_of_seat(seat).named_samples


def _address(seat: Seat) -> str:
    """Returns the address of a seat's long forms."""
    return f"{FORM}?campaign={seat.campaign.name}&seat={seat.token}"


@dataclass(frozen=True)
class BroughtRow:
    """A picture that an author brought, as a row of the form. `number`: the end of its fields' names."""

    number: int
    picture: BroughtPicture
    is_used: bool
    place: int
    """The number among the used pictures."""
    values: Mapping[str, str]


def _rows(brought: Sequence[BroughtPicture], typed: Mapping[str, str]) -> list[BroughtRow]:
    """Returns the rows of brought pictures. New ones, which the last form didn't show yet, are used."""
    sent = typed.get("seen", "")
    known = int(sent) if sent.isascii() and sent.isdecimal() and len(sent) < 4 else 0
    rows = []
    place = 0
    for number, picture in enumerate(brought, 1):
        is_used = number > known or f"use-{number}" in typed
        place += is_used
        values = {name: typed.get(f"{name}-{number}", "") for name in _NUMBERED}
        rows.append(BroughtRow(number, picture, is_used, place, values))
    return rows


def _numbers(most: int) -> range:
    return range(1, most + 1)


def _is_text(name: str) -> bool:
    return name in ("text", "answer", "note") or name.startswith(("caption-", "wrong-"))


def _notes(draft: Draft) -> list[str]:
    """Returns the verifiers' notes on the draft, for the author who writes it again."""
    return [verdict.note for verdict in draft.state.verdicts if verdict.note]


def _lines(text: str) -> str:
    """Returns a form's text with LF: browsers send CRLF."""
    return text.replace("\r\n", "\n")


class _WritingRoutes(CampaignRoutes):
    """The handlers of writers' forms."""

    def __init__(self, pages: CampaignPages, writing: Writing) -> None:
        super().__init__(pages)
        self._writing = writing

    async def take_form(self, request: Request, campaign: str = "", seat: str = "") -> Response:
        most = {
            "max_files": MOST_BROUGHT,
            "max_fields": _MOST_FIELDS,
            "max_part_size": 4 * _MOST_VALUE,
        }
        try:
            check_charset(request)
            async with request.form(**most) as form:
                fields = [
                    (name, value) for name, value in form.multi_items() if isinstance(value, str)
                ]
                uploads = [
                    upload
                    for _, upload in form.multi_items()
                    if isinstance(upload, UploadFile) and upload.filename
                ]
                files = [(upload.filename or "", await upload.read()) for upload in uploads]
        except HTTPException as error:
            problem = f"Expected the page's form, with {MOST_BROUGHT} files at most."
            problem += f" Go back: what you wrote is still there. ({error.detail})"
            return PlainTextResponse(problem, status_code=400, headers=NO_STORE)
        typed = {name: _lines(value[:_MOST_VALUE]).replace("\0", "") for name, value in fields}

        linked = await self._linked(campaign, seat, typed)

        def do(seat: Seat) -> str | None:
            is_brought = seat.end is None and self._bring(seat, typed, files, linked)
            if is_brought and typed.get("act") == "bring":
                return None
            try:
                return self.pages.do(seat, typed)
            except WarnedError as error:
                typed["warned"] = error.text
                raise

        return await self.respond(campaign, seat, request, typed, do)

    async def _linked(
        self, campaign: str, token: str, typed: Mapping[str, str]
    ) -> bytes | VoterError | None:
        """Returns the picture at a form's link, or the error that it met; None without a link."""
        link = typed.get("link", "").strip()
        if not link:
            return None
        try:
            seat = await asyncio.to_thread(self.pages.seat, campaign, token)
            if seat.end is not None:
                return None
            return await self._writing.fetch_picture(seat, typed.get("piece", ""), link)
        except VoterError as error:
            return error

    def _bring(
        self,
        seat: Seat,
        typed: dict[str, str],
        files: Sequence[tuple[str, bytes]],
        linked: bytes | VoterError | None,
    ) -> bool:
        """Stores the pictures of a form, and returns whether it brought any. Raises DraftError for the other files."""
        token = typed.get("piece", "")
        link = typed["link"].strip() if linked else ""
        brought = [(name, data, "") for name, data in files]
        refused = []
        if isinstance(linked, bytes):
            brought.append((link, linked, link))
        elif linked is not None:
            refused.append(translated(linked))
        for name, data, url in brought:
            try:
                self._writing.upload_picture(seat, token, data, url)
            except VoterError as error:
                refused.append(f"{name[:80]}: {translated(error)}")
            else:
                typed["link"] = "" if url else typed.get("link", "")
        if refused:
            raise DraftError("{}", " ".join(refused))
        return bool(files or linked or typed.get("act") == "bring")

    def go_to_seat(self, campaign: str = "", seat: str = "") -> Response:
        """Redirects a person who opens the address of a sent form to their seat."""
        path = f"/c/{campaign}/{seat}" if self.pages.campaigns.has(campaign) else "/"
        return RedirectResponse(path, status_code=303, headers=NO_STORE)


def form_routes(pages: CampaignPages, writing: Writing) -> APIRouter:
    """Returns the routes of writers' forms. They come before those of campaigns."""
    router = APIRouter()
    handlers = _WritingRoutes(pages, writing)
    router.add_api_route(FORM, handlers.take_form, methods=["POST"])
    router.add_api_route(FORM, handlers.go_to_seat, methods=["GET"])
    return router
