# SPDX-License-Identifier: GPL-2.0-or-later
"""The network devices that are measured, each as a pair of guests with one such device."""

from dataclasses import dataclass

from verna_vm import Topology
from verna_vm.bridge import Bridge
from verna_vm.devices import Card, Nic


@dataclass(frozen=True)
class Peer:
    """One kind of device on one kind of wire.

    model: QEMU's name of the device; driver: the kernel's name of its driver;
    wire: "link" (the card's own), "socket" (a datagram socket between the two QEMUs) or "tap"
    (two taps with vnet headers on a bridge).
    """
    name: str
    model: str
    driver: str
    wire: str

    @property
    def many_queues(self) -> bool:
        """Whether device and wire can have more than one pair of queues."""
        return self.model != "virtio-net-pci" or self.wire == "tap"


PEERS = [
    Peer("verna link", "verna", "verna", "link"),
    Peer("verna socket", "verna", "verna", "socket"),
    Peer("verna tap", "verna", "verna", "tap"),
    Peer("igb socket", "igb", "igb", "socket"),
    Peer("e1000e socket", "e1000e", "e1000e", "socket"),
    Peer("vmxnet3 socket", "vmxnet3", "vmxnet3", "socket"),
    Peer("virtio socket", "virtio-net-pci", "virtio_net", "socket"),
    Peer("virtio tap", "virtio-net-pci", "virtio_net", "tap"),
]


def connect(net: Topology, peer: Peer, bridge: Bridge | None, guests, queues: int) -> None:
    """Puts one device of the kind into each guest and joins them."""
    if peer.wire == "link":
        net.link(*guests)
    elif peer.wire == "socket":
        net.ethernet(*guests, peer.model)
    else:
        for number, guest in enumerate(guests):
            many = queues if peer.model == "virtio-net-pci" else 1
            backend = bridge.tap(f"{peer.driver[:6]}{queues}{number}", queues=many)
            guest.devices.append(tap_device(net, peer, backend, many))


def tap_device(net: Topology, peer: Peer, backend: str, queues: int) -> Card | Nic:
    if peer.model == "verna":
        return Card(backend=backend, mac=net.mac(), ctl=net.ctl())
    properties = {"mq": True, "vectors": 2 * queues + 2} if queues > 1 else {}
    return Nic(backend, peer.model, net.mac(), properties)
