# SPDX-License-Identifier: GPL-2.0-or-later
"""Receive steering: RSS contexts, ethtool -N and accelerated RFS, by where packets come out."""

import json
import re
import time

import pytest
from helpers import ethtool_stats, ping, reachable, silent, wait_until

PACKETS = 40
# Sends PACKETS datagrams from each of the given ports to one port.
SENDER = """
import socket, sys
ip, dport, count, sports = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
family = socket.AF_INET6 if ":" in ip else socket.AF_INET
socks = []
for sport in sports:
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("", int(sport)))
    socks.append(s)
for i in range(count):
    for s in socks:
        s.sendto(b"%d %d" % (s.getsockname()[1], i), (ip, dport))
"""
# Receives the datagrams of 16 senders until none comes for two seconds, each by a socket of its
# own, which knows on which processor the last one came: count, whether in order, processors.
RECEIVER = """
import json, select, socket, sys
socks = {}
for port in range(6000, 6016):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    s.bind(("", 7777))
    s.connect((sys.argv[1], port))
    socks[s] = port
last, ordered, cpus, count, wait = {}, True, {p: set() for p in socks.values()}, 0, 30
while ready := select.select(list(socks), [], [], wait)[0]:
    wait = 2
    for s in ready:
        port, number = map(int, s.recv(100).split())
        count += 1
        ordered &= number > last.get(port, -1) and port == socks[s]
        last[port] = number
        cpus[port].add(s.getsockopt(socket.SOL_SOCKET, socket.SO_INCOMING_CPU))
print(json.dumps([count, ordered, {p: sorted(c) for p, c in cpus.items()}]))
"""


# Spreads the ports below evenly. Of random keys one in seven has 32 ports on four of eight queues.
KEY = ":".join(f"{i:02x}" for i in range(1, 53))


@pytest.fixture(scope="module")
def pair(uneven_guests):
    for end, peer in (uneven_guests, uneven_guests[::-1]):
        reachable(end, peer)
        end.guest.push(SENDER.encode(), "/tmp/send.py")
        end.guest.push(RECEIVER.encode(), "/tmp/receive.py")
    a, _ = uneven_guests
    a.run(f"ethtool -X {a.netdev} hkey {KEY}", check=True)
    return uneven_guests


@pytest.fixture
def queues(pair):
    """Eight channels, all RSS to queue 0; afterwards nothing is left of what a test did."""
    a, _ = pair
    a.run(f"ethtool -L {a.netdev} combined 8 && ethtool -X {a.netdev} equal 1", check=True)
    yield pair
    for line in a.run(f"ethtool -n {a.netdev}").out.splitlines():
        if found := re.match(r"Filter: (\d+)", line):
            a.run(f"ethtool -N {a.netdev} delete {found[1]}", check=True)
    for context in range(1, 8):
        a.run(f"ethtool -X {a.netdev} context {context} delete")
    a.run(f"ethtool -X {a.netdev} default; ethtool -L {a.netdev} combined 2", check=True)


def rx_counts(end) -> list[int]:
    """Packets of each RX queue, as the card counts them."""
    stats = ethtool_stats(end)
    numbers = sorted(int(m[1]) for m in (re.match(r"rxq(\d+)_packets$", n) for n in stats) if m)
    return [stats[f"rxq{number}_packets"] for number in numbers]


def send(pair, dport: int = 5000, sports=(6000,), family: int = 4, count: int = PACKETS):
    """Datagrams from b to a; how many each of a's queues got."""
    a, b = pair
    before = rx_counts(a)
    address = a.ip if family == 4 else a.ip6
    b.run(f"python3 /tmp/send.py {address} {dport} {count} {' '.join(map(str, sports))}",
          check=True)
    time.sleep(0.3)
    return [after - old for after, old in zip(rx_counts(a), before)]


def add_rule(end, text: str) -> int:
    """Adds a rule; its number."""
    out = end.run(f"ethtool -N {end.netdev} {text}", check=True).out
    found = re.search(r"ID (\d+)", out)
    return int(found[1]) if found else -1


def flow_dump(end) -> dict:
    return json.loads(end.guest.vernactl(end.guest.devices[0], "flow"))


