"""The disks of a machine besides its kernel's: Debian's userland, made once and kept, and what is tested,
made for each run."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import archive
import kernel
from archive import call

HERE = pathlib.Path(__file__).resolve().parent

# systemd is init of one kind of machine and only installed in the others.
# Besides what packaging/deps installs for the tests themselves.
PACKAGES = """
    systemd systemd-sysv dbus dbus-user-session libpam-systemd udev
    iproute2 kmod libstdc++6 libseccomp2 libtomlplusplus3 libc6-dev git
""".split()
DEPS = pathlib.Path(__file__).resolve().parent.parent.parent / "packaging/deps"
NOT_WANTED = ("doc", "man", "locale", "info")
# Units that would only take time, and that nothing here is about.
MASKED = """
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service
    fstrim.timer man-db.timer systemd-timesyncd.service systemd-networkd.service getty.target
""".split()

# Runs on the unpacked system, $1. The ordinary user has what useradd gives every new account.
HOOK = f"""
    set -e
    chroot "$1" useradd --create-home --uid 1000 --shell /bin/bash tester
    chroot "$1" systemctl --quiet mask {' '.join(MASKED)}
    mkdir -p "$1/mnt/kernel" "$1/mnt/tests"
    echo machine > "$1/etc/hostname"
    printf '[Unit]\\nDescription=Tests\\nAfter=multi-user.target\\n[Service]\\nType=oneshot\\nExecStart=%s\\n' \\
        /mnt/tests/guest/under_systemd > "$1/etc/systemd/system/tests.service"
    mkdir -p "$1/etc/systemd/system/graphical.target.wants"
    ln -s ../tests.service "$1/etc/systemd/system/graphical.target.wants/tests.service"
"""


def userland(refresh=False):
    """The disk of the root: Debian as this machine runs it, so that what is built here runs there."""
    suite = archive.own_suite()
    packages = _packages()
    directory = archive.cache_directory() / "userland" / archive.digest([suite, packages, NOT_WANTED, HOOK])
    if refresh or not directory.exists():
        print(f"userland: making Debian {suite} with {len(packages)} packages and theirs", flush=True)
        shutil.rmtree(directory.parent, ignore_errors=True)
        directory.parent.mkdir(parents=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as making:
            _make_userland(suite, packages, pathlib.Path(making), directory)
    return directory / "root.ext4"


def _packages():
    listing = call([DEPS, "--list"], "list what the tests need")
    of_tests = (line.split(maxsplit=2)[:2] for line in listing.splitlines())
    return PACKAGES + [package for package, purpose in of_tests if purpose in ("tests:", "tests")]


def _make_userland(suite, packages, work, directory):
    excluded = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in NOT_WANTED]
    tarball, made = work / "root.tar", work / "made"
    made.mkdir()
    call(["mmdebstrap", "--variant=minbase", f"--include={','.join(packages)}", *excluded,
          f"--customize-hook={HOOK}", suite, tarball, archive.sources_line(suite)],
         "make a Debian root", env={**os.environ, "LC_ALL": "C.UTF-8"})
    # An ordinary user can unpack it with its owners in a user namespace only.
    as_root = [] if os.geteuid() == 0 else ["mmdebstrap", "--unshare-helper"]
    script = 'mkdir "$1" && tar -C "$1" --numeric-owner -xf "$2" && truncate -s 3G "$3" && ' \
             '/sbin/mke2fs -q -t ext4 -F -E lazy_itable_init=1,nodiscard -d "$1" "$3" && rm -rf "$1"'
    call([*as_root, "sh", "-c", script, "sh", work / "root", tarball, made / "root.ext4"],
         "make the root's disk")
    made.rename(directory)


def tests(build, job, image):
    """The disk with the programs to test, at the paths that they have here, and what to do with them."""
    with tempfile.TemporaryDirectory() as work:
        disk = pathlib.Path(work)
        shutil.copytree(HERE / "guest", disk / "guest")
        for program in job["files"]:
            target = disk / "build" / pathlib.Path(program).relative_to(build)
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["strip", "--strip-debug", "-o", target, program], check=True)
        (disk / "job.json").write_text(json.dumps(job), encoding="utf-8")
        (disk / "build-path").write_text(f"{build}\n", encoding="utf-8")
        disk.chmod(0o755)
        kernel.make_disk(disk, image)
