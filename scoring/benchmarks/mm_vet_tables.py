"""MM-Vet's tables: the paper's two, and the parts of an article on a report."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from arena.interval_text import runs_text
from arena.reasoning import answer_of
from arena.sheets import Sheet
from arena.types import grouped
from scoring.benchmarks.article import (
    Caveat,
    PublishedBoard,
    ScoredAnswer,
    Total,
    covered_name,
    part_of,
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

TOOLKITS: Mapping[str, str] = {
    f"grades of {name} 1": f"Grades read from {name}'s result file, given with its own wording of the paper's prompt; "
    "nothing was judged here"
    for name in ("VLMEvalKit", "lmms-eval")
}
"""Notes on reports of toolkits' grades, by the report's parser."""
UNREADABLE = "unreadable"
OFF_GRID = "off the 0.1 grid"
OBEYED = "obeyed"
"""Flags of a grade: no reply could be read; the score is none of 0.0, 0.1 ... 1.0; the judge obeyed the answer."""
_MOST_LISTED = 10


@remembered
def score_tables(report: Report) -> tuple[ScoreTable, ...]:
    """The paper's two tables: capabilities in its order, and capability integrations, largest first.

    A capability or integration without questions has no line. In a `paper` report unreadable grades count 0.0, unless
    all are unreadable; `scored_only` returns the report with them unscored. If most are unreadable, nothing is scored.
    """
    if unread(report):
        report = _unscored(report)
    elif ungraded_note(report):
        report = scored_only(report)
    capabilities = {
        name: [row for row in report.rows if name in row.question.groups]
        for name in ALL_CAPABILITIES
    }
    return (
        table(
            "Capabilities",
            {name: rows for name, rows in capabilities.items() if rows},
            report.rows,
            report.runs,
        ),
        table("Capability integrations", _integrations(report.rows), report.rows, report.runs),
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


def unread(report: Report) -> str:
    """A sentence for a report with mostly unreadable replies; "" for others."""
    grades = [grade for row in report.rows for grade in row.grades]
    judged = [grade for grade in grades if grade.replies]
    if not report.judge.prompt and not judged:  # a toolkit's file has no replies
        judged = [grade for grade in grades if grade.score is not None]
    missed = sum(UNREADABLE in grade.flags for grade in judged)
    return mostly_unread(missed, len(judged), "grade")


def ungraded_note(report: Report) -> str:
    """A sentence for a report without readable grades, with the reason, or with mostly unreadable ones; else ""."""
    grades = [grade for row in report.rows for grade in row.grades]
    if any(grade.score is not None and UNREADABLE not in grade.flags for grade in grades):
        return unread(report)
    reasons = [grade.reason for row in report.rows if row.answered for grade in row.grades]
    reason = next((reason for reason in reasons if reason), "no question has an answer")
    return f"Nothing was graded: the judge gave none of {len(grades):,} grades ({reason})"


def zeros_sentence(grades: Iterable[Grade]) -> str:
    """A sentence on grades that are 0 because the judge's reply had none, with the first ids; "" without any."""
    all_grades = [*grades]
    zeros = [grade for grade in all_grades if UNREADABLE in grade.flags and grade.score == 0]
    if not zeros:
        return ""
    ids = [*dict.fromkeys(grade.question for grade in zeros)]
    first_ids = ", ".join(ids[:_MOST_LISTED])
    listed = f"{first_ids} and more" if ids[_MOST_LISTED:] else first_ids
    total = len(all_grades)
    return f"Counted as 0, since the judge's reply held no score: {len(zeros):,} of {total:,} grades, id {listed}."


def no_answer_notes(report: Report) -> tuple[str, ...]:
    """Sentences on predictions that are no answer of a model, and on their treatment."""
    reasons = {row.question.id: row.no_answer for row in report.rows}
    is_file = report.protocol == "paper" and not report.judge.prompt
    effect = "The file's grades count all the same." if is_file else treatment(report.protocol)
    return no_answer_sentences(reasons, len(report.rows), effect)


def cut_notes(report: Report) -> tuple[str, ...]:
    """A sentence on the parts that were cut from answers before the hardened judge saw them; () without any."""
    if report.protocol != "hardened":
        return ()
    answered = [row.prediction for row in report.rows if row.prediction and not row.no_answer]
    cuts = [cut for cut in (answer_of(text).cuts for text in answered) if cut]
    if not cuts:
        return ()
    names = list(dict.fromkeys(name for cut in cuts for name in cut))
    listed = ", ".join(names[:_MOST_LISTED]) + (", ..." if names[_MOST_LISTED:] else "")
    total = len(report.rows)
    return (f"The judge didn't see parts of {len(cuts):,} of {total:,} answers: {listed}.",)


