"""Shown examples: marked answers judged again with fewer examples in the judge's prompt (MM-Vet, Table 8)."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
import pandas as pd

from arena.sheets import Column, Sheet, estimate, estimate_cells
from arena.types import grouped
from scoring.benchmarks.mm_vet import MMVet, prompt_digest, with_examples
from scoring.judges.run import Task
from scoring.judges.spec import JudgeSpec
from scoring.people.mark_files import PersonMark
from scoring.people.mark_sheets import NO_INTERVAL
from scoring.people.measures import LEAST_MARKS, MarksError, Measures, compare_scores
from scoring.people.published import PAPER_EXAMPLES, Examples, examples_words
from scoring.report import Filled, Grade, Protocol, Report

SUBSETS: Mapping[int, Examples] = {len(examples): examples for examples in PAPER_EXAMPLES}
"""The paper's choices of examples, by their number."""
PAPER_JUDGE = "gpt-4-0613"
"""The judge of the paper's Table 8."""
_HASH = 12
"""Characters of a prompt's sha256 in the table."""


class MarkedAnswer(NamedTuple):
    """An answer of a judged report, with the median of people's marks."""

    filled: Filled
    mark: float
    """From 0 to 1."""


class ShownExamples(NamedTuple):
    """The judge's distance from people with these examples in its prompt."""

    examples: Examples
    prompt: str
    """sha256 of the prompt's fixed part."""
    measures: Measures | None
    """None if too few answers got a score."""
    unscored: int


def chosen_subsets(words: str) -> tuple[Examples, ...]:
    """The paper's subsets of these sizes, such as 0,2,4,7. Raises MarksError."""
    sizes = [word.strip() for word in words.split(",")]
    subsets = {str(size): examples for size, examples in SUBSETS.items()}
    has_repeated = len(set(sizes)) < len(sizes)
    unknown = [size for size in sizes if size not in subsets]
    if has_repeated or unknown:
        raise MarksError(
            f"--examples is {words!r}. Use one or more of {', '.join(subsets)}, each once, as in MM-Vet's Table 8."
        )
    return tuple(subsets[size] for size in sizes)


def marked_answers(report: Report, marks: Sequence[PersonMark]) -> list[MarkedAnswer]:
    """The report's answers that people marked. Raises MarksError for fewer than LEAST_MARKS."""
    # A second round only shows how far a person agrees with their own first mark.
    scores_by_item = grouped((mark.item, mark.score) for mark in marks if mark.round == 1)
    answers = []
    for row in report.rows:
        scores = scores_by_item.get(row.question.id)
        if scores and row.prediction is not None:
            filled = Filled(row.question, row.prediction)
            answers.append(MarkedAnswer(filled, float(median(scores))))
    if len(answers) < LEAST_MARKS:
        raise MarksError(
            f"This needs {LEAST_MARKS} marked answers, and has {len(answers)}. Mark more. The judge wasn't asked."
        )
    return answers


def grading_tasks(
    benchmark: MMVet,
    subsets: Sequence[Examples],
    answers: Sequence[MarkedAnswer],
    protocol: Protocol,
    spec: JudgeSpec,
) -> list[Task[Grade]]:
    """The tasks of grading all answers with each subset of examples in the prompt, subset by subset."""
    filled = [answer.filled for answer in answers]
    tasks = []
    for examples in subsets:
        wording = with_examples(benchmark.wording, examples)
        tasks += benchmark.grading_tasks(filled, protocol, spec, wording)
    return tasks


def measure_subsets(
    benchmark: MMVet,
    subsets: Sequence[Examples],
    answers: Sequence[MarkedAnswer],
    protocol: Protocol,
    grades: Sequence[Grade],
) -> list[ShownExamples]:
    """The judge's distance from people with each subset, from grades in the order of `grading_tasks`."""
    results = []
    marks = np.array([answer.mark for answer in answers])
    for place, examples in enumerate(subsets):
        subset_grades = grades[place * len(answers) : (place + 1) * len(answers)]
        scores = np.array(
            [np.nan if grade.score is None else grade.score for grade in subset_grades]
        )
        is_scored = ~np.isnan(scores)
        measures = None
        if int(is_scored.sum()) >= LEAST_MARKS:
            measures = compare_scores(scores[is_scored], marks[is_scored])
        results.append(
            ShownExamples(
                examples=examples,
                prompt=prompt_digest(protocol, with_examples(benchmark.wording, examples)),
                measures=measures,
                unscored=int((~is_scored).sum()),
            )
        )
    return results


def examples_sheet(results: Sequence[ShownExamples], judge: str) -> Sheet:
    """Delta by the examples in the prompt, beside the paper's."""
    rows = []
    for result in results:
        measures = result.measures
        interval = measures.delta_interval if measures else None
        delta_cells = estimate_cells(
            "delta",
            measures.delta if measures else None,
            interval.low if interval else None,
            interval.high if interval else None,
        )
        row = {
            "examples": examples_words(result.examples),
            "n": measures.answers if measures else 0,
            **delta_cells,
            "bias": measures.bias if measures else None,
            "unscored": result.unscored,
            "paper": PAPER_EXAMPLES[result.examples],
            "prompt": result.prompt[:_HASH],
        }
        rows.append(row)
    columns = (
        Column("examples", "Examples shown"),
        Column("n", "n", "count"),
        estimate("delta", "Delta", places=4),
        Column("bias", "Bias", "difference", places=4),
        Column("unscored", "Unscored", "count"),
        Column("paper", "MM-Vet's Table 8", "score", places=4),
        Column("prompt", "Prompt (sha256)"),
    )
    other = "the same judge" if judge == PAPER_JUDGE else "another judge"
    note = f"Table 8 is of GPT-4 (0613) on answers of MM-ReAct-GPT-4: {other}, other answers and other people's marks."
    if any(row["delta_low"] is None for row in rows):
        note = f"{note} {NO_INTERVAL}"
    title = "How far from people, by the examples in the prompt"
    return Sheet("examples", title, pd.DataFrame(rows), columns, note)
