"""Command `agreement`: how far people agree, and which measures follow them, from files of votes and verdicts."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import get_args

from arena.figures import PlotsError, page
from arena.imports.poll_files import read_poll
from arena.ratings.agreement import Estimate, Share
from arena.settings import Settings
from scoring.agreement.people_agreement import PeopleAgreement, people_agreement
from scoring.agreement.reader import agreement_json, measures_csv, read_answers, read_scores
from scoring.agreement.text_metrics import KEPT, MetricName, TextMetricError
from scoring.cli import progress
from scoring.cli.progress import written
from scoring.report import NothingGradedError
from scoring.web.agreement_view import TITLE, reproduction_figure

USER_ERRORS = (*progress.USER_ERRORS, TextMetricError, PlotsError)


def agreement(arguments: argparse.Namespace, _: Settings) -> Iterator[str]:
    """Compute people's agreement and how far measures follow it; write the files and yield the report's lines."""
    poll = read_poll(arguments.files)
    if not poll.choices and not poll.verdicts:
        yield from poll.notices
        raise NothingGradedError("Nothing was measured: the files hold no vote or verdict on a known item")
    if arguments.answers:
        poll = replace(poll, answers={**poll.answers, **read_answers(arguments.answers)})
    taken = {*arguments.metrics, *(verdict.judge for verdict in poll.verdicts)}
    scores = read_scores(arguments.scores, taken) if arguments.scores else {}
    found = people_agreement(poll, scores, arguments.metrics)
    texts = {
        "agreement.json": agreement_json(found),
        "measures.csv": measures_csv(found),
        "measures.html": page(TITLE, [reproduction_figure(found)]),
    }
    yield from _said(found)
    yield written({name: text.encode() for name, text in texts.items()}, arguments.out)


def _grammar(group: argparse.ArgumentParser) -> None:
    group.add_argument("files", type=Path, nargs="+", metavar="FILE", help="votes of people and verdicts of judges")
    group.add_argument("--answers", type=Path, metavar="FILE", help="what the models said: item, model, answer")
    group.add_argument("--scores", type=Path, metavar="FILE", help="other metrics: item, model, metric, score")
    group.add_argument("--metrics", nargs="*", choices=get_args(MetricName), default=KEPT, help="of the answers' texts")
    group.add_argument("--out", type=Path, required=True, metavar="DIR")
    group.set_defaults(run=agreement)


def _said(found: PeopleAgreement) -> Iterator[str]:
    people = found.people
    yield from found.notices
    left_out = f"{found.with_reference:,} more with the reference are left out"
    yield f"pairs with several votes: {people.contests:,} ({people.votes:,} votes); {left_out}"
    for level, share in people.levels.items():
        yield f"{level}: {share.hits:,} of {share.n:,}, {_share(share)}"
    yield f"a single vote with its majority: {_share(people.with_majority)}"
    yield f"Krippendorff's alpha: {_estimate(people.alpha)}"
    yield f"Gwet's AC1: {_estimate(people.ac1)}"
    for one in found.reproductions:
        levels = ", ".join(f"{level} {_share(share)}" for level, share in one.levels.items() if share.n)
        about = f"n={one.overall.n:,}, {one.ties:,} ties, {one.missing:,} missing"
        yield f"{one.measure}: {_share(one.overall)} ({about}){levels and f'; {levels}'}"


def _share(share: Share) -> str:
    return "nothing" if share.value is None else f"{share.value:.2%} [{share.low:.2%}, {share.high:.2%}]"


def _estimate(one: Estimate) -> str:
    if one.value is None:
        return "undefined"
    interval = "no interval" if one.low is None or one.high is None else f"[{one.low:.4f}, {one.high:.4f}]"
    return f"{one.value:.4f} {interval}"


ARGUMENTS: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {"agreement": _grammar}
