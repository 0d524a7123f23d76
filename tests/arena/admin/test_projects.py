"""Projects of items as an operator makes, watches, mends and pays them."""

import csv
import os
from html import unescape

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from arena.admin.actions import latest_actions
from arena.admin.campaigns import CampaignAdmin
from arena.battles.vote_table import VoteTable
from arena.battles.voters import Voters
from arena.items.store import ItemBank
from arena.seats.spec import CampaignError
from arena.settings import Settings
from arena.web.admin_auth import OPERATOR_COOKIE, Operators
from arena.web.admin_campaigns import routes
from arena.web.project_view import projects_html
from tests.support.live_visitor import catalogue, table
from tests.support.writers import Project, projects_of

TOML = """
name = "streets"
seat = { votes = 10, pay = 4.0 }
[[families]]
name = "Counting"
wanted = 10
"""
MODEL = {
    "name": "writer",
    "kind": "api",
    "model": "one",
    "address": "http://127.0.0.1:9/v1",
    "prompt_price": 1.0,
    "completion_price": 2.0,
}


def on_disk() -> dict[str, str]:
    """The setting without which paid work is refused: this run's own folder, which is not in memory."""
    return {"DATA_DIR": os.environ["DATA_DIR"]}


@pytest.fixture
def admin(database, tmp_path):
    settings = Settings.from_env(on_disk() | {"MODELS": catalogue(tmp_path, table(MODEL))})
    return projects_of(settings, database)


@pytest.fixture
def operator(database, admin) -> TestClient:
    """A client whom the routes take for an operator; without its cookie it is anybody."""
    operators = Operators(frozenset(), Voters(database), by_link=True)
    settings = Settings.from_env(on_disk())
    app = FastAPI()
    app.include_router(
        routes(
            CampaignAdmin(settings, database, ItemBank(database), VoteTable(database)),
            admin,
            operators,
        )
    )
    code = str(operators.link("")).partition("=")[2]
    return TestClient(app, cookies={OPERATOR_COOKIE: operators.redeem(code)})


def test_a_project_is_made_of_its_file_and_its_price_is_told(admin):
    told = admin.summary(admin.make("ada", TOML.encode()))
    assert told[0] == "streets: 10 items of 1 family, 40 steps or more."
    assert "4 seats of 10 steps, for 4 USD each: 16.00 USD or more" in told[1]
    assert told[2] == "People write the answers: no model is named."
    priced = TOML.replace('"streets"', '"priced"\nmodel = "writer"\nverifiers = 3')
    told = admin.summary(admin.make("ada", priced.encode()))
    assert told[0] == "priced: 10 items of 1 family, 50 steps or more."
    assert told[2].startswith("writer drafts answers: $0.0")
    assert told[2].endswith("$5.00 at most in all.")


