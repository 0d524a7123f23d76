"""Commands `errors ...`: draw wrong answers to label, propose kinds, give their shares, compare, hold the exam."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from arena.cli.output_paths import check_unread, output_file
from arena.interval_text import interval_text, spanned
from arena.io.images import Picture, PictureError, read_picture
from arena.io.named_files import named_file
from arena.io.strict_json import RowsError
from arena.io.tables import read_records
from arena.ratings.agreement import Estimate
from arena.settings import Settings
from scoring.benchmarks.article import ScoredAnswer
from scoring.benchmarks.mm_vet import MMVet
from scoring.cli import progress
from scoring.jobs.report_pictures import file_pictures
from scoring.people.error_sample import PER_GROUP, KnownErrors, draw, known_errors
from scoring.people.error_shares import (
    KEYS,
    ErrorShares,
    LabelsError,
    error_shares,
    without_annotation_errors,
)
from scoring.people.errors import ERROR_KINDS, ErrorKey, Label
from scoring.people.label_agreement import doubted_questions, label_agreement
from scoring.people.label_comparison import compare_errors
from scoring.people.label_files import doubted_csv, draw_csv, labels_csv, named_items, read_labels
from scoring.people.proposals import by_rules, confusion, corrected_shares, proposal_task
from scoring.people.published_errors import CASE_MODELS, PAPER_SHARES, error_cases, exam
from scoring.registry import BENCHMARKS, open_upload
from scoring.report import NO_AUDIT, answer_digest, read_audit

app = Typer(rich_markup_mode=None)
errors = Typer(help="which errors a model makes, by people's labels")
app.add_typer(errors, name="errors")
AUDIT = "-audit.jsonl"
_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif")
Outputs = Annotated[
    Path,
    Argument(
        metavar="FILE",
        help="the model's outputs, as `score` takes them, or a judged report's -audit.jsonl",
    ),
]
Protocol = Annotated[
    str, Option(metavar="NAME", help="how letters are read; the benchmark's default without")
]


@errors.command("draw")
def draws(
    file: Outputs,
    out: Annotated[
        Path,
        Option(
            metavar="FILE",
            callback=output_file,
            help="CSV of the drawn answers, to label in its column main",
        ),
    ],
    k: Annotated[
        int, Option(min=1, max=1000, help="wrong answers of each group at most")
    ] = PER_GROUP,
    seed: Annotated[int, Option(help="the same seed draws the same questions, of every model")] = 0,
    protocol: Protocol = "",
) -> Iterator[str]:
    """Draw up to k wrong answers of each group, as MMT-Bench's authors did."""
    if out.exists():
        raise RowsError(
            "is there already, maybe with people's labels; choose another --out", out.name
        )
    known = _errors(file, _answers(file, protocol))
    drawn = draw(known, k, seed)
    out.write_text(draw_csv(drawn), "utf-8")
    yield f"{len(drawn):,} of {sum(known.sizes.values()):,} wrong answers, of {len(known.sizes):,} groups: {out}"
    yield f"Kinds for its column main: {', '.join(ERROR_KINDS)}"


