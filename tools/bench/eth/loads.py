# SPDX-License-Identifier: GPL-2.0-or-later
"""What is sent: iperf3 with one or many streams, TCP or UDP, in either direction."""

import json
from dataclasses import dataclass

from .. import perftest

PORT = 5201


@dataclass(frozen=True)
class Load:
    """reverse: the server sends."""
    name: str
    protocol: str
    streams: int
    reverse: bool

    def options(self) -> str:
        udp = " -u -b 0 -l 1400" if self.protocol == "UDP" else ""
        return f"-P {self.streams}{udp}{' -R' if self.reverse else ''}"


LOADS = [Load(f"{protocol} {streams} {'<-' if reverse else '->'}", protocol, streams, reverse)
         for protocol in ("TCP", "UDP") for streams in (1, 8) for reverse in (False, True)]


def received(report: dict, reverse: bool) -> tuple[int, float]:
    """Bytes that arrived, and for how long by the client's clock, from the client's JSON: rates of
    both directions are comparable only by one clock."""
    end = report["end"]
    own = "sum_received" if reverse else "sum_sent"
    return int(end["sum_received"]["bytes"]), float(end[own]["seconds"])


def run(server, client, address: str, load: Load, seconds: float) -> tuple[int, float, str]:
    """Returns bytes received, seconds, and iperf3's report."""
    listening = server.popen(f"iperf3 -s -1 -p {PORT}")
    try:
        perftest.wait_listening(server, PORT, listening)
        result = client.run(f"iperf3 -c {address} -p {PORT} -t {seconds:g} -J {load.options()}",
                            timeout=seconds + 60, check=True)
    finally:
        if listening.poll() is None:
            listening.stop()
    return *received(json.loads(result.out), load.reverse), result.out
