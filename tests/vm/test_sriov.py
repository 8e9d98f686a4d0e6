# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual functions: tenants in namespaces, the PF beside them, and a peer on the wire."""

import json
import re
import time

import pytest
from bench import perftest
from conftest import VFS
from helpers import (bdf, carrier, ping, rdma_side, reachable, repeatedly, wait_for_card,
                     wait_until)
from tenants import Tenant, numvfs

FRAMES = "python3 /usr/local/lib/verna-tests/frames.py"
STRANGE = "02:00:00:00:00:99"


def vf_info(pf, number: int) -> dict:
    link, = json.loads(pf.run(f"ip -j -s -d link show {pf.netdev}", check=True).out)
    return next(vf for vf in link["vfinfo_list"] if vf["vf"] == number)


def set_vf(pf, number: int, words: str, **options):
    return pf.run(f"ip link set {pf.netdev} vf {number} {words}", **({"check": True} | options))


@pytest.fixture(scope="module")
def tenants(machines):
    """PF, peer, and two tenants."""
    pf, peer = machines
    numvfs(pf, 2, check=True)
    made = [Tenant(pf, number).move_in() for number in range(2)]
    yield pf, peer, *made
    for tenant in made:
        pf.run(f"ip netns del {tenant.space}", check=True)
    numvfs(pf, 0, check=True)


def everyone_reaches(ends) -> None:
    for end in ends:
        for other in ends:
            if other is not end:
                reachable(end, other)


def test_numvfs_in_any_order(machines):
    pf, _ = machines
    for count in (1, VFS, 2, VFS):
        numvfs(pf, count, check=True)
        found = pf.run(f"ls -d /sys/bus/pci/devices/{bdf(pf)}/virtfn*", check=True).out.split()
        assert len(found) == count
        assert all(pf.run(f"ls {vf}/net").out.split() for vf in found)
        assert not numvfs(pf, count - 1 or 2).ok, "only from 0"
        numvfs(pf, 0, check=True)
    assert not numvfs(pf, VFS + 1).ok
    assert pf.run(f"cat /sys/class/net/{pf.netdev}/device/sriov_totalvfs").out == f"{VFS}\n"


def test_everyone_reaches_everyone(tenants):
    everyone_reaches(tenants)
    macs = [tenant.mac for tenant in tenants[2:]]
    assert len(set(macs)) == 2 and macs == [vf_info(tenants[0], n)["address"] for n in (0, 1)]


def test_files_arrive(tenants):
    """TCP between tenants, from a tenant to the wire and back: the same by hash."""
    _, peer, one, two = tenants
    one.guest.run("head -c 4000000 /dev/urandom > /tmp/data", check=True)
    peer.guest.push(one.guest.pull("/tmp/data"), "/tmp/data")
    wanted = one.guest.run("sha256sum < /tmp/data", check=True).out.split()[0]
    for sender, receiver in ((one, two), (two, peer), (peer, one)):
        server = receiver.popen("socat -u TCP-LISTEN:5301,reuseaddr SYSTEM:sha256sum")
        perftest.wait_listening(receiver, 5301, server)
        sender.run(f"socat -u OPEN:/tmp/data TCP:{receiver.ip}:5301", check=True, timeout=60)
        assert server.wait(20).out.split()[0] == wanted


@pytest.mark.parametrize("tool, options", [("ib_write_bw", "-s 65536 -n 500"),
                                           ("ib_send_lat", "-s 64 -n 200")])
def test_rdma(tenants, tool, options):
    """Between tenants and the wire."""
    peer, one, two = map(rdma_side, tenants[1:])
    for server, client in ((one, two), (peer, one), (two, peer)):
        assert perftest.run(tool, server, client, options).values


def test_tenants_need_no_pf(tenants):
    pf, peer, one, two = tenants
    pf.run(f"ip link set {pf.netdev} down", check=True)
    try:
        assert ping(one, peer.ip) and ping(peer, two.ip) and ping(one, two.ip)
    finally:
        pf.bring_up()
    reachable(pf, one)


