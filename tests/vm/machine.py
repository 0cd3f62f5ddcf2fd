"""One run of one machine under QEMU: boots it, hands on what its tests report, line by line, and ends it
at the time limit. It has no network and no directory in common with its host."""

import os
import pathlib
import shutil
import signal
import subprocess
import threading

from archive import Problem

CONSOLE_LINES = 40


def hardware():
    """Whether the processor runs the machines; otherwise each of its instructions is emulated."""
    return os.access("/dev/kvm", os.W_OK)


def _arguments(kernel, disks, init, console, cpus, memory):
    accelerator = ["-accel", "kvm", "-cpu", "host"] if hardware() else \
        ["-accel", "tcg,thread=multi", "-cpu", "max,la57=off"]
    line = f"console=ttyS0 loglevel=5 panic=-1 mitigations=off slab_nomerge mayfly.init={init}"
    words = ["-machine", "q35", *accelerator, "-smp", str(cpus), "-m", memory,
             "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
             "-kernel", kernel.directory / "vmlinuz", "-initrd", kernel.directory / "initramfs",
             "-append", line, "-serial", f"file:{console}",
             # What the tests report comes out of qemu's stdout.
             "-device", "virtio-serial-pci", "-chardev", "file,id=report,path=/dev/stdout",
             "-device", "virtserialport,chardev=report,name=report"]
    for number, disk in enumerate(disks):  # what is written to them is thrown away
        words += ["-drive", f"file={disk},format=raw,if=virtio,snapshot=on,cache=unsafe,index={number}"]
    return [str(word) for word in words]


def run(kernel, disks, *, init, directory, limit, cpus=2, memory="1G"):
    """Yields the lines that the machine reports. The console's text is left in directory/console.log."""
    program = shutil.which("qemu-system-x86_64")
    if program is None:
        raise Problem("there is no qemu-system-x86_64: run packaging/deps")
    console = pathlib.Path(directory) / "console.log"
    arguments = _arguments(kernel, disks, init, console, cpus, memory)
    with (pathlib.Path(directory) / "qemu.log").open("wb") as log, \
            subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
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
