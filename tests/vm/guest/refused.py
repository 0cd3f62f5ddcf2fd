#!/usr/bin/env python3
"""On a kernel that cannot run sandboxes: `refused.py WORDS…`: run and doctor both say so, with these words,
before anything is started."""

import json
import pathlib
import subprocess
import sys
import tempfile

MAYFLY = pathlib.Path("/mnt/tests/build-path").read_text(encoding="utf-8").strip() + "/mayfly"
wrong = []


def expect(holds, what):
    print(("      " if holds else "WRONG ") + what)
    wrong.extend([] if holds else [what])


def mayfly(*words):
    return subprocess.run([MAYFLY, *words], capture_output=True, text=True, check=False, timeout=300)


def main(words):
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "result.json"
        run = mayfly("run", "--result", str(file), "--", "/bin/echo", "started")
        result = json.loads(file.read_text(encoding="utf-8"))
    doctor = mayfly("doctor")
    print(run.stdout, run.stderr, json.dumps(result, indent=1), doctor.stdout, doctor.stderr, sep="\n")

    expect(run.returncode == 125, f"run ends with 125: {run.returncode}")
    expect(run.stdout == "", "the task is not started")
    expect(run.stderr.startswith("mayfly: cannot "), "run says what it cannot do")
    expect(result["reason"] == "host_unsupported", f"the reason is host_unsupported: {result['reason']}")
    expect(result["started"] is False and result["clean"] is True, "the result says: not started, clean")
    expect(doctor.returncode == 125, f"doctor ends with 125: {doctor.returncode}")
    expect("Sandboxes cannot be run here" in doctor.stdout, "doctor says that none can be run")
    expect(result["error"]["action"] in doctor.stdout, "doctor says what run says")
    for each in words:
        expect(each in run.stderr, f"run says: {each}")
        expect(each in doctor.stdout, f"doctor says: {each}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
