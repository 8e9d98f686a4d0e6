# SPDX-License-Identifier: GPL-2.0-or-later
"""The card itself, as a library: libverna_core.a and its C header.

Also the host's C++ tools, which are built in the same way.
"""

import shutil
from pathlib import Path

from . import sdk as sdk_module
from .cache import CHECKOUT, REPO, artefact, build_lock, cache_root
from .log import Log

CORE = REPO / "qemu-device/core"
CONTRACT = REPO / "kernel/include"


def build_folder(name: str) -> Path:
    """A build directory of this checkout; others of the same machine have theirs."""
    folder = cache_root() / "build" / CHECKOUT / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def cmake(sdk: Path, log: Log, source: Path, folder: Path, *options: str,
          targets: tuple[str, ...] = ()) -> None:
    """Configures and builds a CMake project; both do only what changed."""
    sdk_module.run(sdk, log, ["cmake", "-G", "Ninja", "-S", source, "-B", folder, *options])
    sdk_module.run(sdk, log, ["ninja", "-C", folder, *targets])


def build(sdk: Path) -> Path | None:
    """The folder with library and header, or None while there is no core to build."""
    if not (CORE / "CMakeLists.txt").exists():
        return None

    def recipe(work: Path, log: Log) -> None:
        with build_lock("core"):
            folder = build_folder("core")
            cmake(sdk, log, CORE, folder, "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                  "-DCMAKE_POSITION_INDEPENDENT_CODE=ON", targets=("verna_core",))
            library, = folder.rglob("libverna_core.a")
            shutil.copy2(library, work)
        shutil.copy2(CORE / "verna_core.h", work)
        shutil.copytree(CONTRACT / "hw", work / "hw")

    return artefact("core", [sdk.name, CORE, CONTRACT], recipe, 60)
