"""Asks the NameNode regularly, in a thread of its own: a standby has no work that would notice a missing NameNode."""

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
    """Notes in a contact whether the active NameNode answers, until `stop`. `namenode`'s timeout limits each question."""

    def __init__(self, namenode: NameNode, contact: Contact) -> None:
        self._namenode = namenode
        self._contact = contact
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="probe", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end after the current question; does not wait for it."""
        self._stopping.set()

    def _run(self) -> None:
        with self._namenode as namenode:
            while not self._stopping.is_set():
                try:
                    # A standby NameNode refuses this question, and the audit log of HDFS has no line for it.
                    namenode.trash_interval()
                except NameNodeError as error:
                    self._contact.failed(str(error))
                else:
                    self._contact.reached()
                self._stopping.wait(INTERVAL)
