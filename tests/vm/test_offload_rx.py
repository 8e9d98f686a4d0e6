# SPDX-License-Identifier: GPL-2.0-or-later
"""Receive offloads in guests: checksums, merging, VLAN, loopback. Wire 1 joins `a` and `b`; wire 2
joins `b` with a network namespace of `a`, so that `b` can be a bridge or a router."""

import struct
import subprocess
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from conftest import End, ends_of, lab
from helpers import carrier, ethtool_stats, reachable, wait_until

RAW = "/usr/local/lib/verna-tests/rawnet.py"
FILE_MIB = 16
FAR = "10.0.8.1"


@pytest.fixture(scope="module")
def net(request, repo, setup_paths):
    with lab(request, repo) as topology:
        a, b = topology.guest("a"), topology.guest("b")
        topology.link(a, b)
        topology.link(a, b)
        for number, device in enumerate(b.devices):
            device.pcap = str(topology.folder / f"wire{number}.pcap")
        topology.start()
        pair = ends_of(a, b)
        for end in pair:
            end.other = end.guest.netdev("verna", 1)
        a_end = pair[0]
        a_end.run(f"ip netns add far && ip link set {a_end.other} netns far && "
                  f"ip -n far addr add {FAR}/24 dev {a_end.other} && "
                  f"ip -n far link set {a_end.other} up && "
                  f"dd if=/dev/urandom of=/tmp/in bs=1M count={FILE_MIB} status=none", check=True)
        reachable(*pair)
        yield SimpleNamespace(a=pair[0], b=pair[1], folder=topology.folder)


def mac(end: End, netdev: str = "") -> bytes:
    text = end.run(f"cat /sys/class/net/{netdev or end.netdev}/address", check=True).out.strip()
    return bytes.fromhex(text.replace(":", ""))


def csum(data: bytes) -> int:
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def udp(source: str, dest: str, payload: bytes, wrong: int = 0) -> bytes:
    """An IPv4 packet; `wrong` is added to its UDP checksum."""
    def ip4(text: str) -> bytes:
        return bytes(int(n) for n in text.split("."))

    length = 8 + len(payload)
    pseudo = ip4(source) + ip4(dest) + struct.pack(">HH", 17, length)
    head = struct.pack(">HHHH", 5555, 6666, length, 0)
    value = (csum(pseudo + head + payload) + wrong) & 0xffff
    packet = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 1, 0x4000, 64, 17, 0)
    packet += ip4(source) + ip4(dest)
    packet = packet[:10] + struct.pack(">H", csum(packet)) + packet[12:]
    return packet + head[:6] + struct.pack(">H", value) + payload


def exchange(sender: End, receiver: End, frames: list[bytes], ours) -> list[tuple[bytes, str]]:
    """Sends frames and returns those of `ours` that arrive, with their checksum's state."""
    end = mac(receiver) + mac(sender) + b"\x88\xb6" + b"." * 50 + b"the-end"
    taker = receiver.popen(f"{RAW} take {receiver.netdev} 30 the-end")
    taker.wait_for("ready")
    sender.guest.push("".join(f.hex() + "\n" for f in [*frames, end]).encode(), "/tmp/frames")
    sender.run(f"{RAW} send {sender.netdev} < /tmp/frames", check=True)
    lines = [line.split() for line in taker.wait(60).out.splitlines() if line.count(" ") == 1]
    return [(data, word) for data, word in ((bytes.fromhex(h), w) for h, w in lines) if ours(data)]


@contextmanager
def features(end: End, on: str, off: str = "", netdev: str = ""):
    """ethtool -K, and back."""
    switch = {**{f: "on" for f in on.split()}, **{f: "off" for f in off.split()}}
    back = {"on": "off", "off": "on"}
    netdev = netdev or end.netdev
    end.run(f"ethtool -K {netdev} " + " ".join(f"{f} {v}" for f, v in switch.items()), check=True)
    try:
        yield
    finally:
        end.run(f"ethtool -K {netdev} " + " ".join(f"{f} {back[v]}" for f, v in switch.items()),
                check=True)


