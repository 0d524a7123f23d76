"""Projects of items as an operator makes, watches, mends and pays them."""

import asyncio
import csv
import os
import re
from datetime import timedelta
from html import unescape

import pytest
from sqlalchemy import update

from arena.admin.actions import latest_actions
from arena.database import now
from arena.seats.qualification import Qualification
from arena.seats.spec import CampaignError
from arena.seats.tables import SEAT_ENTRY, SEAT_TRY
from arena.settings import Settings
from arena.types import Price
from arena.web.project_view import projects_html
from tests.support.live_visitor import catalogue, table
from tests.support.run_desk import RunDesk
from tests.support.scripted_vlm import ScriptedVLM
from tests.support.writers import Project, photo, projects_of

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
UNPRICED = {"name": "gift", "kind": "api", "model": "two", "address": "http://127.0.0.1:9/v1"}


def on_disk() -> dict[str, str]:
    """The setting without which paid work is refused: this run's own folder, which is not in memory."""
    return {"DATA_DIR": os.environ["DATA_DIR"]}


@pytest.fixture
def admin(database, tmp_path):
    settings = Settings.from_env(
        on_disk() | {"MODELS": catalogue(tmp_path, table(MODEL), table(UNPRICED))}
    )
    return projects_of(settings, database)


@pytest.fixture
def desk(database, tmp_path, admin) -> RunDesk:
    """The operators' page, with these projects."""
    return RunDesk.of(database, tmp_path, admin)


def test_a_project_is_made_of_its_file_and_its_price_is_told(admin):
    told = admin.summary(admin.make("ada", TOML.encode()))
    assert told[0] == "streets: 10 items in 1 family, 40 steps or more."
    assert "4 seats with 10 steps each, for 4 USD each: 16.00 USD or more" in told[1]
    assert told[2] == "People write the answers, because model is empty."
    priced = TOML.replace('"streets"', '"priced"\nmodel = "writer"\nverifiers = 3')
    told = admin.summary(admin.make("ada", priced.encode()))
    assert told[0] == "priced: 10 items in 1 family, 50 steps or more."
    assert told[2].startswith("writer drafts answers: $0.0")
    assert told[2].endswith("$5.00 at most in all.")
    unpriced = TOML.replace('"streets"', '"unpriced"\nmodel = "writer"\nblind_model = "gift"')
    told = admin.summary(admin.make("ada", unpriced.encode()))
    assert told[2].startswith(
        "writer drafts answers, and gift answers without pictures. The models file has no "
    )
    assert "no price for gift, so" in told[2] and "$" not in told[2]
    both = TOML.replace('"streets"', '"both"\nmodel = "gift"\nblind_model = "gift"')
    assert "no price for gift, so" in admin.summary(admin.make("ada", both.encode()))[2]


def test_what_answers_without_a_text_cost_is_spent_too(database, tmp_path, admin):
    project = Project.on(database, tmp_path, model="writer")
    for person in ("ann", "bob"):
        project.do(project.seat(person))
    vlm = ScriptedVLM("writer", " ", price=Price(2.0, 6.0))
    admin.drafting._find_vlm = lambda _: vlm
    assert "is empty" in asyncio.run(admin.drafting.answer(project.campaign, project.drafts[0].id))
    standing = admin.standing(project.campaign)
    assert standing.spent == admin.drafting.budget.total().spent > 0


def test_a_campaign_that_somebody_else_ends_meanwhile_says_why_it_ended(admin, monkeypatch):
    before = admin.make("ada", TOML.encode())
    assert admin.store.end(before, "enough votes")
    after = admin.store.get("streets")
    reads = iter([before, after])
    monkeypatch.setattr(admin.store, "get", lambda name: next(reads))
    assert admin.end("ada", "streets") == "streets has already ended: enough votes."


