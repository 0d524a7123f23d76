"""Login API: login with Hugging Face, and the line of the page that shows the account.

A login sets a new cookie, so that a planted one is worthless after it. It returns to the start page, or to the link of
a campaign that needs a login: no other address is taken from the browser. Without the settings of an OpenID provider
there is no login.

`/login/credits` is a login that also asks for the use of the person's credits. It returns to the page for own pictures.
An errand is a login that also asks for one act in the person's name. Its token is used for that act, and forgotten.
"""

import asyncio
import hmac
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import Headers

from arena.battles.voters import Account, Voters
from arena.database import DatabaseError
from arena.fraud.eligibility import VoteEligibility
from arena.live.credits import Credits
from arena.locale import t, translated
from arena.settings import OAuthSettings
from arena.templates import macros
from arena.web.addresses import NAME, OWN
from arena.web.admin_auth import OPERATOR_COOKIE, Operators
from arena.web.cookies import (
    COOKIE,
    NO_STORE,
    YEAR_SECONDS,
    VoterCookies,
    cookie_hash,
    cookie_header,
    is_https,
    sent_cookie,
)
from arena.web.heads import Head
from arena.web.layout import PageLayout
from arena.web.oauth import (
    ATTEMPT_SECONDS,
    CREDITS_SCOPES,
    SCOPES,
    Attempt,
    Grant,
    LoginError,
    Provider,
    new_key,
)
from arena.web.signer import Signer

ATTEMPT_COOKIE = "stereoscope_login"
"""The key of a login in progress."""
BACK_COOKIE = "stereoscope_back"
"""The address to which the login returns."""
ERRAND_COOKIE = "stereoscope_errand"
"""The signed act of an errand."""
CALLBACK = "/login/callback"
WITH_CREDITS = "/login/credits"
AFTER_CREDITS = f"/{OWN}"
"""The page to which a login for credits returns; no other login does."""
_CAMPAIGN = re.compile(r"/c/[A-Za-z0-9][\w.-]{0,63}\?[\w.~%+&=-]{1,1000}", re.ASCII)
"""A campaign's link."""

HTML = macros("login.html")


class Errand(Protocol):
    """An act in a person's name, with a token that allows it and is stored nowhere."""

    @property
    def path(self) -> str:
        """The path at which its login begins."""
        ...

    @property
    def scopes(self) -> str: ...

    def act_of(self, request: Request) -> str | None:
        """Returns the requested act as a text; None if the request doesn't come from our own page in this browser."""
        ...

    def page_before(self, request: Request) -> str:
        """Returns the path of the page from which a request should come."""
        ...

    async def run(self, act: str, grant: Grant, request: Request) -> str:
        """Runs an act, and returns the path of the page with its result."""
        ...


def routes(
    voters: Voters,
    cookies: VoterCookies,
    eligibility: VoteEligibility,
    oauth: OAuthSettings | None,
    operators: Operators,
    layout: PageLayout,
    credits: Credits,
    signer: Signer,
    errand: Errand | None = None,
    on_login: Callable[[Account, str], None] = lambda account, old_hash: None,
) -> APIRouter:
    """Returns the routes; without a provider, only that of the account line.

    `on_login` gets the account and the hash of the cookie before the login. `signer` signs an errand's act
    for its attempt.
    """
    router = APIRouter()

    def account_line(headers: Headers, is_framed: bool) -> str:
        hashed_cookie = cookie_hash(sent_cookie(headers) or "")
        name = voters.name(hashed_cookie)
        counts = eligibility.rule == "everyone" or eligibility.does_count(
            voters.known(hashed_cookie)
        )
        note = "" if counts else _uncounted_note(eligibility, is_framed)
        return HTML.who(name, note, oauth is not None, operators.of(headers) is not None)

    @router.get("/login/who")
    async def who(request: Request, framed: str = "") -> HTMLResponse:
        """Returns a line with the account, whether its votes count, and login or logout.

        `framed`: not empty if the page is in a frame.
        """
        line = ""
        if any(sent_cookie(request.headers, name) for name in (COOKIE, OPERATOR_COOKIE)):
            with suppress(DatabaseError):
                line = await asyncio.to_thread(account_line, request.headers, bool(framed))
        return HTMLResponse(line, headers=NO_STORE)

    if oauth is not None:
        login = _Login(
            voters=voters,
            cookies=cookies,
            oauth=oauth,
            layout=layout,
            credits=credits,
            signer=signer,
            errand=errand,
            on_login=on_login,
        )
        router.get("/login")(login.begin)
        router.get(WITH_CREDITS)(login.begin_with_credits)
        router.get(CALLBACK)(login.come_back)
        if errand is not None:
            router.get(errand.path)(login.begin_errand)
        router.post("/logout")(login.log_out)
    else:

        @router.get("/login")
        async def no_login() -> RedirectResponse:
            """Redirects bookmarks from the time when the site had a login."""
            return RedirectResponse("/", status_code=303, headers=NO_STORE)

    return router


