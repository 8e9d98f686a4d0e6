# SPDX-License-Identifier: GPL-2.0-or-later
"""The lists of what each test is expected to do, and what is a surprise.

A line is `TEST RESULT [REASON]`: the test as `unit:case`, or `unit` for one that has no cases;
`pass`, `skip`, `xfail` or `fail`. All but a pass need a reason. A `*` in a name stands for
anything, for scripts whose cases are whatever the device offers.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from .ktap import FAIL, PASS, SKIP, XFAIL

RESULTS = (PASS, SKIP, XFAIL, FAIL)


class ListError(Exception):
    """A list that says something wrong, with its line."""


@dataclass
class Entry:
    """A line of a list."""
    name: str
    result: str
    reason: str = ""

    def __post_init__(self):
        parts = (re.escape(part) for part in self.name.split("*"))
        self.pattern = re.compile(".*".join(parts) + "$")

    def belongs_to(self, unit: str) -> bool:
        """Whether running a unit must tell this test's result."""
        return self.name == unit or self.name.startswith(f"{unit}:")


@dataclass
class Row:
    """A test that ran or should have: what it did, what was expected, and whether that is wrong."""
    name: str
    result: str
    expected: str
    note: str
    surprise: str = ""


def read_list(text: str) -> list[Entry]:
    entries: list[Entry] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(maxsplit=2)
        if not words or words[0].startswith("#"):
            continue
        if len(words) < 2 or words[1] not in RESULTS:
            raise ListError(f"line {number}: {line!r} is not TEST {'|'.join(RESULTS)} [REASON]")
        if words[1] != PASS and len(words) < 3:
            raise ListError(f"line {number}: {words[0]}: a {words[1]} needs a reason")
        if any(entry.name == words[0] for entry in entries):
            raise ListError(f"line {number}: {words[0]} is there twice")
        entries.append(Entry(*words))
    return entries


def load(path: Path) -> list[Entry]:
    try:
        return read_list(path.read_text())
    except ListError as error:
        raise ListError(f"{path}: {error}") from error


def find(entries: list[Entry], name: str) -> Entry | None:
    """The entry for a test: the one with its name, else the most exact pattern."""
    fitting = [entry for entry in entries if entry.pattern.match(name)]
    exact = [entry for entry in fitting if entry.name == name]
    return exact[0] if exact else max(fitting, key=lambda entry: len(entry.name), default=None)


def surprise(entry: Entry | None, result: str) -> str:
    """Why a result is not what the list says, or nothing."""
    if entry is None:
        return "not in the list"
    if entry.result == result:
        return ""
    if result == PASS:
        return f"passes, the list says {entry.result}"
    return f"expected {entry.result}"


def compare(entries: list[Entry], ran: list[str], results: list[tuple[str, str, str]]) -> list[Row]:
    """All tests with results `(name, result, note)`, then those of the units that `ran` which
    should have had one and had not."""
    rows, used = [], set()
    for name, result, note in results:
        entry = find(entries, name)
        if entry:
            used.add(entry.name)
        reason = entry.reason if entry and entry.result == result != PASS else note
        rows.append(Row(name, result, entry.result if entry else "", reason,
                        surprise(entry, result)))
    for entry in entries:
        if entry.name not in used and any(entry.belongs_to(unit) for unit in ran):
            rows.append(Row(entry.name, "absent", entry.result, "", "told no result"))
    return rows


def suggest(rows: list[Row]) -> str:
    """The rows as a list, for a person to judge; reasons are the tests' own words."""
    width = max((len(row.name) for row in rows), default=0)
    return "".join(f"{row.name:{width}} {row.result:5} "
                   f"{row.note if row.result != PASS else ''}".rstrip() + "\n"
                   for row in rows if row.result != "absent")
