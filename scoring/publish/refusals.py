"""Refusals: reasons not to show a report's score as a bare number, or not to publish it under a benchmark's name."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scoring.benchmarks.base import Benchmark, FileBenchmark
from scoring.benchmarks.choice import MultipleChoice
from scoring.benchmarks.choice_answers import failures
from scoring.benchmarks.choice_report import ChoiceReport
from scoring.benchmarks.hidden import HiddenReport
from scoring.benchmarks.spec_benchmark import is_own
from scoring.multiple_choice.metrics import undecided_is_wrong
from scoring.multiple_choice.types import PASS
from scoring.publish.editions import edition_of
from scoring.registry import SHIPPED, benchmark_of
from scoring.report import AnyReport, Report, ScoreLine, remembered
from scoring.specs.report import SpecReport
from scoring.visit_bench.matches import MatchReport
from scoring.visit_bench.sealed import SealedReport

Stop = Literal["text", "number", "hub"]
"""text: nothing to share, no link, picture or text. number: the badge shows no number. hub: no file or pull request
for the Hub."""
MOST_UNSCORED = 0.05
"""Share of grades that may be unscored."""
JUDGE_NOT_TRUSTED = "Judge not trusted"
PARTIAL = "Partial"
"""Kinds of a report's caveats."""

_EVERYTHING: frozenset[Stop] = frozenset({"text", "number", "hub"})
_NUMBERS: frozenset[Stop] = frozenset({"number", "hub"})
_HUB: frozenset[Stop] = frozenset({"hub"})


@dataclass(frozen=True)
class Refusal:
    """A reason not to publish a score as it is, with the uses that it stops."""

    reason: str
    """A sentence for the page."""
    kind: str
    """The reason in a word or two, for a badge."""
    stops: frozenset[Stop]


@remembered
def refusals(report: AnyReport) -> Sequence[Refusal]:
    """Every reason against publishing a report's score, the gravest first; none for a score that may go anywhere."""
    benchmark = benchmark_of(report)
    head = benchmark.headline(report)
    if head is None or head.mean is None:
        return [Refusal("It has no score.", "no score", _EVERYTHING)]
    return [
        *_distrust(report, benchmark),
        *_partial(report, benchmark),
        *_unscored(report, head),
        *_several_judges(report),
        *_unchecked(report),
        *_mode(report),
    ]


def stopping_refusals(reasons: Sequence[Refusal], stop: Stop) -> list[Refusal]:
    """Returns the refusals that stop this use."""
    return [refusal for refusal in reasons if stop in refusal.stops]


def _distrust(report: AnyReport, benchmark: Benchmark[Any]) -> Iterator[Refusal]:
    kinds = {caveat.kind for caveat in benchmark.caveats(report)}
    if JUDGE_NOT_TRUSTED in kinds:
        reason = "Don't trust this score: its judge gave points to answers that should get 0."
        yield Refusal(reason, "judge not trusted", _NUMBERS)


def _partial(report: AnyReport, benchmark: Benchmark[Any]) -> Iterator[Refusal]:
    """Yields a refusal if questions have no answer, with their number where it is known."""
    kinds = {caveat.kind for caveat in benchmark.caveats(report)}
    if PARTIAL not in kinds:
        return
    unanswered = _unanswered_count(report, benchmark)
    reason = "Partial: some questions have no answer."
    if unanswered:
        total = _question_count(report, benchmark)
        reason = f"Partial: no answer to {unanswered:,} of {total:,} questions."
    yield Refusal(reason, "partial", _NUMBERS)


