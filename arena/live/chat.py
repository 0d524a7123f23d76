"""Chat: one visitor's conversation with one named model about images; nothing of it is stored or rated."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from arena.budget import Budget
from arena.inference.limits import check_limits
from arena.live.images import MOST_IMAGES, OwnImages
from arena.live.queue import GenerationQueue, GenerationTask, LiveBudget, LiveError
from arena.live.sessions import checked_text
from arena.live.streaming import SideBySide
from arena.types import VLM, ModelError, Turn

MOST_TALKS = 500
"""Conversations kept in memory; the least recently used goes."""
MOST_QUESTIONS = 20
"""Questions of one conversation."""
FAILED = "The model failed; nothing was added to the conversation. Please ask again."


class UnknownTalkError(LookupError):
    """No such conversation for this visitor; a lost one and another visitor's read the same."""

    def __init__(self) -> None:
        super().__init__("This conversation is not yours or is no longer here. Begin a new one.")


class Said(NamedTuple):
    """A question and its answer; a stopped answer holds the part shown so far."""

    question: str
    answer: str
    stopped: bool = False


@dataclass(eq=False)
class Talk:
    """A conversation of one visitor with one model."""

    token: str
    voter: int
    vlm: VLM
    images: tuple[str, ...]
    live_budget: LiveBudget
    said: list[Said] = field(default_factory=list)
    asked: str | None = None
    """The question being answered."""
    problem: str | None = None
    """Why the last question has no answer, if so."""
    generation: GenerationTask | None = None


class ChatState(NamedTuple):
    """The current state of a conversation for a page."""

    talk: Talk
    growing: bool
    ahead: int
    text: str
    """The words after those already shown."""


class Chats:
    """The conversations of this process."""

    def __init__(self, vlms: Sequence[VLM], images: OwnImages, budget: Budget, queue: GenerationQueue) -> None:
        self.vlms = {vlm.card.name: vlm for vlm in vlms}
        self._images = images
        self._budget = budget
        self._queue = queue
        self._talks: OrderedDict[int, Talk] = OrderedDict()
        """By visitor; one each."""

    async def begin(self, voter: int, model: str, text: str, images: tuple[str, ...]) -> Talk:
        """Begin a conversation with a model by its name; an earlier one ends and its images are deleted.

        Raises LiveError, OwnImageError, DatabaseError.
        """
        vlm = self.vlms.get(model)
        if vlm is None:
            raise LiveError(f"There is no model named {model[:80]!r} here; choose another")
        if len(images) > MOST_IMAGES:
            raise LiveError(f"A conversation takes at most {MOST_IMAGES} images, these are {len(images)}")
        token = secrets.token_urlsafe(16)
        talk = Talk(token, voter, vlm, images, LiveBudget(self._budget, token, voter))
        await self._ask(talk, text)
        before = self._talks.pop(voter, None)
        self._talks[voter] = talk
        ended = [before] if before else []
        if len(self._talks) > MOST_TALKS:
            ended.append(self._talks.popitem(last=False)[1])
        for other in ended:
            await self._end(other, but=images)
        return talk

    def find(self, voter: int, token: str) -> Talk:
        talk = self._talks.get(voter)
        if talk is None or not secrets.compare_digest(talk.token.encode(), token.encode()):
            raise UnknownTalkError
        self._talks.move_to_end(voter)
        return talk

    async def follow(self, voter: int, token: str, text: str) -> Talk:
        talk = self.find(voter, token)
        await self._ask(talk, text)
        return talk

    async def stop(self, voter: int, token: str) -> Talk:
        talk = self.find(voter, token)
        if talk.generation is not None:
            await talk.generation.stop()
        return talk

    async def watch(self, voter: int, token: str) -> AsyncIterator[ChatState]:
        """Yield the state of a conversation at each change; the last state is not growing."""
        talk = self.find(voter, token)
        if (generation := talk.generation) is not None:
            with generation.watched():
                seen, words = -1, 0
                while not generation.over:
                    side_text = generation.round.side_texts["a"]
                    text, words = side_text.since(words), side_text.shown
                    yield ChatState(talk, True, generation.ahead, text)
                    seen = await generation.changed(seen)
        yield ChatState(talk, False, 0, "")

    async def _ask(self, talk: Talk, text: str) -> None:
        question = checked_text(text)
        await self._queue.check_room()
        if talk.asked is not None:
            raise LiveError("The answer is still coming; ask when it has ended, or press Stop")
        if len(talk.said) >= MOST_QUESTIONS:
            raise LiveError(f"A conversation has at most {MOST_QUESTIONS} questions; begin a new one")
        talk.asked = question  # at once: the next two lines wait
        try:
            files = await asyncio.to_thread(self._images.files, talk.voter, talk.images)
            turns = _conversation(talk, files)
            check_limits(talk.vlm.card, turns)
        except ModelError as error:
            talk.asked = None
            raise LiveError(f"This cannot be asked: {error}") from error
        except BaseException:
            talk.asked = None
            raise

        async def finish(ended: SideBySide) -> None:
            answer = ended.side_texts["a"].text
            talk.problem = None
            if ended.ending == "void" or not answer:
                talk.problem = talk.live_budget.empty or (
                    FAILED if ended.failures else "Stopped before the first word."
                )
            else:
                talk.said.append(Said(question, answer, ended.ending == "stopped"))
            talk.asked = talk.generation = None

        talk.generation = GenerationTask(
            self._queue, SideBySide({"a": talk.vlm}, lambda _, vlm: talk.live_budget.stream_answer(vlm, turns)), finish
        )

    async def _end(self, talk: Talk, but: tuple[str, ...]) -> None:
        if talk.generation is not None:
            await talk.generation.stop()
        await asyncio.to_thread(self._images.discard, talk.voter, [one for one in talk.images if one not in but])


def _conversation(talk: Talk, files: tuple[bytes, ...]) -> list[Turn]:
    turns: list[Turn] = []
    for number, said in enumerate(talk.said):
        turns += [Turn("user", said.question, files if number == 0 else ()), Turn("assistant", said.answer)]
    return [*turns, Turn("user", talk.asked or "", () if talk.said else files)]
