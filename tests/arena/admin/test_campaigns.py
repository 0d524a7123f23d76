"""Campaigns as operators make, watch, end and pay them: what is refused, recorded, and told of whom."""

from dataclasses import replace

import pytest
from sqlalchemy import insert, select

from arena.admin.actions import latest_actions
from arena.admin.campaigns import CampaignAdmin
from arena.admin.checklist import checklist
from arena.battles.tables import SEAT
from arena.battles.vote_table import VoteTable
from arena.campaign_battles.report import flags_in_words
from arena.campaign_battles.votes import left_out_seats
from arena.database import now
from arena.fraud.flags import VOTER_FLAG, campaign_review
from arena.io.strict_json import RowsError
from arena.io.tables import Record
from arena.items.ingest import Ingest
from arena.items.store import ItemBank
from arena.ratings.agreement import share
from arena.seats.spec import CampaignError
from arena.settings import BackupSettings, Settings
from arena.types import RIGHT, UNRELATED, Secret
from tests.support.battle_campaigns import answered_at_once, let_minutes_pass
from tests.support.paid_campaigns import PROLIFIC, TOML, PaidCampaign, table
from tests.support.planting import Planted, plant
from tests.support.servers import drafts
from tests.support.visitors import rows


def acts(database) -> list[tuple[str, str, str]]:
    with database.read() as connection:
        return [(act.who, act.deed, act.about) for act in latest_actions(connection, 50)]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("test", "nothing"), "There is no source 'nothing'. Sources: test"),
        (
            ('source = "test"', 'source = "test"\nmodels = ["m9"]'),
            "models: 'm9' isn't in this source",
        ),
        (('source = "test"', 'source = "test"\ndesign = "fixed"'), "no tuples. Run"),
        (("pay = 5.0", "pay = -1"), "seat.pay is '-1'. It must be a number from 0 to 10000"),
        (("pay = 5.0", 'pay = "5"'), "seat.pay is '5'. It must be a number from 0 to 10000"),
        (("pay = 5.0", "pay = true"), "seat.pay is 'True'. It must be a number from 0 to 10000"),
        (("votes = 1000", "votess = 1000"), "votes is missing"),
        (
            ("votes = 3", "votes = 7"),
            "seat.votes is 7, but there are 6 items and a worker gets each once. Lower it.",
        ),
        (("name =", "name =" * 2), "The file isn't valid TOML in UTF-8"),
    ],
)
def test_a_wrong_campaign_is_refused_in_one_line(bank, change, told):
    admin = PaidCampaign(bank).admin
    with pytest.raises(CampaignError) as refused:
        admin.make("ada", TOML.replace(*change).encode())
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(acts(bank)) == 1, "only the first was made"


@pytest.mark.parametrize(
    ("named", "is_there", "told"),
    [
        ("pilot", True, "pilot."),
        ("pilots", False, "there's no pilots yet. Check CAMPAIGNS"),
        ("zoo,pilot,pets", False, "there's no pets and no zoo yet."),
        ("", False, "none. Name one in CAMPAIGNS"),
    ],
)
def test_counted_campaigns_that_were_not_made_are_named(bank, tmp_path, named, is_there, told):
    PaidCampaign(bank)
    settings = Settings.from_env({"DATA_DIR": str(tmp_path), "CAMPAIGNS": named})
    with bank.read() as connection:
        entries = checklist(settings, connection, 0)
    (entry,) = [entry for entry in entries if entry.what == "Counted campaigns"]
    assert entry.is_there == is_there and told in entry.details


def test_sources_of_check_items_must_hold_what_is_asked(bank):
    admin = PaidCampaign(bank, checks=3).admin
    asked = f'{TOML}qualify = {{ items = "checks", asked = 6, pass = 5 }}\n'.replace(
        "pilot", "next"
    )
    with pytest.raises(
        CampaignError,
        match="qualify.items is 'checks', which has 3 of the 6 check items .* checks ",
    ):
        admin.make("ada", asked.encode())
    with pytest.raises(CampaignError, match="checks.items is 'other'"):
        admin.make(
            "ada", f'{TOML}checks = {{ items = "other" }}\n'.replace("pilot", "next").encode()
        )
    met = asked.replace("asked = 6, pass = 5", "asked = 3, pass = 3")
    assert admin.make("ada", met.encode("utf-8-sig")).name == "next", (
        "a byte order mark is what some editors write"
    )