def _integrations(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by set of capabilities, largest set of rows first; equal counts in the order of their capabilities."""
    rows_by_set = grouped(
        (tuple(sorted(map(ALL_CAPABILITIES.index, set(row.question.groups)))), row) for row in rows
    )
    order = sorted(rows_by_set, key=lambda places: (-len(rows_by_set[places]), places))
    integrations = {}
    for places in order:
        name = "_".join(ALL_CAPABILITIES[place] for place in places)
        integrations[name] = rows_by_set[places]
    return integrations


@dataclass(frozen=True)
class MMVetArticle(Benchmark[Report]):
    """The part of an edition that writes the article."""

    def ungraded_note(self, report: Report) -> str:
        return ungraded_note(report)

    def edition(self, report: Report) -> str:
        return self.name if report.questions.official else report.questions.name

    def headline(self, report: Report) -> ScoreLine:
        return score_tables(report)[0].lines[-1]

    def groups(self, report: Report) -> Sequence[ScoreLine]:
        lines = score_tables(report)[0].lines[:-1]
        return [replace(line, name=capability_words(line.name)) for line in lines]

    def totals(self, report: Report) -> Sequence[Total]:
        """The total, with the spread of several runs and each run's total."""
        scored = score_tables(report)[0]
        head = scored.lines[-1]
        if head.mean is None:
            return ()
        total = score_total(covered_name("Total", self.coverage(report)), head)
        if len(scored.run_totals) < 2 or scored.spread is None:
            return (total,)
        means = ("–" if mean is None else f"{mean:.1f}" for mean in scored.run_totals)
        runs = f"{', '.join(means)} {runs_text(scored.spread)}"
        return (total._replace(notes=(*total.notes, runs)),)

    def caveats(self, report: Report) -> Sequence[Caveat]:
        caveats = [*super().caveats(report)]
        is_ungraded = ungraded_note(report)
        line = self.headline(report)
        if report.missing:
            caveats.append(Caveat("Partial", missing_notice(report)))
        if report.distrust:
            caveats.append(Caveat("Judge not trusted", report.distrust))
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
        if zeros and not is_ungraded:
            scored = self.headline(scored_only(report)).mean
            caveats.append(Caveat("", f"{zeros} Without them the mean is {scored:.1f}"))
        return caveats

    def coverage(self, report: Report) -> str:
        scored = sum(any(grade.score is not None for grade in row.grades) for row in report.rows)
        return part_of(scored, len(report.rows))

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
        failed = report.protocol == "hardened" and any(row.no_answer for row in report.rows)
        if report.missing or failed:
            return None
        capabilities, integrations = score_tables(report)
        scored = capabilities if groups == "capabilities" else integrations
        return published_board(report, self.edition(report), groups, scored)

    def scored_answers(self, report: Report) -> Sequence[ScoredAnswer]:
        return [_scored_answer(row) for row in report.rows]

    def note(self, report: Report) -> str:
        """A sentence on the protocol, or on a file of grades that were judged elsewhere."""
        if report.judge.prompt:
            return super().note(report)
        if report.judge.parser in TOOLKITS:
            return TOOLKITS[report.judge.parser]
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
        runs = (
            f"{report.runs} samples of one call"
            if report.sampled
            else f"{report.runs} separate calls"
        )
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
            "Runs": runs,
            "Questions": report.questions.name,
            "Questions (sha256)": report.questions.digest,
        }


def capability_words(codes: str) -> str:
    """A capability, or an integration of several (`rec_know_gen`), in words."""
    return " + ".join(CAPABILITY_NAMES.get(code, code.capitalize()) for code in codes.split("_"))


def capability_sheet(name: str, scored: ScoreTable, **how: Any) -> Sheet:
    """A table of the paper, its total bold."""
    sheet = line_sheet(name, scored.name, scored.lines, "Capability", capability_words, **how)
    is_total = [line is scored.lines[-1] for line in scored.lines]
    return replace(sheet, frame=sheet.frame.assign(total=is_total), bold="total")


def _scored_answer(row: Row) -> ScoredAnswer:
    known = [grade.score for grade in row.grades if grade.score is not None]
    score = sum(known) / len(known) if known else None
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
        picture=question.image,
    )
