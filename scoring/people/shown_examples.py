"""How many examples a judge is shown (MM-Vet, Table 8): marked answers judged again, with rows cut from the prompt."""

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
from scoring.people.measures import LEAST_MARKS, MarksError, Measures, compared
from scoring.people.published import PAPER_EXAMPLES, Examples, examples_words
from scoring.report import Filled, Grade, Protocol, Report

SUBSETS: Mapping[int, Examples] = {len(kept): kept for kept in PAPER_EXAMPLES}
"""The paper's choice of examples, by how many they are."""
PAPER_JUDGE = "gpt-4-0613"
_HASH = 12
"""Characters of a prompt's sha256 that tell prompts apart."""


class MarkedAnswer(NamedTuple):
    """An answer of a judged report, with the median of people's marks."""

    filled: Filled
    mark: float


class ShownExamples(NamedTuple):
    """How far the judge is from people when it is shown these examples."""

    kept: Examples
    prompt: str
    """sha256 of the prompt's fixed part."""
    measures: Measures | None
    """None where too few answers got a score."""
    unscored: int


def chosen_subsets(words: str) -> tuple[Examples, ...]:
    """The paper's subsets of these sizes, such as 0,2,4,7. Raises MarksError."""
    sizes = [word.strip() for word in words.split(",")]
    known = {str(size): kept for size, kept in SUBSETS.items()}
    if len(set(sizes)) < len(sizes) or not known.keys() >= {*sizes}:
        raise MarksError(
            f"--examples is {words!r}; expected one or more of {', '.join(known)}, each once: "
            "the numbers of examples that MM-Vet's Table 8 has"
        )
    return tuple(known[size] for size in sizes)


def marked_answers(report: Report, marks: Sequence[PersonMark]) -> list[MarkedAnswer]:
    """The report's answers that people marked. Raises MarksError for too few to measure anything."""
    by_item = grouped((mark.item, mark.score) for mark in marks if mark.round == 1)
    found = [
        MarkedAnswer(Filled(row.question, row.prediction), float(median(by_item[row.question.id])))
        for row in report.rows
        if row.question.id in by_item and row.prediction is not None
    ]
    if len(found) < LEAST_MARKS:
        raise MarksError(
            f"{len(found)} marked answers; nothing is measured below {LEAST_MARKS}, and nothing was asked"
        )
    return found


def grading_tasks(
    benchmark: MMVet,
    subsets: Sequence[Examples],
    answers: Sequence[MarkedAnswer],
    protocol: Protocol,
    spec: JudgeSpec,
) -> list[Task[Grade]]:
    """Every grade to give, once for each subset: the same texts under each of its prompts."""
    filled = [answer.filled for answer in answers]
    return [
        task
        for kept in subsets
        for task in benchmark.grades_of(
            filled, protocol, spec, with_examples(benchmark.wording, kept)
        )
    ]


def measured(
    benchmark: MMVet,
    subsets: Sequence[Examples],
    answers: Sequence[MarkedAnswer],
    protocol: Protocol,
    grades: Sequence[Grade],
) -> list[ShownExamples]:
    """What the grades say of each subset; they are in the order of `grading_tasks`."""
    found = []
    marks = np.array([answer.mark for answer in answers])
    for place, kept in enumerate(subsets):
        given = grades[place * len(answers) : (place + 1) * len(answers)]
        scores = np.array([np.nan if one.score is None else one.score for one in given])
        known = ~np.isnan(scores)
        enough = int(known.sum()) >= LEAST_MARKS
        found.append(
            ShownExamples(
                kept=kept,
                prompt=prompt_digest(protocol, with_examples(benchmark.wording, kept)),
                measures=compared(scores[known], marks[known]) if enough else None,
                unscored=int((~known).sum()),
            )
        )
    return found


def examples_sheet(found: Sequence[ShownExamples], judge: str) -> Sheet:
    """Delta by the examples shown, with the paper's beside it."""
    rows = []
    for one in found:
        measures = one.measures
        delta = measures.delta if measures else None
        interval = measures.delta_interval if measures else None
        ends = (interval.low, interval.high) if interval else (None, None)
        row = {
            "examples": examples_words(one.kept),
            "n": measures.answers if measures else 0,
            **estimate_cells("delta", delta, *ends),
            "bias": measures.bias if measures else None,
            "unscored": one.unscored,
            "paper": PAPER_EXAMPLES[one.kept],
            "prompt": one.prompt[:_HASH],
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
