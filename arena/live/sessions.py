"""Live sessions: opening live battles, answers of two unnamed models, and storing the outcome.

Answers in progress are in this process's memory; everything else is read from the database at each step. The caller
identifies the visitor; a battle's token alone opens nothing.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import NamedTuple
from weakref import WeakValueDictionary

from arena.battles.choices import ChoiceError, check_among
from arena.battles.lending import Lending
from arena.battles.quotas import LimitError
from arena.battles.sampling import pair_chances
from arena.battles.vote_table import VoteTable
from arena.budget import Budget
from arena.inference.catalogue import KINDS
from arena.inference.limits import check_limits, cost
from arena.live.credits import LOGIN_OVER, Credits
from arena.live.identity_leaks import names_itself
from arena.live.images import MOST_IMAGES, OwnImageError, OwnImages
from arena.live.models import LiveModels, can_replace, fitting_pairs
from arena.live.queue import ElsewhereError, GenerationQueue, GenerationTask, LiveBudget, LiveError
from arena.live.store import Exchange, LiveBattle, LiveStore, Opening, TurnAnswers
from arena.live.streaming import SideBySide, sides
from arena.markdown import visible_text
from arena.types import SIDES, VLM, Conversation, Item, ModelError, Names, Secret, Side, Turn

MOST_TEXT = 8_000
"""The most characters of a question."""
_LINE_BREAKS = str.maketrans("\v\f", "\n\n")
"""Breaks of lines and pages, as word processors and PDFs write them."""
DELAY_SECONDS = (0.5, 2.0)
"""The bounds of the drawn delay before both answers begin, which hides a slow model's late first words."""
FAILED = (
    "One of the two models failed, so there's nothing to vote on. It counts for neither. "
    "Please try again."
)
STOPPED = "It was stopped before both models began to answer, so there's nothing to vote on."
LOST = (
    "The answers were lost before they were finished, so there's nothing to vote on. "
    "Please try again."
)


class LiveRequest(NamedTuple):
    """A visitor's question about own images; for an item of the bank, the instruction is the item's."""

    instruction: str
    images: tuple[str, ...] = ()
    """The tokens of the own images."""
    keep: bool = False
    """Whether the own images may be kept."""
    network: str | None = None


class _Asker(NamedTuple):
    """A visitor who asks."""

    voter: int
    network: str | None
    payer: str | None
    """The code of the network, if it shares the limit of what the visitor may cost."""
    key: Secret | None
    """The visitor's key for a router."""
    usable: tuple[VLM, ...]
    """The models that can answer this visitor."""


class _DrawnPair(NamedTuple):
    """Two models on their sides, and the chance with which they were drawn."""

    a: VLM
    b: VLM
    chance: float


class LiveState(NamedTuple):
    """The current state of a battle for a page."""

    battle: LiveBattle
    is_growing: bool
    """Whether answers are in progress; `texts` has their new words."""
    ahead: int
    """The number of battles that must end before this one is answered."""
    texts: Mapping[Side, str]
    """The words after those already shown."""
    can_be_chosen: bool = False
    """Whether answers in progress can be ended for a choice."""
    is_loading: bool = False
    """Whether nothing is shown because a model is being loaded."""


