"""Downloads of what authors publish: streamed to disk, bounded, tried again, and named in every error."""

import contextlib
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

_WAITS = (1, 2, 4, 8)
"""Seconds between two attempts of a download."""
_TIMEOUT = 30
"""Most seconds for connecting, and between two pieces."""


class DownloadError(ValueError):
    """A download failed, or is not what was published; the message says what to do.

    Inside `address_in_errors` it doesn't name the address yet.
    """


@contextlib.contextmanager
def address_in_errors(address: str) -> Iterator[None]:
    """Turns errors of a download that are raised inside into DownloadErrors that name the address."""
    try:
        yield
    except DownloadError as error:
        raise DownloadError(f"{address}: {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        cause = str(error)[:200] or type(error).__name__
        raise DownloadError(
            f"{address} can't be reached: {cause.rstrip('.')}. Check the network, or download it by hand."
        ) from error
    # zipfile raises RuntimeError for a locked file in the archive.
    except (zipfile.BadZipFile, EOFError, RuntimeError, zlib.error) as error:
        raise DownloadError(
            f"{address}: The file isn't a complete zip archive. Try again."
        ) from error


def download(
    address: str, path: Path, most: int, sleep: Callable[[float], object] = time.sleep
) -> None:
    """Streams a file to disk, again if the network or the server fails; `most` is the largest size in bytes.

    Raises DownloadError without the address, and httpx's errors: call it inside `address_in_errors`.
    """
    for wait in _WAITS:
        try:
            _stream(address, path, most)
            return
        except (
            httpx.TimeoutException,
            httpx.NetworkError,
            httpx.RemoteProtocolError,
            httpx.HTTPStatusError,
        ):
            sleep(wait)
    _stream(address, path, most)


def announced_size(address: str) -> int | None:
    """Returns the number of bytes that a server announces; None if it doesn't, or can't be reached."""
    try:
        response = httpx.head(address, follow_redirects=True, timeout=_TIMEOUT)
        length = response.headers.get("content-length")
        if response.status_code != 200 or length is None:
            return None
        return int(length)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        return None


def _stream(address: str, path: Path, most: int) -> None:
    """Streams to disk, following redirects: GitHub sends release files from another host. Raises DownloadError."""
    with (
        httpx.stream("GET", address, follow_redirects=True, timeout=_TIMEOUT) as response,
        path.open("wb") as file,
    ):
        if response.status_code in (408, 429) or response.status_code >= 500:
            response.raise_for_status()
        if response.status_code != 200:
            raise DownloadError(
                f"The server answered {response.status_code}. Check the address in a browser."
            )
        for piece in response.iter_bytes():
            file.write(piece)
            if file.tell() > most:
                raise DownloadError(
                    f"The file is over {most:,} bytes, larger than the published one. Please report this."
                )
