#!/usr/bin/env python3
"""The tree holds what it should: known names at the top, files that read in one sitting, no marks of
unfinished work, scripts that say how they are run."""

import pathlib
import re
import sys

from complaints import TOP, expect, finish, planted, tracked_files

TOP_LEVEL = {
    ".ci", ".clang-format", ".gitignore", "CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json",
    "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md", "include", "man", "packaging",
    "policies", "src", "tests",
}
MOST_LINES = 500
CODE = ("src", "include", "policies", "man", "packaging", "tests")
MARK = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")


def check(top):
    complaints = []
    files = tracked_files(top)
    for name in sorted({path.parts[0] for path in files} - TOP_LEVEL):
        complaints.append(f"{name}: not a name of the top level")
    for path in files:
        if path.parts[0] not in CODE:
            continue
        text = (top / path).read_text(errors="replace")
        lines = text.splitlines()
        if path.suffix in (".cpp", ".hpp") and len(lines) > MOST_LINES:
            complaints.append(f"{path}: {len(lines)} lines, more than {MOST_LINES}")
        for number, line in enumerate(lines, 1):
            if MARK.search(line):
                complaints.append(f"{path}:{number}: a mark of unfinished work")
        executable = (top / path).stat().st_mode & 0o100 != 0
        if executable != text.startswith("#!"):
            complaints.append(f"{path}: executable and '#!' go together")
    return complaints


def self_test():
    with planted({
            "src/base/long.cpp": "\n" * (MOST_LINES + 1),
            "src/base/mark.cpp": "int x;  // TO" "DO\n",
            "src/base/fine.cpp": "int method;  // todo in prose\n",
            "packaging/run": "#!/bin/sh\n",
            "junk/x": "",
    }) as tree:
        expect(check(pathlib.Path(tree)),
               ["junk: not a name", "long.cpp: 501 lines", "mark.cpp:1: a mark", "packaging/run: exec"])


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    else:
        finish(check(TOP))
