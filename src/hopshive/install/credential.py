"""Aliases in a Hadoop credential store (JCEKS on a local disk), as the metastore's database password.

`hadoop credential` is asked on a pseudo-terminal, where it prompts, so the secret is on no command line and in no
environment. Each call starts a JVM. So a record beside the store says whether the store is as wanted: it holds a
salted scrypt digest of each secret and the SHA-256 of its store. A store that another program changed has no valid record.

A change is made to a copy in a directory of mode 0700 beside the store, and renamed over it with its owner and mode set.
"""

from __future__ import annotations

import contextlib
import grp
import json
import os
import pty
import pwd
import re
import select
import signal
import subprocess
import tempfile
import termios
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopshive.install.credential_store import (
    Attributes,
    CredentialError,
    Record,
    Store,
    attributes_of,
    checksum_path,
    differing,
    read_record,
    sha256,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


# Hadoop 3.3.6, CredentialShell: "Enter alias password: ", then "Enter alias password again: ".
_PROMPT = re.compile(rb"password(?: again)?: ?$")
_TIMEOUT = 60.0


@dataclass(frozen=True)
class Shell:
    """The command that runs org.apache.hadoop.security.alias.CredentialShell."""

    command: Sequence[str]
    timeout: float = _TIMEOUT

    def create(self, provider: str, alias: str, secret: str) -> None:
        """Add an alias that is not there. Raises CredentialError."""
        self._must(["create", alias, "-provider", provider], secret)

    def delete(self, provider: str, alias: str) -> None:
        """Remove an alias that is there. Raises CredentialError."""
        self._must(["delete", alias, "-f", "-provider", provider])

    def aliases(self, provider: str) -> set[str]:
        """The aliases of a store. Hadoop writes them in lower case, as the key store does."""
        output = self._must(["list", "-provider", provider])
        _, _, listed = output.partition(provider)
        return {line.strip() for line in listed.splitlines() if line.strip()}

    def holds(self, provider: str, alias: str, secret: str) -> bool:
        """Whether an alias that is there has this secret."""
        _, output = self._run(["check", alias, "-provider", provider], secret)
        return "Password match success" in output

    def _must(self, arguments: list[str], secret: str | None = None) -> str:
        code, output = self._run(arguments, secret)
        if code:
            lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("log4j:")]
            said = " | ".join(lines[-5:]) or "no output"
            raise CredentialError(f"{self._shown(arguments)} failed ({code}): {said}")
        return output

    def _shown(self, arguments: list[str]) -> str:
        return f"hadoop credential {' '.join(arguments[:2])}"

    def _run(self, arguments: list[str], secret: str | None = None) -> tuple[int, str]:
        """Run it on a pseudo-terminal, answer each prompt with the secret, and return the output without the secret."""
        ours, theirs = pty.openpty()
        modes = termios.tcgetattr(theirs)
        modes[3] &= ~termios.ECHO
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        try:
            process = subprocess.Popen(
                [*self.command, *arguments],
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
                start_new_session=True,
                umask=0o077,
            )
        except OSError as error:
            os.close(ours)
            raise CredentialError(f"{self.command[0]} cannot be run: {error.strerror}. Install Hadoop first.") from None
        finally:
            os.close(theirs)
        try:
            output = self._converse(process, ours, secret, self._shown(arguments))
        finally:
            os.close(ours)
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        text = output.decode(errors="replace").replace("\r\n", "\n")
        return process.returncode, text.replace(secret, "********") if secret else text

    def _converse(self, process: subprocess.Popen[bytes], terminal: int, secret: str | None, shown: str) -> bytes:
        output, answered = b"", 0
        deadline = time.monotonic() + self.timeout
        while True:
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([terminal], [], [], left)[0]
            if not ready:
                raise CredentialError(f"{shown} did not end within {self.timeout:.0f} s.")
            try:
                part = os.read(terminal, 65536)
            except OSError:  # Linux: the other side, the last process on this terminal, has closed it
                part = b""
            if not part:
                process.wait()
                return output
            output += part
            if _PROMPT.search(output[answered:]):
                if secret is None:
                    raise CredentialError(f"{shown} asks for a password, which was not expected.")
                os.write(terminal, secret.encode() + b"\n")
                answered = len(output)


@dataclass(frozen=True)
class Change:
    """What was or would be changed: the alias, and the store's owner, group or mode."""

    content: bool
    attributes: bool

    @property
    def changed(self) -> bool:
        """Whether the alias or an attribute was or would be changed."""
        return self.content or self.attributes