def test_bad_checksums_are_delivered_and_flagged(net):
    a, b = net.a, net.b
    header = mac(b) + mac(a) + b"\x08\x00"
    good = header + udp(a.ip, b.ip, b"x" * 101)
    bad = header + udp(a.ip, b.ip, b"x" * 101, wrong=1)
    before = ethtool_stats(b)
    got = exchange(a, b, [good, bad], lambda f: f[23:24] == b"\x11" and f[34:38] == good[34:38])
    assert sorted(got) == sorted([(good, "valid"), (bad, "unknown")]), got
    after = ethtool_stats(b)
    assert after["eth_rx_csum_bad"] - before["eth_rx_csum_bad"] == 1
    # A socket that reads finds out by the sum that came with it.
    program = ("import socket; s = socket.socket(2, 2); s.bind((str(), 6666)); "
               "print(1, flush=True); s.recv(99)")
    b.popen(f'python3 -c "{program}"').wait_for("1")
    errors = "awk '/^Udp:/ {print $8}' /proc/net/snmp | tail -1"
    was = int(b.run(errors, check=True).out)
    exchange(a, b, [bad], lambda f: False)
    wait_until(lambda: int(b.run(errors).out) > was, 10, "InCsumErrors")


def send_file(sender_run, receiver: End, address: str, prefix: str = "") -> None:
    """A file arrives as it was sent."""
    server = receiver.popen(f"{prefix} {RAW} serve 7000 /tmp/out")
    server.wait_for("ready")
    sender_run(f"{RAW} put {address} 7000 /tmp/in")
    server.wait(120)


def digest(end: End, name: str) -> str:
    return end.run(f"sha256sum {name}", check=True).out.split()[0]


def test_merged_packets_arrive_whole(net):
    a, b = net.a, net.b
    for on, off in (("rx-gro-hw", "gro"), ("rx-gro-hw gro", "")):
        with features(b, on, off) if off else features(b, on):
            before = ethtool_stats(b)
            send_file(lambda c: a.run(c, check=True, timeout=120), b, b.ip)
            assert digest(b, "/tmp/out") == digest(a, "/tmp/in")
            after = ethtool_stats(b)
        merged = after["rx0_gro_packets"] - before["rx0_gro_packets"]
        wire = after["rx0_gro_wire_packets"] - before["rx0_gro_wire_packets"]
        assert merged > 0 and wire >= 2 * merged
        assert merged == after["eth_rx_merged_packets"] - before["eth_rx_merged_packets"]
        b.run(f"ethtool -K {b.netdev} rx-gro-hw on gro on", check=True)


def test_rx_csum_off_switches_merging_off(net):
    b = net.b
    with features(b, "", "rx"):
        assert "rx-gro-hw: off" in b.run(f"ethtool -k {b.netdev}").out
    b.run(f"ethtool -K {b.netdev} rx-gro-hw on", check=True)
    assert "rx-gro-hw: on" in b.run(f"ethtool -k {b.netdev}").out


def tcp_frames(repo, capture, port: int, field: str) -> list[str]:
    """What is the same on both wires of each data segment to `port`, in order."""
    out = subprocess.run(
        [str(repo / "tools/setup/sdk-run"), "tshark", "-r", str(capture), "-Y",
         f"tcp.dstport == {port} && tcp.len > 0", "-T", "fields", "-e", "tcp.seq_raw", "-e",
         "tcp.len", "-e", "tcp.flags", "-e", "ip.id", "-e", "ip.ttl", "-e", "tcp.checksum", "-e",
         "tcp.options", "-e", field], check=True, text=True, capture_output=True).stdout
    return out.splitlines()


def test_a_bridge_sends_on_what_came(net, repo):
    a, b = net.a, net.b
    b.run(f"ip addr flush dev {b.netdev}; ip link add br0 type bridge && "
          f"ip link set {b.netdev} master br0 && ip link set {b.other} master br0 && "
          f"ip link set {b.other} up && ip link set br0 up", check=True)
    far = End(a.guest, FAR, "", a.other)
    try:
        a.run(f"ip addr add 10.0.8.2/24 dev {a.netdev}", check=True)
        wait_until(lambda: a.run(f"ping -c1 -W1 {FAR}", timeout=10).ok, 40, "the bridge")
        assert "rx-gro-hw: on" in b.run(f"ethtool -k {b.netdev}").out, "no reason to switch it off"
        before = ethtool_stats(b)
        send_file(lambda c: a.run(c, check=True, timeout=120), far, FAR, "ip netns exec far")
        assert digest(a, "/tmp/out") == digest(a, "/tmp/in")
        after = ethtool_stats(b)
        assert after["eth_rx_merged_packets"] > before["eth_rx_merged_packets"]
    finally:
        b.run("ip link del br0", check=True)
        b.bring_up()
    came = tcp_frames(repo, net.folder / "wire0.pcap", 7000, "eth.src")
    went = tcp_frames(repo, net.folder / "wire1.pcap", 7000, "eth.src")
    assert went and went == came[-len(went):]


