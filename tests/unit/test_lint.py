# SPDX-License-Identifier: GPL-2.0-or-later
"""Style and structure are tests too."""

import subprocess

import pytest


def test_lint(repo):
    result = subprocess.run([repo / "tools/lint/lint"], cwd=repo, capture_output=True, text=True,
                            check=False)
    if result.returncode:
        pytest.fail(result.stdout + result.stderr, pytrace=False)
