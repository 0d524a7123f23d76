"""Operators' view: the dashboard as HTML, with numbers and reasons in words."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import NormalDist
from typing import NamedTuple
from urllib.parse import quote

from arena.admin.actions import OperatorAction
from arena.admin.campaigns import CampaignStanding
from arena.admin.dashboard import Dashboard
from arena.admin.flagged import FlaggedVoter
from arena.drawings import counts_drawing, svg
from arena.fraud.detectors import CHECKS, OF_CROWD, TOGETHER, Suspicion
from arena.fraud.flags import FlagRow
from arena.interval_text import plus_minus
from arena.leaderboard.board_state import BoardHealth
from arena.plots import folded
from arena.ratings.settled import LOOK_EVERY
from arena.settings import SettingRead
from arena.sheets import Column, Sheet, as_html, frame_of, plain_sheet
from arena.templates import macros, plural
from arena.web.backup_status import ago, is_late
from arena.web.leaderboard_view import COUNTED, VOTES_SHOWN
from arena.web.project_view import projects_html

HTML = macros("admin.html")
PARTS = macros("parts.html")
_UNSEEN = f"known from {LOOK_EVERY} votes on"


def dashboard_html(
    seen: Dashboard,
    boards: Sequence[BoardHealth],
    settings: Sequence[SettingRead],
    address: str = "",
) -> str:
    """`address`: where this arena is reached, for the links of campaigns."""
    copied = "nothing yet"
    if seen.copy and seen.copy.copied_at:
        copied = f"all until {ago(seen.read_at - seen.copy.copied_at)} ago"
    late = seen.copy is not None and is_late(seen.copy, seen.read_at)
    parts = (
        HTML.checklist(seen.checklist),
        _votes(seen),
        HTML.boards(_boards(boards)),
        HTML.copy(seen, copied, late),
        HTML.running(seen, *_running(seen)),
        HTML.flagged([_flagged(one) for one in seen.flagged], seen.all_flagged),
        HTML.campaigns([_campaign(one, seen, address) for one in seen.campaigns]),
        projects_html(seen.projects, seen.links, address),
        HTML.official(seen, COUNTED.get(seen.who.rule)),
        HTML.moderation(seen),
        HTML.settings(len(settings), _settings(settings)),
        HTML.acts(_acts(seen.acts)),
    )
    return HTML.dashboard(seen.read_at, parts)


def _table(name: str, heads: Sequence[str], rows: Iterable[Iterable[object]], nothing: str) -> str:
    """A table under its name, or the words that there is nothing in it."""
    sheet = plain_sheet(name.lower(), name, heads, rows, scrolls=True)
    return as_html(sheet) or PARTS.empty(nothing)


def _running(seen: Dashboard) -> Iterator[str]:
    """Yield the tables of what waits, what it costs, and what failed."""
    yield _table("Queues", ("Queue", "Waiting"), seen.queues.items(), "None.")
    money = (
        (name, *(f"${amount / 1e6:,.2f}" for amount in total))
        for name, total in seen.budgets.items()
    )
    heads = ("Money for", "Today (UTC)", "In all", "On its way", "At most in all")
    yield _table("Money", heads, money, "None.")
    stopped = ((f"{job.begun:%Y-%m-%d %H:%M}", job.model, job.problem) for job in seen.stopped)
    yield _table("Stopped jobs", ("Begun (UTC)", "Judge", "Why"), stopped, "None.")
    heads = ("Live model", "Failures")
    yield _table("Live models", heads, seen.failures.items(), "No live model has failed.")


def _boards(boards: Sequence[BoardHealth]) -> str:
    heads = ("Board", "Votes", "Computed", "Of versions", "Self-check")
    return _table("Boards", heads, map(_board, boards), "No board has votes yet.")


def _settings(settings: Sequence[SettingRead]) -> str:
    rows = ((one.name, one.value, "environment" if one.given else "default") for one in settings)
    return _table("Settings", ("Variable", "Value", "From"), rows, "None.")


def _acts(acts: Sequence[OperatorAction]) -> str:
    rows = ((f"{act.done_at:%Y-%m-%d %H:%M:%S}", act.who, act.deed, act.about) for act in acts)
    return _table("Acts", ("When (UTC)", "Who", "What", "About"), rows, "Nothing yet.")


def _votes(seen: Dashboard) -> str:
    days = [day.isoformat() for day in seen.days]
    counts = list(seen.days.values())
    told = f"{plural(sum(counts), 'vote')} in the last {len(days)} days, {counts[-1]:,} of them today (UTC)."
    drawing = counts_drawing("Votes by day", told, days, counts)
    rows = list(zip(days, counts, strict=True))[::-1]
    table = plain_sheet("votes-by-day", "Votes by day", ("Day (UTC)", "Votes"), rows)
    return HTML.votes(told, svg(drawing, "votes-by-day"), folded(table))


def _campaign(
    one: CampaignStanding, seen: Dashboard, address: str
) -> tuple[CampaignStanding, str, str]:
    """A campaign, its link and how far it is, as a table."""
    path = seen.links.get(one.campaign.name)
    workers = ", ".join(f"{number:,} {state}" for state, number in sorted(one.states.items()))
    settled = f"{one.settled} of {one.neighbours}" if one.neighbours else _UNSEEN
    rows = [
        ("Votes", _campaign_votes(one)),
        ("Tuples with all their votes", f"{one.full:,} of {one.tuples:,}"),
        ("Workers", workers or "none yet"),
        ("Settled orders of neighbours", settled),
        (
            "Mean half width of the 95% intervals",
            f"{plus_minus(one.half_width)} points" if one.half_width is not None else _UNSEEN,
        ),
    ]
    known = rows if not one.problem else rows[2:3]
    table = _table("How far it is", ("What", "So far"), known, "")
    return one, f"{address}{path}" if path else "", table


def _campaign_votes(one: CampaignStanding) -> str:
    pending = f", {one.pending:,} waiting for the platform's list" if one.pending else ""
    return f"{one.votes:,} of {one.wanted:,}{pending}"


def _board(one: BoardHealth) -> tuple[str | int, ...]:
    whose = VOTES_SHOWN["everyone"] if one.key.everyone else ""
    flagged = "" if one.key.unflagged else ", flagged voters too"
    computed = "being computed" if one.waits else "not yet"
    if one.computed is not None:
        computed = f"{ago(one.computed)} ago{', being renewed' if one.waits else ''}"
    check = "none yet"
    if one.checked is not None:
        differed = f"differed {plural(one.mended, 'time')} and were read anew"
        check = (
            f"counts {differed if one.mended else 'equal the stored votes'}, {ago(one.checked)} ago"
        )
    return (
        f"{one.source}, {'several pictures' if one.key.multi else 'one picture'}{whose}{flagged}",
        one.votes,
        computed,
        f"bank {one.bank}, flags {one.flags}",
        f"failed: {one.problem}"
        if one.problem
        else "not needed: imported"
        if one.key.kind == "imported"
        else check,
    )


def _flagged(one: FlaggedVoter) -> tuple[FlaggedVoter, list[tuple[str, str, str]], str, str]:
    reasons = [
        (
            f"{flag.reason}: {flag.model}" if flag.model else str(flag.reason),
            _evidence(flag),
            f"{flag.raised_at:%Y-%m-%d %H:%M}",
        )
        for flag in one.flags
    ]
    state = "counted: one weak reason"
    if one.flags[0].left_out:
        state = "left out"
    elif any(flag.reason in OF_CROWD for flag in one.flags):
        state = "counted, but for votes about one model"
    return one, reasons, state, as_html(_latest(one))


class LatestVote(NamedTuple):
    """A vote of a flagged voter."""

    at: str
    item: str
    address: str
    chose: str
    over: str
    after: str


def _latest(one: FlaggedVoter) -> Sheet:
    rows = [
        LatestVote(
            at=f"{vote.voted_at:%Y-%m-%d %H:%M:%S}",
            item=(vote.instruction or "")[:60] if vote.item else "own pictures",
            address=f"item/{quote(vote.item)}" if vote.item else "",
            chose=f"{vote.choice.upper()}: {vote.winner}",
            over=vote.loser,
            after=f"{vote.seconds:,.0f} s",
        )
        for vote in one.latest
    ]
    columns = (
        Column("at", "When (UTC)"),
        Column("item", "Item", href="address"),
        Column("chose", "Chose"),
        Column("over", "Over"),
        Column("after", "After"),
    )
    return Sheet("latest", "Latest votes", frame_of(LatestVote, rows), columns, scrolls=True)


def _evidence(flag: FlagRow) -> str:
    """Say how strong a reason is, in the unit of its test."""
    strength = flag.strength
    if flag.reason is Suspicion.ONE_SIDED:
        p = 2 * (1 - NormalDist().cdf(strength))
        return f"{strength:.1f} standard errors from half, p = {p:.1g}"
    if flag.reason is Suspicion.HASTY:
        return f"in {strength:.0%} of the votes"
    if flag.reason is Suspicion.INATTENTIVE:
        return f"{strength:.0%} of the last {CHECKS} failed"
    if flag.reason in TOGETHER:
        return f"likelihood ratio of all of them 10^{strength:.1f}"
    return f"e-value 10^{strength:.1f}, p at most 10^-{strength:.1f}"
