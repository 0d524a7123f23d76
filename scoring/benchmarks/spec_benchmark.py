"""A benchmark that is a spec: files of answers become reports by its rule, figures and groups."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arena.io.strict_json import row_errors
from arena.io.tables import ANSWERS, FileLimits, Record, read_records
from arena.sheets import Sheet
from arena.templates import plural
from arena.types import grouped
from scoring.benchmarks.article import (
    Caveat,
    ComparableFacts,
    PublishedBoard,
    PublishedRow,
    ScoredAnswer,
    Total,
    score_total,
)
from scoring.benchmarks.base import (
    USUAL_NAMES,
    AnswerLook,
    AskedQuestion,
    ChoicesError,
    ColumnNames,
    LazyFiles,
    OpenedFile,
    Workflow,
    check_scorable,
    while_wanted,
)
from scoring.benchmarks.spec_checks import (
    canary_notes,
    distrust_caveats,
    order_notes,
    picture_caveats,
)
from scoring.benchmarks.spec_submission import spec_submission
from scoring.benchmarks.specified import SpecifiedBenchmark
from scoring.benchmarks.submission import ServerSubmission
from scoring.judges.run import Task
from scoring.judges.spec import JudgeSpec, ShownImage
from scoring.multiple_choice.columns import plain_name
from scoring.multiple_choice.pictures import shared_pictures_text
from scoring.multiple_choice.reader import IMAGE_COLUMNS, Problem, ReadFile
from scoring.multiple_choice.types import PROTOCOL_WORDS
from scoring.no_answers import no_answer, no_answer_sentences, treatment
from scoring.report import ScoreLine
from scoring.rules.base import Judged, Reading, RuleProtocol
from scoring.score_sheets import TreeTable
from scoring.specs.derived import cell_members
from scoring.specs.downloads import report_files
from scoring.specs.judging import judge_tasks, stamped, with_outcomes
from scoring.specs.layout import layout_of
from scoring.specs.problems import either
from scoring.specs.reading import (
    SpecRow,
    case_of,
    derived_rows,
    item_of,
    items_of,
    read_questions,
    read_spec_rows,
    split_of,
    with_id,
)
from scoring.specs.report import (
    ReadRow,
    SpecReport,
    figure_lines,
    final_report,
    grouped_lines,
    has_truth,
    head_figure,
    lost_judging,
    partial_sums,
    read_rows,
    reference_texts,
    report_items,
    ruled_rows,
    spec_of_report,
    splits_of,
    whole_ends,
    why_unbounded,
    wrong_truth,
)
from scoring.specs.schema import UNKNOWN, Case, Spec, name_ending
from scoring.specs.sheets import published_sheets, report_sheets
from scoring.specs.trees import figure_tables, truth_columns, whole_figures

_SHOWN_IDS = 10
OWN = "own"
"""Key of a benchmark that its user brings; in jobs and reports, a colon and the start of its spec's digest follow."""
RULE_PROTOCOL_WORDS: Mapping[str, str] = {
    **PROTOCOL_WORDS,
    "vlmevalkit": "VLMEvalKit",
    "lmms-eval": "lmms-eval",
    "authors": "The authors'",
}
RULE_NOTES: Mapping[str, str] = {
    "strict": "Strict protocol (ours): an unclear answer stays unscored and doesn't count",
    "vlmevalkit": "VLMEvalKit's rules (August 2026): an answer they can't read is wrong",
    "lmms-eval": "lmms-eval's rules (August 2026): an answer they can't read is wrong",
    "authors": "The authors' rules: an answer they can't read is wrong",
    "mmbench-paper": "MMBench's protocol: letters that are whole words. An answer that can't be read is wrong",
    "mmt-paper": "MMT-Bench's protocol: letters first, then the options' texts. An answer that can't be read is wrong",
}


def protocol_note(spec: Spec, protocol: RuleProtocol) -> str:
    """Returns what a protocol does with a spec's answers: in its first rule's own words, if each rule has its own."""
    notes = [case.rule.notes[protocol] for case in spec.rule if protocol in case.rule.notes]
    return notes[0] if len(notes) == len(spec.rule) else RULE_NOTES[protocol]


