"""Answers that think, are cut off, come late or say nothing: live in a browser, in the database and in the export."""

import json
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from arena.locale import ENGLISH
from tests.support.live_pages import NAMES, LiveApp, live_app, opened, phase, send, text
from tests.support.screens import press, shoot

ANSWER = "The square is red, and nothing else is there."
THOUGHT = "I look at it. I am Quxolotl 7B after all."
WORDS = len(THOUGHT.split())


def streamed(*deltas: dict, finish: str = "stop", whole: bool = True) -> bytes:
    """An HTTP answer that streams these deltas, and then ends or says nothing more."""
    events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    if whole:
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    body = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)
    length = len(body) + (0 if whole else 1)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {length}\r\n\r\n"
    return head.encode() + body


def answered(status: int, body: dict) -> bytes:
    text = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    return head.encode() + text


IN_THE_TEXT = streamed({"content": f"<think>\n{THOUGHT}"}, {"content": f"</think>\n\n{ANSWER}"})
BESIDE_IT = streamed({"reasoning_content": THOUGHT}, {"content": ANSWER})
LOADING = answered(503, {"error": {"message": "Loading model", "code": 503}})
NOT_NOW = answered(400, {"error": {"message": "vellichor-latest takes no picture of this"}})


@pytest.fixture(scope="module")
def live(tmp_path_factory) -> Iterator[LiveApp]:
    with live_app(tmp_path_factory.mktemp("thinking")) as running:
        yield running


@pytest.fixture
def page(browser, live) -> Iterator[Page]:
    with opened(browser, live.app.address, 1280) as tab:
        yield tab


def exported(live: LiveApp) -> list[dict]:
    text = httpx.get(f"{live.app.address}/export/votes.jsonl", timeout=60).text
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("first", [IN_THE_TEXT, BESIDE_IT], ids=["in the text", "beside it"])
def test_thinking_is_folded_away_and_an_answer_cut_off_is_marked(page, live, first):
    plain = THOUGHT.replace("Quxolotl 7B", "a machine")
    cut = streamed({"content": ANSWER}, finish="length")
    live.server.answers = [first.replace(THOUGHT.encode(), plain.encode().ljust(len(THOUGHT))), cut]
    send(page)
    phase(page, "open")
    folded = page.locator(".answers .thinking")
    expect(folded).to_have_count(1)
    expect(folded.locator("summary")).to_have_text(f"Thought for {len(plain.split())} words")
    expect(folded.get_by_text("I look at it")).to_be_hidden()
    expect(page.locator(".answers .cut")).to_have_text(ENGLISH.text("live.cut_off"))
    for side in "ab":
        expect(text(page, side).locator(".formatted")).to_have_text(ANSWER)
    folded.locator("summary").click()
    expect(folded.get_by_text("I look at it")).to_be_visible()
    assert "think>" not in page.locator("#scene").inner_html()
    shoot(page, "live-thinking")
    press(page, "#choose-a")
    expect(page.locator("#status")).to_contain_text("You chose A")
    expect(folded.get_by_text("I look at it")).to_be_visible()
    press(page, "#names")
    phase(page, "revealed")
    assert "count in the ranking" not in page.locator("#status").inner_text()


def test_thinking_that_names_its_model_keeps_the_vote_out(page, live):
    live.server.answers = [IN_THE_TEXT, IN_THE_TEXT]
    send(page)
    phase(page, "open")
    press(page, "#choose-a")
    expect(page.locator("#status")).to_contain_text("count in the ranking")


def test_a_follow_up_is_asked_without_what_was_thought(page, live):
    live.server.answers = [IN_THE_TEXT, BESIDE_IT]
    send(page)
    phase(page, "open")
    page.fill("#live-follow", "Are you sure?")
    press(page, "#live-ask")
    expect(page.locator(".answers .asked")).to_have_count(2)
    phase(page, "open")
    said = [turn for body in live.server.counts.bodies[-2:] for turn in body["messages"]]
    assert [turn["content"] for turn in said if turn["role"] == "assistant"] == [ANSWER] * 2


def test_a_model_that_loads_is_waited_for_and_the_page_says_so(page, live):
    live.server.answers = [LOADING, LOADING, BESIDE_IT, BESIDE_IT]
    send(page)
    expect(page.locator("#status")).to_have_text(ENGLISH.text("live.loading"), timeout=10_000)
    phase(page, "open")
    for side in "ab":
        expect(text(page, side).locator(".formatted")).to_have_text(ANSWER)


def test_what_a_server_refuses_is_told_without_a_name(page, live):
    live.server.answers = [NOT_NOW, NOT_NOW]
    send(page)
    phase(page, "void")
    shown = page.locator("#scene").inner_text()
    assert "nothing to vote on" in shown and "judge" not in shown
    assert not any(name in shown for name in ("vellichor", *NAMES.values()))


def test_an_answer_of_thinking_alone_is_none(page, live):
    only = streamed({"reasoning_content": THOUGHT}, finish="length")
    live.server.answers = [only, only]
    send(page)
    phase(page, "void")
    expect(page.locator(".answers .thinking")).to_have_count(0)


def test_thinking_that_is_stopped_before_the_answer_is_none(page, live):
    """The prompt opened it, so that it stands in the text until its end has come."""
    live.server.answers = [streamed({"content": f"{THOUGHT}\n</think>\n"}, whole=False)] * 2
    send(page)
    for side in "ab":
        expect(text(page, side)).to_contain_text("</think>")
    press(page, "#stop")
    phase(page, "void")
    expect(page.locator("#status")).to_contain_text("nothing to vote on")


def test_the_export_tells_thinking_and_cuts_in_fields_of_their_own(live):
    rows = exported(live)
    assert len(rows) == 2
    for row in rows:
        thought = (row["words_thought_a"], row["words_thought_b"])
        assert sorted(thought) == [0, WORDS]
        assert [row["cut_a"], row["cut_b"]] == [not words for words in thought]
    assert "I look at it" not in json.dumps(rows)
