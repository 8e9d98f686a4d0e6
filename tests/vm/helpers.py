# SPDX-License-Identifier: GPL-2.0-or-later
"""What several guest tests do: perftest ends, counters, and waiting for something to be true."""

import json
import re
import time

from bench.perftest import Side, gid_index
from verna_vm.launch import patience

# perftest's queue pairs wait 67 ms for an acknowledgement, seven times. rxe in an emulated guest
# was seen 0.9 s behind with what was outstanding, so whole windows sent anew; this is one second.
RXE_TIME = "-u 18"


def wait_until(condition, timeout: float = 20, what: str = "the condition"):
    """Polls `condition` until it holds; returns what it returned then."""
    end = time.monotonic() + timeout * patience()
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come true within {timeout:g} s")
        time.sleep(0.2)
    return value


def carrier(end) -> bool:
    return end.run(f"cat /sys/class/net/{end.netdev}/carrier").out.strip() == "1"


def bdf(end) -> str:
    """The PCI address of the function behind an end's interface."""
    path = f"/sys/class/net/{end.netdev}/device"
    return end.run(f"basename $(readlink -f {path})", check=True).out.strip()


def ping(end, address: str, count: int = 20, options: str = "-i 0.02") -> bool:
    """True if `count` pings were answered.

    With -w, ping waits for late answers; without, it gives up after two round trips, which a busy
    host does not keep.
    """
    out = end.run(f"ping -q -w 15 -c {count} {options} {address}", timeout=40).out
    found = re.search(r"(\d+) received", out)
    return bool(found) and int(found.group(1)) >= count


def silent(end, address: str, count: int = 3) -> bool:
    """True if none of some pings was answered within a second or two."""
    out = end.run(f"ping -q -i 0.2 -W 1 -c {count} {address}", timeout=40).out
    return ", 0 received" in out


def reachable(end, peer, timeout: float = 20) -> None:
    """Waits until `peer` answers a ping."""
    wait_until(lambda: end.run(f"ping -c1 -W1 {peer.ip}", timeout=10).ok, timeout,
               f"a ping from {end.ip} to {peer.ip}")


def wait_for_card(end) -> None:
    """Waits until a card that was reset or plugged in has its interface and its RDMA device, with
    the names that udev gives them: it hears of a device when that is already there."""
    wait_until(lambda: "netdev" in end.guest.run("rdma link").out, 30, "the RDMA device")
    end.guest.run("udevadm settle", check=True)


def rdma_side(end) -> Side:
    """An end as perftest wants it: with the index of its IPv4 GID, once that is there."""
    return wait_until(lambda: _side_if_ready(end), 20, f"the GID of {end.ip}")


def _side_if_ready(end) -> Side | None:
    try:
        return Side(end, end.rdma, gid_index(end, end.rdma, end.ip), end.ip)
    except LookupError:
        return None


def hw_counter(end, name: str) -> int:
    """One of the RDMA device's hw_counters."""
    path = f"/sys/class/infiniband/{end.rdma}/ports/1/hw_counters/{name}"
    return int(end.run(f"cat {path}", check=True).out)


def ethtool_stats(end) -> dict[str, int]:
    """`ethtool -S`, by name."""
    rows = end.run(f"ethtool -S {end.netdev}", check=True).out.splitlines()[1:]
    return {name.strip(): int(value) for name, value in (row.rsplit(":", 1) for row in rows)}


def resources(end) -> dict[str, int]:
    """Objects that processes hold on the RDMA device: `rdma resource show` without the kernel's."""
    result = {}
    for kind in ("qp", "cq", "mr", "pd", "ctx"):
        scope = "link" if kind == "qp" else "dev"
        out = end.run(f"rdma -j resource show {kind} {scope} {end.rdma}").out.strip() or "[]"
        result[kind] = sum(1 for item in json.loads(out) if item.get("pid"))
    return result


def vernactl(end, what: str):
    """What vernactl says of the first card of an end."""
    return json.loads(end.guest.vernactl(end.guest.devices[0], what))


def repeatedly(measure, holds, times: int = 3) -> None:
    """Figures of a busy host may be of anything: what holds is seen in one of a few measurements,
    what does not in none."""
    seen = []
    while len(seen) < times and not (seen and holds(*seen[-1])):
        seen.append(measure())
    print(seen)
    assert holds(*seen[-1]), seen
