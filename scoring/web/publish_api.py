"""Publishing on the Hub: a published report's files to download, its page with a preview, and the pull request.

A pull request needs a token of the person who opens it. It comes with a login that asks for this one act, or is pasted
into a form; it is used once, and kept nowhere.
"""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse

from arena.items.fact_store import FactStore
from arena.locale import t, translated
from arena.model_facts import is_repository
from arena.server.hub_evaluations import eval_results, model_index
from arena.server.hub_pull_request import TROUBLES, HubModels, Proposal, PullRequestError
from arena.server.model_card import ModelCardError
from arena.templates import macros
from arena.types import Secret
from arena.web.addresses import NAME
from arena.web.campaign_api import check_charset, form_of
from arena.web.cookies import (
    NO_STORE,
    VoterCookies,
    cookie_hash,
    cookie_header,
    is_https,
    sent_cookie,
)
from arena.web.heads import Head
from arena.web.layout import PageLayout
from arena.web.oauth import PUBLISH_SCOPES, Grant
from arena.web.signer import Signer
from scoring.jobs.published import PublishedJobs
from scoring.jobs.store import Jobs
from scoring.publish.editions import edition_of
from scoring.publish.every_eval import Evaluation, every_eval_zip
from scoring.publish.hub_files import PublishError, hub_score
from scoring.report import AnyReport
from scoring.web.share_texts import share_record

HTML: Any = macros("hub.html")
LOGIN = "/login/publish"
CHANGED = "The report has changed. Check the preview again."
UNSEEN = "Check the preview in this window, then open the pull request."
GONE = "This report isn't public."
REPOSITORY = "The model's repository is missing. Add ?repo=OWNER/NAME to this address."
PROBLEMS = {**TROUBLES, "changed": CHANGED, "unseen": UNSEEN}
"""Texts of the page after an attempt, by the word in its address."""
_DOWNLOAD_HEADERS = {"cache-control": "no-cache", "x-robots-tag": "noindex"}
_MOST_REPOSITORY = 200
"""Letters of a repository's name that are read."""
_MOST_SLUG = 200
"""Letters of a slug that are read."""
MOST_FIELD = 4_000
"""Letters of a form's field."""
AT_ONCE = 4
"""Requests to the Hub at one time; more wait."""
_PULL_NUMBER = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_TOKEN = re.compile(r"[!-~]{8,2000}")
"""A token of the Hub: printable ASCII without blanks."""


class PublishedReport(NamedTuple):
    """A published report at its address."""

    slug: str
    url: str
    report: AnyReport


class Outcome(NamedTuple):
    """The outcome of an attempt to open a pull request: its number, or the word for the problem."""

    pull: int | None = None
    problem: str = ""
    """One of PROBLEMS."""


class Preview(NamedTuple):
    """The pull request that a browser was shown."""

    slug: str
    repository: str
    digest: str
    """The digest of the proposal."""


class _HubFile(NamedTuple):
    """A file to download."""

    name: str
    content: bytes


