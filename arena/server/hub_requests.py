"""Hub requests: failed requests are retried with growing delays, or after the delay that the Hub asks for.

The Hub's library retries some requests and not others, has no time-out for most, and sleeps as long as a server says.
Here each request is sent up to seven times, except commits: a commit's answer may be lost after it succeeded, so the
committing code first checks which files exist (`retry` retries the whole step).
"""

import time
from collections.abc import Callable
from json import JSONDecodeError
from typing import TypeVar

import httpx2
from huggingface_hub import set_client_factory
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError
from huggingface_hub.utils import parse_ratelimit_headers

from arena.inference.trouble import asked_wait

WAITS = (0.25, 0.5, 1, 2, 4, 8)
"""Seconds between attempts."""
LONGEST_WAIT = 20
"""Longest delay, in seconds, that a request accepts from the Hub; above it, the caller gets an error."""
TIMEOUT_SECONDS = 20
"""Time-out for connecting, and between two pieces of a response."""
FAILURES = (HfHubHTTPError, httpx2.HTTPError, OSError, RuntimeError, ValueError, LookupError)
"""Exceptions of the Hub's library, and HubError, which is an OSError."""
_PASSING_STATUSES = frozenset((408, 412, 425, 429))
"""Status codes, besides 5xx, after which a retry may succeed; 412: another commit came in between."""

Result = TypeVar("Result")
Sleep = Callable[[float], object]


class HubError(OSError):
    """The Hub refused a request or can't be reached."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait
        """Delay in seconds that the Hub asks for."""


class HubDownError(HubError):
    """The Hub failed in every attempt; it may work later."""


class _Fault(Exception):
    """A failed attempt, with its problem in words."""

    def __init__(self, problem: str, wait: float) -> None:
        super().__init__(problem)
        self.problem = problem
        self.wait = wait
        """Delay in seconds that the Hub asks for."""


_PASSING_ERRORS = (
    _Fault,
    httpx2.TransportError,
    OSError,
    RuntimeError,
    LookupError,
    JSONDecodeError,
)
"""Errors after which another attempt may succeed. The Hub's library raises RuntimeError for a file that it couldn't
upload, and LookupError for a reply that lacks a field."""


class _Client(httpx2.Client):
    """The HTTP client of the Hub's library."""

    def __init__(self, sleep: Sleep) -> None:
        super().__init__(follow_redirects=True, timeout=TIMEOUT_SECONDS)
        self._sleep = sleep

    def send(self, request: httpx2.Request, **options) -> httpx2.Response:
        """Sends a commit once, and any other request up to seven times. Raises HubDownError; _Fault for a commit."""
        request.read()  # A stream can be read once only, its bytes can be sent again.
        if request.method == "POST" and "/commit/" in request.url.path:
            return self._send_once(request, **options)
        return retry(lambda: self._send_once(request, **options), self._sleep)

    def _send_once(self, request: httpx2.Request, **options) -> httpx2.Response:
        response = super().send(request, **options)
        if response.status_code in _PASSING_STATUSES or response.status_code >= 500:
            response.close()
            raise _Fault(f"answered {response.status_code}", _hub_wait(response.headers))
        return response


def status_of(error: object) -> int | None:
    """Returns the status of an error of the Hub's library, if there was a response."""
    response = error.response if isinstance(error, HfHubHTTPError) else None
    return response.status_code if response is not None else None


def may_have_committed(error: BaseException | None) -> bool:
    """Whether the Hub may have made a commit in spite of this error, because only its response was lost."""
    while error is not None:
        if isinstance(error, HubError):  # Only other requests than commits raise it.
            return False
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return False
        if isinstance(error, _Fault):  # Only commits raise it.
            return True
        if isinstance(error, httpx2.TransportError) and "/commit/" in _path_of(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _path_of(error: httpx2.TransportError) -> str:
    try:
        return error.request.url.path
    except RuntimeError:  # The error belongs to no request.
        return ""


def retry_hub_requests(sleep: Sleep = time.sleep) -> None:
    """Makes the Hub's library retry failed requests, in this whole process."""
    set_client_factory(lambda: _Client(sleep))


def retry(call: Callable[[], Result], sleep: Sleep = time.sleep) -> Result:
    """Calls up to seven times until a call succeeds. Raises HubDownError, and any error that a retry can't mend."""
    waits = iter(WAITS)
    while True:
        try:
            return call()
        except _PASSING_ERRORS as error:
            if isinstance(error.__cause__, HubError):  # The library wraps it.
                raise error.__cause__ from error
            # These are OSErrors, too, but another attempt wouldn't help.
            if isinstance(error, HubError | HfHubHTTPError | EntryNotFoundError):
                raise
            problem = f"can't be reached ({type(error).__name__})"
            hub_wait = 0.0
            if isinstance(error, _Fault):
                problem = error.problem
                hub_wait = error.wait
            wait = next(waits, None)
            if wait is None or hub_wait > LONGEST_WAIT:
                raise HubDownError(f"the Hub {problem}", hub_wait) from error
        sleep(max(wait, hub_wait))


def _hub_wait(headers: httpx2.Headers) -> float:
    """Returns the delay in seconds that the Hub asks for, in the usual headers or in its own about rate limits."""
    wait = asked_wait(headers)
    if wait is not None:
        return wait
    limit = parse_ratelimit_headers(headers)
    if limit is None or limit.remaining:
        return 0.0
    return float(limit.reset_in_seconds)
