# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels that guests can boot. VERNA_KERNEL, or a test, names the one it wants:

`stock`: the SDK's own, Debian's kernel of the suite that the product is built on.
`7`: the newest kernel that Debian offers for that suite, with its headers.
`debug`: our own build of the stock kernel's source, with every checker in it (debug_kernel.py).

All but the stock one are fetched or built only when they are asked for.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import debug_kernel
from . import sdk as sdk_module
from .archive import SUITE, PrivateApt
from .cache import artefact
from .log import Log, SetupError

STOCK = "stock"
BACKPORTS = f"{SUITE}-backports"
META = ["linux-image-amd64", "linux-headers-amd64"]  # the newest of a suite


@dataclass(frozen=True)
class Kernel:
    """One kernel, where its parts are, and what artefacts that are made for it are keyed by."""
    name: str
    version: str  # its release, as uname -r says
    image: Path  # its vmlinuz
    modules: Path  # its folder of modules
    key: tuple[str, ...]

    @property
    def headers(self) -> Path:
        """What modules are built against, as a path inside of the SDK."""
        return self.modules / "build"

    @property
    def suffix(self) -> str:
        """What tells artefacts, locks and build folders of a kernel from those of others."""
        return "" if self.name == STOCK else f"-{self.name}"


def stock(sdk: Path) -> Kernel:
    version = sdk_module.kernel_version(sdk)
    return Kernel(STOCK, version, sdk / f"boot/vmlinuz-{version}",
                  sdk / "usr/lib/modules" / version, (sdk.name, version))


def unpacked(name: str, sdk: Path, folder: Path) -> Kernel:
    """A kernel that lies in an artefact as it would on an installed system."""
    modules, = (folder / "usr/lib/modules").iterdir()
    return Kernel(name, modules.name, modules / "vmlinuz", modules, (sdk.name, folder.name))


def newest(apt: PrivateApt) -> list[str]:
    """The packages of the newest kernel that the apt root knows: what META depends on, of the
    release that its image package has in its name."""
    depends = apt.ask("apt-cache", "depends", "--recurse", "--no-suggests", "--no-recommends",
                      "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances", *META)
    names = sorted(set(depends.replace("|", " ").split()))
    images = [name for name in names if name.startswith("linux-image-") and name not in META]
    if len(images) != 1:
        raise SetupError(f"the archive has no one newest kernel in {BACKPORTS}: {images}")
    release = images[0].removeprefix("linux-image-").removesuffix("-amd64")
    return [name for name in names if name.startswith("linux-") and release in name]


def relocate(headers: Path) -> None:
    """Debian's Makefile names its folders by where a package has them. Here they are elsewhere,
    but beside each other as there."""
    makefile = headers / "Makefile"
    here = "verna-here := $(dir $(realpath $(lastword $(MAKEFILE_LIST))))..\n"
    makefile.write_text(here + makefile.read_text().replace("/usr/src/", "$(verna-here)/"))


def backport(sdk: Path) -> Kernel:
    def recipe(work: Path, log: Log) -> None:
        apt = PrivateApt(work / "download", log, BACKPORTS, "deb")
        apt.update()
        for package in newest(apt):
            apt.download_binary(package)
        for file in sorted((work / "download").glob("*.deb")):
            log.run(["dpkg-deb", "--extract", file, work])
        shutil.rmtree(work / "download")
        modules, = (work / "usr/lib/modules").iterdir()
        relocate(work / "usr/src" / f"linux-headers-{modules.name}")
        (work / "lib").symlink_to("usr/lib")
        sdk_module.run(sdk, log, ["depmod", "-b", work, modules.name])

    return unpacked("7", sdk, artefact("linux-7", [sdk.name, BACKPORTS, *META], recipe, 30))


def debug(sdk: Path) -> Kernel:
    return unpacked("debug", sdk, debug_kernel.build(sdk))


KERNELS = {STOCK: stock, "7": backport, "debug": debug}


def chosen() -> str:
    """The kernel that VERNA_KERNEL asks for."""
    return os.environ.get("VERNA_KERNEL") or STOCK


def get(sdk: Path, name: str = "") -> Kernel:
    """A kernel by its name, by default the chosen one; it is fetched or built if it must be."""
    name = name or chosen()
    if name not in KERNELS:
        raise SetupError(f"there is no kernel '{name}'; there are {', '.join(KERNELS)}")
    return KERNELS[name](sdk)
