# SPDX-License-Identifier: GPL-2.0-or-later
"""The guests that the tests run in: one has two cards on a link, the second one the remote end; the
other one has a card with VFs in switchdev mode."""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from verna_vm import CommandFailed, Guest, GuestGone, Topology

from . import ktap
from .suite import PAIR, SWITCH, Unit

FOLDER = "/usr/libexec/kselftests"
REMOTE = "ns-remote"  # as cards.sh has it
CPUS = 10  # RPS wants two CPUs without a queue's interrupt, and toeplitz.py leaves eight queues
MEMORY = "4G"
VFS = 3  # tc_police.sh has three hosts
HOSTS = ("h1", "swp1", "swp2", "h2", "swp3", "h3")  # as the scripts want them, named by cards.sh
# Not those of a simulated device (192.0.2, 2001:db8::), which tests give to tunnels between them.
ADDRESSES = {"LOCAL_V4": "203.0.113.1", "REMOTE_V4": "203.0.113.2",
             "LOCAL_V6": "2001:db8:1::1", "REMOTE_V6": "2001:db8:1::2",
             "LOCAL_PREFIX_V6": "2001:db8:2::/64"}  # of containers behind the local end
ENVIRONMENT = {"NETIF": "eth0", **ADDRESSES, "REMOTE_TYPE": "netns", "REMOTE_ARGS": REMOTE,
               "KSFT_MACHINE_SLOW": "yes",
               "PYTHONUNBUFFERED": "1"}

CARDS = Path(__file__).with_name("cards.sh")


@dataclass
class Run:
    """How a unit went."""
    unit: Unit
    outcomes: list[ktap.Outcome]
    seconds: float
    log: Path
    trouble: list[str] = field(default_factory=list)
    attempt: int = 1

    @property
    def results(self) -> list[tuple[str, str, str]]:
        return [(f"{self.unit.name}:{one.name}" if one.name else self.unit.name, one.result,
                 one.note) for one in self.outcomes]

    @property
    def failed(self) -> bool:
        return any(one.result == ktap.FAIL for one in self.outcomes) or bool(self.trouble)


class Lane:
    """A guest with what `disks`, by verna_setup.kselftest, has, and linked cards: eth0 to eth1, and
    so on. `links` is how many pairs there are: one for most tests, two for those of forwarding."""

    name = "ksft"
    begin = "name"  # how cards.sh does
    cpus = CPUS

    def __init__(self, net: Topology, disks: dict, links: int = 1):
        self.net = net
        self.guest: Guest = net.guest(self.name, memory=MEMORY, cpus=self.cpus, root=disks["root"],
                                      layers=disks["layers"])
        self.names = self.plug(links)
        self.known: set[str] = set()  # lines of the kernel log that were told already

    def plug(self, links: int) -> tuple[str, ...]:
        """Gives the guest its cards; returns the interfaces that cards.sh makes of them."""
        for _ in range(links):
            self.net.link(self.guest, self.guest)
        return tuple(f"eth{number}" for number in range(2 * links))

    def boot(self) -> None:
        """Boots the guest, also a second time."""
        self.guest.kill()
        self.guest.start()
        self.guest.push(CARDS, "/tmp/cards.sh")
        self.cards(self.begin)

    def cards(self, word: str) -> None:
        words = " ".join(f"{key}={value}" for key, value in ADDRESSES.items())
        self.guest.run(f"{words} /tmp/cards.sh {word}", 120, check=True)

    def scripts(self) -> list[str]:
        return self.guest.run(f"cat {FOLDER}/kselftest-list.txt", check=True).out.split()

    def recover(self) -> None:
        """A test that fails may leave anything behind: the cards are bound anew, or the guest
        booted."""
        try:
            self.cards("rebind")
        except (GuestGone, TimeoutError, CommandFailed):
            self.boot()

    def run(self, unit: Unit, folder: Path, attempt: int = 1) -> Run:
        """Runs a unit; whatever becomes of the guest, there is a result."""
        started = time.monotonic()
        log = folder / (re.sub(r"[^\w.-]+", "_", unit.name) +
                        (f".{attempt}.log" if attempt > 1 else ".log"))
        status, note = 1, ""
        with log.open("wb", buffering=0) as file:  # can be followed while the unit runs

            def write(data: bytes) -> None:
                with suppress(ValueError):  # late words of a killed unit: the file is closed
                    file.write(data)
            try:
                self.cards(unit.place)
                status = self.call(unit, write)
            except (GuestGone, TimeoutError, CommandFailed) as error:
                note = " ".join(str(error).split())[:200]
        text = log.read_text(errors="replace")
        if note:
            log.write_text(f"{text}\n# {note}\n")
        outcomes = ktap.parse(text, status, unit.stem, unit.plain)
        if note:
            outcomes.append(ktap.Outcome("", ktap.FAIL, note))
        run = Run(unit, outcomes, time.monotonic() - started, log, self.news(), attempt)
        if run.failed:
            self.recover()
        return run

    def words(self, unit: Unit) -> tuple[str, ...]:
        """A unit's words on its command line; the shell tests take the names of all cards."""
        return self.names if unit.place in (PAIR, SWITCH) else unit.words

    def call(self, unit: Unit, write: Callable[[bytes], object]) -> int | None:
        """A unit's exit status, None if it ran out of time. What it prints goes to `write`."""
        words = " ".join(f"{key}={value}" for key, value in ENVIRONMENT.items())
        self.guest.run(f"echo 'kselftest: {unit.name}' > /dev/kmsg")
        process = self.guest.popen(f"cd {FOLDER}/{unit.folder} && exec env {words} ./{unit.file} "
                                   f"{' '.join(self.words(unit))} 2>&1", on_output=write)
        process.close_input()
        try:
            process.wait(unit.limit)
        except TimeoutError:
            return None
        return process.rc

    def news(self) -> list[str]:
        """What is bad in the kernel's log since this was asked last."""
        lines = [line for line in self.guest.trouble() if line not in self.known]
        self.known.update(lines)
        return lines


class SwitchLane(Lane):
    """A guest with a card's VFs, behind which are hosts, and the VFs' representors."""

    name = "switch"
    begin = SWITCH
    cpus = 2

    def plug(self, _: int) -> tuple[str, ...]:
        self.net.single(self.guest, **{"vfs": VFS, "vf-vectors": 3})
        return HOSTS

    def recover(self) -> None:
        """VFs are new for each unit; what is left behind in the stack only a boot takes away."""
        self.boot()
