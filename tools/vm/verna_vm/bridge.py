# SPDX-License-Identifier: GPL-2.0-or-later
"""A bridge with taps in a network namespace of its own. Needs root."""

import os
import subprocess


class Bridge:
    """As a context manager: a namespace `name` of the host with a bridge br0 in it. Guests whose
    taps are on it run with netns=name."""

    def __init__(self, name: str, address: str = "", mtu: int = 1500):
        self.name, self.address, self.mtu = name, address, mtu

    def __enter__(self) -> "Bridge":
        if os.geteuid():
            raise PermissionError("taps need root")
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True, check=False)
        self._run("ip", "netns", "add", self.name)
        try:
            self._inside("ip", "link", "add", "br0", "type", "bridge")
            if self.address:
                self._inside("ip", "addr", "add", self.address, "dev", "br0")
            self._inside("ip", "link", "set", "br0", "mtu", str(self.mtu), "up")
        except subprocess.CalledProcessError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True, check=False)

    def tap(self, name: str, vnet_hdr: bool = True, queues: int = 1) -> str:
        """Adds a tap to the bridge; returns it as a -netdev backend."""
        flags = ["vnet_hdr"] * vnet_hdr + ["multi_queue"] * (queues > 1)
        self._inside("ip", "tuntap", "add", name, "mode", "tap", *flags)
        self._inside("ip", "link", "set", name, "mtu", str(self.mtu), "master", "br0", "up")
        backend = (f"tap,ifname={name},script=no,downscript=no,"
                   f"vnet_hdr={'on' if vnet_hdr else 'off'}")
        return backend + (f",queues={queues}" if queues > 1 else "")

    def _inside(self, *words: str) -> None:
        self._run("ip", "netns", "exec", self.name, *words)

    @staticmethod
    def _run(*words: str) -> None:
        subprocess.run(words, check=True, capture_output=True, text=True)
