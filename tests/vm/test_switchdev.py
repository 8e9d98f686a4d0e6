# SPDX-License-Identifier: GPL-2.0-or-later
"""The switch in switchdev mode: representors, rules of tc, and software for the rest.

Guest a has a card with VFs, two of them in namespaces; guest b is on the wire.
"""

import json
import os
import time

import pytest
from bench import perftest
from helpers import bdf, carrier, ping, rdma_side, reachable, repeatedly, silent, wait_until
from switchdev import Switch, mode, mode_now, representors
from tenants import numvfs

# `make switch` takes longer.
SECONDS = int(os.environ.get("VERNA_SWITCH_SECONDS", "3"))
CHANGES = int(os.environ.get("VERNA_SWITCH_CHANGES", "10"))
# Sends `number` datagrams of `length` bytes to port 9, `gap` seconds between them.
SENDER = """\
import socket, sys, time
address, number, length, gap = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
due = time.monotonic()
for i in range(number):
    try:
        to.sendto(bytes(length), (address, 9))
    except OSError:
        pass  # the queue is full
    due += gap
    time.sleep(max(0, due - time.monotonic()))
"""


@pytest.fixture(scope="module")
def switch(machines):
    made = Switch(*machines)
    yield made
    made.end()


@pytest.fixture
def rules(switch):
    """The switch, for a test that adds rules."""
    yield switch
    switch.no_rules()


def test_modes(machines):
    """Representors are there while the mode is switchdev and the VFs are."""
    pf, peer = machines
    assert mode_now(pf) == "legacy" and not representors(pf)
    mode(pf, "switchdev", check=True)
    reachable(pf, peer)
    numvfs(pf, 3, check=True)
    assert len(representors(pf)) == 3
    mode(pf, "legacy", check=True)
    assert mode_now(pf) == "legacy" and not representors(pf)
    mode(pf, "switchdev", check=True)
    assert len(representors(pf)) == 3
    numvfs(pf, 0, check=True)
    assert not representors(pf)
    mode(pf, "legacy", check=True)
    reachable(pf, peer)


def test_a_flowtable_outlives_the_mode(machines):
    """What was bound in one mode is unbound in the other, and can be bound again."""
    pf, _ = machines
    table = ("table inet t { flowtable f { hook ingress priority 0; flags offload; "
             f"devices = {{ {pf.netdev} }}; }}; }}")
    for _ in range(2):
        mode(pf, "switchdev", check=True)
        pf.run("nft -f -", stdin=table, check=True)
        mode(pf, "legacy", check=True)
        pf.run("nft flush ruleset", check=True)
    assert not pf.run("nft -f -", stdin=table).ok, "in legacy mode"


def test_ports_tell_what_they_are(switch):
    ids = [switch.pf.run(f"cat /sys/class/net/{port}/phys_switch_id", check=True).out
           for port in switch.ports]
    names = [switch.pf.run(f"cat /sys/class/net/{port}/phys_port_name", check=True).out.strip()
             for port in switch.ports]
    assert len(set(ids)) == 1 and ids[0].strip()
    assert names == ["p0", "pf0vf0", "pf0vf1"]
    shown = json.loads(switch.pf.run("devlink -j port show", check=True).out)["port"]
    addresses = {port["function"]["hw_addr"] for port in shown.values()
                 if port["flavour"] == "pcivf"}
    assert addresses == {tenant.mac for tenant in switch.tenants}


def test_rates_by_devlink(switch):
    """They are those of ip link, in bytes a second."""
    port = f"pci/{bdf(switch.pf)}/2"

    def shown() -> dict:
        out = switch.pf.run(f"devlink -j port function rate show {port}", check=True).out
        return json.loads(out)["rate"][port]
    assert shown()["type"] == "leaf"
    words = "devlink port function rate set"
    switch.pf.run(f"{words} {port} tx_max 100mbit", check=True)
    switch.pf.run(f"{words} {port} tx_share 20mbit", check=True)
    assert (shown()["tx_share"], shown()["tx_max"]) == (2_500_000, 12_500_000)
    out = switch.pf.run(f"ip -j -d link show {switch.pf.netdev}", check=True).out
    rate = json.loads(out)[0]["vfinfo_list"][0]["rate"]
    assert rate == {"max_tx": 100, "min_tx": 20}
    refused = switch.pf.run(f"{words} {port} tx_share 200mbit")
    assert not refused.ok and "tx_share" in refused.err
    switch.pf.run(f"{words} {port} tx_share 0 && {words} {port} tx_max 0", check=True)


