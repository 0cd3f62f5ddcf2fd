// What the file system of a sandbox does with the host's files, operation by operation: the table
// in mayfly-run(1), held against the kernel that this runs on, with the layer in memory and on
// disk.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"
#include "harness/temp.hpp"

using namespace harness;

namespace {

// Each operation in a directory of its own, which the host made. Prints its name and "ok" or the
// name of the error.
const std::string kOperations = R"(
import ctypes, errno, mmap, os, shutil, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(function, *words):
    if function(*words) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
def text(path):
    with open(path) as file: return file.read()
def put(path, what, mode='w'):
    with open(path, mode) as file: file.write(what)
def renameat2(old, new, flags):
    call(libc.renameat2, -100, old.encode(), -100, new.encode(), flags)
def must(what): assert what
def append(): put('file', 'more', 'a'); must(text('file') == 'hostmore')
def truncate(): os.truncate('file', 1); must(text('file') == 'h')
def chmod(): os.chmod('file', 0o4751); must(os.stat('file').st_mode & 0o7777 == 0o4751)
def chown_self(): os.chown('file', os.getuid(), os.getgid())
def chown_other(): os.chown('file', 4242, -1)
def utimes(): os.utime('file', (1, 2)); must(os.stat('file').st_mtime == 2)
def unlink(): os.unlink('file'); must(not os.path.exists('file'))
def rename(): os.rename('file', 'moved'); must(text('moved') == 'host')
def replace(): put('new', 'new'); os.rename('new', 'file'); must(text('file') == 'new')
def exchange(): put('new', 'new'); renameat2('new', 'file', 2); must(text('new') == 'host')
def noreplace():
    put('new', 'new')
    try: renameat2('new', 'file', 1)
    except FileExistsError: return
    must(False)
def link(): os.link('file', 'second'); put('second', 'x', 'a'); must(text('file') == 'hostx')
def linked_on_host(): put('one', 'x', 'a'); must(text('two') == 'same')
def symlink(): os.symlink('file', 'way'); must(text('way') == 'host')
def mkfifo(): os.mkfifo('pipe')
def mknod(): os.mknod('device', 0o20666, os.makedev(1, 3))
def rmtree(): shutil.rmtree('tree'); os.mkdir('tree'); must(os.listdir('tree') == [])
def rename_over():
    shutil.rmtree('tree'); os.mkdir('fresh'); put('fresh/a', 'a'); os.rename('fresh', 'tree')
    must(os.listdir('tree') == ['a'])
def rename_directory(): os.rename('tree', 'moved')
def mv_directory():
    subprocess.run(['mv', 'tree', 'moved'], check=True); must(text('moved/deep/file') == 'deep')
def shared_map():
    with open('file', 'r+b') as file:
        with mmap.mmap(file.fileno(), 4) as area: area[0:1] = b'H'; area.flush()
    must(text('file') == 'Host')
def fsync():
    with open('file', 'a') as file: file.write('x'); file.flush(); os.fsync(file.fileno())
def inode():
    before = os.stat('file').st_ino; put('file', 'x', 'a'); must(os.stat('file').st_ino == before)
def tmpfile(): os.close(os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600))
def xattr(): os.setxattr('file', 'user.a', b'b'); must(os.getxattr('file', 'user.a') == b'b')
def connect(): socket.socket(socket.AF_UNIX).connect('socket')
names = sys.argv[1:]
top = os.getcwd()
for name in names:
    os.chdir(os.path.join(top, name))
    try: globals()[name](); said = 'ok'
    except OSError as error: said = errno.errorcode[error.errno].replace('ENOTSUP', 'EOPNOTSUPP')
    except AssertionError: said = 'another content'
    print(name, said)
)";

const Words kNames = {
    "append",     "truncate", "chmod",          "chown_self",       "chown_other",
    "utimes",     "unlink",   "rename",         "replace",          "exchange",
    "noreplace",  "link",     "linked_on_host", "symlink",          "mkfifo",
    "mknod",      "rmtree",   "rename_over",    "rename_directory", "mv_directory",
    "shared_map", "fsync",    "inode",          "tmpfile",          "xattr",
    "connect"};

// A directory of the host for each operation.
void furnish_all(const TempDir& host) {
  for (const std::string& name : kNames) {
    host.file(name + "/file", "host");
    host.file(name + "/tree/deep/file", "deep");
  }
  host.file("linked_on_host/one", "same");
  REQUIRE(::link((host / "linked_on_host/one").c_str(), (host / "linked_on_host/two").c_str()) ==
          0);
}

// A socket that somebody on the host listens on.
Fd listening(const std::string& path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(fd.get(), 4) == 0);
  return fd;
}

// What is not simply "ok" (mayfly-run(1), THE ROOT DIRECTORY).
std::string expected(const std::string& operation) {
  if (operation == "chown_other") return is_root() ? "EPERM" : "EINVAL";  // mapped, or not
  if (operation == "mknod") return "EPERM";
  if (operation == "rename_directory") return "EXDEV";
  if (operation == "connect") return "ECONNREFUSED";
  if (operation == "tmpfile" && kernel_is_older_than(6, 3)) return "EOPNOTSUPP";
  return "ok";
}

void check_table(const Ended& ended) {
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  const std::vector<std::string> said = lines(ended.out);
  CHECK(said.size() == kNames.size());
  for (const std::string& line : said) {
    const std::string operation = line.substr(0, line.find(' '));
    CHECK_MESSAGE(line == operation + " " + expected(operation), line);
  }
}

}  // namespace

TEST_CASE("overlay: extended attributes in memory are bounded by the number of files") {
  if (kernel_is_older_than(6, 6)) return;  // no layer in memory
  const std::string fill =
      "import os\nmade = 0\nopen('/tmp/f', 'w').close()\ntry:\n"
      " while made < 8192: os.setxattr('/tmp/f', 'user.' + str(made), b'x' * 900); made += 1\n"
      "except OSError: pass\nprint(made)";
  const Ended ended = run({"--layer", "memory", "--layer-inodes", "1000"}, {"python3", "-c", fill});
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  const int made = std::stoi("0" + ended.out);
  CHECK(made > 100);
  CHECK(made < 1200);
}

TEST_CASE("overlay: each operation on the host's files works, or fails as the manual says") {
  for (const std::string layer : {"memory", "disk"}) {
    CAPTURE(layer);
    Words task = {"python3", "-c", kOperations};
    task.insert(task.end(), kNames.begin(), kNames.end());
    const Run work({"--layer", layer}, task);
    furnish_all(work.project());
    const Fd listener = listening(work.project() / "connect/socket");
    const Ended ended = work.end();
    if (layer == "memory" && kernel_is_older_than(6, 6)) {
      CHECK(ended.code == 125);
      CHECK_MESSAGE(contains(ended.err, "tmpfs holds no user xattrs"), ended.err);
      continue;
    }
    check_table(ended);
    CHECK(read_file(work.project() / "append/file") == "host");
    CHECK(exists(work.project() / "rmtree/tree/deep/file"));
  }
}
