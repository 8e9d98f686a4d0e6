#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A driver of a card's function in user space, by vfio: vfio.py ADDRESS [hold].

The function is bound to vfio-pci. Its registers are mapped, memory is mapped for its DMA, its
self-test (Documentation/hw/registers.md) writes there and elsewhere and raises an interrupt, and it
is reset. Prints what it saw as JSON; with `hold` it then keeps the function until it is killed."""

import ctypes
import fcntl
import json
import mmap
import os
import select
import struct
import sys
import time

# <linux/vfio.h>
SET_IOMMU, GROUP_SET_CONTAINER, GROUP_GET_DEVICE_FD = 0x3b66, 0x3b68, 0x3b6a
DEVICE_GET_REGION_INFO, DEVICE_SET_IRQS, DEVICE_RESET = 0x3b6c, 0x3b6e, 0x3b6f
IOMMU_MAP_DMA, IOMMU_UNMAP_DMA = 0x3b71, 0x3b72
TYPE1, BAR0, CONFIG, MSIX = 1, 0, 7, 2
EVENTFD, TRIGGER = 1 << 2, 1 << 5

# hw/verna_regs.h
MAGIC, STATUS, MAC_LO, FUNCTION = 0x0, 0x10, 0x48, 0x50
TEST_REG, TEST_IRQ, DMA_LO, DMA_HI, DMA_SIZE, DMA_CTRL, DMA_STATUS = range(0x80, 0x9c, 4)
FILL, INVERT, BUSY = 2, 3, 1
PAGE, IOVA, ELSEWHERE = 4096, 0x100000, 0x900000


class Function:
    """An open function, with a page of memory that it can reach at IOVA."""

    def __init__(self, address: str):
        group = os.path.basename(os.readlink(f"/sys/bus/pci/devices/{address}/iommu_group"))
        self.container = os.open("/dev/vfio/vfio", os.O_RDWR)
        self.group = os.open(f"/dev/vfio/{group}", os.O_RDWR)
        fcntl.ioctl(self.group, GROUP_SET_CONTAINER, struct.pack("i", self.container))
        fcntl.ioctl(self.container, SET_IOMMU, TYPE1)
        self.device = fcntl.ioctl(self.group, GROUP_GET_DEVICE_FD,
                                  bytearray(address.encode() + b"\0"))
        offset, size = self.region(BAR0)
        self.registers = mmap.mmap(self.device, size, offset=offset)
        self.memory = mmap.mmap(-1, PAGE)
        self.map()
        config, _ = self.region(CONFIG)
        command, = struct.unpack("<H", os.pread(self.device, 2, config + 4))
        os.pwrite(self.device, struct.pack("<H", command | 6), config + 4)  # memory, bus master

    def region(self, index: int) -> tuple[int, int]:
        info = bytearray(struct.pack("IIIIQQ", 32, 0, index, 0, 0, 0))
        fcntl.ioctl(self.device, DEVICE_GET_REGION_INFO, info)
        *_, size, offset = struct.unpack("IIIIQQ", info)
        return offset, size

    def map(self) -> None:
        place = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        fcntl.ioctl(self.container, IOMMU_MAP_DMA, struct.pack("IIQQQ", 32, 3, place, IOVA, PAGE))

    def unmap(self) -> None:
        fcntl.ioctl(self.container, IOMMU_UNMAP_DMA, bytearray(
            struct.pack("IIQQ", 24, 0, IOVA, PAGE)))

    def read(self, offset: int) -> int:
        return ctypes.c_uint32.from_buffer(self.registers, offset).value

    def write(self, offset: int, value: int) -> None:
        ctypes.c_uint32.from_buffer(self.registers, offset).value = value

    def dma(self, command: int, address: int) -> int:
        """The status of a DMA test."""
        for register, value in ((DMA_LO, address), (DMA_HI, 0), (DMA_SIZE, PAGE)):
            self.write(register, value)
        self.write(DMA_CTRL, command)
        for _ in range(1000):
            if (status := self.read(DMA_STATUS)) != BUSY:
                return status
            time.sleep(0.01)
        return BUSY

    def interrupt(self, vector: int) -> bool:
        """Whether a vector that is raised arrives."""
        event = os.eventfd(0)
        fcntl.ioctl(self.device, DEVICE_SET_IRQS, struct.pack(
            "IIIIIi", 24, EVENTFD | TRIGGER, MSIX, vector, 1, event))
        self.write(TEST_IRQ, vector)
        return bool(select.select([event], [], [], 10)[0])

    def reset(self) -> None:
        fcntl.ioctl(self.device, DEVICE_RESET)


def main() -> None:
    function = Function(sys.argv[1])
    seen = {"magic": function.read(MAGIC), "function": function.read(FUNCTION),
            "mac": function.registers[MAC_LO:MAC_LO + 6].hex(":")}
    function.write(TEST_REG, 5)
    seen["test_reg"] = function.read(TEST_REG)
    seen["fill"] = function.dma(FILL, IOVA), set(function.memory[:]) == {0x96}
    seen["invert"] = function.dma(INVERT, IOVA), set(function.memory[:]) == {0x69}
    seen["elsewhere"] = function.dma(FILL, ELSEWHERE)
    seen["interrupt"] = function.interrupt(1)
    function.unmap()
    seen["unmapped"] = function.dma(FILL, IOVA), set(function.memory[:]) == {0x69}
    function.reset()
    function.map()
    seen["after_reset"] = function.dma(FILL, IOVA), set(function.memory[:]) == {0x96}
    print(json.dumps(seen), flush=True)
    if sys.argv[2:] == ["hold"]:
        time.sleep(1000)


main()
