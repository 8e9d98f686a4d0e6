# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run costs: CPU time of QEMU's threads, and interrupts, packets and doorbells."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from verna_vm.devices import Card


@dataclass(frozen=True)
class Reading:
    """Totals at one moment, of one guest. Times are ns of the host's CPU."""
    vcpu: int        # threads that run the guest
    card: int        # all other threads of its QEMU: the device and its wire
    interrupts: int
    packets: int     # both directions, as the wire has them if the device tells, else the stack's
    doorbells: int   # 0: the device does not tell

    def __sub__(self, other: "Reading") -> "Reading":
        return Reading(*(getattr(self, name) - getattr(other, name)
                         for name in Reading.__dataclass_fields__))


def threads(pid: int) -> tuple[int, int]:
    """CPU time of a QEMU's vCPU threads and of its other threads."""
    vcpu = other = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            spent = int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if re.match(r"CPU \d+/", name):
            vcpu += spent
        else:
            other += spent
    return vcpu, other


def parse_interrupts(text: str, names: list[str]) -> int:
    """The sum over all CPUs of the lines of /proc/interrupts whose action is one of `names`."""
    total = 0
    for line in text.splitlines():
        words = line.split()
        device = len(words) > 2 and words[0].rstrip(":").isdigit()
        if device and any(name in words[-1] for name in names):
            for word in words[1:]:
                if not word.isdigit():
                    break
                total += int(word)
    return total


def read(guest, netdev: str, address: str) -> Reading:
    """Takes a reading; `address` is the PCI or virtio name of the device, for its interrupts."""
    base = f"/sys/class/net/{netdev}/statistics"
    out = guest.run(f"cat {base}/rx_packets {base}/tx_packets; cat /proc/interrupts",
                    check=True).out
    rx, tx, interrupts = out.split("\n", 2)
    packets, doorbells = int(rx) + int(tx), 0
    card = guest.devices[0]
    if isinstance(card, Card):
        counters = json.loads(guest.vernactl(card, "counters"))
        packets = counters["port"]["rx_frames"] + counters["port"]["tx_frames"]
        doorbells = counters["dev"]["doorbells"]
    vcpu, other = threads(guest.pid)
    return Reading(vcpu, other, parse_interrupts(interrupts, [netdev, address]), packets,
                   doorbells)


def address(guest, netdev: str) -> str:
    """The last part of the name of the device that an interface belongs to."""
    return guest.run(f"basename $(readlink -f /sys/class/net/{netdev}/device)",
                     check=True).out.strip()