@dataclass(frozen=True)
class HubPages:
    """The pages and files of a server's published reports for the Hub."""

    jobs: Jobs
    published: PublishedJobs
    hub: HubModels
    facts: FactStore
    layout: PageLayout
    cookies: VoterCookies
    signer: Signer
    has_login: bool
    https: bool
    """Whether a proxy speaks https for us."""
    turns: asyncio.Semaphore

    # Files

    def eval_yaml(self, slug: str, request: Request) -> Response:
        def make(published: PublishedReport) -> _HubFile:
            score = hub_score(published.report, published.url)
            name = score.path.rpartition("/")[2]
            return _HubFile(name, eval_results(score))

        return self._file(slug, request, "application/yaml", make)

    def model_index(self, slug: str, request: Request) -> Response:
        def make(published: PublishedReport) -> _HubFile:
            score = hub_score(published.report, published.url)
            repository = self._repository(request, published.report)
            name = repository.partition("/")[2] or published.report.title
            return _HubFile("model-index.yaml", model_index(score, name))

        return self._file(slug, request, "application/yaml", make)

    def every_eval(self, slug: str, request: Request) -> Response:
        """Returns the record of Every Eval Ever.

        The query says whether the model is the caller's `own`, and whether to include the answers' `texts`.
        """
        query = request.query_params

        def make(published: PublishedReport) -> _HubFile:
            repository = self._repository(request, published.report)
            if not repository:
                raise PublishError(REPOSITORY)
            evaluation = Evaluation(
                model=repository,
                slug=published.slug,
                url=published.url,
                relationship="first_party" if query.get("own") == "yes" else "third_party",
                with_texts=query.get("texts") == "yes",
                facts=self.facts.snapshot().of(published.report.title),
            )
            content = every_eval_zip(published.report, evaluation)
            return _HubFile(f"{published.slug}-eee.zip", content)

        return self._file(slug, request, "application/zip", make)

    def _file(
        self,
        slug: str,
        request: Request,
        kind: str,
        make: Callable[[PublishedReport], _HubFile],
    ) -> Response:
        """Returns the file that `make` makes of a published report; `kind` is its media type."""
        published = self._find(slug, request)
        if published is None:
            return PlainTextResponse(translated(GONE), status_code=404, headers=NO_STORE)
        try:
            file = make(published)
        except PublishError as error:
            return PlainTextResponse(translated(error), status_code=409, headers=NO_STORE)
        disposition = f'attachment; filename="{file.name}"'
        return Response(
            file.content, 200, {**_DOWNLOAD_HEADERS, "content-disposition": disposition}, kind
        )

    # The page

    async def show(self, slug: str, request: Request) -> Response:
        """Returns the page: a form for the repository, the preview of a repository, or the outcome of an attempt."""
        published = await asyncio.to_thread(self._find, slug, request)
        if published is None:
            return self.layout.nothing_here(request)
        cookie = sent_cookie(request.headers) or self.cookies.new()
        answer = await self._preview_page(published, request, cookie)
        if sent_cookie(request.headers) is None:
            https = self.https or is_https(request.scope, request.headers)
            answer.headers.append("set-cookie", cookie_header(cookie, https))
        return answer

    async def _preview_page(
        self, published: PublishedReport, request: Request, cookie: str
    ) -> Response:
        query = request.query_params
        record = share_record(published.report, published.slug)
        try:
            score = hub_score(published.report, published.url)
        except PublishError as error:
            return self._page(request, HTML.page(record, refused=translated(error)))
        repository = query.get("repo", "").strip()[:_MOST_REPOSITORY]
        number = query.get("pull", "")
        if is_repository(repository) and _PULL_NUMBER.fullmatch(number):
            address = self.hub.address(repository, int(number))
            return self._page(request, HTML.page(record, opened=address, repository=repository))
        problem = translated(PROBLEMS.get(query.get("problem", ""), "").format(repository))
        proposal = None
        edition = edition_of(published.report)
        if repository:
            try:
                proposal = await self._ask_hub(self.hub.propose, repository, score)
            except (PullRequestError, ModelCardError) as error:
                problem = problem or translated(error)
        body = HTML.page(
            record,
            repository=repository or self._known_repository(published.report),
            problem=problem,
            proposal=proposal,
            is_checked=bool(edition and edition.checked),
            signed=self._signed_preview(published.slug, proposal, cookie) if proposal else "",
            login=self._login_address(published.slug, proposal, cookie) if proposal else "",
        )
        return self._page(request, body)

    def _login_address(self, slug: str, proposal: Proposal, cookie: str) -> str:
        """Returns the address of the login for this pull request; "" if nobody can log in."""
        if not self.has_login:
            return ""
        query = {
            "slug": slug,
            "repo": proposal.repository,
            "shown": self._signed_preview(slug, proposal, cookie),
        }
        return f"{LOGIN}?{urlencode(query)}"

    def _signed_preview(self, slug: str, proposal: Proposal, cookie: str) -> str:
        """Returns the preview's identity, signed for the holder of a cookie, so that no link can skip the preview."""
        preview = Preview(slug, proposal.repository, proposal.digest)
        return self.signer.signed(json.dumps(preview), cookie_hash(cookie))

    # The pull request

    async def open_pull_request(self, slug: str, request: Request) -> Response:
        """Opens the pull request that was previewed, with the token in the form."""
        check_charset(request)
        form = form_of(await request.body(), MOST_FIELD)
        preview = self.read_preview(request, form.get("shown", ""))
        if preview is None or preview.slug != slug:
            repository = preview.repository if preview else ""
            return _redirect(_outcome_address(slug, repository, Outcome(problem="unseen")))
        token = form.get("token", "").strip()
        outcome = Outcome(problem="login")
        if _TOKEN.fullmatch(token):
            outcome = await self.offer(preview, Secret(token), "", request)
        return _redirect(_outcome_address(slug, preview.repository, outcome))

    def read_preview(self, request: Request, signed: str) -> Preview | None:
        """Returns the preview that this browser was shown; None if it saw none."""
        cookie = sent_cookie(request.headers)
        text = self.signer.read(signed, cookie_hash(cookie)) if cookie else None
        return Preview(*json.loads(text)) if text is not None else None

    async def offer(self, preview: Preview, token: Secret, user: str, request: Request) -> Outcome:
        """Opens a pull request that still is as it was previewed; `user`: the token's holder, "" if unknown."""
        published = await asyncio.to_thread(self._find, preview.slug, request)
        try:
            if published is None:
                return Outcome(problem="changed")
            score = hub_score(published.report, published.url)
            proposal = await self._ask_hub(self.hub.propose, preview.repository, score)
            if proposal.digest != preview.digest:
                return Outcome(problem="changed")
            pull = await self._ask_hub(self.hub.offer, proposal, token, user)
            return Outcome(pull.number)
        except (PublishError, ModelCardError):
            return Outcome(problem="changed")
        except PullRequestError as error:
            return Outcome(problem=error.trouble)

    async def _ask_hub(self, call: Callable[..., Any], *args: object) -> Any:
        """Calls the Hub as soon as fewer than `AT_ONCE` calls run."""
        async with self.turns:
            return await asyncio.to_thread(call, *args)

    def _find(self, slug: str, request: Request) -> PublishedReport | None:
        """Returns the report of a slug, while it is published."""
        job = self.published.with_slug(slug)
        report = self.jobs.readable_report(job.link) if job else None
        url = f"{self.layout.server_address(request)}/r/{quote(slug, safe='')}"
        return PublishedReport(slug, url, report) if report else None

    def _repository(self, request: Request, report: AnyReport) -> str:
        """Returns the repository in the query, else the one that the model's facts name; "" for none."""
        typed = request.query_params.get("repo", "").strip()[:_MOST_REPOSITORY]
        return typed if is_repository(typed) else self._known_repository(report)

    def _known_repository(self, report: AnyReport) -> str:
        return self.facts.snapshot().of(report.title).text("repository") or ""

    def _page(self, request: Request, body: str, status: int = 200) -> Response:
        head = Head(f"{t('hub.title')} · {NAME}", "", is_private=True)
        return self.layout.page(request, head, body, status=status, is_kept=False)