@pytest.mark.parametrize(
    "toml, told",
    [
        ("name = ", "isn't valid TOML"),
        (TOML.replace("wanted = 10", "wanted = 0"), "wanted is .0.. It must be a whole number"),
        (TOML.replace("seat =", "licence = 'all mine'\nseat ="), "licence"),
        (TOML.replace("seat =", "model = 'nobody'\nseat ="), "nobody"),
        (TOML + 'pictures = ["cat.jpg"]', "'cat.jpg': it needs an https address"),
        (
            TOML.replace("seat =", "checks = { items = 'x' }\nseat ="),
            "checks.items is only for campaigns of battles. Delete it: in a project, people verify the items",
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


def test_an_accepted_item_is_taken_out_and_said_who_did_it(database, tmp_path, desk, admin):
    project = Project.on(database, tmp_path)
    for person in ("ann", "bob", "cyd", "dan"):
        project.do(project.seat(person))
    path = f"/run/projects/{project.campaign.name}/reject"
    for number, why in (("", ""), ("one", "gone"), ("1", " "), ("17", "gone"), ("1e3", "gone")):
        answer = desk.operator.post(path, data={"number": number, "why": why})
        assert answer.status_code == 422
    assert project.drafts[0].state.step == "accepted"
    assert 'form="projects:pets:take" name="number" value="1">Remove' in desk.read()
    done = desk.post(
        "projects/pets/reject", "projects", number="1", why="the licence was withdrawn"
    )
    assert 'role="status">Item 1 of pets is removed' in done
    assert (project.drafts[0].state.step, project.drafts[0].state.fault) == ("rejected", "picture")
    with database.read() as connection:
        done = latest_actions(connection, 1)[0]
    assert (done.deed, done.about) == ("took an item out of a project", "pets 1")
    board = unescape(projects_html(admin.standings(), {}, ""))
    assert "rejected: picture" in board and 'value="1">Remove' not in board


CAPTION = "A brown <b>dog</b> stands beside a red ball on the grass, and nobody else is there."


def with_samples(database, folder) -> Project:
    """A project whose writers describe two samples; of one it is known what a good caption names."""
    (folder / "0.jpg").write_bytes(photo(0))
    asked = {"picture": "0.jpg", "instruction": "What is beside the dog?"}
    qualify = {"samples": 2, "pass": 2}
    return Project.on(
        database, folder, samples=[asked, asked | {"known": ["ball"]}], qualify=qualify
    )


def describe(database, seat, question: str) -> None:
    exam = Qualification(database)
    stands = exam.standing(seat)
    assert stands
    exam.answer(seat, stands, question, CAPTION, True if question == "sample 2" else None)


def test_an_operator_reads_samples_and_judges_each_in_one_press(database, tmp_path, desk, admin):
    project = with_samples(database, tmp_path)
    assert "Samples to read" not in projects_html(admin.standings(), {}, "")
    ann = project.seat("ann")
    for question in ("sample 2", "sample 1"):
        describe(database, ann, question)
    board = projects_html(admin.standings(), {}, "")
    assert "Samples to read: 1" in board
    assert "What is beside the dog?" in board
    assert "A brown &lt;b&gt;dog&lt;/b&gt; stands" in board
    picture = project.campaign.spec.samples[0].picture
    assert f'href="/pictures/{picture}"' in board
    assert f'src="/pictures/{picture[:64]}.thumb.jpg"' in board
    name = f"{ann.id}.1.2"
    assert f'name="sample" value="{name}"' in board
    assert "1 sample to read." in desk.read()
    path = "/run/projects/pets/samples"
    good = {"sample": name, "verdict": "good"}
    assert desk.stranger().post(path, data=good).status_code == 403
    for sample, verdict in (
        ("", ""),
        ("", "good"),
        (name, ""),
        (name, "fine"),
        (f"{ann.id}.1.1", "good"),
        (f"{ann.id}.1.3", "good"),
        ("999.1.2", "good"),
        ("x" * 9999, "good"),
        (f"{'9' * 5000}.1.2", "good"),
    ):
        answer = desk.operator.post(path, data={"sample": sample, "verdict": verdict})
        assert answer.status_code == 422, sample
    elsewhere = desk.operator.post("/run/projects/streets/samples", data=good)
    assert elsewhere.status_code == 422
    done = desk.post("projects/pets/samples", "projects", **good)
    assert f"Sample {name} of pets is good." in done
    assert desk.operator.post(path, data={**good, "verdict": "poor"}).status_code == 422
    assert Qualification(database).has_passed(ann)
    assert "Samples to read" not in projects_html(admin.standings(), {}, "")
    with database.read() as connection:
        (done,) = latest_actions(connection, 9)
    assert (done.deed, done.about) == ("judged a writer's sample", f"pets {ann.id}.1.2 good")
    assert done.who


def test_a_sample_of_another_project_is_not_judged_under_this_ones_name(
    database, tmp_path, desk, admin
):
    project = with_samples(database, tmp_path)
    ann = project.seat("ann")
    describe(database, ann, "sample 1")
    admin.make("ada", TOML.encode())
    form = {"sample": f"{ann.id}.1.1", "verdict": "good"}
    assert desk.operator.post("/run/projects/streets/samples", data=form).status_code == 422
    assert [one.answer.seat for one in admin.unread("pets")] == [ann.id]


def test_whoever_waits_for_an_operator_has_not_gone_away(database, tmp_path, admin):
    project = with_samples(database, tmp_path)
    ann, bob = project.seat("ann"), project.seat("bob")
    describe(database, ann, "sample 1")
    describe(database, bob, "sample 2")
    long_ago = now() - timedelta(days=2)
    with database.write() as connection:
        connection.execute(update(SEAT_ENTRY).values(arrived_at=long_ago))
        connection.execute(update(SEAT_TRY).values(at=long_ago))
    assert admin.standing(project.campaign).states == {"working": 1, "abandoned": 1}
    proposals = [row["proposal"] for row in admin.sheet("pets").rows]
    assert proposals == ["wait", "ask to return"]


def test_the_price_holds_for_texts_of_any_script(admin):
    """A call reserves the bytes of its texts, three times, and a character has up to four."""
    priced = TOML.replace('"streets"', '"priced"\nmodel = "writer"')
    price = admin.summary(admin.make("ada", priced.encode()))[2]
    dollars = float(re.search(r"\$([0-9.]+) at most for an item", price)[1])
    assert dollars >= 3 * 4 * (2000 + 5000) * MODEL["prompt_price"] / 1e6


def test_a_projects_price_says_who_reads_its_samples(admin):
    toml = (
        TOML.replace("[[families]]", "[qualify]\nsamples = 1\npass = 1\n[[families]]")
        + '[[samples]]\npicture = "https://example.org/a.jpg"\ninstruction = "What?"\n'
    )

    def picture(_: str) -> bytes:
        return photo(1)

    told = admin.summary(admin.make("ada", toml.encode(), picture))
    assert told[3].startswith(
        "Writers do 1 sample task first. 1 of 1 samples list no names to look for"
    )
    named = toml.replace('"streets"', '"marked"') + 'known = ["bus"]\n'
    told = admin.summary(admin.make("ada", named.encode(), picture))
    assert (
        told[3]
        == "Writers do 1 sample task first. All are checked automatically, by what their captions name."
    )
    with pytest.raises(CampaignError, match="'https://example.org/a.jpg'"):
        admin.make("ada", toml.replace('"streets"', '"gone"').encode())


@pytest.mark.parametrize(
    ("kind", "has_a_list"), [("plain", False), ("login", False), ("mturk", True)]
)
def test_the_board_asks_for_the_list_of_a_platform_that_has_one(
    database, tmp_path, admin, kind, has_a_list
):
    project = Project.on(database, tmp_path, platform={"kind": kind})
    links = {} if kind == "plain" else {project.campaign.name: "/c/pets?n=1"}
    assert (
        "the pay sheet approves nobody" in unescape(projects_html(admin.standings(), links, ""))
    ) == has_a_list


def test_links_sheet_and_end_are_those_of_a_campaign(database, tmp_path, desk):
    project = Project.on(database, tmp_path)
    for person in ("ann", "bob", "cyd", "dan"):
        project.do(project.seat(person))
    links = desk.operator.post("/run/campaigns/pets/links", data={"workers": "eve"}).text
    assert "/c/pets?" in links
    sheet = desk.operator.get("/run/campaigns/pets/sheet.csv")
    rows = list(csv.DictReader(sheet.text.splitlines()))
    assert [(row["person"], row["votes"]) for row in rows] == [
        (one, "1") for one in ("ann", "bob", "cyd", "dan")
    ]
    assert desk.operator.get("/run/campaigns/pets/votes.csv").status_code == 404
    assert "pets has ended" in desk.post("campaigns/pets/end", "projects")
    assert "streets: 10 items" in desk.post("projects", "projects", toml=TOML)


def test_the_board_tells_where_items_stand_with_the_papers_numbers_beside(
    database, tmp_path, admin
):
    project = Project.on(database, tmp_path, visibility="sealed")
    people = [project.seat(f"person-{number}") for number in range(4)]
    for turn in range(12):
        project.do(people[turn % 4], "answer" if turn == 7 else "correct")
    board = unescape(projects_html(admin.standings(), {}, ""))
    assert 'class="name">animals</th><td class="count">20</td>' in board
    assert all(
        f'<td class="text">{number}%</td>' in board
        for number in (87.3, 91.5, "63.0", "4.0", 3.6, "6.0", 7.7, 3.8, "30.0")
    )
    (standing,) = admin.standings()
    correct = standing.yields[0].overall
    assert f"{correct.value:.1%} ({correct.low:.0%} to {correct.high:.0%}) of {correct.n}" in board
    assert "A brown dog" not in board  # captions of a sealed project


def test_half_of_the_accepted_questions_are_checked_in_one_press_each(database, tmp_path, desk):
    families = [{"name": "counting", "wanted": 3}]
    project = Project.on(database, tmp_path, kind="multiple choice", families=families)
    for person in ("ann", "bob"):
        while project.do(project.seat(person)):
            pass
    board = desk.read()
    assert "Questions to check: 2" in board and "2 questions to check." in board
    assert "33.2% (ChatGPT-3.5)" in board, "the paper's numbers stand beside"
    first, second = re.findall(r'name="number" value="(\d)"><small>', board)
    path = "projects/pets/checks"
    for number, said in (("", "correct"), (first, "fine"), ("9", "correct"), ("x", "correct")):
        answer = desk.operator.post(f"/run/{path}", data={"number": number, "said": said})
        assert answer.status_code == 422
    form = {"number": first, "said": "correct"}
    assert desk.stranger().post(f"/run/{path}", data=form).status_code == 403
    assert f"Question {first} of pets is good." in desk.post(path, "projects", **form)
    done = desk.post(path, "projects", number=second, said="answer")
    assert f"Question {second} of pets is removed." in done
    assert "Questions to check" not in desk.read()
    assert project.drafts[int(second) - 1].state.fault == "answer"
    with database.read() as connection:
        action = latest_actions(connection, 1)[0]
    assert (action.deed, action.about) == ("checked a question", f"pets {second} answer")
