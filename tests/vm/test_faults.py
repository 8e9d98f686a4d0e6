# SPDX-License-Identifier: GPL-2.0-or-later
"""Things that go wrong under traffic: the card, the driver and the other guest go on."""

import subprocess

import pytest
from bench import perftest
from conftest import ends_of
from helpers import bdf, carrier, rdma_side, reachable, resources, wait_for_card, wait_until
from verna_vm.launch import artefacts, patience, program


def linked(topology, **options):
    """Two fresh guests with linked cards."""
    a, b = topology.guest("a", **options), topology.guest("b", **options)
    topology.link(a, b)
    topology.start()
    return ends_of(a, b)


def background_ping(end, peer):
    return end.popen(f"ping -i 0.002 -q {peer.ip}")


def background_write(a, b, seconds: int = 120):
    """RDMA writes from b to a until something ends them; returns both processes."""
    ends = rdma_side(a), rdma_side(b)
    command = "ib_write_bw -d {0.device} -x {0.gid} -F -D {1} -s 65536 -p 18701"
    server = a.popen(command.format(ends[0], seconds))
    perftest.wait_listening(a.guest, 18701, server)
    client = b.popen(f"{command.format(ends[1], seconds)} {a.ip}")
    b.run("sleep 2")
    return server, client


def stop(*processes):
    for process in processes:
        if process.poll() is None:
            process.kill(9)
            process.wait(20)


def works(a, b):
    """Ethernet and RDMA both cross the wire."""
    for end in (a, b):
        end.configure()
    reachable(a, b)
    perftest.run("ib_write_bw", rdma_side(a), rdma_side(b), "-s 65536 -n 100")


def test_module_reload_under_traffic(topology):
    """Unload and load 20 times, on a slow kernel fewer, while the peer sends."""
    a, b = linked(topology)
    for _ in range(int(20 / patience())):
        pings = background_ping(b, a)
        a.run("modprobe -r verna_ib verna", timeout=30, check=True)
        a.run("modprobe verna && udevadm settle", timeout=30, check=True)
        a.configure()
        stop(pings)
    works(a, b)


def test_unload_while_a_process_holds_the_device(topology):
    """disassociate_ucontext: the device goes although a process has it open; the process lives."""
    a, b = linked(topology)
    processes = background_write(a, b)
    a.run("rmmod verna_ib", timeout=30, check=True)
    assert "rocep" not in a.run("rdma link").out
    stop(*processes)
    a.run("modprobe verna_ib && udevadm settle", check=True)
    works(a, b)


def test_function_level_reset_under_traffic(topology):
    a, b = linked(topology)
    for _ in range(3):
        pings = background_ping(b, a)
        processes = background_write(a, b)
        a.run(f"echo 1 > /sys/bus/pci/devices/{bdf(a)}/reset", timeout=30, check=True)
        stop(pings, *processes)
        wait_for_card(a)
        works(a, b)


def test_reset_ends_who_polls(topology):
    """A process that polls its CQ is told by flushed requests, not by the end of its own time."""
    a, b = linked(topology)
    server, client = background_write(b, a)
    sent = f"/sys/class/infiniband/{rdma_side(a).device}/ports/1/counters/port_xmit_data"
    wait_until(lambda: int(a.run(f"cat {sent}", check=True).out) > 1 << 20, 20, "RDMA traffic")
    a.run(f"echo 1 > /sys/bus/pci/devices/{bdf(a)}/reset", timeout=30, check=True)
    ended = client.wait(20)
    assert ended.rc != 0 and "status 5" in ended.out + ended.err, ended.out + ended.err
    stop(server)
    wait_for_card(a)
    works(a, b)


def test_hot_unplug_and_replug_under_traffic(topology):
    a, b = linked(topology)
    link = a.guest.devices[0].link
    for _ in range(2):
        pings = background_ping(b, a)
        processes = background_write(a, b)
        ident = a.guest.devices[0].ident
        a.guest.qmp("device_del", id=ident)
        a.guest.wait_event("DEVICE_DELETED", timeout=30, device=ident)
        wait_until(lambda: not carrier(b), 20, "the peer's loss of carrier")
        stop(pings, *processes)
        assert not any(resources(b).values())
        a.guest.qmp("device_add", driver="verna", id=ident, bus="rp0", link=link,
                    mac=a.guest.devices[0].mac)
        wait_for_card(a)
        works(a, b)


def test_peer_qemu_killed_and_restarted(topology):
    a, b = linked(topology)
    processes = background_write(a, b)
    b.guest.kill()
    wait_until(lambda: not carrier(a), 20, "loss of carrier")
    stop(processes[0])  # its own connection to the dead guest would only time out in minutes
    assert not any(resources(a).values())
    b.guest.start()
    wait_until(lambda: carrier(a), 20, "carrier after the peer's return")
    works(a, b)


def test_set_link(two_guests):
    a, b = two_guests
    for _ in range(3):
        a.guest.qmp("set_link", name="card0", up=False)
        wait_until(lambda: not carrier(a), 5, "loss of carrier")
        assert "state DOWN" in a.run("rdma link").out
        a.guest.qmp("set_link", name="card0", up=True)
        wait_until(lambda: carrier(a), 5, "carrier")
        reachable(a, b)


@pytest.mark.parametrize("properties, words", [
    ("vectors=0", ("vectors", "0")),
    ("vectors=5000", ("vectors", "5000")),
    ("uars=0", ("uars", "0")),
    ("link-ring-kib=1", ("link-ring-kib", "1")),
    ("link=/nonexistent/dir/x", ("/nonexistent/dir/x",)),
    ("pcap=/nonexistent/dir/x", ("/nonexistent/dir/x",)),
    ("netdev=nosuch", ("nosuch",)),
    ("speed=0", ("speed", "0")),
    ("vfs=65", ("vfs=65 is out of range, must be 0 to 64",)),
    ("vfs=1,vf-vectors=0", ("vf-vectors=0 is out of range, must be 1 to 2048",)),
    ("vfs=1,vf-uars=1", ("vf-uars=1 is out of range, must be 2 to 16384",)),
])
def test_wrong_property_values(setup_paths, properties, words):
    """A clear message that names the property and its value; no card, no crash."""
    command = [*program(artefacts()), "-M", "q35", "-nodefaults", "-nographic", "-S",
               "-accel", "tcg", "-device", "pcie-root-port,id=rp0",
               "-device", f"verna,bus=rp0,{properties}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert result.returncode == 1, result.stderr
    for word in words:
        assert word in result.stderr, result.stderr
