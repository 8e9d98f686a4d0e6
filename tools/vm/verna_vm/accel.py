# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether to use KVM. An openable /dev/kvm proves nothing: on some machines a stock kernel never
boots with it. So a guest that only prints a line has to prove it, once per host and QEMU.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from .launch import die_with_parent, program

LIMIT = 20  # seconds; with KVM that works it takes one or two
ALIVE = "verna: probe is alive"


def cpu(accel: str) -> str:
    """The CPU model. With ERMS visible, a guest's copies use `rep movsb`, which TCG runs byte by
    byte: a factor of seven."""
    return "host" if accel == "kvm" else "max,-erms,-fsrm"


def boots_with_kvm(setup: dict) -> bool:
    command = [*program(setup), "-accel", "kvm", "-cpu", "host", "-M", "q35", "-m", "256",
               "-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio",
               "-kernel", setup["vmlinuz"], "-initrd", setup["initramfs"],
               "-append", "console=ttyS0 quiet panic=-1 no_timer_check guest.probe"]
    try:
        result = subprocess.run(command, capture_output=True, timeout=LIMIT, check=False,
                                stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
    except subprocess.TimeoutExpired:
        return False
    return ALIVE in result.stdout.decode(errors="replace")


def fingerprint(setup: dict) -> str:
    """The verdict holds for this boot of the host and this version of QEMU and kernel."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {Path(setup['sdk']).name}"


def kvm_works(setup: dict) -> bool:
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    note = Path(setup["cache"]) / "kvm.json"
    mark = fingerprint(setup)
    try:
        verdict = json.loads(note.read_text())
        if verdict["for"] == mark:
            return verdict["works"]
    except (OSError, ValueError, KeyError):
        pass
    works = boots_with_kvm(setup)
    part = note.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps({"for": mark, "works": works}))
    part.replace(note)
    if not works:
        print("[vm] /dev/kvm is there, but a guest does not boot with it: using TCG",
              file=sys.stderr)
    return works


def choose(setup: dict) -> str:
    """`kvm` or `tcg`; the variable ACCEL overrides the probe."""
    wish = os.environ.get("ACCEL", "")
    if wish not in ("", "kvm", "tcg"):
        raise ValueError(f"ACCEL is '{wish}': it must be 'kvm' or 'tcg'")
    return wish or ("kvm" if kvm_works(setup) else "tcg")
