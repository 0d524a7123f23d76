"""Streams of servers in the field, by the real client: answers and failures, ends and cuts, thinking and refusals."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from arena.inference import openai_model
from arena.inference.messages import ending
from arena.inference.openai_model import ApiVLM
from arena.thinking import Loading, Thought, split_thinking
from arena.types import Generation, ModelCard, ModelError, Turn, Usage
from tests.support.openai_server import OpenAIServer

ANSWER = "The square is red."
EVENTS = "text/event-stream"


class Heard:
    """What a model said, thought and raised."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.usage: list[Usage] = []
        self.error: ModelError | None = None

    @property
    def text(self) -> str:
        return "".join(piece for piece in self.pieces if not isinstance(piece, Thought))

    @property
    def thinking(self) -> str:
        return "".join(piece for piece in self.pieces if isinstance(piece, Thought))

    @property
    def loadings(self) -> int:
        return sum(isinstance(piece, Loading) for piece in self.pieces)

    @property
    def why(self) -> str:
        assert self.error is not None, f"it said {self.text!r}"
        return str(self.error)


async def _heard(address: str, timeout: float) -> Heard:
    heard = Heard()
    vlm = ApiVLM(ModelCard("Model X", "api", "test-vlm", address, timeout=timeout))
    try:
        async with aclosing(
            vlm.stream([Turn("user", "What is it?")], Generation(), heard.usage.append)
        ) as pieces:
            async for piece in pieces:
                heard.pieces.append(piece)
    except ModelError as error:
        heard.error = error
    finally:
        await vlm.aclose()
    return heard


def hear(*answers: bytes, timeout: float = 20.0, text: str = "") -> Heard:
    """What a model says whose server gives these HTTP answers, and `text` after them."""
    with OpenAIServer(lambda body, sample: text, models=("test-vlm",)) as server:
        server.answers = [*answers]
        return asyncio.run(_heard(server.address, timeout))


def http(*parts: bytes, kind: str = EVENTS, status: int = 200, ends: bool = True) -> bytes:
    """A whole HTTP answer in these chunks, whose body has an end or not."""
    head = f"HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts if part)
    return head.encode() + chunks + (b"0\r\n\r\n" if ends else b"")


def event(content: Mapping[str, Any] | str) -> bytes:
    return f"data: {content if isinstance(content, str) else json.dumps(content)}\n\n".encode()


