"""Run's view: the operators' page as HTML, with numbers and reasons in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

from arena.admin.actions import OperatorAction
from arena.admin.campaigns import CampaignStanding
from arena.admin.dashboard import FRESH, Dashboard
from arena.admin.flagged import FlaggedVoter
from arena.admin.moderation import found_items
from arena.admin.projects import NO_CEILING
from arena.budget import Total
from arena.drawings import counts_drawing, svg
from arena.fraud.detectors import CHECKS, OF_CROWD, TOGETHER, Suspicion
from arena.fraud.flags import FlagRow
from arena.interval_text import plus_minus
from arena.leaderboard.board_state import BoardHealth
from arena.plots import folded
from arena.ratings.settled import LOOK_EVERY
from arena.settings import SettingRead
from arena.sheets import as_html, plain_sheet
from arena.templates import macros, plural
from arena.web.backup_status import ago
from arena.web.leaderboard_view import COUNTED, VOTES_SHOWN
from arena.web.project_view import projects_html
from arena.web.run_forms import NOTHING_SENT, Said, SentForm
from arena.web.run_needs import copy_text, is_little, needs

HTML = macros("run.html")
PARTS = macros("parts.html")
MOST_FOUND = 20
"""Items of a search that are shown."""
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
    "forget": "Forget a visitor",
    "acts": "What operators did",
}
"""Titles of the sections by their places in the page."""
_UNSEEN = f"known from {LOOK_EVERY} votes on"
_BILLION = 9


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
    """What the page is made of."""

    seen: Dashboard
    boards: Sequence[BoardHealth] = ()
    settings: Sequence[SettingRead] = ()
    address: str = ""
    """Where this arena is reached, for the links of campaigns."""
    said: Said | None = None
    sent: SentForm = NOTHING_SENT
    wanted: str = ""
    """An item that is searched for, in anybody's words."""


def run_html(given: RunInputs) -> str:
    seen = given.seen
    health = _group("health", "Health", HEALTH, _health(given))
    work = _group("work", "Work", WORK, _work(given))
    titles = {**HEALTH, **WORK}
    urgent = [(need, titles[need.place]) for need in needs(seen, given.boards)]
    can_be_set_up = sum(not entry.is_there and not entry.is_urgent for entry in seen.checklist)
    groups = (health, work)
    return HTML.page(seen.read_at, urgent, can_be_set_up, _said(given.said, groups), groups)


def _said(said: Said | None, groups: Sequence[Group]) -> Said | None:
    """What a section says at its top; None where its form says it."""
    if said is None or not said.form:
        return said
    is_shown = any(f'id="{said.form}"' in part.html for group in groups for part in group.parts)
    return None if is_shown else said


def stranger_html(problem: str, by_link: bool) -> str:
    return HTML.stranger(problem, by_link)


def _group(place: str, title: str, titles: Mapping[str, str], parts: Mapping[str, str]) -> Group:
    return Group(place, title, [Part(name, titles[name], parts[name]) for name in titles])


def _health(given: RunInputs) -> dict[str, str]:
    seen = given.seen
    money = [(name, *_amounts(total)) for name, total in seen.budgets.items()]
    money_heads = ("Money for", "Today (UTC)", "Spent in all", "Reserved", "Limit")
    failures_head = f"Failures in {FRESH.days} days"
    settings = [(one.name, one.value, _origin(one)) for one in given.settings]
    board_heads = ("Board", "Votes", "Computed", "Compared with the stored votes")
    no_failure = f"No live model failed in the last {FRESH.days} days."
    return {
        "votes": _votes(seen),
        "boards": _table(board_heads, map(_board, given.boards), "No board has votes yet."),
        "copy": HTML.copy(seen, copy_text(seen), is_little(seen)),
        "queues": HTML.queues(
            _table(("Queue", "Waiting"), seen.queues.items(), "No queue."), _stopped(seen)
        ),
        "money": _table(money_heads, money, "No budget."),
        "live": HTML.live(
            seen, _table(("Live model", failures_head), seen.failures.items(), no_failure)
        ),
        "setup": HTML.setup(seen.checklist),
        "settings": HTML.settings(
            len(settings), _table(("Variable", "Value", "From"), settings, "None.")
        ),
    }


def _work(given: RunInputs) -> dict[str, str]:
    seen = given.seen
    campaigns = [_campaign(one, seen, given.address) for one in seen.campaigns]
    hidden = {item.key for item in seen.hidden}
    found = [item for item in found_items(seen.bank, given.wanted) if item.key not in hidden]
    first = found[:MOST_FOUND]
    keys = {item.key for item in seen.bank.items.values()}
    return {
        "campaigns": HTML.campaigns(campaigns, given.sent),
        "projects": projects_html(
            seen.projects, seen.links, given.address, keys - hidden, given.sent
        ),
        "official": HTML.official(seen, COUNTED.get(seen.counted.rule)),
        "flagged": HTML.flagged([_flagged(one) for one in seen.flagged], seen.all_flagged, hidden),
        "items": HTML.items(given.wanted, first, len(found) - len(first), seen.hidden),
        "images": HTML.images(seen.uploads),
        "forget": HTML.forget(given.sent),
        "acts": _acts(seen.acts),
    }


def _table(heads: Sequence[str], rows: Iterable[Iterable[object]], nothing: str) -> str:
    """A table, or the words that there is nothing in it."""
    sheet = plain_sheet(heads[0].lower(), heads[0], heads, rows, scrolls=True)
    return as_html(sheet) or PARTS.empty(nothing)


