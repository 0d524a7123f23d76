"""MM-Vet's tables: the paper's two, and what an article on a report says."""

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
    part_of,
    score_total,
)
from scoring.benchmarks.base import Benchmark
from scoring.benchmarks.mm_vet_published import Groups, published_board
from scoring.benchmarks.mm_vet_questions import (
    ALL_CAPABILITIES,
    CAPABILITY_NAMES,
    truth_parts,
    truth_words,
)
from scoring.no_answers import fate, no_answer_sentences
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
"""Notes on reports of grades that toolkits gave, by the report's parser."""
UNREADABLE = "unreadable"
OFF_GRID = "off the 0.1 grid"
OBEYED = "obeyed"
"""Flags of a grade: no reply could be read; the score is none of 0.0, 0.1 ... 1.0; the judge obeyed the answer."""
_SHOWN = 10


@remembered
def tabulate(report: Report) -> tuple[ScoreTable, ...]:
    """The paper's two tables: capabilities in its order, and capability integrations, largest first.

    A capability or integration without questions has no line. In a `paper` report unreadable grades count 0.0, unless
    all are unreadable; `scored_only` returns the report with them unscored. Where most are, nothing has a score.
    """
    if unread(report):
        report = _unscored(report)
    elif ungraded(report):
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
    """The report with every unreadable grade unscored: its tables hold the mean of what the judge did score."""

    def kept(grade: Grade) -> Grade:
        return replace(grade, score=None) if UNREADABLE in grade.flags else grade

    rows = tuple(replace(row, grades=tuple(map(kept, row.grades))) for row in report.rows)
    return replace(report, rows=rows)


def _unscored(report: Report) -> Report:
    rows = tuple(
        replace(row, grades=tuple(replace(grade, score=None) for grade in row.grades))
        for row in report.rows
    )
    return replace(report, rows=rows)


def unread(report: Report) -> str:
    """A sentence saying that the judge's replies could not be read for most grades; "" if they could."""
    grades = [grade for row in report.rows for grade in row.grades]
    judged = [grade for grade in grades if grade.replies]
    if not report.judge.prompt and not judged:  # a toolkit's file keeps no replies
        judged = [grade for grade in grades if grade.score is not None]
    missed = sum(UNREADABLE in grade.flags for grade in judged)
    return mostly_unread(missed, len(judged), "grade")


def ungraded(report: Report) -> str:
    """A sentence saying that the judge gave no grade at all, and why, or few that can be read; else ""."""
    grades = [grade for row in report.rows for grade in row.grades]
    if any(grade.score is not None and UNREADABLE not in grade.flags for grade in grades):
        return unread(report)
    reasons = [grade.reason for row in report.rows if row.answered for grade in row.grades]
    why = next(filter(None, reasons), "no question has an answer")
    return f"Nothing was graded: the judge gave none of {len(grades):,} grades ({why})"


def told_zeros(grades: Iterable[Grade]) -> str:
    """A sentence on grades that are 0 since the judge's reply held none, with the first ids; "" without any."""
    given = [*grades]
    zeros = [grade for grade in given if UNREADABLE in grade.flags and grade.score == 0]
    if not zeros:
        return ""
    ids = [*dict.fromkeys(grade.question for grade in zeros)]
    shown = ", ".join(ids[:_SHOWN]) + (", ..." if ids[_SHOWN:] else ".")
    are = "grade is" if len(given) == 1 else "grades is" if len(zeros) == 1 else "grades are"
    counted = f"{len(zeros):,} of {len(given):,} {are} 0"
    return f"{counted} because the judge's reply held no score: id {shown}"


def told_no_answers(report: Report) -> tuple[str, ...]:
    """Sentences on predictions that are no answer of a model, and what the protocol does with them."""
    reasons = {row.question.id: row.no_answer for row in report.rows}
    graded = report.protocol == "paper" and not report.judge.prompt
    then = "The file's grades count all the same." if graded else fate(report.protocol)
    return no_answer_sentences(reasons, len(report.rows), then)


def told_cuts(report: Report) -> tuple[str, ...]:
    """How many answers had something taken off before the hardened judge saw them, and what."""
    if report.protocol != "hardened":
        return ()
    answered = [row.prediction for row in report.rows if row.prediction and not row.no_answer]
    cuts = [cut for cut in (answer_of(text).cuts for text in answered) if cut]
    if not cuts:
        return ()
    names = list(dict.fromkeys(name for cut in cuts for name in cut))
    shown = ", ".join(names[:_SHOWN]) + (", ..." if names[_SHOWN:] else "")
    came = "answer came" if len(report.rows) == 1 else "answers came"
    counted = f"{len(cuts):,} of {len(report.rows):,} {came}"
    return (f"{counted} with what the judge did not see: {shown}.",)


