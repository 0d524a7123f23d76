"""`python -m scoring publish`: a published score goes to a model's repository by the login of the command line."""

import pytest
from huggingface_hub import constants

from arena.database import Database
from scoring.jobs.store import Jobs
from tests.support.commands import Done, run
from tests.support.hub_models import Repository
from tests.support.hub_server import HubServer
from tests.support.mm_vet_reports import mm_vet_report

REPO = "llava-hf/llava-1.5-13b-hf"
HOST = "https://arena.example"


@pytest.fixture
def hub(monkeypatch):
    with HubServer() as server:
        server.hub_models.repositories[REPO] = Repository({"README.md": b"# LLaVA\n"})
        monkeypatch.setattr(constants, "ENDPOINT", server.address)
        yield server


@pytest.fixture
def jobs(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'arena.db'}")
    yield Jobs(database)
    database.close()


@pytest.fixture
def slug(jobs) -> str:
    link = jobs.add_done("owner", mm_vet_report(title="LLaVA")).link
    jobs.publish("owner", link, True)
    return jobs.find(link).slug


@pytest.fixture
def publish(tmp_path):
    def publishing(*words: str, answer: str = "", **environ: str) -> Done:
        known = {"DATA_DIR": str(tmp_path), "HF_TOKEN": "hf_ada_token", **environ}
        done = run("scoring", "publish", *words, "--repo", REPO, answer=answer, environ=known)
        assert "hf_ada_token" not in done.out + done.err
        return done

    return publishing


def test_after_a_yes_a_pull_request_is_open(hub, publish, slug):
    done = publish(f"{HOST}/r/{slug}", answer="y\n")
    assert done.code == 0, done.err
    assert "+    - type: mm-vet.score" in done.out
    assert f"Pull request 1 is open: {hub.address}/{REPO}/discussions/1" in done.out
    (pull,) = hub.hub_models.repositories[REPO].pulls
    assert pull.author == "ada"
    assert f"url: {HOST}/r/{slug}" in pull.files["README.md"].decode()


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_without_a_yes_nothing_is_sent(hub, publish, slug, answer):
    done = publish(f"{HOST}/r/{slug}", answer=answer)
    assert (done.code, hub.hub_models.bodies) == (3, [])
    assert done.err.startswith("Nothing was sent")


def test_a_dry_run_prints_the_files_and_asks_nobody(hub, publish, slug):
    done = publish(slug, "--dry-run", PUBLIC_URL=HOST)
    assert done.code == 0
    assert "# .eval_results/stereoscope_mm-vet_paper.yaml" in done.out
    assert f"    url: {HOST}/r/{slug}" in done.out
    assert "model-index:\n- name: llava-1.5-13b-hf\n" in done.out
    assert hub.hub_models.requests == []


def test_the_source_is_a_web_address_without_a_password(hub, publish, slug):
    done = publish(f"https://ada:secret@arena.example/r/{slug}", "--dry-run")
    assert f"    url: {HOST}/r/{slug}" in done.out and "secret" not in done.out
    assert publish(f"ftp://arena.example/r/{slug}", "--dry-run").code == 2


def test_what_hinders_it_is_said(hub, publish, slug, jobs):
    for address in (f"http://127.0.0.1:7860/r/{slug}", slug):
        done = publish(address, "--yes")
        assert (done.code, done.err) == (
            2,
            "Nobody else can open this page. Set PUBLIC_URL first.\n",
        )
    for address in (f"{HOST}/r/none", "https://[arena.example/r/none"):
        assert "a report here" in publish(address).err
    private = jobs.add_done("owner", mm_vet_report(0.2)).link
    assert "This report is private" in publish(f"{HOST}/report/{private}").err
    assert "hf auth login" in publish(f"{HOST}/r/{slug}", "--yes", HF_TOKEN="", HF_HOME="/").err
    hub.faults.planned["/discussions"] = ["403"]
    assert "isn't allowed to open pull requests" in publish(f"{HOST}/r/{slug}", "--yes").err
    assert hub.hub_models.bodies == []
