# SPDX-License-Identifier: GPL-2.0-or-later
"""The card in QEMU without a guest: what PCI, BARs, DMA and resets do."""

import tempfile
from pathlib import Path

import pytest

from machine import BARS, COMMAND, MASTER, MEMORY, MSIX_CAPABILITY, PCIE_CAPABILITY, RAM, Machine


@pytest.fixture
def machine(setup_paths):
    with tempfile.TemporaryDirectory(prefix="verna-") as folder, \
            Machine(setup_paths, Path(folder)) as made:
        yield made
        # Whatever a test did, QEMU lives and the card answers.
        assert made.process.poll() is None
        assert made.qmp.command("query-status")


def alive(machine) -> bool:
    return machine.reg("MAGIC") == machine.contract["VERNA_MAGIC"]


def test_identity(machine):
    contract = machine.contract
    assert machine.config(1, 0, 0) == \
        contract["VERNA_PCI_DEVICE_ID"] << 16 | contract["VERNA_PCI_VENDOR_ID"]
    assert machine.config(1, 0, 8) == 0x02000000 | contract["VERNA_PCI_REVISION"]
    assert alive(machine)
    assert machine.reg("ABI") == contract["VERNA_ABI_MAJOR"] << 16 | contract["VERNA_ABI_MINOR"]
    assert machine.reg("NUM_VECTORS") == 129
    machine.set_reg("TEST_REG", 0x12345678)
    assert machine.reg("TEST_REG") == 0xffffffff ^ 0x12345678


def test_bars_have_the_sizes_of_the_contract(machine):
    for bar, size in ((0, machine.contract["VERNA_REGS_SIZE"]), (2, 1024 * 4096), (4, 64 << 10)):
        register = 0x10 + 4 * bar
        machine.config(1, 0, register, 0xffffffff)
        mask = machine.config(1, 0, register)
        assert mask & 0xf == 4, "64-bit, not prefetchable"
        assert (~mask & 0xfffffff0) + 0x10 == size
    machine.place_bars()
    assert alive(machine)


def test_every_offset_and_size_of_every_bar(machine):
    """Reads and writes of any size, also unaligned and where nothing is, are harmless."""
    for bar, span in ((0, 0x10000), (2, 0x3000), (4, 0x10000)):
        for size in (1, 2, 4, 8):
            for offset in [*range(0, 0x110, 1), *range(0x110, span, 509), span - 8]:
                addr = BARS[bar] + min(offset, span - size)
                machine.qtest.load(addr, size)
                # Not the control register, which would reset, nor MSI-X vectors.
                if bar == 2 or (bar == 0 and not 0x10 <= offset <= 0x3f):
                    machine.qtest.store(addr, size, 0xa5a5a5a5a5a5a5a5 & (1 << 8 * size) - 1)
    assert alive(machine)


def test_admin_queue_and_event_interrupt(machine):
    machine.enable_admin_queue()
    assert machine.command("verna_cmd_object", "NOP")["status"] == 0
    # An event queue whose vector writes to memory: an MSI-X message is a DMA write.
    at = machine.capability(MSIX_CAPABILITY)
    machine.config(1, 0, at, 0x80000000 | machine.config(1, 0, at))
    target = machine.memory(4096)
    vector = BARS[4] + 16 * 3
    for offset, value in ((0, target), (4, 0), (8, 0xcafe0003), (12, 0)):
        machine.qtest.store(vector + offset, 4, value)
    machine.set_reg("TEST_IRQ", 3)
    machine.wait(lambda: machine.qtest.load(target, 4) == 0xcafe0003, "the interrupt")
    for wrong in (129, 0xffffffff):
        machine.set_reg("TEST_IRQ", wrong)
    memory = machine.memory(8192)
    reply = machine.command("verna_cmd_create_eq", "CREATE_EQ", id=1, vector=3, log_size=4,
                            mem__addr=memory, mem__num_pages=1, ring_offset=128)
    assert reply["status"] == 0
    reply = machine.command("verna_cmd_create_eq", "CREATE_EQ", id=2, vector=129, log_size=4,
                            mem__addr=memory, mem__num_pages=1, ring_offset=128)
    assert reply["status"] == machine.contract["VERNA_CMD_BAD_PARAM"]
    eq = machine.contract.struct("verna_cmd_create_eq")
    assert reply["detail"] == eq.fields["vector"].offset


