"""Pairs where some models are asked with visitors' keys: no end of a key tells of what kind the two were."""

from dataclasses import replace

from arena.live.models import can_replace, fitting_pairs
from tests.support.scripted_vlm import ScriptedVLM


def model(name: str, is_lent: bool = False) -> ScriptedVLM:
    vlm = ScriptedVLM(name)
    vlm.card = replace(vlm.card, visitor_key=is_lent)
    return vlm


LENT = model("lent", is_lent=True)
LENT_TOO = model("lent too", is_lent=True)
OWN = model("own")
OWN_TOO = model("own too")
ALL = {vlm.card.name: vlm for vlm in (LENT, LENT_TOO, OWN, OWN_TOO)}


def pairs(*vlms: ScriptedVLM, do_visitors_pay: bool = True) -> set[str]:
    able = {vlm.card.name: vlm for vlm in vlms}
    return {" - ".join(pair) for pair in fitting_pairs(able, do_visitors_pay)}


def test_each_battle_that_is_begun_with_a_visitors_key_needs_it():
    every = pairs(*ALL.values(), do_visitors_pay=False)
    assert len(every) == 6
    assert pairs(*ALL.values()) == every - {"own - own too"}
    assert pairs(OWN, OWN_TOO) == {"own - own too"}


def test_a_model_that_is_asked_with_the_key_is_replaced_by_another_such():
    assert can_replace(LENT, LENT_TOO) and not can_replace(LENT, OWN)
    assert can_replace(OWN, OWN_TOO) and can_replace(OWN, LENT)
