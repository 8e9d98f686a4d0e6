# SPDX-License-Identifier: GPL-2.0-or-later
"""make kselftest: the kernel's own driver tests on the card, against what is expected of each."""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPO / "tools"), str(REPO / "tools/vm"), str(REPO / "tools/setup")]

from kselftest import expected, ktap, suite  # noqa: E402
from kselftest.lane import CPUS, Lane, Run, SwitchLane  # noqa: E402
from verna_setup import artefacts, kselftest as build  # noqa: E402
from verna_setup.log import SetupError  # noqa: E402
from verna_vm import Topology  # noqa: E402

SCHEMA = 1
KERNELS = {"6.12": "stock", "7": "7"}  # by the names that tools/setup has for them


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make kselftest", description=__doc__)
    parser.add_argument("--kernel", default="6.12", choices=KERNELS)
    parser.add_argument("--tests", choices=KERNELS,
                        help="the kernel whose tree the tests are of, if another")
    parser.add_argument("--only", nargs="*", default=[], metavar="UNIT",
                        help="units whose names begin so, such as drivers/net/ping.py")
    parser.add_argument("--basic", action="store_true", help="the set that make test runs")
    parser.add_argument("--attempts", type=int, default=2, metavar="N",
                        help="how often a unit may run until none of its tests fails by surprise")
    parser.add_argument("--folder", type=Path, default=None, help="for logs and the report")
    parser.add_argument("--suggest", action="store_true",
                        help="also write what happened as a list, to judge and edit")
    options = parser.parse_args()
    options.tests = options.tests or options.kernel
    return options


def name(options: argparse.Namespace) -> str:
    """What a run's list and folder are called."""
    return options.kernel if options.tests == options.kernel else \
        f"{options.kernel}-tests-{options.tests}"


def say(run: Run, rows: list[expected.Row]) -> None:
    """One unit's line, and one for each surprise in it."""
    count = Counter(row.result for row in rows)
    words = ", ".join(f"{number} {result}" for result, number in count.most_common())
    again = f" (attempt {run.attempt})" if run.attempt > 1 else ""
    print(f"{run.unit.name:44} {run.seconds:6.1f} s  {words}{again}", flush=True)
    for row in rows:
        if row.surprise:
            print(f"  ! {row.name}: {row.result}, {row.surprise}{': ' if row.note else ''}"
                  f"{row.note}", flush=True)
    for line in run.trouble:
        print(f"  ! kernel log: {line}", flush=True)


def report(runs: list[Run], rows: list[expected.Row], kernel: str, machine: dict) -> dict:
    return {
        "schema": SCHEMA, "kernel": kernel, **machine,
        "totals": dict(Counter(row.result for row in rows)),
        "surprises": sum(bool(row.surprise) for row in rows),
        "tests": [vars(row) for row in rows],
        "units": [{"name": run.unit.name, "attempt": run.attempt,
                   "seconds": round(run.seconds, 1), "log": str(run.log),
                   "trouble": run.trouble} for run in runs],
    }


def chosen(lane: Lane, options: argparse.Namespace) -> list[suite.Unit]:
    if options.basic:
        return suite.basic(options.tests)
    return [unit for unit in suite.units(lane.scripts(), options.tests)
            if not options.only or unit.belongs_to(options.only)]


def attempts(lane: Lane, unit: suite.Unit, folder: Path, entries: list,
             limit: int) -> Iterator[tuple[Run, list[expected.Row]]]:
    """A unit's runs, until one has no failure that surprises."""
    for attempt in range(1, limit + 1):
        run = lane.run(unit, folder, attempt)
        rows = expected.compare(entries, [unit.name], run.results)
        yield run, rows
        if not any(row.surprise and row.result == ktap.FAIL for row in rows):
            return


def run_all(lane: Lane, units: list[suite.Unit], options: argparse.Namespace,
            folder: Path) -> tuple[list[Run], list]:
    entries = expected.load(REPO / f"tests/kselftest/expected-{name(options)}.txt")
    runs, rows = [], []
    for unit in units:
        compared = []
        for run, compared in attempts(lane, unit, folder, entries, options.attempts):
            say(run, compared)
            runs.append(run)
        rows += compared
    return runs, rows


def run_lanes(net: Topology, disks: dict, options: argparse.Namespace,
              folder: Path) -> tuple[list[Run], list, dict]:
    """All units, each in the guest that it wants, one guest after the other."""
    lane = Lane(net, disks, links=1 if options.basic else 2)
    lane.boot()
    machine = {"accel": lane.guest.accel, "cpus": CPUS,
               "release": lane.guest.run("uname -r").out.strip()}
    units = chosen(lane, options)
    switched = [unit for unit in units if unit.place == suite.SWITCH]
    runs, rows = run_all(lane, [unit for unit in units if unit not in switched], options, folder)
    lane.guest.stop()
    if switched:
        lane = SwitchLane(net, disks)
        lane.boot()
        more_runs, more_rows = run_all(lane, switched, options, folder)
        runs, rows = runs + more_runs, rows + more_rows
    return runs, rows, machine


def main() -> int:
    options = arguments()
    folder = options.folder or REPO / "build/kselftest" / name(options)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        artefacts.build_all(KERNELS[options.kernel])
        disks = build.build(KERNELS[options.tests])
    except SetupError as error:
        print(f"kselftest: {error}", file=sys.stderr)
        return 2
    started = time.monotonic()
    with Topology(folder, KERNELS[options.kernel]) as net:
        runs, rows, machine = run_lanes(net, disks, options, folder)
    told = report(runs, rows, options.kernel, machine)
    (folder / "report.json").write_text(json.dumps(told, indent=1) + "\n")
    if options.suggest:
        (folder / "suggested.txt").write_text(expected.suggest(rows))
    trouble = sum(len(run.trouble) for run in runs)
    again = sum(run.attempt > 1 for run in runs)
    words = ", ".join(f"{number} {result}" for result, number in sorted(told["totals"].items()))
    print(f"\n{told['release']}, {told['accel']}: {len(rows)} tests: {words}; "
          f"{told['surprises']} surprises, {again} units run again, "
          f"{trouble} bad lines in the kernel's log; "
          f"{time.monotonic() - started:.0f} s; {folder}/report.json")
    return 1 if told["surprises"] or trouble or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
