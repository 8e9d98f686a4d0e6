# SPDX-License-Identifier: GPL-2.0-or-later
"""Transmit offloads: the wire looks as if the kernel had cut, summed and tagged every packet, and
what arrives is what was sent."""

import json
import struct

import pytest
from conftest import ends_of, lab
from helpers import ethtool_stats, reachable, wait_until

LIB = "/usr/local/lib/verna-tests"
MARK = 0x88b6
ETHER, IPV4, IPV6 = 14, 0x0800, 0x86dd
TAGS = (0x8100, 0x88a8)

OFFLOADS = {
    "tx-checksum-ip-generic", "tx-checksum-sctp", "tx-tcp-segmentation", "tx-tcp6-segmentation",
    "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation", "tx-udp-segmentation",
    "tx-gre-segmentation", "tx-gre-csum-segmentation", "tx-ipxip4-segmentation",
    "tx-ipxip6-segmentation", "tx-udp_tnl-segmentation", "tx-udp_tnl-csum-segmentation",
    "tx-vlan-offload", "tx-vlan-stag-hw-insert",
}

# Interfaces by name, as `ip link add NAME` wants them; an L3 tunnel's last digit says what it
# carries.
BELOW = {
    "q5": "link {netdev} type vlan id 5",
    "s6": "link {netdev} type vlan proto 802.1ad id 6",
    "q7": "link s6 type vlan id 7",
    "vx4": "type vxlan id 1 local {a4} remote {b4} dstport 4789 noudpcsum",
    "vx4c": "type vxlan id 2 local {a4} remote {b4} dstport 8472 udpcsum",
    "vx6": "type vxlan id 3 local {a6} remote {b6} dstport 4790 udp6zerocsumtx udp6zerocsumrx",
    "vx6c": "type vxlan id 4 local {a6} remote {b6} dstport 5791",
    "gn4": "type geneve id 5 remote {b4} noudpcsum",
    "gn6c": "type geneve id 6 remote {b6} dstport 7777 udpcsum",
    "gt4": "type gretap local {a4} remote {b4}",
    "gt4c": "type gretap local {a4} remote {b4} key 9 ocsum",
    "gt6c": "type ip6gretap local {a6} remote {b6} ocsum",
    "gre4": "type gre local {a4} remote {b4} key 5",
    "gre6": "type gre local {a4} remote {b4} key 6 ocsum",
    "fouip4": "type ipip dev {netdev} local {a4} remote {b4} encap fou encap-sport 5550 "
              "encap-dport 5555 noencap-csum",
    "fougre6": "type gre local {a4} remote {b4} key 7 encap fou encap-sport 5551 "
               "encap-dport 5555 encap-csum",
    "guesit6": "type sit dev {netdev} local {a4} remote {b4} encap gue encap-sport 5552 "
               "encap-dport 5555 encap-csum",
    "guegre4": "type gre local {a4} remote {b4} key 8 encap gue encap-sport 5553 "
               "encap-dport 5555 noencap-csum",
    "ipip4": "type ipip local {a4} remote {b4}",
    "sit6": "type sit local {a4} remote {b4}",
    "tn": "type ip6tnl local {a6} remote {b6} mode any",
}


# The addresses that gso_send.py sends from.
SENDERS = bytes([10, 99, 0, 1]), bytes([0xfd, 0x99, *[0] * 13, 1])
# Segments of what gso_send.py sends for one version of IP: TCP, then UDP.
SEGMENTS = [5, 3, 13, 6, 31, 2] * 2


@pytest.fixture(scope="module")
def net(request, repo, setup_paths):
    """Two linked guests; the first one's card writes a capture."""
    with lab(request, repo) as topology:
        a, b = topology.guest("a"), topology.guest("b")
        card, _ = topology.link(a, b)
        card.pcap = str(topology.folder / "a.pcap")
        topology.start()
        pair = ends_of(a, b)
        reachable(*pair)
        pair[0].pcap = card.pcap
        yield pair


def features(end) -> dict[str, str]:
    rows = end.run(f"ethtool -k {end.netdev}", check=True).out.splitlines()[1:]
    return {name.strip(): value.strip() for name, value in (row.split(":", 1) for row in rows)}


def switch(end, on: bool) -> None:
    words = " ".join(f"{name} {'on' if on else 'off'}" for name in sorted(OFFLOADS))
    end.run(f"ethtool -K {end.netdev} {words}", check=True)


