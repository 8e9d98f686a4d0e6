# SPDX-License-Identifier: GPL-2.0-or-later
"""What is expected of any network interface: filters, MTU, link state, features, statistics."""

import itertools
import json
import re
import time

import pytest
from helpers import bdf, carrier, ethtool_stats, ping, wait_until

FRAMES = "python3 /usr/local/lib/verna-tests/frames.py"
GROUP_JOINED, GROUP_OTHER = "01:00:5e:00:00:77", "01:00:5e:00:00:78"
OTHER, BROADCAST = "02:00:00:00:00:99", "ff:ff:ff:ff:ff:ff"


def group(end, name: str) -> dict:
    """One of ethtool's groups of standard statistics."""
    out = end.run(f"ethtool --json -S {end.netdev} --groups {name}", check=True).out
    return json.loads(out)[0][name]


def mac(end) -> str:
    return end.run(f"cat /sys/class/net/{end.netdev}/address", check=True).out.strip()


def send(end, destination: str, *sizes: int) -> None:
    end.run(f"{FRAMES} {end.netdev} - {destination} 0 {' '.join(map(str, sizes))}", check=True)


def arrivals(sender, receiver, frames: list[tuple[str, int]]) -> list[tuple[str, int, int]]:
    """What of the frames (destination, size) reached the stack of the receiver: destination,
    length, sum of the bytes behind the 40th. A further one of 63 bytes shows the end."""
    counter = receiver.popen(f"{FRAMES} count {receiver.netdev}")
    counter.wait_for("ready")
    grouped = itertools.groupby([*frames, (mac(receiver), 63)], key=lambda frame: frame[0])
    for destination, some in grouped:
        send(sender, destination, *(size for _, size in some))
    counter.wait_for(" 63 ")
    counter.close_input()
    counter.wait(20)
    rows = [line.split() for line in counter.out.splitlines()[1:]]
    return [(to, int(size), int(total)) for to, size, total in rows if size != "63"]


@pytest.mark.parametrize("mode", ["", "promisc", "allmulticast"])
def test_filter(two_guests, mode):
    """Golden vectors: which destinations get in, by the mode of the interface."""
    a, b = two_guests
    own = mac(b)
    b.run(f"ip maddr add {GROUP_JOINED} dev {b.netdev}", check=True)
    if mode:
        b.run(f"ip link set {b.netdev} {mode} on", check=True)
    time.sleep(0.5)
    before = ethtool_stats(b)["port_rx_drop_filter"]
    try:
        got = arrivals(a, b, [(to, 100) for to in (own, BROADCAST, GROUP_JOINED, GROUP_OTHER,
                                                   OTHER)])
    finally:
        b.run(f"ip maddr del {GROUP_JOINED} dev {b.netdev}", check=True)
        if mode:
            b.run(f"ip link set {b.netdev} {mode} off", check=True)
    wanted = [own, BROADCAST, GROUP_JOINED]
    wanted += [GROUP_OTHER] if mode else []
    wanted += [OTHER] if mode == "promisc" else []
    assert [row[0] for row in got] == wanted
    dropped = ethtool_stats(b)["port_rx_drop_filter"] - before
    assert dropped >= 5 - len(wanted), "and what does not is counted"


def test_short_frames_are_padded_with_zeros(two_guests):
    a, b = two_guests
    got = arrivals(a, b, [(mac(b), size) for size in (14, 15, 40, 59, 60, 61)])
    assert [size for _, size, _ in got] == [60, 60, 60, 60, 60, 61]
    assert [total for *_, total in got[:3]] == [0, 0, 0], "padding is zero"


def test_mtu_steps_and_oversize(two_guests):
    """A frame of the MTU with two tags is taken, one byte more is dropped and counted."""
    a, b = two_guests
    a.run(f"ip link set {a.netdev} mtu 9600", check=True)
    try:
        for mtu in (68, 576, 1500, 4200, 9600, 1500):
            b.run(f"ip link set {b.netdev} mtu {mtu}", check=True)
            before = ethtool_stats(b)["port_rx_drop_oversize"]
            longest = min(mtu + 22, 9614)
            sizes = [longest] if longest == 9614 else [longest + 1, longest]
            got = arrivals(a, b, [(mac(b), size) for size in sizes])
            assert [size for _, size, _ in got] == [longest], mtu
            dropped = ethtool_stats(b)["port_rx_drop_oversize"] - before
            assert dropped == len(sizes) - 1, mtu
    finally:
        for end in (a, b):
            end.run(f"ip link set {end.netdev} mtu 1500", check=True)
            end.run(f"ip addr replace {end.ip6}/64 dev {end.netdev} nodad", check=True)