def _uncounted_note(eligibility: VoteEligibility, is_framed: bool) -> str:
    """Returns the sentence that says when the visitor's votes will count."""
    if eligibility.rule == "campaign":
        return t("pages.counts_invited")
    return t("pages.counts_framed" if is_framed else "pages.counts_later")


class _CookieValue(NamedTuple):
    """A cookie's value, and the seconds until it ends; 0 deletes it."""

    value: str
    seconds: int


_NO_COOKIE = _CookieValue("", 0)


class _Login:
    """The handlers of logins with a provider."""

    def __init__(
        self,
        voters: Voters,
        cookies: VoterCookies,
        oauth: OAuthSettings,
        layout: PageLayout,
        credits: Credits,
        signer: Signer,
        errand: Errand | None,
        on_login: Callable[[Account, str], None],
    ) -> None:
        self._signer = signer
        self._errand = errand
        self._layout = layout
        self._credits = credits
        self._on_login = on_login
        self._voters = voters
        self._cookies = cookies
        self._host = oauth.host
        self._provider = Provider(oauth)

    async def begin(self, request: Request) -> Response:
        back = request.query_params.get("back", "")
        if not _CAMPAIGN.fullmatch(back):
            back = ""
        return await self._begin(request, SCOPES, back)

    async def begin_with_credits(self, request: Request) -> Response:
        """Begins a login that also asks for the use of the person's credits."""
        return await self._begin(request, CREDITS_SCOPES, AFTER_CREDITS)

    async def begin_errand(self, request: Request) -> Response:
        """Begins a login that also asks for the errand's act."""
        assert self._errand is not None, "the route exists only with an errand"
        act = self._errand.act_of(request)
        if act is None:
            return self._redirect(request, self._errand.page_before(request), {})
        return await self._begin(request, self._errand.scopes, "", act)

    async def _begin(
        self, request: Request, scopes: str, back: str, act: str | None = None
    ) -> Response:
        cookie = sent_cookie(request.headers)
        key = new_key()
        voter_cookie = cookie or self._cookies.new()
        try:
            attempt = Attempt.from_key(key, voter_cookie)
            address = await self._provider.address(attempt, self._redirect_uri(request), scopes)
        except LoginError as error:
            return self._failed(error, request)
        cookies = {ATTEMPT_COOKIE: _CookieValue(key, ATTEMPT_SECONDS)}
        if back:
            cookies[BACK_COOKIE] = _CookieValue(back, ATTEMPT_SECONDS)
        elif BACK_COOKIE in request.cookies:
            cookies[BACK_COOKIE] = _NO_COOKIE
        if act is not None:
            cookies[ERRAND_COOKIE] = _CookieValue(self._signer.signed(act, key), ATTEMPT_SECONDS)
        elif ERRAND_COOKIE in request.cookies:
            cookies[ERRAND_COOKIE] = _NO_COOKIE
        if not cookie:
            cookies[COOKIE] = _CookieValue(voter_cookie, YEAR_SECONDS)
        return self._redirect(request, address, cookies)

    async def come_back(self, request: Request) -> Response:
        """Logs in a person who returns from the provider, under a new cookie."""
        cookie = sent_cookie(request.headers) or ""
        new_cookie = self._cookies.new()
        try:
            grant = await self._grant(request, cookie)
            account = grant.account
            old_hash = cookie_hash(cookie)
            new_hash = cookie_hash(new_cookie)
            voter = await asyncio.to_thread(self._voters.log_in, account, old_hash, new_hash)
            await asyncio.to_thread(self._on_login, account, old_hash)
        except (LoginError, DatabaseError) as error:
            return self._failed(error, request)
        act = self._act_in_cookie(request)
        if act is not None and self._errand is not None:
            result_path = await self._errand.run(act, grant, request)
            return self._end_login(request, new_cookie, result_path)
        back = request.cookies.get(BACK_COOKIE, "")
        if back == AFTER_CREDITS:
            self._credits.keep(voter, grant.token, grant.seconds)
        # A browser's cookie may hold anything.
        is_allowed = back == AFTER_CREDITS or _CAMPAIGN.fullmatch(back)
        return self._end_login(request, new_cookie, back if is_allowed else "/")

    def _act_in_cookie(self, request: Request) -> str | None:
        """Returns the act that `begin_errand` signed for this attempt; None for a login without an errand."""
        key = sent_cookie(request.headers, ATTEMPT_COOKIE) or ""
        return self._signer.read(request.cookies.get(ERRAND_COOKIE, ""), key)

    async def log_out(self, request: Request) -> Response:
        """Ends this login, and the use of the person's credits."""
        hashed_cookie = cookie_hash(sent_cookie(request.headers) or "")
        try:
            self._credits.drop(await asyncio.to_thread(self._voters.known, hashed_cookie))
            await asyncio.to_thread(self._voters.log_out, hashed_cookie)
        except DatabaseError as error:
            return self._failed(error, request)
        return self._end_login(request, self._cookies.new())

    async def _grant(self, request: Request, cookie: str) -> Grant:
        """Returns the provider's grant, if this browser began the attempt. Raises LoginError."""
        key = sent_cookie(request.headers, ATTEMPT_COOKIE) or ""
        attempt = Attempt.from_key(key, cookie)
        state = request.query_params.get("state", "")
        code = request.query_params.get("code", "")
        if not hmac.compare_digest(state.encode(), attempt.state.encode()):
            raise LoginError(
                "This login was started in another browser or tab. Please log in again."
            )
        if not code:
            raise LoginError("You weren't logged in. You can vote as a guest, or log in again.")
        return await self._provider.grant(attempt, code, self._redirect_uri(request))

    def _end_login(self, request: Request, cookie: str, address: str = "/") -> Response:
        """Redirects to a page with a new voter cookie, and deletes the attempt's cookies."""
        deleted = dict.fromkeys((ATTEMPT_COOKIE, BACK_COOKIE, ERRAND_COOKIE), _NO_COOKIE)
        cookies = {COOKIE: _CookieValue(cookie, YEAR_SECONDS), **deleted}
        return self._redirect(request, address, cookies)

    def _redirect(
        self, request: Request, address: str, cookies: Mapping[str, _CookieValue]
    ) -> Response:
        """Redirects, and sets cookies by name."""
        response = RedirectResponse(address, status_code=303, headers=NO_STORE)
        for name, (value, seconds) in cookies.items():
            response.headers.append(
                "set-cookie", cookie_header(value, self._is_https(request), name, seconds)
            )
        return response

    def _redirect_uri(self, request: Request) -> str:
        """Returns the redirect URI. The provider knows it and accepts no other."""
        scheme = "https" if self._is_https(request) else "http"
        host = self._host or request.headers.get("host", "")
        return f"{scheme}://{host}{CALLBACK}"

    def _is_https(self, request: Request) -> bool:
        return bool(self._host) or is_https(request.scope, request.headers)

    def _failed(self, error: Exception, request: Request) -> Response:
        status = 503 if isinstance(error, DatabaseError) else 403
        head = Head(f"{t('pages.login_failed')} · {NAME}", "", is_private=True)
        body = HTML.failed(translated(error))
        return self._layout.page(request, head, body, status=status, is_kept=False)
