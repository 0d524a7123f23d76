"""Weights: the files of models of the Hub, downloaded in the background, and the progress of each model.

Files go into the Hub's own cache, in its layout, so that `hf cache` and other programs share them. An interrupted
download continues, unlike huggingface_hub's. No token is ever sent, since that of a Space belongs to its copy of the
votes.
"""

import errno
import hashlib
import json
import logging
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import httpx2
from filelock import FileLock, Timeout
from huggingface_hub import constants
from tqdm import tqdm

from arena.templates import plural
from arena.types import ModelCard, ModelError

_LOG = logging.getLogger(__name__)
_PATTERNS = ("*.json", "*.txt", "*.jinja", "*.model", "*.safetensors")
"""The files that a model is loaded from; files in folders belong to other programs."""
_ELSEWHERE = frozenset("/\\:")
"""Signs in a name that lead to another folder, or on Windows to another drive."""
_WEIGHTS = "*.safetensors"
_INDEX = "model.safetensors.index.json"
_LIST_SECONDS = 5.0
_TIMEOUT = httpx2.Timeout(15.0, connect=5.0)
_TRIES = 4
"""The tries in a row without progress that end a download."""
_PAUSE_SECONDS = 0.5
_SPARE_BYTES = 100_000_000
"""The bytes that a download leaves free on the disk."""
_AGAIN_SECONDS = 60.0
"""The shortest time before another try of a model that failed to load, or arrived damaged."""
_SURE_SECONDS = 3.0
"""The seconds of a download before its end is estimated."""

Trouble: TypeAlias = Literal["offline", "switched off", "no room", "failed"]


class WeightsError(RuntimeError):
    """Weights are missing; the message tells the operator why and what to do."""

    def __init__(self, trouble: Trouble, text: str) -> None:
        super().__init__(text)
        self.trouble: Trouble = trouble


class WeightsStanding(NamedTuple):
    """The progress of a model's weights."""

    state: Literal["absent", "loading", "ready", "failed"]
    done: int = 0
    """The downloaded bytes, of `total`; 0 of 0 until the files are known, and once they are in the cache."""
    total: int = 0
    error: WeightsError | None = None


class Progress(NamedTuple):
    """The progress of all downloads."""

    done: int
    total: int
    seconds: float | None
    """The estimated seconds to their end; None without an estimate."""


class HubFile(NamedTuple):
    """A file of a model on the Hub."""

    name: str
    size: int
    digest: str
    """The name in the cache: SHA-256 of a large file, else git's SHA-1."""


