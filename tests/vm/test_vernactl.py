# SPDX-License-Identifier: GPL-2.0-or-later
"""vernactl against running cards: what it says is what the driver, ethtool and rdma say."""

import contextlib
import json
import re
import socket
import struct

import pytest
from bench import perftest
from helpers import carrier, ethtool_stats, ping, rdma_side, wait_until
from verna_vm import CommandFailed

PORT = 18950
WRITE_ONLY = 0x0a  # the opcode of an RC RDMA WRITE of one packet
PING_BYTES = 1234
PING_FRAME = PING_BYTES + 8 + 20 + 14  # ICMP, IPv4 and Ethernet headers


def ask(end, *words: str) -> dict:
    """The answer of an end's card."""
    return json.loads(end.guest.vernactl(end.guest.devices[0], *words))


def trace(end) -> list[dict]:
    lines = end.guest.vernactl(end.guest.devices[0], "trace", "show").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def sides(two_guests):
    return tuple(map(rdma_side, two_guests))


@pytest.fixture
def writing(two_guests, sides):
    """RDMA writes from b to a while the test runs."""
    a, b = two_guests
    command = f"ib_write_bw -d {{0.device}} -x {{0.gid}} -F -D 120 -q 2 -s 65536 -p {PORT}"
    server = a.popen(command.format(sides[0]))
    perftest.wait_listening(a.guest, PORT, server)
    client = b.popen(f"{command.format(sides[1])} {a.ip}")
    yield
    for process in (client, server):
        process.kill(9)
        process.wait(20)


@pytest.fixture
def tracing(two_guests):
    for end in two_guests:
        assert ask(end, "trace", "on") == {"trace": True}
    yield
    for end in two_guests:
        assert ask(end, "trace", "off") == {"trace": False}


def test_registers_are_those_of_the_driver(two_guests, repo):
    """ethtool -d reads the register BAR through the driver."""
    a = two_guests[0]
    regs = ask(a, "regs")
    assert bytes.fromhex(regs["MAGIC"][2:])[::-1] == b"VRNA"
    a.run(f"ethtool -d {a.netdev} raw on > /tmp/dump", check=True)
    dump = dict(struct.iter_unpack("<II", a.guest.pull("/tmp/dump")))
    header = (repo / "kernel/include/hw/verna_regs.h").read_text()
    compared = 0
    for name, offset in re.findall(r"^#define VERNA_REG_(\w+)\s+(0x\w+)", header, re.M):
        if name in regs and int(offset, 16) in dump and name != "HEARTBEAT":
            assert dump[int(offset, 16)] == int(regs[name], 16), name
            compared += 1
    assert compared >= 12
    mac = a.run(f"cat /sys/class/net/{a.netdev}/address", check=True).out.strip()
    low, high = (int(regs[name], 16) for name in ("MAC_LO", "MAC_HI"))
    assert (high << 32 | low).to_bytes(8, "little")[:6].hex(":") == mac


def test_capabilities(two_guests):
    a = two_guests[0]
    caps = ask(a, "caps")
    devinfo = a.run(f"ibv_devinfo -v -d {a.rdma}", check=True).out
    guid = caps["rdma"]["node_guid"]
    assert ":".join(guid[i:i + 4] for i in range(0, 16, 4)) in devinfo
    link = a.run(f"ip -d link show {a.netdev}", check=True).out
    assert f"minmtu {caps['eth']['min_mtu']} maxmtu {caps['eth']['max_mtu']}" in link


def test_queues_count_what_was_sent(two_guests):
    a, b = two_guests

    def packets(kind: str) -> int:
        return sum(queue["packets"] for queue in ask(a, "queues")[kind])

    before = packets("txqs"), packets("rxqs")
    assert ping(a, b.ip, 10)
    assert packets("txqs") >= before[0] + 10 and packets("rxqs") >= before[1] + 10
    assert not any(queue["stopped"] for queue in ask(a, "queues")["txqs"])


def test_link_state(two_guests):
    a = two_guests[0]
    assert ask(a, "state")["link_up"]
    a.guest.qmp("set_link", name=a.guest.devices[0].ident, up=False)
    assert not ask(a, "state")["link_up"]
    a.guest.qmp("set_link", name=a.guest.devices[0].ident, up=True)
    wait_until(lambda: ask(a, "state")["link_up"] and all(map(carrier, two_guests)), 10, "carrier")


def test_gids(two_guests):
    a = two_guests[0]
    folder = f"/sys/class/infiniband/{a.rdma}/ports/1/gids"
    kernel = set(a.run(f"cat {folder}/*; :").out.split())
    card = {row["gid"] for row in ask(a, "gids")["gids"]}
    assert len(card) >= 2 and card <= kernel


def test_qps_and_mrs_under_traffic(two_guests, writing):
    """Both QPs of the run are there, point at each other, and move. The passive end of a write
    stays in RTR."""
    def active(end, state: str) -> dict[int, dict]:
        return {qp["qpn"]: qp for qp in ask(end, "qps")["qps"]
                if qp["type"] == "RC" and qp["state"] == state}

    a, b = two_guests
    wait_until(lambda: len(active(a, "RTR")) == len(active(b, "RTS")) == 2, 30, "two QPs each")
    mine, theirs = active(a, "RTR"), active(b, "RTS")
    assert {qp["dest_qpn"] for qp in mine.values()} == set(theirs)
    assert {qp["dest_qpn"] for qp in theirs.values()} == set(mine)
    shown = a.run(f"rdma resource show qp link {a.rdma}", check=True).out
    assert all(f"lqpn {qpn} " in shown for qpn in mine), shown
    wait_until(lambda: all(qp["next_psn"] != theirs[qpn]["next_psn"]
                           for qpn, qp in active(b, "RTS").items()), 20, "new PSNs")
    regions = [mr for mr in ask(a, "mrs")["mrs"] if not mr["dma"]]
    assert any(mr["length"] >= 2 * 65536 and mr["pages"] for mr in regions), regions


