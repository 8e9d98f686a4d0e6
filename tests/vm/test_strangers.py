# SPDX-License-Identifier: GPL-2.0-or-later
"""The card on one wire with other NICs of QEMU: every combination of offloads, files by hash."""

import itertools

import pytest
from conftest import lab
from verna_vm import Guest

MODELS = {"virtio-net-pci": "virtio_net", "igb": "igb", "vmxnet3": "vmxnet3"}
BYTES = 3 << 20
PORT = 7000

# Features depend on each other: segmentation needs checksums, merging needs their verification.
SENDING = ["tx off tso off tx-udp-segmentation off", "tx on tso off tx-udp-segmentation off",
           "tx on sg on tso on tx-udp-segmentation on"]
RECEIVING = ["rx off rx-gro-hw off", "rx on rx-gro-hw off", "rx on gro on rx-gro-hw on"]
OTHER = ["tx off rx off tso off gso off gro off", "tx on rx on sg on tso on gso on gro on"]
MUST_HAVE = {"tx on": "tx-checksumming: on", "tso on": "tcp-segmentation-offload: on",
             "rx on": "rx-checksumming: on", "rx-gro-hw on": "rx-gro-hw: on",
             "tx off": "tx-checksumming: off", "rx off": "rx-checksumming: off"}


@pytest.fixture(scope="module")
def strangers(request, repo, setup_paths):
    """Guest a has a verna card for each stranger in guest b; each pair has a subnet of its own."""
    with lab(request, repo) as net:
        a, b = net.guest("a"), net.guest("b")
        for model in MODELS:
            net.ethernet(a, b, "verna", model)
        net.start()
        yield a, b, prepare(a, b)


def prepare(a: Guest, b: Guest) -> str:
    """Puts the same random file into both guests, and servers that hash what they get."""
    a.run(f"head -c {BYTES} /dev/urandom > /tmp/data", check=True)
    b.push(a.pull("/tmp/data"), "/tmp/data")
    for guest in (a, b):
        # One process of each for all transfers: a new one costs some 50 ms in an emulated guest.
        guest.popen(f"socat -u TCP6-LISTEN:{PORT},ipv6only=0,reuseaddr,fork,backlog=64 "
                    "SYSTEM:'sha256sum >> /tmp/sums'")
    return a.run("sha256sum < /tmp/data", check=True).out.split()[0]


def addresses(guest: Guest, netdev: str, subnet: int, host: int) -> None:
    guest.run(f"ip addr replace 10.0.{subnet}.{host}/24 dev {netdev} && "
              f"ip addr replace fd00:{subnet}::{host}/64 dev {netdev} nodad && "
              f"ip link set {netdev} up", check=True)


def switch(guest: Guest, netdev: str, words: str, strict: bool) -> None:
    """Sets features; with `strict` those in MUST_HAVE must then be what was asked for."""
    done = guest.run(f"ethtool -K {netdev} {words}")
    if not strict:
        return
    now = guest.run(f"ethtool -k {netdev}", check=True).out
    wrong = [wanted for name, wanted in MUST_HAVE.items() if name in words and wanted not in now]
    assert not wrong, f"ethtool -K {netdev} {words}: {done.err}{done.out}\nwants {wrong}\n{now}"


def transfer(sender: Guest, receiver: Guest, peer: str, digest: str) -> None:
    receiver.run(": > /tmp/sums", check=True)
    sender.run(f"socat -u FILE:/tmp/data TCP:{peer}:{PORT}", timeout=60, check=True)
    found = receiver.run("for i in $(seq 200); do [ -s /tmp/sums ] && break; sleep 0.05; done; "
                         "cat /tmp/sums", check=True).out.split()
    assert found[:1] == [digest], f"{sender.name} to {peer}: {found}"


@pytest.mark.parametrize("model", MODELS)
def test_every_combination_of_offloads(strangers, model):
    a, b, digest = strangers
    index = list(MODELS).index(model)
    ours, theirs = a.netdev("verna", index), b.netdev(MODELS[model])
    addresses(a, ours, 20 + index, 1)
    addresses(b, theirs, 20 + index, 2)
    v4, v6 = [f"10.0.{20 + index}.%d", f"[fd00:{20 + index}::%d]"]
    for number, (other, sending, receiving) in enumerate(
            itertools.product(OTHER, SENDING, RECEIVING)):
        if number % (len(SENDING) * len(RECEIVING)) == 0:
            switch(b, theirs, other, strict=False)
        switch(a, ours, f"{sending} {receiving}", strict=True)
        peer = (v4, v6)[number % 2]
        transfer(a, b, peer % 2, digest)
        transfer(b, a, peer % 1, digest)