def frames(path: str) -> list[bytes]:
    """The frames of a capture that its own card sent or received, in order."""
    with open(path, "rb") as file:
        data = file.read()
    found, at = [], 24
    while at + 16 <= len(data):
        length, = struct.unpack_from("<I", data, at + 8)
        found.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return found


def link_header(frame: bytes) -> tuple[int, int]:
    """Length of the Ethernet header with its tags, and the type behind it."""
    at = ETHER
    while (kind := int.from_bytes(frame[at - 2:at])) in TAGS:
        at += 4
    return at, kind


def sections(end) -> dict[str, list[bytes]]:
    """What gso_send.py sent, by its labels: frames with the test's addresses, tunnelled or not. The
    other end answers some with ICMP errors that quote them."""
    mac = end.run(f"cat /sys/class/net/{end.netdev}/address", check=True).out.strip()
    ours = bytes.fromhex(mac.replace(":", ""))
    result, current = {}, None
    for frame in frames(end.pcap):
        at, kind = link_header(frame)
        if kind == MARK:
            label = frame[at:].rstrip(b"\0").decode()
            current = result.setdefault(label, []) if " " in label else None
        elif current is not None and frame[:6] != ours and any(a in frame for a in SENDERS):
            current.append(frame)
    return result


def zero(frame: bytes, at: int, length: int) -> bytes:
    return frame[:at] + bytes(length) + frame[at + length:]


def without_outer_id(batch: list[bytes]) -> tuple[list[bytes], list[int]]:
    """Frames of a tunnel over IPv4 without the ID that the kernel draws for each large packet and
    the header checksum that follows from it; and how the IDs went on from frame to frame."""
    bare, ids = [], []
    for frame in batch:
        at, kind = link_header(frame)
        if kind == IPV4 and frame[at + 12:at + 14] != b"\x0a\x63":
            ids.append(int.from_bytes(frame[at + 4:at + 6]))
            frame = zero(zero(frame, at + 4, 2), at + 10, 2)
        bare.append(frame)
    return bare, ids


def ids_follow(ids: list[int], segments: list[int]) -> None:
    """Within each large packet each segment has the ID after the one before it."""
    at = 0
    for count in segments:
        part = ids[at:at + count]
        assert part == [(part[0] + i) & 0xffff for i in range(count)]
        at += count


def versions(name: str) -> int:
    """How many versions of IP gso_send.py sends over an interface."""
    return 1 if name.endswith(("gre4", "gre6", "ip4", "sit6")) else 2


def test_everything_is_offered_and_switches(net):
    a, _ = net
    have = features(a)
    assert {name: have[name] for name in OFFLOADS} == dict.fromkeys(OFFLOADS, "on")
    switch(a, False)
    have = features(a)
    assert {name: have[name] for name in OFFLOADS} == dict.fromkeys(OFFLOADS, "off")
    switch(a, True)


@pytest.mark.alone
def test_wire_is_the_same_as_without_offload(net):
    """Each large packet once cut by the card and once by the kernel: byte for byte the same."""
    a, b = net
    values = {"netdev": a.netdev, "a4": a.ip, "b4": b.ip, "a6": a.ip6, "b6": b.ip6}
    a.run("modprobe fou", check=True)
    for name, how in BELOW.items():
        a.run(f"ip link add {name} {how.format(**values)} && "
              f"sysctl -qw net.ipv6.conf.{name}.disable_ipv6=1; ip link set {name} up",
              check=True)
    a.run(f"ping -c1 -W5 {b.ip} && ping -c1 -W5 {b.ip6}", check=True)
    # What waits leaves in the order in which it came, whosoever it is.
    a.run(f"tc qdisc replace dev {a.netdev} root pfifo limit 10000", check=True)
    names = " ".join([a.netdev, *BELOW])
    before = ethtool_stats(a)
    a.run(f"python3 {LIB}/gso_send.py {a.netdev} card {names}", check=True, timeout=120)
    done = ethtool_stats(a)
    switch(a, False)
    a.run(f"python3 {LIB}/gso_send.py {a.netdev} kernel {names}", check=True, timeout=120)
    after = ethtool_stats(a)
    switch(a, True)
    a.run(f"tc qdisc del dev {a.netdev} root", check=True)
    for name in reversed(BELOW):
        a.run(f"ip link del {name}", check=True)

    found = sections(a)
    for name in names.split():
        card, card_ids = without_outer_id(found[f"card {name}"])
        kernel, _ = without_outer_id(found[f"kernel {name}"])
        assert len(card) == len(kernel) > 100, name
        for number, (one, other) in enumerate(zip(card, kernel)):
            assert one.hex() == other.hex(), f"{name}, frame {number}"
        if card_ids:
            ids_follow(card_ids, SEGMENTS * versions(name))
    cut = done["eth_tx_tso_packets"] - before["eth_tx_tso_packets"]
    assert cut == sum(len(SEGMENTS) * versions(name) for name in names.split()), \
        "the card has cut all of them"
    assert after["eth_tx_tso_packets"] == done["eth_tx_tso_packets"], "and none of the others"