def set_link(end, up: bool) -> None:
    end.guest.qmp("set_link", name="card0", up=up)


def test_link_state(two_guests):
    """set_link while the interface is down, up, and under traffic; times down are counted."""
    a, b = two_guests
    downs = ethtool_stats(b)["port_link_down_events"]
    b.run(f"ip link set {b.netdev} down", check=True)
    set_link(b, False)
    b.run(f"ip link set {b.netdev} up", check=True)
    time.sleep(0.5)
    assert not carrier(b), "carrier of an interface that came up on a dead link"
    set_link(b, True)
    wait_until(lambda: carrier(b), 5, "carrier")
    flood = a.popen(f"ping -q -f -w 6 {b.ip}")
    for _ in range(3):
        set_link(b, False)
        wait_until(lambda: not carrier(b), 5, "no carrier")
        assert not carrier(b)
        set_link(b, True)
        wait_until(lambda: carrier(b), 5, "carrier")
    flood.wait(30)
    b.run(f"ip addr replace {b.ip6}/64 dev {b.netdev} nodad", check=True)
    assert ping(a, b.ip, 5)
    assert ethtool_stats(b)["port_link_down_events"] - downs == 4
    shown = b.run(f"ethtool -I {b.netdev}", check=True).out
    assert f"Link Down Events: {downs + 4}" in shown


@pytest.mark.alone
def test_carrier_comes_at_once(two_guests):
    """Within 100 ms of opening, measured in the guest; the best of three."""
    end = two_guests[1]
    script = (f"import os,time\np='/sys/class/net/{end.netdev}/carrier'\nbest=9\n"
              f"for _ in range(3):\n"
              f"  os.system('ip link set {end.netdev} down; ip link set {end.netdev} up')\n"
              f"  t=time.monotonic()\n"
              f"  while open(p).read().strip()!='1': pass\n"
              f"  best=min(best,time.monotonic()-t)\nprint(best)")
    best = float(end.run(f"timeout 60 python3 -c \"{script}\"", check=True, timeout=70).out)
    end.run(f"ip addr replace {end.ip6}/64 dev {end.netdev} nodad", check=True)
    assert best < 0.1


def test_every_feature_can_be_toggled(two_guests):
    """Each feature that is not fixed goes off and on and back, and traffic still runs."""
    a, b = two_guests
    out = b.run(f"ethtool -k {b.netdev}", check=True).out
    features = re.findall(r"^(?!Features)\s*([\w-]+): (on|off)$", out, re.M)
    assert features
    for name, state in features:
        other = "off" if state == "on" else "on"
        b.run(f"ethtool -K {b.netdev} {name} {other}; ethtool -K {b.netdev} {name} {state}")
    assert ping(a, b.ip, 5) and ping(a, b.ip6, 5)
    assert b.run(f"ethtool -k {b.netdev}", check=True).out == out


def test_frame_sizes(two_guests):
    """RMON: each size in its bucket, in both directions."""
    a, b = two_guests
    for end in two_guests:
        end.run(f"ip link set {end.netdev} mtu 9000", check=True)
    try:
        for bucket, payload in enumerate((18, 60, 150, 400, 700, 1400, 4000)):
            before = group(a, "rmon")
            assert ping(a, b.ip, 10, f"-i 0.01 -s {payload}")
            after = group(a, "rmon")
            for way in ("tx-pktsNtoM", "rx-pktsNtoM"):
                low, high = after[way][bucket]["low"], after[way][bucket]["high"]
                assert low <= payload + 46 <= high
                assert after[way][bucket]["val"] - before[way][bucket]["val"] >= 10, (way, low)
    finally:
        for end in two_guests:
            end.run(f"ip link set {end.netdev} mtu 1500", check=True)


