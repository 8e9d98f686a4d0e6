#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench-flow`: what rules cost, in software and in the card.

In one guest a VF sends small packets to another VF; between them stand more and more rules, which
tc flower in the card, tc flower in software, or nftables looks at. Then TCP from VF to VF, beside
that of QEMU's igb. Prints tables, writes build/bench/flow.json and a chart (build/bench/flow.svg),
and exits non-zero if a row failed or a bar is not met.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[2] / "vm")]

from bench.eth import loads, meters  # noqa: E402
from bench.flow import rules  # noqa: E402
from bench.flow.report import HEAD, Pair, Report, Row, draw, text_line  # noqa: E402
from verna_vm import Guest, Topology  # noqa: E402
from verna_vm.agent import CommandFailed, GuestGone, shell_quote  # noqa: E402
from verna_vm.devices import Nic  # noqa: E402

FOLDER = Path(__file__).parents[3] / "build" / "bench"
FAILURES = (CommandFailed, GuestGone, TimeoutError, LookupError, ValueError)
SPACES = ("vf0", "vf1")  # namespaces of the guest
ADDRESSES = ("10.79.0.1", "10.79.0.2")
COUNTS = (0, 1, 100, 10_000, 100_000)
RUNS = 3

PKTGEN = """\
modprobe pktgen
ip netns exec {space} sh -c '
    set -e
    cd /proc/net/pktgen
    echo "rem_device_all" > kpktgend_0
    echo "add_device {netdev}" > kpktgend_0
    for word in "count 0" "delay 0" "clone_skb 1000" "burst 16" "pkt_size 60" "dst_mac {mac}" \\
        "dst {address}" "udp_dst_min 7" "udp_dst_max 7"
    do echo "$word" > {netdev}; done'
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=max(COUNTS), help="rules, at most")
    parser.add_argument("--engines", default="", help="only those whose name contains this text")
    parser.add_argument("--seconds", type=float, default=2, help="of each measurement")
    return parser.parse_args()


def settle_vfs(guest: Guest, netdev: str) -> list[str]:
    """Makes two VFs, puts their interfaces into namespaces; returns the names."""
    device = f"/sys/class/net/{netdev}/device"
    guest.run(f"ip link set {netdev} up; echo 2 > {device}/sriov_numvfs; udevadm settle", 60,
              check=True)
    names = []
    for number, (space, address) in enumerate(zip(SPACES, ADDRESSES)):
        # There need not be anybody on the wire; igb has no such switch.
        guest.run(f"ip link set {netdev} vf {number} state enable")
        name, = guest.run(f"ls {device}/virtfn{number}/net", check=True).out.split()
        guest.run(f"ip netns add {space} && ip link set {name} netns {space} && "
                  f"ip -n {space} addr add {address}/24 dev {name} && "
                  f"ip -n {space} link set {name} up", check=True)
        names.append(name)
    return names


class Lane:
    """Two VFs of a card in switchdev mode, the first of which sends without end."""

    def __init__(self, guest: Guest, options: argparse.Namespace):
        self.guest, self.options = guest, options
        netdev = guest.netdev("verna")
        self.vfs = settle_vfs(guest, netdev)
        card = guest.run(f"basename $(readlink -f /sys/class/net/{netdev}/device)",
                         check=True).out.strip()
        guest.run(f"devlink dev eswitch set pci/{card} mode switchdev && udevadm settle", 60,
                  check=True)
        self.reps = [guest.run(f"grep -l pf0vf{number} /sys/bus/pci/devices/{card}/net/*/"
                               "phys_port_name", check=True).out.split("/")[-2]
                     for number in range(2)]
        for rep in self.reps:
            guest.run(f"ip link set {rep} up", check=True)
        mac = guest.run(f"ip netns exec {SPACES[1]} cat /sys/class/net/{self.vfs[1]}/address",
                        check=True).out.strip()
        # What arrives is counted and thrown away: answers would be another load.
        guest.run(f"ip netns exec {SPACES[1]} sh -c 'tc qdisc add dev {self.vfs[1]} clsact && "
                  f"tc filter add dev {self.vfs[1]} ingress matchall action drop'", check=True)
        guest.run(PKTGEN.format(space=SPACES[0], netdev=self.vfs[0], mac=mac,
                                address=ADDRESSES[1]), check=True)

    def arrived(self) -> tuple[int, float, int]:
        """Packets that the second VF got, the host's time (s), and vCPU time (ns), until now."""
        count = int(self.guest.run(
            f"ip netns exec {SPACES[1]} cat /sys/class/net/{self.vfs[1]}/statistics/rx_packets",
            check=True).out)
        return count, time.monotonic(), meters.threads(self.guest.pid)[0]

    def forwarded(self) -> tuple[float, float]:
        """Packets a second, and guest time for each (ns)."""
        sending = self.guest.popen(f"ip netns exec {SPACES[0]} sh -c "
                                   "'echo start > /proc/net/pktgen/pgctrl'")
        try:
            self.guest.run("sleep 0.5")
            before = self.arrived()
            self.guest.run(f"sleep {self.options.seconds}", timeout=60)
            count, seconds, spent = (now - then for now, then in zip(self.arrived(), before))
        finally:
            self.guest.run(f"ip netns exec {SPACES[0]} sh -c "
                           "'echo stop > /proc/net/pktgen/pgctrl'", timeout=60)
            sending.stop()
        if not count:
            raise ValueError("nothing was forwarded")
        return count / seconds, spent / count

    def row(self, engine: rules.Engine, count: int) -> Row:
        row = Row(engine.name, count)
        names = dict(zip(("one", "two"), self.reps))
        try:
            self.guest.run(engine.begin.format(**names), check=True)
            make, load = engine.commands(count, names)
            self.guest.run(make, rules.LIMIT, check=True)
            began = time.monotonic()
            self.guest.run(load, rules.LIMIT, check=True)
            row.seconds = time.monotonic() - began
            found = [self.forwarded() for _ in range(RUNS)]
            row.kpps = statistics.median(rate for rate, _ in found) / 1000
            row.ns = statistics.median(cost for _, cost in found)
        except FAILURES as error:
            row.error = str(error)
        self.guest.run(engine.end.format(**names), rules.LIMIT)
        return row