def transfer(sender, receiver, address: str, mib: int = 16, proto: str = "") -> None:
    server = receiver.popen(f"python3 {LIB}/transfer.py serve {address} 7000 {proto}")
    wait_until(lambda: "ready" in server.out, what="the server")
    sent = sender.run(f"python3 {LIB}/transfer.py send {address} 7000 {mib} {proto}",
                      timeout=120, check=True).out.split()[-1]
    server.wait(60)
    assert server.out.split()[-1] == sent


def test_files_arrive_as_they_were_sent(net):
    a, b = net
    before = ethtool_stats(a)
    transfer(a, b, b.ip)
    transfer(a, b, b.ip6)
    transfer(b, a, a.ip)
    after = ethtool_stats(a)
    assert after["eth_tx_tso_segments"] - before["eth_tx_tso_segments"] > 10_000
    assert after["eth_tx_drop_desc"] == before["eth_tx_drop_desc"]
    assert after["tx0_gso_wire_packets"] == after["txq0_tso_segments"]
    assert max(map(len, frames(a.pcap))) <= 1500 + 22


def posted(end) -> int:
    """Descriptors ever written to the TX queues."""
    queues = json.loads(end.guest.vernactl(end.guest.devices[0], "queues"))["txqs"]
    return sum(queue["next_index"] for queue in queues)


def test_as_many_fragments_as_there_can_be(net):
    """Pieces of a few bytes from different pages: packets of MAX_SKB_FRAGS fragments and a header,
    each completed once, none copied together."""
    a, b = net
    for piece in (5, 90, 4000):
        before, first = ethtool_stats(a), posted(a)
        transfer(a, b, b.ip, 0, f"pieces {piece}")
        wait_until(lambda: a.run("ss -Hntl sport = 7000; ss -Hnt dport = 7000").out == "", 10,
                   "the end of the connection")
        after = ethtool_stats(a)
        sent = {name: after[name] - before[name] for name in before}
        assert sent["tx0_linearized"] == sent["eth_tx_drop_desc"] == sent["tx0_errors"] == 0
        assert sent["tx0_packets"] == sent["txq0_packets"]
        if piece == 5:
            assert posted(a) - first > 9 * sent["tx0_packets"], "about 17 pieces in each"


def test_small_segments_and_big_packets(net):
    """An MSS of 88, and packets of 180 KB (BIG TCP)."""
    a, b = net
    a.run(f"ip route change 10.0.7.0/24 dev {a.netdev} src {a.ip} advmss 88", check=True)
    b.run(f"ip route change 10.0.7.0/24 dev {b.netdev} src {b.ip} advmss 88", check=True)
    transfer(a, b, b.ip, 1)
    for end in (a, b):
        end.run(f"ip route change 10.0.7.0/24 dev {end.netdev} src {end.ip}", check=True)
    a.run(f"ip link set {a.netdev} gso_max_size 180000 gso_ipv4_max_size 180000", check=True)
    before = ethtool_stats(a)
    transfer(a, b, b.ip6)
    transfer(a, b, b.ip)
    after = ethtool_stats(a)
    assert after["eth_tx_drop_desc"] == before["eth_tx_drop_desc"]
    a.run(f"ip link set {a.netdev} gso_max_size 65536 gso_ipv4_max_size 65536", check=True)


def test_sctp(net):
    """The receiver drops what has a wrong CRC32c."""
    a, b = net
    for end in net:
        if not end.run("modprobe sctp").ok:
            pytest.skip("the guest's kernel has no SCTP")
    before = ethtool_stats(a)["eth_tx_csum"]
    transfer(a, b, b.ip, 1, "sctp")
    assert ethtool_stats(a)["eth_tx_csum"] - before > 100
