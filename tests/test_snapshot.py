# SPDX-License-Identifier: GPL-2.0-or-later
"""The store of guests that were booted once, without a guest."""

import os

import pytest
from verna_vm import snapshot

NAME = "0123456789ab"


def maker(calls: list):
    def make(folder):
        calls.append(folder)
        (folder / "ram").write_text("memory")
    return make


def test_it_is_made_once(tmp_path):
    calls = []
    for _ in range(2):
        folder = snapshot.find(tmp_path, NAME, maker(calls))
        assert (folder / "ram").read_text() == "memory"
    assert len(calls) == 1


def test_what_failed_leaves_nothing(tmp_path):
    def fail(folder):
        (folder / "ram").touch()
        raise TimeoutError("did not boot")
    with pytest.raises(TimeoutError):
        snapshot.find(tmp_path, NAME, fail)
    assert not list(tmp_path.glob(f"{NAME}*"))
    assert snapshot.find(tmp_path, NAME, maker([])).is_dir()


def test_what_a_killed_process_left_is_not_trusted(tmp_path):
    (tmp_path / f"{NAME}.tmp").mkdir()
    (tmp_path / f"{NAME}.tmp" / "state").touch()
    assert not (snapshot.find(tmp_path, NAME, maker([])) / "state").exists()


def test_the_oldest_go(tmp_path):
    names = [f"{number:012x}" for number in range(snapshot.KEEP + 3)]
    for age, name in enumerate(names):
        folder = snapshot.find(tmp_path, name, maker([]))
        os.utime(folder, (1000 + age, 1000 + age))
    snapshot.prune(tmp_path)
    assert sorted(path.name for path in tmp_path.glob(snapshot.NAME)) == names[3:]
    assert (tmp_path / "locks").is_dir()


def test_another_command_or_qemu_is_another_snapshot(tmp_path):
    qemu = tmp_path / "qemu"
    qemu.write_text("one")
    key = snapshot.key(["-m", "1G"], qemu)
    assert key == snapshot.key(["-m", "1G"], qemu)
    assert key != snapshot.key(["-m", "2G"], qemu)
    qemu.write_text("other")
    assert key != snapshot.key(["-m", "1G"], qemu)
