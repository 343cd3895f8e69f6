"""The question for each kind of service, and how to ask until it answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.services.components import COMPONENTS
from hopshive.services.health.answer import ATTEMPT_TIMEOUT, POLL, Answer, Facts, NoAnswer, Target, WrongAnswer
from hopshive.services.health.daemon import ask_cleaner, ask_gateway, ask_login
from hopshive.services.health.hadoop import (
    ask_datanode,
    ask_datanode_leaving,
    ask_journalnode,
    ask_namenode,
    ask_nodemanager,
    ask_nodemanager_leaving,
    ask_resourcemanager,
    ask_zkfc,
    ask_zookeeper,
)
from hopshive.services.health.hive import ask_metastore, ask_server2
from hopshive.services.health.sql import ask_mariadb, ask_ndb_sql

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Question:
    """How to ask a kind of service. `asked`: the question in a message. `unit`: only for a kind that is not a component."""

    ask: Callable[[Target, float], Facts]
    asked: str
    port: int
    unit: str = ""


QUESTIONS: Mapping[str, Question] = {
    "zookeeper": Question(ask_zookeeper, "srvr", 2181),
    "mariadb": Question(ask_mariadb, "SELECT 1", 3306),
    "ndb_sql": Question(ask_ndb_sql, "its data nodes", 3306),
    "journalnode": Question(ask_journalnode, "its state, over JMX", 8480),
    "namenode": Question(ask_namenode, "its state, over JMX", 9870),
    "zkfc": Question(ask_zkfc, "an answer, over RPC", 8019, unit="hadoop-hdfs-zkfc"),
    "datanode": Question(ask_datanode, "its state, over JMX", 9864),
    "datanode_leaving": Question(ask_datanode_leaving, "whether it may leave", 9866),
    "nodemanager_leaving": Question(ask_nodemanager_leaving, "whether it may leave", 8041),
    "resourcemanager": Question(ask_resourcemanager, "/ws/v1/cluster/info", 8088),
    "nodemanager": Question(ask_nodemanager, "/ws/v1/node/info", 8042),
    "metastore": Question(ask_metastore, "get_catalogs, over Thrift", 9083),
    "cleaner": Question(ask_cleaner, "/metrics", 9853),
    "login": Question(ask_login, "/healthz, over HTTPS", 9443),
    "gateway": Question(ask_gateway, "a refusal without a client certificate", 10443),
    "server2": Question(ask_server2, "a session, over Thrift", 10000),
}


def wait_for(
    target: Target,
    timeout: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Answer:
    """Ask until the service answers: at least once, and for at most `timeout` seconds.

    Raises WrongAnswer or NoAnswer with a sentence that has the service, the place, the question, the last error, and
    where to look.
    """
    question = QUESTIONS[target.kind]
    begin = clock()
    attempts = 0
    while True:
        attempts += 1
        left = timeout - (clock() - begin)
        try:
            facts = question.ask(target, min(ATTEMPT_TIMEOUT, max(1.0, left)))
        except NoAnswer as error:
            if clock() - begin + POLL >= timeout:
                raise NoAnswer(failure(target, str(error), clock() - begin, attempts)) from None
        except WrongAnswer as error:
            raise WrongAnswer(
                f"{target.kind} at {target.place} was asked for {question.asked} and said: {error}."
            ) from None
        else:
            return Answer(facts, attempts, round(clock() - begin, 1))
        sleep(POLL)


def failure(target: Target, reason: str, waited: float, attempts: int) -> str:
    """The sentence about a service that did not answer in time."""
    unit = QUESTIONS[target.kind].unit or COMPONENTS[target.kind.removesuffix("_leaving")].unit
    where = target.host if not target.unix_socket else "this host"
    return (
        f"{target.kind} at {target.place} did not answer within {waited:.0f} s ({attempts} tries, asked for "
        f"{QUESTIONS[target.kind].asked}). Last error: {reason}. See journalctl -u {unit} on {where}."
    )