class Repository:
    """A model at a commit on the Hub, and its place in the cache."""

    def __init__(self, card: ModelCard) -> None:
        assert card.revision is not None
        self.card = card
        self.folder = Path(constants.HF_HUB_CACHE) / f"models--{card.model.replace('/', '--')}"
        self.snapshot = self.folder / "snapshots" / card.revision
        self._address = f"{constants.ENDPOINT}/{card.model}/resolve/{card.revision}"
        self._list = f"{constants.ENDPOINT}/api/models/{card.model}/revision/{card.revision}"

    @property
    def is_here(self) -> bool:
        """Whether all weights are in the cache; they come last, so the other files are there too."""
        needed = {"config.json", "model.safetensors"}
        try:
            if (self.snapshot / _INDEX).is_file():
                index = json.loads((self.snapshot / _INDEX).read_text("utf-8"))
                needed = {"config.json", *index["weight_map"].values()}
            return all((self.snapshot / name).is_file() for name in needed)
        except (OSError, ValueError, LookupError, AttributeError, TypeError):
            return False

    def files(self, client: httpx2.Client) -> tuple[HubFile, ...]:
        """Asks the Hub for the list of files, once. Raises WeightsError."""
        if constants.HF_HUB_OFFLINE:
            raise WeightsError(
                "switched off",
                f"HF_HUB_OFFLINE is set, and {self.card.model} is not in {constants.HF_HUB_CACHE}. "
                "Unset it, or copy the weights there.",
            )
        try:
            answer = client.get(self._list, params={"blobs": "true"}, timeout=_LIST_SECONDS)
        except httpx2.HTTPError as error:
            raise _no_connection(error) from error
        self._check(answer)
        try:
            files = [_hub_file(entry) for entry in answer.json()["siblings"]]
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise WeightsError(
                "failed", f"{host()} sent no list of files for {self.card.model}. Try again later."
            ) from error
        wanted = [
            file
            for file in files
            if not _ELSEWHERE.intersection(file.name)
            and any(fnmatch(file.name, pattern) for pattern in _PATTERNS)
        ]
        if not any(fnmatch(file.name, _WEIGHTS) for file in wanted):
            raise WeightsError(
                "failed",
                f"{self.card.model} has no .safetensors files, the only weights that are read. Choose another model.",
            )
        return tuple(sorted(wanted, key=lambda file: (fnmatch(file.name, _WEIGHTS), file.name)))

    @contextmanager
    def alone(self, stop: threading.Event) -> Iterator[None]:
        """Holds the model's place in the cache, once no other server does. Raises WeightsError, OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / "download.lock")
        while True:
            try:
                with lock.acquire(timeout=1):
                    yield
                return
            except Timeout:
                _check_stop(stop)

    def bytes_of(self, file: HubFile) -> int:
        """Returns the number of downloaded bytes of a file."""
        blob = self._blob(file)
        if blob.is_file():
            return file.size
        part = _part(blob)
        return min(part.stat().st_size, file.size) if part.is_file() else 0

    def fetch(
        self,
        client: httpx2.Client,
        file: HubFile,
        tell: Callable[[int], None],
        stop: threading.Event,
    ) -> None:
        """Downloads the missing part of a file, checks it, and puts it into the snapshot.

        `tell` gets the number of bytes of each step, negative when they were wrong. Raises WeightsError, OSError.
        """
        blob = self._blob(file)
        blob.parent.mkdir(parents=True, exist_ok=True)
        if not blob.is_file():
            part = _part(blob)
            self._fill(client, file, part, tell, stop)
            if _digest(part, file) != file.digest:
                tell(-file.size)
                part.unlink()
                raise WeightsError(
                    "failed",
                    f"{file.name} of {self.card.model} arrived damaged. Try again.",
                )
            part.replace(blob)
        link = self.snapshot / file.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        try:
            link.symlink_to(os.path.relpath(blob, link.parent))
        except OSError:  # Windows, for most users
            shutil.copyfile(blob, link)

    def _fill(
        self,
        client: httpx2.Client,
        file: HubFile,
        part: Path,
        tell: Callable[[int], None],
        stop: threading.Event,
    ) -> None:
        tries = 0
        part.touch()
        while (here := part.stat().st_size) != file.size:
            if here > file.size:
                tell(-file.size)
                part.unlink()
                part.touch()
                continue
            try:
                self._go_on(client, file, part, tell, stop)
                error = None
            except httpx2.HTTPError as broken:
                error = broken
            _check_stop(stop)
            tries = 0 if part.stat().st_size > here else tries + 1
            if tries == _TRIES:
                raise _no_connection(error)
            if tries:
                stop.wait(_PAUSE_SECONDS * 2**tries)

    def _go_on(
        self,
        client: httpx2.Client,
        file: HubFile,
        part: Path,
        tell: Callable[[int], None],
        stop: threading.Event,
    ) -> None:
        """Appends the reply to a part of a file. Raises HTTPError when the connection breaks off."""
        here = part.stat().st_size
        headers = {"range": f"bytes={here}-", "accept-encoding": "identity"}
        address = f"{self._address}/{file.name}"
        with client.stream("GET", address, headers=headers) as answer:
            if answer.status_code == 429 or answer.status_code >= 500:
                answer.raise_for_status()
            self._check(answer)
            is_rest = answer.status_code == 206
            if not is_rest:
                tell(-here)
            with part.open("ab" if is_rest else "wb") as out:
                for chunk in answer.iter_raw():
                    if out.tell() + len(chunk) > file.size:
                        raise WeightsError(
                            "failed",
                            f"{file.name} of {self.card.model} is larger than {host()} lists it. Try again later.",
                        )
                    out.write(chunk)
                    tell(len(chunk))
                    if stop.is_set():
                        return

    def _check(self, answer: httpx2.Response) -> None:
        """Raises WeightsError for an answer without the model."""
        status = answer.status_code
        name = self.card.model
        if status in (401, 403):
            raise WeightsError(
                "failed",
                f"{name} is not open to everyone. Accept its terms at {constants.ENDPOINT}/{name}, then run: "
                f"hf download {name} --revision {self.card.revision}",
            )
        if status == 404:
            raise WeightsError(
                "failed",
                f"{host()} has no model {name} at commit {self.card.revision}. Correct hub and revision.",
            )
        if status >= 400:
            raise WeightsError("offline", f"{host()} answered {status} for {name}. Try again.")

    def _blob(self, file: HubFile) -> Path:
        return self.folder / "blobs" / file.digest


def weights_folder(card: ModelCard) -> Path | None:
    """Returns the folder of a model of the Hub if all its weights are in the cache."""
    if card.revision is None:
        return None
    repository = Repository(card)
    return repository.snapshot if repository.is_here else None


def host() -> str:
    """Returns the name of the Hub, or of its mirror."""
    return httpx2.URL(constants.ENDPOINT).host


def _hub_file(entry: dict[str, Any]) -> HubFile:
    large = entry.get("lfs")
    digest = str(large["sha256"] if large else entry["blobId"])
    size = int(entry["size"])
    if not digest.isalnum() or size < 0:
        raise ValueError("no digest or no size")
    return HubFile(str(entry["rfilename"]), size, digest)


def _part(blob: Path) -> Path:
    return blob.with_name(f"{blob.name}.part")


def _digest(path: Path, file: HubFile) -> str:
    """Returns the digest by which the Hub names a file: git's for a small one."""
    is_large = len(file.digest) == 64
    digest = hashlib.sha256() if is_large else hashlib.sha1(f"blob {file.size}\0".encode())
    with path.open("rb") as content:
        while chunk := content.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _check_stop(stop: threading.Event) -> None:
    if stop.is_set():
        raise WeightsError("offline", "The server stopped during the download.")


