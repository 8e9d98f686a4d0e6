# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are written from the contract headers are up to date."""

import subprocess
import sys


def test_counters_page(repo):
    command = [sys.executable, str(repo / "tools/abi/gen_counters.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
