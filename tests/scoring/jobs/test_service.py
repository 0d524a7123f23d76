"""Multiple choice at the desk: recognised, read by rules at once, the rest quoted and judged, and kept without loss."""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.battles.blindness import Blindness
from arena.battles.lending import Lending
from arena.battles.voters import Account, Voters, person_key
from arena.inference.endpoint import Endpoint
from arena.io.strict_json import RowsError
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.types import Secret
from scoring.benchmarks.base import ChoicesError
from scoring.benchmarks.choice_report import ChoiceReport, ComparisonError, under_protocol
from scoring.benchmarks.mm_vet_questions import SAMPLE_PREDICTIONS, own_sample
from scoring.jobs.files import FileChoice
from scoring.jobs.service import JobServiceError, OwnJudge, known_spec
from scoring.jobs.store import JobError
from scoring.jobs.submissions import StoredModel, SubmissionRequest, Submissions
from scoring.jobs.uploads import UploadStoreError
from scoring.judges.run import Task
from scoring.judges.spec import JudgeSpec, Price, list_price, with_price
from scoring.multiple_choice.types import PROTOCOL_WORDS, Clue, Decided, Decision, Rule
from scoring.registry import BENCHMARKS, open_upload
from scoring.report import JudgeStamp
from scoring.serialize import read_record, record_json
from scoring.specs.report import figure_lines
from tests.support.choice_tables import GOLDEN, row, table_file
from tests.support.job_worker import ended, running
from tests.support.judge_forms import LETTERS, answered_by_case, ask_to_the_end
from tests.support.judging_process import OWNER, SPEC, Bench, drafted, set_job
from tests.support.mmt_reports import mmt_report
from tests.support.openai_server import OpenAIServer
from tests.support.scoring_desk import Visit, visiting
from tests.support.servers import drafts

MARKED = [
    {
        "index": "2971475",
        "question": "what brand?",
        "answer": "['dakota', 'dakota digital']",
        "prediction": "Dakota",
    },
    {
        "index": "3397615",
        "question": "what time?",
        "answer": "['noon', '12']",
        "prediction": "at night",
    },
    {"index": "3", "question": "who?", "answer": "", "prediction": "nobody"},
]


@pytest.fixture
def unsure(tmp_path) -> Path:
    rows = [row(number, f"Cat or dog? I see {number} of them.") for number in range(1, 5)]
    return table_file(tmp_path / "model.tsv", [*rows, row(5, "B")])


ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@ON_SQLITE
def test_a_toolkits_grades_are_seen_beside_their_questions(database, tmp_path):
    asked = own_sample().questions
    rows = [
        {"index": str(at), "question": one.text, "answer": one.truth, "category": "rec", "prediction": "p",
         "score": "0.5", "log": "Succeed"}
        for at, one in enumerate(asked)
    ]  # fmt: skip
    file = table_file(tmp_path / "m_MMVet_gpt-4-turbo.tsv", rows, list(rows[0]))
    with visiting(database, tmp_path) as visit:
        token = visit.brings(file)
        assert visit.service.recognise(visit.owner, token).benchmark == "mm-vet"
        assert visit.service.has_grades(visit.owner, token)
        seen = visit.service.describe_answers(visit.owner, token, "mm-vet")
        assert seen.lines == (
            f"VLMEvalKit's result file: grades by gpt-4-turbo for {len(asked)} questions, runs: 1. No judge is needed.",
        )


