# SPDX-License-Identifier: GPL-2.0-or-later
"""Tunnels that the switch puts frames of a tenant into and takes them out of, by rules of tc.

Guest a has a card with VFs, guest b is on the wire; its end of the tunnel is the kernel's.
"""

import json
import time
from dataclasses import dataclass

import pytest
from bench import perftest
from helpers import bdf, ping, reachable, silent, wait_until
from switchdev import Switch, mode

ID = 77
MTU = 1400  # what fits in all of them


@dataclass
class Kind:
    """A sort of tunnel. `ours` makes a device that the rules tell the rest."""
    name: str
    ours: str
    theirs: str
    port: int = 0  # UDP
    ip6: bool = False
    vlan: int = 0  # on which the ends are

    @property
    def enc_port(self) -> str:
        return f"enc_dst_port {self.port}" if self.port else ""

    @property
    def set_port(self) -> str:
        return f"dst_port {self.port}" if self.port else "nocsum"


VXLAN = f"vxlan id {ID} dstport 4789"
KINDS = [Kind("vxlan", "vxlan external dstport 4789", VXLAN, 4789),
         Kind("vxlan6", "vxlan external dstport 4789", VXLAN + " udp6zerocsumrx", 4789, ip6=True),
         Kind("geneve", "geneve external", f"geneve id {ID}", 6081),
         Kind("geneve6", "geneve external", f"geneve id {ID}", 6081, ip6=True),
         Kind("gre", "gretap external", f"gretap key {ID}"),
         Kind("gre6", "ip6gretap external", f"ip6gretap key {ID} encaplimit none", ip6=True),
         Kind("vxlan-vlan", "vxlan external dstport 4789", VXLAN, 4789, vlan=5)]


@pytest.fixture(scope="module")
def switch(machines):
    made = Switch(*machines)
    yield made
    made.end()


class Tunnel:
    """A tenant and the peer on a subnet of their own, inside of a tunnel between the hosts."""

    device = "tun0"

    def __init__(self, switch: Switch, kind: Kind):
        self.switch, self.kind = switch, kind
        self.pf, self.peer, self.tenant = switch.pf, switch.peer, switch.tenants[0]
        self.inside = ["10.99.0.1", "10.99.0.2"]
        self.ends = self.outer_addresses()
        local, remote = self.ends
        local_word = "" if "geneve" in kind.theirs else f"local {remote}"
        self.peer.run(f"ip link add {self.device} type {kind.theirs} {local_word} "
                      f"remote {local} && ip link set {self.device} mtu {MTU} up && "
                      f"ip addr add {self.inside[1]}/24 dev {self.device}", check=True)
        self.pf.run(f"ip link add {self.device} type {kind.ours} && "
                    f"ip link set {self.device} up && "
                    f"tc qdisc add dev {self.device} clsact", check=True)
        self.tenant.run(f"ip addr add {self.inside[0]}/24 dev {self.tenant.netdev} && "
                        f"ip link set {self.tenant.netdev} mtu {MTU}", check=True)
        self.rep = switch.reps[0]
        switch.rule(self.rep, self.out_rule(), check=True)
        switch.rule(self.device, self.in_rule(), check=True)

    def outer_addresses(self) -> list[str]:
        if not self.kind.vlan:
            return [end.ip6 if self.kind.ip6 else end.ip for end in (self.pf, self.peer)]
        for number, end in enumerate((self.pf, self.peer), 1):
            end.run(f"ip link add link {end.netdev} name vlan0 type vlan id {self.kind.vlan} && "
                    f"ip addr add 10.98.0.{number}/24 dev vlan0 && ip link set vlan0 up",
                    check=True)
        return ["10.98.0.1", "10.98.0.2"]

    def out_rule(self) -> str:
        local, remote = self.ends
        return (f"prio 10 protocol all flower action tunnel_key set src_ip {local} "
                f"dst_ip {remote} id {ID} {self.kind.set_port} "
                f"action mirred egress redirect dev {self.device}")

    def in_rule(self) -> str:
        local, remote = self.ends
        return (f"prio 10 protocol all flower enc_key_id {ID} enc_src_ip {remote} "
                f"enc_dst_ip {local} {self.kind.enc_port} action tunnel_key unset "
                f"action mirred egress redirect dev {self.rep}")

    def software(self) -> int:
        """Packets that the host saw of the tenant or of the tunnel."""
        stats, = json.loads(self.pf.run(f"ip -j -s link show {self.device}", check=True).out)
        return self.switch.slow_path() + sum(stats["stats64"][way]["packets"]
                                             for way in ("rx", "tx"))

    def reachable(self) -> None:
        wait_until(lambda: self.tenant.run(f"ping -c1 -W1 {self.inside[1]}", timeout=10).ok,
                   20, "a ping through the tunnel")

    def needs_no_software(self) -> bool:
        """Whether pings are the card's alone; IPv6 says something now and then."""
        before = self.software()
        assert ping(self.tenant, self.inside[1], count=20)
        return self.software() - before <= 4

    def in_card(self) -> bool:
        return all(rule["in_hw"] for port in (self.rep, self.device)
                   for rule in self.switch.counted(port))

    def end(self) -> None:
        self.switch.no_rules()
        for end in (self.pf, self.peer):
            end.run(f"ip link del {self.device}", check=True)
            if self.kind.vlan:
                end.run("ip link del vlan0", check=True)
        self.tenant.run(f"ip addr del {self.inside[0]}/24 dev {self.tenant.netdev}; "
                        f"ip neigh flush dev {self.tenant.netdev}; "
                        f"ip link set {self.tenant.netdev} mtu 1500")


