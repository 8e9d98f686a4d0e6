# SPDX-License-Identifier: GPL-2.0-or-later
"""The card on QEMU's network backends: tap with and without a vnet header, user, socket, dgram."""

import os
import re
import socket
import threading

import captures
import pytest
from bench import perftest
from conftest import End
from helpers import ethtool_stats, ping, rdma_side, reachable
from verna_vm.bridge import Bridge
from verna_vm.devices import Card

# One of our own: other test runs may be under way on this host.
NETNS = f"verna-test-{os.getpid()}"


@pytest.fixture
def bridge():
    """A network namespace with a bridge at 10.0.9.9, for taps."""
    if os.geteuid() != 0:
        pytest.skip("taps need root")
    with Bridge(NETNS, "10.0.9.9/24") as made:
        yield made


def capture(topology, card: Card) -> str:
    card.pcap = str(topology.folder / f"{card.mac.replace(':', '')}.pcap")
    return card.pcap


def cut_well(repo, end, path: str, mib: int) -> None:
    """What the card has cut is TCP segments, never IP fragments: each whole, with its own number,
    ID and checksum."""
    assert ethtool_stats(end)["eth_tx_tso_segments"] > mib * 300, "the card cuts"
    assert captures.tcp_faults(repo, path, end.ip) == []
    stream = max(captures.tcp_data(repo, path, end.ip).values(), key=len)
    assert sum(length for _, length, _ in stream) >= mib << 20
    follows = sum((one[0] + one[1]) % 2**32 == other[0] and (other[2] - one[2]) % 2**16 in (1, 2)
                  for one, other in zip(stream, stream[1:]))
    # What was lost at the other end is sent again, with a number of its own.
    assert follows > 0.9 * len(stream)


def send_tcp(sender, receiver, mib: int) -> None:
    server = receiver.popen("iperf3 -s -1")
    perftest.wait_listening(receiver.guest, 5201, server)
    sender.run(f"iperf3 -c {receiver.ip} -n {mib}M", timeout=60, check=True)
    server.wait(20)


@pytest.mark.parametrize("headers", [(True, True), (False, False), (True, False)])
def test_tap(topology, bridge, headers, repo):
    """Two guests and the host's own stack on a bridge; taps with and without a vnet header."""
    ends, paths = [], []
    for number, vnet in enumerate(headers):
        guest = topology.guest("ab"[number], netns=NETNS)
        guest.devices.append(Card(backend=bridge.tap(f"t{number}", vnet), mac=topology.mac()))
        paths.append(capture(topology, guest.devices[0]))
        ends.append(End(guest, f"10.0.9.{number + 1}", f"fd00:9::{number + 1}"))
    topology.start()
    a, b = (end.configure() for end in ends)
    reachable(a, b)
    for end in (a, b):
        assert ping(end, "10.0.9.9", 5, "-i 0.02 -s 1400")
    # A checksum or a header that is wrong shows at once.
    send_tcp(b, a, 20)
    cut_well(repo, b, paths[1], 20)
    assert captures.tcp_faults(repo, paths[0], b.ip) == [], "as they arrive"
    assert perftest.run("ib_write_bw", rdma_side(a), rdma_side(b), "-s 65536 -n 100").values


def test_user_network(topology, repo):
    guest = topology.guest("a")
    guest.devices.append(Card(backend="user", mac=topology.mac()))
    path = capture(topology, guest.devices[0])
    topology.start()
    end = End(guest, "10.0.2.15", "fec0::15").configure()
    assert ping(end, "10.0.2.2", 5)
    # To a server of this process, as the guest's gateway is the host.
    with socket.create_server(("127.0.0.1", 0)) as server:
        got: list[int] = []
        thread = threading.Thread(target=take_all, args=(server, got))
        thread.start()
        end.run(f"head -c {4 << 20} /dev/zero | socat -u - "
                f"TCP:10.0.2.2:{server.getsockname()[1]}", timeout=60, check=True)
        thread.join(30)
    assert got == [4 << 20]
    cut_well(repo, end, path, 4)


def take_all(server: socket.socket, got: list[int]) -> None:
    server.settimeout(60)
    with server.accept()[0] as connection:
        total = 0
        while data := connection.recv(1 << 16):
            total += len(data)
    got.append(total)


@pytest.mark.parametrize("mtu", [1500, 9000])
def test_dgram_between_two_cards(topology, mtu, repo):
    """The backend has one queue; a guest with several processors has as many all the same."""
    a, b = topology.guest("a", cpus=2), topology.guest("b")
    topology.ethernet(a, b, "verna")
    path = capture(topology, a.devices[0])
    topology.start()
    a, b = (End(guest, f"10.0.9.{n}", f"fd00:9::{n}").configure()
            for n, guest in ((1, a), (2, b)))
    for end in (a, b):
        end.run(f"ip link set {end.netdev} mtu {mtu}", check=True)
    reachable(a, b)
    assert "Combined:\t2" in re.sub(r"[ \t]+", "\t", a.run(f"ethtool -l {a.netdev}").out)
    assert ping(a, b.ip, 5, f"-i 0.02 -M do -s {mtu - 28}")
    if mtu == 1500:
        send_tcp(a, b, 4)
        cut_well(repo, a, path, 4)
    assert perftest.run("ib_write_bw", rdma_side(a), rdma_side(b), "-s 65536 -n 300").values


def test_no_wire_at_all(topology):
    """A card with neither link nor netdev: no carrier, and loopback works."""
    guest = topology.guest("a")
    guest.devices.append(Card(mac=topology.mac()))
    topology.start()
    netdev = guest.netdev("verna")
    guest.run(f"ip link set {netdev} up", check=True)
    assert guest.run(f"cat /sys/class/net/{netdev}/carrier").out.strip() == "0"


def test_behind_an_iommu(topology):
    """DMA is translated for the card's own requester id; verbs and frames cross the wire."""
    a = topology.guest("a", iommu=True, append="intel_iommu=on iommu=strict")
    b = topology.guest("b")
    topology.link(a, b)
    topology.start()
    a, b = (End(guest, f"10.0.9.{n}", f"fd00:9::{n}").configure()
            for n, guest in ((1, a), (2, b)))
    reachable(a, b)
    assert "DMAR" in a.run("dmesg").out
    for server, client in ((a, b), (b, a)):
        assert perftest.run("ib_write_bw", rdma_side(server), rdma_side(client),
                            "-s 65536 -n 200").values
