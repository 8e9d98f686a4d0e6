# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU with a card and no guest: the test is processor, firmware and driver.

Memory is a plain 64 MiB at 0; the card is behind a root port, with its BARs where `Machine` puts
them.
"""

import contextlib
import copy
import itertools
import socket
import subprocess
import time
from pathlib import Path

from abi.contract import Contract
from verna_vm import launch
from verna_vm.qmp import Qmp

RAM = 64 << 20
BARS = {0: 0xc0000000, 2: 0xc1000000, 4: 0xc2000000}
VF_BARS = {0: 0xc4000000, 2: 0xc5000000, 4: 0xc6000000}
WINDOW_END = 0xcfffffff
# All of configuration space, once the host bridge was told where.
ECAM, ECAM_REGISTER = 0xb0000000, 0x60
# Configuration space through ports.
CONFIG_ADDRESS, CONFIG_DATA = 0xcf8, 0xcfc
COMMAND, BUS_NUMBERS, MEMORY_WINDOW = 0x04, 0x18, 0x20
MEMORY, MASTER = 2, 4
PCIE_CAPABILITY, MSIX_CAPABILITY = 0x10, 0x11
SRIOV_CAPABILITY, SRIOV_CONTROL, SRIOV_NUM_VFS = 0x10, 0x08, 0x10
SRIOV_VF_ENABLE, SRIOV_VF_MEMORY = 1, 8


class Qtest:
    """QEMU's test protocol: one line there, one line back."""

    def __init__(self, stream: socket.socket):
        self._stream = stream
        self._stream.settimeout(30)
        self._buffer = b""

    def _line(self) -> str:
        while b"\n" not in self._buffer:
            data = self._stream.recv(65536)
            if not data:
                raise EOFError("QEMU ended")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.decode()

    def command(self, text: str) -> str:
        self._stream.sendall(text.encode() + b"\n")
        while True:
            line = self._line()
            if line.startswith("IRQ"):
                continue
            status, _, rest = line.partition(" ")
            if status != "OK":
                raise RuntimeError(f"{text}: {line}")
            return rest

    def outl(self, port: int, value: int) -> None:
        self.command(f"outl {port:#x} {value:#x}")

    def inl(self, port: int) -> int:
        return int(self.command(f"inl {port:#x}"), 16)

    def load(self, addr: int, size: int) -> int:
        return int(self.command(f"read{'bwlq'[size.bit_length() - 1]} {addr:#x}"), 16)

    def store(self, addr: int, size: int, value: int) -> None:
        self.command(f"write{'bwlq'[size.bit_length() - 1]} {addr:#x} {value:#x}")

    def read(self, addr: int, size: int) -> bytes:
        return bytes.fromhex(self.command(f"read {addr:#x} {size:#x}")[2:])

    def write(self, addr: int, data: bytes) -> None:
        self.command(f"write {addr:#x} {len(data):#x} 0x{data.hex()}")


