# SPDX-License-Identifier: GPL-2.0-or-later
"""The content-keyed cache in which every built thing lives, outside of the checkout.

An artefact is a directory `<kind>-<key>`, where the key is a hash of everything that went into
it. It is made under a temporary name and renamed when it is whole, so that a set-up that was
killed leaves nothing that a later run would trust. A *tree* is a build directory which remembers
its own path and is kept for incremental builds; it can't be renamed and carries a stamp instead.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
import threading
import time
from pathlib import Path

from .log import Log, SetupError, say

REPO = Path(__file__).resolve().parents[3]
CHECKOUT = hashlib.sha256(str(REPO).encode()).hexdigest()[:8]  # its name in the cache
STAMP = ".verna-complete"
HEX = "[0-9a-f]" * 12  # a key, as a pattern
KEEP = 4  # artefacts of one kind that stay: a few branches' worth


def cache_root() -> Path:
    """Where built things are kept; an override must be absolute, as build trees record it."""
    override = os.environ.get("VERNA_CACHE")
    if override:
        return Path(override).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base).absolute() / "verna"


def hash_tree(path: Path, digest) -> None:
    """Adds names, contents and executable bits of all files below `path` to the digest."""
    if path.is_file():
        digest.update(b"x" if os.access(path, os.X_OK) else b"-")
        digest.update(path.read_bytes())
        return
    for folder, dirs, files in os.walk(path, followlinks=True):
        dirs[:] = sorted(d for d in dirs if d not in ("__pycache__", "build"))
        for name in sorted(files):
            file = Path(folder, name)
            if not file.exists():
                continue  # a dangling symbolic link, or an editor's lock
            digest.update(str(file.relative_to(path)).encode() + b"\0")
            hash_tree(file, digest)


def key_of(*parts: str | Path) -> str:
    """A short key for a list of texts and paths; a path stands for all that is below it."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"\1")
        if isinstance(part, Path):
            hash_tree(part, digest)
        else:
            digest.update(part.encode())
    return digest.hexdigest()[:12]


def build_lock(name: str):
    """Lets one set-up at a time work in a build folder of this checkout."""
    return lock(f"{name}-build-{CHECKOUT}")


@contextlib.contextmanager
def lock(name: str):
    """Lets one set-up at a time build things of one name; others wait and then find them built."""
    folder = cache_root() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / name, "w", encoding="ascii") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{name}: another set-up is building it; waiting")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


RUNNING: list[str] = []  # the steps under way; the last one tells how far it is


@contextlib.contextmanager
def progress(kind: str, seconds: float, log: Log):
    """Says now and then how far a long step is, by the clock: its tools do not tell."""
    start = time.monotonic()
    done = threading.Event()
    interactive = sys.stderr.isatty()

    def report():
        while not done.wait(5 if interactive else 20):
            if RUNNING[-1] != kind:
                continue
            spent = time.monotonic() - start
            say(f"{kind}: {spent:.0f} s of about {seconds:.0f} s; {log.last_line()}")

    if seconds >= 10:
        say(f"{kind}: building, about {seconds:.0f} s (log: {log.path})")
    RUNNING.append(kind)
    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
        spent = time.monotonic() - start
        if spent >= 2:
            say(f"{kind}: done in {spent:.0f} s")
    finally:
        done.set()
        thread.join()
        RUNNING.remove(kind)


def prune(kind: str, keep: Path) -> None:
    """Drops the oldest artefacts of a kind, so that the cache does not grow for ever."""
    # The newest one's age protects a concurrent run in another checkout that just made it.
    found = sorted(cache_root().glob(f"{kind}-{HEX}"), key=lambda p: p.stat().st_mtime)
    for old in found[:-KEEP]:
        if old != keep and time.time() - old.stat().st_mtime > 3600:
            remove(old)


def remove(path: Path) -> None:
    """Removes a directory so that it vanishes from its name at once, even if this is killed."""
    trash = cache_root() / "tmp" / f"trash-{path.name}.{os.getpid()}"
    trash.parent.mkdir(parents=True, exist_ok=True)
    path.rename(trash)
    shutil.rmtree(trash, ignore_errors=True)


