#include "probe.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace {

struct SubCommand {
  const char* name;
  int (*function)(const probe::Words&);
};

constexpr SubCommand kSubCommands[] = {
    {"ids", probe::ids},
    {"fds", probe::fds},
    {"namespaces", probe::namespaces},
    {"limits", probe::limits},
    {"signals", probe::signals},
    {"processes", probe::processes},
    {"call", probe::call},
    {"call-ia32", probe::call_ia32},
    {"call-x32", probe::call_x32},
    {"open", probe::open_as},
    {"writable", probe::writable},
    {"connect-unix", probe::connect_unix},
    {"connect-tcp", probe::connect_tcp},
    {"send-udp", probe::send_udp},
    {"loopback", probe::loopback},
    {"terminal", probe::terminal},
    {"hold", probe::hold},
    {"crowd", probe::crowd},
    {"orphans", probe::orphans},
    {"spin", probe::spin},
    {"flood", probe::flood},
};

}  // namespace

std::string probe::errno_word(int number) {
  const char* name = ::strerrorname_np(number);
  return name == nullptr ? std::to_string(number) : name;
}

int probe::report(const std::string& what, long result) {
  if (result >= 0)
    std::printf("%s ok %ld\n", what.c_str(), result);
  else
    std::printf("%s %s\n", what.c_str(), errno_word(static_cast<int>(-result)).c_str());
  return 0;
}

long probe::outcome(long returned) {
  return returned == -1 ? -static_cast<long>(errno) : returned;
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  for (const SubCommand& each : kSubCommands) {
    if (std::strcmp(each.name, name) != 0) continue;
    return each.function(probe::Words(argv + 2, argv + argc));
  }
  std::fprintf(stderr, "probe: no sub-command \"%s\"\n", name);
  return 64;
}
