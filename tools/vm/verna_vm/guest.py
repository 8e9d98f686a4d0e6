# SPDX-License-Identifier: GPL-2.0-or-later
"""One guest: its QEMU, its console log, and what can be asked of it."""

import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

from . import accel as accelerators
from . import apic, snapshot, tsc
from .agent import Agent, CommandFailed, GuestGone, Process, Result, shell_quote
from .devices import Card, Nic
from .launch import artefacts, die_with_parent, patience, program, with_sdk
from .qmp import Qmp, QmpError

# The second half is for hosts with more to run than cores: a vCPU may stand still for seconds, and
# then the timer check panics, the clock is called unstable, and watchdogs bark at nothing.
KERNEL_OPTIONS = ("console=ttyS0 quiet loglevel=5 panic=-1 mitigations=off audit=0 "
                  "random.trust_cpu=on no_timer_check tsc=reliable watchdog_thresh=60 "
                  "rcupdate.rcu_cpu_stall_timeout=120 sysrq_always_enabled=1")
SLOW_BOOT = 30  # seconds after which it is asked whether an interrupt was lost
SPARE_PORTS = 2  # empty root ports, for devices that a test plugs in later
LEAST_PORTS = 4  # so that guests with few devices are of one make, and go on from one snapshot
PORT_MEMORY = "16M"  # addresses behind each: firmware knows nothing of what is plugged in later
ENTROPY = 32  # bytes that make a guest's random numbers its own

# What a guest that was saved has to learn: its name, and what was plugged in since.
GO_ON = """/usr/lib/verna/name {name}
for try in $(seq 600); do
    set -- /sys/devices/pci0000:00/0000:00:0[4-7].*/0000:*
    [ -e "$1" ] && [ $# -ge {devices} ] && break
    sleep 0.05
done
udevadm settle"""

# What no guest may have in its kernel log; the text of some of these is a driver's own. A fault of
# a process ("traps: NAME[1] general protection fault ip:") is seen by who waits for that process.
# What kmemleak finds is judged with its backtraces, in tests/vm/leaks.py.
TROUBLE = re.compile(r"BUG:|BUG [\w-]+ \(|WARNING:|Oops|Call Trace|KASAN|UBSAN|"
                     r"general protection fault[:,]|"
                     r"kmemleak: (?!Kernel memory leak det|Automatic|\d+ new|Cannot alloc)|"
                     r"ODEBUG: (?!selftest|\d+ of)|register non-static key|ref_tracker:|"
                     r"refcount_t|lockdep is turned off|possible .* deadlock|"
                     r"list_(add|del) corruption|"
                     r"NETDEV WATCHDOG|unregister_netdevice: waiting|blocked for more than|"
                     r"rcu.*detected stall|soft lockup|page allocation failure|"
                     r"unexpectedly.*restrack|DMA-API: (?!preallocated|debugging)|Bad page|"
                     r"page_pool_release_retry")


