#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames and files for tests of offloads.

rawnet.py send INTERFACE        sends each line of the input, a frame in hexadecimal, the last one
                                when the others are surely on the wire
rawnet.py take INTERFACE S END  prints what comes in until a frame ends with END (or S seconds have
                                gone): each frame in hexadecimal, with its VLAN tag if it had one,
                                and `valid` if its checksum was found right, else `unknown`; says
                                `ready` first
rawnet.py serve PORT FILE       takes one connection and writes what comes into the file
rawnet.py put ADDRESS PORT FILE sends a file
"""

import socket
import struct
import sys
import time

SOL_PACKET = 263
PACKET_AUXDATA = 8
AUXDATA = struct.Struct("=IIIHHHH")
STATUS_VLAN = 1 << 4
STATUS_CSUM_VALID = 1 << 7


def packet_socket(name: str, protocol: int) -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    sock.bind((name, protocol))
    return sock


def send(name: str) -> None:
    sock = packet_socket(name, 0)
    *frames, last = [bytes.fromhex(line.strip()) for line in sys.stdin]
    for frame in frames:
        sock.send(frame)
    time.sleep(0.5)
    sock.send(last)


def with_tag(frame: bytes, aux: tuple) -> bytes:
    status, tci, tpid = aux[0], aux[5], aux[6]
    if not status & STATUS_VLAN:
        return frame
    return frame[:12] + struct.pack(">HH", tpid or 0x8100, tci) + frame[12:]


def take(name: str, seconds: str, last: str) -> None:
    sock = packet_socket(name, 3)  # ETH_P_ALL
    print("ready", flush=True)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        sock.settimeout(max(0.01, end - time.monotonic()))
        try:
            frame, control, _, address = sock.recvmsg(70000, 256)
        except socket.timeout:
            break
        if address[2] == 4:  # going out
            continue
        aux = AUXDATA.unpack(control[0][2][:AUXDATA.size])
        word = "valid" if aux[0] & STATUS_CSUM_VALID else "unknown"
        print(with_tag(frame, aux).hex(), word, flush=True)
        if frame.endswith(last.encode()):
            break


def serve(port: str, name: str) -> None:
    listener = socket.socket(socket.AF_INET6)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("::", int(port)))
    listener.listen(1)
    print("ready", flush=True)
    connection, _ = listener.accept()
    with open(name, "wb") as out:
        while data := connection.recv(1 << 18):
            out.write(data)


def put(address: str, port: str, name: str) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family)
    sock.connect((address, int(port)))
    with open(name, "rb") as data:
        sock.sendfile(data)
    sock.close()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
