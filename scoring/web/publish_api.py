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
from scoring.publish.every_eval import RELATIONSHIPS, Evaluation, every_eval_zip
from scoring.publish.hub_files import PublishError, hub_score
from scoring.report import AnyReport
from scoring.serialize import ReportError
from scoring.web.share_texts import share_record

HTML: Any = macros("hub.html")
LOGIN = "/login/publish"
CHANGED = "The report has changed. Check the preview again."
UNSEEN = "Check the preview in this window, then open the pull request."
GONE = "This report isn't public."
REPOSITORY = "The model's repository is missing. Add ?repo=OWNER/NAME to this address."
PROBLEMS = {**TROUBLES, "changed": CHANGED, "unseen": UNSEEN}
"""Texts of the page after an attempt, by the word in its address."""
_DOWNLOAD = {"cache-control": "no-cache", "x-robots-tag": "noindex"}
_MOST_REPOSITORY = 200
_MOST_SLUG = 200
MOST_FIELD = 4_000
"""Letters of a form's field."""
AT_ONCE = 4
"""Requests to the Hub at one time; more wait."""
_NUMBER = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_TOKEN = re.compile(r"[!-~]{8,2000}")


class Published(NamedTuple):
    """A published report at its address."""

    slug: str
    url: str
    report: AnyReport


class Attempted(NamedTuple):
    """The outcome of an attempt: the number of the pull request, or the word for the problem."""

    pull: int | None = None
    problem: str = ""


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
        def made(published: Published) -> tuple[str, bytes]:
            score = hub_score(published.report, published.url)
            return score.path.rpartition("/")[2], eval_results(score)

        return self._file(slug, request, "application/yaml", made)

    def model_index(self, slug: str, request: Request) -> Response:
        def made(published: Published) -> tuple[str, bytes]:
            score = hub_score(published.report, published.url)
            repository = self._repository(request, published.report)
            name = repository.partition("/")[2] or published.report.title
            return "model-index.yaml", model_index(score, name)

        return self._file(slug, request, "application/yaml", made)

    def every_eval(self, slug: str, request: Request) -> Response:
        """Returns the record of Every Eval Ever; the query has the model's owner, and whether to include texts."""
        query = request.query_params

        def made(published: Published) -> tuple[str, bytes]:
            repository = self._repository(request, published.report)
            if not repository:
                raise PublishError(REPOSITORY)
            about = Evaluation(
                model=repository,
                slug=published.slug,
                url=published.url,
                relationship=RELATIONSHIPS[0 if query.get("own") == "yes" else 1],
                with_texts=query.get("texts") == "yes",
                facts=self.facts.snapshot().of(published.report.title),
            )
            return f"{published.slug}-eee.zip", every_eval_zip(published.report, about)

        return self._file(slug, request, "application/zip", made)

    def _file(
        self,
        slug: str,
        request: Request,
        kind: str,
        make: Callable[[Published], tuple[str, bytes]],
    ) -> Response:
        published = self._at(slug, request)
        if published is None:
            return PlainTextResponse(translated(GONE), status_code=404, headers=NO_STORE)
        try:
            name, content = make(published)
        except PublishError as error:
            return PlainTextResponse(translated(error), status_code=409, headers=NO_STORE)
        disposition = f'attachment; filename="{name}"'
        return Response(content, 200, {**_DOWNLOAD, "content-disposition": disposition}, kind)

    # The page

    async def opens(self, slug: str, request: Request) -> Response:
        """Returns the page: a form for the repository, the preview of a repository, or the outcome of an attempt."""
        published = await asyncio.to_thread(self._at, slug, request)
        if published is None:
            return self.layout.nothing_here(request)
        cookie = sent_cookie(request.headers) or self.cookies.new()
        answer = await self._page(published, request, cookie)
        if sent_cookie(request.headers) is None:
            https = self.https or is_https(request.scope, request.headers)
            answer.headers.append("set-cookie", cookie_header(cookie, https))
        return answer

    async def _page(self, published: Published, request: Request, cookie: str) -> Response:
        query = request.query_params
        record = share_record(published.report, published.slug)
        try:
            score = hub_score(published.report, published.url)
        except PublishError as error:
            return self._says(request, HTML.page(record, refused=translated(error)))
        repository = query.get("repo", "").strip()[:_MOST_REPOSITORY]
        number = query.get("pull", "")
        if is_repository(repository) and _NUMBER.fullmatch(number):
            address = self.hub.address(repository, int(number))
            return self._says(request, HTML.page(record, opened=address, repository=repository))
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
            repository=repository or self._known(published.report),
            problem=problem,
            proposal=proposal,
            is_checked=bool(edition and edition.checked),
            signed=self._signed(published.slug, proposal, cookie) if proposal else "",
            login=self._login_address(published.slug, proposal, cookie) if proposal else "",
        )
        return self._says(request, body)

    def _login_address(self, slug: str, proposal: Proposal, cookie: str) -> str:
        """Returns the address of the login for this pull request; "" if nobody can log in."""
        if not self.has_login:
            return ""
        fields = {"slug": slug, "repo": proposal.repository}
        return f"{LOGIN}?{urlencode({**fields, 'shown': self._signed(slug, proposal, cookie)})}"

    def _signed(self, slug: str, proposal: Proposal, cookie: str) -> str:
        """Returns the preview's identity, signed for the holder of a cookie, so that no link can skip the preview."""
        preview = json.dumps([slug, proposal.repository, proposal.digest])
        return self.signer.signed(preview, cookie_hash(cookie))

    # The pull request

    async def sends(self, slug: str, request: Request) -> Response:
        """Opens the pull request that was previewed, with the token in the form."""
        check_charset(request)
        form = form_of(await request.body(), MOST_FIELD)
        preview = self.read_preview(request, form.get("shown", ""))
        if preview is None or preview[0] != slug:
            repository = preview[1] if preview else ""
            return _sent_to(_after(slug, repository, Attempted(problem="unseen")))
        _, repository, digest = preview
        token = form.get("token", "").strip()
        attempted = Attempted(problem="login")
        if _TOKEN.fullmatch(token):
            attempted = await self.offer(slug, repository, digest, Secret(token), "", request)
        return _sent_to(_after(slug, repository, attempted))

    def read_preview(self, request: Request, signed: str) -> list[str] | None:
        """Returns slug, repository and digest of the preview that this browser was shown; None if it saw none."""
        cookie = sent_cookie(request.headers)
        text = self.signer.read(signed, cookie_hash(cookie)) if cookie else None
        return json.loads(text) if text is not None else None

    async def offer(
        self, slug: str, repository: str, digest: str, token: Secret, user: str, request: Request
    ) -> Attempted:
        published = await asyncio.to_thread(self._at, slug, request)
        try:
            if published is None:
                return Attempted(problem="changed")
            score = hub_score(published.report, published.url)
            proposal = await self._ask_hub(self.hub.propose, repository, score)
            if proposal.digest != digest:
                return Attempted(problem="changed")
            pull = await self._ask_hub(self.hub.offer, proposal, token, user)
            return Attempted(pull.number)
        except (PublishError, ModelCardError):
            return Attempted(problem="changed")
        except PullRequestError as error:
            return Attempted(problem=error.trouble)

    async def _ask_hub(self, call: Callable[..., Any], *args: object) -> Any:
        """Calls the Hub as soon as fewer than `AT_ONCE` calls run."""
        async with self.turns:
            return await asyncio.to_thread(call, *args)

    def _at(self, slug: str, request: Request) -> Published | None:
        """Returns the report of a slug, while it is published."""
        job = self.published.with_slug(slug)
        try:
            report = self.jobs.report(job.link) if job else None
        except ReportError:
            return None
        url = f"{self.layout.server_address(request)}/r/{quote(slug, safe='')}"
        return Published(slug, url, report) if report else None

    def _repository(self, request: Request, report: AnyReport) -> str:
        """Returns the repository in the query, else the one that the model's facts name; "" for none."""
        typed = request.query_params.get("repo", "").strip()[:_MOST_REPOSITORY]
        return typed if is_repository(typed) else self._known(report)

    def _known(self, report: AnyReport) -> str:
        return self.facts.snapshot().of(report.title).text("repository") or ""

    def _says(self, request: Request, body: str, status: int = 200) -> Response:
        head = Head(f"{t('hub.title')} · {NAME}", "", is_private=True)
        return self.layout.page(request, head, body, status=status, is_kept=False)