def test_a_paid_campaign_does_not_start_where_a_wipe_would_lose_it(bank):
    settings = replace(Settings.from_env({"DATA_DIR": "/there-is-no-such-volume"}), space=True)
    kept = replace(settings, backup=BackupSettings("ada/votes", Secret("hf")))
    with pytest.raises(CampaignError, match=r"A restart would lose .* Set MIRROR .* set pay = 0"):
        CampaignAdmin(settings, bank, ItemBank(bank), VoteTable(bank)).make("ada", TOML.encode())
    assert acts(bank) == []
    assert CampaignAdmin(kept, bank, ItemBank(bank), VoteTable(bank)).make("ada", TOML.encode())
    unpaid = TOML.replace("pilot", "trial").replace("5.0", "0")
    assert CampaignAdmin(settings, bank, ItemBank(bank), VoteTable(bank)).make(
        "ada", unpaid.encode()
    )


def test_one_link_for_all_who_log_in_takes_a_server_with_a_log_in(bank):
    settings, toml = Settings.from_env({}), f'{TOML}platform = {{ kind = "login" }}\n'
    with pytest.raises(CampaignError, match="nobody can log in here. Set hf_oauth"):
        CampaignAdmin(settings, bank, ItemBank(bank), VoteTable(bank)).make("ada", toml.encode())
    with_login = Settings.from_env({"OAUTH_CLIENT_ID": "id", "OAUTH_CLIENT_SECRET": "secret"})
    admin = CampaignAdmin(with_login, bank, ItemBank(bank), VoteTable(bank))
    made = admin.make("ada", toml.encode())
    assert admin.links([made])[made.name] == admin.link(made)


def test_tuples_come_from_a_table_or_from_visits_own_file(bank):
    admin, items = PaidCampaign(bank).admin, list(ItemBank(bank).bank().items.values())
    fixed = (
        TOML.replace("pilot", "fixed")
        .replace("stop", 'design = "fixed"\nstop')
        .replace("votes = 3", "votes = 1")
    )
    plain = [Record(2, {"item": items[0].key, "model_a": "m1", "model_b": "m2"})]
    made = admin.make("ada", fixed.encode(), plain)
    assert "fixed: 3 models, 1 tuple, at most 1 vote. It stops at 1,000." in admin.summary(made)
    visit = {
        "instruction": "What is in picture 4?",
        "image_url": "key-4-0",
        "A_model": "m2",
        "B_model": "m3",
    }
    made = admin.make(
        "ada",
        fixed.replace("fixed", "visit", 1).encode(),
        [Record(row, visit) for row in range(2, 7)],
    )
    assert "visit: 3 models, 1 tuple, at most 5 votes. It stops at 1,000." in admin.summary(made)
    padded = {**visit, "A_model": " m2", "B_model": "m3 "}
    made = admin.make("ada", fixed.replace("fixed", "padded", 1).encode(), [Record(2, padded)])
    assert "padded: 3 models, 1 tuple, at most 1 vote. It stops at 1,000." in admin.summary(made)
    with pytest.raises(
        RowsError, match="'model_b'.* Expected this column, found 'item', 'model_a'"
    ):
        admin.make("ada", fixed.encode(), [Record(2, {"item": "x", "model_a": "m1"})])


