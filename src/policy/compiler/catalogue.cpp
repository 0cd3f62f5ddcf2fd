#include "policy/compiler/catalogue.hpp"

#include <linux/seccomp.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "policy/compiler/call_names.hpp"

namespace mayfly::policy {
namespace {

Result<std::uint32_t> verdict_of(const TomlFile& file, const Word& answer) {
  if (answer.text == "success") return SECCOMP_RET_ERRNO | 0u;
  constexpr int kMostErrno = 133;
  for (int number = 1; number <= kMostErrno; ++number) {
    const char* name = ::strerrorname_np(number);
    if (name != nullptr && answer.text == name)
      return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(number);
  }
  return file.error(
      answer.at, "unknown answer " + shown(answer.text) + "; an errno like EPERM, or \"success\"");
}

class CatalogueReader {
 public:
  CatalogueReader(const TomlFile& file, CallNames names) : file_(file), names_(std::move(names)) {}

  Result<Catalogue> read() {
    TRY(file_.only(file_.root(), {"numbers", "constants", "init", "group"}));
    const toml::table& constants = *TRY(file_.table(file_.root(), "constants"));
    for (const auto& [name, value] : constants)
      constants_[std::string(name.str())] = TRY(integer(value));
    Catalogue catalogue;
    catalogue.audit_arch = names_.audit_arch();
    catalogue.call_names = names_.all();
    const auto groups = TRY(file_.tables(file_.root(), "group"));
    for (const toml::table* table : groups)
      catalogue.groups.push_back(TRY(group(*table)));
    for (const Word& call : case_calls_)
      if (!group_of_call_.contains(call.text))
        return file_.error(call.at, "no group holds the call " + shown(call.text) +
                                        ", so a case for it has no effect");
    catalogue.init = TRY(init());
    return catalogue;
  }

 private:
  Result<Group> group(const toml::table& table) {
    TRY(file_.only(table, {"name", "reason", "answer", "calls", "cases"}));
    const Word name = TRY(file_.word(table, "name"));
    if (!group_names_.emplace(name.text, name.at).second)
      return file_.error(name.at, "there is a group " + shown(name.text) + " already");
    const Word reason = TRY(file_.word(table, "reason"));
    Group group{.name = name.text,
                .reason = reason.text,
                .answer = TRY(answer(table, "EPERM")),
                .calls = {},
                .cases = {}};
    const auto calls = TRY(file_.words(table, "calls"));
    for (const Word& call : calls) {
      const auto [known, added] = group_of_call_.emplace(call.text, name.text);
      if (!added)
        return file_.error(call.at, "the call " + shown(call.text) + " is in group " +
                                        shown(known->second) + " already");
      if (const auto number = TRY(names_.number(file_, call))) group.calls.push_back(*number);
    }
    if (!table.contains("cases")) return group;
    const auto cases = TRY(file_.tables(table, "cases"));
    for (const toml::table* one : cases)
      TRY(add_case(*one, group));
    return group;
  }

  Result<std::uint32_t> answer(const toml::table& table, const char* if_none) {
    if (!table.contains("answer")) return verdict_of(file_, {.text = if_none, .at = {}});
    const Word answer = TRY(file_.word(table, "answer"));
    return verdict_of(file_, answer);
  }

  Result<void> add_case(const toml::table& table, Group& group) {
    TRY(file_.only(table, {"calls", "when", "answer"}));
    Case what{.when = {}, .verdict = group.answer};
    if (table.contains("answer")) what.verdict = TRY(answer(table, ""));
    const auto conditions = TRY(file_.tables(table, "when"));
    for (const toml::table* one : conditions)
      what.when.push_back(TRY(condition(*one)));
    const auto calls = TRY(file_.words(table, "calls"));
    if (what.when.empty() || calls.empty())
      return file_.error(table, "a case needs a call and a condition");
    for (const Word& call : calls) {
      case_calls_.push_back(call);
      if (const auto number = TRY(names_.number(file_, call)))
        group.cases.push_back({.number = *number, .what = what});
    }
    return {};
  }