class Guest:
    """A guest that Topology made; `start()` boots it, `run()` runs a command in it."""

    def __init__(self, name: str, folder: Path, *, memory: str = "1G", cpus: int = 1,
                 devices: list[Card | Nic] | None = None, extra: list[str] | None = None,
                 append: str = "", iommu: bool = False, netns: str = "",
                 kernel: str = "", root: Path | None = None, layers: list[Path] | None = None,
                 from_snapshot: bool = False):
        self.name, self.folder = name, folder
        self.memory, self.cpus = memory, cpus
        self.devices: list[Card | Nic] = list(devices or [])
        self.extra, self.append, self.iommu = list(extra or []), append, iommu
        self.kernel = kernel  # its name, see tools/setup; "" is the one that VERNA_KERNEL asks for
        self.root, self.layers = root, list(layers or [])  # another userland; more disks
        self.netns = netns  # of the host, in which QEMU runs; its taps are there
        self.from_snapshot = from_snapshot  # under TCG: no boot of its own if one like it booted
        self.console = folder / f"{name}.console.log"
        self.accel = ""
        self.agent: Agent | None = None
        self._qemu: subprocess.Popen | None = None
        self._qmp: Qmp | None = None
        self._keys: int | None = None  # the console's input
        self._settling: Process | None = None  # what a guest from a snapshot does first
        self.booted_in = 0.0
        self.boots_lost: list = []  # what blocked_interrupts() said when it was booted anew
        self._ended_by_us = False
        self._ports: list[str] | None = None  # options of root ports, if not by its devices
        self._filling: Path | None = None  # the snapshot that it is to become
        self.console.unlink(missing_ok=True)

    # --- life

    def _machine_arguments(self, setup: dict, state: Path | None) -> list[str]:
        split = "kernel-irqchip=split," if self.accel == "kvm" and self.iommu else ""
        return ["-name", f"{self.name},debug-threads=on", "-accel", self.accel,
                "-M", f"q35,{split}sata=off,smbus=off,i8042=off,vmport=off,memory-backend=ram",
                "-cpu", accelerators.cpu(self.accel),
                *snapshot.memory_arguments(state or self._filling, self.memory, bool(state)),
                "-m", self.memory, "-smp", str(self.cpus), "-nodefaults", "-nographic",
                "-no-reboot", "-serial", "chardev:console",
                "-chardev", f"file,id=console,path={self.console},append=on,"
                f"input-path={self._keyboard_path()}",
                "-kernel", setup["vmlinuz"], "-initrd", setup["initramfs"]]

    def _keyboard_path(self) -> Path:
        return self.folder / f"{self.name}.console.in"

    def _open_keyboard(self) -> None:
        """Makes what the console reads; open for both, so that neither side waits for the other."""
        self._close_keyboard()
        path = self._keyboard_path()
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        self._keys = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def _close_keyboard(self) -> None:
        if self._keys is not None:
            os.close(self._keys)
            self._keys = None

    def _layers(self, setup: dict) -> list[Path | str]:
        return [self.root or setup["root"], setup["modules"], setup["layer"], *self.layers]

    def _disk_arguments(self, setup: dict) -> list[str]:
        layers = self._layers(setup)
        result = ["-append", f"{KERNEL_OPTIONS} {tsc.kernel_option(self.accel)} "
                  f"guest.layers={len(layers)} guest.name={self.name} {self.append}"]
        for index, layer in enumerate(layers):
            result += ["-drive", f"file={layer},format=raw,if=none,readonly=on,id=layer{index},"
                       "file.locking=off",
                       "-device", f"virtio-blk-pci,drive=layer{index}"]
        return result

    def _plumbing_arguments(self, agent_fd: int, qmp_fd: int) -> list[str]:
        return ["-device", "virtio-rng-pci", "-device", "virtio-serial-pci",
                "-chardev", f"socket,id=agent,fd={agent_fd}",
                "-device", "virtserialport,chardev=agent,name=verna.agent",
                "-chardev", f"socket,id=qmp,fd={qmp_fd}", "-mon", "chardev=qmp,mode=control"]

    def ports(self) -> list[str]:
        """The options of its root ports, in the order of their numbers."""
        if self._ports is not None:
            return self._ports
        made = [device.port_options for device in self.devices]
        return made + [""] * max(SPARE_PORTS, LEAST_PORTS - len(made))

    def _port_arguments(self) -> list[str]:
        result = ["-device", "intel-iommu,intremap=on,caching-mode=on"] if self.iommu else []
        for index, options in enumerate(self.ports()):
            result += ["-device", f"pcie-root-port,id=rp{index},chassis={index + 1},"
                       f"slot={index + 1},addr={4 + index // 8:#x}.{index % 8},multifunction=on,"
                       f"mem-reserve={PORT_MEMORY}{options}"]
        return result

    def _device_arguments(self) -> list[str]:
        return [word for index, device in enumerate(self.devices)
                for word in device.arguments(index, f"rp{index}")]

    # --- going on from a snapshot

    def _snapshot(self, setup: dict) -> Path | None:
        """Where the guest goes on from; None if it is to boot."""
        if not self.from_snapshot or self.accel != "tcg" or self.extra:
            return None
        name = snapshot.key([*program(setup), *self._make_of(setup)], Path(setup["qemu"]))
        return snapshot.find(Path(setup["cache"]) / "snapshots", name, self._make_snapshot)

    def _make_of(self, setup: dict) -> list[str]:
        """What guests have in common that can go on from one snapshot; this file is what makes a
        command line of it."""
        return [Path(__file__).read_text(), self.memory, str(self.cpus), self.append,
                accelerators.cpu(self.accel), str(self.iommu), *self.ports(), setup["vmlinuz"],
                setup["initramfs"], *map(str, self._layers(setup))]

    def _make_snapshot(self, folder: Path) -> None:
        like = Guest("snapshot", folder, memory=self.memory, cpus=self.cpus, append=self.append,
                     iommu=self.iommu, kernel=self.kernel, root=self.root, layers=self.layers)
        like.accel, like._ports, like._filling = self.accel, self.ports(), folder
        try:
            like.start()
            snapshot.save(like._qmp, folder)
        finally:
            like.stop()

    def _go_on(self, state: Path, devices: list[str]) -> None:
        """Loads the snapshot, plugs the devices in and lets the guest run."""
        snapshot.load(self._qmp, state)
        plugs = [devices[at + 1] for at, word in enumerate(devices) if word == "-device"]
        for words in plugs:
            if error := self.hmp(f"device_add {words}"):
                raise QmpError(f"device_add {words}: {error}")
        self.agent.resume(time.time_ns(), os.urandom(ENTROPY))
        self._qmp.command("cont")
        self._settling = self.popen(GO_ON.format(name=self.name, devices=len(plugs)))

    def start(self, wait: bool = True) -> "Guest":
        """Starts QEMU; returns when the guest's agent answers, unless told not to wait."""
        setup = artefacts(self.kernel)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.accel = self.accel or accelerators.choose(setup)
        self._started = time.monotonic()
        state = self._snapshot(setup)
        ours, theirs = zip(socket.socketpair(), socket.socketpair())
        fds = [end.fileno() for end in theirs]
        # The intel-iommu device must stand before the devices that it translates for.
        devices = self._device_arguments()
        backends = [words for pair in zip(devices[::2], devices[1::2]) if pair[0] != "-device"
                    for words in pair]
        command = [*program(setup), *self._machine_arguments(setup, state),
                   *self._port_arguments(), *(backends if state else devices),
                   *self._disk_arguments(setup), *self._plumbing_arguments(*fds), *self.extra]
        self._ended_by_us, self._settling = False, None
        self._open_keyboard()
        if self.netns:
            command = ["ip", "netns", "exec", self.netns, *command]
        (self.folder / f"{self.name}.command").write_text(" ".join(command) + "\n")
        with open(self.folder / f"{self.name}.qemu.log", "wb") as log:
            self._qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          pass_fds=fds, preexec_fn=die_with_parent)
        for end in theirs:
            end.close()
        self.agent = Agent(self.name, ours[0], patience(self.kernel))
        try:
            self._qmp = Qmp(ours[1])
            if state:
                self._go_on(state, devices)
        except Exception as error:
            self.kill()
            self._ended_by_us = True  # that it ended by itself is what the caller hears now
            raise GuestGone(f"guest {self.name}: QEMU did not start: {error}; "
                            f"{self.qemu_log()}") from error
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self, timeout: float = 120) -> "Guest":
        """Waits until the guest's user space is up; boots anew if QEMU lost an interrupt."""
        begin = time.monotonic()
        end = begin + timeout * patience(self.kernel)
        look, before = begin + SLOW_BOOT * patience(self.kernel), []
        while not self.agent.ready.wait(0.2):
            if not self.alive:
                raise GuestGone(f"guest {self.name} ended while it booted; {self.last_words()}")
            now = time.monotonic()
            if now > look:
                blocked = self.blocked_interrupts()
                if blocked and blocked == before and not self.boots_lost:
                    return self._boot_anew(blocked, timeout)
                look, before = now + 2, blocked
            if now > end:
                self.ask_kernel()
                raise TimeoutError(f"guest {self.name} did not boot within {timeout:g} s; "
                                   f"{self.last_words()}")
        if self._settling:
            self._settling.wait(timeout).check()
        self.booted_in = time.monotonic() - self._started
        return self

    def blocked_interrupts(self) -> list[tuple[int, list[int]]]:
        """By processor that sleeps: vectors that will never be delivered again; see apic.py."""
        found = ((cpu, apic.blocked(self.hmp(f"info lapic {cpu}")))
                 for cpu in apic.halted(self.hmp("info registers -a")))
        return [(cpu, vectors) for cpu, vectors in found if vectors]

    def _boot_anew(self, blocked: list, timeout: float) -> "Guest":
        self.boots_lost.append(blocked)
        print(f"guest {self.name}: QEMU lost an interrupt (CPU, vectors: {blocked}), booting anew")
        self.kill()
        return self.start(wait=False).wait_ready(timeout)

    @property
    def alive(self) -> bool:
        return self._qemu is not None and self._qemu.poll() is None

    @property
    def went_on(self) -> bool:
        """Whether it did not boot, but goes on from a snapshot."""
        return self._settling is not None

    @property
    def pid(self) -> int:
        """QEMU's process id."""
        return self._qemu.pid

    def stop(self) -> None:
        """Ends the guest as pulling its plug would; QEMU itself closes its devices in order."""
        if self.alive:
            self._ended_by_us = True
            try:
                self._qmp.command("quit")
                self._qemu.wait(10)
            except Exception:
                pass
        self.kill()

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Ends QEMU by a signal."""
        if self.alive:
            self._ended_by_us = True
            os.kill(self._qemu.pid, number)
            self._qemu.wait(10)
        for connection in (self.agent, self._qmp):
            if connection:
                connection.close()
        self._close_keyboard()

    def ask_kernel(self, keys: str = "9wl") -> str:
        """Asks the kernel by magic SysRq, which works while nothing else in the guest does. The
        keys given make it tell on the console which tasks are blocked and what its CPUs run.
        Returns the answer; below it, where each CPU is, as QEMU sees it."""
        before = self.console.stat().st_size
        for key in keys:
            self._qmp.command("chardev-send-break", id="console")
            os.write(self._keys, key.encode())
            time.sleep(1)
        time.sleep(2)
        registers = self.hmp("info registers -a")
        with self.console.open("rb") as console:
            console.seek(before)
            answer = console.read().decode(errors="replace")
        where = re.findall(r"^(?:CPU#\d+|RIP=\w+ RFL=\w+ \[.*?\].*)$", registers, re.M)
        with self.console.open("a") as console:
            console.write("\n".join(["", *where, ""]))
        return answer + "\n".join(where)

    def qemu_log(self) -> str:
        return (self.folder / f"{self.name}.qemu.log").read_text(errors="replace")[-2000:]

    def last_words(self) -> str:
        console = self.console.read_text(errors="replace")[-12000:] if self.console.exists() else ""
        return f"console {self.console}:\n{console}\nQEMU: {self.qemu_log()}"

    # --- commands

    def popen(self, command: str, tty: bool = False, on_output=None) -> Process:
        """Starts a shell command in the guest."""
        return self.agent.start(command, tty, on_output)

    def run(self, command: str, timeout: float = 60, check: bool = False,
            stdin: bytes | str | None = None) -> Result:
        """Runs a shell command in the guest; with `check` it must succeed."""
        process = self.popen(command)
        if stdin is not None:
            process.send(stdin)
        process.close_input()
        result = process.wait(timeout)
        return result.check() if check else result

    def push(self, source: Path | bytes, target: str, mode: str = "755") -> None:
        """Writes a file in the guest."""
        data = source if isinstance(source, bytes) else Path(source).read_bytes()
        name = shell_quote(target)
        self.run(f"cat > {name} && chmod {mode} {name}", 300, check=True, stdin=data)

    def pull(self, source: str) -> bytes:
        """Reads a file in the guest."""
        process = self.popen(f"cat {shell_quote(source)}")
        process.wait(300).check()
        return process.out_bytes

    def qmp(self, command: str, /, **arguments):
        """Runs a QMP command: guest.qmp("set_link", name="card0", up=False)."""
        return self._qmp.command(command, **arguments)

    def hmp(self, words: str) -> str:
        """Runs a command of the monitor for people; what it prints has no form that is promised."""
        return self._qmp.command("human-monitor-command", command_line=words)

    def wait_event(self, name: str, /, timeout: float = 30, **data) -> dict:
        return self._qmp.wait_event(name, timeout * patience(self.kernel), **data)

    def vernactl(self, card: Card, *words: str) -> str:
        """Asks a card of this guest: guest.vernactl(card, "qps") is the answer, as JSON."""
        command = [*with_sdk(artefacts(self.kernel), "vernactl"), card.ctl, "--json", *words]
        result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        if result.returncode:
            raise CommandFailed(f"'vernactl {' '.join(words)}' on guest {self.name} ended with "
                                f"status {result.returncode}: {result.stderr}{result.stdout}")
        return result.stdout

    # --- the kernel's log

    def dmesg(self) -> str:
        return self.run("dmesg", check=True).out

    def trouble(self) -> list[str]:
        """What no good run has: bad lines in the kernel's log or on the console (of all of the
        guest's lives), or a QEMU that ended by itself."""
        text = self.console.read_text(errors="replace") if self.console.exists() else ""
        try:
            text += self.dmesg()
        except (GuestGone, TimeoutError, AttributeError):
            pass
        stamp = re.compile(r"^\[ *[0-9.]+\] ")  # one line may be in both, with or without a stamp
        lines = dict.fromkeys(stamp.sub("", line.strip()) for line in text.splitlines()
                              if TROUBLE.search(line))
        if self._qemu and not self.alive and not self._ended_by_us:
            lines[f"QEMU ended by itself, status {self._qemu.returncode}: {self.qemu_log()}"] = None
        return list(lines)

    # --- interfaces

    def netdev(self, driver: str = "verna", index: int = 0) -> str:
        """The name of the guest's n-th network interface of a driver, in PCI order.

        It is udev's name, which an interface that has just appeared gets some time later."""
        script = ('udevadm settle --timeout=30; '
                  'for p in /sys/bus/pci/devices/*/net/* /sys/bus/virtio/devices/*/net/*; do '
                  'd=$(readlink -f $p/device/driver) && echo "${d##*/} ${p##*/}"; done; :')
        names = [line.split()[1] for line in self.run(script, check=True).out.splitlines()
                 if line.split()[0] == driver]
        if index >= len(names):
            raise LookupError(f"guest {self.name} has {len(names)} interfaces of driver {driver}, "
                              f"wanted number {index}")
        return names[index]

    def rdma(self, netdev: str) -> str:
        """The name of the RDMA device on an interface; udev chooses it."""
        rows = self.run("rdma link show", check=True).out.splitlines()
        for row in rows:
            if row.split()[-1] == netdev:
                return row.split()[1].split("/")[0]
        raise LookupError(f"guest {self.name} has no RDMA device on {netdev}: {rows}")
