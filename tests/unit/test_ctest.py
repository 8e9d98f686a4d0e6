# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the C++ tests by ctest, once and all together, and reports each as a test of its own."""

import xml.etree.ElementTree as ElementTree

import pytest
from verna_setup import unit
from verna_setup.log import SetupError


def pytest_generate_tests(metafunc):
    """Builds the tests to learn their names; a build that fails is one test that fails."""
    try:
        names = unit.names()
    except SetupError as error:
        names = [pytest.param(error, id="build")]
    metafunc.parametrize("name", names)


@pytest.fixture(scope="session")
def results() -> dict:
    """What ctest said of each test: None, or the output of a failure."""
    found = {}
    for case in ElementTree.parse(unit.run()).getroot().iter("testcase"):
        failed = case.get("status") != "run" or case.find("failure") is not None
        found[case.get("name")] = (case.findtext("system-out") or "failed") if failed else None
    return found


def test_cpp(name, request):
    if isinstance(name, SetupError):
        pytest.fail(str(name), pytrace=False)
    outcome = request.getfixturevalue("results").get(name, "ctest did not run it")
    if outcome is not None:
        pytest.fail(outcome, pytrace=False)
