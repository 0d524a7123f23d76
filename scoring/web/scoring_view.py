"""Jobs on "Score a model": the price to agree to, a job's progress, and the user's reports."""

from collections.abc import Sequence
from typing import NamedTuple

from arena.database import now
from arena.locale import t, translated
from arena.templates import macros
from arena.web.backup_status import ago
from scoring.jobs.store import KEPT_FREE, Job, Jobs
from scoring.registry import benchmark_of
from scoring.web.scoring_forms import count_text

SCORING = macros("scoring.html")
_SECRET_WAYS = ("compare", "sealed")
"""Ways of judging texts that the owner may not read, nor learn the length of."""


def quote_html(job: Job, ceiling: float) -> str:
    """Returns the cost of judging, for the owner to agree to; the operator's judge stops at `ceiling` US dollars."""
    quote = job.quote
    if quote.dollars is None or quote.most_dollars is None:
        price = t("score.quote.unknown")
    elif quote.dollars == 0:
        price = t("score.quote.free")
    else:
        most = quote.most_dollars if job.own_key else min(quote.most_dollars, ceiling)
        if benchmark_of(job).way in _SECRET_WAYS and not job.own_key:
            most = ceiling  # the lengths of answers would reveal their models
        values = {"dollars": f"${quote.dollars:,.2f}", "most": f"${most:,.2f}"}
        key = "score.quote.price_own" if job.own_key else "score.quote.price"
        price = t(key, **values)
    benchmark = benchmark_of(job)
    grades = count_text(quote.grades, benchmark.unit)
    if benchmark.way in _SECRET_WAYS:  # each pair is judged in both orders
        grades = t("score.quote.pairs", count=quote.grades // 2, grades=grades)
    calls = t("score.quote.calls", count=quote.calls, model=job.model, grades=grades)
    texts = [calls]
    if benchmark.way not in _SECRET_WAYS:
        sent = _tokens(quote.prompt_tokens)
        texts.append(t("score.quote.tokens", sent=sent, received=_tokens(quote.completion_tokens)))
    if quote.cached:
        texts.append(t("score.quote.cached", count=quote.cached))
    return SCORING.quote(t("pages.gap").join(texts), price)


def waits_text(job: Job | None, jobs: Jobs) -> str:
    """Returns the reason why a job waits and until when; "" if it goes on."""
    if job is None or job.state not in ("waiting", "judging"):
        return ""
    if job.state == "judging":
        return translated(job.problem)
    return _turn_text(jobs.count_ahead(job.link), jobs.jobs_being_judged(job.own_key))


def _turn_text(ahead: int, judged: Sequence[Job]) -> str:
    """Returns the time of a waiting job's turn; `judged` are the jobs that have the places."""
    turn = t("score.turn.ahead", count=ahead) if ahead else t("score.turn.next")
    if not judged:
        return turn
    times = [seconds for seconds in map(_seconds_left, judged) if seconds is not None]
    if not times:
        return t("score.turn.free", turn=turn)
    return t("score.turn.free_in", turn=turn, time=_duration(min(times)))


def progress_html(job: Job, waits: str, first_grades: Sequence[tuple[str, str]]) -> str:
    """Returns a job's progress, with names and outcomes of its first questions; `waits`: the text of `waits_text`."""
    if not job.model:
        expiry = []
        if job.finished and not job.published:
            expiry.append(t("score.kept_until", day=job.finished + KEPT_FREE))
        return SCORING.progress(job, t("score.by_rules"), None, expiry, ())
    share = job.done / job.total if job.total else 0
    done = t("score.done_of", done=job.done, total=count_text(job.total, benchmark_of(job).unit))
    cost = job.quote.dollars or 0
    texts = [t("pages.gap").join(filter(None, (done, _state_text(job, waits))))]
    if cost and share < 1:
        used = f"${cost * share:,.2f}"
        texts.append(t("score.used", used=used, dollars=f"${cost:,.2f}"))
    elif cost:
        texts.append(t("score.cost", dollars=f"${cost:,.2f}"))
    return SCORING.progress(job, t(f"score.state.{job.state}"), share, texts, first_grades)


def _state_text(job: Job, waits: str) -> str:
    """Returns what a job waits for, or how to go on with it; "" for one that is done."""
    match job.state:
        case "waiting":
            return t("score.waiting", reason=waits)
        case "judging":
            return t("score.waits", reason=waits) if waits else _pace(job)
        case "needs_key":
            return t("score.needs_key")
        case "failed":
            stopped = t("score.stopped", reason=translated(job.problem).rstrip(".。"))
            host = "" if job.own_key else t("score.stopped_host")
            return t("pages.gap").join(filter(None, (stopped, t("score.go_on"), host)))
        case "cancelled":
            return t("score.cancelled")
    return ""


def jobs_html(jobs: Sequence[Job], waits: str) -> str:
    """Returns the user's reports and jobs, the newest first, except jobs that were never started.

    `waits` is the reason why the job under way waits; there is one such job at most.
    """
    rows = []
    for job in jobs:
        if job.state == "quoted":
            continue
        state = t(f"score.state.{job.state}")
        if job.state == "waiting":
            state = t("score.row_waiting", reason=waits)
        elif job.state == "judging" and waits:
            state = t("score.row_waits", reason=waits)
        judge = job.model or t("score.rules")
        age = t("score.ago", age=ago(now() - job.created))
        score = translated(job.score) if job.score else state
        rows.append(_JobRow(job, score, [translated(job.benchmark_name), judge, age]))
    return SCORING.mine(rows, job_to_show(jobs) is not None)


class _JobRow(NamedTuple):
    """A job in the list: its score or state, and particulars below it."""

    job: Job
    state: str
    about: Sequence[str]


def job_to_show(jobs: Sequence[Job]) -> Job | None:
    """Returns the job to show on a page without one: the active one, or the newest if it stopped or is free."""
    for job in jobs:
        if job.state in ("waiting", "judging"):
            return job
    if not jobs:
        return None
    newest = jobs[0]
    is_judged = newest.state == "done" and newest.model
    if newest.state == "quoted" or is_judged:
        return None
    return newest


def _pace(job: Job) -> str:
    """Returns the speed of the judging and the time left, in words."""
    left = _seconds_left(job)
    if left is None:
        return t("score.judging")
    return t("score.pace", rate=_rate(job) * 60, time=_duration(left))


def _rate(job: Job) -> float:
    """Returns the grades per second since the job was taken up; 0 in the first three seconds."""
    seconds = (now() - job.started).total_seconds() if job.started else 0
    return job.fresh / seconds if seconds >= 3 else 0.0


def _seconds_left(job: Job) -> float | None:
    rate = _rate(job)
    return (job.total - job.done) / rate if rate else None


def _duration(seconds: float) -> str:
    if seconds < 90:
        return t("score.seconds", count=max(5, round(seconds / 5) * 5))
    if seconds < 5400:
        return t("score.minutes", count=round(seconds / 60))
    return t("score.hours", count=seconds / 3600)


def _tokens(count: int) -> str:
    return t("score.million", count=count / 1_000_000) if count >= 1_000_000 else f"{count:,}"
