"""Which tests run in a machine, as ctest knows them, and what they need there."""

import json
import os
import re
import xml.etree.ElementTree

import kernel
import machine
from archive import Problem, call

# The tests that mean anything on another kernel, and for whom they are.
SUITES = re.compile(r"unit$|init$|init_as_user$|(sandbox|escape|fault)\.(root|user):")
LONGEST = ["fault", "init", "unit", "escape", "sandbox"]
# Says nothing about a kernel, and takes minutes where it is emulated.
LEFT_OUT = re.compile(r"sandbox\..*: ?100,000 words or options")
# Of the unit tests, what asks the kernel: the others say the same everywhere.
UNIT = [f"--source-file=*/unit/{part}/*" for part in ("sys", "host", "isolate", "supervise")]
# Random requests to init are its own business, and many.
INIT = ["--subcase-exclude=the check alone*,init itself*"]
# Tests that are a program, with the words for each user who runs it.
WHOLE_PROGRAMS = {"unit": {"root": UNIT, "user": [*UNIT, "--test-case-exclude=*(root)*"]},
                  "init": {"root": INIT}, "init_as_user": {"user": INIT}}
# In brief, the files of the sandbox suite whose cases another kernel could answer differently,
OF_KERNEL = {"cgroup_trees", "death", "disk_layer", "features", "hostile_layer", "limits", "mounts", "nesting",
             "network", "overlay", "programs", "start", "time", "watched_limits"}
# on this kernel also those that controllers could, and the faults: the order of mayfly's own steps,
MAIN_KERNEL = "6.12"
OF_CONTROLLERS = OF_KERNEL | {"explain", "files", "world"}
# and where systemd is init, those whose cases get their cgroup from it, or end with it.
OF_SYSTEMD = {"death", "explain", "features", "limits", "nesting", "start", "time", "watched_limits"}
# What ctest allows a test is for real hardware.
SLOWER = 4
SKIPPED = 77
# Passed on from whoever calls.
VARIABLES = ("MAYFLY_MUST_RUN", "MAYFLY_TEST_FULL", "MAYFLY_FAULT_STRIDE")
# What the programs of the suites execute besides themselves.
TARGETS = ("mayfly", "mayfly-scope", "tests/targets/mayfly-hooked", "tests/targets/probe", "tests/init/init_target",
           "tests/init/init_nothing")

# Around the suites of all users: what was not there before them must not be there after them.
REMAINS = [{"name": "remains: before", "user": "before", "command": ["/mnt/tests/guest/remains.py", "save"],
            "limit": 120},
           {"name": "remains: nothing", "user": "after", "command": ["/mnt/tests/guest/remains.py", "check"],
            "limit": 300}]

# Kernels that run no sandbox, and what mayfly must say there.
REFUSALS = {"5.10": ["Linux 5.14 or newer is needed"]}


def job(build, kernel_name, users, patterns, brief=False, systemd=False):
    """What a machine gets to do: the tests whose names match one of the patterns, for these users."""
    if kernel_name in REFUSALS:
        tests = [{"name": f"refused.{user}: run and doctor", "user": user, "limit": 600,
                  "command": ["/mnt/tests/guest/refused.py", *REFUSALS[kernel_name]]} for user in users]
    else:
        tests = _of_suites(build, users)
    chosen = [test for test in tests
              if not patterns or any(re.search(each, test["name"]) for each in patterns)]
    if not chosen:
        raise Problem(f"no test of {', '.join(users)} matches {' '.join(patterns)}")
    if brief and kernel_name not in REFUSALS:
        chosen = _in_brief(build, chosen, kernel_name, systemd)
    programs = {test["command"][0] for test in chosen if test["command"][0].startswith(str(build))}
    environment = {name: os.environ[name] for name in VARIABLES if name in os.environ}
    emulated = not machine.hardware(kernel.get(kernel_name))
    if emulated:
        environment["MAYFLY_TEST_SLOW"] = "8"
        environment.setdefault("MAYFLY_FAULT_STRIDE", "40")
    targets = {str(build / name) for name in TARGETS if (build / name).exists()}
    # An emulated processor beside a busy host's others can stand still for longer than any pace allows.
    return {"tests": chosen + REMAINS, "environment": environment, "files": sorted(targets | programs),
            "second_tries": emulated}


