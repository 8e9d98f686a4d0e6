# SPDX-License-Identifier: GPL-2.0-or-later
"""The rows of `make bench-flow`, its bars, table, build/bench/flow.json and chart."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.eth.report import Bar, short

CARD = "flower, card"
WITHIN = 1.2  # from one rule to the most, the card's rate may fall by that factor
TIMES_IGB = 3.0


@dataclass
class Row:
    """Packets forwarded by one engine among so many rules. `kpps`: thousands a second; `ns`: time
    of the guest's processors for each; `seconds`: to put the rules in force."""
    engine: str
    rules: int
    kpps: float = 0.0
    ns: float = 0.0
    seconds: float = 0.0
    error: str = ""


@dataclass
class Pair:
    """TCP from one VF to another of the same card, Gbit/s."""
    device: str
    gbit: float = 0.0
    error: str = ""


@dataclass
class Report:
    accel: str = ""
    rows: list[Row] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)

    @property
    def errors(self) -> list[str]:
        return [f"{row.engine}, {row.rules} rules: {row.error}" for row in self.rows
                if row.error] + [f"{one.device}: {one.error}" for one in self.pairs if one.error]

    def bars(self) -> list[Bar]:
        card = {row.rules: row.kpps for row in self.rows if row.engine == CARD and not row.error}
        some = {rules: rate for rules, rate in card.items() if rules}
        flat = some[min(some)] / some[max(some)] if len(some) > 1 else None
        gbit = {pair.device: pair.gbit for pair in self.pairs if not pair.error}
        ratio = gbit["verna"] / gbit["igb"] if gbit.get("igb") and gbit.get("verna") else None
        return [Bar(f"card: packets a second, {min(some, default=0)} rule / "
                    f"{max(some, default=0)} rules", WITHIN, True, flat),
                Bar("VF to VF: throughput, verna / igb", TIMES_IGB, False, ratio)]

    def write(self, folder: Path) -> Path:
        path = folder / "flow.json"
        text = json.dumps({
            "schema": 1, "accel": self.accel, "rows": [asdict(row) for row in self.rows],
            "vf_to_vf": [asdict(pair) for pair in self.pairs],
            "bars": [asdict(bar) | {"met": bar.met} for bar in self.bars()]}, indent=1)
        path.write_text(text + "\n")
        return path


HEAD = f"{'engine':<20}{'rules':>8}{'kpps':>9}{'guest ns':>10}{'set up s':>10}"


def text_line(row: Row) -> str:
    return (f"{row.engine:<20}{row.rules:>8}{short(row.kpps):>9}{row.ns:>10.0f}"
            f"{row.seconds:>10.1f}" + ("  FAILED" if row.error else ""))


def draw(report: Report, path: Path) -> None:
    """Two panels over the number of rules: packets a second, and guest time for each."""
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 1, figsize=(8, 8), sharex=True)
    for engine in dict.fromkeys(row.engine for row in report.rows):
        rows = [row for row in report.rows if row.engine == engine and not row.error]
        for axes, attribute in zip(panels, ("kpps", "ns")):
            axes.plot([max(row.rules, 0.5) for row in rows],
                      [getattr(row, attribute) for row in rows], marker="o", label=engine,
                      linewidth=2.5 if engine == CARD else 1.2)
    for axes, label in zip(panels, ("packets forwarded, thousands a second",
                                    "guest's processors, ns for each packet")):
        axes.set(xscale="log", yscale="log", ylabel=label)
        axes.grid(alpha=0.3)
    panels[0].set_title("What rules cost those whom they let pass")
    panels[0].legend()
    panels[1].set_xlabel("rules (the leftmost: none)")
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
