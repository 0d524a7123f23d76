"""MM-Vet's tables: the paper's two, and the parts of an article on a report."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

from arena.interval_text import runs_text
from arena.reasoning import answer_of
from arena.sheets import Sheet
from arena.types import grouped
from scoring.benchmarks.article import (
    Caveat,
    PublishedBoard,
    ScoredAnswer,
    Total,
    coverage_text,
    name_with_coverage,
    score_total,
)
from scoring.benchmarks.base import Benchmark
from scoring.benchmarks.mm_vet_published import Groups, published_board, published_sheets
from scoring.benchmarks.mm_vet_questions import (
    ALL_CAPABILITIES,
    CAPABILITY_NAMES,
    truth_parts,
    truth_words,
)
from scoring.no_answers import no_answer_sentences, treatment
from scoring.report import (
    Grade,
    Report,
    Row,
    ScoreLine,
    ScoreTable,
    missing_notice,
    mostly_unread,
    remembered,
    table,
)
from scoring.score_sheets import line_sheet

TOOLKIT_NOTES: Mapping[str, str] = {
    f"grades of {name} 1": f"Grades read from {name}'s result file, given with its own wording of the paper's prompt; "
    "nothing was judged here"
    for name in ("VLMEvalKit", "lmms-eval")
}
"""Notes on reports of toolkits' grades, by the parser of `GradeFile`."""
UNREADABLE = "unreadable"
OFF_GRID = "off the 0.1 grid"
OBEYED = "obeyed"
"""Flags of a grade: no reply could be read; the score is none of 0.0, 0.1 ... 1.0; the judge obeyed the answer."""
_MOST_LISTED = 10


class MMVetTables(NamedTuple):
    """The paper's two tables; the last line of each is the total."""

    capabilities: ScoreTable
    """In the paper's order."""
    integrations: ScoreTable
    """Sets of capabilities, the one with most questions first."""


@remembered
def score_tables(report: Report) -> MMVetTables:
    """The paper's two tables of a report.

    A capability or integration without questions has no line. If most or all grades are unreadable, nothing is scored.
    Otherwise unreadable grades count 0.0 in a `paper` report; `scored_only` returns the report with them unscored.
    """
    if ungraded_note(report):
        report = _unscored(report)
    by_capability = {
        name: [row for row in report.rows if name in row.question.groups]
        for name in ALL_CAPABILITIES
    }
    by_capability = {name: rows for name, rows in by_capability.items() if rows}
    by_integration = _rows_by_integration(report.rows)
    return MMVetTables(
        capabilities=table("Capabilities", by_capability, report.rows, report.runs),
        integrations=table("Capability integrations", by_integration, report.rows, report.runs),
    )


def scored_only(report: Report) -> Report:
    """The report with every unreadable grade unscored, so that means are over readable grades."""

    def unscore(grade: Grade) -> Grade:
        return replace(grade, score=None) if UNREADABLE in grade.flags else grade

    rows = tuple(replace(row, grades=tuple(map(unscore, row.grades))) for row in report.rows)
    return replace(report, rows=rows)


def _unscored(report: Report) -> Report:
    """The report with every grade unscored."""
    rows = tuple(
        replace(row, grades=tuple(replace(grade, score=None) for grade in row.grades))
        for row in report.rows
    )
    return replace(report, rows=rows)


def unread_note(report: Report) -> str:
    """A sentence for a report with mostly unreadable replies; "" for others."""
    grades = [grade for row in report.rows for grade in row.grades]
    judged = [grade for grade in grades if grade.replies]
    # A toolkit's file has grades without replies.
    if not report.judge.prompt and not judged:
        judged = [grade for grade in grades if grade.score is not None]
    unread = sum(UNREADABLE in grade.flags for grade in judged)
    return mostly_unread(unread, len(judged), "grade")


def ungraded_note(report: Report) -> str:
    """A sentence with the reason if no grade is readable, or if most are unreadable; "" for other reports."""
    grades = [grade for row in report.rows for grade in row.grades]
    if any(grade.score is not None and UNREADABLE not in grade.flags for grade in grades):
        return unread_note(report)
    reasons = [grade.reason for row in report.rows if row.answered for grade in row.grades]
    reason = next((reason for reason in reasons if reason), "no question has an answer")
    return f"Nothing was graded: the judge gave none of {len(grades):,} grades ({reason})"


