// Compiles policies/*.toml to the stock filters, when mayfly is built:
//
//   mayfly-policy-compiler ARCH OUTPUT.cpp SYSCALLS.toml NAME=POLICY.toml…
//
// NAME is the enumerator of policy::Stock that stands for the policy. Errors go to stderr as
// file:line:column: reason; exit 1.
#include <linux/seccomp.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "policy/compiler/catalogue.hpp"
#include "policy/compiler/selection.hpp"
#include "policy/filter.hpp"
#include "policy/machine.hpp"

namespace mayfly::policy {
namespace {

struct Program {
  std::string name;  // the enumerator
  std::vector<sock_filter> code;
};

// init loads the filter before it does its work.
Result<void> check_init(const TomlFile& syscalls, const Catalogue& catalogue,
                        const std::string& policy, const std::vector<sock_filter>& code) {
  for (const InitCall& init : catalogue.init) {
    seccomp_data data{};
    data.nr = static_cast<int>(init.call.number);
    data.arch = catalogue.audit_arch;
    for (std::size_t i = 0; i < init.call.args.size(); ++i)
      data.args[i] = init.call.args[i];
    const auto verdict = run(code, data);
    if (!verdict) return internal_error(policy + ": the filter's program is not well formed");
    if (*verdict != SECCOMP_RET_ALLOW)
      return syscalls.error(
          init.name.at, "init needs " + init.name.text + ", and " + policy + " answers it with " +
                            errno_name(static_cast<int>(*verdict & SECCOMP_RET_DATA)));
  }
  return {};
}

Result<Program> compile_policy(const TomlFile& syscalls, const Catalogue& catalogue,
                               std::string_view name, const std::string& path) {
  const auto selection = TRY(read_selection(path, catalogue));
  Program program{.name = std::string(name), .code = TRY(compile(filter_of(catalogue, selection)))};
  TRY(check_init(syscalls, catalogue, path, program.code));
  return program;
}

std::string source_of(const Catalogue& catalogue, const std::vector<Program>& programs) {
  char line[160];
  std::string text =
      "// Generated from policies/ by mayfly-policy-compiler. Do not edit.\n"
      "#include \"policy/stock.hpp\"\n\n#include <algorithm>\n#include <iterator>\n\nnamespace "
      "mayfly::policy {\nnamespace {\n";
  for (const Program& program : programs) {
    text += "\nconstexpr sock_filter k" + program.name + "[] = {\n";
    for (const sock_filter& one : program.code) {
      std::snprintf(line, sizeof line, "    {0x%02x, %u, %u, 0x%08x},\n", one.code, one.jt, one.jf,
                    one.k);
      text += line;
    }
    text += "};\n";
  }
  text += "\nconstexpr SystemCall kInitCalls[] = {\n";
  for (const InitCall& init : catalogue.init) {
    const auto& args = init.call.args;
    std::snprintf(
        line, sizeof line, "    {%u, {%#llx, %#llx, %#llx, %#llx, %#llx, %#llx}},  // ",
        init.call.number, static_cast<unsigned long long>(args[0]),
        static_cast<unsigned long long>(args[1]), static_cast<unsigned long long>(args[2]),
        static_cast<unsigned long long>(args[3]), static_cast<unsigned long long>(args[4]),
        static_cast<unsigned long long>(args[5]));
    text += line + init.name.text + "\n";
  }
  text += "};\n\nstruct CallName {\n  std::uint32_t number;\n  const char* name;\n};\n";
  text += "\nconstexpr CallName kCallNames[] = {\n";
  for (const auto& [number, name] : catalogue.call_names)
    text += "    {" + std::to_string(number) + ", \"" + name + "\"},\n";
  text += "};\n\n}  // namespace\n\nstd::span<const sock_filter> stock_filter(Stock which) {\n";
  text += "  switch (which) {\n";
  for (const Program& program : programs)
    text += "    case Stock::" + program.name + ":\n      return k" + program.name + ";\n";
  text +=
      "  }\n  return {};\n}\n\n"
      "std::span<const SystemCall> init_calls() { return kInitCalls; }\n\n"
      "std::string_view call_name(std::uint32_t number) {\n"
      "  const auto* found = std::lower_bound(\n"
      "      std::begin(kCallNames), std::end(kCallNames), number,\n"
      "      [](const CallName& row, std::uint32_t wanted) { return row.number < wanted; });\n"
      "  return found != std::end(kCallNames) && found->number == number ? found->name : \"\";\n"
      "}\n\n"
      "}  // namespace mayfly::policy\n";
  return text;
}

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
        "usage: mayfly-policy-compiler ARCH OUTPUT.cpp SYSCALLS.toml NAME=POLICY.toml…");
  const TomlFile syscalls = TRY(TomlFile::read(arguments[2]));
  const Catalogue catalogue = TRY(read_catalogue(syscalls, arguments[0]));
  std::vector<Program> programs;
  for (std::size_t i = 3; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    if (equals == std::string::npos) return usage_error(arguments[i] + ": NAME= is missing");
    programs.push_back(TRY(compile_policy(syscalls, catalogue, arguments[i].substr(0, equals),
                                          arguments[i].substr(equals + 1))));
  }
  return write_file(arguments[1], source_of(catalogue, programs));
}

}  // namespace
}  // namespace mayfly::policy

int main(int argc, char** argv) {
  const auto done = mayfly::policy::compile_all({argv + 1, argv + argc});
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().action.c_str());
  if (!done.error().hint.empty()) std::fprintf(stderr, "hint: %s\n", done.error().hint.c_str());
  return 1;
}
