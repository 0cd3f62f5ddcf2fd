"""One run of one machine under QEMU: boots it, hands on what its tests report, line by line, and ends it
at the time limit. It has no network and no directory in common with its host."""

import functools
import os
import pathlib
import shutil
import signal
import subprocess
import threading

from archive import Problem

CONSOLE_LINES = 40


PROBE_SECONDS = 60
HARDWARE = ("-accel", "kvm", "-cpu", "host")
# Without the instructions that are emulated byte by byte (copies) or bit by bit (checksums).
EMULATION = ("-accel", "tcg,thread=multi", "-cpu", "max,la57=off,erms=off,fsrm=off,sse4.2=off")


def _program():
    program = shutil.which("qemu-system-x86_64")
    if program is None:
        raise Problem("there is no qemu-system-x86_64: run packaging/deps")
    return program


def _boot(kernel, accelerator, *, init, cpus, memory):
    """The words that boot the kernel into the init of that name."""
    line = f"console=ttyS0 loglevel=5 panic=-1 mitigations=off slab_nomerge clearcpuid=112 {init}"
    return [_program(), "-machine", "q35", *accelerator, "-smp", str(cpus), "-m", memory,
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-kernel", str(kernel.directory / "vmlinuz"), "-initrd", str(kernel.directory / "initramfs"),
            "-append", line]


@functools.cache
def hardware(kernel):
    """Whether the processor runs the machines; otherwise each of their instructions is emulated. Found
    out by booting one: not every host that has /dev/kvm can."""
    if not os.access("/dev/kvm", os.W_OK):
        return False
    # The kernel ends the machine as it starts an init that is none; one that cannot run hangs or aborts.
    words = _boot(kernel, HARDWARE, init="rdinit=/none init=/none", cpus=1, memory="512M")
    try:
        ended = subprocess.run([*words, "-serial", "stdio"], stdin=subprocess.DEVNULL, check=False,
                               capture_output=True, timeout=PROBE_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0 and b"Kernel panic" in ended.stdout


def _arguments(kernel, disks, init, console, cpus, memory):
    words = _boot(kernel, HARDWARE if hardware(kernel) else EMULATION, init=f"mayfly.init={init}",
                  cpus=cpus, memory=memory)
    words += ["-serial", f"file:{console}",
              # What the tests report comes out of qemu's stdout.
              "-device", "virtio-serial-pci", "-chardev", "file,id=report,path=/dev/stdout",
              "-device", "virtserialport,chardev=report,name=report"]
    for number, disk in enumerate(disks):  # what is written to them is thrown away
        words += ["-drive", f"file={disk},format=raw,if=virtio,snapshot=on,cache=unsafe,index={number}"]
    return words


def run(kernel, disks, *, init, directory, limit, cpus, memory="1G"):
    """Yields the lines that the machine reports. The console's text is left in directory/console.log."""
    console = pathlib.Path(directory) / "console.log"
    arguments = _arguments(kernel, disks, init, console, cpus, memory)
    with (pathlib.Path(directory) / "qemu.log").open("wb") as log, \
            subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=log) as machine:
        timer = threading.Timer(limit, machine.send_signal, [signal.SIGKILL])
        timer.start()
        try:
            yield from (line.decode(errors="replace") for line in machine.stdout)
        finally:
            timer.cancel()
            machine.kill()


def last_words(directory):
    """The end of what the machine said on its console, and of what qemu itself said."""
    words = []
    for name in ("console.log", "qemu.log"):
        path = pathlib.Path(directory) / name
        text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        words += [f"  {name}: {line.rstrip()}" for line in text.splitlines()[-CONSOLE_LINES:]]
    return "\n".join(words)