def test_dma_reaches_memory_and_nothing_else(machine):
    addr = machine.memory(4096)
    assert machine.test_dma(addr, 4096, "FILL") == "OK"
    assert machine.qtest.read(addr, 4096) == bytes([0x96]) * 4096
    assert machine.test_dma(addr + 1, 10, "INVERT") == "OK"
    assert machine.qtest.read(addr, 12) == b"\x96" + b"\x69" * 10 + b"\x96"
    registers = machine.qtest.read(BARS[0] + 0x1000, 64)
    nowhere = {
        "its own registers": BARS[0], "its own doorbells": BARS[2], "its own vectors": BARS[4],
        "the end of memory": RAM - 8, "behind memory": RAM, "the interrupt controller": 0xfee00000,
        "the firmware": 0xffffff00, "the last bytes of all": (1 << 64) - 8,
        "far away": 1 << 52,
    }
    for what, where in nowhere.items():
        for command in ("FILL", "INVERT"):
            assert machine.test_dma(where, 16, command) == "FAULT", what
    assert machine.qtest.read(BARS[0] + 0x1000, 64) == registers
    assert machine.test_dma(addr, 4097, "FILL") == "EINVAL"
    assert machine.test_dma(addr, 16, "CLEAR") == "OK", "the card goes on"


def test_dma_needs_bus_mastering(machine):
    addr = machine.memory(4096)
    machine.config(1, 0, COMMAND, MEMORY)
    assert machine.test_dma(addr, 16, "FILL") == "FAULT"
    assert machine.qtest.read(addr, 16) == bytes(16)
    machine.config(1, 0, COMMAND, MEMORY | MASTER)
    assert machine.test_dma(addr, 16, "FILL") == "OK"


def test_admin_queue_outside_of_memory_is_fatal_until_reset(machine):
    contract = machine.contract
    for name in ("SQ", "CQ"):
        machine.set_reg(f"AQ_{name}_LO", BARS[0] & ~0xfff)
    machine.set_reg("AQ_LOG_SIZE", 4)
    machine.set_reg("CONTROL", contract["VERNA_CONTROL_AQ_ENABLE"])
    machine.set_reg("AQ_DOORBELL", 1)
    machine.wait(lambda: machine.reg("STATUS") & contract["VERNA_STATUS_FATAL"], "FATAL")
    assert machine.reg("FATAL_CODE") == contract["VERNA_FATAL_AQ_DMA"]
    machine.set_reg("CONTROL", contract["VERNA_CONTROL_RESET"])
    machine.wait(lambda: machine.reg("STATUS") & contract["VERNA_STATUS_READY"], "READY")
    machine.enable_admin_queue()
    assert machine.command("verna_cmd_object", "NOP")["status"] == 0


def test_function_level_reset(machine):
    machine.enable_admin_queue()
    machine.set_reg("TEST_REG", 1)
    at = machine.capability(PCIE_CAPABILITY)
    machine.config(1, 0, at + 8, machine.config(1, 0, at + 8) | 1 << 15)
    machine.wait(lambda: not machine.config(1, 0, COMMAND) & MASTER, "the reset of the command")
    machine.place_bars()
    assert machine.reg("TEST_REG") == 0xffffffff
    assert machine.reg("CONTROL") == 0
    machine.enable_admin_queue()
    assert machine.command("verna_cmd_object", "NOP")["status"] == 0


def test_system_reset(machine):
    for _ in range(3):
        machine.enable_admin_queue()
        machine.qmp.command("system_reset")
        machine.qmp.wait_event("RESET")
        machine.firmware()
        assert machine.reg("CONTROL") == 0


def test_link_follows_set_link(machine):
    up = machine.contract["VERNA_STATUS_LINK_UP"]
    assert not machine.reg("STATUS") & up, "there is no peer"
    for state in (False, True, False, True):
        machine.qmp.command("set_link", name="card", up=state)
    assert alive(machine)


def test_doorbells_of_nobody_are_counted(machine):
    machine.enable_admin_queue()
    contract = machine.contract
    for page in (0, 1, 1023):
        for value in (0, 0xffffffff, 1 << 24 | 0x123456, 3 << 24):
            machine.qtest.store(BARS[2] + page * 4096, 4, value)
    buffer = machine.memory(4096)
    reply = machine.command("verna_cmd_query", "QUERY_COUNTERS", addr=buffer, len=4096,
                            group=contract["VERNA_COUNTERS_DEV"])
    assert reply["status"] == 0
    names = contract.counter_names("DEV")
    counters = dict(zip(names, (machine.qtest.load(buffer + 8 * i, 8) for i in range(len(names)))))
    assert counters["doorbells"] == 12
    assert counters["bad_doorbells"] == 12
