# SPDX-License-Identifier: GPL-2.0-or-later
"""Who programs the switch besides tc: flowtables of nftables, and Open vSwitch.

Guest a has a card with VFs, two of them in namespaces; guest b is on the wire.
"""

import json
import re

import pytest
from bench import perftest
from helpers import ping, reachable, silent, wait_until
from switchdev import Switch

# The tenants are on subnets of their own, the host is their router and hides them from the wire.
ROUTER = """\
table inet router {{
    flowtable fast {{
        hook ingress priority 0
        devices = {{ {devices} }}
        flags offload
    }}
    chain forward {{
        type filter hook forward priority 0; policy drop
        ip protocol {{ tcp, udp }} ct state established flow add @fast
        ct state established,related accept
        iifname {{ {inside} }} ip daddr != {blocked} accept
    }}
    chain post {{
        type nat hook postrouting priority 100
        oifname {outside} masquerade
    }}
}}
"""


@pytest.fixture(scope="module")
def switch(machines):
    made = Switch(*machines)
    yield made
    made.end()


class Router:
    """The host routes between the tenants and the wire; netfilter has a flowtable in the card."""

    def __init__(self, switch: Switch):
        self.switch, self.pf, self.peer = switch, switch.pf, switch.peer
        for number, (tenant, rep) in enumerate(zip(switch.tenants, switch.reps)):
            net = f"10.{50 + number}.0"
            tenant.run(f"ip addr flush dev {tenant.netdev} && "
                       f"ip addr add {net}.2/24 dev {tenant.netdev} && "
                       f"ip route add default via {net}.1", check=True)
            tenant.ip = f"{net}.2"
            self.pf.run(f"ip addr add {net}.1/24 dev {rep}", check=True)
        self.pf.run("sysctl -qw net.ipv4.ip_forward=1", check=True)
        self.blocked = "10.0.7.99"
        self.peer.run(f"ip addr add {self.blocked}/24 dev {self.peer.netdev}", check=True)

    def start(self) -> None:
        rules = ROUTER.format(devices=", ".join(self.switch.ports), outside=self.pf.netdev,
                              inside=", ".join(self.switch.reps), blocked=self.blocked)
        self.pf.run("nft -f -", stdin=rules, check=True)

    def stop(self) -> None:
        self.pf.run("nft flush ruleset; sysctl -qw net.ipv4.ip_forward=0")
        for rep in self.switch.reps:
            self.pf.run(f"ip addr flush dev {rep}")
        self.peer.run(f"ip addr del {self.blocked}/24 dev {self.peer.netdev}")

    def connections(self) -> list[str]:
        return self.pf.run("cat /proc/net/nf_conntrack").out.splitlines()

    def in_card(self, protocol: str) -> bool:
        return any(f" {protocol} " in line and "[HW_OFFLOAD]" in line
                   for line in self.connections())


@pytest.fixture(scope="module")
def router(switch):
    made = Router(switch)
    made.start()
    yield made
    made.stop()


def tcp(server, client, seconds: float, address: str = ""):
    """iperf3 from client to server, as (process of the client, of the server)."""
    listening = server.popen("iperf3 -s -1")
    perftest.wait_listening(server, 5201, listening)
    return client.popen(f"iperf3 -c {address or server.ip} -t {seconds} -i 0 -J"), listening


def test_an_established_connection_needs_no_software(router):
    """With NAT: the peer sees the router's address. New and ended connections are software's."""
    one, peer = router.switch.tenants[0], router.peer
    reachable(one, peer)
    client, server = tcp(peer, one, 6)
    wait_until(lambda: router.in_card("tcp"), 5, "a connection in the card")
    seen = peer.run("ss -Htn state established sport = 5201", check=True).out
    before = router.switch.slow_path()
    router.pf.run("sleep 2")
    through_software = router.switch.slow_path() - before
    done = client.wait(30).check()
    server.wait(10)
    received = json.loads(done.out)["end"]["sum_received"]["bytes"]
    assert router.pf.ip in seen and one.ip not in seen
    assert received > 10_000_000 and through_software < 200, (received, through_software)
    wait_until(lambda: not router.in_card("tcp"), 60, "the end of the connection in the card")


