"""Battle tab: an item, two anonymous answers, a forced choice, then the models' names.

Handlers take values that the database checks (the battle's token, a choice) and read the voter from the cookie.
"""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import gradio as gr

from arena.battles.campaigns import CampaignError, Campaigns
from arena.battles.choices import ChoiceError, UnknownBattleError
from arena.battles.quotas import LimitError, Networks
from arena.battles.sampling import BattleRequest, NoBattle, PairSampler
from arena.battles.store import BattleStore, VoteRequest
from arena.battles.write_batch import WriteBatch
from arena.clock import UNDO_SECONDS
from arena.database import DatabaseError, now
from arena.items.store import ItemBank
from arena.server.hub_backup import BackupState
from arena.templates import macros
from arena.types import SIDES, Battle, Names, Phase, Side, SkipReason
from arena.web.backup_status import backup_line
from arena.web.cookies import sent_cookie
from arena.web.events import LATEST, RAW, Updates, shows_errors
from arena.web.visitor_api import NoVisitorError, sent_voter

ANY_FAMILY = "Any family"
HTML, PAGE, PARTS = macros("battle.html"), macros("page.html"), macros("parts.html")
RESULTS = 24
"""Most items in a search result."""


class Link(NamedTuple):
    """Parameters of the page's URL."""

    item: str | None = None
    campaign: str | None = None
    worker: str = ""
    wanted: str = ""

    @classmethod
    def parse(cls, query: object) -> "Link":
        """Parse the query string of a URL; unknown parameters are ignored."""
        parts = parse_qs(query.removeprefix("?")[:2000]) if isinstance(query, str) else {}
        first = {name: values[0] for name, values in parts.items()}
        return cls(first.get("item"), first.get("campaign"), first.get("worker", ""), first.get("n", ""))


SHOWN_ERRORS = (ChoiceError, UnknownBattleError, DatabaseError, NoVisitorError)
"""Errors whose message a voter reads."""


def status_html(battle: Battle | None, names: Names | None = None) -> str:
    """Render a battle's status in words, with the phase by which `page.css` shows the controls."""
    if battle is None:
        return HTML.no_battle()
    phase, words, seconds = battle.phase, "", 0
    if phase is Phase.REVEALED and names is not None:
        sides = ("b", "a") if battle.choice == "b" else ("a", "b")
        words = HTML.names(*((side.upper(), getattr(names, side)) for side in sides))
    elif battle.choice is not None:  # chosen, maybe revealed in another tab: this page has yet to ask for the names
        phase, words = Phase.VOTED, f"You chose {battle.choice.upper()}."
        if battle.phase is Phase.VOTED and battle.attempt == 1:
            # `keys.js` asks for the names after these seconds: at once after the one undo.
            seconds, words = UNDO_SECONDS, f"{words} Undo within {UNDO_SECONDS} seconds; then the names appear."
    elif battle.attempt == 2:
        words = "Taken back. Choose again."
    return HTML.status(phase.value, words, seconds)


_shows_errors = shows_errors(SHOWN_ERRORS, html=PARTS.problem)


