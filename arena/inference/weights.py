"""Weights: the files of local models, those of the Hub downloaded in the background, and the progress of each model.

Files go into the Hub's own cache, in its layout, so that `hf cache` and other programs share them. An interrupted
download continues, unlike huggingface_hub's. No token is ever sent: a Space has one, but only to write the copy of
its votes.
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
from collections.abc import Callable, Collection, Iterator, Sequence
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
_MODEL_FILES = ("*.json", "*.txt", "*.jinja", "*.model", "*.safetensors")
"""The files that a model is loaded from; files in folders belong to other programs."""
_FOLDER_SIGNS = frozenset("/\\:")
"""Signs in a file's name that lead to another folder, or on Windows to another drive."""
_WEIGHTS = "*.safetensors"
_INDEX = "model.safetensors.index.json"
_LIST_SECONDS = 5.0
"""The longest wait for the Hub's list of a model's files."""
_TIMEOUT = httpx2.Timeout(15.0, connect=5.0)
_MOST_TRIES = 4
"""The tries in a row without progress that end a download."""
_FIRST_PAUSE_SECONDS = 1.0
"""The pause after the first try without progress; it doubles with each further one in a row."""
_SPARE_BYTES = 100_000_000
"""The bytes that a download leaves free on the disk."""
_RETRY_SECONDS = 60.0
"""The shortest time before another try of a model that has failed, unless the network or a full disk was the cause."""
_ESTIMATE_SECONDS = 3.0
"""The seconds of a download before its end is estimated."""

WeightsTrouble: TypeAlias = Literal["offline", "switched off", "no room", "failed"]


class WeightsError(RuntimeError):
    """Weights are missing; the message tells the operator why and what to do."""

    def __init__(self, trouble: WeightsTrouble, text: str) -> None:
        super().__init__(text)
        self.trouble: WeightsTrouble = trouble


class WeightsStanding(NamedTuple):
    """The state of one model's weights."""

    state: Literal["absent", "loading", "ready", "failed"]
    done: int = 0
    """The downloaded bytes, of `total`; 0 of 0 until the files are listed, and once the model is ready or failed."""
    total: int = 0
    error: WeightsError | None = None


