"""The operator's desk: what each order does and undoes, that it is recorded, and what the overview tells."""

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from html import unescape
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from arena.admin.actions import AdminCommandError, latest_actions
from arena.admin.campaigns import CampaignAdmin
from arena.admin.dashboard import LEAST_DAYS, Dashboard, DashboardService, StoppedJob
from arena.admin.erasure import UnknownVoterError, code_of
from arena.admin.service import AdminService
from arena.battles.sampling import BattleRequest, NoBattle, PairSampler
from arena.battles.store import BattleStore
from arena.battles.tables import BATTLE, HAS_CHOICE
from arena.battles.vote_table import VoteTable
from arena.budget import LIVE, Budget, Ceilings
from arena.database import Database, now
from arena.fraud.eligibility import choose_first_official
from arena.fraud.flags import EVERYONE_REVIEW, VOTER_FLAG
from arena.items.store import ItemBank
from arena.leaderboard.service import Leaderboard
from arena.live.images import OWN_IMAGE, OwnImages
from arena.live.pause import check_pause
from arena.live.queue import LiveError
from arena.live.store import LiveStore
from arena.live.streaming import SideFailure
from arena.server.hub_backup import HubBackup
from arena.settings import CountSettings, Settings
from arena.web.run_view import RunInputs, run_html
from tests.support.backup import FolderHub, backup_of
from tests.support.live_votes import COOKIE, bring, live_vote
from tests.support.scripted_vlm import two_models
from tests.support.visitors import Visitor
from tests.support.writers import projects_of

LOGGED_IN = CountSettings("logged-in")
LOGIN = {"OAUTH_CLIENT_ID": "app", "OAUTH_CLIENT_SECRET": "s3cret"}


@pytest.fixture
def images(database, tmp_path) -> OwnImages:
    return OwnImages(database, tmp_path / "own")


@pytest.fixture
def service(bank, images) -> AdminService:
    return AdminService(bank, images, CountSettings())


def acts(database: Database) -> list[tuple[str, str, str]]:
    with database.read() as connection:
        return [(act.who, act.deed, act.about) for act in latest_actions(connection, 50)]


def watch(
    database: Database,
    folder: Path,
    backup: HubBackup | None = None,
    **environ: str,
) -> DashboardService:
    settings = Settings.from_env({"DATA_DIR": str(folder), **environ})
    spent_from = Budget(database, Ceilings(200_000, 1_000_000, 20_000_000), LIVE)
    budgets, queues = {"Live answers": spent_from}, {"Live answers": lambda: 3}
    campaigns, projects = (
        CampaignAdmin(settings, database, ItemBank(database), VoteTable(database)),
        projects_of(settings, database),
    )
    return DashboardService(
        database, settings, backup, budgets, queues, two_models(), campaigns, projects
    )


def page_of(seen: Dashboard) -> str:
    return unescape(run_html(RunInputs(seen)))


def test_jobs_that_the_sites_judge_stopped_are_listed(bank, tmp_path):
    quiet = watch(bank, tmp_path)
    assert "that stopped" not in page_of(quiet.overview())
    problem = "The last 10 replies of judge-1 could not be read, such as '<b>Hm</b>'"
    job = StoppedJob(datetime(2026, 11, 28, 1, 2, tzinfo=UTC), "judge-1", problem)
    page = page_of(replace(quiet, stopped=lambda: [job]).overview())
    assert "that stopped" in page and "2026-11-28 01:02" in page and problem in page


@pytest.mark.locks_or_dialect
def test_a_pause_is_heeded_at_once_and_undone(bank, service):
    check = partial(check_pause, bank)
    check()
    service.do("ada", "pause", "")
    assert service.do("ada", "pause", "") == "Nothing to do: it's already so."
    with pytest.raises(LiveError, match="operators have paused"):
        check()
    other = Database(bank.url.render_as_string(hide_password=False))
    with closing(other), pytest.raises(LiveError, match="operators have paused"):
        check_pause(other)
    service.do("bob", "resume", "")
    check()
    assert acts(bank) == [("bob", "resumed live answers", ""), ("ada", "paused live answers", "")]


