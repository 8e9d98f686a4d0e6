# SPDX-License-Identifier: GPL-2.0-or-later
"""Which queue sends next, set by the tools of every Linux."""

import re
import time

import pytest
from helpers import reachable, repeatedly, vernactl, wait_until


def queues_of(end) -> list[dict]:
    return vernactl(end, "queues")["txqs"]


def classes_of(end) -> list[tuple[int, int]]:
    """Weight and limit of each class of the card."""
    return [(c["weight"], c["max_kbps"]) for c in vernactl(end, "state")["classes"]]


def sent_bytes(end) -> int:
    return vernactl(end, "counters")["port"]["tx_bytes"]


def blast(end, peer, seconds: float = 2) -> float:
    """Mbit/s that the card sends while UDP is posted as fast as it goes."""
    sender = end.popen(f"python3 -c '{BLAST}' {peer.ip} {seconds + 1}")
    wait_until(lambda: "go" in sender.out, 20, "the sender")
    time.sleep(0.3)
    before, began = sent_bytes(end), time.monotonic()
    time.sleep(seconds)
    rate = (sent_bytes(end) - before) * 8e-6 / (time.monotonic() - began)
    sender.wait(20)
    return rate


# For a time, which begins when it sends.
BLAST = """
import signal, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1], 9))
data = bytes(1400)
print("go", flush=True)
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))
while True:
    try:
        s.send(data)
    except OSError:
        pass
"""


def maxrate(end, queue: int, mbps: int) -> bool:
    path = f"/sys/class/net/{end.netdev}/queues/tx-{queue}/tx_maxrate"
    return end.run(f"echo {mbps} > {path}").ok


@pytest.mark.alone
def test_tx_maxrate_is_kept_and_holds(uneven_guests):
    a, b = uneven_guests
    reachable(a, b)
    free = blast(a, b, 1)
    limit = max(2, int(free / 10))
    for queue in (0, 1):
        assert maxrate(a, queue, limit)
    for change in (f"ethtool -G {a.netdev} tx 512", f"ethtool -L {a.netdev} combined 1",
                   f"ethtool -L {a.netdev} combined 2"):
        a.run(change, check=True, timeout=60)
        assert {q["rate_kbps"] for q in queues_of(a)} == {limit * 1000}, change
    reachable(a, b)
    # Two queues of that rate at most.
    repeatedly(lambda: (blast(a, b),), lambda rate: 0.5 * limit < rate < 2.3 * limit)
    for queue in (0, 1):
        assert maxrate(a, queue, 0)
    assert not maxrate(a, 0, 5_000_000)
    assert {q["rate_kbps"] for q in queues_of(a)} == {0}


def tc(end, words: str) -> bool:
    return end.run(f"tc qdisc replace dev {end.netdev} {words}").ok


MQPRIO = "root handle 1: mqprio num_tc 2 map 0 1 0 0 0 0 1 1 0 0 0 0 0 0 0 0 queues 1@0 1@1 hw 1"


def test_mqprio_makes_classes(uneven_guests):
    a = uneven_guests[0]
    strict = [(0, 0)] * 8
    assert tc(a, f"{MQPRIO} mode channel")
    assert classes_of(a) == strict
    assert [q["tclass"] for q in queues_of(a)] == [0, 1]
    a.run(f"tc qdisc del dev {a.netdev} root", check=True)
    assert tc(a, f"{MQPRIO} mode channel shaper bw_rlimit min_rate 1Gbit 3Gbit "
                 "max_rate 40Gbit 20Gbit")
    assert classes_of(a)[:2] == [(341, 40_000_000), (1024, 20_000_000)]
    assert not a.run(f"ethtool -L {a.netdev} combined 1").ok, "a class has the other queue"
    a.run(f"ethtool -G {a.netdev} tx 1024", check=True)
    assert classes_of(a)[:2] == [(341, 40_000_000), (1024, 20_000_000)]
    assert [q["tclass"] for q in queues_of(a)] == [0, 1]
    a.run(f"ip link set {a.netdev} down && ip link set {a.netdev} up", check=True)
    assert [q["tclass"] for q in queues_of(a)] == [0, 1]
    a.run(f"tc qdisc del dev {a.netdev} root", check=True)
    assert classes_of(a) == strict
    assert {q["tclass"] for q in queues_of(a)} == {0}


def test_bad_mqprio_is_refused(uneven_guests):
    a = uneven_guests[0]
    for rates in ("min_rate 90Gbit 20Gbit max_rate 99Gbit 99Gbit",  # more than the link
                  "min_rate 2Gbit 1Gbit max_rate 1Gbit 1Gbit",
                  "max_rate 9000000Gbit 1Gbit"):
        assert not tc(a, f"{MQPRIO} mode channel shaper bw_rlimit {rates}"), rates
    assert not tc(a, MQPRIO.replace("1@1", "2@1") + " mode channel"), "a queue too many"
    assert classes_of(a) == [(0, 0)] * 8


