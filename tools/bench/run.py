#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make run`: two guests, two cards, one link, and Debian's own tools between them.

Every RDMA row is run over verna and then, on the same interfaces of the same guests, over the
kernel's rxe. Prints a table, writes build/run/report.json, and exits non-zero if a row failed.
"""

import argparse
import shutil
import statistics
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "vm")]

from bench import memcpy, pair, rows  # noqa: E402
from bench.report import HEAD, Line, Report, text_line  # noqa: E402
from verna_vm import Topology  # noqa: E402
from verna_vm.agent import CommandFailed, GuestGone  # noqa: E402

FOLDER = Path(__file__).parents[2] / "build" / "run"
RUNS = 3  # of each row; the median counts
FAILURES = (CommandFailed, GuestGone, TimeoutError, LookupError, ValueError)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="", help="only rows whose name contains this text")
    parser.add_argument("--no-rxe", action="store_true", help="leave out the comparison with rxe")
    parser.add_argument("--memory", default="2G", help="of each guest")
    return parser.parse_args()


class Job:
    """The run: fills a report's lines one by one."""

    def __init__(self, options: argparse.Namespace, net: Topology, report: Report):
        self.options, self.net, self.report = options, net, report
        self.lines = {}

    def chosen(self, name: str) -> bool:
        return self.options.rows in name

    def record(self, line: Line, attribute: str, action) -> None:
        """Runs one thing; its figure goes to the line, its output to a log, its failure to both."""
        name = line.name.replace(" ", "-").replace("/", "-")
        log = self.report.folder / f"{name}.{attribute}.log"
        try:
            value, text = action()
            setattr(line, attribute, value)
            log.write_text(text)
        except FAILURES as error:
            log.write_text(f"{error}\n")
            line.error = line.error or f"{attribute}: {str(error).strip().splitlines()[-1]}"
            line.log = str(log)

    def perftest(self, ends, rxe: bool) -> None:
        for row in rows.ROWS:
            if not self.chosen(row.name):
                continue
            line = self.lines.get(row)
            if not line:
                line = self.lines[row] = Line(row.tool, row.transport, row.size, row.unit)
                self.report.lines.append(line)

            def action(row=row):
                outcomes = [row.run(*ends, rxe) for _ in range(RUNS)]
                return (statistics.median(map(row.value, outcomes)),
                        "".join(outcome.log for outcome in outcomes))

            self.record(line, "rxe" if rxe else "value", action)
            line.finish()
            if rxe or self.options.no_rxe:
                print(text_line(line), flush=True)
            else:
                print(f"  ... {line.name}: {line.error or line.value}", file=sys.stderr, flush=True)

    def plain(self, ends) -> None:
        for tool, transport, size, unit, action in rows.PLAIN:
            if not self.chosen(tool):
                continue
            line = Line(tool, transport, size, unit)
            self.report.lines.append(line)
            self.record(line, "value", lambda action=action: action(*ends))
            print(text_line(line), flush=True)

    def run(self) -> None:
        guests = self.net.guests
        netdevs = pair.configure(guests)
        ends = pair.sides(guests, netdevs)
        self.report.memcpy_gbit = memcpy.host_memcpy_gbit()
        self.perftest(ends, rxe=False)
        print(HEAD)
        self.plain(ends)
        if not self.options.no_rxe:
            pair.use_rxe(guests, netdevs)
            self.perftest(pair.sides(guests, netdevs), rxe=True)
        self.report.memcpy_gbit = max(self.report.memcpy_gbit, memcpy.host_memcpy_gbit())


def summary(report: Report, trouble: list[str]) -> int:
    """Prints what the table does not say; the exit status."""
    print(f"\nhost memcpy, one thread: {report.memcpy_gbit:.0f} Gbit/s")
    for floor in report.floors():
        if floor["ratio"]:
            print(f"floor {floor['row']}: {floor['ratio']:.1f}x, at least {floor['floor']:g}x: "
                  f"{'met' if floor['met'] else 'NOT MET'}")
    print(f"report: {report.write()}")
    for line in report.failed:
        print(f"FAILED {line.name}: {line.error}\n  log: {line.log}", file=sys.stderr)
    for text in trouble:
        print(f"FAILED kernel log: {text}", file=sys.stderr)
    if report.failed or trouble:
        print(f"logs of the guests: {report.folder}", file=sys.stderr)
    return 1 if report.failed or trouble else 0


def main() -> int:
    options = arguments()
    shutil.rmtree(FOLDER, ignore_errors=True)
    started = time.monotonic()
    with Topology(FOLDER) as net:
        net.link(net.guest("a", memory=options.memory), net.guest("b", memory=options.memory))
        net.start()
        report = Report(net.guests[0].accel, FOLDER, boot_seconds=time.monotonic() - started)
        print(f"two guests under {report.accel.upper()}, up after {report.boot_seconds:.1f} s",
              flush=True)
        Job(options, net, report).run()
        trouble = net.trouble()
    return summary(report, trouble)


if __name__ == "__main__":
    sys.exit(main())
