# SPDX-License-Identifier: GPL-2.0-or-later
"""The kselftest lane's own logic, without a guest: what tests print, and what is a surprise."""

import pytest
from kselftest import expected, ktap, run, suite
from kselftest.expected import ListError, compare, read_list, suggest
from kselftest.ktap import FAIL, PASS, SKIP, XFAIL

PYTHON = """\
KTAP version 1
1..5
ok 1 ping.test_v4
# Exception| Traceback (most recent call last):
not ok 2 ping.test_v6
ok 3 ping.test_tcp # SKIP Test requires command: socat
ok 4 ping.test_pause # XFAIL pause not supported by the device
ok 5 ping.test_xdp sb # TODO later
# Totals: pass:1 fail:1 xfail:1 xpass:0 skip:1 error:0
"""


def told(text, status=0, script="ping", plain=False):
    return [(one.name, one.result, one.note) for one in ktap.parse(text, status, script, plain)]


def test_python_tests_tell_ktap():
    assert told(PYTHON, 1) == [
        ("test_v4", PASS, ""), ("test_v6", FAIL, ""),
        ("test_tcp", SKIP, "Test requires command: socat"),
        ("test_pause", XFAIL, "pause not supported by the device"),
        ("test_xdp_sb", XFAIL, "later")]


def test_nested_ktap_is_read_whatever_its_depth():
    nested = "\n".join("    " * (number % 3) + "# " * (number % 2) + line
                       for number, line in enumerate(PYTHON.splitlines()))
    assert told(nested, 1) == told(PYTHON, 1)


def test_shell_tests_tell_lines():
    text = ("TEST: lladdr/8021q: Unicast IPv4 to primary MAC address           [ OK ]\n"
            "TEST: loopback                                        [FAIL]\n\tDid not match\n"
            "TEST: vlan                                            [SKIP]\n"
            "TEST: bridge                                          [XFAIL]\n")
    assert told(text, 1) == [("lladdr/8021q:_Unicast_IPv4_to_primary_MAC_address", PASS, ""),
                             ("loopback", FAIL, ""), ("vlan", SKIP, ""), ("bridge", XFAIL, "")]


def test_plain_lines_count_only_where_they_are_the_results():
    text = "PASS: eth0: ethtool stats\nFAIL: eth0: ethtool dump\nSKIP: eth0: set IP address\n"
    assert told(text, 0, plain=True) == [("eth0:_ethtool_stats", PASS, ""),
                                         ("eth0:_ethtool_dump", FAIL, ""),
                                         ("eth0:_set_IP_address", SKIP, "")]
    assert told(text) == [("", PASS, "")]


def test_the_exit_status_is_the_result_of_a_script_without_cases():
    assert told("hello\n") == [("", PASS, "")]
    assert told("hello\n", 3) == [("", FAIL, "status 3")]
    assert told("SKIP: jq not installed\n", 4) == [("", SKIP, "jq not installed")]
    assert told("TEST: SKIP: no loopback here         [ OK ]\n", 4) == \
        [("", SKIP, "no loopback here")]


@pytest.mark.parametrize("text, status, last", [
    (PYTHON.replace("not ok", "ok"), 1, ("", FAIL, "status 1")),
    ("1..2\nok 1 a\n", 0, ("", FAIL, "told 1 of 2 results, status 0")),
    ("1..2\nok 1 a\nnot ok 2 b\n", None, ("", FAIL, "ran out of time")),
    ("ok 1 a\n", None, ("", FAIL, "ran out of time")),
], ids=["status against the cases", "too few", "fail and no time", "no time"])
def test_a_script_that_ends_badly_fails_whatever_its_cases_say(text, status, last):
    assert told(text, status)[-1] == last


def test_a_failed_case_already_says_what_the_status_says():
    assert told("1..1\nnot ok 1 ping.a\n", 1) == [("a", FAIL, "")]


def test_a_script_that_cannot_begin_is_a_skip():
    assert told("# Failed importing `ynl`\nok 1 ping # SKIP\n", 4) == [("", SKIP, "")]
    assert told("ok 1 ping # SKIP no PSP\n", 0) == [("", SKIP, "no PSP")]


def test_a_name_that_comes_twice_is_two_tests():
    assert [name for name, *_ in told("ok 1 a\nok 2 a\n")] == ["a", "a#2"]


LIST = """\
# comment
d/ping.py:test_v4  pass
d/ping.py:test_tcp skip  no socat here
d/dead.py          fail  the kernel's fault
d/dev.sh:eth0:*    pass
d/dev.sh:eth0:bad* xfail cannot be
"""


