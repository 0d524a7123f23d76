"""Multiple-choice benchmarks: a file's letters as a report, a judge for answers left open, and downloads."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

from arena.io.strict_json import row_errors
from arena.io.tables import ANSWERS, FileLimits, Record, read_records
from arena.sheets import Sheet
from arena.templates import plural
from scoring.benchmarks.article import Caveat, ScoredAnswer
from scoring.benchmarks.base import (
    AnswerLook,
    AskedQuestion,
    LazyFiles,
    OpenedFile,
    Workflow,
    check_scorable,
    problem_lines,
    while_wanted,
)
from scoring.benchmarks.choice_answers import (
    failure_lines,
    failures,
    no_answers_by_text,
    scored_answer,
)
from scoring.benchmarks.choice_blind import (
    SplitTrees,
    choice_submission,
    file_with_truths,
    questions_without_truths,
    split_table,
)
from scoring.benchmarks.choice_report import ChoiceReport, ComparisonError, check_pairs, decide_rows
from scoring.benchmarks.choice_sheets import LinePair, comparison_sheets, letter_sheet, steps_sheet
from scoring.benchmarks.specified import SpecifiedBenchmark
from scoring.benchmarks.submission import ServerSubmission
from scoring.judges.run import Task
from scoring.judges.spec import JudgeSpec
from scoring.multiple_choice.circular_eval import is_circular, missing_passes
from scoring.multiple_choice.columns import has_options
from scoring.multiple_choice.downloads import (
    audit_lines,
    differences_csv,
    missing_csv,
    problems_csv,
)
from scoring.multiple_choice.extract import (
    PARSERS,
    SEED,
    Language,
    extract_with_judge,
    language,
    prompt_digest,
)
from scoring.multiple_choice.metrics import (
    NARROWEST,
    ChoiceTables,
    ComparisonTable,
    Node,
    picture_problems,
)
from scoring.multiple_choice.reader import (
    IMAGE_COLUMNS,
    Problem,
    ReadFile,
    read_choices,
    read_questions,
)
from scoring.multiple_choice.types import (
    BY_LIKELIHOOD,
    CHOICE_WORDS,
    JUDGE_UNREAD,
    PASS,
    PROTOCOL_WORDS,
    Answered,
    ChoiceQuestion,
    Clue,
    Decided,
    Decision,
    Rule,
)
from scoring.no_answers import no_answer_sentences, treatment
from scoring.report import (
    JudgeStamp,
    ScoreLine,
    file_stem,
    mostly_unread,
    remembered,
    safe_name,
)
from scoring.score_sheets import TreeTable, no_answer_sheet, sheet_files, tree_sheet

_NOTES: Mapping[str, str] = {
    "strict": "Strict protocol (ours): an unclear answer stays undecided and doesn't count. In a long answer, only "
    "the first and last 4,000 characters are read",
    "mmbench-paper": "MMBench's protocol: letters that are whole words. If the judge can't read an answer either, it "
    f"gets a random option (seed {SEED}). Without a judge, such an answer is wrong",
    "mmt-paper": "MMT-Bench's protocol: letters first, then the options' texts. If the judge can't read an answer "
    "either, it matches no option. Without a judge, such an answer is wrong",
}


class TreePair(NamedTuple):
    """The accuracies of a split under two protocols, counted in the same way."""

    own: Node
    other: Node


@dataclass(frozen=True, kw_only=True)
class MultipleChoice(SpecifiedBenchmark[ChoiceReport]):
    """A multiple-choice benchmark with its own tables."""

    report: type[ChoiceReport] = ChoiceReport
    way: Workflow = "rules first"
    protocols: Mapping[str, str] = field(
        default_factory=lambda: {words: protocol for protocol, words in PROTOCOL_WORDS.items()}
    )
    start: str = "Score by rules (free)"
    unit: str = "undecided answer"
    judge_label: str = "Have a judge read {left}"
    notes: Mapping[str, str] = field(default_factory=lambda: _NOTES)

    @abstractmethod
    def tabulate(self, report: ChoiceReport) -> ChoiceTables[Any]:
        """The tables of a report. Without a question file, missing questions are those of the published edition."""

    @abstractmethod
    def mcnemar_tables(
        self, first: ChoiceReport, second: ChoiceReport
    ) -> Sequence[ComparisonTable]:
        """McNemar's comparisons of two reports on the same questions."""

    def edition_name(self, questions: Sequence[ChoiceQuestion]) -> str:
        """The name of the edition of these questions."""
        return self.name

    def fits(self, first: Record) -> bool:
        return has_options(first)

    def read(
        self, rows: Iterable[Record], questions: Mapping[int, ChoiceQuestion] | None
    ) -> ReadFile[Answered]:
        return read_choices(rows, questions)

    def own_questions(
        self, path: Path, limits: FileLimits = ANSWERS, name: str | None = None
    ) -> Mapping[int, ChoiceQuestion]:
        label = name or path.name
        with row_errors(label):
            records = read_records(path, limits, name=label, digested=IMAGE_COLUMNS)
            questions, problems = read_questions(records)
        check_scorable(label, problems)
        return questions

    def list_questions(self, questions: Mapping[int, ChoiceQuestion]) -> Iterator[AskedQuestion]:
        for index, question in questions.items():
            yield AskedQuestion(str(index), question.text, question.split, bool(question.answer))

    def split_of(self, row: Answered) -> str:
        return row.question.split

    def without_truths(
        self, questions: Mapping[int, ChoiceQuestion], is_blind: Callable[[str], bool]
    ) -> Mapping[int, ChoiceQuestion]:
        return questions_without_truths(questions, is_blind)

    def with_truths(
        self, file: ReadFile[Answered], questions: Mapping[int, ChoiceQuestion]
    ) -> ReadFile[Answered]:
        return file_with_truths(file, questions)

    def count_unanswered(self, report: ChoiceReport) -> int:
        return len({question.index % PASS for question in self.choice_tables(report).missing})

    def lines(self, file: ReadFile[Answered]) -> tuple[str, ...]:
        questions = [row.question for row in file.rows]
        rotated = {question.index % PASS for question in questions if question.index >= PASS}
        scorable = sum(question.answer is not None for question in questions)
        line = f"{self.edition_name(questions)}: {plural(len(questions), 'answer')}"
        if file.mode:
            line = f"{line} in mode {file.mode}"
        if rotated:
            line = f"{line}, {plural(len(rotated), 'question')} with rotated passes"
        if file.chosen_by == "likelihood":
            line = f"{line}, {BY_LIKELIHOOD}"
        if scorable:
            line = f"{line}; {scorable:,} can be scored"
        if not any(question.split for question in questions):
            return (line,)
        splits = Counter(question.split or "(none)" for question in questions)
        counts = ", ".join(f"{split} {count:,}" for split, count in splits.items())
        return (line, f"Splits: {counts}")

    def no_answers(self, file: ReadFile[Answered]) -> Mapping[str, str]:
        if file.chosen_by == "likelihood":
            # A tie's text is empty, so only the decision knows it.
            return failures(decide_rows(file.rows, "strict", file.chosen_by), "strict")
        return no_answers_by_text(file.rows)

    def no_answer_notes(self, report: ChoiceReport) -> tuple[str, ...]:
        return no_answer_sentences(
            failures(report.rows, report.protocol), len(report.rows), treatment(report.protocol)
        )

    def remarks(self, report: ChoiceReport) -> Sequence[str]:
        # The file's own problems are printed when it is opened.
        problems = (*self.choice_tables(report).problems, *_picture_problems(report.rows))
        return [*problem_lines(problems)]

    def footnotes(self, report: ChoiceReport) -> Sequence[str]:
        footnotes = []
        if report.protocol == "mmbench-paper" and report.judge:
            footnotes.append(
                f"What the judge left open was assigned at random from the seed {SEED}."
            )
        without_answer = self.choice_tables(report).without_answer
        if without_answer:
            count = plural(without_answer, "answer")
            footnotes.append(f"{count} without a right letter: extracted, not scored.")
        return footnotes

    def compare(self, report: ChoiceReport, other: ChoiceReport) -> Sequence[Sheet]:
        """Returns McNemar's comparisons of both. Raises ComparisonError."""
        comparisons = self.comparisons(report, other)
        return comparison_sheets(
            report.title, other.title, comparisons, self.other_differences(report, other)
        )

    def other_differences(self, report: ChoiceReport, other: ChoiceReport) -> str:
        if report.chosen_by == other.chosen_by:
            return ""
        ways = [f"{each.title}: {CHOICE_WORDS[each.chosen_by]}" for each in (report, other)]
        return f"Two ways of choosing an option, so this isn't about the models alone. {'; '.join(ways)}."

    def look(self, row: Answered) -> AnswerLook:
        question = row.question
        letter = question.answer
        truth = f"{letter}. {question.options.get(letter, '')}" if letter else ""
        return AnswerLook(str(question.index), question.text, row.prediction, truth)

    def rules_report(self, opened: OpenedFile, head: Mapping[str, Any]) -> ChoiceReport:
        file_rows = while_wanted(opened.file.rows, opened.wanted, opened.name)
        rows = decide_rows(file_rows, head["protocol"], opened.file.chosen_by)
        missing = None  # without a question file nobody knows
        if opened.questions is not None:
            answered = {row.question.index: row.question for row in rows}
            unanswered = [
                question for index, question in opened.questions.items() if index not in answered
            ]
            passes = missing_passes(opened.questions, [*answered.values()])
            missing = (*unanswered, *passes)
        problems = (*opened.file.problems, *_picture_problems(rows))
        return ChoiceReport(
            **head,
            rows=rows,
            problems=problems,
            missing=missing,
            mode=opened.file.mode,
            chosen_by=opened.file.chosen_by,
        )

    def problems(self, opened: OpenedFile) -> tuple[Problem, ...]:
        report = opened.report("strict")
        problems = self.choice_tables(report).problems
        return (*opened.file.problems, *problems, *_picture_problems(report.rows))

    def draft(self, report: ChoiceReport, spec: JudgeSpec, address: str) -> ChoiceReport:
        languages = {language(row.question) for row in report.rows if row.decision.is_open}
        prompts = ", ".join(
            f"{name} {prompt_digest(name)}" for name in get_args(Language) if name in languages
        )
        judge = JudgeStamp(
            model=spec.model,
            versions=(),
            address=address,
            prompt=prompts,
            parser=PARSERS[report.protocol],
        )
        return replace(report, judge=judge)

    def tasks(self, report: ChoiceReport, spec: JudgeSpec) -> Sequence[Task[Decision]]:
        return [
            Task(
                run=0,
                begin=partial(
                    extract_with_judge, row.question, row.prediction, report.protocol, spec
                ),
                refused=partial(_with_refusal, row.decision),
                name=str(row.question.index),
                is_read=lambda decision: decision.rule not in JUDGE_UNREAD,
            )
            for row in report.rows
            if row.decision.is_open
        ]

    def with_outcomes(self, report: ChoiceReport, outcomes: Sequence[Decision]) -> ChoiceReport:
        remaining = iter(outcomes)  # in the order of `tasks`
        rows = tuple(
            replace(row, decision=next(remaining)) if row.decision.is_open else row
            for row in report.rows
        )
        judge = report.judge
        if judge is not None:
            judge = judge.with_versions(outcome.model for outcome in outcomes)
        return replace(report, judge=judge, rows=rows)

    def outcome_text(self, outcome: Decision) -> str:
        return outcome.letter or "undecided"

    def ungraded_note(self, report: ChoiceReport) -> str:
        known = [row for row in report.rows if row.question.answer is not None]
        if not known:
            return ""
        if not any(map(_is_read, known)):
            rule = known[0].decision.rule  # the first answer's, as an example
            return f"Nothing was graded: none of {len(known):,} answers could be read as an option ({rule})"
        if note := self.unread_note(report):
            return note
        if self.choice_tables(report).whole.tree.line.mean is None:
            return "Nothing was graded: no base row can be read, and no question has all its passes"
        return ""

    def unread_note(self, report: ChoiceReport) -> str:
        """A sentence for a report with mostly unreadable replies of the judge; "" for others."""
        judged = [row.decision for row in report.rows if row.decision.replies]
        unread = sum(decision.rule in JUDGE_UNREAD for decision in judged)
        return mostly_unread(unread, len(judged), self.unit)

    @remembered
    def choice_tables(self, report: ChoiceReport) -> ChoiceTables[Any]:
        """The tables of a report; without scores if no answer, or few replies of the judge, could be read.

        Letters assigned by a protocol then don't count; the audit has them.
        """
        if not report.rows:
            return self.tabulate(report)
        if any(map(_is_read, report.rows)) and not self.unread_note(report):
            return self.tabulate(report)
        rows = tuple(
            replace(row, decision=replace(row.decision, letter=None)) for row in report.rows
        )
        # "strict" leaves rows without a letter unscored; the other protocols count them as wrong.
        return self.tabulate(replace(report, protocol="strict", rows=rows))

    def words(self, name: str) -> str:
        """An ability, category or subtask in words."""
        return name

    def sheets(self, report: ChoiceReport) -> Sequence[Sheet]:
        """Scores by level of the whole file, then of each split, and the reading of letters."""
        tables = self.choice_tables(report)
        sheets: list[Sheet] = []
        if tables.splits:
            sheets += self.split_sheets(tables.whole)
            # a single split is the whole file, whether listed apart or not
            if len(tables.parts) > 1:
                for part in tables.parts:
                    sheets += self._folded_sheets(part)
        if tables.steps.n and report.chosen_by == "text":
            sheets.append(steps_sheet(tables.steps))
        if tables.letters:
            sheets.append(letter_sheet(tables.letters))
        if lines := failure_lines(report.rows, report.protocol):
            sheets.append(no_answer_sheet(lines))
        return sheets

    def _folded_sheets(self, scores: Any) -> Iterator[Sheet]:
        """Yields a split's tables, which are shown folded under those of the whole file."""
        for sheet in self.split_sheets(scores):
            name = f"{sheet.name}-{safe_name(scores.split or 'no split')}"
            title = f"{scores.split or 'No split'}: {sheet.title}"
            yield replace(sheet, name=name, title=title, place="folded")

    def split_sheets(self, scores: Any) -> Iterator[Sheet]:
        """Yields the tables of a split, or of the whole file."""
        trees = self.trees(scores)
        yield tree_sheet("levels", "Accuracy by level", trees, "Level", self.words)

    def trees(self, scores: Any) -> Mapping[str, Node]:
        """A split's accuracies by the way of counting, the headline's way first."""
        return {"Accuracy": scores.tree}

    def tables(self, report: ChoiceReport) -> Iterator[TreeTable]:
        """Yields the accuracies by level as trees: a part of `choice_tables`, as every benchmark has it."""
        splits = self.choice_tables(report).splits
        if splits:
            trees = [SplitTrees(scores.split, self.trees(scores)) for scores in splits]
            yield split_table(trees, self.words)

    def comparable_trees(self, own: Any, other: Any) -> TreePair:
        """The accuracies of a split under two protocols, counted in the same way."""
        return TreePair(own.tree, other.tree)

    def line_pairs(self, report: ChoiceReport, other: ChoiceReport) -> list[LinePair]:
        """Overall and the means below it, except the narrowest, under two protocols."""
        tables = self.choice_tables(report)
        if not tables.splits:
            return []
        trees = self.comparable_trees(tables.whole, self.choice_tables(other).whole)
        other_lines = {node.line.name: node.line for node in trees.other.walk()}
        pairs = []
        for node in trees.own.walk():
            if node.level != NARROWEST and node.line.name in other_lines:
                pairs.append(LinePair(node.line, other_lines[node.line.name]))
        return pairs

    def files(self, report: ChoiceReport) -> Mapping[str, bytes]:
        """Every download; answers of splits without right letters become a submission to the benchmark's server."""
        tables = self.choice_tables(report)
        prefix = "partial_" if tables.partial else ""
        stem = f"{prefix}{file_stem(report.file)}"

        def audit() -> bytes:
            return "".join(audit_lines(report.rows, report.chosen_by)).encode("ascii")

        def differences() -> bytes:
            readings = {report.protocol: report.rows}
            for name in PROTOCOL_WORDS:
                if name != report.protocol:
                    readings[name] = decide_rows(report.rows, name, report.chosen_by)
            return differences_csv(readings)

        makers: dict[str, Callable[[], bytes]] = {
            f"{stem}_acc.csv": tables.accuracy_csv,
            f"{stem}-audit.jsonl": audit,
            f"{stem}-problems.csv": lambda: problems_csv((*tables.problems, *report.problems)),
            f"{stem}-differences.csv": differences,
        }
        if tables.missing:
            makers[f"{stem}-missing.csv"] = lambda: missing_csv(tables.missing)
        if submission := self.submission(report):
            makers[submission.name] = lambda: submission.content
        first, *others = self.sheets(report)
        if report.chosen_by == "likelihood":
            first = replace(first, title=f"{first.title} ({BY_LIKELIHOOD})")
        return LazyFiles(makers | sheet_files(stem, [first, *others]))

    def submission(self, report: ChoiceReport) -> ServerSubmission | None:
        return choice_submission(self.spec.submission, report.file, report.rows)

    def edition(self, report: ChoiceReport) -> str:
        tables = self.choice_tables(report)
        name = self._row_edition(report)
        split = ""
        if tables.splits:
            # a single split is the whole file, whether listed apart or not
            scores = tables.whole if len(tables.parts) > 1 else tables.splits[0]
            split = scores.split
        mode = f" in mode {report.mode}" if report.mode else ""
        way = " by likelihood" if report.chosen_by == "likelihood" else ""
        return f"{name} {split}".strip() + mode + way

    def note(self, report: ChoiceReport) -> str:
        if report.chosen_by == "text":
            return super().note(report)
        return "Options chosen by likelihood (the highest mean log-likelihood of their tokens), in every protocol alike"

    def methods(self, report: ChoiceReport) -> Mapping[str, str]:
        stamp = {"Question file": report.questions.words} if report.questions else {}
        return {"Options": CHOICE_WORDS[report.chosen_by], **stamp}

    def headline(self, report: ChoiceReport) -> ScoreLine | None:
        tables = self.choice_tables(report)
        return replace(tables.whole.tree.line, name="accuracy") if tables.splits else None

    def groups(self, report: ChoiceReport) -> Sequence[ScoreLine]:
        tables = self.choice_tables(report)
        return [node.line for node in tables.whole.tree.children] if tables.splits else ()

    def caveats(self, report: ChoiceReport) -> Sequence[Caveat]:
        tables = self.choice_tables(report)
        caveats = [*super().caveats(report)]
        blocking = sum(problem.blocks == "circular" for problem in tables.problems)
        if blocking and is_circular(row.question for row in report.rows):
            caveats.append(
                Caveat(
                    "",
                    f"Vanilla accuracy only. Problems below that keep the file from CircularEval: {blocking:,}.",
                )
            )
        caveats += self._unscored_caveats(report, tables)
        if tables.without_answer:
            count = tables.without_answer
            caveats.append(
                Caveat("", f"Questions without a right answer, read but not scored: {count:,}.")
            )
        submission = self.submission(report)
        if submission and self.is_scored_by_authors([row.question for row in report.rows]):
            caveats.append(Caveat("", submission.sentence))
        return caveats

    def _unscored_caveats(self, report: ChoiceReport, tables: ChoiceTables[Any]) -> list[Caveat]:
        """Caveats on questions without a score; the last one ends with the bounds of the headline."""
        caveats = [
            Caveat("Partial", problem.text)
            for problem in tables.problems
            if problem.blocks == "whole"
        ]
        lead = "Partial" if report.protocol == "strict" else ""
        caveats += [Caveat(lead, text) for text in self.no_answer_notes(report)]
        undecided = sum(
            row.decision.letter is None and row.decision.step != "failed" for row in report.rows
        )
        if undecided:
            text = f"Undecided: {undecided:,} of {len(report.rows):,} answers."
            caveats.append(Caveat("", text))
        line = self.headline(report)
        if caveats and line:
            span = f"{line.worst:.1f} to {line.best:.1f}"
            bounds = f"If they counted, the score would be {span} ({line.name})."
            caveats[-1] = caveats[-1]._replace(text=f"{caveats[-1].text} {bounds}")
        return caveats

    def is_scored_by_authors(self, questions: Sequence[ChoiceQuestion]) -> bool:
        """Whether these are a published benchmark's questions. Its authors score splits with private right answers."""
        return True

    def scored_answers(self, report: ChoiceReport) -> Sequence[ScoredAnswer]:
        """Every base row as an answer."""
        return [
            self.scored_answer(base=row, answered=row, right=row.right)
            for row in report.rows
            if row.question.index < PASS
        ]

    def scored_answer(self, base: Decided, answered: Decided, right: bool | None) -> ScoredAnswer:
        """A question as in its row `base`, with the answer to the pass `answered`.

        `right`: whether the question counts as right; None if it is unscored.
        """
        return scored_answer(base, answered, right, self.tested_abilities(base.question))

    def tested_abilities(self, question: ChoiceQuestion) -> tuple[str, ...]:
        """The abilities that a question tests, in words."""
        return (question.named_category,)

    def checks(self, report: ChoiceReport) -> Sequence[str]:
        if report.chosen_by == "likelihood":
            return []
        count = len(report.rows)
        if not count:
            return []
        # Not `StepCounts`, where "none of the options" is one step, whoever read it.
        steps = Counter(row.decision.step for row in report.rows)
        by_rules = 100 * (steps["letter"] + steps["content"] + steps["none"]) / count
        by_judge = 100 * steps["judge"] / count
        if not by_judge:
            return [f"Rules read {by_rules:.1f}% of {count:,} answers."]
        return [f"Rules read {by_rules:.1f}% of {count:,} answers, the judge {by_judge:.1f}%."]

    def comparisons(self, first: ChoiceReport, second: ChoiceReport) -> Sequence[ComparisonTable]:
        """McNemar's comparison of two models, or of a model under two settings, by ability. Raises ComparisonError."""
        if (first.benchmark, first.protocol) != (second.benchmark, second.protocol):
            raise ComparisonError(
                f"{first.title!r} is {first.benchmark} under {first.protocol}, {second.title!r} is {second.benchmark} "
                f"under {second.protocol}. Choose two reports of one benchmark and one protocol."
            )
        is_same_edition = self._row_edition(first) == self._row_edition(second)
        is_same_mode = first.mode == second.mode
        check_pairs(first.rows, second.rows, worded_alike=is_same_edition and is_same_mode)
        return self.mcnemar_tables(first, second)

    def _row_edition(self, report: ChoiceReport) -> str:
        """The name of the edition of a report's questions, without splits and settings."""
        return self.edition_name([row.question for row in report.rows])


def _picture_problems(rows: Iterable[Decided]) -> tuple[Problem, ...]:
    return picture_problems(row.question for row in rows)


def _with_refusal(decision: Decision, reason: str) -> Decision:
    """The decision on an answer that the judge refused to read, for this reason."""
    return replace(decision, trail=(*decision.trail, Clue(Rule.DECLINED, None, reason[:200])))


def _is_read(row: Decided) -> bool:
    """Whether an answer was read as a letter, not given one by its protocol."""
    return row.decision.letter is not None and row.decision.step != "fallback"
