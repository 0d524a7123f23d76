"""Scoring view: drop zone, file contents, quote and job progress of "Score outputs" as HTML."""

from collections.abc import Sequence

from arena.database import now
from arena.templates import macros
from scoring.jobs.store import KEPT_FREE, Job
from scoring.registry import BENCHMARKS

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


def quote_html(job: Job, ceiling: float) -> str:
    """Return the cost of judging, shown before anything is sent; the operator's judge stops at `ceiling` US dollars."""
    quote = job.quote
    if quote.dollars is None or quote.most_dollars is None:
        price = "Its price is not in the table, so the cost is unknown: your account at the judge is the limit."
    elif quote.dollars == 0:
        price = "It costs nothing."
    else:
        most = quote.most_dollars if job.own_key else min(quote.most_dollars, ceiling)
        stop = "; calls that fail come on top." if job.own_key else ": there it stops."
        price = SCORING.price(f"${quote.dollars:,.2f}", f"at most ${most:,.2f}{stop}")
    asked = _counted(job, quote.grades)
    if BENCHMARKS[job.benchmark].way == "compare":
        asked = f"{counted(quote.grades // 2, 'pair')} x 2 orders = {asked}"
    cached = f" {quote.cached:,} replies are here already and cost nothing." if quote.cached else ""
    sent = f"about {_tokens(quote.prompt_tokens)} tokens sent, {_tokens(quote.completion_tokens)} received"
    return SCORING.quote(counted(quote.calls, "call"), f"to {job.model} for {asked}: {sent}.{cached}", price)


def progress_html(job: Job, ahead: int) -> str:
    """Return a job's progress, rate and time left."""
    if not job.model:
        kept = [f"Kept until {job.finished + KEPT_FREE:%Y-%m-%d}."] if job.finished else []
        return SCORING.progress(job, "read by rules alone", None, kept)
    words = {
        "waiting": f"Waiting: {ahead} ahead of yours." if ahead else "Waiting: next.",
        "judging": _pace(job),
        "needs_key": "The server was restarted and keeps no keys: give yours again to go on. What is judged stays.",
        "failed": job.problem,
        "cancelled": "Cancelled. What is judged stays; it can go on from here.",
    }.get(job.state, "")
    text = f"{job.done:,} of {_counted(job, job.total)}. {words}"
    return SCORING.progress(job, STATE_WORDS[job.state], job.done / job.total if job.total else 0, [text])


def mine_html(jobs: Sequence[Job]) -> str:
    """Return the list of a user's reports, newest first."""
    return SCORING.mine([(job, STATE_WORDS[job.state], _about(job)) for job in jobs])


def followed(jobs: Sequence[Job]) -> Job | None:
    """Return the job to show on a page without one: the active one, or the newest if rules alone made it."""
    running = next((job for job in jobs if job.state in ("waiting", "judging")), None)
    return running or next((job for job in jobs[:1] if job.state == "done" and not job.model), None)


def rest_text(job: Job, left: int) -> str:
    """Return the label of the button that has a judge read what the rules left open."""
    return BENCHMARKS[job.benchmark].rest.format(left=_counted(job, left))


def counted(number: int, unit: str) -> str:
    """Return a number with its unit: "1 call", "2 calls"."""
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def _counted(job: Job, number: int) -> str:
    return counted(number, BENCHMARKS[job.benchmark].unit)


def _about(job: Job) -> tuple[str, ...]:
    return BENCHMARKS[job.benchmark].name, job.protocol, job.model or "rules alone", f"{job.created:%Y-%m-%d %H:%M}"


def _pace(job: Job) -> str:
    seconds = (now() - job.started).total_seconds() if job.started else 0
    if seconds < 3 or not job.fresh:
        return "Judging."
    rate = job.fresh / seconds
    left = (job.total - job.done) / rate
    cost = f" About ${job.quote.dollars:,.2f} in all." if job.quote.dollars else ""
    return f"{rate * 60:.0f} grades a minute, {_duration(left)} left.{cost}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(5, round(seconds / 5) * 5)} seconds"
    return f"about {round(seconds / 60)} minutes" if seconds < 5400 else f"about {seconds / 3600:.1f} hours"


def _tokens(count: int) -> str:
    return f"{count / 1_000_000:.2f} million" if count >= 1_000_000 else f"{count:,}"
