# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own driver tests, built unmodified from Debian's kernel source.

They are a guest layer of their own, below which stands a userland with the tools they call. None
of it is in this repository: sources and products live in the cache.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from . import image
from . import sdk as sdk_module
from .archive import SUITE, binary_package
from .cache import artefact
from .log import Log, SetupError

STOCK = "6.12"
INSTALLED = "usr/libexec/kselftests"  # in the guest

# What builds them: compilers for the host and for BPF, and the libraries of the test programs.
BUILD_PACKAGES = """
build-essential clang llvm rsync python3 python3-yaml python3-jsonschema bison flex bc pkg-config
libelf-dev zlib1g-dev libcap-dev libmnl-dev libnuma-dev libssl-dev liburing-dev squashfs-tools
""".split()

# What they call. perl and bc are for the shell libraries of net/forwarding.
GUEST_PACKAGES = """
python3 python3-yaml netsniff-ng bpftool bpftrace bc perl-base libcap2 libnuma1 libssl3t64 liburing2
libmnl0 nftables iputils-tracepath netcat-openbsd
""".split()

# A stable kernel's tree has programs that do not compile (net/tls.c of 6.12.117): -i goes on, and
# what the lane needs is looked for afterwards.
MAKE_OPTIONS = ["-i", "TARGETS=drivers/net drivers/net/hw net net/lib net/forwarding"]
NEEDED = """
drivers/net/ping.py drivers/net/hw/csum.py net/lib/csum net/lib/specs/netdev.yaml
net/lib/ynl/lib net/gro net/toeplitz net/netdevice.sh net/forwarding/local_termination.sh
kselftest-list.txt
""".split()

# What the build reads of a kernel's source; the rest is three quarters of it.
PARTS = "Makefile Kbuild Kconfig tools scripts include usr kernel arch/x86 Documentation/netlink"


@dataclass(frozen=True)
class Suite:
    """The tests of one kernel: Debian's package with their source, the suite it is in, and what
    make is told besides MAKE_OPTIONS."""
    package: str
    suite: str
    options: tuple[str, ...] = ()


# The generator of netlink code of 6.12 never ends on its own specification, and of what the lane
# runs nothing there needs it.
SUITES = {STOCK: Suite("linux-source-6.12", SUITE, ("YNL_GEN_FILES=",)),
          "7": Suite("linux-source-7.2", f"{SUITE}-backports")}


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


def compile_tests(tools: Path, log: Log, source: Path, target: Path, options: list[str]) -> None:
    """make install, as the kernel's documentation has it."""
    sdk_module.run(tools, log, ["make", "-C", source, "-j2", "headers"])
    sdk_module.run(tools, log, ["make", "-C", source / "tools/testing/selftests", "-j2",
                                f"INSTALL_PATH={target}", *options, "install"])
    missing = [name for name in NEEDED if not (target / name).exists()]
    if missing:
        raise SetupError(f"the selftests were built without {', '.join(missing)}; see {log.path}")
    # Under TCG an interpreter that compiles is what one waits for.
    sdk_module.run(tools, log, ["python3", "-m", "compileall", "-q", "-s", target, "-p",
                                f"/{INSTALLED}", target])


def tests(kernel: str = STOCK) -> Path:
    """The guest layer with the tests of a kernel."""
    if kernel not in SUITES:
        raise SetupError(f"no kselftests for kernel {kernel!r}; there are {', '.join(SUITES)}")
    suite = SUITES[kernel]
    options = [*MAKE_OPTIONS, *suite.options]

    def recipe(work: Path, log: Log) -> None:
        tools = build_root()
        source = unpack(work, log, suite.package, suite.suite)
        target = work / "tree" / INSTALLED
        target.mkdir(parents=True)
        compile_tests(tools, log, source, target, options)
        image.squash(tools, log, work / "tree", work / "kselftest.squashfs")
        shutil.rmtree(work / "tree")
        shutil.rmtree(source)

    parts = [suite.package, suite.suite, *options, *NEEDED, PARTS, *BUILD_PACKAGES]
    return artefact("kselftest", parts, recipe, 150) / "kselftest.squashfs"


def userland() -> Path:
    """The guests' userland with what the tests call."""
    return image.root(sdk_module.build(), [*image.PACKAGES, *GUEST_PACKAGES])


def build(kernel: str = STOCK) -> dict[str, Path]:
    """What a guest that runs the tests needs besides the usual."""
    return {"root": userland(), "kselftest": tests(kernel)}