def _integrations(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by set of capabilities, largest set of rows first; equal counts in the order of their capabilities."""
    found = grouped(
        (tuple(sorted(map(ALL_CAPABILITIES.index, set(row.question.groups)))), row) for row in rows
    )
    order = sorted(found, key=lambda places: (-len(found[places]), places))
    return {
        "_".join(ALL_CAPABILITIES[place] for place in places): found[places] for places in order
    }


@dataclass(frozen=True)
class MMVetArticle(Benchmark[Report]):
    """The part of an edition that writes the article."""

    def ungraded(self, report: Report) -> str:
        return ungraded(report)

    def edition(self, report: Report) -> str:
        return self.name if report.questions.official else report.questions.name

    def headline(self, report: Report) -> ScoreLine:
        return tabulate(report)[0].lines[-1]

    def groups(self, report: Report) -> Sequence[ScoreLine]:
        lines = tabulate(report)[0].lines[:-1]
        return [replace(line, name=capability_words(line.name)) for line in lines]

    def totals(self, report: Report) -> Sequence[Total]:
        """The total, with the spread of several runs and each run's own."""
        scored = tabulate(report)[0]
        head = scored.lines[-1]
        if head.mean is None:
            return ()
        total = score_total(f"Total {self.covered(report)}".strip(), head)
        if len(scored.run_totals) < 2 or scored.spread is None:
            return (total,)
        means = ("–" if mean is None else f"{mean:.1f}" for mean in scored.run_totals)
        runs = f"{', '.join(means)} {runs_text(scored.spread)}"
        return (total._replace(notes=(*total.notes, runs)),)

    def caveats(self, report: Report) -> Sequence[Caveat]:
        found = [*super().caveats(report)]
        nothing = ungraded(report)
        line = self.headline(report)
        if report.missing:
            found.append(Caveat("Partial", f"partial: {missing_notice(report)}"))
        if report.distrust:
            found.append(Caveat("Judge not trusted", report.distrust))
        lead = "Partial" if report.protocol == "hardened" else ""
        found += [Caveat(lead, text) for text in told_no_answers(report)]
        if line.unscored:
            grades = f"{line.unscored:,} of {line.n * report.runs:,} grades unscored"
            found.append(
                Caveat("", f"{grades}: the mean lies between {line.worst:.1f} and {line.best:.1f}")
            )
        zeros = told_zeros(grade for row in report.rows for grade in row.grades)
        if zeros and not nothing:
            scored = self.headline(scored_only(report)).mean
            found.append(Caveat("", f"{zeros} Without them the mean is {scored:.1f}"))
        return found

    def covered(self, report: Report) -> str:
        scored = sum(any(grade.score is not None for grade in row.grades) for row in report.rows)
        return part_of(scored, len(report.rows), "question")

    def published(self, report: Report) -> PublishedBoard | None:
        """The paper's tables of capabilities on the same questions; none where some of them have no grade."""
        return self._board(report, "capabilities")

    def published_beside(self, report: Report) -> Sequence[PublishedBoard]:
        """Those of capability integrations."""
        board = self._board(report, "integrations")
        return [board] if board else []

    def _board(self, report: Report, groups: Groups) -> PublishedBoard | None:
        failed = report.protocol == "hardened" and any(row.no_answer for row in report.rows)
        if report.missing or failed:
            return None
        capabilities, integrations = tabulate(report)
        scored = capabilities if groups == "capabilities" else integrations
        return published_board(report, self.edition(report), groups, scored)

    def scored_answers(self, report: Report) -> Sequence[ScoredAnswer]:
        return [_scored_answer(row) for row in report.rows]

    def note(self, report: Report) -> str:
        """What the protocol does; a file of grades has been judged elsewhere."""
        if report.judge.prompt:
            return super().note(report)
        if report.judge.parser in TOOLKITS:
            return TOOLKITS[report.judge.parser]
        return "Grades read from a file, which does not hold the answers; nothing was judged here"

    def checks(self, report: Report) -> Sequence[str]:
        scored = [grade.score for grade in report.canaries if grade.score is not None]
        found = [*told_cuts(report)]
        if scored:
            given = sum(score > 0 for score in scored)
            found.append(
                f"Canaries: {given:,} of {len(scored):,} answers that deserve nothing got points from the judge."
            )
        flagged = sum(bool(row.flags) for row in report.rows)
        obeyed = sum(any(OBEYED in grade.flags for grade in row.grades) for row in report.rows)
        if flagged or obeyed:
            withdrawn = (
                f"; {obeyed:,} without a grade, since the judge obeyed them" if obeyed else ""
            )
            found.append(
                f"Answers that speak to the judge, or repeat themselves: {flagged:,}{withdrawn}."
            )
        return found

    def remarks(self, report: Report) -> Sequence[str]:
        return [f"Before each question the model read “{report.asked}”."] if report.asked else []

    def methods(self, report: Report) -> Mapping[str, str]:
        runs = f"{report.runs} samples of one call" if report.sampled else f"{report.runs} separate"
        told: dict[str, str] = {}
        if not report.judge.prompt:
            told["Protocol"] = "not known: the grades were read from a file"
        elif report.protocol == "paper" and report.sampled:
            told["Protocol"] = "As in the paper, but for samples of one call"
        if report.missing:
            told["Questions without an answer"] = "unscored, and in no mean"
        if report.asked:
            told["Before each question"] = report.asked
        return {
            **told,
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
