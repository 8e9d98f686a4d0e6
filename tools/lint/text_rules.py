# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that a file's text alone can break."""

import re
import subprocess
from pathlib import Path

# What a licence line looks like depends on the folder.
LICENCES = (
    ("kernel/include/hw/", "GPL-2.0 OR BSD-2-Clause"),
    ("kernel/include/uapi/", "GPL-2.0 OR BSD-2-Clause"),
    ("provider/", "GPL-2.0 OR BSD-2-Clause"),
    ("kernel/", "GPL-2.0"),
    ("", "GPL-2.0-or-later"),
)
# Files that have no place for a comment.
NO_COMMENT = (".json", ".png", ".pcap", ".lock", ".gitkeep", ".bin")
BINARY = (".png", ".pcap", ".bin", ".gz")

# Pieces are joined here, so that this file does not break its own rule.
FORBIDDEN = (
    (re.compile(r"(?<![\w.])/(?:work|root)/"), "a path of one machine"),
    (re.compile(r"/tmp/(?:bash_jobs|ct|ch)\b"), "a path of one machine"),
    (re.compile(r"(?i)\b(?:py" r"pi\.org|npm" r"js\.(?:org|com)|deb\.deb" r"ian\.org|"
                r"crates\.i" r"o|ftp\.deb" r"ian\.org|snapshot\.deb" r"ian\.org|"
                r"proxy\.gol" r"ang\.org)"), "the address of a registry or an archive"),
    (re.compile(r"(?i)\b(?:cla" r"ude|anthr" r"opic|chat" r"gpt|co" r"pilot|ll" r"m)\b"),
     "a word about how this was made"),
    (re.compile(r"\bAI\b(?!-)"), "a word about how this was made"),
)
# Networks that examples and tests may use.
ADDRESS = re.compile(r"(?<![\w.:-])(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?![\w.])")


def tracked_files(repo: Path) -> list[Path]:
    """Files of the repository, those that are not committed yet included."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=repo,
        capture_output=True, text=True, check=True).stdout.split("\0")
    paths = [repo / name for name in sorted(set(listed)) if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def text_of(path: Path) -> str | None:
    if path.name.endswith(BINARY):
        return None
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def licence(repo: Path, files: list[Path]) -> list[str]:
    findings = []
    for path in files:
        name = str(path.relative_to(repo))
        text = text_of(path)
        if text is None or not text.strip() or name.endswith(NO_COMMENT):
            continue
        wanted = next(value for prefix, value in LICENCES if name.startswith(prefix))
        # QEMU's files say what they are first.
        head = "\n".join(text.splitlines()[:16 if name.startswith("qemu-device/qom/") else 3])
        found = re.search(r"SPDX-License-Identifier: ([^\n*]+?)\s*(?:\*/|-->)?\s*$", head, re.M)
        if not found:
            findings.append(f"{name}: no SPDX-License-Identifier at the top")
        elif found.group(1).strip() != wanted:
            findings.append(f"{name}: licence is {found.group(1).strip()}, must be {wanted}")
    return findings


def is_private(octets: list[int]) -> bool:
    """Addresses that lead to no machine of others: private, loopback, documentation, special."""
    a, b, c, d = octets
    return (a in (0, 10, 127, 255) or (a == 192 and b == 168) or (a == 172 and 16 <= b < 32) or
            (a == 169 and b == 254) or (a == 192 and b == 0 and c == 2) or
            (a == 198 and b == 51 and c == 100) or (a == 203 and b == 0 and c == 113) or
            a >= 224 or max(octets) > 255 or (b == 0 and c == 0 and d == 0) or
            # Sections of specifications look the same: 16.1.3.5.
            max(octets) < 20)


# Published test vectors name addresses of long ago.
PUBLIC_ADDRESSES_ALLOWED = ("tests/unit/pkt/toeplitz_test.cc",)


def words(repo: Path, files: list[Path]) -> list[str]:
    findings = []
    for path in files:
        name = str(path.relative_to(repo))
        text = text_of(path)
        if text is None or name.startswith("tools/lint/"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, why in FORBIDDEN:
                if pattern.search(line):
                    findings.append(f"{name}:{number}: {why}: {line.strip()[:80]}")
            if name in PUBLIC_ADDRESSES_ALLOWED:
                continue
            for found in ADDRESS.finditer(line):
                if not is_private([int(octet) for octet in found.groups()]):
                    findings.append(f"{name}:{number}: a network address: {found.group(0)}")
    return findings


def whitespace(repo: Path, files: list[Path]) -> list[str]:
    findings = []
    for path in files:
        name = str(path.relative_to(repo))
        text = text_of(path)
        if not text or name.endswith((".patch", ".svg", ".json")):
            continue
        if not text.endswith("\n"):
            findings.append(f"{name}: no newline at the end")
        if text.endswith("\n\n"):
            findings.append(f"{name}: an empty line at the end")
        for number, line in enumerate(text.splitlines(), 1):
            if line != line.rstrip():
                findings.append(f"{name}:{number}: space at the end of the line")
            if "\r" in line:
                findings.append(f"{name}:{number}: a carriage return")
    return findings