@pytest.mark.locks_or_dialect
def test_a_hidden_item_is_not_served_and_its_votes_stay(bank, service):
    items, visitor = ItemBank(bank), Visitor(bank, "one")
    items.CHECK_SECONDS = 0.0
    sampler = PairSampler(BattleStore(bank), items, "off", VoteTable(bank))
    item = next(iter(items.bank().items.values()))
    voted = visitor.reveal(visitor.vote(visitor.serve_on(item.id)))
    open_battle = visitor.serve_on(item.id)
    service.do("ada", "hide", f" {item.key} ")
    assert item.id not in items.bank().items and items.bank().items_without_picture == 0
    assert sampler.next_battle(visitor.id, BattleRequest(item=item.key)) is NoBattle.NO_SUCH_ITEM
    dealt = sampler.next_battle(visitor.id, BattleRequest())
    assert not isinstance(dealt, NoBattle) and dealt.item != item.id, (
        "an open battle on it does not come back"
    )
    assert visitor.vote(open_battle).choice == "a", "who still has it before them may choose"
    with bank.read() as connection:
        assert voted.id in connection.scalars(select(BATTLE.c.id).where(HAS_CHOICE)).all()
    assert service.do("ada", "hide", item.key) == "Nothing to do: it's already so."
    service.do("ada", "show", item.key)
    assert item.id in items.bank().items
    assert [deed for _, deed, _ in acts(bank)] == ["showed an item again", "hid an item"]


@pytest.mark.locks_or_dialect
def test_uploads_are_kept_or_taken_down(bank, service, images):
    voter = BattleStore(bank).voter("owner")
    battle = live_vote(bank, voter)
    kept, other = bring(images, voter, battle, keep=True), bring(images, voter, battle, keep=True)
    private = bring(images, voter, battle, keep=False)
    with bank.read() as connection:
        number = {row.token: row.id for row in connection.execute(select(OWN_IMAGE))}
    assert images.kept_path(number[kept]) and images.kept_path(number[private]) is None
    service.do("ada", "keep", str(number[kept]))
    assert service.do("ada", "keep", str(number[kept])) == "Nothing to do: it's already so."
    service.do("ada", "take down", str(number[other]))
    assert images.path(voter, other) is None and images.path(voter, kept) is not None
    with pytest.raises(AdminCommandError, match="deleted already"):
        service.do("ada", "take down", str(number[other]))
    for upload in (str(number[private]), "999", "-1", "", "1e3", "²"):
        with pytest.raises(AdminCommandError):
            service.do("ada", "take down", upload)
        with pytest.raises(AdminCommandError):
            service.do("ada", "keep", upload)
    assert images.path(voter, private) is not None, (
        "what nobody may keep is not the operators' to look at"
    )
    assert [deed for _, deed, _ in acts(bank)] == ["took an upload down", "kept an upload"]


@pytest.mark.locks_or_dialect
def test_the_official_board_is_changed_at_once_and_recorded(bank, images, tmp_path):
    service = AdminService(bank, images, LOGGED_IN)
    choose_first_official(bank, LOGGED_IN, "everyone")
    board = Leaderboard(bank, VoteTable(bank), LOGGED_IN)
    assert board.choose("test", "single").votes == "everyone"
    page = page_of(watch(bank, tmp_path, **LOGIN).overview())
    assert (
        'name="order" value="official"><input type="hidden" name="about" value="counted">' in page
        and "the counted one (logged-in voters)" in page
    )
    service.do("ada", "official", "counted")
    assert board.choose("test", "single").votes == "counted", "without a restart"
    assert service.do("bob", "official", "counted") == "Nothing to do: it's already so."
    with pytest.raises(AdminCommandError, match="counted or everyone"):
        service.do("ada", "official", "guests")
    assert acts(bank) == [("ada", "made a board the official one", "counted")]
    board.close()


@pytest.mark.parametrize(
    ("environ", "told", "shown"),
    [
        ({**LOGIN, "COUNTS": "logged-in"}, "COUNTS sets the official board", "COUNTS sets it"),
        ({}, "There's only everyone's board", "There is only everyone's board"),
    ],
)
def test_the_official_board_is_not_changed_where_that_would_have_no_effect(
    bank, images, tmp_path, environ, told, shown
):
    who = Settings.from_env(environ).counted
    choose_first_official(bank, who, "everyone")
    with pytest.raises(AdminCommandError, match=told):
        AdminService(bank, images, who).do("ada", "official", "everyone")
    page = page_of(watch(bank, tmp_path, **environ).overview())
    assert shown in page and 'value="official"' not in page


