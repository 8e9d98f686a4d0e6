# SPDX-License-Identifier: GPL-2.0-or-later
"""Network devices of a guest, as QEMU command line options."""

from dataclasses import dataclass, field

MODELS_WITH_ROM = ("virtio-net-pci", "e1000e", "igb", "vmxnet3")


def options(driver: str, properties: dict) -> str:
    """`driver,key=value,...`; keys that QEMU spells with a dash are written so in the dict."""
    words = [driver]
    for key, value in properties.items():
        text = ("on" if value else "off") if isinstance(value, bool) else str(value)
        words.append(f"{key}={text.replace(',', ',,')}")
    return ",".join(words)


@dataclass
class Nic:
    """A network device other than the card, on a netdev backend."""
    backend: str  # the value of -netdev without its id, such as "user" or "stream,..."
    model: str = "virtio-net-pci"
    mac: str = ""
    properties: dict = field(default_factory=dict)
    port_options = ""  # of the root port that it is plugged into

    def arguments(self, index: int, bus: str) -> list[str]:
        kind, _, rest = self.backend.partition(",")
        backend = f"{kind},id=net{index}" + (f",{rest}" if rest else "")
        properties = {"id": f"nic{index}", "bus": bus, "netdev": f"net{index}"}
        if self.mac:
            properties["mac"] = self.mac
        if self.model in MODELS_WITH_ROM:
            properties["romfile"] = ""
        return ["-netdev", backend, "-device", options(self.model, properties | self.properties)]


@dataclass
class Card:
    """A verna card: on a link to another card, on a netdev backend, or on neither. `ctl` is the
    path of the socket at which vernactl asks it; Topology gives one to each card that it makes."""
    link: str = ""
    backend: str = ""
    mac: str = ""
    pcap: str = ""
    ctl: str = ""
    properties: dict = field(default_factory=dict)
    ident: str = ""

    @property
    def port_options(self) -> str:
        """Room for the BARs of VFs, which firmware does not know of."""
        return ",pref64-reserve=128M" if self.properties.get("vfs") else ""

    def arguments(self, index: int, bus: str) -> list[str]:
        self.ident = f"card{index}"
        properties = {"id": self.ident, "bus": bus}
        result = []
        if self.backend:
            kind, _, rest = self.backend.partition(",")
            result = ["-netdev", f"{kind},id=net{index}" + (f",{rest}" if rest else "")]
            properties["netdev"] = f"net{index}"
        for key in ("link", "mac", "pcap", "ctl"):
            if getattr(self, key):
                properties[key] = getattr(self, key)
        return [*result, "-device", options("verna", properties | self.properties)]