@ON_SQLITE
def test_the_benchmark_is_recognised_and_can_be_corrected(database, tmp_path, data):
    marked = table_file(tmp_path / "m_OKVQA.tsv", MARKED, list(MARKED[0]))
    mmt = table_file(
        tmp_path / "mmt.tsv", [row(1, category="gui_general", **{"l2-category": "gui_navigation"})]
    )
    with visiting(database, tmp_path) as visit:

        def seen(file, benchmark=""):
            return visit.service.recognise(visit.owner, visit.brings(file), FileChoice(benchmark))

        found = seen(GOLDEN / "complete.tsv")
        assert (found.benchmark, found.title, found.scorable) == ("mmbench", "complete", True)
        assert [problem.blocks for problem in found.problems] == ["whole"], (
            "two questions of MMBench's dev split"
        )
        assert found.lines[0].startswith(
            "MMBench: 8 answers, 2 questions with rotated passes; 8 can be scored"
        )
        assert [seen(file).benchmark for file in (mmt, marked)] == ["mmt-bench", "okvqa"]
        capable = [{**one, "capability": "rec"} for one in MARKED]
        assert (
            seen(table_file(tmp_path / "vet.tsv", capable, list(capable[0]))).benchmark == "mm-vet"
        )
        assert seen(SAMPLE_PREDICTIONS).benchmark == "mm-vet"
        assert seen(data / "mm-vet" / "llava_llama2_13b_chat.json").benchmark == "mm-vet"
        assert seen(data / "mm-vet-v2" / "gemini-1.5-pro.json").benchmark == "mm-vet-v2"
        with pytest.raises(
            JobServiceError,
            match="answers to MM-Vet v2, and this server doesn't have its questions",
        ):
            visit.service.sets_of("mm-vet-v2")
        assert (seen(mmt, "mmbench").benchmark, seen(marked, "gqa").benchmark) == ("mmbench", "gqa")
        assert (
            seen(SAMPLE_PREDICTIONS, "mm-vet").benchmark
            == seen(mmt, "mm-vet").benchmark
            == "mm-vet"
        )
        incomplete = seen(GOLDEN / "missing_pass.tsv")
        assert incomplete.scorable and [problem.blocks for problem in incomplete.problems] == [
            "whole",
            "circular",
        ]
        doubled = seen(GOLDEN / "double_row.tsv")
        assert not doubled.scorable and doubled.problems[0].row == 6
        with pytest.raises(
            ChoicesError, match="isn't a benchmark with files. Choose mmbench, mmt-bench, .*gqa"
        ):
            seen(mmt, "../../etc")
        with pytest.raises(UploadStoreError):
            visit.service.recognise("somebody else", visit.brings(mmt))


@pytest.mark.parametrize("name", ["emo_VQA.tsv", "qwen_OCRVQA_TESTCORE.tsv"])
def test_short_answers_of_another_data_set_are_not_taken_for_mm_vet(database, tmp_path, name):
    rows = [
        {"index": str(at), "question": f"Who is {at}?", "answer": "a man", "prediction": "a man"}
        for at in range(3)
    ]
    with visiting(database, tmp_path) as visit:
        with pytest.raises(ChoicesError) as refused:
            visit.service.recognise(
                visit.owner, visit.brings(table_file(tmp_path / name, rows, list(rows[0])))
            )
        told = str(refused.value)
        assert told.startswith(
            f"{name}: Several benchmarks have the columns question, answer and prediction"
        )
        assert "Choose the benchmark below, under Details, such as gqa or docvqa." in told
        (known,) = [one for one in visit.service.question_sets.values() if not one.official]
        for row, question in zip(rows, known.questions, strict=False):
            row |= {"question": question.text, "answer": question.truth}
        file = table_file(tmp_path / "mine.tsv", rows, list(rows[0]))
        assert visit.service.recognise(visit.owner, visit.brings(file)).benchmark == "mm-vet"


def test_a_file_that_nobody_waits_for_is_read_no_further(database, tmp_path):
    many = table_file(tmp_path / "many.tsv", [row(number, "Cat or dog?") for number in range(200)])
    with visiting(database, tmp_path) as visit:
        looks: list[bool] = []
        leaves = lambda: looks.append(True) or len(looks) < 3  # noqa: E731
        with pytest.raises(
            ChoicesError,
            match="many.tsv: its page was closed, or it was replaced. Choose the file again",
        ):
            visit.service.recognise(OWNER, visit.brings(many), waits=leaves)
        assert len(looks) == 3

        replaces = lambda: bool(visit.brings(many))  # noqa: E731
        with pytest.raises(ChoicesError, match="it was replaced. Choose the file again"):
            visit.service.recognise(OWNER, visit.brings(many), waits=replaces)


