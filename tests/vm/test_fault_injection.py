# SPDX-License-Identifier: GPL-2.0-or-later
"""Allocations that fail, one after the other: an error comes back, and nothing else happens.

That nothing else happens is what the debug kernel says: KASAN, lockdep, and kmemleak at the end.
"""

import os

import pytest
from conftest import ends_of
from helpers import ping, rdma_side, reachable

pytestmark = [
    pytest.mark.skipif(os.environ.get("VERNA_KERNEL") != "debug",
                       reason="needs the debug kernel: make test-debug"),
    # vmalloc() says that it failed, whoever made it, and the checkers that they cannot go on.
    pytest.mark.allow_trouble("vmalloc error|Call Trace|page allocation failure|"
                              "DMA-API: cacheline tracking ENOMEM"),
]

DEBUGFS = "/sys/kernel/debug"
ATTRIBUTES = ("failslab", "fail_page_alloc", "fail_usercopy")
APPLY = " ".join([
    f"cd {DEBUGFS};",
    # No words about each fault; faults also where the caller may sleep; single pages, too.
    *(f"echo 0 > {name}/verbose;" for name in ATTRIBUTES),
    "echo N > failslab/ignore-gfp-wait; echo N > fail_page_alloc/ignore-gfp-wait;",
    "echo N > fail_page_alloc/ignore-gfp-highmem; echo 0 > fail_page_alloc/min-order"])
# udev would rename what appears while it is taken away again.
UDEV_OFF = "udevadm control --exit"
UDEV_ON = ("/usr/lib/systemd/systemd-udevd --daemon; "
           "for s in net infiniband; do udevadm trigger --action=add --subsystem-match=$s; done; "
           "udevadm settle --timeout=100")
VERBS = ("open", "alloc_pd", "create_channel", "create_cq", "create_cq_with_channel",
         "create_rc_qp", "create_ud_qp", "modify_init", "modify_rtr", "reg_mr", "create_ah",
         "destroy_qp", "destroy_cq", "dereg_mr")


@pytest.fixture(scope="module")
def faulty(two_guests):
    """Two guests, in the first of which faults apply."""
    two_guests[0].run(APPLY, check=True)
    return two_guests


def module_range(end, first: str, last: str = "") -> tuple[int, int]:
    """Where in memory the code of a module is, or of two and what is between them."""
    bounds = []
    for line in end.run("cat /proc/modules", check=True).out.splitlines():
        words = line.split()
        if words[0] in (first, last or first):
            start = int(words[5], 16)
            bounds += [start, start + int(words[1])]
    return min(bounds), max(bounds)


def only_below(end, bounds: tuple[int, int] | None) -> None:
    """Faults strike only where a function within these bounds is on the stack; None: anywhere."""
    start, stop = bounds or (0, (1 << 64) - 1)
    words = [f"echo {start:#x} > {name}/require-start; echo {stop:#x} > {name}/require-end;"
             for name in ATTRIBUTES]
    end.run(f"cd {DEBUGFS}; {' '.join(words)}", check=True)


def faults(end, options: str, timeout: float = 300) -> str:
    """Runs verna_faults; its own report tells what went wrong."""
    result = end.run(f"verna_faults {options}", timeout=timeout)
    assert result.ok, result.out + result.err
    print(result.out)
    return result.out


@pytest.mark.parametrize("case", VERBS)
def test_verbs(faulty, case):
    """Every allocation and every copy below one verb."""
    a, b = faulty
    faults(a, f"-d {a.rdma} -n 150 {case}")
    assert ping(a, b.ip, 3)


@pytest.mark.parametrize("case", ["interface_up", "set_mtu", "set_rings"])
def test_interface(faulty, case):
    """An interface that cannot come up stays down; a change that fails leaves it as it was."""
    a, b = faulty
    # With merging, buffers are the same at every MTU, and a change of it allocates nothing.
    a.run(f"ethtool -K {a.netdev} rx-gro-hw off", check=True)
    only_below(a, module_range(a, "verna"))
    try:
        faults(a, f"-i {a.netdev} -n 150 {case}")
    finally:
        only_below(a, None)
    a.run(f"ip link set {a.netdev} mtu 1500; ethtool -K {a.netdev} rx-gro-hw on", check=True)
    a.configure()
    reachable(a, b)


# The kernel takes files of an interrupt away that it could not make.
@pytest.mark.allow_trouble("at fs/proc/generic.c:.* remove_proc_entry")
def test_probe(topology):
    """Both drivers bind to the card, and every allocation of that fails once."""
    end, _ = linked(topology)
    address = end.run(f"basename $(readlink -f /sys/class/net/{end.netdev}/device)").out.strip()
    end.run(f"{UDEV_OFF}; {APPLY}", check=True)
    only_below(end, module_range(end, "verna", "verna_ib"))
    faults(end, f"-b {address} -n 40 bind", 600)
    only_below(end, None)
    end.run(UDEV_ON, timeout=120, check=True)
    works(topology)


def test_load(topology):
    """Modules that cannot be loaded leave nothing behind."""
    end, _ = linked(topology)
    end.run(f"{UDEV_OFF}; {APPLY}; rmmod verna_ib verna", check=True)
    for module in ("verna", "verna_ib"):
        file = end.run(f"modinfo -n {module}", check=True).out.strip()
        faults(end, f"-m {file} -n 20 load", 600)
        end.run(f"modprobe {module}", check=True)
    end.run(UDEV_ON, timeout=120, check=True)
    works(topology)


def linked(topology):
    a, b = topology.guest("a"), topology.guest("b")
    topology.link(a, b)
    topology.start()
    return ends_of(a, b)


def works(topology) -> None:
    """Ethernet and RDMA, after all that."""
    a, b = ends_of(*topology.guests)
    reachable(a, b)
    faultless = rdma_side(a)
    a.run(f"ibv_devinfo -d {faultless.device}", check=True)


def test_memory_is_short_under_traffic(faulty):
    """A tenth of the driver's allocations fail for a while, also in interrupts."""
    a, b = faulty
    only_below(a, module_range(a, "verna", "verna_ib"))
    knobs = ("failslab", "fail_page_alloc")
    set_all = "cd " + DEBUGFS + "; " + " ".join(
        f"echo {{0}} > {name}/probability; echo {{1}} > {name}/times;" for name in knobs)
    pings = b.popen(f"ping -q -i 0.01 -s 1400 {a.ip}")
    a.run(set_all.format(10, -1), check=True)
    try:
        a.run(f"ping -q -c 200 -i 0.01 -s 1400 -w 20 {b.ip}", timeout=60)
        for _ in range(5):
            a.run(f"ibv_devinfo -d {a.rdma}; ethtool -G {a.netdev} rx 256; "
                  f"ethtool -G {a.netdev} rx 512", timeout=60)
    finally:
        a.run(set_all.format(0, 0), check=True)
        only_below(a, None)
        pings.stop()
    reachable(a, b)
    assert ping(a, b.ip)
