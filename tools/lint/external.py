# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks that programs of the SDK make. What takes long remembers that it went well."""

import hashlib
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from verna_setup import sdk as sdk_module
from verna_setup.cache import cache_root

HERE = Path(__file__).resolve().parent


def run(repo: Path, *command: object) -> subprocess.CompletedProcess:
    """A command inside the SDK; its output."""
    return subprocess.run([repo / "tools/setup/sdk-run", *map(str, command)], cwd=repo, text=True,
                          capture_output=True, check=False)


def digest(*parts: object) -> str:
    state = hashlib.sha256()
    for part in parts:
        state.update(part.read_bytes() if isinstance(part, Path) else str(part).encode())
        state.update(b"\0")
    return state.hexdigest()[:24]


def remembered(kind: str, key: str) -> Path:
    """A file that says that this was checked and found good."""
    folder = cache_root() / "lint" / kind
    folder.mkdir(parents=True, exist_ok=True)
    return folder / key


def select(repo: Path, files: list[Path], prefixes: tuple[str, ...],
           suffixes: tuple[str, ...]) -> list[Path]:
    return [path for path in files if path.suffix in suffixes and
            str(path.relative_to(repo)).startswith(prefixes)]


def python(repo: Path, files: list[Path]) -> list[str]:
    def is_python(path: Path) -> bool:
        if path.suffix == ".py":
            return True
        if path.suffix or not os.access(path, os.X_OK):
            return False
        return path.read_bytes()[:64].startswith(b"#!") and b"python" in path.read_bytes()[:64]

    chosen = [path for path in files if is_python(path)]
    result = run(repo, "pyflakes3", *(path.relative_to(repo) for path in chosen))
    findings = (result.stdout + result.stderr).splitlines()
    style = run(repo, "pycodestyle", "--max-line-length=100", "--ignore=E129,E402,W503,W504",
                *(path.relative_to(repo) for path in chosen))
    return findings + (style.stdout + style.stderr).splitlines()


def shell(repo: Path, files: list[Path]) -> list[str]:
    chosen = [path for path in files
              if path.suffix == ".sh" or
              (not path.suffix and re.match(rb"#!\s*/bin/(?:ba)?sh", path.read_bytes()[:20]))]
    if not chosen:
        return []
    result = run(repo, "shellcheck", "-f", "gcc", "-S", "warning",
                 *(path.relative_to(repo) for path in chosen))
    return (result.stdout + result.stderr).splitlines()


def clang_format(repo: Path, files: list[Path]) -> list[str]:
    chosen = select(repo, files, ("qemu-device/core/", "tests/unit/", "tests/sim/", "tests/fuzz/"),
                    (".cc", ".h"))
    # The C interface is read by C programmers of QEMU and has their layout.
    chosen = [path for path in chosen if path.name != "verna_core.h"]
    result = run(repo, "clang-format", "--dry-run", "-Werror",
                 *(path.relative_to(repo) for path in chosen))
    wrong: dict[str, int] = {}
    for name in re.findall(r"(?m)^(\S+?):\d+:\d+: error:", result.stderr):
        wrong[name] = wrong.get(name, 0) + 1
    return [f"{name}: {count} place(s) are not as clang-format would have them"
            for name, count in wrong.items()]


def checkpatch_script(sdk: Path) -> Path | None:
    """Debian's kernel headers come without it; the sources of QEMU have it with U-Boot's, which is
    the kernel's as long as nobody says --u-boot."""
    given = os.environ.get("VERNA_CHECKPATCH")
    places = [Path(given)] if given else []
    places += [sdk / "usr/lib/verna/checkpatch.pl",
               *sdk.glob("usr/src/linux-*/scripts/checkpatch.pl"),
               *sorted(cache_root().glob("qemu-tree-*/src/roms/u-boot/scripts/checkpatch.pl"))]
    return next((place for place in places if place.is_file()), None)


# What a driver outside of the kernel's tree cannot have: an entry in MAINTAINERS; the
# contract's comments are for C++ readers, too; ethtool has the names of IEEE 802.3.
CHECKPATCH_IGNORED = ("FILE_PATH_CHANGES", "SPDX_LICENSE_TAG", "CONST_STRUCT", "CAMELCASE")


