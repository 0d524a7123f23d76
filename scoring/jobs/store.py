"""Job store: scoring jobs in the database, from quote to report; anybody who has a job's link may read its report.

A published report has a second name, its slug, which can be shown anywhere: it opens the report while it is published.

A server that judges a job holds a lease on it, which expires if the server dies. A user's own key is never stored: only
the server that received it can judge the job, and without it the job waits. Free reports, made by rules only, are
stored once per owner. They expire, as do jobs that ended without a report; judged and published reports stay.
"""

import secrets
from collections.abc import Callable
from dataclasses import fields
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    Row,
    Select,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from arena.battles.quotas import Kind, NetworkDays
from arena.cache import Cache
from arena.clock import present
from arena.database import METADATA, Database, Moment, now, take_turn
from scoring.jobs.job import ACTIVE, STARTABLE, STOPPED, Claim, Job, JobError, StoredDraft
from scoring.jobs.owners import ReportOwners
from scoring.jobs.secret_days import SecretDays, forget_days
from scoring.jobs.slugs import free_slug, hindrance_to_publish
from scoring.jobs.stored_report import StoredReport, score_text, stored_draft, stored_report
from scoring.judges.run import Progress, Quote
from scoring.judges.spec import JudgeSpec
from scoring.registry import benchmark_named, benchmark_of
from scoring.report import AnyReport
from scoring.serialize import ReportError, read_record, record_json

