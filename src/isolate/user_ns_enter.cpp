#include "isolate/user_ns.hpp"
#include "sys/raw_calls.hpp"

namespace mayfly::isolate::user_ns {

namespace raw = sys::raw;

Fault enter(const Prepared& prepared) noexcept {
  if (prepared.drop_groups) {
    if (Fault fault = fault_of(raw::setgroups(0, nullptr))) return fault;
  }
  if (!prepared.change) return {};  // the caller's own id is mapped to itself
  if (Fault fault = fault_of(raw::setresgid(0))) return fault;
  return fault_of(raw::setresuid(0));
}

}  // namespace mayfly::isolate::user_ns
