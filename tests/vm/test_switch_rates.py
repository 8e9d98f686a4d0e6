# SPDX-License-Identifier: GPL-2.0-or-later
"""Trees of devlink rates: nodes above VFs, which share what the card sends.

Guest a has a card with VFs, two of them in namespaces; guest b is on the wire.
"""

import json

import pytest
from bench import perftest
from helpers import bdf, reachable, repeatedly, vernactl, wait_until
from switchdev import Switch, mode
from tenants import numvfs

MBIT = 125_000  # bytes a second, in which devlink counts


@pytest.fixture(scope="module")
def switch(machines):
    made = Switch(*machines)
    yield made
    made.end()


class Rates:
    """devlink port function rate, of one card."""

    def __init__(self, switch: Switch):
        self.switch, self.pf, self.pci = switch, switch.pf, f"pci/{bdf(switch.pf)}"
        self.leaves = [f"{self.pci}/{2 + vf}" for vf in range(2)]

    def do(self, verb: str, what: str, words: str = ""):
        name = what if what.startswith("pci/") else f"{self.pci}/{what}"
        return self.pf.run(f"devlink port function rate {verb} {name} {words}")

    def must(self, verb: str, what: str, words: str = "") -> None:
        self.do(verb, what, words).check()

    def shown(self, what: str) -> dict:
        name = what if what.startswith("pci/") else f"{self.pci}/{what}"
        out = self.pf.run(f"devlink -j port function rate show {name}", check=True).out
        return json.loads(out)["rate"][name]

    def in_card(self) -> dict:
        """The card's tree: what vernactl says of nodes and leaves."""
        return vernactl(self.pf, "rates")

    def end(self) -> None:
        for leaf in self.leaves:
            self.do("set", leaf, "noparent")
            self.do("set", leaf, "tx_share 0 tx_max 0")
            self.do("set", leaf, "tx_priority 0 tx_weight 0")
        for name in ("inner", "outer"):
            self.do("set", name, "noparent")
        for name in ("inner", "outer"):
            self.do("del", name)


@pytest.fixture
def rates(switch):
    made = Rates(switch)
    yield made
    made.end()


def tree(rates: Rates) -> None:
    """Both VFs below a node that is below another."""
    rates.must("add", "outer", "tx_max 500mbit")
    rates.must("add", "inner", "tx_max 400mbit tx_share 100mbit")
    rates.must("set", "inner", "parent outer")
    rates.must("set", "inner", "tx_priority 3 tx_weight 20")
    for number, leaf in enumerate(rates.leaves):
        rates.must("set", leaf, "parent inner")
        rates.must("set", leaf, f"tx_weight {number + 1} tx_priority {number}")


def test_what_is_set_is_in_the_card(rates):
    tree(rates)
    inner = rates.shown("inner")
    assert (inner["tx_max"], inner["tx_share"], inner["parent"]) == (400 * MBIT, 100 * MBIT,
                                                                     "outer")
    assert rates.shown(rates.leaves[1])["parent"] == "inner"
    card = rates.in_card()
    outer, inner = card["nodes"]
    assert (outer["max_kbps"], outer["children"]) == (500_000, 1)
    assert (inner["max_kbps"], inner["min_kbps"], inner["parent"], inner["priority"],
            inner["weight"]) == (400_000, 100_000, outer["node"], 3, 20)
    leaves = card["leaves"][:2]
    assert [leaf["parent"] for leaf in leaves] == [inner["node"]] * 2
    assert [(leaf["priority"], leaf["weight"]) for leaf in leaves] == [(0, 1), (1, 2)]


def test_a_reset_makes_the_tree_anew(rates):
    """Also after a node went, so that numbers are others."""
    rates.must("add", "first")
    tree(rates)
    rates.must("del", "first")
    before = rates.in_card()
    rates.pf.run(f"devlink health test {rates.pci} reporter fw", check=True, timeout=60)
    reachable(rates.pf, rates.switch.peer)

    def of(card) -> list:
        return [[(row["max_kbps"], row["min_kbps"], row["priority"], row["weight"],
                  bool(row["parent"])) for row in card[kind]] for kind in ("nodes", "leaves")]
    wait_until(lambda: of(rates.in_card()) == of(before), 20, "the same tree")
    inner = next(node for node in rates.in_card()["nodes"] if node["max_kbps"] == 400_000)
    assert [leaf["parent"] for leaf in rates.in_card()["leaves"][:2]] == [inner["node"]] * 2


