# SPDX-License-Identifier: GPL-2.0-or-later
"""What `make test` runs beside what: three processes share the processors.

Tests that only compute run in one lane, in what the others leave. Those with QEMU run in two, a
file at a time, since a guest that waits leaves a processor to another. Tests that measure time say
so by the mark `alone`: no test of the other lane with QEMU runs beside them.
"""

import contextlib
import fcntl
import os
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

HOST = "host"  # the lane that only computes
QEMU_LANES = 2

# Files whose tests take minutes, the longest first.
LONG = ("test_faults", "test_backends", "test_sriov", "test_strangers", "test_switchdev",
        "test_switch_tunnels", "test_verbs", "test_eth_stress", "test_xdp", "test_interop",
        "kselftest/")


def scope(nodeid: str) -> str:
    """What stays together: a file of tests with QEMU, or all that only compute."""
    file = nodeid.split("::")[0]
    return file if file.split("/")[0] in ("kselftest", "qtest", "vm") else HOST


class Lanes(LoadScopeScheduling):
    """Hands out scopes: the host's to one process, which gets nothing else then."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)

    def _assign_work_unit(self, node) -> None:
        others = [work for other, work in self.assigned_work.items() if other is not node and work]
        full = sum(HOST not in work for work in others) >= QEMU_LANES
        leave = self.numnodes > 1 and (full or HOST in self.assigned_work[node])
        if leave and HOST not in self.workqueue:
            node.shutdown()
        else:
            super()._assign_work_unit(node)


@contextlib.contextmanager
def turn(folder: Path, alone: bool):
    """Lets one in, or all who are not alone. Who waits to be alone is not overtaken."""
    folder.mkdir(parents=True, exist_ok=True)
    with (open(folder / "door", "w", encoding="ascii") as door,
          open(folder / "room", "w", encoding="ascii") as room):
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        yield


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return Lanes(config, log)


def pytest_collection_modifyitems(items):
    """What only computes comes first, so that it has a process from the start; then what takes
    long, so that it does not come last in one lane while the other has nothing left."""
    def rank(item) -> int:
        file = scope(item.nodeid)
        if file == HOST:
            return -1
        return next((place for place, name in enumerate(LONG) if name in file), len(LONG))
    items.sort(key=rank)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """One of several processes waits for its turn; the one without QEMU gives way to all others."""
    if os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1") == "1":
        yield
    elif scope(item.nodeid) == HOST:
        os.setpriority(os.PRIO_PROCESS, 0, 19)
        yield
    else:
        alone = item.get_closest_marker("alone") is not None
        with turn(item.config.rootpath.parent / "build/lanes", alone):
            yield
