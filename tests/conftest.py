# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the repository's Python packages importable in tests, however pytest was started."""

import sys
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
pytest_plugins = ["lanes"]
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