class LiveSessions:
    """Live battles between the usable models; with fewer than two, questions are refused with the reason."""

    def __init__(
        self,
        models: LiveModels,
        store: LiveStore,
        votes: VoteTable,
        images: OwnImages,
        budget: Budget,
        lending: Lending,
        credits: Credits,
        queue: GenerationQueue,
    ) -> None:
        self._models = models
        self._store = store
        self._votes = votes
        self._images = images
        self._budget = budget
        self._lending = lending
        self._credits = credits
        self._queue = queue
        self._coin = random.SystemRandom()
        self._generations: dict[int, GenerationTask] = {}
        self._battle_of_voter: dict[int, int] = {}
        self._begin_locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        """The locks by visitor: battles that begin at once follow each other, so that the last one goes on."""

    @property
    def waiting(self) -> int:
        return self._queue.waiting

    def draw_item(self, voter: int, items: Sequence[Item]) -> Item | None:
        """Draws one of the items that two models can answer for a visitor; None if there is none.

        While fewer than two models can answer at all, an item needs only those.
        """
        vlms = self._models.usable_with(self._credits.key(voter))
        shuffled = self._coin.sample(items, len(items))
        return next((item for item in shuffled if _can_ask_about(item, vlms)), None)

    async def begin(
        self, voter: int, request: LiveRequest, item: Item | None, files: Sequence[bytes]
    ) -> LiveBattle:
        """Opens a battle and lets two models answer; stops the visitor's earlier battle in progress.

        `item` is the bank's item that the visitor chose instead of own images, with its `files`. Raises LiveError,
        NotLentError, LimitError, OwnImageError, DatabaseError.
        """
        if item is not None and await asyncio.to_thread(self.draw_item, voter, [item]) is None:
            raise LiveError("No two models here can take this item. Choose another.")
        text = checked_text(item.instruction if item else request.instruction)
        count = len(files) if item else len(request.images)
        if count > MOST_IMAGES:
            raise LiveError(
                "A battle takes at most {} images, and you have {}. Remove some.",
                MOST_IMAGES,
                count,
            )
        if not count:
            raise LiveError("Add an image first. The models need something to look at.")
        await self._queue.check_room(request.network)
        asker = await self._asker(voter, request.network)
        drawn = await self._draw_pair(asker, Turn("user", text, (b"",) * count))
        opening = Opening(
            instruction=text,
            images=count,
            item=item.id if item else None,
            keep=request.keep,
            network=request.network,
            draw_probability=drawn.chance,
        )
        async with self._begin_lock(voter):
            battle = await asyncio.to_thread(self._store.begin, voter, opening)
            try:
                if item is None:
                    files = await asyncio.to_thread(
                        self._images.attach, voter, request.images, battle.id, request.keep
                    )
            except OwnImageError as error:
                await self._end(battle.id, str(error))
                raise
            await self._answer(asker, battle, sides(drawn.a, drawn.b), tuple(files))
        return battle

    async def follow(
        self, voter: int, token: str, text: str, files: Sequence[bytes], network: str | None = None
    ) -> LiveBattle:
        """Asks both models a follow-up; `files` are the images of the bank's item, if the battle is about one.

        Raises LiveError, NotLentError, ElsewhereError, UnknownBattleError, ChoiceError, OwnImageError, DatabaseError.
        """
        checked = checked_text(text)
        await self._queue.check_room(network)
        before = await self.find(voter, token)
        if before.follow_up_refusal:  # Its images may be gone by then.
            raise ChoiceError(before.follow_up_refusal)
        if before.item is None:
            tokens = await asyncio.to_thread(self._images.battle_tokens, voter, before.id)
            files = await asyncio.to_thread(self._images.files, voter, tokens)
        a, b = await asyncio.to_thread(self._store.models, before.id)
        asker = await self._asker(voter, network)
        by_name = {vlm.card.name: vlm for vlm in asker.usable}
        if a not in by_name or b not in by_name:
            all_usable = await asyncio.to_thread(lambda: self._models.usable)
            usable_after_login = {vlm.card.name for vlm in all_usable}
            if a in usable_after_login and b in usable_after_login:
                raise LiveError(LOGIN_OVER)
            raise LiveError(
                "A model in this battle is no longer here. Choose A or B, or start another battle."
            )
        vlms = sides(by_name[a], by_name[b])
        # The limits of all able models count, since a refusal by these two alone would reveal them.
        first = conversation((), before.turns[0].question, files)
        able = [vlm for vlm in asker.usable if vlm in vlms.values() or _can_take(vlm, first)]
        conversations = [conversation(before.history(side), checked, files) for side in SIDES]
        if not all(_can_take(vlm, turns) for vlm in able for turns in conversations):
            raise LiveError(
                "This makes the conversation too long for the models. Shorten it, or choose A or B."
            )
        async with self._begin_lock(voter):
            battle = await asyncio.to_thread(self._store.ask, voter, token, checked)
            await self._answer(asker, battle, vlms, tuple(files))
        return battle

    async def stop(self, voter: int, token: str) -> LiveBattle:
        """Ends both answers and returns the battle after that. Raises UnknownBattleError, ElsewhereError."""
        battle = await self.find(voter, token)
        if (generation := self._generations.get(battle.id)) is not None:
            await generation.stop()
        return await self._settled_battle(voter, token)

    async def choose(self, voter: int, token: str, choice: Side, terms: str) -> LiveBattle:
        """Stores a choice as `LiveStore.vote` does; answers in progress end first, if enough of them is shown.

        Raises also ElsewhereError.
        """
        check_among(choice, SIDES, "choice")
        battle = await self.find(voter, token)
        generation = self._generations.get(battle.id)
        if generation is not None and generation.side_by_side.can_be_chosen:
            await generation.stop()
        return await asyncio.to_thread(self._store.vote, voter, token, choice, terms)

    async def find(self, voter: int, token: str) -> LiveBattle:
        """Returns a battle whose answers in progress, if any, are here. Raises UnknownBattleError, ElsewhereError."""
        battle = await asyncio.to_thread(self._store.find, voter, token)
        if self._is_unanswered(battle):
            if await asyncio.to_thread(self._store.is_elsewhere, battle.id):
                raise ElsewhereError
            # Another tab may hold the lock until it has started the answers, or they have just ended.
            async with self._begin_lock(voter):
                battle = await asyncio.to_thread(self._store.find, voter, token)
        return battle

    async def watch(self, voter: int, token: str) -> AsyncIterator[LiveState]:
        """Yields the state of a battle at each change; the last state is not growing."""
        battle = await self.find(voter, token)
        if (generation := self._generations.get(battle.id)) is not None:
            async with aclosing(generation.watch()) as new_words:
                async for texts in new_words:
                    ahead = self._queue.public_ahead(generation)
                    can_be_chosen = generation.side_by_side.can_be_chosen
                    is_loading = generation.side_by_side.is_loading
                    yield LiveState(
                        battle=battle,
                        is_growing=True,
                        ahead=ahead,
                        texts=texts,
                        can_be_chosen=can_be_chosen,
                        is_loading=is_loading,
                    )
        settled = await self._settled_battle(voter, token)
        yield LiveState(battle=settled, is_growing=False, ahead=0, texts={})

    async def forget(self, battle: LiveBattle) -> None:
        await asyncio.to_thread(self._images.forget, battle.id)

    async def _settled_battle(self, voter: int, token: str) -> LiveBattle:
        """Returns a battle without answers in progress; ends it as lost if no server answers it any more."""
        battle = await self.find(voter, token)
        if self._is_unanswered(battle):
            await self._end(battle.id, LOST)
            battle = await asyncio.to_thread(self._store.find, voter, token)
        return battle

    def _begin_lock(self, voter: int) -> asyncio.Lock:
        """Returns the lock to hold from storing a visitor's question until its answers are in progress."""
        return self._begin_locks.setdefault(voter, asyncio.Lock())

    def _is_unanswered(self, battle: LiveBattle) -> bool:
        """Returns whether a question waits for answers that are not in progress here."""
        return not battle.is_settled and battle.void is None and battle.id not in self._generations

    async def _draw_pair(self, asker: _Asker, turn: Turn) -> _DrawnPair:
        """Draws two models that can take a question, and their sides. Raises LiveError, LimitError."""
        able = {vlm.card.name: vlm for vlm in asker.usable if _can_take(vlm, [turn])}
        if len(able) < 2:
            raise _pair_refusal(asker.usable, turn)
        votes = await asyncio.to_thread(self._votes.pair_votes, live=True)
        ids = await asyncio.to_thread(self._store.model_ids, list(able))
        exhausted_pairs = await asyncio.to_thread(
            self._store.quotas.exhausted_live_pairs, asker.voter
        )
        fitting = fitting_pairs(able, self._credits.do_visitors_pay)
        pairs = [pair for pair in fitting if frozenset(pair) not in exhausted_pairs]
        if not pairs:
            raise LimitError("You've compared these models as often as one voter can. Thank you!")
        id_pairs = [sorted((ids[a], ids[b])) for a, b in pairs]
        votes_cast = [votes.get((low, high), 0) for low, high in id_pairs]
        chances = pair_chances(votes_cast).tolist()
        (place,) = self._coin.choices(range(len(pairs)), chances)
        names = list(pairs[place])
        self._coin.shuffle(names)
        a, b = names
        return _DrawnPair(able[a], able[b], chances[place])

    async def _asker(self, voter: int, network: str | None) -> _Asker:
        """Returns the asker, and the payer if a model costs the operator anything. Raises NotLentError."""
        key = await asyncio.to_thread(self._credits.key, voter)
        usable = await asyncio.to_thread(self._models.usable_with, key)
        does_operator_pay = any(
            cost(vlm.card.price, 1, 1)  # 0 for a model without a price or with a price of 0
            and not (vlm.card.visitor_key and self._credits.do_visitors_pay)
            for vlm in usable
        )
        payer = None
        if does_operator_pay:
            payer = await asyncio.to_thread(self._lending.to_voter, voter, network)
        return _Asker(voter, network, payer, key, usable)

    async def _answer(
        self, asker: _Asker, battle: LiveBattle, vlms: Mapping[Side, VLM], files: tuple[bytes, ...]
    ) -> None:
        """Lets two models answer in a battle, and stops the visitor's other answers in progress."""
        voter = asker.voter
        live_budget = LiveBudget(
            budget=self._budget,
            battle=battle.token.partition(".")[0],
            voter=voter,
            network=asker.payer,
            key=partial(self._credits.key, voter),
            does_visitor_pay=self._credits.do_visitors_pay,
        )
        usable = asker.usable
        shuffled = self._coin.sample(usable, len(usable))
        newest = battle.turns[-1].question

        # `substitute` and `ask` use `side_by_side`, which is made with them below: they are called only once it runs.
        def substitute(side: Side) -> VLM | None:
            if live_budget.closing_reason or battle.answered:
                return None
            failed = side_by_side.side_texts[side].vlm
            excluded = {side_text.vlm.card.name for side_text in side_by_side.side_texts.values()}
            excluded |= {failure.model for failure in side_by_side.failures}
            turns = conversation((), newest, files)
            return _first_substitute(shuffled, excluded, failed, turns)

        async def finish(ended: SideBySide) -> None:
            try:
                if live_budget.closing_reason == LOGIN_OVER:
                    self._credits.drop(voter, asker.key)
                await self._store_outcome(battle, ended, live_budget.closing_reason)
            finally:
                del self._generations[battle.id]
                if self._battle_of_voter.get(voter) == battle.id:
                    del self._battle_of_voter[voter]

        def ask(side: Side, vlm: VLM) -> AsyncGenerator[str, None]:
            turns = conversation(battle.history(side), newest, files)
            return live_budget.stream_answer(vlm, turns, side_by_side.side_texts[side].add_usage)

        shortest, longest = DELAY_SECONDS
        delay = self._coin.uniform(shortest, longest)
        side_by_side = SideBySide(vlms, ask, substitute, delay=delay)
        earlier_battle = self._battle_of_voter.get(voter, 0)  # no battle has the id 0
        earlier = self._generations.get(earlier_battle)
        one_at_a_time = {vlm.card.name for vlm in usable if KINDS[vlm.card.kind].batched}
        generation = GenerationTask(
            self._queue,
            side_by_side,
            finish,
            asker.network,
            one_at_a_time=frozenset(vlm.card.name for vlm in vlms.values()) & one_at_a_time,
            # All or none answer one at a time.
            may_show_place=len(one_at_a_time) in (0, len(usable)),
        )
        self._generations[battle.id] = generation
        self._battle_of_voter[voter] = battle.id
        if earlier is not None:
            await earlier.stop()

    async def _store_outcome(
        self, battle: LiveBattle, ended: SideBySide, closing_reason: str | None
    ) -> None:
        """Stores the answers, or why there is nothing to vote on; `closing_reason`: why nothing more is paid for."""
        failures = [failure for failure in ended.failures if failure.kind != "unpaid"]
        if failures:
            await asyncio.to_thread(self._store.store_failures, failures)
        all_speak = await asyncio.to_thread(lambda: ended.all_speak)
        is_silent = not battle.answered and not all_speak
        if ended.ending == "void" or is_silent:
            reason = STOPPED if ended.ending == "stopped" else FAILED
            await self._end(battle.id, closing_reason or reason)
            return
        a = ended.side_texts["a"]
        b = ended.side_texts["b"]
        models = Names(a.vlm.card.name, b.vlm.card.name)
        answer_a = a.answer
        answer_b = b.answer
        texts = (answer_a.text, answer_a.thinking, answer_b.text, answer_b.thinking)
        model_names = [vlm.card.name for vlm in self._models.vlms]
        named = await asyncio.to_thread(
            lambda: any(names_itself(text, model_names) for text in texts if text)
        )
        answered = TurnAnswers(
            models=models,
            answers=(answer_a.text, answer_b.text),
            stopped=ended.ending == "stopped" and not (ended.is_enough_shown and all_speak),
            named=named,
            replaced=bool(failures),
            tokens=(a.tokens, b.tokens),
            cost=(a.cost, b.cost),
            thinking=(answer_a.thinking, answer_b.thinking),
            cut=(answer_a.cut, answer_b.cut),
        )
        await asyncio.to_thread(self._store.answer, battle.id, answered)

    async def _end(self, battle: int, reason: str) -> None:
        """Ends a battle without a vote, and deletes its images."""
        await asyncio.to_thread(self._store.end, battle, reason)
        await asyncio.to_thread(self._images.forget, battle)


