# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots done once: a guest is saved when it is up, and others of the same make go on from there.

Under TCG a boot is most of what a short test costs. What is saved has no card and no NIC; those are
plugged in before the guest goes on, so its drivers find, probe and name them as ever. All guests
map the saved memory privately, so nothing is copied that nobody writes.

A snapshot holds for one boot of the host and for exactly what it was made of: its name is a hash of
QEMU, of its command line and with it of the images, whose names have hashes of what is in them.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import time
from pathlib import Path

from .qmp import Qmp, QmpError

KEEP = 12  # snapshots that stay; each has what a booted guest has touched, some 300 MB
NAME = "[0-9a-f]" * 12  # of a snapshot, as a pattern
LIMIT = 60  # seconds for saving and loading


def key(words: list[str], qemu: Path) -> str:
    """The name of a snapshot that a command line makes."""
    status = qemu.stat()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    text = "\0".join([boot, f"{status.st_size} {status.st_mtime_ns}", *words])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@contextlib.contextmanager
def lock(folder: Path, name: str):
    """Lets one process at a time make a snapshot; others wait and find it made."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / name, "w", encoding="ascii") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def prune(folder: Path) -> None:
    """Drops the oldest ones, and what killed processes left. Guests that run keep what they map."""
    whole = sorted(folder.glob(NAME), key=lambda path: path.stat().st_mtime)
    hour = time.time() - 3600
    left = [path for path in folder.glob(f"{NAME}.tmp") if path.stat().st_mtime < hour]
    for path in [*whole[:-KEEP], *left]:
        shutil.rmtree(path, ignore_errors=True)


def find(store: Path, name: str, make) -> Path:
    """The folder of a snapshot, with the files `ram` and `state`; `make(folder)` makes them."""
    folder = store / name
    with lock(store / "locks", name):
        if not folder.is_dir():
            part = store / f"{name}.tmp"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            try:
                make(part)
                part.rename(folder)
            finally:
                shutil.rmtree(part, ignore_errors=True)
            prune(store)
        os.utime(folder)
    return folder


def memory_arguments(folder: Path | None, size: str, loading: bool) -> list[str]:
    """The guest's memory: its own, or that of the snapshot in the folder, to fill or to begin
    with. Whoever loads it sees it as it was and writes to pages of its own."""
    if not folder:
        return ["-object", f"memory-backend-memfd,id=ram,size={size},share=on"]
    share = "off" if loading else "on"
    words = ["-object", f"memory-backend-file,id=ram,size={size},mem-path={folder / 'ram'},"
             f"share={share}"]
    return [*words, "-S", "-incoming", "defer"] if loading else words


def without_memory(qmp: Qmp) -> None:
    """What QEMU saves and loads from now on is all but memory that is in a file."""
    wish = {"capability": "x-ignore-shared", "state": True}
    qmp.command("migrate-set-capabilities", capabilities=[wish])


def save(qmp: Qmp, folder: Path) -> None:
    """Writes all but the memory, which is in its file already; the guest stands still from now."""
    without_memory(qmp)
    qmp.command("stop")
    qmp.command("migrate", uri=f"file:{folder / 'state'}")
    wait(qmp, "save")


def load(qmp: Qmp, folder: Path) -> None:
    """Loads what save() wrote; the guest still stands."""
    without_memory(qmp)
    qmp.command("migrate-incoming", uri=f"file:{folder / 'state'}")
    wait(qmp, "load")


def wait(qmp: Qmp, verb: str) -> None:
    end = time.monotonic() + LIMIT
    while (found := qmp.command("query-migrate")).get("status") != "completed":
        if found.get("status") == "failed" or time.monotonic() > end:
            raise QmpError(f"QEMU did not {verb} the snapshot: {found}")
        time.sleep(0.01)
