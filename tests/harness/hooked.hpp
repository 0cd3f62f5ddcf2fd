// Hooked: the program of tests/hooks in the place of mayfly, with a step left out or failing.
#pragma once

#include <string>

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
  [[nodiscard]] Ended end() const { return run_.end(); }
  [[nodiscard]] Command& command() { return run_.command; }

 private:
  Run run_;
};

}  // namespace harness
