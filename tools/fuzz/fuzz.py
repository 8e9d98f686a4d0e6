# SPDX-License-Identifier: GPL-2.0-or-later
"""`make fuzz`: runs all fuzzers of the card, each for a share of FUZZ_SECONDS (default 600)."""

import os
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "tools/setup"))

from verna_setup import fuzz  # noqa: E402
from verna_setup.cache import cache_root  # noqa: E402
from verna_setup.log import Log, SetupError  # noqa: E402


def main() -> int:
    seconds = int(os.environ.get("FUZZ_SECONDS", "600"))
    try:
        programs = fuzz.build()
    except SetupError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 1
    failed = 0
    for program in programs:
        share = max(1, seconds // len(programs))
        log = Log.for_step(cache_root(), program.name)
        print(f"{program.name}: {share} s (log: {log.path})", flush=True)
        try:
            fuzz.run(program, share, log)
        except SetupError as error:
            failed += 1
            print(error, file=sys.stderr)
    print(f"{len(programs) - failed} fuzzers found nothing, {failed} found something")
    return 1 if failed or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