def test_any_subset_of_the_tuple(queues):
    a, b = queues
    assert send(queues)[0] >= PACKETS
    for family, address, source in ((4, a.ip, b.ip), (6, a.ip6, b.ip6)):
        fields = ("dst-port 5000", "src-port 6000", f"src-ip {source}", f"dst-ip {address}",
                  f"src-ip {source} dst-ip {address}",
                  f"src-ip {source} dst-ip {address} src-port 6000 dst-port 5000")
        for queue, match in enumerate(fields, 1):
            number = add_rule(a, f"flow-type udp{family} {match} action {queue}")
            assert number >= 0, "no number"
            assert send(queues, family=family)[queue] >= PACKETS, match
            assert send(queues, family=10 - family)[queue] == 0, f"{match}: the other family"
            a.run(f"ethtool -N {a.netdev} delete {number}", check=True)


def test_ethernet_rules(queues):
    a, b = queues
    mac = b.run(f"cat /sys/class/net/{b.netdev}/address", check=True).out.strip()
    own = a.run(f"cat /sys/class/net/{a.netdev}/address", check=True).out.strip()
    add_rule(a, f"flow-type ether src {mac} proto 0x0800 action 5 loc 9")
    assert send(queues)[5] >= PACKETS
    add_rule(a, f"flow-type udp4 dst-port 5000 dst-mac {own} action 6 loc 3")
    assert send(queues)[6] >= PACKETS
    add_rule(a, "flow-type ip4 l4proto 17 action 7 loc 1")
    assert send(queues)[7] >= PACKETS
    add_rule(a, "flow-type udp4 dst-port 5000 vlan 5 m 0xf000 action 4 loc 0")
    assert send(queues)[7] >= PACKETS, "the packets have no tag"


def test_the_lowest_location_goes_first_and_is_replaced(queues):
    a, _ = queues
    add_rule(a, "flow-type udp4 dst-port 5000 action 2 loc 20")
    add_rule(a, "flow-type udp4 action 3 loc 10")
    assert send(queues)[3] >= PACKETS
    add_rule(a, "flow-type udp4 dst-port 5001 action 3 loc 10")
    assert send(queues)[2] >= PACKETS
    number = add_rule(a, "flow-type udp4 dst-port 5000 action 4")
    assert number == 20, "the same match takes the place of the old rule"
    assert send(queues)[4] >= PACKETS
    assert "Total 2 rules" in a.run(f"ethtool -n {a.netdev}", check=True).out


def test_drop(queues):
    a, _ = queues
    before = ethtool_stats(a)["eth_rx_drop_rule"]
    add_rule(a, "flow-type udp4 dst-port 5000 action -1")
    assert sum(send(queues)) < PACKETS
    assert ethtool_stats(a)["eth_rx_drop_rule"] == before + PACKETS
    rule, = flow_dump(a)["rules"]
    assert rule["packets"] == PACKETS and rule["action"] == "drop", rule
    assert "dport=5000" in rule["match"]


def test_contexts(queues):
    a, _ = queues
    ports = range(6000, 6032)
    a.run(f"ethtool -X {a.netdev} context new start 4 equal 2", check=True)
    add_rule(a, "flow-type udp4 dst-port 5000 context 1")
    counts = send(queues, sports=ports, count=4)
    assert counts[4] > 20 and counts[5] > 20 and counts[4] + counts[5] >= 128, counts
    assert not a.run(f"ethtool -X {a.netdev} context 1 delete").ok, "a rule uses it"
    add_rule(a, "flow-type udp4 dst-port 5000 context 1 action 2")
    counts = send(queues, sports=ports, count=4)
    assert counts[6] > 20 and counts[7] > 20 and counts[4] + counts[5] == 0, counts
    assert not a.run(f"ethtool -L {a.netdev} combined 7").ok, "queue 7 is used"
    contexts = json.loads(a.guest.vernactl(a.guest.devices[0], "rss"))["rss"]
    assert [c["context"] for c in contexts] == [0, 1] and contexts[1]["users"] == 1


