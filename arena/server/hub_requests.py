"""Hub requests: failed requests are retried with growing delays, or after the delay that the Hub asks for.

The Hub's library retries some requests and not others, has no time-out for most, and sleeps as long as a server says.
Here each request is sent up to seven times, except commits: a commit's answer may be lost after it succeeded, so the
committing code first checks which files exist (`repeat` retries the whole step).
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
_PASSING = frozenset((408, 412, 425, 429))
"""Status codes, besides 5xx, after which a retry may succeed; 412: another commit came in between."""

Result = TypeVar("Result")
Sleep = Callable[[float], object]


class HubError(OSError):
    """The Hub refused a request or cannot be reached; the message says which."""

    def __init__(self, told: str, wait: float = 0.0) -> None:
        super().__init__(told)
        self.wait = wait
        """Delay, in seconds, that the Hub asks for."""


class HubDownError(HubError):
    """The Hub failed in every attempt, the message says how; it may work later."""


class _Fault(Exception):
    """One attempt failed, with what words; the next may succeed after a delay in seconds."""


class _Client(httpx2.Client):
    """The HTTP client of the Hub's library."""

    def __init__(self, sleep: Sleep) -> None:
        super().__init__(follow_redirects=True, timeout=TIMEOUT_SECONDS)
        self._sleep = sleep

    def send(self, request: httpx2.Request, **options) -> httpx2.Response:
        """Send a request: a commit once, any other up to seven times. Raises HubDownError; _Fault for a commit."""
        request.read()  # a streamed file can be read once, its bytes again
        if request.method == "POST" and "/commit/" in request.url.path:
            return self._send_once(request, **options)
        return repeat(lambda: self._send_once(request, **options), self._sleep)

    def _send_once(self, request: httpx2.Request, **options) -> httpx2.Response:
        response = super().send(request, **options)
        if response.status_code in _PASSING or response.status_code >= 500:
            response.close()
            raise _Fault(f"answered {response.status_code}", _asked_wait(response.headers))
        return response


def status_of(error: object) -> int | None:
    """The status of an error of the Hub's library, if a response came."""
    response = error.response if isinstance(error, HfHubHTTPError) else None
    return response.status_code if response is not None else None


def may_have_committed(error: BaseException | None) -> bool:
    """Whether an error of a commit came after the Hub may have got it: its request was sent, and its answer is lost."""
    while error is not None:
        if isinstance(error, HubError):  # of another request, which was sent again and again
            return False
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return False
        if isinstance(error, _Fault):  # of a commit alone
            return True
        if isinstance(error, httpx2.TransportError) and "/commit/" in _path_of(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _path_of(error: httpx2.TransportError) -> str:
    try:
        return error.request.url.path
    except RuntimeError:  # it belongs to no request
        return ""


def send_again(sleep: Sleep = time.sleep) -> None:
    """Make the Hub's library retry failed requests, in all of this process."""
    set_client_factory(lambda: _Client(sleep))


def repeat(call: Callable[[], Result], sleep: Sleep = time.sleep) -> Result:
    """Call up to seven times until it succeeds. Raises HubDownError, and any error that a retry cannot mend."""
    waits = iter(WAITS)
    while True:
        try:
            return call()
        except (
            _Fault,
            httpx2.TransportError,
            OSError,
            RuntimeError,
            LookupError,
            JSONDecodeError,
        ) as error:
            if isinstance(error.__cause__, HubError):  # as the library wraps it
                raise error.__cause__ from error
            if isinstance(error, HubError | HfHubHTTPError | EntryNotFoundError):
                raise
            unreached = f"cannot be reached ({type(error).__name__})", 0.0
            told, asked = error.args if isinstance(error, _Fault) else unreached
            wait = next(waits, None)
            if wait is None or asked > LONGEST_WAIT:
                raise HubDownError(f"the Hub {told}", asked) from error
        sleep(max(wait, asked))


def _asked_wait(headers: httpx2.Headers) -> float:
    """Delay in seconds that the Hub asks for, by the usual headers or by its own of rate limits."""
    if (asked := asked_wait(headers)) is not None:
        return asked
    limit = parse_ratelimit_headers(headers)
    return float(limit.reset_in_seconds) if limit and not limit.remaining else 0.0
