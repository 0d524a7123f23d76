"""Items of a sealed project in battles: nobody's browser is sent a caption or a reference of them."""

import json
from contextlib import closing

import pytest

from arena.authoring.events import Captions, DraftAnswer
from arena.authoring.exports import Exports
from arena.database import Database
from tests.support.commands import run
from tests.support.servers import AppServer
from tests.support.voter import Voter
from tests.support.writers import Project

ITEMS = 4


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server whose bank has a sealed project's items, with two models' answers, and the texts that are sealed."""
    folder = tmp_path_factory.mktemp("sealed")
    running = AppServer(folder / "data", DEMO_BANK="off")
    with closing(Database(f"sqlite:///{running.data_dir / 'arena.db'}")) as database:
        project = Project.on(database, running.data_dir, visibility="sealed")
        for number in range(ITEMS):
            for person in ("ann", "bob", "cem", "dot"):
                project.do(project.seat(f"{person}{number}"))
        out = Exports(project.store, project.writing.pictures)
        assert out.write(project.campaign, "bank", folder / "pets").items == ITEMS
        values = [event.value for draft in project.drafts for event in draft.events]
    sealed = [text for one in values if isinstance(one, Captions) for text in one.texts]
    sealed += [one.text for one in values if isinstance(one, DraftAnswer)]
    environ = {"DATA_DIR": str(running.data_dir)}
    assert run("arena", "items", "folder", folder / "pets", environ=environ).code == 0
    rows = [json.loads(line) for line in (folder / "pets" / "items.jsonl").read_text().splitlines()]
    for model in ("m1", "m2"):
        asked = [{"instruction": row["instruction"], "image": row["images"][0]} for row in rows]
        lines = [
            json.dumps(one | {"prediction": f"{model} sees {n}."}) for n, one in enumerate(asked)
        ]
        (folder / f"{model}.jsonl").write_text("\n".join(lines))
        assert (
            run(
                "arena",
                "items",
                "answers",
                folder / f"{model}.jsonl",
                "--model",
                model,
                environ=environ,
            ).code
            == 0
        )
    yield running, sealed
    running.stop()


@pytest.mark.parametrize(
    "battles", [8, pytest.param(500, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])]
)
def test_no_sealed_text_reaches_a_browser(server, battles):
    """Pages, pictures, votes, names and results, and the public files."""
    running, sealed = server
    assert len(sealed) == 2 * ITEMS
    played, told = 0, 0
    while played < battles:
        with Voter(running.address) as voter:
            voter.load()
            for _ in range(min(ITEMS, battles - played)):
                assert voter.pictures(), "an item of the project"
                voter.choose("ab"[played % 2])
                voter.wait_out_undo()
                voter.next()
                played += 1
            for name in ("README.md", "votes.jsonl"):
                voter._get(f"/export/{name}")
            sent = json.dumps(voter.received, ensure_ascii=False)
            told += sum("How many balls lie near animal number" in page for page in voter.received)
            assert [text for text in sealed if text in sent] == []
    assert told >= battles, "what is not sealed was sent"
