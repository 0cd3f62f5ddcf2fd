#include "cli/store.hpp"

#include <unistd.h>

#include <cstdlib>

namespace mayfly::cli {

policy::Store caller_store(const spec::Draft& request) {
  policy::Store store{.working_dir = request.working_dir, .directories = {}, .uid = ::geteuid()};
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (config != nullptr && *config == '/') {
    store.directories.push_back(std::string(config) + "/mayfly/policies");
  } else if (home != nullptr && *home == '/') {
    store.directories.push_back(std::string(home) + "/.config/mayfly/policies");
  }
  store.directories.emplace_back("/etc/mayfly/policies");
  return store;
}

}  // namespace mayfly::cli
