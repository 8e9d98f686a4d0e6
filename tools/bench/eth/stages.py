# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps of the staircase: each switches one more job from the host's CPU to the card."""

import json
from dataclasses import dataclass

from verna_vm.agent import CommandFailed

OFF = "tx off rx off sg off tso off gso off gro off"
PLAIN_GSO = 65536  # what every interface starts with, and an IPv4 header can say


@dataclass(frozen=True)
class Stage:
    """features: words for ethtool -K, applied on top of the stages before; big: the stack may make
    packets as large as the device can cut; coalesce: for ethtool -C, what is refused being replaced
    by the next; queues: pairs of queues, and vCPUs of each guest."""
    name: str
    features: tuple[str, ...] = ()
    big: bool = False
    coalesce: tuple[str, ...] = ()
    queues: int = 1


STAGES = [
    Stage("off", (OFF, "rx-gro-hw off", "lro off", "tx-udp-segmentation off")),
    Stage("+checksum", ("tx on", "rx on", "sg on")),
    Stage("+TSO/GRO", ("tso on", "gso on", "gro on", "tx-udp-segmentation on")),
    Stage("+BIG TCP", big=True),
    Stage("+HW-GRO", ("rx-gro-hw on", "lro on")),
    Stage("+moderation", coalesce=("adaptive-rx on adaptive-tx on", "rx-usecs 50 tx-usecs 50")),
    Stage("+multi-queue", queues=2),
]


def apply(guest, netdev: str, stage: Stage) -> list[str]:
    """Applies what the device has of a stage; returns what it refused, in ethtool's words."""
    commands = [f"ethtool -K {netdev} {words}" for words in stage.features]
    if stage.big:
        largest = tso_max_size(guest.run(f"ip -d -j link show dev {netdev}", check=True).out)
        if largest <= PLAIN_GSO:
            return [f"the device cuts packets of up to {largest} bytes"]
        commands.append(f"ip link set dev {netdev} gso_max_size {largest} "
                        f"gso_ipv4_max_size {largest}")
    if stage.coalesce:
        commands.append(" || ".join(f"ethtool -C {netdev} {words}" for words in stage.coalesce))
    if stage.queues > 1:
        commands.append(f"ethtool -L {netdev} combined {stage.queues}")
    refused = []
    for command in commands:
        result = guest.run(command)
        if not result.ok:
            refused.append((result.err or result.out).strip().splitlines()[-1])
    return refused


def tso_max_size(links: str) -> int:
    """Bytes of the largest packet that a device segments, from the JSON of `ip -d link`."""
    return int(json.loads(links)[0].get("tso_max_size", PLAIN_GSO))


def begin(guest, netdev: str) -> None:
    """The state before the first stage: no moderation, one pair of queues."""
    guest.run(f"ethtool -L {netdev} combined 1")
    guest.run(f"ethtool -C {netdev} adaptive-rx off adaptive-tx off")
    guest.run(f"ethtool -C {netdev} rx-usecs 0 tx-usecs 0")


def features(guest, netdev: str) -> set[str]:
    """Names of all features of an interface that are on."""
    result = guest.run(f"ethtool -k {netdev}")
    if not result.ok:
        raise CommandFailed(f"ethtool -k {netdev}: {result.err}")
    rows = (line.split() for line in result.out.splitlines() if ":" in line)
    return {row[0].rstrip(":") for row in rows if len(row) > 1 and row[1] == "on"}


STANDS_FOR = {
    "off": set(),
    "+checksum": {"tx-checksumming", "rx-checksumming"},
    "+TSO/GRO": {"tcp-segmentation-offload"},
    "+HW-GRO": {"rx-gro-hw", "large-receive-offload"},
}


def has(stage: Stage, on: set[str], refused: list[str]) -> bool:
    """Whether a stage changed anything for a device whose features `on` are on now."""
    wanted = STANDS_FOR.get(stage.name)
    return not refused if wanted is None else not wanted or bool(wanted & on)
