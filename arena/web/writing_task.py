"""Writing task: the pages on which people write an item step by step, and the route of their long forms."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
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
from arena.web.exam_questions import CaptionLengths, SampleQuestion
from arena.web.pictures import ShownPicture, shown_images

HTML = macros("writing.html")
FORM = "/c/~form"
"""The path of writers' forms, which may be long. No campaign can have this name."""
MOST_FORM = 2 * MAX_BYTES
"""The most bytes of a form with its pictures."""
_MOST_FIELDS = 6 * MOST_BROUGHT
"""Five for each picture, and fewer than MOST_BROUGHT others."""
_MOST_VALUE = 20_000
"""The most characters of a field."""
KEYS = {
    "y": "correct",
    "c": "caption",
    "a": "answer",
    "h": "harm",
    "i": "instruction",
    "p": "picture",
}
"""The verdicts on an answer, by the keys that give them."""
_CREDIT_FIELDS = ("source", "creator", "licence", "statement")
"""The fields of a picture's credit, whose names in the form end with the picture's number."""
TEXTS: Mapping[Kind, Sequence[str]] = {
    "captions": ("writing",),
    "multiple choice": ("choices", "writing"),
}
"""The tables of texts for the pages of each kind of items."""
_WRONG_FIELDS = [f"wrong-{number}" for number in range(1, MOST_OPTIONS)]
"""The fields of a question's wrong answers."""


