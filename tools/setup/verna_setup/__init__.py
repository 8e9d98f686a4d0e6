# SPDX-License-Identifier: GPL-2.0-or-later
"""Sets up everything verna needs to run: SDK, QEMU, kernel modules, provider, guest image.

One module per job. `python3 tools/setup --help` is the command line; `artefacts.py` says what
depends on what.
"""
