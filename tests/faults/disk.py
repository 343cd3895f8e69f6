"""A disk that runs full: a small one under a directory of a service, which holds what was there, and goes away again.

All hosts of a lab are on the controller's disk, which must not be filled. So the directory becomes a memory file system of
its own while the service is stopped, and what stands in it then is put back while it is stopped again.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.warehouse.hosts import Host
    from tests.warehouse.service import Service

# In bytes: what may be copied to the disk at most, and what is free on it then. Two blocks, and more than a NameNode keeps free.
LARGEST = 512 << 20
ROOM = 256 << 20
# No disk that is mounted here is larger.
SMALL = LARGEST + ROOM

# Of the service's own files only those are left out that it makes again. A failure leaves the directory as it was.
MOUNT = """
set -eu
directory=$1 how=$2 largest=$3 room=$4 aside=$1.aside
if [ -e "$aside" ]; then echo "$aside is there: something was not undone" >&2; exit 1; fi
mv -T "$directory" "$aside"
trap 'umount "$directory" 2>/dev/null; rm -rf "$directory"; mv -T "$aside" "$directory"' EXIT
mkdir "$directory"
mount -t tmpfs -o "size=$largest" tmpfs "$directory"
chown --reference="$aside" "$directory"
chmod --reference="$aside" "$directory"
cp -a $how "$aside/." "$directory/"
find "$directory" '(' -name in_use.lock -o -name dfsUsed ')' -delete
used=$(df --output=used -B1 "$directory" | tail -n 1)
mount -o "remount,size=$((used + room))" "$directory"
trap - EXIT
"""
# A link stands for what was left where it was: that moves to the link's place.
UNMOUNT = """
set -eu
directory=$1 aside=$1.aside kept=$1.kept
[ -e "$aside" ] || exit 0
if mountpoint -q "$directory"; then
  rm -rf "$directory/filler" "$kept"
  cp -a "$directory" "$kept"
  find "$kept" -type l -exec sh -c 'for link; do mv -T -- "$(readlink -- "$link")" "$link"; done' sh '{}' +
  umount "$directory" || umount -l "$directory"
  rm -rf "$directory"
  mv -T "$kept" "$directory"
  rm -rf "$aside"
else
  rm -rf "$directory"
  mv -T "$aside" "$directory"
fi
"""
FILL = """
set -eu
free=$(df --output=avail -B1 "$1" | tail -n 1)
[ "$free" -le "$2" ] || fallocate -l "$((free - $2))" "$1/filler"
"""
# To the last byte.
FILL_UP = 'cat /dev/zero >>"$1/filler" 2>/dev/null || true'


@dataclass(frozen=True)
class Disk:
    """A directory on a host. Its service is stopped while it comes and goes."""

    host: Host
    directory: str

    def mount(self, linked: bool) -> None:
        """Put the small disk in its place. `linked`: files are not copied but linked to, so that only what comes takes space."""
        how = "--symbolic-link" if linked else "--no-dereference"
        self._run(MOUNT, how, str(LARGEST), str(ROOM))

    def unmount(self) -> None:
        """Take it away; the directory has what is on it by then. Does nothing if it is not there."""
        self._run(UNMOUNT)

    def fill(self, left: int = 0) -> None:
        """Leave so many bytes free, or none."""
        if left:
            self._run(FILL, str(left))
        else:
            self._run(FILL_UP)

    def free(self) -> None:
        """Give the space back."""
        self._run('rm -f "$1/filler"')

    def _run(self, script: str, *arguments: str) -> None:
        self.host.run("sh", "-c", script, "sh", self.directory, *arguments)


@contextmanager
def small_disk(
    service: Service, directory: str, answers: Callable[[], object], *, linked: bool = False
) -> Iterator[Disk]:
    """A small disk under a directory of a service, which `answers` waits for; the block's end undoes it, whatever happened."""
    disk = Disk(service.host, directory)
    service.stop()
    try:
        disk.mount(linked)
    finally:
        service.start()
    try:
        answers()
        yield disk
    finally:
        service.stop()
        try:
            disk.unmount()
        finally:
            service.start()