def test_an_order_that_is_none_changes_nothing(bank, service):
    before = acts(bank)
    orders = ("", "delete everything", None, 7, ["pause"], {"path": "arena.db"})
    for order in orders:
        with pytest.raises(AdminCommandError):
            service.do("ada", order, "")
    for about in (None, 7, ["x"], {"path": "arena.db"}):
        with pytest.raises(AdminCommandError):
            service.do("ada", "hide", about)
    with pytest.raises(AdminCommandError, match="No item"):
        service.do("ada", "hide", "' OR 1=1 --")
    with pytest.raises(UnknownVoterError):
        service.do("ada", "forget", "ffff-ffff-ffff")
    assert acts(bank) == before == []
    check_pause(bank)


@pytest.mark.locks_or_dialect
def test_the_overview_tells_how_things_stand(bank, service, images, tmp_path):
    visitor = Visitor(bank, COOKIE)
    for _ in range(2):
        visitor.decide()
    visitor.reveal(visitor.vote(visitor.undo(visitor.vote(visitor.serve())), "b"))
    visitor.undo(visitor.vote(visitor.serve()))
    with bank.write() as connection:
        first = connection.scalars(select(BATTLE.c.id).where(HAS_CHOICE)).first()
        earlier = update(BATTLE).where(BATTLE.c.id == first)
        connection.execute(earlier.values(voted_at=now() - timedelta(days=2)))
        flag = {"voter_id": visitor.id, "reason": "LEFT", "strength": 5.25, "raised_at": now()}
        connection.execute(insert(VOTER_FLAG).values(review=EVERYONE_REVIEW, **flag))
    store = LiveStore(bank)
    store.register_models(["one", "two"])
    store.store_failures(
        [SideFailure("one", "cut"), SideFailure("two", "cut"), SideFailure("one", "down")]
    )
    bring(images, visitor.id, live_vote(bank, visitor.id), keep=True)
    service.do("ada", "pause", "")
    hub = FolderHub()
    hub.down = True
    backup = backup_of(bank, hub, tmp_path, timedelta(0))
    backup.change_log.open()
    backup._commit_waiting()
    seen = watch(bank, tmp_path, backup).overview()
    assert (
        list(seen.days)
        == [seen.read_at.date() - timedelta(days=ago) for ago in range(LEAST_DAYS)][::-1]
    )
    assert list(seen.days.values())[-3] == 1 and sum(seen.days.values()) == 4, (
        "three votes of the bank and a live one"
    )
    assert list(seen.failures.items()) == [("one", 2), ("two", 1)]
    (flagged,) = seen.flagged
    assert (flagged.voter, flagged.votes, len(flagged.latest)) == (visitor.id, 4, 4), (
        "a live vote among them"
    )
    assert flagged.flags[0].left_out and flagged.flags[0].strength == 5.25
    assert seen.paused_since and seen.uploads.unseen == 1 and seen.free_bytes > 0
    assert seen.copy is not None and seen.copy.waiting and seen.copy.problem
    assert [total.ceiling for total in seen.budgets.values()] == [20_000_000]
    page = page_of(seen)
    for told in (
        "Paused since",
        "Always chooses A. At most 1 in 100,000 honest voters ever looks like this.",
        "e-value 10^5.2, p at most 10^-5.2",
        "The copy is late",
        "$20.00",
        "/run/uploads/1",
    ):
        assert told in page


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("plain", "not needed, since the links name the workers"),
        ("login", "not needed, since workers log in"),
        ("mturk", "not uploaded. Until it is, no votes count and the pay sheet approves nobody"),
    ],
)
def test_a_campaign_asks_for_the_list_of_a_platform_that_has_one(bank, tmp_path, kind, told):
    service = watch(bank, tmp_path, OAUTH_CLIENT_ID="id", OAUTH_CLIENT_SECRET="secret")
    toml = f'name = "pilot"\nsource = "test"\nplatform = {{kind = "{kind}"}}\n'
    service.campaigns.make(
        "ada", f"{toml}stop = {{votes = 9}}\nseat = {{votes = 2, pay = 0}}".encode()
    )
    assert f"The platform's list of participants: {told}" in page_of(service.overview())


def test_forgetting_is_an_order_too(bank, service):
    visitor = Visitor(bank, COOKIE)
    visitor.decide()
    service.do("ada", "forget", code_of(COOKIE))
    assert visitor.store.votes_of(visitor.id) == 0
    assert acts(bank) == [("ada", "forgot a voter", "")]
