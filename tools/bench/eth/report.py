# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of `make bench-eth`, its table, its bars, and build/bench/eth.json."""

import json
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path

BAR_LOAD = "TCP 1 "  # one TCP stream, both directions


@dataclass
class Row:
    """One load on one device at one stage. Units: Gbit/s of payload as received; ns of CPU time
    per byte received, of both guests' vCPUs and of all other threads of both QEMUs together."""
    peer: str
    stage: str
    load: str
    gbit: float = 0.0
    guest_ns_per_byte: float = 0.0
    card_ns_per_byte: float = 0.0
    packets_per_interrupt: float | None = None
    doorbells_per_packet: float | None = None
    error: str = ""
    log: str = ""

    @property
    def name(self) -> str:
        return f"{self.peer} {self.stage} {self.load}"


@dataclass
class Bar:
    """A bar of this run: `ratio` must be at least (or, if `most`, at most) `bound`."""
    name: str
    bound: float
    most: bool
    ratio: float | None

    @property
    def met(self) -> bool:
        if self.ratio is None:
            return False
        return self.ratio <= self.bound if self.most else self.ratio >= self.bound

    @property
    def text(self) -> str:
        found = "not measured" if self.ratio is None else f"{self.ratio:.2f}"
        return (f"bar {self.name}: {found}, {'at most' if self.most else 'at least'} "
                f"{self.bound:g}: {'met' if self.met else 'NOT MET'}")


@dataclass
class Report:
    accel: str
    folder: Path
    rows: list[Row] = field(default_factory=list)
    skipped: list[dict] = field(default_factory=list)

    @property
    def failed(self) -> list[Row]:
        return [row for row in self.rows if row.error]

    def figure(self, peer: str, stage: str, attribute: str, loads: str = BAR_LOAD) -> float | None:
        """The mean over the loads (both directions) whose names begin so; None: not measured."""
        values = [getattr(row, attribute) for row in self.rows
                  if row.peer == peer and row.stage == stage and row.load.startswith(loads)
                  and not row.error]
        return statistics.mean(values) if values else None

    def best_stage(self, peer: str) -> str | None:
        """The last stage before many queues that was measured: all offloads that the device has."""
        stages = [row.stage for row in self.rows if row.peer == peer and not row.error
                  and row.stage != "+multi-queue"]
        return stages[-1] if stages else None

    def ratio(self, attribute: str, ours: tuple[str, str], theirs: tuple[str, str]):
        a, b = self.figure(*ours, attribute), self.figure(*theirs, attribute)
        return a / b if a and b else None

    def bars(self) -> list[Bar]:
        """The bars, each between figures of one TCP stream, mean of both directions."""
        def on(peer):
            return (peer, self.best_stage(peer) or "")
        verna, off = on("verna link"), ("verna link", "off")
        return [
            Bar("all on: throughput, verna link / igb socket", 2.0, False,
                self.ratio("gbit", verna, on("igb socket"))),
            Bar("all on: throughput, verna link / virtio tap", 1.2, False,
                self.ratio("gbit", verna, on("virtio tap"))),
            Bar("all on: guest ns per byte, verna link / virtio tap", 0.8, True,
                self.ratio("guest_ns_per_byte", verna, on("virtio tap"))),
            Bar("all off: throughput, virtio socket / verna link", 1.3, True,
                self.ratio("gbit", ("virtio socket", "off"), off)),
            Bar("all off: throughput, virtio tap / verna link", 1.3, True,
                self.ratio("gbit", ("virtio tap", "off"), off)),
        ]

    def write(self) -> Path:
        path = self.folder / "eth.json"
        text = json.dumps({
            "schema": 1, "accel": self.accel, "rows": [asdict(row) for row in self.rows],
            "skipped": self.skipped,
            "bars": [asdict(bar) | {"met": bar.met} for bar in self.bars()]}, indent=1)
        path.write_text(text + "\n")
        return path


HEAD = (f"{'device':<15}{'stage':<14}{'load':<10}{'Gbit/s':>8}{'guest':>9}{'card':>8}"
        f"{'pkt/irq':>9}{'db/pkt':>8}\n{'':<39}{'':>8}{'ns/byte':>9}{'ns/byte':>8}")


def short(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}g}"


def text_line(row: Row) -> str:
    return (f"{row.peer:<15}{row.stage:<14}{row.load:<10}{short(row.gbit):>8}"
            f"{short(row.guest_ns_per_byte):>9}{short(row.card_ns_per_byte):>8}"
            f"{short(row.packets_per_interrupt):>9}{short(row.doorbells_per_packet):>8}"
            + ("  FAILED" if row.error else ""))
