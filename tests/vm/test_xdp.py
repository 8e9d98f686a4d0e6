# SPDX-License-Identifier: GPL-2.0-or-later
"""Native XDP: every action, packets of several buffers, redirection both ways, changes under
traffic. The programs are in bpf/xdp.c; they touch frames of type 0x88b5 only."""

import json
import re
import time
from contextlib import contextmanager

import pytest
from bench import perftest
from conftest import ends_of, lab
from helpers import ethtool_stats, ping, reachable, wait_until
from verna_vm.launch import patience

LIB = "/usr/local/lib/verna-tests"
BROADCAST = "ff:ff:ff:ff:ff:ff"


@pytest.fixture(scope="module")
def ends(request, repo, setup_paths):
    """Two guests with two wires between them; `a.other` and `b.other` are on the second."""
    with lab(request, repo) as net:
        a, b = net.guest("a"), net.guest("b", cpus=2)
        net.link(a, b)
        net.link(a, b)
        net.start()
        pair = ends_of(a, b)
        for end in pair:
            names = end.run("ls /sys/class/net").out.split()
            driver = "readlink /sys/class/net/%s/device/driver"
            end.other, = [n for n in names if n != end.netdev and
                          end.run(driver % n).out.strip().endswith("/verna")]
            end.run(f"ip link set {end.other} up", check=True)
        reachable(*pair)
        yield pair


def mac(end, netdev: str = "") -> str:
    return end.run(f"cat /sys/class/net/{netdev or end.netdev}/address", check=True).out.strip()


def attach(end, program: str, force: bool = False, netdev: str = ""):
    return end.run(f"ip {'-force ' if force else ''}link set dev {netdev or end.netdev} xdpdrv "
                   f"object {LIB}/xdp.bpf.o program xdp_{program}")


@contextmanager
def attached(end, program: str, **setup):
    attach(end, program).check()
    try:
        yield
    finally:
        end.run(f"ip link set dev {end.netdev} xdpdrv off", check=True)


def entry(end, table: str, index: int, value: int | None = None) -> int:
    """Reads or writes an entry of a map of the program that is attached."""
    link, = json.loads(end.run(f"ip -d -j link show dev {end.netdev}", check=True).out)
    words = f"bpf_map {link['xdp']['prog']['id']} {table} {index}"
    return int(end.run(words + (f" {value}" if value is not None else ""), check=True).out)


def exchange(a, b, sizes, shift: int = 0, into: str = "", to: str = "") -> list[list]:
    """Sends frames to b's program; what came back, as [size, length, verdict]."""
    out = a.run(f"python3 {LIB}/frames.py {a.netdev} {into or a.netdev} {to or mac(b)} {shift} "
                + " ".join(map(str, sizes)), check=True, timeout=120).out
    rows = [line.split() for line in out.splitlines()]
    return [[int(size), int(length), verdict] for size, length, verdict in rows]


def set_mtu(ends, mtu: int) -> None:
    for end in ends:
        for netdev in (end.netdev, end.other):
            end.run(f"ip link set {netdev} mtu {mtu}", check=True)


@contextmanager
def jumbo(ends):
    set_mtu(ends, 9000)
    try:
        yield
    finally:
        set_mtu(ends, 1500)


def xdp_counts(end) -> dict[str, int]:
    """The driver's XDP counters, over all queues."""
    total: dict[str, int] = {}
    for name, value in ethtool_stats(end).items():
        if found := re.match(r"rx\d+_(xdp_\w+|packets)", name):
            total[found[1]] = total.get(found[1], 0) + value
    return total


@pytest.mark.parametrize("program,counter", [
    ("drop", "xdp_drop"), ("abort", "xdp_error"), ("nonsense", "xdp_error"), ("pass", "")])
def test_actions_that_do_not_answer(ends, program, counter):
    a, b = ends
    before = xdp_counts(b)
    with attached(b, program):
        assert exchange(a, b, [60, 600]) == [[60, 0, "nothing"], [600, 0, "nothing"]]
        assert entry(b, "seen", 0) == 2
        assert ping(a, b.ip, 3), "what is not the program's passes"
    after = xdp_counts(b)
    assert after["packets"] - before["packets"] >= 2, "XDP's packets are received packets"
    for name in ("xdp_drop", "xdp_error", "xdp_tx", "xdp_redirect"):
        assert after[name] - before[name] == (2 if name == counter else 0), name


