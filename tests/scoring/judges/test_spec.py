"""What a judge model takes, what a call may cost, and the tables that say so."""

import copy
import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.io.strict_json import RowsError
from arena.types import Secret
from scoring.judges.spec import (
    Ask,
    JudgeSpec,
    Message,
    Price,
    ShownImage,
    cost,
    estimated_tokens,
    known_judges,
    list_price,
    most_completion,
    most_cost,
    most_tokens,
    prices_date,
    read_prices,
    request_body,
    with_price,
)

WIDE = JudgeSpec("judge", True, "max_tokens", True, True, True, 0, Price(2.0, 8.0))
NARROW = JudgeSpec("thinker", False, "max_completion_tokens", False, False, False, 4096, None)
HELLO = (Message("system", "Be short."), Message("user", "Hello"))


def test_a_request_holds_what_the_model_takes():
    ask = Ask(HELLO, 0.5, reply_tokens=3, samples=5, schema='{"type": "object"}', seed=4)
    assert request_body(WIDE, ask) == {
        "model": "judge",
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "Hello"},
        ],
        "max_tokens": 3,
        "temperature": 0.5,
        "n": 5,
        "seed": 4,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": {"type": "object"}},
        },
    }


def test_pictures_follow_their_messages_text():
    pictures = (ShownImage("0" * 64, "png"), ShownImage("1" * 64, "webp"))
    ask = Ask((HELLO[0], Message("user", "Which one?", pictures)))
    named = request_body(WIDE, ask)["messages"]
    assert named[0]["content"] == "Be short."
    assert named[1]["content"] == [
        {"type": "text", "text": "Which one?"},
        {"type": "image_url", "image_url": {"url": f"{'0' * 64}.png"}},
        {"type": "image_url", "image_url": {"url": f"{'1' * 64}.webp"}},
    ]
    sent = request_body(WIDE, ask, lambda picture: f"data:{picture.suffix}")["messages"]
    assert [part["image_url"]["url"] for part in sent[1]["content"][1:]] == [
        "data:png",
        "data:webp",
    ]


def test_a_request_leaves_out_what_the_model_refuses():
    ask = Ask(HELLO, 0.0, reply_tokens=3, schema="{}", seed=4)
    assert request_body(NARROW, ask).keys() == {"model", "messages", "max_completion_tokens"}
    assert request_body(NARROW, ask)["max_completion_tokens"] == 3 + 4096
    assert request_body(WIDE, Ask(HELLO, None)).keys() == {"model", "messages", "max_tokens"}


def test_several_samples_of_a_model_that_gives_one_are_an_error():
    with pytest.raises(ValueError, match="thinker gives one sample per call, not 5"):
        request_body(NARROW, Ask(HELLO, samples=5))


@given(st.lists(st.text(max_size=300), max_size=4))
def test_the_upper_bound_is_one(texts):
    messages = tuple(Message("user", text) for text in texts)
    assert most_tokens(messages) >= estimated_tokens(messages) > 0
    assert most_tokens(messages) >= sum(len(text.encode("utf-8", "replace")) for text in texts)


def test_english_has_about_four_characters_a_token_and_chinese_one():
    assert estimated_tokens((Message("user", "word " * 400),)) == 500 + 7
    assert estimated_tokens((Message("user", "\u5b57" * 400),)) == 400 + 7


def test_cost_is_rounded_up_to_a_millionth_of_a_dollar():
    assert cost(Price(2.5, 10.0), 1000, 3) == 2530
    assert cost(Price(0.15, 0.6), 1, 0) == 1
    assert cost(Price(0.1, 0.2), 3, 0) == 1
    assert cost(Price(0.1, 0.1), 30, 0) == 3
    assert cost(None, 10**6, 10**6) == 0


def test_most_cost_counts_samples_hidden_tokens_and_the_schema():
    ask = Ask(HELLO, reply_tokens=10, samples=3)
    thinker = replace(WIDE, reasoning_tokens=100)
    assert most_completion(thinker, ask) == 330
    assert most_cost(thinker, ask) == 2 * most_tokens(HELLO) + 8 * 330
    assert most_cost(thinker, replace(ask, schema="{}")) == most_cost(thinker, ask) + 4


