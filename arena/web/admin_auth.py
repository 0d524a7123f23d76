"""Operator authentication: on a Space, the login of named people; on other sites, the link printed at start.

The link works once, within a day. The browser that opens it gets a cookie, which is valid for a day and never longer
than this process lives. The link's code follows `#`, which no browser sends, so that no log has it.
"""

import hmac
import time
from collections import Counter
from collections.abc import Callable, Mapping

from arena.battles.voters import Voters
from arena.web.addresses import RUN
from arena.web.cookies import cookie_hash, new_cookie_value, sent_cookie

OPERATOR_COOKIE = "stereoscope_operator"
DAY = 24 * 3600
MOST_REFUSED = 10
"""The number of wrong codes a minute after which the answer is to wait."""
LINK = "link"
"""The operator's name in records if they came by the link."""


class LinkError(ValueError):
    """A link is wrong, used or expired."""

    def __init__(self, too_many: bool) -> None:
        self.too_many = too_many
        message = "This link is used, has expired or belongs to another server. Restart the server for a new one."
        if too_many:
            message = "Too many wrong links. Wait a minute."
        super().__init__(message)


class Operators:
    """Recognises operators by the name of their login, or by the link's cookie on other sites than Spaces."""

    def __init__(
        self,
        names: frozenset[str],
        voters: Voters,
        by_link: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.by_link = by_link
        self._names = names
        self._voters = voters
        self._clock = clock
        self._code = new_cookie_value() if by_link else None
        self._until = clock() + DAY
        """The end of the link; once it was opened, that of its cookie."""
        self._link_cookie: str | None = None
        """The hash of the cookie that the link gave; None until it is opened."""
        self._refused: Counter[int] = Counter()
        """Wrong codes by minute, of the latest minute only."""

    def of(self, headers: Mapping[str, str]) -> str | None:
        """Returns the operator's name for the records; None for other people. Raises DatabaseError."""
        cookie = sent_cookie(headers, OPERATOR_COOKIE)
        voter_cookie = sent_cookie(headers)
        link_cookie = self._link_cookie if self._clock() < self._until else None
        if cookie and link_cookie and hmac.compare_digest(cookie_hash(cookie), link_cookie):
            return LINK
        name = None
        if voter_cookie and self._names:
            name = self._voters.name(cookie_hash(voter_cookie))
        return name if name and name.lower() in self._names else None

    def link(self, address: str) -> str | None:
        """Returns the one-time link at this app's address, if there is one."""
        return f"{address}/{RUN}#code={self._code}" if self._code else None

    def redeem(self, code: str) -> str:
        """Returns a fresh cookie for the right code, once. Raises LinkError for any other."""
        is_right = self._code is not None and hmac.compare_digest(
            code.encode(), self._code.encode()
        )
        if not is_right or self._clock() >= self._until:
            minute = int(self._clock() // 60)
            self._refused = Counter({minute: self._refused[minute] + 1})
            raise LinkError(too_many=self._refused[minute] > MOST_REFUSED)
        cookie = new_cookie_value()
        self._code = None
        self._link_cookie = cookie_hash(cookie)
        self._until = self._clock() + DAY
        return cookie
