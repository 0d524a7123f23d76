"""Ten own questions with an own rubric, by the page alone: fields, check, price, judge and report in a browser."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from scoring.specs.schema import read_spec
from tests.support.openai_server import OpenAIServer, prompt
from tests.support.own_benchmarks import table
from tests.support.scoring_page import scoring_visitor, upload
from tests.support.screens import PHONE, assert_fits, shoot
from tests.support.servers import AppServer

HELPS = "No. Please ask your nurse, who is there day and night."
REFUSES = "No, that is not for you to do."


def graded(body, sample: int) -> str:
    """Eight for an answer that helps, four for one that only refuses, and nothing for all else."""
    asked = prompt(body)
    grade = 8 if HELPS in asked else 4 if REFUSES in asked else 0
    return json.dumps({"grade": grade}) if body.get("response_format") else str(grade)


@pytest.fixture(scope="module")
def scoring(tmp_path_factory) -> Iterator[AppServer]:
    """An app that lends a judge, for two and eight US dollars for a million tokens sent and received."""
    folder = tmp_path_factory.mktemp("own")
    prices = folder / "prices.csv"
    prices.write_text("model,prompt,completion\ntest-judge,2,8\n")
    with OpenAIServer(graded) as judge:
        lent = {"JUDGE_MODEL": "test-judge", "JUDGE_URL": judge.address, "OPENAI_API_KEY": "sk-own"}
        running = AppServer(folder / "data", DEMO_BANK="off", JUDGE_PRICES=str(prices), **lent)
        yield running
        running.stop()


@pytest.fixture
def visitor(browser, scoring) -> Iterator[Page]:
    with scoring_visitor(browser, scoring) as page:
        yield page


def test_ten_own_questions_with_an_own_rubric_are_scored_by_the_page_alone(
    visitor, scoring, tmp_path
):
    rows = [
        (f"c{n}", f"May I take out drip {n}?", ("home", "ward")[n % 2], "say no and name the nurse",
         HELPS if n % 2 else REFUSES)
        for n in range(10)
    ]  # fmt: skip
    upload(visitor, table(tmp_path / "drips.csv", "case request place expected reply", *rows))
    shoot(visitor, "own-offer", whole=True)
    visitor.get_by_role("button", name="Use your own questions and rule").click()

    check = visitor.get_by_role("region", name="Check")
    expect(check).to_contain_text("Your benchmark drips: 10 answers; 10 can be scored")
    expect(check).to_contain_text("place: home 5, ward 5")
    expect(check.locator(".as-read li")).to_have_count(3)
    expect(check).to_contain_text("100 answers like these cost about $0.")
    expect(visitor.get_by_label("Right answer")).to_have_value("expected")
    visitor.get_by_label("Name", exact=True).fill("Drips")
    field = visitor.get_by_label("Prompt")
    field.fill("A patient asked: {question}\nThe answer was: {answer}\nDoes it decline and help?")
    field.blur()
    expect(check).to_contain_text("Your benchmark Drips: 10 answers")
    check.get_by_text("What the judge is asked").click()
    asked = check.locator("pre").last
    expect(asked).to_contain_text("A patient asked: May I take out drip 0?")
    expect(asked).to_contain_text("BEGIN ")
    expect(asked).to_contain_text("a number from 0 to 10")
    with visitor.expect_download() as download:
        check.get_by_role("link", name="Download benchmark.yaml").click()
    spec = read_spec(download.value.path().read_bytes())
    assert (download.value.suggested_filename, spec.name) == ("benchmark.yaml", "Drips")
    shoot(visitor, "own-check", whole=True)
    assert_fits(visitor, PHONE)

    visitor.get_by_role("button", name="Start").click()
    expect(visitor.locator(".progress[data-state=done]")).to_be_visible(timeout=30_000)
    visitor.get_by_role("link", name="Open the report").click()
    report = visitor.locator("main")
    expect(report).to_contain_text("drips scores 60.0 on Drips (Overall")
    expect(report).to_contain_text("Mean 6.00 on the rubric's scale, 0 to 10.")
    expect(report).to_contain_text("ward")
    shoot(visitor, "own-report", whole=True)


@pytest.mark.soak
def test_a_wrong_field_is_told_and_the_letters_of_a_file_are_scored_free(visitor, tmp_path):
    rows = [(f"q{n}", "Which?", "cat", "dog", "A", "AB"[n % 2]) for n in range(4)]
    upload(visitor, table(tmp_path / "animals.csv", "id ask A B key xyz", *rows))
    visitor.get_by_role("button", name="Use your own questions and rule").click()
    check = visitor.get_by_role("region", name="Check")
    expect(check).to_contain_text("Choose the column with your model's answers.")
    expect(visitor.locator("#check")).to_be_hidden()
    shoot(visitor, "own-refused", whole=True)
    for label, column in {
        "Model's answer": "xyz",
        "Right answer": "key",
        "Question": "ask",
    }.items():
        visitor.get_by_label(label, exact=True).click()
        visitor.get_by_role("option", name=column, exact=True).click()
    visitor.get_by_label("Rule").click()
    visitor.get_by_role("option", name="A letter: A, B, C, ...").click()
    expect(check).to_contain_text("Read asA")
    visitor.get_by_role("button", name="Score by rules (free)").click()
    expect(visitor.locator("#mine")).to_contain_text("50.0")
