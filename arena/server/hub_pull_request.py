"""Hub pull requests: offers a score to a model's repository, with the login of the person who offers it.

Every request names its token, or `False` for none. Otherwise the Hub's library would send the operator's own token,
which every Space with a backup of its votes has.
"""

import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeVar

from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import (
    build_hf_headers,
    get_session,
    hf_raise_for_status,
    validate_repo_id,
)

from arena.model_facts import is_repository
from arena.server.hub_evaluations import HubScore, card_result, eval_results
from arena.server.hub_requests import Sleep, may_have_committed, retry_hub_requests, status_of
from arena.server.model_card import CARD, MOST_CARD, ModelCardError, add_result, read_front
from arena.sheets import markdown_text
from arena.types import Secret

Trouble = Literal["login", "forbidden", "missing", "busy", "unknown", "there", "refused"]
TROUBLES: dict[Trouble, str] = {
    "login": "Hugging Face no longer accepts this login. Log in again.",
    "forbidden": "This login isn't allowed to open pull requests. Allow it when Hugging Face asks, or paste a token "
    "with write access to discussions.",
    "missing": "There's no public model {}. Check the name.",
    "busy": "Hugging Face is busy, and nothing was sent. Press again.",
    "unknown": "We don't know whether it arrived. Look under Community on the model's page.",
    "there": "The repository already has this file.",
    "refused": "Hugging Face refused the file, and nothing was sent. Download it and add it by hand.",
}
DAY = 86_400.0
"""The seconds until the Hub's benchmarks, and a benchmark's tasks, are read again."""
_MOST_BENCHMARKS = 5_000
_MOST_TASK_BYTES = 64_000
"""Bytes of a benchmark's `eval.yaml`."""

Result = TypeVar("Result")

log = logging.getLogger(__name__)


class PullRequestError(ValueError):
    """A pull request was not opened. The message says why and what to do; it holds no part of the request."""

    def __init__(self, trouble: Trouble, repository: str) -> None:
        super().__init__(TROUBLES[trouble].format(repository))
        self.trouble = trouble


@dataclass(frozen=True)
class Proposal:
    """A score and the file in which a repository is offered it."""

    repository: str
    score: HubScore
    path: str
    content: bytes
    """The whole file, without the name of the person who offers it."""
    preview: str
    """The file, or the diff of the card."""

    @property
    def is_card(self) -> bool:
        return self.path == CARD

    @property
    def title(self) -> str:
        return f"Add the {self.score.name} score ({self.score.protocol} protocol)"

    @property
    def description(self) -> str:
        """The text of the pull request, in Markdown. The judge's name in the notes may be any text."""
        score = self.score
        return (
            f"{score.name}, {score.figure}: {score.value:g} ({markdown_text(score.notes)}).\n\n"
            f"The answers and how they were graded: {score.url}"
        )

    @property
    def digest(self) -> str:
        """The sha256 of the file in the preview."""
        return hashlib.sha256(self.content).hexdigest()

    def content_of(self, user: str) -> bytes:
        """Returns the file with this person's name."""
        return self.content if self.is_card else eval_results(self.score, user)


@dataclass(frozen=True)
class PullRequest:
    """An open pull request."""

    number: int
    address: str


class _CachedNames(NamedTuple):
    """Names of the Hub."""

    read_at: float
    """The time by the monotonic clock."""
    names: frozenset[str]

    @property
    def is_fresh(self) -> bool:
        return time.monotonic() - self.read_at < DAY


