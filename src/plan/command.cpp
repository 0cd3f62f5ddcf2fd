#include "plan/command.hpp"

#include "base/text.hpp"
#include "plan/environment.hpp"

namespace mayfly::plan {
namespace {

std::string joined(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (path.empty() || path.back() != '/') path += '/';
  return path += name;
}

}  // namespace

std::vector<std::string> program_paths(std::string_view program,
                                       const std::vector<std::string>& env,
                                       std::string_view chdir) {
  if (program.empty()) return {};
  if (program[0] == '/') return {std::string(program)};
  if (program.find('/') != std::string_view::npos) return {joined(chdir, program)};
  std::vector<std::string> paths;
  const char* path = find_variable(env, "PATH");
  for (std::string_view element : split(path != nullptr ? path : "", ':')) {
    const bool is_absolute = !element.empty() && element[0] == '/';
    const std::string directory = element.empty() ? std::string(chdir)
                                  : is_absolute   ? std::string(element)
                                                  : joined(chdir, element);
    paths.push_back(joined(directory, program));
  }
  return paths;
}

}  // namespace mayfly::plan