JOB = Table(
    "job",
    METADATA,
    Column("link", Text, primary_key=True),
    Column("owner", Text, nullable=False, index=True),
    *(
        Column(name, Text, nullable=False)
        for name in ("draft", "benchmark", "benchmark_name", "protocol", "title", "file")
    ),
    # The judge; empty if rules alone decide.
    *(Column(name, Text, nullable=False) for name in ("address", "model", "spec")),
    Column("own_key", Boolean, nullable=False),
    # The owner when it was made, under whom the replies of an own judge are kept; None for the operator's judge.
    Column("asker", Text),
    Column("quote", Text, nullable=False),
    # The real cost of its replies so far over their estimated cost.
    Column("ratio", Float, nullable=False),
    # What its runs with an own key have cost, in millionths of a US dollar.
    Column("spent", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("problem", Text, nullable=False),
    *(Column(name, Integer, nullable=False) for name in ("done", "total", "fresh")),
    Column("created", Moment, nullable=False),
    *(Column(name, Moment) for name in ("queued", "started", "finished")),
    Column("holder", Text),
    Column("until", Moment),
    Column("report", Text),
    Column("network", Text),
    Column("published", Boolean, nullable=False),
    Column("slug", Text, unique=True),
    Column("withdrawn", Text),
    Column("score", Text),
    Index("job_queue", "state", "queued"),
)
FREE_REPORT = Table(
    "free_report",
    METADATA,
    Column("link", ForeignKey("job.link", ondelete="CASCADE"), primary_key=True),
    Column("digest", Text, nullable=False, index=True),
)
"""Free reports; `digest` is the sha256 of the file, the title and all settings, but not of the time."""
_FREE = and_(JOB.c.state == "done", JOB.c.queued.is_(None))
IS_PUBLIC = and_(JOB.c.published, JOB.c.state == "done")
KEPT_FREE = timedelta(days=30)
"""The time that a private free report is kept after it was last made, and a stopped job after its last start."""
MOST_OF_OWNER = 20
"""Most free reports of an owner, and most jobs without a report."""
MOST_OF_NETWORK = 100
"""Most free reports of a network on a day, and most quotes."""
_JOB_COLUMNS = [
    column for column in JOB.c if column.name not in ("draft", "spec", "report", "network")
]
LEASE = timedelta(seconds=30)
"""The time that a server keeps its jobs without a sign of life, by the database's clock."""
_HELD_BY_NOBODY: dict[str, object] = {"holder": None, "until": None}
_NO_COST = Quote(
    grades=0, calls=0, cached=0, prompt_tokens=0, completion_tokens=0, most=0, price=None
)
"""The quote of a free report, and of a job whose own can't be read: it stops before a call that costs anything."""
_ABANDONED = timedelta(days=1)
"""Age at which an unconfirmed quote is deleted."""


class _ParsedReport(NamedTuple):
    report: AnyReport
    characters: int
    """Of its text in the database."""


def _as_it_is(report: AnyReport) -> AnyReport:
    return report


class Jobs:
    """Jobs in the database; `holder` is the name of a server. An owner has at most one active job."""

    def __init__(
        self,
        database: Database,
        lease: timedelta = LEASE,
        redact: Callable[[AnyReport], AnyReport] = _as_it_is,
    ) -> None:
        """`redact` returns a report as anybody may read it."""
        self._database = database
        self._redact = redact
        self._lease = lease
        self._days = NetworkDays(database)
        self.owners = ReportOwners(database)
        self._sealed_days = SecretDays(database, "sealed")
        self.hidden_days = SecretDays(database, "hidden")
        self._reports: Cache[_ParsedReport] = Cache(
            20_000_000, 60, weigh=lambda parsed: parsed.characters
        )
        """Reports and drafts, while somebody looks at them."""

    def __reduce__(self) -> tuple[object, ...]:
        """Opens the same jobs in a child process, which reads large files."""
        return Jobs, (self._database, self._lease, self._redact)

    def create(
        self,
        owner: str,
        draft: AnyReport | StoredReport,
        spec: JudgeSpec,
        quote: Quote,
        own_key: bool,
        network: str | None = None,
    ) -> Job:
        """Stores a draft as a quoted job, in place of the owner's last quote. Raises JobError."""
        if spec.price is None and not own_key:
            raise JobError(
                f"We don't know the price of {spec.model}, so it can't be lent. Add it to JUDGE_PRICES."
            )
        record = draft if isinstance(draft, StoredReport) else stored_draft(draft)
        unfinished = and_(JOB.c.owner == owner, JOB.c.state != "done")
        with self._database.write() as connection:
            take_turn(connection, JOB)
            connection.execute(delete(JOB).where(JOB.c.state == "quoted", JOB.c.owner == owner))
            if _count_jobs(connection, unfinished) >= MOST_OF_OWNER:
                raise JobError(
                    f"You have {MOST_OF_OWNER} jobs without a report, the most for one person. Delete one first."
                )
            self._count_on_network(connection, network, "quotes", words="quotes")
            code = self._days.code(connection, network, "quotes") if network else None
            return self._insert(
                connection,
                owner,
                record,
                quote,
                state="quoted",
                draft=record.json,
                spec=record_json(spec),
                own_key=own_key,
                asker=owner if own_key else None,
                network=code,
            )

    def add_done(
        self, owner: str, report: AnyReport | StoredReport, network: str | None = None
    ) -> Job:
        """Stores a report that needed no judge; one that its owner already has keeps its link. Raises JobError.

        Reports expire by age and never make room for a newer one, since their links may have been shared.
        """
        record = report if isinstance(report, StoredReport) else stored_report(report)
        ended = {"draft": "", "report": record.json, "finished": now(), "score": record.score}
        is_owners = and_(JOB.c.owner == owner, _FREE)
        is_same = FREE_REPORT.c.digest == record.digest
        same_report = select(JOB.c.link).join(FREE_REPORT).where(is_same, is_owners)
        with self._database.write() as connection:
            take_turn(connection, JOB)
            if link := connection.scalar(same_report):
                return self._change(connection, link, finished=now())
            if _count_jobs(connection, is_owners) >= MOST_OF_OWNER:
                raise JobError(
                    f"You have {MOST_OF_OWNER} free reports, the most for one person. Delete one first."
                )
            self._count_on_network(connection, network, "reports", words="free reports")
            if benchmark_named(record.benchmark).way == "hidden":
                code = self._days.code(connection, network, "reports") if network else None
                if hindrance := self.hidden_days.begin(
                    connection, owner, code, record.benchmark_name
                ):
                    raise JobError(hindrance)
            job = self._insert(
                connection, owner, record, _NO_COST, state="done", spec="", own_key=False, **ended
            )
            connection.execute(insert(FREE_REPORT).values(link=job.link, digest=record.digest))
            return job

    def start(
        self, owner: str, link: str, holder: str | None, paying_network: str | None = None
    ) -> Job:
        """Queues a quoted or stopped job; `holder` is the server with its owner's key. Raises JobError.

        `paying_network` is the code of the network that pays beside the owner. A job with an own key keeps the code of
        its quote.
        """
        with self._database.write() as connection:
            take_turn(connection, JOB)
            job = self._owners_job(connection, owner, link)
            if job.state not in STARTABLE:
                raise JobError(f"{job.title!r} is {job.state} already.")
            if job.own_key and holder is None:
                raise JobError(f"{job.title!r} is judged with your own key. Enter it to resume.")
            active = (JOB.c.owner == owner) & JOB.c.state.in_(ACTIVE)
            if other := connection.scalar(select(JOB.c.title).where(active)):
                raise JobError(
                    f"Your job {other!r} is still running. Wait until it's done, or cancel it."
                )
            # Only a job's first start counts as a report on sealed items.
            if job.state == "quoted" and benchmark_of(job).way == "sealed":
                code = connection.scalar(select(JOB.c.network).where(JOB.c.link == link))
                if hindrance := self._sealed_days.begin(connection, owner, code):
                    raise JobError(hindrance)
            queued = {"state": "waiting", "problem": "", "queued": now()}
            payer = {} if job.own_key else {"network": paying_network}
            return self._change(
                connection, link, **queued, **payer, **self._held_by(connection, holder)
            )

    def cancel(self, owner: str, link: str) -> Job:
        """Cancels a job; its grades stay, and it can be started again. Raises JobError."""
        with self._database.write() as connection:
            take_turn(connection, JOB)
            job = self._owners_job(connection, owner, link)
            if job.state not in ACTIVE:
                raise JobError(
                    f"{job.title!r} is {job.state}. Only a running job can be cancelled."
                )
            return self._change(connection, link, state="cancelled", problem="", **_HELD_BY_NOBODY)

    def delete(self, owner: str, link: str) -> Job:
        """Deletes a job and its report, and returns the deleted job; an active one stops. Raises JobError."""
        with self._database.write() as connection:
            take_turn(connection, JOB)
            job = self._owners_job(connection, owner, link)
            connection.execute(delete(JOB).where(JOB.c.link == link))
        self._database.empty_log()
        return job

    def publish(self, owner: str, link: str, published: bool) -> Job:
        """Publishes a finished report, or makes it private again. Raises JobError."""
        with self._database.write() as connection:
            take_turn(connection, JOB)
            job = self._owners_job(connection, owner, link)
            # A withdrawn report can't be published again, but it can be made private.
            is_withdrawn = published and job.withdrawn is not None
            if hindrance := hindrance_to_publish(job.state, job.benchmark, is_withdrawn):
                raise JobError(f"{job.title!r} {hindrance}")

            def is_taken(slug: str) -> bool:
                return bool(connection.scalar(select(JOB.c.link).where(JOB.c.slug == slug)))

            slug = job.slug or free_slug(job.title, job.benchmark, is_taken)
            return self._change(connection, link, published=published, slug=slug)

    def sweep(self) -> int:
        """Deletes what has expired, and returns the number of jobs that went."""
        free = and_(_FREE, JOB.c.finished < now() - KEPT_FREE, JOB.c.published.is_(False))
        stopped = and_(JOB.c.state.in_(STOPPED), JOB.c.queued < now() - KEPT_FREE)
        quoted = and_(JOB.c.state == "quoted", JOB.c.created < now() - _ABANDONED)
        with self._database.write() as connection:
            take_turn(connection, JOB)
            forget_days(connection)
            return connection.execute(delete(JOB).where(or_(free, stopped, quoted))).rowcount

    def find(self, name: str) -> Job | None:
        """Returns the job of this link, or of this slug while it is published."""
        with self._database.read() as connection:
            row = connection.execute(select_jobs().where(_has_name(name))).first()
        return job_of(row) if row else None

    def of_owner(self, owner: str) -> tuple[Job, ...]:
        """Returns an owner's jobs, the newest first."""
        query = select_jobs().where(JOB.c.owner == owner)
        return self._jobs(query.order_by(JOB.c.created.desc(), JOB.c.link))

    def stopped_jobs(self, most: int) -> tuple[Job, ...]:
        """Returns the jobs of the operator's judge that stopped last, for the operator."""
        query = select_jobs().where(JOB.c.state == "failed", JOB.c.own_key.is_(False))
        return self._jobs(query.order_by(JOB.c.queued.desc(), JOB.c.link).limit(most))

    def count_ahead(self, link: str) -> int:
        """Returns the number of jobs that wait before a job, of its kind: with an own key or the operator's judge."""
        this_job = JOB.alias()
        is_ahead = and_(
            JOB.c.state == "waiting",
            this_job.c.link == link,
            this_job.c.own_key == JOB.c.own_key,
            JOB.c.queued < this_job.c.queued,
        )
        with self._database.read() as connection:
            return _count_jobs(connection, is_ahead)

    def count_waiting(self) -> int:
        with self._database.read() as connection:
            return _count_jobs(connection, JOB.c.state == "waiting")

    def report(self, name: str) -> AnyReport | None:
        """Returns the report of a link, or of a slug while it is published, as anybody may read it; else None.

        Raises ReportError if another release stored it in a form that can't be read.
        """
        query = select(JOB.c.benchmark, JOB.c.link).where(
            _has_name(name), JOB.c.report.is_not(None)
        )
        with self._database.read() as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        return self._redact(self._parsed(row.benchmark, row.link, JOB.c.report))

    def readable_report(self, name: str) -> AnyReport | None:
        """Returns the report as `report` does, but None if another release stored it in a form that can't be read."""
        try:
            return self.report(name)
        except ReportError:
            return None

    def _parsed(self, benchmark: str, link: str, column: Column[str]) -> AnyReport:
        """Returns a report or draft, from the cache if possible: neither changes as long as its job exists."""

        def parse() -> _ParsedReport:
            with self._database.read() as connection:
                text = connection.scalar(select(column).where(JOB.c.link == link)) or ""
            report = read_record(benchmark_named(benchmark).report, text)
            return _ParsedReport(report, len(text))

        return self._reports.get((column.name, link), parse).report

    def size(self, link: str) -> int:
        """Returns the characters of the draft or report under a link; 0 without any."""
        characters = func.length(JOB.c.draft) + func.length(func.coalesce(JOB.c.report, ""))
        with self._database.read() as connection:
            return connection.scalar(select(characters).where(JOB.c.link == link)) or 0

    def draft(self, link: str) -> StoredDraft | None:
        """Returns a job's draft and its judge; None for a job that rules alone made, or if there is no job."""
        query = select(JOB.c.benchmark, JOB.c.spec).where(JOB.c.link == link, JOB.c.draft != "")
        with self._database.read() as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        draft = self._parsed(row.benchmark, link, JOB.c.draft)
        return StoredDraft(draft, read_record(JudgeSpec, row.spec))

    def spec(self, address: str, model: str, owner: str | None) -> JudgeSpec | None:
        """Returns a judge's spec at this address from an earlier job; None without one that can be read.

        `owner` is None for the operator's judge.
        """
        is_operators = JOB.c.own_key.is_(False)
        is_owners = and_(JOB.c.own_key, JOB.c.owner == owner)
        has_same_owner = is_operators if owner is None else is_owners
        is_judge = and_(JOB.c.address == address, JOB.c.model == model, has_same_owner)
        query = select(JOB.c.spec).where(is_judge)
        with self._database.read() as connection:
            text = connection.scalar(query.order_by(JOB.c.created.desc()).limit(1))
        try:
            return read_record(JudgeSpec, text) if text else None
        except ReportError:  # Another release stored it.
            return None

    # Calls by servers

    def claim(
        self, holder: str, keys: frozenset[str], busy: frozenset[str], lent: bool = True
    ) -> Claim | None:
        """Claims the job that has waited longest, or an orphan of a dead server; None if there is none.

        A job with an own key is claimed only if its link is among `keys`, a job for the operator's judge only if that
        judge is `lent`. The `busy` jobs are under way here. Jobs with own keys from one network are judged one at a
        time.
        """
        busy_job = JOB.alias()
        busy_networks = select(busy_job.c.network).where(
            busy_job.c.own_key, busy_job.c.link.in_(busy), busy_job.c.network.is_not(None)
        )
        has_key = and_(
            JOB.c.holder == holder,
            JOB.c.link.in_(keys),
            func.coalesce(JOB.c.network, "").not_in(busy_networks),
        )
        is_for_lent_judge = JOB.c.own_key.is_(False) & lent
        waits = and_(JOB.c.state == "waiting", or_(is_for_lent_judge, has_key))
        with self._database.write() as connection:
            take_turn(connection, JOB)
            is_lapsed = JOB.c.until < present(connection)
            is_orphan = and_(is_for_lent_judge, JOB.c.state == "judging", is_lapsed)
            due = select(JOB.c.link).where(or_(waits, is_orphan), JOB.c.link.not_in(busy))
            link = connection.scalar(due.order_by(JOB.c.queued, JOB.c.link).limit(1))
            if link is None:
                return None
            begun = {"state": "judging", "problem": "", "started": now(), "fresh": 0}
            lease = self._held_by(connection, holder)
            job = self._change(connection, link, **begun, **lease)
            select_claim = select(JOB.c.draft, JOB.c.spec, JOB.c.network)
            row = connection.execute(select_claim.where(JOB.c.link == link)).one()
        return Claim(job, row.draft, row.spec, row.network)

    def renew_leases(self, holder: str, links: frozenset[str]) -> frozenset[str]:
        """Renews a server's leases and returns the jobs it still holds; the others were cancelled or lost."""
        is_held = (JOB.c.holder == holder) & JOB.c.link.in_(links) & JOB.c.state.in_(ACTIVE)
        with self._database.write() as connection:
            lease = self._held_by(connection, holder)
            renewed = update(JOB).where(is_held).values(lease).returning(JOB.c.link)
            return frozenset(connection.scalars(renewed))

    def find_held(self, holder: str, link: str) -> Job | None:
        """Returns a job if this server still judges it, with its current owner, who may have been forgotten."""
        with self._database.read() as connection:
            row = connection.execute(select_jobs().where(_judged_by(holder, link))).one_or_none()
        return job_of(row) if row else None

    def note_progress(self, holder: str, link: str, progress: Progress, ratio: float) -> None:
        """Stores a job's progress; `ratio` is that of the real to the estimated cost of its replies so far."""
        with self._database.write() as connection:
            change = update(JOB).where(_judged_by(holder, link))
            counts = {"done": progress.done, "total": progress.total, "fresh": progress.fresh}
            connection.execute(change.values(**counts, ratio=ratio, problem=progress.waits))

    def note_spent(self, link: str, spent: int) -> None:
        """Stores what all runs of a job with an own key have cost, in millionths of a US dollar."""
        with self._database.write() as connection:
            connection.execute(update(JOB).where(JOB.c.link == link).values(spent=spent))

    def finish(self, holder: str, link: str, report: AnyReport) -> bool:
        """Stores a job's report if this server still holds it, and returns whether it does."""
        ended = {"report": record_json(report), "finished": now(), "score": score_text(report)}
        values = {"state": "done", "done": JOB.c.total, "problem": "", **ended}
        return self._end(holder, link, values)

    def fail(self, holder: str, link: str, problem: str) -> bool:
        """Marks a job as failed if this server still holds it, and returns whether it does. It can be started again."""
        return self._end(holder, link, {"state": "failed", "problem": problem})

    def release(self, holder: str) -> None:
        with self._database.write() as connection:
            self._give_back(connection, JOB.c.holder == holder)

    def recover(self) -> None:
        """Returns the jobs of a dead server to the queue at start. SQLite only: elsewhere its leases expire."""
        if self._database.is_sqlite:
            with self._database.write() as connection:
                self._give_back(connection, JOB.c.holder.is_not(None))

    def release_lapsed(self) -> None:
        """Returns the jobs of servers that died to the queue; those with their owner's key wait for it."""
        with self._database.write() as connection:
            self._give_back(connection, JOB.c.until < present(connection))

    def jobs_being_judged(self, own_key: bool) -> tuple[Job, ...]:
        """Returns the jobs that are judged now, with their owners' keys or with the operator's judge."""
        return self._jobs(select_jobs().where(JOB.c.state == "judging", JOB.c.own_key.is_(own_key)))

    def _jobs(self, query: Select) -> tuple[Job, ...]:
        with self._database.read() as connection:
            return tuple(map(job_of, connection.execute(query)))

    def _give_back(self, connection: Connection, condition: ColumnElement[bool]) -> None:
        for own_key, state in ((False, "waiting"), (True, "needs_key")):
            held = update(JOB).where(condition, JOB.c.own_key.is_(own_key), JOB.c.state.in_(ACTIVE))
            connection.execute(held.values(state=state, problem="", **_HELD_BY_NOBODY))

    def _end(self, holder: str, link: str, values: dict[str, object]) -> bool:
        with self._database.write() as connection:
            ended = update(JOB).where(_judged_by(holder, link)).values(**values, **_HELD_BY_NOBODY)
            return connection.execute(ended).rowcount == 1

    def _held_by(self, connection: Connection, holder: str | None) -> dict[str, object]:
        if holder is None:
            return _HELD_BY_NOBODY
        return {"holder": holder, "until": present(connection) + self._lease}

    def _count_on_network(
        self, connection: Connection, network: str | None, kind: Kind, words: str
    ) -> None:
        """Counts one more quote or report of a network. Raises JobError if it has used up the day's."""
        if network and self._days.count_one(connection, network, kind) > MOST_OF_NETWORK:
            raise JobError(
                f"Your network has used its {MOST_OF_NETWORK} {words} for today. Come back tomorrow."
            )

    def _insert(
        self, connection: Connection, owner: str, record: StoredReport, quote: Quote, **more: object
    ) -> Job:
        values = {
            "link": secrets.token_urlsafe(24),
            "owner": owner,
            "benchmark": record.benchmark,
            "benchmark_name": record.benchmark_name,
            "protocol": record.protocol,
            "title": record.title,
            "file": record.file,
            "address": record.address,
            "model": record.model,
            "quote": record_json(quote),
            "ratio": 1.0,
            "spent": 0,
            "problem": "",
            "done": 0,
            "total": quote.grades,
            "fresh": 0,
            "created": now(),
            "published": False,
            **more,
        }
        return job_of(connection.execute(insert(JOB).values(values).returning(*_JOB_COLUMNS)).one())

    def _owners_job(self, connection: Connection, owner: str, link: str) -> Job:
        row = connection.execute(
            select_jobs().where(JOB.c.link == link, JOB.c.owner == owner)
        ).one_or_none()
        if row is None:
            raise JobError("You have no such job. It may have been deleted.")
        return job_of(row)

    def _change(self, connection: Connection, link: str, **values: object) -> Job:
        row = connection.execute(
            update(JOB).where(JOB.c.link == link).values(values).returning(*_JOB_COLUMNS)
        ).one()
        return job_of(row)


def select_jobs() -> Select:
    """Selects the columns of a `Job`."""
    return select(*_JOB_COLUMNS)


def _has_name(name: str) -> ColumnElement[bool]:
    """A condition: the job of a link, or of a public slug."""
    return or_(JOB.c.link == name, and_(JOB.c.slug == name, IS_PUBLIC))


def _count_jobs(connection: Connection, condition: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).where(condition)).scalar_one()


def _judged_by(holder: str, link: str) -> ColumnElement[bool]:
    return and_(JOB.c.link == link, JOB.c.holder == holder, JOB.c.state == "judging")


def job_of(row: Row) -> Job:
    values = {
        field.name: row._mapping[field.name] for field in fields(Job) if field.name != "quote"
    }
    try:
        quote = read_record(Quote, row.quote)
    except ReportError:  # Another release stored it.
        quote = _NO_COST
    return Job(**values, quote=quote.corrected(row.ratio))
