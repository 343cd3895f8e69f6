"""Health is an answer: ask a service something that it can only answer when it does its work, in its own protocol.

Standard library only, and no JVM (the database's answer needs PyMySQL). Each `ask_*` asks once and returns what it
learnt, raises `NoAnswer` when asking again may help, and `WrongAnswer` when only an operator can. `wait_for` repeats.
"""

from hopshive.services.health.answer import ATTEMPT_TIMEOUT, Answer, NoAnswer, Target, WrongAnswer, at
from hopshive.services.health.hadoop import ask_resourcemanager, bean
from hopshive.services.health.hive import call_metastore, metastore_start
from hopshive.services.health.http import fetch, fetch_json
from hopshive.services.health.questions import QUESTIONS, wait_for
from hopshive.services.health.sql import wait_unused

__all__ = [
    "ATTEMPT_TIMEOUT",
    "QUESTIONS",
    "Answer",
    "NoAnswer",
    "Target",
    "WrongAnswer",
    "ask_resourcemanager",
    "at",
    "bean",
    "call_metastore",
    "fetch",
    "fetch_json",
    "metastore_start",
    "wait_for",
    "wait_unused",
]
