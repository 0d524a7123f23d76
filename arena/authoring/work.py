"""Writing: the next step for a seat of a project, and the seat's work. `web` shows it.

A writer's link is fetched on the event loop, so that a slow server holds no thread. Every `token` is that of a claim
from `next`. Refused input raises DraftError and leaves the claim unchanged.
"""

import asyncio
from collections.abc import Mapping, Sequence
from threading import BoundedSemaphore
from typing import NamedTuple

from arena.authoring.board import step_seconds
from arena.authoring.checks import (
    DraftError,
    check_caption,
    check_credit,
    check_options,
    check_text,
    names_answer,
    similar_pictures,
    similar_texts,
)
from arena.authoring.choices import LETTERS, shuffle_options
from arena.authoring.events import (
    JUDGED,
    Captions,
    Credit,
    DraftAnswer,
    Fault,
    Instruction,
    ItemPicture,
    Judged,
    Pass,
    Verification,
)
from arena.authoring.spec import LICENCES, FamilySpec, Licence, ProjectSpec, Step, project_of_seat
from arena.authoring.state import DraftState
from arena.authoring.store import BroughtPicture, Claim, Draft, DraftStore
from arena.io.fetch import Fetcher, FetchError
from arena.io.images import PictureError, PictureStore, difference_hash, read_picture
from arena.seats.campaigns import Campaign
from arena.seats.seats import Seat
from arena.seats.task import MeasuredTimes, SeatProgress
from arena.storage import disk_errors, no_room

MOST_FETCHES = 2
"""The most links that are fetched at the same time; each may have 25 MB."""
QUESTION_FAULTS: tuple[Fault, ...] = ("instruction", "picture", "harm")
"""The faults that a person who answers a question can report."""
MOST_DECODES = 2
"""The most pictures that are decoded at the same time: one may take 400 MB."""


class OpenStep(NamedTuple):
    """A step of a draft that a seat holds."""

    claim: Claim
    draft: Draft
    family: FamilySpec


class OfferedPicture(NamedTuple):
    """A picture that an author chose among the brought ones, by its hash, with its credit."""

    sha256: str
    credit: Credit