def test_without_rules_all_is_for_software(switch):
    """A bridge over uplink and representors joins tenants and wire."""
    pf, (one, two), peer = switch.pf, switch.tenants, switch.peer
    assert silent(one, two.ip, count=1)
    before = switch.slow_path()
    pf.run("ip link add br0 type bridge && ip link set br0 up", check=True)
    try:
        for port in switch.ports:
            pf.run(f"ip link set {port} master br0", check=True)
        for end, other in ((one, two), (one, peer), (peer, two)):
            reachable(end, other)
            assert ping(end, other.ip, count=10)
    finally:
        pf.run("ip link del br0", check=True)
    # Each ping and each answer crosses each representor of its way once.
    assert switch.slow_path() - before >= 2 * 10 * (2 + 1 + 1)


def test_software_reaches_tenants_without_a_wire(switch):
    pf, (one, two) = switch.pf, switch.tenants
    for number in range(2):
        pf.run(f"ip link set {pf.netdev} vf {number} state enable", check=True)
    pf.guest.qmp("set_link", name="card0", up=False)
    try:
        wait_until(lambda: not carrier(pf), 10, "the loss of carrier")
        pf.run("ip link add br0 type bridge && ip link set br0 up", check=True)
        for rep in switch.reps:
            pf.run(f"ip link set {rep} master br0", check=True)
        reachable(one, two)
        assert ping(one, two.ip)
    finally:
        pf.run("ip link del br0", check=True)
        pf.guest.qmp("set_link", name="card0", up=True)
        for number in range(2):
            pf.run(f"ip link set {pf.netdev} vf {number} state auto", check=True)
    wait_until(lambda: carrier(pf), 10, "carrier")


def test_rules_need_no_software(rules):
    rules.wire_everything()
    (one, two), peer = rules.tenants, rules.peer
    for end, other in ((one, two), (one, peer), (peer, two)):
        reachable(end, other)
    before = rules.quiet_slow_path()
    for end, other in ((one, two), (one, peer), (peer, two)):
        assert ping(end, other.ip)
    assert rules.slow_path() - before <= 4  # what IPv6 says now and then
    to_two = next(rule for rule in rules.counted(rules.reps[0])
                  if rule["keys"].get("dst_mac") == two.mac)
    assert to_two["in_hw"] and to_two["stats"]["hw_packets"] >= 20


def test_rdma_of_a_tenant_obeys_rules(rules):
    rules.wire_everything()
    (one, two), peer = rules.tenants, rules.peer
    for server, client in ((one, two), (peer, one)):
        reachable(server, client)
        assert perftest.run("ib_write_bw", rdma_side(server), rdma_side(client),
                            "-s 65536 -n 500").values
    rules.rule(rules.reps[0], "prio 1 protocol ip flower skip_sw ip_proto udp dst_port 4791 "
                              "action drop", check=True)
    with pytest.raises(perftest.CommandFailed):
        perftest.run("ib_write_bw", rdma_side(two), rdma_side(one), "-s 64 -n 10 -u 10")


def test_firewall(rules):
    """One address is blocked, others pass, and the card counts what it dropped."""
    rules.wire_everything()
    (one, two), peer = rules.tenants, rules.peer
    reachable(one, peer)
    rules.rule(rules.ports[0], f"prio 1 protocol ip flower skip_sw src_ip {peer.ip} "
                               f"dst_ip {two.ip} action drop", check=True)
    assert silent(peer, two.ip)
    assert ping(peer, one.ip, count=3) and ping(one, two.ip, count=3)
    dropped, = [rule for rule in rules.counted(rules.ports[0])
                if rule["keys"].get("dst_ip") == two.ip]
    assert dropped["stats"]["hw_packets"] >= 3


def test_chains_and_what_they_miss(rules):
    """Software goes on in the chain in which the card found nothing."""
    rules.wire_everything()
    one, two = rules.tenants
    reachable(one, two)
    rep = rules.reps[0]
    rules.rule(rep, f"prio 1 protocol ip flower dst_ip {two.ip} ip_proto icmp action goto chain 7",
               check=True)
    assert silent(one, two.ip, count=2)
    rules.rule(rep, "chain 7 prio 1 protocol ip flower skip_hw "
                    f"action mirred egress redirect dev {rules.reps[1]}", check=True)
    before = rules.slow_path()
    assert ping(one, two.ip, count=5)
    assert rules.slow_path() - before >= 10
    rules.rule(rep, "chain 7 prio 2 protocol ip flower skip_sw "
                    f"action mirred egress redirect dev {rules.reps[1]}", check=True)
    before = rules.slow_path()
    assert ping(one, two.ip, count=5)
    assert rules.slow_path() - before <= 2


