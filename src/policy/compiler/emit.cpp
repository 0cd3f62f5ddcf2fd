#include "policy/compiler/emit.hpp"

#include <cstdio>
#include <map>
#include <tuple>

namespace mayfly::policy {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    char buffer[8];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n\"\n      \"";
    } else if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (byte < 0x20 || byte >= 0x7F) {
      std::snprintf(buffer, sizeof buffer, "\\%03o", byte);
      out += buffer;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string identifier(std::string name) {
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

const char* word(spec::Stand stand) {
  return stand == spec::Stand::Allow ? "spec::Stand::Allow" : "spec::Stand::Deny";
}

// The arrays of all filters, each different one once, by the name under which it is found.
class FilterArrays {
 public:
  std::string name_of(const std::vector<sock_filter>& code, const std::string& wanted) {
    for (const auto& [known, name] : written_)
      if (is_same(known, code)) return name;
    char line[80];
    text_ += "\nconstexpr sock_filter " + wanted + "[] = {\n";
    for (const sock_filter& one : code) {
      std::snprintf(line, sizeof line, "    {0x%02x, %u, %u, 0x%08x},\n", one.code, one.jt, one.jf,
                    one.k);
      text_ += line;
    }
    text_ += "};\n";
    written_.emplace_back(code, wanted);
    return wanted;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  static bool is_same(const std::vector<sock_filter>& a, const std::vector<sock_filter>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (std::tie(a[i].code, a[i].jt, a[i].jf, a[i].k) !=
          std::tie(b[i].code, b[i].jt, b[i].jf, b[i].k))
        return false;
    return true;
  }

  std::string text_;
  std::vector<std::pair<std::vector<sock_filter>, std::string>> written_;
};

std::string policies_of(const std::vector<StockFile>& policies) {
  constexpr const char* kVariantNames[kVariants] = {"Default", "Live", "Nesting", "NestingLive"};
  FilterArrays filters;
  std::string values, table;
  for (const StockFile& policy : policies) {
    const std::string name = identifier(policy.name);
    values += "\nconstexpr std::array<StockValue, " + std::to_string(policy.values.size()) +
              "> kValues_" + name + " = {{\n";
    for (const spec::Assignment& value : policy.values) {
      values += "    {\"" + std::string(value.setting->name) + "\", " + quoted(value.value) + ", " +
                std::to_string(value.at.line) + ", " + std::to_string(value.at.column) + "},\n";
    }
    values += "}};\nconstexpr std::array<StockRule, " + std::to_string(policy.rules.size()) +
              "> kRules_" + name + " = {{\n";
    for (const spec::SyscallRule& rule : policy.rules)
      values += "    {\"" + rule.group + "\", " + word(rule.stand) + "},\n";
    values += "}};\n";
    const bool is_base = &policy == &policies.front();
    table += "    {.name = \"" + policy.name + "\",\n     .text =\n      " + quoted(policy.text) +
             ",\n     .extends = \"" + policy.extends + "\",\n     .values = kValues_" + name +
             ",\n     .rules = " + (is_base ? "{}" : "kRules_" + name) + ",\n     .filters = {";
    for (std::size_t i = 0; i < kVariants; ++i)
      table +=
          filters.name_of(policy.filters[i], "k" + (is_base ? "" : name + "_") + kVariantNames[i]) +
          ", ";
    table += "}},\n";
  }
  return filters.text() + values + "\nconstexpr StockPolicy kPolicies[] = {\n" + table + "};\n";
}

std::string init_calls_of(const Catalogue& catalogue) {
  std::string text = "\nconstexpr SystemCall kInitCalls[] = {\n";
  for (const InitCall& init : catalogue.init) {
    const auto& args = init.call.args;
    char line[160];
    std::snprintf(
        line, sizeof line, "    {%u, {%#llx, %#llx, %#llx, %#llx, %#llx, %#llx}},  // ",
        init.call.number, static_cast<unsigned long long>(args[0]),
        static_cast<unsigned long long>(args[1]), static_cast<unsigned long long>(args[2]),
        static_cast<unsigned long long>(args[3]), static_cast<unsigned long long>(args[4]),
        static_cast<unsigned long long>(args[5]));
    text += line + init.name + "\n";
  }
  return text + "};\n";
}

std::string call_names_of(const Catalogue& catalogue) {
  std::string text =
      "\nstruct CallName {\n  std::uint32_t number;\n  const char* name;\n};\n"
      "\nconstexpr CallName kCallNames[] = {\n";
  for (const auto& [number, name] : catalogue.call_names)
    text += "    {" + std::to_string(number) + ", \"" + name + "\"},\n";
  return text + "};\n";
}

std::string list_of(const std::vector<std::uint32_t>& values) {
  std::string text = "{";
  for (const std::uint32_t value : values)
    text += std::to_string(value) + "u, ";
  return text + "}";
}

std::string cases_of(const Group& group) {
  std::string text = "{";
  for (const NumberedCase& one : group.cases) {
    text += "\n        {.number = " + std::to_string(one.number) + ", .what = {.when = {";
    for (const Condition& when : one.what.when) {
      text += "{.argument = " + std::to_string(when.argument) + ", .test = static_cast<Test>(" +
              std::to_string(static_cast<unsigned>(when.test)) +
              "), .values = " + list_of(when.values) + "}, ";
    }
    text += "}, .verdict = " + std::to_string(one.what.verdict) + "u}},";
  }
  return text + "}";
}

std::string groups_of(const Catalogue& catalogue) {
  std::string text = "std::vector<Group> all_groups() {\n  return {\n";
  for (const Group& group : catalogue.groups) {
    text += "    {.name = \"" + group.name + "\",\n     .reason = " + quoted(group.reason) +
            ",\n     .answer = " + std::to_string(group.answer) +
            "u,\n     .calls = " + list_of(group.calls) + ",\n     .cases = " + cases_of(group) +
            "},\n";
  }
  return text + "  };\n}\n\nstd::uint32_t audit_arch() { return " +
         std::to_string(catalogue.audit_arch) + "u; }\n";
}

}  // namespace

std::string source_of(const Catalogue& catalogue, const std::vector<StockFile>& policies) {
  std::string rules;
  const std::string base = identifier(policies.front().name);
  return "// Generated from policies/ by mayfly-policy-compiler. Do not edit.\n"
         "#include <algorithm>\n#include <iterator>\n\n#include \"policy/groups.hpp\"\n"
         "#include \"policy/stock.hpp\"\n\nnamespace mayfly::policy {\nnamespace {\n" +
         policies_of(policies) + init_calls_of(catalogue) + call_names_of(catalogue) +
         "\n}  // namespace\n\n"
         "std::span<const StockPolicy> stock_policies() { return kPolicies; }\n\n"
         "std::span<const StockRule> stock_rules() { return kRules_" +
         base +
         "; }\n\n"
         "std::span<const sock_filter> stock_filter(Stock which) {\n"
         "  return kPolicies[0].filters[static_cast<std::size_t>(which)];\n}\n\n"
         "std::span<const SystemCall> init_calls() { return kInitCalls; }\n\n"
         "std::string_view call_name(std::uint32_t number) {\n"
         "  const auto* found = std::lower_bound(\n"
         "      std::begin(kCallNames), std::end(kCallNames), number,\n"
         "      [](const CallName& row, std::uint32_t wanted) { return row.number < wanted; });\n"
         "  return found != std::end(kCallNames) && found->number == number ? found->name : \"\";\n"
         "}\n\n"
         "std::optional<std::uint32_t> call_number(std::string_view name) {\n"
         "  for (const CallName& row : kCallNames)\n"
         "    if (name == row.name) return row.number;\n"
         "  return std::nullopt;\n}\n\n"
         "std::uint32_t last_known_call() { return std::rbegin(kCallNames)->number; }\n\n" +
         groups_of(catalogue) + "\n}  // namespace mayfly::policy\n";
}

}  // namespace mayfly::policy
