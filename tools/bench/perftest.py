# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one tool of perftest between two guests and reads its result line."""

import itertools
import re
import signal
from contextlib import suppress
from dataclasses import dataclass

from verna_vm.agent import CommandFailed

_ports = itertools.count(18600)

# Columns of the result line (perftest_parameters.h): what is reported, of what unit.
BANDWIDTH = ("bytes", "iterations", "peak", "average", "mpps")
LATENCY = ("bytes", "iterations", "min", "max", "typical", "average", "stdev", "p99", "p999")

CM_TRIES = 3


class CameEarly(CommandFailed):
    """See came_early()."""


@dataclass
class Side:
    """One end: a guest, or a place in it where commands run, its RDMA device, the index of its GID
    and its address."""
    guest: object
    device: str
    gid: int
    address: str


@dataclass
class Outcome:
    """What a run reported. `value` is the tool's main figure; `log` all that both ends printed."""
    values: dict
    log: str


def gid_index(guest, device: str, address: str) -> int:
    """Index of the RoCE v2 GID that belongs to an IPv4 address."""
    octets = [int(part) for part in address.split(".")]
    wanted = "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x" % tuple(octets)
    base = f"/sys/class/infiniband/{device}/ports/1"
    # One process for all entries: a new process costs some 50 ms in an emulated guest.
    out = guest.run(f"grep -sH . {base}/gids/* {base}/gid_attrs/types/*; :").out
    values = dict(line.removeprefix(base).split(":", 1) for line in out.splitlines())
    for name, gid in values.items():
        index = name.rsplit("/", 1)[1]
        if gid == wanted and "v2" in values.get(f"/gid_attrs/types/{index}", ""):
            return int(index)
    raise LookupError(f"guest {guest.name}: {device} has no RoCE v2 GID of {address}")


def parse(out: str, columns: tuple) -> dict:
    """The last result line of a tool's output as a dict of its columns."""
    rows = [line.split() for line in out.splitlines() if re.match(r"^\s*\d+\s+\d+\s+[\d.]", line)]
    if not rows:
        raise ValueError("no result line")
    return dict(zip(columns, map(float, rows[-1])))


def came_early(result) -> bool:
    """Whether a client of -R died of a race in perftest. Both sides agree to connect, and then the
    server listens: a client that is faster is rejected (reason 8: no such service), and its next
    try uses memory that it has freed. Upstream mended that by 3d9d8d0 in December 2025."""
    return result.rc == -signal.SIGSEGV and "RDMA_CM_EVENT_REJECTED; error: 8." in \
        result.out + result.err


def run(tool: str, server: Side, client: Side, options: str = "", timeout: float = 90) -> Outcome:
    """Runs `tool` with the same options on both ends; the client's figures count."""
    for _ in range(CM_TRIES - 1):
        with suppress(CameEarly):
            return run_once(tool, server, client, options, timeout)
    return run_once(tool, server, client, options, timeout)


def run_once(tool: str, server: Side, client: Side, options: str, timeout: float) -> Outcome:
    port = next(_ports)  # a new one: the last one's connections may still be closing
    latency = tool.endswith("_lat")
    common = f"-F -p {port} {options}" + ("" if latency else " --report_gbits")

    def command(side: Side) -> str:
        return f"{tool} -d {side.device} -x {side.gid} {common}"

    listening = server.guest.popen(command(server))
    try:
        wait_listening(server.guest, port, listening, cm="-R" in options.split())
        result = client.guest.run(f"{command(client)} {server.address}", timeout)
        log = f"# client: {result.command}\n{result.out}{result.err}"
        if not result.ok:
            error = CameEarly if came_early(result) else CommandFailed
            raise error(f"{log}# status {result.rc}\n# server\n{listening.out}{listening.err}")
        other = listening.wait(20)
        log += f"# server: {other.command}\n{other.out}{other.err}"
        if not other.ok:
            raise CommandFailed(f"{log}# server's status {other.rc}")
    finally:
        if listening.poll() is None:
            listening.stop()
    return Outcome(parse(result.out, LATENCY if latency else BANDWIDTH), log)


def wait_listening(guest, port: int, process, timeout: float = 20, cm: bool = False) -> None:
    """Waits until something in the guest listens on a port of TCP, or of rdma_cm."""
    look = (f"rdma resource show cm_id | grep -q 'state LISTEN.*:{port} '" if cm else
            f"grep -qi ':{port:04x} 0*:0000 0A' /proc/net/tcp /proc/net/tcp6")
    script = f"for i in $(seq {int(timeout * 10)}); do {look} && exit 0; sleep 0.1; done; exit 1"
    if not guest.run(script, timeout + 10).ok:
        raise CommandFailed(f"guest {guest.name}: '{process.command}' does not listen on port "
                            f"{port}\n{process.out}{process.err}")