def test_an_exception_is_traced(ends):
    a, b = ends
    trace = "/sys/kernel/tracing"
    b.run(f"mountpoint -q {trace} || mount -t tracefs t {trace}; "
          f"echo > {trace}/trace; echo 1 > {trace}/events/xdp/xdp_exception/enable", check=True)
    with attached(b, "abort"):
        exchange(a, b, [100])
    assert "action=ABORTED" in b.run(f"cat {trace}/trace").out
    b.run(f"echo 0 > {trace}/events/xdp/xdp_exception/enable", check=True)


def test_tx_of_every_size(ends):
    a, b = ends
    sizes = [60, 61, 64, 128, 256, 257, 512, 1023, 1499, 1514]
    sent = b.run(f"cat /sys/class/net/{b.netdev}/statistics/tx_packets").out
    with attached(b, "tx"):
        assert exchange(a, b, sizes) == [[size, size, "same"] for size in sizes]
    after = b.run(f"cat /sys/class/net/{b.netdev}/statistics/tx_packets").out
    assert int(after) - int(sent) >= len(sizes), "and counted as sent"


def test_no_frame_is_lost(ends):
    """A thousand frames one right after the other, each seen and each sent back."""
    a, b = ends
    got = "cat /sys/class/net/{}/statistics/rx_packets"
    before = int(a.run(got.format(a.netdev)).out)
    with attached(b, "tx"):
        a.run(f"python3 {LIB}/frames.py {a.netdev} - {mac(b)} 0 {'100 ' * 1000}", check=True)
        wait_until(lambda: int(a.run(got.format(a.netdev)).out) - before >= 1000, 10,
                   "a thousand frames")
        assert entry(b, "seen", 0) == 1000


def test_tx_of_several_buffers(ends):
    a, b = ends
    sizes = [60, 3519, 3520, 3521, 4096, 7039, 7040, 7041, 9000, 9014]
    with jumbo(ends), attached(b, "tx_frags"):
        assert exchange(a, b, sizes) == [[size, size, "same"] for size in sizes]


@pytest.mark.parametrize("grow", [1, 16, 208, -16, -40])
def test_head(ends, grow):
    a, b = ends
    sizes = [100, 1000] if grow > 0 else [200, 1500]
    with jumbo(ends), attached(b, "head_frags"):
        entry(b, "setup", 1, grow)
        rows = exchange(a, b, [*sizes, 8000], grow)
    assert rows == [[size, size + grow, "same"] for size in [*sizes, 8000]]


@pytest.mark.parametrize("grow", [1, 16, 256, -16, -256])
def test_tail(ends, grow):
    a, b = ends
    sizes = [400, 1000, 2062, 8000]
    with jumbo(ends), attached(b, "tail_frags"):
        entry(b, "setup", 1, grow)
        rows = exchange(a, b, sizes)
        assert entry(b, "seen", 1) == 8000 + grow
    assert rows == [[size, size + grow, "same"] for size in sizes]


def test_a_tail_shrinks_over_buffers(ends):
    a, b = ends
    with jumbo(ends), attached(b, "tail_frags"):
        entry(b, "setup", 1, -4000)
        assert exchange(a, b, [8000, 4500]) == [[8000, 4000, "same"], [4500, 500, "same"]]


def test_metadata_is_not_in_the_way(ends):
    a, b = ends
    with attached(b, "meta"):
        exchange(a, b, [60, 1514])
        assert entry(b, "seen", 0) == 2
        assert ping(a, b.ip, 3)


@pytest.mark.parametrize("sizes", [[60, 256, 1514], [60, 3521, 9014]])
def test_redirect_to_another_card(ends, sizes):
    """Received by a program on one card, sent by ndo_xdp_xmit of the other."""
    a, b = ends
    with jumbo(ends), attached(b, "redirect_frags"):
        entry(b, "setup", 0, int(b.run(f"cat /sys/class/net/{b.other}/ifindex").out))
        rows = exchange(a, b, sizes, into=a.other, to=BROADCAST)
        assert rows == [[size, size, "same"] for size in sizes]
        b.run(f"ip link set {b.other} down", check=True)
        assert exchange(a, b, [60], into=a.other, to=BROADCAST) == [[60, 0, "nothing"]]
        b.run(f"ip link set {b.other} up", check=True)


