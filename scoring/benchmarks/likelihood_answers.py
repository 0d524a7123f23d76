"""Answers by likelihood: the option whose text a local model finds most likely as the answer to the question.

MMBench's authors scored Kosmos-2 this way, by the lowest perplexity (Table 4). The question is asked without its
options, so their order changes nothing, and one answer holds for all circular passes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

from arena.inference.offline import Task
from arena.types import Alternatives, Turn, folded, grouped
from scoring.benchmarks.mm_vet_questions import file_sha256
from scoring.benchmarks.modes import bare_prompt
from scoring.benchmarks.offline_answers import (
    Answers,
    OfflineBenchmark,
    answers_tsv,
    cell_images,
    choice_sheet,
    picture,
)
from scoring.multiple_choice.reader import CHOSEN_BY
from scoring.multiple_choice.truths import plain_option
from scoring.multiple_choice.types import LETTERS, PASS, ChoiceQuestion

_PLACES = 6
"""Digits after the point that a file keeps of a likelihood; options that differ by less are equally likely."""
_MOST_LISTED = 10

Passes: TypeAlias = Sequence[ChoiceQuestion]
"""A question in all the orders of its options; the first is asked."""


class _OptionScores(NamedTuple):
    """A question with the mean log-likelihood of each option's tokens, by letter; None for an option without any."""

    question: ChoiceQuestion
    scores: Mapping[str, float | None]

    @property
    def likeliest(self) -> Sequence[str]:
        """The letters with the best score; several are equally likely."""
        known = {letter: score for letter, score in self.scores.items() if score is not None}
        best = max(known.values(), default=None)
        return [letter for letter, score in known.items() if score == best]


def offline_likelihood(file: Path, circular: bool) -> OfflineBenchmark:
    """The questions of a TSV, with passes as `choice_sheet` has them. Raises RowsError and AnsweringError."""
    sheet = choice_sheet(file, circular)
    passes_by_key = grouped((_pass_key(question), question) for question in sheet.questions)
    questions = [*passes_by_key.values()]
    first_indices = {passes[0].index for passes in questions}

    def tasks(_: Answers) -> Iterator[Task[Alternatives]]:
        for question, cell in sheet.with_images():
            if question.index in first_indices:
                yield Task(str(question.index), partial(_alternatives, cell, question))

    return OfflineBenchmark(
        digest=f"{file_sha256(file)} likelihood",
        count=len(questions),
        rounds=(tasks,),
        write=lambda answers, _: _prediction_file([*_option_scores(questions, answers)]),
        chosen_by="likelihood",
        remarks=lambda answers: _remarks([*_option_scores(questions, answers)]),
    )


def _pass_key(question: ChoiceQuestion) -> tuple[object, ...]:
    """Returns a key that passes of one question share; a pass with other words, options or pictures has its own."""
    options = tuple(sorted(_option_texts(question)))
    return (question.index % PASS, folded(bare_prompt(question)), options, question.picture)


def _option_texts(question: ChoiceQuestion) -> Mapping[str, str]:
    """The options' texts by plain form. Options with the same plain form count as one, with the last one's text."""
    return {plain_option(text): text.strip() for text in question.options.values()}


def _alternatives(cell: str, question: ChoiceQuestion) -> Alternatives:
    """A question with its images, and the texts to compare. Raises TaskError."""
    turn = Turn("user", bare_prompt(question), tuple(map(picture, cell_images(cell))))
    return Alternatives((turn,), tuple(_option_texts(question).values()))


def _option_scores(questions: Iterable[Passes], answers: Answers) -> Iterator[_OptionScores]:
    """Yields every pass of the answered questions. An answer is a JSON list: a score for each of `_option_texts`."""
    for passes in questions:
        answer = answers.get(str(passes[0].index))
        if answer is None:
            continue
        scores = [None if score is None else round(score, _PLACES) for score in json.loads(answer)]
        score_by_text = dict(zip(_option_texts(passes[0]), scores, strict=True))
        for question in passes:
            score_by_letter = {
                letter: score_by_text[plain_option(text)]
                for letter, text in question.options.items()
            }
            yield _OptionScores(question, score_by_letter)


def _prediction_file(rows: Sequence[_OptionScores]) -> bytes:
    """The predictions, with a column for each letter's score; the cell of equally likely options is empty."""
    rows = sorted(rows, key=lambda row: row.question.index)
    by_key = {str(row.question.index): row for row in rows}
    letters = {
        key: row.likeliest[0] if len(row.likeliest) == 1 else "" for key, row in by_key.items()
    }
    columns = {CHOSEN_BY: dict.fromkeys(by_key, "likelihood")}
    for letter in LETTERS:
        scores = {key: row.scores.get(letter) for key, row in by_key.items()}
        cells = {key: f"{score:.{_PLACES}f}" for key, score in scores.items() if score is not None}
        if cells:
            columns[f"logprob_{letter}"] = cells
    return answers_tsv([row.question for row in rows], letters, columns)


def _remarks(rows: Sequence[_OptionScores]) -> Iterator[str]:
    """Yields sentences on how options were chosen, and on those that can't be."""
    yield (
        "Options were chosen by likelihood, not by generated text: the highest mean log-likelihood of an option's "
        "tokens. The file and its report say so."
    )
    ties = [row for row in rows if len(row.likeliest) > 1]
    if ties:
        yield f"Left without an answer, because the best options are equally likely: {_index_text(ties)}."
    without_token = [row for row in rows if None in row.scores.values()]
    if without_token:
        yield f"Options without a token of this model are never chosen: {_index_text(without_token)}."


def _index_text(rows: Sequence[_OptionScores]) -> str:
    """The base indices of questions, each once."""
    indices = [*dict.fromkeys(row.question.index % PASS for row in rows)]
    listed = ", ".join(map(str, indices[:_MOST_LISTED]))
    others = len(indices) - _MOST_LISTED
    more = f" and {others:,} more" if others > 0 else ""
    return f"index {listed}{more}"
