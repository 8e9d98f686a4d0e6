# SPDX-License-Identifier: GPL-2.0-or-later
"""When the card interrupts, and which processor."""

import re
import time

import pytest
from helpers import ethtool_stats, ping, reachable, repeatedly, vernactl, wait_until

NAPI_GET = "/usr/local/lib/verna-tests/napi_get.py"


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


# A datagram each millisecond, answered or not: ping waits for what moderation holds back.
DRIP = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(400):
    s.sendto(b"x", (sys.argv[1], 7779))
    time.sleep(0.001)
"""
SINK = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7779))
print("ready", flush=True)
time.sleep(1000)
"""


def packets_per_interrupt(sender, receiver) -> float:
    packets, before = rx_packets(receiver), interrupts(receiver)
    sender.run(f"python3 -c '{DRIP}' {receiver.ip}", check=True)
    return (rx_packets(receiver) - packets) / max(1, interrupts(receiver) - before)


@pytest.mark.alone
def test_moderation_saves_interrupts(uneven_guests):
    a, b = uneven_guests
    reachable(a, b)
    sink = b.popen(f"python3 -c '{SINK}'")
    sink.wait_for("ready")

    def measure() -> tuple[float, float, float]:
        plain = packets_per_interrupt(a, b)
        assert coalesce(b, "rx-usecs 10000 rx-frames 0 tx-usecs 10000 tx-frames 0")
        moderated = packets_per_interrupt(a, b)
        assert coalesce(b, "rx-usecs 10000 rx-frames 2")
        by_frames = packets_per_interrupt(a, b)
        assert coalesce(b, "rx-usecs 0 rx-frames 0 tx-usecs 0 tx-frames 0")
        return plain, moderated, by_frames

    repeatedly(measure, lambda plain, moderated, by_frames:
               moderated > 2.5 * plain and by_frames > plain)
    sink.stop()


def test_settings_are_kept(uneven_guests):
    a = uneven_guests[0]
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


def test_bad_values_are_refused(uneven_guests):
    a = uneven_guests[0]
    for options in ("rx-usecs 10001", "tx-usecs 99999999", "rx-usecs 1 rx-frames 65536",
                    "rx-frames 2", "tx-frames 9"):
        assert not coalesce(a, options), options
        coalesce(a, options, "-Q", "1")  # whose status says nothing
    coalesce(a, "rx-usecs 1", "-Q", "4")  # there is no such queue
    assert delays(a) == [(0, 0, 0, 0)] * 2


def test_adaptive_moderation_moves_and_can_be_left(uneven_guests):
    a, b = uneven_guests
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


def irqs(end) -> list[int]:
    """Of the completion vectors, by number."""
    rows = end.run("grep verna-comp /proc/interrupts", check=True).out.splitlines()
    by_vector = {int(re.search(r"verna-comp(\d+)@", row)[1]): int(row.split(":")[0])
                 for row in rows}
    return [irq for _, irq in sorted(by_vector.items())]


def affinity(end, irq: int, what: str = "smp_affinity_list") -> str:
    return end.run(f"cat /proc/irq/{irq}/{what}", check=True).out.strip()


def pci_of(end) -> str:
    return end.run(f"basename $(readlink /sys/class/net/{end.netdev}/device)",
                   check=True).out.strip()


def test_affinity_is_kept(uneven_guests):
    a = uneven_guests[0]
    a.run(f"echo 0 > /proc/irq/{irqs(a)[1]}/smp_affinity_list", check=True)
    for change in (f"ethtool -G {a.netdev} rx 1024", f"ethtool -L {a.netdev} combined 1",
                   f"ethtool -L {a.netdev} combined 2",
                   f"ip link set {a.netdev} down && ip link set {a.netdev} up",
                   f"echo 1 > /sys/bus/pci/devices/{pci_of(a)}/reset"):
        a.run(change, check=True, timeout=60)
        wait_until(lambda: a.run("grep -q verna-comp1 /proc/interrupts").ok, 20, "the vectors")
        assert affinity(a, irqs(a)[1]) == "0", change


def test_interrupts_have_their_cpus_before_they_are_raised(uneven_guests):
    a = uneven_guests[0]
    spread = [affinity(a, irq, "effective_affinity_list") for irq in irqs(a)]
    # The second was moved to CPU 0 by the test before.
    assert spread == ["0", "0"] + ["01"[i % 2] for i in range(2, len(spread))]


def test_napis_have_their_interrupts(uneven_guests):
    """netdev-genl tells of each NAPI its interrupt, also after a change of channels."""
    a = uneven_guests[0]
    for channels in (1, 4, 2):
        a.run(f"ethtool -L {a.netdev} combined {channels}", check=True)
        out = a.run(f"python3 {NAPI_GET} {a.netdev}", check=True).out
        napis = [tuple(map(int, line.split())) for line in out.splitlines()]
        assert len({napi for napi, _ in napis}) == channels
        assert sorted(irq for _, irq in napis) == irqs(a)[:channels]


FLOOD = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_UDP, 103, 32)
s.connect((sys.argv[1], 9))
data = bytes(32 * 60)
print("go", flush=True)
while True:
    try:
        s.send(data)
    except OSError:
        pass
