"""Scenes: all that the Vote page shows of a battle of stored answers, made anew after each act.

What comes from the browser are texts, which the database checks; the voter is known by the cookie.
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
RESULTS = 24
"""Most items in a search result."""

Scene = dict[str, Any]
"""The battle's token, whose parts these are (`about`), its phase, and the parts that this act changed, as HTML."""


class Actor(NamedTuple):
    """The voter who acts, and the network of the request."""

    voter: int
    network: str | None


Sent = Mapping[str, str]
"""The fields that the page sent, by name; those that it did not send are empty."""


Act = Callable[["BattleScenes", Sent, Actor], Scene]


@dataclass(frozen=True)
class BattleScenes:
    """Acts of voters; each returns the scene as it is afterwards."""

    store: BattleStore
    items: ItemBank
    sampler: PairSampler
    terms: str
    """Version of the terms that the page shows."""
    copy: Callable[[], BackupState | None]
    """The backup's status, without waiting."""
    reveal: Reveal
    scaled: ScaledPictures
    batch: WriteBatch

    async def act(self, name: str, sent: Sent, find: Callable[[], Actor]) -> Scene:
        """Do what a voter asks for, one of ACTS; `find` asks the database who it is.

        Where the battle's state does not allow it, as after an act in another tab: the scene as it stands, and why not.
        Raises UnknownBattleError, LimitError, DatabaseError, and what `find` raises.
        """
        if name != "choose":
            return await asyncio.to_thread(self._act, _IN_THREADS[name], sent, find)
        actor = await asyncio.to_thread(find)
        try:
            return await self._choose(sent, actor)
        except ChoiceError as error:
            return await asyncio.to_thread(self._refused, error, sent, actor)

    def _act(self, act: Act, sent: Sent, find: Callable[[], Actor]) -> Scene:
        """Find the voter and act in one thread: each change of threads costs as much as several statements."""
        actor = find()
        try:
            return act(self, sent, actor)
        except ChoiceError as error:
            return self._refused(error, sent, actor)

    async def _choose(self, sent: Sent, actor: Actor) -> Scene:
        """Store the choice; the page asks for the names once it can no longer be undone."""
        choice: Any = sent["value"]  # the store checks it
        request = VoteRequest(actor.voter, sent["battle"], choice, self.terms)
        battle = await self.batch.vote(request)
        saved = backup_line(self.copy(), now())
        return _scene(battle, {"status": _status(battle), "below": saved})

    def next(self, sent: Sent, actor: Actor) -> Scene:
        """Serve the next battle, or the one that is unfinished; or say why there is none."""
        request = BattleRequest(item=sent["item"] or None, family=sent["family"] or None)
        try:
            battle = self.sampler.next_battle(actor.voter, request, actor.network)
        except LimitError as error:
            return _message("vote.enough", error)
        if isinstance(battle, NoBattle):
            title = "vote.nothing_yet" if battle is NoBattle.EMPTY else "vote.nothing"
            return _message(title, battle.value)
        return self._whole(battle, actor, is_shown=_name_of(battle) == sent["shown"])

    def hold(self, sent: Sent, actor: Actor) -> Scene:
        """Send the next battle ahead while the names of this one are read: it is shown without waiting."""
        try:
            held = self.sampler.hold(actor.voter, BattleRequest(family=sent["family"] or None))
        except (LimitError, ChoiceError):  # `next` says so
            held = None
        item = held and self.items.bank().items.get(held.draw.item)
        if held is None or item is None:
            return _nothing()
        parts = self._pair(item, held.draw.answer_a, held.draw.answer_b)
        shown = {**parts, **_untold()}
        return {"battle": "", "about": held.token, "phase": "held", "choice": "", "parts": shown}

    def undo(self, sent: Sent, actor: Actor) -> Scene:
        battle = self.store.undo(actor.voter, sent["battle"])
        return _scene(battle, {"status": _status(battle), "below": ""})

    def names(self, sent: Sent, actor: Actor) -> Scene:
        """Make the choice final, and only then tell the names."""
        battle = self.store.reveal(actor.voter, sent["battle"])
        return _scene(battle, self._told(battle, actor))

    def skip(self, sent: Sent, actor: Actor) -> Scene:
        reason: SkipReason = sent["value"]  # pyright: ignore[reportAssignmentType] - the store checks it
        self.store.skip(actor.voter, sent["battle"], reason)
        return self.next({**sent, "item": "", "shown": ""}, actor)

    def search(self, sent: Sent, actor: Actor) -> Scene:
        """Find the items of a family whose instruction contains all the words; and name the families."""
        items = self.sampler.shown_items()
        wanted = frozenset(sent["value"].casefold().split())
        request = BattleRequest(family=sent["family"] or None)
        found = [
            item
            for item in items
            if request.fits(item) and all(word in item.search_text for word in wanted)
        ]
        families = sorted({item.family for item in items}, key=str.casefold)
        results = HTML.results(found[:RESULTS], len(found[RESULTS:]))
        options = HTML.families(families, sent["family"])
        return {**_nothing(), "parts": {"families": options, "results": results}}

    def _refused(self, error: ChoiceError, sent: Sent, actor: Actor) -> Scene:
        """Say why not, and show where the battle stands: another tab may have gone on."""
        battle = self.store.find(actor.voter, sent["battle"])
        parts = {"status": _status(battle), "below": ""}
        if battle.phase is Phase.REVEALED:
            parts = self._told(battle, actor)
        return {**_scene(battle, parts), "problem": translated(error)}

    def _whole(self, battle: Battle, actor: Actor, is_shown: bool) -> Scene:
        """All of a battle; where the page has its item and answers already, all but these."""
        item = self.items.bank().items[battle.item]
        self.reveal.prepare(battle)
        parts = {}
        if not is_shown:
            parts = self._pair(item, battle.answer_a, battle.answer_b)
        if battle.phase is Phase.REVEALED:
            return _scene(battle, {**parts, **self._told(battle, actor)})
        votes = self.store.votes_of(actor.voter)
        return _scene(
            battle,
            {
                **parts,
                **_untold(),
                "status": _status(battle),
                "lead": HTML.counted(self.sampler.is_demo(), votes),
                "below": "" if votes else HTML.terms(UNDO_SECONDS),
            },
        )

    def _pair(self, item: Item, answer_a: int, answer_b: int) -> dict[str, str]:
        """The item and both answers."""
        texts = self.items.shown_answers((answer_a, answer_b))
        answers = {side: HTML.answer(text) for side, text in zip(SIDES, texts, strict=True)}
        pictures = shown_images(item.images, self.scaled)
        return {"subject": HTML.item(item, pictures), **answers}

    def _told(self, battle: Battle, actor: Actor) -> dict[str, str]:
        """The names, over the answers and in the status line, for screen readers; and what is known of the battle."""
        names = self.store.names(actor.voter, battle.token)
        told = self.reveal.of(actor.voter, battle, names)
        return {
            **{f"title-{side}": title for side, title in told.titles.items()},
            "outcome": told.more,
            "status": _named(battle, names, told.others),
            "lead": HTML.counted(self.sampler.is_demo(), told.votes),
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
ACTS = frozenset({"choose", *_IN_THREADS})


def _name_of(battle: Battle) -> str:
    """Returns the part that all tokens of a battle share."""
    return battle.token.partition(".")[0]


def _scene(battle: Battle, parts: dict[str, str]) -> Scene:
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


def _nothing() -> Scene:
    return {"battle": "", "about": "", "phase": "none", "choice": "", "parts": {}}


def _message(title: str, text: Exception | str) -> Scene:
    """Say why there is no battle."""
    message = HTML.message(t(title), translated(text))
    blank = dict.fromkeys(("below", *SIDES), "")
    return {**_nothing(), "parts": {**_untold(), **blank, "subject": message}}


def _untold() -> dict[str, str]:
    """The headings of answers whose models are unnamed."""
    titles = {f"title-{side}": HTML.title(side) for side in SIDES}
    return {**titles, "outcome": "", "status": ""}


def _status(battle: Battle) -> str:
    """Returns the state of a battle in words, before its names are shown."""
    if battle.choice is None:
        return t("vote.taken_back") if battle.attempt == 2 else ""
    text = t("vote.chose", side=battle.choice.upper())
    if battle.voted_at and undo_seconds(battle.attempt, battle.voted_at):
        return t("pages.gap").join([text, t("vote.undo_once", seconds=UNDO_SECONDS)])
    return text


def _named(battle: Battle, names: Names, others: str) -> str:
    """The names, the chosen one first, and how others chose."""
    sides: tuple[Side, Side] = ("b", "a") if battle.choice == "b" else ("a", "b")
    chosen, other = ((side.upper(), getattr(names, side)) for side in sides)
    return HTML.names(chosen, other, others)