def sweep(name: str) -> None:
    """Clears what killed set-ups left. Whoever holds an artefact's lock is the only one at work
    on it; what others left is theirs, or nobody's after a day."""
    folder = cache_root() / "tmp"
    yesterday = time.time() - 86400
    aged = [path for path in folder.glob(f"*-{HEX}.*") if path.lstat().st_mtime < yesterday]
    for left in [*folder.glob(f"{name}.*"), *folder.glob("trash-*"), *aged]:
        shutil.rmtree(left, ignore_errors=True)
        if left.is_file():
            left.unlink(missing_ok=True)


def artefact(kind: str, parts: list[str | Path], recipe, seconds: float) -> Path:
    """The directory of an artefact made from `parts`; `recipe(folder, log)` fills it if the cache
    has none. `seconds` is what to tell the person who waits."""
    while True:
        key = key_of(*parts)
        path = cache_root() / f"{kind}-{key}"
        if path.is_dir():
            os.utime(path)
            return path
        with lock(path.name):
            if not path.is_dir():
                sweep(path.name)
                make(path, lambda: key_of(*parts) == key, recipe, seconds)
                with lock(kind):
                    prune(kind, path)


def make(path: Path, unchanged, recipe, seconds: float) -> None:
    """Fills an artefact under a temporary name. If its sources changed meanwhile, nobody knows
    what it is made of: it is dropped, and the caller starts over with the new key."""
    work = cache_root() / "tmp" / f"{path.name}.{os.getpid()}"
    work.mkdir(parents=True)
    log = Log.for_step(cache_root(), path.name)
    try:
        with progress(path.name.rpartition("-")[0], seconds, log):
            recipe(work, log)
        if unchanged():
            work.rename(path)
        else:
            say(f"{path.name}: its sources changed while it was built; starting over")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def tree(kind: str, key: str, recipe, seconds: float) -> Path:
    """Like artefact(), for a build tree that records its own path. Hold lock(kind) around it."""
    path = cache_root() / f"{kind}-{key}"
    if (path / STAMP).exists():
        os.utime(path)
        return path
    if path.exists():
        say(f"{kind}: an earlier set-up was interrupted; starting over")
        remove(path)
    path.mkdir(parents=True)
    log = Log.for_step(cache_root(), f"{kind}-{key}")
    with progress(kind, seconds, log):
        recipe(path, log)
    (path / STAMP).touch()
    prune(kind, path)
    return path


@contextlib.contextmanager
def at_work(folder: Path):
    """Around a build by make, which trusts any file that is newer than its source, even a part.
    If an earlier run was killed in the folder, its products go first. ninja needs no such care:
    it also asks its log whether the command that made a file came to its end."""
    mark = folder / ".verna-at-work"
    if mark.exists():
        say(f"{folder.name}: an earlier build was interrupted; starting over")
        remove(folder)
    folder.mkdir(parents=True, exist_ok=True)
    mark.touch()
    try:
        yield
    except SetupError:  # make itself said so, and took away what it had not finished
        mark.unlink()
        raise
    mark.unlink()


def sync(source: Path, target: Path, keep=lambda path: False) -> None:
    """Makes the files below `target` equal to those below `source`, links resolved.

    A file of equal content is not touched, so that make and ninja see only real changes;
    `keep(path)` tells which extra files of the target (build products) stay.
    """
    wanted = {}
    for folder, dirs, files in os.walk(source, followlinks=True):
        dirs[:] = [d for d in dirs if d not in ("__pycache__", "build")]
        for name in files:
            file = Path(folder, name)
            if file.exists():
                wanted[file.relative_to(source)] = file
    for folder, _, files in os.walk(target):
        for name in files:
            path = Path(folder, name).relative_to(target)
            if path not in wanted and not keep(path):
                (target / path).unlink()
    for name, file in wanted.items():
        copy_if_changed(file, target / name)


def copy_if_changed(source: Path, target: Path) -> None:
    """Copies a file unless the target has the same bytes already; never half of it."""
    data = source.read_bytes()
    if target.is_file() and not target.is_symlink() and target.read_bytes() == data:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    part.write_bytes(data)
    shutil.copymode(source, part)
    part.rename(target)
