# SPDX-License-Identifier: GPL-2.0-or-later
"""What depends on what: makes all artefacts, and tells others where they are.

The result is also written to build/setup.json in the checkout, for tools that only run things;
for guests with a kernel other than the stock one to build/setup-NAME.json.
"""

import json
import os
from pathlib import Path

from . import core, host, image, kernel, kernels, layer, provider, qemu, sdk, vernactl
from .cache import REPO, cache_root
from .log import SetupError, say

RESULTS = REPO / "build"


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


def build_all(name: str = "") -> dict[str, str]:
    """Everything that a guest with a kernel needs, and where it is; the default is VERNA_KERNEL."""
    host.ensure()
    tools = sdk.build()
    chosen = kernels.get(tools, name)
    kernel_folder = image.modules(tools, chosen)
    modules = part("kernel", kernel.build, tools, chosen)
    verbs = part("provider", provider.build, tools)
    card = part("core", core.build, tools)
    found = {
        "sdk": tools,
        "cache": cache_root(),
        "vmlinuz": kernel_folder / "vmlinuz",
        "initramfs": image.initramfs(tools, chosen),
        "root": image.root(tools),
        "modules": kernel_folder / "modules.squashfs",
        "layer": layer.build(tools, chosen, modules, verbs),
        "qemu": part("qemu", qemu.build, tools, card) or qemu.build(tools, None),
    }
    found["vernactl"] = part("vernactl", vernactl.build, tools)
    return write(RESULTS / f"setup{chosen.suffix}.json",
                 {name: str(path) for name, path in found.items() if path})


def write(result: Path, found: dict[str, str]) -> dict[str, str]:
    result.parent.mkdir(exist_ok=True)
    part = result.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(found, indent=2) + "\n")
    part.replace(result)
    return found