class Machine:
    """A q35 with one card; a context manager."""

    def __init__(self, setup: dict, folder: Path, properties: str = "", more: tuple = ()):
        self.contract = Contract()
        self._pages = itertools.count(256)
        self.regs, self.vectors = BARS[0], BARS[4]
        self._ended = contextlib.ExitStack()
        try:
            self._start(setup, folder, properties, more)
        except BaseException:
            self._ended.close()
            raise

    def _start(self, setup: dict, folder: Path, properties: str, more: tuple) -> None:
        servers = {}
        for name in ("qtest", "qmp"):
            servers[name] = self._ended.enter_context(socket.socket(socket.AF_UNIX))
            servers[name].bind(str(folder / name))
            servers[name].listen(1)
            servers[name].settimeout(30)
        log = self._ended.enter_context(open(folder / "qemu.log", "w"))
        self.process = subprocess.Popen(
            [*launch.program(setup), "-machine", "q35", "-accel", "qtest", "-nodefaults",
             "-display", "none", "-m", f"{RAM >> 20}", "-qtest", f"unix:{folder}/qtest",
             "-qmp", f"unix:{folder}/qmp",
             "-device", "pcie-root-port,id=root,chassis=1,addr=4",
             "-device", f"verna,id=card,bus=root,link={folder}/link{properties}", *more],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            preexec_fn=launch.die_with_parent)
        self._ended.callback(self._end)
        streams = {name: self._ended.enter_context(server.accept()[0])
                   for name, server in servers.items()}
        self.qtest = Qtest(streams["qtest"])
        self.qmp = Qmp(streams["qmp"])
        self.firmware()

    def _end(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_) -> None:
        self._ended.close()

    # --- PCI ---------------------------------------------------------------------------------

    def config(self, bus: int, device: int, register: int, value: int | None = None) -> int:
        self.qtest.outl(CONFIG_ADDRESS, 1 << 31 | bus << 16 | device << 11 | register & ~3)
        if value is None:
            return self.qtest.inl(CONFIG_DATA)
        self.qtest.outl(CONFIG_DATA, value)
        return value

    def capability(self, wanted: int) -> int:
        at = self.config(1, 0, 0x34) & 0xff
        while at:
            word = self.config(1, 0, at)
            if word & 0xff == wanted:
                return at
            at = word >> 8 & 0xff
        raise LookupError(f"no capability {wanted:#x}")

    def firmware(self) -> None:
        """What firmware does: numbers the bus, opens the bridge, places the BARs."""
        window = BARS[0] >> 16 & 0xfff0 | WINDOW_END & 0xfff00000
        self.config(0, 0, ECAM_REGISTER, ECAM | 1)
        self.config(0, 4, BUS_NUMBERS, 0x00010100)
        self.config(0, 4, MEMORY_WINDOW, window)
        self.config(0, 4, COMMAND, MEMORY | MASTER)
        self.place_bars()

    def ecam(self, function: int, register: int) -> int:
        """Address of a register in the configuration space of a function on the card's bus."""
        return ECAM | 1 << 20 | function << 12 | register

    def place_bars(self) -> None:
        for bar, addr in BARS.items():
            self.config(1, 0, 0x10 + 4 * bar, addr)
            self.config(1, 0, 0x14 + 4 * bar, 0)
        self.config(1, 0, COMMAND, MEMORY | MASTER)

    # --- virtual functions ---

    def extended_capability(self, wanted: int) -> int:
        at = 0x100
        while at:
            word = self.qtest.load(self.ecam(0, at), 4)
            if word & 0xffff == wanted:
                return at
            at = word >> 20
        raise LookupError(f"no extended capability {wanted:#x}")

    def enable_vfs(self, count: int) -> list["Machine"]:
        """Lets VFs appear, whose memory and bus mastering are on."""
        cap = self.extended_capability(SRIOV_CAPABILITY)
        for bar, addr in VF_BARS.items():
            self.qtest.store(self.ecam(0, cap + 0x24 + 4 * bar), 4, addr)
            self.qtest.store(self.ecam(0, cap + 0x28 + 4 * bar), 4, 0)
        self.qtest.store(self.ecam(0, cap + SRIOV_NUM_VFS), 2, count)
        self.qtest.store(self.ecam(0, cap + SRIOV_CONTROL), 2, SRIOV_VF_ENABLE | SRIOV_VF_MEMORY)
        vfs = [self.vf(number) for number in range(count)]
        for vf in vfs:
            self.qtest.store(self.ecam(vf.devfn, COMMAND), 2, MEMORY | MASTER)
        return vfs

    def disable_vfs(self) -> None:
        cap = self.extended_capability(SRIOV_CAPABILITY)
        self.qtest.store(self.ecam(0, cap + SRIOV_CONTROL), 2, 0)

    def vf(self, number: int) -> "Machine":
        """The same machine, with the registers of a VF."""
        cap = self.extended_capability(SRIOV_CAPABILITY)
        offset, stride = (self.qtest.load(self.ecam(0, cap + at), 2) for at in (0x14, 0x16))
        vf = copy.copy(self)
        vf.devfn = offset + number * stride
        vf.regs, vf.vectors = (VF_BARS[bar] + number * (64 << 10) for bar in (0, 4))
        return vf

    # --- the card ----------------------------------------------------------------------------

    def reg(self, name: str) -> int:
        return self.qtest.load(self.regs + self.contract[f"VERNA_REG_{name}"], 4)

    def set_reg(self, name: str, value: int) -> None:
        self.qtest.store(self.regs + self.contract[f"VERNA_REG_{name}"], 4, value)

    def wait(self, condition, what: str, seconds: float = 10):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if result := condition():
                return result
            time.sleep(0.002)
        raise TimeoutError(what)

    def memory(self, size: int) -> int:
        """Bus address of unused memory, 4 KiB aligned."""
        pages = [next(self._pages) for _ in range(-(-size // 4096))]
        return pages[0] * 4096

    def enable_admin_queue(self) -> None:
        self._sq, self._cq = self.memory(4096), self.memory(4096)
        for name, addr in (("SQ", self._sq), ("CQ", self._cq)):
            self.set_reg(f"AQ_{name}_LO", addr)
            self.set_reg(f"AQ_{name}_HI", 0)
        self.set_reg("AQ_LOG_SIZE", 5)
        self.set_reg("CONTROL", self.contract["VERNA_CONTROL_AQ_ENABLE"])
        self._posted = 0
        self.wait(lambda: self.reg("STATUS") & self.contract["VERNA_STATUS_AQ_ENABLED"],
                  "the admin queue")

    def command(self, struct: str, opcode: str, **values) -> dict:
        """Runs a command; fields are named with __ for a dot. Returns its completion."""
        fields = {name.replace("__", "."): value for name, value in values.items()}
        fields["hdr.opcode"] = self.contract[f"VERNA_CMD_{opcode}"]
        fields["hdr.cmd_id"] = self._posted & 0xffff
        data = self.contract.struct(struct).pack(fields)
        self.qtest.write(self._sq + self._posted % 32 * 128, data.ljust(128, b"\0"))
        completion = self.contract.struct("verna_cmd_comp")
        place = self._cq + self._posted % 32 * completion.size
        phase = 1 - self._posted // 32 % 2
        self._posted += 1
        self.set_reg("AQ_DOORBELL", self._posted)

        def completed() -> dict | None:
            found = completion.unpack(self.qtest.read(place, completion.size))
            return found if found["phase"] & 1 == phase else None
        return self.wait(completed, opcode)

    def test_dma(self, addr: int, size: int, command: str) -> str:
        """Runs the card's DMA self-test; returns OK, FAULT or EINVAL."""
        self.set_reg("TEST_DMA_LO", addr & 0xffffffff)
        self.set_reg("TEST_DMA_HI", addr >> 32)
        self.set_reg("TEST_DMA_SIZE", size)
        self.set_reg("TEST_DMA_CTRL", self.contract[f"VERNA_TEST_DMA_{command}"])
        busy = self.contract["VERNA_TEST_DMA_BUSY"]
        self.wait(lambda: self.reg("TEST_DMA_STATUS") != busy, "the DMA test")
        names = {self.contract[f"VERNA_TEST_DMA_{name}"]: name
                 for name in ("OK", "FAULT", "EINVAL")}
        return names[self.reg("TEST_DMA_STATUS")]
