# SPDX-License-Identifier: GPL-2.0-or-later
"""How to run the SDK's QEMU on this host, and what it is made of."""

import ctypes
import json
import os
import signal
from pathlib import Path

REPO = Path(__file__).resolve().parents[3]
PR_SET_PDEATHSIG = 1
PATIENCE = {"debug": 6}
LIBC = ctypes.CDLL(None, use_errno=True)


def artefacts(kernel: str = "") -> dict:
    """Where the set-up put things for guests with that kernel; see tools/setup. The default is the
    one that VERNA_KERNEL asks for, or else the stock one."""
    kernel = kernel or os.environ.get("VERNA_KERNEL") or "stock"
    path = REPO / ("build/setup.json" if kernel == "stock" else f"build/setup-{kernel}.json")
    if not path.exists():
        wish = "" if kernel == "stock" else f" VERNA_KERNEL={kernel}"
        raise RuntimeError(f"{path} is missing: run 'make setup{wish}' first")
    found = json.loads(path.read_text())
    if override := os.environ.get("VERNA_QEMU"):
        found["qemu"] = override
    return found


def patience(kernel: str = "") -> float:
    """By what time limits are stretched for guests with that kernel."""
    return PATIENCE.get(kernel or os.environ.get("VERNA_KERNEL", ""), 1)


def die_with_parent() -> None:
    """Called in a child: no QEMU outlives the runner, however that ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def with_sdk(setup: dict, name: str) -> list[str]:
    """A program that is linked against the SDK's libraries, which this host may not have."""
    sdk = setup["sdk"]
    return [f"{sdk}/lib64/ld-linux-x86-64.so.2",
            "--library-path", f"{sdk}/usr/lib/x86_64-linux-gnu", setup[name]]


def program(setup: dict) -> list[str]:
    """QEMU, with its firmware."""
    sdk = setup["sdk"]
    return [*with_sdk(setup, "qemu"), "-L", f"{sdk}/usr/share/qemu",
            "-L", f"{sdk}/usr/share/seabios"]
