"""Campaign API: a worker's pages. A link opens a campaign, and a form takes a seat, which has an address of its own.

The pages set no cookie, so that they work in a platform's frame. They read only a login's cookie, for campaigns of
people who are logged in. Forms are checked against the database, and answered by a redirect, so that a reload sends
nothing twice.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.exceptions import HTTPException

from arena.battles.choices import UnknownBattleError
from arena.battles.quotas import Networks
from arena.battles.voters import Voters
from arena.database import now
from arena.errors import VoterError
from arena.locale import LOCALES, current_locale, speaking, t, translated
from arena.seats.campaigns import Campaign, CampaignStore
from arena.seats.links import Arrival, CampaignLinkError, LoginNeededError, account_arrival, arrival
from arena.seats.qualification import ExamStanding, Qualification
from arena.seats.seats import Seat, SeatStore, check_open
from arena.seats.sheet import SeatWork, seat_state
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
"""The names of the platforms to which a page links back."""
PROLIFIC = "https://app.prolific.com/submissions/complete?"
"""The address that takes a worker back to Prolific, without its query."""
_REFUSALS = (VoterError, UnknownBattleError, CampaignError)
_MOST_VALUE = 200
"""The most characters of a value in a query or a form."""
Act = Callable[[Seat], str | None]
"""A form's act. Returns the query of the next page; None to show this page again with what was typed."""

log = logging.getLogger(__name__)


class FullError(CampaignLinkError):
    """All places of a campaign are taken, some by workers that the platform hasn't confirmed yet."""

    def __init__(self) -> None:
        super().__init__(
            "Every question is answered or with someone else. Some may open again once the "
            "platform confirms who took part. Try again later, or return this on your "
            "platform."
        )


@dataclass(frozen=True)
class Visit:
    """A request of a worker."""

    network: str | None
    cookie: str
    """The hash of the browser's cookie; without a cookie, a hash that owns nothing."""
    address: str
    """The path and the query."""


class _Entrance(NamedTuple):
    """A campaign, and the person who opens its link."""

    campaign: Campaign
    worker: Arrival


