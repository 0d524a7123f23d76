"""Known answers: a text is found to name a word or phrase in any script, and parts of words are none."""

import pytest

from arena.authoring.known import is_known_answer, lacking

NAMED = [
    ("A red bus waits.", "red"),
    ("A RED Bus", "red bus"),
    ("a red,\n double-decker bus", "Double Decker"),
    ("two coaches", "bus|coach| coaches "),
    ("Ein Straßenschild", "STRASSENSCHILD"),
    ("a cafe\u0301", "caf\u00e9"),
    ("ＲＥＤ ｂｕｓ", "red bus"),
    ("an omni\u00adbus", "omnibus"),
    ("3 dogs", "3|three"),
    ("一辆红色的公共汽车停在路边", "红色"),
    ("赤いバスが止まっている", "バス"),
    ("赤いﾊﾞｽ", "バス"),
    ("빨간 버스가 서 있다", "버스"),
    ("รถเมล์สีแดงจอดอยู่", "สีแดง"),
    ("एक लाल बस", "लाल"),
    ("葛\U000e0100城市の駅", "葛城"),
    ("a red\ufe0f bus", "red bus"),
]
NOT_NAMED = [
    ("A predator in a minibus", "red"),
    ("A predator in a minibus", "bus"),
    ("red and then a bus", "red bus"),
    ("", "red"),
    ("!!!", "red"),
    ("a cafe", "caf\u00e9"),
    ("एक लूल बस", "लाल"),
    ("ハス", "バス"),
    ("红的颜色", "红色"),
    ("re\u200b d", "red"),
]


@pytest.mark.parametrize("text, known", NAMED)
def test_what_a_text_names_is_found_however_it_is_written(text, known):
    assert lacking(text, (known,)) == []


@pytest.mark.parametrize("text, known", NOT_NAMED)
def test_what_a_text_does_not_name_is_lacking(text, known):
    assert lacking(text, (known,)) == [known]


def test_all_that_is_lacking_is_told_in_its_order():
    assert lacking("a green bus", ("red", "bus|coach", "stop")) == ["red", "stop"]


@pytest.mark.parametrize(
    "known", ["", " ", "|", "bus|", "|bus", "★", "bus| |coach", "\u200b", "❤\ufe0f"]
)
def test_what_has_no_word_is_no_known_answer(known):
    assert not is_known_answer(known)
    assert is_known_answer("bus|coach")
