# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own driver tests, built unmodified from Debian's kernel source.

They are a guest layer of their own, below which stands a userland with the tools they call. None
of it is in this repository: sources and products live in the cache.
"""

import shutil
from pathlib import Path

from . import image, kernels
from . import sdk as sdk_module
from .archive import SUITE, binary_package
from .cache import artefact
from .kernels import BACKPORTS, STOCK, Kernel
from .log import Log, SetupError

INSTALLED = "usr/libexec/kselftests"  # in the guest

# What builds them: compilers for the host and for BPF, and the libraries of the test programs.
BUILD_PACKAGES = """
build-essential clang llvm rsync python3 python3-yaml python3-jsonschema bison flex bc pkg-config
libelf-dev zlib1g-dev libcap-dev libmnl-dev libnuma-dev libssl-dev liburing-dev squashfs-tools
""".split()

# What they call. perl and bc are for the shell libraries of net/forwarding.
GUEST_PACKAGES = """
python3 python3-yaml netsniff-ng bpftool bpftrace bc perl-base libcap2 libnuma1 libssl3t64 liburing2
libmnl0 iputils-tracepath netcat-openbsd ncat
""".split()

# The tests of 7.x call `ethtool --json -l`. It needs no newer libraries than the stable suite's.
NEWER_SUITE = "forky"
NEWER = {"ethtool": "usr/sbin/ethtool"}

# A stable kernel's tree has programs that do not compile (net/tls.c of 6.12.117): -i goes on, and
# what the lane needs is looked for afterwards.
MAKE_OPTIONS = ["-i", "TARGETS=drivers/net drivers/net/hw net net/lib net/forwarding"]
NEEDED = """
drivers/net/ping.py drivers/net/hw/csum.py net/lib/csum net/lib/specs/netdev.yaml net/lib/ynl
net/netdevice.sh net/forwarding/local_termination.sh kselftest-list.txt
""".split()

# What the build reads of a kernel's source; the rest is three quarters of it. By MAINTAINERS a
# generator knows the top of the tree, and looks for it for ever.
PARTS = ("Makefile Kbuild Kconfig MAINTAINERS tools scripts include usr kernel arch/x86 "
         "Documentation/netlink")


# What the lane needs besides: these have moved from one tree to the next.
MOVED = {"6.12": ("net/gro", "net/toeplitz"),
         "": ("net/lib/gro", "net/lib/xdp_native.bpf.o", "drivers/net/hw/toeplitz",
              "drivers/net/napi_id_helper")}


def source_package(kernel: Kernel) -> tuple[str, str]:
    """Debian's package with a kernel's source, and the suite that it is in."""
    series = ".".join(kernel.version.split("+")[0].split(".")[:2])
    return f"linux-source-{series}", SUITE if kernel.name == STOCK else BACKPORTS


def build_root() -> Path:
    """A tree like the SDK, for this build only: the SDK's users do without these packages."""

    def recipe(work: Path, log: Log) -> None:
        work.chmod(0o755)
        sdk_module.strap(work, log, BUILD_PACKAGES)

    return artefact("kselftest-sdk", [SUITE, *BUILD_PACKAGES], recipe, 70)


def unpack(work: Path, log: Log, package: str, suite: str) -> Path:
    """The parts of the kernel's source that the build needs."""
    folder = binary_package(work, log, package, suite)
    tarball, = (folder / "usr/src").glob("linux-source-*.tar.xz")
    source = work / "src"
    source.mkdir()
    log.run(["tar", "-x", "-f", tarball, "-C", source, "--strip-components=1",
             *(f"{package}/{part}" for part in PARTS.split())])
    shutil.rmtree(folder)
    return source


def compile_tests(tools: Path, log: Log, source: Path, target: Path,
                  moved: tuple[str, ...]) -> None:
    """make install, as the kernel's documentation has it."""
    sdk_module.run(tools, log, ["make", "-C", source, "-j2", "headers"])
    sdk_module.run(tools, log, ["make", "-C", source / "tools/testing/selftests", "-j2",
                                f"INSTALL_PATH={target}", *MAKE_OPTIONS, "install"])
    missing = [name for name in (*NEEDED, *moved) if not (target / name).exists()]
    if missing:
        raise SetupError(f"the selftests were built without {', '.join(missing)}; see {log.path}")
    # Under TCG an interpreter that compiles is what one waits for.
    sdk_module.run(tools, log, ["python3", "-m", "compileall", "-q", "-s", target, "-p",
                                f"/{INSTALLED}", target])


def tests(name: str = STOCK) -> Path:
    """The guest layer with the tests of a kernel's own tree."""
    package, suite = source_package(kernels.get(sdk_module.build(), name))
    moved = MOVED.get(package.removeprefix("linux-source-"), MOVED[""])

    def recipe(work: Path, log: Log) -> None:
        tools = build_root()
        source = unpack(work, log, package, suite)
        target = work / "tree" / INSTALLED
        target.mkdir(parents=True)
        compile_tests(tools, log, source, target, moved)
        image.squash(tools, log, work / "tree", work / "kselftest.squashfs")
        shutil.rmtree(work / "tree")
        shutil.rmtree(source)

    parts = [package, suite, *MAKE_OPTIONS, PARTS, *BUILD_PACKAGES]
    return artefact("kselftest", parts, recipe, 150) / "kselftest.squashfs"


def userland() -> Path:
    """The guests' userland with what the tests call."""
    return image.root(sdk_module.build(), [*image.PACKAGES, *GUEST_PACKAGES])


def newer_tools() -> Path:
    """The layer with what a newer tree's tests call and Debian's stable suite has too old."""

    def recipe(work: Path, log: Log) -> None:
        target = work / "tree/usr/local/sbin"
        target.mkdir(parents=True)
        for package, path in NEWER.items():
            unpacked = binary_package(work, log, package, NEWER_SUITE)
            shutil.copy(unpacked / path, target)
            shutil.rmtree(unpacked)
        image.squash(sdk_module.build(), log, work / "tree", work / "tools.squashfs")
        shutil.rmtree(work / "tree")

    parts = [NEWER_SUITE, *NEWER, *NEWER.values()]
    return artefact("kselftest-tools", parts, recipe, 20) / "tools.squashfs"


def build(name: str = STOCK) -> dict[str, Path | list[Path]]:
    """What a guest that runs a kernel's tests needs besides the usual: `root` and `layers`."""
    layers = [tests(name)] if name == STOCK else [tests(name), newer_tools()]
    return {"root": userland(), "layers": layers}
