# SPDX-License-Identifier: GPL-2.0-or-later
"""Changes under traffic: rings, channels, MTU, features, link flaps; queues that run full.

VERNA_STRESS_SECONDS (15) says for how long; 60 is what a release wants.
"""

import os
import time

import pytest
from bench import perftest
from conftest import ends_of, lab
from helpers import carrier, ethtool_stats, ping, reachable, wait_until
from verna_vm.launch import patience

SECONDS = int(os.environ.get("VERNA_STRESS_SECONDS", "15"))

# Runs in the guest: one change after the other, from a seed; what is refused ends it.
CHANGES = r"""
import random, subprocess, sys, time
netdev, seconds, channels = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
random.seed(7)
features = ("rx-checksumming", "tx-checksumming", "scatter-gather", "tcp-segmentation-offload",
            "generic-receive-offload", "rx-gro-hw", "receive-hashing")
def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, " ".join(words) + ": " + done.stderr
def ring():
    return run("ethtool", "-G", netdev, "rx", str(64 << random.randrange(7)),
               "tx", str(64 << random.randrange(7)))
def channel():
    now = int(next(line.split()[1] for line in reversed(subprocess.run(
        ["ethtool", "-l", netdev], capture_output=True, text=True).stdout.splitlines())
        if line.startswith("Combined")))
    other = [n for n in range(1, channels + 1) if n != now]
    return run("ethtool", "-L", netdev, "combined", str(random.choice(other))) if other else (0, "")
def mtu():
    size = random.choice((1500, 2000, 4000, 9000, 9600))
    return run("ip", "link", "set", netdev, "mtu", str(size))
def feature():
    # One that is fixed, or that depends on another that is off, may be refused.
    run("ethtool", "-K", netdev, random.choice(features), random.choice(("on", "off")))
    return 0, ""
end, counts = time.monotonic() + seconds, {}
while time.monotonic() < end:
    change = random.choice((ring, channel, mtu, feature))
    status, text = change()
    counts[change.__name__] = counts.get(change.__name__, 0) + 1
    # ethtool has a status of its own for "nothing changed"
    if status and "no changes" not in text and "unmodified" not in text:
        sys.exit(text)
print(counts)
"""


@pytest.fixture(scope="module")
def ends(request, repo, setup_paths):
    with lab(request, repo) as net:
        a, b = net.guest("a"), net.guest("b", cpus=2)
        net.link(a, b)
        net.start()
        pair = ends_of(a, b)
        reachable(*pair)
        yield pair


def traffic(a, b, seconds: int, words: str = ""):
    """TCP from a to b, and a flood of pings, for so long; both as processes of a. Returns when
    there is a connection: what happens then is not to keep it from coming about."""
    server = b.popen("iperf3 -s -1")
    perftest.wait_listening(b.guest, 5201, server)
    client = a.popen(f"iperf3 -c {b.ip} -t {seconds} -i 0 {words}")
    wait_until(lambda: b.run("ss -Htn state established sport = 5201").out, 20, "a connection")
    return client, a.popen(f"ping -q -f -s 1000 -w {seconds} {b.ip}"), server


def finish(a, b, processes) -> None:
    client, flood, server = processes
    result = client.wait(90)
    assert result.ok, result.out + result.err
    flood.wait(60)
    server.stop()
    assert ping(a, b.ip, 10) and ping(b, a.ip, 10)


def test_changes_under_traffic(ends):
    a, b = ends
    a.run(f"ip link set {a.netdev} mtu 1500", check=True)
    b.guest.push(CHANGES.encode(), "/tmp/changes.py")
    running = traffic(a, b, SECONDS + 3)
    done = b.run(f"python3 /tmp/changes.py {b.netdev} {SECONDS} 2", timeout=SECONDS + 60)
    assert done.ok, done.out + done.err
    b.run(f"ip link set {b.netdev} mtu 1500; ethtool -L {b.netdev} combined 2; "
          f"ethtool -G {b.netdev} rx 2048 tx 1024")
    finish(a, b, running)


def rate_limit(end, mbps: int) -> None:
    end.run(f"for q in /sys/class/net/{end.netdev}/queues/tx-*; do echo {mbps} > $q/tx_maxrate; "
            "done", check=True)


def test_the_smallest_ring(ends):
    """A ring that is full stops the queue and wakes it, again and again; nothing is lost. At any
    rate, and at one that fills it however slow the sender is."""
    a, b = ends
    for end in ends:
        end.run(f"ethtool -G {end.netdev} rx 64 tx 64", check=True)
    # Without byte limits the stack fills the ring.
    a.run(f"for q in /sys/class/net/{a.netdev}/queues/tx-*; do "
          "echo max > $q/byte_queue_limits/limit_min; done", check=True)
    before = ethtool_stats(a)
    finish(a, b, traffic(a, b, 5, "-P 4"))
    # UDP, as TCP has few packets under way when they leave slowly.
    rate_limit(a, max(1, int(10 / patience())))
    finish(a, b, traffic(a, b, 3, "-u -b 0"))
    rate_limit(a, 0)
    after = ethtool_stats(a)
    change = {end: sum(value - before[name] for name, value in after.items()
                       if name.startswith("tx") and name.endswith(end))
              for end in ("_stops", "_wakes")}
    for end in ends:
        end.run(f"ethtool -G {end.netdev} rx 2048 tx 1024", check=True)
    a.run(f"for q in /sys/class/net/{a.netdev}/queues/tx-*; do "
          "echo 0 > $q/byte_queue_limits/limit_min; done", check=True)
    assert change["_stops"] > 0 and change["_wakes"] > 0, change


def test_link_flaps(ends):
    a, b = ends
    running = traffic(a, b, 8)
    end = time.monotonic() + 5
    flaps = 0
    while time.monotonic() < end:
        for up in (False, True):
            b.guest.qmp("set_link", name="card0", up=up)
            time.sleep(0.05 if flaps % 2 else 0.2)
        flaps += 1
    assert flaps >= 3
    wait_until(lambda: carrier(b), 5, "carrier")
    for side in ends:
        side.run(f"ip addr replace {side.ip6}/64 dev {side.netdev} nodad", check=True)
    finish(a, b, running)


def test_down_and_up_under_traffic(ends):
    """Buffers that the stack still holds outlive their queue; pools are let go."""
    a, b = ends
    running = traffic(a, b, 8)
    for _ in range(5):
        b.run(f"ip link set {b.netdev} down; ip link set {b.netdev} up", check=True)
        time.sleep(0.5)
    b.run(f"ip addr replace {b.ip6}/64 dev {b.netdev} nodad", check=True)
    finish(a, b, running)
    if SECONDS >= 60:
        time.sleep(65)  # when the kernel complains of a pool whose pages did not come back
