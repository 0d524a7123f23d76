"""What anybody may send: every argument of every event and act, and every route, is bounded."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from arena.web.battle import FIELDS
from arena.web.cookies import COOKIE
from arena.web.events import Argument
from arena.web.scenes import ACTS
from tests.support.signer import signer_of
from tests.support.voter import EventError, Voter

DEEP = json.loads("[" * 900 + "]" * 900)
LONG = "x" * 8_001
FITTING = {
    "textbox": "x",
    "dropdown": "x",
    "radio": "x",
    "datetime": "2026-01-01",
    "checkbox": True,
    "number": 1,
    "several": ["x"],
}
MISFITS = (
    DEEP,
    [DEEP],
    {"a": DEEP},
    [],
    {},
    ["x"],
    {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}},
)
"""What no component of the page sends."""


@pytest.fixture
def voter(server) -> Iterator[Voter]:
    with Voter(server.address) as one:
        one.load()
        yield one


@pytest.fixture
def stranger(server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.address, timeout=60) as client:
        yield client


@pytest.fixture
def components(server) -> dict[int, dict[str, Any]]:
    with Voter(server.address) as one:
        return {part["id"]: part for part in one.client.get("/config").json()["components"]}


def kind_of(part: dict[str, Any]) -> str:
    return "several" if part["props"].get("multiselect") else part["type"]


def misfits(kind: str) -> list[Any]:
    """Return what a component of a kind does not send."""
    if kind == "several":
        lists = [value for value in MISFITS if value not in ([], ["x"])]
        return [*lists, "x", True, 1.5, LONG, [LONG], ["x"] * 101, [["x"]], ["\0"], [None]]
    others = [value for value in ("x", True, 1.5) if type(FITTING[kind]) is not type(value)]
    if kind == "number":
        return [*MISFITS, "x", True, float("nan"), float("-inf"), 10**400, LONG]
    return [*MISFITS, *others, LONG]


@pytest.mark.parametrize("value", [[None], ["x", None], [1], ["\0"]])
def test_a_list_of_texts_has_nothing_else(value):
    several = Argument("Groups", "a list of texts", (list,), 10)
    assert several.misfit(value)
    assert several.misfit(["x"]) is several.misfit([]) is several.misfit(None) is None


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_every_argument_of_every_event_is_bounded(server, voter, stranger, components, thorough):
    """All that a component does not send to the first argument of its kind, and to the others what is of no kind."""
    logged, tried, signer = server.log.stat().st_size, 0, signer_of(server.data_dir)
    met: set[str] = set()
    for event in filter(lambda event: event["backend_fn"], voter.events.values()):
        kinds = [kind_of(components[part]) for part in event["inputs"]]
        fitting = [FITTING[kind] for kind in kinds]
        wrong = [[*fitting, "one more"], "no list", None, {"0": "x"}]
        for place, part in enumerate(event["inputs"]):
            own = components[part]["props"].get("max_length")
            values = misfits(kinds[place])
            if kinds[place] in met and not thorough:
                values = [{}, LONG]
            if own:
                values = ["x" * (own + 1) if value == LONG else value for value in values]
            met.add(kinds[place])
            wrong += [[*fitting[:place], value, *fitting[place + 1 :]] for value in values]
        wrong += [[value] * len(kinds) for value in ("x" * 1_000_000, DEEP) if kinds]
        for data in wrong:
            body = json.dumps(
                {"data": data, "fn_index": event["id"], "session_hash": voter.session}
            )
            # another visitor each time: one would be told to wait
            cookie = f"{COOKIE}={signer.new()}"
            headers = {"content-type": "application/json", "cookie": cookie}
            answer = stranger.post("/gradio_api/run/predict", content=body, headers=headers)
            assert answer.status_code in (413, 422), (
                event["api_name"],
                body[:200],
                answer.text[:200],
            )
            assert len(answer.text) < 300 and "\n" not in answer.text, answer.text
            tried += 1
    assert tried > (500 if thorough else 150)
    assert server.log.stat().st_size == logged


WRONG_TEXTS = (
    1,
    -1,
    10**30,
    1e308,
    True,
    None,
    [],
    ["x"],
    {"x": "x"},
    DEEP,
    "x" * 501,
    "\0",
    "\ud800",
)
WRONG_BODIES = (
    b"", b"{", b"[]", b"null", b'"x"', b"\xff", b'{"value": NaN}', b'{"battle": "", "battle": ""}',
    b'{"more": "\\u0000"}', b'{"\\udfff": 1}', b"[" * 60_000, '{"value": "a"}'.encode("utf-16"),
)  # fmt: skip
"""What the page does not send with an act, in any of its texts and as a whole."""


@pytest.mark.parametrize("act", sorted(ACTS))
def test_every_text_of_every_act_is_bounded(server, stranger, act):
    """Each is refused in one line of words, whoever sends it, and leaves no line in the log."""
    logged = server.log.stat().st_size
    signer = signer_of(server.data_dir)

    def refused(body: bytes) -> httpx.Response:
        # another visitor each time: one would be told to wait
        headers = {"cookie": f"{COOKIE}={signer.new()}"}
        answer = stranger.post(f"/battle/{act}", content=body, headers=headers)
        assert 10 < len(answer.text) < 300 and "\n" not in answer.text, (body[:80], answer.text)
        return answer

    wrong = [json.dumps({field: value}) for field in FIELDS for value in WRONG_TEXTS]
    for body in (*WRONG_BODIES, *map(str.encode, wrong)):
        assert refused(body).status_code == 400, body[:80]
    for body in (b" " * 64_001, json.dumps({"value": "x" * 1_000_000}).encode()):
        assert refused(body).status_code == 413
    assert server.log.stat().st_size == logged


def test_who_sends_too_much_is_told_how_much_is_taken(voter):
    def told(event: str, *data: object) -> str:
        body = {
            "data": list(data),
            "fn_index": voter.events[event]["id"],
            "session_hash": voter.session,
        }
        return voter.client.post("/gradio_api/run/predict", json=body).text

    assert told("on_offer", "x" * 9_000, "", "", "") == (
        "This event has 9,000 characters, more than 8,000. Shorten it."
    )
    assert told("on_offer", "", "x" * 9_000, "", "") == (
        "How to judge has 9,000 characters, more than 8,000. Shorten it."
    )
    assert told("on_offer", "", ["x"], "", "") == "How to judge takes text."
    assert told("on_offer", "") == "This event takes a list of 4 values, and these are 1."
    with pytest.raises(EventError, match="501 characters, and the limit is 500"):
        voter.act("search", value="x" * 501)


@pytest.mark.parametrize(
    "more", [{"event_data": DEEP}, {"event_data": "x" * 5_000}, {"session_hash": "x" * 5_000}]
)
def test_what_stands_beside_the_arguments_is_bounded_too(voter, more):
    body = {
        "data": ["", ""],
        "fn_index": voter.events["on_look"]["id"],
        "session_hash": voter.session,
        **more,
    }
    answer = voter.client.post("/gradio_api/run/predict", json=body)
    assert answer.status_code == 422 and "\n" not in answer.text


def test_addresses_are_bounded(server, voter):
    logged = server.log.stat().st_size
    for path in (
        "/",
        "/config",
        "/terms",
        "/boards/board.csv",
        "/login/callback",
        "/live/unfinished",
        "/nothing",
    ):
        for address in (f"{path}?item={LONG}", f"{path}?{LONG}", f"{path.rstrip('/')}/{LONG}"):
            answer = voter.client.get(address)
            assert answer.status_code == 414 and "8,000" in answer.text, path
    for path in ("/live/battles", "/live/battles/x/choose", "/live/battles/x/questions"):
        for body in (
            "x" * 100_000,
            json.dumps({"instruction": "x" * 100_000}),
            "[" * 60_000,
            json.dumps({"images": DEEP}),
        ):
            answer = voter.client.post(path, content=body)
            assert answer.status_code in (400, 404, 413) and "\n" not in answer.text, (
                path,
                answer.text[:200],
            )
    assert server.log.stat().st_size == logged
