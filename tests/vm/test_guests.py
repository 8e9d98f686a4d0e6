# SPDX-License-Identifier: GPL-2.0-or-later
"""The tool that all other guest tests stand on: guests, their agent, wires, and their end."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest
from verna_vm import CommandFailed, GuestGone, Topology


@pytest.fixture(scope="module")
def pair(repo, setup_paths):
    """Two guests on a plain Ethernet wire."""
    with Topology(repo / "build/test/test_guests") as net:
        a, b = net.guest("a"), net.guest("b")
        net.ethernet(a, b)
        net.start()
        for guest, address in ((a, "10.0.3.1/24"), (b, "10.0.3.2/24")):
            device = guest.netdev("virtio_net")
            guest.run(f"ip addr add {address} dev {device} && ip link set {device} up", check=True)
        yield a, b
        assert net.trouble() == []


def test_status_and_both_outputs_come_back(pair):
    result = pair[0].run("echo out; echo err >&2; exit 7")
    assert (result.rc, result.out, result.err) == (7, "out\n", "err\n")


def test_signal_is_a_negative_status(pair):
    assert pair[0].run("kill -9 $$").rc == -signal.SIGKILL


def test_check_raises_with_the_output(pair):
    with pytest.raises(CommandFailed, match="because"):
        pair[0].run("echo because >&2; false", check=True)


def test_large_output_is_complete(pair):
    assert len(pair[0].run("head -c 3000000 /dev/zero | tr '\\0' x", check=True).out) == 3000000


def test_large_input_is_complete(pair):
    data = os.urandom(2_000_000)
    pair[0].push(data, "/tmp/data")
    assert pair[0].pull("/tmp/data") == data


def test_commands_run_at_the_same_time(pair):
    waiting = pair[0].popen("read line; echo got $line")
    assert pair[0].run("echo between").out == "between\n"
    waiting.send("this\n")
    assert waiting.wait(10).out == "got this\n"


def test_timeout_kills_the_command(pair):
    with pytest.raises(TimeoutError, match="early"):
        pair[0].run("echo early; sleep 1000", timeout=2)
    time.sleep(0.5)
    assert not pair[0].run("pgrep -x sleep").ok


def test_daemon_that_keeps_the_pipe_does_not_block(pair):
    assert pair[0].run("sleep 100 & echo started", timeout=10).out == "started\n"
    pair[0].run("pkill -x sleep")


def test_guests_reach_each_other(pair):
    assert pair[0].run("ping -c 2 -i 0.2 -W 5 10.0.3.2").ok


def test_memory_lock_is_unlimited(pair):
    assert pair[0].run("ulimit -l").out == "unlimited\n"


def test_seconds_are_as_long_as_the_hosts(pair):
    """However busy the host was while the guest's kernel started."""
    def both() -> tuple[float, float]:
        return time.monotonic(), float(pair[0].run("cat /proc/uptime", check=True).out.split()[0])

    (host, own), _, (host_later, own_later) = both(), time.sleep(4), both()
    assert 0.7 < (own_later - own) / (host_later - host) < 1.4


def test_qmp_link_state_reaches_the_guest(pair):
    guest, _ = pair
    carrier = f"cat /sys/class/net/{guest.netdev('virtio_net')}/carrier"
    guest.qmp("set_link", name="nic0", up=False)
    time.sleep(0.5)
    assert guest.run(carrier).out == "0\n"
    guest.qmp("set_link", name="nic0", up=True)
    time.sleep(0.5)
    assert guest.run(carrier).out == "1\n"


def test_bad_device_is_reported_with_qemus_words(topology):
    guest = topology.guest("bad", extra=["-device", "no-such-thing"])
    with pytest.raises(GuestGone, match="no-such-thing"):
        guest.start()


def test_hot_plug_and_a_killed_guest_starts_again(topology):
    guest = topology.guest("again").start()
    guest.qmp("device_add", driver="e1000e", id="x", bus="rp0", romfile="")
    end = time.monotonic() + 20
    while "e1000e" not in guest.run("ls /sys/bus/pci/drivers/e1000e/*/driver -d").out:
        assert time.monotonic() < end, "the plugged device was not bound"
        time.sleep(0.5)
    guest.qmp("device_del", id="x")
    guest.wait_event("DEVICE_DELETED", device="x")
    guest.run("touch /was-here", check=True)
    guest.kill()
    with pytest.raises(GuestGone):
        guest.run("true")
    guest.start()
    assert not guest.run("test -e /was-here").ok


def test_guests_from_one_snapshot_differ(topology):
    """Each has its own name and random numbers, the time of day, and the cards it was given."""
    a, b = topology.guest("a"), topology.guest("b")
    topology.link(a, b)
    topology.ethernet(a, b, "igb")
    topology.start()
    if not all(guest.went_on for guest in (a, b)):
        pytest.skip("guests boot here")
    for guest in (a, b):
        assert guest.run("hostname; getent hosts $(hostname)").out.split()[0] == guest.name
        assert abs(float(guest.run("date +%s.%N").out) - time.time()) < 5
        assert [guest.netdev(driver) for driver in ("verna", "igb")]
        assert guest.rdma(guest.netdev("verna"))
    assert len({guest.run("head -c 16 /dev/urandom | base64").out for guest in (a, b)}) == 2


def test_trouble_is_seen(topology):
    guest = topology.guest("oops").start()
    assert guest.trouble() == []
    guest.run("echo 'WARNING: CPU: 0 something' > /dev/kmsg")
    guest.run("echo 'traps: rping[1] general protection fault ip:1' > /dev/kmsg")
    guest.run("echo 'general protection fault, maybe for address 0x1' > /dev/kmsg")
    assert len(guest.trouble()) == 2
    guest.console.unlink()
    guest.run("dmesg -C")


def test_a_kernel_is_asked_what_it_does(topology):
    """What is told of a guest that hangs while it boots."""
    guest = topology.guest("asked").start()
    answer = guest.ask_kernel()
    assert "Show Blocked State" in answer and "Show backtrace of all active CPUs" in answer, answer
    assert re.search(r"^RIP=[0-9a-f]{16} ", answer, re.M), answer
    guest.console.unlink()
    guest.run("dmesg -C")


def test_qemu_dies_with_its_runner(repo, tmp_path):
    code = ("import time; from verna_vm import Topology; "
            f"g = Topology({str(tmp_path)!r}).guest('orphan').start(wait=False); "
            "print(g.pid, flush=True); time.sleep(100)")
    runner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, PYTHONPATH=str(repo / "tools/vm")))
    pid = int(runner.stdout.readline())
    runner.kill()
    runner.wait()
    end = time.monotonic() + 10
    while os.path.exists(f"/proc/{pid}"):
        assert time.monotonic() < end, "QEMU outlived the process that had started it"
        time.sleep(0.1)
