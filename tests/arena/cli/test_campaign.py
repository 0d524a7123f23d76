"""`python -m arena campaign`: from a file to its pay sheet."""

import csv
import io
from urllib.parse import parse_qsl, urlsplit

import pytest

import app  # noqa: F401 every table is there
from arena.__main__ import main
from arena.database import Database
from arena.items.ingest import Ingest
from arena.seats.links import arrival
from tests.support.battle_campaigns import let_minutes_pass
from tests.support.paid_campaigns import PROLIFIC, TOML, PaidCampaign, written
from tests.support.servers import drafts


@pytest.fixture
def arena(tmp_path, monkeypatch) -> Database:
    """The database of the commands, with the source "test"."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setattr("arena.admin.seat_admin.is_lost_at_restart", lambda _: False)
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    Ingest(database).add_items("test", "folder", drafts())
    return database


def campaign(capsys, *words: object) -> tuple[int, str, str]:
    code = main(["campaign", *map(str, words)])
    told = capsys.readouterr()
    return code, told.out, told.err


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_campaign_from_a_file_to_its_links(arena, capsys, tmp_path):
    code, out, _ = campaign(capsys, "new", written(tmp_path, "c.toml", TOML))
    assert code == 0 and out.splitlines() == [
        "pilot: 3 models, 18 tuples, at most 18 votes. It stops at 1,000.",
        "6 workers with 3 votes each, for 5 USD each: 30.00 USD before the platform's fee.",
        "No check items, so nobody's attention is tested. Import some: python -m arena items checks DIR.",
        "Links: python -m arena campaign links pilot --workers FILE",
    ]
    people = written(tmp_path, "people.txt", "\ufeffWorker\r\n\r\nAda  Lovelace\r\n李小龍\r\n")
    code, out, _ = campaign(
        capsys, "links", "pilot", "--workers", people, "--address", "https://arena.example.org/"
    )
    made = read(out)
    assert code == 0 and [row["worker"] for row in made] == ["Ada Lovelace", "李小龍"]
    assert all(
        row["link"].startswith("https://arena.example.org/c/pilot?n=3&until=") for row in made
    )
    code, out, err = campaign(
        capsys, "links", "pilot", "--workers", written(tmp_path, "odd.txt", "\nw1\nw\u202e1\n")
    )
    assert (code, out) == (2, "") and err.startswith("odd.txt, row 3: ")
    assert "row 3: 'w\\u202e1' can't be" in err
    code, out, err = campaign(
        capsys, "links", "pilot", "--workers", written(tmp_path, "twice.csv", "w1\nw2\nw1\n")
    )
    assert (code, out) == (2, "") and err.startswith("twice.csv: Expected each worker once")
    code, out, err = campaign(
        capsys, "links", "pilot", "--workers", written(tmp_path, "none.txt", "\n \n")
    )
    assert (code, out, err) == (
        2,
        "",
        "none.txt: Expected a worker's name on each line, found none. Write one on each line.\n",
    )
    code, _, err = campaign(capsys, "links", "pilot")
    assert code == 2 and "worker. Give --workers FILE" in err


@pytest.mark.parametrize("person", ["w1", "Zoë Ångström", "李 小龍", "+1, or 'less'"])
def test_a_link_of_the_command_opens_a_seat(arena, capsys, tmp_path, person):
    one = PaidCampaign(arena)
    _, out, _ = campaign(
        capsys, "links", "pilot", "--workers", written(tmp_path, "people.txt", f"{person}\n")
    )
    query = dict(parse_qsl(urlsplit(read(out)[0]["link"]).query))
    made = one.campaign
    assert arrival(made.key, made.spec, query, made.created_at).person == person
    again = campaign(capsys, "links", "pilot", "--workers", written(tmp_path, "links.csv", out))
    assert again[1] == out, "its own table is a list"


def test_a_platforms_campaign_has_one_link(arena, capsys, tmp_path):
    _, out, _ = campaign(
        capsys, "new", written(tmp_path, "c.toml", TOML + PROLIFIC), "--address", "https://a.org"
    )
    link = out.splitlines()[-1]
    assert link.startswith("https://a.org/c/pilot?") and link.endswith(
        "SESSION_ID={{%SESSION_ID%}}"
    )
    assert campaign(capsys, "links", "pilot", "--address", "https://a.org")[1].strip() == link
    code, _, err = campaign(
        capsys, "links", "pilot", "--workers", written(tmp_path, "people.txt", "w1\n")
    )
    assert code == 2 and "pilot has one link for all workers. Leave out --workers." in err


def test_a_wrong_file_ends_with_one_line(arena, capsys, tmp_path):
    for text, told in (
        (TOML.replace("test", "none"), "Sources: test"),
        (TOML * 2, "The file isn't valid TOML"),
    ):
        code, out, err = campaign(capsys, "new", written(tmp_path, "c.toml", text))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("c.toml: ") and told in err
    code, _, err = campaign(capsys, "new", tmp_path / "missing.toml")
    assert code == 2 and "missing.toml" in err
    tuples = written(tmp_path, "t.csv", "item,model_a\nx,m1\n")
    code, _, err = campaign(capsys, "new", written(tmp_path, "c.toml", TOML), "--tuples", tuples)
    assert code == 2 and "'model_b'" in err and "t.csv" in err


def test_it_is_watched_ended_and_paid(arena, capsys, tmp_path):
    one = PaidCampaign(arena, TOML + PROLIFIC)
    one.answer("5f01")
    one.answer("5f02", most=1)
    let_minutes_pass(arena, 1)
    assert "pilot (prolific), running; 0 of 1,000 votes (4 pending)" in campaign(capsys, "list")[1]
    export = "Submission id,Participant id,Status\nsitting,5f01,AWAITING REVIEW\n2,5f09,AWAITING REVIEW\n"
    _, out, _ = campaign(capsys, "participants", "pilot", written(tmp_path, "prolific.csv", export))
    assert out == (
        "2 people on the platform's list of pilot. 1 of them came. Not on it: 1 worker. Workers who came: 1 confirmed, "
        "1 rejected, 0 pending.\n"
    )
    assert "running; 3 of 1,000 votes," in campaign(capsys, "list")[1]
    rows = {row["person"]: row for row in read(campaign(capsys, "sheet", "pilot")[1])}
    assert [(rows[name]["state"], rows[name]["proposal"]) for name in ("5f01", "5f02", "5f09")] == [
        ("done", "approve"),
        ("working", "unknown to the platform: don't pay"),
        ("never came", "ask to return"),
    ]
    assert rows["5f01"]["code"] == "C1DONE" and rows["5f02"]["code"] == ""
    assert {row["person"] for row in read(campaign(capsys, "votes", "pilot")[1])} == {
        "5f01",
        "5f02",
    }
    assert [row["person"] for row in read(campaign(capsys, "quality", "pilot")[1])] == [
        "all workers",
        "5f01",
        "5f02",
    ]
    assert "pilot has ended" in campaign(capsys, "end", "pilot")[1]
    assert "pilot (prolific), ended: ended by an operator;" in campaign(capsys, "list")[1]
    for word in ("sheet", "quality", "votes", "end", "links"):
        code, _, err = campaign(capsys, word, "pilo")
        assert (code, err) == (2, "There's no campaign named 'pilo'. Campaigns: pilot.\n")
