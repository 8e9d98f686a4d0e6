# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel modules, built outside of the checkout so that it stays clean."""

import shutil
from pathlib import Path

from . import sdk as sdk_module
from .cache import REPO, artefact, at_work, build_lock, sync
from .core import build_folder
from .kernels import STOCK, Kernel
from .log import Log, SetupError

KERNEL = REPO / "kernel"


def is_product(path: Path) -> bool:
    """Whether a file in the copy is kbuild's and must survive a new copy of the sources."""
    name = path.name
    ends = (".o", ".ko", ".mod", ".mod.c", ".a", ".have")
    return name.startswith(".") or name.endswith(ends) or \
        name in ("Module.symvers", "modules.order", "verna_have.h")


def build(sdk: Path, kernel: Kernel) -> Path | None:
    """The folder with the .ko files for a kernel, or None while there is no driver to build."""
    if not ((KERNEL / "Makefile").exists() or (KERNEL / "Kbuild").exists()):
        return None
    # Kernels that are built for now and then: nobody would see a warning.
    strict = [] if kernel.name == STOCK else ["KCFLAGS=-Werror"]

    def recipe(work: Path, log: Log) -> None:
        folder = build_folder(f"kernel{kernel.suffix}")
        with build_lock(f"kernel{kernel.suffix}"), at_work(folder):
            sync(KERNEL, folder, keep=is_product)
            sdk_module.run(sdk, log, ["make", "-C", kernel.headers, f"M={folder}", "W=1", "-j2",
                                      *strict, "modules"])
            modules = list(folder.rglob("*.ko"))
            if not modules:
                raise SetupError(f"{KERNEL} built no module; see {log.path}")
            for module in modules:
                shutil.copy2(module, work)

    return artefact(f"kernel{kernel.suffix}", [*kernel.key, KERNEL], recipe, 40)
