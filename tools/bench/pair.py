# SPDX-License-Identifier: GPL-2.0-or-later
"""Two guests with an address each, and the RDMA device that a row uses."""

from .perftest import Side, gid_index

MTU = 9000  # the path MTU of RoCE becomes 4096
ADDRESSES = ("10.77.0.1", "10.77.0.2")


def configure(guests, driver: str = "verna", mtu: int = MTU, addresses=ADDRESSES) -> list[str]:
    """Gives the n-th interface of `driver` in each guest its address; returns the interfaces."""
    netdevs = []
    for guest, address in zip(guests, addresses):
        netdev = guest.netdev(driver)
        guest.run(f"ip link set {netdev} mtu {mtu} up && ip addr add {address}/24 dev {netdev}",
                  check=True)
        netdevs.append(netdev)
    for guest, netdev, peer in zip(guests, netdevs, reversed(addresses)):
        guest.run(f"for i in $(seq 100); do ping -c1 -W1 -I {netdev} {peer} && exit 0; sleep 0.1; "
                  "done; exit 1", timeout=60, check=True)
    return netdevs


def sides(guests, netdevs, addresses=ADDRESSES) -> list[Side]:
    """The ends of RDMA rows, once the devices' GIDs are there."""
    result = []
    for guest, netdev, address in zip(guests, netdevs, addresses):
        guest.run("udevadm settle", check=True)
        device = guest.rdma(netdev)
        result.append(Side(guest, device, gid_index(guest, device, address), address))
    return result


def use_rxe(guests, netdevs, name: str = "rxe0") -> None:
    """Puts the kernel's software RoCE on the interfaces, in place of the card's RDMA.

    The card keeps RoCE frames to its GIDs from the host; without verna_ib it has none.
    """
    for guest, netdev in zip(guests, netdevs):
        guest.run("rmmod verna_ib && modprobe rdma_rxe && "
                  f"rdma link add {name} type rxe netdev {netdev}", check=True)
