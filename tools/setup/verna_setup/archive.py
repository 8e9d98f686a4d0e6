# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian archive: which one this host uses, and how to reach another suite of it.

No address is written down anywhere in this repository. A private apt root reads the suite that
the product is built on and leaves the host's own package lists untouched.
"""

import os
import shutil
import subprocess
from pathlib import Path

from .log import Log, SetupError

SUITE = "trixie"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def known_archives() -> list[str]:
    """The Debian archives that apt knows on this host; none before its first update."""
    fields = "$(ORIGIN)|$(COMPONENT)|$(SUITE)|$(REPO_URI)"
    lines = subprocess.run(["apt-get", "indextargets", "--format", fields, "Created-By: Packages"],
                           capture_output=True, text=True, check=False).stdout.splitlines()
    rows = [line.split("|", 3) for line in lines]
    return [uri for origin, component, suite, uri in rows
            if origin == "Debian" and component == "main" and "security" not in suite + uri]


def archive_uri() -> str:
    """The address of the Debian archive that this host's own apt is set up with."""
    found = known_archives()
    if not found and os.geteuid() == 0:
        subprocess.run(["apt-get", "update"], check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        found = known_archives()
    if not found:
        raise SetupError("apt on this host knows no Debian archive: is there one in "
                         "/etc/apt/sources.list*, and did root run 'apt-get update'?")
    return found[0]


class PrivateApt:
    """An apt root of its own in `folder`, for packages of one suite."""

    def __init__(self, folder: Path, log: Log, suite: str = SUITE, kind: str = "deb-src"):
        self.log = log
        self.folder = folder
        for name in ("lists/partial", "cache/archives/partial", "state"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        sources = folder / "sources.list"
        sources.write_text(f"{kind} [signed-by={KEYRING}] {archive_uri()} {suite} main\n")
        self.options = []
        for key, value in {
            "Dir::Etc::sourcelist": sources,
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::State": folder / "state",
            "Dir::State::Lists": folder / "lists",
            "Dir::State::status": "/dev/null",
            "Dir::Cache": folder / "cache",
            "APT::Sandbox::User": "",
        }.items():
            self.options += ["-o", f"{key}={value}"]

    def update(self) -> None:
        self.log.run(["apt-get", *self.options, "update"])

    def download(self, source: str, *options: str) -> None:
        """Fetches a source package's files into the folder."""
        command = ["apt-get", *self.options, "source", "--download-only", *options, source]
        self.log.run(command, cwd=self.folder)

    def ask(self, tool: str, *words: str) -> str:
        """What one of apt's tools says about the packages of this root."""
        return subprocess.run([tool, *self.options, *words], capture_output=True, text=True,
                              check=False).stdout

    def download_binary(self, package: str) -> None:
        """Fetches a package's .deb into the folder."""
        command = ["apt-get", *self.options, "download", package]
        self.log.run(command, cwd=self.folder)


def binary_package(folder: Path, log: Log, name: str, suite: str = SUITE) -> Path:
    """Downloads a package of a suite and unpacks its files; returns the folder they are in."""
    apt = PrivateApt(folder / "download", log, suite, "deb")
    apt.update()
    apt.download_binary(name)
    file, = (folder / "download").glob(f"{name}_*.deb")
    log.run(["dpkg-deb", "--extract", file, folder / "unpacked"])
    shutil.rmtree(folder / "download")
    return folder / "unpacked"


def source_package(folder: Path, log: Log, name: str, *options: str) -> None:
    """Downloads the files of a source package into `folder`/download."""
    apt = PrivateApt(folder / "download", log)
    apt.update()
    apt.download(name, *options)
