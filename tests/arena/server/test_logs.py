"""Logs: a record is a line, whatever is in it; no secret, no cookie and no visitor's address is ever in one."""

import io
import json
import logging
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.server.logs import HIDDEN, Redaction, start_logging
from arena.types import Secret

SECRETS = (
    Secret("correct horse/battery+staple"),
    Secret('p@ss"wörd\\1'),
    Secret("short"),
    Secret(""),
)


@contextmanager
def logged() -> Iterator[io.StringIO]:
    """What a log writes; logging and stderr are as before in the end."""
    root, stderr, raising = logging.getLogger(), sys.stderr, logging.raiseExceptions
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    try:
        start_logging(SECRETS, stream)
        yield stream
    finally:
        logging.captureWarnings(False)
        root.handlers[:], sys.stderr, logging.raiseExceptions = handlers, stderr, raising
        root.setLevel(level)


def records(stream: io.StringIO) -> list[dict[str, str]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_who_leaves_while_an_answer_is_written_is_no_record():
    with logged() as written:
        logging.getLogger("asyncio").warning("socket.send() raised exception.")
        logging.getLogger("asyncio").warning("another")
    assert [record["text"] for record in records(written)] == ["another"]


def test_a_record_that_repeats_is_a_line_a_minute():
    """As on a full disk, where each attempt to write fails."""

    def log(name: str, text: str, second: float, error: Exception | None = None) -> None:
        record = logging.LogRecord(name, logging.WARNING, "", 1, "%s", (text,), None)
        record.created = 1e9 + second
        record.exc_info = (type(error), error, None) if error else None
        logging.getLogger(name).handle(record)

    with logged() as written:
        for second in range(200):
            log("arena.database", "write refused: database or disk is full", second)
            log("scoring.jobs.worker", "jobs wait for the database: Not saved.", second + 0.5)
        assert len(records(written)) == 8
        log("arena.database", "write refused: disk I/O error", 200)
        log("arena.database", "jobs wait for the database: Not saved.", 200)
        for error in (ValueError("one"), ValueError("one"), ValueError("two"), None):
            log("x", "failed", 200, error)
    assert [record["text"] for record in records(written)[8:]] == [
        "write refused: disk I/O error",
        "jobs wait for the database: Not saved.",
        "failed",
        "failed",
        "failed",
    ]


def test_a_clock_that_is_set_back_silences_no_record():
    with logged() as written:
        for second in (5000, 0, 1):
            record = logging.LogRecord("x", logging.WARNING, "", 1, "late", (), None)
            record.created = 1e9 + second
            logging.getLogger("x").handle(record)
    assert len(records(written)) == 2


class Wordless(Exception):
    """An error that can't be printed."""

    def __repr__(self) -> str:
        raise LookupError("no words")

    __str__ = __repr__


def test_a_record_without_a_text_breaks_nothing():
    with logged() as written:
        log = logging.getLogger("x")
        log.warning("%(name)s", {"other": 1})
        log.warning("%s", Wordless())
        log.warning("failed", exc_info=Wordless())
        log.warning("another")
    assert records(written)[-1]["text"] == "another"


def test_what_is_told_apart_is_bounded():
    with logged() as written:
        for number in range(2500):
            logging.getLogger("x").warning("%d", number)
        (handler,) = logging.getLogger().handlers
        (repeats,) = handler.filters
    assert len(records(written)) == 2500 and len(vars(repeats)["_written_at"]) <= 1000


def test_a_record_says_when_where_and_what():
    with logged() as written:
        logging.getLogger("arena.database").warning("write refused: %s", "disk full")
        logging.getLogger("arena.database").info("nobody needs this")
    (record,) = records(written)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", record.pop("time"))
    assert record == {
        "level": "warning",
        "logger": "arena.database",
        "text": "write refused: disk full",
    }


@given(st.text(max_size=200))
def test_whatever_is_logged_stays_on_its_line(text):
    with logged() as written:
        logging.getLogger("x").warning("%s", f"\n2026 ERROR forged\x1b[2J\x7f\u2028{text}")
    (line,) = written.getvalue().splitlines()
    assert line.isascii() and line.isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "the key is correct horse/battery+staple.",
        f"GET /x?k={quote('correct horse/battery+staple', safe='')}",
        "GET /x?k=correct+horse%2Fbattery%2Bstaple",
        """{'password': 'p@ss"wörd\\\\1'}""",
        "Incorrect API key provided: sk-proj-AbCdEf0123456789",
        "hf_AbCdEf0123456789 has no right to write",
        "Authorization: Bearer abc.def.ghi",
        "AKIAIOSFODNN7EXAMPLE",
        "postgresql://ada:hush-hush@db.example.org/arena",
        "cookie: stereoscope_voter=AbCdEfGhIjKlMnOpQrStUvWxYz012345; other=1",
        "/gradio_api/queue/data?session_hash=abcdef123",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    ],
)
def test_no_secret_is_written(text):
    with logged() as written:
        try:
            raise ValueError(text)
        except ValueError:
            logging.getLogger("x").exception("failed: %s", text)
            traceback.print_exc()
        print(text, file=sys.stderr)
        warnings.warn(text, stacklevel=1)
    assert len(records(written)) == 4
    told = "\n".join(f"{record['text']} {record.get('error', '')}" for record in records(written))
    assert told.count(HIDDEN) >= 5
    for part in (
        "correct horse",
        "correct+horse",
        "correct%20horse",
        "wörd",
        "AbCdEf",
        "def.ghi",
        "AKIA",
        "hush-hush",
    ):
        assert part not in told
    assert "abcdef123" not in told and "eyJ" not in told


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("from 93.184.216.34:443 and 10.16.3.4", "from [address]:443 and [address]"),
        ("from 2001:db8::17 and ::ffff:8.8.8.8", "from [address] and [address]"),
        (
            "at http://127.0.0.1:7860 and ::1 since 12:30:45",
            "at http://127.0.0.1:7860 and ::1 since 12:30:45",
        ),
        ("version 1.2.3 of x::y, 300.1.1.1, f(x::y)", "version 1.2.3 of x::y, 300.1.1.1, f(x::y)"),
    ],
)
def test_addresses_of_visitors_are_left_out(text, kept):
    assert Redaction(()).clean(text) == kept


@pytest.mark.parametrize(
    "text",
    ["a short text", "task-2 of risk-free sky-diving", "votes/2026-01-01/a-1.jsonl", "keyboard"],
)
def test_plain_words_stay(text):
    assert Redaction(SECRETS).clean(text) == text


def test_a_traceback_that_others_print_is_one_record():
    with logged() as written:
        try:
            try:
                {}["x"]
            except KeyError as error:
                raise RuntimeError("second\nline") from error
        except RuntimeError:
            traceback.print_exc()
    first, *rest = [record["text"] for record in records(written)]
    assert first.startswith("Traceback (most") and first.endswith("KeyError: 'x'")
    assert any(
        text.startswith("Traceback (most") and text.endswith("RuntimeError: second")
        for text in rest
    )
