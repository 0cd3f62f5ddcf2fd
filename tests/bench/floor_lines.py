#!/usr/bin/env python3
"""floor_lines.py COMPILER SOURCE…: the floor stays small. Counts every line, blank ones too, of what
is compiled into it: its sources and what they include, but for the C library's headers and for what
the build makes (the filter's table, init's bytes, whose source is counted itself)."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "meta"))
from complaints import expect, finish, planted  # noqa: E402

MOST_LINES = 300


def included(compiler, directory, source):
    """The source and what it includes; -MG: what the build makes need not be there, and is bare."""
    rule = subprocess.run([compiler, "-MM", "-MG", source], cwd=directory, capture_output=True,
                          text=True, check=True).stdout
    names = rule.replace("\\\n", " ").split(":", 1)[1].split()
    return {path for path in ((directory / name).resolve() for name in names) if path.is_file()}


def check(compiler, directory, sources):
    sources = [source for source in sources if source.endswith(".c")]
    if not sources:
        return ["no sources: nothing was counted"]
    files = set().union(*(included(compiler, directory, source) for source in sources))
    lines = {path: len(path.read_text().splitlines()) for path in files}
    if sum(lines.values()) <= MOST_LINES:
        return []
    parts = ", ".join(f"{path.name} {lines[path]}" for path in sorted(files))
    return [f"the floor has {sum(lines.values())} lines ({parts}), more than {MOST_LINES}"]


def self_test(compiler):
    with planted({
            "part.h": "\n" * 100,
            "a.c": '#include <stdio.h>\n#include "part.h"\n#include "made.h"\n' + "\n" * 147,
            "b.c": '#include "part.h"\n' + "\n" * 49,
            "c.c": "\n" * 51,
    }) as tree:
        top = pathlib.Path(tree)
        expect(check(compiler, top, ["a.c", "made.h", "b.c"]), [])
        expect(check(compiler, top, ["a.c", "c.c"]), ["the floor has 301 lines (a.c 150, c.c 51, part.h"])
        expect(check(compiler, top, ["made.h"]), ["nothing was counted"])


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        self_test(sys.argv[2])
    else:
        finish(check(sys.argv[1], HERE, sys.argv[2:]))
