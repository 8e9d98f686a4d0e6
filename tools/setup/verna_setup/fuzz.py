# SPDX-License-Identifier: GPL-2.0-or-later
"""The fuzzers: the targets fuzz_* of the C++ test project, built by clang with libFuzzer."""

import re
from pathlib import Path

from . import sdk as sdk_module
from .cache import build_lock, cache_root, progress
from .core import build_folder
from .log import Log
from .unit import TESTS

OPTIONS = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DVERNA_FUZZ=ON",
           "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++"]


def targets(sdk: Path, folder: Path) -> list[str]:
    log = Log.for_step(cache_root(), "fuzz-list")
    sdk_module.run(sdk, log, ["ninja", "-C", folder, "-t", "targets", "all"])
    return sorted(set(re.findall(r"(?m)^(fuzz_\w+): ", log.path.read_text())))


def build() -> list[Path]:
    """The fuzzers' programs, up to date. They run inside the SDK."""
    sdk = sdk_module.build()
    folder = build_folder("fuzz")
    log = Log.for_step(cache_root(), "fuzz-build")
    with build_lock("fuzz"), progress("fuzz", 120, log):
        sdk_module.run(sdk, log, ["cmake", "-G", "Ninja", "-S", TESTS, "-B", folder, *OPTIONS])
        names = targets(sdk, folder)
        if names:
            sdk_module.run(sdk, log, ["ninja", "-C", folder, *names])
    return [program for name in names for program in folder.rglob(name) if program.is_file()]


def run(program: Path, seconds: int, log: Log) -> None:
    """Lets one fuzzer search for a while. What it found interesting is kept for the next time;
    an input that breaks the card is written beside the log."""
    corpus = cache_root() / "fuzz-corpus" / program.name
    corpus.mkdir(parents=True, exist_ok=True)
    seeds = TESTS / "fuzz/corpus" / program.name
    folders = [corpus, *([seeds] if seeds.is_dir() else [])]
    sdk_module.run(sdk_module.build(), log, [
        program, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=4096",
        "-print_final_stats=1", f"-artifact_prefix={log.path.parent}/{program.name}-", *folders])
