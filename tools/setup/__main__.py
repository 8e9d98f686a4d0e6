# SPDX-License-Identifier: GPL-2.0-or-later
"""python3 tools/setup [STEP...]: sets up what is missing (default: all that guests need).

VERNA_KERNEL=stock|7|debug says for which kernel, if not the stock one."""

import argparse
import shutil
import sys
from pathlib import Path

from verna_setup import (artefacts, core, fuzz, host, kernel, kernels, kselftest, layer, provider,
                         qemu, sdk, unit, vernactl)
from verna_setup.cache import cache_root, remove
from verna_setup.log import SetupError, say


def build_layer() -> Path:
    tools = sdk.build()
    chosen = kernels.get(tools)
    return layer.build(tools, chosen, kernel.build(tools, chosen), provider.build(tools))


STEPS = {
    "all": artefacts.build_all,
    "sdk": sdk.build,
    "core": lambda: core.build(sdk.build()),
    "kernel": lambda: kernel.build(sdk.build(), kernels.get(sdk.build())),
    "headers": lambda: kernels.get(sdk.build()).headers,
    "provider": lambda: provider.build(sdk.build()),
    "qemu": lambda: qemu.build(sdk.build(), core.build(sdk.build())),
    "layer": build_layer,
    "kselftest": kselftest.tests,
    "vernactl": lambda: vernactl.build(sdk.build()),
    "unit": unit.build,
    "fuzz": fuzz.build,
    "charts": host.ensure_charts,
}


def clean(everything: bool) -> None:
    """Drops what this checkout built, or all of the cache."""
    shutil.rmtree(artefacts.RESULTS, ignore_errors=True)
    shutil.rmtree(core.build_folder(""), ignore_errors=True)
    if everything and cache_root().exists():
        for path in cache_root().iterdir():
            if path.is_dir() and path.name not in ("locks", "tmp"):
                remove(path)
        say(f"emptied {cache_root()}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools/setup", description=__doc__)
    parser.add_argument("steps", nargs="*", default=["all"], metavar="STEP",
                        help=f"one of {', '.join(STEPS)}; prints where the result is")
    parser.add_argument("--clean", action="store_true", help="drop this checkout's builds")
    parser.add_argument("--clean-all", action="store_true", help="empty the cache")
    options = parser.parse_args()
    unknown = [step for step in options.steps if step not in STEPS]
    if unknown:
        parser.error(f"unknown step {unknown[0]!r}; there are {', '.join(STEPS)}")
    try:
        if options.clean or options.clean_all:
            clean(options.clean_all)
            return 0
        host.ensure()
        for step in options.steps:
            result = STEPS[step]()
            if step != "all":
                print(result if result else f"{step}: nothing to build yet")
    except SetupError as error:
        say(f"failed: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; what was complete is kept")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
