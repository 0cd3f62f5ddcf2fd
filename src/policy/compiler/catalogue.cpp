#include "policy/compiler/catalogue.hpp"

#include <linux/seccomp.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "policy/compiler/call_names.hpp"

namespace mayfly::policy {
namespace {

using spec::Document;
using spec::Node;
using Kind = Node::Kind;

Result<std::uint32_t> verdict_of(const Document& file, const Node& answer) {
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
  CatalogueReader(const Document& file, CallNames names) : file_(file), names_(std::move(names)) {}

  Result<Catalogue> read() {
    TRY(file_.only(file_.root, {"numbers", "constants", "init", "group"}));
    const Node& constants = *TRY(file_.get(file_.root, "constants", Kind::Table));
    for (const spec::Member& constant : constants.members)
      constants_[constant.key] = TRY(integer(constant.value));
    Catalogue catalogue;
    catalogue.audit_arch = names_.audit_arch();
    catalogue.call_names = names_.all();
    const std::vector<const Node*> groups = TRY(file_.items(file_.root, "group", Kind::Table));
    for (const Node* table : groups)
      catalogue.groups.push_back(TRY(group(*table)));
    for (const Node* call : case_calls_)
      if (!group_of_call_.contains(call->text))
        return file_.error(call->at, "no group holds the call " + shown(call->text) +
                                         ", so a case for it has no effect");
    catalogue.init = TRY(init());
    return catalogue;
  }

 private:
  Result<Group> group(const Node& table) {
    TRY(file_.only(table, {"name", "reason", "answer", "calls", "cases"}));
    const Node& name = *TRY(file_.get(table, "name", Kind::Text));
    if (!group_names_.insert(name.text).second)
      return file_.error(name.at, "there is a group " + shown(name.text) + " already");
    const Node& reason = *TRY(file_.get(table, "reason", Kind::Text));
    Group group{.name = name.text,
                .reason = reason.text,
                .answer = TRY(answer(table, SECCOMP_RET_ERRNO | EPERM)),
                .calls = {},
                .cases = {}};
    const std::vector<const Node*> calls = TRY(file_.items(table, "calls", Kind::Text));
    for (const Node* call : calls) {
      const auto [known, added] = group_of_call_.emplace(call->text, name.text);
      if (!added)
        return file_.error(call->at, "the call " + shown(call->text) + " is in group " +
                                         shown(known->second) + " already");
      if (const auto number = TRY(names_.number(file_, *call))) group.calls.push_back(*number);
    }
    const std::vector<const Node*> cases = TRY(file_.items(table, "cases", Kind::Table));
    for (const Node* one : cases)
      TRY(add_case(*one, group));
    return group;
  }

  Result<std::uint32_t> answer(const Node& table, std::uint32_t if_none) {
    const Node* answer = TRY(file_.get_if(table, "answer", Kind::Text));
    if (answer == nullptr) return if_none;
    return verdict_of(file_, *answer);
  }

  Result<void> add_case(const Node& table, Group& group) {
    TRY(file_.only(table, {"calls", "when", "answer"}));
    Case what{.when = {}, .verdict = TRY(answer(table, group.answer))};
    const std::vector<const Node*> conditions = TRY(file_.items(table, "when", Kind::Table));
    for (const Node* one : conditions)
      what.when.push_back(TRY(condition(*one)));
    const std::vector<const Node*> calls = TRY(file_.items(table, "calls", Kind::Text));
    if (what.when.empty() || calls.empty())
      return file_.error(table.at, "a case needs a call and a condition");
    for (const Node* call : calls) {
      case_calls_.push_back(call);
      if (const auto number = TRY(names_.number(file_, *call)))
        group.cases.push_back({.number = *number, .what = what});
    }
    return {};
  }

  Result<Condition> condition(const Node& table) {
    static constexpr std::pair<std::string_view, Test> kTests[] = {
        {"is", Test::Is},
        {"is_not", Test::IsNot},
        {"has", Test::Has},
        {"has_beyond", Test::HasBeyond},
    };
    TRY(file_.only(table, {"arg", "is", "is_not", "has", "has_beyond", "null"}));
    const Node* arg = table.find("arg");
    if (table.members.size() != 2 || arg == nullptr)
      return file_.error(table.at, "a condition is an arg and one test");
    const std::uint64_t argument = TRY(integer(*arg));
    if (argument > 5) return file_.error(arg->at, "arguments are counted from 0 to 5");
    Condition condition{.argument = static_cast<unsigned>(argument), .test = {}, .values = {}};
    if (const Node* null = TRY(file_.get_if(table, "null", Kind::Boolean))) {
      condition.test = null->text == "true" ? Test::Null : Test::NotNull;
      return condition;
    }
    for (const auto& [key, test] : kTests) {
      const Node* values = TRY(file_.get_if(table, key, Kind::Array));
      if (values == nullptr) continue;
      condition.test = test;
      for (const Node& node : values->items)
        condition.values.push_back(static_cast<std::uint32_t>(TRY(value(node))));
      if (condition.values.empty()) return file_.error(table.at, "a test needs a value");
    }
    return condition;
  }

  Result<std::vector<InitCall>> init() {
    std::vector<InitCall> calls;
    const Node& table = *TRY(file_.get(file_.root, "init", Kind::Table));
    TRY(file_.only(table, {"calls"}));
    for (const Node& node : TRY(file_.get(table, "calls", Kind::Array))->items) {
      const bool has_arguments = node.kind == Kind::Table;
      if (!has_arguments && node.kind != Kind::Text)
        return file_.error(node.at, "a call must be here, and it is " + kind_of(node));
      const Node& name = has_arguments ? *TRY(file_.get(node, "call", Kind::Text)) : node;
      InitCall call{.name = name.text, .at = name.at, .call = {}};
      if (has_arguments) TRY(arguments(node, call.call));
      const auto number = TRY(names_.number(file_, name));
      if (!number) continue;
      call.call.number = *number;
      calls.push_back(std::move(call));
    }
    return calls;
  }

  Result<void> arguments(const Node& table, SystemCall& call) {
    TRY(file_.only(table, {"call", "args"}));
    std::size_t next = 0;
    for (const Node& node : TRY(file_.get(table, "args", Kind::Array))->items) {
      if (next == call.args.size()) return file_.error(node.at, "a call has at most 6 arguments");
      std::uint64_t& argument = call.args[next++];
      if (node.kind != Kind::Array) argument = TRY(value(node));
      for (const Node& flag : node.items)
        argument |= TRY(value(flag));
    }
    return {};
  }

  // A constant's name, or a number.
  Result<std::uint64_t> value(const Node& node) {
    if (node.kind != Kind::Text) return integer(node);
    const auto known = constants_.find(node.text);
    if (known == constants_.end())
      return file_.error(node.at, "unknown constant " + shown(node.text) + "; see [constants]");
    return known->second;
  }

  Result<std::uint64_t> integer(const Node& node) {
    const std::optional<std::uint64_t> number = number_in(node, UINT32_MAX);
    if (!number) return file_.error(node.at, "an integer of 32 bits must be here, 0 to 0xFFFFFFFF");
    return *number;
  }

  const Document& file_;
  const CallNames names_;
  std::map<std::string, std::uint64_t> constants_;
  std::set<std::string> group_names_;
  std::map<std::string, std::string> group_of_call_;
  std::vector<const Node*> case_calls_;
};

}  // namespace

Result<Catalogue> read_catalogue(const Document& file, std::string_view arch) {
  CallNames names = TRY(CallNames::make(arch, file));
  return CatalogueReader(file, std::move(names)).read();
}

}  // namespace mayfly::policy
