"""Pull requests to a Hub on loopback: what is sent, under whose token, and what each refusal says."""

import base64
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import yaml
from huggingface_hub import HfApi, ModelCard, parse_eval_result_entries

from arena.server.hub_evaluations import HubScore, card_result, eval_results, model_index
from arena.server.hub_pull_request import TROUBLES, HubModels, PullRequestError
from arena.server.model_card import ModelCardError, OtherValueError, add_result
from arena.types import Secret
from tests.support.hub_models import Pull, Repository
from tests.support.hub_server import HubServer

REPO = "llava-hf/llava-1.5-13b-hf"
TOKEN = Secret("hf_ada_token")
SCORE = HubScore(
    edition="mm-vet",
    protocol="paper",
    name="MM-Vet",
    dataset="whyu/mm-vet",
    task="mm-vet",
    metric="mm-vet.score",
    figure="total",
    value=36.31,
    notes="paper protocol; judge gpt-4, 3 runs; n 218; 95% 30.5-42.0",
    date="2026-11-27",
    url="https://arena.example/r/llava-1-5-13b-mm-vet-3f2a",
)
FILE = """- dataset:
    id: whyu/mm-vet
    task_id: mm-vet
  value: 36.31
  date: '2026-11-27'
  source:
    url: https://arena.example/r/llava-1-5-13b-mm-vet-3f2a
    name: Stereoscope report
    user: ada
  notes: total, paper protocol; judge gpt-4, 3 runs; n 218; 95% 30.5-42.0
"""
CARD = "---\nlicense: llama2  # of its base\ntags:\n- vision\n---\n# LLaVA\n"
ADDED = """model-index:
- name: llava-1.5-13b-hf
  results:
  - task:
      type: image-text-to-text
    dataset:
      name: MM-Vet
      type: whyu/mm-vet
      args:
        task_id: mm-vet
    metrics:
    - type: mm-vet.score
      value: 36.31
      name: total
      args:
        notes: paper protocol; judge gpt-4, 3 runs; n 218; 95% 30.5-42.0
    source:
      url: https://arena.example/r/llava-1-5-13b-mm-vet-3f2a
      name: Stereoscope report
"""
TITLE = "Add the MM-Vet score (paper protocol)"
DESCRIPTION = (
    "MM-Vet, total: 36.31 (paper protocol; judge gpt-4, 3 runs; n 218; 95% 30.5-42.0).\n\n"
    "The answers and how they were graded: https://arena.example/r/llava-1-5-13b-mm-vet-3f2a"
)
MODEL = f"/api/models/{REPO}"


@pytest.fixture
def hub(monkeypatch):
    """A Hub with the model's repository; the operator's own token is in the environment."""
    monkeypatch.setenv("HF_TOKEN", "hf_operator")
    with HubServer() as server:
        server.hub_models.repositories[REPO] = Repository({"README.md": CARD.encode()})
        yield server
        assert "hf_operator" not in server.hub_models.tokens


@pytest.fixture
def models(hub) -> HubModels:
    return HubModels(HfApi(endpoint=hub.address), sleep=lambda seconds: None)


def commit(path: str, content: str) -> bytes:
    """A commit's body: two lines of JSON."""
    head = {"summary": TITLE, "description": DESCRIPTION}
    encoded = base64.b64encode(content.encode()).decode()
    file = {"content": encoded, "path": path, "encoding": "base64"}
    lines = [{"key": "header", "value": head}, {"key": "file", "value": file}]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


