# SPDX-License-Identifier: GPL-2.0-or-later
"""vernactl, which looks into a running card. It runs on the host, with the SDK's libraries."""

import shutil
from pathlib import Path

from .cache import REPO, artefact, build_lock
from .core import build_folder, cmake
from .log import Log

SOURCE = REPO / "tools/vernactl"


def build(sdk: Path) -> Path:
    """The program."""

    def recipe(work: Path, log: Log) -> None:
        with build_lock("vernactl"):
            folder = build_folder("vernactl")
            cmake(sdk, log, SOURCE, folder, targets=("vernactl",))
            shutil.copy2(folder / "vernactl", work)

    return artefact("vernactl", [sdk.name, SOURCE], recipe, 30) / "vernactl"
