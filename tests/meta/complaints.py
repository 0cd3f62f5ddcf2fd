"""What the checks in this directory share: they print what is wrong and fail, and each can prove
that it would notice: with --self-test it runs on a tree with a planted fault."""

import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


def tracked_files(top):
    """The files of the tree, relative to it: git's list, or all of them where there is no git."""
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(top), "ls-files", "-z", "--cached", "--others",
         "--exclude-standard"],
        capture_output=True, text=True, check=False)
    if listing.returncode == 0:
        names = [name for name in listing.stdout.split("\0") if name]
        return sorted(pathlib.Path(name) for name in names if (top / name).is_file())
    return sorted(path.relative_to(top) for path in top.rglob("*") if path.is_file())


def finish(complaints):
    for complaint in complaints:
        print(complaint)
    sys.exit(1 if complaints else 0)


def planted(files):
    """A temporary tree of {path: text}; keep the returned object as long as the tree is used."""
    directory = tempfile.TemporaryDirectory()
    for name, text in files.items():
        path = pathlib.Path(directory.name) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


def expect(complaints, wanted):
    """Fails the self-test unless exactly the wanted complaints came, each known by a part of it."""
    missing = [part for part in wanted if not any(part in each for each in complaints)]
    if missing or len(complaints) != len(wanted):
        sys.exit(f"self-test: wanted {wanted}, got {complaints}")
