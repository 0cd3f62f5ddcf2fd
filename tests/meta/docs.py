#!/usr/bin/env python3
"""docs.py PROGRAM MAN_DIRECTORY MANDOC: what --help says is what the man pages and the completion
script say. Each verb's --help goes to stdout, exits 0 and has fewer than 80 columns; each option in
it is in the man page and the other way round; the pages have no warnings."""

import os
import pathlib
import re
import subprocess
import sys

from complaints import expect, finish, planted

PAGES = ["mayfly.1", "mayfly-run.1", "mayfly-explain.1",
         "mayfly-doctor.1", "mayfly-features.1", "mayfly-gc.1",
         "mayfly-policy.1", "mayfly-policy.5", "mayfly-protocol.7", "mayfly-control.7",
         "mayfly-result.5"]


def without_mandoc():
    print("mandoc is not installed: the man pages cannot be checked")
    sys.exit(1 if os.environ.get("MAYFLY_MUST_RUN") == "1" else 77)


def read_help(program, *words):
    """The help text, and what is wrong with how it was given."""
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=10)
    name = " ".join(["mayfly", *words, "--help"])
    complaints = []
    if done.returncode != 0:
        complaints.append(f"{name} exits {done.returncode}")
    if done.stderr:
        complaints.append(f"{name} prints on stderr: {done.stderr.strip()}")
    if not done.stdout:
        complaints.append(f"{name} prints nothing on stdout")
    complaints += [f"{name} has {len(line)} columns: {line}"
                   for line in done.stdout.splitlines() if len(line) >= 80]
    return done.stdout, complaints


def help_verbs(text):
    listed = re.search(r"^Verbs\n((?:  .*\n)+)", text, re.MULTILINE)
    return re.findall(r"^  (\w+) ", listed.group(1), re.MULTILINE) if listed else []


def help_options(text):
    """Rows like "  -e, --env NAME[=VALUE]   help", as (short, long, argument)."""
    row = r"^ {2,6}(?:-(\w), )?--([a-z-]+)(?: (\S+))?(?:  .*)?$"
    return set(re.findall(row, text, re.MULTILINE))


def man_options(source, section=None):
    """Items like ".It Fl e , Fl \\-env Ar \\&NAME", as (short, long, argument)."""
    if section is not None:
        found = re.search(rf"^\.Ss {section}\n(.*?)(?=^\.S[sh] )", source, re.MULTILINE | re.DOTALL)
        source = found.group(1) if found else ""
    item = r"^\.It(?: Fl (\w) ,)? Fl \\-(\S+)(?: Ar \\&(\S+))?$"
    return {tuple(word.replace("\\-", "-") for word in row)
            for row in re.findall(item, source, re.MULTILINE)}


def compare(verb, in_help, in_man):
    words = lambda option: " ".join(part for part in option if part)
    return ([f"{verb}: no option in --help"] if not in_help else []) + \
        [f"{verb}: in --help, not in the man page: {words(o)}" for o in sorted(in_help - in_man)] + \
        [f"{verb}: in the man page, not in --help: {words(o)}" for o in sorted(in_man - in_help)]


def check_page(page, mandoc):
    if not page.is_file():
        return [f"{page.name} is missing"]
    done = subprocess.run([mandoc, "-Tlint", "-W", "warning", str(page)], capture_output=True,
                          text=True, check=False)
    complaints = (done.stdout + done.stderr).splitlines()
    marks = re.findall(r"^@[A-Z].*@$", page.read_text(), re.MULTILINE)
    return complaints + [f"{page.name}: a mark is left: {mark}" for mark in marks]


COMPLETED = {"po": ["policy"], "policy ": ["list", "show", "check", "diff"], "explain ": ["run"],
             "policy --json c": ["check"], "policy show st": ["strict"],
             "policy diff strict bu": ["build"], "run --policy st": ["strict"],
             "run -q -p bu": ["build"], "explain --json run -p bu": ["build"],
             "run --tty ": ["auto", "yes", "no"], "run --layer ": ["auto", "memory", "disk"],
             "run --seccomp-action ": ["errno", "kill"], "run --limits b": ["best-effort"],
             "run --project ": ["cow", "rw", "ro", "none"], "run --root ho": ["host"],
             "explain run --tty y": ["yes"], "explain --js": ["--json"], "run --tty": ["--tty"],
             "explain run --print": ["--print-spec"], "run --tty no base64": ["base64"],
             "run -- base64": ["base64"], "run -p strict --quiet base64": ["base64"],
             "run --tty =": ["auto", "yes", "no"], "run --tty = y": ["yes"],
             "run -e A = 1 --print": ["--print-spec"], "run --ro a : b -q base64": ["base64"],
             "run --deny-syscalls key": ["keyrings"],
             "run --allow-syscalls aio,key": ["aio,keyrings"],
             "run --rlimit no": ["nofile="], "--v": ["--version"],
             "policy check --": ["--json", "--help"],
             "gc --dr": ["--dry-run"], "help exp": ["explain"]}