def test_headers_are_rewritten(rules):
    """A tenant reaches the peer by another address, another port: NAT without a connection."""
    rules.wire_everything()
    one, peer = rules.tenants[0], rules.peer
    reachable(one, peer)
    other = "10.0.7.77"
    rules.rule(rules.reps[0],
               f"prio 1 protocol ip flower skip_sw dst_ip {other} "
               f"action pedit ex munge ip dst set {peer.ip} pipe csum ip and udp and tcp and icmp "
               f"pipe action mirred egress redirect dev {rules.ports[0]}", check=True)
    rules.rule(rules.ports[0],
               f"prio 1 protocol ip flower skip_sw src_ip {peer.ip} dst_ip {one.ip} "
               f"action pedit ex munge ip src set {other} pipe csum ip and udp and tcp and icmp "
               f"pipe action mirred egress redirect dev {rules.reps[0]}", check=True)
    one.run(f"ip neigh replace {other} lladdr {mac_of(peer)} dev {one.netdev}", check=True)
    assert ping(one, other, count=5)
    one.run(f"ip neigh del {other} dev {one.netdev}")


def mac_of(end) -> str:
    return end.run(f"cat /sys/class/net/{end.netdev}/address", check=True).out.strip()


def test_vlan_is_pushed_and_popped(rules):
    one, peer = rules.tenants[0], rules.peer
    tagged = peer.on_vlan(9, "10.0.9.2", "fd00:9::2")
    one.run(f"ip addr add 10.0.9.1/24 dev {one.netdev}", check=True)
    rules.rule(rules.reps[0],
               "prio 1 protocol all flower skip_sw action vlan push id 9 priority 5 pipe "
               f"action mirred egress redirect dev {rules.ports[0]}", check=True)
    rules.rule(rules.ports[0],
               "prio 1 protocol 802.1q flower skip_sw vlan_id 9 action vlan pop pipe "
               f"action mirred egress redirect dev {rules.reps[0]}", check=True)
    try:
        wait_until(lambda: one.run(f"ping -c1 -W1 {tagged.ip}").ok)
        before = rules.slow_path()
        assert ping(one, tagged.ip)
        assert rules.slow_path() - before <= 2
    finally:
        peer.run(f"ip link del {tagged.netdev}", check=True)
        one.run(f"ip addr del 10.0.9.1/24 dev {one.netdev}", check=True)


def sender(end, *words) -> str:
    end.guest.push(SENDER.encode(), "/tmp/sender.py")
    return f"python3 /tmp/sender.py {' '.join(map(str, words))}"


def arrived(end) -> int:
    """Datagrams that an end got and has no socket for."""
    return int(end.run("nstat -asz UdpNoPorts | awk '/UdpNoPorts/ {print $2}'", check=True).out)


def to_port_9(rules, actions: str) -> None:
    """Adds a rule for what the sender sends to the other tenant."""
    rules.rule(rules.reps[0], "prio 1 protocol ip flower skip_sw ip_proto udp dst_port 9 "
                              f"{actions} action mirred egress redirect dev {rules.reps[1]}",
               check=True)


def of_port_9(rules) -> dict:
    found, = [rule for rule in rules.counted(rules.reps[0])
              if rule["keys"].get("dst_port") == 9]
    return found["stats"]


def test_counters_agree(rules):
    """What was sent, what tc says of the rule, what the card says of it, and what arrived."""
    rules.wire_everything()
    one, two = rules.tenants
    reachable(one, two)
    to_port_9(rules, "")
    before = arrived(two)
    one.run(sender(one, two.ip, 500, 58, 0.0005), check=True, timeout=60)
    wait_until(lambda: arrived(two) - before == 500)
    stats = of_port_9(rules)
    assert (stats["hw_packets"], stats["hw_bytes"]) == (500, 500 * 100)


def test_a_rule_goes_under_traffic(rules):
    rules.wire_everything()
    one, two = rules.tenants
    reachable(one, two)
    sending = one.popen(sender(one, two.ip, 1_000_000, 58, 0.001))
    for _ in range(5):
        rules.rule(rules.reps[0], "prio 1 protocol ip flower skip_sw ip_proto udp dst_port 9 "
                                  "action drop", check=True)
        time.sleep(0.2)  # what was on its way
        before = arrived(two)
        time.sleep(0.3)
        assert arrived(two) == before
        rules.pf.run(f"tc filter del dev {rules.reps[0]} ingress prio 1", check=True)
        wait_until(lambda past=before: arrived(two) > past + 10)
    sending.kill(9)


