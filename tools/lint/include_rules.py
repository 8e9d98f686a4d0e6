# SPDX-License-Identifier: GPL-2.0-or-later
"""Includes go one way; see Documentation/adr and the table below, which is the rule.

base <- pkt, host, mac <- queue, flow, sched, vswitch <- eth | rdma <- ctrl <- nic <- (C ABI) <- qom
"""

import re
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)

# A folder of the core and the folders that its files may include, besides its own.
CORE = {
    "base": {"hw"},
    "pkt": {"base", "hw"},
    # The host bus of the C interface is one of the host buses.
    "host": {"base", "hw", "verna_core.h"},
    "mac": {"base", "pkt", "hw"},
    "queue": {"base", "host", "pkt", "hw"},
    "flow": {"base", "host", "pkt", "hw"},
    "vswitch": {"base", "host", "pkt", "flow", "mac", "hw"},
    "sched": {"base", "host", "pkt", "hw"},
    # Commands are data; what executes them includes their description.
    "eth": {"base", "host", "pkt", "mac", "queue", "flow", "sched", "hw", "ctrl/command.h",
            "ctrl/flow_result.h", "ctrl/pbl_result.h"},
    "rdma": {"base", "host", "pkt", "mac", "queue", "flow", "sched", "hw", "ctrl/command.h",
             "ctrl/pbl_result.h"},
    "ctrl": {"base", "host", "pkt", "mac", "queue", "flow", "sched", "vswitch", "eth", "rdma",
             "hw"},
    # function.*, nic.*, runner.* and verna_core.*
    "": {"base", "host", "pkt", "mac", "queue", "flow", "sched", "vswitch", "eth", "rdma", "ctrl",
         "hw"},
}
QEMU = re.compile(r"^(?:qemu|qapi|qom|hw|exec|system|sysemu|net|migration|chardev)/")


def core_findings(name: str, folder: str, quoted: list[str], angled: list[str]) -> list[str]:
    findings = []
    allowed = CORE[folder] | {folder}
    for target in quoted:
        head = target.split("/")[0] if "/" in target else ""
        if target in allowed or head in allowed:
            continue
        findings.append(f"{name}: includes {target}, {folder or 'the top'} may not")
    for target in angled:
        if target.startswith("linux/") and folder != "hw":
            findings.append(f"{name}: includes <{target}>")
    findings += [f"{name}: includes QEMU's {target}" for target in quoted + angled
                 if QEMU.match(target) and not target.startswith("hw/verna_")]
    return findings


def kernel_findings(name: str, quoted: list[str]) -> list[str]:
    """eth and rdma see the core through one header; the contract sees nothing."""
    findings = []
    for target in quoted:
        base = target.rsplit("/", 1)[-1]
        if name.startswith("kernel/include/hw/") and not re.fullmatch(r"verna_\w+\.h", base):
            findings.append(f"{name}: the contract includes {target}")
        if name.startswith("kernel/eth/") and ("rdma/" in target or base in ("core.h", "ib.h")):
            findings.append(f"{name}: includes {target}")
        if name.startswith("kernel/rdma/") and ("eth/" in target or base in ("core.h", "eth.h")):
            findings.append(f"{name}: includes {target}")
        if name.startswith("kernel/core/") and re.match(r"(?:\.\./)?(?:eth|rdma)/", target):
            findings.append(f"{name}: includes {target}")
    return findings


def check(repo: Path, files: list[Path]) -> list[str]:
    findings = []
    for path in files:
        name = str(path.relative_to(repo))
        if path.suffix not in (".h", ".c", ".cc"):
            continue
        found = INCLUDE.findall(path.read_text(encoding="utf-8"))
        quoted = [target for mark, target in found if mark == '"']
        angled = [target for mark, target in found if mark == "<"]
        if name.startswith("qemu-device/core/"):
            inside = name.split("/")[2:]
            folder = inside[0] if len(inside) > 1 else ""
            if folder not in CORE:
                findings.append(f"{name}: no rule for the folder {folder}")
                continue
            findings += core_findings(name, folder, quoted, angled)
        if name.startswith("qemu-device/qom/"):
            findings += [f"{name}: includes {target}, only verna_core.h and its C interfaces are "
                         "for the shim" for target in quoted
                         if re.match(r"(?:base|host|pkt|mac|queue|flow|sched|eth|rdma|ctrl)/",
                                     target)]
        if name.startswith("kernel/"):
            findings += kernel_findings(name, quoted)
            findings += [f"{name}: the contract includes <{target}>" for target in angled
                         if name.startswith("kernel/include/hw/") and target != "linux/types.h"]
        if name.startswith("provider/"):
            findings += [f"{name}: includes {target}" for target in quoted
                         if "kernel/core" in target or "verna_core_api" in target]
    return findings