class Writing:
    """The work of seats in one database's projects."""

    def __init__(self, store: DraftStore, pictures: PictureStore) -> None:
        self.store = store
        self.pictures = pictures
        self._fetcher = Fetcher()
        self._fetch_places = BoundedSemaphore(MOST_FETCHES)
        self._decode_places = BoundedSemaphore(MOST_DECODES)
        self._times = MeasuredTimes(lambda campaign: step_seconds(store.drafts(campaign)))

    def progress(self, seat: Seat) -> SeatProgress:
        return self.store.progress(seat)

    def waits(self, seat: Seat) -> bool:
        return self.store.waits(seat)

    def whole_seconds(self, campaign: Campaign) -> float | None:
        """Returns the usual seconds of all of a seat's steps; None if there is nothing to measure."""
        seconds = self._times.seconds(campaign)
        return None if seconds is None else seconds * campaign.spec.seat.votes

    def next(self, seat: Seat) -> OpenStep | None:
        """Returns the step that a seat holds, or a new one; None if there is nothing for this person now."""
        claim = self.store.draw(seat)
        return self.step(seat, claim.token) if claim else None

    def step(self, seat: Seat, token: str) -> OpenStep:
        """Returns the step that a seat holds under this token. Raises DraftError."""
        held = self.store.held_draft(seat, token)
        name = held.draft.family
        # A project may have drafts of families that its spec lacks, as in `board.family_rows`.
        family = project_of_seat(seat).by_name.get(name) or FamilySpec(name=name)
        return OpenStep(held.claim, held.draft, family)

    def _step_at(self, seat: Seat, token: str, expected: Step) -> OpenStep:
        """Returns the step that a seat holds, which must be the expected one. Raises DraftError."""
        held = self.step(seat, token)
        if held.claim.step != expected:
            raise DraftError("This item has moved to another step. Open the page again.")
        return held

    # Instruction

    def upload_picture(self, seat: Seat, token: str, data: bytes, url: str = "") -> BroughtPicture:
        """Stores a picture for the instruction that a seat writes, re-encoded and without camera metadata.

        `url`: the address that it was fetched from. Raises DraftError.
        """
        self._check_brought(seat, token)
        if full := no_room(self.pictures.folder):
            raise DraftError(full)
        try:
            with self._decode_places:
                picture = read_picture(data)
        except PictureError as error:
            raise DraftError(error.sentence, *error.values) from error
        with disk_errors(DraftError):
            self.pictures.keep(picture)
        brought = BroughtPicture(picture.sha256, picture.suffix, url, difference_hash(picture))
        self.store.bring_picture(seat, token, brought)
        return brought

    async def fetch_picture(self, seat: Seat, token: str, url: str) -> bytes:
        """Returns the bytes at a public https link, for the instruction that a seat writes.

        Raises DraftError, also while others are being fetched.
        """
        await asyncio.to_thread(self._check_brought, seat, token)
        if not self._fetch_places.acquire(blocking=False):
            raise DraftError(
                "Pictures are being fetched from other links. Try again in half a minute."
            )
        try:
            return await self._fetcher.fetch(url)
        except FetchError as error:
            raise DraftError("The picture wasn't fetched: {}.", str(error)) from error
        finally:
            self._fetch_places.release()

    def _check_brought(self, seat: Seat, token: str) -> None:
        """Raises DraftError unless the seat writes an instruction and may bring one more picture for it."""
        self.store.check_brought(seat, self._step_at(seat, token, "instruction").draft.id)

    def brought_pictures(self, seat: Seat, token: str) -> list[BroughtPicture]:
        """Returns the pictures that a seat has brought for the instruction that it writes."""
        return self.store.brought_pictures(seat, self._step_at(seat, token, "instruction").draft.id)

    def check_instruction(
        self,
        seat: Seat,
        token: str,
        text: str,
        offers: Sequence[OfferedPicture],
        answer: str = "",
        wrong: Sequence[str] = (),
    ) -> Instruction:
        """Returns an instruction as it would be stored, with warnings for its author. Raises DraftError.

        `wrong`: the wrong answers of a multiple-choice question.
        """
        draft = self._step_at(seat, token, "instruction").draft
        spec = project_of_seat(seat)
        noun = "question" if spec.is_choice else "instruction"
        field = "question" if spec.is_choice else "text of the instruction"
        text = check_text(field, text, "instruction")
        options: tuple[str, ...] = ()
        if spec.is_choice:
            choices = check_options(answer, wrong)
            # A question that names all its options gives none away.
            names_all = all(names_answer(text, choice) for choice in choices)
            gives_answer_away = not names_all and names_answer(text, choices[0])
            shuffled = shuffle_options(choices[0], choices[1:])
            options = shuffled.options
            answer = shuffled.right_letter
        else:
            answer = check_text("text of the answer", answer, "answer") if answer.strip() else ""
            gives_answer_away = names_answer(text, answer)
        brought = {
            picture.sha256: picture for picture in self.store.brought_pictures(seat, draft.id)
        }
        _check_offered(offers, brought, spec)
        chosen = [brought[offer.sha256] for offer in offers]
        pictures = tuple(
            ItemPicture(
                sha256=picture.sha256,
                suffix=picture.suffix,
                url=picture.url,
                credit=offer.credit,
            )
            for picture, offer in zip(chosen, offers, strict=True)
        )
        warnings = self._similar_items(seat.campaign, draft, noun, text, chosen)
        if gives_answer_away:
            warnings.append(
                f"The {noun} has all the words of its answer, so it gives the answer away."
            )
        return Instruction(
            text=text, pictures=pictures, answer=answer, options=options, warnings=tuple(warnings)
        )

    def _similar_items(
        self,
        campaign: Campaign,
        draft: Draft,
        noun: str,
        text: str,
        pictures: Sequence[BroughtPicture],
    ) -> list[str]:
        """Returns warnings of items with similar pictures or a similar text, which `noun` names."""
        hashes = [picture.hash for picture in pictures]
        drafts_by_picture = similar_pictures(hashes, self.store.other_picture_hashes(draft.id))
        warnings = [
            f"Picture {number} looks like one in item {drafts[0]}."
            for number, drafts in drafts_by_picture.items()
        ]
        others = [other for other in self.store.drafts(campaign) if other.id != draft.id]
        instructions = [other.state.instruction for other in others]
        texts = similar_texts(text, (written.text for written in instructions if written))
        if texts:
            # Joined to one line, since a browser may send it back with other line ends.
            line = " ".join(texts[0].split())
            warnings.append(f"The {noun} is almost the same as in another item: {line[:200]}")
        return warnings

    def write(self, seat: Seat, token: str, instruction: Instruction) -> None:
        """Stores the result of `check_instruction`, even with warnings. Raises DraftError."""
        self.store.give(seat, token, instruction)

    # Caption, answer, verification

    def caption(self, seat: Seat, token: str, texts: Sequence[str]) -> int:
        """Stores a caption for each picture; returns the draft's id, for a model that may answer now.

        Raises DraftError.
        """
        draft = self._step_at(seat, token, "caption").draft
        instruction = draft.state.instruction
        assert instruction
        if len(texts) != len(instruction.pictures):
            raise DraftError(
                "There are {} captions for {} pictures. Write one for each.",
                len(texts),
                len(instruction.pictures),
            )
        captions = [
            check_caption(number, text, instruction.answer) for number, text in enumerate(texts, 1)
        ]
        self.store.give(seat, token, Captions(texts=tuple(captions)))
        return draft.id

    def answer(self, seat: Seat, token: str, text: str) -> None:
        """Stores a person's answer. Raises DraftError."""
        self._step_at(seat, token, "answer")
        self.store.give(
            seat, token, DraftAnswer(text=check_text("text of the answer", text, "answer"))
        )

    def verify(
        self, seat: Seat, token: str, value: str, note: str = "", blind: bool | None = None
    ) -> None:
        """Stores a verdict: a judgement of an answer, or the chosen letter or the fault of a question. Raises
        DraftError.

        `blind`: whether the blind answer is correct too, if people were shown one.
        """
        state = self._step_at(seat, token, "verify").draft.state
        note = check_text("text of the note", note, "note") if note.strip() else ""
        if project_of_seat(seat).is_choice:
            verdict = _question_verdict(state, value, note)
        else:
            verdict = _answer_verdict(state, value, note, blind)
        self.store.give(seat, token, verdict)

    def skip(self, seat: Seat, token: str, reason: str = "") -> None:
        """Leaves a draft to others, for good. Raises DraftError."""
        self.store.give(seat, token, Pass(reason=reason[:200]))


