"""Answers in a mode: MMT-Bench's questions as the mode asks them, what that may cost, and the prediction file."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from arena.inference.limits import cost, most_usage
from arena.inference.offline import Task, TaskError
from arena.io.drawn_pictures import DRAWN_BY, black, joined, with_boxes
from arena.types import ModelCard, Turn
from scoring.benchmarks.mm_vet_questions import file_sha256
from scoring.benchmarks.modes import ModeQuestion, mode_question
from scoring.benchmarks.offline_answers import (
    Answers,
    ChoiceSheet,
    OfflineBenchmark,
    answers_tsv,
    choice_paper,
    choice_sheet,
    images_of,
    picture,
)
from scoring.multiple_choice.reader import MODE_NOTE
from scoring.multiple_choice.types import ChoiceQuestion, Mode


class MostTokens(NamedTuple):
    """Upper bound of what a run uses."""

    prompt: int
    cost: int
    """Millionths of a US dollar."""


@dataclass(frozen=True)
class ModePaper:
    """MMT-Bench's questions in one mode."""

    mode: Mode
    benchmark: OfflineBenchmark
    questions: tuple[ChoiceQuestion, ...]
    """As they are asked, by index."""
    changed: frozenset[int]
    """Indices of those that are asked otherwise than as is."""
    notes: Mapping[str, int]
    """How often the mode could not do what it says, by the kind of reason."""
    most: MostTokens
    as_is: MostTokens

    @property
    def lines(self) -> Iterator[str]:
        """What the mode does with the questions, and what it may cost beside asking as is."""
        yield f"{self.mode}: {len(self.changed):,} of {len(self.questions):,} questions are asked otherwise than as is."
        for why, times in self.notes.items():
            yield f"{self.mode}: {times:,} left as they are, or with a remark: {why}"
        yield (
            f"{self.mode}: at most {self.most.prompt:,} tokens sent{_dollars(self.most)}, "
            f"{self.most.prompt / self.as_is.prompt:.2f} times those of as-is"
        )


def quote_lines(papers: Sequence[ModePaper]) -> Iterator[str]:
    """What all modes together may cost, as a multiple of asking as is."""
    for paper in papers:
        yield from paper.lines
    requests = sum(len(paper.questions) for paper in papers)
    most = MostTokens(
        sum(paper.most.prompt for paper in papers), sum(paper.most.cost for paper in papers)
    )
    yield (
        f"Together {requests:,} requests and at most {most.prompt:,} tokens sent{_dollars(most)}: "
        f"{most.prompt / papers[0].as_is.prompt:.2f} times asking as is once"
    )


def mode_papers(file: Path, modes: Sequence[Mode], card: ModelCard) -> list[ModePaper]:
    """The questions of a TSV in each mode, for a model. Raises RowsError and AnsweringError."""
    sheet = choice_sheet(file)
    asked: dict[Mode, dict[int, ModeQuestion]] = {mode: {} for mode in ("as-is", *modes)}
    prompts: Counter[Mode] = Counter()
    for question, cell in sheet.with_images():
        try:
            images = images_of(cell)
        except TaskError:  # told when it is asked
            images = []
        for mode, questions in asked.items():
            one = questions[question.index] = mode_question(question, mode, images, card.images)
            sent = {"joined": 1, "none": 0}.get(one.pictures, len(images))
            prompts[mode] += most_usage(
                card, [Turn("user", one.text, (b"",) * sent)], card.generation
            ).prompt
    completion = len(sheet.questions) * card.generation.max_tokens
    most = {
        mode: MostTokens(prompts[mode], cost(card.price, prompts[mode], completion))
        for mode in asked
    }
    papers = []
    for mode in modes:
        found = asked[mode]
        changed = {
            index for index, one in found.items() if replace(one, note="") != asked["as-is"][index]
        }
        papers.append(
            ModePaper(
                mode,
                choice_paper(file, circular=False)
                if mode == "as-is"
                else _benchmark(sheet, mode, found, card),
                tuple(found[index].question for index in sorted(found)),
                frozenset(changed),
                Counter(one.note.split(":")[0] for one in found.values() if one.note),
                most[mode],
                most["as-is"],
            )
        )
    return papers


def _benchmark(
    sheet: ChoiceSheet, mode: Mode, found: Mapping[int, ModeQuestion], card: ModelCard
) -> OfflineBenchmark:
    drawn = any(one.pictures in ("joined", "marked", "black") for one in found.values())
    stamp = f"{mode} ({DRAWN_BY})" if drawn else mode
    notes = {str(index): one.note for index, one in found.items()}
    questions = [found[index].question for index in sorted(found)]

    def tasks(_: Answers) -> Iterator[Task]:
        for question, cell in sheet.with_images():
            yield Task(str(question.index), partial(_turns, cell, found[question.index]))

    def written(answers: Answers, _: str) -> bytes:
        return answers_tsv(
            questions, answers, {"mode": dict.fromkeys(notes, stamp), MODE_NOTE: notes}
        )

    digest = f"{file_sha256(sheet.file)} {stamp}, at most {card.images} images"
    return OfflineBenchmark(digest, len(questions), (tasks,), written)


def _turns(cell: str, one: ModeQuestion) -> tuple[Turn, ...]:
    """The conversation of a question in a mode. Raises TaskError."""
    if one.pictures == "none":
        return (Turn("user", one.text),)
    pictures = [picture(data) for data in images_of(cell)]
    if one.pictures == "joined":
        pictures = [joined(pictures)]
    elif one.pictures == "marked":
        pictures[0] = with_boxes(pictures[0], one.boxes)
    elif one.pictures == "black":
        pictures = list(map(black, pictures))
    return (Turn("user", one.text, tuple(pictures), one.places),)


def _dollars(most: MostTokens) -> str:
    return f" and ${most.cost / 1e6:.4f}" if most.cost else ""
