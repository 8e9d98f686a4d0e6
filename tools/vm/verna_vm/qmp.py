# SPDX-License-Identifier: GPL-2.0-or-later
"""A small QMP client: one command at a time, events kept for those who wait for them."""

import json
import socket
import threading
import time


class QmpError(Exception):
    """QEMU refused a command."""


class Qmp:
    """The monitor of one QEMU."""

    def __init__(self, stream: socket.socket, timeout: float = 30):
        self._stream = stream
        self._stream.settimeout(timeout)
        self._lock = threading.Lock()
        self._buffer = b""
        self.events: list[dict] = []
        self._read_message()  # the greeting
        self.command("qmp_capabilities")

    def _read_message(self) -> dict:
        while b"\n" not in self._buffer:
            data = self._stream.recv(65536)
            if not data:
                raise QmpError("QEMU ended")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)

    def command(self, name: str, /, **arguments):
        """Runs a command and returns what it returns. `device_add(id=..)`-style arguments;
        a trailing underscore of a key is dropped and others become dashes."""
        keys = {key.rstrip("_").replace("_", "-"): value for key, value in arguments.items()}
        message = {"execute": name} | ({"arguments": keys} if keys else {})
        with self._lock:
            self._stream.sendall(json.dumps(message).encode())
            while True:
                answer = self._read_message()
                if "event" in answer:
                    self.events.append(answer)
                elif "error" in answer:
                    raise QmpError(f"{name}: {answer['error']['desc']}")
                else:
                    return answer["return"]

    def wait_event(self, name: str, /, timeout: float = 30, **data) -> dict:
        """Waits for an event of that name whose data has the given items, and consumes it."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            self.command("query-status")  # reads the events that stand before its answer
            for event in self.events:
                if event["event"] == name and data.items() <= event.get("data", {}).items():
                    self.events.remove(event)
                    return event
            time.sleep(0.1)
        raise TimeoutError(f"no event {name} {data or ''} within {timeout:g} s")

    def close(self) -> None:
        self._stream.close()