def spec_benchmark(key: str, spec: Spec) -> "SpecBenchmark":
    """Returns the benchmark of a spec under this key."""
    benchmark = SpecBenchmark(
        key=key,
        name=spec.name,
        spec=spec,
        protocols={RULE_PROTOCOL_WORDS[protocol]: protocol for protocol in spec.protocols},
        about=spec.about,
        cited=spec.cite or "",
        notes={protocol: protocol_note(spec, protocol) for protocol in spec.protocols},
    )
    if any(case.rule.is_compared for case in spec.rule):
        return benchmark
    return replace(benchmark, way="judge first", start="Start", unit="answer")


def own_benchmark(spec: Spec) -> "SpecBenchmark":
    """Returns a benchmark that its user brings. Each spec has its own key, so that no two specs are mixed."""
    return spec_benchmark(f"{OWN}:{spec.digest[:16]}", spec)


def is_own(key: str) -> bool:
    return key.partition(":")[0] == OWN


@dataclass(frozen=True, kw_only=True)
class SpecBenchmark(SpecifiedBenchmark[SpecReport]):
    """A spec as a benchmark. Facts about a report come from the spec that the report carries."""

    report: type[SpecReport] = SpecReport
    way: Workflow = "rules first"
    start: str = "Score by rules (free)"
    unit: str = "open answer"
    judge_label: str = "Have a judge read {left}"

    def is_named(self, file: str) -> bool:
        return bool(name_ending(self.spec, file))

    @property
    def reading_way(self) -> object:
        return self.key

    def fits(self, first: Record) -> bool:
        return self.spec.columns.answer in layout_of(self.spec, [*first.values])

    def read(
        self, rows: Iterable[Record], questions: Mapping[str, Mapping[str, Any]] | None
    ) -> ReadFile[SpecRow]:
        return read_spec_rows(self.spec, rows, questions)

    def own_questions(
        self, path: Path, limits: FileLimits = ANSWERS, name: str | None = None
    ) -> Mapping[str, Mapping[str, Any]]:
        label = name or path.name
        with row_errors(label):
            records = read_records(
                path, limits, name=label, allow_object=True, digested=IMAGE_COLUMNS
            )
            file = read_questions(self.spec, records)
        check_scorable(label, file.problems)
        return {row.id: row.cells for row in file.rows}

    @property
    def column_names(self) -> ColumnNames:
        own = self.spec.columns
        usual = USUAL_NAMES
        has_usual_id = own.id == usual.id
        own_question = plain_name(own.question)
        has_usual_question = own_question == usual.questions[0]
        return ColumnNames(
            id=own.id,
            answer=own.answer,
            ids=usual.ids if has_usual_id else (plain_name(own.id),),
            questions=usual.questions if has_usual_question else (own_question,),
        )

    def fits_questions(self, first: Record) -> bool:
        columns = self.spec.columns
        return {columns.id, columns.question, *self.spec.groups} <= {
            *layout_of(self.spec, [*first.values])
        }

    def list_questions(self, questions: Mapping[str, Mapping[str, Any]]) -> Iterator[AskedQuestion]:
        for id, cells in questions.items():
            item = item_of(self.spec, SpecRow(id, "", cells, 0))
            split = split_of(self.spec, cells)
            yield AskedQuestion(id, item.question, split, has_truth(self.spec, item))

    def split_of(self, row: SpecRow) -> str:
        return split_of(self.spec, row.cells)

    def without_truths(
        self, questions: Mapping[str, Mapping[str, Any]], is_blind: Callable[[str], bool]
    ) -> Mapping[str, Mapping[str, Any]]:
        empty_truths = dict.fromkeys(truth_columns(self.spec), "")
        return {
            id: {**cells, **empty_truths} if is_blind(split_of(self.spec, cells)) else cells
            for id, cells in questions.items()
        }

    def with_truths(
        self, file: ReadFile[SpecRow], questions: Mapping[str, Mapping[str, Any]]
    ) -> ReadFile[SpecRow]:
        """Returns the file with the question file's cells in place of its own; it has no new problems.

        With cells of their own, strangers could choose groups that reveal single answers.
        """
        rows = tuple(replace(row, cells=questions[row.id]) for row in file.rows)
        return replace(file, rows=rows, problems=())

    def published_sheets(self) -> Sequence[Sheet]:
        return published_sheets(self.spec)

    def count_unanswered(self, report: SpecReport) -> int:
        return report.missing

    def figures(self, report: SpecReport) -> Sequence[ScoreLine]:
        return whole_figures(report)

    def tables(self, report: SpecReport) -> Iterable[TreeTable]:
        return figure_tables(report)

    def final_report(self, report: SpecReport) -> SpecReport:
        return final_report(report)

    def final_note(self, report: SpecReport) -> str:
        rules = [case.rule for case in spec_of_report(report).rule]
        if report.protocol != "strict" or not any(rule.truth_reasons for rule in rules):
            return ""
        return (
            "An answer unlike the right one counts as wrong, even if it means the same: no judge reads "
            "it."
        )

    def submission(self, report: SpecReport) -> ServerSubmission | None:
        return spec_submission(report)

    def lines(self, file: ReadFile[SpecRow]) -> tuple[str, ...]:
        items = items_of(self.spec, file.rows, "strict")
        known = [item for item in items if has_truth(self.spec, item)]
        problems = [(wrong_truth(self.spec, item), item.id) for item in known]
        ids_by_problem = grouped((problem, id) for problem, id in problems if problem)
        unscorable = sum(map(len, ids_by_problem.values()))
        line = f"{self.name}: {plural(len(items), 'answer')}"
        lines = [f"{line}; {len(known) - unscorable:,} can be scored" if known else line]
        splits = Counter(map(self.split_of, file.rows))
        if len(splits) > 1:
            counts = [f"{split or '(none)'} {count:,}" for split, count in splits.items()]
            lines.append(f"Splits: {', '.join(counts)}")
        for problem, ids in ids_by_problem.items():
            questions = plural(len(ids), "question")
            lines.append(
                f"Our rules leave {questions} unscored, since the right answer {problem}: {_first_ids(ids)}"
            )
        return tuple(lines)

    def no_answers(self, file: ReadFile[SpecRow]) -> Mapping[str, str]:
        return {
            row.id: no_answer(row.answer, reference_texts(self.spec, item_of(self.spec, row)))
            for row in file.rows
        }

    def no_answer_notes(self, report: SpecReport) -> tuple[str, ...]:
        reasons = {row.row.id: row.no_answer for row in report.rows}
        return no_answer_sentences(reasons, len(report.rows), treatment(report.protocol))

    def look(self, row: SpecRow) -> AnswerLook:
        item = item_of(self.spec, row)
        return AnswerLook(row.id, item.question, row.answer, item.truth or "")

    def rules_report(self, opened: OpenedFile, head: Mapping[str, Any]) -> SpecReport:
        rows = opened.file.rows
        answered = {row.id for row in rows}
        return SpecReport(
            **head,
            spec=self.spec.json_text,
            rows=read_rows(
                self.spec,
                rows,
                head["protocol"],
                lambda items: while_wanted(items, opened.wanted, opened.name),
            ),
            problems=self.problems(opened),
            missing=len((opened.questions or {}).keys() - answered),
        )

    def problems(self, opened: OpenedFile) -> tuple[Problem, ...]:
        return (*opened.file.problems, *_picture_notes(opened.file.rows))

    def answers_with_pictures(self, report: SpecReport) -> Sequence[ScoredAnswer]:
        pictured = {ruled.row.row.id for ruled in ruled_rows(report) if ruled.rule.shows_pictures}
        return [answer for answer in self.scored_answers(report) if answer.id in pictured]

    def with_pictures(
        self, report: SpecReport, pictures: Mapping[str, tuple[ShownImage, ...]]
    ) -> SpecReport:
        rows = [replace(row, shown=pictures.get(row.row.id, ())) for row in report.rows]
        return replace(report, rows=tuple(rows))

    def draft(self, report: SpecReport, spec: JudgeSpec, address: str) -> SpecReport:
        return stamped(report, spec, address)

    def tasks(self, report: SpecReport, spec: JudgeSpec) -> Sequence[Task[Judged]]:
        return judge_tasks(report, spec)

    def with_outcomes(self, report: SpecReport, outcomes: Sequence[Judged]) -> SpecReport:
        return with_outcomes(report, outcomes)

    def outcome_text(self, outcome: Judged) -> str:
        return outcome.reading.read or "undecided"

    def ungraded_note(self, report: SpecReport) -> str:
        spec = spec_of_report(report)
        known = [
            row
            for row, item in zip(report.rows, report_items(report), strict=True)
            if has_truth(spec, item)
        ]
        if not known and self.submission(report):
            return ""
        if not known:
            return f"Nothing was graded: none of {len(report.rows):,} questions has a right answer"
        if not any(row.reading.read for row in known):
            why = f"none of {len(known):,} answers could be read ({known[0].reading.why})"
            return f"Nothing was graded: {why}"
        return lost_judging(report, self.unit)

    def scores(self, report: SpecReport) -> Sequence[ScoreLine]:
        lines = figure_lines(report)
        head = head_figure(report)
        return [lines[head], *(line for name, line in lines.items() if name != head)]

    def sheets(self, report: SpecReport) -> Sequence[Sheet]:
        return [*report_sheets(report)]

    def totals(self, report: SpecReport) -> Sequence[Total]:
        return [score_total(line.name, line) for line in self.scores(report)[:3]]

    def edition(self, report: SpecReport) -> str:
        splits = splits_of(report)
        name = spec_of_report(report).name
        return f"{name} {splits[0]}".strip() if len(splits) == 1 else name

    def groups(self, report: SpecReport) -> Sequence[ScoreLine]:
        """Returns the headline figure of each group, in the first column that has groups."""
        head = head_figure(report)
        for column in spec_of_report(report).groups:
            if lines_by_group := grouped_lines(report, column, ""):
                return [replace(group.lines[head], name=group.name) for group in lines_by_group]
        return ()

    def caveats(self, report: SpecReport) -> Sequence[Caveat]:
        caveats = [
            Caveat("Partial", _with_bounds(problem.text, report))
            for problem in report.problems
            if problem.blocks == "whole"
        ]
        for partial_sum in partial_sums(report):
            text = (
                f"{partial_sum.figure} sums {partial_sum.groups_present} of its {partial_sum.groups} groups. "
                "The file has no rows of the others."
            )
            caveats.append(Caveat("Partial", text))
        lead = "Partial" if report.protocol == "strict" else ""
        caveats += [Caveat(lead, text) for text in self.no_answer_notes(report)]
        caveats += self._unread_caveats(report)
        spec = spec_of_report(report)
        without_truth = sum(not has_truth(spec, item) for item in report_items(report))
        if without_truth:
            text = f"Questions without a right answer, read but not scored: {without_truth:,}."
            caveats.append(Caveat("", text))
        if submission := self.submission(report):
            caveats.append(Caveat("", submission.sentence))
        caveats += picture_caveats(report)
        return [*distrust_caveats(report), *super().caveats(report), *caveats]

    def checks(self, report: SpecReport) -> Sequence[str]:
        return [*canary_notes(report), *order_notes(report)]

    def _unread_caveats(self, report: SpecReport) -> list[Caveat]:
        """Returns a caveat with the number of answers that nobody could read, and how the protocol counts them."""
        unread = [row for row in report.rows if not row.reading.read and not row.no_answer]
        if not unread:
            return []
        total = len(report.rows)
        if report.protocol != "strict" and any(row.reading.score is not None for row in unread):
            kinds = dict.fromkeys(case.rule.unread_as for case in spec_of_report(report).rule)
            counted = either(kinds)
            text = f"Unreadable: {len(unread):,} of {total:,} answers. This protocol counts them as {counted}."
            return [Caveat("", text)]
        undecided = f"Undecided: {len(unread):,} of {total:,} answers."
        head = figure_lines(report)[head_figure(report)]
        if not head.unscored:  # None of them would count: their questions have no right answer.
            return [Caveat("", undecided)]
        low = f"{head.worst:{head.form}}"
        high = f"{head.best:{head.form}}"
        text = f"{undecided} If they counted, the score would be {low} to {high} ({head.name})."
        return [Caveat("", text)]

    def published(self, report: SpecReport) -> PublishedBoard | None:
        """Returns the spec's published numbers of this figure under this protocol."""
        head = head_figure(report)
        rows = [
            row
            for row in spec_of_report(report).published
            if (row.figure, row.protocol) == (head, report.protocol)
        ]
        if not rows:
            return None
        line = figure_lines(report)[head]
        sources = ", ".join(dict.fromkeys(row.source for row in rows))
        published_rows = tuple(PublishedRow(row.model, {head: row.score}) for row in rows)
        reasons_apart = [row.apart for row in rows if row.apart]
        if report.missing:
            reasons_apart.append("this file is a part of the questions")
        apart = tuple(dict.fromkeys(reasons_apart))
        own = {head: line.mean}
        return PublishedBoard(sources, (head,), published_rows, own, apart, places=line.places)

    def comparable_facts(self, report: SpecReport) -> ComparableFacts:
        spec = spec_of_report(report)
        edition = f"{spec.name} (spec {spec.digest[:8]})"
        return ComparableFacts(edition, report.protocol, head_figure(report))

    def compare(self, report: SpecReport, other: SpecReport) -> Sequence[Sheet]:
        ours = self.comparable_facts(report)
        theirs = self.comparable_facts(other)
        if ours != theirs:
            raise ChoicesError(
                f"{report.title!r} is {' · '.join(ours)}, {other.title!r} is {' · '.join(theirs)}. "
                "Choose two reports of one spec and one protocol."
            )
        return super().compare(report, other)

    def scored_answers(self, report: SpecReport) -> Sequence[ScoredAnswer]:
        spec = spec_of_report(report)
        column = next(iter(spec.groups), "")
        answers = []
        for row, item in zip(report.rows, report_items(report), strict=True):
            options = "".join(f"\n{letter}. {text}" for letter, text in item.options.items())
            # As lmms-eval counts: a row stays one, whatever groups it is in.
            (cells,) = derived_rows(spec, with_id(spec, row.row), "lmms-eval")
            names = [name.strip() for name in cell_members(cells.get(column))]
            groups = tuple(dict.fromkeys(name for name in names if name))
            truth = item.truth or ""
            if truth in item.options:
                truth = f"{truth}. {item.options[truth]}"
            score = unit_score(case_of(spec, row.row.cells), row)
            answers.append(
                ScoredAnswer(
                    id=item.id,
                    question=item.question + options,
                    truth=truth,
                    answer=row.row.answer,
                    grade=outcome_words(row.reading),
                    score=score if has_truth(spec, item) else None,
                    groups=groups,
                    row=row.row.row,
                    picture=row.row.picture,
                )
            )
        return answers

    def methods(self, report: SpecReport) -> Mapping[str, str]:
        spec = spec_of_report(report)
        stamp = {"Question file": report.questions.words} if report.questions else {}
        return {
            **stamp,
            "Measured": spec.about,
            "Rule": ", ".join(spec.kinds),
            "Spec (sha256)": spec.digest,
            "Licence of the questions": spec.licence,
        }

    def remarks(self, report: SpecReport) -> Sequence[str]:
        licence = spec_of_report(report).licence
        return [f"Licence of the questions: {licence}."] if licence == UNKNOWN else []

    def files(self, report: SpecReport) -> Mapping[str, bytes]:
        files = report_files(report)
        if submission := self.submission(report):
            files = {**files, submission.name: lambda: submission.content}
        return LazyFiles(files)


