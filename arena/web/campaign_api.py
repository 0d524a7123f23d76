"""Campaign API: a worker's pages. A link opens the campaign, a form takes a seat, the seat's address is all it needs.

No cookie is set, and that of a login alone is read, where a campaign takes people who are logged in: the pages work in
a platform's frame. What a form sends is checked against the database; a page that was sent is a redirect away, so that
a reload sends nothing twice.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.exceptions import HTTPException

from arena.battles.choices import UnknownBattleError
from arena.battles.quotas import Networks
from arena.battles.voters import Voters
from arena.database import now
from arena.errors import VoterError
from arena.locale import current_locale, speaking, t, translated
from arena.seats.campaigns import Campaign, CampaignStore
from arena.seats.links import Arrival, CampaignLinkError, LoginNeededError, account_arrival, arrival
from arena.seats.qualification import ExamStanding, Qualification
from arena.seats.seats import Seat, SeatStore, check_open
from arena.seats.sheet import state_of
from arena.seats.spec import CampaignError, PlatformKind
from arena.seats.task import ExamAnswer, ExamQuestion, Piece, SeatTask
from arena.templates import macros
from arena.web.cookies import NO_STORE, owner_of
from arena.web.static_files import Links, StaticFile

HTML = macros("campaign.html")
_HERE = Path(__file__).parent
STYLE = StaticFile(
    "campaign.css",
    [_HERE / f"{name}.css" for name in ("tokens", "document", "battle", "sheet", "campaign")],
)
SCRIPT = StaticFile(
    "campaign.js", [_HERE / f"{name}.js" for name in ("document", "scene", "campaign")]
)
LINKS = Links(STYLE.address, SCRIPT.address)
PLATFORMS: Mapping[PlatformKind, str] = {"prolific": "Prolific", "mturk": "MTurk"}
"""Where workers come from, by the name that they know; no link leads back to another."""
PROLIFIC = "https://app.prolific.com/submissions/complete?"
_SHOWN = (VoterError, UnknownBattleError, CampaignError)
_MOST_VALUE = 200
Do = Callable[[Seat], str | None]
"""What a form asks for; returns the query of the page that follows, None for the same page as it was filled in."""

log = logging.getLogger(__name__)


class FullError(CampaignLinkError):
    """A link of a campaign whose places are all taken, some by workers whom the platform has not confirmed yet."""

    def __init__(self) -> None:
        super().__init__(
            "Every question is answered or being answered. Some may come back once the platform's list has told who "
            "took part: try again later, or return this on your platform."
        )


@dataclass(frozen=True)
class Visit:
    """One request of a worker."""

    network: str | None
    cookie: str
    """Hash of the browser's cookie; nobody's without one."""
    address: str
    """Path and query."""


@dataclass(frozen=True)
class CampaignPages:
    """Pages of the campaigns of one database; `tasks` by the name of what people do."""

    campaigns: CampaignStore
    seats: SeatStore
    qualification: Qualification
    tasks: Mapping[str, SeatTask]
    voters: Voters
    networks: Networks
    mturk_hosts: Sequence[str]

    def opened(self, name: str, query: Mapping[str, str], visit: Visit) -> str | Seat:
        """What a link opens: the seat that its person has, or the page of consent. Raises CampaignLinkError."""
        campaign, who = self._arrival(name, query, visit)
        if not who.is_preview and self.seats.of(campaign, who):
            return self.seats.enter(campaign, who, visit.network)
        self._check_room(campaign)
        action = "" if who.is_preview else f"/c/{campaign.name}?{urlencode(query)}"
        with self.worded(campaign):
            instructions = self.tasks[campaign.task].instructions(campaign)
            entry = HTML.entry(campaign.spec, instructions, self._times(campaign), action)
            return self._page(campaign, "entry", entry)

    def enter(self, name: str, query: Mapping[str, str], visit: Visit) -> Seat:
        """Take the seat of a link's person. Raises CampaignLinkError."""
        campaign, who = self._arrival(name, query, visit)
        if who.is_preview:
            raise CampaignLinkError("This is a preview. Accept the HIT to begin.")
        if not self.seats.of(campaign, who):
            self._check_room(campaign)
        return self.seats.enter(campaign, who, visit.network)

    def _check_room(self, campaign: Campaign) -> None:
        """Raise CampaignLinkError where there is no place for anybody new."""
        check_open(campaign)
        if campaign.spec.platform.must_confirm and self.tasks[campaign.task].is_full(campaign):
            raise FullError

    def _arrival(
        self, name: str, query: Mapping[str, str], visit: Visit
    ) -> tuple[Campaign, Arrival]:
        campaign = self.campaigns.find(name)
        if campaign is None:
            raise CampaignLinkError(
                "There is no such campaign. Open the link exactly as you got it."
            )
        logged_in = None
        if campaign.spec.platform.kind == "login" and (
            account := self.voters.account(visit.cookie)
        ):
            subject, user_name = account
            logged_in = account_arrival(subject, user_name)
        return campaign, arrival(
            campaign.key, campaign.spec, query, now(), self.mturk_hosts, logged_in
        )

    def worded(self, campaign: Campaign) -> AbstractContextManager[None]:
        """Makes the texts of the campaign's task the current ones, in the language of the request."""
        return speaking(current_locale().of_tasks(*self.tasks[campaign.task].texts))

    def seat(self, name: str, token: str) -> Seat:
        """The seat of an address. Raises CampaignLinkError."""
        campaign = self.campaigns.find(name)
        found = campaign and self.seats.find(campaign, token)
        if not found:
            raise CampaignLinkError("There is no such seat. Open the link exactly as you got it.")
        return found

    def do(self, seat: Seat, form: Mapping[str, str]) -> str:
        """Do what a form asks; return the query of the page that follows. Raises VoterError."""
        task = self.tasks[seat.campaign.task]
        act = form.get("act", "")
        piece = form.get("piece", "")
        if seat.end is not None:
            raise CampaignLinkError("Your work here is done; nothing more can be sent.")
        if act == "withdraw":
            self.seats.note(seat, "withdrew")
        elif seat.must_qualify:
            return self._answer_exam(seat, task, form)
        elif act == "undo":
            task.undo(seat, piece)
        elif act == "finish":
            task.finish(seat, piece)
        elif (reason := form.get("skip")) is not None:
            task.skip(seat, piece, reason)
        else:
            task.take(seat, piece, form)
        return ""

    def _answer_exam(self, seat: Seat, task: SeatTask, form: Mapping[str, str]) -> str:
        number = form.get("number", "")
        stands = self.qualification.standing(seat)
        # nothing is asked any more
        if seat.campaign.ended_at is not None or stands is None or stands.is_waiting:
            return ""
        stands, question = self._exam(seat, task)
        if number != f"{stands.attempt}.{stands.number}":
            return f"?after={number}" if number.replace(".", "").isdigit() else ""
        answer = question.read(form)
        self.qualification.answer(seat, stands, question.name, answer.text, answer.is_right)
        return f"?after={number}"

    def _exam(self, seat: Seat, task: SeatTask) -> tuple[ExamStanding, ExamQuestion]:
        spec = seat.campaign.spec.qualify
        stands = self.qualification.standing(seat)
        assert spec is not None and stands is not None, (
            "a seat that must qualify has a question left"
        )
        names = task.exam_names(spec.items) if spec.items else ()
        name = self.qualification.question(
            seat, names, stands.attempt, stands.number, task.sample_names(seat)
        )
        return stands, self._question(seat, task, name)

    @staticmethod
    def _question(seat: Seat, task: SeatTask, name: str) -> ExamQuestion:
        found = task.exam_question(seat, name)
        if found is None:
            raise CampaignLinkError(
                "A practice question was taken out. Tell whoever sent you the link."
            )
        return found

    def shown(
        self,
        seat: Seat,
        visit: Visit,
        after: str = "",
        error: Exception | None = None,
        typed: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """The page of a seat as it stands; `after`: the practice question that was answered last.

        `typed`: the form that was not taken because of an error.
        """
        with self.worded(seat.campaign):
            return self._shown(seat, visit, after, error, typed)

    def _shown(
        self,
        seat: Seat,
        visit: Visit,
        after: str,
        error: Exception | None,
        typed: Mapping[str, str],
    ) -> str:
        problem = translated(error) if error else ""
        told = after and self._told(seat, after)
        if told:
            return told
        if seat.must_qualify and self.qualification.standing(seat) is None:
            seat = self.seats.note(
                seat, "qualified" if self.qualification.has_passed(seat) else "failed"
            )
        if seat.must_qualify and seat.campaign.ended_at is None:
            return self._exam_page(seat, problem, typed)
        if seat.end is None:
            task = self.tasks[seat.campaign.task]
            piece = task.piece(seat, visit.network)
            if piece is not None:
                return self._work_page(seat, piece, problem, typed)
            if task.progress(seat).votes >= seat.campaign.spec.seat.votes:
                seat = self.seats.note(seat, "done")
            elif self._is_full(seat, task):
                seat = self.seats.note(seat, "full")
            else:
                return self._without_code(seat)
        return self._end_page(seat)

    def _without_code(self, seat: Seat) -> str:
        campaign = seat.campaign
        must_confirm = campaign.spec.platform.must_confirm
        if campaign.ended_at is not None:
            message = HTML.message(t("worker.full"), t("worker.away"))
        elif must_confirm and self.tasks[campaign.task].is_full(campaign):
            message = HTML.message(t("worker.waiting"), translated(FullError()))
        else:
            message = HTML.message(
                t("worker.nothing"), t("worker.nothing_more"), path_of(seat), t("worker.again")
            )
        return self._page(campaign, "message", message)

    def _is_full(self, seat: Seat, task: SeatTask) -> bool:
        """Whether a seat without a piece is paid: its campaign ended while it was at work, or has nothing for it."""
        given = task.progress(seat)
        tried = self.qualification.last(seat)
        last = max(filter(None, (given.last, tried)), default=None)
        if seat.campaign.ended_at is not None:
            is_there = self.qualification.is_waiting(seat) or (
                state_of(seat, last, seat.campaign.ended_at) == "working"
            )
            return last is not None and is_there
        only_skipped = given.votes + given.skipped >= seat.campaign.spec.seat.votes
        return last is not None and not only_skipped and not task.waits(seat)

    def _work_page(self, seat: Seat, piece: Piece, problem: str, typed: Mapping[str, str]) -> str:
        spec = seat.campaign.spec
        task = self.tasks[seat.campaign.task]
        given = task.progress(seat)
        all_of_it = spec.seat.votes + task.checks_wanted(seat)
        number = min(all_of_it, given.votes + given.checks + (piece.phase == "open"))
        minutes = int((now() - seat.arrived_at).total_seconds() // 60)
        progress = t("worker.progress", number=number, count=all_of_it)
        lead = HTML.lead(progress, t("worker.took", minutes=minutes), number / all_of_it)
        work = task.dock(seat, piece, path_of(seat), problem, typed)
        times = self._times(seat.campaign)
        foot = HTML.foot(task.instructions(seat.campaign), times, path_of(seat), False)
        return self._page(seat.campaign, "work", lead, piece.html, work, foot)

    def _times(self, campaign: Campaign) -> dict[str, str]:
        """How long a question may take and all of them usually do, where that is known, by what it is called."""
        times = {}
        if t("worker.limit"):
            times[t("worker.limit")] = _minutes(campaign.spec.seat.minutes)
        seconds = self.tasks[campaign.task].whole_seconds(campaign)
        if seconds is not None:
            minutes = max(1, round(seconds / 60))
            times[t("worker.whole")] = t("worker.about", time=_minutes(minutes))
        return times

    def _unread_page(self, seat: Seat) -> str:
        """What a worker wrote waits for an operator."""
        message = HTML.message(
            t("worker.unread"), t("worker.unread_more"), path_of(seat), t("worker.unread_again")
        )
        instructions = self.tasks[seat.campaign.task].instructions(seat.campaign)
        foot = HTML.foot(instructions, {}, path_of(seat), False)
        return self._page(seat.campaign, "message", message, foot)

    def _exam_page(self, seat: Seat, problem: str, typed: Mapping[str, str]) -> str:
        if self.qualification.is_waiting(seat):
            return self._unread_page(seat)
        spec = seat.campaign.spec
        stands, question = self._exam(seat, self.tasks[seat.campaign.task])
        assert spec.qualify
        said_ = ""
        if stands.last is not None and stands.number == 1:
            said_ = t(
                "worker.read_again",
                right=stands.last,
                count=stands.asked,
                passed=spec.qualify.passed,
            )
        lead = self._exam_lead(stands.attempt, stands.number, seat)
        number = f"{stands.attempt}.{stands.number}"
        form = question.dock(path_of(seat), number, said_, problem, typed)
        instructions = self.tasks[seat.campaign.task].instructions(seat.campaign)
        foot = HTML.foot(instructions, {}, path_of(seat), stands.number == 1)
        return self._page(seat.campaign, "exam", lead, question.html, form, foot)

    def _told(self, seat: Seat, after: str) -> str:
        """What was right about an answered practice question; empty if there is none such."""
        attempt, _, number = after.partition(".")
        if not (
            attempt.isdecimal()
            and number.isdecimal()
            and len(after) < 9
            and seat.campaign.spec.qualify
        ):
            return ""
        given = self.qualification.stored_answer(seat, int(attempt), int(number))
        if given is None or given.is_right is None:
            return ""
        question = self._question(seat, self.tasks[seat.campaign.task], given.question)
        answer = ExamAnswer(given.answer, given.is_right)
        form = question.told(path_of(seat), answer)
        lead = self._exam_lead(int(attempt), int(number), seat)
        return self._page(seat.campaign, "exam", lead, question.html, form)

    @staticmethod
    def _exam_lead(attempt: int, number: int, seat: Seat) -> str:
        spec = seat.campaign.spec.qualify
        assert spec
        said_ = t("worker.exam", number=number, count=spec.total)
        return HTML.lead(
            said_, t("worker.try", number=attempt, count=spec.tries), number / spec.total
        )

    def _end_page(self, seat: Seat) -> str:
        platform = seat.campaign.spec.platform
        code = seat.end_code
        back = (
            f"{PROLIFIC}{urlencode({'cc': code})}" if platform.kind == "prolific" and code else ""
        )
        reply = seat.reply_to if platform.kind == "mturk" and code else ""
        values = {"assignmentId": seat.session, "code": code, "end": seat.end}
        title = t(f"worker.{seat.end}")
        text = t(f"worker.{seat.end}_more", seat=seat.id)
        name = PLATFORMS.get(platform.kind, "")
        end = HTML.end(title, text, code, name, back, reply, values)
        return self._page(seat.campaign, "end", end)

    def refused(self, error: Exception, visit: Visit) -> str:
        """The page of a link that opens nothing."""
        title = t("worker.nothing")
        text = translated(error)
        link = ""
        label = ""
        # its words are the operator's, with names of models in them
        if isinstance(error, CampaignError):
            log.warning("a campaign cannot go on: %s", error)
            text = t("worker.broken")
        elif isinstance(error, LoginNeededError):
            title = t("worker.login")
            link = f"/login?{urlencode({'back': visit.address})}"
            label = t("pages.login")
        elif isinstance(error, FullError):
            title = t("worker.waiting")
        elif isinstance(error, CampaignLinkError):
            title = t("worker.no_entry")
        return self._page(title, "message", HTML.message(title, text, link, label))

    @staticmethod
    def _page(of: Campaign | str, kind: str, *parts: str) -> str:
        title = of if isinstance(of, str) else t("worker.title", name=of.name)
        locale = current_locale()
        return HTML.document(title, locale.language, LINKS, locale.table("scripts"), kind, parts)


def _minutes(number: int) -> str:
    return t("worker.minutes", count=number)


def path_of(seat: Seat) -> str:
    return f"/c/{seat.campaign.name}/{seat.token}"


class CampaignRoutes:
    """What the routes of workers' pages do."""

    def __init__(self, pages: CampaignPages) -> None:
        self.pages = pages

    def opens(self, name: str, request: Request) -> Response:
        def act() -> Response:
            found = self.pages.opened(name, _query(request), self._visit(request))
            return to_seat(found) if isinstance(found, Seat) else _answered(found)

        return self._tried(act, request)

    async def enters(self, name: str, request: Request) -> Response:
        form = form_of(await request.body())

        def act() -> Response:
            if form.get("consent") != "yes":
                raise CampaignLinkError(
                    "Tick the box to begin; without your consent nothing is stored."
                )
            return to_seat(self.pages.enter(name, _query(request), self._visit(request)))

        return await asyncio.to_thread(self._tried, act, request)

    def shows(self, name: str, token: str, request: Request) -> Response:
        after = request.query_params.get("after", "")[:_MOST_VALUE]

        def act() -> Response:
            return _answered(
                self.pages.shown(self.pages.seat(name, token), self._visit(request), after)
            )

        return self._tried(act, request)

    async def takes(self, name: str, token: str, request: Request) -> Response:
        form = form_of(await request.body())

        def do(seat: Seat) -> str | None:
            return self.pages.do(seat, form)

        return await self.done(name, token, request, form, do)

    async def done(
        self, name: str, token: str, request: Request, form: Mapping[str, str], do: Do
    ) -> Response:
        """Do what a form asks; answer with the page that follows, or with this one if there is no query of it."""

        def act() -> Response:
            seat = self.pages.seat(name, token)
            visit = self._visit(request)
            try:
                with self.pages.worded(seat.campaign):
                    query = do(seat)
                if query is None:
                    return _answered(self.pages.shown(seat, visit, typed=form))
                return to_seat(seat, query)
            except (VoterError, UnknownBattleError) as error:
                return _answered(self.pages.shown(seat, visit, error=error, typed=form), 409)

        return await asyncio.to_thread(self._tried, act, request)

    def _visit(self, request: Request) -> Visit:
        address = f"{request.url.path}?{request.url.query}"
        return Visit(self.pages.networks.of(request), owner_of(request.headers), address)

    def _tried(self, act: Callable[[], Response], request: Request) -> Response:
        """Answer, or with the page of what went wrong."""
        try:
            return act()
        except _SHOWN as error:
            return _answered(self.pages.refused(error, self._visit(request)), 403)


def routes(pages: CampaignPages) -> APIRouter:
    """The routes of workers' pages."""
    router = APIRouter()
    does = CampaignRoutes(pages)
    router.add_api_route("/c/{name}", does.opens, methods=["GET"])
    router.add_api_route("/c/{name}", does.enters, methods=["POST"])
    router.add_api_route("/c/{name}/{token}", does.shows, methods=["GET"])
    router.add_api_route("/c/{name}/{token}", does.takes, methods=["POST"])
    return router


def _answered(html: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(
        html, status_code=status, headers={**NO_STORE, "vary": "accept-language, cookie"}
    )


def to_seat(seat: Seat, query: str = "") -> Response:
    return RedirectResponse(f"{path_of(seat)}{query}", status_code=303, headers=NO_STORE)


def _query(request: Request) -> dict[str, str]:
    return {name: value[:_MOST_VALUE] for name, value in request.query_params.items()}


def check_charset(request: Request) -> None:
    """Raise HTTPException for a form in an encoding of its own, which may be any of Python's: browsers name none."""
    if "charset" in request.headers.get("content-type", "").lower():
        raise HTTPException(400, "Its content type names a charset; a form is UTF-8.")


def form_of(body: bytes, most: int = _MOST_VALUE) -> dict[str, str]:
    """The first value of each field, without NUL, which PostgreSQL does not take; what is no form is as if not sent."""
    try:
        given = parse_qs(body.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=20)
    except ValueError:
        return {}
    return {name: values[0][:most].replace("\0", "") for name, values in given.items()}
