"""Requests to the Hub: one that fails is sent again, after short and growing waits or after as long as the Hub asks.

By itself the Hub's library sends some requests again and others once, has no time-out for most, and sleeps for as long
as a server names. Here each is sent up to seven times. A commit alone is not: its answer may be lost after it was made,
so whoever commits asks first which files are there (`repeat` does it all once more).
"""

import time
from collections.abc import Callable
from contextlib import suppress
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import TypeVar

import httpx2
from huggingface_hub import set_client_factory
from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError
from huggingface_hub.utils import parse_ratelimit_headers

WAITS = (0.25, 0.5, 1, 2, 4, 8)
"""Seconds between two tries."""
LONGEST_WAIT = 20
"""Seconds that a request waits because the Hub asks for it; if it asks for more, whoever sent it hears of it."""
TIMEOUT_SECONDS = 20
"""For connecting, and between two pieces of an answer."""
_PASSING = frozenset((408, 412, 425, 429))
"""What the Hub answers, beside 5xx, if the same request may be taken later; 412: another commit came in between."""

Result = TypeVar("Result")
Sleep = Callable[[float], object]


class HubError(OSError):
    """Say what the Hub refused or why it cannot be reached."""

    def __init__(self, told: str, wait: float = 0.0) -> None:
        super().__init__(told)
        self.wait = wait
        """Seconds for which the Hub asks to be left alone."""


class HubDownError(HubError):
    """Say how the Hub failed in every try; it may work later."""


class _Fault(Exception):
    """One try failed, and the next may not."""

    def __init__(self, told: str, wait: float) -> None:
        super().__init__(told)
        self.wait = wait


class _Client(httpx2.Client):
    """What the Hub's library sends all its requests with."""

    def __init__(self, sleep: Sleep) -> None:
        super().__init__(follow_redirects=True, timeout=TIMEOUT_SECONDS)
        self._sleep = sleep

    def send(self, request: httpx2.Request, **options) -> httpx2.Response:
        """Send a request, a commit once and any other up to seven times. Raises HubDownError; _Fault for a commit."""
        request.read()  # a file that is sent can be read once, its bytes again
        if request.method == "POST" and "/commit/" in request.url.path:
            return self._send_once(request, **options)
        return repeat(lambda: self._send_once(request, **options), self._sleep)

    def _send_once(self, request: httpx2.Request, **options) -> httpx2.Response:
        response = super().send(request, **options)
        if response.status_code in _PASSING or response.status_code >= 500:
            response.close()
            raise _Fault(f"answered {response.status_code}", _asked_wait(response.headers))
        return response


def send_again(sleep: Sleep = time.sleep) -> None:
    """Let the Hub's library send what fails again, in all of this process."""
    set_client_factory(lambda: _Client(sleep))


def repeat(call: Callable[[], Result], sleep: Sleep = time.sleep) -> Result:
    """Return what a call returns, which is made up to seven times. Raises HubDownError, and what no repeat mends."""
    waits = iter(WAITS)
    while True:
        try:
            return call()
        except (_Fault, httpx2.TransportError, OSError, RuntimeError, LookupError, JSONDecodeError) as error:
            if isinstance(error.__cause__, HubError):  # as the library wraps it
                raise error.__cause__ from error
            if isinstance(error, HubError | HfHubHTTPError | EntryNotFoundError):
                raise
            told = error if isinstance(error, _Fault) else _Fault(f"cannot be reached ({type(error).__name__})", 0.0)
            wait = next(waits, None)
            if wait is None or told.wait > LONGEST_WAIT:
                raise HubDownError(f"the Hub {told}", told.wait) from error
            wait = max(wait, told.wait)
        sleep(wait)


def _asked_wait(headers: httpx2.Headers) -> float:
    """Return the seconds that the Hub asks to wait: by Retry-After (RFC 9110, 10.2.3), or by its rate limits."""
    text = headers.get("retry-after", "")
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    with suppress(ValueError):
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    limit = parse_ratelimit_headers(headers)
    return float(limit.reset_in_seconds) if limit and not limit.remaining else 0.0