@pytest.mark.parametrize(
    "toml, told",
    [
        ("name = ", "no TOML"),
        (TOML.replace("wanted = 10", "wanted = 0"), "wanted is .0.; it must be a whole number"),
        (TOML.replace("seat =", "licence = 'all mine'\nseat ="), "licence"),
        (TOML.replace("seat =", "model = 'nobody'\nseat ="), "nobody"),
        (TOML + 'pictures = ["cat.jpg"]', "'cat.jpg': give its https address"),
        (
            TOML.replace("seat =", "checks = { items = 'x' }\nseat ="),
            "checks.items is of battles alone",
        ),
        (
            TOML.replace("seat =", "qualify = { items = 'x' }\nseat ="),
            "which has 0 of the 6 check items",
        ),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_a_sentence_and_nothing_is_made(admin, toml, told):
    with pytest.raises(CampaignError, match=told):
        admin.make("ada", toml.encode())
    assert admin.store.all() == []


def test_paid_items_are_not_made_on_a_disk_that_is_wiped(database, tmp_path):
    settings = Settings.from_env(
        {"SPACE_ID": "a/b", "SPACE_HOST": "a-b.example", "DATA_DIR": str(tmp_path)}
    )
    with pytest.raises(CampaignError, match="A restart would lose"):
        projects_of(settings, database).make("ada", TOML.encode())


def test_an_accepted_item_is_taken_out_and_said_who_did_it(database, tmp_path, operator, admin):
    project = Project.on(database, tmp_path)
    for person in ("ann", "bob", "cyd", "dan"):
        project.do(project.seat(person))
    path = f"/operators/projects/{project.campaign.name}/reject"
    for body in ("", "one", "1", "17 gone", "1e3 gone", "-1 gone"):
        assert operator.post(path, content=body).status_code == 422
    assert project.drafts[0].state.step == "accepted"
    answer = operator.post(path, content="1 the licence was withdrawn")
    assert (answer.status_code, "Item 1 of pets is taken out" in answer.text) == (200, True)
    assert (project.drafts[0].state.step, project.drafts[0].state.fault) == ("rejected", "picture")
    with database.read() as connection:
        done = latest_actions(connection, 1)[0]
    assert (done.deed, done.about) == ("took an item out of a project", "pets 1")
    board = unescape(projects_html(admin.standings(), {}, ""))
    assert "rejected: picture" in board


@pytest.mark.parametrize(
    ("kind", "has_a_list"), [("plain", False), ("login", False), ("mturk", True)]
)
def test_the_board_asks_for_the_list_of_a_platform_that_has_one(
    database, tmp_path, admin, kind, has_a_list
):
    project = Project.on(database, tmp_path, platform={"kind": kind})
    links = {} if kind == "plain" else {project.campaign.name: "/c/pets?n=1"}
    assert (
        "the sheet approves nobody" in unescape(projects_html(admin.standings(), links, ""))
    ) == has_a_list


def test_links_sheet_and_end_are_those_of_a_campaign(database, tmp_path, operator):
    project = Project.on(database, tmp_path)
    for person in ("ann", "bob", "cyd", "dan"):
        project.do(project.seat(person))
    links = operator.post("/operators/campaigns/pets/links", content="eve").text
    assert "/c/pets?" in links
    sheet = operator.get("/operators/campaigns/pets/sheet.csv")
    rows = list(csv.DictReader(sheet.text.splitlines()))
    assert [(row["person"], row["votes"]) for row in rows] == [
        (one, "1") for one in ("ann", "bob", "cyd", "dan")
    ]
    assert operator.get("/operators/campaigns/pets/votes.csv").status_code == 404
    assert "pets has ended" in operator.post("/operators/campaigns/pets/end").text
    assert operator.post("/operators/projects", content=TOML).text.startswith("streets: 10 items")
    stranger = TestClient(operator.app)
    for way, path in (
        ("GET", "campaigns/pets/sheet.csv"),
        ("POST", "projects"),
        ("POST", "projects/pets/reject"),
    ):
        answer = stranger.request(way, f"/operators/{path}", content=TOML)
        assert (answer.status_code, answer.text) == (404, "There is nothing here.")


def test_the_board_tells_where_items_stand_with_the_papers_numbers_beside(
    database, tmp_path, admin
):
    project = Project.on(database, tmp_path, visibility="sealed")
    people = [project.seat(f"person-{number}") for number in range(4)]
    for turn in range(12):
        project.do(people[turn % 4], "answer" if turn == 7 else "correct")
    board = unescape(projects_html(admin.standings(), {}, ""))
    assert "<td>animals</td><td>20</td>" in board
    assert all(
        f"<td>{number}%</td>" in board
        for number in (87.3, 91.5, "63.0", "4.0", 3.6, "6.0", 7.7, 3.8, "30.0")
    )
    (standing,) = admin.standings()
    correct = standing.yields[0].overall
    assert f"{correct.value:.1%} ({correct.low:.0%} to {correct.high:.0%}) of {correct.n}" in board
    assert "A brown dog" not in board  # captions of a sealed project
