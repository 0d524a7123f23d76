"""The public export: the votes that count, in two files that agree, and nothing that leads to a person."""

import asyncio
import json
import os
import sqlite3
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import delete, insert, select, update

from arena.admin.erasure import Erasure, code_of
from arena.admin.public_export import FILES, PublicFiles, write_export
from arena.battles.tables import BATTLE, HAS_CHOICE
from arena.database import Database, now
from arena.formats.parquet import read_rows
from arena.formats.registry import read
from arena.fraud.flags import EVERYONE_REVIEW, VOTER_FLAG
from arena.items.ingest import Ingest
from arena.items.store import ANSWER
from arena.live.images import OwnImages
from arena.locale import CHINESE
from arena.server.change_log import VOTER_KEY
from arena.thinking import word_count
from arena.web import export_api as public_routes
from arena.web.cookies import cookie_hash
from arena.web.layout import PageLayout
from arena.web.request_locale import RequestLocale
from arena.web.static_files import Links
from tests.support.commands import run
from tests.support.live_votes import SECRET, live_vote
from tests.support.servers import drafts
from tests.support.visitors import Visitor

LAYOUT = PageLayout(Links("/style.css", "/script.js"))


@pytest.fixture
def voted(bank) -> Database:
    """A bank with four votes of two voters, one taken back, a live vote, a skip; all an hour old but one."""
    first, second = Visitor(bank, "first-cookie"), Visitor(bank, "second-cookie")
    first.decide("a")
    first.decide("b")
    battle = first.serve()
    first.vote(battle, "a")
    first.vote(first.undo(battle), "b")
    second.skip(second.serve())
    live_vote(bank, second.id)
    with bank.write() as connection:
        earlier = update(BATTLE).where(HAS_CHOICE)
        connection.execute(earlier.values(voted_at=now() - timedelta(hours=1), tick=0))
    second.vote(second.serve(), "b")
    return bank


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "votes.jsonl").read_text("utf-8").splitlines()]


def test_both_files_hold_the_votes_that_count(voted, tmp_path):
    written = write_export(voted, tmp_path / "out")
    rows = lines(tmp_path / "out")
    assert (written.votes, written.voters, written.models) == (len(rows), 2, 5) == (4, 2, 5)
    assert [row["winner"] for row in rows] == ["a", "b", "b", "a"], (
        "the vote that was taken back is not there"
    )
    assert [row.values for row in read_rows(tmp_path / "out" / "votes.parquet")] == rows
    assert [row["source"] for row in rows] == ["test"] * 3 + ["Own pictures, answered live"]
    assert rows[0]["voter"] == rows[1]["voter"] != rows[3]["voter"]
    assert rows[3]["item"] is None and rows[3]["turns"] == 1
    for name in ("votes.jsonl", "votes.parquet"):
        battles = read(tmp_path / "out" / name)
        assert battles.format == "stereoscope" and len(battles) == 4, "our own command rates it"
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(FILES)


def test_marks_of_a_stored_answer_are_left_out_since_voters_see_them_before_the_vote(
    voted, tmp_path
):
    with voted.write() as connection:
        connection.execute(update(ANSWER).values(thinking="Let me look.", cut=True))
    write_export(voted, tmp_path)
    *stored, live = lines(tmp_path)
    marks = ("words_thought_a", "words_thought_b", "cut_a", "cut_b")
    assert {row[name] for row in stored for name in marks} == {None}
    assert [live[name] for name in marks] == [word_count(f"I look: {SECRET}"), 0, False, False]


def test_how_much_was_thought_is_unknown_once_the_texts_are_removed(voted, tmp_path):
    """As after a voter was forgotten, and in what comes back from the copy after a wipe."""
    stays = live_vote(voted, Visitor(voted, "third-cookie").id)
    with voted.write() as connection:
        earlier = update(BATTLE).where(BATTLE.c.id == stays)
        connection.execute(earlier.values(voted_at=now() - timedelta(hours=1), tick=0))
    gone = Visitor(voted, "second-cookie").id
    Erasure(voted, OwnImages(voted, tmp_path / "own")).forget(gone, "ada")
    write_export(voted, tmp_path)
    *_, forgotten, kept = lines(tmp_path)
    marks = ("words_thought_a", "words_thought_b", "cut_a", "cut_b")
    assert [forgotten[name] for name in marks] == [None, None, False, False]
    assert [kept[name] for name in marks] == [word_count(f"I look: {SECRET}"), 0, False, False]


