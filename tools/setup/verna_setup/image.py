# SPDX-License-Identifier: GPL-2.0-or-later
"""The guests' disk images, stacked as read-only layers under a tmpfs, and their initramfs.

`root` is a Debian userland and changes with its package list only, `modules` is a kernel's. What is
built from this checkout goes into a third layer, see layer.py.
"""

import shutil
from pathlib import Path

from . import sdk as sdk_module
from .archive import SUITE
from .cache import REPO, artefact
from .kernels import Kernel
from .log import Log

GUEST = REPO / "tools/vm/guest"

PACKAGES = """
kmod udev iproute2 iputils-ping iputils-arping ethtool procps psmisc pciutils strace jq socat
tcpdump iperf3 qperf rdma-core ibverbs-utils ibverbs-providers rdmacm-utils perftest
infiniband-diags python3-minimal python3-pyverbs ucx-utils less gdb nvme-cli bsdextrautils
nftables openvswitch-switch
""".split()

# What the initramfs loads to find its root, in this order; modprobe does the rest later.
EARLY = "virtio_pci virtio_blk squashfs overlay".split()


def squash(sdk: Path, log: Log, folder: Path, image: Path) -> None:
    """One layer from a folder. Fast rather than small: it is written once and read often."""
    sdk_module.run(sdk, log, ["mksquashfs", folder, image, "-comp", "zstd", "-Xcompression-level",
                              "3", "-noappend", "-all-root", "-quiet", "-no-progress"])


def root(sdk: Path, packages: list[str] = PACKAGES) -> Path:
    """The userland layer: that of all guests, or one with other packages."""

    def recipe(work: Path, log: Log) -> None:
        tree = work / "root"
        tree.mkdir(mode=0o755)
        sdk_module.strap(tree, log, packages)
        for waste in ("var/cache/apt", "var/lib/apt/lists", "boot", "usr/share/doc"):
            shutil.rmtree(tree / waste, ignore_errors=True)
        (tree / "etc/hostname").unlink(missing_ok=True)
        (tree / "etc/resolv.conf").unlink(missing_ok=True)
        squash(sdk, log, tree, work / "root.squashfs")
        shutil.rmtree(tree)

    return artefact("root", [SUITE, *packages], recipe, 90) / "root.squashfs"


def modules(sdk: Path, kernel: Kernel) -> Path:
    """A kernel and the layer with its modules: the folder with `vmlinuz` and the image."""

    def recipe(work: Path, log: Log) -> None:
        shutil.copy(kernel.image, work / "vmlinuz")
        tree = work / "tree"
        shutil.copytree(kernel.modules, tree / "usr/lib/modules" / kernel.version, symlinks=True,
                        ignore=shutil.ignore_patterns("build", "source", "vmlinuz"))
        squash(sdk, log, tree, work / "modules.squashfs")
        shutil.rmtree(tree)

    return artefact(f"modules{kernel.suffix}", [*kernel.key], recipe, 15)


def early_modules(folder: Path, tree: Path) -> None:
    """Copies the modules of EARLY, unpacked, and writes their order of loading."""
    depends = dict(line.split(":", 1) for line in
                   (folder / "modules.dep").read_text().splitlines())
    paths = {Path(path).name.split(".")[0].replace("-", "_"): path for path in depends}
    order: list[str] = []
    for name in EARLY:
        if name not in paths:
            continue  # built into this kernel
        for path in [*reversed(depends[paths[name]].split()), paths[name]]:
            if path not in order:
                order.append(path)
    (tree / "modules").mkdir()
    for path in order:
        shutil.copy(folder / path, tree / "modules")
    names = (Path(path).name.removesuffix(".xz") for path in order)
    (tree / "modules/order").write_text("".join(f"{name}\n" for name in names))


def initramfs(sdk: Path, kernel: Kernel) -> Path:
    """A small initramfs that mounts the layers and starts the guest's init."""
    script = GUEST / "early-init"

    def recipe(work: Path, log: Log) -> None:
        tree = work / "tree"
        for folder in ("bin", "dev", "proc", "sys", "mnt"):
            (tree / folder).mkdir(parents=True)
        shutil.copy(sdk / "usr/bin/busybox", tree / "bin")
        shutil.copy(script, tree / "init")
        early_modules(kernel.modules, tree)
        pack = ("find modules -name '*.xz' -exec unxz {} + && "
                "find . | cpio -o -H newc --quiet > ../initramfs")
        sdk_module.run(sdk, log, ["sh", "-c", pack], cwd=tree)
        shutil.rmtree(tree)

    return artefact(f"initramfs{kernel.suffix}", [*kernel.key, *EARLY, script], recipe,
                    3) / "initramfs"
