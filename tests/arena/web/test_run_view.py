"""The operators' page as HTML: the strength of a flag."""

from datetime import UTC, datetime

import pytest

from arena.fraud.detectors import Suspicion
from arena.fraud.flags import FlagRow
from arena.web.run_view import _strength


@pytest.mark.parametrize(("strength", "p"), [(3.0, "0.003"), (9.0, "2e-19"), (20.0, "6e-89")])
def test_a_one_sided_voter_has_the_p_of_both_sides_however_small(strength, p):
    flag = FlagRow(
        voter=1,
        reason=Suspicion.ONE_SIDED,
        model=None,
        strength=strength,
        raised_at=datetime(2026, 1, 1, tzinfo=UTC),
        left_out=False,
    )
    assert _strength(flag)[1] == f"{strength:.1f} standard errors from half, p = {p}"
