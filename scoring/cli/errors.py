"""Commands `errors ...`: draw wrong answers to label, propose kinds, give their shares, compare, hold the exam."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from arena.cli.output_paths import output_file, refuse_overwriting
from arena.interval_text import BRACKETS
from arena.io.images import Picture, PictureError, read_picture
from arena.io.named_files import named_file
from arena.io.strict_json import RowsError
from arena.io.tables import read_records
from arena.settings import Settings
from arena.sheets import as_csv
from scoring.benchmarks.article import ScoredAnswer
from scoring.benchmarks.mm_vet import MMVet
from scoring.cli import progress
from scoring.jobs.report_pictures import file_pictures
from scoring.people.error_sample import PER_GROUP, KnownErrors, draw_errors, known_errors
from scoring.people.error_shares import LabelsError, error_shares, without_annotation_errors
from scoring.people.errors import ERROR_KINDS, ErrorKey, Label
from scoring.people.label_agreement import compare_errors, doubted_questions, label_agreement
from scoring.people.label_files import draw_csv, drawn_items, labels_csv, read_labels
from scoring.people.label_sheets import (
    agreement_sheet,
    bounds_text,
    comparison_sheet,
    confusion_sheet,
    corrected_sheet,
    doubted_sheet,
    kind_sheet,
)
from scoring.people.proposals import confusion, corrected_shares, label_by_rules, proposal_task
from scoring.people.published import CASE_MODELS, error_cases, exam_result
from scoring.registry import BENCHMARKS, open_upload
from scoring.report import NO_AUDIT, answer_digest, read_audit
from scoring.specs.problems import either

app = Typer(rich_markup_mode=None)
errors = Typer(help="which errors a model makes, by people's labels")
app.add_typer(errors, name="errors")
AUDIT = "-audit.jsonl"
"""The ending of a judged report's file of replies."""
_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif")
"""Endings of pictures that are named by their item."""
Outputs = Annotated[
    Path,
    Argument(
        metavar="FILE",
        help="the model's answers, as for `score`, or a judged report's -audit.jsonl",
    ),
]
Protocol = Annotated[
    str, Option(metavar="NAME", help="protocol for reading letters; by default the benchmark's")
]


@errors.command("draw")
def draw(
    file: Outputs,
    out: Annotated[
        Path,
        Option(
            metavar="FILE",
            callback=output_file,
            help="a CSV of the drawn answers; label them in its column main",
        ),
    ],
    k: Annotated[
        int, Option(min=1, max=1000, help="at most this many wrong answers of each group")
    ] = PER_GROUP,
    seed: Annotated[int, Option(help="the same seed draws the same questions for every model")] = 0,
    protocol: Protocol = "",
) -> Iterator[str]:
    """Draw up to k wrong answers of each group, as MMT-Bench's authors did."""
    if out.exists():
        raise RowsError(
            "This file exists, and may have people's labels. Choose another --out.", out.name
        )
    known = _known_errors(file, _answers(file, protocol))
    drawn = draw_errors(known, k, seed)
    out.write_text(draw_csv(drawn), "utf-8")
    yield f"{len(drawn):,} of {sum(known.sizes.values()):,} wrong answers, of {len(known.sizes):,} groups: {out}"
    yield f"Kinds for its column main: {', '.join(ERROR_KINDS)}"


