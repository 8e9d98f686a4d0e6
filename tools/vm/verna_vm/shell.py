# SPDX-License-Identifier: GPL-2.0-or-later
"""python3 -m verna_vm.shell [N]: a shell in one guest, or in N guests whose cards are joined.

All of it goes through the agents, so a window can be resized and no output is lost.
"""

import os
import select
import shutil
import signal
import sys
import termios
import threading
import tty

from .agent import GuestGone
from .devices import Card
from .guest import Guest
from .launch import REPO, artefacts, with_sdk
from .topology import Topology

ESCAPE = b"\x1d"  # Ctrl-]
HELP = "Ctrl-] then n: next guest, q: end all, Ctrl-]: send it to the guest"


def note(text: str) -> None:
    os.write(2, f"\r\n[vm] {text}\r\n".encode())


class Session:
    """The shells of all guests, one of which has the terminal."""

    def __init__(self, guests: list[Guest]):
        self.guests = guests
        self.current = 0
        self.ended = threading.Event()
        self.wake_out, self.wake_in = os.pipe()
        self.shells = [guest.popen("TERM=%s exec bash -l" % os.environ.get("TERM", "linux"),
                                   tty=True, on_output=self._printer(index))
                       for index, guest in enumerate(guests)]
        self.backlog = [b""] * len(guests)
        for shell in self.shells:
            threading.Thread(target=self._watch, args=(shell,), daemon=True).start()

    def _printer(self, index: int):
        def show(data: bytes) -> None:
            if index == self.current:
                os.write(1, data)
            else:
                self.backlog[index] = (self.backlog[index] + data)[-65536:]
        return show

    def _watch(self, shell) -> None:
        """Any shell's end ends the session."""
        try:
            shell.wait(1e9)
        except Exception:
            pass
        self.ended.set()
        os.write(self.wake_in, b"x")

    def resize(self, *_) -> None:
        columns, rows = shutil.get_terminal_size()
        for shell in self.shells:
            shell.resize(rows, columns)

    def switch(self) -> None:
        self.current = (self.current + 1) % len(self.guests)
        note(f"guest {self.guests[self.current].name}")
        os.write(1, self.backlog[self.current])
        self.backlog[self.current] = b""
        if len(self.guests) > 1:
            self.shells[self.current].send(b"\x0c")  # the shell draws its prompt again

    def _escape(self, key: bytes) -> None:
        if key == b"n":
            self.switch()
        elif key == b"q":
            self.ended.set()
        elif key == ESCAPE:
            self.shells[self.current].send(ESCAPE)
        else:
            note(HELP)

    def loop(self) -> None:
        escaping = False
        while not self.ended.is_set():
            ready, _, _ = select.select([0, self.wake_out], [], [])
            if 0 not in ready:
                continue
            data = os.read(0, 4096)
            if not data:
                return
            for key in (data[i:i + 1] for i in range(len(data))) if escaping or ESCAPE in data \
                    else [data]:
                if escaping:
                    self._escape(key)
                    escaping = False
                elif key == ESCAPE:
                    escaping = True
                else:
                    self.shells[self.current].send(key)


def interact(guests: list[Guest]) -> None:
    session = Session(guests)
    session.resize()
    if not sys.stdin.isatty():
        session.loop()
        return
    saved = termios.tcgetattr(0)
    signal.signal(signal.SIGWINCH, session.resize)
    try:
        tty.setraw(0)
        session.loop()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, saved)


def address(guests: list[Guest]) -> None:
    """Gives every interface of the guests an address: 10.0.0.1 is the first guest's first."""
    for number, guest in enumerate(guests, 1):
        guest.run("i=0; for d in $(ls /sys/class/net); do [ $d = lo ] && continue; "
                  f"ip addr add 10.0.$i.{number}/24 dev $d; ip link set $d up; i=$((i + 1)); done")


def vernactl(card: Card) -> str:
    """The words that ask a card from another terminal; one more says what."""
    return " ".join([*with_sdk(artefacts(), "vernactl"), card.ctl, "state"])


def run(count: int) -> None:
    with Topology(REPO / "build/vm") as net:
        guests = [net.guest(f"guest{number}", memory="2G") for number in range(1, count + 1)]
        if count == 2:
            net.link(*guests)
        else:
            net.single(guests[0])
        print("[vm] booting ...", file=sys.stderr)
        net.start()
        address(guests)
        for guest in guests:
            note(f"{guest.name}: {vernactl(guest.devices[0])}")
        note(f"{count} guest(s), {guests[0].accel}, logs in {net.folder}; {HELP}")
        interact(guests)


def main() -> int:
    word = sys.argv[1] if len(sys.argv) > 1 else "1"
    if word not in ("1", "2"):
        print(f"N is '{word}': it must be 1 or 2", file=sys.stderr)
        return 2
    try:
        run(int(word))
    except (GuestGone, TimeoutError, ValueError, RuntimeError) as error:
        print(f"[vm] {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
