"""What the page is sent of a live battle, phase by phase."""

import re
from dataclasses import replace

import pytest

from arena.clock import UNDO_SECONDS
from arena.database import now
from arena.items.fact_store import FactsSnapshot
from arena.live.sessions import LiveState
from arena.live.store import LiveBattle, LiveTurn
from arena.locale import ENGLISH
from arena.model_facts import Fact, ModelFacts
from arena.templates import macros
from arena.thinking import ShownAnswer
from arena.types import Names, Phase
from arena.web.facts_view import fact_rows
from arena.web.live_view import Revealed, scene

TURNS = (LiveTurn("What is it?", "left words", "right words"),)
OPEN = LiveBattle(1, "name.1", None, 1, Phase.OPEN, TURNS, 1, None, None, None, 1)
CHOSEN = replace(OPEN, phase=Phase.VOTED, choice="b")
NOTHING_KNOWN = FactsSnapshot((0, 0), {})
NAMES = Names("Model <One>", "Model Two")


def shown(
    battle: LiveBattle,
    names: Names | None = None,
    growing: bool = False,
    facts: FactsSnapshot = NOTHING_KNOWN,
) -> dict:
    revealed = names and Revealed(names, facts)
    return scene(LiveState(battle, growing, 0, {}), revealed, "")


def test_each_side_shows_its_own_words():
    parts = shown(OPEN)["parts"]
    assert [("left" in parts[side], "right" in parts[side]) for side in "ab"] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize("battle", [OPEN, CHOSEN])
def test_nothing_is_named_or_marked_before_the_reveal(battle):
    assert "your choice" not in str(shown(battle)) and "model" not in str(shown(battle)["parts"])


def test_thinking_is_folded_away_on_its_side_and_a_cut_is_said():
    thought = replace(OPEN, turns=(TURNS[0]._replace(thinking=("I see.", ""), cut=(False, True)),))
    parts = shown(thought)["parts"]
    assert "<summary>Thought for 2 words</summary>" in parts["a"] and "I see." in parts["a"]
    assert "<details" not in parts["b"] and ENGLISH.text("live.cut_off") in parts["b"]
    assert ENGLISH.text("live.cut_off") not in parts["a"] and "<details open" not in parts["a"]


def test_a_stored_answer_is_folded_and_marked_alike():
    html = macros("battle.html").answer(ShownAnswer("Red.", "I see <b>it</b>.", True))
    folded, answer = str(html).split("</details>")
    assert "Thought for 3 words" in folded and "I see &lt;b&gt;it&lt;/b&gt;." in folded
    assert "Red." in answer and ENGLISH.text("live.cut_off") in answer
    one = macros("battle.html").answer(ShownAnswer("Red.", "Hm"))
    assert "Thought for 1 word<" in one and ENGLISH.text("live.cut_off") not in one


def test_names_and_choice_stand_on_their_sides():
    said = shown(replace(CHOSEN, phase=Phase.REVEALED), NAMES)
    assert (
        "Model &lt;One&gt;" in said["parts"]["title-a"]
        and "your choice" not in said["parts"]["title-a"]
    )
    assert "Model Two" in said["parts"]["title-b"] and "your choice" in said["parts"]["title-b"]
    assert said["parts"]["status"] == "You chose B: Model Two. A is Model <One>."


def test_a_stop_is_said_of_both_answers_since_one_of_them_may_be_whole():
    stopped = replace(OPEN, turns=(TURNS[0]._replace(stopped=True),))
    parts = shown(stopped)["parts"]
    assert all("(stopped before both answers were complete)" in parts[side] for side in "ab")
    assert "stopped" not in str(shown(OPEN)["parts"])


@pytest.mark.parametrize("phase", [Phase.OPEN, Phase.VOTED, Phase.REVEALED])
def test_a_stop_says_that_the_vote_is_outside_the_ranking(phase):
    stopped = replace(
        OPEN, turns=(TURNS[0]._replace(stopped=True),), phase=phase, choice="b", outside="stopped"
    )
    said = shown(stopped, NAMES)
    assert "count in the ranking" in said["parts"]["status"] and not said["can_go_on"]


def test_an_undo_is_offered_once():
    assert shown(CHOSEN)["seconds"] == UNDO_SECONDS
    again = replace(CHOSEN, token="name.2", attempt=2)
    assert shown(again)["seconds"] == 0
    assert "Undo" not in shown(again)["parts"]["status"]


def test_no_follow_up_is_offered_while_answers_come_or_after_the_choice():
    assert [
        shown(OPEN)["can_go_on"],
        shown(OPEN, growing=True)["can_go_on"],
        shown(CHOSEN)["can_go_on"],
    ] == [
        True,
        False,
        False,
    ]


def test_a_battle_without_a_vote_says_why():
    void = shown(replace(OPEN, void="Both models failed."))
    assert (void["phase"], void["parts"]["status"]) == ("void", "Both models failed.")


def test_what_is_known_of_the_models_comes_with_their_names_and_what_their_answers_cost():
    stated = {"organisation": "Ada <i>", "parameters": "8292166656", "licence": "apache-2.0"}
    known = ModelFacts({field: Fact(value, "operator", now()) for field, value in stated.items()})
    facts = FactsSnapshot((1, 1), {"Model Two": known})
    once = replace(CHOSEN, phase=Phase.REVEALED, turns=(TURNS[0]._replace(cost=(None, 430)),))
    parts = shown(once, NAMES, facts=facts)["parts"]
    told = "".join(re.findall(r'<span class="standing">(.*?)</span>', parts["title-b"]))
    assert re.sub("</?bdi>", "", told) == (
        "Ada &lt;i&gt; · 8.3B · Apache-2.0 · about $0.0004 for this answer"
    )
    assert "standing" not in parts["title-a"], "nothing is known of it"
    twice = replace(once, turns=(*once.turns, TURNS[0]._replace(cost=(5, 12_000))), answered=2)
    told = shown(twice, NAMES, facts=facts)["parts"]
    assert "about $0.012 for its 2 answers" in told["title-b"] and "$" not in told["title-a"]
    for phase in (Phase.OPEN, Phase.VOTED):
        before = str(shown(replace(once, phase=phase), None, facts=facts))
        assert "Ada" not in before and "$" not in before


@pytest.mark.parametrize(
    ("price", "shown_price"), [("0.0", "$0.00"), ("4e-05", "$0.00004"), ("0.0001", "$0.0001")]
)
def test_a_price_of_any_size_has_digits(price, shown_price):
    prices = dict.fromkeys(("prompt_price", "completion_price"), Fact(price, "operator", now()))
    (row,) = fact_rows(ModelFacts(prices))
    assert row.value.count(shown_price) == 2
