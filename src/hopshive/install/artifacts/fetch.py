"""Fetch the files of a lock in parallel; what reaches its place in the cache has the checksum of the lock."""

from __future__ import annotations

import hashlib
import http.client
import os
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from hopshive.install.artifacts.errors import ArtifactError, ChecksumError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.install.artifacts.lock import LockedFile

ATTEMPTS = 5
WORKERS = 8
TIMEOUT_S = 60
_FIRST_PAUSE_S = 0.5
_BLOCK = 1 << 18
_WORTH_ANOTHER_TRY = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Download:
    """One file: where it comes from, where it goes, and what it must be."""

    file: LockedFile
    url: str
    destination: Path


def fetch_all(
    downloads: Iterable[Download], on_done: Callable[[Download], None] = lambda _: None, *, attempts: int = ATTEMPTS
) -> list[Path]:
    """Fetch what is not in its place yet, and return what was fetched.

    A file in its place is not read again: it was verified before it was renamed there. Raises ArtifactError
    (ChecksumError for a wrong content) of the first failure, after the running transfers have ended.
    """
    missing = [download for download in downloads if not download.destination.is_file()]
    with ThreadPoolExecutor(max_workers=WORKERS) as pool:
        futures = [pool.submit(fetch, download, attempts=attempts) for download in missing]
        try:
            for download, future in zip(missing, futures, strict=True):
                future.result()
                on_done(download)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [download.destination for download in missing]


def fetch(download: Download, *, attempts: int = ATTEMPTS) -> None:
    """Fetch one file, verified under a temporary name and then renamed; a broken transfer is tried again."""
    download.destination.parent.mkdir(parents=True, exist_ok=True)
    for attempt in range(1, attempts + 1):
        try:
            _transfer(download)
        except ChecksumError:
            raise
        except (OSError, http.client.HTTPException) as error:
            if attempt == attempts or not _is_worth_another_try(error):
                raise ArtifactError(
                    f"Cannot fetch {download.url}: {error} (attempt {attempt} of {attempts})."
                ) from error
            time.sleep(_FIRST_PAUSE_S * 2 ** (attempt - 1))
        else:
            return


def as_url(base: str) -> str:
    """A repository's base as a URL without a slash at its end; a plain path becomes file://."""
    if "://" not in base:
        base = Path(base).expanduser().resolve().as_uri()
    return base.rstrip("/")


def read_url(url: str, accept: str = "*/*") -> bytes:
    """The whole content at a URL; for small documents such as a package index."""
    request = urllib.request.Request(url, headers={"Accept": accept})  # noqa: S310 - the operator names the mirror
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310 - see above
            content: bytes = response.read()
            return content
    except (OSError, http.client.HTTPException) as error:
        raise ArtifactError(f"Cannot read {url}: {error}.") from error


def _transfer(download: Download) -> None:
    digest = hashlib.sha256()
    with temporary_beside(download.destination) as (stream, temporary):
        with urllib.request.urlopen(download.url, timeout=TIMEOUT_S) as response:  # noqa: S310 - base is the operator's
            received = 0
            while block := response.read(_BLOCK):
                digest.update(block)
                stream.write(block)
                received += len(block)
            announced = response.headers.get("Content-Length")
        if announced is not None and received != int(announced):
            # http.client ends a short body of a sized read without an error.
            raise http.client.IncompleteRead(b"", int(announced) - received)
        if digest.hexdigest() != download.file.sha256:
            raise ChecksumError(download.url, download.file.sha256, digest.hexdigest())
        stream.close()
        temporary.replace(download.destination)


@contextmanager
def temporary_beside(destination: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """A temporary file in the destination's directory, to be renamed there; removed when it was not."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=destination.parent, prefix=f".{destination.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            temporary.chmod(0o644)
            yield stream, temporary
    finally:
        temporary.unlink(missing_ok=True)


def _is_worth_another_try(error: Exception) -> bool:
    if isinstance(error, urllib.error.HTTPError):
        return error.code in _WORTH_ANOTHER_TRY
    # urllib reports a missing local file as a URLError around FileNotFoundError or a text.
    return not (isinstance(error, urllib.error.URLError) and "No such file" in str(error.reason))
