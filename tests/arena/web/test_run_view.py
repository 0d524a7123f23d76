"""The operators' page: the strength of a flag, and a database that fails."""

from datetime import UTC, datetime
from html import unescape

import pytest
from starlette.testclient import TestClient

from arena.battles.voters import LOGIN
from arena.database import Database
from arena.fraud.detectors import Suspicion
from arena.fraud.flags import FlagRow
from arena.web.cookies import COOKIE
from arena.web.run_view import _strength
from tests.support.run_desk import RunDesk


@pytest.mark.parametrize(
    ("strength", "p"), [(3.0, "= 0.003"), (9.0, "= 2e-19"), (20.0, "= 6e-89"), (40.0, "< 1e-300")]
)
def test_a_one_sided_voter_has_the_p_of_both_sides_however_small(strength, p):
    flag = FlagRow(
        voter=1,
        reason=Suspicion.ONE_SIDED,
        model=None,
        strength=strength,
        raised_at=datetime(2026, 1, 1, tzinfo=UTC),
        left_out=False,
    )
    assert _strength(flag)[1] == f"{strength:.1f} standard errors from half, p {p}"


def test_an_operator_reads_that_the_database_fails_not_that_the_page_is_for_others(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    accounts = {"OAUTH_CLIENT_ID": "id", "OAUTH_CLIENT_SECRET": "secret"}
    desk = RunDesk.of(database, tmp_path, OPERATORS="ada", **accounts)
    with database.write() as connection:
        LOGIN.drop(connection)
    browser = TestClient(desk.app, cookies={COOKIE: "v" * 32})
    for response in (browser.get("/run"), browser.post("/run/act", data={"order": "pause"})):
        assert response.status_code == 503
        assert "The database can't be read right now" in unescape(response.text)
    database.close()
