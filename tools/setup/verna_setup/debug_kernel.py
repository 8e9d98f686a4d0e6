# SPDX-License-Identifier: GPL-2.0-or-later
"""The debug kernel: Debian's source of the stock kernel, built small and with every checker."""

import shutil
from pathlib import Path

from . import sdk as sdk_module
from .archive import binary_package
from .cache import artefact
from .log import Log, SetupError

CONFIG = Path(__file__).resolve().parents[1] / "kernels/debug.config"
SOURCE = "linux-source-6.12"
# What the SDK lacks for it. It is unpacked beside the source: in the SDK it would change the key
# of everything that is built there.
TOOLS = ["libelf-dev", "libelf1t64"]


def unpack(work: Path, log: Log) -> Path:
    """The source of the stock kernel, or of a newer one of its suite."""
    folder = binary_package(work / "source", log, SOURCE)
    tarball, = (folder / "usr/src").glob(f"{SOURCE}.tar.*")
    source = work / "src"
    source.mkdir()
    log.run(["tar", "-x", "-f", tarball, "-C", source, "--strip-components=1"])
    shutil.rmtree(work / "source")
    return source


def tools(work: Path, log: Log) -> list[str]:
    """Fetches TOOLS; returns how make is told of them."""
    folder = work / "tools"
    for package in TOOLS:
        shutil.copytree(binary_package(work / "package", log, package), folder, symlinks=True,
                        dirs_exist_ok=True)
        shutil.rmtree(work / "package")
    (folder / "bin").mkdir()
    (folder / "bin/bc").symlink_to("/usr/bin/busybox")
    return [f"LIBELF_FLAGS=-I{folder}/usr/include",
            f"LIBELF_LIBS=-L{folder}/usr/lib/x86_64-linux-gnu -lelf"]


def configure(sdk: Path, log: Log, source: Path) -> None:
    """Writes .config. Kconfig drops what it does not know or cannot have, and says nothing."""
    sdk_module.run(sdk, log, ["make", "-C", source, f"KCONFIG_ALLCONFIG={CONFIG}", "allnoconfig"])
    made = set((source / ".config").read_text().splitlines())
    wanted = [line for line in CONFIG.read_text().splitlines() if line.startswith("CONFIG_")]
    lost = [line for line in wanted if line not in made]
    if lost:
        raise SetupError(f"{CONFIG.name}: no effect have {', '.join(lost)}")


def build(sdk: Path) -> Path:
    """A folder with kernel, modules and headers, each where an installed system has it."""
    version = sdk_module.kernel_version(sdk)

    def recipe(work: Path, log: Log) -> None:
        source = unpack(work, log)
        options = tools(work, log)
        configure(sdk, log, source)

        def make(*words: str) -> None:
            sdk_module.run(sdk, log, ["env", f"PATH={work}/tools/bin:/usr/lib/ccache:/usr/bin",
                                      "make", "-C", source, "-j2", *options, *words])

        make("bzImage", "modules")
        install(make, source, work)
        shutil.rmtree(source)
        shutil.rmtree(work / "tools")

    return artefact("linux-debug", [sdk.name, version, CONFIG], recipe, 900)


def install(make, source: Path, work: Path) -> None:
    """Moves what guests and module builds need out of the source's tree."""
    release = (source / "include/config/kernel.release").read_text().strip()
    modules = work / "usr/lib/modules" / release
    modules.mkdir(parents=True)
    (work / "lib").symlink_to("usr/lib")
    make("modules_install", f"INSTALL_MOD_PATH={work}")
    for link in ("build", "source"):
        (modules / link).unlink(missing_ok=True)
    make("run-command", "KBUILD_RUN_COMMAND=+$(srctree)/scripts/package/install-extmod-build "
         f"{modules}/build")
    shutil.copy(source / ".config", modules / "build")
    shutil.copy(source / "arch/x86/boot/bzImage", modules / "vmlinuz")
