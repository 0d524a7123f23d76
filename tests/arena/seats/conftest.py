"""The toy task's campaigns on a database, once on SQLite and once on PostgreSQL."""

import pytest

from tests.support.toy_campaigns import Toys


@pytest.fixture
def toys(database) -> Toys:
    return Toys.on(database)
