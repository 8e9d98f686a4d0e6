# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps of the staircase: each switches one more job from the host's CPU to the card."""

from dataclasses import dataclass

from verna_vm.agent import CommandFailed

OFF = "tx off rx off sg off tso off gso off gro off"


@dataclass(frozen=True)
class Stage:
    """features: words for ethtool -K, applied on top of the stages before; coalesce: for
    ethtool -C; queues: pairs of queues, and vCPUs of each guest."""
    name: str
    features: tuple[str, ...] = ()
    coalesce: str = ""
    queues: int = 1


STAGES = [
    Stage("off", (OFF, "rx-gro-hw off", "lro off", "tx-udp-segmentation off")),
    Stage("+checksum", ("tx on", "rx on", "sg on")),
    Stage("+TSO/GRO", ("tso on", "gso on", "gro on", "tx-udp-segmentation on")),
    Stage("+HW-GRO", ("rx-gro-hw on", "lro on")),
    Stage("+moderation", (), "rx-usecs 50 tx-usecs 50"),
    Stage("+multi-queue", (), "", 2),
]


def apply(guest, netdev: str, stage: Stage) -> list[str]:
    """Applies what the device has of a stage; returns what it refused, in ethtool's words."""
    commands = [f"ethtool -K {netdev} {words}" for words in stage.features]
    if stage.coalesce:
        commands.append(f"ethtool -C {netdev} adaptive-rx off adaptive-tx off; "
                        f"ethtool -C {netdev} {stage.coalesce}")
    if stage.queues > 1:
        commands.append(f"ethtool -L {netdev} combined {stage.queues}")
    refused = []
    for command in commands:
        result = guest.run(command)
        if not result.ok:
            refused.append((result.err or result.out).strip().splitlines()[-1])
    return refused


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
