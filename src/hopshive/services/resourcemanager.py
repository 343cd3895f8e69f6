"""What a ResourceManager answers over HTTP about applications, and what it is told over its clients' protocol: no JVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hopshive.config import is_address
from hopshive.hdfs.namenode.rpc import Call, ConnectionLostError, NotHadoopError, RemoteError, answer_of
from hopshive.hdfs.namenode.wire import encode
from hopshive.services.health import NoAnswer, Target, ask_resourcemanager, fetch_json

# Seconds to wait for an answer of a ResourceManager.
ANSWER_TIMEOUT = 3.0
PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"
# The beginning of an application's tag that has its client's host:port.
CLIENT = "client="
UNENDED = "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING"


@dataclass(frozen=True)
class Master:
    """An application master: its application's id, its NodeManager and its client, both `host:port`.

    `client` is empty if the application does not name it.
    """

    application: str
    node: str
    client: str = ""


@dataclass(frozen=True)
class Job:
    """An application that has not ended: its id, and the user as whom it runs."""

    application: str
    user: str


class ResourceManager:
    """One ResourceManager. `web` and `rpc`: `host:port` of its HTTP port and of its clients' protocol.

    `user`: the one that it runs as, to whom it shows the applications of all. Methods raise NoAnswer.
    """

    def __init__(self, web: str, rpc: str = "", user: str = "yarn") -> None:
        host, _, port = web.rpartition(":")
        self.place = web
        self._target = Target("resourcemanager", host, int(port))
        self._web = f"http://{web}/ws/v1/cluster"
        self._rpc = rpc
        self._user = user

    def is_active(self) -> bool:
        """Whether it is the active one."""
        return bool(ask_resourcemanager(self._target, ANSWER_TIMEOUT)["state"] == "active")

    def masters(self) -> list[Master]:
        """The application masters of all running and accepted applications. Only the active ResourceManager answers."""
        return [
            Master(one["id"], one["masterNodeId"], _client(one.get("applicationTags", "")))
            for one in self._applications("ACCEPTED,RUNNING")
            if one.get("masterNodeId") and not one.get("unmanagedApplication")
        ]

    def jobs(self) -> list[Job]:
        """All applications that have not ended. Only the active ResourceManager answers."""
        return [Job(one["id"], one["user"]) for one in self._applications(UNENDED)]

    def _applications(self, states: str) -> list[dict[str, Any]]:
        # user.name: with yarn.webapp.filter-entity-list-by-user no other user sees applications of others.
        query = f"states={states}&deSelects=resourceRequests,resourceInfo&user.name={self._user}"
        found = fetch_json(f"{self._web}/apps?{query}", ANSWER_TIMEOUT)
        # Without applications the list is null.
        applications: list[dict[str, Any]] = (found.get("apps") or {}).get("app") or []
        return applications

    def attempt(self, master: Master) -> str:
        """The id of an application's last attempt; empty if that is not at the master's NodeManager any more."""
        found = fetch_json(f"{self._web}/apps/{master.application}/appattempts?user.name={self._user}", ANSWER_TIMEOUT)
        attempts: list[dict[str, Any]] = (found.get("appAttempts") or {}).get("appAttempt") or []
        last = max(attempts, key=lambda one: int(one["id"]), default={})
        return str(last["appAttemptId"]) if last.get("nodeId") == master.node else ""

    def fail(self, attempt: str) -> None:
        """End an attempt (ApplicationClientProtocol.failApplicationAttempt). YARN starts another one if it may."""
        _, timestamp, application, number = attempt.split("_")
        request = encode({1: encode({1: encode({1: int(application), 2: int(timestamp)}), 2: int(number)})})
        self._call("failApplicationAttempt", request)

    def end(self, application: str, why: str) -> None:
        """End an application (ApplicationClientProtocol.forceKillApplication); its page in YARN's UI shows `why`.

        YARN ends it only after the answer.
        """
        _, timestamp, number = application.split("_")
        self._call("forceKillApplication", encode({1: encode({1: int(number), 2: int(timestamp)}), 2: why}))

    def _call(self, method: str, request: bytes) -> None:
        host, _, port = self._rpc.rpartition(":")
        try:
            call = Call(0, method, request, PROTOCOL)
            answer = answer_of((host, int(port)), self._user, call, ANSWER_TIMEOUT)
        except (ConnectionLostError, NotHadoopError, RemoteError) as error:
            raise NoAnswer(str(error)) from None
        if isinstance(answer, RemoteError):
            raise NoAnswer(f"{answer.name}: {answer}")


def _client(tags: str) -> str:
    """The client that a comma-separated list of tags names; empty without one."""
    named = (tag.strip().removeprefix(CLIENT) for tag in tags.split(",") if tag.strip().startswith(CLIENT))
    return next((client for client in named if is_address(client)), "")
