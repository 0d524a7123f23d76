"""The cache: a reply comes back as it went in, and its key holds everything that shaped it and nothing secret."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.database import Database
from scoring.judges.cache import ReplyCache, reply_key
from scoring.judges.spec import Ask, JudgeSpec, Message, Price, Reply

SPEC = JudgeSpec("judge", True, "max_tokens", True, True, True, 0, Price(1.0, 2.0))
ASK = Ask(
    (Message("system", "Score."), Message("user", "a cat")), 0.0, 16, 1, '{"type":"object"}', 3
)
REPLY = Reply(("0.5",), ("stop",), 12, 3, "judge-1")


def key(
    spec: JudgeSpec = SPEC,
    ask: Ask = ASK,
    address: str = "https://a.example/v1",
    owner=None,
    run=0,
    ordinal=0,
) -> str:
    return reply_key(spec, address, owner, ask, run, ordinal)


@pytest.mark.parametrize(
    "reply",
    [
        REPLY,
        Reply(("", "nan", "1.0 \x00 \ud800 |"), ("length", "stop", "content_filter"), 0, 0, ""),
        Reply((), (), 1, 1, "judge\n"),
    ],
)
def test_a_reply_comes_back_as_it_went_in(database, reply):
    cache = ReplyCache(database)
    assert cache.get("k") is None
    assert cache.put("k", reply) == reply
    assert cache.get("k") == reply
    assert cache.get("another") is None


def test_the_first_reply_stays(database):
    cache = ReplyCache(database)
    cache.put("k", REPLY)
    assert cache.put("k", replace(REPLY, texts=("0.9",))) == REPLY
    assert cache.get("k") == REPLY


def test_all_who_come_at_once_get_the_same_reply(database):
    cache = ReplyCache(database)
    with ThreadPoolExecutor(16) as pool:
        kept = set(
            pool.map(lambda number: cache.put("k", replace(REPLY, texts=(str(number),))), range(64))
        )
    assert kept == {cache.get("k")}


def test_known_keys_are_told_apart(database):
    cache = ReplyCache(database)
    keys = [f"k{number}" for number in range(1300)]
    for name in keys[::100]:
        cache.put(name, REPLY)
    assert dict(cache.cached_replies(keys)) == dict.fromkeys(keys[::100], REPLY)
    assert [*cache.cached_replies([])] == []


def test_replies_survive_the_process(tmp_path):
    url = f"sqlite:///{tmp_path / 'arena.db'}"
    database = Database(url)
    ReplyCache(database).put("k", REPLY)
    database.close()
    again = Database(url)
    assert ReplyCache(again).get("k") == REPLY
    again.close()


OTHER = {
    "address": key(address="https://b.example/v1"),
    "owner": key(owner="ada"),
    "another owner": key(owner="bob"),
    "run": key(run=1),
    "ordinal": key(ordinal=1),
    "model": key(replace(SPEC, model="other")),
    "no temperature": key(replace(SPEC, temperature=False)),
    "name of the tokens": key(replace(SPEC, tokens="max_completion_tokens")),
    "room to think": key(replace(SPEC, reasoning_tokens=2)),
    "no schema": key(replace(SPEC, json_schema=False)),
    "no seed": key(replace(SPEC, seed=False)),
    "text": key(ask=replace(ASK, messages=(ASK.messages[0], Message("user", "a cat ")))),
    "role": key(ask=replace(ASK, messages=(Message("user", "Score."), ASK.messages[1]))),
    "order": key(ask=replace(ASK, messages=ASK.messages[::-1])),
    "temperature": key(ask=replace(ASK, temperature=0.5)),
    "room": key(ask=replace(ASK, reply_tokens=17)),
    "samples": key(ask=replace(ASK, samples=5)),
    "schema": key(ask=replace(ASK, schema="{}")),
    "seed": key(ask=replace(ASK, seed=4)),
}


def test_everything_that_shapes_a_reply_shapes_its_key():
    assert len({key(), *OTHER.values()}) == 1 + len(OTHER)


def test_what_is_not_sent_does_not_shape_the_key():
    assert key(replace(SPEC, price=None)) == key()
    plain = replace(SPEC, temperature=False, seed=False, json_schema=False)
    assert key(plain, replace(ASK, temperature=1.0, seed=9, schema=None)) == key(plain)


def test_the_samples_of_one_call_serve_every_run():
    sampled = replace(ASK, samples=5)
    assert key(ask=sampled, run=0) == key(ask=sampled, run=4)
    assert key(ask=sampled) != key(ask=replace(ASK, samples=4))


@given(st.lists(st.text(), min_size=2, max_size=2, unique=True))
def test_different_texts_have_different_keys(texts):
    one, other = (key(ask=replace(ASK, messages=(Message("user", text),))) for text in texts)
    assert one != other
