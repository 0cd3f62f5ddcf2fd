#!/usr/bin/env python3
"""A directory of src/ may include itself and the rows above it in this list, nothing below."""

import pathlib
import re
import sys

from complaints import TOP, expect, finish, planted

ROWS = ("base sys spec policy host plan isolate launch init supervise egress report client cli").split()
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^/">]+)/[^">]+[">]')


def check(src):
    complaints = []
    for path in sorted(p for p in src.rglob("*") if p.suffix in (".cpp", ".hpp", ".c", ".h", ".S")):
        row = path.relative_to(src).parts[0]
        if row not in ROWS:
            complaints.append(f"src/{row}: no row of that name; CONTRIBUTING.md lists them")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = INCLUDE.match(line)
            if found and found[1] in ROWS and ROWS.index(found[1]) > ROWS.index(row):
                complaints.append(f"src/{path.relative_to(src)}:{number}: {row} includes {found[1]}, "
                                  f"which is below it")
    return complaints


def self_test():
    with planted({
            "spec/good.hpp": '#include <sys/types.h>\n#include "base/result.hpp"\n',
            "spec/bad.hpp": '#include "base/fd.hpp"\n#  include "plan/plan.hpp"\n',
            "elsewhere/x.cpp": "",
    }) as tree:
        expect(check(pathlib.Path(tree)),
               ["src/spec/bad.hpp:2: spec includes plan", "src/elsewhere: no row"])


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        finish(check(TOP / "src"))
