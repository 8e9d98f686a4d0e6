# SPDX-License-Identifier: GPL-2.0-or-later
"""A processor that an interrupt of QEMU's emulated APIC has lost its way to.

A processor sleeps while its APIC has the timer's interrupt in service, so that this one and all of
lower priority wait, those of disks among them: the write that ends it went astray. One boot in ten
of a guest of ten CPUs stood still so before qemu-device/qom/patches/0003.
"""

import re


def halted(registers: str) -> list[int]:
    """Numbers of the processors that sleep; `registers` is what `info registers -a` prints."""
    flags = re.findall(r"^[RE]IP=.* HLT=(\d)", registers, re.M)
    return [cpu for cpu, flag in enumerate(flags) if flag == "1"]


def blocked(lapic: str) -> list[int]:
    """Vectors in service that were raised again, in what `info lapic` prints."""
    served, raised = ([int(word) for word in re.findall(r"\d+", line)] for line in
                      re.findall(r"^I[SR]R\t (.*)$", lapic, re.M)[:2])
    return [vector for vector in served if vector in raised]