def unit_score(case: Case | None, row: ReadRow) -> float | None:
    """Returns an answer's score from 0 to 1, by the ends of its own rule: a spec's other rules may have other ends."""
    score = row.reading.score
    if case is None or score is None:
        return None
    low, high = case.rule.ends
    return min(max((score - low) / (high - low), 0.0), 1.0)


def outcome_words(reading: Reading) -> str:
    """Returns an answer's reading in words, with its rule."""
    if reading.read:
        return f"read as {reading.read} ({reading.why})"
    return f"not read ({reading.why})"


def _with_bounds(text: str, report: SpecReport) -> str:
    """Returns a sentence on missing answers with the headline's bounds over all questions, or why it has none.

    The sentence is unchanged if the report has all questions.
    """
    if not report.missing:
        return text
    head = figure_lines(report)[head_figure(report)]
    if why := why_unbounded(report):
        return f"{text} There are no bounds for {head.name} over all questions: {why}."
    ends = whole_ends(report)
    assert ends, "a figure without a reason against it has bounds"
    low = f"{ends.low:{head.form}}"
    high = f"{ends.high:{head.form}}"
    return f"{text} If they counted, the score would be {low} to {high} ({head.name})."


def _first_ids(ids: Sequence[str]) -> str:
    """Returns the first ids in words."""
    first = ", ".join(id[:40] for id in ids[:_SHOWN_IDS])
    return f"id {first}{', ...' if ids[_SHOWN_IDS:] else ''}"


def _picture_notes(rows: Sequence[SpecRow]) -> tuple[Problem, ...]:
    """Returns a note on the number of questions that share a picture, if any do."""
    known = [row.picture for row in rows if row.picture]
    text = shared_pictures_text(known) if known else ""
    return (Problem(0, None, text, "nothing"),) if text else ()
