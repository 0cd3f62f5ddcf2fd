"""Which tests run in a machine, as ctest knows them, and what they need there."""

import json
import os
import re

import machine
from archive import Problem, call

# unit and init are one test each and become who runs them; the others say whom they are for.
SUITES = re.compile(r"(unit|init|init_as_user|(sandbox|escape|fault)\.(root|user):.*)$")
# What ctest allows a test is for real hardware.
SLOWER = 4
SKIPPED = 77
# Passed on from whoever calls.
VARIABLES = ("MAYFLY_MUST_RUN", "MAYFLY_TEST_FULL", "MAYFLY_FAULT_STRIDE")
# What the programs of the suites execute besides themselves.
TARGETS = ("mayfly", "mayfly-scope", "tests/targets/mayfly-hooked", "tests/targets/probe", "tests/init/init_target",
           "tests/init/init_nothing")


def job(build, users, patterns):
    """What a machine gets to do: the tests whose names match one of the patterns, for these users."""
    if not (build / "CTestTestfile.cmake").exists():
        raise Problem(f"there is no build in {build}: cmake --preset release && cmake --build build")
    listing = json.loads(call(["ctest", "--test-dir", build, "--show-only=json-v1"], "list the tests"))
    tests = []
    for entry in listing["tests"]:
        if SUITES.match(entry["name"]):
            tests += [test for test in _in_machine(entry)
                      if test["user"] in users and _asked_for(test, patterns)]
    if not tests:
        raise Problem(f"no test of {', '.join(users)} matches {' '.join(patterns)}")
    programs = {build / name for name in TARGETS} | {test["command"][0] for test in tests}
    environment = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    if not machine.hardware():
        environment["MAYFLY_TEST_SLOW"] = "8"
        environment.setdefault("MAYFLY_FAULT_STRIDE", "40")
    return {"tests": tests, "environment": environment, "files": sorted(map(str, programs))}


def outcome(code):
    """What a test's exit code says: that of a test program, as ctest takes it."""
    return {0: "passed", SKIPPED: "skipped"}.get(code, "failed")


def _asked_for(test, patterns):
    return not patterns or any(re.search(each, test["name"]) for each in patterns)


def _in_machine(entry):
    name, command = entry["name"], list(entry["command"])
    limits = [each["value"] for each in entry["properties"] if each["name"] == "TIMEOUT"]
    test = {"command": command, "limit": SLOWER * (limits[0] if limits else 300)}
    if name == "init_as_user":  # whoever is no root skips its other half by this
        return [{**test, "name": "init.user", "user": "user"}]
    if name in ("unit", "init"):
        users = ("root", "user") if name == "unit" else ("root",)
        return [{**test, "name": f"{name}.{user}", "user": user} for user in users]
    return [{**test, "name": name, "user": name.split(":")[0].split(".")[1]}]