def test_qps_and_mrs_go_with_their_process(two_guests):
    for end in two_guests:
        assert {qp["type"] for qp in ask(end, "qps")["qps"]} == {"GSI"}
        assert all(mr["dma"] for mr in ask(end, "mrs")["mrs"])


def test_counters_are_those_of_ethtool(two_guests, sides):
    """All that the driver reads of the card is what the card says itself."""
    a = two_guests[0]
    perftest.run("ib_send_bw", *sides, "-s 4096 -n 100")
    before, stats, after = ask(a, "counters"), ethtool_stats(a), ask(a, "counters")
    names = [(group, name) for group in ("port", "eth", "rdma", "dev") for name in before[group]]
    assert len(names) > 50
    for group, name in names:
        low, high = before[group][name], after[group][name]
        assert low <= stats[f"{group}_{name}"] <= high, (group, name)
    assert before["rdma"]["recv_msgs"] >= 100
    nonzero = ask(a, "counters", "--nonzero")
    assert nonzero["rdma"]["recv_msgs"] and "rx_drop_icrc" not in nonzero["rdma"]


def stages(records: list[dict], stage: str, **values) -> list[str]:
    """The stages, in order, that the packet went through which has such a record."""
    number, = {r["packet"] for r in records if r["stage"] == stage and
               all(r[key] == value for key, value in values.items())}
    return [r["stage"] for r in records if r["packet"] == number]


def in_order(wanted: list[str], found: list[str]) -> bool:
    rest = iter(found)
    return all(stage in rest for stage in wanted)


def follows(pair, number: int) -> bool:
    """An echo request goes out of card a and into card b, and its answer the other way, with an
    interrupt each; `number` makes its size its own."""
    a, b = pair
    assert ping(a, b.ip, 1, f"-s {PING_BYTES + number}")
    out = ["tx_fetch", "tx_send", "wire_out", "complete", "interrupt"]
    into = ["wire_in", "steer_eth", "rx_deliver", "complete", "interrupt"]
    found = True
    for end in pair:
        records = trace(end)
        assert [r["number"] for r in records] == list(range(len(records)))
        times = [r["time"] for r in records]
        assert times == sorted(times)
        found &= in_order(out, stages(records, "wire_out", a=PING_FRAME + number))
        found &= in_order(into, stages(records, "wire_in", a=PING_FRAME + number))
    return found


def test_trace_follows_a_packet(two_guests, tracing):
    """The host may be busy with an interrupt already, or poll, and then there is none."""
    assert any(follows(two_guests, number) for number in range(5))


def test_trace_follows_an_rdma_write(two_guests, sides, tracing):
    a, b = two_guests
    perftest.run("ib_write_bw", *sides, "-s 333 -n 5")
    sent, received = trace(b), trace(a)
    writes = [r["packet"] for r in sent if r["stage"] == "tx_send" and r["b"] >> 56 == WRITE_ONLY]
    first = [r["stage"] for r in sent if r["packet"] == writes[0]]
    assert in_order(["tx_fetch", "tx_send", "wire_out"], first), first
    placed = [r["packet"] for r in received if r["stage"] == "rdma_execute" and r["b"] == 333]
    assert len(placed) == 5
    for packet in placed:
        found = [r["stage"] for r in received if r["packet"] == packet]
        assert in_order(["wire_in", "rdma_in", "rdma_execute"], found), found


def test_trace_off_says_so(two_guests):
    with pytest.raises(CommandFailed, match="status 1: vernactl: the card says: trace is off"):
        trace(two_guests[0])


def test_unknown_command(two_guests):
    a = two_guests[0]
    with pytest.raises(CommandFailed, match="status 2: vernactl: unknown command 'nonsense'"):
        ask(a, "nonsense")


def raw(path: str, request: bytes) -> dict:
    """What the card itself answers to a line."""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(10)
        stream.connect(path)
        stream.sendall(request + b"\n")
        return json.loads(stream.makefile().readline())


def test_hostile_requests(two_guests):
    """The card answers what it does not know with an error, hangs up on what is too long, and
    serves others meanwhile."""
    a, b = two_guests
    path = a.guest.devices[0].ctl
    for request in (b"", b"nonsense", b"trace follow -1", b"\xff\x00{", b"regs "):
        answer = raw(path, request)
        assert answer["error"] and "regs" in answer["requests"], answer
    with pytest.raises((ConnectionError, json.JSONDecodeError)):
        raw(path, b"x" * 10000)
    idle = [socket.socket(socket.AF_UNIX) for _ in range(20)]
    for stream in idle:
        stream.settimeout(10)
        with contextlib.suppress(BlockingIOError, BrokenPipeError):  # more than it has room for
            stream.connect(path)
            stream.sendall(b"reg")
    for stream in idle:
        stream.close()
    assert ask(a, "state")["link_up"] and ping(b, a.ip, 5)


def test_no_card_at_the_socket(two_guests, tmp_path):
    a = two_guests[0]
    card = type(a.guest.devices[0])(ctl=str(tmp_path / "nobody"))
    with pytest.raises(CommandFailed, match="status 1: .*no such socket"):
        a.guest.vernactl(card, "regs")
