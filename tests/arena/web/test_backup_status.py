"""How fresh the copy is, as a voter reads it: in words for every state, and on the page of a running app."""

import re
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from arena.database import Database
from arena.items.ingest import Ingest
from arena.server.hub_backup import BackupState
from arena.web.backup_status import ago, backup_line
from tests.support.hub_server import HubServer
from tests.support.servers import drafts
from tests.support.voter import Voter

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (None, ""),
        (
            BackupState(NOW - timedelta(seconds=20), 3, ""),
            "Saved. Votes were last backed up 20 s ago.",
        ),
        (
            BackupState(NOW + timedelta(seconds=5), 0, ""),
            "Saved. Votes were last backed up 0 s ago.",
        ),
        (
            BackupState(NOW - timedelta(minutes=5), 90_000, ""),
            '<span class="late">Saved. The backup is late. Votes from the last 5 min aren&#39;t backed up.</span>',
        ),
        (BackupState(None, 5, ""), "Saved. Nothing is backed up yet."),
        (
            BackupState(NOW, 5, "the Hub answered <503>"),
            '<span class="late">Saved. The backup failed: the Hub answered &lt;503&gt;. '
            "Votes from the last 0 s aren&#39;t backed up.</span>",
        ),
        (
            BackupState(None, 5, "the Hub answered 503"),
            '<span class="late">Saved. The backup failed: the Hub answered 503. Nothing is backed up yet.</span>',
        ),
        (
            BackupState(NOW - timedelta(seconds=63), 5, ""),
            "Saved. Votes were last backed up 63 s ago.",
        ),
        (
            BackupState(NOW - timedelta(seconds=64), 5, ""),
            '<span class="late">Saved. The backup is late. Votes from the last 64 s aren&#39;t backed up.</span>',
        ),
    ],
)
def test_a_voter_reads_how_fresh_the_copy_is(state, line):
    assert backup_line(state, NOW) == line


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "119 min"),
        (7200, "2 h"),
        (172_799, "47 h"),
        (172_800, "2 days"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(seconds, words):
    assert ago(timedelta(seconds=seconds)) == words


def test_the_page_says_it_after_a_vote(start_server, tmp_path):
    with closing(Database(f"sqlite:///{tmp_path / 'data-0' / 'arena.db'}")) as database:
        Ingest(database).add_items("test", "folder", drafts())
    with HubServer() as hub:
        app = start_server(
            DEMO_BANK="off", MIRROR="ada/votes", HF_TOKEN="hf_canary", HF_ENDPOINT=hub.address
        )
        with Voter(app.address) as voter:
            voter.load()
            saved = voter.choose("a")["parts"]["below"]
            assert re.fullmatch(
                r"Saved\. (Votes were last backed up .* ago|Nothing is backed up yet)\.", saved
            )
            page = voter.client.get("/config").text
            assert "also copied to a private dataset" in page, "who uploads outputs is told"
            voter.wait_out_undo()
            voter.next()
            assert voter.parts["below"] == "", "the line is about the vote before"
        app.stop()
        copied = b"".join(hub.files.values())
        assert b'"choice":"a"' in copied, "to this Hub"
        app.stop()
    assert "hf_canary" not in app.log.read_text()


def test_without_a_backup_nothing_is_said(server):
    with Voter(server.address) as voter:
        voter.load()
        assert voter.choose("a")["parts"]["below"] == ""
        assert "also copied to a private dataset" not in voter.client.get("/config").text
