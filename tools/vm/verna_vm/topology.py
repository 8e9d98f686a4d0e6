# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests and the wires between them.

Sockets are in a temporary folder of a short name, as their paths are limited to 107 bytes; logs
stay in the folder that the caller named.
"""

import itertools
import shutil
import tempfile
from pathlib import Path

from .devices import Card, Nic
from .guest import Guest

OUI = "52:54:00"


class Topology:
    """Guests and wires; as a context manager it ends all guests on the way out. `kernel` is that
    of all its guests: stock, 7 or debug (default: VERNA_KERNEL, or else stock). With
    `from_snapshot` guests of a make that booted once do not boot again; see snapshot.py."""

    def __init__(self, folder: str | Path, kernel: str = "", from_snapshot: bool = False):
        self.folder = Path(folder).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.kernel, self.from_snapshot = kernel, from_snapshot
        self.guests: list[Guest] = []
        self._sockets = Path(tempfile.mkdtemp(prefix="verna-"))
        self._macs = itertools.count(1)
        self._wires = itertools.count()
        self._controls = itertools.count()

    def __enter__(self) -> "Topology":
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def guest(self, name: str, **options) -> Guest:
        """A guest that is not started yet; options are those of Guest."""
        ours = {"kernel": self.kernel, "from_snapshot": self.from_snapshot}
        made = Guest(name, self.folder, **(ours | options))
        self.guests.append(made)
        return made

    def mac(self) -> str:
        number = next(self._macs)
        return f"{OUI}:00:{number >> 8:02x}:{number & 255:02x}"

    def ctl(self) -> str:
        """A path for a card's control socket."""
        return str(self._sockets / f"ctl{next(self._controls)}")

    def link(self, a: Guest, b: Guest, **properties) -> tuple[Card, Card]:
        """Gives each guest a verna card and joins the two by a shared-memory link."""
        path = str(self._sockets / f"link{next(self._wires)}")
        cards = tuple(Card(link=path, mac=self.mac(), ctl=self.ctl(), properties=dict(properties))
                      for _ in range(2))
        for guest, card in zip((a, b), cards):
            guest.devices.append(card)
        return cards

    def single(self, guest: Guest, **properties) -> Card:
        """Gives a guest a card whose link waits for a peer that never comes."""
        card = Card(link=str(self._sockets / f"link{next(self._wires)}"), mac=self.mac(),
                    ctl=self.ctl(), properties=properties)
        guest.devices.append(card)
        return card

    def wire(self) -> tuple[str, str]:
        """The two ends of an Ethernet wire between QEMU processes, as netdev backends."""
        number = next(self._wires)
        ends = [self._sockets / f"wire{number}{end}" for end in "ab"]
        return tuple(f"dgram,local.type=unix,local.path={local},remote.type=unix,"
                     f"remote.path={remote}" for local, remote in (ends, ends[::-1]))

    def ethernet(self, a: Guest, b: Guest, model: str = "virtio-net-pci",
                 model_b: str = "") -> tuple[Nic | Card, Nic | Card]:
        """Joins two guests by an Ethernet wire; the model `verna` is a card on a netdev."""
        made = []
        for guest, backend, kind in zip((a, b), self.wire(), (model, model_b or model)):
            device = Card(backend=backend, mac=self.mac(), ctl=self.ctl()) if kind == "verna" else \
                Nic(backend, kind, self.mac())
            guest.devices.append(device)
            made.append(device)
        return tuple(made)

    def start(self) -> "Topology":
        """Boots all guests at the same time and returns when all are up."""
        for guest in self.guests:
            guest.start(wait=False)
        for guest in self.guests:
            guest.wait_ready()
        return self

    def trouble(self) -> list[str]:
        """What is wrong in the kernel logs of all guests."""
        return [f"{guest.name}: {line}" for guest in self.guests for line in guest.trouble()]

    def stop(self) -> None:
        for guest in self.guests:
            guest.stop()
        shutil.rmtree(self._sockets, ignore_errors=True)