def rate_of(rules, counter: str, seconds: float) -> float:
    """By how much a counter of the second tenant's vport grows in a second."""
    def sample() -> tuple[int, float]:
        out = rules.pf.run(f"cut -d' ' -f1 /proc/uptime; ethtool -S {rules.reps[1]}; "
                           "cut -d' ' -f1 /proc/uptime", check=True).out.split("\n")
        value, = [line.split(":")[1] for line in out if f"vport_{counter}:" in line]
        return int(value), (float(out[0]) + float(out[-2])) / 2
    start, since = sample()
    time.sleep(seconds)
    stop, now = sample()
    return (stop - start) / (now - since)


@pytest.mark.alone
@pytest.mark.parametrize("police, counter, rate", [
    ("rate 8mbit burst 20k", "rx_bytes", 1_000_000),
    ("pkts_rate 400 pkts_burst 20", "rx_frames", 400)], ids=["bytes", "packets"])
def test_police(rules, police, counter, rate):
    rules.wire_everything()
    one, two = rules.tenants
    reachable(one, two)
    to_port_9(rules, f"action police {police} conform-exceed drop/pipe")
    length = 1400 if counter == "rx_bytes" else 100
    sending = one.popen(sender(one, two.ip, 10_000_000, length, 1 / 1500))
    time.sleep(1)  # the burst is used up
    try:
        repeatedly(lambda: (rate_of(rules, counter, SECONDS),),
                   lambda measured: abs(measured / rate - 1) < 0.02)
    finally:
        sending.kill(9)


@pytest.mark.alone
def test_rate_of_a_vf(rules):
    rules.wire_everything()
    one, two = rules.tenants
    reachable(one, two)
    to_port_9(rules, "")
    rules.pf.run(f"ip link set {rules.pf.netdev} vf 0 max_tx_rate 8", check=True)
    sending = one.popen(sender(one, two.ip, 10_000_000, 1400, 1 / 1500))
    time.sleep(1)
    try:
        repeatedly(lambda: (rate_of(rules, "rx_bytes", SECONDS),),
                   lambda measured: abs(measured / 1_000_000 - 1) < 0.02)
    finally:
        sending.kill(9)
        rules.pf.run(f"ip link set {rules.pf.netdev} vf 0 max_tx_rate 0", check=True)


def test_what_the_card_cannot_is_named(rules):
    for words, named in (
            ("flower skip_sw dst_mac 02:00:00:00:00:01 action skbedit priority 3", "action"),
            ("flower skip_sw action mirred egress redirect dev lo", "not of this card"),
            ("flower skip_sw action goto chain 0", "goto"),
            ("flower skip_sw action pedit ex munge ip protocol set 7 pipe action mirred egress "
             f"redirect dev {rules.reps[1]}", "pedit")):
        done = rules.rule(rules.reps[0], f"protocol ip prio 1 {words}")
        assert not done.ok and named in done.err, done.err


def test_rules_survive_a_reset(rules):
    rules.wire_everything()
    one, two = rules.tenants
    reachable(one, two)
    rules.pf.run(f"echo 1 > /sys/bus/pci/devices/{bdf(rules.pf)}/reset", timeout=60, check=True)
    for tenant in rules.tenants:
        wait_until(lambda end=tenant: end.run(
            f"cat /sys/class/net/{end.netdev}/carrier").out.strip() == "1")
    reachable(one, two)
    before = rules.quiet_slow_path()
    assert ping(one, two.ip)
    assert rules.slow_path() - before <= 4


def test_the_mode_stays_while_the_uplink_has_rules(rules):
    rules.rule(rules.ports[0], "prio 1 protocol ip flower skip_sw action drop", check=True)
    done = mode(rules.pf, "legacy")
    assert not done.ok and "rules" in done.err
    assert mode_now(rules.pf) == "switchdev"
    rules.reps = representors(rules.pf)
    for rep in rules.reps:
        rules.pf.run(f"ip link set {rep} up; tc qdisc replace dev {rep} clsact", check=True)
    rules.ports = [rules.pf.netdev, *rules.reps]


def test_modes_under_traffic(machines, switch):
    """Last: again and again there and back while tenants send."""
    pf = switch.pf
    for port in switch.ports:
        pf.run(f"tc qdisc del dev {port} clsact")
    traffic = switch.tenants[0].popen(f"ping -q -i 0.01 {switch.tenants[1].ip}")
    for _ in range(CHANGES):
        mode(pf, "legacy", check=True)
        mode(pf, "switchdev", check=True)
    traffic.stop()
    mode(pf, "legacy", check=True)
    reachable(*switch.tenants)
    mode(pf, "switchdev", check=True)
