# SPDX-License-Identifier: GPL-2.0-or-later
"""A card's switch in switchdev mode: tenants behind it, representors, and rules of tc."""

import json
import time

from helpers import bdf, wait_until
from tenants import Tenant, numvfs


def mode(pf, wanted: str, **options):
    return pf.run(f"devlink dev eswitch set pci/{bdf(pf)} mode {wanted}", **options)


def mode_now(pf) -> str:
    out = pf.run(f"devlink -j dev eswitch show pci/{bdf(pf)}", check=True).out
    (state,), = [json.loads(out)["dev"].values()]
    return state["mode"]


def representors(pf) -> list[str]:
    """Names of the representors, by VF."""
    pf.run("udevadm settle", check=True)
    ports = json.loads(pf.run("devlink -j port show", check=True).out)["port"]
    found = {port["vfnum"]: port["netdev"] for port in ports.values()
             if port["flavour"] == "pcivf"}
    return [found[vf] for vf in sorted(found)]


def stats_of(actions: list[dict]) -> dict:
    """Those of the first action that the card counts for; some actions of tc count nothing."""
    stats = [action["stats"] for action in actions if "stats" in action]
    return next((row for row in stats if "hw_packets" in row), stats[0])


class Switch:
    """The PF's end, the peer on the wire, two tenants, and their representors."""

    def __init__(self, pf, peer):
        self.pf, self.peer = pf, peer
        numvfs(pf, 2, check=True)
        self.tenants = [Tenant(pf, number).move_in() for number in range(2)]
        mode(pf, "switchdev", check=True)
        self.reps = representors(pf)
        self.ports = [pf.netdev, *self.reps]
        pf.run(f"ethtool -K {pf.netdev} hw-tc-offload on", check=True)
        for port in self.ports:
            pf.run(f"ip link set {port} up; tc qdisc add dev {port} clsact", check=True)

    def end(self):
        for port in self.ports:
            self.pf.run(f"tc qdisc del dev {port} clsact")
        mode(self.pf, "legacy", check=True)
        for tenant in self.tenants:
            self.pf.run(f"ip netns del {tenant.space}", check=True)
        numvfs(self.pf, 0, check=True)

    def rule(self, port: str, words: str, **options):
        return self.pf.run(f"tc filter add dev {port} ingress {words}", **options)

    def no_rules(self):
        for port in self.ports:
            self.pf.run(f"tc filter del dev {port} ingress", check=True)

    def counted(self, port: str) -> list[dict]:
        """What tc says of the rules of a port: packets and bytes of the card alone."""
        out = self.pf.run(f"tc -j -s filter show dev {port} ingress", check=True).out
        rules = [row["options"] for row in json.loads(out) if "options" in row]
        return [dict(rule, stats=stats_of(rule["actions"])) for rule in rules
                if "actions" in rule]

    def slow_path(self) -> int:
        """Packets that went through software in either direction, of both representors."""
        stats = json.loads(self.pf.run("ip -j -s link", check=True).out)
        by_name = {row["ifname"]: row["stats64"] for row in stats}
        return sum(by_name[rep][way]["packets"] for rep in self.reps for way in ("rx", "tx"))

    def quiet_slow_path(self) -> int:
        """slow_path() when it stands still: IPv6 announces interfaces for some seconds."""
        def still() -> bool:
            before = self.slow_path()
            time.sleep(1)
            return self.slow_path() == before
        wait_until(still, what="the end of IPv6's announcements")
        return self.slow_path()

    def wire_everything(self):
        """Rules by which the tenants and the wire reach each other without software."""
        one, two = self.tenants
        places = {self.reps[0]: one.mac, self.reps[1]: two.mac, self.ports[0]: None}
        for port in self.ports:
            for to, mac in places.items():
                if to == port:
                    continue
                match = f"dst_mac {mac}" if mac else ""
                prio = 10 if mac else 20
                self.rule(port, f"prio {prio} protocol all flower skip_sw {match} "
                                f"action mirred egress redirect dev {to}", check=True)
            others = [other for other in self.ports if other != port]
            copies = " ".join(f"action mirred egress mirror dev {to}" for to in others[:-1])
            self.rule(port, f"prio 5 protocol all flower skip_sw dst_mac ff:ff:ff:ff:ff:ff "
                            f"{copies} action mirred egress redirect dev {others[-1]}",
                      check=True)