class HubModels:
    """Model repositories on the Hub, and the benchmarks that it counts."""

    def __init__(self, hub: HfApi | None = None, sleep: Sleep = time.sleep) -> None:
        retry_hub_requests(sleep)  # in this whole process, for any client of the Hub's library
        self._api = hub or HfApi()
        self._lock = Lock()
        """The lock around the caches of tasks and benchmarks."""
        self._offer_lock = Lock()
        """The lock around looking for a pull request and opening it: a form that is sent twice opens one."""
        self._tasks: dict[str, _CachedNames] = {}
        """The tasks of each benchmark."""
        self._benchmarks: _CachedNames | None = None

    def address(self, repository: str, number: int) -> str:
        """Returns the address of a pull request."""
        return f"{self._api.endpoint}/{repository}/discussions/{number}"

    def propose(self, repository: str, score: HubScore) -> Proposal:
        """Returns the proposal for a repository, which is read without any token.

        Raises PullRequestError and ModelCardError.
        """
        return _ask_hub(repository, lambda: self._proposal(repository, score), is_anonymous=True)

    def offer(self, proposal: Proposal, token: Secret, user: str = "") -> PullRequest:
        """Opens a pull request, or renews the open one of the same person and title. Raises PullRequestError.

        The token is used for this alone. Without `user`, the Hub is asked for the token's owner.
        """
        with self._offer_lock:
            return _ask_hub(
                proposal.repository, lambda: self._offer(proposal, token.reveal(), user)
            )

    def _proposal(self, repository: str, score: HubScore) -> Proposal:
        if not _is_valid(repository):
            raise PullRequestError("missing", repository[:100])
        self._api.model_info(repository, expand=["author"], token=False)
        if score.task in self._tasks_of(score.dataset):
            content = eval_results(score)
            return Proposal(
                repository=repository,
                score=score,
                path=score.path,
                content=content,
                preview=content.decode(),
            )
        card = self._read(f"{repository}/resolve/main/{CARD}", MOST_CARD)
        model = repository.partition("/")[2]
        changed = add_result(card, model, card_result(score))
        return Proposal(
            repository=repository,
            score=score,
            path=CARD,
            content=changed.content,
            preview=changed.diff,
        )

    def _offer(self, proposal: Proposal, token: str, user: str) -> PullRequest:
        name = user or str(self._api.whoami(token=token)["name"])
        number = self._open_number(proposal, token, name)
        target: dict[str, Any] = {"create_pr": True}
        if number is not None:
            target = {"revision": f"refs/pr/{number}"}
        commit = self._api.create_commit(
            proposal.repository,
            [CommitOperationAdd(proposal.path, proposal.content_of(name))],
            commit_message=proposal.title,
            commit_description=proposal.description,
            token=token,
            **target,
        )
        if number is None:
            number = commit.pr_num
        if number is None:  # The Hub makes no commit that changes nothing.
            raise PullRequestError("there", proposal.repository)
        return PullRequest(int(number), self.address(proposal.repository, int(number)))

    def _open_number(self, proposal: Proposal, token: str, author: str) -> int | None:
        """Returns the number of the author's open pull request with this title, if any."""
        pulls = self._api.get_repo_discussions(
            proposal.repository,
            discussion_type="pull_request",
            discussion_status="open",
            author=author,
            token=token,
        )
        for pull in pulls:
            if pull.title == proposal.title:
                return pull.num
        return None

    def _tasks_of(self, dataset: str) -> frozenset[str]:
        """Returns the tasks of a dataset, read once a day; none if it isn't one of the Hub's benchmarks."""
        if dataset not in self._benchmark_names():
            return frozenset()
        with self._lock:
            cached = self._tasks.get(dataset)
        if cached is not None and cached.is_fresh:
            return cached.names
        content = self._read(f"datasets/{dataset}/resolve/main/eval.yaml", _MOST_TASK_BYTES)
        tasks = _task_names(content or b"")
        with self._lock:
            self._tasks[dataset] = _CachedNames(time.monotonic(), tasks)
        return tasks

    def _benchmark_names(self) -> frozenset[str]:
        """Returns the Hub's benchmarks, read once a day."""
        with self._lock:
            cached = self._benchmarks
        if cached is not None and cached.is_fresh:
            return cached.names
        listed = self._api.list_datasets(benchmark=True, token=False)
        names = frozenset(dataset.id for dataset in islice(listed, _MOST_BENCHMARKS))
        with self._lock:
            self._benchmarks = _CachedNames(time.monotonic(), names)
        return names

    def _read(self, path: str, most: int) -> bytes | None:
        """Returns a small public file; None if it doesn't exist. Raises ModelCardError for a large one."""
        headers = build_hf_headers(token=False)
        address = f"{self._api.endpoint}/{path}"
        content = bytearray()
        with get_session().stream("GET", address, headers=headers) as response:
            if response.status_code == 404:
                return None
            if response.status_code != 200:
                response.read()  # The error quotes the text, which a stream has not read.
                hf_raise_for_status(response)
            for piece in response.iter_bytes():
                content += piece
                if len(content) > most:
                    raise ModelCardError(f"{path.rpartition('/')[2]} is too long to read here.")
        return bytes(content)


def _is_valid(repository: str) -> bool:
    """Returns whether a text can be the name of a repository, by the Hub's rules and by ours."""
    try:
        validate_repo_id(repository)
    except HFValidationError:
        return False
    return is_repository(repository)


def _task_names(content: bytes) -> frozenset[str]:
    """Returns the tasks of a benchmark's `eval.yaml`; none if it can't be read."""
    try:
        tasks = read_front(content.decode()).get("tasks")
    except (ModelCardError, UnicodeDecodeError):
        return frozenset()
    listed = tasks if isinstance(tasks, list) else ()
    return frozenset(str(task.get("id")) for task in listed if isinstance(task, dict))


def _ask_hub(repository: str, call: Callable[[], Result], is_anonymous: bool = False) -> Result:
    """Returns the result of a call to the Hub.

    Raises ModelCardError, and PullRequestError, which holds no part of a request.
    """
    try:
        return call()
    except (PullRequestError, ModelCardError):
        raise
    except Exception as error:  # noqa: BLE001 - any error may hold the request, with the token
        log.warning("%s at the Hub: %s", repository[:100], type(error).__name__)
        trouble = _trouble(error, is_anonymous)
    # Raised outside of the `except`, so that it has no context.
    raise PullRequestError(trouble, repository)


def _trouble(error: Exception, is_anonymous: bool) -> Trouble:
    if may_have_committed(error):
        return "unknown"
    status = status_of(error)
    if status in (401, 403, 404) and is_anonymous:
        return "missing"
    trouble_of: dict[int | None, Trouble] = {401: "login", 403: "forbidden", 404: "missing"}
    if status in trouble_of:
        return trouble_of[status]
    if status is not None and 400 <= status < 500 and status not in (408, 429):
        return "refused"
    # The Hub's library raises a ValueError for a name or a file that isn't valid; the rest are failures of the network.
    return "refused" if isinstance(error, ValueError) else "busy"
