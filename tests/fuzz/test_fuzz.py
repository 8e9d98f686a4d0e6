# SPDX-License-Identifier: GPL-2.0-or-later
"""All fuzzers together for a minute; `make fuzz` runs them for longer."""

import os

import pytest
from verna_setup import fuzz
from verna_setup.cache import cache_root
from verna_setup.log import Log, SetupError

SECONDS = int(os.environ.get("FUZZ_SECONDS", "60"))


def pytest_generate_tests(metafunc):
    """Builds the fuzzers to learn their names; a build that fails is one test that fails."""
    try:
        programs = fuzz.build()
    except SetupError as error:
        metafunc.parametrize("program,seconds", [pytest.param(error, 0, id="build")])
        return
    share = max(1, SECONDS // max(1, len(programs)))
    metafunc.parametrize("program,seconds",
                         [pytest.param(program, share, id=program.name) for program in programs])


def test_fuzzer_finds_nothing(program, seconds):
    if isinstance(program, SetupError):
        pytest.fail(str(program), pytrace=False)
    try:
        fuzz.run(program, seconds, Log.for_step(cache_root(), program.name))
    except SetupError as error:
        pytest.fail(str(error), pytrace=False)
