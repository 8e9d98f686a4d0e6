# SPDX-License-Identifier: GPL-2.0-or-later
"""Boots guests on a topology, runs commands in them, returns output and exit codes.

    from verna_vm import Topology

    with Topology("build/run/mine") as net:
        a, b = net.guest("a"), net.guest("b")
        net.link(a, b)                       # a verna card in each, joined
        net.start()
        print(a.run("ip -br link").out)
"""

from .agent import CommandFailed, GuestGone, Process, Result
from .devices import Card, Nic
from .guest import Guest
from .topology import Topology

__all__ = ["Card", "CommandFailed", "Guest", "GuestGone", "Nic", "Process", "Result", "Topology"]
