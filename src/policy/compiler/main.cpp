// Compiles policies/*.toml to constants, when mayfly is built:
//
//   mayfly-policy-compiler ARCH OUTPUT.cpp SYSCALLS.toml BASE.toml [POLICY.toml…]
//
// A policy's name is its file's. BASE says of every group whether it is allowed; each other policy
// extends one that stands before it. Errors go to stderr as file:line:column: reason; exit 1.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "policy/compiler/catalogue.hpp"
#include "policy/compiler/emit.hpp"
#include "policy/compiler/policies.hpp"

namespace mayfly::policy {
namespace {

Result<void> write_file(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  bool good = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file != nullptr) good = std::fclose(file) == 0 && good;
  if (!good) return usage_error("cannot write " + path);
  return {};
}

Result<void> compile_all(const std::vector<std::string>& arguments) {
  if (arguments.size() < 4)
    return usage_error(
        "usage: mayfly-policy-compiler ARCH OUTPUT.cpp SYSCALLS.toml BASE.toml [POLICY.toml…]");
  const std::string text = TRY(read_text(arguments[2]));
  const spec::Document syscalls = TRY(spec::parse_toml(arguments[2], text));
  const Catalogue catalogue = TRY(read_catalogue(syscalls, arguments[0]));
  const std::vector<StockFile> policies =
      TRY(read_policies({arguments.begin() + 3, arguments.end()}, syscalls, catalogue));
  return write_file(arguments[1], source_of(catalogue, policies));
}

}  // namespace
}  // namespace mayfly::policy

int main(int argc, char** argv) {
  const auto done = mayfly::policy::compile_all({argv + 1, argv + argc});
  if (done) return 0;
  // Compilers begin with the place.
  std::string_view action = done.error().action;
  if (action.starts_with("read ")) action.remove_prefix(5);
  std::fprintf(stderr, "%.*s\n", static_cast<int>(action.size()), action.data());
  if (!done.error().hint.empty()) std::fprintf(stderr, "hint: %s\n", done.error().hint.c_str());
  return 1;
}
