"""Debian packages of any suite, fetched and verified by apt from the mirror that this machine uses
already, and never installed: each suite gets an apt root of its own in the cache."""

import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Problem(Exception):
    """Something that keeps the machines from being built or run; says what, and what to do."""


def cache_directory():
    """Where everything that is downloaded or built once is kept."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "mayfly-vm"


def call(words, what, **options):
    """Runs a program and gives what it printed; if it fails, its last words are the problem."""
    return call_bytes(words, what, **options).decode(errors="replace")


def call_bytes(words, what, **options):
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, **options)
    except FileNotFoundError as error:
        raise Problem(f"cannot {what}: there is no {words[0]}: run packaging/deps") from error
    if done.returncode != 0:
        said = (done.stderr + done.stdout).decode(errors="replace").strip().splitlines()[-12:]
        raise Problem("\n  ".join([f"cannot {what}: {words[0]} ended with {done.returncode}:", *said]))
    return done.stdout


@functools.cache
def own_suite():
    """The suite that this machine runs, such as bookworm."""
    text = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    name = re.search(r'^VERSION_CODENAME="?([a-z]+)', text, re.MULTILINE)
    if not name or not re.search(r"^ID=debian$", text, re.MULTILINE):
        raise Problem("this is not a Debian machine: the test machines are made of Debian packages")
    return name[1]


@functools.cache
def mirror():
    """The address of the Debian archive that apt is configured for."""
    listing = call(["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)",
                    "Identifier: Packages"], "ask apt for its mirrors")
    for line in listing.splitlines():
        uri, release, component = line.split()
        if release in (own_suite(), "stable") and component == "main":
            return uri
    raise Problem(f"apt's sources name no mirror of Debian {own_suite()} main")


def sources_line(suite):
    return f"deb [signed-by={KEYRING}] {mirror()} {suite} main"


def digest(recipe):
    """A short name for what is made by a recipe: another one for another."""
    return hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:12]


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify_later(directory, sums):
    """Writes down the checksums of the directory's files."""
    lines = [f"{sha256(file)}  {file.name}\n" for file in sorted(directory.iterdir())]
    sums.write_text("".join(lines), encoding="utf-8")


def verify(directory):
    """Nobody changed the files since verify_later()."""
    for line in (directory / "sha256").read_text(encoding="utf-8").splitlines():
        wanted, name = line.split()
        if sha256(directory / name) != wanted:
            raise Problem(f"{directory / name} is not what was made once: remove {directory}")


class Suite:
    """A private apt root for one suite."""

    def __init__(self, name):
        self.name = name
        self.root = cache_directory() / "apt" / name
        for part in ("lists/partial", "cache/archives/partial"):
            (self.root / part).mkdir(parents=True, exist_ok=True)
        (self.root / "status").touch()
        (self.root / "sources.list").write_text(sources_line(name) + "\n", encoding="utf-8")

    def _apt(self, tool, *words, **options):
        settings = {"Dir::Etc::sourcelist": self.root / "sources.list",
                    "Dir::Etc::sourceparts": "/dev/null",
                    "Dir::State::lists": self.root / "lists",
                    "Dir::State::status": self.root / "status",
                    "Dir::Cache": self.root / "cache",
                    "APT::Sandbox::User": "",
                    "Acquire::Languages": "none",
                    "Acquire::Retries": "3"}
        flags = [f"-o{key}={value}" for key, value in settings.items()]
        return call([tool, *flags, *words], f"get {' '.join(words)} of Debian {self.name}", **options)

    def update(self):
        # An unreachable mirror is only a warning to apt, unless it is told otherwise.
        self._apt("apt-get", "-oAPT::Update::Error-Mode=any", "update")

    def dependencies(self, package):
        """The packages that `package` depends on itself."""
        listing = self._apt("apt-cache", "depends", "--important", package)
        return re.findall(r"^\s+(?:Pre)?Depends: ([^\s<>]+)$", listing, re.MULTILINE)

    def download(self, packages, directory):
        """Puts the packages' files into the directory, checked by apt against the signed index."""
        self._apt("apt-get", "download", *packages, cwd=directory)
