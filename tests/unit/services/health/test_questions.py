"""Asking until a service answers, and the sentences for those that do not."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from hopshive.services import health
from hopshive.services.components import COMPONENTS
from hopshive.services.health import (
    Answer,
    NoAnswer,
    Target,
    questions,
    wait_for,
)
from tests.support.servers import free_port


class Clock:
    """Time that passes only by sleeping."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_it_is_asked_until_it_answers(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    answers = iter([NoAnswer("not yet"), NoAnswer("not yet")])

    def answer(*_: object) -> dict[str, Any]:
        for error in answers:
            raise error
        return {"version": "1"}

    question = replace(health.QUESTIONS["zookeeper"], ask=answer)
    monkeypatch.setattr(questions, "QUESTIONS", {**health.QUESTIONS, "zookeeper": question})
    assert wait_for(Target("zookeeper", "h", 1), 60, clock=clock, sleep=clock.sleep) == Answer({"version": "1"}, 3, 1.0)


@pytest.mark.parametrize("kind", sorted(health.QUESTIONS))
def test_a_silent_port_is_a_sentence_for_each_kind(kind: str, clock: Clock) -> None:
    nobody = (f"http://127.0.0.1:{free_port()}",)
    target = Target(kind, "127.0.0.1", free_port(), namenode=nobody, resourcemanager=nobody)
    with pytest.raises(NoAnswer) as caught:
        wait_for(target, 1, clock=clock, sleep=clock.sleep)
    message = str(caught.value).lower()
    assert message.startswith(f"{kind} at 127.0.0.1:{target.port} did not answer within 0 s (2 tries, asked for ")
    assert "connection refused" in message
    unit = "hadoop-hdfs-zkfc" if kind == "zkfc" else COMPONENTS[kind.removesuffix("_leaving")].unit
    assert message.endswith(f"see journalctl -u {unit} on 127.0.0.1.")


@contextmanager
def listener(reply: bytes) -> Iterator[int]:
    """A port where something says the same to everybody."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def serve() -> None:
            while not ended.is_set():
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(1)
                    try:
                        connection.recv(4096)
                        connection.sendall(reply)
                    except OSError:
                        continue

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(server.getsockname()[1])
        ended.set()
        server.shutdown(socket.SHUT_RDWR)
        thread.join(2)


@pytest.mark.parametrize("kind", sorted(set(health.QUESTIONS)))
@pytest.mark.parametrize(
    "reply", [b"", b"\x00", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"]
)
def test_another_service_at_the_port_is_no_answer(kind: str, reply: bytes) -> None:
    with listener(reply) as port, pytest.raises(NoAnswer):
        wait_for(Target(kind, "127.0.0.1", port), 0)
