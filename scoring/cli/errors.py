"""Commands `errors ...`: draw wrong answers to label, give the shares of the kinds of error, compare, hold the exam."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from arena.io.strict_json import RowsError
from arena.io.tables import read_records
from arena.ratings.agreement import Estimate
from scoring.error_analysis.agreement import doubted_questions, label_agreement
from scoring.error_analysis.comparison import compare_errors
from scoring.error_analysis.files import doubted_csv, draw_csv, read_labels
from scoring.error_analysis.published import CASE_MODELS, PAPER_SHARES, error_cases, exam
from scoring.error_analysis.sample import PER_GROUP, KnownErrors, draw, known_errors
from scoring.error_analysis.shares import ErrorShares, error_shares, without_annotation_errors
from scoring.error_analysis.types import ERROR_KINDS, ErrorKey, Label
from scoring.registry import open_upload

app, errors = Typer(rich_markup_mode=None), Typer(help="which errors a model makes, by people's labels")
app.add_typer(errors, name="errors")
Outputs = Annotated[Path, Argument(metavar="FILE", help="the model's outputs, as `score` takes them")]
Protocol = Annotated[str, Option(metavar="NAME", help="how letters are read; the benchmark's default without")]


@errors.command("draw")
def draws(
    file: Outputs,
    out: Annotated[Path, Option(metavar="FILE", help="CSV of the drawn answers, to be labelled in its column main")],
    k: Annotated[int, Option(min=1, max=1000, help="wrong answers of each group at most")] = PER_GROUP,
    seed: Annotated[int, Option(help="the same seed draws the same questions, of every model")] = 0,
    protocol: Protocol = "",
) -> Iterator[str]:
    """Draw up to k wrong answers of each group, as MMT-Bench's authors did."""
    known = _known(file, protocol)
    drawn = draw(known, k, seed)
    out.write_text(draw_csv(drawn), "utf-8")
    yield f"{len(drawn):,} of {sum(known.sizes.values()):,} wrong answers, of {len(known.sizes):,} groups: {out}"
    yield f"Kinds for its column main: {', '.join(ERROR_KINDS)}"


@errors.command("shares")
def gives_shares(
    labels: Annotated[Path, Argument(help="labels: item, main, and maybe labeller, round, further, note")],
    file: Outputs,
    protocol: Protocol = "",
    doubted: Annotated[Path | None, Option(metavar="FILE", help="also write the doubted questions as CSV")] = None,
) -> Iterator[str]:
    """Give the share of each kind of error: of the sample, as the paper, and weighted to all errors."""
    known = _known(file, protocol)
    read = read_labels(labels, known.by_item)
    yield from read.problems
    found = error_shares(read.labels, known)
    yield f"{found.labelled:,} of {found.errors:,} wrong answers are labelled, of groups with {found.covered:,}"
    yield f"{'kind':<30}{'sample':>8}  {'95% interval':<16}{'weighted':>8}  {'95% interval':<16}{'MMT-Bench, 4.4'}"
    yield from (_row(found, key) for key in ERROR_KINDS)
    if bounds := without_annotation_errors(found, known):
        yield (
            f"Score {100 * bounds.none_dropped:.1f}; without the questions among its errors that are wrong "
            f"{100 * bounds.all_dropped:.1f}, at most {100 * bounds.highest:.1f}"
        )
    yield from _agreement(read.labels)
    if doubted:
        questions = doubted_questions({file.name: read.labels})
        doubted.write_text(doubted_csv(questions), "utf-8")
        yield f"{len(questions):,} doubted questions: {doubted}"


