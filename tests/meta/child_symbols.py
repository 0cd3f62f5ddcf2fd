#!/usr/bin/env python3
"""child_symbols.py NM OBJECT…: what the child half of the launch needs from elsewhere.

It runs in its parent's memory until it executes init: a call into libc could write the parent's
errno, locks or heap, and an exception or std::string would. Only what works on its arguments alone
is allowed, since compilers call that on their own account."""

import pathlib
import shutil
import subprocess
import sys

from complaints import expect, finish, planted

ALLOWED = {"memcpy", "memmove", "memset", "memcmp", "_GLOBAL_OFFSET_TABLE_"}


def symbols(nm, objects, kind):
    listing = subprocess.run([nm, "--format=posix", kind, *objects], capture_output=True, text=True,
                             check=True).stdout
    return {line.split()[0] for line in listing.splitlines() if line and not line.endswith(":")}


def check(nm, objects):
    if not objects:
        return ["no object files: nothing was checked"]
    needed = symbols(nm, objects, "--undefined-only") - symbols(nm, objects, "--defined-only")
    return [f"the child half needs {symbol}" for symbol in sorted(needed - ALLOWED)]


def self_test(nm):
    compiler = shutil.which("cc") or shutil.which("c++")
    with planted({
            "bad.c": "#include <stdlib.h>\nvoid *child(void) { return malloc(1); }\n",
            "good.c": "long helper(long x) { return x + 1; }\n",
            "user.c": "long helper(long); long use(long x) { return helper(x); }\n",
    }) as tree:
        objects = []
        for source in sorted(pathlib.Path(tree).glob("*.c")):
            objects.append(str(source.with_suffix(".o")))
            subprocess.run([compiler, "-fno-stack-protector", "-c", str(source), "-o", objects[-1]],
                           check=True)
        expect(check(nm, objects), ["the child half needs malloc"])
        expect(check(nm, []), ["nothing was checked"])


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        self_test(sys.argv[2])
    else:
        finish(check(sys.argv[1], sys.argv[2:]))