def measure_rules(options: argparse.Namespace, report: Report) -> list[str]:
    with Topology(FOLDER / "flow") as net:
        guest = net.guest("a", cpus=2, memory="3G")
        net.single(guest, **{"vfs": 2, "vf-vectors": 3})
        net.start()
        report.accel = guest.accel
        lane = Lane(guest, options)
        for engine in rules.ENGINES:
            if options.engines not in engine.name:
                continue
            for count in COUNTS:
                if count <= options.most:
                    row = lane.row(engine, count)
                    report.rows.append(row)
                    print(text_line(row), *row.error.splitlines()[-1:], flush=True)
        return net.trouble()


def measure_pair(device: str, report: Report) -> list[str]:
    """TCP between two VFs; the median of some runs in either direction."""
    pair = Pair(device)
    report.pairs.append(pair)
    with Topology(FOLDER / "vfs" / device) as net:
        guest = net.guest("a", cpus=2)
        if device == "verna":
            net.single(guest, **{"vfs": 2, "vf-vectors": 3})
        else:
            guest.devices.append(Nic("user", device, net.mac()))
        net.start()
        try:
            settle_vfs(guest, guest.netdev(device))
            pair.gbit = statistics.median(tcp(guest) for _ in range(RUNS))
        except FAILURES as error:
            pair.error = str(error)
        print(f"VF to VF, {device:<10} {pair.gbit:.3g} Gbit/s" +
              ("  FAILED" if pair.error else ""), *pair.error.splitlines()[-1:], flush=True)
        return net.trouble()


class Inside:
    """A namespace of a guest, as a load wants its ends."""

    def __init__(self, guest: Guest, space: str):
        self.guest, self.space, self.name = guest, space, space

    def run(self, command: str, *args, **options):
        inside = shell_quote(command)
        return self.guest.run(f"ip netns exec {self.space} sh -c {inside}", *args, **options)

    def popen(self, command: str, **options):
        return self.guest.popen(f"ip netns exec {self.space} {command}", **options)


def tcp(guest: Guest) -> float:
    client, server = (Inside(guest, space) for space in SPACES)
    client.run(f"ping -c1 -W5 {ADDRESSES[1]}", check=True)
    load = loads.Load("VF to VF", "TCP", 1, False)
    count, seconds, _ = loads.run(server, client, ADDRESSES[1], load, 2)
    return count * 8 / seconds / 1e9


def main() -> int:
    options = arguments()
    FOLDER.mkdir(parents=True, exist_ok=True)
    report = Report()
    print(HEAD, flush=True)
    trouble = measure_rules(options, report)
    for device in ("verna", "igb"):
        trouble += measure_pair(device, report)
    draw(report, FOLDER / "flow.svg")
    print()
    for bar in report.bars():
        print(bar.text)
    print(f"report: {report.write(FOLDER)}")
    for text in [*report.errors, *(f"kernel log: {line}" for line in trouble)]:
        print(f"FAILED {text.strip().splitlines()[-1]}", file=sys.stderr)
    missed = [bar for bar in report.bars() if not bar.met]
    return 1 if report.errors or trouble or missed else 0


if __name__ == "__main__":
    sys.exit(main())
