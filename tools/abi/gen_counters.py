#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes Documentation/counters.md from the lists in kernel/include/hw/verna_counters.h.

With --check it writes nothing and fails if the file is not what it would write.
"""

import re
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
HEADER = REPO / "kernel/include/hw/verna_counters.h"
TARGET = REPO / "Documentation/counters.md"

GROUPS = {
    "PORT": ("Port", "`ethtool -S`, prefix `port_`. Every frame that the port receives is in "
             "`rx_frames` and in exactly one of `rx_to_eth`, `rx_to_rdma`, `rx_to_switch`, "
             "`rx_pause` and `rx_drop_*`. A VF's port is its vport."),
    "VPORT": ("Vport", "Every frame that enters the embedded switch is in `tx_frames` of the vport "
              "where it does, and either in exactly one `tx_drop_*` or at one vport, and "
              "`tx_copies` more, in `rx_frames` or exactly one `rx_drop_*`. `tx_to_software` is "
              "about frames that are counted elsewhere."),
    "ETH": ("Ethernet function", "`ethtool -S`, prefix `eth_`. Every frame of `rx_to_eth` and "
            "of `rx_loopback` is in exactly one of `rx_packets` and `rx_drop_*`; a merged packet "
            "counts there as often as it has frames."),
    "TXQ": ("Ethernet TX queue", "`ethtool -S`, prefix `txq<n>_`."),
    "RXQ": ("Ethernet RX queue", "`ethtool -S`, prefix `rxq<n>_`."),
    "RDMA": ("RDMA function", "`rdma statistic`, `/sys/class/infiniband/*/ports/1/hw_counters`. "
             "Every frame of `rx_to_rdma` is in `rx_packets` and in exactly one of `rx_accepted`, "
             "`rx_duplicate`, `rx_out_of_sequence`, `rx_rnr` and `rx_drop_*`."),
    "DEV": ("Device", "`ethtool -S`, prefix `dev_`."),
}


def groups(text: str) -> dict[str, list[tuple[str, str]]]:
    """The counters of each list: name and what is counted."""
    result = {}
    for name, body in re.findall(r"#define VERNA_(\w+)_COUNTERS\(X\)((?:.*\\\n)*.*\n)", text):
        result[name] = re.findall(r'X\((\w+), "([^"]+)"\)', body)
    return result


def page(text: str) -> str:
    lines = ["<!-- SPDX-License-Identifier: GPL-2.0-or-later -->",
             "<!-- Written by tools/abi/gen_counters.py from verna_counters.h. -->",
             "# Counters", "",
             "All of them are also shown by `vernactl SOCKET counters`. They go on over resets.",
             ""]
    for name, counters in groups(text).items():
        title, where = GROUPS[name]
        lines += [f"## {title}", where, "", "| counter | counts |", "|---|---|"]
        lines += [f"| `{counter}` | {what} |" for counter, what in counters]
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    wanted = page(HEADER.read_text())
    if "--check" in sys.argv[1:]:
        if not TARGET.exists() or TARGET.read_text() != wanted:
            print(f"{TARGET.relative_to(REPO)} is not what {HEADER.name} says: run "
                  "tools/abi/gen_counters.py", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