def test_tenants_reach_each_other_through_the_card(router):
    one, two = router.switch.tenants
    reachable(one, two)
    client, server = tcp(two, one, 4)
    wait_until(lambda: router.in_card("tcp"), 5, "a connection in the card")
    before = router.switch.slow_path()
    router.pf.run("sleep 1")
    assert router.switch.slow_path() - before < 200
    client.wait(30).check()
    server.wait(10)


def test_the_firewall_stands_before(router):
    one = router.switch.tenants[0]
    assert silent(one, router.blocked, count=2)
    assert not one.run(f"timeout 2 bash -c '</dev/tcp/{router.blocked}/5201'").ok
    # Nobody comes in from the wire without having been asked.
    router.peer.run(f"ip route add 10.50.0.0/24 via {router.pf.ip}", check=True)
    assert silent(router.peer, one.ip, count=2)
    router.peer.run("ip route del 10.50.0.0/24", check=True)


OVS = """\
mkdir -p /run/openvswitch /var/log/openvswitch /etc/openvswitch
/usr/share/openvswitch/scripts/ovs-ctl start --system-id=random --no-ovs-vswitchd >/dev/null
ovs-vsctl --no-wait set Open_vSwitch . other_config:hw-offload=true other_config:tc-policy=skip_sw
/usr/share/openvswitch/scripts/ovs-ctl start --system-id=random --no-ovsdb-server >/dev/null
"""


class OpenVswitch:
    """A bridge of Open vSwitch over uplink and representors."""

    def __init__(self, switch: Switch):
        self.switch, self.pf = switch, switch.pf
        for number, tenant in enumerate(switch.tenants):
            tenant.ip = f"10.0.7.{11 + number}"
            tenant.run(f"ip addr flush dev {tenant.netdev} && "
                       f"ip addr add {tenant.ip}/24 dev {tenant.netdev}", check=True)
        for port in switch.ports:
            self.pf.run(f"tc qdisc del dev {port} clsact", check=True)
        self.pf.run(OVS, timeout=120, check=True)
        self.pf.run("ovs-vsctl add-br br0 && " + " && ".join(
            f"ovs-vsctl add-port br0 {port}" for port in switch.ports), check=True)

    def stop(self) -> None:
        self.pf.run("ovs-vsctl del-br br0; "
                    "/usr/share/openvswitch/scripts/ovs-ctl stop >/dev/null", timeout=60)
        for port in self.switch.ports:
            self.pf.run(f"tc qdisc del dev {port} ingress; tc qdisc add dev {port} clsact",
                        check=True)

    def flows(self, kind: str) -> list[str]:
        """Those of the datapath that are in the card (offloaded), or in software (ovs)."""
        return self.pf.run(f"ovs-appctl dpctl/dump-flows type={kind}", check=True).out.splitlines()


@pytest.fixture(scope="module")
def ovs(switch):
    made = OpenVswitch(switch)
    yield made
    made.stop()


def test_open_vswitch_leaves_it_to_the_card(ovs):
    (one, two), peer = ovs.switch.tenants, ovs.switch.peer
    for end, other in ((one, two), (one, peer), (two, peer)):
        reachable(end, other)
        assert ping(end, other.ip, count=5)
    assert len(ovs.flows("offloaded")) >= 6, ovs.flows("ovs")
    before = ovs.switch.slow_path()
    for end, other in ((one, two), (one, peer), (two, peer)):
        assert ping(end, other.ip, count=20)
    assert ovs.switch.slow_path() - before <= 12


def test_open_vswitch_firewall(ovs):
    """Rules of OpenFlow: one address is blocked, tags are pushed."""
    (one, two), peer = ovs.switch.tenants, ovs.switch.peer
    ovs.pf.run(f"ovs-ofctl add-flow br0 priority=100,ip,nw_src={one.ip},nw_dst={peer.ip},"
               "actions=drop", check=True)
    assert silent(one, peer.ip)
    assert ping(one, two.ip, count=3) and ping(two, peer.ip, count=3)
    dropped = [flow for flow in ovs.flows("offloaded") if re.search(r"actions:drop", flow)]
    assert dropped, ovs.flows("offloaded")
    ovs.pf.run("ovs-ofctl del-flows br0 ip", check=True)
    reachable(one, peer)
