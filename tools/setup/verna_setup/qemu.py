# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU of Debian's source with the card in it.

The long build (everything but the card) is a tree keyed by QEMU's version and options. The card's
shim and library are then copied into the tree and ninja links again, which takes seconds.
"""

import shutil
from pathlib import Path

from . import sdk as sdk_module
from .archive import SUITE, source_package
from .cache import REPO, artefact, copy_if_changed, key_of, lock, sync, tree
from .log import Log, SetupError

QOM = REPO / "qemu-device/qom"
DEVICES = Path(__file__).resolve().parents[1] / "verna-devices.mak"
PROGRAM = "qemu-system-x86_64"

CONFIGURE = f"""
--target-list=x86_64-softmmu --without-default-features --without-default-devices
--with-devices-x86_64={DEVICES.stem} --enable-system --enable-tcg --enable-kvm --enable-slirp
--enable-trace-backends=log --disable-docs --disable-tools --disable-install-blobs
""".split()


def unpack(sdk: Path, work: Path, log: Log) -> Path:
    """Debian's QEMU source with Debian's patches and ours."""
    source_package(work, log, "qemu")
    dsc, = (work / "download").glob("qemu_*.dsc")
    sdk_module.run(sdk, log, ["dpkg-source", "-x", dsc, work / "src"], cwd=work)
    for patch in sorted((QOM / "patches").glob("*.patch")):
        sdk_module.run(sdk, log, ["patch", "-p1", "-i", patch], cwd=work / "src")
    shutil.rmtree(work / "download")
    return work / "src"


def base_tree(sdk: Path) -> Path:
    """A build tree in which all of QEMU but the card is built."""

    def recipe(work: Path, log: Log) -> None:
        source = unpack(sdk, work, log)
        shutil.copy(DEVICES, source / "configs/devices/x86_64-softmmu")
        card = source / "hw/net/verna"
        card.mkdir()
        shutil.copy(QOM / "Kconfig", card)
        (card / "meson.build").write_text("# the card comes later\n")
        (work / "build").mkdir()
        sdk_module.run(sdk, log, [source / "configure", *CONFIGURE], cwd=work / "build")
        sdk_module.run(sdk, log, ["ninja", PROGRAM], cwd=work / "build")

    key = key_of(SUITE, sdk.name, *CONFIGURE, DEVICES, QOM / "patches", QOM / "Kconfig")
    return tree("qemu-tree", key, recipe, 600)


def check_sources() -> None:
    """meson builds the files it lists and no others; a forgotten one is hard to see."""
    listed = (QOM / "meson.build").read_text()
    for file in QOM.glob("*.c"):
        if f"'{file.name}'" not in listed:
            raise SetupError(f"{file.relative_to(REPO)} is not listed in "
                             f"{QOM.relative_to(REPO)}/meson.build")


def install_card(core: Path, card: Path) -> None:
    """Puts the shim, the library and the headers into one folder of QEMU's tree."""
    ours = {file.relative_to(core) for file in core.rglob("*") if file.is_file()}
    sync(QOM, card, keep=lambda path: path in ours)
    for name in ours:
        copy_if_changed(core / name, card / name)


def build(sdk: Path, core: Path | None) -> Path:
    """The QEMU program with the card; `core` has libverna_core.a and verna_core.h."""
    with_card = core is not None and (QOM / "verna.c").exists()
    if with_card:
        check_sources()

    def recipe(work: Path, log: Log) -> None:
        with lock("qemu-tree"):
            base = base_tree(sdk)
            if with_card:
                install_card(core, base / "src/hw/net/verna")
            sdk_module.run(sdk, log, ["ninja", PROGRAM], cwd=base / "build")
            shutil.copy2(base / "build" / PROGRAM, work / PROGRAM)

    parts = [QOM, core.name] if with_card else ["no card"]
    return artefact("qemu", [sdk.name, *CONFIGURE, DEVICES, *parts], recipe, 60) / PROGRAM
