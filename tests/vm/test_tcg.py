# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU under the guests: kernel code may be patched on one CPU while another runs it."""

import os

from conftest import lab

SECONDS = int(os.environ.get("VERNA_STRESS_SECONDS", "15"))
# CPU 0 switches the static key of packet time stamps, CPU 1 runs through its branches.
TOGGLE = """
import os, socket, sys, time
SO_TIMESTAMP = 29
end = time.monotonic() + float(sys.argv[1])
child = os.fork()
if not child:
    os.sched_setaffinity(0, {1})
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind(("127.0.0.1", 7777))
    sink.setblocking(False)
    source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    source.connect(("127.0.0.1", 7777))
    while time.monotonic() < end:
        source.send(b"x")
        try:
            sink.recv(10)
        except BlockingIOError:
            pass
    os._exit(0)
os.sched_setaffinity(0, {0})
count = 0
while time.monotonic() < end:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, 1)
    time.sleep(0.002)
    count += 1
os.waitpid(child, 0)
print(count)
"""


def test_code_is_patched_while_it_runs(request, repo, setup_paths):
    """qemu-device/qom/patches/0002: without it a guest lives for 40 s or so of this."""
    with lab(request, repo) as net:
        guest = net.guest("a", cpus=2)
        net.start()
        guest.push(TOGGLE.encode(), "/tmp/toggle.py")
        done = guest.run(f"python3 /tmp/toggle.py {SECONDS}", timeout=SECONDS + 60, check=True)
        assert int(done.out) > SECONDS
