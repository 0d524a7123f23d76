"""A server's campaigns of battles on a database, once on SQLite and once on PostgreSQL."""

import pytest

from tests.support.battle_campaigns import Battles


@pytest.fixture
def battles(bank) -> Battles:
    """Six items that three models answered: 18 tuples."""
    return Battles(bank)
