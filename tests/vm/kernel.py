"""Kernels to boot: a Debian kernel package, unpacked, with an initramfs that reaches the root disk and
a disk with the kernel's modules. Made once and kept in the cache, with checksums."""

import dataclasses
import lzma
import pathlib
import re
import shutil
import tempfile

import archive
from archive import Problem, call

HERE = pathlib.Path(__file__).resolve().parent

# The name on the command line, and the suite whose linux-image-amd64 is that kernel.
SUITES = {"5.10": "bullseye", "6.1": "bookworm", "6.12": "trixie", "new": "sid"}
# What that leads to: one package, or two since Debian's 7.x.
PARTS = re.compile(r"linux-(image|binary|modules)-[0-9]")

# In the initramfs: what must be there before there is a root.
BOOT_MODULES = ("virtio_pci", "virtio_blk", "virtio_console", "crc32c_generic", "crc32c_intel", "ext4")
# On the modules' disk: what needs no hardware. The kernel asks for these itself, by modprobe.
MODULES = ("arch", "block", "crypto", "fs", "kernel", "lib", "mm", "net", "security",
           "drivers/block", "drivers/char/virtio*", "drivers/net/*.ko*", "drivers/virtio", "drivers/vhost")
BUSYBOX = "/usr/bin/busybox"
APPLETS = ("sh", "mount", "mkdir", "insmod", "switch_root", "sleep", "cat")


@dataclasses.dataclass(frozen=True)
class Kernel:
    """The files of one kernel, ready to boot."""
    name: str
    directory: pathlib.Path

    @property
    def release(self):
        return (self.directory / "release").read_text(encoding="utf-8").strip()


def get(name, refresh=False):
    """The kernel of that name, from the cache or else from the archive."""
    directory = archive.cache_directory() / "kernel" / f"{name}-{_recipe()}"
    if refresh or not directory.exists():
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory.parent) as making:
            made = _make(name, pathlib.Path(making))
            shutil.rmtree(directory, ignore_errors=True)
            made.rename(directory)
    archive.verify(directory)
    return Kernel(name, directory)


def _recipe():
    """Changes with whatever changes the files that are made here."""
    text = [BOOT_MODULES, MODULES, APPLETS, (HERE / "guest/initramfs").read_text(encoding="utf-8")]
    return archive.digest(text)


def _packages(suite):
    """The packages that the suite's kernel consists of."""
    found, ask = [], ["linux-image-amd64"]
    while ask:
        package = ask.pop()
        if PARTS.match(package):
            found.append(package)
        ask += [each for each in suite.dependencies(package) if PARTS.match(each)]
    if not found:
        raise Problem(f"Debian {suite.name} has no kernel: linux-image-amd64 leads to no package")
    return found


def _make(name, work):
    suite = archive.Suite(SUITES[name])
    suite.update()
    packages = _packages(suite)
    print(f"kernel {name}: fetching {' '.join(packages)}", flush=True)
    for part in ("debs", "tree", "disk", "made"):
        (work / part).mkdir()
    suite.download(packages, work / "debs")
    for deb in (work / "debs").iterdir():
        call(["dpkg-deb", "-x", deb, work / "tree"], f"unpack {deb.name}")

    (modules,) = [*work.glob("tree/lib/modules/*"), *work.glob("tree/usr/lib/modules/*")]
    (image,) = [*work.glob("tree/boot/vmlinuz-*"), *modules.glob("vmlinuz")]
    kept = work / "disk/lib/modules" / modules.name
    _keep_modules(modules, kept)
    call(["depmod", "-b", work / "disk", modules.name], "list the kernel's modules")
    archive.verify_later(work / "debs", work / "made/packages.sha256")
    shutil.copy(image, work / "made/vmlinuz")
    _make_initramfs(kept, work / "initramfs", work / "made/initramfs")
    make_disk(work / "disk", work / "made/modules.ext4")
    (work / "made/release").write_text(modules.name + "\n", encoding="utf-8")
    archive.verify_later(work / "made", work / "made/sha256")
    return work / "made"


def _keep_modules(modules, kept):
    kept.mkdir(parents=True)
    for pattern in MODULES:
        for source in (modules / "kernel").glob(pattern):
            target = kept / source.relative_to(modules)
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for listing in modules.glob("modules.*"):
        if listing.suffix in (".order", ".builtin", ".modinfo"):
            shutil.copy(listing, kept)


def make_disk(tree, image, spare_megabytes=16):
    """An ext4 image that holds what is in the tree; nothing is mounted for it."""
    used = int(call(["du", "-sm", tree], "measure a tree").split()[0])
    with open(image, "wb") as file:
        file.truncate((used * 5 // 4 + spare_megabytes) << 20)
    call(["/sbin/mke2fs", "-q", "-t", "ext4", "-F", "-E", "lazy_itable_init=1,nodiscard,root_owner=0:0",
          "-d", tree, image], f"make the disk {image.name}")


def _make_initramfs(modules, tree, image):
    for part in ("bin", "dev", "modules", "proc", "root", "sys"):
        (tree / part).mkdir(parents=True)
    shutil.copy(BUSYBOX, tree / "bin/busybox")
    for applet in APPLETS:
        (tree / "bin" / applet).symlink_to("busybox")
    shutil.copy(HERE / "guest/initramfs", tree / "init")
    order = _load_order(modules)
    for path in order:
        (tree / "modules" / _bare(path)).write_bytes(_module(modules / path))
    (tree / "modules/order").write_text("".join(_bare(path) + "\n" for path in order), encoding="utf-8")
    call(["sh", "-c", f"find . | cpio --quiet -o -H newc -R 0:0 | gzip -1 > '{image}'"],
         "pack the initramfs", cwd=tree)


def _bare(path):
    return re.sub(r"\.ko.*", ".ko", pathlib.Path(path).name)


def _module(path):
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes())
    if path.suffix == ".zst":
        return archive.call_bytes(["zstd", "-dcq", path], f"unpack {path.name}")
    return path.read_bytes()


def _load_order(modules):
    """Paths of the modules that the initramfs loads, each after what it needs."""
    needs = {}
    for line in (modules / "modules.dep").read_text(encoding="utf-8").splitlines():
        path, _, others = line.partition(":")
        needs[path] = others.split()
    paths = {_bare(path)[:-3].replace("-", "_"): path for path in needs}
    order = []
    for name in BOOT_MODULES:  # what is not there is built in
        if name in paths:  # modules.dep has the last needed first
            order += [*reversed(needs[paths[name]]), paths[name]]
    return list(dict.fromkeys(order))