def _no_connection(error: Exception | None) -> WeightsError:
    why = f" ({type(error).__name__})" if error else ""
    return WeightsError(
        "offline", f"No connection to {host()}{why}. Check the network, then try again."
    )


def _disk_error(error: OSError) -> WeightsError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return WeightsError(
            "no room",
            f"The disk of {constants.HF_HUB_CACHE} is full. Free some space, or set HF_HOME to a larger disk.",
        )
    return WeightsError(
        "failed", f"{constants.HF_HUB_CACHE} can't be written ({error.strerror}). Set HF_HOME."
    )


class Downloads:
    """Downloads of several models, one after another, in a thread."""

    def __init__(self, cards: Sequence[ModelCard], load: Callable[[ModelCard], None]) -> None:
        """`load` loads a model in its own process; it raises ModelError with the reason why it cannot."""
        self._load = load
        self._repositories = tuple(map(Repository, cards))
        self._standings = {card: WeightsStanding("absent") for card in cards}
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loaders: list[threading.Thread] = []
        self._failed_at: dict[ModelCard, float] = {}
        """The times when a model failed to load, or arrived damaged."""
        self._begun = 0.0
        self._came = 0
        """The bytes since then; negative if more had to be thrown away."""

    def standing(self, card: ModelCard) -> WeightsStanding:
        """Returns the progress of a model; one that needs no download is ready."""
        return self._standings.get(card, WeightsStanding("ready"))

    @property
    def progress(self) -> Progress:
        standings = tuple(self._standings.values())
        done = sum(standing.done for standing in standings)
        total = sum(standing.total for standing in standings)
        passed = time.monotonic() - self._begun
        seconds = None
        if self._came > 0 and passed > _SURE_SECONDS:
            seconds = (total - done) * passed / self._came
        return Progress(done, total, seconds)

    def start(self) -> None:
        """Starts the downloads, also failed ones unless they have just failed; does nothing while they run."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            waiting = [
                repository
                for repository in self._repositories
                if self._standings[repository.card].state != "ready"
                and not self._has_just_failed(repository.card)
            ]
            if not waiting:
                return
            for repository in waiting:
                self._standings[repository.card] = WeightsStanding("loading")
            self._thread = threading.Thread(target=self._run, args=(waiting,), daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ends the downloads at the next piece; the downloaded parts stay."""
        self._stop.set()

    def _has_just_failed(self, card: ModelCard) -> bool:
        failed_at = self._failed_at.get(card)
        return failed_at is not None and time.monotonic() - failed_at < _AGAIN_SECONDS

    def _run(self, repositories: Sequence[Repository]) -> None:
        missing = [repository for repository in repositories if not repository.is_here]
        for repository in repositories:
            if repository not in missing:
                self._ready(repository)
        if missing:
            with httpx2.Client(follow_redirects=True, timeout=_TIMEOUT) as client:
                self._download(client, missing)
        for loader in self._loaders:
            loader.join()
        self._loaders.clear()

    def _download(self, client: httpx2.Client, repositories: Sequence[Repository]) -> None:
        lists: dict[Repository, tuple[HubFile, ...]] = {}
        for repository in repositories:
            try:
                files = repository.files(client)
                done = sum(map(repository.bytes_of, files))
            except WeightsError as error:
                self._failed(repository, error)
                if error.trouble in ("offline", "switched off"):
                    self._all_failed(repositories, error)
                    return
                continue
            except OSError as error:
                self._failed(repository, _disk_error(error))
                continue
            lists[repository] = files
            total = sum(file.size for file in files)
            self._standings[repository.card] = WeightsStanding("loading", done, total)
        done, total, _ = self.progress
        if not lists or not self._has_room(lists, total - done):
            return
        _LOG.warning(
            "Downloading %s from %s to %s: %s MB",
            plural(len(lists), "model"),
            host(),
            constants.HF_HUB_CACHE,
            f"{(total - done) / 1e6:,.0f}",
        )
        self._begun = time.monotonic()
        self._came = 0
        with tqdm(
            total=total,
            initial=done,
            unit="B",
            unit_scale=True,
            desc="models",
            file=sys.__stderr__,
            disable=None,
        ) as bar:
            for repository, files in lists.items():
                self._get(client, repository, files, bar)

    def _has_room(self, lists: dict[Repository, tuple[HubFile, ...]], needed: int) -> bool:
        """Returns whether the disk has room for this many bytes; otherwise marks all as failed."""
        folder = Path(constants.HF_HUB_CACHE)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(folder).free
        except OSError as error:
            self._all_failed(tuple(lists), _disk_error(error))
            return False
        if needed + _SPARE_BYTES <= free:
            return True
        text = (
            f"The models need {needed / 1e9:.1f} GB more in {folder}, which has {free / 1e9:.1f} GB free. "
            "Free some space, or set HF_HOME to a larger disk."
        )
        self._all_failed(tuple(lists), WeightsError("no room", text))
        return False

    def _get(
        self,
        client: httpx2.Client,
        repository: Repository,
        files: Sequence[HubFile],
        bar: tqdm,
    ) -> None:
        def tell(count: int) -> None:
            standing = self._standings[repository.card]
            self._standings[repository.card] = standing._replace(done=standing.done + count)
            self._came += count
            bar.update(count)

        try:
            with repository.alone(self._stop):
                for file in files:
                    repository.fetch(client, file, tell, self._stop)
        except WeightsError as error:
            self._failed(repository, error)
        except OSError as error:
            self._failed(repository, _disk_error(error))
        else:
            if repository.is_here:
                self._ready(repository)
            else:
                text = (
                    f"{repository.card.model} has no model.safetensors, and no {_INDEX} that names its weights. "
                    "Choose another model."
                )
                self._failed(repository, WeightsError("failed", text))

    def _ready(self, repository: Repository) -> None:
        """Starts loading a model with its weights in the cache; it is ready once that succeeds."""
        loader = threading.Thread(target=self._loaded, args=(repository,), daemon=True)
        self._loaders.append(loader)
        loader.start()

    def _loaded(self, repository: Repository) -> None:
        try:
            self._load(repository.card)
        except ModelError as error:
            self._failed(repository, WeightsError("failed", str(error)))
            return
        except OSError as error:
            text = f"The process of the model can't be started ({error.strerror})."
            self._failed(repository, WeightsError("failed", text))
            return
        self._standings[repository.card] = WeightsStanding("ready")
        _LOG.info("%s is ready", repository.card.name)

    def _failed(self, repository: Repository, error: WeightsError) -> None:
        self._standings[repository.card] = WeightsStanding("failed", error=error)
        if error.trouble == "failed":
            self._failed_at[repository.card] = time.monotonic()
        if not self._stop.is_set():
            _LOG.warning("%s is not ready: %s", repository.card.name, error)

    def _all_failed(self, repositories: Sequence[Repository], error: WeightsError) -> None:
        for repository in repositories:
            if self._standings[repository.card].state == "loading":
                self._failed(repository, error)
