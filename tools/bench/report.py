# SPDX-License-Identifier: GPL-2.0-or-later
"""The table and build/run/report.json; its keys are described in Documentation/testing.md."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .rows import FLOORS, size_text


@dataclass
class Line:
    """One row's result; `ratio` is the gain over rxe, above 1 where verna is better."""
    tool: str
    transport: str
    size: int
    unit: str
    value: float | None = None
    rxe: float | None = None
    ratio: float | None = None
    error: str = ""
    log: str = ""

    @property
    def name(self) -> str:
        return f"{self.tool} {self.transport} {size_text(self.size)}"

    def finish(self) -> None:
        if self.value and self.rxe:
            self.ratio = self.rxe / self.value if self.unit == "us" else self.value / self.rxe


@dataclass
class Report:
    accel: str
    folder: Path
    lines: list[Line] = field(default_factory=list)
    memcpy_gbit: float = 0.0
    boot_seconds: float = 0.0

    @property
    def failed(self) -> list[Line]:
        return [line for line in self.lines if line.error]

    def floors(self) -> list[dict]:
        """The floors and whether this run met them."""
        by_name = {line.name: line for line in self.lines}
        result = []
        for name, least in FLOORS.items():
            ratio = by_name[name].ratio if name in by_name else None
            result.append({"row": name, "floor": least, "ratio": ratio,
                           "met": bool(ratio and ratio >= least)})
        return result

    def write(self) -> Path:
        rows = [{key: value for key, value in asdict(line).items() if key != "log"} |
                {"log": str(Path(line.log).name) if line.log else ""} for line in self.lines]
        text = json.dumps({"schema": 1, "accel": self.accel, "host_memcpy_gbit": self.memcpy_gbit,
                           "boot_seconds": self.boot_seconds, "rows": rows,
                           "floors": self.floors()}, indent=1)
        path = self.folder / "report.json"
        path.write_text(text + "\n")
        return path


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"


HEAD = f"{'tool':<14}{'transport':<10}{'size':>8}  {'verna':>9} {'unit':<8}{'rxe':>9}{'gain':>9}"


def text_line(line: Line) -> str:
    gain = f"{number(line.ratio)}x" if line.ratio else "-"
    verdict = "  FAILED" if line.error else ""
    size = size_text(line.size) if line.size else "-"
    return (f"{line.tool:<14}{line.transport:<10}{size:>8}  {number(line.value):>9} "
            f"{line.unit:<8}{number(line.rxe):>9}{gain:>9}{verdict}")