def ensure(
    store: Store,
    shell: Shell,
    alias: str,
    secret: str | None,
    attributes: Attributes,
    *,
    dry: bool = False,
) -> Change:
    """Bring an alias to a secret, or to absence if that is None, and the store to its attributes. Raises CredentialError.

    With `dry`, tells what would change. The JVM is started only if the record does not tell enough.
    """
    if secret is not None and (not secret or any(ord(char) < 32 or ord(char) == 127 for char in secret)):
        raise CredentialError(f"The secret for {alias} is empty or has a control character, which no prompt takes.")
    path = store.path
    if not path.parent.is_dir():
        if dry:
            return Change(content=secret is not None, attributes=False)
        raise CredentialError(f"{path.parent}, the directory of the credential store, is not there. Make it first.")
    try:
        record = read_record(store)
        present, content = _look(store, shell, record, alias, secret)
        change = Change(content, path.exists() and differing(attributes, attributes_of(path)))
        if dry:
            return change
        if content:
            _rewrite(store, shell, record, alias, secret, attributes, delete=present)
        elif change.attributes:
            _set_attributes(path, attributes)
            if checksum_path(path).exists():
                _set_attributes(checksum_path(path), attributes)
        if path.exists() and read_record(store) != record:
            _write_record(store, record)
    except OSError as error:
        raise CredentialError(
            f"The credential store {path} cannot be changed: {error.filename or path}: {error.strerror}."
        ) from None
    return change


def _look(store: Store, shell: Shell, record: Record, alias: str, secret: str | None) -> tuple[bool, bool]:
    """Whether the alias is there, and whether it has to be written or removed.

    What the JVM says of a store without a record is put in it.
    """
    if not store.path.exists():
        return False, secret is not None
    if alias in record.aliases:
        return True, secret is None or not record.holds(alias, secret)
    there = alias.lower() in {name.lower() for name in shell.aliases(store.provider)}
    if secret is None:
        return there, there
    if not there or not shell.holds(store.provider, alias, secret):
        return there, True
    if not record.store:
        record.store = sha256(store.path)
    record.remember(alias, secret)
    return True, False


def _rewrite(
    store: Store,
    shell: Shell,
    record: Record,
    alias: str,
    secret: str | None,
    wanted: Attributes,
    *,
    delete: bool,
) -> None:
    path = store.path
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as private:
        copy = Path(private) / path.name
        before = Attributes(mode=0o600)
        if path.exists():
            before = attributes_of(path)
            for source in (path, checksum_path(path)):
                if source.exists():
                    with _private(copy.with_name(source.name)) as target:
                        target.write(source.read_bytes())
        if delete:
            shell.delete(store.at(copy), alias)
        if secret is not None:
            shell.create(store.at(copy), alias, secret)
        final = Attributes(
            wanted.owner or before.owner,
            wanted.group or before.group,
            before.mode if wanted.mode is None else wanted.mode,
        )
        record.store = sha256(copy)
        record.aliases.pop(alias, None)
        if secret is not None:
            record.remember(alias, secret)
        for source in (checksum_path(copy), copy):
            target_path = path.with_name(source.name)
            if source.exists():
                _set_attributes(source, final)
                source.rename(target_path)
            else:
                target_path.unlink(missing_ok=True)


def _set_attributes(path: Path, wanted: Attributes) -> None:
    try:
        uid = -1 if wanted.owner is None else _uid(wanted.owner)
        gid = -1 if wanted.group is None else _gid(wanted.group)
    except KeyError:
        raise CredentialError(
            f"The user {wanted.owner} or the group {wanted.group} is not on this host. The role common makes them."
        ) from None
    os.chown(path, uid, gid)
    if wanted.mode is not None:
        path.chmod(wanted.mode)


def _uid(owner: str) -> int:
    return int(owner) if owner.isdigit() else pwd.getpwnam(owner).pw_uid


def _gid(group: str) -> int:
    return int(group) if group.isdigit() else grp.getgrnam(group).gr_gid


@contextlib.contextmanager
def _private(path: Path) -> Iterator[Any]:
    """A new file that no other user could read at any time."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


def _write_record(store: Store, record: Record) -> None:
    partial = store.record_path.with_name(f"{store.record_path.name}.partial")
    partial.unlink(missing_ok=True)
    with _private(partial) as stream:
        stream.write(json.dumps({"store": record.store, "aliases": record.aliases}, indent=1).encode())
    partial.rename(store.record_path)
