"""Files of today's models on the page: answers that an API failed to give, reasoning, and ten options."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from scoring.benchmarks.mm_vet_questions import load_mm_vet
from tests.support.bard_sets import made_up_bard_set
from tests.support.openai_server import OpenAIServer
from tests.support.scoring_page import reply, scoring_visitor, upload, write_csv
from tests.support.screens import shoot
from tests.support.servers import AppServer

FAILED = "Failed to obtain answer via API."


@pytest.fixture(scope="module")
def judge() -> Iterator[OpenAIServer]:
    with OpenAIServer(score=reply) as server:
        yield server


@pytest.fixture(scope="module")
def scoring(judge, data, tmp_path_factory) -> Iterator[AppServer]:
    """An app with MM-Vet's questions, whose operator lends a judge."""
    folder = tmp_path_factory.mktemp("scoring")
    (folder / "prices.csv").write_text("model,prompt,completion\ntest-judge,2,8\n")
    environ = {"JUDGE_MODEL": "test-judge", "JUDGE_URL": judge.address, "OPENAI_API_KEY": "sk-x"}
    environ |= {"JUDGE_JOB_BUDGET": "5", "JUDGE_PRICES": str(folder / "prices.csv")}
    environ |= {"JUDGE_DAY_BUDGET": "50", "MM_VET_PATH": str(data / "mm-vet")}
    running = AppServer(folder / "data", DEMO_BANK="off", **environ)
    yield running
    running.stop()


@pytest.fixture
def visitor(browser, scoring) -> Iterator[Page]:
    with scoring_visitor(browser, scoring) as page:
        yield page


def opened(page: Page, scoring: AppServer) -> None:
    """Open the report of the job that is shown."""
    link = page.locator(".mine a").first.get_attribute("href")
    page.goto(f"{scoring.address}/{link.lstrip('/')}")
    expect(page.locator("main")).to_be_visible()


def test_failures_of_an_api_are_named_before_the_price_and_not_judged(
    visitor, scoring, judge, data, tmp_path
):
    questions = load_mm_vet(data / "mm-vet").questions
    texts = [FAILED] * 200 + [f"an answer {number}" for number in range(18)]
    answers = {one.id: text for one, text in zip(questions, texts, strict=True)}
    (tmp_path / "broken-run.json").write_text(json.dumps(answers))
    upload(visitor, tmp_path / "broken-run.json")
    found = visitor.locator("#found")
    expect(found).to_contain_text(
        "200 of the 218 answers aren't from the model (a server error). Such answers stay unscored and cost nothing",
        timeout=20_000,
    )
    expect(visitor.locator("#offers label").first).to_contain_text("$")
    shoot(visitor, "todays-failures-found", whole=True)
    calls = judge.counts.calls
    visitor.locator("#offers label").first.click()
    visitor.locator("#check").click()
    expect(visitor.locator(".progress[data-state=done]")).to_be_visible(timeout=60_000)
    asked = [str(body) for body in judge.counts.bodies[calls:]]
    assert asked and len(asked) < 218 and not any(FAILED in body for body in asked)
    opened(visitor, scoring)
    told = visitor.locator("main")
    expect(told).to_contain_text("aren't from the model (a server error)")
    expect(told).to_contain_text("Unscored, and not sent to the judge.")
    expect(told).to_contain_text("(total, 18 of 218 questions scored, 95% interval")
    expect(told).to_contain_text("Total, 18 of 218 questions scored")
    expect(told).not_to_contain_text("the paper's Table 2")
    shoot(visitor, "todays-failures-report", whole=True)
    visitor.get_by_role("link", name="Every question").click()
    visitor.get_by_label("Show").select_option("not from the model")
    expect(visitor.locator("#answers")).to_contain_text("200 of 218")


@pytest.mark.soak
def test_a_thinking_models_short_answers_are_compared_without_their_reasoning(
    visitor, scoring, tmp_path
):
    said = ["<think>A logo.</think>\nNikon", "\\boxed{\\text{Nikon}}", "<think>It may be", "Canon"]
    rows = [
        {
            "index": str(34_602 + at),
            "question": "What brand is the camera?",
            "answer": str(["nikon"] * 10),
            "prediction": text,
        }
        for at, text in enumerate(said)
    ]
    upload(visitor, write_csv(tmp_path / "thinker_TextVQA_VAL.csv", rows))
    found = visitor.locator("#found")
    expect(found).to_contain_text("TextVQA: 4 answers", timeout=20_000)
    expect(found).to_contain_text("isn't from the model (reasoning without an end).")
    shoot(visitor, "todays-vqa-found", whole=True)
    visitor.locator("#check").click()
    opened(visitor, scoring)
    told = visitor.locator("main")
    expect(told).to_contain_text("(Overall, 3 of 4 questions scored, 95% interval")
    expect(told).to_contain_text("over all 4: 50.0 to 75.0")
    shoot(visitor, "todays-vqa-report", whole=True)


