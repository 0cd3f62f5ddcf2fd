// The result of a sandbox as JSON: the same object on the status descriptor and in --result FILE.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "spec/setting.hpp"
#include "supervise/outcome.hpp"

namespace mayfly::report {

// The version of events and results; readers ignore members that they do not know.
inline constexpr int kVersion = 1;

// What the spec was made from, as its draft has it; nullopt: not known, since it was refused.
using Policies = std::optional<std::vector<spec::PolicySource>>;

// One line, without a newline. Numbers end in their unit; what was not measured is null, and
// "<name>_why" says why.
[[nodiscard]] std::string result_json(const supervise::Outcome& outcome,
                                      const Policies& policies = {});

// Where --result goes. Its directory is held from before the start: a task that may write to it
// cannot lead the result elsewhere.
class ResultFile {
 public:
  // Refused, so that a typing error does not cost a run: a directory that is not there or does not
  // let us write, a path that is no regular file.
  [[nodiscard]] static Result<ResultFile> open(const std::string& path,
                                               const std::string& working_dir = {});

  // Writes a file beside it and renames that over it: a reader sees the whole result or none. A
  // link at the path is replaced.
  [[nodiscard]] Result<void> write(const supervise::Outcome& outcome,
                                   const Policies& policies = {}) const;

 private:
  Fd directory_;
  std::string path_, name_;
};

}  // namespace mayfly::report