def test_what_cannot_be_is_refused(rates):
    tree(rates)
    for what, words, message in (
            ("inner", "tx_priority 8", "tx_priority is 0 to 7"),
            (rates.leaves[0], "tx_weight 1025", "tx_weight is 1 to 1024"),
            (rates.leaves[0], "tx_max 5000gbit", "largest rate")):
        refused = rates.do("set", what, words)
        assert not refused.ok and message in refused.err, refused.err
    assert not rates.do("set", "outer", "parent inner").ok, "a cycle"
    assert not rates.do("del", "inner").ok, "it has children"
    assert not mode(rates.pf, "legacy").ok, "there are nodes"
    for number in range(4):
        rates.must("add", f"deep{number}")
    try:
        for number in range(3):
            rates.must("set", f"deep{number + 1}", f"parent deep{number}")
        rates.must("set", rates.leaves[0], "parent deep3")
        refused = rates.do("set", "deep0", "parent outer")
        assert not refused.ok, "too many levels above the VF"
    finally:
        rates.must("set", rates.leaves[0], "noparent")
        for number in (3, 2, 1, 0):
            rates.do("set", f"deep{number}", "noparent")
            rates.must("del", f"deep{number}")


def test_a_leaf_that_goes_leaves_the_tree(rates):
    """Representors come and go with VFs; nodes stay."""
    tree(rates)
    for tenant in rates.switch.tenants:
        rates.pf.run(f"ip netns del {tenant.space}", check=True)
    numvfs(rates.pf, 0, check=True)
    assert [node["children"] for node in rates.in_card()["nodes"]] == [1, 0]
    numvfs(rates.pf, 2, check=True)
    for tenant in rates.switch.tenants:
        tenant.move_in()
    for port in rates.switch.reps:
        rates.pf.run(f"ip link set {port} up; tc qdisc add dev {port} clsact", check=True)
    assert "parent" not in rates.shown(rates.leaves[0])
    rates.must("set", rates.leaves[0], "parent inner")


@pytest.mark.alone
def test_two_vfs_share_what_their_node_may(rates):
    """20 Mbit/s, three to one; then one of them alone, and one before the other."""
    switch = rates.switch
    switch.wire_everything()
    rates.must("add", "outer", "tx_max 20mbit")
    for number, leaf in enumerate(rates.leaves):
        rates.must("set", leaf, "parent outer")
        rates.must("set", leaf, f"tx_weight {3 if number == 0 else 1}")
        reachable(switch.tenants[number], switch.peer)
    servers = [switch.peer.popen(f"iperf3 -s -p {5210 + n}") for n in range(2)]

    def measure(*who) -> list[float]:
        clients = [switch.tenants[n].popen(f"iperf3 -u -b 40M -c {switch.peer.ip} -p {5210 + n} "
                                           "-t 4 -O 1 -J") for n in who]
        ends = [json.loads(client.wait(60).check().out)["end"] for client in clients]
        return [end["sum_received"]["bits_per_second"] / 1e6 for end in ends]
    try:
        for n, server in enumerate(servers):
            perftest.wait_listening(switch.peer.guest, 5210 + n, server)
        repeatedly(lambda: measure(0, 1), lambda one, two: 13 <= one <= 16 and 4 <= two <= 5.5)
        repeatedly(lambda: measure(1), lambda two: 18 <= two <= 20.2)
        rates.must("set", rates.leaves[1], "tx_priority 1")
        repeatedly(lambda: measure(0, 1), lambda one, two: one < 2 and 17 <= two <= 20.2)
    finally:
        for server in servers:
            server.stop()
        switch.no_rules()
