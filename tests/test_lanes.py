# SPDX-License-Identifier: GPL-2.0-or-later
"""What `make test` runs beside what, by tests that write down when they began and ended."""

import fcntl
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import lanes
import pytest

MODULE = """
import os, time
import pytest

@pytest.mark.parametrize("number", range({count}))
{mark}def test_it(number):
    began = time.monotonic()
    time.sleep({seconds})
    with open({log!r}, "a") as out:
        print("{name}", os.getpid(), os.nice(0), began, time.monotonic(), file=out)
"""
ALONE = "@pytest.mark.alone\n"


def run(folder: Path, modules: dict, processes: int) -> list[tuple]:
    """Runs modules `{path: (tests, mark)}`; returns name, process, niceness, begin and end."""
    root = folder / "tests"
    for name, (count, mark) in modules.items():
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MODULE.format(count=count, mark=mark, seconds=0.1, log=str(folder / "log"),
                                      name=name))
    (root / "pytest.ini").write_text("[pytest]\nmarkers =\n    alone\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "lanes", "-n", str(processes)],
                          cwd=root, capture_output=True, text=True, timeout=100, check=False,
                          env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)})
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in (folder / "log").read_text().splitlines()]
    assert len(rows) == sum(count for count, _ in modules.values())
    return [(name, pid, int(nice), float(began), float(ended))
            for name, pid, nice, began, ended in rows]


def most_at_once(rows) -> int:
    return max(sum(other[3] <= row[3] < other[4] for other in rows) for row in rows)


MODULES = {"vm/test_a": (4, ""), "vm/test_b": (4, ""), "vm/test_c": (4, ALONE),
           "qtest/test_d": (4, ""), "test_e": (5, ""), "unit/test_f": (5, "")}


@pytest.mark.parametrize("processes", [1, 2, 3, 4])
def test_lanes(tmp_path, processes):
    rows = run(tmp_path, MODULES, processes)
    host = [row for row in rows if lanes.scope(f"{row[0]}.py") == lanes.HOST]
    guests = [row for row in rows if row not in host]
    assert len(host) == 10 and len({row[1] for row in host}) == 1
    assert most_at_once(guests) <= min(lanes.QEMU_LANES, max(1, processes - 1))
    for name in MODULES:
        assert len({row[1] for row in rows if row[0] == name}) == 1, "a file stays together"
    if processes > 1:
        assert {row[2] for row in host} == {19}
        assert not {row[1] for row in host} & {row[1] for row in guests}
    for row in guests:
        if "test_c" in row[0]:
            assert sum(other[3] < row[4] and row[3] < other[4] for other in guests) == 1


def test_without_the_host_lane(tmp_path):
    rows = run(tmp_path, {f"vm/test_{n}": (4, "") for n in "abcd"}, 3)
    assert len({row[1] for row in rows}) == lanes.QEMU_LANES
    assert most_at_once(rows) <= lanes.QEMU_LANES


def test_who_waits_to_be_alone_is_not_overtaken(tmp_path):
    order, leave = [], threading.Event()

    def enter(name, alone):
        with lanes.turn(tmp_path, alone):
            order.append(name)
            leave.wait()

    def start(name, alone, ready):
        threads.append(threading.Thread(target=enter, args=(name, alone)))
        threads[-1].start()
        while not ready():
            time.sleep(0.01)

    threads = []
    start("first", False, lambda: order)
    start("alone", True, lambda: held(tmp_path / "door"))
    start("late", False, lambda: True)
    leave.set()
    for thread in threads:
        thread.join()
    assert order == ["first", "alone", "late"]


def held(path: Path) -> bool:
    with open(path, "w", encoding="ascii") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
