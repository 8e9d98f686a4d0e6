# SPDX-License-Identifier: GPL-2.0-or-later
"""What independent programs say about a card's capture: tshark, and scapy's own ICRC."""

import subprocess
import textwrap

ICRC_CHECK = textwrap.dedent("""\
    import sys
    from scapy.all import Ether, RawPcapReader, load_contrib
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6
    load_contrib("roce")
    from scapy.contrib.roce import BTH
    capture, most = sys.argv[1], int(sys.argv[2])
    step = most and sum(1 for _ in RawPcapReader(capture)) // most or 1
    good = bad = 0
    for number, (raw, _) in enumerate(RawPcapReader(capture)):
        if number % step:
            continue
        packet = Ether(raw)
        if (IP in packet or IPv6 in packet) and BTH in packet:
            bth = packet[BTH]
            raw = bytes(bth)
            computed = bth.compute_icrc(raw[:-4])
            if bytes(computed) == raw[-4:]:
                good += 1
            else:
                bad += 1
                print("frame", number + 1, bytes(computed).hex(), raw[-4:].hex())
    print("good", good, "bad", bad)
    """)


def in_sdk(repo, *command: str) -> str:
    return subprocess.run([str(repo / "tools/setup/sdk-run"), *command], check=True, text=True,
                          capture_output=True, cwd=repo).stdout


def tshark(repo, capture, condition: str, *fields: str) -> list[list[str]]:
    """The fields of each frame that meets the condition."""
    words = [word for field in fields for word in ("-e", field)]
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