def _amounts(total: Total) -> list[str]:
    *amounts, limit = (f"${amount / 1e6:,.2f}" for amount in total)
    return [*amounts, "each project's own" if total.ceiling == NO_CEILING else limit]


def _origin(setting: SettingRead) -> str:
    return "environment" if setting.is_set else "default"


def _stopped(seen: Dashboard) -> str:
    if not seen.stopped:
        return ""
    rows = ((f"{job.begun:%Y-%m-%d %H:%M}", job.model, job.problem) for job in seen.stopped)
    return _table(("Started (UTC)", "Judge", "Why it stopped"), rows, "")


def _acts(acts: Sequence[OperatorAction]) -> str:
    rows = ((f"{act.done_at:%Y-%m-%d %H:%M:%S}", act.who, act.deed, act.about) for act in acts)
    return _table(("When (UTC)", "Who", "What", "About"), rows, "Nothing yet.")


def _votes(seen: Dashboard) -> str:
    days = [day.isoformat() for day in seen.days]
    counts = list(seen.days.values())
    told = (
        f"{plural(sum(counts), 'vote')} in the last {len(days)} days, {counts[-1]:,} today (UTC)."
    )
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
    width = _UNSEEN if one.half_width is None else f"{plus_minus(one.half_width)} points"
    rows = [
        ("Votes", _campaign_votes(one)),
        ("Pairs of answers with all their votes", f"{one.full:,} of {one.tuples:,}"),
        ("Workers", workers or "none yet"),
        ("Neighbours on the board with a clear lead", settled),
        ("Average 95% interval", width),
    ]
    shown = rows if not one.problem else rows[2:3]
    return one, f"{address}{path}" if path else "", _table(("Progress", "So far"), shown, "")


def _campaign_votes(one: CampaignStanding) -> str:
    pending = f", {one.pending:,} waiting for the platform's list" if one.pending else ""
    return f"{one.votes:,} of {one.wanted:,}{pending}"


def _board(one: BoardHealth) -> tuple[str | int, ...]:
    whose = VOTES_SHOWN["everyone"] if one.key.everyone else ""
    flagged = "" if one.key.unflagged else ", flagged voters too"
    images = "several pictures" if one.key.multi else "one picture"
    return (
        f"{one.source}, {images}{whose}{flagged}",
        one.votes,
        "failed" if one.problem else _computed(one),
        one.problem or _compared(one),
    )


def _computed(one: BoardHealth) -> str:
    if one.computed is None:
        return "now" if one.waits else "not yet"
    return f"{ago(one.computed)} ago{', renewing now' if one.waits else ''}"


def _compared(one: BoardHealth) -> str:
    if one.key.kind == "imported":
        return "not needed: imported"
    if one.checked is None:
        return "not yet"
    differed = f"differed {plural(one.mended, 'time')}, read again"
    return f"{differed if one.mended else 'the same'}, {ago(one.checked)} ago"


class Reason(NamedTuple):
    """Why a voter is flagged."""

    what: str
    plain: str
    """How strong the reason is, in words."""
    exact: str
    """The same in the unit of its test."""
    since: str


def _flagged(one: FlaggedVoter) -> tuple[FlaggedVoter, list[Reason], str]:
    state = "counted: one weak reason"
    if one.flags[0].left_out:
        state = "left off the boards"
    elif any(flag.reason in OF_CROWD for flag in one.flags):
        state = "counted, but for votes about one model"
    return one, list(map(_reason, one.flags)), state


def _reason(flag: FlagRow) -> Reason:
    what = f"{flag.reason}: {flag.model}" if flag.model else str(flag.reason)
    plain, exact = _strength(flag)
    return Reason(what[0].upper() + what[1:], plain, exact, f"{flag.raised_at:%Y-%m-%d %H:%M}")


def _strength(flag: FlagRow) -> tuple[str, str]:
    """Say how strong a reason is, in words and in the unit of its test."""
    strength = flag.strength
    if flag.reason is Suspicion.ONE_SIDED:
        p = 2 * (1 - NormalDist().cdf(strength))
        exact = f"{strength:.1f} standard errors from half, p = {p:.1g}"
        return "A fair coin rarely goes so far to one side.", exact
    if flag.reason is Suspicion.HASTY:
        return f"{strength:.0%} of the votes came too fast.", f"share {strength:.2f}"
    if flag.reason is Suspicion.INATTENTIVE:
        return f"{strength:.0%} of the last {CHECKS} failed.", f"share {strength:.2f}"
    times = _times(strength)
    if flag.reason in TOGETHER:
        plain = f"All their votes together fit this {times} times better than honest votes."
        return plain, f"likelihood ratio 10^{strength:.1f}"
    plain = f"At most 1 in {times} honest voters ever looks like this."
    return plain, f"e-value 10^{strength:.1f}, p at most 10^-{strength:.1f}"


def _times(power: float) -> str:
    """Return a power of ten in words, with one digit that counts."""
    if power >= _BILLION:
        return "a billion"
    number = 10**power
    unit = 10 ** int(power)
    return f"{max(1, int(number / unit)) * unit:,}"


def places() -> Iterator[str]:
    """Yield the sections that a form may come back to."""
    yield "needs"
    yield from HEALTH
    yield from WORK
