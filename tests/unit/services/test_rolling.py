"""One replica is restarted: when it may be, when not, and what is said."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from hopshive.services.health import Answer, NoAnswer, Target, WrongAnswer, at
from hopshive.services.rolling import OTHERS_TIMEOUT, OWN_TIMEOUT, Questions, RollError, restart

if TYPE_CHECKING:
    from collections.abc import Sequence

OWN = Target("metastore", "one", 9083)
OTHERS = [at(OWN, "two:9083"), at(OWN, "three:9083")]


class Host:
    """A host's systemctl, and services that answer or do not."""

    def __init__(
        self, running: bool = True, down: Sequence[str] = (), fails: str = "", error: type[Exception] = NoAnswer
    ) -> None:
        self.running = running
        self.down = set(down)
        self.fails = fails
        self.error = error
        self.done: list[str] = []

    def run(self, command: Sequence[str]) -> tuple[int, str, str]:
        verb = command[1]
        self.done.append(verb)
        if verb == "is-active":
            return (0 if self.running else 3), "", ""
        return (1, "", "no such unit\n") if self.fails in command[:2] else (0, "", "")

    def wait(self, target: Target, timeout: float) -> Answer:
        self.done.append(f"{target.host} {timeout:g}")
        if target.host in self.down:
            raise self.error(f"metastore at {target.place} did not answer.")
        return Answer({"version": "4.0.1"}, 1, 0.5)


def test_the_others_are_asked_first_and_the_own_afterwards() -> None:
    host = Host()
    rolled = restart("hive-metastore", Questions(OWN, OTHERS), host.run, 180, wait=host.wait)
    assert host.done[2:] == ["is-active", f"two {OTHERS_TIMEOUT:g}", f"three {OTHERS_TIMEOUT:g}", "restart", "one 180"]
    assert not rolled.started
    assert rolled.answer is not None


@pytest.mark.parametrize("error", [NoAnswer, WrongAnswer])
def test_nothing_is_restarted_while_another_one_is_down(error: type[Exception]) -> None:
    host = Host(down=["three"], error=error)
    with pytest.raises(
        RollError, match=r"^hive-metastore was not restarted, because another .*three:9083.* cluster_roll_degraded"
    ):
        restart("hive-metastore", Questions(OWN, OTHERS), host.run, 180, wait=host.wait)
    assert "restart" not in host.done


def test_who_says_so_restarts_it_all_the_same() -> None:
    host = Host(down=["two", "three"])
    restart("hive-metastore", Questions(OWN, OTHERS), host.run, 180, degraded=True, wait=host.wait)
    assert host.done[-2:] == ["restart", "one 180"]


def test_one_that_does_not_run_is_started_without_a_question() -> None:
    host = Host(running=False, down=["one", "two", "three"])
    assert restart("hive-metastore", Questions(OWN, OTHERS), host.run, 180, wait=host.wait).started
    assert host.done == ["reset-failed", "daemon-reload", "is-active", "restart"]


def test_one_that_does_not_come_back_is_an_error() -> None:
    host = Host(down=["one"])
    with pytest.raises(RollError, match=r"^hive-metastore was restarted and did not come back\. metastore at one:9083"):
        restart("hive-metastore", Questions(OWN), host.run, 180, wait=host.wait)


def test_systemds_refusal_is_told() -> None:
    host = Host(fails="restart")
    with pytest.raises(RollError, match=r"^systemctl restart hive-metastore\.service failed: no such unit$"):
        restart("hive-metastore", Questions(OWN), host.run, 180, wait=host.wait)


COMMANDS = Questions(own_command=["waiter", "own"], others_command=["waiter", "others"])


def test_commands_may_tell_instead() -> None:
    host = Host()
    restart("ndb-data", COMMANDS, host.run, 180)
    assert host.done[2:] == ["is-active", "others", "restart", "own"]


@pytest.mark.parametrize(
    ("fails", "said"), [("others", "was not restarted, because another"), ("own", "did not come back")]
)
def test_a_command_that_fails_is_an_answer(fails: str, said: str) -> None:
    host = Host(fails=fails)
    with pytest.raises(RollError, match=rf"{said}.*waiter {fails} failed: no such unit"):
        restart("ndb-data", COMMANDS, host.run, 180)


SQL = Target("ndb_sql", "one", 3306)


class Logged(Host):
    """Whose commands are noted with their unit."""

    def run(self, command: Sequence[str]) -> tuple[int, str, str]:
        answer = super().run(command)
        self.done[-1] = " ".join([command[1], *command[-1:]]).removesuffix(".service")
        return answer