def checked_text(text: str) -> str:
    """Returns a visitor's text, stripped and with plain line breaks.

    Raises LiveError for an empty, too long or unprintable one.
    """
    if len(text) > MOST_TEXT:
        raise LiveError(
            "The text has {:,} characters, and the limit is {:,}. Shorten it.",
            len(text),
            MOST_TEXT,
        )
    if not visible_text(text).strip():
        raise LiveError("Write an instruction first: what should the models do?")
    text = text.translate(_LINE_BREAKS)
    if any(map(_is_unprintable, text)):
        raise LiveError("The text has invisible characters. Write it without them.")
    return text.strip()


def _is_unprintable(character: str) -> bool:
    is_control = character < " " and character not in "\n\t\r"
    is_surrogate = "\ud800" <= character <= "\udfff"
    return is_control or is_surrogate


def conversation(history: Sequence[Exchange], question: str, files: Sequence[bytes]) -> list[Turn]:
    """Returns the earlier questions and answers and a new question for a model; the first one has the images."""
    turns = []
    for exchange in history:
        turns += [Turn("user", exchange.question), Turn("assistant", exchange.answer)]
    first, *others = [*turns, Turn("user", question)]
    return [replace(first, images=tuple(files)), *others]


def _first_substitute(
    vlms: Sequence[VLM], excluded: Collection[str], failed: VLM, turns: Conversation
) -> VLM | None:
    """Returns the first model, not excluded by name, that can take the failed one's place; None if there is none."""
    for vlm in vlms:
        if vlm.card.name not in excluded and can_replace(failed, vlm) and _can_take(vlm, turns):
            return vlm
    return None


def _can_take(vlm: VLM, turns: Conversation) -> bool:
    try:
        check_limits(vlm.card, turns)
    except ModelError:
        return False
    return True


def _can_ask_about(item: Item, vlms: Sequence[VLM]) -> bool:
    """Returns whether an item suits a live battle, and two of these models can take it, or all if there are fewer."""
    try:
        text = checked_text(item.instruction)
    except LiveError:
        return False
    turn = Turn("user", text, (b"",) * len(item.images))
    able = sum(_can_take(vlm, [turn]) for vlm in vlms)
    return 0 < len(item.images) <= MOST_IMAGES and able >= min(2, len(vlms))


def _pair_refusal(vlms: Sequence[VLM], turn: Turn) -> LiveError:
    """Returns the reason why no two of these models can take a question."""
    if len(vlms) < 2:
        return LiveError(
            "A battle takes two models, and they aren't here yet. Reload the page to see why."
        )
    image_limits = sorted(vlm.card.images for vlm in vlms)
    most = image_limits[-2]  # two models take this many
    if most < len(turn.images):
        return LiveError(
            "No two models here take {} images. Use at most {}.", len(turn.images), most
        )
    return LiveError("The instruction is too long for the models here. Shorten it.")
