#!/usr/bin/env python3
"""Inside the machine: runs the tests of the job that are meant for this user (root or user), more of
them at a time than there are cpus, as many wait for something, and reports each as a line of JSON. Where
the job has second tries, what fails runs once more, alone."""

import concurrent.futures
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

MOST_OUTPUT = 20_000  # bytes of a test's output, its end
TIMED_OUT = "time limit"
WELL = (0, 77)  # passed, skipped


def run_one(test, job):
    """The report on one test: its exit code, or what kept it from having one."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output:
        environment = {**os.environ, **job["environment"]}
        with subprocess.Popen(test["command"], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                              env=environment, start_new_session=True) as process:
            try:
                code = process.wait(test["limit"])
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = TIMED_OUT
        output.seek(max(0, output.seek(0, os.SEEK_END) - MOST_OUTPUT))
        text = output.read().decode(errors="replace")
    return {"test": test["name"], "code": code, "output": text,
            "seconds": round(time.monotonic() - started, 2)}


def main(user):
    with open("/mnt/tests/job.json", encoding="utf-8") as file:
        job = json.load(file)
    mine = {test["name"]: test for test in job["tests"] if test["user"] == user}
    (port,) = glob.glob("/dev/vport*")
    with open(port, "w", encoding="utf-8") as file:
        def tell(report):
            print(json.dumps(report), file=file, flush=True)

        again = []
        with concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count() + 2) as pool:
            running = [pool.submit(run_one, test, job) for test in mine.values()]
            for each in concurrent.futures.as_completed(running):
                report = each.result()
                if job["second_tries"] and report["code"] not in WELL:
                    again.append(report)
                else:
                    tell(report)
        for first in again:
            tell({**run_one(mine[first["test"]], job), "first": first})


if __name__ == "__main__":
    main(sys.argv[1])