def checkpatch(repo: Path, files: list[Path]) -> list[str]:
    script = checkpatch_script(sdk_module.build())
    if not script:
        return ["there is no checkpatch.pl: `make setup` brings one, or name it by "
                "VERNA_CHECKPATCH"]
    chosen = select(repo, files, ("kernel/core/", "kernel/eth/", "kernel/rdma/"), (".c", ".h"))
    findings = []
    key = digest(script, Path(__file__), *chosen)
    if remembered("checkpatch", key).exists():
        return []
    result = subprocess.run(
        ["perl", script, "--no-tree", "--strict", "--terse", "--no-summary", "--file",
         "--ignore", ",".join(CHECKPATCH_IGNORED),
         *(str(path.relative_to(repo)) for path in chosen)],
        cwd=repo, text=True, capture_output=True, check=False)
    findings = [line for line in result.stdout.splitlines() if line.strip()]
    if result.returncode > 1 or (not findings and result.returncode):
        findings += result.stderr.splitlines()
    if not findings:
        remembered("checkpatch", key).touch()
    return findings


def kernel_doc(repo: Path, files: list[Path]) -> list[str]:
    """What begins as kernel-doc is whole: each parameter and member is described. Headers and
    reserved fields are the same everywhere and are described once, in verna_bits.h."""
    scripts = sorted(sdk_module.build().glob("usr/lib/linux-kbuild-*/scripts/kernel-doc"))
    if not scripts:
        return ["the SDK has no kernel-doc"]
    chosen = select(repo, files, ("kernel/",), (".c", ".h"))
    result = subprocess.run(
        ["perl", scripts[-1], "-none", *(str(path.relative_to(repo)) for path in chosen)],
        cwd=repo, text=True, capture_output=True, check=False)
    # Values of an enumeration are described beside them; the last one is described elsewhere.
    same = re.compile(r"member '(?:[\w.]*\.)?(?:hdr|reserved\d*)' not described|"
                      r"Enum value '\w+' not described|in 'verna_ib_create_qp'")
    return [line for line in (result.stdout + result.stderr).splitlines()
            if re.search(r"\b(?:warning|error):", line) and not same.search(line)]


def sparse(repo: Path, files: list[Path]) -> list[str]:
    """The modules are built once more with sparse and W=1; every warning is a finding."""
    sdk = sdk_module.build()
    version = sdk_module.kernel_version(sdk)
    chosen = [path for path in files if str(path.relative_to(repo)).startswith("kernel/")]
    if not any(path.name in ("Kbuild", "Makefile") for path in chosen):
        return []
    key = digest(version, Path(__file__), *chosen, *(path.relative_to(repo) for path in chosen))
    if remembered("sparse", key).exists():
        return []
    folder = cache_root() / "lint/sparse-build"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(repo / "kernel", folder)
    result = run(repo, "make", "-C", f"/usr/lib/modules/{version}/build", f"M={folder}", "W=1",
                 "C=2", "CF=-D__CHECK_ENDIAN__ -Wsparse-error", "-j2", "modules")
    output = result.stdout + result.stderr
    shutil.rmtree(folder, ignore_errors=True)
    # Warnings about the kernel's own headers are not ours.
    findings = [line.replace(str(folder), "kernel") for line in output.splitlines()
                if re.search(r"\b(?:warning|error):", line) and str(folder) in line]
    if not findings and result.returncode:
        findings = ["the build with sparse failed:", *output.splitlines()[-10:]]
    if not findings:
        remembered("sparse", key).touch()
    return findings


def clang_tidy(repo: Path, files: list[Path]) -> list[str]:
    """On the card's sources that changed since they were found good."""
    sources = select(repo, files, ("qemu-device/core/",), (".cc",))
    config = HERE / "clang-tidy.yaml"
    includes = {folder: folder for folder in (repo / "qemu-device/core", repo / "kernel/include")}

    def key(source: Path) -> str:
        """Of the source and all of the project's headers that it reaches."""
        seen: dict[Path, None] = {}
        todo = [source]
        while todo:
            path = todo.pop()
            if path in seen:
                continue
            seen[path] = None
            for target in re.findall(r'(?m)^#include "([^"]+)"', path.read_text()):
                places = [path.parent / target, *(folder / target for folder in includes)]
                todo += [place.resolve() for place in places if place.is_file()][:1]
        return digest(config, *sorted(seen))

    def one(source: Path) -> list[str]:
        stamp = remembered("clang-tidy", key(source))
        if stamp.exists():
            return []
        result = run(repo, "clang-tidy", "--quiet", f"--config-file={config}", source, "--",
                     "-std=c++20", *(f"-I{folder}" for folder in includes))
        findings = [line.replace(f"{repo}/", "") for line in result.stdout.splitlines()
                    if re.search(r": (?:warning|error):", line) and str(repo) in line]
        if not findings and result.returncode:
            findings = [f"{source.name}: clang-tidy failed: {result.stderr.strip()[-200:]}"]
        if not findings:
            stamp.touch()
        return findings

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return sorted({finding for found in pool.map(one, sources) for finding in found})
