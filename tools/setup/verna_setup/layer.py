# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest layer with what this checkout builds: it is made anew in a second or two.

Everything lies where an installed package would put it, so that loading is automatic.
"""

import shutil
from pathlib import Path

from . import sdk as sdk_module
from .cache import REPO, artefact
from .image import GUEST, squash
from .kernels import Kernel
from .log import Log

PACKAGING = REPO / "kernel/packaging"
PROGRAMS = REPO / "tests/vm/programs"
BPF = REPO / "tests/vm/bpf"
PYTHON = REPO / "tests/vm/guest"  # scripts for the guest, installed as they are
LIBRARIES = "usr/lib/x86_64-linux-gnu/libibverbs"
FLAGS = ["-O2", "-g", "-Wall", "-Wextra", "-D_GNU_SOURCE", f"-I{REPO}/kernel/include"]


def programs() -> list[Path]:
    return sorted(PROGRAMS.glob("*.c"))


def compile_programs(sdk: Path, log: Log, target: Path) -> None:
    """One program per file, against the SDK's verbs libraries."""
    target.mkdir(parents=True, exist_ok=True)
    for source in programs():
        sdk_module.run(sdk, log, ["gcc", *FLAGS, f"-I{PROGRAMS}", source, "-o",
                                  target / source.stem, "-libverbs", "-lrdmacm", "-lpthread"])


def compile_bpf(sdk: Path, log: Log, target: Path) -> None:
    """BPF programs, for `ip link set dev X xdpdrv object NAME.bpf.o program Y`."""
    target.mkdir(parents=True, exist_ok=True)
    for source in sorted(BPF.glob("*.c")):
        sdk_module.run(sdk, log, ["clang", "-O2", "-g", "-Wall", "-target", "bpf",
                                  "-I/usr/include/x86_64-linux-gnu", "-c", source, "-o",
                                  target / f"{source.stem}.bpf.o"])


def install_agent(sdk: Path, log: Log, tree: Path) -> None:
    folder = tree / "usr/lib/verna"
    folder.mkdir(parents=True)
    for script in ("init", "name"):
        shutil.copy(GUEST / script, folder)
    (tree / "etc/modprobe.d").mkdir(parents=True)
    shutil.copy(GUEST / "modprobe.conf", tree / "etc/modprobe.d/verna-guest.conf")
    (tree / "etc/udev/rules.d").mkdir(parents=True)
    shutil.copy(GUEST / "rdma.rules", tree / "etc/udev/rules.d/90-verna-guest.rules")
    sdk_module.run(sdk, log, ["gcc", *FLAGS, GUEST / "agent.c", "-o", folder / "agent", "-lutil"])


def install_modules(sdk: Path, log: Log, kernel: Kernel, modules: Path, tree: Path) -> None:
    """Puts the modules in place and writes the module index of the whole system."""
    folder = tree / "usr/lib/modules" / kernel.version
    updates = folder / "updates"
    updates.mkdir(parents=True)
    for module in modules.glob("*.ko"):
        shutil.copy(module, updates)
    # depmod wants to see all modules: the kernel's own, below what is in the layer.
    # Their debugging information stays in the cache, beside which a guest's addresses can be read.
    script = ('strip -g "$2"/updates/*.ko && '
              'mount -t tmpfs t /mnt && mkdir /mnt/root /mnt/up /mnt/work && '
              'mkdir -p /mnt/root/usr/lib/modules/$1 && ln -s usr/lib /mnt/root/lib && '
              'cp -a "$2/updates" /mnt/up/ && mount -t overlay -o '
              'lowerdir=$3,upperdir=/mnt/up,workdir=/mnt/work o '
              '/mnt/root/usr/lib/modules/$1 && depmod -b /mnt/root "$1" && '
              'cp /mnt/up/modules.* "$2/"')
    sdk_module.run(sdk, log, ["sh", "-euc", script, "sh", kernel.version, folder, kernel.modules])


def install_provider(provider: Path, tree: Path) -> None:
    for library in provider.glob("*.so"):
        (tree / LIBRARIES).mkdir(parents=True, exist_ok=True)
        shutil.copy(library, tree / LIBRARIES)
    (tree / "etc/libibverbs.d").mkdir(parents=True)
    shutil.copy(provider / "verna.driver", tree / "etc/libibverbs.d")


def install_packaging(tree: Path) -> None:
    """udev rules and modprobe settings, under the names that they have in the folder."""
    places = {".rules": "usr/lib/udev/rules.d", ".conf": "usr/lib/modprobe.d"}
    for file in sorted(PACKAGING.rglob("*")):
        if file.suffix in places:
            target = tree / places[file.suffix]
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)


def build(sdk: Path, kernel: Kernel, modules: Path | None, provider: Path | None) -> Path:
    """The layer's image for guests with that kernel."""

    def recipe(work: Path, log: Log) -> None:
        tree = work / "tree"
        install_agent(sdk, log, tree)
        compile_programs(sdk, log, tree / "usr/local/bin")
        if PYTHON.is_dir():
            shutil.copytree(PYTHON, tree / "usr/local/lib/verna-tests")
        compile_bpf(sdk, log, tree / "usr/local/lib/verna-tests")
        if modules:
            install_modules(sdk, log, kernel, modules, tree)
        if provider:
            install_provider(provider, tree)
        install_packaging(tree)
        squash(sdk, log, tree, work / "layer.squashfs")
        shutil.rmtree(tree)

    parts = [part.name for part in (modules, provider) if part]
    parts += [path for path in (GUEST, PACKAGING, PROGRAMS, BPF, PYTHON, REPO / "kernel/include")
              if path.exists()]
    return artefact(f"layer{kernel.suffix}", [sdk.name, *parts], recipe, 5) / "layer.squashfs"
