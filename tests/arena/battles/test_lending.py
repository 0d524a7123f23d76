"""Lending: who may spend the operator's money, and which network pays beside a guest."""

from datetime import timedelta

import pytest

from arena.battles.lending import Lending, NotLentError
from arena.battles.voters import NOBODY, Account, Voters
from arena.database import now

NETWORK = "8.8.8.0/24"


def test_without_login_every_cookie_is_lent_to_and_its_network_pays_too(database):
    lending = Lending(database, login=False)
    code = lending.to_cookie("ada", NETWORK)
    assert code and NETWORK not in code
    assert lending.to_cookie("eve", NETWORK) == code
    assert Lending(database, login=False).to_cookie("kim", NETWORK) == code, (
        "another server says the same"
    )
    assert lending.to_cookie("kim", "8.8.4.0/24") != code
    assert lending.to_cookie("ada", None) is None, "a private address is no network"


@pytest.mark.locks_or_dialect
def test_with_login_only_people_are_lent_to(database):
    voters, lending = Voters(database), Lending(database, login=True)
    person = voters.log_in(Account("7", "anna"), "guest", "anna")
    assert lending.to_voter(person, NETWORK) is None, "a person pays alone"
    assert lending.to_cookie("anna", NETWORK) is None
    for refused in ("guest", "stranger"):
        with pytest.raises(NotLentError, match="Log in above"):
            lending.to_cookie(refused, NETWORK)
    voters.log_out("anna")
    with pytest.raises(NotLentError):
        lending.to_cookie("anna", NETWORK)


def test_a_login_ends_after_thirty_days_also_where_the_server_has_run_on(database, monkeypatch):
    voters = Voters(database)
    person = voters.log_in(Account("7", "anna"), "guest", "anna")
    monkeypatch.setattr("arena.battles.voters.now", lambda: now() + timedelta(days=29))
    assert voters.known("anna") == person
    assert voters.name("anna") == "anna"
    monkeypatch.setattr("arena.battles.voters.now", lambda: now() + timedelta(days=31))
    assert voters.known("anna") == NOBODY
    assert voters.name("anna") is None
