# SPDX-License-Identifier: GPL-2.0-or-later
"""RoCEv2 on VLANs: card to card over a link, and card to the kernel's rxe over an Ethernet wire.

Both guests have VLAN 5 on each of their two interfaces, with addresses of its own, and priority 3
in what the VLAN's netdev maps; the cards' captures show what was on the wire.
"""

from dataclasses import dataclass, replace

import pytest
from bench import perftest
from captures import icrc_check, tshark
from conftest import End, lab
from helpers import RXE_TIME, hw_counter, ping, rdma_side, reachable
from verna_vm.agent import CommandFailed

VID = 5
MAPPED = 3  # priority of the VLAN netdev: what rdma_cm makes of a type of service
CHOSEN = 6  # priority that a program asks for as its service level

TOOLS = [
    ("ib_write_bw", f"-s 65536 -n 50 {RXE_TIME}"), ("ib_read_bw", f"-s 65536 -n 50 {RXE_TIME}"),
    ("ib_send_bw", f"-s 65536 -n 50 {RXE_TIME}"), ("ib_send_bw", "-c UD -s 1024 -n 200"),
    ("ib_write_lat", f"-s 8 -n 100 --sl {CHOSEN}"), ("ib_atomic_lat", "-n 100"),
]


@dataclass
class Net:
    """Ends by what joins them; `*_base` are those without a tag."""
    link_base: tuple[End, End]
    link: tuple[End, End]
    wire: tuple[End, End]
    link_pcap: str
    wire_pcap: str


def on_vlan(ends: tuple[End, End], subnet: int, vid: int = VID) -> tuple[End, End]:
    return tuple(end.on_vlan(vid, f"10.0.{subnet}.{n}", f"fd00:{subnet}::{n}",
                             f"egress-qos-map 0:{MAPPED}") for n, end in enumerate(ends, 1))


@pytest.fixture(scope="module")
def net(request, repo, setup_paths):
    """Guest a: a card on the link and one on the wire. Guest b: a card on the link, rxe."""
    with lab(request, repo) as topology:
        a, b = topology.guest("a"), topology.guest("b")
        linked, _ = topology.link(a, b)
        wired, _ = topology.ethernet(a, b, "verna", "virtio-net-pci")
        linked.pcap, wired.pcap = (str(topology.folder / f"{name}.pcap")
                                   for name in ("link", "wire"))
        topology.start()
        link = End(a, "10.0.21.1", "fd00:21::1").configure(), \
            End(b, "10.0.21.2", "fd00:21::2").configure()
        wire = End(a, "10.0.23.1", "fd00:23::1").configure(index=1), \
            End(b, "10.0.23.2", "fd00:23::2").configure("virtio_net")
        wire[1].run(f"modprobe rdma_rxe && rdma link add rxe0 type rxe netdev {wire[1].netdev}",
                    check=True)
        wire[1].rdma = "rxe0"
        made = Net(link, on_vlan(link, 22), on_vlan(wire, 24), linked.pcap, wired.pcap)
        for pair in (made.link, made.wire):
            reachable(*pair)
        yield made


def between(net: Net, joined: str, server: int) -> tuple[End, End]:
    """Server and client of one of the two pairs."""
    ends = getattr(net, joined)
    return ends[server], ends[1 - server]


PAIRS = pytest.mark.parametrize("joined, server", [("link", 0), ("wire", 0), ("wire", 1)],
                                ids=["cards", "card-serves-rxe", "rxe-serves-card"])


def test_gids_of_the_vlan(net):
    """Each address of the VLAN's netdev is a GID that names it; those of the port are others."""
    end, base = net.link[0], net.link_base[0]
    folder = f"/sys/class/infiniband/{end.rdma}/ports/1/gid_attrs/ndevs"
    tagged = rdma_side(end).gid
    assert end.run(f"cat {folder}/{tagged}", check=True).out.strip() == end.netdev
    untagged = rdma_side(base).gid
    assert base.run(f"cat {folder}/{untagged}", check=True).out.strip() == base.netdev


def test_ping(net):
    for pair in (net.link, net.wire):
        assert ping(pair[0], pair[1].ip, 5)
        assert ping(pair[1], pair[0].ip6, 5)


def test_full_frames_fit(net):
    """The tag does not count to the MTU."""
    mtu = int(net.link[0].run(f"cat /sys/class/net/{net.link[0].netdev}/mtu", check=True).out)
    assert ping(net.link[0], net.link[1].ip, 3, f"-i 0.02 -M do -s {mtu - 28}")


