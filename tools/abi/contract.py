# SPDX-License-Identifier: GPL-2.0-or-later
"""The contract headers for Python: constants and structures, read from kernel/include/hw.

Nothing is written down twice: what a test or a tool needs is taken from the headers when it runs.

    contract = Contract()
    contract["VERNA_REG_MAGIC"]
    command = contract.struct("verna_cmd_create_eq")
    data = command.pack({"hdr.opcode": contract["VERNA_CMD_CREATE_EQ"], "id": 1})
    command.unpack(data)["mem.addr"]
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

HEADERS = Path(__file__).resolve().parents[2] / "kernel/include/hw"
SIZES = {"__u8": 1, "__le16": 2, "__le32": 4, "__le64": 8, "__be16": 2, "__be32": 4, "__be64": 8}
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


@dataclass
class Field:
    """A scalar or an array of scalars; nested structures are flattened to names with dots, and
    arrays of them to names with indices."""
    name: str
    offset: int
    size: int   # of one element
    count: int  # 0: no array
    big: bool

    def write(self, data: bytearray, value) -> None:
        if self.count and isinstance(value, (bytes, bytearray)):
            data[self.offset:self.offset + len(value)] = value
            return
        values = value if self.count else [value]
        for index, item in enumerate(values):
            at = self.offset + index * self.size
            data[at:at + self.size] = item.to_bytes(self.size, "big" if self.big else "little")

    def read(self, data: bytes):
        def one(index: int) -> int:
            at = self.offset + index * self.size
            return int.from_bytes(data[at:at + self.size], "big" if self.big else "little")
        if not self.count:
            return one(0)
        if self.size == 1:
            return bytes(data[self.offset:self.offset + self.count])
        return [one(index) for index in range(self.count)]


@dataclass
class Struct:
    name: str
    size: int = 0
    align: int = 1
    fields: dict[str, Field] = field(default_factory=dict)

    def pack(self, values: dict | None = None) -> bytes:
        """Zeros but for the fields that are given by their dotted names."""
        data = bytearray(self.size)
        for name, value in (values or {}).items():
            self.fields[name].write(data, value)
        return bytes(data)

    def unpack(self, data: bytes) -> dict:
        if len(data) < self.size:
            raise ValueError(f"{self.name} has {self.size} bytes, here are {len(data)}")
        return {name: item.read(data) for name, item in self.fields.items()}


class Contract:
    """All constants by name, structures by struct()."""

    def __init__(self, folder: Path = HEADERS):
        text = "\n".join(path.read_text() for path in sorted(folder.glob("*.h")))
        self._text = COMMENT.sub(" ", text).replace("\\\n", " ")
        self.constants: dict[str, int] = {}
        self._read_defines()
        self._read_enums()
        self.asserted_sizes = {name: self._evaluate(size) for name, size in re.findall(
            r"^VERNA_ASSERT_SIZE\((\w+), ([^)]+)\);", self._text, re.M)}
        self._structs: dict[str, Struct] = {}

    def __getitem__(self, name: str) -> int:
        return self.constants[name]

    def counter_names(self, group: str) -> list[str]:
        """Names of a counter group, such as "PORT", in the order in which the card writes them."""
        body = re.search(rf"#define VERNA_{group}_COUNTERS\(X\)([^\n]*)", self._text).group(1)
        return re.findall(r"X\((\w+),", body)

    def _evaluate(self, text: str) -> int | None:
        """A C constant expression of numbers and known names; None if it is something else."""
        text = re.sub(r"\b(0x[0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text.strip())
        names = set(re.findall(r"\b[A-Za-z_]\w*\b", re.sub(r"0x[0-9a-fA-F]+", "", text)))
        if not names <= self.constants.keys() or not re.fullmatch(r"[\w\s()|<>+*~&-]+", text):
            return None
        return int(eval(text, {"__builtins__": {}}, dict(self.constants)))  # digits and operators

    def _read_defines(self) -> None:
        for name, value in re.findall(r"^#define\s+(VERNA_\w+)[ \t]+(\S[^\n]*)$", self._text, re.M):
            number = self._evaluate(value)
            if number is not None:
                self.constants[name] = number

    def _read_enums(self) -> None:
        for body in re.findall(r"\benum\s+\w+\s*\{([^}]*)\}", self._text):
            following = 0
            for item in body.split(","):
                name, _, value = (part.strip() for part in item.partition("="))
                if not re.fullmatch(r"VERNA_\w+", name):
                    continue
                following = self._evaluate(value) if value else following
                self.constants[name] = following
                following += 1

    def struct(self, name: str) -> Struct:
        if name not in self._structs:
            found = re.search(rf"\bstruct\s+{name}\s*\{{(.*?)\n\}};", self._text, re.S)
            if not found:
                raise KeyError(name)
            self._structs[name] = self._layout(name, found.group(1))
        return self._structs[name]

    def _layout(self, name: str, body: str) -> Struct:
        made = Struct(name)
        self._add_members(made, body, 0, "")
        made.size = -(-made.size // made.align) * made.align
        return made

    def _add_members(self, made: Struct, body: str, start: int, prefix: str) -> int:
        """Adds members from offset `start` on; returns where they end."""
        end = start
        pattern = re.compile(
            r"union\s*\{(?P<union>(?:[^{}]|\{[^{}]*\})*)\}\s*;|"
            r"struct\s*\{(?P<body>[^{}]*)\}\s*(?P<inner>\w+)\s*;|"
            r"(?P<type>struct\s+\w+|__\w+)\s+(?P<member>\w+)\s*(?:\[(?P<count>[^\]]+)\])?\s*;")
        for match in pattern.finditer(body):
            if match["union"] is not None:
                end = -(-end // 8) * 8 if "__le64" in match["union"] else end
                end = max(self._add_members(made, part.group(0), end, prefix)
                          for part in re.finditer(r"struct\s*\{[^{}]*\}\s*\w+\s*;", match["union"]))
            elif match["body"] is not None:
                end = self._add_members(made, match["body"], end, f"{prefix}{match['inner']}.")
            else:
                end = self._add_member(made, match, end, prefix)
        made.size = max(made.size, end)
        return end

    def _add_member(self, made: Struct, match: re.Match, end: int, prefix: str) -> int:
        name = prefix + match["member"]
        count = self._evaluate(match["count"]) if match["count"] else 0
        if match["type"].startswith("struct"):
            inner = self.struct(match["type"].split()[1])
            end = -(-end // inner.align) * inner.align
            made.align = max(made.align, inner.align)
            for element in [f"{name}[{i}]" for i in range(count)] or [name]:
                for item in inner.fields.values():
                    made.fields[f"{element}.{item.name}"] = Field(
                        f"{element}.{item.name}", end + item.offset, item.size, item.count,
                        item.big)
                end += inner.size
            return end
        size = SIZES[match["type"]]
        end = -(-end // size) * size
        made.fields[name] = Field(name, end, size, count, match["type"].startswith("__be"))
        made.align = max(made.align, size)
        return end + size * max(count, 1)