def test_a_tie_keeps_its_sides(voted, tmp_path):
    write_export(voted, tmp_path / "forced")
    with voted.write() as connection:
        tie = {"protocol": "ties", "choice": "tie"}
        connection.execute(update(BATTLE).where(HAS_CHOICE).values(tie))
    write_export(voted, tmp_path / "ties")
    forced = lines(tmp_path / "forced")
    ties = lines(tmp_path / "ties")
    assert {row["winner"] for row in ties} == {"tie"}
    assert [sides(row) for row in ties] == [sides(row) for row in forced]


def sides(row: dict) -> list[str]:
    return [row["model_a"], row["model_b"]]


def test_nothing_in_it_leads_to_a_person(voted, tmp_path):
    with voted.read() as connection:
        tokens = [
            row.cookie_hash for row in connection.exec_driver_sql("SELECT cookie_hash FROM voter")
        ]
    write_export(voted, tmp_path)
    whole = b"".join((tmp_path / name).read_bytes() for name in FILES).decode("utf-8", "replace")
    for told in (*tokens, "first-cookie", SECRET, "says 0"):
        assert told not in whole


def test_the_card_counts_and_names_the_licence(voted, tmp_path):
    write_export(voted, tmp_path)
    card = (tmp_path / "README.md").read_text("utf-8")
    assert (
        card.startswith("---\nlicense: cc-by-4.0\n")
        and "creativecommons.org/licenses/by/4.0" in card
    )
    assert "4 votes of 2 voters on 5 models" in card and "| test | 3 |" in card
    assert all(
        f"| {column} |" in card or f"{column}," in card or f", {column}" in card
        for column in lines(tmp_path)[0]
    )
    assert "$" not in card


def test_a_source_with_a_hostile_name_stays_one_cell(database, tmp_path):
    Ingest(database).add_items("a | b\n| c", "folder", drafts())
    Visitor(database, "one").decide()
    with database.write() as connection:
        earlier = update(BATTLE).where(HAS_CHOICE)
        connection.execute(earlier.values(voted_at=now() - timedelta(hours=1), tick=0))
    write_export(database, tmp_path)
    assert "| a \\| b \\| c | 1 |" in (tmp_path / "README.md").read_text("utf-8")


def test_an_arena_without_votes_has_empty_files(database, tmp_path):
    assert write_export(database, tmp_path).votes == 0
    assert lines(tmp_path) == [row.values for row in read_rows(tmp_path / "votes.parquet")] == []


def test_flagged_voters_are_marked_and_check_items_stay_secret(voted, tmp_path):
    Ingest(voted).add_items("checks", "check", drafts(1, ("m1", "m2"), images=3))
    visitor = Visitor(voted, "first-cookie")
    checked = visitor.serve_on(7)
    visitor.vote(checked, "a")
    with voted.write() as connection:
        earlier = update(BATTLE).where(HAS_CHOICE)
        connection.execute(earlier.values(voted_at=now() - timedelta(hours=1), tick=0))
        flag = {"voter_id": visitor.id, "reason": "LEFT", "strength": 5.0, "raised_at": now()}
        connection.execute(insert(VOTER_FLAG).values(review=EVERYONE_REVIEW, **flag))
    write_export(voted, tmp_path)
    rows = lines(tmp_path)
    assert "checks" not in {row["source"] for row in rows}
    flagged = {row["voter"]: row["flagged"] for row in rows}
    assert sorted(flagged.values()) == [False, True]


def test_the_servers_files_are_written_anew_when_a_voter_is_forgotten(voted, tmp_path):
    files = PublicFiles(voted, tmp_path / "public")
    path = asyncio.run(files.path("votes.jsonl"))
    assert path is not None
    before = path.read_bytes()
    with voted.read() as connection:
        keys = {row.voter_id: row.key for row in connection.execute(select(VOTER_KEY))}
    stranger = Visitor(voted, "third-cookie")
    stranger.decide()
    assert asyncio.run(files.path("votes.jsonl")) == path and path.read_bytes() == before, (
        "not at every request"
    )
    gone = Visitor(voted, "first-cookie").id
    assert keys[gone].encode() in before
    Erasure(voted, OwnImages(voted, tmp_path / "own")).forget(gone, "ada")
    assert asyncio.run(files.path("README.md")) is not None
    assert keys[gone].encode() not in path.read_bytes()
    assert len(lines(tmp_path / "public")) == 5, (
        "the votes stay, and what was decided since is there"
    )
    for name in ("", "../arena.db", "votes.csv", ".being-written-x"):
        assert asyncio.run(files.path(name)) is None