class BattleTab:
    """The tab's components as attributes, its handlers as methods."""

    def __init__(
        self,
        store: BattleStore,
        items: ItemBank,
        sampler: PairSampler,
        campaigns: Campaigns,
        terms: str,
        networks: Networks,
        copy: Callable[[], BackupState | None],
    ) -> None:
        """Build the components; `copy` returns the backup's status without waiting."""
        self._store = store
        self._write_batch = WriteBatch(store)
        self._items = items
        self._sampler = sampler
        self._campaigns = campaigns
        self._terms = terms
        self._networks = networks
        self._copy = copy
        self._build()

    def _build(self) -> None:
        self.query = gr.Textbox(visible="hidden", elem_id="query")
        self.token = gr.Textbox(visible="hidden", elem_id="token")
        with gr.Row(elem_id="top"):
            self.bank = gr.HTML(elem_id="bank", padding=False)
            self.counter = gr.HTML(elem_id="counter", padding=False)
        with gr.Accordion("Pick an item", open=False, elem_id="pick") as self.pick:
            with gr.Row():
                self.family = gr.Dropdown([ANY_FAMILY], value=ANY_FAMILY, label="Family", elem_id="family")
                self.search = gr.Textbox(label="Search the instructions", elem_id="search", max_length=200)
            self.results = gr.HTML(elem_id="results", padding=False)
        self.item = gr.HTML(elem_id="item", padding=False)
        with gr.Row(elem_id="answers", visible=False) as self.answers:
            self.titles: dict[Side, gr.HTML] = {}
            self.sides: dict[Side, gr.HTML] = {}
            for side in SIDES:
                with gr.Column(elem_classes="answer", min_width=280):
                    self.titles[side] = gr.HTML(HTML.title(side), elem_classes="title", padding=False)
                    self.sides[side] = gr.HTML(elem_classes="text", elem_id=f"answer-{side}", padding=False)
        with gr.Column(elem_id="dock"):
            self.status = gr.HTML(elem_id="status", padding=False)
            self.saved = gr.HTML(elem_id="saved", padding=False)
            self.problem = gr.HTML(elem_id="problem", padding=False)
            with gr.Row(elem_id="controls"):
                self.choose: dict[Side, gr.Button] = {
                    "a": gr.Button("A is better", elem_id="choose-a", variant="primary"),
                    "b": gr.Button("B is better", elem_id="choose-b", variant="primary"),
                }
                self.undo = gr.Button("Undo", elem_id="undo")
                self.reveal = gr.Button("Show the names", elem_id="reveal", variant="primary")
                self.next = gr.Button("Next", elem_id="next", variant="primary")
                self.skip = gr.Button("Skip", elem_id="skip")
            with gr.Row(elem_id="reasons", visible=False) as self.reasons:
                self.judge = gr.Button("I cannot judge this", elem_id="skip-judge")
                self.broken = gr.Button("An image is broken", elem_id="skip-broken")
                self.rude = gr.Button("It is offensive", elem_id="skip-rude")
                self.keep = gr.Button("Do not skip", elem_id="skip-not")
        gr.HTML(PAGE.foot(), padding=False)

    def listen(self, page: gr.Blocks) -> None:
        """Bind the handlers; none is queued, so that a vote never waits behind other events."""
        names = [*self.titles.values(), self.counter]
        screen = [self.token, self.item, self.answers, *self.sides.values(), self.status, self.problem, *names]
        screen += [self.saved, self.bank, self.family, self.pick, self.results, self.reasons, self.skip]
        # A choice takes and returns plain text: Gradio's processing of components would cost more than the vote.
        choice: dict[str, Any] = {**RAW, "postprocess": False}
        page.load(self.on_load, self.query, [self.query, *screen], js="() => window.location.search", **RAW)
        for side, handler in zip(SIDES, (self.on_choose_a, self.on_choose_b), strict=True):
            chosen = self.choose[side].click(handler, self.token, [self.status, self.saved, self.problem], **choice)
            chosen.then(None, js="() => stereoscope.focus('status')")
        self.undo.click(self.on_undo, self.token, [self.token, self.status, self.saved, self.problem], **choice)
        self.reveal.click(self.on_reveal, self.token, [self.status, self.problem, *names], **choice)
        following = self.next.click(self.on_next, [self.query, self.family], screen, **RAW)
        following.then(None, js="() => stereoscope.focusNew()")
        shown = self.skip.click(self.on_skip, None, [self.reasons, self.skip], **RAW)
        shown.then(None, js="() => stereoscope.focus('skip-judge')")
        kept = self.keep.click(self.on_keep, None, [self.reasons, self.skip], **RAW)
        kept.then(None, js="() => stereoscope.focus('skip')")
        skips = ((self.judge, self.on_skip_judge), (self.broken, self.on_skip_broken), (self.rude, self.on_skip_rude))
        for button, handler in skips:
            skipped = button.click(handler, [self.query, self.family, self.token], screen, **RAW)
            skipped.then(None, js="() => stereoscope.focusNew()")
        gr.on(
            [self.pick.expand, self.search.submit, self.family.change, self.search.change],
            self.on_search,
            [self.family, self.search],
            [self.results, self.family, self.problem],
            **LATEST,
        )

    def on_load(self, query: object, request: gr.Request) -> Updates:
        """Show the voter's unfinished battle, the linked item's, or a new one; until then there is no "Next"."""
        return {self.status: status_html(None), **self._loaded(query, request)}

    @_shows_errors
    def _loaded(self, query: object, request: gr.Request) -> Updates:
        link = Link.parse(query)
        if sent_cookie(request.headers) is None:
            return {self.query: query, **self._message("One step more", str(NoVisitorError()), new_tab=True)}
        updates = self._next(link, BattleRequest(item=link.item), request)
        return {self.query: query, self.pick: gr.update(visible=link.campaign is None), **updates}

    @_shows_errors
    def on_next(self, query: object, family: object, request: gr.Request) -> Updates:
        """Show the next battle, or first one that is voted but not yet revealed."""
        return self._next(Link.parse(query), self._battle_request(family), request)

    async def on_choose_a(self, token: object, request: gr.Request) -> Updates:
        return await self._choose("a", token, request)

    async def on_choose_b(self, token: object, request: gr.Request) -> Updates:
        return await self._choose("b", token, request)

    @_shows_errors
    def on_skip_judge(self, query: object, family: object, token: object, request: gr.Request) -> Updates:
        return self._skip("cannot judge", query, family, token, request)

    @_shows_errors
    def on_skip_broken(self, query: object, family: object, token: object, request: gr.Request) -> Updates:
        return self._skip("image broken", query, family, token, request)

    @_shows_errors
    def on_skip_rude(self, query: object, family: object, token: object, request: gr.Request) -> Updates:
        return self._skip("offensive", query, family, token, request)

    async def _choose(self, side: Side, token: object, request: gr.Request) -> Updates:
        """Store the choice; the page asks for the names once it can no longer be undone."""
        try:
            voter = await asyncio.to_thread(self._voter, request)  # may query the database
            battle = await self._write_batch.vote(VoteRequest(voter, str(token), side, self._terms))
        except SHOWN_ERRORS as error:
            return {self.problem: PARTS.problem(error)}
        return {self.status: status_html(battle), self.saved: backup_line(self._copy(), now()), self.problem: ""}

    @_shows_errors
    def on_undo(self, token: object, request: gr.Request) -> Updates:
        battle = self._store.undo(self._voter(request), str(token))
        return {self.token: battle.token, self.status: status_html(battle), self.saved: ""}

    @_shows_errors
    def on_reveal(self, token: object, request: gr.Request) -> Updates:
        """Make the choice final, and only then show the names."""
        voter = self._voter(request)
        try:
            return self._named(self._store.reveal(voter, str(token)), voter)
        except ChoiceError as error:  # a late answer may have put another battle's names on the page
            stands = status_html(self._store.find(voter, str(token)))
            return {**self._unnamed(), self.status: stands, self.problem: PARTS.problem(error)}

    def on_skip(self) -> Updates:
        return {self.reasons: gr.update(visible=True), self.skip: gr.update(visible=False)}

    def on_keep(self) -> Updates:
        return {self.reasons: gr.update(visible=False), self.skip: gr.update(visible=True)}

    def _skip(self, reason: SkipReason, query: object, family: object, token: object, request: gr.Request) -> Updates:
        self._store.skip(self._voter(request), str(token), reason)
        return self._next(Link.parse(query), self._battle_request(family), request)

    @_shows_errors
    def on_search(self, family: object, words: object) -> Updates:
        """Show the items of a family whose instruction contains all the words."""
        items = self._sampler.shown_items()
        families = sorted({item.family for item in items}, key=str.casefold)
        battle_request = self._battle_request(family)
        wanted = frozenset(str(words or "").casefold().split())
        found = [item for item in items if battle_request.family in (None, item.family)]
        found = [item for item in found if all(word in item.folded for word in wanted)]
        return {
            self.problem: gr.skip(),  # it may be about a vote
            self.results: HTML.results(found[:RESULTS], len(found[RESULTS:])),
            self.family: gr.update(choices=[ANY_FAMILY, *families]),
        }

    def _next(self, link: Link, battle_request: BattleRequest, request: gr.Request) -> Updates:
        """Serve the next battle, or say why there is none."""
        voter = self._voter(request)
        try:
            given = (link.worker, link.wanted)
            seat = None if link.campaign is None else self._campaigns.seat(voter, link.campaign, *given)
        except CampaignError as error:
            return self._message("This link does not work", str(error))
        if seat and self._campaigns.progress(seat.id).votes >= seat.wanted:
            text = f"You have given all {seat.wanted} votes. Your completion code: {seat.code}"
            return {**self._message("Thank you!", text), self.status: ""}
        try:
            asked = BattleRequest() if seat else battle_request
            battle = self._sampler.next_battle(voter, asked, seat, self._networks.of(request))
        except LimitError as error:
            return self._message("Enough for now", str(error))
        if isinstance(battle, NoBattle):
            return self._message("Nothing to compare", battle.value)
        if battle.phase is Phase.VOTED:
            battle = self._store.reveal(voter, battle.token)
        return self._battle(battle, voter)

    def _battle(self, battle: Battle, voter: int) -> Updates:
        item = self._items.bank().items[battle.item]
        texts = self._items.answer_texts((battle.answer_a, battle.answer_b))
        return {
            self.token: battle.token,
            self.item: HTML.item(item),
            self.answers: gr.update(visible=True),
            self.sides["a"]: HTML.side(texts[0]),
            self.sides["b"]: HTML.side(texts[1]),
            self.bank: HTML.demo() if self._sampler.is_demo() else "",
            self.status: status_html(battle),
            self.saved: "",
            self.counter: self._counted(voter, battle),
            **self.on_keep(),
            **(self._named(battle, voter) if battle.phase is Phase.REVEALED else self._unnamed()),
        }

    def _unnamed(self) -> Updates:
        return {title: HTML.title(side) for side, title in self.titles.items()}

    def _named(self, battle: Battle, voter: int) -> Updates:
        """Return the updates that show the names, over the answers and in the status line, for screen readers."""
        names = self._store.names(voter, battle.token)
        return {
            self.titles["a"]: HTML.title("a", names.a, battle.choice == "a"),
            self.titles["b"]: HTML.title("b", names.b, battle.choice == "b"),
            self.status: status_html(battle, names),
            self.counter: self._counted(voter, battle),
        }

    def _message(self, title: str, text: str, new_tab: bool = False) -> Updates:
        updates = {self.item: HTML.message(title, text, new_tab), self.answers: gr.update(visible=False)}
        return {**updates, self.token: "", self.status: status_html(None), self.saved: ""}

    def _counted(self, voter: int, battle: Battle) -> str:
        if battle.seat is not None:
            return "{} of {} votes".format(*self._campaigns.progress(battle.seat))
        return f"Your votes: {self._store.votes_of(voter)}"

    def _voter(self, request: gr.Request) -> int:
        return sent_voter(self._store.voter, request.headers)

    @staticmethod
    def _battle_request(family: object) -> BattleRequest:
        return BattleRequest(family=family if isinstance(family, str) and family != ANY_FAMILY else None)