class PictureTerms(NamedTuple):
    """The conditions for the pictures that an author brings."""

    licences: Sequence[str]
    """The licences to choose from."""
    project_licence: str
    """The licence under which the author gives the text."""
    most_pictures: int


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
    on_answerable: Callable[[Campaign, int], None]
    """Called with a campaign and the id of a draft, once a model may answer it."""

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
        return Piece(token=token, html=html, name=token, phase="open")

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
        # An instruction with options is a multiple-choice question, which has no captions.
        if step == "caption" or state.instruction.options:
            return HTML.left(subject)
        if step == "answer":
            return HTML.left(subject, HTML.captions(state.captions, open=True))
        assert state.answer
        return HTML.left(
            subject,
            HTML.answered(state.answer.text),
            HTML.captions(state.captions, open=False),
        )

    def _stored_pictures(self, pictures: Sequence[str]) -> Sequence[ShownPicture]:
        """Returns an operator's pictures by their names in the store."""
        images = []
        for name in pictures:
            sha256, _, suffix = name.partition(".")
            images.append(_image(sha256, suffix))
        return shown_images(images, self.scaled)

    def _pictures(self, instruction: Instruction) -> Sequence[ShownPicture]:
        """Returns the pictures of an instruction that are stored."""
        stored = [picture for picture in instruction.pictures if picture.sha256]
        images = [_image(picture.sha256, picture.suffix) for picture in stored]
        return shown_images(images, self.scaled)

    def dock(
        self, seat: Seat, piece: Piece, action: str, problem: str, typed: Mapping[str, str]
    ) -> str:
        open_step = self.writing.step(seat, piece.token)
        lost = ""
        # The form of an earlier piece: its texts are shown, to be copied.
        if typed.get("piece", piece.token) != piece.token:
            texts = [typed[name] for name in sorted(typed) if _is_text(name)]
            lost = "\n\n".join(text for text in texts if text)
            typed = {}
        notices = HTML.told(problem, typed.get("warned", ""), lost)
        step = open_step.claim.step
        is_marking = step == "verify" and not project_of_seat(seat).is_choice
        return HTML.dock(
            "marking" if is_marking else "writing",
            step,
            _form_address(seat),
            piece.token,
            notices,
            self._fields_html(seat, open_step, typed),
        )

    def _fields_html(self, seat: Seat, open_step: OpenStep, typed: Mapping[str, str]) -> str:
        """Returns the fields of a step's form."""
        spec = project_of_seat(seat)
        draft = open_step.draft
        state = draft.state
        step = open_step.claim.step
        if step == "instruction":
            brought = _brought_rows(self.writing.store.brought_pictures(seat, draft.id), typed)
            terms = PictureTerms(LICENCES, spec.licence, spec.item_kind.most_pictures)
            if spec.is_choice:
                return HTML.question(brought, terms, LONGEST, _WRONG_FIELDS, typed)
            return HTML.instruction(brought, terms, LONGEST, typed)
        if step == "answer":
            text = typed.get("text", "")
            return HTML.answer(text, LONGEST["answer"], _notes(draft), state.failure)
        assert state.instruction
        if step == "caption":
            texts = _captions(len(state.instruction.pictures), typed)
            lengths = CaptionLengths(LEAST_CAPTION, LONGEST["caption"])
            return HTML.caption(texts, lengths, _notes(draft))
        if spec.is_choice:
            options = list(zip(LETTERS, state.instruction.options, strict=False))
            return HTML.choose(options, QUESTION_FAULTS, LONGEST["note"], typed)
        blind_answer = state.blind.text if state.blind else ""
        return HTML.verify(KEYS, blind_answer, LONGEST["note"], typed)

    def take(self, seat: Seat, token: str, form: Mapping[str, str]) -> None:
        open_step = self.writing.step(seat, token)
        step = open_step.claim.step
        if step == "instruction":
            self._take_instruction(seat, token, open_step.draft, form)
        elif step == "caption":
            instruction = open_step.draft.state.instruction
            pictures = instruction.pictures if instruction else ()
            draft_id = self.writing.caption(seat, token, _captions(len(pictures), form))
            self.on_answerable(seat.campaign, draft_id)
        elif step == "answer":
            self.writing.answer(seat, token, form.get("text", ""))
        else:
            # Whether the answer of a model without the pictures is right; None if there is none.
            blind = {"yes": True, "no": False}.get(form.get("blind", ""))
            self.writing.verify(seat, token, form.get("said", ""), form.get("note", ""), blind)

    def _take_instruction(
        self, seat: Seat, token: str, draft: Draft, form: Mapping[str, str]
    ) -> None:
        """Stores an instruction or a question. Raises WarnedError unless the form confirms its warnings."""
        offered = []
        for number, picture in enumerate(self.writing.brought_pictures(seat, token), 1):
            if f"use-{number}" in form:
                credit = {name: form.get(f"{name}-{number}", "") for name in _CREDIT_FIELDS}
                offered.append(OfferedPicture(picture.sha256, credit_of(credit)))
        wrong = [form.get(name, "") for name in _WRONG_FIELDS]
        written = self.writing.check_instruction(
            seat, token, form.get("text", ""), offered, form.get("answer", ""), wrong
        )
        warnings = "\n".join(written.warnings)
        # The page sends the warnings that its author has read back as `sure`.
        if warnings and _with_lf(form.get("sure", "")) != warnings:
            raise WarnedError(written.warnings)
        self.writing.write(seat, token, written)
        if written.options:
            self.on_answerable(seat.campaign, draft.id)

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
        return list(_samples_by_name(seat))

    def exam_question(self, seat: Seat, name: str) -> ExamQuestion | None:
        sample = _samples_by_name(seat).get(name)
        if sample is None:
            return self.battles.exam_question(seat, name)
        subject = HTML.subject(sample.instruction, self._stored_pictures([sample.picture]))
        return SampleQuestion(name, HTML.left(subject), sample, _form_address(seat))


def _samples_by_name(seat: Seat) -> Mapping[str, SampleSpec]:
    return project_of_seat(seat).named_samples


def _image(sha256: str, suffix: str) -> Image:
    """Returns a stored picture without a credit."""
    return Image(sha256=sha256, suffix=suffix, url=None, caption="", credit="", licence="")


def _form_address(seat: Seat) -> str:
    """Returns the address that takes a seat's forms."""
    return f"{FORM}?campaign={seat.campaign.name}&seat={seat.token}"


@dataclass(frozen=True)
class BroughtRow:
    """A picture that an author brought, as a row of the form."""

    number: int
    """The end of its fields' names."""
    picture: BroughtPicture
    is_used: bool
    place: int
    """The number among the used pictures, from 1; of an unused picture, the number of those before it."""
    values: Mapping[str, str]
    """What was typed into the fields of its credit, by `_CREDIT_FIELDS`."""