@pytest.mark.locks_or_dialect
def test_rules_make_a_report_at_once_and_the_judge_reads_the_rest(database, tmp_path, unsure):
    with visiting(database, tmp_path) as visit:
        first = visit.service.report_by_rules(OWNER, *visit.asked_for(unsure))
        assert (first.state, first.benchmark, first.protocol, first.model) == (
            "done",
            "mmbench",
            "strict",
            "",
        )
        assert first.quote.dollars is None and visit.bench.jobs.find(first.link) == first
        by_rules = visit.bench.jobs.report(first.link)
        assert isinstance(by_rules, ChoiceReport) and by_rules.left == 4 and by_rules.judge is None
        for owner, link in (("somebody else", first.link), (OWNER, "no such link")):
            with pytest.raises(JobServiceError, match="You have no such report"):
                visit.service.quote(owner, visit.service.draft_rest(owner, link), None)
        second = visit.service.quote(OWNER, visit.service.draft_rest(OWNER, first.link), None)
        assert (second.state, second.quote.calls, second.total, second.model) == (
            "quoted",
            4,
            4,
            "test-judge",
        )
        visit.service.start(OWNER, second.link, None)
        with running(visit.bench):
            assert ended(visit.bench, second.link).state == "done"
        report = visit.bench.jobs.report(second.link)
        assert isinstance(report, ChoiceReport) and report.left == 0
        assert [one.decision.letter for one in report.rows] == ["A", "A", "A", "A", "B"]
        assert {one.decision.rule for one in report.rows[:4]} == {Rule.JUDGE}
        assert report.judge and report.judge.versions == ("test-judge-2026-01-01",)
        assert visit.bench.jobs.report(first.link) == by_rules, (
            "the report by rules stays as it was"
        )
        with pytest.raises(JobServiceError, match="Nothing in 'model' is left"):
            visit.service.quote(OWNER, visit.service.draft_rest(OWNER, second.link), None)


@ON_SQLITE
def test_marks_come_from_the_judge_alone(database, tmp_path):
    file = table_file(tmp_path / "marked.tsv", MARKED, list(MARKED[0]))
    with visiting(database, tmp_path, reply="4") as visit:
        first = visit.service.report_by_rules(
            OWNER, *visit.asked_for(file, "okvqa_marks", "mmbench-paper")
        )
        line = figure_lines(visit.bench.jobs.report(first.link))["Mean mark"]
        assert (line.n, line.mean) == (2, None)
        second = visit.service.quote(OWNER, visit.service.draft_rest(OWNER, first.link), None)
        assert second.total == 2, "an answer without references is not marked"
        visit.service.start(OWNER, second.link, None)
        with running(visit.bench):
            assert ended(visit.bench, second.link).state == "done"
        report = visit.bench.jobs.report(second.link)
        line = figure_lines(report)["Mean mark"]
        assert (line.mean, line.n, report.left) == (4.0, 2, 0)


@ON_SQLITE
def test_what_cannot_be_had_is_said(database, tmp_path, unsure):
    with visiting(database, tmp_path, ceiling=0.0001) as visit:
        with pytest.raises(ChoicesError, match="2 rows have the index 2"):
            visit.service.report_by_rules(OWNER, *visit.asked_for(GOLDEN / "double_row.tsv"))
        with pytest.raises(
            ChoicesError, match="'mmt-paper' isn't a protocol here. Choose strict or mmbench-paper"
        ):
            visit.service.report_by_rules(
                OWNER,
                *visit.asked_for(
                    table_file(tmp_path / "v.tsv", MARKED, list(MARKED[0])),
                    "gqa_marks",
                    "mmt-paper",
                ),
            )
        for forged in ("mm-vet", "no such"):
            with pytest.raises(ChoicesError, match="isn't a benchmark with files"):
                visit.service.report_by_rules(OWNER, *visit.asked_for(unsure, forged))
        with pytest.raises(ChoicesError, match="'lenient' isn't a protocol here. Choose strict"):
            visit.service.report_by_rules(OWNER, *visit.asked_for(unsure, "mmbench", "lenient"))
        (broken := tmp_path / "mine.json").write_text("{")
        for ask in (
            visit.service.has_grades,
            lambda owner, token: visit.service.describe_answers(owner, token, "mm-vet"),
        ):
            with pytest.raises(RowsError, match=r"^mine\.json"):
                ask(OWNER, visit.brings(broken))
        link = visit.service.report_by_rules(OWNER, *visit.asked_for(unsure)).link
        with pytest.raises(
            JobServiceError, match=r"and this site pays \$0.00 per job. Choose fewer runs"
        ):
            visit.service.quote(OWNER, visit.service.draft_rest(OWNER, link), None)
        with pytest.raises(JobError):
            visit.service.start(OWNER, link, None)