class Progress(NamedTuple):
    """The progress of all downloads."""

    done: int
    """The downloaded bytes, of `total`."""
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
        self._list_address = (
            f"{constants.ENDPOINT}/api/models/{card.model}/revision/{card.revision}"
        )

    @property
    def is_downloaded(self) -> bool:
        """Whether all weights are in the cache; they are downloaded last, so the other files are there too."""
        needed = {"config.json", "model.safetensors"}
        try:
            if (self.snapshot / _INDEX).is_file():
                index = json.loads((self.snapshot / _INDEX).read_text("utf-8"))
                needed = {"config.json", *index["weight_map"].values()}
            return all((self.snapshot / name).is_file() for name in needed)
        except (OSError, ValueError, LookupError, AttributeError, TypeError):
            return False

    def list_files(self, client: httpx2.Client) -> tuple[HubFile, ...]:
        """Asks the Hub for the files that a model is loaded from, weights last. Raises WeightsError."""
        if constants.HF_HUB_OFFLINE:
            raise WeightsError(
                "switched off",
                f"HF_HUB_OFFLINE is set, and {self.card.model} is not in {constants.HF_HUB_CACHE}. "
                "Unset it, or copy the weights there.",
            )
        try:
            response = client.get(
                self._list_address, params={"blobs": "true"}, timeout=_LIST_SECONDS
            )
        except httpx2.HTTPError as error:
            raise _no_connection(error) from error
        self._check_status(response)
        try:
            files = [_hub_file(entry) for entry in response.json()["siblings"]]
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise WeightsError(
                "failed", f"{host()} sent no list of files for {self.card.model}. Try again later."
            ) from error
        wanted = [
            file
            for file in files
            if not _FOLDER_SIGNS.intersection(file.name)
            and any(fnmatch(file.name, pattern) for pattern in _MODEL_FILES)
        ]
        if not any(fnmatch(file.name, _WEIGHTS) for file in wanted):
            raise WeightsError(
                "failed",
                f"{self.card.model} has no .safetensors files, the only weights that are read. Choose another model.",
            )
        by_name = sorted(wanted, key=lambda file: file.name)
        return tuple(sorted(by_name, key=lambda file: fnmatch(file.name, _WEIGHTS)))

    @contextmanager
    def lock(self, stop: threading.Event) -> Iterator[None]:
        """Holds the model's place in the cache, once no other server does. Raises WeightsError, OSError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.folder / "download.lock")
        while True:
            try:
                with lock.acquire(timeout=1):
                    yield
                return
            except Timeout:
                # Another server holds it. The block that runs at the `yield` raises no Timeout.
                _check_stop(stop)

    def downloaded_bytes(self, file: HubFile) -> int:
        """Returns the number of downloaded bytes of a file."""
        blob = self._blob(file)
        if blob.is_file():
            return file.size
        part = _part_path(blob)
        return min(part.stat().st_size, file.size) if part.is_file() else 0

    def download_file(
        self,
        client: httpx2.Client,
        file: HubFile,
        on_bytes: Callable[[int], None],
        stop: threading.Event,
    ) -> None:
        """Downloads the missing part of a file, checks it, and puts it into the snapshot.

        `on_bytes` gets the number of bytes of each step, negative for bytes that are thrown away.
        Raises WeightsError, OSError.
        """
        blob = self._blob(file)
        blob.parent.mkdir(parents=True, exist_ok=True)
        if not blob.is_file():
            part = _part_path(blob)
            self._complete(client, file, part, on_bytes, stop)
            if _file_digest(part, file) != file.digest:
                on_bytes(-file.size)
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

    def _complete(
        self,
        client: httpx2.Client,
        file: HubFile,
        part: Path,
        on_bytes: Callable[[int], None],
        stop: threading.Event,
    ) -> None:
        """Downloads until a part has the file's size. Raises WeightsError, OSError."""
        failed_tries = 0
        part.touch()
        while (part_size := part.stat().st_size) != file.size:
            if part_size > file.size:
                # A part counts as at most the file's size, see `downloaded_bytes`.
                on_bytes(-file.size)
                part.unlink()
                part.touch()
                continue
            last_error = None  # It stays None if the server just sent nothing.
            try:
                self._append_rest(client, file, part, on_bytes, stop)
            except httpx2.HTTPError as error:
                last_error = error
            _check_stop(stop)
            has_progress = part.stat().st_size > part_size
            failed_tries = 0 if has_progress else failed_tries + 1
            if failed_tries == _MOST_TRIES:
                raise _no_connection(last_error)
            if failed_tries:
                stop.wait(_FIRST_PAUSE_SECONDS * 2 ** (failed_tries - 1))

    def _append_rest(
        self,
        client: httpx2.Client,
        file: HubFile,
        part: Path,
        on_bytes: Callable[[int], None],
        stop: threading.Event,
    ) -> None:
        """Appends the missing bytes of a file to its part.

        Raises HTTPError if another try may help: the connection broke off, or the Hub is busy or fails. Raises
        WeightsError for an answer without the model, or with more bytes than were listed. Raises OSError if the disk
        fails.
        """
        part_size = part.stat().st_size
        headers = {"range": f"bytes={part_size}-", "accept-encoding": "identity"}
        address = f"{self._address}/{file.name}"
        with client.stream("GET", address, headers=headers) as response:
            if response.status_code == 429 or response.status_code >= 500:
                response.raise_for_status()
            self._check_status(response)
            is_rest = response.status_code == 206
            if not is_rest:  # The server ignores ranges, so the file begins again.
                on_bytes(-part_size)
            with part.open("ab" if is_rest else "wb") as out:
                for chunk in response.iter_raw():
                    if out.tell() + len(chunk) > file.size:
                        raise WeightsError(
                            "failed",
                            f"{file.name} of {self.card.model} is larger than {host()} lists it. Try again later.",
                        )
                    out.write(chunk)
                    on_bytes(len(chunk))
                    if stop.is_set():
                        return

    def _check_status(self, response: httpx2.Response) -> None:
        """Raises WeightsError for an answer without the model."""
        status = response.status_code
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
    """Returns the folder of a local model's weights; None for one of the Hub until all its weights are in the cache."""
    if card.revision is None:
        return Path(card.model)
    repository = Repository(card)
    return repository.snapshot if repository.is_downloaded else None