def test_link_state(tenants):
    pf, peer, one, two = tenants
    assert vf_info(pf, 0)["link_state"] == "auto"
    set_vf(pf, 0, "state disable")
    wait_until(lambda: not carrier(one), what="the carrier of a disabled VF")
    set_vf(pf, 0, "state auto")
    wait_until(lambda: carrier(one))
    for number in (0, 1):
        set_vf(pf, number, "state enable")
    card = pf.guest.devices[0]
    pf.guest.qmp("set_link", name=card.ident, up=False)
    try:
        wait_until(lambda: not carrier(pf))
        assert carrier(one) and ping(one, two.ip), "without a wire"
        set_vf(pf, 1, "state auto")
        wait_until(lambda: not carrier(two))
    finally:
        pf.guest.qmp("set_link", name=card.ident, up=True)
        for number in (0, 1):
            set_vf(pf, number, "state auto")
    wait_until(lambda: carrier(pf) and carrier(one) and carrier(two))
    reachable(one, peer)


def function_reset(end) -> None:
    end.guest.run(f"sh -c 'echo 1 > {end.device}/reset'", check=True, timeout=60)


def test_mac_is_for_the_pf_to_say(tenants):
    pf, peer, one, _ = tenants
    before = one.mac
    refused = one.run(f"ip link set {one.netdev} address {STRANGE}")
    assert not refused.ok and "not permitted" in refused.err
    assert one.mac == before
    set_vf(pf, 0, f"mac {STRANGE}")
    try:
        assert vf_info(pf, 0)["address"] == STRANGE
        function_reset(one)
        wait_until(lambda: one.mac == STRANGE and carrier(one))
        reachable(one, peer)
        clash = set_vf(pf, 1, f"mac {STRANGE}", check=False)
        assert not clash.ok and "exists" in clash.err
        assert not set_vf(pf, 1, "mac 01:00:5e:00:00:01", check=False).ok
    finally:
        set_vf(pf, 0, f"mac {before}")
        function_reset(one)
    wait_until(lambda: one.mac == before and carrier(one))
    reachable(one, peer)


def heard(receiver, sender, source: str) -> bool:
    """Whether a frame of `sender` that says to be from `source` reaches the receiver."""
    counter = receiver.popen(f"{FRAMES} count {receiver.netdev}")
    counter.wait_for("ready")
    destination = receiver.run(f"cat /sys/class/net/{receiver.netdev}/address").out.strip()
    frame = f"bytes.fromhex('{destination}{source}88b5'.replace(':', '')) + bytes(86)"
    sender.run("python3 -c \"import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); "
               f"s.bind(('{sender.netdev}', 0)); s.send({frame})\"", check=True)
    time.sleep(1)
    counter.close_input()
    counter.wait(20)
    return destination in counter.out


def dropped(pf, number: int) -> int:
    stats = vf_info(pf, number)["stats"]["tx"]
    return stats.get("drop", stats.get("dropped"))


def test_spoof_check_and_trust(tenants):
    pf, peer, one, two = tenants
    assert vf_info(pf, 0)["spoofchk"] and not vf_info(pf, 0)["trust"]
    before = dropped(pf, 0)
    for receiver in (peer, two):
        assert heard(receiver, one, one.mac)
        assert not heard(receiver, one, STRANGE)
    assert dropped(pf, 0) == before + 2
    set_vf(pf, 0, "spoofchk off")
    try:
        assert heard(peer, one, STRANGE) and heard(two, one, STRANGE)
        set_vf(pf, 0, "trust on")
        own = one.mac
        one.run(f"ip link set {one.netdev} address {STRANGE}", check=True)
        reachable(one, peer)
        one.run(f"ip link set {one.netdev} address {own}", check=True)
        reachable(one, peer)
    finally:
        set_vf(pf, 0, "spoofchk on trust off")


