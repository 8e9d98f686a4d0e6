# SPDX-License-Identifier: GPL-2.0-or-later
"""What depends on what: makes all artefacts, and tells others where they are.

The result is also written to build/setup.json in the checkout, for tools that only run things.
"""

import json
import os

from . import core, host, image, kernel, layer, provider, qemu, sdk, vernactl
from .cache import REPO, cache_root
from .log import SetupError, say

RESULT = REPO / "build/setup.json"


def part(name: str, build, *inputs):
    """Builds a part of the product. With VERNA_KEEP_GOING set, a part that does not build is left
    out: whoever works on one part need not wait for the others."""
    try:
        return build(*inputs)
    except SetupError as error:
        if not os.environ.get("VERNA_KEEP_GOING"):
            raise
        say(f"WARNING: going on without {name}: {str(error).splitlines()[0]}")
        return None


def build_all() -> dict[str, str]:
    """Everything that a guest needs, and where it is."""
    host.ensure()
    tools = sdk.build()
    kernel_folder = image.modules(tools)
    modules = part("kernel", kernel.build, tools)
    verbs = part("provider", provider.build, tools)
    card = part("core", core.build, tools)
    found = {
        "sdk": tools,
        "cache": cache_root(),
        "vmlinuz": kernel_folder / "vmlinuz",
        "initramfs": image.initramfs(tools),
        "root": image.root(tools),
        "modules": kernel_folder / "modules.squashfs",
        "layer": layer.build(tools, modules, verbs),
        "qemu": part("qemu", qemu.build, tools, card) or qemu.build(tools, None),
    }
    found["vernactl"] = part("vernactl", vernactl.build, tools)
    return write({name: str(path) for name, path in found.items() if path})


def write(found: dict[str, str]) -> dict[str, str]:
    RESULT.parent.mkdir(exist_ok=True)
    part = RESULT.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(found, indent=2) + "\n")
    part.replace(RESULT)
    return found
