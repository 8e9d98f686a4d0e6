# SPDX-License-Identifier: GPL-2.0-or-later
"""The set-up's cache: nothing half-built is ever trusted, and one run builds while others wait."""

import os
import signal
import subprocess
import sys
import time

import pytest
from verna_setup import cache
from verna_setup.log import SetupError


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("VERNA_CACHE", str(tmp_path / "cache"))


def fill(work, log):
    (work / "file").write_text("whole")


def fail(work, log):
    (work / "file").write_text("half")
    log.run(["sh", "-c", "echo the reason; exit 3"])


def never(work, log):
    raise AssertionError("built again")


def test_artefact_is_built_once():
    path = cache.artefact("thing", ["zero"], fill, 1)
    assert cache.artefact("thing", ["zero"], never, 1) == path
    assert (path / "file").read_text() == "whole"


def test_failure_is_reported_with_its_log_and_leaves_nothing():
    with pytest.raises(SetupError, match="(?s)status 3.*thing-[0-9a-f]+.log.*the reason"):
        cache.artefact("thing", ["zero"], fail, 1)
    assert list((cache.cache_root() / "tmp").iterdir()) == []
    path = cache.artefact("thing", ["zero"], fill, 1)
    assert (path / "file").read_text() == "whole"


def test_tree_without_its_stamp_starts_over():
    with cache.lock("tree"), pytest.raises(SetupError):
        cache.tree("tree", "1" * 12, fail, 1)
    with cache.lock("tree"):
        path = cache.tree("tree", "1" * 12, fill, 1)
        assert (path / "file").read_text() == "whole"
        assert cache.tree("tree", "1" * 12, never, 1) == path


def test_sources_that_change_during_a_build_are_built_again(tmp_path):
    source = tmp_path / "source"
    source.write_text("old")

    def recipe(work, log):
        (work / "file").write_text(source.read_text())
        source.write_text("new")

    path = cache.artefact("thing", [source], recipe, 1)
    assert (path / "file").read_text() == "new"
    source.write_text("old")
    assert cache.artefact("thing", [source], fill, 1) != path


SLOW = """
import sys, time
from verna_setup import cache
def slow(work, log):
    (work / "file").write_text("half")
    print("started", flush=True)
    log.run(["sleep", sys.argv[1]])
    (work / "file").write_text("whole")
cache.artefact("thing", ["two"], slow, 1)
print("done", flush=True)
"""


def start_slow(repo, seconds):
    return subprocess.Popen([sys.executable, "-c", SLOW, str(seconds)], text=True,
                            stdout=subprocess.PIPE,
                            env=dict(os.environ, PYTHONPATH=str(repo / "tools/setup")))


def test_killed_run_leaves_nothing_that_a_later_one_trusts(repo):
    runner = start_slow(repo, 1000)
    assert runner.stdout.readline() == "started\n"
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    path = cache.artefact("thing", ["two"], fill, 1)
    assert (path / "file").read_text() == "whole"
    assert list((cache.cache_root() / "tmp").iterdir()) == [], "the killed run's folder is left"


def test_products_of_a_killed_make_are_not_trusted():
    folder = cache.cache_root() / "build/make"
    with pytest.raises(KeyboardInterrupt), cache.at_work(folder):
        (folder / "half.o").write_text("half")
        raise KeyboardInterrupt
    with cache.at_work(folder):
        assert not (folder / "half.o").exists()
        (folder / "whole.o").write_text("whole")
    with pytest.raises(SetupError), cache.at_work(folder):
        raise SetupError("make failed")
    with cache.at_work(folder):
        assert (folder / "whole.o").exists()


def test_second_run_waits_for_the_first(repo):
    first = start_slow(repo, 1)
    assert first.stdout.readline() == "started\n"
    start = time.monotonic()
    path = cache.artefact("thing", ["two"], never, 1)
    assert time.monotonic() - start > 0.5
    assert (path / "file").read_text() == "whole"
    assert first.wait() == 0


def test_key_depends_on_names_contents_and_mode(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "a").write_text("1")
    keys = {cache.key_of(folder)}
    (folder / "a").write_text("2")
    keys.add(cache.key_of(folder))
    (folder / "a").chmod(0o755)
    keys.add(cache.key_of(folder))
    (folder / "a").rename(folder / "b")
    keys.add(cache.key_of(folder))
    assert len(keys) == 4
    assert cache.key_of("ab", "c") != cache.key_of("a", "bc")


def test_sync_touches_only_what_differs(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "sub").mkdir(parents=True)
    (source / "same").write_text("same")
    (source / "sub/new").write_text("new")
    target.mkdir()
    (target / "same").write_text("same")
    (target / "stale").write_text("stale")
    (target / "product.o").write_text("product")
    before = (target / "same").stat().st_mtime_ns
    cache.sync(source, target, keep=lambda path: path.suffix == ".o")
    assert sorted(str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()) == \
        ["product.o", "same", "sub/new"]
    assert (target / "same").stat().st_mtime_ns == before
