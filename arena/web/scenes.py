"""Scenes: all that the Vote page shows of a battle of stored answers, made anew after each act.

The browser sends texts, which the database checks. The voter is known by the cookie.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from arena.battles.choices import ChoiceError, undo_seconds
from arena.battles.quotas import LimitError
from arena.battles.sampling import BattleRequest, NoBattle, PairSampler
from arena.battles.store import BattleStore, VoteRequest
from arena.battles.write_batch import WriteBatch
from arena.clock import UNDO_SECONDS
from arena.database import now
from arena.io.scaled_pictures import ScaledPictures
from arena.items.store import ItemBank
from arena.locale import t, translated
from arena.server.hub_backup import BackupState
from arena.templates import macros
from arena.types import SIDES, Battle, Item, Names, Phase, Side, SkipReason
from arena.web.backup_status import backup_line
from arena.web.pictures import shown_images
from arena.web.reveal import Reveal

HTML = macros("battle.html")
MOST_RESULTS = 24
"""Most items in a search result."""

Scene = dict[str, Any]
"""A scene as JSON for `scene.js`: the battle's token, its phase, and the parts that an act changed, as HTML.

`about`: the part of the token that stays when a choice is undone."""


class Actor(NamedTuple):
    """The voter who acts, and the network of the request."""

    voter: int
    network: str | None


Sent = Mapping[str, str]
"""The fields that the page sent, by name; those that it did not send are empty."""

Act = Callable[["BattleScenes", Sent, Actor], Scene]


@dataclass(frozen=True)
class BattleScenes:
    """Acts of voters; each returns the scene after it."""

    store: BattleStore
    items: ItemBank
    sampler: PairSampler
    terms: str
    """Version of the terms that the page shows."""
    backup_state: Callable[[], BackupState | None]
    """Returns the backup's status, without waiting."""
    reveal: Reveal
    scaled: ScaledPictures
    batch: WriteBatch

    async def act(self, name: str, sent: Sent, find_actor: Callable[[], Actor]) -> Scene:
        """Runs an act of ACTS; `find_actor` asks the database who the voter is.

        If the battle's state doesn't allow it, as after an act in another tab, returns the current scene and the
        problem. Raises UnknownBattleError, LimitError, DatabaseError, and what `find_actor` raises.
        """
        if name != "choose":
            return await asyncio.to_thread(self._act, _IN_THREADS[name], sent, find_actor)
        actor = await asyncio.to_thread(find_actor)
        try:
            return await self._choose(sent, actor)
        except ChoiceError as error:
            return await asyncio.to_thread(self._refused_scene, error, sent, actor)

    def _act(self, act: Act, sent: Sent, find_actor: Callable[[], Actor]) -> Scene:
        """Finds the voter and acts in one thread: each change of threads costs as much as several statements."""
        actor = find_actor()
        try:
            return act(self, sent, actor)
        except ChoiceError as error:
            return self._refused_scene(error, sent, actor)

    async def _choose(self, sent: Sent, actor: Actor) -> Scene:
        """Stores the choice. The page asks for the names once it can no longer be undone."""
        choice: Any = sent["value"]  # The store checks it.
        request = VoteRequest(actor.voter, sent["battle"], choice, self.terms)
        battle = await self.batch.vote(request)
        saved = backup_line(self.backup_state(), now())
        return _scene(battle, {"status": _status_text(battle), "below": saved})

    def next(self, sent: Sent, actor: Actor) -> Scene:
        """Returns the next battle, or the unfinished one; or a message why there is none."""
        request = BattleRequest(item=sent["item"] or None, family=sent["family"] or None)
        try:
            battle = self.sampler.next_battle(actor.voter, request, actor.network)
        except LimitError as error:
            return _message_scene("vote.enough", error)
        if isinstance(battle, NoBattle):
            title = "vote.nothing_yet" if battle is NoBattle.EMPTY else "vote.nothing"
            return _message_scene(title, battle.value)
        is_shown = _name_of(battle) == sent["shown"]
        return self._whole_scene(battle, actor, is_shown)

    def hold(self, sent: Sent, actor: Actor) -> Scene:
        """Returns the next battle while the names of this one are read, so that it is shown without waiting."""
        request = BattleRequest(family=sent["family"] or None)
        try:
            held = self.sampler.hold(actor.voter, request)
        except (LimitError, ChoiceError):
            # The act `next` shows the problem.
            return _empty_scene()
        if held is None:
            return _empty_scene()
        item = self.items.bank().items.get(held.draw.item)
        if item is None:
            return _empty_scene()
        pair = self._pair_parts(item, held.draw.answer_a, held.draw.answer_b)
        parts = {**pair, **_blank_parts()}
        return {"battle": "", "about": held.token, "phase": "held", "choice": "", "parts": parts}

    def undo(self, sent: Sent, actor: Actor) -> Scene:
        battle = self.store.undo(actor.voter, sent["battle"])
        return _scene(battle, {"status": _status_text(battle), "below": ""})

    def names(self, sent: Sent, actor: Actor) -> Scene:
        """Makes the choice final, and only then returns the names."""
        battle = self.store.reveal(actor.voter, sent["battle"])
        return _scene(battle, self._revealed_parts(battle, actor))

    def skip(self, sent: Sent, actor: Actor) -> Scene:
        reason: SkipReason = sent["value"]  # pyright: ignore[reportAssignmentType] - the store checks it
        self.store.skip(actor.voter, sent["battle"], reason)
        return self.next({**sent, "item": "", "shown": ""}, actor)

    def search(self, sent: Sent, actor: Actor) -> Scene:
        """Returns the items of a family whose instruction contains all the words, and the families."""
        items = self.sampler.shown_items()
        words = frozenset(sent["value"].casefold().split())
        request = BattleRequest(family=sent["family"] or None)
        matches = [
            item
            for item in items
            if request.fits(item) and all(word in item.search_text for word in words)
        ]
        families = sorted({item.family for item in items}, key=str.casefold)
        more = max(0, len(matches) - MOST_RESULTS)
        results = HTML.results(matches[:MOST_RESULTS], more)
        options = HTML.families(families, sent["family"])
        return {**_empty_scene(), "parts": {"families": options, "results": results}}

    def _refused_scene(self, error: ChoiceError, sent: Sent, actor: Actor) -> Scene:
        """Returns the problem and the battle's current scene: another tab may have gone on."""
        battle = self.store.find(actor.voter, sent["battle"])
        parts = {"status": _status_text(battle), "below": ""}
        if battle.phase is Phase.REVEALED:
            parts = self._revealed_parts(battle, actor)
        return {**_scene(battle, parts), "problem": translated(error)}

    def _whole_scene(self, battle: Battle, actor: Actor, is_shown: bool) -> Scene:
        """Returns all parts of a battle; without its item and answers if the page shows them already."""
        item = self.items.bank().items[battle.item]
        self.reveal.prepare(battle)
        parts = {}
        if not is_shown:
            parts = self._pair_parts(item, battle.answer_a, battle.answer_b)
        if battle.phase is Phase.REVEALED:
            return _scene(battle, {**parts, **self._revealed_parts(battle, actor)})
        votes = self.store.votes_of(actor.voter)
        return _scene(
            battle,
            {
                **parts,
                **_blank_parts(),
                "status": _status_text(battle),
                "lead": HTML.counted(self.sampler.is_demo(), votes),
                "below": "" if votes else HTML.terms(UNDO_SECONDS),
            },
        )

    def _pair_parts(self, item: Item, answer_a: int, answer_b: int) -> dict[str, str]:
        """Returns the item and both answers."""
        texts = self.items.shown_answers((answer_a, answer_b))
        answers = {side: HTML.answer(text) for side, text in zip(SIDES, texts, strict=True)}
        pictures = shown_images(item.images, self.scaled)
        return {"subject": HTML.item(item, pictures), **answers}

    def _revealed_parts(self, battle: Battle, actor: Actor) -> dict[str, str]:
        """Returns the names, over the answers and, for screen readers, in the status line; and the battle's outcome."""
        names = self.store.names(actor.voter, battle.token)
        revealed = self.reveal.parts(actor.voter, battle, names)
        titles = {f"title-{side}": title for side, title in revealed.titles.items()}
        return {
            **titles,
            "outcome": revealed.outcome,
            "status": _names_html(battle, names, revealed.others),
            "lead": HTML.counted(self.sampler.is_demo(), revealed.votes),
            "below": "",
        }


