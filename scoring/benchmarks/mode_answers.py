"""Answers in a mode: MMT-Bench's questions in the mode's form, their possible cost, and the prediction file."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from arena.inference.limits import cost, most_usage
from arena.inference.offline import Task, TaskError
from arena.io.drawn_pictures import DRAWN_BY, black_picture, draw_boxes, join_pictures
from arena.types import ModelCard, Turn
from scoring.benchmarks.mm_vet_questions import file_sha256
from scoring.benchmarks.modes import ModeQuestion, mode_question
from scoring.benchmarks.offline_answers import (
    Answers,
    ChoiceSheet,
    OfflineBenchmark,
    answers_tsv,
    choice_sheet,
    images_of,
    offline_choices,
    picture,
)
from scoring.multiple_choice.reader import MODE_NOTE
from scoring.multiple_choice.types import ChoiceQuestion, Mode


class MostTokens(NamedTuple):
    """The upper bound of a run's use."""

    prompt: int
    cost: int
    """Millionths of a US dollar."""


@dataclass(frozen=True)
class ModeBenchmark:
    """MMT-Bench's questions in one mode."""

    mode: Mode
    benchmark: OfflineBenchmark
    questions: tuple[ChoiceQuestion, ...]
    """The questions in the mode's form, by index."""
    changed: frozenset[int]
    """Indices of the questions that differ from as-is."""
    notes: Mapping[str, int]
    """Questions that the mode could not change, by the kind of reason."""
    most: MostTokens
    as_is: MostTokens

    @property
    def lines(self) -> Iterator[str]:
        """Yields lines on the changed questions, and on the possible cost against as-is."""
        yield f"{self.mode}: {len(self.changed):,} of {len(self.questions):,} questions are asked otherwise than as is."
        for reason, times in self.notes.items():
            yield f"{self.mode}: {times:,} left as they are, or with a remark: {reason}"
        yield (
            f"{self.mode}: at most {self.most.prompt:,} tokens sent{_dollars(self.most)}, "
            f"{self.most.prompt / self.as_is.prompt:.2f} times those of as-is"
        )


def quote_lines(benchmarks: Sequence[ModeBenchmark]) -> Iterator[str]:
    """Yields the lines of all modes, and their possible cost together as a multiple of as-is."""
    for benchmark in benchmarks:
        yield from benchmark.lines
    requests = sum(len(benchmark.questions) for benchmark in benchmarks)
    most = MostTokens(
        prompt=sum(benchmark.most.prompt for benchmark in benchmarks),
        cost=sum(benchmark.most.cost for benchmark in benchmarks),
    )
    yield (
        f"Together {requests:,} requests and at most {most.prompt:,} tokens sent{_dollars(most)}: "
        f"{most.prompt / benchmarks[0].as_is.prompt:.2f} times asking as is once"
    )


def mode_benchmarks(file: Path, modes: Sequence[Mode], card: ModelCard) -> list[ModeBenchmark]:
    """Returns the questions of a TSV in each mode, for a model. Raises RowsError and AnsweringError."""
    sheet = choice_sheet(file)
    questions_by_mode: dict[Mode, dict[int, ModeQuestion]] = {
        mode: {} for mode in ("as-is", *modes)
    }
    prompts: Counter[Mode] = Counter()
    for question, cell in sheet.with_images():
        try:
            images = images_of(cell)
        except TaskError:  # reported when the question is asked
            images = []
        for mode, questions in questions_by_mode.items():
            mode_version = mode_question(question, mode, images, card.images)
            questions[question.index] = mode_version
            sent = {"joined": 1, "none": 0}.get(mode_version.pictures, len(images))
            turns = [Turn("user", mode_version.text, (b"",) * sent)]
            prompts[mode] += most_usage(card, turns, card.generation).prompt
    completion = len(sheet.questions) * card.generation.max_tokens
    most = {
        mode: MostTokens(prompts[mode], cost(card.price, prompts[mode], completion))
        for mode in questions_by_mode
    }
    benchmarks = []
    for mode in modes:
        mode_questions = questions_by_mode[mode]
        changed = {
            index
            for index, mode_version in mode_questions.items()
            if replace(mode_version, note="") != questions_by_mode["as-is"][index]
        }
        notes = [mode_version.note for mode_version in mode_questions.values()]
        if mode == "as-is":
            benchmark = offline_choices(file, circular=False)
        else:
            benchmark = _benchmark(sheet, mode, mode_questions, card)
        mode_benchmark = ModeBenchmark(
            mode=mode,
            benchmark=benchmark,
            questions=tuple(mode_questions[index].question for index in sorted(mode_questions)),
            changed=frozenset(changed),
            notes=Counter(note.split(":")[0] for note in notes if note),
            most=most[mode],
            as_is=most["as-is"],
        )
        benchmarks.append(mode_benchmark)
    return benchmarks


def _benchmark(
    sheet: ChoiceSheet, mode: Mode, mode_questions: Mapping[int, ModeQuestion], card: ModelCard
) -> OfflineBenchmark:
    """The offline benchmark that asks the questions in a mode."""
    are_drawn = any(
        mode_version.pictures in ("joined", "marked", "black")
        for mode_version in mode_questions.values()
    )
    stamp = f"{mode} ({DRAWN_BY})" if are_drawn else mode
    notes = {str(index): mode_version.note for index, mode_version in mode_questions.items()}
    questions = [mode_questions[index].question for index in sorted(mode_questions)]

    def tasks(_: Answers) -> Iterator[Task]:
        for question, cell in sheet.with_images():
            yield Task(str(question.index), partial(_turns, cell, mode_questions[question.index]))

    def write(answers: Answers, _: str) -> bytes:
        columns = {"mode": dict.fromkeys(notes, stamp), MODE_NOTE: notes}
        return answers_tsv(questions, answers, columns)

    digest = f"{file_sha256(sheet.file)} {stamp}, at most {card.images} images"
    return OfflineBenchmark(digest, len(questions), (tasks,), write)


def _turns(cell: str, question: ModeQuestion) -> tuple[Turn, ...]:
    """The conversation of a question in a mode. Raises TaskError."""
    if question.pictures == "none":
        return (Turn("user", question.text),)
    pictures = [picture(data) for data in images_of(cell)]
    if question.pictures == "joined":
        pictures = [join_pictures(pictures)]
    elif question.pictures == "marked":
        pictures[0] = draw_boxes(pictures[0], question.boxes)
    elif question.pictures == "black":
        pictures = list(map(black_picture, pictures))
    return (Turn("user", question.text, tuple(pictures), question.places),)


def _dollars(most: MostTokens) -> str:
    return f" and ${most.cost / 1e6:.4f}" if most.cost else ""
