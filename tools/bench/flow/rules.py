# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule sets of which only the last rule, which forwards it, matches a packet of the load: what a
firewall costs those whom it lets pass."""

from dataclasses import dataclass

LIMIT = 900  # seconds for putting the largest set in, under TCG

# Prints one line for each rule: n/256 and n%256 in the address, so that each is another one.
NUMBERS = "seq 0 %d | awk '{printf %s, int($1/65536), int($1/256)%%256, $1%%256}'"


@dataclass(frozen=True)
class Engine:
    """Who decides: `begin` and `end` are shell commands, with the names of representors filled in;
    `rule` is a format of awk for one rule, `load` reads all of them from standard input."""
    name: str
    begin: str
    rule: str
    load: str
    end: str

    def commands(self, count: int, names: dict[str, str]) -> tuple[str, str]:
        """What makes the file with `count` rules, and what puts them in force."""
        text = self.rule.format(**names)
        make = NUMBERS % (count - 1, f'"{text}"') + " > /tmp/rules" if count else ": > /tmp/rules"
        return make, self.load.format(**names)


def flower(name: str, flag: str) -> Engine:
    """Exact rules of one mask in a chain, then one that redirects."""
    return Engine(
        name,
        "tc qdisc add dev {one} clsact && tc filter add dev {one} ingress prio 9 protocol all "
        f"flower {flag} action mirred egress redirect dev {{two}}",
        f"filter add dev {{one}} ingress prio 1 protocol ip flower {flag} src_ip 172.%d.%d.%d "
        "ip_proto udp dst_port 9 action drop\\n",
        "tc -b /tmp/rules",
        "tc qdisc del dev {one} clsact")


NFTABLES = Engine(
    "nftables, software",
    "ip link add br0 type bridge mcast_snooping 0 && ip link set br0 up && "
    "ip link set {one} master br0 && ip link set {two} master br0 && "
    "nft 'add table bridge f; add chain bridge f c "
    "{{ type filter hook forward priority 0; policy accept; }}'",
    "add rule bridge f c ip saddr 172.%d.%d.%d udp dport 9 drop\\n",
    "nft -f /tmp/rules",
    "nft delete table bridge f; ip link del br0")

ENGINES = [flower("flower, card", "skip_sw"), flower("flower, software", "skip_hw"), NFTABLES]
