# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host's memory can do: the physical bound of a card that copies."""

import ctypes
import statistics
import time


def host_memcpy_gbit(mebibytes: int = 256, runs: int = 5) -> float:
    """Median of one thread's copy rate between two cold buffers, in Gbit/s."""
    size = mebibytes << 20
    source, target = ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)
    ctypes.memset(source, 0x5a, size)
    rates = []
    for _ in range(runs):
        start = time.perf_counter()
        ctypes.memmove(target, source, size)
        rates.append(size * 8 / (time.perf_counter() - start) / 1e9)
    return statistics.median(rates)