@PAIRS
@pytest.mark.parametrize("tool, options", TOOLS)
def test_perftest(net, joined, server, tool, options):
    ends = map(rdma_side, between(net, joined, server))
    assert perftest.run(tool, *ends, options, timeout=60).values


@PAIRS
def test_pingpong(net, joined, server):
    a, b = (rdma_side(end) for end in between(net, joined, server))
    listening = a.guest.popen(f"ibv_rc_pingpong -d {a.device} -g {a.gid} -n 100")
    perftest.wait_listening(a.guest, 18515, listening)
    b.guest.run(f"ibv_rc_pingpong -d {b.device} -g {b.gid} -n 100 {a.address}", timeout=60,
                check=True)
    listening.wait(20).check()


@PAIRS
@pytest.mark.parametrize("family", ["ip", "ip6"])
def test_rping(net, joined, server, family):
    a, b = between(net, joined, server)
    address = getattr(a, family)
    listening = a.popen(f"rping -s -a {address} -v -C 20 -p 7500")
    a.run("sleep 1")
    b.run(f"rping -c -a {address} -V -C 20 -p 7500", timeout=60, check=True)
    listening.wait(20)


def test_same_address_on_another_vlan_is_another_host(net):
    """A QP that is connected on VLAN 5 gets nothing that has another tag or none, though the
    addresses, the QP number and the keys are right: link-local GIDs are the same on each VLAN."""
    server = link_local(net.link[0])
    for wrong in (net.link_base[1], on_vlan(net.link_base, 25, VID + 1)[1]):
        client = link_local(wrong)
        before = hw_counter(net.link[0], "rx_drop_addr")
        with pytest.raises(CommandFailed, match="Failed status 12"):  # retries exceeded
            perftest.run("ib_write_bw", server, client, "-s 64 -n 5 -u 8", timeout=60)
        assert hw_counter(net.link[0], "rx_drop_addr") > before
    good = link_local(net.link[1])
    assert perftest.run("ib_write_bw", server, good, "-s 64 -n 5", timeout=60).values


def link_local(end: End) -> perftest.Side:
    """The side that uses the link-local GID of the end's netdev; the tools' TCP is untagged."""
    base = f"/sys/class/infiniband/{end.rdma}/ports/1"
    out = end.run(f"grep -sH . {base}/gids/* {base}/gid_attrs/types/* {base}/gid_attrs/ndevs/*;"
                  ":").out
    values = dict(line.removeprefix(base).split(":", 1) for line in out.splitlines())
    for index in range(256):
        if values.get(f"/gids/{index}", "").startswith("fe80:") and \
                "v2" in values.get(f"/gid_attrs/types/{index}", "") and \
                values.get(f"/gid_attrs/ndevs/{index}") == end.netdev:
            return replace(rdma_side(end), gid=index)
    raise LookupError(f"{end.netdev} has no link-local GID: {values}")


@pytest.mark.parametrize("joined", ["link", "wire"])
def test_tags_on_the_wire(net, joined, repo):
    """Every RoCE frame between addresses of the VLAN has its tag; the priority is what a service
    level or the VLAN's map says."""
    pcap = getattr(net, f"{joined}_pcap")
    ours, theirs = (end.ip for end in getattr(net, joined))
    ends = [rdma_side(end) for end in getattr(net, joined)]
    perftest.run("ib_write_bw", *ends, f"-s 4096 -n 10 --sl {CHOSEN}")
    frames = tshark(repo, pcap, f"infiniband && ip.addr == {ours} && ip.addr == {theirs}",
                    "ip.src", "vlan.id", "vlan.priority")
    assert len(frames) > 1000
    assert {vid for _, vid, _ in frames} == {str(VID)}
    # rdma_cm's traffic, what asked for a level, and what did not; rxe leaves it to its netdev.
    assert {"0", str(MAPPED), str(CHOSEN)} <= {prio for source, _, prio in frames if source == ours}
    plain = tshark(repo, pcap, "infiniband && !vlan && (ip.src == 10.0.22.0/24 || "
                   "ip.src == 10.0.24.0/24)", "frame.number")
    assert not plain


@pytest.mark.parametrize("joined", ["link", "wire"])
def test_icrc_of_tagged_frames(net, joined, repo, tmp_path):
    good, bad, out = icrc_check(repo, getattr(net, f"{joined}_pcap"), tmp_path, most=3000)
    assert bad == 0 and good > 1000, out
