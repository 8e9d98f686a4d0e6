# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests for tests. A warning or a splat in a guest's kernel log fails the test that had it."""

import re
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from leaks import leaks
from verna_vm import Guest, Topology

VFS = 4  # of the card in `machines`


@dataclass
class End:
    """One of two guests, and the names of its card there."""
    guest: Guest
    ip: str
    ip6: str
    netdev: str = ""
    rdma: str = ""

    @property
    def name(self) -> str:
        return self.guest.name

    def run(self, command: str, *args, **options):
        return self.guest.run(command, *args, **options)

    def popen(self, command: str, **options):
        return self.guest.popen(command, **options)

    def configure(self, driver: str = "verna", index: int = 0) -> "End":
        """Finds the n-th interface of a driver and gives it its addresses."""
        self.netdev = self.guest.netdev(driver, index)
        self.bring_up()
        if driver == "verna":
            self.rdma = self.guest.rdma(self.netdev)
        return self

    def bring_up(self) -> None:
        self.run(f"ip addr replace {self.ip}/24 dev {self.netdev} && "
                 f"ip addr replace {self.ip6}/64 dev {self.netdev} nodad && "
                 f"ip link set {self.netdev} up", check=True)

    def on_vlan(self, vid: int, ip: str, ip6: str, options: str = "") -> "End":
        """An end of its own on a VLAN of this one's interface: the same RDMA device, other GIDs."""
        end = End(self.guest, ip, ip6, f"{self.netdev[:10]}.{vid}", self.rdma)
        self.run(f"ip link add link {self.netdev} name {end.netdev} type vlan id {vid} {options}",
                 check=True)
        end.bring_up()
        return end


def folder_for(request, repo):
    name = re.sub(r"[^\w.-]+", "_", request.node.nodeid.removeprefix("vm/"))
    return repo / "build/test" / name


def fail_on_trouble(net: Topology, allowed: list[str]) -> None:
    lost = leaks(net.guests)
    lines = [line for line in net.trouble() if not any(re.search(a, line) for a in allowed)]
    if lines:
        pytest.fail(f"the guests' kernel logs (in {net.folder}) have:\n" + "\n".join(lines))
    if lost:
        pytest.fail("memory that verna lost:\n" + "\n".join(lost))


@contextmanager
def lab(request, repo):
    """A topology without guests, whose logs are in the test's folder; trouble in its guests fails
    the test. They go on from a snapshot, but in a module that says BOOT = True."""
    boot = getattr(request.module, "BOOT", False)
    with Topology(folder_for(request, repo), from_snapshot=not boot) as net:
        yield net
        allowed = [m.args[0] for m in request.node.iter_markers("allow_trouble")]
        fail_on_trouble(net, allowed)


@pytest.fixture
def topology(request, repo, setup_paths):
    """A topology without guests; what the test adds to it ends with the test."""
    with lab(request, repo) as net:
        yield net


def ends_of(a: Guest, b: Guest, subnet: int = 7) -> tuple[End, End]:
    """Two guests whose first verna cards get addresses on one subnet."""
    return tuple(End(guest, f"10.0.{subnet}.{n}", f"fd00:{subnet}::{n}").configure()
                 for n, guest in ((1, a), (2, b)))


@pytest.fixture(scope="module")
def uneven_guests(request, repo, setup_paths):
    """As two_guests, but the first one has two processors, so two channels."""
    with lab(request, repo) as net:
        a, b = net.guest("a", cpus=2), net.guest("b")
        net.link(a, b)
        net.start()
        yield ends_of(a, b)


@pytest.fixture(scope="module")
def machines(request, repo, setup_paths):
    """Guest a has a card with VFs, guest b one without; on a link."""
    with lab(request, repo) as net:
        a, b = net.guest("a", cpus=2), net.guest("b")
        card, _ = net.link(a, b)
        card.properties = {"vfs": VFS, "vf-vectors": 3}
        net.start()
        yield ends_of(a, b)


@pytest.fixture(scope="module")
def two_guests(request, repo, setup_paths):
    """Two running guests with linked cards, shared by a module; leave them as you found them."""
    with lab(request, repo) as net:
        a, b = net.guest("a"), net.guest("b")
        net.link(a, b)
        net.start()
        yield ends_of(a, b)