def _check_offered(
    offers: Sequence[OfferedPicture], brought: Mapping[str, BroughtPicture], spec: ProjectSpec
) -> None:
    """Raises DraftError for too many pictures or none, and for pictures that may not be used."""
    most = spec.item_kind.most_pictures
    has_twins = len({offer.sha256 for offer in offers}) < len(offers)
    if not offers or len(offers) > most or has_twins:
        if most == 1:
            raise DraftError(
                "A question has one picture, not {}. Add one, or untick the others.",
                len(offers),
            )
        raise DraftError(
            "An item needs 1 to {} different pictures, and this has {}. Add or remove some.",
            most,
            len(offers),
        )
    for number, offer in enumerate(offers, 1):
        if offer.sha256 not in brought:
            raise DraftError("Picture {} isn't one that you added. Choose its file again.", number)
        check_credit(number, offer.credit, spec)


def _answer_verdict(state: DraftState, value: str, note: str, blind: bool | None) -> Verification:
    """Returns a verifier's verdict on an answer. Raises DraftError."""
    judgement = _judgement(value)
    # Only VisIT-Bench's file has an item without a reason.
    if judgement is None or judgement == "not told":
        raise DraftError("Say whether the answer is correct, or what's wrong.")
    if state.blind and judgement == "correct" and blind is None:
        raise DraftError("Say whether the answer given without the picture is also correct.")
    return Verification(said=judgement, note=note, blind_correct=blind if state.blind else None)


def _judgement(value: str) -> Judged | None:
    # A loop, since a type checker then knows the value as one of them.
    for judgement in JUDGED:
        if judgement == value:
            return judgement
    return None


def _question_verdict(state: DraftState, value: str, note: str) -> Verification:
    """Returns the verdict on a question of a person who doesn't know the right letter. Raises DraftError."""
    assert state.instruction
    # A list, since "" and "AB" are in the text "ABC" too.
    letters = list(LETTERS[: len(state.instruction.options)])
    if value in letters:
        is_right = value == state.instruction.answer
        return Verification(said="correct" if is_right else "answer", note=note, chosen=value)
    for fault in QUESTION_FAULTS:
        if fault == value:
            return Verification(said=fault, note=note)
    raise DraftError("Choose an answer, or say what's wrong with the question.")


def credit_of(form: Mapping[str, str]) -> Credit:
    """Returns the credit in a form's source, creator, licence and statement; an unknown licence becomes None."""
    return Credit(
        source=form.get("source", "").strip(),
        creator=form.get("creator", "").strip(),
        licence=_licence(form.get("licence")),
        statement=form.get("statement", "").strip(),
    )


def _licence(value: str | None) -> Licence | None:
    # A loop, as in `_judgement`.
    for licence in LICENCES:
        if licence == value:
            return licence
    return None