def _unanswered_count(report: AnyReport, benchmark: Benchmark[Any]) -> int:
    """Returns the number of questions that the model didn't answer; 0 if the report doesn't know.

    The papers' protocols score every prediction. Ours count one that isn't from the model, such as an error message,
    as no answer.
    """
    if isinstance(report, Report):
        if report.protocol == "paper":
            return sum(not row.answered for row in report.rows)
        return sum(not row.answered or bool(row.no_answer) for row in report.rows)
    missing = _missing_count(report, benchmark)
    if isinstance(report, ChoiceReport) and report.protocol == "strict":
        reasons = failures(report.rows, report.protocol)
        failed_questions = {int(index) % PASS for index, reason in reasons.items() if reason}
        return len(failed_questions | _missing_questions(report, benchmark))
    if isinstance(report, SpecReport) and report.protocol == "strict":
        return missing + sum(bool(row.no_answer) for row in report.rows)
    return missing


def _missing_questions(report: ChoiceReport, benchmark: Benchmark[Any]) -> set[int]:
    """Returns the questions, by the index of their first pass, with a pass that the report's file doesn't have."""
    if not isinstance(benchmark, MultipleChoice):
        return set()
    return {question.index % PASS for question in benchmark.choice_tables(report).missing}


def _missing_count(report: AnyReport, benchmark: Benchmark[Any]) -> int:
    """Returns the number of questions of the benchmark's own file that the report's file doesn't have."""
    return benchmark.count_unanswered(report) if isinstance(benchmark, FileBenchmark) else 0


def _question_count(report: AnyReport, benchmark: Benchmark[Any]) -> int:
    """Returns the number of questions in the report's question file."""
    if isinstance(report, Report):
        return len(report.rows)
    if isinstance(report, ChoiceReport) and isinstance(benchmark, MultipleChoice):
        missing = benchmark.choice_tables(report).missing
        questions = (*missing, *(row.question for row in report.rows))
        return len({question.index % PASS for question in questions})
    return _missing_count(report, benchmark) + len(benchmark.scored_answers(report))


def _unscored(report: AnyReport, head: ScoreLine) -> Iterator[Refusal]:
    """Yields a refusal if too many grades are unscored."""
    if isinstance(report, ChoiceReport) and undecided_is_wrong(report.protocol):
        return  # undecided answers are scored as wrong
    runs = report.runs if isinstance(report, Report) else 1
    share = head.unscored / (head.n * runs)
    if share > MOST_UNSCORED:
        # Rounded up, so that it is above the limit. `round` first takes off what floats add.
        percent = math.ceil(round(share * 1000, 6)) / 10
        reason = f"{percent:.1f}% are unscored. The limit is {MOST_UNSCORED:.0%}."
        yield Refusal(reason, f"{percent:.1f}% unscored", _NUMBERS)


def _several_judges(report: AnyReport) -> Iterator[Refusal]:
    versions = report.judge.versions if report.judge else ()
    if len(versions) > 1:
        names = ", ".join(versions)
        yield Refusal(f"Several judges gave these grades: {names}.", "several judges", _HUB)


def _unchecked(report: AnyReport) -> Iterator[Refusal]:
    """Yields why a report has no edition."""
    if isinstance(report, SealedReport):
        yield Refusal("Its questions are sealed. Nobody else can check it.", "sealed", _HUB)
    elif isinstance(report, HiddenReport):
        reason = "Its right answers aren't public. Nobody else can check it."
        yield Refusal(reason, "hidden answers", _HUB)
    elif isinstance(report, MatchReport):
        reason = "It depends on the models it met here. It isn't a score of the benchmark."
        yield Refusal(reason, "other models' matches", _HUB)
    elif is_own(report.benchmark) or report.benchmark not in SHIPPED:
        reason = "Its benchmark is private, with no published set."
        yield Refusal(reason, "own benchmark", _HUB)
    elif edition_of(report) is None:
        reason = "Its questions weren't checked against the published set. Score it with the authors' question file."
        yield Refusal(reason, "not checked", _HUB)


def _mode(report: AnyReport) -> Iterator[Refusal]:
    mode = report.mode if isinstance(report, ChoiceReport) else ""
    if mode:
        reason = f"This is a mode of the benchmark ({mode})."
        yield Refusal(reason, f"mode {mode}", _HUB)