def _of_suites(build, users):
    if not (build / "CTestTestfile.cmake").exists():
        raise Problem(f"there is no build in {build}: cmake --preset release && cmake --build build")
    listing = json.loads(call(["ctest", "--test-dir", build, "--show-only=json-v1"], "list the tests"))
    tests = [test for entry in listing["tests"]
             if SUITES.match(entry["name"]) and not LEFT_OUT.match(entry["name"]) for test in _in_machine(entry)]
    return sorted((test for test in tests if test["user"] in users), key=_turn)


def _turn(test):
    """What takes longest comes first, so that at the end nobody waits for it alone."""
    return LONGEST.index(re.match("[a-z]+", test["name"])[0])


def _in_brief(build, tests, kernel_name, systemd):
    files = OF_SYSTEMD if systemd else OF_CONTROLLERS if kernel_name == MAIN_KERNEL else OF_KERNEL
    listing = call([build / "tests/sandbox/sandbox_tests", "--list-test-cases", "--reporters=xml"], "list the cases")
    cases = {case.get("name") for case in xml.etree.ElementTree.fromstring(listing).iter("TestCase")
             if os.path.basename(case.get("filename")).removesuffix(".cpp") in files}
    if systemd:
        # What asks for a tree of cgroups of a certain shape cannot have it where systemd writes it.
        cases = {case for case in cases if not case.startswith("tree: ")}
        tests = [test for test in tests if test["name"].startswith("sandbox.")]
    if kernel_name != MAIN_KERNEL:
        tests = [test for test in tests if not test["name"].startswith("fault.")]
    return [test for test in tests if not test["name"].startswith("sandbox.")
            or test["name"].split(":", 1)[1].strip() in cases]


def outcome(code):
    """What a test's exit code says: that of a test program, as ctest takes it."""
    return {0: "passed", SKIPPED: "skipped"}.get(code, "failed")


def soak(build):
    """The job of `--soak`: as the ordinary user, 10,000 sandboxes in a row, then 500 at once."""
    tests = [{"name": f"soak.user: {what} {count}", "user": "user", "limit": 6 * 3600,
              "command": ["/mnt/tests/guest/soak.py", what, str(count)]}
             for what, count in (("row", 10_000), ("once", 500))]
    return {"tests": tests + REMAINS, "environment": {}, "files": [str(build / "mayfly")], "second_tries": False}


def bench(build, users):
    """The job of `--bench`: starts with and without limits against bwrap, and beside up to 1,000 others."""
    program, floor, mayfly = (str(build / name) for name in ("tests/bench/bench", "tests/bench/floor", "mayfly"))
    words = [program, "--floor", floor, "--mayfly", mayfly, "--work", "/var/tmp", "--starts-only", "--runs", "60",
             *(word for count in (0, 10, 100, 1000) for word in ("--live", str(count))),
             "--extra", f"limits={mayfly} run --memory 64M --cpus 1 --pids 50 --",
             *(word for name in ("plain", "floor", "mayfly", "limits", "bwrap") for word in ("--only", name))]
    # Nothing is said of what remains: other programs' sandboxes run there, too.
    return {"tests": [{"name": f"bench.{user}", "user": user, "limit": 3600, "command": words} for user in users],
            "environment": {}, "files": [program, floor, mayfly], "second_tries": False}


def _in_machine(entry):
    """The test as a machine runs it, for each of the users that it is for."""
    name = entry["name"]
    limits = [each["value"] for each in entry["properties"] if each["name"] == "TIMEOUT"]
    as_user = WHOLE_PROGRAMS.get(name) or {name.split(":")[0].split(".")[1]: []}
    for user, further in as_user.items():
        yield {"name": f"{name.split('_')[0]}.{user}" if name in WHOLE_PROGRAMS else name, "user": user,
               "command": entry["command"] + further, "limit": SLOWER * (limits[0] if limits else 300)}
