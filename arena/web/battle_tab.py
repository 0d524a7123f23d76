"""Battle tab: an item, two anonymous answers, a forced choice, then the models' names.

Handlers take values that the database checks (the battle's token, a choice) and read the voter from the cookie.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import gradio as gr

from arena.battles.choices import ChoiceError, UnknownBattleError, undo_seconds
from arena.battles.quotas import LimitError, Networks
from arena.battles.sampling import BattleRequest, NoBattle, PairSampler
from arena.battles.store import BattleStore, VoteRequest
from arena.battles.write_batch import WriteBatch
from arena.clock import UNDO_SECONDS
from arena.database import DatabaseError, now
from arena.io.scaled_pictures import ScaledPictures
from arena.items.store import ItemBank
from arena.server.hub_backup import BackupState
from arena.templates import macros
from arena.types import SIDES, Battle, Item, Names, Phase, Side, SkipReason
from arena.web.backup_status import backup_line
from arena.web.cookies import sent_cookie
from arena.web.events import LATEST, PLAIN, Updates, shows_errors
from arena.web.pictures import shown_images
from arena.web.reveal import Reveal
from arena.web.visitor_api import NoVisitorError, sent_voter
from arena.web.words import ENGLISH, NAMES, Words, said, words_of

ANY_FAMILY = ENGLISH["any_family"]
HTML = macros("battle.html")
PAGE = macros("page.html")
PARTS = macros("parts.html")
_ADDRESS = (
    '() => [window.location.pathname.replace(/^\\/item\\//, "?item=") + window.location.search.replace("?", "&"), '
    'window.history.state?.battle ?? ""]'
)
"""In the browser: the page's query (of `/item/KEY`: that item's), and the chosen battle that it showed, if any."""
RESULTS = 24
"""Most items in a search result."""


SHOWN_ERRORS = (ChoiceError, UnknownBattleError, DatabaseError, NoVisitorError)
"""Errors whose message a voter reads."""


def status_html(
    battle: Battle | None, names: Names | None = None, words: Words = ENGLISH, others: str = ""
) -> str:
    """Render a battle's status in words, with the phase by which `page.css` shows the controls."""
    if battle is None:
        return HTML.no_battle()
    phase = battle.phase
    text = ""
    seconds = 0
    if phase is Phase.REVEALED and names is not None:
        sides = ("b", "a") if battle.choice == "b" else ("a", "b")
        text = HTML.names(*((side.upper(), getattr(names, side)) for side in sides), others, words)
    elif battle.choice is not None:
        # chosen, maybe revealed in another tab: this page has yet to ask for the names
        phase = Phase.VOTED
        text = words["chose"].format(battle.choice.upper())
        if battle.phase is Phase.VOTED and battle.voted_at:
            # `keys.js` asks for the names after these seconds: at once after the one undo.
            seconds = undo_seconds(battle.attempt, battle.voted_at)
        if seconds:
            text = words["gap"].join([text, words["undo_once"].format(seconds)])
    elif battle.attempt == 2:
        text = words["taken_back"]
    return HTML.status(phase.value, text, seconds, name_of(battle), battle.choice)


def name_of(battle: Battle) -> str:
    """Return what a battle's tokens have in common."""
    return battle.token.partition(".")[0]


def _problem(error: Exception, *sent: Any) -> str:
    """Render an error for the voter whose request comes last among what was sent."""
    return PARTS.problem(said(error, words_of(sent[-1].headers)))


_shows_errors = shows_errors(SHOWN_ERRORS, html=_problem)