def zeros_sentence(grades: Iterable[Grade]) -> str:
    """A sentence on grades that are 0 because the judge's reply held no score, with the first ids; "" without any."""
    all_grades = [*grades]
    zeros = [grade for grade in all_grades if UNREADABLE in grade.flags and grade.score == 0]
    if not zeros:
        return ""
    ids = [*dict.fromkeys(grade.question for grade in zeros)]
    first_ids = ", ".join(ids[:_MOST_LISTED])
    listed = f"{first_ids} and more" if len(ids) > _MOST_LISTED else first_ids
    total = len(all_grades)
    return f"Counted as 0, since the judge's reply held no score: {len(zeros):,} of {total:,} grades, id {listed}."


def no_answer_notes(report: Report) -> tuple[str, ...]:
    """Sentences on predictions that are no answer of a model, and on their treatment."""
    reasons = {row.question.id: row.no_answer for row in report.rows}
    is_grade_file = report.protocol == "paper" and not report.judge.prompt
    effect = (
        "The file's grades count all the same." if is_grade_file else treatment(report.protocol)
    )
    return no_answer_sentences(reasons, len(report.rows), effect)


def cut_notes(report: Report) -> tuple[str, ...]:
    """A sentence on the parts that were cut from answers before the hardened judge saw them; () without any."""
    if report.protocol != "hardened":
        return ()
    answers = [row.prediction for row in report.rows if row.prediction and not row.no_answer]
    cuts_by_answer = [answer_of(answer).cuts for answer in answers]
    count = sum(bool(cuts) for cuts in cuts_by_answer)
    if not count:
        return ()
    names = [*dict.fromkeys(chain.from_iterable(cuts_by_answer))]
    listed = ", ".join(names[:_MOST_LISTED])
    if len(names) > _MOST_LISTED:
        listed = f"{listed}, ..."
    total = len(report.rows)
    return (f"The judge didn't see parts of {count:,} of {total:,} answers: {listed}.",)


def _rows_by_integration(rows: Sequence[Row]) -> Mapping[str, list[Row]]:
    """Rows by set of capabilities, most rows first; equal counts in the order of their capabilities."""
    rows_by_places = grouped((_capability_places(row), row) for row in rows)
    order = sorted(rows_by_places, key=lambda places: (-len(rows_by_places[places]), places))
    rows_by_name = {}
    for places in order:
        name = "_".join(ALL_CAPABILITIES[place] for place in places)
        rows_by_name[name] = rows_by_places[places]
    return rows_by_name


def _capability_places(row: Row) -> tuple[int, ...]:
    """The places of a question's capabilities among all, in their order."""
    capabilities = {*row.question.groups}
    return tuple(sorted(ALL_CAPABILITIES.index(capability) for capability in capabilities))