@errors.command("propose")
def propose(
    file: Outputs,
    judge: progress.JudgeModel,
    out: Annotated[
        Path,
        Option(
            metavar="FILE",
            callback=output_file,
            help="a CSV of the proposals, for `errors shares --proposals`",
        ),
    ],
    drawn: Annotated[
        Path | None, Option(metavar="FILE", help="propose only for the answers of this draw")
    ] = None,
    images: Annotated[
        Path | None,
        Option(
            metavar="DIR", help="a folder of pictures, by name or by item; by default those in FILE"
        ),
    ] = None,
    protocol: Protocol = "",
    base_url: progress.BaseUrl = None,
    yes: progress.Yes = False,
    budget: progress.Dollars = None,
) -> Iterator[str]:
    """Propose kinds of error by rules and by a judge that sees the pictures. Proposals aren't people's labels."""
    refuse_overwriting([out], file, drawn)
    command_judge = progress.CommandJudge(
        settings=Settings.from_env(),
        model=judge,
        base_url=base_url,
        batch=False,
        yes=yes,
        budget=budget,
    )
    answers = _answers(file, protocol)
    errors_by_item = _known_errors(file, answers).by_item
    items = set(drawn_items(drawn)) if drawn else set(errors_by_item)
    if drawn and (foreign := len(items - errors_by_item.keys())):
        yield f"{drawn.name}: {foreign:,} of its {len(items):,} items are no wrong answers of {file.name}"
    wanted = {item: error for item, error in errors_by_item.items() if item in items}
    ruled = {
        item: label
        for item, error in wanted.items()
        if (label := label_by_rules(error.answer, error.group))
    }
    unruled = {item: error for item, error in wanted.items() if item not in ruled}
    images_by_item = command_judge.store_pictures(
        _pictures(file, images, answers, [error.answer for error in unruled.values()])
    )
    spec = yield from command_judge.spec()
    tasks = []
    for item, pictures in images_by_item.items():
        error = unruled[item]
        tasks.append(proposal_task(error.answer, error.group, pictures, spec))
    proposals = yield from command_judge.outcomes(tasks, spec)
    labels = [*ruled.values(), *(proposal.label for proposal in proposals if proposal.label)]
    digests = {item: answer_digest(error.answer.answer) for item, error in wanted.items()}
    out.write_text(labels_csv(labels, digests, "proposed_by"), "utf-8")
    yield f"{len(labels):,} of {len(wanted):,} wrong answers have a proposal, {len(ruled):,} by rules: {out}"
    if without_picture := len(unruled) - len(images_by_item):
        yield (
            f"{without_picture:,} have no picture here. Without it, perception and reasoning can't be told apart. "
            "Add --images DIR."
        )
    reasons = Counter(proposal.reason for proposal in proposals if not proposal.label)
    for reason, count in reasons.most_common():
        yield f"{count:,} have none: {reason}"
    if proposals and not any(proposal.label for proposal in proposals):
        yield f"No reply from {judge} named a kind. Choose a model that sees pictures."


@errors.command("shares")
def print_shares(
    labels: Annotated[
        Path, Argument(help="labels: item, main, and optionally labeller, round, further, note")
    ],
    file: Outputs,
    protocol: Protocol = "",
    doubted: Annotated[
        Path | None,
        Option(
            metavar="FILE", callback=output_file, help="also write the doubted questions as CSV"
        ),
    ] = None,
    proposals: Annotated[
        Path | None,
        Option(metavar="FILE", help="a file of `errors propose`, to compare with the labels"),
    ] = None,
) -> Iterator[str]:
    """Print the share of each kind of error: of the sample, as in the paper, and weighted to all errors."""
    if doubted:
        refuse_overwriting([doubted], labels, file, proposals)
    known = _known_errors(file, _answers(file, protocol))
    usable_labels = yield from _people_labels(labels, known)
    shares = error_shares(usable_labels, known)
    yield f"{shares.labelled:,} of {shares.wrong:,} wrong answers are labelled, of groups with {shares.covered:,}"
    yield BRACKETS
    yield from progress.sheet_lines([kind_sheet(shares, with_paper=True)])
    if bounds := without_annotation_errors(shares, known):
        yield bounds_text(shares, bounds)
    agreed = label_agreement({"": usable_labels})  # one model, which needs no name
    if agreed.has_repeats:
        yield from progress.sheet_lines([agreement_sheet(agreed)])
    if proposals:
        yield from _proposal_lines(usable_labels, proposals, known)
    if doubted:
        questions = doubted_questions({file.name: usable_labels})
        doubted.write_text(as_csv(doubted_sheet(questions)), "utf-8")
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
    first = yield from _people_labels(labels, _known_errors(file, _answers(file, protocol)))
    other_errors = _known_errors(other_file, _answers(other_file, protocol))
    second = yield from _people_labels(other_labels, other_errors)
    comparison = compare_errors(first, second)
    yield from progress.sheet_lines([comparison_sheet(file.name, other_file.name, comparison)])


@errors.command("exam")
def hold_exam(
    labels: Annotated[
        Path, Argument(help="a judge's labels of the paper's cases: figure, model, main")
    ],
) -> Iterator[str]:
    """Compare a labelling judge with the 66 errors of MMT-Bench's Table A11."""
    labels_by_case: dict[tuple[str, str], ErrorKey] = {}
    for record in read_records(labels):
        cells = {
            name: str(record.values.get(name) or "").strip() for name in ("figure", "model", "main")
        }
        # Looked up in ERROR_KINDS, so that its type is ErrorKey.
        key: ErrorKey | None = next((key for key in ERROR_KINDS if key == cells["main"]), None)
        if (cells["figure"], cells["model"]) not in error_cases() or key is None:
            problem = (
                "This isn't a case of the paper with a kind of error. Use figure A5 to A36, "
                f"model {either(CASE_MODELS)}, and main {either(ERROR_KINDS)}."
            )
            raise RowsError(problem, labels.name, record.row)
        labels_by_case[cells["figure"], cells["model"]] = key
    result = exam_result(labels_by_case)
    kappa = "none" if result.kappa is None else f"{result.kappa:.3f}"
    yield f"{result.right} of {result.cases} right ({result.right / result.cases:.0%}), kappa {kappa}"
    if result.unanswered:
        yield f"{result.unanswered} of them have no label, and count as wrong"
    yield f"By always naming the most common kind: {result.most_common} ({result.most_common / result.cases:.0%})"


