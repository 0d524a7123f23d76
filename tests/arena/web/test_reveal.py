"""The reveal: where a model stands, in words, beside its name."""

from types import SimpleNamespace

import pytest

from arena.leaderboard.board import Span
from arena.locale import CHINESE, ENGLISH, speaking
from arena.web.reveal import _standing_text


@pytest.mark.parametrize(
    "locale, rank, told",
    [
        (ENGLISH, Span(3, 2, 4), "rank 3 of 1 (places 2 to 4) · 1040 (1020–1066) · 95% intervals"),
        (ENGLISH, Span(3, 3, 3), "rank 3 of 1 · 1040 (1020–1066) · 95% intervals"),
        (
            CHINESE,
            Span(3, 2, 4),
            "第 3 名，共 1 名 (第 2 至 4 名) · 1040 (1020–1066) · 95% 置信区间",
        ),
    ],
)
def test_a_models_places_are_told_in_words_and_the_level_once(locale, rank, told):
    line = SimpleNamespace(rank=rank, rating=Span(1040, 1020, 1066))
    board = SimpleNamespace(standings=[line])
    with speaking(locale):
        assert _standing_text(line, board) == told
