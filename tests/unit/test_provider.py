# SPDX-License-Identifier: GPL-2.0-or-later
"""The provider's data path against a card played by a thread; its program needs no device."""

import re

import pytest
from verna_setup import provider
from verna_setup.log import SetupError


def test_provider():
    try:
        out = provider.unit_test()
    except SetupError as error:
        pytest.fail(str(error), pytrace=False)
    plan = re.search(r"^1\.\.(\d+)$", out, re.M)
    assert plan and int(plan.group(1)) > 0, out
    assert len(re.findall(r"^ok \d+", out, re.M)) == int(plan.group(1)), out
    assert "not ok" not in out
