#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""napi_get.py INTERFACE: what netdev-genl tells of its NAPIs: `ID IRQ` for each, IRQ 0 if it has
none to tell."""

import socket
import struct
import sys

NETLINK_GENERIC, GENL_ID_CTRL, NLMSG_ERROR, NLMSG_DONE = 16, 16, 2, 3
REQUEST, DUMP = 1, 0x300
CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 3, 1, 2
NAPI_GET, NAPI_IFINDEX, NAPI_ID, NAPI_IRQ = 11, 1, 2, 3


def attribute(kind: int, data: bytes) -> bytes:
    return (struct.pack("=HH", 4 + len(data), kind) + data).ljust((len(data) + 7) & ~3, b"\0")


def attributes(data: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while at + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, at)
        found[kind & 0x3fff] = data[at + 4:at + length]
        at += (length + 3) & ~3
    return found


def ask(sock: socket.socket, family: int, flags: int, command: int,
        what: bytes) -> list[dict[int, bytes]]:
    """The attributes of each answer."""
    body = struct.pack("=BBH", command, 1, 0) + what
    sock.send(struct.pack("=IHHII", 16 + len(body), family, REQUEST | flags, 1, 0) + body)
    answers = []
    while True:
        data, at = sock.recv(1 << 16), 0
        while at < len(data):
            length, kind = struct.unpack_from("=IH", data, at)
            if kind == NLMSG_ERROR:
                sys.exit(f"error {struct.unpack_from('=i', data, at + 16)[0]}")
            if kind == NLMSG_DONE:
                return answers
            answers.append(attributes(data[at + 20:at + length]))
            at += (length + 3) & ~3
        if not flags & DUMP:
            return answers


def number(data: bytes) -> int:
    return int.from_bytes(data, sys.byteorder)


def main() -> None:
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
    sock.bind((0, 0))
    family, = ask(sock, GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY,
                  attribute(CTRL_ATTR_FAMILY_NAME, b"netdev\0"))
    index = socket.if_nametoindex(sys.argv[1])
    for napi in ask(sock, number(family[CTRL_ATTR_FAMILY_ID]), DUMP, NAPI_GET,
                    attribute(NAPI_IFINDEX, struct.pack("=I", index))):
        print(number(napi[NAPI_ID]), number(napi.get(NAPI_IRQ, b"")))


if __name__ == "__main__":
    main()
