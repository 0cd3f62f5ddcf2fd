// How tasks end, and how they fail to start.
#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "harness.hpp"

using namespace mayfly;
using namespace mayfly::init::test;

namespace {

std::string make_file(const std::string& name, const std::string& bytes, mode_t mode) {
  const std::string path = scratch() + "/" + name;
  unlink(path.c_str());
  {
    const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    REQUIRE(file);
    REQUIRE(write(file.get(), bytes.data(), bytes.size()) == ssize_t(bytes.size()));
    REQUIRE(fchmod(file.get(), mode) == 0);
  }
  return path;
}

// A program of one segment that names a loader: enough for the kernel to look for that.
template <class Header, class Segment>
std::string elf_with_loader(unsigned char elf_class, unsigned machine, const std::string& loader) {
  Header header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = elf_class;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = static_cast<Elf64_Half>(machine);
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Segment);
  header.e_phnum = 1;
  Segment segment{};
  segment.p_type = PT_INTERP;
  segment.p_offset = sizeof header + sizeof segment;
  segment.p_filesz = static_cast<decltype(segment.p_filesz)>(loader.size() + 1);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(&segment), sizeof segment);
  bytes.append(loader.c_str(), loader.size() + 1);
  return bytes;
}

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#else
constexpr unsigned kMachine = EM_AARCH64;
#endif

Spawn command(std::vector<std::string> argv) {
  Spawn request;
  request.argv = std::move(argv);
  return request;
}

// A command by itself, which is not there or cannot be executed.
Message failure_of(const std::string& path) {
  return run_to_failure(command({path}));
}

}  // namespace

TEST_CASE("the main task's exit code is reported, and init ends") {
  for (const int code : {0, 1, 7, 125, 137, 255}) {
    const Ended ended = run(command({target(), "exit", std::to_string(code)}));
    CHECK(ended.exited.index == CLD_EXITED);
    CHECK(ended.exited.value == code);
    CHECK(ended.exited.slot == launch::kMainSlot);
  }
}

TEST_CASE("the main task is not pid 1: signals that it sends itself kill it") {
  for (const int number : {SIGTERM, SIGKILL, SIGHUP, SIGUSR1}) {
    const Ended ended = run(command({target(), "die", std::to_string(number)}));
    CHECK(ended.exited.index == CLD_KILLED);
    CHECK(ended.exited.value == number);
  }
}

TEST_CASE("a program that ends at once was executed all the same") {
  for (int i = 0; i < 100; ++i)
    CHECK(run(command({nothing()})).exited.index == CLD_EXITED);
}

TEST_CASE("a shell script and an ordinary dynamic program run, as pid 1's child or without pid 1") {
  for (const Place place : {Place::PidNamespace, Place::Plain}) {
    const Ended ended = run(command({"/bin/sh", "-c", "echo hi; exit 3"}), {.place = place});
    CHECK(ended.output == "hi\n");
    CHECK(ended.exited.value == 3);
  }
}

TEST_CASE("a missing command: ENOENT, the last candidate, no interpreter") {
  Spawn request = command({"nosuch"});
  request.paths = {"/usr/bin/nosuch", "/bin/nosuch", scratch() + "/target/nosuch"};
  const Message failed = run_to_failure(request);
  CHECK(failed.step == Step::TaskExec);
  CHECK(failed.error == ENOTDIR);  // the program is a file, not a directory
  CHECK(failed.index == 2);
  CHECK(std::string(failed.text).empty());
  CHECK(failure_of("/nonexistent/nosuch").error == ENOENT);
}

TEST_CASE("candidates are tried in order, past those that are absent or may not be executed") {
  const std::string plain = make_file("plain", "x", 0644);
  Spawn request = command({"the name it is given", "exit", "5"});
  request.paths = {"/nonexistent/a", plain, scratch(), target()};
  CHECK(run(request).exited.value == 5);

  request.paths = {"/nonexistent/a", plain, "/nonexistent/b"};
  const Message failed = run_to_failure(request);
  CHECK(failed.error == EACCES);
  CHECK(failed.index == 1);
}

TEST_CASE("a mode 644 file and a directory: EACCES") {
  CHECK(failure_of(make_file("plain", "#!/bin/sh\n", 0644)).error == EACCES);
  CHECK(failure_of(scratch()).error == EACCES);
}