  Result<Condition> condition(const toml::table& table) {
    static constexpr std::pair<std::string_view, Test> kTests[] = {
        {"is", Test::Is},
        {"is_not", Test::IsNot},
        {"has", Test::Has},
        {"has_beyond", Test::HasBeyond},
    };
    TRY(file_.only(table, {"arg", "is", "is_not", "has", "has_beyond", "null"}));
    if (table.size() != 2 || !table.contains("arg"))
      return file_.error(table, "a condition is an arg and one test");
    const std::uint64_t argument = TRY(integer(*table.get("arg")));
    if (argument > 5) return file_.error(*table.get("arg"), "arguments are counted from 0 to 5");
    Condition condition{.argument = static_cast<unsigned>(argument), .test = {}, .values = {}};
    if (const toml::node* null = table.get("null")) {
      const std::optional<bool> wanted = null->value_exact<bool>();
      if (!wanted) return file_.error(*null, "null must be true or false");
      condition.test = *wanted ? Test::Null : Test::NotNull;
      return condition;
    }
    for (const auto& [key, test] : kTests) {
      if (!table.contains(key)) continue;
      condition.test = test;
      const toml::array& values = *TRY(file_.array(table, key));
      for (const toml::node& node : values)
        condition.values.push_back(static_cast<std::uint32_t>(TRY(value(node))));
      if (condition.values.empty()) return file_.error(table, "a test needs a value");
    }
    return condition;
  }

  Result<std::vector<InitCall>> init() {
    std::vector<InitCall> calls;
    const toml::table& table = *TRY(file_.table(file_.root(), "init"));
    TRY(file_.only(table, {"calls"}));
    const toml::array& nodes = *TRY(file_.array(table, "calls"));
    for (const toml::node& node : nodes) {
      InitCall call{};
      const toml::table* with_arguments = node.as_table();
      call.name =
          TRY(with_arguments != nullptr ? file_.word(*with_arguments, "call") : file_.word(node));
      if (with_arguments != nullptr) TRY(arguments(*with_arguments, call.call));
      const auto number = TRY(names_.number(file_, call.name));
      if (!number) continue;
      call.call.number = *number;
      calls.push_back(std::move(call));
    }
    return calls;
  }

  Result<void> arguments(const toml::table& table, SystemCall& call) {
    TRY(file_.only(table, {"call", "args"}));
    std::size_t next = 0;
    const toml::array& nodes = *TRY(file_.array(table, "args"));
    for (const toml::node& node : nodes) {
      if (next == call.args.size()) return file_.error(node, "a call has at most 6 arguments");
      std::uint64_t& argument = call.args[next++];
      if (const toml::array* flags = node.as_array()) {
        for (const toml::node& flag : *flags)
          argument |= TRY(value(flag));
      } else {
        argument = TRY(value(node));
      }
    }
    return {};
  }

  // A constant's name, or a number.
  Result<std::uint64_t> value(const toml::node& node) {
    if (!node.is_string()) return integer(node);
    const Word name = TRY(file_.word(node));
    const auto known = constants_.find(name.text);
    if (known == constants_.end())
      return file_.error(node, "unknown constant " + shown(name.text) + "; see [constants]");
    return known->second;
  }

  Result<std::uint64_t> integer(const toml::node& node) {
    const std::optional<std::int64_t> number = node.value_exact<std::int64_t>();
    if (!number || *number < 0 || *number > UINT32_MAX)
      return file_.error(node, "an integer of 32 bits must be here, 0 to 0xFFFFFFFF");
    return static_cast<std::uint64_t>(*number);
  }

  const TomlFile& file_;
  const CallNames names_;
  std::map<std::string, std::uint64_t> constants_;
  std::map<std::string, toml::source_position> group_names_;
  std::map<std::string, std::string> group_of_call_;
  std::vector<Word> case_calls_;
};

}  // namespace

Result<Catalogue> read_catalogue(const TomlFile& file, std::string_view arch) {
  CallNames names = TRY(CallNames::make(arch, file));
  return CatalogueReader(file, std::move(names)).read();
}

}  // namespace mayfly::policy
