# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the repository's Python packages importable in tests, however pytest was started, and says
what `make test` runs beside what."""

import os
import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPO / "tools" / name) for name in ("vm", "setup")] + [str(REPO / "tools")]


@pytest.fixture(scope="session")
def repo() -> Path:
    """The root of the checkout."""
    return REPO


@pytest.fixture(scope="session")
def setup_paths() -> dict:
    """Where SDK, QEMU and images are; sets up what is missing, as `make test` has done already."""
    from verna_setup import artefacts
    return artefacts.build_all()


def lane(nodeid: str) -> str:
    """Tests with QEMU run one after the other, as they measure time and want processors. Beside
    them, in what they leave, run those that only compute."""
    return "qemu" if nodeid.split("/")[0] in ("kselftest", "qtest", "vm") else "host"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A process for each lane."""
    from xdist.scheduler import LoadScopeScheduling

    class Lanes(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return lane(nodeid)

    return Lanes(config, log)


def pytest_runtest_logstart(nodeid, location):
    """The process of the other lane gives way to that with QEMU."""
    if "PYTEST_XDIST_WORKER" in os.environ and lane(nodeid) == "host":
        os.setpriority(os.PRIO_PROCESS, 0, 19)
