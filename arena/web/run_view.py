"""Run's view: the operators' page as HTML."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from arena.admin.actions import OperatorAction
from arena.admin.campaigns import CampaignStanding
from arena.admin.dashboard import FRESH, Dashboard
from arena.admin.flagged import FlaggedVoter
from arena.admin.moderation import find_items
from arena.admin.projects import NO_CEILING
from arena.budget import Total
from arena.drawings import counts_drawing, svg
from arena.fraud.detectors import CHECKS, CROWD_REASONS, GROUP_REASONS, Suspicion
from arena.fraud.flags import FlagRow
from arena.interval_text import plus_minus
from arena.leaderboard.board_state import BoardHealth
from arena.plots import folded_html
from arena.ratings.settled import LOOK_EVERY
from arena.settings import CountRule, SettingValue
from arena.sheets import as_html, plain_sheet
from arena.templates import macros, plural
from arena.web.backup_status import ago
from arena.web.leaderboard_view import counted_voters, title_voters
from arena.web.project_view import projects_html
from arena.web.run_forms import NOTHING_SENT, Notice, SentForm
from arena.web.run_needs import copy_text, is_disk_almost_full, needs

HTML = macros("run.html")
PARTS = macros("parts.html")
MOST_FOUND = 20
"""The number of matches that a search for items lists."""
HEALTH: Mapping[str, str] = {
    "votes": "Votes by day",
    "boards": "Boards",
    "copy": "Copy and disk",
    "queues": "Queues",
    "money": "Money",
    "live": "Live models",
    "setup": "Setup",
    "settings": "Settings",
}
WORK: Mapping[str, str] = {
    "campaigns": "Campaigns",
    "projects": "Items that people write",
    "official": "Official board",
    "flagged": "Flagged voters",
    "items": "Items",
    "images": "Visitors' images",
    "reports": "Published reports",
    "forget": "Forget a visitor",
    "acts": "Operators' actions",
}
"""HEALTH, WORK: titles of the sections by their places in the page."""
_UNSEEN = f"known after {LOOK_EVERY} votes"
_POWER_OF_BILLION = 9
_LEAST_P = 1e-300
"""Below this, p has ever fewer digits, and at last it is 0."""


class Part(NamedTuple):
    """A section of the page."""

    place: str
    title: str
    html: str


class Group(NamedTuple):
    """Sections under one heading."""

    place: str
    title: str
    parts: Sequence[Part]


class RunInputs(NamedTuple):
    """The data of the page."""

    dashboard: Dashboard
    boards: Sequence[BoardHealth] = ()
    settings: Sequence[SettingValue] = ()
    address: str = ""
    """The site's address, for the links of campaigns."""
    notice: Notice | None = None
    sent: SentForm = NOTHING_SENT
    wanted: str = ""
    """The words of a search for items."""


def run_html(inputs: RunInputs) -> str:
    dashboard = inputs.dashboard
    health = _group("health", "Health", HEALTH, _health(inputs))
    work = _group("work", "Work", WORK, _work(inputs))
    titles = {**HEALTH, **WORK}
    urgent = [(need, titles[need.place]) for need in needs(dashboard, inputs.boards)]
    optional_count = sum(
        not entry.is_there and not entry.is_urgent for entry in dashboard.checklist
    )
    groups = (health, work)
    return HTML.page(
        dashboard.read_at, urgent, optional_count, _section_notice(inputs.notice, groups), groups
    )


def _section_notice(notice: Notice | None, groups: Sequence[Group]) -> Notice | None:
    """Returns the notice for the top of a section; None if the form that it is about is on the page and shows it."""
    if notice is None or not notice.form_anchor:
        return notice
    page = "".join(part.html for group in groups for part in group.parts)
    return None if f'id="{notice.form_anchor}"' in page else notice


def stranger_html(problem: str, by_link: bool) -> str:
    return HTML.stranger(problem, by_link)


def _group(place: str, title: str, titles: Mapping[str, str], parts: Mapping[str, str]) -> Group:
    return Group(place, title, [Part(name, titles[name], parts[name]) for name in titles])