def test_hash_fields_key_and_symmetry(queues):
    a, _ = queues
    dev = a.netdev
    ports = range(6000, 6032)
    a.run(f"ethtool -X {dev} equal 8 hkey {KEY}", check=True)
    assert KEY in a.run(f"ethtool -x {dev}", check=True).out
    assert min(send(queues, sports=ports, count=4)) >= 16
    a.run(f"ethtool -N {dev} rx-flow-hash udp4 sd", check=True)
    assert sum(1 for n in send(queues, sports=ports, count=4) if n > 100) == 1
    assert "IP SA" in a.run(f"ethtool -n {dev} rx-flow-hash udp4", check=True).out
    a.run(f"ethtool -N {dev} rx-flow-hash udp4 sdfn", check=True)
    assert not a.run(f"ethtool -N {dev} rx-flow-hash tcp4 m").ok, "MAC addresses are not hashed"


def test_nonsense_is_refused(queues):
    a, _ = queues
    for text in ("flow-type udp4 dst-port 1 action 8", "flow-type udp4 dst-port 1 context 3",
                 "flow-type udp4 dst-port 1 action 1 loc 8192", "flow-type ah4 spi 5 action 1",
                 "flow-type udp4 dst-port 1 user-def 5 action 1",
                 "flow-type udp4 dst-port 1 vf 1 queue 1"):
        assert not a.run(f"ethtool -N {a.netdev} {text}").ok, text
    assert not a.run(f"ethtool -N {a.netdev} delete 5").ok
    assert flow_dump(a)["rules"] == []


def test_rules_survive_down_up_and_a_reset(queues):
    a, b = queues
    dev = a.netdev
    a.run(f"ethtool -X {dev} context new start 4 equal 2", check=True)
    add_rule(a, "flow-type udp4 dst-port 5000 action 3")
    add_rule(a, "flow-type udp4 dst-port 5001 context 1")
    a.run(f"ip link set {dev} down && ip link set {dev} up", check=True)
    reachable(b, a)
    assert send(queues)[3] >= PACKETS
    slot = a.run(f"basename $(readlink /sys/class/net/{dev}/device)", check=True).out.strip()
    a.run(f"echo 1 > /sys/bus/pci/devices/{slot}/reset", timeout=60, check=True)
    wait_until(lambda: a.run(f"cat /sys/class/net/{dev}/carrier").out.strip() == "1", 30)
    reachable(b, a)
    assert send(queues)[3] >= PACKETS
    assert sum(send(queues, dport=5001)[4:6]) >= PACKETS
    assert len(flow_dump(a)["rules"]) == 2
    a.run(f"ethtool -K {dev} ntuple off", check=True)
    assert flow_dump(a)["rules"] == []
    assert not a.run(f"ethtool -N {dev} flow-type udp4 dst-port 5000 action 3").ok
    a.run(f"ethtool -K {dev} ntuple on", check=True)


def test_a_flow_stays_in_order_on_one_cpu(pair):
    a, b = pair
    a.run(f"ethtool -L {a.netdev} combined 2", check=True)
    ports = " ".join(map(str, range(6000, 6016)))
    # A vector moves to the CPU it was given when it is raised for the first time (irq_move_irq).
    b.run(f"python3 /tmp/send.py {a.ip} 7778 20 {ports}", check=True)
    receiver = a.popen(f"python3 /tmp/receive.py {b.ip}")
    wait_until(lambda: a.run("[ $(ss -uan | grep -c :7777) -ge 16 ]").ok, 20, "the receiver")
    b.run(f"python3 /tmp/send.py {a.ip} 7777 200 {ports}", check=True)
    count, ordered, cpus = json.loads(receiver.wait(40).out.splitlines()[-1])
    assert count >= 16 * 150 and ordered
    assert all(len(seen) == 1 for seen in cpus.values()), cpus
    assert len({seen[0] for seen in cpus.values()}) == 2, "all flows are on one processor"


