// Explanation: a plan as words and as JSON, for whoever wants to know what `run` would do.
//
// Everything comes from the Spec and the Plan that a start would use, and from what its groups of
// system calls come to; nothing is decided here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "policy/programs.hpp"
#include "spec/setting.hpp"

namespace mayfly::report {

// Where what is written below a mount goes.
enum class Writes { Layer, Own, Host, Nowhere };

// What one step makes, as a reader of /proc/self/mountinfo inside sees it.
struct Shown {
  std::string target;                // absolute, inside
  std::string kind;                  // overlay, bind, tmpfs, proc, devpts, mask, read_only, layer
  std::vector<std::string> sources;  // on the host
  Writes writes = Writes::Nowhere;
  bool id_mapped = false;
  bool device = false;
  bool optional = false;   // only if the kernel has such an entry
  std::uint64_t size = 0;  // tmpfs: bytes at most
  bool operator==(const Shown&) const = default;
};

// What the request makes by itself: by --file, --dir, --symlink.
struct ShownEntry {
  std::string target;       // absolute, inside
  std::string kind;         // file, directory, symlink
  unsigned mode = 0;        // not of a symlink
  bool keeps_mode = false;  // what is there already keeps its own
  std::uint64_t size = 0;   // file: bytes
  std::string points_to;    // symlink
  bool operator==(const ShownEntry&) const = default;
};

// In order.
[[nodiscard]] std::vector<ShownEntry> shown_entries(const plan::Plan& plan);

// The mounts of the plan, in order; the root first.
[[nodiscard]] std::vector<Shown> shown_mounts(const plan::Plan& plan);

// Without their values, which may be secret.
[[nodiscard]] std::vector<std::string> environment_names(const plan::Plan& plan);

// One object, on one line, without a newline. Values of the environment are left out: names only.
[[nodiscard]] std::string explanation_json(const spec::Draft& request, const plan::Plan& plan,
                                           const policy::Stands& stands);

// Text for people, with newlines.
[[nodiscard]] std::string explanation_text(const spec::Draft& request, const plan::Plan& plan,
                                           const policy::Stands& stands);

}  // namespace mayfly::report