def test_who_waits_for_the_files_keeps_nobody_from_the_other_routes(tmp_path):
    """Another program holds the lock that the export needs, and more ask for the export than there are threads."""
    database, app = Database(f"sqlite:///{tmp_path / 'arena.db'}"), FastAPI()
    app.include_router(public_routes.routes(PublicFiles(database, tmp_path / "public"), LAYOUT))

    async def scenario() -> set[int]:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://here"
        ) as client:
            with closing(sqlite3.connect(tmp_path / "arena.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                asked = [asyncio.create_task(client.get("/export/README.md")) for _ in range(60)]
                await asyncio.sleep(0.3)
                assert (await client.get("/you")).status_code == 200
                assert not any(task.done() for task in asked), (
                    "it answers while the export waits for the lock"
                )
                other.execute("ROLLBACK")
            return {answer.status_code for answer in await asyncio.gather(*asked)}

    assert asyncio.run(scenario()) == {200}
    database.close()


def test_a_voter_without_a_key_gets_one_and_keeps_it(voted, tmp_path):
    with voted.write() as connection:
        connection.execute(delete(VOTER_KEY))
    write_export(voted, tmp_path)
    first = [row["voter"] for row in lines(tmp_path)]
    write_export(voted, tmp_path)
    assert None not in first and [row["voter"] for row in lines(tmp_path)] == first


def test_the_command_writes_the_files(tmp_path):
    here = {"DATA_DIR": str(tmp_path / "data")}
    done = run("arena", "export", "--out", tmp_path / "out", environ=here)
    assert done.code == 0 and "votes: 0" in done.out, done.err
    assert {path.name for path in (tmp_path / "out").iterdir()} == {*FILES}
    (tmp_path / "file").touch()
    torn = run("arena", "export", "--out", tmp_path / "file", environ=here)
    assert torn.code == 2 and "Traceback" not in torn.err


def test_what_a_killed_process_left_of_an_export_goes_a_day_later(bank, tmp_path):
    """Votes of somebody who was forgotten since may stand in it."""
    left, under_way = tmp_path / ".being-written-1", tmp_path / ".being-written-2"
    for folder in (left, under_way):
        folder.mkdir()
        (folder / "votes.jsonl").write_text("{}", "utf-8")
    os.utime(left, (time.time() - 90_000,) * 2)
    (tmp_path / ".being-written-3").symlink_to("ended meanwhile")
    write_export(bank, tmp_path)
    assert not left.exists() and under_way.exists()


def test_everybody_may_have_the_export_and_see_their_own_code(database, tmp_path):
    Ingest(database).add_items("test", "folder", drafts(3))
    Visitor(database, "one").decide()
    app = FastAPI()
    app.add_middleware(RequestLocale)
    app.include_router(public_routes.routes(PublicFiles(database, tmp_path / "public"), LAYOUT))
    client = TestClient(app)
    card = client.get("/export/README.md")
    assert card.status_code == 200 and "cc-by-4.0" in card.text
    assert "no-store" in card.headers["cache-control"]
    for name in ("votes.jsonl", "votes.parquet"):
        assert client.get(f"/export/{name}").status_code == 200
    for name in ("x", "..%2farena.db", "votes.csv"):
        assert client.get(f"/export/{name}").status_code == 404
    assert "no code" in client.get("/you").text
    chinese = client.get("/you", headers={"accept-language": "zh"}).text
    assert (
        CHINESE.text("you.none") in chinese
        and 'href="/terms"' in chinese
        and 'lang="zh"' in chinese
    )
    cookie = "v" * 32
    mine = client.get("/you", headers={"cookie": f"stereoscope_voter={cookie}"})
    assert code_of(cookie_hash(cookie)) in mine.text and cookie not in mine.text
    assert "no-store" in mine.headers["cache-control"]
