// The words for a mount or an entry of the new root that cannot be made, and for what it lies on.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "isolate/mounts.hpp"
#include "plan/plan.hpp"

namespace mayfly::launch {

using isolate::mounts::Upper;

struct Words {
  std::string action;
  std::string call;
  std::string hint;
  ErrorKind kind = ErrorKind::Setup;
};

struct Failure {
  int error = 0;
  unsigned in_way = 0;  // the type (S_IFMT) of what is at a node's place already, or 0
  Upper layer = Upper::InMemory;
  std::string layer_parent = {};
};

// index: of plan.mounts, then of plan.seals.
[[nodiscard]] Words mount_words(const plan::Plan& plan, std::uint32_t index,
                                const Failure& failure);

// The task cannot start where it should.
[[nodiscard]] Words chdir_words(const plan::Plan& plan);

}  // namespace mayfly::launch
