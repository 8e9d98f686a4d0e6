#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames of type 0x88b5.

frames.py OUT IN DESTINATION SHIFT SIZE...: sends them out of one interface and takes what comes
back on another, each before the next. The payload is a pattern; what comes back is compared with
it, moved by SHIFT bytes. Prints `SIZE LENGTH WORD` for each frame, LENGTH 0 if none came; WORD is
`same`, or where the payload differs first. With `-` for IN nothing is waited for or printed.

frames.py count INTERFACE: prints `ready`, counts what comes until its input ends, and prints
`DESTINATION LENGTH SUM` for each frame, SUM being that of its last bytes behind byte 40."""

import select
import socket
import sys

TYPE = 0x88b5
HEADER = 14
WAIT = 1.0


def opened(name: str, receive: bool) -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.bind((name, TYPE if receive else 0))
    sock.settimeout(WAIT)
    return sock


def pattern(size: int) -> bytes:
    return bytes((i * 7 + (i >> 8) * 13 + 1) & 0xff for i in range(size))


def difference(sent: bytes, got: bytes, shift: int) -> str:
    """`got` has `shift` bytes of anything (or lacks as many) in front of what was sent."""
    if shift < 0:
        sent, shift = sent[-shift:], 0
    got = got[shift:]
    for i in range(min(len(sent), len(got))):
        if sent[i] != got[i]:
            return f"differs@{i}"
    return "same"


def receive(sock: socket.socket) -> bytes:
    """The next frame that came in; those that went out are shown, too, if it is one interface."""
    while True:
        frame, address = sock.recvfrom(65536)
        if address[2] != socket.PACKET_OUTGOING:
            return frame


def count(name: str) -> int:
    sock = opened(name, True)
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([sock, sys.stdin], [], [])
        if sock in ready:
            frame = receive(sock)
            print(frame[:6].hex(":"), len(frame), sum(frame[40:]), flush=True)
        elif sys.stdin in ready:
            return 0


def main() -> int:
    if sys.argv[1] == "count":
        return count(sys.argv[2])
    name_out, name_in, destination, shift, *sizes = sys.argv[1:]
    out = opened(name_out, False)
    into = None if name_in == "-" else opened(name_in, True)
    source = out.getsockname()[4]
    header = bytes.fromhex(destination.replace(":", "")) + source + TYPE.to_bytes(2, "big")
    for size in map(int, sizes):
        payload = pattern(max(size - HEADER, 0))
        out.send(header + payload)
        if not into:
            continue
        try:
            frame = receive(into)
        except TimeoutError:
            print(size, 0, "nothing", flush=True)
            continue
        print(size, len(frame), difference(payload, frame[HEADER:], int(shift)), flush=True)
    return 0


sys.exit(main())