class BattleTab:
    """The tab's components as attributes, its handlers as methods."""

    def __init__(
        self,
        store: BattleStore,
        items: ItemBank,
        sampler: PairSampler,
        terms: str,
        networks: Networks,
        copy: Callable[[], BackupState | None],
        reveal: Reveal,
        scaled: ScaledPictures,
    ) -> None:
        """Build the components; `copy` returns the backup's status without waiting."""
        self._store = store
        self._write_batch = WriteBatch(store)
        self._items = items
        self._sampler = sampler
        self._terms = terms
        self._networks = networks
        self._copy = copy
        self._reveal = reveal
        self._scaled = scaled
        self._build()

    def _build(self) -> None:
        self.query = gr.Textbox(visible="hidden", elem_id="query")
        self.token = gr.Textbox(visible="hidden", elem_id="token")
        self.held = gr.Textbox(visible="hidden", elem_id="held")
        self.show = gr.Button(visible="hidden", elem_id="show-held")
        with gr.Row(elem_id="lead"):
            gr.HTML(HTML.lead(ENGLISH), padding=False)
            self.bank = gr.HTML(elem_id="bank", padding=False)
            self.counter = gr.HTML(elem_id="counter", padding=False)
        with gr.Row(elem_id="battle"):
            with gr.Column(elem_id="subject"):
                self.item = gr.HTML(elem_id="item", padding=False)
            with gr.Row(elem_id="answers", visible=False) as self.answers:
                self.titles: dict[Side, gr.HTML] = {}
                self.sides: dict[Side, gr.HTML] = {}
                for side in SIDES:
                    with gr.Column(elem_classes="answer", elem_id=f"card-{side}", min_width=280):
                        self.titles[side] = gr.HTML(
                            HTML.title(side, ENGLISH), elem_classes="title", padding=False
                        )
                        self.sides[side] = gr.HTML(
                            elem_classes="text", elem_id=f"answer-{side}", padding=False
                        )
        self.outcome = gr.HTML(elem_id="outcome", padding=False)
        with gr.Column(elem_id="dock"):
            self.status = gr.HTML(elem_id="status", padding=False)
            gr.HTML(HTML.waits(ENGLISH), elem_id="waits", padding=False)
            gr.HTML(HTML.slow(ENGLISH), elem_id="slow", padding=False)
            self.saved = gr.HTML(elem_id="saved", padding=False)
            self.problem = gr.HTML(elem_id="problem", padding=False)
            with gr.Row(elem_id="controls"):
                self.choose: dict[Side, gr.Button] = {
                    side: _button(f"choose-{side}", variant="primary") for side in SIDES
                }
                self.undo = _button("undo")
                self.reveal = _button("reveal", variant="primary")
                self.next = _button("next", variant="primary")
                self.skip = _button("skip")
            with gr.Row(elem_id="reasons"):
                self.judge = _button("skip-judge")
                self.broken = _button("skip-broken")
                self.rude = _button("skip-rude")
                self.keep = _button("skip-not")
            self.first = gr.HTML(elem_id="terms", padding=False)
        with gr.Accordion(ENGLISH["pick"], open=False, elem_id="pick") as self.pick:
            with gr.Row():
                self.family = gr.Dropdown(
                    [ANY_FAMILY], value=ANY_FAMILY, label=ENGLISH["family"], elem_id="family"
                )
                self.search = gr.Textbox(label=ENGLISH["search"], elem_id="search", max_length=200)
            self.results = gr.HTML(elem_id="results", padding=False)
        gr.HTML(PAGE.foot(ENGLISH, NAMES), padding=False)

    def listen(self, page: gr.Blocks) -> None:
        """Bind the handlers; none is queued, so that a vote never waits behind other events."""
        names = [*self.titles.values(), self.counter, self.first, self.outcome]
        screen = [
            self.token,
            self.item,
            self.answers,
            *self.sides.values(),
            self.status,
            self.problem,
            *names,
        ]
        screen += [self.saved, self.bank, self.family, self.pick, self.results]
        opened = [self.search, *screen]
        answered = [page.load(self.on_load, [self.query, self.token], opened, js=_ADDRESS, **PLAIN)]
        for side, handler in zip(SIDES, (self.on_choose_a, self.on_choose_b), strict=True):
            chosen = self.choose[side].click(
                handler, self.token, [self.status, self.saved, self.problem], **PLAIN
            )
            chosen.then(
                None, js="() => { stereoscopeVote.answered(); stereoscope.focus('status'); }"
            )
            answered.append(chosen)
        undone = [self.token, self.status, self.saved, self.problem]
        taken_back = self.undo.click(self.on_undo, self.token, undone, **PLAIN)
        taken_back.then(None, js="() => stereoscopeVote.answered()")
        revealed = self.reveal.click(
            self.on_reveal, self.token, [self.status, self.problem, *names], **PLAIN
        )
        revealed.then(None, js="() => stereoscopeVote.answered()")
        held = revealed.then(self.on_hold, self.family, self.held, **PLAIN)
        held.then(None, self.held, None, js="(held) => stereoscopeVote.hold(held)")
        sent_ahead = [
            self.item,
            *self.sides.values(),
            *self.titles.values(),
            self.outcome,
            self.status,
        ]
        self.show.click(None, None, sent_ahead, js="() => stereoscopeVote.shown()")
        shown = "(family) => [family, stereoscopeVote.name()]"
        following = self.next.click(
            self.on_next, [self.family, self.held], screen, js=shown, **PLAIN
        )
        went_on = "() => { stereoscopeVote.answered(); stereoscope.focusNew(); }"
        following.then(None, js=went_on)
        self.skip.click(None, js="() => stereoscopeVote.ask(true)")
        kept = "() => { stereoscopeVote.ask(false); return []; }"
        self.keep.click(self.on_keep, None, self.problem, js=kept, **PLAIN)
        skips = (
            (self.judge, self.on_skip_judge),
            (self.broken, self.on_skip_broken),
            (self.rude, self.on_skip_rude),
        )
        for button, handler in skips:
            skipped = button.click(handler, [self.family, self.token], screen, **PLAIN)
            skipped.then(None, js=went_on)
            answered.append(skipped)
        for event in (*answered, taken_back, revealed, following):
            event.failure(None, js="() => stereoscopeVote.refused()")
        gr.on(
            [self.pick.expand, self.search.submit, self.family.change, self.search.change],
            self.on_search,
            [self.family, self.search],
            [self.results, self.family, self.problem],
            **LATEST,
        )

    def on_load(self, query: object, before: object, request: gr.Request) -> Updates:
        """Show the voter's unfinished battle, the linked item's, or a new one; until then there is no "Next".

        On a page that is loaded again, as Gradio does after a lost answer: the chosen battle that it showed `before`.
        """
        return {self.status: status_html(None), **self._loaded(query, before, request)}

    @_shows_errors
    def _loaded(self, query: object, before: object, request: gr.Request) -> Updates:
        words = words_of(request.headers)
        if sent_cookie(request.headers) is None:
            return self._message("one_step", NoVisitorError(), words, new_tab=True)
        again = self._again(before, request) if before else None
        updates = again or self._next(BattleRequest(item=_linked_item(query)), request)
        return {
            self.family: gr.update(label=words["family"]),
            self.search: gr.update(label=words["search"]),
            self.pick: gr.update(label=words["pick"]),
            **updates,
        }

    @_shows_errors
    def on_next(self, family: object, shown: object, request: gr.Request) -> Updates:
        """Show the next battle, or first one that is voted but not yet revealed; `shown`: the held one on the page."""
        updates = self._next(self._battle_request(family), request)
        if shown and str(updates.get(self.token)).partition(".")[0] == shown:
            for part in (self.item, *self.sides.values()):
                del updates[part]
        return updates

    def on_hold(self, family: object, request: gr.Request) -> Updates:
        """Send the next battle ahead while the names of this one are read: it is shown without waiting."""
        words = words_of(request.headers)
        try:
            held = self._sampler.hold(self._voter(request), self._battle_request(family))
        except (LimitError, *SHOWN_ERRORS):  # `on_next` says so
            held = None
        if held is None or (item := self._items.bank().items.get(held.draw.item)) is None:
            return {self.held: ""}
        texts = self._items.shown_answers((held.draw.answer_a, held.draw.answer_b))
        answers = [HTML.answer(side, text, words) for side, text in zip(SIDES, texts, strict=True)]
        titles = [HTML.title(side, words) for side in SIDES]
        status = HTML.status("held", "", 0, held.token, None)
        parts = [self._item_html(item, words, held.token), *answers, *titles, "", status]
        return {self.held: json.dumps([held.token, parts])}

    async def on_choose_a(self, token: object, request: gr.Request) -> Updates:
        return await self._choose("a", token, request)

    async def on_choose_b(self, token: object, request: gr.Request) -> Updates:
        return await self._choose("b", token, request)

    @_shows_errors
    def on_skip_judge(self, family: object, token: object, request: gr.Request) -> Updates:
        return self._skip("cannot judge", family, token, request)

    @_shows_errors
    def on_skip_broken(self, family: object, token: object, request: gr.Request) -> Updates:
        return self._skip("image broken", family, token, request)

    @_shows_errors
    def on_skip_rude(self, family: object, token: object, request: gr.Request) -> Updates:
        return self._skip("offensive", family, token, request)

    async def _choose(self, side: Side, token: object, request: gr.Request) -> Updates:
        """Store the choice; the page asks for the names once it can no longer be undone."""
        try:
            voter = await asyncio.to_thread(self._voter, request)  # may query the database
            battle = await self._write_batch.vote(VoteRequest(voter, str(token), side, self._terms))
        except ChoiceError as error:
            return await asyncio.to_thread(self._stands, voter, token, error, request)
        except SHOWN_ERRORS as error:
            return {self.problem: _problem(error, request)}
        words = words_of(request.headers)
        saved = backup_line(self._copy(), now(), words)
        return {self.status: status_html(battle, words=words), self.saved: saved, self.problem: ""}

    @_shows_errors
    def on_undo(self, token: object, request: gr.Request) -> Updates:
        battle = self._store.undo(self._voter(request), str(token))
        status = status_html(battle, words=words_of(request.headers))
        return {self.token: battle.token, self.status: status, self.saved: ""}

    @_shows_errors
    def on_reveal(self, token: object, request: gr.Request) -> Updates:
        """Make the choice final, and only then show the names."""
        voter = self._voter(request)
        words = words_of(request.headers)
        try:
            return self._named(self._store.reveal(voter, str(token)), voter, words)
        except (
            ChoiceError
        ) as error:  # a late answer may have put another battle's names on the page
            return {**self._unnamed(words), **self._stands(voter, token, error, request)}

    @_shows_errors
    def _stands(
        self, voter: int, token: object, error: ChoiceError, request: gr.Request
    ) -> Updates:
        """Say what is wrong and show where the battle stands: another tab may have gone on."""
        status = status_html(self._store.find(voter, str(token)), words=words_of(request.headers))
        return {self.status: status, self.problem: _problem(error, request)}

    def on_keep(self) -> Updates:
        """Take back what was said about a skip."""
        return {self.problem: ""}

    def _skip(
        self, reason: SkipReason, family: object, token: object, request: gr.Request
    ) -> Updates:
        voter = self._voter(request)
        try:
            self._store.skip(voter, str(token), reason)
        except ChoiceError as error:
            return self._stands(voter, token, error, request)
        return self._next(self._battle_request(family), request)

    @_shows_errors
    def on_search(self, family: object, sought: object, request: gr.Request) -> Updates:
        """Show the items of a family whose instruction contains all the words."""
        items = self._sampler.shown_items()
        words = words_of(request.headers)
        families = sorted({item.family for item in items}, key=str.casefold)
        battle_request = self._battle_request(family)
        wanted = frozenset(str(sought or "").casefold().split())
        found = [item for item in items if battle_request.family in (None, item.family)]
        found = [item for item in found if all(word in item.folded for word in wanted)]
        return {
            self.problem: gr.skip(),  # it may be about a vote
            self.results: HTML.results(found[:RESULTS], len(found[RESULTS:]), words),
            self.family: gr.update(choices=[(words["any_family"], ANY_FAMILY), *families]),
        }

    def _next(self, battle_request: BattleRequest, request: gr.Request) -> Updates:
        """Serve the next battle, or say why there is none."""
        voter = self._voter(request)
        words = words_of(request.headers)
        try:
            battle = self._sampler.next_battle(voter, battle_request, self._networks.of(request))
        except LimitError as error:
            return self._message("enough", error, words)
        if isinstance(battle, NoBattle):
            title = "nothing_yet" if battle is NoBattle.EMPTY else "nothing"
            return self._message(title, battle.value, words)
        if battle.phase is Phase.VOTED:
            battle = self._store.reveal(voter, battle.token)
        return self._battle(battle, voter, words)

    def _again(self, name: object, request: gr.Request) -> Updates | None:
        """Show a battle whose names may be shown already; None if it is none of the voter's."""
        voter = self._voter(request)
        try:
            battle = self._store.find(voter, f"{name}.1")
        except UnknownBattleError:
            return None
        is_shown = battle.phase is Phase.REVEALED and battle.item in self._items.bank().items
        return self._battle(battle, voter, words_of(request.headers)) if is_shown else None

    def _battle(self, battle: Battle, voter: int, words: Words) -> Updates:
        item = self._items.bank().items[battle.item]
        texts = self._items.shown_answers((battle.answer_a, battle.answer_b))
        self._reveal.prepare(battle)
        return {
            self.token: battle.token,
            self.item: self._item_html(item, words, name_of(battle)),
            self.answers: gr.update(visible=True),
            self.sides["a"]: HTML.answer("a", texts[0], words),
            self.sides["b"]: HTML.answer("b", texts[1], words),
            self.bank: HTML.demo(words) if self._sampler.is_demo() else "",
            self.status: status_html(battle, words=words),
            self.saved: "",
            **self._counted(voter, words),
            **(
                self._named(battle, voter, words)
                if battle.phase is Phase.REVEALED
                else self._unnamed(words)
            ),
        }

    def _item_html(self, item: Item, words: Words, battle: str) -> str:
        return HTML.item(item, shown_images(item.images, self._scaled), words, battle=battle)

    def _unnamed(self, words: Words) -> Updates:
        return {
            self.outcome: "",
            **{title: HTML.title(side, words) for side, title in self.titles.items()},
        }

    def _named(self, battle: Battle, voter: int, words: Words) -> Updates:
        """Return the updates that show the names, over the answers and in the status line, for screen readers."""
        names = self._store.names(voter, battle.token)
        told = self._reveal.of(voter, battle, names, words)
        return {
            **{self.titles[side]: title for side, title in told.titles.items()},
            self.outcome: told.more,
            self.status: status_html(battle, names, words, told.others),
            **self._counted(voter, words),
        }

    def _message(
        self, title: str, text: Exception | str, words: Words, new_tab: bool = False
    ) -> Updates:
        message = HTML.message(words[title], said(text, words), words, new_tab)
        updates = {self.item: message, self.answers: gr.update(visible=False)}
        blank = dict.fromkeys((self.token, self.saved, self.first, self.outcome), "")
        return {**updates, **blank, self.status: status_html(None)}

    def _counted(self, voter: int, words: Words) -> Updates:
        """Return the number of a voter's votes, and the terms to whoever has given none."""
        votes = self._store.votes_of(voter)
        return {
            self.counter: words["votes"].format(votes),
            self.first: "" if votes else HTML.terms(words, UNDO_SECONDS),
        }

    def _voter(self, request: gr.Request) -> int:
        return sent_voter(self._store.voter, request.headers)

    @staticmethod
    def _battle_request(family: object) -> BattleRequest:
        return BattleRequest(
            family=family if isinstance(family, str) and family != ANY_FAMILY else None
        )


def _linked_item(query: object) -> str | None:
    """Return the key of the item that a page's query names; None if it names none."""
    parts = parse_qs(query.removeprefix("?")[:2000]) if isinstance(query, str) else {}
    return parts.get("item", [None])[0]


def _button(name: str, **how: Any) -> gr.Button:
    """Return a button by its id in the page, which `words.py` names too."""
    return gr.Button(ENGLISH[name.replace("-", "_")], elem_id=name, **how)