@dataclass(frozen=True)
class MMVetArticle(Benchmark[Report]):
    """The part of an edition that writes the article."""

    def ungraded_note(self, report: Report) -> str:
        return ungraded_note(report)

    def edition(self, report: Report) -> str:
        return self.name if report.questions.official else report.questions.name

    def headline(self, report: Report) -> ScoreLine:
        return score_tables(report).capabilities.lines[-1]

    def groups(self, report: Report) -> Sequence[ScoreLine]:
        lines = score_tables(report).capabilities.lines[:-1]
        return [replace(line, name=capability_words(line.name)) for line in lines]

    def totals(self, report: Report) -> Sequence[Total]:
        """The total, with the spread of several runs and each run's total."""
        capabilities = score_tables(report).capabilities
        head = capabilities.lines[-1]
        if head.mean is None:
            return ()
        total = score_total(name_with_coverage("Total", self.coverage(report)), head)
        if len(capabilities.run_totals) < 2 or capabilities.spread is None:
            return (total,)
        means = ("–" if mean is None else f"{mean:.1f}" for mean in capabilities.run_totals)
        runs = f"{', '.join(means)} {runs_text(capabilities.spread)}"
        return (total._replace(notes=(*total.notes, runs)),)

    def caveats(self, report: Report) -> Sequence[Caveat]:
        caveats = [*super().caveats(report)]
        line = self.headline(report)
        if report.missing:
            caveats.append(Caveat("Partial", missing_notice(report)))
        if report.distrust:
            caveats.append(Caveat("Judge not trusted", report.distrust))
        # Only the hardened protocol leaves such answers unscored.
        lead = "Partial" if report.protocol == "hardened" else ""
        caveats += [Caveat(lead, text) for text in no_answer_notes(report)]
        if line.unscored:
            total = line.n * report.runs
            text = (
                f"{line.unscored:,} of {total:,} grades unscored: the mean is between {line.worst:.1f} and "
                f"{line.best:.1f}"
            )
            caveats.append(Caveat("", text))
        zeros = zeros_sentence(grade for row in report.rows for grade in row.grades)
        # Without a readable grade there is no other mean.
        if zeros and not ungraded_note(report):
            mean = self.headline(scored_only(report)).mean
            caveats.append(Caveat("", f"{zeros} Without them the mean is {mean:.1f}"))
        return caveats

    def coverage(self, report: Report) -> str:
        scored = sum(any(grade.score is not None for grade in row.grades) for row in report.rows)
        return coverage_text(scored, len(report.rows))

    def published_sheets(self) -> Sequence[Sheet]:
        return published_sheets(self.name)

    def published(self, report: Report) -> PublishedBoard | None:
        """The paper's tables of capabilities on the same questions; None if some questions have no grade."""
        return self._board(report, "capabilities")

    def published_beside(self, report: Report) -> Sequence[PublishedBoard]:
        """The paper's tables of capability integrations."""
        board = self._board(report, "integrations")
        return [board] if board else []

    def _board(self, report: Report, groups: Groups) -> PublishedBoard | None:
        """The paper's tables of these groups; None if some questions have no grade."""
        is_hardened = report.protocol == "hardened"
        has_ungraded = is_hardened and any(row.no_answer for row in report.rows)
        if report.missing or has_ungraded:
            return None
        tables = score_tables(report)
        score_table = tables.capabilities if groups == "capabilities" else tables.integrations
        return published_board(report, self.edition(report), groups, score_table)

    def scored_answers(self, report: Report) -> Sequence[ScoredAnswer]:
        return [_scored_answer(row) for row in report.rows]

    def note(self, report: Report) -> str:
        """A sentence on the protocol, or on a file of grades that were judged elsewhere."""
        if report.judge.prompt:
            return super().note(report)
        if report.judge.parser in TOOLKIT_NOTES:
            return TOOLKIT_NOTES[report.judge.parser]
        return "Grades read from a file, which does not hold the answers; nothing was judged here"

    def checks(self, report: Report) -> Sequence[str]:
        scored = [grade.score for grade in report.canaries if grade.score is not None]
        checks = [*cut_notes(report)]
        if scored:
            fooled = sum(score > 0 for score in scored)
            checks.append(
                f"Canaries: the judge gave points to {fooled:,} of {len(scored):,} worthless answers."
            )
        flagged = sum(bool(row.flags) for row in report.rows)
        obeyed = sum(any(OBEYED in grade.flags for grade in row.grades) for row in report.rows)
        if flagged or obeyed:
            checks.append(
                f"Answers that speak to the judge or repeat themselves: {flagged:,}; obeyed by the judge, so without a "
                f"grade: {obeyed:,}."
            )
        return checks

    def remarks(self, report: Report) -> Sequence[str]:
        return [f"Before each question the model read “{report.asked}”."] if report.asked else []

    def methods(self, report: Report) -> Mapping[str, str]:
        way = "samples of one call" if report.sampled else "separate calls"
        methods: dict[str, str] = {}
        if not report.judge.prompt:
            methods["Protocol"] = "unknown: the grades were read from a file"
        elif report.protocol == "paper" and report.sampled:
            methods["Protocol"] = "As in the paper, but for samples of one call"
        if report.missing:
            methods["Questions without an answer"] = "unscored, and in no mean"
        if report.asked:
            methods["Before each question"] = report.asked
        return {
            **methods,
            "Runs": f"{report.runs} {way}",
            "Questions": report.questions.name,
            "Questions (sha256)": report.questions.digest,
        }


def capability_words(codes: str) -> str:
    """A capability, or an integration of several (`rec_know_gen`), in words."""
    return " + ".join(CAPABILITY_NAMES.get(code, code.capitalize()) for code in codes.split("_"))


def capability_sheet(name: str, score_table: ScoreTable, **fields: Any) -> Sheet:
    """A table of the paper, with the total in bold; `fields` are further fields of the sheet."""
    lines = score_table.lines
    sheet = line_sheet(name, score_table.name, lines, "Capability", capability_words, **fields)
    is_total = [line is lines[-1] for line in lines]
    return replace(sheet, frame=sheet.frame.assign(total=is_total), bold="total")


def _scored_answer(row: Row) -> ScoredAnswer:
    """An answer with the mean of its grades over the runs."""
    scores = [grade.score for grade in row.grades if grade.score is not None]
    score = sum(scores) / len(scores) if scores else None
    question = row.question
    return ScoredAnswer(
        id=question.id,
        question=question.text,
        truth=truth_words(question.truth),
        answer=row.prediction or "",
        grade="not scored" if score is None else f"grade {score:.2g}",
        score=score,
        groups=tuple(map(capability_words, question.groups)),
        pictures=(question.image, *question.further_images) if question.image else (),
        truth_parts=truth_parts(question.truth),
        picture=question.image,  # tells its picture from those of other questions
    )
