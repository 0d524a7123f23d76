"""Large files at the desk: read and priced aside, as small ones are here, and once for the same options."""

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from arena.cache import Cache
from arena.inference.endpoint import Endpoint
from arena.io.aside import Aside
from arena.io.strict_json import RowsError
from arena.types import Secret
from scoring.benchmarks.mm_vet import Options
from scoring.benchmarks.mm_vet_questions import own_sample
from scoring.benchmarks.predictions import UploadError
from scoring.jobs.files import LARGE, FileChoice
from scoring.jobs.service import OwnJudge
from scoring.jobs.submissions import SubmissionRequest
from scoring.specs.problems import SpecError
from tests.support.choice_tables import row, table_file
from tests.support.forked_aside import ForkedAside
from tests.support.judging_process import OWNER
from tests.support.own_benchmarks import zoo
from tests.support.scoring_desk import Visit, visiting

ONCE = Options("hardened", 1, False, "stop")
SAMPLED = Options("hardened", 5, True, "stop")


class Counted(ForkedAside):
    """Notes what was called aside."""

    def __init__(self) -> None:
        super().__init__(["scoring.jobs.report_pictures"])
        self.called = list[str]()

    def run(self, function: Callable[..., Any], *given: Any, network: str | None = None) -> Any:
        self.called.append(getattr(function, "__name__", "pictures"))
        return super().run(function, *given, network=network)


@pytest.fixture(scope="module")
def helper() -> Iterator[Counted]:
    made = Counted()
    yield made
    made.stop()


@pytest.fixture
def aside(helper) -> Counted:
    helper.called.clear()
    return helper


def both(visit: Visit, aside: Aside) -> tuple[Any, Any]:
    """The same desk without and with a helper."""
    return visit.service, replace(visit.service, aside=aside, page_cache=Cache(100))


def test_answers_are_read_and_priced_aside_as_they_are_here(database, tmp_path, aside):
    file = tmp_path / "long.json"
    asked = own_sample().questions
    file.write_text(json.dumps({one.id: f"{one.id} " + "It is 4. " * 150 for one in asked}))
    assert file.stat().st_size > LARGE
    with visiting(database, tmp_path) as visit:
        token = visit.brings(file)
        own = OwnJudge("unknown", Endpoint("https://j.example", Secret("k"), OWNER), False)
        found = []
        for service in both(visit, aside):
            drafts = [
                service.draft_answers(OWNER, token, "sample", one, "") for one in (ONCE, SAMPLED)
            ]
            priced = [service.costs(OWNER, drafts, judge) for judge in (None, own, None, own)]
            seen = service.recognise(OWNER, token), service.describe_answers(OWNER, token, "mm-vet")
            job = service.quote(OWNER, drafts[0], None)
            draft = visit.bench.jobs.draft(job.link)
            assert draft
            tokens = [cost.prompt_tokens for costs in priced for cost in costs]
            found.append((seen, len(draft.report.rows), [*tokens, job.quote.prompt_tokens]))
        here, there = found
        assert here[:2] == there[:2]
        assert here[2] == pytest.approx(there[2], rel=0.1), "but for canaries, drawn anew"
        assert (priced[0], priced[1]) == (priced[2], priced[3])
        assert aside.called == [
            "price_drafts",
            "price_drafts",
            "recognise",
            "describe_answers",
            "draft_with_cost",
        ]


@pytest.mark.locks_or_dialect
def test_rules_read_a_table_aside_and_what_they_leave_is_priced_once(database, tmp_path, aside):
    rows = [row(number, f"Cat or dog? {number} " + "hm " * 60) for number in range(200)]
    file = table_file(tmp_path / "model.tsv", rows)
    with visiting(database, tmp_path) as visit:
        _, service = both(visit, aside)
        job = service.report_by_rules(
            OWNER, visit.brings(file), FileChoice("mmbench"), "strict", ""
        )
        assert service.count_left(job) == service.count_left(job) == 200
        costs = [service.price(OWNER, service.draft_rest(OWNER, job.link), None) for _ in range(3)]
        assert costs[0].calls == 200 and len(set(costs)) == 1
        assert [one for one in aside.called if one != "pictures"] == [
            "report_by_rules",
            "count_left",
            "price_drafts",
        ]
        report = visit.bench.jobs.report(job.link)
        assert report and len(report.rows) == 200


def test_what_is_wrong_with_a_large_file_is_told_as_of_a_small_one(database, tmp_path, aside):
    table = tmp_path / "predictions.csv"
    with table.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["instruction", "image", "m prediction"])
        writer.writerows(["What?", f"{number}.png", "It is so. " * 50] for number in range(60))
    broken = tmp_path / "broken.csv"
    broken.write_text("index,question,answer,prediction\n" + "1,q,a,b\n" * 5_000 + '2,"q')
    with visiting(database, tmp_path) as visit:
        _, service = both(visit, aside)
        token = visit.brings(table)
        assert service.recognise(OWNER, token).benchmark == "visit-bench"
        with pytest.raises(UploadError, match="Unknown instances: 60"):
            service.price(OWNER, service.draft_comparison(OWNER, token, SubmissionRequest()), None)
        with pytest.raises(
            RowsError, match="broken.csv, row 5002: A cell of this row has no closing quote"
        ):
            service.recognise(OWNER, visit.brings(broken))
        assert aside.called == ["recognise", "price_drafts", "recognise"]


def test_an_own_benchmark_is_read_aside_as_it_is_here(database, tmp_path, aside):
    answers, questions, spec = zoo(tmp_path, "ABAB" + "A" * 3_000)
    with visiting(database, tmp_path) as visit:
        token = visit.brings(answers, questions, spec)
        here, there = (service.recognise(OWNER, token) for service in both(visit, aside))
        assert here == there and here.lines[0].startswith("Zoo: ")
        assert {*aside.called} == {"file_roles", "recognise"}
        spec.write_text("name: Zoo")
        token = visit.brings(answers, questions, spec)
        for service in both(visit, aside):
            with pytest.raises(SpecError) as error:
                service.recognise(OWNER, token)
            assert str(error.value).startswith("benchmark.yaml: about: Say in a sentence")
            assert error.value.file == "benchmark.yaml" and len(error.value.problems) == 2
