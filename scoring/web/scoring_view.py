"""Jobs on "Score a model": the price to agree to, a job's progress, and the user's reports."""

from collections.abc import Sequence

from arena.database import now
from arena.templates import macros, plural
from arena.web.backup_status import ago
from scoring.jobs.store import KEPT_FREE, Job, Jobs
from scoring.registry import benchmark_of

SCORING = macros("scoring.html")
STATE_WORDS = {
    "quoted": "not started",
    "waiting": "waiting",
    "judging": "being judged",
    "needs_key": "needs its key",
    "done": "done",
    "failed": "stopped",
    "cancelled": "cancelled",
}

_OF_SECRETS = ("compare", "sealed")
"""Ways of judging texts that the owner may not read, nor learn the length of."""


def quote_html(job: Job, ceiling: float) -> str:
    """Returns the cost of judging, if the page has not shown it before; the operator's judge stops at `ceiling` US
    dollars."""
    quote = job.quote
    if quote.dollars is None or quote.most_dollars is None:
        price = "Its price is not in the table, so the cost is unknown: your account at the judge is the limit."
    elif quote.dollars == 0:
        price = "It costs nothing."
    else:
        most = quote.most_dollars if job.own_key else min(quote.most_dollars, ceiling)
        if benchmark_of(job).way in _OF_SECRETS and not job.own_key:
            most = ceiling  # the lengths of answers would reveal their models
        stop = "; calls that fail come on top." if job.own_key else ": there it stops."
        price = SCORING.price(f"${quote.dollars:,.2f}", f"at most ${most:,.2f}{stop}")
    form = benchmark_of(job)
    grades = plural(quote.grades, form.unit)
    sent = f": about {_tokens(quote.prompt_tokens)} tokens sent, {_tokens(quote.completion_tokens)} received"
    if form.way in _OF_SECRETS:
        grades = f"{plural(quote.grades // 2, 'pair')} x 2 orders = {grades}"
        sent = ""
    cached = (
        f" Replies that are here already, at no cost: {quote.cached:,}." if quote.cached else ""
    )
    return SCORING.quote(
        plural(quote.calls, "call"), f"to {job.model} for {grades}{sent}.{cached}", price
    )


def waits_text(job: Job | None, jobs: Jobs) -> str:
    """Returns the reason why a job waits and until when; empty if it goes on."""
    if job is None or job.state not in ("waiting", "judging"):
        return ""
    if job.state == "judging":
        return job.problem
    return _turn_text(jobs.ahead(job.link), jobs.judged(job.own_key))


def _turn_text(ahead: int, judged: Sequence[Job]) -> str:
    """Returns the time of a waiting job's turn; `judged` are the jobs that have the places."""
    turn = f"{ahead} ahead of yours" if ahead else "next"
    if not judged:
        return turn
    known = [seconds for seconds in map(_seconds_left, judged) if seconds is not None]
    free = f"in {_duration(min(known))}" if known else "when one of the jobs under way ends"
    return f"{turn}; a place is free {free}"


def progress_html(job: Job, waits: str, first: Sequence[tuple[str, str]]) -> str:
    """Returns a job's progress and the reason why it `waits`, with the outcomes of its `first` questions."""
    if not job.model:
        expiry = [f"Kept until {job.finished + KEPT_FREE:%Y-%m-%d}."] if job.finished else []
        return SCORING.progress(job, "read by rules alone", None, expiry, ())
    host = "" if job.own_key else " If it stops again, tell whoever runs this site."
    words = {
        "waiting": f"Waiting: {waits}.",
        "judging": f"It waits {waits}." if waits else _pace(job),
        "needs_key": "The server was restarted and keeps no keys: give yours again to go on. What is judged stays.",
        "failed": f"It stopped: {job.problem.rstrip('.')}. What is judged stays; Go on asks for the rest, "
        f"or begins anew with another judge, whom you choose under Details.{host}",
        "cancelled": "Cancelled. What is judged stays; it can go on from here.",
    }.get(job.state, "")
    share = job.done / job.total if job.total else 0
    text = f"{job.done:,} of {plural(job.total, benchmark_of(job).unit)}. {words}"
    cost = job.quote.dollars or 0
    used = (
        f"About ${cost * share:,.2f} of ${cost:,.2f} used."
        if share < 1
        else f"It cost about ${cost:,.2f}."
    )
    return SCORING.progress(
        job, STATE_WORDS[job.state], share, [text, *([used] if cost else [])], first
    )


def mine_html(jobs: Sequence[Job], waits: str) -> str:
    """Returns the user's reports and jobs, the newest first, except jobs that were never started.

    `waits` is the reason why the job under way waits; there is one such job at most.
    """
    words = {**STATE_WORDS, "waiting": f"waiting: {waits}"}
    if waits:
        words["judging"] = f"waits {waits}"
    listed = []
    for job in jobs:
        if job.state == "quoted":
            continue
        judge = job.model or "rules alone"
        about = (job.benchmark_name, judge, f"{ago(now() - job.created)} ago")
        listed.append((job, job.score or words[job.state], about))
    return SCORING.mine(listed, followed(jobs) is not None)


def followed(jobs: Sequence[Job]) -> Job | None:
    """Returns the job to show on a page without one: the active one, or the newest if it stopped or is free."""
    for job in jobs:
        if job.state in ("waiting", "judging"):
            return job
    if not jobs:
        return None
    newest = jobs[0]
    is_judged = newest.state == "done" and newest.model
    return None if newest.state == "quoted" or is_judged else newest


def _pace(job: Job) -> str:
    left = _seconds_left(job)
    if left is None:
        return "Judging."
    return f"{_rate(job) * 60:.0f} a minute, {_duration(left)} left."


def _rate(job: Job) -> float:
    """Returns the grades a second since the job was taken up; 0 in the first three seconds."""
    seconds = (now() - job.started).total_seconds() if job.started else 0
    return job.fresh / seconds if seconds >= 3 else 0.0


def _seconds_left(job: Job) -> float | None:
    rate = _rate(job)
    return (job.total - job.done) / rate if rate else None


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(5, round(seconds / 5) * 5)} seconds"
    return (
        f"about {round(seconds / 60)} minutes"
        if seconds < 5400
        else f"about {seconds / 3600:.1f} hours"
    )


def _tokens(count: int) -> str:
    return f"{count / 1_000_000:.2f} million" if count >= 1_000_000 else f"{count:,}"