@pytest.fixture
def tunnel(switch, request):
    made = Tunnel(switch, getattr(request, "param", KINDS[0]))
    yield made
    made.end()


@pytest.mark.parametrize("tunnel", KINDS, indirect=True, ids=lambda kind: kind.name)
def test_a_tenant_is_in_a_tunnel(tunnel):
    tunnel.reachable()
    assert tunnel.in_card()
    wait_until(tunnel.needs_no_software, 20, "pings without software")
    counted = [rule["stats"]["hw_packets"] for port in (tunnel.rep, tunnel.device)
               for rule in tunnel.switch.counted(port)]
    assert all(packets >= 20 for packets in counted), counted


def send_file(sender, receiver, address: str) -> None:
    server = receiver.popen("socat -u TCP-LISTEN:5301,reuseaddr SYSTEM:sha256sum")
    perftest.wait_listening(receiver, 5301, server)
    sender.run(f"socat -u OPEN:/tmp/data TCP:{address}:5301", check=True, timeout=60)
    wanted = sender.run("sha256sum < /tmp/data", check=True).out.split()[0]
    assert server.wait(20).out.split()[0] == wanted


@pytest.mark.parametrize("tunnel", [KINDS[0], KINDS[3], KINDS[4]], indirect=True,
                         ids=lambda kind: kind.name)
def test_files_arrive(tunnel):
    """With segmentation by the tenant's card before the tunnel, and checksums outside and in."""
    tunnel.reachable()
    wait_until(tunnel.needs_no_software, 20, "pings without software")
    for end in (tunnel.tenant, tunnel.peer):
        end.run("head -c 3000000 /dev/urandom > /tmp/data", check=True)
    before = tunnel.software()
    send_file(tunnel.tenant, tunnel.peer, tunnel.inside[1])
    send_file(tunnel.peer, tunnel.tenant, tunnel.inside[0])
    assert tunnel.software() - before <= 10


def test_a_neighbour_moves(tunnel):
    """The peer gets another MAC address, and says so."""
    tunnel.reachable()
    peer = tunnel.peer
    link, = json.loads(peer.run(f"ip -j link show {peer.netdev}", check=True).out)
    peer.run(f"sysctl -qw net.ipv4.conf.{peer.netdev}.arp_notify=1", check=True)
    time.sleep(1.5)  # in which the host takes no other address for the neighbour
    try:
        peer.run(f"ip link set {peer.netdev} address 02:00:00:00:07:07", check=True)
        wait_until(lambda: "02:00:00:00:07:07" in tunnel.pf.run("ip neigh").out, 20,
                   "the neighbour's new address")
        tunnel.reachable()
        wait_until(tunnel.needs_no_software, 20, "pings without software")
    finally:
        peer.run(f"ip link set {peer.netdev} address {link['address']} && "
                 f"sysctl -qw net.ipv4.conf.{peer.netdev}.arp_notify=0", check=True)
        tunnel.pf.run(f"ip neigh flush dev {tunnel.pf.netdev}", check=True)
    tunnel.reachable()


def test_no_way_for_a_while(tunnel):
    """The route goes, packets are software's; it comes, and they are the card's again."""
    tunnel.reachable()
    remote = tunnel.ends[1]
    tunnel.pf.run(f"ip route add unreachable {remote}/32", check=True)
    try:
        wait_until(lambda: silent(tunnel.tenant, tunnel.inside[1], count=2), 20, "silence")
        before = tunnel.switch.slow_path()
        assert silent(tunnel.tenant, tunnel.inside[1], count=2)
        assert tunnel.switch.slow_path() > before, "what the card cannot send comes to software"
    finally:
        tunnel.pf.run(f"ip route del unreachable {remote}/32", check=True)
    tunnel.reachable()
    wait_until(tunnel.needs_no_software, 20, "pings without software")


