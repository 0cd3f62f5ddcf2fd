#!/usr/bin/env python3
"""program.py NM READELF PROGRAM: the program is one static file, and nothing in it looks for shared
libraries, names or locales at run time. Each of those costs start-up time and, in a static program,
breaks on another machine's libc."""

import re
import shutil
import subprocess
import sys
import pathlib

from complaints import expect, finish, planted

# dlopen is not in the list: every static glibc program carries it. Using it is a link warning, and
# those are errors.
ABSENT = {
    "getpwnam", "getpwuid", "getpwnam_r", "getpwuid_r", "getgrnam", "getgrgid", "getgrnam_r",
    "getgrgid_r", "getaddrinfo", "gethostbyname", "iconv_open", "setlocale",
    "_ZNSt8ios_base4InitC1Ev",  # <iostream>
    "_ZNSt6localeC1Ev",  # std::locale
}


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def check(nm, readelf, program):
    complaints = []
    headers = run(readelf, "--program-headers", "--dynamic", "--wide", program)
    if "INTERP" in headers or "(NEEDED)" in headers:
        complaints.append(f"{program} is not static")
    listing = run(nm, "--defined-only", "--format=posix", program)
    names = {re.sub(r"@.*", "", line.split()[0]) for line in listing.splitlines() if line}
    if "main" not in names:
        complaints.append(f"{program} has no symbols: nothing was checked")
    return complaints + [f"{program} holds {name}" for name in sorted(names & ABSENT)]


def self_test(nm, readelf):
    compiler = shutil.which("cc") or shutil.which("c++")
    with planted({"p.c": "#include <locale.h>\nint main(void) { return !setlocale(0, \"\"); }\n"}) as tree:
        source = str(pathlib.Path(tree) / "p.c")
        for flags, wanted in ([], ["is not static"]), (["-static"], ["holds setlocale"]):
            subprocess.run([compiler, *flags, source, "-o", source + ".out"], check=True)
            expect(check(nm, readelf, source + ".out"), wanted)


if __name__ == "__main__":
    if sys.argv[1] == "--self-test":
        self_test(*sys.argv[2:])
    else:
        finish(check(*sys.argv[1:]))
