#!/usr/bin/env python3
"""readme.py <README.md: runs every line of the README's block of commands, each in a fresh small
project, and fails if one does not do what its comment says.

Reads standard input only and imports nothing of ours: tests/as_user may have copied this file."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = os.environ["MAYFLY_BUILD"]
MAKEFILE = ("all:\n\t@echo all > build/made && echo all > made\ntest:\n\t@echo tested > made\n"
            "build:\n\t@echo built > made\n.PHONY: all test build\n")
FEWEST = 10

# What must hold after a line, known by a part of it: files of the project, the content of each or
# None.
AFTER = {
    "run -- make test": {"made": None},
    "--project rw": {"made": "built\n"},
    "--rw build": {"build/made": "all\n", "made": None},
    "explain run": {"made": None},
    "--result": {"result.json": '"reason":"exited"'},
    "--status-fd": {"events.jsonl": '"ev":"result"'},
}
# What a line must print.
PRINTS = {"python3 -": "42\n", "--env GREETING": "GREETING=hello\n", "--root empty": "from the tool\n"}


def commands(text):
    block = re.search(r"^```sh\n(.*?)^```$", text, re.M | re.S)
    return block[1].splitlines() if block else []


def check(line, project):
    command, _, comment = line.partition("  # ")
    wanted = re.match(r"exit (\d+)", comment.strip())
    wanted = int(wanted[1]) if wanted else 0
    ended = subprocess.run(["bash", "-c", command], cwd=project, capture_output=True, text=True,
                           timeout=60, stdin=subprocess.DEVNULL, check=False)
    if ended.returncode != wanted:
        yield f"exit code {ended.returncode}, wanted {wanted}; stderr: {ended.stderr}"
    for part, text in PRINTS.items():
        if part in command and text not in ended.stdout:
            yield f"printed {ended.stdout!r}, wanted {text!r}"
    after = [files for part, files in AFTER.items() if part in command]
    for name, content in ((name, content) for files in after for name, content in files.items()):
        path = project / name
        if content is None and path.exists():
            yield f"{name} is in the project"
        if content is not None and (not path.exists() or content not in path.read_text().replace(" ", "")):
            yield f"no {name} with {content!r} in the project"


def main():
    lines = commands(sys.stdin.read())
    complaints = [] if len(lines) >= FEWEST else [f"the README has {len(lines)} commands"]
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        place.chmod(0o755)
        os.symlink(f"{BUILD}/mayfly", place / "mayfly")
        os.environ["PATH"] = f"{place}:{os.environ['PATH']}"
        source = 'int puts(const char *); int main(void) { return puts("from the tool") < 0; }'
        subprocess.run(["cc", "-static", "-x", "c", "-", "-o", place / "tool"], input=source, text=True,
                       check=True)
        for number, line in enumerate(lines):
            project = place / f"project{number}"
            project.mkdir()
            (project / "Makefile").write_text(MAKEFILE)
            (project / "build").mkdir()
            os.link(place / "tool", project / "tool")
            complaints += [f"{line}\n    {complaint}" for complaint in check(line, project)]
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
