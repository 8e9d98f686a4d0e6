# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's own RDMA programs, unmodified, over two cards."""

import re

import pytest
from bench import perftest
from helpers import hw_counter, rdma_side, resources


@pytest.fixture(scope="module")
def sides(two_guests):
    for end in two_guests:
        end.run(f"ip link set {end.netdev} mtu 9000", check=True)
    return tuple(map(rdma_side, two_guests))


@pytest.mark.parametrize("program, options", [
    ("ibv_rc_pingpong", ""), ("ibv_rc_pingpong", "-e"), ("ibv_rc_pingpong", "-c -s 100000"),
    ("ibv_rc_pingpong", "-N"),
    ("ibv_uc_pingpong", ""), ("ibv_uc_pingpong", "-e"),
    ("ibv_ud_pingpong", "-s 2048"), ("ibv_ud_pingpong", "-e -s 1024"),
])
def test_pingpong(sides, program, options):
    server, client = sides
    port = 18515
    listening = server.guest.popen(
        f"{program} -d {server.device} -g {server.gid} -n 200 -p {port} {options}")
    perftest.wait_listening(server.guest, port, listening)
    result = client.guest.run(f"{program} -d {client.device} -g {client.gid} -n 200 -p {port} "
                              f"{options} {server.address}", timeout=60, check=True)
    assert "200 iters" in result.out
    listening.wait(20).check()


@pytest.mark.parametrize("tool, options", [
    ("ib_write_bw", "-s 65536 -n 2000"), ("ib_read_bw", "-s 65536 -n 2000"),
    ("ib_send_bw", "-s 65536 -n 2000"), ("ib_write_lat", "-s 8 -n 500"),
    ("ib_read_lat", "-s 8 -n 500"), ("ib_send_lat", "-s 8 -n 500"), ("ib_atomic_lat", "-n 500"),
    ("ib_atomic_bw", "-n 1000"), ("ib_send_bw", "-c UC -s 65536 -n 2000"),
    ("ib_send_bw", "-c UD -s 2048 -n 2000"), ("ib_send_lat", "-c UD -s 64 -n 500"),
    ("ib_write_bw", "-c UC -s 65536 -n 2000"), ("ib_write_bw", "-a -n 200"),
    ("ib_send_bw", "-e -s 4096 -n 1000"), ("ib_write_bw", "-q 8 -s 4096 -n 500"),
    ("ib_send_bw", "-b -s 65536 -n 1000"), ("ib_write_bw", "-m 256 -s 10000 -n 500"),
    ("ib_write_bw", "-l 16 -s 64 -n 3200"), ("ib_write_bw", "-R -s 4096 -n 500"),
    ("ib_send_lat", "-R -s 64 -n 200"),
])
def test_perftest(sides, tool, options):
    assert perftest.run(tool, *sides, options).values


@pytest.mark.parametrize("options", ["", "-S 65535 -C 20", "-S 23 -C 20"])
def test_rping_verifies(sides, options):
    server, client = sides
    count = re.search(r"-C (\d+)", options)
    count = int(count.group(1)) if count else 50
    options = options if "-C" in options else f"-C {count} {options}"
    listening = server.guest.popen(f"rping -s -a {server.address} -v {options} -p 7300")
    client.guest.run("sleep 1")
    result = client.guest.run(f"rping -c -a {server.address} -V -v {options} -p 7300", timeout=60)
    assert result.ok, result.out + result.err + listening.err
    assert len(re.findall("^ping data", result.out, re.M)) == count
    listening.wait(20)


def test_rping_persistent_server_and_ipv6(two_guests, sides):
    a, b = two_guests
    listening = a.popen(f"rping -s -P -a {a.ip6} -p 7301")
    a.run("sleep 1")
    for _ in range(3):
        b.run(f"rping -c -a {a.ip6} -V -C 10 -p 7301", timeout=60, check=True)
    listening.stop()


def test_rping_to_own_address(sides):
    """Loopback: both QPs are on the same card."""
    guest, address = sides[0].guest, sides[0].address
    listening = guest.popen(f"rping -s -a {address} -v -C 10 -p 7302")
    guest.run("sleep 1")
    guest.run(f"rping -c -a {address} -V -C 10 -p 7302", timeout=60, check=True)
    listening.wait(20)


@pytest.mark.parametrize("program", ["ucmatose", "udaddy"])
def test_rdma_cm_examples(sides, program):
    server, client = sides
    listening = server.guest.popen(f"{program} -b {server.address} -c 4 -C 20")
    client.guest.run("sleep 1")
    result = client.guest.run(f"{program} -s {server.address} -b {client.address} -c 4 -C 20",
                              timeout=60)
    assert result.ok and "return status 0" in result.out, result.out + result.err
    listening.wait(20).check()


def test_counters_move(two_guests, sides):
    a, b = two_guests
    before = hw_counter(b, "tx_packets"), hw_counter(a, "rx_packets")
    perftest.run("ib_write_bw", *sides, "-s 4096 -n 100")
    assert hw_counter(b, "tx_packets") >= before[0] + 100
    assert hw_counter(a, "rx_packets") >= before[1] + 100
    data = a.run(f"cat /sys/class/infiniband/{a.rdma}/ports/1/counters/port_rcv_data", check=True)
    assert int(data.out) > 0
    assert a.run("rdma statistic show", check=True).out


def test_nothing_is_left_open(two_guests, sides):
    for end in two_guests:
        assert not any(resources(end).values())


def test_kill_frees_everything(two_guests, sides):
    """kill -9 of both ends under traffic: the kernel shows no object of theirs afterwards."""
    a, b = two_guests
    command = "ib_write_bw -d {0.device} -x {0.gid} -F -D 60 -q 16 -s 65536 -p 18700"
    server = a.popen(command.format(sides[0]))
    perftest.wait_listening(a.guest, 18700, server)
    client = b.popen(f"{command.format(sides[1])} {a.ip}")
    b.run("sleep 3")
    assert resources(b)["qp"] == 16
    for process in (client, server):
        process.kill(9)
        process.wait(20)
    for end in two_guests:
        assert not any(resources(end).values())
    perftest.run("ib_write_bw", *sides, "-s 4096 -n 100")