def host() -> str:
    """Returns the name of the Hub, or of its mirror."""
    return httpx2.URL(constants.ENDPOINT).host


def _hub_file(entry: dict[str, Any]) -> HubFile:
    large = entry.get("lfs")
    digest = str(large["sha256"] if large else entry["blobId"])
    size = int(entry["size"])
    # The digest becomes a file's name, and comes from a server.
    if not digest.isalnum() or size < 0:
        raise ValueError("no digest or no size")
    return HubFile(str(entry["rfilename"]), size, digest)


def _part_path(blob: Path) -> Path:
    return blob.with_name(f"{blob.name}.part")


def _file_digest(path: Path, file: HubFile) -> str:
    """Returns the digest by which the Hub names a file: git's for a small one."""
    is_large = len(file.digest) == 64  # SHA-256
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


def _room_error(needed: int) -> WeightsError | None:
    """Returns why the disk can't take this many bytes; None if it can."""
    folder = Path(constants.HF_HUB_CACHE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return _disk_error(error)
    if needed + _SPARE_BYTES <= free:
        return None
    text = (
        f"The models need {needed / 1e9:.1f} GB more in {folder}, which has {free / 1e9:.1f} GB free. "
        "Free some space, or set HF_HOME to a larger disk."
    )
    return WeightsError("no room", text)


class Downloads:
    """Downloads of several local models, one after another, in a thread; each is then loaded."""

    def __init__(self, cards: Sequence[ModelCard], load: Callable[[ModelCard], None]) -> None:
        """`load` loads a model in its own process; it raises ModelError with the reason why it cannot."""
        self._load = load
        self._standings = {card: WeightsStanding("absent") for card in cards}
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loaders: list[threading.Thread] = []
        self._failed_at: dict[ModelCard, float] = {}
        """The monotonic times of failures that count for _RETRY_SECONDS."""
        self._begun_at = 0.0
        """The monotonic time of the first byte's request."""
        self._new_bytes = 0
        """The bytes since then; negative if more had to be thrown away."""

    def standing(self, card: ModelCard) -> WeightsStanding:
        """Returns the state of a model's weights; one that does not run on this machine is ready."""
        return self._standings.get(card, WeightsStanding("ready"))

    @property
    def progress(self) -> Progress:
        standings = tuple(self._standings.values())
        done = sum(standing.done for standing in standings)
        total = sum(standing.total for standing in standings)
        passed_seconds = time.monotonic() - self._begun_at
        seconds = None
        if self._new_bytes > 0 and passed_seconds > _ESTIMATE_SECONDS:
            seconds = (total - done) * passed_seconds / self._new_bytes
        return Progress(done, total, seconds)

    def start(self) -> None:
        """Starts the downloads, also failed ones unless they have just failed; does nothing while they run."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            waiting = [
                card
                for card, standing in self._standings.items()
                if standing.state != "ready" and not self._has_just_failed(card)
            ]
            if not waiting:
                return
            for card in waiting:
                self._standings[card] = WeightsStanding("loading")
            self._thread = threading.Thread(target=self._run, args=(waiting,), daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ends the downloads at the next piece; the downloaded parts stay."""
        self._stop.set()

    def _has_just_failed(self, card: ModelCard) -> bool:
        failed_at = self._failed_at.get(card)
        return failed_at is not None and time.monotonic() - failed_at < _RETRY_SECONDS

    def _run(self, cards: Sequence[ModelCard]) -> None:
        missing = []
        for card in cards:
            if weights_folder(card) is None:
                missing.append(Repository(card))
            else:
                self._start_loading(card)
        if missing:
            with httpx2.Client(follow_redirects=True, timeout=_TIMEOUT) as client:
                self._download(client, missing)
        for loader in self._loaders:
            loader.join()
        self._loaders.clear()

    def _list_files(
        self, client: httpx2.Client, repositories: Sequence[Repository]
    ) -> dict[Repository, tuple[HubFile, ...]]:
        """Returns the files of each model that can be downloaded, and marks the others as failed."""
        files_of: dict[Repository, tuple[HubFile, ...]] = {}
        for repository in repositories:
            try:
                files = repository.list_files(client)
                done = sum(map(repository.downloaded_bytes, files))
            except WeightsError as error:
                self._mark_failed(repository.card, error)
                if error.trouble in ("offline", "switched off"):
                    # Without the Hub no model can be downloaded, also none whose files are listed already.
                    self._mark_all_failed(repositories, error)
                    return {}
                continue
            except OSError as error:
                self._mark_failed(repository.card, _disk_error(error))
                continue
            files_of[repository] = files
            total = sum(file.size for file in files)
            self._standings[repository.card] = WeightsStanding("loading", done, total)
        return files_of

    def _download(self, client: httpx2.Client, repositories: Sequence[Repository]) -> None:
        files_of = self._list_files(client, repositories)
        if not files_of:
            return
        progress = self.progress
        missing_bytes = progress.total - progress.done
        no_room = _room_error(missing_bytes)
        if no_room is not None:
            self._mark_all_failed(files_of, no_room)
            return
        # A warning, since the server's log begins at warnings: the operator sees why models aren't ready yet.
        _LOG.warning(
            "Downloading %s from %s to %s: %s MB",
            plural(len(files_of), "model"),
            host(),
            constants.HF_HUB_CACHE,
            f"{missing_bytes / 1e6:,.0f}",
        )
        self._begun_at = time.monotonic()
        self._new_bytes = 0
        with tqdm(
            total=progress.total,
            initial=progress.done,
            unit="B",
            unit_scale=True,
            desc="models",
            file=sys.__stderr__,
            disable=None,  # disabled unless it's a terminal
        ) as bar:
            for repository, files in files_of.items():
                self._download_model(client, repository, files, bar)

    def _download_model(
        self,
        client: httpx2.Client,
        repository: Repository,
        files: Sequence[HubFile],
        bar: tqdm,
    ) -> None:
        """Downloads one model, then starts loading it, or marks it as failed."""

        def on_bytes(count: int) -> None:
            standing = self._standings[repository.card]
            self._standings[repository.card] = standing._replace(done=standing.done + count)
            self._new_bytes += count
            bar.update(count)

        try:
            with repository.lock(self._stop):
                for file in files:
                    repository.download_file(client, file, on_bytes, self._stop)
        except WeightsError as error:
            self._mark_failed(repository.card, error)
        except OSError as error:
            self._mark_failed(repository.card, _disk_error(error))
        else:
            if repository.is_downloaded:
                self._start_loading(repository.card)
            else:
                text = (
                    f"{repository.card.model} has no model.safetensors, and no {_INDEX} that names its weights. "
                    "Choose another model."
                )
                self._mark_failed(repository.card, WeightsError("failed", text))

    def _start_loading(self, card: ModelCard) -> None:
        """Starts loading a model whose weights are here; it is ready once that succeeds."""
        loader = threading.Thread(target=self._load_model, args=(card,), daemon=True)
        self._loaders.append(loader)
        loader.start()

    def _load_model(self, card: ModelCard) -> None:
        try:
            self._load(card)
        except ModelError as error:
            self._mark_failed(card, WeightsError("failed", str(error)))
            return
        self._standings[card] = WeightsStanding("ready")
        _LOG.info("%s is ready", card.name)

    def _mark_failed(self, card: ModelCard, error: WeightsError) -> None:
        self._standings[card] = WeightsStanding("failed", error=error)
        if error.trouble == "failed":
            self._failed_at[card] = time.monotonic()
        if not self._stop.is_set():
            _LOG.warning("%s is not ready: %s", card.name, error)

    def _mark_all_failed(self, repositories: Collection[Repository], error: WeightsError) -> None:
        for repository in repositories:
            if self._standings[repository.card].state == "loading":
                self._mark_failed(repository.card, error)