def test_vlan_of_a_vf(tenants):
    """Its frames are tagged on the wire and untagged for the tenant, who knows nothing of it."""
    pf, peer, one, two = tenants
    far = peer.on_vlan(100, "10.0.17.2", "fd00:17::2")
    set_vf(pf, 0, "vlan 100 qos 5")
    one.run(f"ip addr add 10.0.17.11/24 dev {one.netdev}", check=True)
    try:
        info = vf_info(pf, 0)["vlan_list"][0]
        assert (info["vlan"], info["qos"]) == (100, 5)
        capture = peer.popen(f"tcpdump -i {peer.netdev} -e -n -l -c 5 vlan 100 and icmp")
        capture.wait_for("listening", 20)
        wait_until(lambda: one.run(f"ping -c1 -W1 {far.ip}", timeout=10).ok)
        assert ping(one, far.ip)
        assert not one.run(f"ping -c2 -W1 {peer.ip}").ok and not one.run(
            f"ping -c2 -W1 {two.ip}").ok
        capture.wait(20)
        assert re.search(r"vlan 100, p 5,.* 10\.0\.17\.11 > ", capture.out), capture.out
        for wrong in ("vlan 4095", "vlan 7 qos 8", "vlan 7 proto 802.1ad"):
            assert not set_vf(pf, 0, wrong, check=False).ok
    finally:
        set_vf(pf, 0, "vlan 0")
        one.run(f"ip addr del 10.0.17.11/24 dev {one.netdev}", check=True)
        peer.run(f"ip link del {far.netdev}", check=True)
    reachable(one, peer)


@pytest.mark.alone
def test_rate(tenants):
    pf, peer, one, _ = tenants
    server = peer.popen("iperf3 -s")
    perftest.wait_listening(peer.guest, 5201, server)
    set_vf(pf, 0, "max_tx_rate 40")

    def measure() -> tuple[float]:
        out = one.run(f"iperf3 -u -b 100M -c {peer.ip} -t 4 -O 1 -J", check=True, timeout=60).out
        return (json.loads(out)["end"]["sum_received"]["bits_per_second"] / 1e6,)
    try:
        assert vf_info(pf, 0)["rate"]["max_tx"] == 40
        repeatedly(measure, lambda rate: 34 <= rate <= 40.2)
    finally:
        set_vf(pf, 0, "max_tx_rate 0")
        server.stop()


@pytest.mark.alone
def test_guarantee(tenants):
    """Two tenants want 40 Mbit/s each, of 40: one has 24 for sure, and half of the rest."""
    pf, peer, *both = tenants
    pf.run(f"ethtool -K {pf.netdev} hw-tc-offload on && "
           f"tc qdisc replace dev {pf.netdev} root handle 1: mqprio num_tc 1 "
           "map 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 hw 1 mode channel "
           "shaper bw_rlimit max_rate 40mbit", check=True)
    servers = [peer.popen(f"iperf3 -s -p {5210 + n}") for n in range(2)]

    def measure() -> tuple[float, float]:
        clients = [tenant.popen(f"iperf3 -u -b 60M -c {peer.ip} -p {5210 + n} -t 5 -O 1 -J")
                   for n, tenant in enumerate(both)]
        ends = [json.loads(client.wait(60).check().out)["end"] for client in clients]
        return tuple(end["sum_received"]["bits_per_second"] / 1e6 for end in ends)
    try:
        for n, server in enumerate(servers):
            perftest.wait_listening(peer.guest, 5210 + n, server)
        repeatedly(measure, lambda one, two: 16 <= one <= 22 and 16 <= two <= 22)
        set_vf(pf, 0, "min_tx_rate 24 max_tx_rate 0")
        assert vf_info(pf, 0)["rate"] == {"max_tx": 0, "min_tx": 24}
        repeatedly(measure, lambda one, two: 27 <= one <= 34 and 5 <= two <= 10)
        assert not set_vf(pf, 0, "min_tx_rate 50 max_tx_rate 40", check=False).ok
    finally:
        set_vf(pf, 0, "min_tx_rate 0 max_tx_rate 0")
        pf.run(f"tc qdisc del dev {pf.netdev} root; ethtool -K {pf.netdev} hw-tc-offload off")
        for server in servers:
            server.stop()


