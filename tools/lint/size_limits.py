# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits of size: a file of 500 lines in C++ or 700 in C, a function of 80 lines, what most
functions are like, and the shim as a whole. A switch that is a table may be longer."""

import re
from pathlib import Path

FILE_LINES = {".cc": 500, ".h": 500, ".c": 700, ".py": 500}
C_FOLDERS = ("kernel/", "provider/", "qemu-device/qom/", "tests/vm/")
C_LINES = 700
FUNCTION_LINES = 80
# All that has QEMU's headers: what needs none belongs into the core, where it has unit tests.
SHIM = "qemu-device/qom/"
SHIM_LINES = 1000  # 800 for a card of one function, see ADR 010
MEDIAN = 15
P90 = 45

COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
NOT_A_FUNCTION = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b[^()]*$|=\s*$|\]\s*$")
CONTROL = re.compile(r"\b(?:if|for|while|switch|else|do|catch|try)\b[^{}]*$")


def blank(match: re.Match) -> str:
    """The same number of lines without what is in them."""
    return re.sub(r"[^\n]", " ", match.group(0))


def functions(text: str) -> list[tuple[int, int, str]]:
    """First line, number of lines and head of each outermost function body."""
    clean = COMMENT_OR_STRING.sub(blank, text)
    clean = re.sub(r"(?m)^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, clean)
    found = []
    stack = []  # of each open brace: the function that it begins, or None
    inside = 0
    start_of_statement = 0
    for position, char in enumerate(clean):
        if char == "{":
            head = clean[start_of_statement:position]
            is_function = (not inside and "(" in head and not NOT_A_FUNCTION.search(head) and
                           not CONTROL.search(head.split("(")[0] + " "))
            stack.append((start_of_statement, head) if is_function else None)
            inside += is_function
            start_of_statement = position + 1
        elif char == "}":
            opened = stack.pop() if stack else None
            if opened:
                inside -= 1
                first = clean.count("\n", 0, opened[0] + len(opened[1]) - len(opened[1].lstrip()))
                last = clean.count("\n", 0, position)
                name = " ".join(opened[1].split())
                found.append((first + 1, last - first + 1, name))
            start_of_statement = position + 1
        elif char == ";":
            start_of_statement = position + 1
    return found


def is_table(lines: list[str]) -> bool:
    cases = sum(bool(re.match(r"\s*(?:case\b|default:|\{.*\},?$|return\b|break;)", line))
                for line in lines)
    return cases * 2 > len(lines)


def check_shim(lengths: dict[str, int]) -> list[str]:
    total = sum(lengths.values())
    if total < SHIM_LINES:
        return []
    return [f"{SHIM}: {total} lines of C in all, must be less than {SHIM_LINES}"]


def check(repo: Path, files: list[Path]) -> list[str]:
    findings = []
    lengths: dict[str, list[int]] = {}
    shim: dict[str, int] = {}
    for path in files:
        name = str(path.relative_to(repo))
        limit = FILE_LINES.get(path.suffix)
        if limit is None:
            continue
        if path.suffix == ".h" and name.startswith(C_FOLDERS):
            limit = C_LINES
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        if name.startswith(SHIM):
            shim[name] = len(lines)
        if len(lines) > limit:
            findings.append(f"{name}: {len(lines)} lines, more than {limit}")
        if path.suffix == ".py":
            continue
        area = "/".join(name.split("/")[:2])
        for first, count, head in functions(text):
            lengths.setdefault(area, []).append(count)
            if count > FUNCTION_LINES and not is_table(lines[first - 1:first - 1 + count]):
                findings.append(f"{name}:{first}: a function of {count} lines: {head[:70]}")
    for area, counts in lengths.items():
        if "tests" in area or len(counts) < 20:
            continue
        counts.sort()
        median, p90 = counts[len(counts) // 2], counts[len(counts) * 9 // 10]
        if median > MEDIAN or p90 > P90:
            findings.append(f"{area}: functions have {median} lines in the middle and {p90} at the "
                            f"90th percentile, more than {MEDIAN} and {P90}")
    return findings + check_shim(shim)