@dataclass(frozen=True)
class PublishErrand:
    """The pull request as an errand of a login (`login_api`): its act is a preview as JSON."""

    pages: HubPages
    path: str = LOGIN
    scopes: str = PUBLISH_SCOPES

    def act_of(self, request: Request) -> str | None:
        query = request.query_params
        preview = self.pages.read_preview(request, query.get("shown", ""))
        if preview is None:
            return None
        is_named = (preview.slug, preview.repository) == (query.get("slug"), query.get("repo"))
        return json.dumps(preview) if is_named else None

    def page_before(self, request: Request) -> str:
        query = request.query_params
        repository = query.get("repo", "")[:_MOST_REPOSITORY]
        slug = query.get("slug", "")[:_MOST_SLUG]
        return _outcome_address(slug, repository, Outcome(problem="unseen"))

    async def run(self, act: str, grant: Grant, request: Request) -> str:
        preview = Preview(*json.loads(act))
        outcome = await self.pages.offer(preview, grant.token, grant.account.name, request)
        return _outcome_address(preview.slug, preview.repository, outcome)


def _outcome_address(slug: str, repository: str, outcome: Outcome) -> str:
    """Returns the page's address after an attempt."""
    query = {"repo": repository}
    if outcome.pull:
        query["pull"] = str(outcome.pull)
    else:
        query["problem"] = outcome.problem
    return f"/hub/{quote(slug, safe='')}?{urlencode(query)}"


def _redirect(address: str) -> Response:
    return RedirectResponse(address, status_code=303, headers=NO_STORE)


def routes(pages: HubPages) -> APIRouter:
    router = APIRouter()
    reads = ["GET", "HEAD"]
    router.add_api_route("/r/{slug}/eval.yaml", pages.eval_yaml, methods=reads)
    router.add_api_route("/r/{slug}/model-index.yaml", pages.model_index, methods=reads)
    router.add_api_route("/r/{slug}/eee.zip", pages.every_eval, methods=reads)
    router.add_api_route("/hub/{slug}", pages.show, methods=reads)
    router.add_api_route("/hub/{slug}", pages.open_pull_request, methods=["POST"])
    return router
