# SPDX-License-Identifier: GPL-2.0-or-later
"""Progress lines for people, full logs for those who look for a cause, and running commands."""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


class SetupError(Exception):
    """A set-up step that can't go on; the text is what the user sees."""


def say(text: str) -> None:
    """One line to the user. On stderr, so that commands with a result can be piped."""
    print(f"[setup] {text}", file=sys.stderr, flush=True)


def die_with_parent() -> None:
    """Called in a child: no build outlives a runner that was killed. `unshare` ignores SIGTERM."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Log:
    """The output of one step, kept in the cache under the step's name."""

    def __init__(self, path: Path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")

    @classmethod
    def for_step(cls, root: Path, name: str) -> "Log":
        return cls(root / "logs" / f"{name}.log")

    def tail(self, count: int) -> list[str]:
        with open(self.path, "rb") as handle:
            handle.seek(0, os.SEEK_END)
            handle.seek(max(0, handle.tell() - 16384))
            text = handle.read().decode(errors="replace")
        return [line for line in text.replace("\r", "\n").split("\n") if line.strip()][-count:]

    def first_errors(self, start: int) -> list[str]:
        """What compilers called errors since `start`; parallel builds bury them in other lines."""
        with open(self.path, "rb") as handle:
            handle.seek(start)
            lines = handle.read().decode(errors="replace").splitlines()
        return [line for line in lines if ": error:" in line or ": fatal error:" in line][:8]

    def last_line(self) -> str:
        lines = self.tail(1)
        return lines[0].strip()[:90] if lines else "no output yet"

    def run(self, command: list, **options) -> None:
        """Runs a command with its output in the log; a failure names the command and the log."""
        words = [str(word) for word in command]
        with open(self.path, "ab") as out:
            out.write(f"+ {' '.join(words)}\n".encode())
            out.flush()
            start = out.tell()
            result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                    preexec_fn=die_with_parent, check=False, **options)
        if result.returncode:
            text = "\n    ".join([*self.first_errors(start), *self.tail(20)])
            raise SetupError(f"'{' '.join(words)[:200]}' failed with status {result.returncode}; "
                             f"from its log {self.path}:\n    {text}")
