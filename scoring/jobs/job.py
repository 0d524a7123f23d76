"""A scoring job: its states, and what its owner and a server that judges it see of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from scoring.judges.run import Quote
from scoring.judges.spec import JudgeSpec
from scoring.registry import benchmark_of
from scoring.report import AnyReport
from scoring.serialize import read_record

State = Literal["quoted", "waiting", "judging", "needs_key", "done", "failed", "cancelled"]
"""quoted: its owner has not confirmed the cost; needs_key: it waits for its owner to give the key again."""
ACTIVE: tuple[State, ...] = ("waiting", "judging")
STOPPED: tuple[State, ...] = ("needs_key", "failed", "cancelled")
"""States of a job that can go on, with its own judge or another."""
STARTABLE: tuple[State, ...] = ("quoted", *STOPPED)


class JobError(RuntimeError):
    """A job cannot be made, started, cancelled or deleted; the message says why and what to do."""


@dataclass(frozen=True)
class Job:
    """Job as its owner sees it."""

    link: str
    """Unguessable; anybody who has it may read the report."""
    owner: str
    benchmark: str
    benchmark_name: str
    """The benchmark's name; for a user's own benchmark or hidden answers the report's, since their key is shared."""
    protocol: str
    title: str
    file: str
    address: str
    """Judge's URL as it may be shown; empty if rules alone decided."""
    model: str
    own_key: bool
    asker: str | None
    """The owner when it was made, under whom an own judge's replies stay cached; None for the operator's judge."""
    quote: Quote
    spent: int
    """What its runs with an own key have cost, in millionths of a US dollar."""
    state: State
    problem: str
    """Why it stopped; for a job under way, the reason it waits."""
    done: int
    total: int
    """In grades."""
    fresh: int
    """Grades since `started` that needed a call to the judge."""
    created: datetime
    started: datetime | None
    finished: datetime | None
    published: bool
    """Whether anybody may read it under its slug."""
    slug: str | None
    """Its public name, from its first publication on."""
    withdrawn: str | None
    """Why the operators made it private for good; None unless they did."""
    score: str | None
    """Its report's main number as text; None without a report."""

    @property
    def is_stopped(self) -> bool:
        """Whether its owner can go on with it."""
        return self.state in STOPPED


class Claim(NamedTuple):
    """Job that this server judges, with its draft and judge spec, which another release may have stored."""

    job: Job
    draft_json: str
    spec_json: str
    network: str | None
    """Code of the network that pays beside the owner; None without one."""

    @property
    def draft(self) -> AnyReport:
        """Draft report to fill. Raises ReportError."""
        return read_record(benchmark_of(self.job).report, self.draft_json)

    @property
    def spec(self) -> JudgeSpec:
        """Spec of the judge. Raises ReportError."""
        return read_record(JudgeSpec, self.spec_json)


class StoredDraft(NamedTuple):
    """A job's draft, and the judge that it is for."""

    report: AnyReport
    spec: JudgeSpec