def _health(inputs: RunInputs) -> dict[str, str]:
    dashboard = inputs.dashboard
    board_heads = ("Board", "Votes", "Computed", "Compared with the stored votes")
    boards = _table(board_heads, map(_board, inputs.boards), "No board has votes yet.")
    queues = _table(("Queue", "Waiting"), dashboard.queues.items(), "No queue.")
    money_heads = ("Money for", "Today (UTC)", "Total spent", "Reserved", "Limit")
    amounts = [(name, *_amounts(total)) for name, total in dashboard.budgets.items()]
    failure_heads = ("Live model", f"Failures in {FRESH.days} days")
    no_failure = f"No live model failed in the last {FRESH.days} days."
    failures = _table(failure_heads, dashboard.failures.items(), no_failure)
    values = [(setting.name, setting.value, _origin(setting)) for setting in inputs.settings]
    settings = _table(("Variable", "Value", "From"), values, "None.")
    return {
        "votes": _votes(dashboard),
        "boards": boards,
        "copy": HTML.copy(dashboard, copy_text(dashboard), is_disk_almost_full(dashboard)),
        "queues": HTML.queues(queues, _stopped(dashboard)),
        "money": _table(money_heads, amounts, "No budget."),
        "live": HTML.live(dashboard, failures),
        "setup": HTML.setup(dashboard.checklist),
        "settings": HTML.settings(len(values), settings),
    }


def _work(inputs: RunInputs) -> dict[str, str]:
    dashboard = inputs.dashboard
    campaigns = [_campaign(standing, dashboard, inputs.address) for standing in dashboard.campaigns]
    hidden = {item.key for item in dashboard.hidden}
    in_bank = {item.key for item in dashboard.bank.items.values()}
    projects = projects_html(
        dashboard.projects, dashboard.links, inputs.address, in_bank - hidden, inputs.sent
    )
    matches = [item for item in find_items(dashboard.bank, inputs.wanted) if item.key not in hidden]
    first = matches[:MOST_FOUND]
    flagged = [_flagged(voter) for voter in dashboard.flagged]
    return {
        "campaigns": HTML.campaigns(campaigns, inputs.sent),
        "projects": projects,
        "official": HTML.official(dashboard, _counted_voters(dashboard.counted.rule)),
        "flagged": HTML.flagged(flagged, dashboard.all_flagged, hidden),
        "items": HTML.items(inputs.wanted, first, len(matches) - len(first), dashboard.hidden),
        "images": HTML.images(dashboard.uploads),
        "reports": HTML.reports(inputs.sent),
        "forget": HTML.forget(inputs.sent),
        "acts": _acts(dashboard.acts),
    }


def _counted_voters(rule: CountRule) -> str | None:
    """Returns the voters of the counted board, in words; None if there is only everyone's board."""
    return None if rule == "everyone" else counted_voters(rule)


def _table(heads: Sequence[str], rows: Iterable[Iterable[object]], nothing: str) -> str:
    """Returns a table, or the sentence `nothing` if it has no rows."""
    sheet = plain_sheet(heads[0].lower(), heads[0], heads, rows, scrolls=True)
    return as_html(sheet) or PARTS.empty(nothing)


def _amounts(total: Total) -> list[str]:
    """Returns the cells of a budget's row, in dollars."""
    limit = _dollars(total.ceiling)
    if total.ceiling == NO_CEILING:
        limit = "each project's own"
    return [_dollars(total.today), _dollars(total.spent), _dollars(total.held), limit]


def _dollars(millionths: int) -> str:
    return f"${millionths / 1e6:,.2f}"


def _origin(setting: SettingValue) -> str:
    return "environment" if setting.is_set else "default"


def _stopped(dashboard: Dashboard) -> str:
    if not dashboard.stopped:
        return ""
    rows = ((f"{job.begun:%Y-%m-%d %H:%M}", job.model, job.problem) for job in dashboard.stopped)
    return _table(("Started (UTC)", "Judge", "Why it stopped"), rows, "")


def _acts(acts: Sequence[OperatorAction]) -> str:
    rows = ((f"{act.done_at:%Y-%m-%d %H:%M:%S}", act.who, act.deed, act.about) for act in acts)
    return _table(("When (UTC)", "Who", "What", "About"), rows, "Nothing yet.")


def _votes(dashboard: Dashboard) -> str:
    days = [day.isoformat() for day in dashboard.days]
    counts = list(dashboard.days.values())
    summary = (
        f"{plural(sum(counts), 'vote')} in the last {len(days)} days, {counts[-1]:,} today (UTC)."
    )
    drawing = counts_drawing("Votes by day", summary, days, counts)
    rows = list(zip(days, counts, strict=True))[::-1]
    table = plain_sheet("votes-by-day", "Votes by day", ("Day (UTC)", "Votes"), rows)
    return HTML.votes(summary, svg(drawing, "votes-by-day"), folded_html(table))


class CampaignPart(NamedTuple):
    """A campaign with its link for all, if any, and its progress as a table."""

    standing: CampaignStanding
    link: str
    progress: str