@dataclass(frozen=True)
class CampaignPages:
    """The pages of a database's campaigns."""

    campaigns: CampaignStore
    seats: SeatStore
    qualification: Qualification
    tasks: Mapping[str, SeatTask]
    """By name."""
    voters: Voters
    networks: Networks
    mturk_hosts: Sequence[str]
    """The hosts to which workers of MTurk may hand in."""

    def open_link(self, name: str, query: Mapping[str, str], visit: Visit) -> str | Seat:
        """Returns the seat of a link's person, or the HTML of the page of consent for a new person.

        Raises CampaignLinkError.
        """
        campaign, worker = self._entrance(name, query, visit)
        if not worker.is_preview and self.seats.find_by_person(campaign, worker):
            return self.seats.enter(campaign, worker, visit.network)
        self._check_room(campaign)
        # A preview has no form.
        action = "" if worker.is_preview else f"/c/{campaign.name}?{urlencode(query)}"
        with self.speaking_of(campaign):
            instructions = self.tasks[campaign.task].instructions(campaign)
            entry = HTML.entry(campaign.spec, instructions, self._times(campaign), action)
            return self._page(campaign, "entry", entry)

    def enter(self, name: str, query: Mapping[str, str], visit: Visit) -> Seat:
        """Takes a seat for a link's person, or returns to theirs. Raises CampaignLinkError."""
        campaign, worker = self._entrance(name, query, visit)
        if worker.is_preview:
            raise CampaignLinkError("This is a preview. Accept the HIT to begin.")
        if not self.seats.find_by_person(campaign, worker):
            self._check_room(campaign)
        return self.seats.enter(campaign, worker, visit.network)

    def _check_room(self, campaign: Campaign) -> None:
        """Raises CampaignLinkError if there is no place for a new person."""
        check_open(campaign)
        # Where nobody confirms workers, a campaign with all its votes has ended.
        if campaign.spec.platform.must_confirm and self.tasks[campaign.task].is_full(campaign):
            raise FullError

    def _entrance(self, name: str, query: Mapping[str, str], visit: Visit) -> _Entrance:
        campaign = self.campaigns.find(name)
        if campaign is None:
            raise CampaignLinkError(
                "This campaign doesn't exist. Open the link exactly as you got it."
            )
        logged_in = None
        if campaign.spec.platform.kind == "login":
            account = self.voters.account(visit.cookie)
            if account:
                logged_in = account_arrival(account.subject_hash, account.name)
        worker = arrival(campaign.key, campaign.spec, query, now(), self.mturk_hosts, logged_in)
        return _Entrance(campaign, worker)

    def speaking_of(self, campaign: Campaign) -> AbstractContextManager[None]:
        """Makes the texts of the campaign's task the current ones, in the language of the request."""
        return speaking(current_locale().with_tasks(*self.tasks[campaign.task].texts))

    def seat(self, name: str, token: str) -> Seat:
        """Returns the seat of an address. Raises CampaignLinkError."""
        campaign = self.campaigns.find(name)
        seat = self.seats.find(campaign, token) if campaign else None
        if seat is None:
            raise CampaignLinkError("This seat doesn't exist. Open the link exactly as you got it.")
        return seat

    def do(self, seat: Seat, form: Mapping[str, str]) -> str:
        """Runs a form's act, and returns the query of the next page. Raises VoterError and UnknownBattleError."""
        task = self.tasks[seat.campaign.task]
        act = form.get("act", "")
        piece = form.get("piece", "")
        if seat.end is not None:
            raise CampaignLinkError("Your work here is done. You can't send anything more.")
        if act == "withdraw":
            self.seats.add_event(seat, "withdrew")
        elif seat.must_qualify:
            return self._answer_exam(seat, task, form)
        elif act == "undo":
            task.undo(seat, piece)
        elif act == "finish":
            task.finish(seat, piece)
        elif "skip" in form:
            task.skip(seat, piece, form["skip"])
        else:
            task.take(seat, piece, form)
        return ""

    def _answer_exam(self, seat: Seat, task: SeatTask, form: Mapping[str, str]) -> str:
        """Stores the answer to a practice question, and returns the query of the next page."""
        standing = self.qualification.standing(seat)
        if seat.campaign.ended_at is not None or standing is None or standing.is_waiting:
            return ""
        number = form.get("number", "")
        # Another tab answered this question already, or the form is forged.
        if number != f"{standing.attempt}.{standing.number}":
            return f"?after={number}" if number.replace(".", "").isdigit() else ""
        question = self._current_question(seat, task, standing)
        answer = question.read(form)
        self.qualification.answer(seat, standing, question.name, answer.text, answer.is_right)
        return f"?after={number}"

    def _current_question(self, seat: Seat, task: SeatTask, standing: ExamStanding) -> ExamQuestion:
        """Returns the question of a standing that isn't waiting.

        The caller reads the standing once, since another tab may answer at any time.
        """
        spec = seat.campaign.spec.qualify
        assert spec is not None, "only campaigns with a qualification get here"
        names = task.exam_names(spec.items) if spec.items else ()
        name = self.qualification.question_name(
            seat, names, standing.attempt, standing.number, task.sample_names(seat)
        )
        return self._question(seat, task, name)

    @staticmethod
    def _question(seat: Seat, task: SeatTask, name: str) -> ExamQuestion:
        question = task.exam_question(seat, name)
        if question is None:
            raise CampaignLinkError(
                "A practice question was removed. Tell whoever sent you the link."
            )
        return question

    def seat_page(
        self,
        seat: Seat,
        visit: Visit,
        after: str = "",
        error: Exception | None = None,
        typed: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """Returns the HTML of a seat's current page. First stores that the seat has qualified or ended, if it has.

        `after`: the practice question that was answered last, as ATTEMPT.NUMBER, whose result is shown. `typed`: the
        fields of a form that was refused with `error`.
        """
        with self.speaking_of(seat.campaign):
            result_page = self._result_page(seat, after)
            return result_page or self._current_page(seat, visit, error, typed)

    def _current_page(
        self,
        seat: Seat,
        visit: Visit,
        error: Exception | None,
        typed: Mapping[str, str],
    ) -> str:
        problem = translated(error) if error else ""
        if seat.must_qualify:
            standing = self.qualification.standing(seat)
            if standing is None:
                has_passed = self.qualification.has_passed(seat)
                seat = self.seats.add_event(seat, "qualified" if has_passed else "failed")
            elif seat.campaign.ended_at is None:
                return self._exam_page(seat, standing, problem, typed)
        if seat.end is None:
            task = self.tasks[seat.campaign.task]
            piece = task.piece(seat, visit.network)
            if piece is not None:
                return self._work_page(seat, piece, problem, typed)
            if task.progress(seat).votes >= seat.campaign.spec.seat.votes:
                seat = self.seats.add_event(seat, "done")
            elif self._is_paid_early(seat, task):
                seat = self.seats.add_event(seat, "full")
            else:
                return self._no_piece_page(seat)
        return self._end_page(seat)

    def _no_piece_page(self, seat: Seat) -> str:
        """Returns the page of a worker for whom there is no piece now, and who isn't paid for that."""
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

    def _is_paid_early(self, seat: Seat, task: SeatTask) -> bool:
        """Whether a seat without a piece is paid: its campaign ended during its work, or has no more work for it."""
        progress = task.progress(seat)
        last_exam = self.qualification.last_answer_at(seat)
        answered_at = [moment for moment in (progress.last, last_exam) if moment is not None]
        if not answered_at:
            return False
        if seat.campaign.ended_at is not None:
            work = SeatWork(votes=progress.votes, last=max(answered_at))
            return seat_state(seat, work, now()) == "full" or self.qualification.is_waiting(seat)
        # A seat that was offered all its pieces and skipped some had the chance to be paid in full.
        has_skipped_rest = progress.votes + progress.skipped >= seat.campaign.spec.seat.votes
        return not has_skipped_rest and not task.waits(seat)

    def _work_page(self, seat: Seat, piece: Piece, problem: str, typed: Mapping[str, str]) -> str:
        spec = seat.campaign.spec
        task = self.tasks[seat.campaign.task]
        progress = task.progress(seat)
        total = spec.seat.votes + task.checks_wanted(seat)
        number = progress.votes + progress.checks
        if piece.phase == "open":
            number += 1
        # Check items that a seat has done can be removed, which lowers the total.
        number = min(total, number)
        minutes = int((now() - seat.arrived_at).total_seconds() // 60)
        position = t("worker.progress", number=number, count=total)
        lead = HTML.lead(position, t("worker.took", minutes=minutes), number / total)
        work = task.dock(seat, piece, path_of(seat), problem, typed)
        times = self._times(seat.campaign)
        foot = HTML.foot(task.instructions(seat.campaign), times, path_of(seat), open=False)
        return self._page(seat.campaign, "work", lead, piece.html, work, foot)

    def _times(self, campaign: Campaign) -> dict[str, str]:
        """Returns the time limit of a question and the usual time of all, as far as known, by their names."""
        times = {}
        # A task's own texts may leave out the limit.
        if t("worker.limit"):
            times[t("worker.limit")] = _minutes(campaign.spec.seat.minutes)
        seconds = self.tasks[campaign.task].whole_seconds(campaign)
        if seconds is not None:
            minutes = max(1, round(seconds / 60))
            times[t("worker.whole")] = t("worker.about", time=_minutes(minutes))
        return times

    def _unread_page(self, seat: Seat) -> str:
        """Returns the page of a worker whose sample waits for an operator."""
        message = HTML.message(
            t("worker.unread"), t("worker.unread_more"), path_of(seat), t("worker.unread_again")
        )
        instructions = self.tasks[seat.campaign.task].instructions(seat.campaign)
        foot = HTML.foot(instructions, {}, path_of(seat), open=False)
        return self._page(seat.campaign, "message", message, foot)

    def _exam_page(
        self, seat: Seat, standing: ExamStanding, problem: str, typed: Mapping[str, str]
    ) -> str:
        if standing.is_waiting:
            return self._unread_page(seat)
        spec = seat.campaign.spec
        question = self._current_question(seat, self.tasks[seat.campaign.task], standing)
        assert spec.qualify
        note = ""
        # The first question of a new try.
        if standing.last is not None and standing.number == 1:
            note = t(
                "worker.read_again",
                right=standing.last,
                count=standing.asked,
                passed=spec.qualify.passed,
            )
        lead = self._exam_lead(standing.attempt, standing.number, seat)
        number = f"{standing.attempt}.{standing.number}"
        form = question.dock(path_of(seat), number, note, problem, typed)
        instructions = self.tasks[seat.campaign.task].instructions(seat.campaign)
        foot = HTML.foot(instructions, {}, path_of(seat), open=standing.number == 1)
        return self._page(seat.campaign, "exam", lead, question.html, form, foot)

    def _result_page(self, seat: Seat, after: str) -> str:
        """Returns the page with the result of an answered practice question; empty if there is no such answer."""
        attempt, _, number = after.partition(".")
        # `after` comes from the browser.
        is_valid = attempt.isdecimal() and number.isdecimal() and len(after) < 9
        if not is_valid or not seat.campaign.spec.qualify:
            return ""
        stored = self.qualification.stored_answer(seat, int(attempt), int(number))
        # An operator has to read it first if `is_right` is None.
        if stored is None or stored.is_right is None:
            return ""
        question = self._question(seat, self.tasks[seat.campaign.task], stored.question)
        answer = ExamAnswer(stored.answer, stored.is_right)
        form = question.result(path_of(seat), answer)
        lead = self._exam_lead(int(attempt), int(number), seat)
        return self._page(seat.campaign, "exam", lead, question.html, form)

    @staticmethod
    def _exam_lead(attempt: int, number: int, seat: Seat) -> str:
        spec = seat.campaign.spec.qualify
        assert spec
        progress = t("worker.exam", number=number, count=spec.total)
        return HTML.lead(
            progress, t("worker.try", number=attempt, count=spec.tries), number / spec.total
        )

    def _end_page(self, seat: Seat) -> str:
        platform = seat.campaign.spec.platform
        code = seat.end_code
        back = ""
        reply = ""
        if code and platform.kind == "prolific":
            back = f"{PROLIFIC}{urlencode({'cc': code})}"
        elif code and platform.kind == "mturk":
            reply = seat.reply_to
        values = {"assignmentId": seat.session, "code": code, "end": seat.end}
        title = t(f"worker.{seat.end}")
        text = t(f"worker.{seat.end}_more", seat=seat.id)
        platform_name = PLATFORMS.get(platform.kind, "")
        end = HTML.end(title, text, code, platform_name, back, reply, values)
        return self._page(seat.campaign, "end", end)

    def refusal_page(self, error: Exception, visit: Visit) -> str:
        """Returns the page of a link that is refused."""
        title = t("worker.nothing")
        text = translated(error)
        link = ""
        label = ""
        # The error's own words are for operators, and name models.
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
    def _page(subject: Campaign | str, kind: str, *parts: str) -> str:
        """Returns a whole page. `subject`: its title, or the campaign it is about; `kind`: for styles and scripts."""
        title = subject if isinstance(subject, str) else t("worker.title", name=subject.name)
        locale = current_locale()
        texts = locale.table("scripts")
        languages = list(LOCALES.values())
        return HTML.document(title, locale.language, languages, LINKS, texts, kind, parts)


def _minutes(number: int) -> str:
    return t("worker.minutes", count=number)


def path_of(seat: Seat) -> str:
    return f"/c/{seat.campaign.name}/{seat.token}"


class CampaignRoutes:
    """The handlers of workers' pages."""

    def __init__(self, pages: CampaignPages) -> None:
        self.pages = pages

    def open_link(self, name: str, request: Request) -> Response:
        def make_response() -> Response:
            page = self.pages.open_link(name, _query(request), self._visit(request))
            return to_seat(page) if isinstance(page, Seat) else _html_response(page)

        return self._run(make_response, request)

    async def enter(self, name: str, request: Request) -> Response:
        form = form_of(await request.body())

        def make_response() -> Response:
            if form.get("consent") != "yes":
                raise CampaignLinkError(
                    "Tick the box to begin. Nothing is stored without your consent."
                )
            return to_seat(self.pages.enter(name, _query(request), self._visit(request)))

        return await asyncio.to_thread(self._run, make_response, request)

    def show(self, name: str, token: str, request: Request) -> Response:
        after = request.query_params.get("after", "")[:_MOST_VALUE]

        def make_response() -> Response:
            seat = self.pages.seat(name, token)
            return _html_response(self.pages.seat_page(seat, self._visit(request), after))

        return self._run(make_response, request)

    async def take(self, name: str, token: str, request: Request) -> Response:
        form = form_of(await request.body())

        def act(seat: Seat) -> str | None:
            return self.pages.do(seat, form)

        return await self.respond(name, token, request, form, act)

    async def respond(
        self, name: str, token: str, request: Request, form: Mapping[str, str], act: Act
    ) -> Response:
        """Runs a form's act and redirects to the next page; shows this page again if it returns None or is refused."""

        def make_response() -> Response:
            seat = self.pages.seat(name, token)
            visit = self._visit(request)
            try:
                with self.pages.speaking_of(seat.campaign):
                    query = act(seat)
                if query is None:
                    return _html_response(self.pages.seat_page(seat, visit, typed=form))
                return to_seat(seat, query)
            except (VoterError, UnknownBattleError) as error:
                return _html_response(
                    self.pages.seat_page(seat, visit, error=error, typed=form), 409
                )

        return await asyncio.to_thread(self._run, make_response, request)

    def _visit(self, request: Request) -> Visit:
        address = f"{request.url.path}?{request.url.query}"
        return Visit(self.pages.networks.of(request), owner_of(request.headers), address)

    def _run(self, make_response: Callable[[], Response], request: Request) -> Response:
        """Returns the response, or the page of a refusal."""
        try:
            return make_response()
        except _REFUSALS as error:
            return _html_response(self.pages.refusal_page(error, self._visit(request)), 403)


def routes(pages: CampaignPages) -> APIRouter:
    """Returns the routes of workers' pages."""
    router = APIRouter()
    handlers = CampaignRoutes(pages)
    router.add_api_route("/c/{name}", handlers.open_link, methods=["GET"])
    router.add_api_route("/c/{name}", handlers.enter, methods=["POST"])
    router.add_api_route("/c/{name}/{token}", handlers.show, methods=["GET"])
    router.add_api_route("/c/{name}/{token}", handlers.take, methods=["POST"])
    return router


def _html_response(html: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(
        html, status_code=status, headers={**NO_STORE, "vary": "accept-language, cookie"}
    )


def to_seat(seat: Seat, query: str = "") -> Response:
    """Returns a redirect to a seat's page."""
    return RedirectResponse(f"{path_of(seat)}{query}", status_code=303, headers=NO_STORE)


def _query(request: Request) -> dict[str, str]:
    return {name: value[:_MOST_VALUE] for name, value in request.query_params.items()}


def check_charset(request: Request) -> None:
    """Raises HTTPException for a form that names its charset, which could be any of Python's. Browsers name none."""
    if "charset" in request.headers.get("content-type", "").lower():
        raise HTTPException(400, "The form's content type names a charset. Send it as UTF-8.")


def form_of(body: bytes, most: int = _MOST_VALUE) -> dict[str, str]:
    """Returns the first value of each field, cut to `most` characters; no field if there are more than 20.

    NUL is removed, since PostgreSQL doesn't store it.
    """
    try:
        fields = parse_qs(
            body.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=20
        )
    except ValueError:
        return {}
    return {name: values[0][:most].replace("\0", "") for name, values in fields.items()}