def test_mac_statistics(two_guests):
    a, b = two_guests
    before = [group(end, "eth-mac") for end in two_guests]
    send(a, BROADCAST, *[96] * 20)
    send(a, GROUP_OTHER, *[96] * 30)
    send(a, mac(b), *[96] * 40)
    wait_until(lambda: group(b, "eth-mac")["FramesReceivedOK"] -
               before[1]["FramesReceivedOK"] >= 90, 5, "90 frames")
    after = [group(end, "eth-mac") for end in two_guests]
    sent = {name: after[0][name] - before[0].get(name, 0) for name in after[0]}
    got = {name: after[1][name] - before[1].get(name, 0) for name in after[1]}
    assert sent["FramesTransmittedOK"] >= 90 and sent["OctetsTransmittedOK"] >= 9000
    assert sent["BroadcastFramesXmittedOK"] >= 20 and sent["MulticastFramesXmittedOK"] >= 30
    assert got["BroadcastFramesReceivedOK"] >= 20 and got["MulticastFramesReceivedOK"] >= 30
    assert got["OctetsReceivedOK"] >= 9000
    for name in ("FrameCheckSequenceErrors", "FrameTooLongErrors", "OutOfRangeLengthField",
                 "CarrierSenseErrors"):
        assert sent[name] == 0 and got[name] == 0, name


def test_a_ring_that_is_too_small_is_refused(two_guests):
    end = two_guests[0]
    result = end.run(f"ethtool -G {end.netdev} rx 32")
    assert not result.ok and "at least 64" in result.err
    end.run(f"ethtool -G {end.netdev} rx 64 tx 64", check=True)
    end.run(f"ethtool -G {end.netdev} rx 2048 tx 1024", check=True)


def test_a_socket_knows_its_napi(two_guests):
    """SO_INCOMING_NAPI_ID, by which a process finds the queue that it may poll."""
    a, b = two_guests
    script = ("import socket\ns=socket.create_server(('0.0.0.0',7777))\nprint('ready',flush=True)"
              "\nc=s.accept()[0]\nc.recv(9)\nprint(c.getsockopt(socket.SOL_SOCKET,56))")
    server = b.popen(f"python3 -c \"{script}\"")
    server.wait_for("ready")
    a.run(f"echo x | socat -u - TCP:{b.ip}:7777", check=True)
    assert int(server.wait(20).check().out.split()[1]) > 0


# --- devlink: last, as these make the interface anew

def pci(end) -> str:
    return f"pci/{bdf(end)}"


def reporter(end, name: str) -> dict:
    shown = json.loads(end.run(f"devlink -j health show {pci(end)} reporter {name}",
                               check=True).out)
    return shown["health"][pci(end)][0]


@pytest.mark.parametrize("name", ["rx", "tx", "command", "fw"])
def test_health_reporter(two_guests, name):
    a, b = two_guests
    before = reporter(b, name)
    assert before["state"] == "healthy"
    b.run(f"devlink health test {pci(b)} reporter {name}", check=True)
    wait_until(lambda: reporter(b, name)["recover"] == before["recover"] + 1 and
               reporter(b, name)["state"] == "healthy", 20, "recovery")
    assert reporter(b, name)["error"] == before["error"] + 1
    shown = b.run(f"devlink -j health diagnose {pci(b)} reporter {name}", check=True).out
    assert {"rx": "rxqs", "tx": "txqs", "command": "posted", "fw": "heartbeat"}[name] in shown
    shown = b.run(f"devlink -j health dump show {pci(b)} reporter {name}", check=True).out
    assert {"rx": "descriptor", "tx": "descriptor", "command": "CREATE_", "fw": "registers"}[
        name] in shown
    wait_until(lambda: carrier(b), 10, "carrier")
    b.configure()
    assert ping(a, b.ip, 5)


def test_reload(two_guests):
    """devlink reload makes interface and RDMA device anew, also into another namespace."""
    a, b = two_guests
    card, index = pci(b), b.run(f"cat /sys/class/net/{b.netdev}/ifindex").out
    b.run(f"devlink dev reload {card} && udevadm settle", check=True, timeout=60)
    b.configure()
    assert b.run(f"cat /sys/class/net/{b.netdev}/ifindex").out != index
    assert ping(a, b.ip, 5)
    b.run(f"ip netns add other && devlink dev reload {card} netns other", check=True, timeout=60)
    assert "verna" in b.run("ip netns exec other sh -c 'for i in $(ls /sys/class/net); do "
                            "ethtool -i $i; done'").out
    b.run(f"devlink -N other dev reload {card} netns 1 && ip netns del other && "
          "udevadm settle", check=True, timeout=60)
    b.configure()
    assert ping(a, b.ip, 5)
