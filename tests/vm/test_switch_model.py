# SPDX-License-Identifier: GPL-2.0-or-later
"""Random rules of tc flower, once in software and once in the card: the same must become of the
same packets, and each rule must count the same.

Guest a has a card with VFs, two of them in namespaces; guest b is on the wire. The core has such a
test of its own with a naive model; here the kernel is the model.
"""

import json
import os
import random
import textwrap
from collections import Counter

import pytest
from captures import in_sdk
from switchdev import Switch

SETS = int(os.environ.get("VERNA_SWITCH_SETS", "4"))
RULES, PACKETS = 24, 200
MARK = "7665726e61"
SNIFF = "python3 /usr/local/lib/verna-tests/sniff.py"

IP4 = [f"10.20.{net}.{host}" for net in (0, 1) for host in (1, 2, 130)]
IP6 = [f"fd20:{net}::{host}" for net in (0, 1) for host in (1, 2)]
PORTS = [9, 80, 443, 1000, 1001, 65535]
VIDS = [1, 7, 4094]

# Random packets of what the rules below look at; all numbers come from a seed.
MAKER = textwrap.dedent("""\
    import random, sys
    from scapy.all import ARP, Dot1Q, Ether, ICMP, IP, IPv6, Raw, TCP, UDP
    from scapy.layers.inet6 import ICMPv6EchoRequest
    from scapy.layers.sctp import SCTP

    seed, number, source, *macs = sys.argv[1:]
    rng = random.Random(int(seed))
    ip4, ip6, ports, vids, mark = {ip4}, {ip6}, {ports}, {vids}, bytes.fromhex("{mark}")

    def port():
        return rng.choice(ports)

    def inner(version):
        kind = rng.randrange(4)
        if kind == 0:
            return TCP(sport=port(), dport=port(), flags=rng.randrange(64), seq=rng.getrandbits(32))
        if kind == 1:
            return UDP(sport=port(), dport=port())
        if kind == 2:
            return SCTP(sport=port(), dport=port())
        if version == 4:
            return ICMP(type=rng.choice([0, 8]), code=rng.choice([0, 1]))
        return ICMPv6EchoRequest(code=rng.choice([0, 1]))

    for index in range(int(number)):
        frame = Ether(src=source, dst=rng.choice(macs))
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
            frame /= Dot1Q(vlan=rng.choice(vids), prio=rng.randrange(8))
        if len(frame.layers()) == 3 and rng.randrange(2):
            frame.type = 0x88a8
        payload = Raw(mark + index.to_bytes(4, "big") + bytes(rng.randrange(100)))
        sort = rng.randrange(10)
        if sort == 0:
            frame /= ARP(op=rng.choice([1, 2]), psrc=rng.choice(ip4), pdst=rng.choice(ip4),
                         hwsrc=source)
        elif sort < 6:
            frame /= IP(src=rng.choice(ip4), dst=rng.choice(ip4), ttl=rng.choice([1, 2, 64]),
                        tos=rng.choice([0, 0x10, 0xb8]), id=index,
                        flags=rng.choice(["", "DF"])) / inner(4)
            if rng.randrange(8) == 0:
                frame[IP].flags, frame[IP].frag = rng.choice([("MF", 0), ("MF", 8), ("", 16)])
        else:
            frame /= IPv6(src=rng.choice(ip6), dst=rng.choice(ip6), hlim=rng.choice([1, 2, 64]),
                          tc=rng.choice([0, 0x10, 0xb8])) / inner(6)
        print(bytes(frame / payload).hex())
    """)


@pytest.fixture(scope="module")
def switch(machines):
    made = Switch(*machines)
    ends = (made.tenants[1], made.peer)
    for end in ends:
        end.run(f"ethtool -K {end.netdev} gro off rx-gro-hw off && "
                f"ip link set {end.netdev} promisc on", check=True)
    made.pf.run(f"ethtool -K {made.pf.netdev} gro off rx-gro-hw off", check=True)
    quiet = f"sysctl -qw net.ipv6.conf.{made.tenants[0].netdev}.disable_ipv6="
    made.tenants[0].run(f"{quiet}1", check=True)  # whose announcements would be counted, too
    yield made
    made.tenants[0].run(f"{quiet}0")
    for end in ends:
        end.run(f"ethtool -K {end.netdev} gro on rx-gro-hw on; "
                f"ip link set {end.netdev} promisc off")
    made.end()


