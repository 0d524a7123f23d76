"""Writing: what a seat of a project is given next, and what it gives. `web` shows it.

A link that a writer gives is asked by the event loop: its server may take any time, and holds no thread meanwhile.
Every `token` is one of a claim that `next` returned. What is refused raises DraftError and leaves the claim as it was.
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
    names_answer,
    similar_pictures,
    similar_texts,
    written,
)
from arena.authoring.choices import LETTERS, drawn
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
from arena.authoring.kinds import Step
from arena.authoring.spec import LICENCES, FamilySpec, Licence, ProjectSpec, project_of_seat
from arena.authoring.state import DraftState
from arena.authoring.store import BroughtPicture, Claim, Draft, DraftStore
from arena.io.fetch import Fetcher, FetchError
from arena.io.images import PictureError, PictureStore, difference_hash, read_picture
from arena.seats.campaigns import Campaign
from arena.seats.seats import Seat
from arena.seats.task import SeatProgress
from arena.seats.times import MeasuredTimes
from arena.storage import disk_errors, no_room

FETCHES = 2
"""Links that are asked at once, each for 25 MB at most."""
QUESTION_FAULTS: tuple[Fault, ...] = ("instruction", "picture", "harm")
"""What can be wrong with a question in the eyes of who answers it."""
DECODES = 2
"""Pictures that are decoded at one time: one may take 400 MB."""


class OpenStep(NamedTuple):
    """A step of a draft that a seat holds."""

    claim: Claim
    draft: Draft
    family: FamilySpec


class OfferedPicture(NamedTuple):
    """A picture that an author chose among those brought, by its hash, with its credit."""

    sha256: str
    credit: Credit


class Writing:
    """What seats of one database's projects do."""

    def __init__(self, store: DraftStore, pictures: PictureStore) -> None:
        self.store = store
        self.pictures = pictures
        self._fetcher = Fetcher()
        self._fetches = BoundedSemaphore(FETCHES)
        self._decodes = BoundedSemaphore(DECODES)
        self._times = MeasuredTimes(lambda campaign: step_seconds(store.drafts(campaign)))

    def progress(self, seat: Seat) -> SeatProgress:
        return self.store.given(seat)

    def waits(self, seat: Seat) -> bool:
        return self.store.waits(seat)

    def whole_seconds(self, campaign: Campaign) -> float | None:
        """How long a seat's steps usually take; None where nothing is known."""
        seconds = self._times.of(campaign)
        return None if seconds is None else seconds * campaign.spec.seat.votes

    def next(self, seat: Seat) -> OpenStep | None:
        """The step that a seat holds, or a new one; None if there is nothing for this person now."""
        claim = self.store.draw(seat)
        return self.step(seat, claim.token) if claim else None

    def step(self, seat: Seat, token: str) -> OpenStep:
        """The step that a seat holds under this token. Raises DraftError."""
        claim, draft = self.store.mine(seat, token)
        family = project_of_seat(seat).by_name.get(draft.family) or FamilySpec(name=draft.family)
        return OpenStep(claim, draft, family)

    def _at(self, seat: Seat, token: str, *steps: Step) -> OpenStep:
        found = self.step(seat, token)
        if found.claim.step not in steps:
            raise DraftError("This item is at another step. Open the page again.")
        return found

    # Instruction

    def upload_picture(self, seat: Seat, token: str, data: bytes, url: str = "") -> BroughtPicture:
        """Keep a picture for the instruction that a seat writes: re-encoded, without what a camera noted in it."""
        self._check_brings(seat, token)
        if full := no_room(self.pictures.folder):
            raise DraftError(full)
        try:
            with self._decodes:
                picture = read_picture(data)
        except PictureError as error:
            raise DraftError(error.sentence, *error.values) from error
        with disk_errors(DraftError):
            self.pictures.keep(picture)
        brought = BroughtPicture(picture.sha256, picture.suffix, url, difference_hash(picture))
        self.store.bring_picture(seat, token, brought)
        return brought

    async def fetched(self, seat: Seat, token: str, url: str) -> bytes:
        """The picture at a public https link, for the instruction that a seat writes; few at once."""
        await asyncio.to_thread(self._check_brings, seat, token)
        if not self._fetches.acquire(blocking=False):
            raise DraftError(
                "Other links are being asked for their pictures. Try again in half a minute."
            )
        try:
            return await self._fetcher.fetch(url)
        except FetchError as error:
            raise DraftError("The picture was not fetched: {}.", str(error)) from error
        finally:
            self._fetches.release()

    def _check_brings(self, seat: Seat, token: str) -> None:
        self.store.check_brings(seat, self._at(seat, token, "instruction").draft.id)

    def brought(self, seat: Seat, token: str) -> list[BroughtPicture]:
        """The pictures that a seat has brought for the instruction that it writes."""
        return self.store.brought(seat, self._at(seat, token, "instruction").draft.id)

    def instruction(
        self,
        seat: Seat,
        token: str,
        text: str,
        offered: Sequence[OfferedPicture],
        answer: str = "",
        wrong: Sequence[str] = (),
    ) -> Instruction:
        """An instruction as it would be stored, with what its author is to be warned of first. Raises DraftError.

        `wrong`: of a multiple-choice question, the answers beside the right one.
        """
        draft = self._at(seat, token, "instruction").draft
        spec = project_of_seat(seat)
        noun = "question" if spec.is_choice else "instruction"
        text = written(
            "question" if spec.is_choice else "text of the instruction", text, "instruction"
        )
        options: tuple[str, ...] = ()
        if spec.is_choice:
            choices = check_options(answer, wrong)
            warned_of = [] if all(names_answer(text, one) for one in choices) else choices[:1]
            options, answer = drawn(choices[0], choices[1:])
        else:
            answer = written("text of the answer", answer, "answer") if answer.strip() else ""
            warned_of = [answer]
        brought = {one.sha256: one for one in self.store.brought(seat, draft.id)}
        _check_offered(offered, brought, spec)
        kept = [brought[one.sha256] for one in offered]
        pictures = tuple(
            ItemPicture(sha256=of.sha256, suffix=of.suffix, url=of.url, credit=one.credit)
            for of, one in zip(kept, offered, strict=True)
        )
        alike = similar_pictures([one.hash for one in kept], self.store.picture_hashes(draft.id))
        warnings = [
            f"Picture {number} looks like one of item {drafts[0]}."
            for number, drafts in alike.items()
        ]
        others = (
            one.state.instruction for one in self.store.drafts(seat.campaign) if one.id != draft.id
        )
        if found := similar_texts(text, (one.text for one in others if one)):
            # as a browser sends it back, whatever line ends it has
            line = " ".join(found[0].split())
            warnings.append(f"The {noun} is nearly that of another item: {line[:200]}")
        if any(names_answer(text, one) for one in warned_of):
            warnings.append(f"The {noun} has all the words of its answer, so that it tells it.")
        return Instruction(
            text=text, pictures=pictures, answer=answer, options=options, warnings=tuple(warnings)
        )

    def write(self, seat: Seat, token: str, instruction: Instruction) -> None:
        """Store what `instruction` returned, whether or not it warns. Raises DraftError."""
        self.store.give(seat, token, instruction)

    # Caption, answer, verification

    def caption(self, seat: Seat, token: str, texts: Sequence[str]) -> int:
        """Store a caption for each picture; return the draft, which a model may answer now. Raises DraftError."""
        draft = self._at(seat, token, "caption").draft
        instruction = draft.state.instruction
        assert instruction
        if len(texts) != len(instruction.pictures):
            raise DraftError(
                "There are {} captions for {} pictures.", len(texts), len(instruction.pictures)
            )
        captions = [
            check_caption(number, text, instruction.answer) for number, text in enumerate(texts, 1)
        ]
        self.store.give(seat, token, Captions(texts=tuple(captions)))
        return draft.id

    def answer(self, seat: Seat, token: str, text: str) -> None:
        """Store a person's answer. Raises DraftError."""
        self._at(seat, token, "answer")
        self.store.give(
            seat, token, DraftAnswer(text=written("text of the answer", text, "answer"))
        )

    def verify(
        self, seat: Seat, token: str, said: str, note: str = "", blind: bool | None = None
    ) -> None:
        """Store a verdict, or of a question the chosen letter or what is wrong with it. Raises DraftError.

        `blind`: whether the blind answer is correct too, where there is one that people read.
        """
        state = self._at(seat, token, "verify").draft.state
        note = written("text of the note", note, "note") if note.strip() else ""
        if project_of_seat(seat).is_choice:
            verdict = _answered(state, said, note)
        else:
            verdict = _verified(state, said, note, blind)
        self.store.give(seat, token, verdict)

    def skip(self, seat: Seat, token: str, reason: str = "") -> None:
        """Leave a draft to others, for good. Raises DraftError."""
        self.store.give(seat, token, Pass(reason=reason[:200]))


