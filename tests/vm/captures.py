# SPDX-License-Identifier: GPL-2.0-or-later
"""What independent programs say about a card's capture: tshark, and scapy's own ICRC."""

import subprocess
import textwrap

ICRC_CHECK = textwrap.dedent("""\
    import sys
    from itertools import islice
    from multiprocessing import Pool
    from scapy.all import Ether, RawPcapReader, load_contrib
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6
    load_contrib("roce")
    from scapy.contrib.roce import BTH

    def verdict(numbered):
        number, raw = numbered
        packet = Ether(raw)
        if not ((IP in packet or IPv6 in packet) and BTH in packet):
            return None
        bth = packet[BTH]
        raw = bytes(bth)
        computed = bytes(bth.compute_icrc(raw[:-4]))
        return "" if computed == raw[-4:] else f"frame {number} {computed.hex()} {raw[-4:].hex()}"

    capture, most = sys.argv[1], int(sys.argv[2])
    step = most and sum(1 for _ in RawPcapReader(capture)) // most or 1
    frames = enumerate((raw for raw, _ in RawPcapReader(capture)), 1)
    with Pool() as pool:
        all = [v for v in pool.imap(verdict, islice(frames, 0, None, step), 64) if v is not None]
    bad = [v for v in all if v]
    print(*bad, sep="\\n")
    print("good", len(all) - len(bad), "bad", len(bad))
    """)


def in_sdk(repo, *command: str) -> str:
    return subprocess.run([str(repo / "tools/setup/sdk-run"), *command], check=True, text=True,
                          capture_output=True, cwd=repo).stdout


# What tshark takes the payload of a RoCE frame for if its bytes look so; ours mean nothing.
GUESSES = ("eth_over_ib", "fc_infiniband", "iser_infiniband", "lnet_ib", "mellanox_eoib",
           "nvme_rdma", "rpcrdma_infiniband", "sdp_infiniband", "smb_direct_infiniband",
           "smcr_infiniband")


def tshark(repo, capture, condition: str, *fields: str) -> list[list[str]]:
    """The fields of each frame that meets the condition."""
    words = [word for field in fields for word in ("-e", field)]
    words += [word for guess in GUESSES for word in ("--disable-heuristic", guess)]
    out = in_sdk(repo, "tshark", "-r", str(capture), "-Y", condition, "-T", "fields", *words)
    return [line.split("\t") for line in out.splitlines()]


def icrc_check(repo, capture, folder, most: int = 0) -> tuple[int, int, str]:
    """How many RoCE frames have the ICRC that scapy computes, how many another, and which. Of a
    long capture it looks at about `most` frames (0: at all), as it takes 3 ms for each."""
    program = folder / "icrc.py"
    program.write_text(ICRC_CHECK)
    out = in_sdk(repo, "python3", str(program), str(capture), str(most))
    words = out.split()
    return int(words[-3]), int(words[-1]), out


def tcp_faults(repo, capture, source: str, longest: int = 1514) -> list[list[str]]:
    """Frames of TCP from an address that are no segments as TCP and IP want them."""
    wrong = ("tcp.checksum.status == 0 || ip.checksum.status == 0 || ip.flags.mf == 1 || "
             f"ip.frag_offset > 0 || frame.len > {longest}")
    out = in_sdk(repo, "tshark", "-r", str(capture), "-o", "tcp.check_checksum:TRUE", "-o",
                 "ip.check_checksum:TRUE", "-o", "ip.defragment:FALSE", "-Y",
                 f"ip.src == {source} && ip.proto == 6 && ({wrong})", "-T", "fields", "-e",
                 "frame.number", "-e", "frame.len", "-e", "_ws.col.info")
    return [line.split("\t") for line in out.splitlines()]


def tcp_data(repo, capture, source: str) -> dict[str, list[tuple[int, int, int]]]:
    """Sequence number, length and IPv4 ID of the data segments from an address, by source port."""
    rows = tshark(repo, capture, f"ip.src == {source} && tcp.len > 0", "tcp.srcport",
                  "tcp.seq_raw", "tcp.len", "ip.id")
    streams: dict[str, list[tuple[int, int, int]]] = {}
    for port, seq, length, number in rows:
        streams.setdefault(port, []).append((int(seq), int(length), int(number, 16)))
    return streams