@errors.command("propose")
def proposes(
    file: Outputs,
    judge: progress.JudgeModel,
    out: Annotated[
        Path,
        Option(
            metavar="FILE",
            callback=output_file,
            help="CSV of the proposals, for `errors shares --proposals`",
        ),
    ],
    drawn: Annotated[
        Path | None, Option(metavar="FILE", help="for the answers of this draw alone")
    ] = None,
    images: Annotated[
        Path | None,
        Option(metavar="DIR", help="pictures by their names, or by item; those in FILE without"),
    ] = None,
    protocol: Protocol = "",
    base_url: progress.BaseUrl = None,
    yes: progress.Yes = False,
    budget: progress.Dollars = None,
) -> Iterator[str]:
    """Have rules, then a judge that sees the pictures, propose kinds of error. They are no labels of people."""
    check_unread([out], file, drawn)
    serving = progress.CommandJudge(Settings.from_env(), judge, base_url, False, yes, budget)
    answers = _answers(file, protocol)
    errors = _errors(file, answers).by_item
    named = {*(named_items(drawn) if drawn else errors)}
    if drawn and (other := len(named - errors.keys())):
        yield f"{drawn.name}: {other:,} of its {len(named):,} items are no wrong answers of {file.name}"
    wanted = {item: error for item, error in errors.items() if item in named}
    ruled = {
        item: label for item, (one, group) in wanted.items() if (label := by_rules(one, group))
    }
    asked = {item: error for item, error in wanted.items() if item not in ruled}
    shown = serving.shown(_pictures(file, images, answers, [one for one, _ in asked.values()]))
    spec = yield from serving.spec()
    tasks = []
    for item, pictures in shown.items():
        error, group = asked[item]
        tasks.append(proposal_task(error, group, pictures, spec))
    found = yield from serving.asked(tasks, spec)
    labels = [*ruled.values(), *(one.label for one in found if one.label)]
    digests = {item: answer_digest(one.answer) for item, (one, _) in wanted.items()}
    out.write_text(labels_csv(labels, digests, "proposed_by"), "utf-8")
    yield f"{len(labels):,} of {len(wanted):,} wrong answers have a proposal, {len(ruled):,} by rules: {out}"
    if blind := len(asked) - len(shown):
        yield (
            f"{blind:,} have no picture here, without which perception cannot be told from reasoning; give --images DIR"
        )
    for reason, times in Counter(one.reason for one in found if not one.label).most_common():
        yield f"{times:,} have none: {reason}"
    if found and not any(one.label for one in found):
        yield f"No reply of {judge} named a kind; it has to be a model that sees pictures"


@errors.command("shares")
def gives_shares(
    labels: Annotated[
        Path, Argument(help="labels: item, main, and maybe labeller, round, further, note")
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
        Path | None, Option(metavar="FILE", help="of `errors propose`, to be set beside")
    ] = None,
) -> Iterator[str]:
    """Give the share of each kind of error: of the sample, as the paper, and weighted to all errors."""
    if doubted:
        check_unread([doubted], labels, file, proposals)
    known = _errors(file, _answers(file, protocol))
    read = read_labels(labels, known.by_item)
    yield from read.problems
    _check_labelled(labels, read.labels)
    found = error_shares(read.labels, known)
    yield f"{found.labelled:,} of {found.errors:,} wrong answers are labelled, of groups with {found.covered:,}"
    yield f"{'kind':<30}{'sample':>8}  {'95% interval':<16}{'weighted':>8}  {'95% interval':<16}{'MMT-Bench, 4.4'}"
    yield from (_row(found, key) for key in ERROR_KINDS)
    if bounds := without_annotation_errors(found, known):
        yield (
            f"Score {100 * bounds.none_dropped:.1f}; without the questions among these {found.covered:,} errors that "
            f"are wrong {100 * bounds.all_dropped:.1f}, at most {100 * bounds.highest:.1f}"
        )
    yield from _agreement(read.labels)
    if proposals:
        yield from _proposed(read.labels, proposals, known)
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
    first = yield from _labelled(labels, file, protocol)
    second = yield from _labelled(other_labels, other_file, protocol)
    found = compare_errors(first, second)
    value, freedom, p = found.symmetry
    yield f"{found.items:,} questions have labels of both; Bowker {value:.2f}, df {freedom}, p {p:.3g}"
    for key, (counts, holm) in found.kinds.items():
        yield (
            f"{ERROR_KINDS[key].title}: {counts.first_only:,} in {file.name} alone, {counts.second_only:,} in "
            f"{other_file.name} alone, {counts.both:,} in both; p {counts.p:.3g}, with Holm's correction {holm:.3g}"
        )


@errors.command("exam")
def holds_exam(
    labels: Annotated[
        Path, Argument(help="a judge's labels of the paper's cases: figure, model, main")
    ],
) -> Iterator[str]:
    """Compare a labelling judge with the 66 errors of MMT-Bench's Table A11."""
    given: dict[tuple[str, str], ErrorKey] = {}
    for record in read_records(labels):
        cells = {
            name: str(record.values.get(name) or "").strip() for name in ("figure", "model", "main")
        }
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


def _answers(file: Path, protocol: str) -> Sequence[ScoredAnswer]:
    """All answers of a judged report's audit, or of a file that rules can score."""
    if file.name.endswith(AUDIT):
        report = read_audit(file)
        if not isinstance(benchmark := BENCHMARKS.get(report.benchmark), MMVet):
            raise RowsError(NO_AUDIT, file.name)
        return benchmark.scored_answers(report)
    opened = open_upload(file)
    if opened is None:
        told = "expected outputs of a benchmark that rules can score (python -m scoring score), or a judged report's"
        raise RowsError(f"{told} {AUDIT}", file.name)
    report = opened.report(protocol or next(iter(opened.benchmark.protocols.values())))
    return opened.benchmark.scored_answers(report)