def test_who_works_with_it_is_stopped_meanwhile() -> None:
    host = Logged()
    users = {"hive-metastore": Questions(OWN, OTHERS[:1])}
    restart("ndb-sql", Questions(SQL, [at(SQL, "two:3306")]), host.run, 180, users=users, wait=host.wait)
    assert host.done[-7:] == [
        f"two {OTHERS_TIMEOUT:g}",
        f"two {OTHERS_TIMEOUT:g}",
        "stop hive-metastore",
        "restart ndb-sql",
        "one 180",
        "start hive-metastore",
        "one 180",
    ]


def test_who_works_with_it_is_started_again_whatever_became_of_it() -> None:
    host = Logged(down=["one"])
    users = {"hive-metastore": Questions(OWN, OTHERS)}
    with pytest.raises(RollError, match=r"^ndb-sql was restarted and did not come back"):
        restart("ndb-sql", Questions(SQL), host.run, 180, users=users, wait=host.wait)
    assert host.done[-1] == "start hive-metastore"


def test_the_only_one_that_works_with_it_stays() -> None:
    host = Logged()
    restart("ndb-sql", Questions(SQL), host.run, 180, users={"hive-metastore": Questions(OWN)}, wait=host.wait)
    assert "stop hive-metastore" not in host.done


def test_nothing_is_stopped_while_another_of_who_works_with_it_is_down() -> None:
    host = Logged(down=["three"])
    users = {"hive-metastore": Questions(OWN, OTHERS)}
    with pytest.raises(RollError, match=r"^ndb-sql was not restarted.*three:9083"):
        restart("ndb-sql", Questions(SQL), host.run, 180, users=users, wait=host.wait)
    assert "stop hive-metastore" not in host.done


def test_where_another_one_may_be_down_its_client_continues() -> None:
    host = Host(down=["two"])
    users = {"hive-metastore": Questions(OWN, OTHERS[:1])}
    restart("ndb-sql", Questions(SQL), host.run, 180, users=users, degraded=True, wait=host.wait)
    assert host.done == ["reset-failed", "daemon-reload", "is-active", "restart", "one 180"]


@pytest.mark.parametrize(("down", "restarted"), [(["two"], True), (["two", "three"], False)])
def test_in_a_batch_as_many_others_may_be_down(down: list[str], restarted: bool) -> None:
    host = Host(down=down)
    others = [*OTHERS, at(OWN, "four:9083")]
    with nullcontext() if restarted else pytest.raises(RollError, match=r"another replica is down.*three:9083"):
        restart("hadoop-hdfs-datanode", Questions(OWN, others), host.run, 180, may_be_down=1, wait=host.wait)
    assert ("restart" in host.done) == restarted


def test_in_a_batch_who_comes_back_in_time_is_not_down() -> None:
    class Slow(Host):
        def wait(self, target: Target, timeout: float) -> Answer:
            if timeout:
                self.down.discard(target.host)
            return super().wait(target, timeout)

    host = Slow(down=["two", "three"])
    restart("hadoop-hdfs-datanode", Questions(OWN, OTHERS), host.run, 180, may_be_down=1, wait=host.wait)
    assert "restart" in host.done


def test_a_check_comes_after_the_answers() -> None:
    host = Host()
    asked = Questions(
        OWN,
        OTHERS[:1],
        others_check=lambda timeout: host.done.append(f"others {timeout:g}"),
        own_check=lambda timeout: host.done.append(f"own {timeout:g}"),
    )
    restart("hadoop-hdfs-journalnode", asked, host.run, 180, wait=host.wait)
    assert host.done[3:] == ["two 60", "others 60", "restart", "one 180", "own 180"]


def test_a_check_that_fails_before_leaves_it_as_it_is_and_afterwards_is_an_error() -> None:
    def fails(_timeout: float) -> None:
        raise NoAnswer("Not all JournalNodes take edits.")

    host = Host()
    with pytest.raises(RollError, match=r"was not restarted, .* Not all JournalNodes take edits"):
        restart("hadoop-hdfs-journalnode", Questions(OWN, others_check=fails), host.run, 180, wait=host.wait)
    assert "restart" not in host.done
    with pytest.raises(RollError, match=r"was restarted and did not come back. Not all JournalNodes take edits"):
        restart("hadoop-hdfs-journalnode", Questions(OWN, own_check=fails), host.run, 180, wait=host.wait)