def test_one_buffer_and_the_mtu(ends):
    """A program for one buffer is refused where packets may take several, with a reason."""
    a, b = ends
    with jumbo(ends):
        result = attach(b, "tx")
        assert not result.ok and "MTU 9000" in result.err
        with attached(b, "tx_frags"):
            assert attach(b, "pass_frags", force=True).ok, "one for several buffers for another"
            assert not attach(b, "pass", force=True).ok
    with attached(b, "tx"):
        assert not b.run(f"ip link set {b.netdev} mtu 9000").ok
        b.run(f"ip link set {b.netdev} mtu 3498", check=True)
        assert not b.run(f"ip link set {b.netdev} mtu 3499").ok
        b.run(f"ip link set {b.netdev} mtu 1500", check=True)


def test_nothing_is_left_behind(ends):
    for end in ends:
        link, = json.loads(end.run(f"ip -d -j link show dev {end.netdev}", check=True).out)
        assert "xdp" not in link


def test_with_all_offloads_on(ends):
    """Nothing has to be switched off for a program, nor stays off behind it: TCP of large packets
    both ways past one, on a VLAN too, and the program's own frames meanwhile."""
    a, b = ends
    names = re.findall(r"^\s*((?:tx|rx|tcp|generic|scatter)[\w-]*): off$",
                       b.run(f"ethtool -k {b.netdev}", check=True).out, re.M)
    assert not set(names) - {"rx-fcs", "rx-all", "rx-gro-list", "rx-udp-gro-forwarding",
                             "tx-nocache-copy"}, "everything is on"
    vlan = [end.on_vlan(9, f"10.0.9.{n}", f"fd00:9::{n}") for n, end in ((1, a), (2, b))]
    try:
        with attached(b, "tx"):
            shown = b.run(f"ethtool -k {b.netdev}", check=True).out
            assert "rx-gro-hw: off [requested on]" in shown, "programs see packets as they came"
            for name in ("rx-checksumming", "tcp-segmentation-offload", "rx-vlan-offload",
                         "tx-udp-segmentation", "receive-hashing"):
                assert f"{name}: on" in shown
            before = ethtool_stats(b)
            for end in (b, vlan[1]):
                for direction in ("", "-R"):
                    server = b.popen("iperf3 -s -1")
                    perftest.wait_listening(b.guest, 5201, server)
                    a.run(f"iperf3 -c {end.ip} -n 8M {direction}", check=True, timeout=60)
                    server.wait(20)
            assert exchange(a, b, [60, 1514]) == [[60, 60, "same"], [1514, 1514, "same"]]
            after = ethtool_stats(b)
            assert after["eth_tx_tso_segments"] - before["eth_tx_tso_segments"] > 5000
            assert after["eth_rx_csum_bad"] == before["eth_rx_csum_bad"]
            assert after["eth_rx_merged_packets"] == before["eth_rx_merged_packets"]
        assert "rx-gro-hw: on" in b.run(f"ethtool -k {b.netdev}", check=True).out
    finally:
        for end in vlan:
            end.run(f"ip link del {end.netdev}", check=True)


def test_programs_come_and_go_under_traffic(ends):
    """Attach, replace, detach, rings and channels while TCP runs; not one connection breaks."""
    a, b = ends
    server = b.popen("iperf3 -s -1")
    perftest.wait_listening(b.guest, 5201, server)
    seconds = int(10 * patience())
    client = a.popen(f"iperf3 -c {b.ip} -t {seconds + 2} -i 0")
    time.sleep(1)
    rounds = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        attach(b, "pass").check()
        attach(b, "tx", force=True).check()
        b.run(f"ethtool -L {b.netdev} combined {1 + rounds % 2} && "
              f"ethtool -G {b.netdev} rx {256 << rounds % 3} tx {64 << rounds % 3}", check=True)
        b.run(f"ip link set dev {b.netdev} xdpdrv off", check=True)
        rounds += 1
    assert client.wait(60).ok
    server.wait(20)
    assert rounds > 1
    assert ping(a, b.ip, 5)
