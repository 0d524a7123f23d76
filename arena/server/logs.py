"""Logs: one JSON object a line on stderr, without secrets and visitors' addresses.

Text that libraries write to stderr, such as Gradio's tracebacks, is logged the same way.
"""

import io
import ipaddress
import json
import logging
import math
import re
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from threading import Lock
from typing import TextIO

from arena.inference.endpoint import spellings
from arena.types import Secret

HIDDEN = "[hidden]"
_SHORTEST = 6
"""Fewest characters of a secret: redacting shorter ones would black out whole words."""
_KEY = (
    r"(?<![A-Za-z0-9])(?:sk|pk|rk|hf|ghp|gho|gsk|xai|nvapi|key)[-_][\w-]{8,}"  # sk-... of OpenAI, hf_... of the Hub
    r"|AKIA[A-Z0-9]{16}"  # Amazon
    r"|AIza[\w-]{30,}"  # Google
)
_WEB_TOKEN = r"(?<![\w-])(?=[\w-]{11,}+\.[\w-]{8,}+\.)[\w-]*?eyJ[\w-]{8,}\.[\w-]+\.[\w-]*"
"""A JSON web token: three parts joined by points, the first with a JSON object in base64, which starts with "eyJ".

The lookahead passes over a long word without points, in which searching for each "eyJ" would take quadratic time.
"""
_LOGIN_IN_URL = r"(?<=://)[^\s/?#@]+(?=@)"
"""The user and password in `https://ada:secret@host`."""
_NAMED_VALUE = r"(?i:(?<=bearer )|(?<=stereoscope_voter=)|(?<=api_key=)|(?<=session_hash=)|(?<=token=))[^\s;&'\",]+"
"""A value after its name, as in `Bearer VALUE` or `token=VALUE`."""
_SHAPES = re.compile("|".join((_KEY, _WEB_TOKEN, _LOGIN_IN_URL, _NAMED_VALUE)), re.ASCII)
"""Text that looks like a secret: keys, cookies, sessions, and the user and password of a URL."""
_IPV4 = r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\w)"
_IPV6 = r"(?<![\w:])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f.]*){2,8}(?![\w:])"
_ADDRESS = re.compile(f"{_IPV4}|{_IPV6}")
"""Text that may be an IPv4 or IPv6 address, or a time such as 12:30:05; `_redact_address` decides."""
_MOST = 20_000
"""Most characters of a record's text, and of its error."""
_MOST_LINES = 500
"""Most lines of a traceback in one record."""
_REPEAT_SECONDS = 60
"""The seconds after a record in which the same one is left out."""
_MOST_REPEATS = 1000
"""Most records whose repeats are left out."""


class Redaction:
    """Removes secrets from texts: known ones in every usual spelling, and anything that looks like one."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        known = {secret.reveal() for secret in secrets if len(secret.reveal()) >= _SHORTEST}
        spelt = {spelling for text in known for spelling in spellings(text)}
        longest_first = sorted(spelt, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if spelt else None

    def clean(self, text: str) -> str:
        """Returns the text without secrets and network addresses, except those of this machine itself."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        return _ADDRESS.sub(_redact_address, _SHAPES.sub(HIDDEN, text))


def _redact_address(match: re.Match[str]) -> str:
    try:
        address = ipaddress.ip_address(match[0])
    except ValueError:
        return match[0]
    return match[0] if address.is_loopback or address.is_unspecified else "[address]"


class JsonLines(logging.Formatter):
    """Writes a record as one line of ASCII, so that it cannot forge another line or control a terminal."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__()
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "text": self._cleaned(record.getMessage()),
        }
        if record.exc_info:
            line["error"] = self._cleaned(self.formatException(record.exc_info))
        return json.dumps(line).replace("\x7f", "\\u007f")

    def _cleaned(self, text: str) -> str:
        return self._redaction.clean(text)[:_MOST]


class _StderrLog(io.TextIOBase):
    """A stream in place of stderr that logs its lines. A traceback is one record."""

    def __init__(self) -> None:
        self._log = logging.getLogger("stderr")
        self._turn = Lock()
        self._rest = ""
        self._lines: list[str] = []

    def write(self, text: str, /) -> int:
        with self._turn:
            *lines, self._rest = (self._rest + text).split("\n")
            records = [self._record_ended_by(line) for line in lines]
        for record in filter(None, records):
            self._log.error("%s", record)
        return len(text)

    def _record_ended_by(self, line: str) -> str:
        """Returns the record that a line completes; "" while a traceback goes on, and for an empty line.

        The lines of a traceback are indented, except its first and its last, which has the error and ends it.
        """
        self._lines.append(line)
        goes_on = line.startswith((" ", "Traceback "))
        if goes_on and len(self._lines) < _MOST_LINES:
            return ""
        record = "\n".join(self._lines).strip()
        self._lines.clear()
        return record

    def flush(self) -> None:
        """Does nothing: a record waits for the end of its line."""


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a record is worth a line. asyncio logs each piece of a response whose client has left."""
    return record.msg != "socket.send() raised exception."


class _Repeats:
    """A filter of records that repeat one of the last minute, as a full disk makes two a second."""

    def __init__(self) -> None:
        self._written_at: dict[int, float] = {}
        """Times by the hash of a record's logger and text."""

    def __call__(self, record: logging.LogRecord) -> bool:
        try:
            error = repr(record.exc_info and record.exc_info[1])
            key = hash((record.name, record.getMessage(), error))
        except Exception:  # noqa: BLE001 a library logs anything; the handler passes over what has no text
            return True
        age = record.created - self._written_at.get(key, -math.inf)
        if 0 <= age < _REPEAT_SECONDS:  # below 0 after the clock was set back
            return False
        if len(self._written_at) >= _MOST_REPEATS:
            self._written_at.clear()
        self._written_at[key] = record.created
        return True


def start_logging(secrets: Iterable[Secret], stream: TextIO | None = None) -> None:
    """Starts logging to a stream (default: stderr), and redirects stderr itself to the log."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(Redaction(secrets)))
    handler.addFilter(_Repeats())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.captureWarnings(True)
    logging.getLogger("asyncio").addFilter(_is_news)
    logging.raiseExceptions = False  # a failing log must not report to stderr, which is the log
    sys.stderr = _StderrLog()
