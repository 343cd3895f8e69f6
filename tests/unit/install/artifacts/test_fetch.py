"""Fetching the files of a lock, from a real HTTP server and from a path."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hopshive.install.artifacts import fetch as fetch_module
from hopshive.install.artifacts.errors import ArtifactError, ChecksumError
from hopshive.install.artifacts.fetch import Download, as_url, fetch, fetch_all
from hopshive.install.artifacts.lock import LockedFile

CONTENT = b"a jar" * 1000


@dataclass
class Repository:
    """What the server answers: a content for each path, and for some requests a fault before that."""

    url: str = ""
    contents: dict[str, bytes] = field(default_factory=dict)
    # Faults still to come, by path: "truncate" or a status code.
    faults: dict[str, list[str]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    monkeypatch.setattr(fetch_module, "_FIRST_PAUSE_S", 0.01)
    served = Repository()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.lstrip("/")
            served.requests.append(path)
            fault = served.faults[path].pop(0) if served.faults.get(path) else ""
            content = served.contents.get(path)
            if fault.isdigit() or content is None:
                self.send_error(int(fault or 404))
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if fault == "truncate" else content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    yield served
    server.shutdown()
    server.server_close()


def download(repository: Repository, cache: Path, name: str = "org/a/a-1.jar", sha256: str = "") -> Download:
    expected = sha256 or hashlib.sha256(repository.contents.get(name, CONTENT)).hexdigest()
    return Download(LockedFile(name, expected), f"{repository.url}/{name}", cache / name)


def files_below(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


def test_a_file_arrives_under_its_name(repository: Repository, tmp_path: Path) -> None:
    repository.contents["org/a/a-1.jar"] = CONTENT
    fetch(download(repository, tmp_path))
    assert (tmp_path / "org/a/a-1.jar").read_bytes() == CONTENT


def test_a_wrong_checksum_names_the_file_and_both_sums(repository: Repository, tmp_path: Path) -> None:
    repository.contents["org/a/a-1.jar"] = CONTENT
    with pytest.raises(ChecksumError) as caught:
        fetch(download(repository, tmp_path, sha256="0" * 64))
    message = str(caught.value)
    assert ("org/a/a-1.jar" in message, "0" * 64 in message, hashlib.sha256(CONTENT).hexdigest() in message) == (
        True,
    ) * 3


def test_a_wrong_checksum_leaves_no_file(repository: Repository, tmp_path: Path) -> None:
    repository.contents["org/a/a-1.jar"] = CONTENT
    with pytest.raises(ChecksumError):
        fetch(download(repository, tmp_path, sha256="0" * 64))
    assert files_below(tmp_path) == []


def test_a_wrong_checksum_is_not_tried_again(repository: Repository, tmp_path: Path) -> None:
    repository.contents["org/a/a-1.jar"] = CONTENT
    with pytest.raises(ChecksumError):
        fetch(download(repository, tmp_path, sha256="0" * 64))
    assert len(repository.requests) == 1


def test_a_truncated_transfer_is_tried_again(repository: Repository, tmp_path: Path) -> None:
    repository.contents["org/a/a-1.jar"] = CONTENT
    repository.faults["org/a/a-1.jar"] = ["truncate"]
    fetch(download(repository, tmp_path))
    assert (tmp_path / "org/a/a-1.jar").read_bytes() == CONTENT


def test_transfers_that_stay_truncated_leave_no_file(repository: Repository, tmp_path: Path) -> None:
    repository.contents["org/a/a-1.jar"] = CONTENT
    repository.faults["org/a/a-1.jar"] = ["truncate"] * 3
    with pytest.raises(ArtifactError, match="attempt 3 of 3"):
        fetch(download(repository, tmp_path), attempts=3)
    assert files_below(tmp_path) == []


def test_a_busy_server_is_asked_again(repository: Repository, tmp_path: Path) -> None:
    repository.contents["org/a/a-1.jar"] = CONTENT
    repository.faults["org/a/a-1.jar"] = ["503", "429"]
    fetch(download(repository, tmp_path))
    assert len(repository.requests) == 3


def test_a_missing_file_is_asked_for_once_and_named(repository: Repository, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"org/a/a-1\.jar: HTTP Error 404"):
        fetch(download(repository, tmp_path))
    assert len(repository.requests) == 1


def test_what_is_in_the_cache_is_not_fetched_again(repository: Repository, tmp_path: Path) -> None:
    repository.contents |= {"a.jar": b"a", "b.jar": b"b"}
    downloads = [download(repository, tmp_path, name) for name in ("a.jar", "b.jar")]
    fetch_all(downloads[:1])
    assert fetch_all(downloads) == [tmp_path / "b.jar"]


def test_one_bad_file_of_many_fails_and_the_good_ones_stay(repository: Repository, tmp_path: Path) -> None:
    repository.contents |= {f"{n}.jar": bytes([n]) for n in range(6)}
    downloads = [download(repository, tmp_path, f"{n}.jar", "f" * 64 if n == 5 else "") for n in range(6)]
    with pytest.raises(ChecksumError):
        fetch_all(downloads)
    assert files_below(tmp_path) == [f"{n}.jar" for n in range(5)]


def test_a_mirror_may_be_a_path(tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror/a.jar").write_bytes(CONTENT)
    file = LockedFile("a.jar", hashlib.sha256(CONTENT).hexdigest())
    fetch(Download(file, f"{as_url(str(tmp_path / 'mirror'))}/a.jar", tmp_path / "cache/a.jar"))
    assert (tmp_path / "cache/a.jar").read_bytes() == CONTENT


def test_a_file_that_a_path_lacks_is_not_waited_for(tmp_path: Path) -> None:
    file = LockedFile("a.jar", "0" * 64)
    with pytest.raises(ArtifactError, match="attempt 1 of 5"):
        fetch(Download(file, f"{as_url(str(tmp_path))}/a.jar", tmp_path / "cache/a.jar"))