def test_other_tunnels_are_software(tunnel):
    """Frames of another identifier are none of the rule's; IPv6 says something in the right one."""
    tunnel.reachable()
    peer, local = tunnel.peer, tunnel.ends[0]

    def counted() -> int:
        return tunnel.switch.counted(tunnel.device)[0]["stats"]["hw_packets"]
    peer.run(f"ip link add tun1 type vxlan id {ID + 1} dstport 4789 remote {local} && "
             "ip link set tun1 up && ip addr add 10.97.0.2/24 dev tun1 && "
             "ip neigh add 10.97.0.1 lladdr 02:00:00:00:00:01 dev tun1", check=True)
    try:
        before = counted()
        assert silent(peer, "10.97.0.1", count=30)
        assert counted() - before < 15
    finally:
        peer.run("ip link del tun1", check=True)


REFUSED = [
    ("action tunnel_key set src_ip {local} dst_ip {remote} id 7 dst_port 4789 "
     "action mirred egress redirect dev {rep1}", "without a tunnel device"),
    ("action mirred egress redirect dev tun0", "without tunnel_key set"),
    ("action tunnel_key set src_ip {local} dst_ip {remote} id 7 dst_port 4789 drop",
     "without a tunnel device"),
    ("action vlan push id 3 action tunnel_key set src_ip {local} dst_ip {remote} id 7 "
     "dst_port 4789 action mirred egress redirect dev tun0", "inside of a tunnel"),
    ("action tunnel_key set src_ip 127.0.0.1 dst_ip 127.0.0.2 id 7 dst_port 4789 "
     "action mirred egress redirect dev tun0", "no way out of the uplink"),
    ("action tunnel_key unset action mirred egress redirect dev {rep1}", "unset here"),
]


@pytest.mark.parametrize("words, message", REFUSED)
def test_what_the_card_cannot_is_named(tunnel, words, message):
    local, remote = tunnel.ends
    words = words.format(local=local, remote=remote, rep1=tunnel.switch.reps[1])
    refused = tunnel.switch.rule(tunnel.rep, f"prio 5 protocol ip flower skip_sw {words}")
    assert not refused.ok and message in refused.err


@pytest.mark.parametrize("match", [
    "enc_src_ip {remote} enc_dst_port 4789", "enc_key_id 7 enc_dst_ip {local}",
    "enc_key_id 7 enc_dst_ip {local} enc_dst_port 4790", "dst_mac 02:00:00:00:00:01",
    "enc_key_id 7 enc_dst_ip {net}/24 enc_dst_port 4789"])
def test_rules_that_say_too_little_stay_in_software(tunnel, match):
    local, remote = tunnel.ends
    match = match.format(local=local, remote=remote, net=local.rsplit(".", 1)[0] + ".0")
    added = tunnel.switch.rule(tunnel.device, f"prio 5 protocol ip flower {match} action drop")
    assert added.ok
    rules = tunnel.switch.counted(tunnel.device)
    assert sorted(bool(rule.get("in_hw")) for rule in rules) == [False, True]


def test_rules_survive_a_reset_of_the_card(tunnel):
    tunnel.reachable()
    tunnel.pf.run(f"devlink health test pci/{bdf(tunnel.pf)} reporter fw", check=True, timeout=60)
    tunnel.reachable()
    wait_until(tunnel.needs_no_software, 30, "pings without software")


def test_the_mode_takes_rules_of_tunnels_along(tunnel):
    """What is left of them is software's; in switchdev mode again new ones are the card's."""
    switch = tunnel.switch
    switch.no_rules()
    mode(tunnel.pf, "legacy", check=True)
    left, = switch.counted(tunnel.device)
    assert not left.get("in_hw")
    tunnel.pf.run(f"tc filter del dev {tunnel.device} ingress", check=True)
    mode(tunnel.pf, "switchdev", check=True)
    for rep in switch.reps:
        tunnel.pf.run(f"ip link set {rep} up; tc qdisc add dev {rep} clsact", check=True)
    switch.rule(tunnel.rep, tunnel.out_rule(), check=True)
    switch.rule(tunnel.device, tunnel.in_rule(), check=True)
    reachable(tunnel.pf, tunnel.peer)
    tunnel.reachable()
    assert tunnel.in_card()
