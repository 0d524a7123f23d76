"""Offline inference: many questions to one model, in batches or in parallel; each answer is on disk before it counts.

A killed run resumes when it is started again: questions in the answer file are skipped.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from filelock import FileLock, Timeout
from tqdm import tqdm

from arena.inference.catalogue import KINDS, Models
from arena.thinking import says_something
from arena.types import Answerer, ModelCard, ModelError, Usage

Q = TypeVar("Q")
"""A question: a conversation, or alternatives to choose from."""

_IN_A_ROW = 5
"""The failures in a row that stop a run; with parallel questions, their number is added."""
_SHOWN_FAILURES = 20
_CUT = "cut"
"""The mark of a stored answer that ended at the limit of tokens."""
_HOW_TO_GO_ON = "The answers so far are kept. Run the same command again to continue."


class AnswerFileError(ValueError):
    """A file of stored answers is wrong; the message says how to fix it."""


class TaskError(ValueError):
    """A question cannot be put to a model: an image is missing or broken."""


class UnfinishedError(RuntimeError):
    """Questions got no answer; the message says how to go on."""


class Task(NamedTuple, Generic[Q]):
    """A question to a model."""

    key: str
    load: Callable[[], Q]
    """Returns the question with its images loaded; may raise TaskError."""


Round: TypeAlias = Callable[[Mapping[str, str]], Iterable[Task[Q]]]
"""Returns the next tasks, given the answers so far by key."""


@dataclass
class RunResult:
    """The result of a run: new answers, failures and usage."""

    answered: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    """The keys of questions without an answer, and the reasons."""
    prompt: int = 0
    """Prompt tokens, as far as known."""
    completion: int = 0
    """Completion tokens, as far as known."""
    cost: int = 0
    """Millionths of a US dollar."""
    cut: int = 0
    """New answers that ended at the limit of tokens, as far as known: not in batches of several questions."""
    stopped: str = ""
    """The reason why the run stopped early; empty if it didn't."""

    @property
    def lines(self) -> Iterator[str]:
        if self.answered or self.prompt:
            cost = f", ${self.cost / 1e6:.4f}" if self.cost else ""
            yield f"{self.answered:,} answered: {self.prompt:,} tokens sent, {self.completion:,} received{cost}."
        if self.cut:
            yield f"{self.cut:,} cut off at the length limit. A larger max_tokens leaves more room."
        for key, text in self.failures[:_SHOWN_FAILURES]:
            yield f"no answer to {key}: {text}"
        if len(self.failures) > _SHOWN_FAILURES:
            yield f"no answer to {len(self.failures) - _SHOWN_FAILURES:,} more"

    def check(self) -> None:
        """Raises UnfinishedError if a question has no answer."""
        if self.failures:
            why = ""
            if self.stopped:
                why = f" Stopped: {self.stopped}. Later questions weren't asked."
            raise UnfinishedError(
                f"Questions without an answer: {len(self.failures):,}.{why} {_HOW_TO_GO_ON}"
            )


def fingerprint(card: ModelCard, questions: str) -> str:
    """Returns the identity of a run: a hash of all settings that affect a model's answers, and of the questions."""
    model = [card.name, card.kind, card.model, card.address, card.revision, card.system, card.dtype]
    if card.max_side:  # Without it, nothing is added, so that older answer files still fit.
        model += [card.max_side]
    # The settings of the card's kind: a subclass has its own fields after those of ModelCard.
    own_fields = fields(card)[len(fields(ModelCard)) :]
    model += [getattr(card, own_field.name) for own_field in own_fields]
    generation = [
        card.generation.max_tokens,
        card.generation.temperature,
        card.generation.top_p,
        card.generation.seed,
    ]
    return hashlib.sha256(json.dumps([model, generation, questions]).encode()).hexdigest()


