# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast the guests' TSC counts, so that a kernel need not find out.

Under TCG it is the host's. A guest's kernel measures it against emulated timers in the first
milliseconds of its life. If the host lets its CPU stand still meanwhile, the result may be a tenth
of the truth: the guest's seconds are then that much shorter, and every time limit in it is.
"""

import ctypes
import functools
import mmap
import platform
import time

READ_TSC = bytes.fromhex("0f31" "48c1e220" "4809d0" "c3")  # rdtsc; shl rdx, 32; or rax, rdx; ret
INTERVAL = 0.05  # seconds


def khz_between(start: tuple[int, int], end: tuple[int, int]) -> int:
    """The rate, from two readings of (nanoseconds, ticks)."""
    return round((end[1] - start[1]) * 1_000_000 / (end[0] - start[0]))


@functools.cache
def host_khz() -> int:
    """The rate of this host's TSC; 0 if it has none, or does not let us read it."""
    if platform.machine() != "x86_64":
        return 0
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return 0
    code.write(READ_TSC)
    ticks = ctypes.CFUNCTYPE(ctypes.c_uint64)(
        ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def reading() -> tuple[int, int]:
        """The one of several that was interrupted the least."""
        tries = [(time.monotonic_ns(), ticks(), time.monotonic_ns()) for _ in range(20)]
        before, count, after = min(tries, key=lambda t: t[2] - t[0])
        return (before + after) // 2, count

    start = reading()
    time.sleep(INTERVAL)
    return khz_between(start, reading())


def kernel_option(accel: str) -> str:
    """What tells a guest's kernel; with KVM it hears it from KVM itself."""
    khz = host_khz() if accel == "tcg" else 0
    return f"tsc_early_khz={khz}" if khz else ""