def complete(program, script, line):
    """What bash would offer behind `mayfly LINE`, whose last word is the one that is completed."""
    with planted({"empty": ""}) as directory:
        words = " ".join(f"'{word}'" for word in [os.path.abspath(program), *line.split(" ")])
        text = (f"source '{os.path.abspath(script)}'; COMP_WORDS=({words}); "
                "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _mayfly; printf '%s\\n' \"${COMPREPLY[@]}\"")
        os.remove(f"{directory}/empty")
        done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=10, cwd=directory)
    return list(dict.fromkeys(done.stdout.split())), done.stderr


def check_completion(program, script):
    complaints = []
    for line, wanted in COMPLETED.items():
        offered, said = complete(program, script, line)
        if offered != wanted or said:
            complaints.append(f"completing 'mayfly {line}' offers {offered}: {said}")
    return complaints


def check(program, man, mandoc):
    man = pathlib.Path(man)
    complaints = [complaint for page in PAGES for complaint in check_page(man / page, mandoc)]
    overview, wrong = read_help(program)
    complaints += wrong
    verbs = help_verbs(overview)
    completion = man / "mayfly.bash"
    completed = completion.read_text() if completion.is_file() else ""
    if not verbs:
        complaints.append("mayfly --help lists no verbs")
    for verb in verbs:
        text, wrong = read_help(program, verb)
        complaints += wrong
        in_help = help_options(text)
        own = man / f"mayfly-{verb}.1"
        source, section = (own, None) if own.is_file() else (man / "mayfly.1", f"mayfly {verb}")
        complaints += compare(verb, in_help, man_options(source.read_text(), section))
        complaints += [f"{verb}: not completed by bash: --{option[1]}" for option in sorted(in_help)
                       if not re.search(rf"--{option[1]}[' ]", completed)]
    return complaints


def self_test(mandoc):
    program = """#!/bin/sh
case $1 in
  --help) printf 'Verbs\\n  run   it\\n  gc    it\\n' ;;
  run) printf '  -e, --env NAME  set\\n      --long\\n' ;;
  gc) printf '%080d\\n' 0; echo oops >&2; exit 3 ;;
esac
"""
    head = ".Dd November 30, 2026\n.Dt X {}\n.Os\n.Sh NAME\n.Nm x\n.Nd x\n.Sh OPTIONS\n"
    page = head.format(1)
    items = ".Bl -tag -width Ds\n.It Fl e , Fl \\-env Ar \\&NAME\nx\n.It Fl \\-old\nx\n.El\n"
    files = {"mayfly": program,
             "man/mayfly.1": page + ".Ss mayfly gc\nx\n.Sh SEE ALSO\n.Xr y 1\n",
             "man/mayfly-run.1": page + items,
             "man/mayfly-doctor.1": page + ".Bogus\n@OPTIONS run@\n",
             "man/mayfly.bash": "'--env --help'"}
    missing = "mayfly-gc.1"
    for name in PAGES:
        if name != missing:
            files.setdefault(f"man/{name}", head.format(name[-1]) + "x\n")
    with planted(files) as tree:
        (pathlib.Path(tree) / "mayfly").chmod(0o755)
        complaints = check(f"{tree}/mayfly", f"{tree}/man", mandoc)
    expect(complaints,
           [f"{missing} is missing", "skipping unknown macro", "a mark is left: @OPTIONS run@",
            "gc --help exits 3", "prints on stderr: oops", "has 80 columns",
            "run: in --help, not in the man page: long", "run: in the man page, not in --help: old",
            "gc: no option in --help", "run: not completed by bash: --long"])


if __name__ == "__main__":
    if len(sys.argv) < 3 or not sys.argv[-1].endswith("mandoc"):
        without_mandoc()
    if sys.argv[1] == "--self-test":
        self_test(sys.argv[2])
    else:
        finish(check(*sys.argv[1:]) +
               check_completion(sys.argv[1], f"{sys.argv[2]}/mayfly.bash"))
