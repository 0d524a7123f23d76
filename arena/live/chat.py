"""Chat: one visitor's conversation with one named model about images; nothing of it is stored or rated."""

import asyncio
import secrets
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import NamedTuple

from arena.battles.lending import Lending
from arena.budget import Budget
from arena.database import Database, DatabaseError
from arena.inference.limits import check_limits
from arena.live.images import MOST_IMAGES, OwnImages
from arena.live.queue import ElsewhereError, GenerationQueue, GenerationTask, LiveBudget, LiveError
from arena.live.sessions import checked_text, conversation
from arena.live.streaming import SideBySide
from arena.types import VLM, ModelError

MOST_CHATS = 500
"""Conversations kept in memory; the least recently used of the network that has the most of them goes."""
MOST_QUESTIONS = 20
FAILED = "The model failed; nothing was added to the conversation. Please ask again."


class UnknownChatError(LookupError):
    """No such conversation for this visitor; a lost one and another visitor's read the same."""

    def __init__(self) -> None:
        super().__init__("This conversation is not yours or is no longer here. Begin a new one.")


class ChatTurn(NamedTuple):
    """A question and its answer; a stopped answer holds the part shown so far."""

    question: str
    answer: str
    stopped: bool = False


@dataclass(eq=False)
class ChatSession:
    """A conversation of one visitor with one model."""

    token: str
    voter: int
    vlm: VLM
    images: tuple[str, ...]
    live_budget: LiveBudget
    network: str | None = None
    said: list[ChatTurn] = field(default_factory=list)
    asked: str | None = None
    """The question being answered."""
    problem: str | None = None
    """Why the last question has no answer, if so."""
    generation: GenerationTask | None = None


class ChatState(NamedTuple):
    """The current state of a conversation for a page."""

    session: ChatSession
    growing: bool
    ahead: int
    text: str
    """The words after those already shown."""
    choosable: bool = False


class Chats:
    """The conversations of this process."""

    def __init__(
        self,
        vlms: Sequence[VLM],
        database: Database,
        images: OwnImages,
        budget: Budget,
        lending: Lending,
        queue: GenerationQueue,
        most: int = MOST_CHATS,
    ) -> None:
        self.vlms = {vlm.card.name: vlm for vlm in vlms}
        self._database, self._images, self._queue = database, images, queue
        self._budget, self._lending, self._most = budget, lending, most
        self._sessions: OrderedDict[int, ChatSession] = OrderedDict()
        """By visitor; one each."""

    async def begin(
        self, voter: int, model: str, text: str, images: tuple[str, ...], network: str | None = None
    ) -> ChatSession:
        """Begin a conversation with a model by its name; an earlier one ends.

        Raises LiveError, NotLentError, OwnImageError.
        """
        vlm = self.vlms.get(model)
        if vlm is None:
            raise LiveError("There is no model named {!r} here; choose another", model[:80])
        if len(images) > MOST_IMAGES:
            raise LiveError("A conversation takes at most {} images, these are {}", MOST_IMAGES, len(images))
        token = secrets.token_urlsafe(16)
        payer = await asyncio.to_thread(self._lending.to_voter, voter, network) if vlm.card.price else None
        session = ChatSession(token, voter, vlm, images, LiveBudget(self._budget, token, voter, payer), network)
        generation = await self._ask(session, text)
        try:
            await asyncio.to_thread(self._database.hold, _held(voter, token))
        except DatabaseError:
            await generation.stop()
            raise
        ended = [self._sessions.pop(voter)] if voter in self._sessions else []
        self._sessions[voter] = session
        if len(self._sessions) > self._most:
            ended.append(self._sessions.pop(self._crowded()))
        for other in ended:
            if other.generation is not None:
                await other.generation.stop()
            unused = [image for image in other.images if image not in images]
            await asyncio.to_thread(self._images.discard, other.voter, unused)
            await asyncio.to_thread(self._database.release, _held(other.voter, other.token))
        return session

    def _crowded(self) -> int:
        """The visitor whose conversation makes room: of the network that has the most, so that none ends all others."""
        networks = Counter(session.network for session in self._sessions.values())
        crowd, _ = networks.most_common(1)[0]
        return next(voter for voter, session in self._sessions.items() if session.network == crowd)

    async def find(self, voter: int, token: str) -> ChatSession:
        """A conversation of this visitor. Raises UnknownChatError, ElsewhereError, DatabaseError."""
        session = self._sessions.get(voter)
        if session is None or not secrets.compare_digest(session.token.encode(), token.encode()):
            elsewhere = await asyncio.to_thread(self._database.is_held_elsewhere, _held(voter, token))
            raise ElsewhereError if elsewhere else UnknownChatError
        self._sessions.move_to_end(voter)
        return session

    async def follow(self, voter: int, token: str, text: str) -> ChatSession:
        session = await self.find(voter, token)
        await self._ask(session, text)
        return session

    async def stop(self, voter: int, token: str) -> ChatSession:
        session = await self.find(voter, token)
        if session.generation is not None:
            await session.generation.stop()
        return session

    async def watch(self, voter: int, token: str) -> AsyncIterator[ChatState]:
        """Yield the state of a conversation at each change; the last state is not growing."""
        session = await self.find(voter, token)
        if (generation := session.generation) is not None:
            async with aclosing(generation.watch()) as new_words:
                async for texts in new_words:
                    yield ChatState(session, True, self._queue.ahead(generation), texts["a"])
        yield ChatState(session, False, 0, "")

    async def _ask(self, session: ChatSession, text: str) -> GenerationTask:
        question = checked_text(text)
        await self._queue.check_room(session.network)
        if session.asked is not None:
            raise LiveError("The answer is still coming; ask when it has ended, or press Stop")
        if len(session.said) >= MOST_QUESTIONS:
            raise LiveError("A conversation has at most {} questions; begin a new one", MOST_QUESTIONS)
        session.asked = question  # at once: the next two lines wait
        try:
            files = await asyncio.to_thread(self._images.files, session.voter, session.images)
            turns = conversation([(turn.question, turn.answer) for turn in session.said], question, files)
            check_limits(session.vlm.card, turns)
        except ModelError as error:
            session.asked = None
            raise LiveError("This cannot be asked: {}", error) from error
        except BaseException:
            session.asked = None
            raise

        async def finish(ended: SideBySide) -> None:
            answer = ended.side_texts["a"].text
            session.problem = None
            if ended.ending == "void" or not answer:
                why = FAILED if ended.failures else "Stopped before the first word."
                session.problem = session.live_budget.empty or why
            else:
                session.said.append(ChatTurn(question, answer, ended.ending == "stopped"))
            session.asked = session.generation = None

        side_by_side = SideBySide({"a": session.vlm}, lambda _, vlm: session.live_budget.stream_answer(vlm, turns))
        session.generation = GenerationTask(self._queue, side_by_side, finish, session.network)
        return session.generation


def _held(voter: int, token: str) -> str:
    return f"chat {voter} {token}"
