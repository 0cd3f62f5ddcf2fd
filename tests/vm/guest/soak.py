#!/usr/bin/env python3
"""Many sandboxes, as whoever runs this: `row N`, one after the other on each cpu, or `once N`, all alive
at the same time. What they leave behind is counted elsewhere (remains.py)."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time

MAYFLY = pathlib.Path("/mnt/tests/build-path").read_text(encoding="utf-8").strip() + "/mayfly"


def one(number):
    """A sandbox that writes to its layer, forks and ends with a code of its own."""
    script = "head -c 100000 /dev/zero >/tmp/x; (sleep 0.01 &); exit $1"
    done = subprocess.run([MAYFLY, "run", "--", "/bin/sh", "-c", script, "sh", str(number % 100)],
                          capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return "" if done.returncode == number % 100 else f"{number}: {done.returncode} {done.stderr.decode()}"


def row(count):
    started, wrong = time.monotonic(), []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, words in enumerate(pool.map(one, range(count)), 1):
            wrong += [words] if words else []
            if number % 1000 == 0:
                print(f"{number} sandboxes after {time.monotonic() - started:.0f} s", flush=True)
    return wrong


def once(count):
    """All are alive when the last of them says so; then each gets the end of its input, and ends."""
    started = time.monotonic()
    sandboxes = [subprocess.Popen([MAYFLY, "run", "--", "/bin/sh", "-c", "echo ready; cat; exit 7"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                 for _ in range(count)]
    words = [sandbox.stdout.readline() for sandbox in sandboxes]
    print(f"{count} at once after {time.monotonic() - started:.0f} s", flush=True)
    alive = sum(sandbox.poll() is None for sandbox in sandboxes)
    ended = [sandbox.communicate()[0] for sandbox in sandboxes]
    wrong = [f"{sandbox.returncode}: {(first + rest).decode()}"
             for sandbox, first, rest in zip(sandboxes, words, ended)
             if sandbox.returncode != 7 or first != b"ready\n"]
    return wrong + ([] if alive == count else [f"only {alive} of {count} were alive at the same time"])


if __name__ == "__main__":
    complaints = {"row": row, "once": once}[sys.argv[1]](int(sys.argv[2]))
    print("\n".join(complaints[:20]))
    sys.exit(1 if complaints else 0)
