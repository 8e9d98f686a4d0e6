# SPDX-License-Identifier: GPL-2.0-or-later
"""Our verbs program: contents, exactly-once completion and every refusal, for every opcode."""

import pytest
from bench.perftest import wait_listening
from conftest import ends_of
from helpers import rdma_side

PORT = 18900


@pytest.fixture(scope="module")
def sides(two_guests):
    for end in two_guests:
        end.run(f"ip link set {end.netdev} mtu 9000", check=True)
    return tuple(map(rdma_side, two_guests))


def run_pair(sides, options: str, timeout: float = 240) -> str:
    """The program's own report; it fails on its own findings."""
    server, client = sides
    listening = server.guest.popen(
        f"verna_verbs_test -d {server.device} -g {server.gid} -p {PORT} {options}")
    wait_listening(server.guest, PORT, listening)
    result = client.guest.run(f"verna_verbs_test -d {client.device} -g {client.gid} -p {PORT} "
                              f"{options} {server.address}", timeout)
    other = listening.wait(30)
    assert result.ok and other.ok, f"{result.out}{result.err}\n# server\n{other.out}{other.err}"
    return result.out


def test_two_guests(sides):
    out = run_pair(sides, "")
    assert "not ok" not in out and out.count("\nok ") > 50


def test_one_guest(sides):
    side = sides[0]
    out = side.guest.run(f"verna_verbs_test -d {side.device} -g {side.gid} --loopback", 240)
    assert out.ok, out.out + out.err
    assert "not ok" not in out.out


def test_hostile_process(two_guests, sides):
    """A process that scribbles over its queues and rings others' doorbells hurts only itself."""
    a, b = two_guests
    hostile = a.popen(f"verna_scribble -d {sides[0].device} -g {sides[0].gid} -t 20 -s 1")
    try:
        out = run_pair(sides, "--quick")
        assert "not ok" not in out
    finally:
        hostile.stop()


def test_one_gibibyte(topology):
    """One message of 1 GiB in each direction of data, checked byte for byte."""
    a, b = topology.guest("a", memory="3G"), topology.guest("b", memory="3G")
    topology.link(a, b)
    topology.start()
    ends = ends_of(a, b)
    for end in ends:
        end.run(f"ip link set {end.netdev} mtu 9000", check=True)
    out = run_pair(tuple(map(rdma_side, ends)), f"--big {1 << 30} -k 'in one message'")
    assert "not ok" not in out and "\nok " in out