def delta(finish: object = None, **fields: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


DONE = event("[DONE]")


def field_streams(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "field" / "streams.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("cut", [0, 7, pytest.param(1, marks=pytest.mark.soak)])
def test_streams_of_the_field_are_read_as_they_are_meant(data, cut):
    """Sent in their own parts, and cut anew within lines and characters."""
    streams = field_streams(data)
    answers = []
    for stream in streams:
        whole = "".join(stream["parts"]).encode()
        parts = [part.encode() for part in stream["parts"]]
        if cut:
            step = max(1, len(whole) // 100) * cut
            parts = [whole[start : start + step] for start in range(0, len(whole), step)]
        answers.append(http(*parts))
    wrong = {}
    for stream, answer in zip(streams, answers, strict=True):
        # a failure that may pass is asked again
        heard = hear(answer, answer, answer)
        found = "failure" if heard.error else split_thinking(heard.text).text
        if found != stream["expect"]:
            wrong[stream["name"]] = (found, heard.error)
    assert len(streams) >= 34 and wrong == {}


SAID = delta(content=ANSWER)
STOP = delta("stop")
TEXT = {"type": "text", "text": ANSWER}
WHOLE = {"message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}
ANSWERED: Mapping[str, Sequence[bytes]] = {
    "an empty error object": (event({"error": {}, "choices": [{"delta": {"content": ANSWER}}]}), STOP),
    "an empty error text": (event({"error": "", "choices": [{"delta": {"content": ANSWER}}]}), STOP),
    "an empty detail": (event({"detail": " ", "errors": [""]}), delta(content=ANSWER), STOP),
    "an empty error list": (event({"error": [""], "choices": [{"delta": {"content": ANSWER}}]}), STOP),
    "an error of empty fields": (
        event({"error": {"message": "", "code": None}, "choices": [{"delta": {"content": ANSWER}}]}),
        STOP,
    ),
    "no error": (event({"error": False, "choices": [{"delta": {"content": ANSWER}}]}), STOP),
    "null choices": (event({"choices": None}), SAID, STOP),
    "no delta": (SAID, event({"choices": [{"index": 0, "finish_reason": "stop"}]})),
    "a null delta": (SAID, event({"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]})),
    "no finish but the end": (SAID, DONE),
    "an empty finish and the end": (delta("", content=ANSWER), DONE),
    "a finish nobody knows": (SAID, delta("because_i_say_so")),
    "a finish that is an object": (delta({"type": "stop"}, content=ANSWER),),
    "a finish that is a number": (SAID, delta(1)),
    "a text in place of a delta": (event({"choices": [{"text": ANSWER, "finish_reason": "stop"}]}),),
    "an index in quotes": (event({"choices": [{"index": "0", "delta": {"content": ANSWER}}]}), STOP),
    "a finish with each piece": (delta("stop", content="The square "), delta("stop", content="is red.")),
    "tool calls behind a text": (SAID, delta("tool_calls")),
    "usage behind the finish": (SAID, STOP, event({"choices": [], "usage": {"prompt_tokens": 3}})),
    "CR": ((SAID + STOP).replace(b"\n", b"\r"),),
    "CR LF, cut between": ((SAID + STOP).replace(b"\n", b"\r\n")[:-3], b"\r", b"\n\r", b"\n"),
    "single line ends": ((SAID + STOP).replace(b"\n\n", b"\n"),),
    "an event of several lines": (
        SAID.replace(b'"choices"', b'\ndata: "choices"'),
        STOP,
    ),
    "no end of the last line": (SAID, STOP.strip()),
    "no end of the last line but a CR": (SAID, STOP.strip() + b"\r"),
    "a comment in between": (SAID, b":\n\n: x\n", STOP),
    "JSON by the line": ((SAID + STOP).replace(b"data: ", b"").replace(b"\n\n", b"\n"),),
    "parts of text": (delta(content=[TEXT]), STOP),
    "a part without a type": (delta(content=[{"text": ANSWER}]), STOP),
    "output text": (delta(content=[{"type": "output_text", "text": ANSWER}]), STOP),
    "one part": (delta(content=TEXT), STOP),
    "parts of a picture": (delta(content=[{"type": "image_url", "image_url": {}}, TEXT]), STOP),
    "a whole message in an event": (event({"choices": [WHOLE]}),),
    "a refusal": (delta(refusal="The square "), delta(refusal="is red."), STOP),
    "a refusal beside no text": (delta(content="", refusal=ANSWER), STOP),
    "a part of refusal": (delta(content=[{"type": "refusal", "refusal": ANSWER}]), STOP),
    "no refusal": (delta(content=ANSWER, refusal=False), delta("stop", refusal=[])),
    "a refusal to end": (delta("refusal", content=ANSWER),),
}  # fmt: skip


@pytest.mark.parametrize("form", ANSWERED)
def test_an_answer_is_read_in_every_form(form):
    heard = hear(http(*ANSWERED[form]))
    assert (heard.error, heard.text.strip()) == (None, ANSWER)


THOUGHT: Mapping[str, Sequence[bytes]] = {
    "reasoning_content": (delta(reasoning_content="I see"), delta(reasoning_content=" red.")),
    "reasoning": (delta(reasoning="I see red.", reasoning_details=[{"text": "I see red."}]),),
    "thinking": (delta(thinking="I see red."),),
    "both fields": (delta(reasoning="I see red.", reasoning_content="I see red."),),
    "a part": (delta(content=[{"type": "thinking", "thinking": "I see red."}]),),
    "a list beside it": (delta(reasoning_content=[{"type": "text", "text": "I see red."}]),),
    "a part of parts": (
        delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "I see red."}]}]),
    ),
    "a part of reasoning": (delta(content=[{"type": "reasoning", "text": "I see red."}]),),
    "a part with its summary": (
        delta(content=[{"type": "reasoning", "summary": [{"text": "I see red."}]}]),
    ),
}


@pytest.mark.parametrize("form", THOUGHT)
def test_thinking_is_no_text(form):
    heard = hear(http(*THOUGHT[form], SAID, STOP))
    assert (heard.error, heard.text, heard.thinking) == (None, ANSWER, "I see red.")


@pytest.mark.parametrize("form", THOUGHT)
def test_thinking_alone_is_a_failure_with_its_reason(form):
    short = hear(http(*THOUGHT[form], delta("length")))
    assert short.error and short.error.kind == "blank" and "Raise max_tokens" in short.why
    over = hear(http(*THOUGHT[form], STOP, DONE))
    assert over.error and over.error.kind == "blank" and "thought" in over.why


BLANK: Mapping[str, Sequence[bytes]] = {
    "nothing": (STOP,),
    "nothing but the end": (DONE,),
    "blanks": (delta(content=" \n\t "), STOP),
    "what nobody sees": (delta(content="\u200b\u2060"), STOP),
    "thinking in the text": (delta(content="<think>I see"), delta("length", content=" red.")),
    "thinking that ended": (delta(content="<think>I see red.</think>\n"), STOP),
    "the end of a turn": (delta(content="<|im_end|>"), STOP),
    "tokens that begin a turn": (delta(content="<|start|>assistant\n"), STOP),
    "thinking behind what nobody sees": (delta(content="\ufeff<think>I see red.</think>"), STOP),
    "a call": (delta(tool_calls=[{"index": 0}]), delta("tool_calls")),
    "another choice": (event({"choices": [{"index": 1, "delta": {"content": ANSWER}}]}), DONE),
    "a blank refusal": (delta(refusal=" "), STOP),
}


@pytest.mark.parametrize("form", BLANK)
def test_an_answer_that_says_nothing_is_a_failure(form):
    heard = hear(http(*BLANK[form]))
    assert heard.error and heard.error.kind == "blank" and "there is no answer" in heard.why


FAILED: Mapping[str, tuple[Sequence[bytes], str]] = {
    "an error text": ((SAID, event({"error": "out of memory"})), "out of memory"),
    "an error object": ((SAID, event({"error": {"message": "it broke"}})), "it broke"),
    "an error without choices": ((event({"error": {"message": "no", "code": 400}}),), "no"),
    "an event named error": (
        (SAID, b'event: error\ndata: {"message": "it broke"}\n\n'),
        "it broke",
    ),
    "an error by its type": ((event({"type": "error", "message": "it broke", "code": 400}),), "it broke"),
    "a finish of errors": ((SAID, delta("error")), "error"),
    "an abort": ((SAID, delta("abort")), "abort"),
    "a filter": ((SAID, delta("SAFETY")), "filter"),
    "no end": ((SAID,), "no finish_reason"),
    "a page": ((b"<html>Bad gateway</html>",), "no finish_reason"),
}  # fmt: skip


@pytest.mark.parametrize("form", FAILED)
def test_a_failure_is_told_with_the_servers_own_reason(form):
    parts, reason = FAILED[form]
    heard = hear(http(*parts))
    assert reason in heard.why and heard.error is not None


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", EVENTS])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_whole_reply_in_place_of_a_stream_is_read(kind, indent):
    body = json.dumps({"object": "chat.completion", "choices": [WHOLE]}, indent=indent).encode()
    if kind == EVENTS:
        body = b"data: " + body.replace(b"\n", b"\ndata: ")
    heard = hear(http(body, kind=kind))
    assert (heard.error, heard.text) == (None, ANSWER)


def test_an_error_in_place_of_a_stream_is_told():
    body = json.dumps({"error": {"message": "no images here", "code": 400}}).encode()
    assert "no images here" in hear(http(body, kind="application/json")).why


def test_events_under_another_type_are_read():
    assert hear(http(SAID, STOP, kind="text/plain")).text == ANSWER


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_what_breaks_behind_the_end_takes_no_answer_away(finish):
    heard = hear(http(SAID, delta(finish), ends=False) + b"x\r\n")
    assert (heard.error, heard.text) == (None, ANSWER)


def test_a_server_that_stays_silent_behind_the_end_is_waited_for_briefly(monkeypatch):
    monkeypatch.setattr(openai_model, "_COUNT_SECONDS", 0.05)
    heard = hear(http(SAID, STOP, ends=False))
    assert (heard.error, heard.text) == (None, ANSWER)


@pytest.mark.parametrize(
    ("finish", "how"),
    [
        *((name, "whole") for name in ("stop", "STOP", "eos", "eos_token", "end_turn", "COMPLETE")),
        *((name, "cut") for name in ("length", "max_tokens", "MAX_TOKENS", "model_length")),
        *((name, "cut") for name in ("max_new_tokens", "model_context_window_exceeded")),
        *((name, "filtered") for name in ("content_filter", "SAFETY", "sensitive", "RECITATION")),
        *((name, "failed") for name in ("error", "abort", "network_error", "ERROR_LIMIT")),
        *((name, "failed") for name in ("insufficient_system_resource", "timeout")),
        *((name, "other") for name in ("", "tool_calls", "refusal", "pause_turn")),
    ],
)
def test_ends_by_every_name(finish, how):
    assert ending(finish) == how


@pytest.mark.parametrize("finish", ["length", "MAX_TOKENS", "model_length", "stop"])
def test_an_answer_cut_at_the_limit_is_kept_and_marked(finish):
    heard = hear(http(SAID, delta(finish), DONE))
    assert (heard.error, heard.text) == (None, ANSWER)
    assert [usage.cut for usage in heard.usage] == [finish != "stop"]


LOADING = (
    ({"error": "Model big/vlm is currently loading", "estimated_time": 0.01}, 503),
    ({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}, 503),
    ({"error": {"message": "The model is not ready yet", "code": 503}}, 503),
    ({"detail": "Model is loading"}, 503),
    ({"message": "model is warming up"}, 500),
    ({"error": "model is loading"}, 429),
    ({"error": "The model is still being loaded"}, 503),
)


@pytest.mark.parametrize(("body", "status"), LOADING)
def test_a_server_that_loads_its_model_is_waited_for(body, status, monkeypatch):
    monkeypatch.setattr("arena.inference.trouble._LOADING_SECONDS", 0.01)
    monkeypatch.setattr(openai_model, "_LOADING_PAUSE", 0.0)
    loads = http(json.dumps(body).encode(), kind="application/json", status=status)
    heard = hear(*[loads] * 6, text=ANSWER)
    assert (heard.error, heard.text, heard.loadings) == (None, ANSWER, 6)


def test_loading_is_waited_for_so_long_and_then_told(monkeypatch):
    monkeypatch.setattr(openai_model, "LOADING_SECONDS", 0.2)
    monkeypatch.setattr("arena.inference.trouble._LOADING_SECONDS", 0.01)
    monkeypatch.setattr(openai_model, "_LOADING_PAUSE", 0.0)
    loads = http(b'{"error": {"message": "Loading model"}}', kind="application/json", status=503)
    heard = hear(*[loads] * 10_000)
    assert heard.error and heard.error.kind == "down"
    assert "still loading after 0.2 seconds" in heard.why and "'Loading model'" in heard.why


def test_a_server_that_asks_to_be_looked_at_all_the_time_is_looked_at_now_and_then(monkeypatch):
    monkeypatch.setattr(openai_model, "LOADING_SECONDS", 0.5)
    monkeypatch.setattr(openai_model, "_LOADING_PAUSE", 0.2)
    loads = http(b'{"error": "Loading model"}', kind="application/json", status=503)
    hurried = loads.replace(b"\r\n", b"\r\nRetry-After-Ms: 1\r\n", 1)
    assert hear(*[hurried] * 10_000).loadings <= 3


@pytest.mark.parametrize(
    "said",
    ["failed: is loading", "the currently loaded model takes no images", "no model is loaded"],
)
def test_a_model_that_is_not_being_loaded_is_not_waited_for(said):
    body = json.dumps({"error": {"message": said}}).encode()
    fails = http(body, kind="application/json", status=503)
    heard = hear(*[fails] * 3)
    assert heard.error and not heard.loadings


REFUSED = (
    (400, {"error": {"message": "image 3 has no pixels"}}, "image 3 has no pixels"),
    (400, {"error": {"message": "Unsupported parameter: 'seed'", "param": "seed"}}, "doesn't accept seed"),
    (422, {"detail": "this is no image"}, "this is no image"),
    (500, {"error": {"message": "CUDA out of memory"}}, "CUDA out of memory"),
    (413, {"error": "too many pixels"}, "too many pixels"),
    (400, [{"error": {"code": 400, "message": "bad picture", "status": "INVALID_ARGUMENT"}}], "bad picture"),
    (200, [{"error": {"code": 400, "message": "bad picture"}}], "bad picture"),
    (200, {"code": 400, "msg": "bad picture", "data": None}, "bad picture"),
    (200, {"success": False, "errors": [{"message": "bad picture"}]}, "bad picture"),
    (422, {"detail": [{"loc": ["body", "messages"], "msg": "bad picture"}]}, "bad picture"),
    (422, {"object": "error", "message": {"detail": [{"msg": "bad picture"}]}}, "bad picture"),
    (400, {"errors": [{"message": "bad picture", "code": 5006}]}, "bad picture"),
    (400, {"error_code": 1, "error_msg": "bad picture"}, "bad picture"),
    (
        400,
        {"error": {"message": "Provider returned error", "metadata": {"raw": '{"detail":"bad picture"}'}}},
        "bad picture",
    ),
)  # fmt: skip


@pytest.mark.parametrize(("status", "body", "reason"), REFUSED)
def test_a_refusal_is_told_in_a_models_words(status, body, reason):
    answer = http(json.dumps(body).encode(), kind="application/json", status=status)
    why = hear(answer, answer, answer).why
    assert reason in why and "judge" not in why and "probed" not in why


SECRETS = (
    "AIzaSyD-abcdef_defGHIjkl-mnoPQRstu12",
    "glpat-abcdefDEF123456xyz",
    "nvapi-Abcdef12_Cd34-Ef56Gh78",
    "eyJabcdefhbGciOiJIUzI1.eyJabcdefzdWI-12.SflabcdefKxw-R",
    "Authorization: Token abcdef123",
    "password=abcdef12",
    "'secret': 'abcdef12'",
    "postgres://joe:abcdef@db/x",
    "https://example.org/v1?key=abcdef12",
)


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_of_any_shape_is_hidden_and_the_sentence_stays(secret):
    body = json.dumps({"error": {"message": f"meta-llama/Llama-3.2-11B got {secret} and failed"}})
    why = hear(http(body.encode(), kind="application/json", status=400)).why
    assert "abcdef" not in why
    assert "meta-llama/Llama-3.2-11B got" in why and "failed" in why


def test_a_reason_is_bounded_and_holds_no_secret():
    long = "no " * 2_000 + "Bearer abcdefghijkl"
    hidden = "rejected key sk-0123456789abcdef for images"
    for said in (long, hidden):
        body = json.dumps({"error": {"message": said}}).encode()
        why = hear(http(body, kind="application/json", status=400)).why
        assert len(why) < 400 and "abcdef" not in why


def test_a_refusal_is_kept_when_its_server_stays_silent_or_breaks_behind_the_end(monkeypatch):
    monkeypatch.setattr(openai_model, "_COUNT_SECONDS", 0.05)
    refusal = delta(refusal=ANSWER)
    silent = hear(http(refusal, STOP, ends=False))
    assert (silent.error, silent.text) == (None, ANSWER)
    broken = hear(http(refusal, STOP, ends=False) + b"x\r\n")
    assert (broken.error, broken.text) == (None, ANSWER)


def test_an_answer_without_words_has_its_reason_though_its_server_stays_silent(monkeypatch):
    monkeypatch.setattr(openai_model, "_COUNT_SECONDS", 0.05)
    heard = hear(http(delta(reasoning_content="I see red."), delta("length"), ends=False))
    assert heard.error and heard.error.kind == "blank" and "Raise max_tokens" in heard.why


def test_thinking_that_a_server_did_not_count_is_paid_for():
    heard = hear(http(delta(reasoning_content="red " * 100), SAID, STOP))
    assert heard.error is None
    assert [usage.completion for usage in heard.usage] == [(400 + len(ANSWER)) // 4]