def _check_offered(
    offered: Sequence[OfferedPicture], brought: Mapping[str, BroughtPicture], spec: ProjectSpec
) -> None:
    """Raise DraftError for too many pictures or none, and for those that may not be used."""
    most = spec.item_kind.most_pictures
    if not 1 <= len({one.sha256 for one in offered}) == len(offered) <= most:
        if most == 1:
            raise DraftError(
                "A question has one picture, not {}. Bring one, or untick the others.",
                len(offered),
            )
        raise DraftError("An item has 1 to {} different pictures, not {}.", most, len(offered))
    for number, one in enumerate(offered, 1):
        if one.sha256 not in brought:
            raise DraftError("Picture {} is none that you brought; choose its file again.", number)
        check_credit(number, one.credit, spec)


def _verified(state: DraftState, said: str, note: str, blind: bool | None) -> Verification:
    """What a verifier says of an answer. Raises DraftError."""
    judged: Judged | None = next((one for one in JUDGED if one == said != "not told"), None)
    if judged is None:
        raise DraftError("Say whether the answer is correct, or where the fault is.")
    if state.blind and judged == "correct" and blind is None:
        raise DraftError(
            "Say whether the answer that was given without the picture is correct too."
        )
    return Verification(said=judged, note=note, blind_correct=blind if state.blind else None)


def _answered(state: DraftState, said: str, note: str) -> Verification:
    """What somebody who has not seen the right letter says of a question. Raises DraftError."""
    assert state.instruction
    if said in LETTERS[: len(state.instruction.options)] and len(said) == 1:
        is_right = said == state.instruction.answer
        return Verification(said="correct" if is_right else "answer", note=note, chosen=said)
    fault: Fault | None = next((one for one in QUESTION_FAULTS if one == said), None)
    if fault is None:
        raise DraftError("Choose an answer, or say what is wrong with the question.")
    return Verification(said=fault, note=note)


def credit_of(form: Mapping[str, str]) -> Credit:
    """A credit out of a form's source, creator, licence and statement; a licence that is not known is none."""
    licence: Licence | None = next((one for one in LICENCES if one == form.get("licence")), None)
    source, creator, statement = (
        form.get(name, "").strip() for name in ("source", "creator", "statement")
    )
    return Credit(source=source, creator=creator, licence=licence, statement=statement)
