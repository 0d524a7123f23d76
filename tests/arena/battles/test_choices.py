"""What bank and live votes share: for how long a page offers to undo a choice."""

from datetime import timedelta

from arena.battles import choices
from arena.clock import UNDO_GRACE_SECONDS, UNDO_SECONDS
from arena.database import now


def test_a_first_choice_can_be_undone_while_the_store_takes_it_back(monkeypatch):
    voted_at = now()
    last = voted_at + timedelta(seconds=UNDO_SECONDS + UNDO_GRACE_SECONDS)
    monkeypatch.setattr(choices, "now", lambda: last)
    assert choices.undo_seconds(1, voted_at) == UNDO_SECONDS
    assert choices.undo_seconds(2, voted_at) == 0, "what was chosen again is final"
    monkeypatch.setattr(choices, "now", lambda: last + timedelta(seconds=1))
    assert choices.undo_seconds(1, voted_at) == 0