def test_known_judges():
    known = known_judges()
    paper = known["gpt-4-0613"]
    assert (
        paper.temperature
        and paper.tokens == "max_tokens"
        and paper.samples
        and paper.price == Price(30, 60)
    )
    assert not known["gpt-5"].temperature and known["gpt-5"].tokens == "max_completion_tokens"
    for name, spec in known.items():
        assert name == spec.model
        assert spec.price is None or 0 < spec.price.prompt <= spec.price.completion
        assert (spec.reasoning_tokens > 0) == (spec.tokens == "max_completion_tokens")


@pytest.mark.parametrize(
    ("typed", "listed"),
    [
        ("gpt-4o", "gpt-4o"),
        ("openai/gpt-4o-2024-11-20", "gpt-4o"),
        ("o4-mini", "o4-mini"),
        ("GPT-4.1-mini", "gpt-4.1-mini"),
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet"),
        ("anthropic/claude-3.5-sonnet", "claude-3-5-sonnet"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("google/gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"),
        ("gpt-4o-mini ", "gpt-4o-mini"),
    ],
)
def test_prices_are_known_for_what_people_type(typed, listed):
    price = list_price(typed)
    assert price is not None and price == list_price(listed)
    assert with_price(replace(NARROW, model=typed), {}).price == price, (
        "also where the model had to be tried out"
    )
    assert re.fullmatch(r"20\d\d-\d\d", prices_date())


def test_an_older_edition_has_its_own_price_and_a_stranger_none():
    assert list_price("gpt-4o-2024-05-13") == Price(5, 15) != list_price("gpt-4o")
    assert all(
        list_price(one) is None
        for one in ("my-own-vlm", "gpt-4o-of-mine", "google/gemini-2.5-pro:free")
    )
    assert with_price(replace(WIDE, model="gpt-4o"), {"gpt-4o": Price(1, 1)}).price == Price(1, 1)


def prices_file(folder: Path, text: str) -> Path:
    path = folder / "prices.csv"
    path.write_text(text, "utf-8")
    return path


def test_prices_of_an_operator(tmp_path):
    prices = read_prices(prices_file(tmp_path, "model,prompt,completion\njudge,1.5,6\nlocal,0,0\n"))
    assert prices == {"judge": Price(1.5, 6.0), "local": Price(0.0, 0.0)}
    assert with_price(WIDE, prices).price == Price(1.5, 6.0)
    assert with_price(NARROW, prices) == NARROW


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model,prompt\na,1\n", "row 2, column 'completion': Expected this column"),
        ("model,prompt,completion\na,1,2\na,1,3\n", "row 3, column 'model': 'a' is in row 2 too"),
        ("model,prompt,completion\n ,1,2\n", "row 2, column 'model': Expected a model's name"),
        ("model,prompt,completion\na,$1,2\n", "row 2, column 'prompt': Expected US dollars"),
        ("model,prompt,completion\na,1,nan\n", "row 2, column 'completion': Expected US dollars"),
        ("model,prompt,completion\na,1,-2\n", "row 2, column 'completion': Expected US dollars"),
        ("model,prompt,completion\na,1,1e3\n", "row 2, column 'completion': Expected US dollars"),
    ],
)
def test_wrong_prices_are_refused_with_their_place(tmp_path, text, said):
    with pytest.raises(RowsError) as caught:
        read_prices(prices_file(tmp_path, text))
    assert str(caught.value).startswith(f"prices.csv, {said}")


def test_a_secret_shows_nowhere_but_where_it_is_revealed():
    secret = Secret("sk-planted-0123456789")
    shown = [
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret!s:>40}",
        repr([secret]),
        "%s" % secret,  # noqa: UP031
    ]
    assert not any("planted" in text for text in shown)
    assert secret.reveal() == "sk-planted-0123456789" and secret == Secret("sk-planted-0123456789")
    assert secret and not Secret("")
    for leak in (pickle.dumps, json.dumps, copy.deepcopy, vars):
        with pytest.raises(TypeError):
            leak(secret)
