// `mayfly version`.
#include "cli/commands.hpp"
#include "cli/say.hpp"

namespace mayfly::cli {

int version(const Request& request) {
  if (request.json)
    return print("{\"v\":1,\"name\":\"mayfly\",\"version\":\"" MAYFLY_VERSION "\"}\n");
  return print("mayfly " MAYFLY_VERSION "\n");
}

}  // namespace mayfly::cli
