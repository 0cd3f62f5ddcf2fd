#!/usr/bin/env python3
"""What sandboxes must not leave behind, counted over the whole machine, as root: `save` before the tests,
`check` after them. Whatever gc may collect is collected first."""

import json
import os
import pathlib
import subprocess
import sys
import time

SAVED = pathlib.Path("/var/tmp/remains.json")
PATIENCE = 90  # seconds: the kernel frees namespaces and cgroups in the background
MOST_NAMES = 60
REGISTRIES = ("/run/mayfly", "/run/user/1000/mayfly")
# Caches of the kernel that hold one object for each.
OBJECTS = {"net namespaces": "net_namespace", "pid namespaces": "pid_namespace",
           "user namespaces": "user_namespace", "mounts of all namespaces": "mnt_cache"}


def text(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:  # a process that has gone, a file that this kernel lacks
        return ""


def states():
    """The state of each process, kernel threads excluded: they have no memory of their own."""
    tails = (text(f"/proc/{pid}/stat").rpartition(") ")[2].split() for pid in os.listdir("/proc") if pid.isdigit())
    return [tail[0] for tail in tails if tail and int(tail[6]) & 0x00200000 == 0]  # PF_KTHREAD


def objects(cache):
    """How many objects of a slab cache are in use; per-cpu ones count only until they are flushed."""
    pathlib.Path(f"/sys/kernel/slab/{cache}/shrink").write_text("1", encoding="utf-8")
    for line in text("/proc/slabinfo").splitlines():
        if line.split()[0] == cache:
            return int(line.split()[1])
    raise SystemExit(f"no cache {cache} in /proc/slabinfo: boot with slab_nomerge")


def memory(name):
    """Kilobytes of a line of /proc/meminfo."""
    return next(int(line.split()[1]) for line in text("/proc/meminfo").splitlines()
                if line.startswith(name + ":"))


def cgroups():
    """All of them; where systemd makes its own when it likes, those of sandboxes."""
    paths = [path for path, _, _ in os.walk("/sys/fs/cgroup")]
    return [path for path in paths if "mayfly-" in path] if os.path.exists("/run/systemd/system") else paths


def counts():
    """What is counted, and how much more of it than before is no finding."""
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3", encoding="utf-8")
    return {
        "cgroups": (len(cgroups()), 0),
        "mounts": (len(text("/proc/1/mountinfo").splitlines()), 0),
        "processes": (len(states()), 0),
        "zombies": (states().count("Z"), 0),
        "registry entries": (sum(len([each for each in os.listdir(path) if each[0] != "."])
                                 for path in REGISTRIES if os.path.isdir(path)), 0),
        **{name: (objects(cache), 0) for name, cache in OBJECTS.items()},
        "open files": (int(text("/proc/sys/fs/file-nr").split()[0]), 64),  # counted per cpu
        "tmpfs and shared memory, kB": (memory("Shmem"), 1024),
        "kernel memory, kB": (memory("SUnreclaim"), 16 << 10),
    }


def mayfly(*words):
    """Runs mayfly as root and as the ordinary user, each in the cgroup of the tests, where gc looks."""
    program = text("/mnt/tests/build-path").strip() + "/mayfly"
    user = ["setpriv", "--reuid", "1000", "--regid", "1000", "--clear-groups", "--",
            "env", "XDG_RUNTIME_DIR=/run/user/1000"]
    for name, prefix in (("root", []), ("user", user)):
        procs = f"/sys/fs/cgroup/{name}/session/shell/cgroup.procs"
        enter = f"[ ! -e {procs} ] || echo $$ >{procs}; exec \"$@\""
        subprocess.run(["sh", "-c", enter, "sh", *prefix, program, *words], stdout=subprocess.DEVNULL,
                       check=words[0] == "gc")


def check():
    before = json.loads(SAVED.read_text(encoding="utf-8"))
    end = time.monotonic() + PATIENCE
    while True:
        mayfly("gc")
        now = counts()
        more = [name for name, (count, slack) in now.items() if count > before[name][0] + slack]
        if not more or time.monotonic() > end:
            break
        time.sleep(1)
    for name, (count, slack) in now.items():
        print(f"{name}: {before[name][0]} before, {count} after{f' (up to {slack} more pass)' if slack else ''}"
              + ("  TOO MANY" if name in more else ""))
    if "cgroups" in more:
        print("\n".join(cgroups()[:MOST_NAMES]))
    return 1 if more else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["save"]:
        mayfly("doctor")  # some things the kernel makes once and keeps
        SAVED.write_text(json.dumps(counts()), encoding="utf-8")
    else:
        sys.exit(check())
