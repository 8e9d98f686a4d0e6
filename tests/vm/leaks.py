# SPDX-License-Identifier: GPL-2.0-or-later
"""What the debug kernel's kmemleak has to say of a guest at its end.

The drivers are unloaded first: what is theirs and still there then is a leak. kmemleak prints
addresses of an unloaded module without a name, so the names are taken before.
"""

import bisect
import re
from concurrent.futures import ThreadPoolExecutor

from verna_vm import Guest, GuestGone

KMEMLEAK = "/sys/kernel/debug/kmemleak"
# An object is reported when two scans found it unreferenced and unchanged, and not before it is
# five seconds old.
SCAN = f"sleep 6; echo scan > {KMEMLEAK} && echo scan > {KMEMLEAK} && cat {KMEMLEAK}"
UNLOAD = "for m in verna_ib verna; do [ ! -d /sys/module/$m ] || rmmod $m || exit 1; done"
GONE = "a module that is gone"
PROOF_FAILED = "nobody knows"
FAULTS_STRIKE = "/sys/kernel/debug/failslab/ignore-gfp-wait"  # as test_fault_injection.py sets it
ADDRESS = re.compile(r"(?m)^(\s+(?:\[<[0-9a-f]+>\] )?)(0x[0-9a-f]{16})\s*$")


class Symbols:
    """The addresses of a module's functions."""

    def __init__(self, kallsyms: str):
        rows = (line.split() for line in kallsyms.splitlines())
        self.rows = sorted((int(row[0], 16), row[2], row[3]) for row in rows if row[1] in "tT")

    def name(self, address: int) -> str:
        index = bisect.bisect_right(self.rows, (address, "~", "~")) - 1
        if index < 0 or address - self.rows[index][0] > 0x4000:
            return f"{address:#x} [{GONE}]"
        start, name, module = self.rows[index]
        return f"{name}+{address - start:#x} {module}"


def report(guest: Guest) -> list[str]:
    """Unloads the drivers and scans; returns kmemleak's records, with names."""
    names = Symbols(guest.run(r"grep '\[verna' /proc/kallsyms; :", check=True).out)
    unloaded = guest.run(UNLOAD, timeout=60)
    found = guest.run(SCAN, timeout=180)
    records = [text for text in re.split(r"(?m)^(?=unreferenced object)", found.out)
               if text.strip()]
    named = [ADDRESS.sub(lambda m: m.group(1) + names.name(int(m.group(2), 16)), text)
             for text in records]
    # It gives up for good when it finds no memory for its own records.
    return named + [f"{PROOF_FAILED}: {what}: {done.err}" for what, done in
                    (("verna cannot be unloaded", unloaded), ("kmemleak does not scan", found))
                    if not done.ok]


def ours(record: str, faults: bool = False) -> bool:
    """Whether a record is verna's: one of its modules, which are the only ones that are ever
    unloaded, is in the backtrace. Where allocations were made to fail, it must be the innermost of
    all modules: ib_uverbs, for one, then loses nodes of a radix tree of its own (uapi_merge_def)
    while verna registers a device."""
    # Not in the hex dump, whose characters may be anything.
    modules = re.findall(r"\[([^\]<]+)\]", record.partition("backtrace")[2])
    return record.startswith(PROOF_FAILED) or \
        any(name.startswith("verna") or name == GONE for name in modules[:1 if faults else None])


def lost_by(guest: Guest) -> list[str]:
    """What is verna's among all that kmemleak finds in a guest, if it has it."""
    try:
        if not guest.alive or not guest.run(f"test -e {KMEMLEAK}").ok:
            return []
        faults = guest.run(f"grep -q N {FAULTS_STRIKE}").ok
        records = report(guest)
    except (GuestGone, AttributeError):
        return []  # it was killed, or never started, and that is for the test to judge
    (guest.folder / f"{guest.name}.kmemleak").write_text("".join(records))
    return [f"{guest.name}: {record}" for record in records if ours(record, faults)]


def leaks(guests: list[Guest]) -> list[str]:
    """What verna lost in these guests; they are asked all at once, as scanning takes long."""
    with ThreadPoolExecutor() as pool:
        return [record for found in pool.map(lost_by, guests) for record in found]