# The report


TEXT = st.text(st.characters(), max_size=20)


@settings(deadline=None)
@given(
    TEXT,
    st.lists(TEXT, max_size=3),
    st.sampled_from(list(PROTOCOL_WORDS)),
    st.sampled_from(list(Rule)),
    st.sampled_from([*"ABCD", "Z", None]),
)
def test_a_report_is_kept_without_loss(said, replies, protocol, rule, letter):
    (one,) = open_upload(GOLDEN / "base_rows_only.tsv").report("strict").rows[:1]
    decision = Decision(
        letter, (Clue(Rule.CUT, None, said), Clue(rule, letter, said)), tuple(replies), said
    )
    report = replace(
        open_upload(GOLDEN / "missing_pass.tsv").report("strict"),
        protocol=protocol,
        rows=(Decided(one.question, said, decision),),
        judge=JudgeStamp(said, (said,), said, "0", "1"),
    )
    benchmark = BENCHMARKS["mmbench"]
    assert read_record(benchmark.report, record_json(report)) == report
    items = [
        json.loads(line)
        for line in benchmark.files(report)["partial_missing_pass-audit.jsonl"].splitlines()
    ]
    assert items[0]["prediction"] == said and items[0]["replies"] == replies


def test_a_prompt_that_the_judges_server_refuses_is_undecided_and_not_asked_again(unsure):
    report = BENCHMARKS["mmbench"].draft(
        open_upload(unsure).report("mmbench-paper"), SPEC, "http://127.0.0.1:9/v1"
    )
    benchmark = BENCHMARKS["mmbench"]
    tasks: list[Task] = list(benchmark.tasks(report, SPEC))
    graded = benchmark.with_outcomes(report, [task.refused("content filter") for task in tasks])
    assert len(tasks) == 4 and not graded.left and not benchmark.tasks(graded, SPEC)
    assert {(one.decision.letter, one.decision.rule) for one in graded.rows[:4]} == {
        (None, Rule.DECLINED)
    }
    assert graded.rows[0].decision.span == "content filter"


def test_a_grading_that_the_judges_server_refuses_is_unscored(tmp_path):
    file = table_file(tmp_path / "v.tsv", MARKED, list(MARKED[0]))
    report = open_upload(file, benchmark="okvqa_marks").report("strict")
    benchmark = BENCHMARKS["okvqa_marks"]
    tasks = benchmark.tasks(report, SPEC)
    graded = benchmark.with_outcomes(report, [task.refused("content filter") for task in tasks])
    assert [(row.reading.score, row.reading.why) for row in graded.rows] == [
        *[(None, "judge declined: content filter")] * 2,
        (None, "no right answer to grade it by"),
    ]
    assert read_record(benchmark.report, record_json(graded)) == graded and not graded.left
    assert figure_lines(graded)["Mean mark"].unscored == 2


def test_prompts_and_parser_are_named(unsure, tmp_path):
    spec = JudgeSpec("j", True, "max_tokens", True, True, False, 0, None)
    english = BENCHMARKS["mmbench"].draft(open_upload(unsure).report("strict"), spec, "there").judge
    assert english and english.prompt.startswith("English ") and "Chinese" not in english.prompt
    chinese = table_file(tmp_path / "c.tsv", [row(1, "hm", question="图中是什么？"), row(2, "hm")])
    both = BENCHMARKS["mmbench"].draft(open_upload(chinese).report("strict"), spec, "there").judge
    assert both and "English" in both.prompt and "Chinese" in both.prompt and both.model == "j"


