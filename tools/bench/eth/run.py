#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench-eth`: Ethernet of the card and of its peers in QEMU, offload by offload.

For each device two guests run iperf3 between each other, first with everything off and then with
one more offload at each stage. Prints a table, writes build/bench/eth.json and a chart
(build/bench/eth.svg), and exits non-zero if a row failed or a bar is not met.
"""

import argparse
import contextlib
import shutil
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "vm")]

from bench import pair  # noqa: E402
from bench.eth import chart, loads, meters, peers, stages  # noqa: E402
from bench.eth.report import BAR_LOAD, HEAD, Report, Row, text_line  # noqa: E402
from verna_vm import Topology  # noqa: E402
from verna_vm.agent import CommandFailed, GuestGone  # noqa: E402
from verna_vm.bridge import Bridge  # noqa: E402

FOLDER = Path(__file__).parents[3] / "build" / "bench"
FAILURES = (CommandFailed, GuestGone, TimeoutError, LookupError, ValueError, KeyError)
NETNS = "verna-bench"
MTU = 1500
ADDRESSES = ("10.78.0.1", "10.78.0.2")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", default="", help="only devices whose name contains this text")
    parser.add_argument("--loads", default="", help="only loads whose name contains this text")
    parser.add_argument("--runs", type=int, default=3, help="of each load that a bar is about")
    parser.add_argument("--seconds", type=float, default=2, help="of each run of iperf3")
    return parser.parse_args()


class Measurement:
    """All stages of one device that need the same guests."""

    def __init__(self, options, report: Report, peer: peers.Peer, net: Topology):
        self.options, self.report, self.peer, self.net = options, report, peer, net
        self.netdevs: list[str] = []
        self.devices: list[str] = []

    def prepare(self) -> None:
        self.netdevs = pair.configure(self.net.guests, self.peer.driver, MTU, ADDRESSES)
        for guest, netdev in zip(self.net.guests, self.netdevs):
            self.devices.append(meters.address(guest, netdev))
            stages.begin(guest, netdev)
        self.warm_up()

    def stage(self, stage: stages.Stage) -> bool:
        """Switches a stage on at both ends. False: the device has nothing of it."""
        refused, on = [], set()
        for guest, netdev in zip(self.net.guests, self.netdevs):
            refused = stages.apply(guest, netdev, stage)
            on = stages.features(guest, netdev)
        if stages.has(stage, on, refused):
            return True
        self.report.skipped.append({"peer": self.peer.name, "stage": stage.name,
                                    "why": "; ".join(refused)})
        return False

    def read(self) -> list[meters.Reading]:
        return [meters.read(guest, netdev, device) for guest, netdev, device
                in zip(self.net.guests, self.netdevs, self.devices)]

    def once(self, stage: stages.Stage, load: loads.Load, log: Path) -> Row:
        row = Row(self.peer.name, stage.name, load.name)
        try:
            before = self.read()
            count, seconds, text = loads.run(self.net.guests[1], self.net.guests[0], ADDRESSES[1],
                                             load, self.options.seconds)
            fill(row, [after - was for after, was in zip(self.read(), before)], count, seconds)
        except FAILURES as error:
            text = row.error = str(error)
            row.log = str(log)
        log.write_text(text + "\n")
        return row

    def row(self, stage: stages.Stage, load: loads.Load) -> None:
        """The median run (by throughput) of the loads that bars are about, one run of others."""
        name = f"{self.peer.name} {stage.name} {load.name}"
        name = name.replace("<-", "in").replace("->", "out").replace(" ", "-").replace("/", "-")
        runs = self.options.runs if load.name.startswith(BAR_LOAD) else 1
        rows = [self.once(stage, load, self.report.folder / f"{name}.{number}.log")
                for number in range(runs)]
        row = next((row for row in rows if row.error),
                   sorted(rows, key=lambda row: row.gbit)[runs // 2])
        self.report.rows.append(row)
        print(text_line(row), flush=True)

    def warm_up(self) -> None:
        """An emulated guest translates its code while it first runs."""
        load = loads.Load("warm-up", "TCP", 1, False)
        loads.run(self.net.guests[1], self.net.guests[0], ADDRESSES[1], load, 2)

    def run(self, which: list[stages.Stage]) -> None:
        for stage in which:
            applies = self.stage(stage)
            for load in loads.LOADS:
                if applies and self.options.loads in load.name:
                    self.row(stage, load)


def fill(row: Row, spent: list[meters.Reading], count: int, seconds: float) -> None:
    """Puts figures into a row: `count` bytes arrived in `seconds`; `spent` is of each guest."""
    if not count:
        raise ValueError("nothing arrived")
    row.gbit = count * 8 / seconds / 1e9
    row.guest_ns_per_byte = sum(one.vcpu for one in spent) / count
    row.card_ns_per_byte = sum(one.card for one in spent) / count
    packets = sum(one.packets for one in spent)
    interrupts = sum(one.interrupts for one in spent)
    doorbells = sum(one.doorbells for one in spent)
    row.packets_per_interrupt = packets / interrupts if interrupts else None
    row.doorbells_per_packet = doorbells / packets if doorbells and packets else None


def measure(options, report: Report, peer: peers.Peer, queues: int) -> list[str]:
    """Boots two guests with the device and goes through the stages; the kernels' complaints."""
    which = [stage for stage in stages.STAGES if stage.queues <= queues]
    with contextlib.ExitStack() as stack:
        bridge = stack.enter_context(Bridge(NETNS)) if peer.wire == "tap" else None
        net = stack.enter_context(Topology(FOLDER / peer.name.replace(" ", "-") / str(queues)))
        options_of_guest = {"cpus": queues, "netns": NETNS if bridge else ""}
        guests = [net.guest(name, **options_of_guest) for name in "ab"]
        peers.connect(net, peer, bridge, guests, queues)
        net.start()
        report.accel = guests[0].accel
        measurement = Measurement(options, report, peer, net)
        measurement.prepare()
        if queues > 1:  # the earlier stages were measured with one queue
            for stage in which[:-1]:
                measurement.stage(stage)
            which = which[-1:]
        measurement.run(which)
        return net.trouble()


def summary(report: Report, trouble: list[str]) -> int:
    """Prints what the table does not say; the exit status."""
    print()
    for bar in report.bars():
        print(bar.text)
    print(f"report: {report.write()}")
    for row in report.failed:
        print(f"FAILED {row.name}: {row.error.strip().splitlines()[-1]}\n  log: {row.log}",
              file=sys.stderr)
    for text in trouble:
        print(f"FAILED kernel log: {text}", file=sys.stderr)
    missed = [bar for bar in report.bars() if bar.ratio is not None and not bar.met]
    return 1 if report.failed or trouble or missed else 0


def main() -> int:
    options = arguments()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    report, trouble = Report("", FOLDER), []
    print(HEAD, flush=True)
    for peer in peers.PEERS:
        if options.peers not in peer.name:
            continue
        for queues in (1, 2) if peer.many_queues else (1,):
            trouble += measure(options, report, peer, queues)
    chart.draw(report, FOLDER / "eth.svg")
    return summary(report, trouble)


if __name__ == "__main__":
    sys.exit(main())