def test_links_are_the_same_all_day_and_name_what_the_platform_fills_in(bank):
    one = PaidCampaign(bank, TOML + PROLIFIC)
    link = one.admin.link(one.campaign)
    assert link == one.admin.link(one.campaign) and link.startswith("/c/pilot?n=3&until=")
    assert link.endswith(
        "&PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    )


@pytest.mark.locks_or_dialect
def test_what_operators_do_is_recorded_with_it(bank):
    one = PaidCampaign(bank)
    assert (
        "1 person on the platform's list of pilot. 0 of them came"
        in one.admin.bring_participants("bob", "pilot", [Record(2, {"worker": "w1"})])
    )
    assert "has ended." in one.admin.end("eve", "pilot")
    assert one.admin.end("eve", "pilot") == "pilot has already ended: ended by an operator."
    with pytest.raises(CampaignError, match="no campaign named 'other'. Campaigns: pilot"):
        one.admin.end("eve", "other")
    with pytest.raises(RowsError):
        one.admin.bring_participants("bob", "pilot", [])
    assert acts(bank) == [
        ("eve", "ended a campaign", "pilot"),
        ("bob", "brought in a campaign's list of participants", "pilot"),
        ("ada", "made a campaign", "pilot"),
    ]


def test_a_list_tells_who_handed_in_twice_and_who_came_under_anothers_submission(bank):
    """At MTurk anybody can open the link with the id of somebody else, and his own assignment."""
    one = PaidCampaign(bank, TOML + 'platform = { kind = "mturk" }\n')
    for person, session in (("A1", "X1"), ("A2", "X2"), ("A3", "X3"), ("A3", "STOLEN")):
        one.seat(person, session)
    rows_ = [("A1", "X1"), ("A2", "X2"), ("A2", "X9"), ("A3", "X3"), ("A4", "STOLEN")]
    listed = [
        Record(row, {"AssignmentId": session, "WorkerId": person, "AssignmentStatus": "Submitted"})
        for row, (person, session) in enumerate(rows_, 2)
    ]
    assert one.admin.bring_participants("bob", "pilot", listed) == (
        "4 people on the platform's list of pilot. 3 of them came. Not on it: 0 workers. Workers who came: "
        "3 confirmed, 0 rejected, 0 pending. "
        "Listed more than once (pay them once): A2. Came with a submission that isn't the listed one (check them): A3."
    )


@pytest.mark.parametrize("columns", [{"session": "S1"}, {"session": ""}, {}])
def test_a_list_tells_who_stands_in_it_twice_under_one_submission_or_none(bank, columns):
    one = PaidCampaign(bank)
    one.seat("w1", "S1")
    listed = [
        Record(row, {"worker": person, **columns})
        for row, person in enumerate(("w1", "w2", "w1 "), 2)
    ]
    told = one.admin.bring_participants("bob", "pilot", listed)
    assert told.endswith("0 pending. Listed more than once (pay them once): w1."), told


def test_the_sheet_pays_who_gave_all_and_looks_at_who_failed(bank):
    one = PaidCampaign(bank, TOML + "checks = { fail = 1 }\n", checks=4)
    good = one.answer("good", [RIGHT])
    one.answer("bad", [UNRELATED])
    one.answer("slow", most=1)
    let_minutes_pass(bank, 1)
    found = {row["person"]: row for row in table(one.admin.sheet("pilot"))}
    assert [found[name]["proposal"] for name in ("good", "bad", "slow")] == [
        "approve",
        "look",
        "wait",
    ]
    assert (found["good"]["votes"], found["good"]["checks"], found["good"]["checks_failed"]) == (
        3,
        1,
        0,
    )
    assert (found["bad"]["checks_failed"], found["bad"]["why"]) == (1, "failed 1 of 1 checks")
    assert found["good"]["code"] == good.code and found["slow"]["code"] == ""


def test_the_sheet_looks_at_who_skipped_the_checks(bank):
    one = PaidCampaign(bank, checks=4)
    one.answer("good", [RIGHT])
    seat, (checks,) = (
        one.seat("evasive"),
        (source.id for source in one.items.bank().sources if source.kind == "check"),
    )
    while battle := one.work.battle(seat, None):
        if one.items.bank().items[battle.item].source == checks:
            one.work.store.skip(seat.voter, battle.token, "image broken")
        else:
            one.answer("evasive", most=1)
    one.admin.seats.add_event(seat, "done")
    let_minutes_pass(bank, 1)
    found = {row["person"]: row for row in table(one.admin.sheet("pilot"))}
    assert found["good"]["proposal"] == "approve"
    assert (found["evasive"]["votes"], found["evasive"]["checks"]) == (3, 0)
    assert (found["evasive"]["proposal"], found["evasive"]["why"]) == ("look", "skipped 4 checks")


@pytest.fixture
def paid(database) -> PaidCampaign:
    """Twelve votes a worker, on 80 items that two models answered."""
    Ingest(database).add_items("test", "folder", drafts(80, ("m1", "m2")))
    return PaidCampaign(database, TOML.replace("votes = 3", "votes = 12"))


@pytest.mark.locks_or_dialect
def test_the_sheet_flags_whom_no_board_has_looked_for(paid):
    """Nobody opens the boards of a source whose campaign runs."""
    paid.answer("reader", ["m1"])
    paid.answer("rigger")
    let_minutes_pass(paid.database, 1)
    found = {row["person"]: row for row in table(paid.admin.sheet("pilot"))}
    assert (found["reader"]["proposal"], found["rigger"]["proposal"]) == ("approve", "look")
    assert "chooses one side more often than a coin flip would" in found["rigger"]["flags"]


def test_workers_are_left_out_by_the_campaigns_own_votes_alone(paid):
    """Guests may vote on its items too, and more of them against the better model."""
    guests = [Planted(1 + n % 80, "m2", "m1", n % 2 == 0, voter=n // 10) for n in range(400)]
    plant(paid.database, guests)
    for number in range(5):
        paid.answer(f"reader {number}", ["m1"])
    rigger = paid.answer("rigger")
    let_minutes_pass(paid.database, 1)
    answered_at_once(paid.database, rigger)
    flags = {row["person"]: row["flags"] for row in table(paid.admin.sheet("pilot"))}
    assert [person for person, reasons in flags.items() if reasons] == ["rigger"]
    with paid.database.read() as connection:
        assert left_out_seats(connection, paid.campaign) == {rigger.id}


def test_a_reason_on_two_boards_of_the_campaign_is_in_the_sheet_once(paid):
    seat = paid.answer("rigger")
    flag = {"review": campaign_review("pilot"), "voter_id": seat.voter, "reason": "CROWD"}
    flag |= {"model_id": 1, "source": 1, "raised_at": now()}
    with paid.database.write() as connection:
        both = [{**flag, "multi": multi, "strength": 3.0 + multi} for multi in (False, True)]
        connection.execute(insert(VOTER_FLAG), both)
        (reasons,) = flags_in_words(connection, paid.campaign).values()
    assert len(reasons) == 1


def test_the_sheet_looks_at_who_cannot_have_read_the_answers_in_a_seat_of_any_size(bank):
    one = PaidCampaign(bank)
    one.answer("reader")
    let_minutes_pass(bank, 1)
    answered_at_once(bank, one.answer("hasty"))
    found = {row["person"]: row for row in table(one.admin.sheet("pilot"))}
    assert (found["reader"]["proposal"], found["hasty"]["proposal"]) == ("approve", "look")
    assert found["hasty"]["why"] == "gave 3 answers faster than anyone can read"


def test_who_presses_one_key_in_a_second_each_is_left_out_while_the_campaign_runs(paid):
    for number in range(3):
        paid.answer(f"reader-{number}", ["m1"])
    let_minutes_pass(paid.database, 1)
    rigger = paid.answer("rigger")
    answered_at_once(paid.database, rigger)
    paid.answer("reader-3", ["m1"])  # votes are reviewed when there are fifty
    state = paid.admin.states.read_now(paid.campaign)
    assert state.left_out == {rigger.id}
    assert state.votes == 48


def test_quality_tells_who_passes_checks_and_who_agrees(bank):
    """Four workers on the same six tuples, of whom one always chooses the other model than three."""
    keys = [item.key for item in ItemBank(bank).bank().items.values()]
    pairs = [
        f"[[fixed]]\nitem = '{key}'\nmodel_a = 'm{1 + n % 2}'\nmodel_b = 'm3'\n"
        for n, key in enumerate(keys)
    ]
    toml = "\n".join(
        ["per_tuple = 4", "design = 'fixed'", TOML.replace("votes = 3", "votes = 6"), *pairs]
    )
    one = PaidCampaign(bank, toml, checks=3)
    for name in ("w1", "w2", "w3"):
        one.answer(name, [RIGHT, "m1", "m3"])
    one.answer("odd", [UNRELATED, "m2", "m3"])
    everyone, *workers = table(one.admin.quality("pilot"))
    found = {row["person"]: row for row in workers}
    assert (everyone["person"], everyone["votes"], everyone["agreement"]) == (
        "all workers",
        24,
        "0.500",
    )
    assert (everyone["checks_passed"], everyone["checks"], everyone["shared_tuples"]) == (3, 4, 6)
    assert float(str(everyone["correlation_within_tuple"])) == 0.0, "three to one, on each"
    once, w1, odd = share(1, 1), found["w1"], found["odd"]
    assert (w1["checks_low"], w1["checks_high"]) == (f"{once.low:.3f}", f"{once.high:.3f}"), (
        "Wilson's"
    )
    assert (w1["checks_share"], odd["checks_share"]) == ("1.000", "0.000")
    assert (w1["agreed_with_others"], w1["answers_of_others"], w1["agreement"]) == (12, 18, "0.667")
    assert (odd["agreed_with_others"], odd["answers_of_others"], odd["agreement"]) == (
        0,
        18,
        "0.000",
    )
    assert (w1["dawid_skene_accuracy"], odd["dawid_skene_accuracy"]) == ("1.000", "0.000")
    assert w1["says_first_where_first_is_better"] == "1.000"


def test_no_correlation_is_told_that_no_two_votes_tell(bank):
    one = PaidCampaign(bank)
    one.answer("w1", most=1)
    (everyone, _) = table(one.admin.quality("pilot"))
    assert (
        everyone["votes"] == 1
        and [value for name, value in everyone.items() if "correlation" in name] == [""] * 3
    )


def test_an_empty_campaign_has_empty_tables(bank):
    one = PaidCampaign(bank)
    assert table(one.admin.sheet("pilot")) == table(one.admin.votes("pilot")) == []
    (everyone,) = table(one.admin.quality("pilot"))
    assert (everyone["votes"], everyone["agreement"], everyone["correlation_within_tuple"]) == (
        0,
        "",
        "",
    )


@pytest.mark.locks_or_dialect
def test_the_votes_name_their_worker_and_whether_they_count(bank):
    one = PaidCampaign(bank, TOML.replace("stop", "checks = { fail = 1 }\nstop"), checks=4)
    one.answer("good", [RIGHT, "m1"])
    one.answer("bad", [UNRELATED, "m3"])
    found = table(one.admin.votes("pilot"))
    assert len(found) == 8 and {row["person"] for row in found} == {"good", "bad"}
    of = {(row["person"], row["kind"]): row for row in found}
    assert [of[name, "check"]["passed"] for name in ("good", "bad")] == ["yes", "no"]
    assert [of[name, "work"]["counts"] for name in ("good", "bad")] == ["yes", "no"], (
        "who failed is asked of others"
    )
    row = of["good", "work"]
    winner = row["model_a"] if row["choice"] == "a" else row["model_b"]
    assert winner == "m1" or "m1" not in (row["model_a"], row["model_b"])
    assert row["session"] == "sitting" and row["item"] in {
        item.key for item in ItemBank(bank).bank().items.values()
    }


@pytest.mark.locks_or_dialect
def test_a_standing_counts_votes_tuples_workers_and_what_is_listed(bank):
    one = PaidCampaign(bank)
    one.answer("w1")
    one.seat("w2")
    one.admin.bring_participants("ada", "pilot", [Record(2, {"worker": "w1"})])
    (found,) = CampaignAdmin(one.admin._settings, bank, ItemBank(bank), VoteTable(bank)).standings()
    assert (found.votes, found.wanted, found.full, found.tuples) == (3, 1000, 3, 18)
    assert (found.states, found.listed, found.settled) == ({"done": 1, "working": 1}, 1, 0)


def test_who_gave_all_is_done_before_the_last_page_is_opened(bank):
    one = PaidCampaign(bank)
    one.answer("all", most=3)
    one.answer("some", most=2)
    let_minutes_pass(bank, 1)
    assert one.admin.standing(one.campaign).states == {"done": 1, "working": 1}
    proposals = {row["person"]: row["proposal"] for row in table(one.admin.sheet("pilot"))}
    assert proposals == {"all": "approve", "some": "wait"}


def test_a_standing_says_what_the_bank_lacks(bank):
    one = PaidCampaign(bank)
    with bank.write() as connection:
        connection.execute(SEAT.metadata.tables["source"].update().values(name="renamed"))
    (found,) = CampaignAdmin(one.admin._settings, bank, ItemBank(bank), VoteTable(bank)).standings()
    assert found.problem == "There is no source 'test'. Sources: renamed." and found.votes == 0
    assert len(rows(bank, select(SEAT).subquery())) == 0
