# SPDX-License-Identifier: GPL-2.0-or-later
"""What must be installed on the host itself. It is little: the compilers are in the SDK."""

import os
import shutil
import subprocess
from pathlib import Path

from .cache import cache_root
from .log import Log, SetupError, say

# Package and the file that shows that it is there: asking dpkg for each takes longer.
NEEDED = {
    "mmdebstrap": "/usr/bin/mmdebstrap",
    "util-linux": "/usr/bin/unshare",
    "debian-archive-keyring": "/usr/share/keyrings/debian-archive-keyring.gpg",
    "python3-pytest": "/usr/lib/python3/dist-packages/pytest/__init__.py",
    "python3-pytest-timeout": "/usr/lib/python3/dist-packages/pytest_timeout.py",
    "python3-pytest-xdist": "/usr/lib/python3/dist-packages/xdist/__init__.py",
}
NEEDED_AS_USER = {"uidmap": "/usr/bin/newuidmap"}
NEEDED_FOR_CHARTS = {
    "python3-matplotlib": "/usr/lib/python3/dist-packages/matplotlib/__init__.py",
}


def missing(more: dict) -> list[str]:
    needed = NEEDED | more
    if os.geteuid():
        needed |= NEEDED_AS_USER
    return [name for name, file in needed.items() if not Path(file).exists()]


def ensure_charts() -> str:
    """What `make bench-eth` draws with."""
    ensure(NEEDED_FOR_CHARTS)
    return "python3-matplotlib"


def ensure(more: dict | None = None) -> None:
    """Installs what is missing, as root; tells an ordinary user what root must do."""
    more = more or {}
    packages = missing(more)
    if not packages:
        return
    if not shutil.which("apt-get"):
        raise SetupError("this host has no apt-get: verna's set-up needs Debian 12 or 13")
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    if os.geteuid():
        raise SetupError(f"the host lacks the packages {' '.join(packages)}; as root, run\n"
                         f"    apt-get update && {' '.join(install)}")
    say(f"host: installing {' '.join(packages)}")
    log = Log.for_step(cache_root(), "host-packages")
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    # A foreign source on the host may fail to update without harm: the install decides.
    subprocess.run(["apt-get", "update"], env=env, check=False, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    log.run(install, env=env)
    if missing(more):
        raise SetupError(f"the packages {' '.join(missing(more))} are still missing after "
                         f"'{' '.join(install)}'; see {log.path}")