class Rules:
    """Words of random rules."""

    def __init__(self, seed: int, switch: Switch, macs: list[str]):
        self.rng, self.switch, self.macs = random.Random(seed), switch, macs
        self.rules = [self.rule(prio, chain=0) for prio in range(1, RULES + 1)]
        self.rules += [self.rule(prio, chain=1) for prio in range(1, RULES // 2 + 1)]

    def one_of(self, *words) -> str:
        return self.rng.choice(words)

    def prefix(self, addresses: list[str], lengths: tuple) -> str:
        return f"{self.rng.choice(addresses)}/{self.rng.choice(lengths)}"

    def some(self, parts: list, most: int = 3) -> str:
        """Some of the parts, each made by a function that is called then."""
        chosen = self.rng.sample(parts, self.rng.randint(0, min(most, len(parts))))
        return " ".join(part() for part in chosen)

    def ports(self, proto: str) -> str:
        low, high = sorted(self.rng.sample(PORTS, 2))
        parts = [lambda: f"dst_port {self.rng.choice(PORTS)}",
                 lambda: f"src_port {self.rng.choice(PORTS)}",
                 lambda: f"src_port {low}-{high}"]
        if proto == "tcp":
            flags = self.rng.randrange(64)
            parts.append(lambda: f"tcp_flags {flags:#x}/{flags | self.rng.randrange(64):#x}")
        wanted = self.some(parts[:2] + parts[3:], 2) if self.rng.randrange(3) else parts[2]()
        return f"ip_proto {proto} {wanted}"

    def icmp(self, proto: str) -> str:
        kinds = "0/0xff 8/0xff" if proto == "icmp" else "128/0xff"
        return f"ip_proto {proto} " + self.some([
            lambda: f"type {self.rng.choice(kinds.split()).split('/')[0]}",
            lambda: f"code {self.rng.choice([0, 1])}"])

    def of_ip(self, version: int) -> str:
        addresses, lengths = (IP4, (16, 24, 25, 32)) if version == 4 else (IP6, (16, 32, 64, 128))
        upper = [lambda: self.ports("tcp"), lambda: self.ports("udp"), lambda: self.ports("sctp"),
                 lambda: self.icmp("icmp" if version == 4 else "icmpv6")]
        words = self.some([lambda: f"src_ip {self.prefix(addresses, lengths)}",
                           lambda: f"dst_ip {self.prefix(addresses, lengths)}",
                           lambda: f"ip_ttl {self.one_of(1, 2, 64)}",
                           lambda: f"ip_tos {self.one_of('0', '0x10', '0xb8/0xfc')}"], 2)
        if version == 4 and not self.rng.randrange(5):
            words += " ip_flags " + self.one_of("frag", "nofrag", "frag/firstfrag", "nofirstfrag")
        elif self.rng.randrange(2):
            words += " " + self.rng.choice(upper)()
        return words

    def of_arp(self) -> str:
        return self.some([lambda: f"arp_op {self.one_of('request', 'reply')}",
                          lambda: f"arp_sip {self.prefix(IP4, (24, 32))}",
                          lambda: f"arp_tip {self.prefix(IP4, (24, 32))}"])

    def behind(self, ethertype: str) -> str:
        if ethertype == "arp":
            return self.of_arp()
        return self.of_ip(6 if ethertype == "ipv6" else 4)

    def match(self) -> tuple[str, str]:
        """Protocol and keys."""
        mac = self.some([lambda: f"dst_mac {self.rng.choice(self.macs)}"])
        kind = self.rng.randrange(10)
        if kind < 6:
            protocol = self.one_of("ip", "ip", "ipv6", "arp")
            return protocol, f"{mac} {self.behind(protocol)}"
        if kind == 6:
            return "all", mac
        tag = self.some([lambda: f"vlan_id {self.rng.choice(VIDS)}",
                         lambda: f"vlan_prio {self.rng.randrange(8)}"])
        protocol = self.one_of("802.1q", "802.1q", "802.1ad")
        if not self.rng.randrange(3):
            return protocol, f"{mac} {tag}"
        ethertype = self.one_of("ip", "ipv6", "802.1q")
        if ethertype == "802.1q":
            more = self.some([lambda: f"cvlan_id {self.rng.choice(VIDS)}"])
            return protocol, f"{mac} {tag} vlan_ethtype 802.1q {more}"
        return protocol, f"{mac} {tag} vlan_ethtype {ethertype} {self.behind(ethertype)}"

    def change(self, protocol: str, keys: str) -> str:
        """What a packet of such a rule can bear, or nothing."""
        tag = f"id {self.rng.choice(VIDS)} priority {self.rng.randrange(8)}"
        options = [f"action vlan push {tag} ", ""]
        if protocol == "802.1q":
            options += ["action vlan pop ", f"action vlan modify {tag} "]
        options += ["action pedit ex munge eth src set 02:00:00:00:00:aa pipe "]
        # tc takes the sums of whole packets only, the card also those of fragments.
        if protocol == "ip" and "nofrag" in keys:
            new = self.rng.choice(IP4)
            options += [f"action pedit ex munge ip src set {new} {CSUM}",
                        f"action pedit ex munge ip tos set 0x20 {CSUM}"]
        if protocol == "ip" and "ip_ttl 64" in keys:
            options += [f"action pedit ex munge ip ttl add 0xff {CSUM}"]
        if protocol == "ipv6" and "ip_proto udp" in keys:
            options += [f"action pedit ex munge ip6 dst set {self.rng.choice(IP6)} "
                        f"munge udp dport set 7 {CSUM}"]
        return self.rng.choice(options)

    def rule(self, prio: int, chain: int) -> tuple[int, int, str]:
        if not self.rng.randrange(12):
            protocol = self.one_of("ip", "ipv6", "arp", "802.1q", "802.1ad")
            to = self.rng.choice([self.switch.reps[1], self.switch.ports[0]])
            return chain, prio, (f"protocol {protocol} matchall {{where}} "
                                 f"action mirred egress redirect dev {to}")
        protocol, keys = self.match()
        if protocol == "ip" and "ip_flags" not in keys and "ip_proto" not in keys:
            keys += " ip_flags nofrag"
        kind = self.rng.randrange(6)
        if kind == 0:
            actions = "action drop"
        elif kind == 1 and chain == 0:
            actions = "action goto chain 1"
        else:
            to = self.rng.choice([self.switch.reps[1], self.switch.ports[0]])
            actions = f"{self.change(protocol, keys)}action mirred egress redirect dev {to}"
        return chain, prio, f"protocol {protocol} flower {{where}} {keys} {actions}"


CSUM = "pipe action csum ip4h and tcp and udp and icmp and sctp pipe "


def of_rules(rules: Rules, where: str) -> str:
    """A batch for tc."""
    return "\n".join(f"filter add dev {rules.switch.reps[0]} ingress chain {chain} prio {prio} "
                     + words.format(where=where) for chain, prio, words in rules.rules) + "\n"


def counts(switch: Switch) -> dict[tuple[int, int], int]:
    """Packets by chain and priority, of software or card."""
    out = switch.pf.run(f"tc -j -s filter show dev {switch.reps[0]} ingress", check=True).out
    result = {}
    for row in json.loads(out):
        actions = row.get("options", {}).get("actions", [])
        if actions:
            result[row["chain"], row["pref"]] = max(a.get("stats", {}).get("packets", 0)
                                                    for a in actions)
    return result


def run(switch: Switch, rules: Rules, where: str, frames: str) -> tuple[dict, list[list[str]]]:
    """What the rules count, and what tenant two and the peer get."""
    rep, sender = switch.reps[0], switch.tenants[0]
    switch.pf.run(f"tc qdisc del dev {rep} clsact && tc qdisc add dev {rep} clsact", check=True)
    added = switch.pf.run("tc -b -", stdin=of_rules(rules, where))
    assert added.ok, added.err
    sniffers = [end.popen(f"{SNIFF} {end.netdev} {MARK}")
                for end in (switch.tenants[1], switch.peer)]
    for sniffer in sniffers:
        sniffer.wait_for("ready", 20)
    sender.run(f"{SNIFF} send {sender.netdev}", stdin=frames, check=True)
    for sniffer in sniffers:
        sniffer.close_input()
    got = [sniffer.wait(30).check().out.split()[1:] for sniffer in sniffers]
    counted = counts(switch)
    return counted, got


def made_frames(repo, seed: int, source: str, macs: list[str]) -> str:
    program = MAKER.format(ip4=IP4, ip6=IP6, ports=PORTS, vids=VIDS, mark=MARK)
    return in_sdk(repo, "python3", "-c", program, str(seed), str(PACKETS), source, *macs)


@pytest.mark.parametrize("seed", range(SETS))
def test_the_card_does_what_tc_does(switch, repo, seed):
    one, two = switch.tenants
    macs = [two.mac, "ff:ff:ff:ff:ff:ff", "02:00:00:00:00:77"]
    frames = made_frames(repo, seed, one.mac, macs)
    rules = Rules(seed, switch, macs)
    wanted = run(switch, rules, "skip_hw", frames)
    found = run(switch, rules, "skip_sw", frames)
    words = {(chain, prio): text for chain, prio, text in rules.rules}
    assert {words[place]: (wanted[0][place], found[0][place]) for place in words
            if wanted[0][place] != found[0][place]} == {}
    assert sum(wanted[0].values()) > PACKETS // 4
    for end, by_software, by_card in zip(("tenant", "wire"), wanted[1], found[1]):
        less, more = (Counter(one) - Counter(other) for one, other in
                      ((by_software, by_card), (by_card, by_software)))
        assert (sorted(less), sorted(more)) == ([], []), end
