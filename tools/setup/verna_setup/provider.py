# SPDX-License-Identifier: GPL-2.0-or-later
"""The verbs provider, built as providers/verna in rdma-core's own source.

libibverbs-dev has no headers for providers, so a configured source tree is kept in the cache and
the provider is copied into it.
"""

import shutil
from pathlib import Path

from . import sdk as sdk_module
from .archive import SUITE, source_package
from .cache import REPO, artefact, cache_root, copy_if_changed, key_of, lock, sync, tree
from .log import Log

PROVIDER = REPO / "provider"
CONTRACT = REPO / "kernel/include"
OPTIONS = """-DNO_PYVERBS=1 -DNO_MAN_PAGES=1 -DENABLE_RESOLVE_NEIGH=0 -DENABLE_STATIC=0
-DCMAKE_BUILD_TYPE=RelWithDebInfo""".split()
PLACEHOLDER = "# the provider comes later\n"


def base_tree(sdk: Path) -> Path:
    """rdma-core's source, configured, with what the provider needs of it built."""

    def recipe(work: Path, log: Log) -> None:
        # This suite's .dsc of rdma-core is missing in some archives; the tarball is enough.
        source_package(work, log, "rdma-core", "--tar-only")
        tarball, = (work / "download").glob("rdma-core_*.orig.tar.*")
        (work / "src").mkdir()
        log.run(["tar", "-x", "-f", tarball, "-C", work / "src", "--strip-components=1"])
        lists = work / "src/CMakeLists.txt"
        lists.write_text(lists.read_text().replace(
            "add_subdirectory(providers/siw)",
            "add_subdirectory(providers/siw)\nadd_subdirectory(providers/verna)"))
        (work / "src/providers/verna").mkdir()
        (work / "src/providers/verna/CMakeLists.txt").write_text(PLACEHOLDER)
        sdk_module.run(sdk, log, ["cmake", "-G", "Ninja", "-S", work / "src", "-B", work / "build",
                                  *OPTIONS])
        sdk_module.run(sdk, log, ["ninja", "-C", work / "build", "ibverbs"])
        shutil.rmtree(work / "download")

    return tree("rdma-core", key_of(SUITE, sdk.name, *OPTIONS), recipe, 40)


def fill(target: Path) -> None:
    """Copies the provider and, beside it, the contract's headers."""
    sync(PROVIDER, target, keep=lambda path: path.parts[0] in ("hw", "uapi"))
    for name in ("hw", "uapi"):
        sync(CONTRACT / name, target / name)


def configured_tree(sdk: Path, log: Log, *options: str) -> Path:
    """rdma-core's build folder, set up for the provider as it is now. Hold lock("rdma-core")."""
    base = base_tree(sdk)
    fill(base / "src/providers/verna")
    sdk_module.run(sdk, log, ["cmake", *options, base / "build"])
    return base / "build"


def unit_test() -> str:
    """Builds and runs the provider's own test, which needs no device; returns its TAP lines."""
    sdk = sdk_module.build()
    log = Log.for_step(cache_root(), "provider-test")
    with lock("rdma-core"):
        folder = configured_tree(sdk, log, "-DVERNA_PROVIDER_TESTS=ON")
        sdk_module.run(sdk, log, ["ninja", "-C", folder, "bin/verna_ring_test"])
        sdk_module.run(sdk, log, [folder / "bin/verna_ring_test"])
    return log.path.read_text()


def build(sdk: Path) -> Path | None:
    """The folder with the provider's library and .driver file, or None while there is none."""
    if not (PROVIDER / "CMakeLists.txt").exists():
        return None

    def recipe(work: Path, log: Log) -> None:
        with lock("rdma-core"):
            folder = configured_tree(sdk, log)
            # The version of the private interface is a part of the library's name.
            config = (folder / "include/config.h").read_text()
            abi = config.split("IBVERBS_PABI_VERSION", 1)[1].split()[0]
            library = f"libverna-rdmav{abi.strip('()')}.so"
            sdk_module.run(sdk, log, ["ninja", "-C", folder, f"lib/{library}"])
            copy_if_changed(folder / "lib" / library, work / library)
        (work / "verna.driver").write_text("driver verna\n")

    return artefact("provider", [sdk.name, PROVIDER, CONTRACT], recipe, 20)
