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
    cell_images,
    choice_sheet,
    offline_choices,
    picture,
)
from scoring.multiple_choice.reader import MODE_NOTE
from scoring.multiple_choice.types import ChoiceQuestion, Mode


class MostTokens(NamedTuple):
    """The upper bounds of a run's tokens and cost."""

    prompt: int
    """Tokens sent."""
    cost: int
    """Millionths of a US dollar."""


@dataclass(frozen=True)
class ModeBenchmark:
    """MMT-Bench's questions in one mode."""

    mode: Mode
    benchmark: OfflineBenchmark
    questions: tuple[ChoiceQuestion, ...]
    """The questions in the mode's form, in order of their indices."""
    changed: frozenset[int]
    """Indices of the questions that differ from as-is."""
    notes: Mapping[str, int]
    """Number of questions that the mode could not change, or changed otherwise, by the kind of reason."""
    most: MostTokens
    most_as_is: MostTokens
    """The same of the mode as-is."""

    @property
    def lines(self) -> Iterator[str]:
        """Yields lines on the changed questions, and on the possible cost against as-is."""
        yield f"{self.mode}: {len(self.changed):,} of {len(self.questions):,} questions are asked otherwise than as is."
        for reason, count in self.notes.items():
            yield f"{self.mode}: {count:,} left as they are, or with a remark: {reason}"
        yield (
            f"{self.mode}: at most {self.most.prompt:,} tokens sent{_dollars(self.most)}, "
            f"{self.most.prompt / self.most_as_is.prompt:.2f} times those of as-is"
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
        f"{most.prompt / benchmarks[0].most_as_is.prompt:.2f} times asking as is once"
    )


def mode_benchmarks(file: Path, modes: Sequence[Mode], card: ModelCard) -> list[ModeBenchmark]:
    """Returns the questions of a TSV in each mode, for a model. Raises RowsError and AnsweringError."""
    sheet = choice_sheet(file)
    questions_by_mode: dict[Mode, dict[int, ModeQuestion]] = {
        mode: {} for mode in ("as-is", *modes)
    }
    prompt_tokens: Counter[Mode] = Counter()
    for question, cell in sheet.with_images():
        try:
            images = cell_images(cell)
        except TaskError:  # reported when the question is asked
            images = []
        for mode, questions in questions_by_mode.items():
            version = mode_question(question, mode, images, card.images)
            questions[question.index] = version
            prompt_tokens[mode] += _most_prompt_tokens(card, version, len(images))
    completion_tokens = len(sheet.questions) * card.generation.max_tokens
    most = {}
    for mode in questions_by_mode:
        most_cost = cost(card.price, prompt_tokens[mode], completion_tokens)
        most[mode] = MostTokens(prompt_tokens[mode], most_cost)
    as_is_versions = questions_by_mode["as-is"]
    benchmarks = []
    for mode in modes:
        versions = questions_by_mode[mode]
        changed = {
            index
            for index, version in versions.items()
            if replace(version, note="") != as_is_versions[index]
        }
        notes = [version.note for version in versions.values()]
        if mode == "as-is":
            benchmark = offline_choices(file, circular=False)
        else:
            benchmark = _offline_benchmark(sheet, mode, versions, card)
        mode_benchmark = ModeBenchmark(
            mode=mode,
            benchmark=benchmark,
            questions=tuple(versions[index].question for index in sorted(versions)),
            changed=frozenset(changed),
            notes=Counter(note.split(":")[0] for note in notes if note),
            most=most[mode],
            most_as_is=most["as-is"],
        )
        benchmarks.append(mode_benchmark)
    return benchmarks


def _most_prompt_tokens(card: ModelCard, version: ModeQuestion, images: int) -> int:
    """The most tokens that a question in a mode sends; `images` is the number of images in its file."""
    sent_images = images
    if version.pictures == "joined":
        sent_images = 1
    elif version.pictures == "none":
        sent_images = 0
    turns = [Turn("user", version.text, (b"",) * sent_images)]  # each image counts alike
    return most_usage(card, turns, card.generation).prompt


def _offline_benchmark(
    sheet: ChoiceSheet, mode: Mode, versions: Mapping[int, ModeQuestion], card: ModelCard
) -> OfflineBenchmark:
    """The offline benchmark that asks the questions in a mode; `versions` are those questions by index."""
    are_drawn = any(
        version.pictures in ("joined", "marked", "black") for version in versions.values()
    )
    stamp = f"{mode} ({DRAWN_BY})" if are_drawn else mode
    notes = {str(index): version.note for index, version in versions.items()}
    questions = [versions[index].question for index in sorted(versions)]

    def tasks(_: Answers) -> Iterator[Task]:
        for question, cell in sheet.with_images():
            yield Task(str(question.index), partial(_turns, cell, versions[question.index]))

    def write(answers: Answers, _: str) -> bytes:
        columns = {"mode": dict.fromkeys(notes, stamp), MODE_NOTE: notes}
        return answers_tsv(questions, answers, columns)

    digest = f"{file_sha256(sheet.file)} {stamp}, at most {card.images} images"
    return OfflineBenchmark(digest, len(questions), (tasks,), write)


def _turns(cell: str, question: ModeQuestion) -> tuple[Turn, ...]:
    """The conversation of a question in a mode. Raises TaskError."""
    if question.pictures == "none":
        return (Turn("user", question.text),)
    pictures = [picture(data) for data in cell_images(cell)]
    if question.pictures == "joined":
        pictures = [join_pictures(pictures)]
    elif question.pictures == "marked":
        pictures[0] = draw_boxes(pictures[0], question.boxes)
    elif question.pictures == "black":
        pictures = [black_picture(data) for data in pictures]
    return (Turn("user", question.text, tuple(pictures), question.places),)


def _dollars(most: MostTokens) -> str:
    """The cost, to follow the tokens; "" for a model without a price."""
    return f" and ${most.cost / 1e6:.4f}" if most.cost else ""