def test_ets_is_offloaded(uneven_guests):
    a = uneven_guests[0]
    ets = "root handle 2: ets bands 2 quanta 3000 1000 priomap 1 1 1 1 1 1 0 0"
    assert tc(a, ets)
    assert classes_of(a) == [(0, 0)] * 8, "not without hw-tc-offload"
    a.run(f"tc qdisc del dev {a.netdev} root", check=True)
    a.run(f"ethtool -K {a.netdev} hw-tc-offload on", check=True)
    assert tc(a, ets)
    assert "offloaded" in a.run(f"tc qdisc show dev {a.netdev}", check=True).out
    assert classes_of(a)[6:] == [(341, 0), (1024, 0)], "the first band is the last class"
    assert [q["tclass"] for q in queues_of(a)] == [7, 6]
    assert vernactl(a, "state")["rdma_class"] == 6, "as traffic of priority 0"
    a.run(f"ethtool -G {a.netdev} tx 512", check=True)
    assert [q["tclass"] for q in queues_of(a)] == [7, 6]
    assert tc(a, "root handle 2: ets bands 3 strict 3"), "in software: there are two queues"
    assert "offloaded" not in a.run(f"tc qdisc show dev {a.netdev}", check=True).out
    assert classes_of(a) == [(0, 0)] * 8
    a.run(f"tc qdisc del dev {a.netdev} root; ethtool -K {a.netdev} hw-tc-offload off", check=True)


def test_pacing_is_a_parameter_of_the_device(uneven_guests):
    a = uneven_guests[0]
    pci = a.run(f"basename $(readlink /sys/class/net/{a.netdev}/device)", check=True).out.strip()
    name = f"pci/{pci} name tso_pacing_mbps"
    a.run(f"devlink dev param set {name} value 2500 cmode runtime", check=True)
    assert {q["pace_kbps"] for q in queues_of(a)} == {2_500_000}
    a.run(f"ethtool -G {a.netdev} tx 1024", check=True)
    assert {q["pace_kbps"] for q in queues_of(a)} == {2_500_000}
    assert "2500" in a.run(f"devlink dev param show {name}", check=True).out
    assert not a.run(f"devlink dev param set {name} value 4294968 cmode runtime").ok
    a.run(f"devlink dev param set {name} value 0 cmode runtime", check=True)
    assert {q["pace_kbps"] for q in queues_of(a)} == {0}


# --- link pause

def pause_counters(end) -> tuple[int, int]:
    port = vernactl(end, "counters")["port"]
    return port["tx_pause"], port["rx_pause"]


def test_pause_is_set_and_kept(uneven_guests):
    a = uneven_guests[0]
    assert a.run(f"ethtool -A {a.netdev} rx on tx on").ok
    assert not a.run(f"ethtool -A {a.netdev} autoneg on").ok
    a.run(f"ethtool -L {a.netdev} combined 1 && ethtool -L {a.netdev} combined 2", check=True)
    shown = a.run(f"ethtool -I -a {a.netdev}", check=True).out
    assert re.search(r"RX:\s+on", shown) and re.search(r"TX:\s+on", shown)
    assert "rx_pause_frames" in shown
    assert a.run(f"ethtool -A {a.netdev} rx off tx off").ok


PAUSE = """
import socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
frame = bytes.fromhex("0180c2000001" "020000000001" "8808" "0001" "ffff") + bytes(42)
end = time.monotonic() + float(sys.argv[2])
print("go", flush=True)
while time.monotonic() < end:
    s.send(frame)
"""


def test_a_peer_that_pauses_slows_but_never_stops_us(uneven_guests):
    """One that sends PAUSE all the time; the TX watchdog has nothing to say (see the logs)."""
    a, b = uneven_guests
    reachable(a, b)
    assert a.run(f"ethtool -A {a.netdev} rx on").ok
    before = pause_counters(a)[1]
    pauser = b.popen(f"python3 -c '{PAUSE}' {b.netdev} 6")
    wait_until(lambda: "go" in pauser.out, 20, "the pauser")
    received = int(re.search(r"(\d+) received", a.run(
        f"ping -q -c 5 -i 1 -W 3 {b.ip}", timeout=30).out).group(1))
    pauser.wait(30)
    assert pause_counters(a)[1] > before
    assert received > 0
    assert a.run(f"ethtool -A {a.netdev} rx off").ok
    reachable(a, b)
