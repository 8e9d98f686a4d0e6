# SPDX-License-Identifier: GPL-2.0-or-later
"""Which tests there are, and how each wants to be called.

A unit is one call of one script. What `make install` lists under drivers/net is taken as it comes,
so a tree with more tests runs more; what else is for a network device is named here.
"""

from dataclasses import dataclass
from pathlib import PurePath

# Where the cards are, see cards.sh. SWITCH is a guest of its own: one card's VFs and representors.
ENDPOINT, MERGE, WARM, PAIR, IDLE, UP = "endpoint", "merge", "warm", "pair", "idle", "up"
SWITCH = "switch"

# What runs on the embedded switch: a host behind each VF, the representors as the switch's ports.
SWITCHED = """tc_flower tc_actions tc_chains tc_shblocks tc_police tc_vlan_modify pedit_dsfield
pedit_l4port pedit_ip skbedit_priority bridge_vlan_aware""".split()

# What is sent frame by frame is a slow flow under TCG: rx-usecs is how long a frame may wait.
PLACES = {"drivers/net/gro.py": MERGE, "drivers/net/hw/gro_hw.py": MERGE}

LISTED = ("drivers/net", "drivers/net/hw")
LIMIT = 300  # seconds; under TCG a Python test needs ten before it begins
LIMITS = {"drivers/net/hw/rss_ctx.py": 1500, "drivers/net/hw/csum.py": 600,
          "drivers/net/hw/ethtool_rmon.sh": 1500, "drivers/net/gro.py": 3000,
          "drivers/net/xdp.py": 900, "drivers/net/hw/ntuple.py": 900,
          "drivers/net/so_txtime.py": 600, "drivers/net/hw/toeplitz.py": 900,
          "drivers/net/hw/tso.py": 1500, "net/netdevice.sh": 900,
          "net/forwarding/local_termination.sh": 900, "net/forwarding/no_forwarding.sh": 3600,
          "net/forwarding/tc_police.sh": 900, "net/forwarding/pedit_dsfield.sh": 1500,
          "net/forwarding/pedit_ip.sh": 900, "net/forwarding/pedit_l4port.sh": 1500,
          "net/forwarding/bridge_vlan_aware.sh": 1500, "net/forwarding/skbedit_priority.sh": 900}

# Shell tests of drivers/net/hw that find both ends in the environment, as the Python ones do.
CONFORMANT = {"7": ("drivers/net/hw/ethtool_rmon.sh", "drivers/net/hw/ethtool_std_stats.sh")}

# What make test runs: what a card must do before it is shown to anybody, as far as it is quick.
# (net/forwarding/local_termination.sh would be one, but sleeps for minutes.)
BASIC = ("drivers/net/ping.py", "drivers/net/queues.py", "drivers/net/stats.py",
         "net/forwarding/min_max_mtu.sh", "net/netdevice.sh")

# toeplitz.sh looks for `^PREFIX-[0-9]*$`, and means the vectors of the first card.
IRQ_PREFIX = r"'verna-comp[0-9]*@0000:01:00.0$\|none'"


@dataclass(frozen=True)
class Unit:
    """One call: its name in the lists, the script and its words, where the cards must be."""
    name: str
    script: str
    words: tuple[str, ...] = ()
    place: str = ENDPOINT
    plain: bool = False  # tells results as `PASS: name`

    @property
    def folder(self) -> str:
        return str(PurePath(self.script).parent)

    @property
    def file(self) -> str:
        return PurePath(self.script).name

    @property
    def stem(self) -> str:
        return PurePath(self.script).stem

    @property
    def limit(self) -> float:
        return LIMITS.get(self.script, LIMIT)

    def belongs_to(self, words: tuple[str, ...] | list[str]) -> bool:
        return any(self.name == word or self.name.startswith(word) for word in words)


def listed(names: list[str], kernel: str) -> list[Unit]:
    """The units of the lines of kselftest-list.txt."""
    units = []
    for line in names:
        folder, _, file = line.partition(":")
        script = f"{folder}/{file}"
        if folder not in LISTED:
            continue
        if file.endswith(".sh") and script not in CONFORMANT.get(kernel, ()):
            units.append(Unit(script, script, place=PAIR))
        else:
            units.append(Unit(script, script, place=PLACES.get(script, ENDPOINT)))
    return units


def gro() -> list[Unit]:
    return [Unit(f"net/gro.sh:{family}_{case}", "net/gro.sh",
                 ("-i", "eth0", "-p", family, "-t", case), UP)
            for family in ("ipv4", "ipv6")
            for case in ("data", "ack", "flags", "tcp", "ip", "large")]


def toeplitz() -> list[Unit]:
    """The hash alone, that it chooses the queue, and the CPU that RPS makes of it: the eighth."""
    modes = {"hash": (), "rss": ("-rss", "-irq_prefix", IRQ_PREFIX), "rps": ("-rps", "80")}
    return [Unit(f"net/toeplitz.sh:{proto}_{family}_{mode}", "net/toeplitz.sh",
                 ("-i", "eth0", f"-{proto[0]}", f"-{family[-1]}", *words), WARM)
            for proto in ("tcp", "udp") for family in ("ipv4", "ipv6")
            for mode, words in modes.items()]


def forwarding() -> list[Unit]:
    return [Unit(script, script, place=PAIR) for script in
            (f"net/forwarding/{name}.sh" for name in
             ("local_termination", "min_max_mtu", "no_forwarding"))]


def switched() -> list[Unit]:
    return [Unit(script, script, place=SWITCH) for script in
            (f"net/forwarding/{name}.sh" for name in SWITCHED)]


def units(names: list[str], kernel: str) -> list[Unit]:
    """All units for a kernel's tree; `names` are the lines of its kselftest-list.txt."""
    found = listed(names, kernel)
    if kernel == "6.12":  # later trees have them in drivers/net
        found += gro() + toeplitz()
    return [*found, Unit("net/netdevice.sh", "net/netdevice.sh", place=IDLE, plain=True),
            *forwarding(), *switched()]


def basic(kernel: str = "6.12") -> list[Unit]:
    """The units of BASIC, without a look at the tree."""
    lines = [":".join(name.rsplit("/", 1)) for name in BASIC if name.startswith("drivers/")]
    return [unit for unit in units(lines, kernel) if unit.name in BASIC]