def _brought_rows(brought: Sequence[BroughtPicture], typed: Mapping[str, str]) -> list[BroughtRow]:
    """Returns the rows of brought pictures. New ones, which the last form didn't show yet, are used."""
    seen = typed.get("seen", "")
    is_number = seen.isascii() and seen.isdecimal() and len(seen) < 4
    seen_count = int(seen) if is_number else 0
    rows = []
    place = 0
    for number, picture in enumerate(brought, 1):
        is_used = number > seen_count or f"use-{number}" in typed
        if is_used:
            place += 1
        values = {name: typed.get(f"{name}-{number}", "") for name in _CREDIT_FIELDS}
        rows.append(BroughtRow(number, picture, is_used, place, values))
    return rows


def _captions(count: int, form: Mapping[str, str]) -> list[str]:
    """Returns the captions in a form for this number of pictures."""
    return [form.get(f"caption-{number}", "") for number in range(1, count + 1)]


def _is_text(name: str) -> bool:
    """Whether a field has a text that its author would miss."""
    return name in ("text", "answer", "note") or name.startswith(("caption-", "wrong-"))


def _notes(draft: Draft) -> list[str]:
    """Returns the verifiers' notes on the draft, for the author who writes it again."""
    return [verdict.note for verdict in draft.state.verdicts if verdict.note]


def _with_lf(text: str) -> str:
    """Returns a form's text with LF: browsers send CRLF."""
    return text.replace("\r\n", "\n")


class _File(NamedTuple):
    """An uploaded file."""

    name: str
    content: bytes


class _WritingRoutes(CampaignRoutes):
    """The handlers of writers' forms."""

    def __init__(self, pages: CampaignPages, writing: Writing) -> None:
        super().__init__(pages)
        self._writing = writing

    async def take_form(self, request: Request, campaign: str = "", seat: str = "") -> Response:
        """Takes a form with its pictures. `campaign`: its name; `seat`: its token."""
        limits = {
            "max_files": MOST_BROUGHT,
            "max_fields": _MOST_FIELDS,
            "max_part_size": 4 * _MOST_VALUE,  # A character has at most four bytes.
        }
        typed: dict[str, str] = {}
        files: list[_File] = []
        try:
            check_charset(request)
            async with request.form(**limits) as form:
                for name, value in form.multi_items():
                    if isinstance(value, str):
                        typed[name] = _with_lf(value[:_MOST_VALUE]).replace("\0", "")
                    elif value.filename:
                        files.append(_File(value.filename, await value.read()))
        except HTTPException as error:
            problem = f"Expected the page's form, with {MOST_BROUGHT} files at most."
            problem += f" Go back: what you wrote is still there. ({error.detail})"
            return PlainTextResponse(problem, status_code=400, headers=NO_STORE)
        linked = await self._linked_picture(campaign, seat, typed)

        def act(seat: Seat) -> str | None:
            self._bring(seat, typed, files, linked)
            if seat.end is None and typed.get("act") == "bring":
                return None
            try:
                return self.pages.do(seat, typed)
            except WarnedError as error:
                typed["warned"] = error.text
                raise

        return await self.respond(campaign, seat, request, typed, act)

    async def _linked_picture(
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
        files: Sequence[_File],
        linked: bytes | VoterError | None,
    ) -> None:
        """Stores the pictures of a form, unless the seat has ended.

        Raises DraftError for those that are refused, once the others are stored.
        `linked`: as `_linked_picture` returns it. The link of a stored picture is removed from `typed`.
        """
        if seat.end is not None:
            return
        token = typed.get("piece", "")
        problems = []
        if isinstance(linked, VoterError):
            problems.append(translated(linked))
        for file in files:
            try:
                self._writing.upload_picture(seat, token, file.content)
            except VoterError as error:
                problems.append(f"{file.name[:80]}: {translated(error)}")
        if isinstance(linked, bytes):
            link = typed["link"].strip()
            try:
                self._writing.upload_picture(seat, token, linked, link)
                typed["link"] = ""
            except VoterError as error:
                problems.append(f"{link[:80]}: {translated(error)}")
        if problems:
            # The problems are translated already, so they are a value and not a sentence to translate.
            raise DraftError("{}", " ".join(problems))

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