def test_who_works_with_it_from_elsewhere_is_waited_for_before_anything_is_stopped() -> None:
    host = Host()
    asked = Questions(OWN, OTHERS[:1], unused=lambda: host.done.append("unused"))
    users = {"hive-metastore": Questions(OWN, OTHERS[:1])}
    restart("ndb-sql", asked, host.run, 180, users=users, wait=host.wait)
    assert host.done[3:] == [
        "is-active",
        "two 60",
        "two 60",
        f"one {OWN_TIMEOUT:g}",
        "unused",
        "stop",
        "restart",
        "one 180",
        "start",
        "one 180",
    ]


def test_who_does_not_leave_keeps_it_as_it_is() -> None:
    def stays() -> None:
        raise NoAnswer("hive at two is still connected to one:3306 after 120 s.")

    host = Host()
    with pytest.raises(
        RollError,
        match=r"^ndb-sql was not restarted, because clients of other hosts use it .* hive at two is .* cluster_roll_degraded",
    ):
        restart("ndb-sql", Questions(OWN, unused=stays), host.run, 180, wait=host.wait)
    assert "stop" not in host.done
    restart("ndb-sql", Questions(OWN, unused=stays), host.run, 180, degraded=True, wait=host.wait)
    assert "restart" in host.done


def test_one_that_cannot_be_asked_who_works_with_it_is_mended_by_its_restart() -> None:
    """As after a wrong address to listen at, which the first run wrote and the second one takes back."""

    class Mended(Host):
        def run(self, command: Sequence[str]) -> tuple[int, str, str]:
            if command[1] == "restart":
                self.down.clear()
            return super().run(command)

    def refuses() -> None:
        raise NoAnswer("ndb_sql at one:3306 did not answer.")

    host = Mended(down=["one"])
    asked = Questions(SQL, [at(SQL, "two:3306")], unused=refuses)
    assert not restart("ndb-sql", asked, host.run, 180, wait=host.wait).started


class Drained:
    """What a drain is asked for, in the order of what is done on the host."""

    def __init__(self, host: Host, leaves: bool = True) -> None:
        self.host = host
        self.leaves = leaves

    def leave(self) -> bool:
        self.host.done.append("leave")
        return self.leaves

    def wait(self) -> None:
        self.host.done.append("wait")

    def stopping(self) -> None:
        self.host.done.append("stopping")

    def stopped(self) -> None:
        self.host.done.append("stopped")


ENDING = ["wait", "restart", "stopping", "start", "stopped", "one 180"]


def test_what_it_runs_is_waited_for_before_the_restart_and_what_is_left_is_cleared_up() -> None:
    host = Host()
    restart("hive-server2", Questions(OWN, drain=Drained(host)), host.run, 180, wait=host.wait)
    assert host.done[3:] == ENDING


def test_where_there_are_others_clients_are_sent_there_first() -> None:
    host = Host()
    restart("hive-server2", Questions(OWN, OTHERS[:1], drain=Drained(host)), host.run, 180, wait=host.wait)
    assert host.done[3:] == [f"two {OTHERS_TIMEOUT:g}", "leave", *ENDING]


def test_where_another_one_may_be_down_clients_are_still_sent_to_this_one() -> None:
    host = Host(down=["two"])
    asked = Questions(OWN, OTHERS[:1], drain=Drained(host))
    restart("hive-server2", asked, host.run, 180, degraded=True, wait=host.wait)
    assert host.done[3:] == ENDING


@pytest.mark.parametrize(("leaves", "restarted"), [(True, True), (False, False)])
def test_another_one_that_goes_down_meanwhile_is_seen_while_clients_are_sent_here(
    leaves: bool, restarted: bool
) -> None:
    """One that has left the discovery comes back there by its restart alone."""

    class Falling(Drained):
        def wait(self) -> None:
            self.host.down.add("two")

    host = Host()
    asked = Questions(OWN, OTHERS[:1], drain=Falling(host, leaves))
    with nullcontext() if restarted else pytest.raises(RollError, match="another replica is down"):
        restart("hive-server2", asked, host.run, 180, wait=host.wait)
    assert ("restart" in host.done) == restarted


def test_what_is_left_is_cleared_up_although_it_does_not_come_back() -> None:
    host = Host(down=["one"])
    with pytest.raises(RollError, match="did not come back"):
        restart("hive-server2", Questions(OWN, drain=Drained(host)), host.run, 180, wait=host.wait)
    assert "stopped" in host.done
