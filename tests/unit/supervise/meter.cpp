#include "supervise/meter.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "support.hpp"

using namespace mayfly;
using namespace mayfly::test;
using supervise::Meter;
using supervise::parse_process_stat;
using supervise::ProcessUse;

namespace {

std::string stat_line(const std::string& name, int user, int waited, int start = 500) {
  return "7 (" + name + ") S 1 7 7 0 -1 4194560 100 0 0 0 " + std::to_string(user) + " 3 " +
         std::to_string(waited) + " 4 20 0 1 0 " + std::to_string(start) +
         " 1000000 250 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n";
}

Fd open_dir(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

TEST_CASE("meter: a process's line, whatever its name holds") {
  const ProcessUse use{.own_ticks = 13, .waited_ticks = 24, .start = 500, .resident_pages = 250};
  for (const char* name : {"sh", "a b", ") S 1 (", "x\ny", ""})
    CHECK(parse_process_stat(stat_line(name, 10, 20)) == use);
  for (const char* line :
       {"", "7", "7 (sh", "7 (sh)", "7 (sh) S 1 7", "7 (sh) S 1 7 7 0 -1 4 1 0 0 0 x"})
    CHECK_FALSE(parse_process_stat(line));
}

TEST_CASE("meter: a cgroup tells exactly") {
  const TempDir dir;
  write_text(dir / "cpu.stat", "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n");
  const Fd cgroup = open_dir(dir.path());
  Meter meter(&cgroup, Fd());
  CHECK(meter.read().value().cpu_ns == 1'500'000);
  CHECK_FALSE(meter.read().value().memory_bytes);
  write_text(dir / "memory.current", "4096\n");
  CHECK(meter.read().value().memory_bytes == 4096u);
  write_text(dir / "cpu.stat", "nothing\n");
  CHECK_FALSE(meter.read());
}

TEST_CASE("meter: processes are added up, and what was seen is not forgotten") {
  const std::int64_t tick = 1'000'000'000 / ::sysconf(_SC_CLK_TCK);
  const TempDir proc;
  const auto process = [&](const char* pid, const std::string& line) {
    ::mkdir((proc / pid).c_str(), 0755);
    write_text(proc / (std::string(pid) + "/stat"), line);
  };
  process("1", stat_line("init", 1, 0));
  process("12", stat_line("busy", 50, 0));
  write_text(proc / "uptime", "1 1\n");
  Meter meter(nullptr, open_dir(proc.path()));
  // Each line has 3 ticks of system time and 4 of waited-for system time.
  CHECK(meter.read().value().cpu_ns == (4 + 4 + 53 + 4) * tick);
  CHECK(meter.read().value().memory_bytes == 2 * 250u * static_cast<unsigned>(::getpagesize()));
  // It ended, and its parent does not care: nobody has its time now.
  ::unlink((proc / "12/stat").c_str());
  CHECK(meter.read().value().cpu_ns == (4 + 4 + 53 + 4) * tick);
  // Another one with the same number begins at nothing.
  process("12", stat_line("next", 30, 0, 900));
  CHECK(meter.read().value().cpu_ns == (4 + 53 + 33) * tick);
}