TEST_CASE("a file of no known format: ENOEXEC, and no later candidate is tried") {
  Spawn request = command({"x", "exit", "0"});
  request.paths = {make_file("garbage", "\x01\x02 no program", 0755), target()};
  const Message failed = run_to_failure(request);
  CHECK(failed.error == ENOEXEC);
  CHECK(failed.index == 0);
}

TEST_CASE("a script whose interpreter is missing: the interpreter is named") {
  const auto interpreter = [](const std::string& text) {
    const Message failed = failure_of(make_file("script", text, 0755));
    CHECK(failed.step == Step::TaskExec);
    return std::string(failed.text);
  };
  CHECK(interpreter("#!/nonexistent/python\n") == "/nonexistent/python");
  CHECK(interpreter("#! \t /nonexistent/python -u\nx") == "/nonexistent/python");
  CHECK(interpreter("#!/nonexistent/sh\r\n") == "/nonexistent/sh\r");
  CHECK(interpreter("#!/bin/sh/below\n") == "/bin/sh/below");
  const std::string inner = make_file("inner", "#!/nonexistent/inner\n", 0755);
  CHECK(interpreter("#!" + inner + "\n") == "/nonexistent/inner");

  const std::string longest = "/nonexistent/" + std::string(240, 'x');
  const std::string cut = interpreter("#!" + longest);
  CHECK(cut.size() == sizeof(Message::text) - 1);
  CHECK(longest.substr(0, cut.size()) == cut);
}

TEST_CASE("a script that exists ends the search, though its interpreter does not") {
  Spawn request = command({"x", "exit", "0"});
  request.paths = {make_file("script", "#!/nonexistent/python\n", 0755), target()};
  const Message failed = run_to_failure(request);
  CHECK(failed.index == 0);
  CHECK(failed.error == ENOENT);
}

TEST_CASE("a program whose loader is missing: the loader is named") {
  const std::string loader = "/lib/nonexistent-ld.so.9";
  const Message failed = failure_of(make_file(
      "program", elf_with_loader<Elf64_Ehdr, Elf64_Phdr>(ELFCLASS64, kMachine, loader), 0755));
  CHECK(failed.error == ENOENT);
  CHECK(std::string(failed.text) == loader);
}

TEST_CASE("a FIFO in the way of the search for an interpreter does not stop init") {
  const std::string fifo = scratch() + "/fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0755) == 0);
  CHECK(failure_of(fifo).error == EACCES);
  CHECK(failure_of(make_file("script", "#!" + fifo + "\n", 0755)).error == EACCES);
}

TEST_CASE("a working directory that is missing, or is none, is reported as such") {
  Spawn request = command({target(), "exit", "0"});
  request.chdir = "/nonexistent";
  CHECK(run_to_failure(request).step == Step::TaskChdir);
  CHECK(run_to_failure(request).error == ENOENT);
  request.chdir = "/etc/passwd";
  CHECK(run_to_failure(request).error == ENOTDIR);
}

TEST_CASE("2 MiB of arguments and environment arrive") {
  Spawn request = command({target(), "count"});
  std::size_t bytes = target().size() + 1 + sizeof "count";
  while (bytes < 1'000'000) {
    request.argv.push_back(std::string(99, 'a'));
    bytes += 100;
  }
  for (int i = 0; i < 8; ++i)
    request.argv.push_back(std::string(120'000, 'b'));
  bytes += 8 * 120'001;
  request.env.assign(1000, "NAME=" + std::string(94, 'v'));
  // A quarter of the stack is what execve gives to both; it is the child's own limit that counts.
  request.rlimits = {{.resource = 3, .unused = 0, .soft = 64 << 20, .hard = 64 << 20}};
  const Ended ended = run(request);
  CHECK(ended.output == std::to_string(request.argv.size()) + " " + std::to_string(bytes) + "\n");
}

TEST_CASE("more arguments than the kernel takes: E2BIG, from the execve") {
  Spawn request = command({target(), "count"});
  request.argv.resize(100'000, std::string(100, 'a'));
  const Message failed = run_to_failure(request);
  CHECK(failed.step == Step::TaskExec);
  CHECK(failed.error == E2BIG);
}