class TestWhatIsSent:
    def test_a_benchmark_of_the_hub_gets_a_file_of_results(self, hub, models):
        hub.hub_models.benchmarks["whyu/mm-vet"] = b"name: MM-Vet\ntasks:\n- id: mm-vet\n"
        proposal = models.propose(REPO, SCORE)
        assert proposal.path == ".eval_results/stereoscope_mm-vet_paper.yaml"
        assert proposal.preview == FILE.replace("    user: ada\n", "")
        pull = models.offer(proposal, TOKEN)
        assert pull.address == f"{hub.address}/{REPO}/discussions/1"
        assert hub.hub_models.bodies == [commit(proposal.path, FILE)]
        assert hub.hub_models.requests == [
            f"GET {MODEL}?expand=author",
            "GET /api/datasets?filter=benchmark%3Aofficial",
            "GET /datasets/whyu/mm-vet/resolve/main/eval.yaml",
            "GET /api/whoami-v2",
            f"GET {MODEL}/discussions?type=pull_request&status=open&author=ada&p=0",
            f"POST {MODEL}/preupload/main?create_pr=1",
            f"POST {MODEL}/commit/main?create_pr=1",
        ]

    def test_any_other_benchmark_goes_into_the_card(self, hub, models):
        hub.hub_models.benchmarks["whyu/mm-vet"] = b"tasks:\n- id: other\n"
        proposal = models.propose(REPO, SCORE)
        changed = CARD.replace("- vision\n", f"- vision\n{ADDED}")
        assert proposal.content.decode() == changed
        added = "".join(f"+{line}\n" for line in ADDED.splitlines())
        assert proposal.preview == (
            "--- a/README.md\n+++ b/README.md\n@@ -2,5 +2,24 @@\n"
            f" license: llama2  # of its base\n tags:\n - vision\n{added} ---\n # LLaVA\n"
        )
        models.offer(proposal, TOKEN, "ada")
        assert hub.hub_models.bodies == [commit("README.md", changed)]
        assert "GET /api/whoami-v2" not in hub.hub_models.requests

    def test_a_judges_name_is_no_link_in_the_description(self, models):
        notes = "judge [free](https://evil.example) <b>, n 2"
        description = models.propose(REPO, replace(SCORE, notes=notes)).description
        assert "(judge \\[free\\](https://evil.example) \\<b\\>, n 2)" in description

    def test_a_form_that_is_sent_twice_at_once_opens_one(self, hub, models):
        proposal = models.propose(REPO, SCORE)
        with ThreadPoolExecutor(2) as pool:
            pulls = list(pool.map(lambda _: models.offer(proposal, TOKEN), range(2)))
        assert [pull.number for pull in pulls] == [1, 1]
        assert len(hub.hub_models.repositories[REPO].pulls) == 1

    def test_the_open_request_of_the_same_person_is_renewed(self, hub, models):
        proposal = models.propose(REPO, SCORE)
        pulls = hub.hub_models.repositories[REPO].pulls
        pulls += [
            Pull("eve", TITLE, "", {}),
            Pull("ada", "Fix a typo", "", {}),
            Pull("ada", TITLE, "", {}, status="closed"),
        ]
        assert models.offer(proposal, TOKEN).number == 4
        assert models.offer(proposal, TOKEN).number == 4
        assert hub.hub_models.requests[-1] == f"POST {MODEL}/commit/refs/pr/4"
        assert [sorted(pull.files) for pull in pulls] == [[], [], [], ["README.md"]]

    def test_the_benchmarks_of_the_hub_are_read_once_a_day(self, hub, models):
        for _ in range(3):
            models.propose(REPO, SCORE)
        assert hub.hub_models.requests.count("GET /api/datasets?filter=benchmark%3Aofficial") == 1


class TestReadBack:
    def test_by_the_hubs_own_parser(self):
        (entry,) = parse_eval_result_entries(yaml.safe_load(eval_results(SCORE, "ada")))
        assert (entry.dataset_id, entry.task_id, entry.value) == ("whyu/mm-vet", "mm-vet", 36.31)
        assert (entry.date, entry.source_user) == (SCORE.date, "ada")
        assert (entry.source_url, entry.verify_token) == (SCORE.url, None)

    def test_a_card_by_the_hubs_library(self):
        once = add_result(CARD.encode(), "m", card_result(SCORE)).content
        other = {**card_result(SCORE), "dataset": {"name": "X", "type": "x/y"}}
        for card in (once, add_result(once, "m", other).content):
            result = ModelCard(card.decode()).data.eval_results[0]
            assert (result.metric_value, result.source_url) == (36.31, SCORE.url)
            assert result.dataset_args == {"task_id": "mm-vet"}
            assert b"# of its base" in card
        assert yaml.safe_load(model_index(SCORE, "m")) == {
            "model-index": [{"name": "m", "results": [card_result(SCORE)]}]
        }


def says(models: HubModels, token: str = "hf_ada_token") -> str:
    proposal = models.propose(REPO, SCORE)
    with pytest.raises(PullRequestError) as raised:
        models.offer(proposal, Secret(token))
    error: BaseException = raised.value
    assert error.__cause__ is None
    assert error.__context__ is None
    return str(error)


