#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""gso_send.py WIRE LABEL INTERFACE...: hands packets that must be cut to each interface, with fixed
IDs and sequence numbers, so that two runs differ in nothing but who cuts them. Before and behind
them a frame of type 0x88b6 with the label leaves from WIRE."""

import functools
import socket
import struct
import sys
import time

SOL_PACKET, PACKET_VNET_HDR = 263, 15
MARK = 0x88b6
TCP, UDP = 6, 17
FIN, PSH, ACK, CWR = 0x01, 0x08, 0x10, 0x80
NEEDS_CSUM, GSO_TCP4, GSO_TCP6, GSO_UDP, GSO_ECN = 1, 1, 4, 5, 0x80
MACS = bytes.fromhex("0200000000b20200000000a1")
ARPHRD_ETHER = 1
ADDRESS = {4: (bytes([10, 99, 0, 1]), bytes([10, 99, 0, 2])),
           6: (bytes([0xfd, 0x99] + [0] * 13 + [1]), bytes([0xfd, 0x99] + [0] * 13 + [2]))}

# Payload, size of a segment, TCP flags, bytes of TCP options.
SHAPES = [(5000, 1000, PSH | ACK, 0), (2001, 1000, FIN | PSH | ACK, 12), (100, 8, ACK, 0),
          (4000, 700, CWR | PSH | ACK, 12), (40000, 1300, CWR | FIN | ACK, 40), (999, 500, ACK, 4)]


def total(data: bytes) -> int:
    """The ones' complement sum, folded."""
    value = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while value >> 16:
        value = (value & 0xffff) + (value >> 16)
    return value


def transport(version: int, proto: int, shape) -> bytes:
    """Header and payload; the checksum field holds the sum of the pseudo header."""
    payload, _, flags, options = shape
    size = (20 + options if proto == TCP else 8) + payload
    pseudo = total(b"".join(ADDRESS[version]) + struct.pack("!II", size, proto))
    if proto == TCP:
        header = struct.pack("!HHIIBBHHH", 40000, 5001, 0xfffff000, 0x1234, (20 + options) << 2,
                             flags, 512, pseudo, 0) + b"\1" * options
    else:
        header = struct.pack("!HHHH", 40000, 5001, size, pseudo)
    return header + bytes((i * 31 + (i >> 8)) & 0xff for i in range(payload))


@functools.cache
def packet(version: int, proto: int, shape) -> bytes:
    inner = transport(version, proto, shape)
    source, target = ADDRESS[version]
    if version == 6:
        return struct.pack("!IHBB", 0x60212345, len(inner), proto, 63) + source + target + inner
    header = struct.pack("!BBHHHBBH", 0x45, 2, 20 + len(inner), 0xfffd, 0x4000, 63, proto, 0)
    check = 0xffff ^ total(header + source + target)
    return header[:10] + struct.pack("!H", check) + source + target + inner


def request(version: int, proto: int, shape, at: int) -> bytes:
    """What the kernel is told of a packet whose IP header is at `at`: struct virtio_net_hdr."""
    _, size, flags, options = shape
    kind = GSO_UDP if proto == UDP else GSO_TCP4 if version == 4 else GSO_TCP6
    if proto == TCP and flags & CWR:
        kind |= GSO_ECN
    start = at + (20 if version == 4 else 40)
    headers = start + (20 + options if proto == TCP else 8)
    return struct.pack("=BBHHHH", NEEDS_CSUM, kind, headers, size, start,
                       16 if proto == TCP else 6)


def send(name: str) -> None:
    with open(f"/sys/class/net/{name}/type", encoding="ascii") as file:
        ether = int(file.read()) == ARPHRD_ETHER
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    # A tunnel carries one version of IP, or both.
    carried = {"4": (4,), "6": (6,)}.get(name[-1] if not ether else "", (4, 6))
    for version in carried:
        ethertype = 0x0800 if version == 4 else 0x86dd
        header = MACS + struct.pack("!H", ethertype) if ether else b""
        for proto in (TCP, UDP):
            for shape in SHAPES:
                data = request(version, proto, shape, len(header)) + header + \
                    packet(version, proto, shape)
                sock.sendto(data, (name, ethertype))


def mark(wire: str, label: str) -> None:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    time.sleep(0.3)  # other queues, and what a tunnel still holds
    sock.sendto(MACS + struct.pack("!H", MARK) + label.encode().ljust(46, b"\0"), (wire, MARK))
    time.sleep(0.3)


def main() -> None:
    wire, label, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    mark(wire, "start")
    for name in names:
        mark(wire, f"{label} {name}")
        send(name)
    mark(wire, "end")


if __name__ == "__main__":
    main()
