# SPDX-License-Identifier: GPL-2.0-or-later
"""The staircase: what each offload takes off the host, as an SVG."""

from pathlib import Path

from .report import Report
from .stages import STAGES


def draw(report: Report, path: Path) -> None:
    """Two panels over the stages: CPU time of the guests per byte, and throughput."""
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot

    names = [stage.name for stage in STAGES]
    figure, (cost, rate) = pyplot.subplots(2, 1, figsize=(9, 9), sharex=True)
    for peer in dict.fromkeys(row.peer for row in report.rows):
        style = {"where": "mid", "label": peer, "linewidth": 2.5 if "verna" in peer else 1.2}
        for axes, attribute in ((cost, "guest_ns_per_byte"), (rate, "gbit")):
            points = [(index, report.figure(peer, name, attribute))
                      for index, name in enumerate(names)]
            points = [point for point in points if point[1] is not None]
            if points:
                axes.step(*zip(*points), **style)
    cost.set_ylabel("guests' vCPU time, ns per byte")
    rate.set_ylabel("TCP, one stream, Gbit/s")
    rate.set_xticks(range(len(names)), names)
    cost.set_title("What each offload takes off the host")
    cost.legend(fontsize=8)
    for axes in (cost, rate):
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)
