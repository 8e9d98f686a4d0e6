# SPDX-License-Identifier: GPL-2.0-or-later
"""The SDK: a Debian tree with every compiler, header and library that the product is built with.

The host therefore needs little more than mmdebstrap, and the product is built with the same tools
on Debian 12 and 13. Commands run inside it through the `sdk-enter` script beside this package.
"""

import os
from pathlib import Path

from .archive import KEYRING, SUITE, archive_uri
from .cache import REPO, artefact, cache_root
from .log import Log

ENTER = Path(__file__).resolve().parents[1] / "sdk-enter"

PACKAGES = """
build-essential ccache clang clang-format clang-tidy libclang-rt-dev llvm cmake ninja-build meson
pkg-config gdb dpkg-dev kmod cpio zstd squashfs-tools busybox-static file perl
linux-headers-amd64 linux-image-amd64 sparse
libisal-dev libfmt-dev libgtest-dev libgmock-dev nlohmann-json3-dev libcli11-dev
libtomlplusplus-dev libibverbs-dev librdmacm-dev
python3 python3-venv python3-pycotap libglib2.0-dev zlib1g-dev libslirp-dev libfdt-dev flex bison
seabios qemu-system-data
libnl-3-dev libnl-route-3-dev libudev-dev
shellcheck pyflakes3 pycodestyle codespell tshark python3-scapy
""".split()


# Manuals and translations are a third of the bytes and nobody reads them here.
UNWANTED = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*")


def strap(target: Path, log: Log, packages: list[str]) -> None:
    """Unpacks and configures a Debian tree of the given packages into an empty directory."""
    options = ["--variant=minbase", f"--include={','.join(packages)}",
               "--aptopt=APT::Install-Recommends \"false\"",
               *(f"--dpkgopt=path-exclude={path}" for path in UNWANTED)]
    source = f"deb [signed-by={KEYRING}] {archive_uri()} {SUITE} main"
    if os.geteuid():
        strap_as_user(target, log, [*options, SUITE], source)
        return
    # In namespaces of its own, whose mounts and processes vanish when this run is killed: what a
    # later run cleans away must never have the host's /dev mounted in it.
    log.run(["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc",
             "mmdebstrap", *options, SUITE, target, source])


def strap_as_user(target: Path, log: Log, options: list[str], source: str) -> None:
    """The same without root. The files become the user's, which is enough: inside the SDK the
    user is mapped to root, and images are packed with all files root's."""
    tar = target.parent / f"{target.name}.tar"
    try:
        log.run(["mmdebstrap", "--mode=unshare", *options, tar, source])
        log.run(["tar", "-x", "-f", tar, "-C", target, "--no-same-owner", "--exclude=./dev/*"])
    finally:
        tar.unlink(missing_ok=True)


def build() -> Path:
    """The SDK's root directory."""

    def recipe(work: Path, log: Log) -> None:
        os.chmod(work, 0o755)
        strap(work, log, PACKAGES)

    return artefact("sdk", [SUITE, *PACKAGES], recipe, 240)


def run(sdk: Path, log: Log, command: list, cwd: Path | None = None, **env: str) -> None:
    """Runs a command inside the SDK, with checkout and cache at their own paths."""
    variables = dict(os.environ, VERNA_SDK=str(sdk), VERNA_REPO=str(REPO),
                     VERNA_CACHE=str(cache_root()), **env)
    log.run([ENTER, *command], cwd=cwd or cache_root(), env=variables)


def kernel_version(sdk: Path) -> str:
    """The kernel of the guests: the SDK's image and headers are of the same one."""
    return max(path.name for path in (sdk / "usr/lib/modules").iterdir()
               if (path / "build").is_symlink())
