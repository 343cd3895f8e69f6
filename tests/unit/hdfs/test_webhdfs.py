"""WebHDFS: NameNodes that are standby, down, in safe mode, or refuse."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from hopshive.hdfs.wanted import (
    MakeDirectory,
    Status,
    WebHdfsError,
)
from hopshive.hdfs.webhdfs import WebHdfs
from tests.support.servers import free_port


@contextmanager
def namenode(answers: Sequence[tuple[int, dict[str, Any]]]) -> Iterator[tuple[str, list[str]]]:
    """Something at a port that gives these answers, the last one for ever; and the requests that it got."""
    requests: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, body = answers[min(len(requests), len(answers) - 1)]
            requests.append(self.path)
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_PUT = do_GET  # noqa: N815 - the name that http.server looks for

        def log_message(self, *_: object) -> None:
            """Not into the tests' output."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        server.server_close()


def refusal(exception: str, message: str) -> tuple[int, dict[str, Any]]:
    return 403, {"RemoteException": {"exception": exception, "message": message}}


STATUS = {
    "FileStatus": {
        "type": "DIRECTORY",
        "owner": "hdfs",
        "group": "hadoop",
        "permission": "755",
        "length": 0,
        "replication": 0,
    }
}


def test_a_standby_and_a_dead_namenode_are_passed_by() -> None:
    standby = [refusal("StandbyException", "Operation category READ is not supported in state standby")]
    with namenode(standby) as (first, asked), namenode([(200, STATUS)]) as (second, _):
        client = WebHdfs([f"http://127.0.0.1:{free_port()}", first, second], "hdfs", timeout=0)
        assert client.status("/") == Status("DIRECTORY", "hdfs", "hadoop", "755")
        client.status("/")
        assert len(asked) == 1, "the one that answered is asked first the next time"
        client.close()


def test_safe_mode_is_waited_for() -> None:
    safe = refusal("SafeModeException", "Cannot create directory /a. Name node is in safe mode.\nThe reported blocks 0")
    with namenode([safe, safe, (200, {"boolean": True})]) as (url, asked):
        client = WebHdfs([url], "hdfs", timeout=10, sleep=lambda _: None)
        client.apply(MakeDirectory("/a"))
        assert len(asked) == 3
        client.close()


def test_the_end_of_patience_is_a_sentence() -> None:
    safe = refusal("SafeModeException", "Cannot create directory /a. Name node is in safe mode.\nThe reported blocks 0")
    with namenode([safe]) as (url, _):
        client = WebHdfs([url], "hdfs", timeout=0)
        with pytest.raises(WebHdfsError, match=r"could not be used within 0 s: .*Name node is in safe mode\.$"):
            client.apply(MakeDirectory("/a"))
        client.close()


def test_a_refusal_names_user_and_path() -> None:
    with namenode([refusal("AccessControlException", "Permission denied: user=spark\n\tat x")]) as (url, _):
        client = WebHdfs([url], "spark", timeout=0)
        with pytest.raises(
            WebHdfsError, match=r"does not let the user spark do that at /a: Permission denied: user=spark$"
        ):
            client.apply(MakeDirectory("/a"))
        client.close()


def test_what_is_no_url_is_told() -> None:
    with pytest.raises(WebHdfsError, match="no URL of a NameNode"):
        WebHdfs(["namenode:9870"], "hdfs", timeout=0).status("/")
