# SPDX-License-Identifier: GPL-2.0-or-later
"""The card as an installed system sees it: found at boot, bound, named, and on the wire."""

import re

from helpers import ethtool_stats, ping, rdma_side

BOOT = True  # what is found at boot is looked at


def test_drivers_load_by_themselves(two_guests):
    for end in two_guests:
        modules = end.run("lsmod", check=True).out
        assert re.search(r"^verna ", modules, re.M) and re.search(r"^verna_ib ", modules, re.M)


def test_pci_identity(two_guests):
    out = two_guests[0].run("lspci -nn -d 1234:7e4a -vv", check=True).out
    assert "Ethernet controller" in out
    assert "MSI-X: Enable+" in out
    assert "FLReset+" in out
    assert "Kernel driver in use: verna" in out


def test_verbs_device(two_guests):
    for end in two_guests:
        out = end.run(f"ibv_devinfo -v -d {end.rdma}", check=True).out
        assert "PORT_ACTIVE" in out
        assert "Ethernet" in out
        assert "RoCE v2" in out


def test_rdma_link_is_truthful(two_guests):
    end = two_guests[0]
    out = end.run("rdma link show", check=True).out
    assert f"link {end.rdma}/1 state ACTIVE physical_state LINK_UP netdev {end.netdev}" in out


def test_ping_both_families(two_guests):
    a, b = two_guests
    assert ping(a, b.ip)
    assert ping(b, a.ip6)


def test_ping_sizes_and_mtu(two_guests):
    a, b = two_guests
    for mtu in (68, 576, 1500, 4200, 9000, 9600, 1500):
        for end in two_guests:
            end.run(f"ip link set {end.netdev} mtu {mtu}", check=True)
        largest = min(mtu - 28, 9572)
        for size in (1, largest):
            assert ping(a, b.ip, 3, f"-i 0.02 -M do -s {size}"), f"mtu {mtu} size {size}"
    # An MTU below 1280 took the IPv6 addresses away.
    for end in two_guests:
        end.run(f"ip addr replace {end.ip6}/64 dev {end.netdev} nodad", check=True)


def test_mtu_range_is_enforced(two_guests):
    a = two_guests[0]
    for mtu in (67, 9601):
        result = a.run(f"ip link set {a.netdev} mtu {mtu}")
        assert not result.ok and ("mtu" in result.err.lower())


def test_every_received_frame_has_one_fate(two_guests):
    """Conservation: frames in = to Ethernet + to RDMA + named drops."""
    a, b = two_guests
    a.run(f"ping -c 50 -i 0.01 -s 1400 {b.ip}", check=True)
    for end in two_guests:
        stats = ethtool_stats(end)
        ports = {name.removeprefix("port_"): value for name, value in stats.items()
                 if name.startswith("port_")}
        assert ports["rx_frames"] > 0
        fates = ports["rx_to_eth"] + ports["rx_to_rdma"] + ports["rx_pause"] + sum(
            value for name, value in ports.items() if name.startswith("rx_drop_"))
        assert ports["rx_frames"] == fates, stats


def test_ethtool(two_guests):
    a = two_guests[0]
    assert "driver: verna" in a.run(f"ethtool -i {a.netdev}", check=True).out
    assert "PASS" in a.run(f"ethtool -t {a.netdev}", check=True, timeout=60).out
    assert a.run(f"ethtool -d {a.netdev}", check=True).out
    for option in "gl":
        assert "Current hardware settings" in a.run(f"ethtool -{option} {a.netdev}", check=True).out


def test_ring_change_keeps_the_wire(two_guests):
    a, b = two_guests
    for size in (64, 1024):
        a.run(f"ethtool -G {a.netdev} rx {size} tx {size}", check=True)
        assert ping(a, b.ip)


def test_devlink(two_guests):
    a = two_guests[0]
    out = a.run("devlink dev info", check=True).out
    assert "driver verna" in out and "fw" in out
    assert "reporter" in a.run("devlink health show", check=True).out


def test_gids_follow_addresses(two_guests):
    a = two_guests[0]
    before = rdma_side(a).gid
    a.run(f"ip addr add 10.9.9.9/24 dev {a.netdev}", check=True)
    gids = a.run(f"rdma link; cat /sys/class/infiniband/{a.rdma}/ports/1/gids/*").out
    assert "ffff:0a09:0909" in gids
    a.run(f"ip addr del 10.9.9.9/24 dev {a.netdev}", check=True)
    assert rdma_side(a).gid == before
