# SPDX-License-Identifier: GPL-2.0-or-later
"""The card against code that nobody here wrote: the kernel's rxe in the other guest.

Guest a has a card on a netdev, guest b a virtio NIC on the other end of that wire, and rxe on it.
The capture of the card's port is decoded by tshark and its ICRCs are computed anew by scapy.
"""

import pytest
from bench import perftest
from captures import icrc_check, tshark
from conftest import End, lab
from helpers import RXE_TIME, rdma_side, reachable

TOOLS = [
    ("ib_send_bw", f"-s 65536 -n 40 {RXE_TIME}"), ("ib_write_bw", f"-s 65536 -n 40 {RXE_TIME}"),
    ("ib_read_bw", f"-s 65536 -n 40 {RXE_TIME}"), ("ib_send_lat", "-s 8 -n 100"),
    ("ib_write_lat", "-s 8 -n 100"), ("ib_read_lat", "-s 8 -n 100"), ("ib_atomic_lat", "-n 100"),
    ("ib_atomic_lat", "-n 100 -A CMP_AND_SWAP"), ("ib_send_bw", "-c UC -s 65536 -n 40"),
    ("ib_send_bw", "-c UD -s 1024 -n 200"), ("ib_write_bw", "-s 1 -n 100"),
    ("ib_write_bw", f"-s 4097 -n 100 {RXE_TIME}"), ("ib_write_lat", "-R -s 8 -n 50"),
]


@pytest.fixture(scope="module")
def mixed(request, repo, setup_paths):
    """A card in guest a, rxe in guest b, and the card's capture file."""
    with lab(request, repo) as net:
        a, b = net.guest("a"), net.guest("b")
        card, _ = net.ethernet(a, b, "verna", "virtio-net-pci")
        card.pcap = str(net.folder / "card.pcap")
        net.start()
        ours = End(a, "10.0.8.1", "fd00:8::1").configure()
        theirs = End(b, "10.0.8.2", "fd00:8::2").configure("virtio_net")
        theirs.run(f"modprobe rdma_rxe && rdma link add rxe0 type rxe netdev {theirs.netdev}",
                   check=True)
        theirs.rdma = "rxe0"
        reachable(ours, theirs)
        yield ours, theirs, card.pcap


@pytest.mark.alone
@pytest.mark.parametrize("tool, options", TOOLS)
@pytest.mark.parametrize("server", ["verna", "rxe"])
def test_perftest_with_rxe(mixed, server, tool, options):
    ends = [rdma_side(end) for end in mixed[:2]]
    if server == "rxe":
        ends.reverse()
    assert perftest.run(tool, *ends, options, timeout=60).values


@pytest.mark.alone
@pytest.mark.parametrize("server", ["verna", "rxe"])
def test_rping_with_rxe(mixed, server):
    a, b = mixed[:2] if server == "verna" else (mixed[1], mixed[0])
    listening = a.popen(f"rping -s -a {a.ip} -v -C 20 -p 7400")
    a.run("sleep 1")
    b.run(f"rping -c -a {a.ip} -V -C 20 -p 7400", timeout=60, check=True)
    listening.wait(20)


@pytest.fixture(scope="module")
def capture(mixed, repo, tmp_path_factory):
    """The last part of what the tests above put on the wire, as a file that is not written to."""
    ends = [rdma_side(end) for end in mixed[:2]]
    for tool in ("ib_send_bw", "ib_write_bw", "ib_read_bw"):
        perftest.run(tool, *ends, "-s 5000 -n 20")
    perftest.run("ib_atomic_lat", *ends, "-n 10")
    mixed[0].run("sleep 1")
    return mixed[2]


def test_tshark_decodes_the_capture(capture, repo):
    """Every RoCE frame is decoded, without an expert error."""
    frames = tshark(repo, capture, "infiniband", "infiniband.bth.opcode")
    opcodes = {int(opcode, 0) for opcode, in frames}
    assert {0x04, 0x06, 0x07, 0x08, 0x0c, 0x11, 0x12} <= opcodes
    assert tshark(repo, capture, 'infiniband && _ws.expert.severity == "Error"', "ip.src",
                  "infiniband.bth.opcode", "frame.len", "_ws.expert.message") == []


def test_scapy_agrees_on_every_icrc(capture, repo, tmp_path):
    good, bad, out = icrc_check(repo, capture, tmp_path)
    assert bad == 0 and good > 10000, out