def _answers(file: Path, protocol: str) -> Sequence[ScoredAnswer]:
    """Answers of a judged report's audit, or of a file that rules can score."""
    if file.name.endswith(AUDIT):
        report = read_audit(file)
        benchmark = BENCHMARKS.get(report.benchmark)
        if not isinstance(benchmark, MMVet):  # the only benchmark whose audits can be read
            raise RowsError(NO_AUDIT, file.name)
        return benchmark.scored_answers(report)
    opened = open_upload(file)
    if opened is None:
        raise RowsError(
            "Rules can't score this file. Choose outputs that python -m scoring score can read without "
            f"a judge, or a judged report's {AUDIT}.",
            file.name,
        )
    default_protocol = next(iter(opened.benchmark.protocols.values()))
    report = opened.report(protocol or default_protocol)
    return opened.benchmark.scored_answers(report)


def _known_errors(file: Path, answers: Sequence[ScoredAnswer]) -> KnownErrors:
    """Wrong answers of a file. Raises RowsError if none of its answers can be scored."""
    known = known_errors(answers)
    if not known.scored:
        raise RowsError(
            "None of its answers can be scored. Choose a file with right answers beside the model's.",
            file.name,
        )
    return known


def _people_labels(file: Path, known: KnownErrors) -> progress.Lines[tuple[Label, ...]]:
    """Yields the problems of a file of labels as lines, and returns its labels of a model's errors.

    Raises RowsError without any label.
    """
    label_file = read_labels(file, known.by_item)
    yield from (f"{file.name}: {problem}" for problem in label_file.problems)
    if not label_file.labels:
        raise RowsError(
            f"It has no usable labels. Write {either(ERROR_KINDS)} in the column main.",
            file.name,
        )
    return label_file.labels


def _pictures(
    file: Path, folder: Path | None, answers: Sequence[ScoredAnswer], wanted: Sequence[ScoredAnswer]
) -> Iterator[tuple[str, Picture]]:
    """Yields the wanted answers' pictures with their items, from the folder if there is one, else from the file.

    In the folder, a picture has the name that the file gives it, or without one the item's name. Raises RowsError.
    """
    if folder is None:
        if not file.name.endswith(AUDIT):  # an audit has no pictures
            yield from file_pictures(file, file.name, answers, wanted)
        return
    for answer in wanted:
        is_named = bool(answer.pictures)
        names = answer.pictures or [f"{answer.id}{ending}" for ending in _ENDINGS]
        for name in map(Path, names):
            try:
                if name.is_absolute() or ".." in name.parts:
                    raise ValueError(f"It would be outside {folder}. Rename it.")
                path = named_file(folder, str(name))
                if is_named or path.is_file():  # a picture that the file names must be there
                    yield answer.id, read_picture(path.read_bytes())
            except (OSError, ValueError, PictureError) as error:
                problem = error.strerror if isinstance(error, OSError) else str(error)
                text = f"The picture of item {answer.id[:80]} can't be used. {problem}"
                raise RowsError(text, name.name) from error


def _proposal_lines(labels: Sequence[Label], proposals: Path, known: KnownErrors) -> Iterator[str]:
    """Proposals beside people's labels, and the shares that both together give."""
    label_file = read_labels(proposals, known.by_item, "proposed_by")
    yield from (f"{proposals.name}: {problem}" for problem in label_file.problems)
    proposed = {label.item: label for label in label_file.labels}
    table = confusion(labels, proposed)
    wrong = sum(known.sizes.values())
    yield f"Proposals: {len(proposed):,} of {wrong:,} wrong answers; {table.answers:,} have labels too"
    if table.answers:
        yield from progress.sheet_lines([confusion_sheet(table)])
    try:
        corrected = corrected_shares(labels, proposed)
    except LabelsError as error:
        yield str(error)
        return
    yield from progress.sheet_lines([corrected_sheet(corrected)])
