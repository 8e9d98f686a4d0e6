# SPDX-License-Identifier: GPL-2.0-or-later
"""The quick part of the kernel's own driver tests; `make kselftest` runs them all."""

import pytest
from kselftest import expected, suite
from kselftest.lane import Lane
from verna_vm import Topology


@pytest.fixture(scope="module")
def lane(repo, setup_paths):
    """One guest for all of them."""
    from verna_setup import kselftest
    with Topology(repo / "build/test/kselftest", from_snapshot=True) as net:
        lane = Lane(net, kselftest.build())
        lane.boot()
        yield lane


@pytest.fixture(scope="module")
def entries(repo):
    return expected.load(repo / "tests/kselftest/expected-6.12.txt")


@pytest.mark.alone
@pytest.mark.parametrize("unit", suite.basic(), ids=lambda unit: unit.name)
def test_unit(lane, entries, unit):
    run = lane.run(unit, lane.net.folder)
    rows = expected.compare(entries, [unit.name], run.results)
    wrong = [f"{row.name}: {row.result}, {row.surprise} {row.note}" for row in rows if row.surprise]
    assert not wrong + run.trouble, f"see {run.log}"
