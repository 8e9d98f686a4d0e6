# SPDX-License-Identifier: GPL-2.0-or-later
"""When the card interrupts: moderation by time and frames, per queue, kept through everything."""

import json
import re

import pytest
from conftest import ends_of, fail_on_trouble, folder_for
from helpers import reachable, wait_until
from verna_vm import Topology


@pytest.fixture(scope="module")
def ends(request, repo, setup_paths):
    """Two guests with linked cards; the first has two processors, so two channels."""
    with Topology(folder_for(request, repo)) as net:
        a, b = net.guest("a", cpus=2), net.guest("b")
        net.link(a, b)
        net.start()
        yield ends_of(a, b)
        fail_on_trouble(net, [])


def card_of(end):
    return end.guest.devices[0]


def vernactl(end, what: str):
    return json.loads(end.guest.vernactl(card_of(end), what))


def delays(end) -> list[tuple[int, int, int, int]]:
    """Of each channel as the card has it: rx usecs and frames, tx usecs and frames."""
    cqs = {cq["cqn"]: cq for cq in vernactl(end, "cqs")["cqs"]}
    queues = vernactl(end, "queues")
    result = []
    for rx, tx in zip(queues["rxqs"], queues["txqs"]):
        pair = [cqs[rx["cqn"]], cqs[tx["cqn"]]]
        result.append(tuple(value for cq in pair
                            for value in (cq["delay_ns"] // 1000, cq["event_entries"])))
    return result


def coalesce(end, options: str, what: str = "-C", mask: str = "") -> bool:
    queue = f"queue_mask {mask} --coalesce" if what == "-Q" else ""
    return end.run(f"ethtool {what} {end.netdev} {queue} {options}").ok


def interrupts(end) -> int:
    """Of all completion vectors of the card."""
    rows = end.run("grep verna-comp /proc/interrupts", check=True).out.splitlines()
    return sum(int(field) for row in rows for field in re.findall(r"(?<= )\d+(?= )", row))


def rx_packets(end) -> int:
    return int(end.run(f"cat /sys/class/net/{end.netdev}/statistics/rx_packets").out)


def packets_per_interrupt(sender, receiver) -> float:
    packets, before = rx_packets(receiver), interrupts(receiver)
    sender.run(f"ping -q -c 400 -i 0.001 -s 64 {receiver.ip}", check=True)
    return (rx_packets(receiver) - packets) / max(1, interrupts(receiver) - before)


def test_moderation_saves_interrupts(ends):
    a, b = ends
    reachable(a, b)
    plain = packets_per_interrupt(a, b)
    assert coalesce(b, "rx-usecs 10000 rx-frames 0 tx-usecs 10000 tx-frames 0")
    moderated = packets_per_interrupt(a, b)
    assert coalesce(b, "rx-usecs 10000 rx-frames 2")
    by_frames = packets_per_interrupt(a, b)
    assert coalesce(b, "rx-usecs 0 rx-frames 0 tx-usecs 0 tx-frames 0")
    print(f"packets per interrupt: {plain:.2f}, 10 ms: {moderated:.2f}, 2 frames: {by_frames:.2f}")
    assert moderated > 2.5 * plain
    assert moderated > 1.5 * by_frames


def test_settings_are_kept(ends):
    a = ends[0]
    assert coalesce(a, "rx-usecs 50 rx-frames 32 tx-usecs 40 tx-frames 7")
    assert coalesce(a, "rx-usecs 77", "-Q", "2")
    expected = [(50, 32, 40, 7), (77, 32, 40, 7)]
    assert delays(a) == expected
    pci = a.run(f"basename $(readlink /sys/class/net/{a.netdev}/device)", check=True).out.strip()
    for change in (f"ethtool -G {a.netdev} rx 512", f"ethtool -L {a.netdev} combined 1",
                   f"ethtool -L {a.netdev} combined 2",
                   f"ip link set {a.netdev} down && ip link set {a.netdev} up",
                   f"echo 1 > /sys/bus/pci/devices/{pci}/reset"):
        a.run(change, check=True, timeout=60)
        wait_until(lambda: delays(a) == expected[:len(delays(a))] and delays(a), 20, change)
        assert "rx-usecs:\t50" in a.run(f"ethtool -c {a.netdev}", check=True).out
    assert delays(a) == expected
    shown = a.run(f"ethtool -Q {a.netdev} queue_mask 2 --show-coalesce", check=True).out
    assert re.search(r"rx-usecs:?\s+77", shown)
    assert coalesce(a, "rx-usecs 0 rx-frames 0 tx-usecs 0 tx-frames 0")
    assert delays(a) == [(0, 0, 0, 0)] * 2


def test_bad_values_are_refused(ends):
    a = ends[0]
    for options in ("rx-usecs 10001", "tx-usecs 99999999", "rx-usecs 1 rx-frames 65536",
                    "rx-frames 2", "tx-frames 9"):
        assert not coalesce(a, options), options
        assert not coalesce(a, options, "-Q", "1"), options
    assert not coalesce(a, "rx-usecs 1", "-Q", "4"), "there is no such queue"
    assert delays(a) == [(0, 0, 0, 0)] * 2


def test_adaptive_moderation_moves_and_can_be_left(ends):
    a, b = ends
    reachable(a, b)
    assert coalesce(b, "adaptive-rx on adaptive-tx on")
    first = delays(b)
    assert first[0][0] > 0, "DIM begins with a profile of its own"
    server = b.popen("iperf3 -s -1")
    wait_until(lambda: b.run("ss -Hltn sport = 5201").out, 20, "the server")
    a.run(f"iperf3 -c {b.ip} -t 2", check=True, timeout=60)
    server.wait(30)
    shown = b.run(f"ethtool -c {b.netdev}", check=True).out
    assert re.search(r"Adaptive RX: on\s+TX: on", shown)
    assert coalesce(b, "adaptive-rx off adaptive-tx off rx-usecs 3")
    assert delays(b)[0] == (3, 0, 0, 0)
    assert coalesce(b, "rx-usecs 0")


def test_affinity_is_kept(ends):
    a = ends[0]
    pci = a.run(f"basename $(readlink /sys/class/net/{a.netdev}/device)", check=True).out.strip()

    def irq() -> str:
        row = a.run("grep verna-comp1 /proc/interrupts", check=True).out
        return row.split(":")[0].strip()

    def affinity() -> str:
        return a.run(f"cat /proc/irq/{irq()}/smp_affinity_list", check=True).out.strip()

    a.run(f"echo 0 > /proc/irq/{irq()}/smp_affinity_list", check=True)
    for change in (f"ethtool -G {a.netdev} rx 1024", f"ethtool -L {a.netdev} combined 1",
                   f"ethtool -L {a.netdev} combined 2",
                   f"echo 1 > /sys/bus/pci/devices/{pci}/reset"):
        a.run(change, check=True, timeout=60)
        wait_until(lambda: a.run("grep -q verna-comp1 /proc/interrupts").ok, 20, "the vectors")
        assert affinity() == "0", change


BUSY_POLL = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7777))
s.setsockopt(socket.SOL_SOCKET, 46, 200)
print("ready", flush=True)
for _ in range(20):
    s.recv(100)
print("napi", s.getsockopt(socket.SOL_SOCKET, 56))
"""

SENDER = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(20):
    s.sendto(b"x", (sys.argv[1], 7777))
    time.sleep(0.005)
"""


def test_busy_poll_finds_the_napi(ends):
    """SO_BUSY_POLL receives, and SO_INCOMING_NAPI_ID names the channel of the packets."""
    a, b = ends
    reachable(a, b)
    poller = b.popen(f"python3 -c '{BUSY_POLL}'")
    wait_until(lambda: "ready" in poller.out, 20, "the receiver")
    a.run(f"python3 -c '{SENDER}' {b.ip}", check=True)
    result = poller.wait(30)
    assert result.ok, result.err
    assert int(re.search(r"napi (\d+)", result.out).group(1)) > 0
