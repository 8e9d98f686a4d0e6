# SPDX-License-Identifier: GPL-2.0-or-later
"""A virtual function given away by vfio-pci, behind an IOMMU, to a driver in user space."""

import json

import pytest
from conftest import ends_of, lab
from helpers import bdf, ping, reachable, wait_until
from tenants import Tenant, numvfs

DRIVER = "python3 /usr/local/lib/verna-tests/vfio.py"
MAGIC = 0x414e5256
OK, FAULT = 0, 2


@pytest.fixture(scope="module")
def hosts(request, repo, setup_paths):
    """PF and peer; the PF's guest has an IOMMU and two VFs."""
    with lab(request, repo) as net:
        a = net.guest("a", iommu=True, append="intel_iommu=on iommu=strict", cpus=2)
        b = net.guest("b")
        card, _ = net.link(a, b)
        card.properties = {"vfs": 2, "vf-vectors": 3}
        net.start()
        pf, peer = ends_of(a, b)
        numvfs(pf, 2, check=True)
        yield pf, peer


def address_of(pf, number: int) -> str:
    link = pf.run(f"readlink /sys/bus/pci/devices/{bdf(pf)}/virtfn{number}", check=True).out
    return link.strip().rsplit("/", 1)[1]


def bind(pf, address: str, driver: str) -> None:
    device = f"/sys/bus/pci/devices/{address}"
    pf.run(f"modprobe vfio-pci && echo {driver} > {device}/driver_override && "
           f"if [ -e {device}/driver ]; then echo {address} > {device}/driver/unbind; fi && "
           f"echo {address} > /sys/bus/pci/drivers_probe && udevadm settle", check=True, timeout=60)


@pytest.fixture
def given(hosts):
    """The address of VF 0, which is vfio's."""
    pf, _ = hosts
    address = address_of(pf, 0)
    bind(pf, address, "vfio-pci")
    yield address
    bind(pf, address, "verna")


def test_a_driver_in_user_space(hosts, given):
    """Registers, DMA where it was allowed and nowhere else, interrupts, reset."""
    pf, _ = hosts
    seen = json.loads(pf.run(f"{DRIVER} {given}", check=True, timeout=60).out)
    assert (seen["magic"], seen["function"]) == (MAGIC, 1)
    assert seen["mac"] != "00:00:00:00:00:00"
    assert seen["test_reg"] == 0xffffffff ^ 5
    assert seen["fill"] == [OK, True] and seen["invert"] == [OK, True]
    assert seen["elsewhere"] == FAULT
    assert seen["interrupt"]
    assert seen["unmapped"] == [FAULT, True], "what was taken back is out of reach at once"
    assert seen["after_reset"] == [OK, True]


def test_others_are_not_disturbed(hosts, given):
    pf, peer = hosts
    other = Tenant(pf, 1).move_in()
    try:
        driver = pf.popen(f"{DRIVER} {given} hold")
        driver.wait_for("after_reset", 30)
        for end in (pf, other):
            reachable(end, peer)
            assert ping(end, peer.ip)
        driver.stop()
        assert ping(other, peer.ip) and ping(pf, peer.ip)
    finally:
        pf.run(f"ip netns del {other.space}", check=True)


def test_it_comes_back(hosts):
    """After a driver that was killed in the midst, the VF is an interface again."""
    pf, peer = hosts
    address = address_of(pf, 0)
    bind(pf, address, "vfio-pci")
    driver = pf.popen(f"{DRIVER} {address} hold")
    driver.wait_for("after_reset", 30)
    pf.run("pkill -9 -f verna-tests/vfio.py", check=True)
    driver.wait(20)
    bind(pf, address, "verna")
    wait_until(lambda: pf.run(f"ls /sys/bus/pci/devices/{address}/net").ok, 20, "the interface")
    tenant = Tenant(pf, 0).move_in()
    try:
        reachable(tenant, peer)
        assert ping(tenant, peer.ip)
    finally:
        pf.run(f"ip netns del {tenant.space}", check=True)
