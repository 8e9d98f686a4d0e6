# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel's selftests print, test by test.

The Python ones speak KTAP, to which a runner may have added a `# ` per level; the shell ones print
`TEST: name  [ OK ]` (net/lib.sh) or, the oldest, `PASS: name`.
"""

import re
from dataclasses import dataclass

PASS, FAIL, SKIP, XFAIL = "pass", "fail", "skip", "xfail"
SKIP_STATUS = 4  # kselftest's exit status of a test that cannot run here

KTAP = re.compile(r"(?P<bad>not )?ok\s+\d+(?:\s+-)?(?:\s+(?P<name>[^#]*?))?\s*"
                  r"(?:#\s*(?P<word>SKIP|XFAIL|TODO|TIMEOUT|ERROR)?\b:?\s*(?P<note>.*))?$",
                  re.IGNORECASE)
PLAN = re.compile(r"1\.\.(\d+)(?:\s|$)")
SHELL = re.compile(r"TEST: (?P<name>.*?)\s*\[\s*(?P<word>OK|FAIL|SKIP|XFAIL)\s*\]\s*$")
PLAIN = re.compile(r"(?P<word>PASS|FAIL|SKIP|XFAIL): (?P<name>.*\S)\s*$")
SKIPPED = re.compile(r"(?:TEST: )?SKIP:? *(.*?)(?:\s*\[ OK \])?$")
WORDS = {"OK": PASS, "PASS": PASS, "FAIL": FAIL, "SKIP": SKIP, "XFAIL": XFAIL, "TODO": XFAIL,
         "TIMEOUT": FAIL, "ERROR": FAIL}


@dataclass
class Outcome:
    """One test's result; `note` is the test's own reason."""
    name: str
    result: str
    note: str = ""


def plain_name(text: str, script: str) -> str:
    """A test's name as the lists have it: without the script's own name, without blanks."""
    text = text.removeprefix(f"{script}.")
    return re.sub(r"\s+", "_", text.strip())


def read_line(line: str, script: str, plain: bool) -> Outcome | None:
    """The result that a line tells, if it tells one."""
    line = re.sub(r"^[\s#]*", "", line)
    if found := KTAP.match(line):
        word = (found["word"] or "").upper()
        result = FAIL if found["bad"] else WORDS.get(word, PASS)
        name = plain_name(found["name"] or "", script)
        return Outcome(name, result, (found["note"] or "").strip())
    found = SHELL.match(line) or (PLAIN.match(line) if plain else None)
    if found and not found["name"].startswith("SKIP"):  # that is the script's own, see parse()
        return Outcome(plain_name(found["name"], script), WORDS[found["word"]])
    return None


def numbered(outcomes: list[Outcome]) -> list[Outcome]:
    """The same with `#2`, `#3` after names that come again: each test needs a name of its own."""
    seen: dict[str, int] = {}
    for outcome in outcomes:
        count = seen[outcome.name] = seen.get(outcome.name, 0) + 1
        if count > 1:
            outcome.name += f"#{count}"
    return outcomes


def cut_short(outcomes: list[Outcome], planned: int) -> bool:
    """Whether a script announced more tests than it told results of."""
    return planned > len(outcomes)


def parse(text: str, status: int | None, script: str, plain: bool = False) -> list[Outcome]:
    """All results of a script's run: its tests', and under an empty name the script's own if it
    has no others, or says something that they do not. `status` is None if time ran out."""
    outcomes, planned, skip = [], 0, ""
    for line in text.splitlines():
        bare = re.sub(r"^[\s#]*", "", line)
        if found := PLAN.match(bare):
            planned += int(found[1])
        elif outcome := read_line(line, script, plain):
            outcomes.append(outcome)
        elif found := SKIPPED.match(bare):
            skip = found[1]
    # One that could not even begin (a missing library, say) reports itself without a name.
    whole = [outcome for outcome in outcomes if outcome.name in ("", script)]
    outcomes = numbered([outcome for outcome in outcomes if outcome not in whole])
    own = script_outcome(outcomes, planned, status, skip or (whole[0].note if whole else ""))
    if whole and not outcomes and own.result == PASS:
        own = Outcome("", whole[0].result, whole[0].note)
    told = own.result == FAIL and any(outcome.result == FAIL for outcome in outcomes)
    if not outcomes or (own.result == FAIL and (not told or status is None)):
        outcomes.append(own)
    return outcomes


def script_outcome(outcomes: list[Outcome], planned: int, status: int | None,
                   skip: str) -> Outcome:
    """What the end of a script says by itself."""
    if status is None:
        return Outcome("", FAIL, "ran out of time")
    if cut_short(outcomes, planned) and status != SKIP_STATUS and not skip:
        return Outcome("", FAIL, f"told {len(outcomes)} of {planned} results, status {status}")
    if status == SKIP_STATUS:
        return Outcome("", SKIP, skip)
    if status:
        return Outcome("", FAIL, f"status {status}")
    return Outcome("", PASS)
