# SPDX-License-Identifier: GPL-2.0-or-later
"""Tenants of a card: virtual functions whose interfaces are in network namespaces."""

import json

from conftest import End
from helpers import bdf
from verna_vm.agent import shell_quote


class Tenant(End):
    """A VF whose interface is in a network namespace."""

    def __init__(self, pf: End, number: int):
        super().__init__(pf.guest, f"10.0.7.{11 + number}", f"fd00:7::{11 + number}")
        self.number, self.space = number, f"tenant{number}"
        self.device = f"/sys/bus/pci/devices/{bdf(pf)}/virtfn{number}"

    @property
    def name(self) -> str:
        return f"{self.guest.name}/{self.space}"

    def run(self, command: str, *args, **options):
        inside = shell_quote(command)
        return self.guest.run(f"ip netns exec {self.space} sh -c {inside}", *args, **options)

    def popen(self, command: str, **options):
        return self.guest.popen(f"ip netns exec {self.space} {command}", **options)

    def move_in(self) -> "Tenant":
        """Finds the interface, moves it into the namespace and gives it its addresses."""
        self.guest.run("udevadm settle", check=True)  # which gives them their names
        self.netdev, = self.guest.run(f"ls {self.device}/net", check=True).out.split()
        self.rdma, = self.guest.run(f"ls {self.device}/infiniband", check=True).out.split()
        self.guest.run(f"ip netns add {self.space} && "
                       f"ip link set {self.netdev} netns {self.space}", check=True)
        self.run("ip link set lo up", check=True)
        self.run(f"ip addr add {self.ip}/24 dev {self.netdev}", check=True)
        self.run(f"ip addr add {self.ip6}/64 dev {self.netdev} nodad", check=True)
        self.run(f"ip link set {self.netdev} up", check=True)
        return self

    @property
    def mac(self) -> str:
        link, = json.loads(self.run(f"ip -j link show {self.netdev}", check=True).out)
        return link["address"]


def numvfs(pf, count: int, **options):
    return pf.run(f"sh -c 'echo {count} > /sys/class/net/{pf.netdev}/device/sriov_numvfs'",
                  timeout=60, **options)
