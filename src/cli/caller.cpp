#include "cli/caller.hpp"

#include <unistd.h>

#include <cstddef>

namespace mayfly::cli {

std::vector<std::string> caller_environment() {
  std::vector<std::string> environment;
  if (environ == nullptr) return environment;  // after clearenv()
  std::size_t count = 0;
  while (environ[count] != nullptr)
    ++count;
  environment.reserve(count);
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.emplace_back(*variable);
  return environment;
}

}  // namespace mayfly::cli