_IN_THREADS: Mapping[str, Act] = {
    "next": BattleScenes.next,
    "hold": BattleScenes.hold,
    "undo": BattleScenes.undo,
    "names": BattleScenes.names,
    "skip": BattleScenes.skip,
    "search": BattleScenes.search,
}
"""The acts that run in a thread, by name; `choose` waits for a batch of votes instead."""
ACTS = frozenset({"choose", *_IN_THREADS})


def _name_of(battle: Battle) -> str:
    """Returns the part that all tokens of a battle share."""
    return battle.token.partition(".")[0]


def _scene(battle: Battle, parts: dict[str, str]) -> Scene:
    """Returns the scene of a battle after an act that changed these parts."""
    phase = battle.phase
    seconds = 0.0
    if phase is Phase.VOTED and battle.voted_at:
        seconds = undo_seconds(battle.attempt, battle.voted_at)
    return {
        "battle": battle.token,
        "about": _name_of(battle),
        "phase": phase.value,
        "choice": battle.choice or "",
        "seconds": seconds,
        "parts": parts,
    }


def _empty_scene() -> Scene:
    """Returns the scene without a battle."""
    return {"battle": "", "about": "", "phase": "none", "choice": "", "parts": {}}


def _message_scene(title: str, text: Exception | str) -> Scene:
    """Returns the scene with the reason why there is no battle."""
    message = HTML.message(t(title), translated(text))
    blank = dict.fromkeys(("below", *SIDES), "")
    return {**_empty_scene(), "parts": {**_blank_parts(), **blank, "subject": message}}


def _blank_parts() -> dict[str, str]:
    """Returns the headings of answers without their models' names, and an empty outcome and status."""
    titles = {f"title-{side}": HTML.title(side) for side in SIDES}
    return {**titles, "outcome": "", "status": ""}


def _status_text(battle: Battle) -> str:
    """Returns the state of a battle in words, before its names are shown."""
    if battle.choice is None:
        return t("vote.taken_back") if battle.attempt == 2 else ""
    text = t("vote.chose", side=battle.choice.upper())
    if battle.voted_at and undo_seconds(battle.attempt, battle.voted_at):
        return t("pages.gap").join([text, t("vote.undo_once", seconds=UNDO_SECONDS)])
    return text


def _names_html(battle: Battle, names: Names, others: str) -> str:
    """Returns the names, the chosen one first (a's without a choice), and the sentence on the choices of others."""
    chosen: Side = "b" if battle.choice == "b" else "a"
    other: Side = "a" if chosen == "b" else "b"
    return HTML.names(
        (chosen.upper(), getattr(names, chosen)), (other.upper(), getattr(names, other)), others
    )