def _errors(file: Path, answers: Sequence[ScoredAnswer]) -> KnownErrors:
    """The wrong answers of a file. Raises RowsError if nothing tells which are wrong."""
    known = known_errors(answers)
    if not known.scored:
        raise RowsError(
            "has no answer that could be scored; give one with right answers beside the model's",
            file.name,
        )
    return known


def _labelled(labels: Path, file: Path, protocol: str) -> progress.Lines[tuple[Label, ...]]:
    """People's labels of a model's errors; their file's problems are lines. Raises RowsError without any label."""
    read = read_labels(labels, _errors(file, _answers(file, protocol)).by_item)
    yield from (f"{labels.name}: {problem}" for problem in read.problems)
    _check_labelled(labels, read.labels)
    return read.labels


def _check_labelled(file: Path, labels: Sequence[Label]) -> None:
    if not labels:
        told = "expected a kind in the column main of one row or more, found no label that can be used; write one of"
        raise RowsError(f"{told} {', '.join(ERROR_KINDS)}", file.name)


def _pictures(
    file: Path, folder: Path | None, answers: Sequence[ScoredAnswer], wanted: Sequence[ScoredAnswer]
) -> Iterator[tuple[str, Picture]]:
    """Items with the pictures that a folder has, by their names or the item's; without a folder, those in the file."""
    if folder is None:
        yield from (
            () if file.name.endswith(AUDIT) else file_pictures(file, file.name, answers, wanted)
        )
        return
    for one in wanted:
        for name in map(Path, one.pictures or [f"{one.id}{end}" for end in _ENDINGS]):
            try:
                if name.is_absolute() or ".." in name.parts:
                    raise ValueError(f"a picture of this name would lie outside {folder}")
                path = named_file(folder, str(name))
                if one.pictures or path.is_file():
                    yield one.id, read_picture(path.read_bytes())
            except (OSError, ValueError, PictureError) as error:
                raise RowsError(f"item {one.id[:80]}: {error}", name.name) from error


def _proposed(labels: Sequence[Label], proposals: Path, known: KnownErrors) -> Iterator[str]:
    """Proposals beside people's labels, and the shares that both together give."""
    read = read_labels(proposals, known.by_item, "proposed_by")
    yield from (f"{proposals.name}: {problem}" for problem in read.problems)
    proposed = {one.item: one for one in read.labels}
    found = confusion(labels, proposed)
    answers = int(found.table.sum())
    yield f"Proposals: {len(proposed):,} of {sum(known.sizes.values()):,} wrong answers; {answers:,} have labels too"
    if answers:
        yield f"the same kind: {found.same:,}; Cohen's kappa {'none' if found.kappa is None else f'{found.kappa:.3f}'}"
        yield from (
            f"people {ERROR_KINDS[told].title}, proposed {ERROR_KINDS[other].title}: {found.table[here, there]:,}"
            for here, told in enumerate(KEYS)
            for there, other in enumerate(KEYS)
            if found.table[here, there]
        )
    try:
        corrected = corrected_shares(labels, proposed)
    except LabelsError as error:
        yield f"{error}."
        return
    yield f"{'kind, of all with a proposal':<30}{'proposed':>8}  {'corrected':>9}  {'95% interval':<16}{'labels alone'}"
    for key, one in corrected.items():
        interval = spanned(one.corrected.low, one.corrected.high, ".1%")
        yield (
            f"{ERROR_KINDS[key].title:<30}{one.judge:>8.1%}  {one.corrected.value:>9.1%}  "
            f"{interval:<16}{one.alone.value:.1%}"
        )


def _row(found: ErrorShares, key: ErrorKey) -> str:
    one = found.kinds[key]
    papers = [
        f"{model} {shares[key]:.1%}" for model, shares in PAPER_SHARES.items() if key in shares
    ]
    sample = spanned(one.sample.low, one.sample.high, ".1%")
    weighted = spanned(one.weighted.low, one.weighted.high, ".1%")
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
    interval = interval_text(one.low, one.high, ".3f")
    return f"{one.value:.3f}{f' ({interval})' if interval else ''}"
