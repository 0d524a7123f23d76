"""Command `publish`: a published report's score is offered to a model's repository on the Hugging Face Hub."""

from collections.abc import Iterator
from contextlib import closing
from typing import Annotated
from urllib.parse import SplitResult, quote, urlsplit

from typer import Argument, Option, Typer

from arena.database import Database
from arena.server.hub_evaluations import HubScore, eval_results, model_index
from arena.server.hub_pull_request import HubModels, Proposal
from arena.server.hub_token import operator_token
from arena.server.model_card import CARD
from arena.settings import Settings
from scoring.cli.progress import DeclinedError
from scoring.jobs.store import Jobs
from scoring.publish.hub_files import PublishError, hub_score

app = Typer(rich_markup_mode=None)


@app.command()
def publish(
    link: Annotated[str, Argument(help="the report's address, or its last part")],
    repo: Annotated[str, Option(metavar="OWNER/NAME", help="the model's repository on the Hub")],
    dry_run: Annotated[bool, Option("--dry-run", help="print the files, and send nothing")] = False,
    yes: Annotated[bool, Option("--yes", help="send it without asking")] = False,
) -> Iterator[str]:
    """Open a pull request with a published report's score, with the login of `hf auth login`."""
    score = _score(link, Settings.from_env())
    if dry_run:
        yield from _files(score, repo)
        return
    token = operator_token()
    if not token:
        raise PublishError("You are not logged in at Hugging Face. Run: hf auth login")
    models = HubModels()
    proposal = models.propose(repo, score)
    yield from _preview(proposal)
    if not yes:
        _agree(repo)
    pull = models.offer(proposal, token)
    yield f"Pull request {pull.number} is open: {pull.address}"


def _score(link: str, settings: Settings) -> HubScore:
    """Returns the score of a report of this machine. Raises PublishError."""
    try:
        parts = urlsplit(link[:500])
    except ValueError:  # no web address, such as "https://[arena.example"
        parts = urlsplit("")
    name = parts.path.rstrip("/").rpartition("/")[2]
    with closing(Database(settings.database_url)) as database:
        jobs = Jobs(database)
        job = jobs.find(name)
        report = jobs.report(name) if job else None
    if job is None or report is None:
        raise PublishError(
            f"{link[:200]} isn't a report here. Give its address, and DATA_DIR as the server has it."
        )
    if not job.published or not job.slug:
        raise PublishError("This report is private. Publish it on its page first, under Share.")
    base = settings.public or _server(parts)
    return hub_score(report, f"{base}/r/{quote(job.slug, safe='')}")


def _server(parts: SplitResult) -> str:
    """Returns the server of a web address, without a name and password that it may hold; "" of anything else."""
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}" if parts.scheme in ("http", "https") and host else ""


def _files(score: HubScore, repo: str) -> Iterator[str]:
    """Yields the two files that a score can become; a pull request has the first if the Hub knows its benchmark."""
    yield f"# {score.path}, if {score.dataset} is a benchmark of the Hub with the task {score.task}"
    yield eval_results(score).decode()
    yield f"# else in the front matter of {CARD}"
    yield model_index(score, repo.rpartition("/")[2]).decode()


def _preview(proposal: Proposal) -> Iterator[str]:
    yield f"{proposal.repository}, {proposal.path}"
    yield f"{proposal.title}\n\n{proposal.description}\n"
    yield proposal.preview


def _agree(repo: str) -> None:
    try:
        agreed = input(f"Open this pull request at {repo}? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError as error:
        raise DeclinedError("Nothing was sent. Add --yes if nobody can answer.") from error
    if not agreed:
        raise DeclinedError("Nothing was sent.")
