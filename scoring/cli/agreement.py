"""Command `agreement`: how far people agree, and which measures follow them, from files of votes and verdicts."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Annotated, get_args

from typer import Argument, BadParameter, Context, Option, Typer
from typer.core import TyperCommand

from arena.cli.output_paths import check_unread
from arena.imports.poll_files import read_poll
from arena.interval_text import BRACKETS, bracketed
from arena.plots import plots_page
from arena.ratings.agreement import Estimate
from arena.ratings.shares import Share
from scoring.cli import progress
from scoring.people.agreement import PeopleAgreement, Scores, people_agreement
from scoring.people.agreement_files import (
    agreement_json,
    measures_csv,
    noted,
    read_answers,
    read_scores,
)
from scoring.people.text_metrics import KEPT, MetricName
from scoring.web.agreement_view import TITLE, measures_table, reproduction_plot

METRICS = get_args(MetricName)
FILES = ("agreement.json", "measures.csv", "measures.html")
app = Typer(rich_markup_mode=None)


class MetricNames(TyperCommand):
    """A command whose `--metrics` takes all names up to the next option, or none."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if "--metrics" in args:
            first = args.index("--metrics") + 1
            names = list(takewhile(lambda word: not word.startswith("-"), args[first:]))
            args = [*args[:first], ",".join(names), *args[first + len(names) :]]
        return super().parse_args(ctx, args)


def _metrics(names: str) -> str:
    for name in filter(None, names.split(",")):
        if name not in METRICS:
            raise BadParameter(f"expected some of {', '.join(METRICS)}, found {name!r}")
    return names


@app.command(cls=MetricNames)
def agreement(
    files: Annotated[
        list[Path], Argument(metavar="FILE...", help="votes of people and verdicts of judges")
    ],
    out: progress.Out,
    answers: Annotated[
        Path | None, Option(metavar="FILE", help="what the models said: item, model, answer")
    ] = None,
    scores: Annotated[
        Path | None, Option(metavar="FILE", help="other metrics: item, model, metric, score")
    ] = None,
    metrics: Annotated[
        str,
        Option(
            callback=_metrics,
            metavar="NAME...",
            help=f"of the answers' texts, from {', '.join(METRICS)}",
        ),
    ] = ",".join(KEPT),
) -> Iterator[str]:
    check_unread((out / name for name in FILES), *files, answers, scores)
    chosen = tuple(name for name in METRICS if name in metrics.split(","))
    poll = read_poll(files)
    if not poll.choices and not poll.verdicts:
        yield from poll.notices
        raise progress.NothingGradedError(
            "Nothing was measured: the files hold no vote or verdict on a known item"
        )
    own: Mapping[str, Scores] = {}
    if answers:
        said = read_answers(answers)
        poll = noted(replace(poll, answers={**poll.answers, **said}), [*said], answers.name)
    if scores:
        own = read_scores(scores, {*chosen, *(verdict.judge for verdict in poll.verdicts)})
        poll = noted(poll, [key for given in own.values() for key in given], scores.name)
    found = people_agreement(poll, own, chosen)
    plot = replace(reproduction_plot(found), table=measures_table(found))
    texts = dict(
        zip(
            FILES,
            (agreement_json(found), measures_csv(found), plots_page(TITLE, [plot])),
            strict=True,
        )
    )
    yield from _said(found)
    yield progress.written({name: text.encode() for name, text in texts.items()}, out)


def _said(found: PeopleAgreement) -> Iterator[str]:
    people = found.people
    yield from found.notices
    yield BRACKETS
    left_out = f"{found.with_reference:,} more with the reference are left out"
    yield f"pairs with several votes: {people.contests:,} ({people.votes:,} votes); {left_out}"
    for level, share in people.levels.items():
        yield f"{level}: {share.hits:,} of {share.n:,}, {_share(share)}"
    yield f"a single vote with its majority: {_share(people.with_majority)}"
    yield f"Krippendorff's alpha: {_estimate(people.alpha)}"
    yield f"Gwet's AC1: {_estimate(people.ac1)}"
    for one in found.reproductions:
        levels = ", ".join(
            f"{level} {_share(share)}" for level, share in one.levels.items() if share.n
        )
        about = f"n={one.overall.n:,}, {one.ties:,} ties, {one.missing:,} missing"
        yield f"{one.measure}: {_share(one.overall)} ({about}){levels and f'; {levels}'}"


def _share(share: Share) -> str:
    return (
        "nothing"
        if share.value is None
        else f"{share.value:.2%} {bracketed(share.low, share.high, '.2%')}"
    )


def _estimate(one: Estimate) -> str:
    if one.value is None:
        return "undefined"
    return f"{one.value:.4f} {bracketed(one.low, one.high, '.4f', 'no interval')}"