def test_resets(tenants):
    """Of a VF, and of the PF, which takes VFs and what was said of them along, and brings back."""
    pf, _, one, _ = tenants
    set_vf(pf, 1, "spoofchk off")
    for _ in range(2):
        function_reset(one)
        wait_until(lambda: carrier(one))
        everyone_reaches(tenants)
    pf.guest.run(f"sh -c 'echo 1 > /sys/bus/pci/devices/{bdf(pf)}/reset'", check=True, timeout=60)
    wait_until(lambda: all(carrier(end) for end in (tenants[0], *tenants[2:])))
    everyone_reaches(tenants)
    assert not vf_info(pf, 1)["spoofchk"]
    set_vf(pf, 1, "spoofchk on")


def test_recovery_of_the_pf(tenants):
    """The driver resets the card itself: VFs find out, and come back."""
    pf = tenants[0]
    pf.guest.run(f"devlink health test pci/{bdf(pf)} reporter fw", check=True, timeout=60)
    wait_until(lambda: all(carrier(end) for end in (pf, *tenants[2:])), 40)
    everyone_reaches(tenants)


def test_each_frame_of_the_switch_has_one_end(tenants):
    """Sums over all vports, of all tests before this one; a VF sees its own."""
    pf = tenants[0]
    card = pf.guest.devices[0]
    vports = json.loads(pf.guest.vernactl(card, "vports"))["vports"]
    total = {name: sum(vport[name] for vport in vports)
             for name in vports[0] if name.startswith(("tx_", "rx_"))}
    ends = sum(value for name, value in total.items() if "_drop_" in name)
    assert total["tx_frames"] + total["tx_copies"] == ends + total["rx_frames"]
    assert total["rx_frames"] > 1000
    own, = json.loads(pf.guest.vernactl(card, "--fn", "1", "vports"))["vports"]
    assert own["vport"] == 2 and own["tx_frames"] > 0


def test_reload_is_refused(tenants):
    pf = tenants[0]
    result = pf.run(f"devlink dev reload pci/{bdf(pf)}")
    assert not result.ok and "VFs are enabled" in result.err


def test_what_is_not_there(tenants):
    pf = tenants[0]
    for number in (2, VFS, 200):
        result = set_vf(pf, number, "spoofchk on", check=False)
        assert not result.ok


def test_the_driver_leaves_with_vfs(tenants):
    """Also with VFs that are somewhere else. Tests after this one have no tenants any more."""
    pf, peer, *_ = tenants
    pf.guest.run("modprobe -r verna_ib verna", check=True, timeout=60)
    assert not pf.guest.run("ls -d /sys/bus/pci/devices/*/virtfn*").out
    pf.guest.run("modprobe verna && udevadm settle", check=True, timeout=60)
    pf.configure()
    reachable(pf, peer)


def test_unplug_with_vfs(tenants):
    pf, peer, *_ = tenants
    card = pf.guest.devices[0]
    numvfs(pf, VFS, check=True)
    pf.guest.qmp("device_del", id=card.ident)
    pf.guest.wait_event("DEVICE_DELETED", timeout=30, device=card.ident)
    assert not pf.guest.run("ls -d /sys/bus/pci/devices/*/virtfn*").out
    pf.guest.qmp("device_add", driver="verna", id=card.ident, bus="rp0", link=card.link,
                 mac=card.mac, vfs=VFS, vf_vectors=3)
    wait_for_card(pf)
    pf.configure()
    numvfs(pf, 1, check=True)
    reachable(pf, peer)