def tagged(end_from: End, end_to: End, tags: list[tuple[int, int]], number: int) -> bytes:
    frame = mac(end_to) + mac(end_from)
    for tpid, tci in tags:
        frame += struct.pack(">HH", tpid, tci)
    return frame + b"\x88\xb5" + struct.pack(">H", number) + b"v" * 60


@pytest.mark.parametrize("strip", ["on", "off"])
@pytest.mark.parametrize("filtering", ["on", "off"])
@pytest.mark.parametrize("promisc", ["off", "on"])
def test_vlan_strip_and_filter(net, strip, filtering, promisc):
    a, b = net.a, net.b
    names = ("rx-vlan-offload", "rx-vlan-stag-hw-parse", "rx-vlan-filter", "rx-vlan-stag-filter")
    values = (strip, strip, filtering, filtering)
    b.run(f"ethtool -K {b.netdev} " + " ".join(f"{n} {v}" for n, v in zip(names, values)) +
          f" && ip link add link {b.netdev} name vt type vlan id 5 && ip link set vt up && "
          f"ip link set {b.netdev} promisc {promisc}", check=True)
    frames = [tagged(a, b, tags, i) for i, tags in enumerate(
        ([], [(0x8100, 5)], [(0x8100, 6)], [(0x88a8, 5)], [(0x8100, 5), (0x8100, 9)],
         [(0x88a8, 7), (0x8100, 5)], [(0x8100, 0xe000)]))]
    try:
        got = [f for f, _ in exchange(a, b, frames, lambda f: b"v" * 60 in f)]
    finally:
        b.run(f"ip link set {b.netdev} promisc off; ip link del vt; ethtool -K {b.netdev} " +
              " ".join(f"{n} on" for n in names), check=True)
    everything = filtering == "off" or promisc == "on"
    # The sender's qdisc may change the order of flows.
    assert sorted(got) == sorted(frames if everything else [frames[i] for i in (0, 1, 4, 6)])


def test_vlans_come_back_after_a_reset(net):
    a, b = net.a, net.b
    vlan = [e.on_vlan(9, f"10.0.9.{n}", f"fd00:9::{n}") for n, e in ((1, a), (2, b))]
    try:
        reachable(*vlan)
        b.run(f"echo 1 > /sys/class/net/{b.netdev}/device/reset", check=True)
        reachable(*vlan)
    finally:
        for end in vlan:
            end.run(f"ip link del {end.netdev}", check=True)


def test_loopback_needs_no_link(net):
    a = net.a
    frame = tagged(a, a, [], 1)
    with features(a, "loopback"):
        a.guest.qmp("set_link", name="card0", up=False)
        try:
            wait_until(lambda: carrier(a), 10, "a carrier without a link")
            before = ethtool_stats(a)
            got = exchange(a, a, [frame], lambda f: b"v" * 60 in f)
            after = ethtool_stats(a)
        finally:
            a.guest.qmp("set_link", name="card0", up=True)
        assert [f for f, _ in got] == [frame]
        assert after["port_tx_frames"] == before["port_tx_frames"]
        assert after["eth_rx_loopback"] > before["eth_rx_loopback"]
    reachable(a, net.b)


def test_what_the_card_does_not_know_is_untouched(net):
    """ESP, AH and odd extension headers, whole and cut off, over both versions."""
    a, b = net.a, net.b
    v6 = bytes.fromhex("fd000007" + "00" * 11 + "01" + "fd000007" + "00" * 11 + "02")
    header = mac(b) + mac(a)
    frames = []
    for number, proto in enumerate((50, 51, 59, 139, 140, 253, 0, 43, 44, 60, 135)):
        for size in (4, 8, 64, 300):
            body = struct.pack(">BBH", 6, 0, number) + b"esp!" * (size // 4)
            frames.append(header + b"\x86\xdd" +
                          struct.pack(">IHBB", 6 << 28, len(body), proto, 64) + v6 + body)
    for proto in (50, 51, 2, 89):
        body = b"esp!" * 30
        packet = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 1, 0, 64, proto, 0)
        packet += bytes((10, 0, 7, 1, 10, 0, 7, 2))
        packet = packet[:10] + struct.pack(">H", csum(packet)) + packet[12:]
        frames.append(header + b"\x08\x00" + packet + body)
    got = [f for f, _ in exchange(a, b, frames, lambda f: b"esp!" in f)]
    assert sorted(got) == sorted(frames)
