#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sniff.py send INTERFACE: reads frames in hexadecimal, a line each, and sends them.

sniff.py INTERFACE MARK: prints `ready`, then, until its input ends and nothing has come for a
second, each frame that comes in and has MARK (hexadecimal) in it, with the tag that the interface
took out of it."""

import select
import socket
import struct
import sys

ALL = 3  # ETH_P_ALL
SOL_PACKET, PACKET_AUXDATA = 263, 8
TAGGED, TPID = 0x10, 0x40  # TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID
QUIET = 1.0


def whole(frame: bytes, control: list) -> bytes:
    """The frame with its outer tag."""
    for level, kind, data in control:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", data[:20])
            if status & TAGGED:
                tpid = tpid if status & TPID else 0x8100
                return frame[:12] + struct.pack(">HH", tpid, tci) + frame[12:]
    return frame


def sniff(name: str, mark: bytes) -> None:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    sock.bind((name, ALL))
    sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    print("ready", flush=True)
    wait, sources = None, [sock, sys.stdin]
    while ready := select.select(sources, [], [], wait)[0]:
        if sock in ready:
            frame, control, _, address = sock.recvmsg(65536, 1000)
            if address[2] != socket.PACKET_OUTGOING and mark in frame:
                print(whole(frame, control).hex(), flush=True)
        elif not sys.stdin.read(1):
            wait, sources = QUIET, [sock]


def send(name: str) -> None:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.bind((name, 0))
    for line in sys.stdin:
        sock.send(bytes.fromhex(line))


if sys.argv[1] == "send":
    send(sys.argv[2])
else:
    sniff(sys.argv[1], bytes.fromhex(sys.argv[2]))