class AnswerFile:
    """Stored answers by key: append-only JSON lines, open during a `with` block."""

    def __init__(self, path: Path, run: str) -> None:
        """`run` is the run's `fingerprint`."""
        self.path = path
        self.answers: dict[str, str] = {}
        self.cut: set[str] = set()
        """The keys of answers that ended at the limit of tokens."""
        self._run = run
        self._lock = FileLock(f"{path}.lock")

    def __enter__(self) -> "AnswerFile":
        """Reads the stored answers; drops a last line that was cut by a kill. Raises AnswerFileError."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
            self._file = self.path.open("ab+")
        except Timeout as error:  # an OSError too, so it comes first
            raise AnswerFileError(
                f"{self.path.name} is being written by another run. Wait until it ends."
            ) from error
        except OSError as error:
            self._lock.release()
            raise AnswerFileError(
                f"{self.path} can't be opened: {error.strerror}. Choose another."
            ) from error
        try:
            self._read()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._lock.release()

    def keep(self, key: str, text: str, cut: bool = False) -> None:
        self._write([key, text, _CUT] if cut else [key, text])
        self.answers[key] = text
        if cut:
            self.cut.add(key)

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)

    def _read(self) -> None:
        self._file.seek(0)
        # The whole lines without the last line end, and the part of a line that was cut by a kill.
        whole, _, torn = self._file.read().rpartition(b"\n")
        if torn or not whole:
            self._file.truncate(len(whole) + 1 if whole else 0)
        self.answers = {}
        self.cut = set()
        if not whole:
            self._write({"run": self._run})
            return
        try:
            header, *answers = [json.loads(line) for line in whole.split(b"\n")]
            self.answers = {str(key): str(text) for key, text, *_ in answers}
            self.cut = {str(key) for key, _, *marks in answers if _CUT in marks}
        except (ValueError, TypeError) as error:
            raise AnswerFileError(
                f"{self.path} has a broken line. Delete the file to start over."
            ) from error
        if header != {"run": self._run}:
            raise AnswerFileError(
                f"{self.path} has answers from another run (other questions, model or settings). "
                "Delete it to start over, or choose another place."
            )

    def _write(self, value: object) -> None:
        self._file.write(json.dumps(value).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())


async def ask_all(
    answerer: Answerer[Q],
    rounds: Iterable[Round[Q]],
    file: AnswerFile,
    tick: Callable[[int], object],
) -> RunResult:
    """Asks the questions that the file lacks, in order; `tick` counts finished tasks.

    Stops when the account is empty, or several questions have failed in a row.
    """
    outcome = RunResult()
    for next_tasks in rounds:
        tasks = iter(next_tasks(file.answers))
        in_progress = _RoundInProgress(answerer, tasks, file, tick, outcome)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(in_progress.workers):
                    group.create_task(in_progress.work())
        except ExceptionGroup as errors:  # Such as a full disk, or a broken question file.
            raise errors.exceptions[0] from errors
        if outcome.stopped:
            break
    return outcome


def ask_model(
    models: Models,
    answerer: Answerer[Q],
    rounds: Iterable[Round[Q]],
    count: int,
    file: AnswerFile,
) -> RunResult:
    """Asks one of the models, with a progress bar of `count` tasks, and closes all models.

    Raises UnfinishedError on Ctrl-C.
    """

    async def ask() -> RunResult:
        try:
            with tqdm(total=count, desc=answerer.card.name, disable=None) as bar:
                return await ask_all(answerer, rounds, file, bar.update)
        finally:
            await models.aclose()

    try:
        return asyncio.run(ask())
    except KeyboardInterrupt as error:
        raise UnfinishedError(f"Stopped. {_HOW_TO_GO_ON}") from error


class _RoundInProgress(Generic[Q]):
    """One round of a run in progress; failures in a row are counted anew in each round."""

    def __init__(
        self,
        answerer: Answerer[Q],
        tasks: Iterator[Task[Q]],
        file: AnswerFile,
        tick: Callable[[int], object],
        outcome: RunResult,
    ) -> None:
        self.outcome = outcome
        self._answerer = answerer
        self._tasks = tasks
        self._file = file
        self._tick = tick
        batched = KINDS[answerer.card.kind].batched
        at_once = answerer.card.at_once
        self.workers = 1 if batched else at_once
        self._batch_size = at_once if batched else 1
        self._most_in_a_row = _IN_A_ROW + (0 if batched else at_once)
        self._drawing = asyncio.Lock()
        self._in_a_row = 0

    async def work(self) -> None:
        while not self.outcome.stopped:
            async with self._drawing:
                batch = await asyncio.to_thread(self._draw_batch)
            if not batch:
                return
            await self._ask(batch)

    def _draw_batch(self) -> list[tuple[str, Q]]:
        """Returns the next questions without stored answers, by key; empty at the end."""
        batch: list[tuple[str, Q]] = []
        for task in self._tasks:
            if task.key in self._file.answers:
                self._tick(1)
                continue
            try:
                batch.append((task.key, task.load()))
            except TaskError as error:
                self._note_failure(task.key, str(error))
            if len(batch) == self._batch_size:
                break
        return batch

    async def _ask(self, batch: list[tuple[str, Q]]) -> None:
        """Asks a batch; if that fails, asks each question by itself, unless the account is empty."""
        usages: list[Usage] = []
        try:
            texts = await self._answers(batch, usages)
        except ModelError as error:
            if len(batch) > 1 and error.kind != "spent":
                for single in batch:
                    if not self.outcome.stopped:
                        await self._ask([single])
                return
            self._note_refusal([key for key, _ in batch], error)
            return
        # Usages don't say which answers of a batch were cut. The last is that of the attempt with the answer.
        is_cut = len(batch) == 1 and any(usage.cut for usage in usages[-1:])
        for (key, _), text in zip(batch, texts, strict=True):
            if says_something(text):
                await self._keep(key, text, is_cut)
            else:
                error = ModelError("blank", "there is no answer: its text is empty")
                self._note_refusal([key], error)

    async def _answers(self, batch: list[tuple[str, Q]], usages: list[Usage]) -> Sequence[str]:
        """Returns the answers to a batch, and adds their usage to the run's and to `usages`. Raises ModelError."""
        questions = [question for _, question in batch]
        try:
            return await self._answerer.answers(
                questions, self._answerer.card.generation, usages.append
            )
        finally:
            self._add_usage(usages)

    async def _keep(self, key: str, text: str, is_cut: bool) -> None:
        self._in_a_row = 0
        await asyncio.to_thread(self._file.keep, key, text, is_cut)
        self.outcome.answered += 1
        self.outcome.cut += is_cut
        self._tick(1)

    def _note_refusal(self, keys: Sequence[str], error: ModelError) -> None:
        """Notes questions without an answer; an empty account or several failures in a row stop the run."""
        self._in_a_row += 1
        for key in keys:
            self._note_failure(key, str(error))
        if error.kind == "spent" or self._in_a_row >= self._most_in_a_row:
            self.outcome.stopped = f"{self._in_a_row} failed in a row. The last: {error}"

    def _note_failure(self, key: str, text: str) -> None:
        self.outcome.failures.append((key, text))
        self._tick(1)

    def _add_usage(self, usages: Iterable[Usage]) -> None:
        for usage in usages:
            self.outcome.prompt += usage.prompt
            self.outcome.completion += usage.completion
            self.outcome.cost += usage.cost