@errors.command()
def compare(
    labels: Annotated[Path, Argument(help="labels of the first model")],
    file: Outputs,
    other_labels: Annotated[Path, Argument(help="labels of the second model")],
    other_file: Annotated[Path, Argument(metavar="OTHER_FILE", help="the second model's outputs")],
    protocol: Protocol = "",
) -> Iterator[str]:
    """Compare two models' kinds of error on the questions that both got wrong and people labelled."""
    sides = []
    for named, outputs in ((labels, file), (other_labels, other_file)):
        read = read_labels(named, _known(outputs, protocol).by_item)
        yield from (f"{named.name}: {problem}" for problem in read.problems)
        sides.append(read.labels)
    found = compare_errors(*sides)
    value, freedom, p = found.symmetry
    yield f"{found.items:,} questions have labels of both; Bowker {value:.2f}, df {freedom}, p {p:.3g}"
    for key, (counts, holm) in found.kinds.items():
        yield (
            f"{ERROR_KINDS[key].title}: {counts.first_only:,} in {file.name} alone, {counts.second_only:,} in "
            f"{other_file.name} alone, {counts.both:,} in both; p {counts.p:.3g}, with Holm's correction {holm:.3g}"
        )


@errors.command("exam")
def holds_exam(
    labels: Annotated[Path, Argument(help="a judge's labels of the paper's cases: figure, model, main")],
) -> Iterator[str]:
    """Compare a labelling judge with the 66 errors of MMT-Bench's Table A11."""
    given: dict[tuple[str, str], ErrorKey] = {}
    for record in read_records(labels):
        cells = {name: str(record.values.get(name) or "").strip() for name in ("figure", "model", "main")}
        key: ErrorKey | None = next((key for key in ERROR_KINDS if key == cells["main"]), None)
        if (cells["figure"], cells["model"]) not in error_cases() or key is None:
            told = f"expected figure A5 to A36, model {', '.join(CASE_MODELS)}, main {', '.join(ERROR_KINDS)}"
            raise RowsError(told, labels.name, record.row)
        given[cells["figure"], cells["model"]] = key
    found = exam(given)
    kappa = "none" if found.kappa is None else f"{found.kappa:.3f}"
    yield f"{found.right} of {found.asked} right ({found.right / found.asked:.0%}), kappa {kappa}"
    if found.unanswered:
        yield f"{found.unanswered} of them have no label, and count as wrong"
    yield f"By always naming the most common kind: {found.most_common} ({found.most_common / found.asked:.0%})"


def _known(file: Path, protocol: str) -> KnownErrors:
    opened = open_upload(file)
    if opened is None:
        raise RowsError("expected outputs of a benchmark that rules can score (python -m scoring score)", file.name)
    report = opened.report(protocol or next(iter(opened.benchmark.protocols.values())))
    return known_errors(opened.benchmark.scored_answers(report))


def _row(found: ErrorShares, key: ErrorKey) -> str:
    one, papers = found.kinds[key], []
    for model, shares in PAPER_SHARES.items():
        if key in shares:
            papers.append(f"{model} {shares[key]:.1%}")
    sample = f"{one.sample.low or 0:.1%} to {one.sample.high or 0:.1%}"
    weighted = f"{one.weighted.low:.1%} to {one.weighted.high:.1%}"
    return (
        f"{ERROR_KINDS[key].title:<30}{one.sample.value or 0:>8.1%}  {sample:<16}{one.weighted.value:>8.1%}  "
        f"{weighted:<16}{', '.join(papers)}"
    ).rstrip()


def _agreement(labels: tuple[Label, ...]) -> Iterator[str]:
    found = label_agreement({"": labels})
    if found.answers:
        yield f"{found.answers:,} answers have labels of several people: Krippendorff's alpha {_alpha(found.main)}"
        kinds = (f"{ERROR_KINDS[key].title} {_alpha(one)}" for key, one in found.kinds.items())
        yield f"alpha of each kind: {', '.join(kinds)}"
        yield f"{found.common.hits:,} of {found.common.n:,} pairs of labels have a kind in common"
    if found.own.value is not None:
        yield f"the same person twice: alpha {_alpha(found.own)}"


def _alpha(one: Estimate) -> str:
    if one.value is None:
        return "undefined"
    return f"{one.value:.3f}" + ("" if one.low is None or one.high is None else f" [{one.low:.3f}, {one.high:.3f}]")