@pytest.mark.soak
def test_ten_options_in_one_column_are_read_to_the_last(visitor, scoring, tmp_path):
    options = [f"colour {number}" for number in range(1, 11)]
    rows = [
        {
            "index": str(at),
            "question": "Which colour is it?",
            "options": json.dumps(options),
            "answer": "J",
            "prediction": text,
        }
        for at, text in enumerate(["J", "The answer is (J).", "colour 10", "A"])
    ]
    upload(visitor, write_csv(tmp_path / "ten-options.csv", rows))
    expect(visitor.locator("#found")).to_contain_text("4 answers", timeout=20_000)
    expect(visitor.locator("#found")).to_contain_text("This is multiple choice: 4 answers;")
    expect(visitor.locator("#found")).to_contain_text("J. colour 10")
    expect(visitor.locator("#found")).not_to_contain_text("CircularEval")
    expect(visitor.locator("#check")).to_have_text("Score by rules (free)")
    shoot(visitor, "todays-ten-found", whole=True)
    visitor.locator("#check").click()
    expect(visitor.locator(".mine a").first).to_be_visible(timeout=20_000)
    opened(visitor, scoring)
    expect(visitor.locator("main")).to_contain_text("75.0")
    shoot(visitor, "todays-ten-report", whole=True)


@pytest.mark.soak
def test_grades_that_a_toolkits_judge_failed_to_give_are_named_before_and_in_the_report(
    visitor, scoring, data, tmp_path
):
    rows = [
        {
            "index": str(at),
            "question": one.text,
            "answer": one.truth,
            "category": ",".join(one.groups),
            "prediction": FAILED if at == 9 else f"answer {at}",
            "log": "Try 0: Failed to parse great.\nAll 5 retries failed." if at < 4 else "Succeed",
            "score": "0.0" if at < 4 else "0.5",
        }
        for at, one in enumerate(load_mm_vet(data / "mm-vet").questions)
    ]
    upload(visitor, write_csv(tmp_path / "qwen_MMVet_final.csv", rows))
    zeros = "the judge's reply held no score: 4 of 218 grades, id v1_0, v1_1, v1_2"
    found = visitor.locator("#found")
    expect(found).to_contain_text("grades by a judge that the file does not name", timeout=20_000)
    expect(found).to_contain_text(zeros)
    expect(visitor.locator("#details")).not_to_contain_text("Hardened")
    shoot(visitor, "todays-grades-found", whole=True)
    visitor.locator("#check").click()
    expect(visitor.locator(".mine a").first).to_be_visible(timeout=20_000)
    opened(visitor, scoring)
    told = visitor.locator("main")
    expect(told).to_contain_text(f"{zeros}, v1_3. Without them the mean is 50.0")
    expect(told).to_contain_text("The file's grades count all the same.")
    shoot(visitor, "todays-grades-report", whole=True)


@pytest.mark.soak
def test_the_bard_set_is_chosen_on_the_page_and_stands_beside_its_own_tables(
    visitor, scoring, data, tmp_path
):
    """A real model's answers to all questions, and a list of ids as mixed as the authors', which is made up."""
    upload(visitor, data / "mm-vet" / "llava_llama2_13b_chat.json")
    expect(visitor.locator("#found")).to_contain_text("218 of 218 answers", timeout=60_000)
    visitor.get_by_role("button", name="Details").click()
    listed = made_up_bard_set(load_mm_vet(data / "mm-vet"), tmp_path / "bard_set.json")
    (tmp_path / "wrong.txt").write_text("v1_0\nv1_999")
    choose = visitor.get_by_label("Choose a file of ids")
    choose.set_input_files(tmp_path / "wrong.txt")
    problem = visitor.locator("#scoring-problem")
    expect(problem).to_contain_text(
        "The list of questions: These aren't ids of MM-Vet: 1 others: v1_999"
    )
    choose.set_input_files(listed)
    expect(visitor.locator("#only")).to_contain_text("Scores 168 questions: MM-Vet, Bard set.")
    visitor.get_by_label("As in the paper", exact=True).check()
    visitor.locator("#offers label").first.click()
    shoot(visitor, "bard-set-choice", whole=True)
    visitor.locator("#check").click()
    expect(visitor.locator(".progress[data-state=done]")).to_be_visible(timeout=60_000)
    opened(visitor, scoring)
    report = visitor.locator("main")
    expect(report).to_contain_text("on MM-Vet, Bard set (total")
    expect(report.locator("figure.published")).to_contain_text("in the paper's Table 9 (Total)")
    visitor.get_by_text("The paper's tables as numbers").click()
    expect(report.locator("[data-sheet=published-2] th", has_text="Bard")).to_be_visible()
    shoot(visitor, "bard-set-report", whole=True)