def test_reports_of_different_kinds_are_not_compared(unsure, tmp_path):
    report = open_upload(unsure).report("strict")
    with pytest.raises(ComparisonError, match="one benchmark and one protocol"):
        BENCHMARKS["mmbench"].comparisons(report, under_protocol(report, "mmt-paper"))
    with pytest.raises(ComparisonError, match="no question with a right answer in common"):
        BENCHMARKS["mmbench"].comparisons(
            report, open_upload(table_file(tmp_path / "o.tsv", [row(99)])).report("strict")
        )
    whole = open_upload(GOLDEN / "complete.tsv").report("strict")
    assert [one.over for one in BENCHMARKS["mmbench"].comparisons(whole, whole)] == [
        "base rows",
        "whole questions",
    ]


@pytest.mark.locks_or_dialect
def test_where_people_can_log_in_a_guest_is_lent_no_judge(database, tmp_path, unsure):
    with visiting(database, tmp_path, login=True) as guest:
        link = guest.service.report_by_rules(guest.owner, *guest.asked_for(unsure)).link
        words = "people who log in. Log in above. Or use your own key"
        with pytest.raises(JobServiceError, match=words):
            guest.service.quote(guest.owner, guest.service.draft_rest(guest.owner, link), None)
        job = guest.bench.quoted(owner=guest.owner)
        with pytest.raises(JobServiceError, match=words):
            guest.service.start(guest.owner, job.link, None)


@pytest.mark.locks_or_dialect
def test_a_person_has_one_day_budget_over_all_logins(database, tmp_path):
    with visiting(database, tmp_path, login=True) as visit:
        voters, jobs, payers = Voters(database), visit.bench.jobs, []
        for login in ("first", "second"):
            voters.log_in(Account("7", "anna"), f"before {login}", login)
            owner = jobs.owners.owner_of(login)
            visit.service.start(owner, visit.bench.quoted(owner=owner).link, None, "8.8.8.0/24")
            claim = jobs.claim("server", frozenset(), frozenset())
            voters.log_out(login)
            assert claim
            jobs.cancel(owner, claim.job.link)
            payers.append((claim.job.owner, claim.network))
        assert payers == [(person_key(Account("7", "anna").hashed), None)] * 2


@pytest.mark.locks_or_dialect
def test_a_guest_pays_with_the_network_too(database, tmp_path):
    with visiting(database, tmp_path) as visit:
        visit.service.start(OWNER, visit.bench.quoted().link, None, "8.8.8.0/24")
        claim = visit.bench.jobs.claim("server", frozenset(), frozenset())
        assert claim and claim.job.owner == OWNER
        assert claim.network == Lending(database, login=False).to_cookie("another", "8.8.8.0/24")


@ON_SQLITE
def test_every_form_of_a_judges_reply_is_read(database, tmp_path):
    rows = [row(case, f"Who knows, case {case}.") for case in range(len(LETTERS))]
    with OpenAIServer(answered_by_case(LETTERS)) as server:
        visit = Visit(Bench(database, server.address), tmp_path)
        file = table_file(tmp_path / "model.tsv", rows)
        first = visit.service.report_by_rules(OWNER, *visit.asked_for(file))
        job = visit.service.quote(OWNER, visit.service.draft_rest(OWNER, first.link), None)
        visit.service.start(OWNER, job.link, None)
        with running(visit.bench):
            assert ended(visit.bench, job.link).state == "done"
    report = visit.bench.jobs.report(job.link)
    assert isinstance(report, ChoiceReport)
    assert [one.decision.letter for one in report.rows] == ["B"] * len(LETTERS)


