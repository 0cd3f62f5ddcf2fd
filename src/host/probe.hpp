// probe(): what this host can do, found out by doing it. For doctor and features; some 25 forked
// children, a few milliseconds each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/facts.hpp"

namespace mayfly::host {

enum class Verdict {
  Works,
  Fails,
  NotTried,  // it needs something that failed before, or another caller; `detail` says which
};

enum class Need {
  Always,  // no sandbox starts without it
  Some,    // only some requests need it, or there is a documented second way
};

struct ProbeRow {
  std::string name;  // stable: "user_namespace"
  Verdict verdict = Verdict::NotTried;
  Need need = Need::Always;
  int error = 0;       // errno, 0 if there is none
  std::string detail;  // what was found, or the call that failed
  std::string cause;   // Fails: the setting or property of the host that does it
  std::string remedy;  // Fails: what the user can do
  bool operator==(const ProbeRow&) const = default;
};

// Every row in a fixed order, whatever the outcome.
[[nodiscard]] std::vector<ProbeRow> probe(const HostFacts& facts);

// Whether a tmpfs in a sandbox holds user xattrs, as it does from Linux 6.6 on. Nothing where no
// sandbox can be.
[[nodiscard]] std::optional<bool> tmpfs_holds_user_xattrs(const HostFacts& facts);

// "works", "fails", "not_tried".
[[nodiscard]] std::string_view verdict_name(Verdict verdict);

}  // namespace mayfly::host