def test_accelerated_rfs(pair):
    """A reader on CPU 1 draws its flow away from queue 0, and the rule goes when it is idle."""
    a, b = pair
    dev = a.netdev
    a.run(f"ethtool -L {dev} combined 2 && ethtool -X {dev} equal 1 && "
          "echo 1024 > /proc/sys/net/core/rps_sock_flow_entries && "
          f"for q in /sys/class/net/{dev}/queues/rx-*; do echo 256 > $q/rps_flow_cnt; done",
          check=True)
    server = a.popen("taskset -c 1 iperf3 -s -1 -p 5201")
    wait_until(lambda: a.run("ss -tln | grep -q :5201").ok, 20, "iperf3")
    client = b.popen(f"iperf3 -c {a.ip} -p 5201 -t 6 -l 1400 -b 20M")
    rules = wait_until(lambda: [r for r in flow_dump(a)["rules"] if r["priority"] == 131072], 15,
                       "a rule of RFS")
    assert any("dport=5201" in rule["match"] for rule in rules)
    assert client.wait(30).ok
    server.wait(20)
    # A stack that forgets its flows wants no rules; a flow is over by time only under traffic.
    a.run("echo 0 > /proc/sys/net/core/rps_sock_flow_entries; "
          f"for q in /sys/class/net/{dev}/queues/rx-*; do echo 0 > $q/rps_flow_cnt; done",
          check=True)
    wait_until(lambda: not flow_dump(a)["rules"], 30, "the end of the rule")
    a.run(f"ethtool -X {dev} default", check=True)


def test_rules_of_tc_keep_packets_away(queues):
    """flower and matchall on what an interface receives: before the rules of ethtool -N, by the
    card alone; what passes goes where it would have gone."""
    a, b = queues
    dev = a.netdev
    rule = f"tc filter add dev {dev} ingress protocol ip"
    a.run(f"ethtool -K {dev} hw-tc-offload on && tc qdisc add dev {dev} clsact && "
          f"ethtool -N {dev} flow-type udp4 dst-port 9 action 5", check=True)
    try:
        a.run(f"{rule} prio 1 flower skip_sw ip_proto udp src_port 7 action pass && "
              f"{rule} prio 2 flower skip_sw ip_proto icmp src_ip {b.ip} action drop", check=True)
        assert silent(b, a.ip)
        out = a.run(f"tc -j -s filter show dev {dev} ingress prio 2", check=True).out
        stats = next(row["options"] for row in json.loads(out) if "actions" in
                     row.get("options", {}))["actions"][0]["stats"]
        assert stats["hw_packets"] == stats["packets"] == 3
        assert not a.run(f"ethtool -K {dev} hw-tc-offload off").ok
        for words, named in (("chain 3 flower skip_sw action drop", "chains"),
                             (f"flower skip_sw action mirred egress redirect dev {dev}",
                              "switchdev")):
            done = a.run(f"{rule} prio 3 {words}")
            assert not done.ok and named in done.err, done.err
        a.run(f"tc filter del dev {dev} ingress prio 2 && "
              f"{rule} prio 4 matchall skip_sw action drop", check=True)
        assert silent(b, a.ip)
    finally:
        # A refused wish stays one until another is made.
        a.run(f"tc qdisc del dev {dev} clsact; ethtool -K {dev} hw-tc-offload on; "
              f"ethtool -K {dev} hw-tc-offload off", check=True)
    assert ping(b, a.ip, count=3)


def xps_masks(end, queues) -> list[int]:
    folder = f"/sys/class/net/{end.netdev}/queues"
    return [int(end.run(f"cat {folder}/tx-{q}/xps_cpus", check=True).out, 16) for q in queues]


def test_transmit_queues_have_their_processors(pair):
    """By themselves the CPU of their interrupt; what the administrator sets stays."""
    a, _ = pair
    dev = a.netdev
    a.run(f"ethtool -L {dev} combined 2")
    assert sorted(xps_masks(a, (0, 1))) == [1, 2]
    default = xps_masks(a, [1])
    a.run(f"for q in 0 1; do echo 3 > /sys/class/net/{dev}/queues/tx-$q/xps_cpus; done", check=True)
    a.run(f"ip link set {dev} down && ip link set {dev} up && ethtool -G {dev} rx 256", check=True)
    assert xps_masks(a, (0, 1)) == [3, 3]
    a.run(f"ethtool -L {dev} combined 1 && ethtool -L {dev} combined 2 && ethtool -G {dev} rx 2048",
          check=True)
    assert xps_masks(a, (0, 1)) == [3, *default]
    a.run(f"echo {2 // default[0]} > /sys/class/net/{dev}/queues/tx-0/xps_cpus", check=True)
