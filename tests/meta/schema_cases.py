"""What schema.py makes the program print and read."""

# By name: options, command, the reason of the end. Between them they print every member.
ENDS = {
    "exit": (["--name", "one", "--label", "job=42"], ["sh", "-c", "exit 7"], "exited"),
    "policy": (["--policy", "strict"], ["true"], "exited"),
    "relayed": (["--max-output", "1M"], ["echo", "hello"], "exited"),
    "signal": ([], ["sh", "-c", "kill -KILL $$"], "signaled"),
    "no program": ([], ["/no/such/program"], "exec_failed"),
    "time to live": (["--ttl", "100ms", "--grace", "0"], ["sleep", "60"], "ttl"),
    "idle": (["--idle", "100ms", "--grace", "0"], ["sleep", "60"], "idle"),
    "processor time": (["--cpu-time", "100ms", "--grace", "0"], ["sh", "-c", "while :; do :; done"],
                       "cpu_limit"),
    "output": (["--max-output", "1000", "--grace", "0"], ["yes"], "output_limit"),
    "layer on disk": (["--layer", "disk", "--layer-size", "1M", "--grace", "0"],
                      ["sh", "-c", "head -c 16M /dev/zero >/tmp/x; sleep 60"], "layer_limit"),
    "layer in memory": (["--layer-size", "1M"], ["sh", "-c", "head -c 2M /dev/zero >/tmp/x; :"],
                        "exited"),
    "denied": (["--explain-denials"], ["sh", "-c", "unshare --user true; :"], "exited"),
    "killed for a call": (["--seccomp-action", "kill"], ["unshare", "--user", "true"],
                          "syscall_denied"),
    "no tree": (["--ro", "/no/such/tree"], ["true"], "setup_failed"),
    "bad option": (["--ttl", "10x"], ["true"], "setup_failed"),
    "killed init": ([], ["sleep", "60"], "supervisor_lost"),
}

COMMANDS = ['{"cmd":"extend","ttl":"2h"}', '{"cmd":"signal","signal":"CONT"}',
            '{"cmd":"signal","signal":"SIGCONT"}', '{"cmd":"signal","signal":18}',
            '{"cmd":"signal","signal":"18"}', '{"cmd":"extend","ttl":7200}',
            '{"cmd":"extend","ttl":7200.0}', '{"cmd":"extend","ttl":72e2}', '{"cmd":"stdin-close"}']
BAD_COMMANDS = ['{"cmd":"cancel","why":"not"}', '{"cmd":"stop"}', '{"cmd":"signal"}', '[]', '{}',
                '{"cmd":"extend","ttl":0}', '{"cmd":"extend","ttl":"long"}',
                '{"cmd":"extend","ttl":"10m","signal":"TERM"}', '{"cmd":"signal","signal":0}',
                '{"cmd":"signal","signal":65}', '{"cmd":null}', '{"cmd":["cancel"]}', '7']

# Every key of a spec, and every key of its lists.
EVERY_SETTING = {
    "policy": "strict",
    "command": ["make", "test"],
    "root": "empty",
    "project": "cow:/srv",
    "mounts": [{"ro": "/usr"}, {"rw": "/srv/out:/out"}, {"cow": "/srv/in:/in"},
               {"tmpfs": "/scratch:size=1M"}, {"file": "/note=text"}, {"dir": "/d:700"},
               {"symlink": "/s=d"}, {"mask": "/in/secret"}, {"device": "/dev/null"}],
    "env": [{"set": "A=1"}, {"pass": "CI_*"}, {"file": "/dev/null"}],
    "chdir": "/d", "user": "0", "hostname": "there", "umask": "077", "stdin": "null", "tty": "no",
    "memory": "64M", "swap": 0, "cpus": "0.5", "pids": 64, "io": ["/srv:rbps=10M"],
    "layer-size": "8M", "layer-inodes": 1000, "layer": "memory", "rlimits": {"nofile": "64:128"},
    "cgroup-parent": "/sys/fs/cgroup/x", "limits": "best-effort",
    "ttl": "1.5h", "ttl-max": "1d", "idle": 60, "cpu-time": "300ms", "max-output": 1024,
    "grace": "1s", "linger": True, "keep-running": False,
    "syscalls": {"deny": ["debugging"], "allow": ["file_watch"]},
    "seccomp": "/profile.json", "seccomp-action": "kill", "explain-denials": True,
    "name": "one", "labels": {"job": "42"}, "status-fd": 3, "control-fd": 4, "progress": True,
    "result": "/tmp/result.json", "quiet": True, "keep-caps": True, "unsafe-ids": "host",
    "unsafe-nesting": True, "unsafe-sockets": True, "unsafe-tty": False,
}

GOOD_SPECS = [{}, {"ttl": 5}, {"ttl": "5"}, {"ttl": "0.5s"}, {"ttl": 0.5}, {"layer-size": "64k"},
              {"layer-size": "1GiB"}, {"pids": "64"}, {"cpus": 2}, {"cpus": 0.5}, {"mounts": []},
              {"pids": 64.0}, {"max-output": 1e9},
              {"labels": {"n": 7}}, {"labels": {"n": 7.0}}, {"rlimits": {"nofile": 1e3}},
              {"linger": False}, {"name": "a"}, {"name": "0" + 63 * "-"},
              {"labels": {"a/b.c_d-e": "", "x" * 64: "y" * 1024}},
              {"labels": {f"n{i}": "" for i in range(100)}}]
BAD_SPECS = [{"tll": "5s"}, {"extends": "strict"}, {"ttl": -5}, {"ttl": "-5s"}, {"ttl": "5 s"},
             {"ttl": "5w"}, {"ttl": True}, {"ttl": None}, {"ttl": -0.5}, {"ttl": ["5s"]},
             {"ttl": "1.h"}, {"layer-size": "64MM"}, {"layer-size": "M"}, {"pids": "many"},
             {"layer": "tape"}, {"tty": True}, {"linger": "true"}, {"command": "true"},
             {"command": [7]}, {"mounts": {"ro": "/usr"}}, {"mounts": [{}]}, {"mounts": ["/usr"]},
             {"mounts": [{"ro": "/usr", "rw": "/srv"}]}, {"mounts": [{"read": "/usr"}]},
             {"env": [{"set": 7}]}, {"labels": {"a=b": "c"}}, {"labels": ["a=b"]},
             {"labels": {"": "c"}}, {"labels": {"a b": "c"}}, {"labels": {"x" * 65: ""}},
             {"labels": {"a": "y" * 1025}}, {"labels": {f"n{i}": "" for i in range(101)}},
             {"name": ""}, {"name": "a/b"}, {"name": ".a"}, {"name": "a" * 65},
             {"syscalls": {"forbid": ["debugging"]}}, {"syscalls": ["debugging"]},
             {"unsafe-ids": "root"}, {"seccomp-action": "trap"}]

EXPLAINED = [[], ["--tmpfs", "/scratch:size=1M", "--keep-caps", "--project", "rw"],
             ["--ttl-max", "2h", "--idle", "1m", "--cpu-time", "1m", "--max-output", "1M"],
             ["--memory", "64M", "--limits", "best-effort"], ["--policy", "strict"],
             ["--unsafe-nesting", "--seccomp-action", "kill"], ["--layer", "disk"],
             ["--file", "/f:600=text", "--dir", "/d", "--symlink", "/l=/f"]]

# What a plan has depends on the control groups that this machine lets it have.
BY_MACHINE = ("explain.json/cgroup/", "explain.json/cgroup_why")
