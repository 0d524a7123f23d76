"""Hub files: a report's score in the words of the Hub, and the addresses that may be its source."""

from datetime import UTC, datetime
from urllib.parse import urlsplit

from arena.network import is_public
from arena.server.hub_evaluations import HubScore
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.publish.editions import HubBenchmark, edition_of
from scoring.publish.refusals import refusals, stopping_refusals
from scoring.registry import benchmark_of
from scoring.report import AnyReport, JudgeStamp, Report, ScoreLine

NOBODY_ELSE = "Nobody else can open this page. Set PUBLIC_URL first."
_PLACES = 2
"""Decimals of a score."""
_LONGEST_NAME = 60
"""Characters of a judge's name."""
_OWN_NETWORKS = frozenset("localhost local lan internal home intranet test invalid".split())
"""Ends of names that are only known within a network."""


class PublishError(ValueError):
    """A score cannot leave as a file for the Hub; the message says why."""


def hub_score(report: AnyReport, url: str) -> HubScore:
    """Returns a report's score for the Hub, with the report's public address. Raises PublishError."""
    stopping = stopping_refusals(refusals(report), "hub")
    hub_benchmark = edition_of(report)
    head = benchmark_of(report).headline(report)
    if stopping or hub_benchmark is None or head is None or head.mean is None:
        raise PublishError(stopping[0].reason if stopping else "It has no score.")
    if not is_open(url):
        raise PublishError(NOBODY_ELSE)
    return HubScore(
        edition=hub_benchmark.edition,
        protocol=report.protocol,
        name=hub_benchmark.name,
        dataset=hub_benchmark.dataset,
        task=hub_benchmark.task,
        metric=f"{hub_benchmark.benchmark}.{hub_benchmark.metric}",
        figure=head.name,
        value=round(head.mean, _PLACES),
        notes=notes(report, hub_benchmark, head),
        date=f"{scored_at(report):%Y-%m-%d}",
        url=url,
    )


def notes(report: AnyReport, hub_benchmark: HubBenchmark, head: ScoreLine) -> str:
    """Returns how a score came about: "paper protocol; judge gpt-4, 3 runs; n 218; 95% 30.5-42.0"."""
    judged = [f"judge {judge_name(report.judge)}"] if report.judge else []
    if isinstance(report, Report):
        judged.append(f"{report.runs} run{'s' if report.runs > 1 else ''}")
    parts = [f"{report.protocol} protocol", ", ".join(judged)]
    if isinstance(report, ChoiceReport) and report.chosen_by == "likelihood":
        parts.append("options chosen by likelihood")
    parts.append(f"n {head.n:,}")
    if head.unscored:
        parts.append(f"{head.unscored:,} unscored")
    if head.low is not None and head.high is not None:
        parts.append(f"95% {head.low:{head.form}}-{head.high:{head.form}}")
    if hub_benchmark.is_percent:
        parts.append("in percent")
    return "; ".join(filter(None, parts))


def scored_at(report: AnyReport) -> datetime:
    """Returns when a report was made, in UTC."""
    return datetime.fromisoformat(report.created).astimezone(UTC)


def judge_name(judge: JudgeStamp) -> str:
    """Returns the name that the judge gave itself, else the requested one, as one line."""
    name = judge.versions[0] if judge.versions else judge.model
    printable = "".join(letter if letter.isprintable() else " " for letter in name)
    return " ".join(printable.split())[:_LONGEST_NAME]


def is_open(url: str) -> bool:
    """Whether others may be able to open an address: neither its IP address nor its name is a private network's."""
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return False
    last_label = host.rpartition(".")[2]
    is_ip_address = ":" in host or last_label[:1].isdigit()
    if is_ip_address:
        try:
            return is_public(host)
        except ValueError:  # numbers in a form that only some programs take for an address
            return False
    return "." in host and last_label not in _OWN_NETWORKS
