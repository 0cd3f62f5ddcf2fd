#include "cli/caller.hpp"

#include <unistd.h>

namespace mayfly::cli {

std::vector<std::string> caller_environment() {
  std::vector<std::string> environment;
  if (environ == nullptr) return environment;  // after clearenv()
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.emplace_back(*variable);
  return environment;
}

}  // namespace mayfly::cli
