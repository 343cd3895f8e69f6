"""Rules on a host: loaded on trial, kept once a new connection has come through, and put back by the host itself if not."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hopshive.services.firewall.rules import REPLACE, TABLE, Connection, version_of

GUARD = "hopshive-firewall-rollback"
_SYSTEMD = Path("/run/systemd/system")
_PARENTS = 32


class FirewallError(Exception):
    """Why rules were not loaded, as a sentence for the operator."""


@dataclass(frozen=True)
class Firewall:
    """The firewall of this host.

    `path`: the file that is loaded when the host starts. `runtime`: a directory that is empty after the host starts,
    so that rules on trial do not survive it.
    """

    path: Path
    runtime: Path

    @property
    def pending(self) -> Path:
        """The rules on trial."""
        return self.runtime / "pending.nft"

    @property
    def former(self) -> Path:
        """What brings the rules back that were loaded before the trial."""
        return self.runtime / "former.nft"

    @property
    def guard(self) -> Path:
        """The number of the process that waits for the end of a trial, on a host without systemd."""
        return self.runtime / "guard.pid"

    def kept(self) -> str:
        """The text of the file; empty without one."""
        return self.path.read_text() if self.path.is_file() else ""

    def differs(self, text: str) -> bool:
        """Whether the file or the loaded rules are others than these."""
        return self.kept() != text or loaded() != version_of(text)

    def check(self, text: str) -> None:
        """Raise FirewallError unless the host's nft and kernel accept the text. Loads nothing."""
        nft("--check", "-f", "-", text=text)

    def try_out(self, text: str, seconds: int) -> None:
        """Load the rules. The host loads the former ones again after so many seconds, unless `keep` comes first."""
        self.check(text)
        self.runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
        disarm(self)
        self.former.write_text(REPLACE + listed())
        self.pending.write_text(text)
        arm(self, seconds)
        nft("-f", str(self.pending))

    def keep(self) -> None:
        """End the trial, and write the file from which the host loads the rules when it starts."""
        disarm(self)
        text = self.pending.read_text() if self.pending.is_file() else ""
        if not text or loaded() != version_of(text):
            raise FirewallError(
                "The trial of the firewall's rules had ended before Ansible came back, and the former rules are loaded:"
                " run the playbook again, with a larger cluster_firewall_rollback if the host is slow"
            )
        self.path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        beside = self.path.with_name(f".{self.path.name}.new")
        beside.write_text(text)
        beside.chmod(0o644)
        beside.replace(self.path)
        self.clear()

    def on_trial(self) -> bool:
        """Whether rules are loaded that may be put back."""
        text = self.pending.read_text() if self.pending.is_file() else ""
        return bool(text) and loaded() == version_of(text)

    def remove(self, dry: bool) -> bool:
        """Remove table, file and trial; return whether there was any. `dry`: only tell."""
        there = self.path.is_file() or self.pending.is_file() or bool(listed())
        if there and not dry:
            disarm(self)
            nft("-f", "-", text=REPLACE)
            self.path.unlink(missing_ok=True)
            self.clear()
        return there

    def clear(self) -> None:
        """Remove what a trial has left."""
        for path in (self.pending, self.former, self.guard):
            path.unlink(missing_ok=True)


def nft(*arguments: str, text: str | None = None) -> str:
    """What nft prints. Raises FirewallError with what it says."""
    try:
        done = subprocess.run(["nft", *arguments], input=text, capture_output=True, text=True, check=False, timeout=60)
    except FileNotFoundError:
        raise FirewallError(
            "The host has no command nft: install the package nftables, or set cluster_firewall to false"
        ) from None
    if done.returncode:
        said = " ".join(done.stderr.split()) or f"it ended with {done.returncode}"
        raise FirewallError(f"nft refused the firewall's rules, and the former ones stay: {said}")
    return done.stdout


def listed() -> str:
    """The loaded table as nft lists it; empty if it is not loaded."""
    tables = nft("list", "tables").splitlines()
    return nft("list", "table", *TABLE.split()) if f"table {TABLE}" in tables else ""


def loaded() -> str:
    """The digest of the loaded rules; empty if none are."""
    return version_of(listed())


def guard_command(former: Path, seconds: int) -> list[str]:
    """The timer of systemd that loads the former rules. It outlives the connection of Ansible, and all its processes."""
    return [
        *("systemd-run", f"--unit={GUARD}", f"--on-active={seconds}s", "--timer-property=AccuracySec=100ms"),
        *("--collect", "--quiet", "nft", "-f", str(former)),
    ]


def arm(firewall: Firewall, seconds: int) -> None:
    """Let the host load the former rules after so many seconds."""
    if _SYSTEMD.is_dir():
        done = subprocess.run(guard_command(firewall.former, seconds), capture_output=True, text=True, check=False)
        if done.returncode:
            raise FirewallError(f"The host has no guard for the trial, and nothing was loaded: {done.stderr.strip()}")
        return
    script = 'sleep "$1"; exec nft -f "$2"'
    process = subprocess.Popen(
        ["/bin/sh", "-c", script, "sh", str(seconds), str(firewall.former)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
    firewall.guard.write_text(str(process.pid))


def disarm(firewall: Firewall) -> None:
    """Stop the guard of a trial, if there is one."""
    if _SYSTEMD.is_dir():
        subprocess.run(["systemctl", "stop", f"{GUARD}.timer"], capture_output=True, check=False)
        subprocess.run(["systemctl", "reset-failed", f"{GUARD}.service"], capture_output=True, check=False)
    if not firewall.guard.is_file():
        return
    number = int(firewall.guard.read_text())
    with contextlib.suppress(OSError):
        if str(firewall.former).encode() in Path(f"/proc/{number}/cmdline").read_bytes():
            # Its session is its own: the shell, and the sleep that it waits for.
            os.killpg(number, signal.SIGKILL)
    firewall.guard.unlink(missing_ok=True)


def ssh_connection(pid: int = 0, proc: Path = Path("/proc")) -> Connection | None:
    """The SSH connection that this process came by; None if it came by another way.

    sudo takes the variable SSH_CONNECTION out of the environment, so that of the processes above counts too.
    """
    number = pid or os.getpid()
    for _ in range(_PARENTS):
        try:
            variables = (proc / str(number) / "environ").read_bytes().split(b"\0")
            status = (proc / str(number) / "status").read_text()
        except OSError:
            return None
        for variable in variables:
            if variable.startswith(b"SSH_CONNECTION="):
                parts = variable.decode(errors="replace").partition("=")[2].split()
                if len(parts) == 4 and parts[3].isdigit():
                    return Connection(parts[0].partition("%")[0].removeprefix("::ffff:"), int(parts[3]))
        number = int(status.partition("\nPPid:")[2].split()[0])
        if number <= 1:
            return None
    return None