@ON_SQLITE
def test_a_judge_that_nobody_can_read_stops_its_job_which_goes_on_with_another(
    database, tmp_path, caplog
):
    rows = [row(case, f"Who knows, case {case}.") for case in range(30)]
    file = table_file(tmp_path / "model.tsv", rows)
    with OpenAIServer(answered_by_case([f"Hm {case}" for case in range(30)])) as server:
        visit = Visit(Bench(database, server.address), tmp_path)
        first = visit.service.report_by_rules(OWNER, *visit.asked_for(file))
        job = visit.service.quote(OWNER, visit.service.draft_rest(OWNER, first.link), None)
        with pytest.raises(JobServiceError, match="no such stopped job"):
            visit.service.with_another_judge(OWNER, job.link, None)
        visit.service.start(OWNER, job.link, None)
        with running(visit.bench):
            stopped = ended(visit.bench, job.link)
        assert server.counts.calls < 30
    assert stopped.state == "failed" and "last 10 replies of test-judge" in stopped.problem
    assert stopped.problem.count("'Hm ") == 2 and "another judge" in stopped.problem
    assert "this site's judge is of no use" in caplog.text
    assert [one.link for one in visit.bench.jobs.stopped_jobs(5)] == [job.link]
    for owner in ("somebody else", OWNER):
        link = job.link if owner != OWNER else first.link
        with pytest.raises(JobServiceError, match="no such stopped job"):
            visit.service.with_another_judge(owner, link, None)
    address = Endpoint("https://api.example.org/v1", Secret("sk-own-12345678"), OWNER)
    other = visit.service.with_another_judge(OWNER, job.link, OwnJudge("gpt-4o", address, False))
    assert (other.state, other.model, other.own_key) == ("quoted", "gpt-4o", True)
    assert (other.address, other.quote.calls) == (address.address, 30)
    drafted = visit.bench.jobs.draft(other.link)
    before = visit.bench.jobs.draft(job.link)
    assert drafted and before and drafted.report.rows == before.report.rows
    with OpenAIServer(lambda body, sample: "B") as server:
        mended = Visit(Bench(database, server.address), tmp_path)
        again = mended.service.with_another_judge(OWNER, job.link, None)
        mended.service.start(OWNER, again.link, None)
        with running(mended.bench):
            assert ended(mended.bench, again.link).state == "done"


@ON_SQLITE
def test_a_report_of_a_judge_that_was_mostly_unreadable_is_no_score(
    database, tmp_path, monkeypatch
):
    ask_to_the_end(monkeypatch)
    rows = [row(case, f"Who knows, case {case}.") for case in range(21)]
    with OpenAIServer(answered_by_case([*["Hm."] * 11, *["B"] * 10])) as server:
        visit = Visit(Bench(database, server.address), tmp_path)
        file = table_file(tmp_path / "model.tsv", rows)
        first = visit.service.report_by_rules(OWNER, *visit.asked_for(file))
        job = visit.service.quote(OWNER, visit.service.draft_rest(OWNER, first.link), None)
        visit.service.start(OWNER, job.link, None)
        with running(visit.bench):
            done = ended(visit.bench, job.link)
    report = visit.bench.jobs.report(job.link)
    assert done.state == "done", done.problem
    caveat, *_ = BENCHMARKS["mmbench"].caveats(report)
    assert (done.score, caveat.kind) == ("no score", "No score")
    assert "could not be read for 11 of 21" in caveat.text


@ON_SQLITE
@pytest.mark.parametrize("kind", ["folder", "demo"])
def test_answers_that_voters_may_be_shown_go_to_the_sites_judge_alone(database, tmp_path, kind):
    """An own judge would see each text beside the model that the report then names; a demo may be out of the draw."""
    captioned = [
        replace(one, images=tuple(replace(image, caption="a cat") for image in one.images))
        for one in drafts(2)
    ]
    Ingest(database).add_items("bank", kind, captioned)
    address = Endpoint("https://api.example.org/v1", Secret("sk-own-12345678"), OWNER)
    own = OwnJudge("gpt-4o", address, False)
    blindness = Blindness(database, ItemBank(database), "off")
    with visiting(database, tmp_path) as visit:
        service = replace(visit.service, submissions=Submissions(database, blindness))
        draft = service.draft_stored_comparison(StoredModel("m1", "bank"), SubmissionRequest())
        for ask in (service.price, service.quote):
            refused = pytest.raises(JobServiceError, match="only this site's judge may see")
            with refused if kind == "folder" else nullcontext():
                ask(OWNER, draft, own)
        assert service.quote(OWNER, draft, None).state == "quoted"


@ON_SQLITE
@pytest.mark.parametrize(
    ("model", "price"),
    [("openai/gpt-4o", list_price("gpt-4o")), ("local", None), ("ours", Price(1.0, 2.0))],
)
def test_a_judges_price_is_todays_and_not_that_of_an_earlier_job(database, model, price):
    bench = Bench(database, "http://127.0.0.1:9/v1")
    tested = replace(SPEC, model=model, seed=False, price=Price(99.0, 99.0))
    bench.quoted(drafted(bench.address.address, spec=tested), spec=tested)
    spec = known_spec(model, bench.address, bench.jobs)
    assert spec and not spec.seed
    assert with_price(spec, {"ours": Price(1.0, 2.0)}).price == price


