# SPDX-License-Identifier: GPL-2.0-or-later
"""The main job's own logic: what it reads, what it computes, and what it exits with."""

import json
from types import SimpleNamespace

import pytest
from bench import perftest, run
from bench.report import Line, Report
from verna_vm.agent import CommandFailed, Result

BANDWIDTH = """\
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 1048576    3000             33.49              32.51              0.003875
---------------------------------------------------------------------------------------
"""


def test_bandwidth_is_read_from_the_result_line():
    values = perftest.parse(BANDWIDTH, perftest.BANDWIDTH)
    assert values["bytes"] == 1048576 and values["average"] == 32.51 and values["peak"] == 33.49


def test_output_without_a_result_is_an_error():
    with pytest.raises(ValueError, match="no result line"):
        perftest.parse("Completion with error at client\n", perftest.LATENCY)


class Tool:
    """A guest in which a client of perftest ends with these statuses, one after the other."""

    def __init__(self, *statuses):
        self.statuses = list(statuses)

    def popen(self, command):
        server = Result(command, 0, "", "")
        return SimpleNamespace(out="", err="", poll=lambda: 0, wait=lambda _: server)

    def run(self, command, *_):
        if "-d" not in command:
            return Result(command, 0, "", "")  # it listens
        status = self.statuses.pop(0)
        return Result(command, status, BANDWIDTH if status == 0 else "",
                      "Event: RDMA_CM_EVENT_REJECTED; error: 8.\n" if status else "")


@pytest.mark.parametrize("statuses, good", [
    ((0,), True), ((-11, 0), True), ((-11, -11, 0), True), ((-11, -11, -11, 0), False),
    ((1, 0), False)])
def test_a_client_that_came_early_tries_again(statuses, good):
    tool = Tool(*statuses)
    side = perftest.Side(tool, "rdma0", 1, "10.0.0.1")
    if good:
        assert perftest.run("ib_write_bw", side, side, "-R").values["average"] == 32.51
        assert not tool.statuses
    else:
        with pytest.raises(CommandFailed, match="REJECTED"):
            perftest.run("ib_write_bw", side, side, "-R")


@pytest.mark.parametrize("unit, value, rxe, ratio", [
    ("Gbit/s", 30.0, 0.5, 60.0), ("kmsg/s", 100.0, 10.0, 10.0), ("us", 20.0, 400.0, 20.0),
    ("us", 20.0, None, None)])
def test_gain_is_above_one_where_verna_is_better(unit, value, rxe, ratio):
    line = Line("tool", "RC", 8, unit, value, rxe)
    line.finish()
    assert line.ratio == ratio


def report(tmp_path, *lines) -> Report:
    return Report("tcg", tmp_path, list(lines))


def test_a_failed_row_is_named_and_fails_the_run(tmp_path, capsys):
    good = Line("ib_write_bw", "RC", 1 << 20, "Gbit/s", 30.0, 0.5, 60.0)
    bad = Line("ib_read_lat", "RC", 8, "us", error="value: Failed status 12", log="/logs/x.log")
    assert run.summary(report(tmp_path, good, bad), []) == 1
    printed = capsys.readouterr()
    assert "FAILED ib_read_lat RC 8 B: value: Failed status 12" in printed.err
    assert "/logs/x.log" in printed.err
    rows = json.loads((tmp_path / "report.json").read_text())["rows"]
    assert rows[0]["ratio"] == 60.0 and rows[1]["error"]


def test_trouble_in_a_kernel_log_fails_the_run(tmp_path, capsys):
    assert run.summary(report(tmp_path), ["a: BUG: something"]) == 1
    assert "BUG: something" in capsys.readouterr().err


def test_a_good_run_is_good(tmp_path):
    assert run.summary(report(tmp_path, Line("ping", "ICMP", 56, "us", 800.0)), []) == 0


def test_floors_compare_ratios_of_this_run(tmp_path):
    line = Line("ib_write_bw", "RC", 1 << 20, "Gbit/s", 10.0, 0.25, 40.0)
    floors = {floor["row"]: floor for floor in report(tmp_path, line).floors()}
    assert floors["ib_write_bw RC 1 MiB"]["met"] is False
    assert floors["ib_write_lat RC 8 B"]["ratio"] is None
