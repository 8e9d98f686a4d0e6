# SPDX-License-Identifier: GPL-2.0-or-later
"""The C++ tests: built with the sanitizers and run by ctest, inside the SDK."""

import json
import os
from pathlib import Path

from . import sdk as sdk_module
from .cache import REPO, build_lock, cache_root, progress
from .core import build_folder, cmake
from .log import Log

TESTS = REPO / "tests"
OPTIONS = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DVERNA_SANITIZE=ON"]


def build() -> Path:
    """The build folder, up to date."""
    folder = build_folder("unit")
    log = Log.for_step(cache_root(), "unit-build")
    with build_lock("unit"), progress("unit", 120, log):
        cmake(sdk_module.build(), log, TESTS, folder, *OPTIONS)
    return folder


def names() -> list[str]:
    """The names of all tests that ctest knows; none while there is no test project."""
    if not (TESTS / "CMakeLists.txt").exists():
        return []
    folder = build()
    log = Log.for_step(cache_root(), "unit-list")
    sdk_module.run(sdk_module.build(), log, ["ctest", "--test-dir", folder, "--show-only=json-v1"])
    text = log.path.read_text()
    # The log begins with the command line and may have warnings.
    found = json.loads(text[text.index("\n{") + 1:])
    return [test["name"] for test in found["tests"]]


def run() -> Path:
    """Runs them all; returns ctest's JUnit file, which has the failures too."""
    folder = build_folder("unit")
    report = folder / "junit.xml"
    report.unlink(missing_ok=True)
    log = Log.for_step(cache_root(), "unit-run")
    # ctest's own status says no more than the report does.
    script = 'ctest --test-dir "$0" -j "$1" --timeout 600 --output-junit "$2" || :'
    with progress("unit tests", 60, log):
        sdk_module.run(sdk_module.build(), log, ["sh", "-c", script, folder,
                                                 str(os.cpu_count()), report])
    return report
