# SPDX-License-Identifier: GPL-2.0-or-later
"""The Ethernet benchmark's own logic: what it reads, what it computes, and what it exits with."""

import json

import pytest
from bench.eth import loads, meters, run, stages
from bench.eth.report import Report, Row

INTERRUPTS = """\
           CPU0       CPU1
  24:         10          5  PCI-MSIX-0000:03:00.0   1-edge      verna-comp0@0000:03:00.0
  25:          1          2  PCI-MSIX-0000:00:02.0   0-edge      virtio1-input.0
 NMI:          7          7   Non-maskable interrupts
"""


def test_interrupts_of_one_device_are_summed_over_cpus():
    assert meters.parse_interrupts(INTERRUPTS, ["0000:03:00.0"]) == 15
    assert meters.parse_interrupts(INTERRUPTS, ["virtio1"]) == 3
    assert meters.parse_interrupts(INTERRUPTS, ["interrupts"]) == 0


def test_what_arrived_counts_over_the_time_of_the_client():
    end = {"sum_sent": {"bytes": 900, "seconds": 2.0}, "sum_received": {"bytes": 800,
                                                                        "seconds": 0.5}}
    assert loads.received({"end": end}, reverse=False) == (800, 2.0)
    assert loads.received({"end": end}, reverse=True) == (800, 0.5)


@pytest.mark.parametrize("stage, on, refused, applies", [
    (0, set(), ["Could not change"], True), (1, {"tx-checksumming"}, [], True),
    (1, {"scatter-gather"}, [], False),
    (3, set(), ["the device cuts packets of up to 65536 bytes"], False), (3, set(), [], True),
    (4, {"rx-gro-hw"}, ["lro refused"], True), (4, {"generic-receive-offload"}, [], False),
    (5, set(), ["Operation not supported"], False), (6, set(), [], True)])
def test_a_stage_counts_only_if_the_device_has_something_of_it(stage, on, refused, applies):
    assert stages.has(stages.STAGES[stage], on, refused) is applies


class Ethtool:
    """A guest that has `links` and takes every command."""

    def __init__(self, links: str):
        self.links, self.commands = links, []

    def run(self, command: str, check: bool = False):
        self.commands.append(command)
        return type("Result", (), {"ok": True, "out": self.links})


@pytest.mark.parametrize("links, taken", [
    ('[{"tso_max_size": 524280}]', "gso_max_size 524280 gso_ipv4_max_size 524280"),
    ('[{"tso_max_size": 65536}]', None), ('[{}]', None)])
def test_packets_are_as_large_as_the_device_can_cut(links, taken):
    guest = Ethtool(links)
    refused = stages.apply(guest, "eth0", stages.STAGES[3])
    assert bool(refused) == (taken is None)
    assert [taken in command for command in guest.commands[1:]] == ([True] if taken else [])


def test_figures_of_a_run():
    row = Row("verna link", "off", "TCP 1 ->")
    spent = [meters.Reading(4000, 400, 10, 30, 3), meters.Reading(6000, 600, 10, 30, 3)]
    run.fill(row, spent, 1000, 2.0)
    assert (row.gbit, row.guest_ns_per_byte, row.card_ns_per_byte) == (4e-6, 10.0, 1.0)
    assert (row.packets_per_interrupt, row.doorbells_per_packet) == (3.0, 0.1)
    with pytest.raises(ValueError, match="nothing arrived"):
        run.fill(row, spent, 0, 2.0)


def report(tmp_path, verna: float, virtio: float = 5.0) -> Report:
    rows = [Row("verna link", "off", "TCP 1 ->", 1.0, 9.0),
            Row("igb socket", "off", "TCP 1 ->", 1.0),
            Row("verna link", "+TSO/GRO", "TCP 1 ->", verna, 1.0),
            Row("verna link", "+multi-queue", "TCP 1 ->", 100.0, 1.0),
            Row("igb socket", "+TSO/GRO", "TCP 1 ->", 2.0),
            Row("virtio tap", "off", "TCP 1 ->", 1.2), Row("virtio socket", "off", "TCP 1 ->", 1.2),
            Row("virtio tap", "+TSO/GRO", "TCP 1 ->", virtio, 2.0)]
    return Report("tcg", tmp_path, rows)


def test_bars_compare_the_last_stage_of_one_queue(tmp_path, capsys):
    good = report(tmp_path, 7.0)
    assert [round(bar.ratio, 2) for bar in good.bars()] == [3.5, 1.4, 0.5, 1.2, 1.2]
    assert run.summary(good, []) == 0
    assert json.loads((tmp_path / "eth.json").read_text())["bars"][0]["met"]
    assert run.summary(report(tmp_path, 5.5), []) == 1
    assert "virtio tap: 1.10, at least 1.2: NOT MET" in capsys.readouterr().out


def test_a_failed_row_fails_the_run(tmp_path, capsys):
    broken = report(tmp_path, 7.0)
    broken.rows.append(Row("verna link", "off", "UDP 1 ->", error="x\niperf3: error", log="/l"))
    assert run.summary(broken, []) == 1
    assert "FAILED verna link off UDP 1 ->: iperf3: error" in capsys.readouterr().err
    assert run.summary(report(tmp_path, 7.0), ["a: WARNING"]) == 1
