#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""transfer.py serve ADDRESS PORT, transfer.py send ADDRESS PORT MIB [sctp]: a file over a socket,
with sendfile() and with small writes. Each end prints the SHA-256 of what it sent or received.
`pieces SIZE` instead of `sctp`: a few thousand pieces of that size, each from another page."""

import hashlib
import os
import socket
import sys

SCTP = 132
PAGE, PIECES = 4096, 3000


def connect(address: str, port: int, proto: int, server: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, proto)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if not server:
        sock.connect((address, port))
        return sock
    sock.bind((address, port))
    sock.listen(1)
    print("ready", flush=True)
    return sock.accept()[0]


def serve(sock: socket.socket) -> str:
    digest = hashlib.sha256()
    while data := sock.recv(1 << 18):
        digest.update(data)
    return digest.hexdigest()


def send(sock: socket.socket, mib: int, proto: int) -> str:
    path = "/tmp/transfer"
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for _ in range(mib):
            block = os.urandom(1 << 20)
            digest.update(block)
            file.write(block)
    with open(path, "rb") as file:
        if not proto:
            sock.sendfile(file)
        while data := file.read(8192):
            sock.sendall(data)
    os.unlink(path)
    for size in (1, 7, 1000, 3001, 65000):
        data = os.urandom(size)
        digest.update(data)
        for i in range(0, size, 1400):
            sock.sendall(data[i:i + 1400])
    sock.shutdown(socket.SHUT_WR)
    sock.close()
    return digest.hexdigest()


def send_pieces(sock: socket.socket, size: int) -> str:
    """Pages of a file go into packets as they are; those that do not adjoin are not joined."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    digest = hashlib.sha256()
    with open("/dev/shm/pieces", "w+b") as file:
        data = os.urandom(PAGE * PIECES)
        file.write(data)
        file.flush()
        for i in range(0, PAGE * PIECES, PAGE):
            digest.update(data[i:i + size])
            done = 0
            while done < size:
                done += os.sendfile(sock.fileno(), file.fileno(), i + done, size - done)
    os.unlink("/dev/shm/pieces")
    sock.shutdown(socket.SHUT_WR)
    sock.close()
    return digest.hexdigest()


def main() -> None:
    what, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    proto = SCTP if sys.argv[-1] == "sctp" else 0
    sock = connect(address, port, proto, what == "serve")
    if what == "serve":
        result = serve(sock)
    elif "pieces" in sys.argv:
        result = send_pieces(sock, int(sys.argv[-1]))
    else:
        result = send(sock, int(sys.argv[4]), proto)
    print(result, flush=True)


if __name__ == "__main__":
    main()