"""


def packets_by_cpu(end) -> list[int]:
    rows = end.run("cat /proc/net/softnet_stat", check=True).out.splitlines()
    return [int(row.split()[0], 16) for row in rows]


@pytest.mark.alone
@pytest.mark.parametrize("deferred", [False, True])
def test_a_busy_channel_follows_its_interrupt(uneven_guests, deferred):
    """Small packets, cut by the sender's card, come faster than the stack takes them: the channel
    never runs dry, so there is no interrupt that would move with its affinity."""
    a, b = uneven_guests
    reachable(b, a)
    knobs = f"/sys/class/net/{a.netdev}"
    a.run(f"ethtool -L {a.netdev} combined 1 && ethtool -K {a.netdev} gro off rx-gro-hw off && "
          f"echo {deferred * 50} > {knobs}/napi_defer_hard_irqs && "
          f"echo {deferred * 1000000} > {knobs}/gro_flush_timeout", check=True)
    irq, stats = irqs(a)[0], ethtool_stats(a)
    flood = b.popen(f"python3 -c '{FLOOD}' {a.ip}")
    try:
        flood.wait_for("go")
        for cpu in (1, 0, 1):
            a.run(f"echo {cpu} > /proc/irq/{irq}/smp_affinity_list", check=True)
            wait_until(lambda: share_of(a, cpu) > 0.95, 10, f"packets on CPU {cpu}")
    finally:
        flood.stop()
        a.run(f"echo 0 > {knobs}/napi_defer_hard_irqs; echo 0 > {knobs}/gro_flush_timeout; "
              f"echo 0 > /proc/irq/{irq}/smp_affinity_list; ethtool -K {a.netdev} gro on "
              f"rx-gro-hw on; ethtool -L {a.netdev} combined 2", check=True)
    assert ethtool_stats(a)["rx0_napi_moved"] > stats["rx0_napi_moved"]
    reachable(b, a)


def share_of(end, cpu: int) -> float:
    """Which part of the packets of the next 300 ms a CPU takes."""
    before = packets_by_cpu(end)
    time.sleep(0.3)
    came = [now - then for now, then in zip(packets_by_cpu(end), before)]
    return came[cpu] / max(1, sum(came))


def test_channels_end_while_they_move(uneven_guests):
    """Changes of channels under such a load, with an affinity that does not stand still."""
    a, b = uneven_guests
    a.run(f"ethtool -K {a.netdev} gro off rx-gro-hw off", check=True)
    flood = b.popen(f"python3 -c '{FLOOD}' {a.ip}")
    mover = a.popen(f"while :; do for cpu in 0 1; do for irq in {irqs(a)[0]} {irqs(a)[1]}; do "
                    "echo $cpu > /proc/irq/$irq/smp_affinity_list; done; sleep 0.03; done; done")
    try:
        flood.wait_for("go")
        for channels in (1, 2) * 8:
            a.run(f"ethtool -L {a.netdev} combined {channels}", check=True, timeout=60)
    finally:
        flood.stop()
        mover.stop()
        a.run(f"ethtool -K {a.netdev} gro on rx-gro-hw on", check=True)
    reachable(b, a)


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


def test_busy_poll_finds_the_napi(uneven_guests):
    """SO_BUSY_POLL receives, and SO_INCOMING_NAPI_ID names the channel of the packets."""
    a, b = uneven_guests
    reachable(a, b)
    poller = b.popen(f"python3 -c '{BUSY_POLL}'")
    wait_until(lambda: "ready" in poller.out, 20, "the receiver")
    a.run(f"python3 -c '{SENDER}' {b.ip}", check=True)
    result = poller.wait(30)
    assert result.ok, result.err
    assert int(re.search(r"napi (\d+)", result.out).group(1)) > 0


ECHO = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7778))
s.setsockopt(socket.SOL_SOCKET, 46, 20000)
s.setsockopt(socket.SOL_SOCKET, 69, 1)
s.setsockopt(socket.SOL_SOCKET, 70, 64)
print("ready", flush=True)
for _ in range(int(sys.argv[1])):
    data, peer = s.recvfrom(100)
    s.sendto(data, peer)
"""

ASK = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
s.connect((sys.argv[1], 7778))
for number in range(int(sys.argv[2])):
    s.send(b"%d" % number)
    assert s.recv(100) == b"%d" % number
print("all")
"""


@pytest.mark.alone
def test_busy_poll_without_interrupts(uneven_guests):
    """With napi_defer_hard_irqs and gro_flush_timeout a process that prefers to poll takes its
    packets itself; when it is gone, interrupts are back."""
    a, b = uneven_guests
    knobs = f"/sys/class/net/{a.netdev}"
    # One channel, so that what is sent belongs to the NAPI that is polled.
    a.run(f"ethtool -L {a.netdev} combined 1", check=True)
    a.run(f"echo 100 > {knobs}/napi_defer_hard_irqs && echo 200000000 > {knobs}/gro_flush_timeout",
          check=True)
    server = a.popen(f"python3 -c '{ECHO}' 500")
    server.wait_for("ready")
    before = interrupts(a)
    assert "all" in b.run(f"python3 -c '{ASK}' {a.ip} 500", check=True, timeout=60).out
    raised = interrupts(a) - before
    assert server.wait(20).ok
    a.run(f"echo 0 > {knobs}/napi_defer_hard_irqs && echo 0 > {knobs}/gro_flush_timeout",
          check=True)
    assert raised < 100, "for 500 packets"
    before = interrupts(a)
    reachable(b, a)
    assert ping(b, a.ip, 20)
    wait_until(lambda: interrupts(a) > before, 10, "interrupts")
    a.run(f"ethtool -L {a.netdev} combined 2", check=True)
