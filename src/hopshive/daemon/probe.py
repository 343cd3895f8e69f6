"""Asks the NameNode now and then, in a thread of its own: a standby has no work that would notice a NameNode that is away."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from hopshive.hdfs.namenode import NameNodeError

if TYPE_CHECKING:
    from hopshive.daemon.health import Contact
    from hopshive.hdfs.namenode import NameNode

# Seconds between two questions.
INTERVAL = 5.0


class NameNodeProbe:
    """Tells a contact whether the active NameNode answers, until `stop`. The timeout of `namenode` bounds each question."""

    def __init__(self, namenode: NameNode, contact: Contact) -> None:
        self._namenode = namenode
        self._contact = contact
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="probe", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the question that is under way; does not wait for that."""
        self._stopping.set()

    def _run(self) -> None:
        with self._namenode as namenode:
            while not self._stopping.is_set():
                try:
                    # Of the questions that a standby refuses, one that leaves no line in the audit log of HDFS.
                    namenode.trash_interval()
                except NameNodeError as error:
                    self._contact.failed(str(error))
                else:
                    self._contact.reached()
                self._stopping.wait(INTERVAL)
