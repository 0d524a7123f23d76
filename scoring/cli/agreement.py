"""Command `agreement`: how far people agree, and which measures follow them, from files of votes and verdicts."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Annotated, get_args

from typer import Argument, BadParameter, Context, Option, Typer
from typer.core import TyperCommand

from arena.cli.output_paths import refuse_overwriting
from arena.imports.poll_files import read_poll
from arena.interval_text import BRACKETS
from arena.plots import plots_page
from arena.sheets import as_csv
from scoring.cli import progress
from scoring.people.agreement import Scores, people_agreement
from scoring.people.agreement_files import (
    agreement_json,
    note_unmatched_rows,
    read_answers,
    read_scores,
)
from scoring.people.agreement_sheets import TITLE, coefficient_sheet, level_sheet, measure_sheet
from scoring.people.text_metrics import INSTALLED, MetricName
from scoring.web.agreement_view import reproduction_plot

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


def _checked_metrics(names: str) -> str:
    """The option's names, separated by commas. Raises BadParameter for an unknown one."""
    for name in filter(None, names.split(",")):
        if name not in METRICS:
            raise BadParameter(f"{name!r} isn't a metric. Choose from {', '.join(METRICS)}.")
    return names


@app.command(cls=MetricNames)
def agreement(
    files: Annotated[
        list[Path], Argument(metavar="FILE...", help="files of people's votes and judges' verdicts")
    ],
    out: progress.Out,
    answers: Annotated[
        Path | None, Option(metavar="FILE", help="the models' answers: item, model, answer")
    ] = None,
    scores: Annotated[
        Path | None, Option(metavar="FILE", help="other metrics: item, model, metric, score")
    ] = None,
    metrics: Annotated[
        str,
        Option(
            callback=_checked_metrics,
            metavar="NAME...",
            help=f"text metrics to compute, from {', '.join(METRICS)}",
        ),
    ] = ",".join(INSTALLED),
) -> Iterator[str]:
    refuse_overwriting((out / name for name in FILES), *files, answers, scores)
    chosen = tuple(name for name in METRICS if name in metrics.split(","))
    poll = read_poll(files)
    if not poll.choices and not poll.verdicts:
        yield from poll.notices
        raise progress.NothingGradedError(
            "Nothing was measured: the files have no votes or verdicts on known items. Choose others."
        )
    other_scores: Mapping[str, Scores] = {}
    if answers:
        new_answers = read_answers(answers)
        poll = replace(poll, answers={**poll.answers, **new_answers})
        poll = note_unmatched_rows(poll, [*new_answers], answers.name)
    if scores:
        other_scores = read_scores(scores, {*chosen, *(verdict.judge for verdict in poll.verdicts)})
        scored = [key for scores_by_answer in other_scores.values() for key in scores_by_answer]
        poll = note_unmatched_rows(poll, scored, scores.name)
    result = people_agreement(poll, other_scores, chosen)
    people = result.people
    measures = measure_sheet(result)
    plot = replace(reproduction_plot(result), table=measures)
    yield from result.notices
    left_out = f"{result.with_reference:,} more with the reference are left out"
    yield f"pairs with several votes: {people.contests:,} ({people.votes:,} votes); {left_out}"
    yield BRACKETS
    yield from progress.sheet_lines([level_sheet(people), coefficient_sheet(people), measures])
    texts = {
        "agreement.json": agreement_json(result),
        "measures.csv": as_csv(measures),
        "measures.html": plots_page(TITLE, [plot]),
    }
    summary = progress.write_files({name: text.encode() for name, text in texts.items()}, out)
    yield f"\n{summary}"
