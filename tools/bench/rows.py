# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of `make run`: what is run, how often, and which figure counts."""

import json
import re
from dataclasses import dataclass

from verna_vm.agent import CommandFailed

from . import perftest


@dataclass(frozen=True)
class Row:
    """One row of the table, run over verna and over rxe alike.

    iterations: of verna and of rxe. A bandwidth run has to last some tenths of a second to mean
    anything, and rxe is some fifty times slower.
    """
    tool: str
    transport: str
    size: int
    unit: str
    iterations: tuple[int, int]
    options: str = ""

    @property
    def name(self) -> str:
        return f"{self.tool} {self.transport} {size_text(self.size)}"

    @property
    def column(self) -> str:
        return {"Gbit/s": "average", "kmsg/s": "mpps", "us": "typical"}[self.unit]

    def run(self, server, client, rxe: bool) -> perftest.Outcome:
        count = self.iterations[rxe]
        only_rc = self.tool.startswith(("ib_read", "ib_atomic"))
        connection = "" if only_rc else f"-c {self.transport}"
        return perftest.run(self.tool, server, client,
                            f"{connection} {self.size_option()} -n {count} {self.options}")

    def size_option(self) -> str:
        return "" if self.tool == "ib_atomic_lat" else f"-s {self.size}"

    def value(self, outcome: perftest.Outcome) -> float:
        value = outcome.values[self.column]
        return value * 1000 if self.unit == "kmsg/s" else value


def size_text(size: int) -> str:
    for unit, shift in (("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{size >> shift} {unit}"
    return f"{size} B"


def _bandwidth(tool: str) -> list[Row]:
    return [Row(tool, "RC", 64, "kmsg/s", (50000, 5000)),
            Row(tool, "RC", 4096, "Gbit/s", (30000, 3000)),
            Row(tool, "RC", 65536, "Gbit/s", (20000, 300)),
            Row(tool, "RC", 1 << 20, "Gbit/s", (3000, 60))]


ROWS = [
    *_bandwidth("ib_send_bw"), *_bandwidth("ib_write_bw"), *_bandwidth("ib_read_bw"),
    Row("ib_send_lat", "RC", 8, "us", (3000, 1000)),
    Row("ib_write_lat", "RC", 8, "us", (3000, 1000)),
    Row("ib_read_lat", "RC", 8, "us", (3000, 1000)),
    Row("ib_atomic_lat", "RC", 8, "us", (3000, 1000)),
    Row("ib_send_bw", "UC", 65536, "Gbit/s", (20000, 300)),
    Row("ib_send_bw", "UD", 4096, "Gbit/s", (30000, 3000)),
]

# What the table must reach: row, and the least ratio verna/rxe (for latency: rxe/verna).
FLOORS = {
    "ib_write_bw RC 1 MiB": 50.0,
    "ib_write_bw RC 64 B": 10.0,
    "ib_write_lat RC 8 B": 4.0,
}


def rping(server, client, count: int = 200) -> tuple[float, str]:
    """rdma_cm: connects, and verifies what each ping-pong brought. Returns the count."""
    listening = server.guest.popen(f"rping -s -a {server.address} -v -C {count} -S 4096 -p 7199")
    try:
        client.guest.run("sleep 1")
        result = client.guest.run(f"rping -c -a {server.address} -V -v -C {count} -S 4096 -p 7199",
                                  timeout=60)
        log = result.out + result.err
        pings = len(re.findall(r"^ping data", result.out, re.M))
        if not result.ok or pings != count:
            raise CommandFailed(f"rping: status {result.rc}, {pings} of {count} pings\n{log}\n"
                                f"# server\n{listening.out}{listening.err}")
        listening.wait(20)
    finally:
        if listening.poll() is None:
            listening.stop()
    return float(pings), log


def iperf3(server, client, seconds: int = 3) -> tuple[float, str]:
    """TCP over the netdev, one stream, in Gbit/s as received."""
    listening = server.guest.popen("iperf3 -s -1 -p 5301")
    try:
        perftest.wait_listening(server.guest, 5301, listening)
        result = client.guest.run(f"iperf3 -c {server.address} -p 5301 -t {seconds} -J",
                                  timeout=seconds + 40, check=True)
    finally:
        if listening.poll() is None:
            listening.stop()
    report = json.loads(result.out)
    return report["end"]["sum_received"]["bits_per_second"] / 1e9, result.out


def ping(server, client, count: int = 100) -> tuple[float, str]:
    """Round trip of ICMP in us, average; no loss allowed."""
    result = client.guest.run(f"ping -c {count} -i 0.01 -q -w 20 {server.address}", timeout=60)
    found = re.search(r"(\d+) received", result.out)
    if not found or int(found.group(1)) < count:
        raise CommandFailed(f"ping lost packets\n{result.out}")
    return float(re.search(r"= [\d.]+/([\d.]+)/", result.out).group(1)) * 1000, result.out


# Tools that have no rxe figure, as they measure the netdev or check rather than measure.
PLAIN = [("rping", "RC/cm", 4096, "pings", rping), ("iperf3", "TCP", 0, "Gbit/s", iperf3),
         ("ping", "ICMP", 56, "us", ping)]
