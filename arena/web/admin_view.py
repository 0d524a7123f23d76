"""Operators' view: the dashboard as HTML, with numbers and reasons in words."""

from collections.abc import Sequence
from statistics import NormalDist

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
from arena.sheets import plain_sheet
from arena.templates import macros, plural
from arena.web.backup_status import ago, is_late
from arena.web.leaderboard_view import COUNTED, VOTES_SHOWN
from arena.web.project_view import projects_html

HTML = macros("admin.html")
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
    money = [
        (name, *(f"${amount / 1e6:,.2f}" for amount in total))
        for name, total in seen.budgets.items()
    ]
    parts = (
        HTML.checklist(seen.checklist),
        _votes(seen),
        HTML.boards([_board(one) for one in boards]),
        HTML.copy(seen, copied, late),
        HTML.running(
            seen,
            money,
            [(name, f"{number:,}") for name, number in seen.failures.items()],
            [(f"{job.begun:%Y-%m-%d %H:%M}", job.model, job.problem) for job in seen.stopped],
        ),
        HTML.flagged([_flagged(one) for one in seen.flagged], seen.all_flagged),
        HTML.campaigns([_campaign(one, seen, address) for one in seen.campaigns]),
        projects_html(seen.projects, seen.links, address),
        HTML.official(seen, COUNTED.get(seen.who.rule)),
        HTML.moderation(seen),
        HTML.settings(
            [(one.name, one.value, "environment" if one.given else "default") for one in settings]
        ),
        HTML.acts(
            [
                (f"{act.done_at:%Y-%m-%d %H:%M:%S}", act.who, act.deed, act.about)
                for act in seen.acts
            ]
        ),
    )
    return HTML.dashboard(seen.read_at, parts)


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
) -> tuple[CampaignStanding, str, Sequence[tuple]]:
    """A campaign, its link and how far it is, as rows of a table."""
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
    return one, f"{address}{path}" if path else "", rows if not one.problem else rows[2:3]


def _campaign_votes(one: CampaignStanding) -> str:
    pending = f", {one.pending:,} waiting for the platform's list" if one.pending else ""
    return f"{one.votes:,} of {one.wanted:,}{pending}"


def _board(one: BoardHealth) -> tuple[str, ...]:
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
        f"{one.votes:,}",
        computed,
        f"bank {one.bank}, flags {one.flags}",
        f"failed: {one.problem}"
        if one.problem
        else "not needed: imported"
        if one.key.kind == "imported"
        else check,
    )


def _flagged(one: FlaggedVoter) -> tuple[FlaggedVoter, list[tuple[str, str, str]], str, list[str]]:
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
    return one, reasons, state, [f"{vote.seconds:,.0f} s" for vote in one.latest]


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
