# SPDX-License-Identifier: GPL-2.0-or-later
"""Signs of an interrupt that QEMU lost, in what its monitor printed when it did."""

import pytest
from verna_vm import apic

REGISTERS = """
CPU#0
RAX=0000000000000000 RBX=0000000000000000
RIP=ffffffffa090fa3f RFL=00000202 [-------] CPL=0 II=0 A20=1 SMM=0 HLT=1
CPU#1
RIP=ffffffffa0911234 RFL=00000206 [-----P-] CPL=3 II=0 A20=1 SMM=0 HLT=0
CPU#2
EIP=0000fff0 EFL=00000002 [-------] CPL=0 II=0 A20=1 SMM=0 HLT=1
"""
LAPIC = """dumping local APIC state for CPU 3

LVTT\t 0x000200ec active-hi edge                 periodic     Fixed  (vec 236)
Timer\t DCR=0x3 (divide by 16) initial_count = 249999 current_count = 2344
SPIV\t 0x000001ff APIC enabled, focus=off, spurious vec 255
ISR\t {}
IRR\t {}

APR 0x03 TPR 0x10 DFR 0x0f LDR 0x00 PPR 0xe0
"""


def test_halted():
    assert apic.halted(REGISTERS) == [0, 2]


@pytest.mark.parametrize("served, raised, found", [
    ("236 ", "33 236 ", [236]), ("(none)", "(none)", []), ("236 ", "33 ", []),
    ("(none)", "33 236 ", []), ("33 236 ", "33 236 251 ", [33, 236])])
def test_blocked(served, raised, found):
    assert apic.blocked(LAPIC.format(served, raised)) == found
