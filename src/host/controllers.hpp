// Controllers: a set of the cgroup v2 controllers that hold limits.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace mayfly::host {

enum class Controller : unsigned { Memory = 1, Pids = 2, Cpu = 4, Io = 8 };

// In the order in which they are enabled: memory refuses where processes live, pids and cpu would
// not, and leave cgroups that nothing can enter (EOPNOTSUPP).
inline constexpr std::array kControllers = {Controller::Memory, Controller::Pids, Controller::Cpu,
                                            Controller::Io};

[[nodiscard]] constexpr std::string_view controller_name(Controller controller) {
  switch (controller) {
    case Controller::Memory:
      return "memory";
    case Controller::Pids:
      return "pids";
    case Controller::Cpu:
      return "cpu";
    case Controller::Io:
      break;
  }
  return "io";
}

struct Controllers {
  unsigned bits = 0;

  constexpr Controllers() = default;
  constexpr Controllers(Controller one) : bits(static_cast<unsigned>(one)) {}  // NOLINT implicit
  [[nodiscard]] constexpr bool none() const { return bits == 0; }
  [[nodiscard]] constexpr bool has(Controllers all) const { return (bits & all.bits) == all.bits; }
  constexpr bool operator==(const Controllers&) const = default;

  friend constexpr Controllers operator|(Controllers a, Controllers b) {
    return of(a.bits | b.bits);
  }
  friend constexpr Controllers operator&(Controllers a, Controllers b) {
    return of(a.bits & b.bits);
  }
  friend constexpr Controllers operator-(Controllers a, Controllers b) {
    return of(a.bits & ~b.bits);
  }

 private:
  static constexpr Controllers of(unsigned bits) {
    Controllers set;
    set.bits = bits;
    return set;
  }
};

// Those of a blank-separated list, as cgroup.controllers has it; others are passed over.
[[nodiscard]] Controllers parse_controllers(std::string_view list);
// "memory, pids"
[[nodiscard]] std::string names_of(Controllers controllers, std::string_view separator = ", ");

}  // namespace mayfly::host
