# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's end of the guest agent: commands, their output, input, signals and exit status.

The frames are described in ../guest/agent.c. One thread reads the socket and hands frames to the
commands they belong to; callers wait on those.
"""

import itertools
import os
import signal
import socket
import struct
import threading
import time
from dataclasses import dataclass

HEADER = struct.Struct("<III")
EXEC, EXEC_TTY, INPUT, KILL, RESIZE, RESUME = 1, 2, 3, 4, 5, 6
HELLO, OUT, ERR, EXIT = 16, 17, 18, 19
CHUNK = 32768


class GuestGone(Exception):
    """The guest ended, or its agent did, while something was asked of it."""


class CommandFailed(Exception):
    """A command in a guest that was to succeed did not; the text has all that it printed."""


@dataclass
class Result:
    """How a command in a guest ended. A negative status is the signal that ended it."""
    command: str
    rc: int
    out: str
    err: str

    @property
    def ok(self) -> bool:
        return self.rc == 0

    def check(self) -> "Result":
        if self.rc:
            raise CommandFailed(f"'{self.command}' ended with status {self.rc}\n"
                                f"--- out\n{self.out}--- err\n{self.err}")
        return self


class Process:
    """A command that runs in a guest."""

    def __init__(self, agent: "Agent", ident: int, command: str, on_output=None):
        self.agent, self.ident, self.command = agent, ident, command
        self.rc: int | None = None
        self._streams = {OUT: bytearray(), ERR: bytearray()}
        self._changed = threading.Condition()
        self._on_output = on_output

    def _frame(self, kind: int, data: bytes) -> None:
        with self._changed:
            if kind == EXIT:
                self.rc, = struct.unpack("<i", data)
            elif self._on_output:
                self._on_output(data)
            else:
                self._streams[kind] += data
            self._changed.notify_all()

    def _lost(self) -> None:
        with self._changed:
            self._changed.notify_all()

    @property
    def out(self) -> str:
        return self._streams[OUT].decode(errors="replace")

    @property
    def err(self) -> str:
        return self._streams[ERR].decode(errors="replace")

    @property
    def out_bytes(self) -> bytes:
        return bytes(self._streams[OUT])

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        return self.rc

    def _wait_until(self, condition, timeout: float, what: str):
        end = time.monotonic() + timeout * self.agent.patience
        with self._changed:
            while not (value := condition()):
                if self.agent.gone and self.rc is None:
                    raise GuestGone(f"guest {self.agent.name} ended during '{self.command}'")
                left = end - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"guest {self.agent.name}: '{self.command}' {what} within "
                                       f"{timeout:g} s\n--- out\n{self.out}--- err\n{self.err}")
                self._changed.wait(min(left, 1.0))
            return value

    def wait(self, timeout: float = 60) -> Result:
        """Waits for the end. On a timeout the command is killed and TimeoutError raised."""
        try:
            self._wait_until(lambda: self.rc is not None, timeout, "did not end")
        except TimeoutError:
            self.kill(signal.SIGKILL)
            raise
        return Result(self.command, self.rc, self.out, self.err)

    def wait_for(self, text: str, timeout: float = 30) -> None:
        """Waits until the command has printed `text`, or has ended."""
        self._wait_until(lambda: text in self.out or text in self.err or self.rc is not None,
                         timeout, f"did not print {text!r}")
        if text not in self.out and text not in self.err:
            raise CommandFailed(f"'{self.command}' ended with status {self.rc} and never printed "
                                f"{text!r}\n--- out\n{self.out}--- err\n{self.err}")

    def send(self, data: bytes | str) -> None:
        """Bytes for the command's standard input."""
        data = data.encode() if isinstance(data, str) else data
        for start in range(0, len(data), CHUNK):
            self.agent.send(self.ident, INPUT, data[start:start + CHUNK])

    def close_input(self) -> None:
        self.agent.send(self.ident, INPUT, b"")

    def resize(self, rows: int, columns: int) -> None:
        self.agent.send(self.ident, RESIZE, struct.pack("<II", rows, columns))

    def kill(self, number: int = signal.SIGTERM) -> None:
        """Signals the command and its children."""
        if self.rc is None and not self.agent.gone:
            self.agent.send(self.ident, KILL, struct.pack("<I", number))

    def stop(self, timeout: float = 10) -> Result:
        """Ends a server and returns what it printed."""
        self.kill(signal.SIGTERM)
        try:
            self._wait_until(lambda: self.rc is not None, timeout, "did not end")
        except TimeoutError:
            self.kill(signal.SIGKILL)
        return self.wait(timeout)


class Agent:
    """The connection to one guest's agent."""

    def __init__(self, name: str, stream: socket.socket, patience: float = 1):
        self.name, self.patience = name, patience  # time limits are stretched by it
        self.gone = False
        self.ready = threading.Event()
        self._stream = stream
        self._ids = itertools.count(1)
        self._processes: dict[int, Process] = {}
        self._sending = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, ident: int, kind: int, data: bytes) -> None:
        try:
            with self._sending:
                self._stream.sendall(HEADER.pack(len(data), ident, kind) + data)
        except OSError as error:
            raise GuestGone(f"guest {self.name} is gone: {error}") from error

    def start(self, command: str, tty: bool = False, on_output=None) -> Process:
        process = Process(self, next(self._ids), command, on_output)
        self._processes[process.ident] = process
        self.send(process.ident, EXEC_TTY if tty else EXEC, command.encode())
        return process

    def resume(self, now: int, entropy: bytes) -> None:
        """Tells a guest that was saved the time of day (ns) and 32 bytes that make its random
        numbers its own; it says hello again."""
        self.send(0, RESUME, struct.pack("<QQ", *divmod(now, 1_000_000_000)) + entropy)

    def _read_exactly(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = self._stream.recv(count - len(parts))
            if not part:
                raise OSError("end of file")
            parts += part
        return bytes(parts)

    def _read(self) -> None:
        try:
            while True:
                length, ident, kind = HEADER.unpack(self._read_exactly(HEADER.size))
                data = self._read_exactly(length)
                if kind == HELLO:
                    self.ready.set()
                elif ident in self._processes:
                    self._processes[ident]._frame(kind, data)
                    if kind == EXIT:
                        del self._processes[ident]
        except OSError:
            self.gone = True
            for process in list(self._processes.values()):
                process._lost()

    def close(self) -> None:
        self.gone = True
        try:
            self._stream.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._reader.join(timeout=5)
        self._stream.close()


def shell_quote(path: str | os.PathLike) -> str:
    return "'" + str(path).replace("'", "'\\''") + "'"