def _campaign(standing: CampaignStanding, dashboard: Dashboard, address: str) -> CampaignPart:
    path = dashboard.links.get(standing.campaign.name)
    workers = ", ".join(f"{number:,} {state}" for state, number in sorted(standing.states.items()))
    settled = f"{standing.settled} of {standing.neighbours}" if standing.neighbours else _UNSEEN
    width = _UNSEEN if standing.half_width is None else f"{plus_minus(standing.half_width)} points"
    workers_row = ("Workers", workers or "none yet")
    rows = [
        ("Votes", _campaign_votes(standing)),
        ("Pairs of answers with all their votes", f"{standing.full:,} of {standing.tuples:,}"),
        workers_row,
        ("Neighbours on the board with a clear lead", settled),
        ("Average 95% interval", width),
    ]
    # Without the votes' numbers, only the workers are known.
    progress = _table(("Progress", "So far"), [workers_row] if standing.problem else rows, "")
    return CampaignPart(standing, f"{address}{path}" if path else "", progress)


def _campaign_votes(standing: CampaignStanding) -> str:
    pending = f", {standing.pending:,} waiting for the platform's list" if standing.pending else ""
    return f"{standing.votes:,} of {standing.wanted:,}{pending}"


def _board(board: BoardHealth) -> tuple[str | int, ...]:
    """Returns a board's row: its name, votes, age, and whether it equals the stored votes."""
    images = "several pictures" if board.key.multi else "one picture"
    voters = title_voters("everyone") if board.key.everyone else ""
    flagged = "" if board.key.unflagged else ", flagged voters too"
    return (
        f"{board.source}, {images}{voters}{flagged}",
        board.votes,
        "failed" if board.problem else _computed(board),
        board.problem or _compared(board),
    )


def _computed(board: BoardHealth) -> str:
    if board.computed is None:
        return "now" if board.is_waiting else "not yet"
    renewing = ", updating now" if board.is_waiting else ""
    return f"{ago(board.computed)} ago{renewing}"


def _compared(board: BoardHealth) -> str:
    if board.key.kind == "imported":
        return "not needed: imported"
    if board.checked is None:
        return "not yet"
    result = "the same"
    if board.mended:
        result = f"differed {plural(board.mended, 'time')}, read again"
    return f"{result}, {ago(board.checked)} ago"


class Reason(NamedTuple):
    """The reason why a voter is flagged."""

    title: str
    plain: str
    """The strength of the reason, in words."""
    exact: str
    """The strength in the unit of its test."""
    since: str


class FlaggedPart(NamedTuple):
    """A flagged voter with the reasons of the flags."""

    voter: FlaggedVoter
    reasons: Sequence[Reason]
    state: str
    """The votes that count, in words."""


def _flagged(voter: FlaggedVoter) -> FlaggedPart:
    crowd_models = {flag.model for flag in voter.flags if flag.reason in CROWD_REASONS}
    state = "counted: one weak reason"
    if voter.flags[0].left_out:
        state = "left off the boards"
    elif crowd_models:
        state = f"counted, except votes about {plural(len(crowd_models), 'model')}"
    return FlaggedPart(voter, list(map(_reason, voter.flags)), state)


def _reason(flag: FlagRow) -> Reason:
    title = f"{flag.reason}: {flag.model}" if flag.model else str(flag.reason)
    plain, exact = _strength(flag)
    return Reason(title[0].upper() + title[1:], plain, exact, f"{flag.raised_at:%Y-%m-%d %H:%M}")


def _strength(flag: FlagRow) -> tuple[str, str]:
    """Returns the strength of a reason, in words and in the unit of its test."""
    strength = flag.strength
    if flag.reason is Suspicion.ONE_SIDED:
        p = math.erfc(strength / math.sqrt(2))  # both tails of the normal distribution
        p_text = f"p = {p:.1g}" if p > _LEAST_P else f"p < {_LEAST_P}"
        exact = f"{strength:.1f} standard errors from half, {p_text}"
        return "A fair coin rarely lands so far to one side.", exact
    if flag.reason is Suspicion.HASTY:
        return f"{strength:.0%} of the votes came too fast.", f"share {strength:.2f}"
    if flag.reason is Suspicion.INATTENTIVE:
        return f"{strength:.0%} of the last {CHECKS} failed.", f"share {strength:.2f}"
    times = _times(strength)
    if flag.reason in GROUP_REASONS:
        plain = f"All their votes together fit this {times} times better than honest votes."
        return plain, f"likelihood ratio 10^{strength:.1f}"
    plain = f"At most 1 in {times} honest voters ever looks like this."
    return plain, f"e-value 10^{strength:.1f}, p at most 10^-{strength:.1f}"


def _times(power: float) -> str:
    """Returns 10 to this power in words, rounded down to one significant digit."""
    if power >= _POWER_OF_BILLION:
        return "a billion"
    number = 10**power
    unit = 10 ** int(power)
    return f"{max(1, int(number / unit)) * unit:,}"


def places() -> Iterator[str]:
    """Yields the sections that a form may return to."""
    yield "needs"
    yield from HEALTH
    yield from WORK
