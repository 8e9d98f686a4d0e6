# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel modules, built outside of the checkout so that it stays clean."""

import shutil
from pathlib import Path

from . import sdk as sdk_module
from .cache import REPO, artefact, at_work, lock, sync
from .core import build_folder
from .log import Log, SetupError

KERNEL = REPO / "kernel"


def is_product(path: Path) -> bool:
    """Whether a file in the copy is kbuild's and must survive a new copy of the sources."""
    name = path.name
    return name.startswith(".") or name.endswith((".o", ".ko", ".mod", ".mod.c", ".a")) or \
        name in ("Module.symvers", "modules.order")


def build(sdk: Path) -> Path | None:
    """The folder with the .ko files, or None while there is no driver to build."""
    if not ((KERNEL / "Makefile").exists() or (KERNEL / "Kbuild").exists()):
        return None
    version = sdk_module.kernel_version(sdk)

    def recipe(work: Path, log: Log) -> None:
        folder = build_folder("kernel")
        with lock("kernel-build"), at_work(folder):
            sync(KERNEL, folder, keep=is_product)
            sdk_module.run(sdk, log, ["make", "-C", f"/usr/lib/modules/{version}/build",
                                      f"M={folder}", "W=1", "-j2", "modules"])
            modules = list(folder.rglob("*.ko"))
            if not modules:
                raise SetupError(f"{KERNEL} built no module; see {log.path}")
            for module in modules:
                shutil.copy2(module, work)

    return artefact("kernel", [sdk.name, version, KERNEL], recipe, 40)