class TestRefusals:
    @pytest.mark.parametrize("status", ["401", "403", "404"])
    @pytest.mark.parametrize("where", ["discussions", "preupload", "commit"])
    def test_a_login_that_may_not(self, hub, models, status, where):
        hub.faults.planned[f"{MODEL}/{where}"] = [status]
        told = {"401": "login", "403": "forbidden", "404": "missing"}[status]
        assert says(models) == TROUBLES[told].format(REPO)
        assert hub.hub_models.bodies == []

    def test_a_token_of_nobody(self, models):
        assert says(models, "hf_nobody") == TROUBLES["login"]

    @pytest.mark.parametrize("kind", ["429", "503", "reset before"])
    def test_a_busy_hub_before_the_commit(self, hub, models, kind):
        hub.faults.planned[f"{MODEL}/preupload"] = [kind] * 7
        assert says(models) == TROUBLES["busy"]
        assert hub.hub_models.bodies == []

    @pytest.mark.parametrize("kind", ["429", "503", "reset before", "reset after"])
    def test_a_commit_without_an_answer(self, hub, models, kind):
        hub.faults.planned[f"{MODEL}/commit"] = [kind]
        assert says(models) == TROUBLES["unknown"]
        assert len(hub.hub_models.bodies) == (kind == "reset after")

    def test_no_public_model(self, hub, models):
        for name in ("llava-hf/none", "no-owner", "../etc", "a/..", "a/b--c", "a/b/c", ""):
            with pytest.raises(PullRequestError, match=r"There's no public model"):
                models.propose(name, SCORE)
        hub.faults.planned[f"GET {MODEL}"] = ["403"]
        with pytest.raises(PullRequestError, match=f"There's no public model {REPO}"):
            models.propose(REPO, SCORE)

    def test_another_value_for_the_metric_in_the_card(self, hub, models):
        files = hub.hub_models.repositories[REPO].files
        files["README.md"] = models.propose(REPO, SCORE).content.replace(b"36.31", b"30.1")
        with pytest.raises(OtherValueError, match=r"already has another value .* Edit it there\."):
            models.propose(REPO, SCORE)
        files["README.md"] = files["README.md"].replace(b"30.1", b"36.31")
        with pytest.raises(OtherValueError, match=r"already has this score"):
            models.propose(REPO, SCORE)
        files["README.md"] = files["README.md"].replace(b"paper protocol", b"hardened protocol")
        assert models.propose(REPO, SCORE).content.count(b"metrics:") == 2

    def test_a_file_that_the_repository_has_already(self, hub, models, monkeypatch):
        proposal = models.propose(REPO, SCORE)

        class Done:
            pr_num = None

        monkeypatch.setattr(HfApi, "create_commit", lambda *args, **how: Done)
        with pytest.raises(PullRequestError, match=r"already has this file"):
            models.offer(proposal, TOKEN)


@pytest.mark.parametrize(
    "card",
    [
        "---\nmodel-index: [{name: m, results: [{task: {type: a}}]}]\n---\n",
        "---\nmodel-index:\n- name: m\n  results: []\n---\n",
        "---\nmodel-index: []\n---\n",
        "---\nmodel-index:\nlicense: mit\n---\n",
        "---\na: &x 1\nb: *x\n---\n",
        "---\n" + "[" * 5_000 + "\n---\n",
        "---\njust words\n---\n",
        "---\n" + "a: 1\n" * 20_000 + "---\n",
        "---\n{a: 1}\n---\n",
        *(
            f"---\nmodel-index:\n- name: 'a{end}b'\n  results:\n  - {{task: {{type: a}}, metrics: []}}\n---\n"
            for end in ("\x85", "\u2028", "\u2029")
        ),
    ],
)
def test_a_card_that_cannot_be_extended_is_left_alone(card):
    with pytest.raises(ModelCardError, match=r"Download model-index\.yaml and add it there\."):
        add_result(card.encode(), "m", card_result(SCORE))


@pytest.mark.parametrize("card", [None, b"", b"# Words\n", b"---\r\na: 1\r\n---\r\nb\r\n"])
def test_a_card_without_results_keeps_what_it_says(card):
    changed = add_result(card, "m", card_result(SCORE)).content
    parsed = ModelCard(changed.decode())
    assert parsed.data.eval_results[0].metric_value == 36.31
    assert (card or b"").endswith(parsed.text.encode())
    assert (b"\r\n" in changed) == (b"\r\n" in (card or b""))
    assert changed.count(b"\r") == (changed.count(b"\n") if card and b"\r" in card else 0)


def test_the_diff_of_a_new_card_begins_before_its_first_line():
    changed = add_result(None, "m", card_result(SCORE))
    added = changed.content.count(b"\n")
    assert changed.diff.splitlines()[2] == f"@@ -0,0 +1,{added} @@"


def test_nothing_of_the_token_is_told(hub, models, caplog):
    caplog.set_level(logging.DEBUG)
    hub.faults.planned[f"{MODEL}/commit"] = ["503"]
    says(models)
    hub.faults.planned[f"{MODEL}/discussions"] = ["403"]
    says(models)
    assert "hf_ada_token" in hub.hub_models.tokens
    assert "hf_ada_token" not in caplog.text
    assert "PullRequestError" not in caplog.text
