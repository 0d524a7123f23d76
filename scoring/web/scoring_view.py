"""Scoring view: drop zone, file contents, quote and job progress of "Score outputs" as HTML."""

from collections.abc import Sequence
from html import escape

from arena.database import now
from scoring.jobs.store import KEPT_FREE, Job
from scoring.web.scoring_forms import FORMS, counted

DROP = (
    '<label class="upload" for="drop-file" data-token="upload-token" data-press="arrived">'
    '<input type="file" id="drop-file" accept=".json,.jsonl,.ndjson,.csv,.tsv,.xlsx">'
    "<b>Drop your model's outputs here, or choose a file</b>"
    "<span>JSON, JSONL, CSV, TSV or XLSX, as MM-Vet, VisIT-Bench, VLMEvalKit, lmms-eval or LLaVA have them; up to 100 "
    "MB</span>"
    "<span>The benchmark is recognised from the file.</span>"
    '<span id="drop-state" role="status"></span></label>'
)
LEAD = (
    '<div class="lead"><h2>Score your model on MM-Vet, VisIT-Bench, MMBench or MMT-Bench</h2><p>Upload what your model '
    "said, and you leave with the paper's tables. Option letters are read by rules, at once and free. A judge reads "
    "the rest, every answer to MM-Vet, and VisIT-Bench's matches with other models, after you have seen the price. No "
    'outputs at hand? <a href="sample-predictions.json" download>Take these</a>, answers to our own sample.</p></div>'
)
KEY_NOTE = (
    '<p class="note">Your key serves this job only. It stays in memory, is never stored or shown, and after a restart '
    "you are asked for it again.</p>"
)
COPY_NOTE = (
    '<p class="note">What you have scored, outputs and report, is also copied to a private dataset of the people who '
    "run this arena, so that it outlives this machine. What you delete here never comes back from there, though "
    "earlier files of the copy keep it. On a new machine only its link leads to a report: keep the link.</p>"
)
"""Shown if the database is backed up to the Hub."""
STATE_WORDS = {
    "quoted": "not started",
    "waiting": "waiting",
    "judging": "being judged",
    "needs_key": "needs its key",
    "done": "done",
    "failed": "stopped",
    "cancelled": "cancelled",
}


def found_html(lines: Sequence[str]) -> str:
    """Return the contents of a file, one line each."""
    return f'<ul class="found">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>'


def problems_html(text: str, problems: Sequence[str] = ()) -> str:
    """Return an error with its list of problems."""
    more = "".join(f"<li>{escape(problem)}</li>" for problem in problems)
    return f'<div class="problems" role="alert"><p>{escape(text)}</p>{f"<ul>{more}</ul>" if more else ""}</div>'


def quote_html(job: Job, ceiling: float) -> str:
    """Return the cost of judging, shown before anything is sent; the operator's judge stops at `ceiling` US dollars."""
    quote = job.quote
    if quote.dollars is None or quote.most_dollars is None:
        price = "Its price is not in the table, so the cost is unknown: your account at the judge is the limit."
    elif quote.dollars == 0:
        price = "It costs nothing."
    else:
        most = quote.most_dollars if job.own_key else min(quote.most_dollars, ceiling)
        price = f"About <b>${quote.dollars:,.2f}</b>, at most ${most:,.2f}"
        price += "; calls that fail come on top." if job.own_key else ": there it stops."
    form = FORMS[job.benchmark]
    asked = form.counted(quote.grades)
    if form.way == "compare":
        asked = f"{counted(quote.grades // 2, 'pair')} x 2 orders = {asked}"
    cached = f" {quote.cached:,} replies are here already and cost nothing." if quote.cached else ""
    return (
        f'<div class="quote"><p><b>{counted(quote.calls, "call")}</b> to {escape(job.model)} for '
        f"{asked}: about "
        f"{_tokens(quote.prompt_tokens)} tokens sent, {_tokens(quote.completion_tokens)} received.{cached}</p>"
        f"<p>{price}</p></div>"
    )


def progress_html(job: Job, ahead: int) -> str:
    """Return a job's progress, rate and time left."""
    if not job.model:
        return _by_rules(job)
    share = job.done / job.total if job.total else 0
    words = {
        "waiting": f"Waiting: {ahead} ahead of yours." if ahead else "Waiting: next.",
        "judging": _pace(job),
        "needs_key": "The server was restarted and keeps no keys: give yours again to go on. What is judged stays.",
        "failed": job.problem,
        "cancelled": "Cancelled. What is judged stays; it can go on from here.",
    }.get(job.state, "")
    opened = _opened(job) if job.state == "done" else ""
    return (
        f'<div class="progress" data-state="{job.state}"><p><b>{escape(job.title)}</b> '
        f"<span>{escape(STATE_WORDS[job.state])}</span></p>"
        f'<progress max="1" value="{share:.4f}" aria-label="Judged"></progress>'
        f"<p>{job.done:,} of {FORMS[job.benchmark].counted(job.total)}. {escape(words)}</p>{opened}</div>"
    )


def mine_html(jobs: Sequence[Job]) -> str:
    """Return the list of a user's reports, newest first."""
    if not jobs:
        return '<p class="empty">Your reports will be listed here. Whoever has a report\'s link can read it.</p>'
    return f'<ul class="mine">{"".join(map(_mine, jobs))}</ul>'


def followed(jobs: Sequence[Job]) -> Job | None:
    """Return the job to show on a page without one: the active one, or the newest if rules alone made it."""
    running = next((job for job in jobs if job.state in ("waiting", "judging")), None)
    return running or next((job for job in jobs[:1] if job.state == "done" and not job.model), None)


def rest_text(job: Job, left: int) -> str:
    """Return the label of the button that has a judge read what the rules left open."""
    form = FORMS[job.benchmark]
    return form.rest.format(left=form.counted(left))


def _mine(job: Job) -> str:
    name = f"<b>{escape(job.title)}</b>"
    if job.state == "done":
        name = f'<a href="?report={escape(job.link)}">{name}</a>'
    parts = (FORMS[job.benchmark].name, job.protocol, job.model or "rules alone", f"{job.created:%Y-%m-%d %H:%M}")
    about = " · ".join(parts)
    return f"<li>{name} <span>{escape(STATE_WORDS[job.state])}</span><small>{escape(about)}</small></li>"


def _by_rules(job: Job) -> str:
    kept = f"<p>Kept until {job.finished + KEPT_FREE:%Y-%m-%d}.</p>" if job.finished else ""
    return (
        f'<div class="progress" data-state="{job.state}"><p><b>{escape(job.title)}</b> '
        f"<span>read by rules alone</span></p>{kept}{_opened(job)}</div>"
    )


def _opened(job: Job) -> str:
    return f'<p><a class="open" href="?report={escape(job.link)}">Open the report</a></p>'


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