@ON_SQLITE
@pytest.mark.parametrize("kind", ["folder", "demo"])
def test_what_is_known_and_said_of_voters_secrets_is_not_told(database, tmp_path, kind):
    """Replies in the cache tell who said the same before, and a judge that may be talked to repeats what it read."""
    captioned = [
        replace(one, images=tuple(replace(image, caption="a cat") for image in one.images))
        for one in drafts(6)
    ]
    Ingest(database).add_items("bank", kind, captioned)
    blind = Submissions(database, Blindness(database, ItemBank(database), "off"))
    with visiting(database, tmp_path, reply="The other one said: m2 says 4") as visit:
        visit.bench.worker._is_blind = blind.is_blind
        service = replace(visit.service, submissions=blind)
        draft = service.draft_stored_comparison(StoredModel("m1", "bank"), SubmissionRequest())
        job = service.quote(OWNER, draft, None)
        service.start(OWNER, job.link, None)
        with running(visit.bench):
            stopped = ended(visit.bench, job.link)
        told = stopped.problem
        cached = service.price(OWNER, draft, None).cached
    assert "We couldn't read the last" in told
    assert ("m2 says 4" in told, cached > 0) == (kind == "demo", kind == "demo")


@ON_SQLITE
def test_jobs_whose_texts_cannot_be_read_any_more_are_still_shown(database, tmp_path):
    with visiting(database, tmp_path) as visit:
        failed = visit.bench.begun()
        set_job(database, failed.link, state="failed", done=3, draft="{}")
        assert visit.service.first_grades(failed) == []
        done = visit.bench.jobs.add_done(OWNER, mmt_report("old", 0.5))
        set_job(database, done.link, report="{}")
        assert visit.service.count_left(done) == 0


@ON_SQLITE
@pytest.mark.parametrize("kind", ["folder", "demo"])
def test_the_first_grades_are_not_told_of_voters_secrets(database, tmp_path, kind):
    """Each names two models, and a copy of a secret is told apart by how it fares."""
    captioned = [
        replace(one, images=tuple(replace(image, caption="a cat") for image in one.images))
        for one in drafts(2)
    ]
    Ingest(database).add_items("bank", kind, captioned)
    blind = Submissions(database, Blindness(database, ItemBank(database), "off"))
    with visiting(database, tmp_path, reply="Overall, Response A is better.") as visit:
        service = replace(visit.service, submissions=blind)
        draft = service.draft_stored_comparison(StoredModel("m1", "bank"), SubmissionRequest())
        job = service.quote(OWNER, draft, None)
        service.start(OWNER, job.link, None)
        with running(visit.bench):
            done = ended(visit.bench, job.link)
        assert done.state == "done"
        assert len(service.first_grades(done)) == (5 if kind == "demo" else 0)


@ON_SQLITE
@pytest.mark.parametrize("kind", ["folder", "demo"])
def test_the_price_of_voters_secrets_tells_nothing_of_their_lengths(database, tmp_path, kind):
    """One whose own answer is known could else find the lengths of all others, to a letter. No call is left out."""
    costs = []
    calls = []
    for more in ("", "of them, " * 40):
        source = f"bank{len(more)}"
        captioned = [
            replace(
                one,
                images=tuple(replace(image, caption="a cat") for image in one.images),
                answers={model: text + more for model, text in one.answers.items()},
                instruction=f"{one.instruction} {source}",
            )
            for one in drafts(2)
        ]
        Ingest(database).add_items(source, kind, captioned)
        blind = Submissions(database, Blindness(database, ItemBank(database), "off"))
        with visiting(database, tmp_path) as visit:
            service = replace(visit.service, submissions=blind)
            draft = service.draft_stored_comparison(StoredModel("m1", source), SubmissionRequest())
            cost = service.price(OWNER, draft, None)
            costs.append(cost.prompt_tokens)
            calls.append(cost.calls)
    assert calls == [8, 8]
    assert (abs(costs[0] - costs[1]) < 30) == (kind == "folder")