@pytest.mark.parametrize("line", ["a", "a maybe", "a skip", "a fail", "a xfail",
                                  "a pass\na pass"])
def test_a_list_with_a_mistake_is_refused(line):
    with pytest.raises(ListError):
        read_list(line)


def check(ran, *results):
    return [(row.name, row.surprise) for row in compare(read_list(LIST), ran, list(results))]


def test_what_is_expected_is_no_surprise():
    assert check(["d/ping.py"], ("d/ping.py:test_v4", PASS, ""),
                 ("d/ping.py:test_tcp", SKIP, "Test requires command: socat")) == \
        [("d/ping.py:test_v4", ""), ("d/ping.py:test_tcp", "")]


@pytest.mark.parametrize("result", [SKIP, XFAIL, FAIL])
def test_a_pass_that_turns_into_anything_else_is_a_surprise(result):
    assert check([], ("d/ping.py:test_v4", result, "")) == [("d/ping.py:test_v4", "expected pass")]


def test_a_test_that_passes_at_last_wants_the_list_changed():
    assert check([], ("d/dead.py", PASS, "")) == [("d/dead.py", "passes, the list says fail")]


def test_a_test_that_nobody_listed_is_a_surprise():
    assert check([], ("d/ping.py:new", PASS, "")) == [("d/ping.py:new", "not in the list")]


def test_a_test_that_told_nothing_is_missed_if_its_unit_ran():
    assert check(["d/ping.py"], ("d/ping.py:test_v4", PASS, "")) == \
        [("d/ping.py:test_v4", ""), ("d/ping.py:test_tcp", "told no result")]
    assert check(["d/pingpong.py", "d/ping"]) == []


def test_the_most_exact_pattern_counts():
    assert check([], ("d/dev.sh:eth0:good", PASS, ""), ("d/dev.sh:eth0:bad_one", XFAIL, "")) == \
        [("d/dev.sh:eth0:good", ""), ("d/dev.sh:eth0:bad_one", "")]


def test_a_suggestion_is_a_list():
    rows = compare([], [], [("a", PASS, ""), ("b:c", SKIP, "no such device")])
    assert [(entry.name, entry.result, entry.reason) for entry in read_list(suggest(rows))] == \
        [("a", PASS, ""), ("b:c", SKIP, "no such device")]


@pytest.mark.parametrize("results, last", [
    ([PASS], PASS), ([FAIL, PASS], PASS), ([FAIL, FAIL], FAIL), ([SKIP], SKIP)])
def test_what_fails_by_surprise_runs_once_more(tmp_path, results, last):
    class Lane:
        def run(self, unit, folder, attempt):
            outcome = ktap.Outcome("test_v4", results[attempt - 1])
            return run.Run(unit, [outcome], 0, folder / "log", attempt=attempt)

    unit = suite.Unit("d/ping.py", "d/ping.py")
    entries = read_list("d/ping.py:test_v4 pass\n")
    told = [rows[0].result for _, rows in run.attempts(Lane(), unit, tmp_path, entries, 2)]
    assert told == results and told[-1] == last


def test_a_failure_that_is_expected_runs_once(tmp_path):
    class Lane:
        def run(self, unit, folder, attempt):
            return run.Run(unit, [ktap.Outcome("a", FAIL)], 0, folder / "log", attempt=attempt)

    unit = suite.Unit("d/ping.py", "d/ping.py")
    entries = read_list("d/ping.py:a fail because\n")
    assert len(list(run.attempts(Lane(), unit, tmp_path, entries, 2))) == 1


@pytest.mark.parametrize("kernel", ["6.12", "6.12-tests-7", "7"])
def test_the_list_of_a_kernel_is_well_formed(repo, kernel):
    path = repo / f"tests/kselftest/expected-{kernel}.txt"
    if not path.exists():
        pytest.skip(f"no list for {kernel} yet")
    assert expected.load(path)


def test_units_are_what_the_tree_has_and_what_is_named_here():
    lines = ["drivers/net:ping.py", "drivers/net/hw:loopback.sh", "net:tls", "net/lib:csum"]
    names = {unit.name: unit for unit in suite.units(lines, "6.12")}
    assert names["drivers/net/hw/loopback.sh"].place == suite.PAIR
    assert names["drivers/net/ping.py"].place == suite.ENDPOINT
    assert "net/gro.sh:ipv6_large" in names and "net/tls" not in names
    assert not any("gro.sh" in name for name in {u.name for u in suite.units(lines, "7")})
    assert len(names) == len(suite.units(lines, "6.12"))


def test_the_basic_set_is_whole():
    assert {unit.name for unit in suite.basic()} == set(suite.BASIC)
