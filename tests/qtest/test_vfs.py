# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual functions in QEMU without a guest: how they come, what is their own, and how they go."""

import tempfile
from pathlib import Path

import pytest

from machine import (COMMAND, MASTER, MEMORY, MSIX_CAPABILITY, PCIE_CAPABILITY, SRIOV_CAPABILITY,
                     SRIOV_CONTROL, SRIOV_NUM_VFS, Machine)

ONES = 0xffffffff
VFS = 4


@pytest.fixture
def machine(setup_paths):
    with tempfile.TemporaryDirectory(prefix="verna-") as folder, \
            Machine(setup_paths, Path(folder), f",vfs={VFS},vf-vectors=3") as made:
        yield made
        assert made.process.poll() is None
        assert made.reg("MAGIC") == made.contract["VERNA_MAGIC"]


def there(function: Machine) -> bool:
    return function.reg("MAGIC") == function.contract["VERNA_MAGIC"]


def config(machine: Machine, devfn: int, register: int, size: int = 4) -> int:
    return machine.qtest.load(machine.ecam(devfn, register), size)


def enabled(machine: Machine) -> tuple[int, int]:
    cap = machine.extended_capability(SRIOV_CAPABILITY)
    return (config(machine, 0, cap + SRIOV_CONTROL, 2) & 1,
            config(machine, 0, cap + SRIOV_NUM_VFS, 2))


def test_a_card_without_has_no_capability(setup_paths):
    with tempfile.TemporaryDirectory(prefix="verna-") as folder, \
            Machine(setup_paths, Path(folder)) as machine, pytest.raises(LookupError):
        machine.extended_capability(SRIOV_CAPABILITY)


def test_what_the_capability_says(machine):
    contract = machine.contract
    cap = machine.extended_capability(SRIOV_CAPABILITY)
    assert [config(machine, 0, cap + at, 2) for at in (0x0c, 0x0e)] == [VFS, VFS]
    assert config(machine, 0, cap + 0x1a, 2) == contract["VERNA_PCI_VF_DEVICE_ID"]
    assert [config(machine, 0, cap + 0x24 + 4 * bar) & 0xf for bar in (0, 2, 4)] == [0xc] * 3
    # A function of an ARI device has the number behind the PF's in no other device.
    assert machine.extended_capability(0x0e)


@pytest.mark.parametrize("count", [1, VFS])
def test_they_come_and_go(machine, count):
    machine.set_reg("TEST_REG", 0x1234)
    for _ in range(2):
        assert all(config(machine, machine.vf(n).devfn, 0) == ONES for n in range(VFS))
        vfs = machine.enable_vfs(count)
        assert [vf.reg("FUNCTION") for vf in vfs] == list(range(1, count + 1))
        assert all(there(vf) for vf in vfs) and all(vf.reg("NUM_VECTORS") == 3 for vf in vfs)
        assert not any(there(machine.vf(n)) for n in range(count, VFS))
        # The PCI core takes the ids from the PF; a class is there for everyone.
        assert [config(machine, vf.devfn, 0) for vf in vfs] == [ONES] * count
        assert [config(machine, vf.devfn, 8) >> 8 for vf in vfs] == [0x020000] * count
        machine.disable_vfs()
        assert not any(there(vf) for vf in vfs)
    assert machine.reg("TEST_REG") == ONES ^ 0x1234, "the PF has not noticed"


def test_too_many_are_none(machine):
    machine.enable_vfs(VFS + 1)
    assert enabled(machine) == (0, VFS + 1)
    assert not there(machine.vf(0))
    machine.enable_vfs(VFS)
    assert enabled(machine) == (1, VFS)
    cap = machine.extended_capability(SRIOV_CAPABILITY)
    machine.qtest.store(machine.ecam(0, cap + SRIOV_NUM_VFS), 2, 1)
    assert enabled(machine) == (1, VFS), "fixed while they are enabled"


def test_dma_and_bus_mastering_are_their_own(machine):
    vf, other = machine.enable_vfs(2)
    for function in (vf, other, machine):
        function.enable_admin_queue()
        assert function.command("verna_cmd_object", "NOP", hdr__function=function.reg("FUNCTION")
                                )["status"] == 0
    addr = machine.memory(4096)
    machine.qtest.store(machine.ecam(vf.devfn, COMMAND), 2, MEMORY)
    assert vf.test_dma(addr, 16, "FILL") == "FAULT"
    assert other.test_dma(addr, 16, "FILL") == "OK"
    machine.config(1, 0, COMMAND, MEMORY)
    assert machine.test_dma(addr, 16, "FILL") == "FAULT"
    assert other.test_dma(addr, 16, "FILL") == "OK"
    machine.config(1, 0, COMMAND, MEMORY | MASTER)


def test_vectors_are_their_own(machine):
    vfs = machine.enable_vfs(2)
    target = machine.memory(4096)
    for number, vf in enumerate(vfs):
        at = machine.capability(MSIX_CAPABILITY)  # the same in all functions
        machine.qtest.store(machine.ecam(vf.devfn, at), 4, 0x80000000 | config(
            machine, vf.devfn, at))
        for offset, value in ((0, target + 4 * number), (4, 0), (8, 0xcafe0000 + number), (12, 0)):
            machine.qtest.store(vf.vectors + 16 * 2 + offset, 4, value)
    vfs[1].set_reg("TEST_IRQ", 2)
    machine.wait(lambda: machine.qtest.load(target + 4, 4) == 0xcafe0001, "the interrupt")
    assert machine.qtest.load(target, 4) == 0
    for wrong in (3, ONES):
        vfs[0].set_reg("TEST_IRQ", wrong)
    vfs[0].set_reg("TEST_IRQ", 2)
    machine.wait(lambda: machine.qtest.load(target, 4) == 0xcafe0000, "the interrupt")


def reset_by_function(machine, devfn):
    at = machine.capability(PCIE_CAPABILITY) + 8  # device control, the same in all functions
    machine.qtest.store(machine.ecam(devfn, at), 2, 0x8000 | config(machine, devfn, at, 2))


def test_a_reset_of_one_is_nothing_to_others(machine):
    vf, other = machine.enable_vfs(2)
    for function in (vf, other, machine):
        function.enable_admin_queue()
    reset_by_function(machine, vf.devfn)
    machine.qtest.store(machine.ecam(vf.devfn, COMMAND), 2, MEMORY | MASTER)
    flag = machine.contract["VERNA_STATUS_AQ_ENABLED"]
    assert [bool(f.reg("STATUS") & flag) for f in (vf, other, machine)] == [False, True, True]
    assert there(vf) and vf.reg("FUNCTION") == 1


@pytest.mark.parametrize("how", ["function", "machine"])
def test_a_reset_of_the_pf_takes_them_along(machine, how):
    vfs = machine.enable_vfs(VFS)
    for function in (*vfs, machine):
        function.enable_admin_queue()
    if how == "function":
        reset_by_function(machine, 0)
        machine.place_bars()
    else:
        machine.qmp.command("system_reset")
        machine.qmp.wait_event("RESET")
        machine.firmware()
    assert enabled(machine) == (0, 0)
    assert not any(there(vf) for vf in vfs)
    vf, = machine.enable_vfs(1)
    assert there(vf) and not vf.reg("STATUS") & machine.contract["VERNA_STATUS_AQ_ENABLED"]
