# SPDX-License-Identifier: GPL-2.0-or-later
"""What Python reads from the contract headers is what a C compiler reads."""

import subprocess

import pytest
from abi.contract import HEADERS, Contract
from verna_setup import sdk as sdk_module


@pytest.fixture(scope="module")
def contract() -> Contract:
    return Contract()


def test_every_structure_has_its_asserted_size(contract):
    assert len(contract.asserted_sizes) > 30
    for name, size in contract.asserted_sizes.items():
        assert contract.struct(name).size == size, name


def compile_and_run(repo, folder, source: str) -> str:
    (folder / "probe.c").write_text(source)
    run = [str(repo / "tools/setup/sdk-run")]
    subprocess.run([*run, "cc", f"-I{HEADERS.parent}", "-o", folder / "probe", folder / "probe.c"],
                   check=True, cwd=folder)
    return subprocess.run([*run, folder / "probe"], check=True, cwd=folder, text=True,
                          capture_output=True).stdout


def test_constants_and_offsets_agree_with_the_compiler(contract, repo, tmp_path):
    sdk_module.build()
    lines = [f'#include "hw/{path.name}"' for path in sorted(HEADERS.glob("*.h"))]
    lines += ["#include <stdio.h>", "#include <stddef.h>", "int main(void) {"]
    lines += [f'printf("{name} %llu\\n", (unsigned long long)({name}));'
              for name in contract.constants]
    fields = [(struct, field) for struct in contract.asserted_sizes
              for field in contract.struct(struct).fields]
    lines += [f'printf("{struct}.{field} %zu\\n", offsetof(struct {struct}, {field}));'
              for struct, field in fields]
    output = compile_and_run(repo, tmp_path, "\n".join([*lines, "return 0; }", ""]))
    compiled = dict(line.rsplit(" ", 1) for line in output.splitlines())
    for name, value in contract.constants.items():
        assert int(compiled[name]) == value & (1 << 64) - 1, name
    for struct, field in fields:
        assert int(compiled[f"{struct}.{field}"]) == contract.struct(struct).fields[field].offset, \
            f"{struct}.{field}"
    assert len(fields) > 200 and len(contract.constants) > 200