@dataclass(frozen=True)
class PublishErrand:
    """The pull request as an errand of a login."""

    pages: HubPages
    path: str = LOGIN
    scopes: str = PUBLISH_SCOPES

    def act_of(self, request: Request) -> str | None:
        query = request.query_params
        preview = self.pages.read_preview(request, query.get("shown", ""))
        if preview is None or preview[:2] != [query.get("slug"), query.get("repo")]:
            return None
        return json.dumps(preview)

    def page_before(self, request: Request) -> str:
        query = request.query_params
        repository = query.get("repo", "")[:_MOST_REPOSITORY]
        return _after(query.get("slug", "")[:_MOST_SLUG], repository, Attempted(problem="unseen"))

    async def run(self, act: str, grant: Grant, request: Request) -> str:
        slug, repository, digest = json.loads(act)
        attempted = await self.pages.offer(
            slug, repository, digest, grant.token, grant.account.name, request
        )
        return _after(slug, repository, attempted)


def _after(slug: str, repository: str, attempted: Attempted) -> str:
    """Returns the page's address after an attempt."""
    outcome = {"pull": str(attempted.pull)} if attempted.pull else {"problem": attempted.problem}
    return f"/hub/{quote(slug, safe='')}?{urlencode({'repo': repository, **outcome})}"


def _sent_to(address: str) -> Response:
    return RedirectResponse(address, status_code=303, headers=NO_STORE)


def routes(pages: HubPages) -> APIRouter:
    router = APIRouter()
    reads = ["GET", "HEAD"]
    router.add_api_route("/r/{slug}/eval.yaml", pages.eval_yaml, methods=reads)
    router.add_api_route("/r/{slug}/model-index.yaml", pages.model_index, methods=reads)
    router.add_api_route("/r/{slug}/eee.zip", pages.every_eval, methods=reads)
    router.add_api_route("/hub/{slug}", pages.opens, methods=reads)
    router.add_api_route("/hub/{slug}", pages.sends, methods=["POST"])
    return router
