// Hooked: the program of tests/hooks in the place of mayfly, with a step left out or failing.
#pragma once

#include <string>
#include <utility>

#include "harness/sandbox.hpp"
#include "launch/protocol.hpp"

namespace harness {

using mayfly::launch::Step;

// `mayfly run` of the hooked program. Nothing is left out and nothing fails until it is asked for.
class Hooked {
 public:
  Hooked(const Words& options, const Words& task);

  Hooked& without(const std::vector<Step>& steps);
  Hooked& failing(Step step);
  // Of the namespaces that every sandbox gets, those of these flags of clone3 stay the caller's.
  Hooked& sharing(unsigned long namespaces);
  [[nodiscard]] Ended end() const { return run_.end(); }
  [[nodiscard]] Ended end(Process process) const { return run_.end(std::move(process)); }
  [[nodiscard]] Command& command() { return run_.command; }

 private:
  Run run_;
};

}  // namespace harness
