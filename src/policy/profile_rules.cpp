#include "policy/profile_rules.hpp"

#include <linux/audit.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "policy/capabilities.hpp"
#include "policy/groups.hpp"
#include "spec/document.hpp"
#include "spec/units.hpp"

namespace mayfly::policy {
namespace {

using spec::Document;
using spec::Node;
using Kind = Node::Kind;

constexpr std::size_t kMostRules = 16'384;  // that of Docker comes to 500

#if defined(__x86_64__)
constexpr std::string_view kArchitecture = "SCMP_ARCH_X86_64";
constexpr std::string_view kGoArchitecture = "amd64";
#elif defined(__aarch64__)
constexpr std::string_view kArchitecture = "SCMP_ARCH_AARCH64";
constexpr std::string_view kGoArchitecture = "arm64";
#endif

struct Action {
  std::string_view name;
  std::uint32_t action;
  bool has_errno = false;
};
constexpr Action kActions[] = {
    {"SCMP_ACT_ALLOW", SCMP_ACT_ALLOW},
    {"SCMP_ACT_LOG", SCMP_ACT_LOG},
    {"SCMP_ACT_ERRNO", SCMP_ACT_ERRNO(0), true},
    {"SCMP_ACT_TRACE", SCMP_ACT_TRACE(0), true},
    {"SCMP_ACT_TRAP", SCMP_ACT_TRAP},
    {"SCMP_ACT_KILL", SCMP_ACT_KILL},
    {"SCMP_ACT_KILL_THREAD", SCMP_ACT_KILL_THREAD},
    {"SCMP_ACT_KILL_PROCESS", SCMP_ACT_KILL_PROCESS},
};

constexpr std::pair<std::string_view, scmp_compare> kOperators[] = {
    {"SCMP_CMP_NE", SCMP_CMP_NE},
    {"SCMP_CMP_LT", SCMP_CMP_LT},
    {"SCMP_CMP_LE", SCMP_CMP_LE},
    {"SCMP_CMP_EQ", SCMP_CMP_EQ},
    {"SCMP_CMP_GE", SCMP_CMP_GE},
    {"SCMP_CMP_GT", SCMP_CMP_GT},
    {"SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ},
};

std::optional<std::uint32_t> errno_of(std::string_view name) {
  constexpr int kMostErrno = 133;
  for (int number = 1; number <= kMostErrno; ++number) {
    const char* known = ::strerrorname_np(number);
    if (known != nullptr && name == known) return static_cast<std::uint32_t>(number);
  }
  return std::nullopt;
}

// "6.1.0-17-amd64" → 6.1; a part that is missing is 0.
std::pair<unsigned, unsigned> version_of(std::string_view text) {
  unsigned parts[2] = {};
  std::size_t at = 0;
  for (unsigned& part : parts) {
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && part < 100'000)
      part = part * 10 + static_cast<unsigned>(text[at++] - '0');
    if (at == text.size() || text[at] != '.') break;
    ++at;
  }
  return {parts[0], parts[1]};
}

class ProfileReader {
 public:
  explicit ProfileReader(const Profile& profile) : profile_(profile) {}

  Result<ProfileRules> read() {
    document_ = TRY(spec::parse_document("the seccomp profile " + profile_.name, profile_.text,
                                         spec::Syntax::Json));
    const Node& root = document_.root;
    TRY(document_.only(
        root, {"defaultAction", "defaultErrnoRet", "defaultErrno", "architectures", "archMap",
               "flags", "listenerPath", "listenerMetadata", "syscalls", "comment"}));
    TRY(check_architectures(root));
    TRY(check_listener(root));
    ProfileRules rules;
    const Node* name = TRY(document_.get(root, "defaultAction", Kind::Text));
    rules.otherwise = TRY(action(*name, root, "defaultErrnoRet", "defaultErrno"));
    const std::vector<const Node*> calls = TRY(document_.items(root, "syscalls", Kind::Table));
    for (const Node* call : calls)
      TRY(add_rule(*call, rules));
    return rules;
  }

 private:
  Result<void> check_architectures(const Node& root) {
    bool found = false, named = false;
    const auto names = TRY(document_.items(root, "architectures", Kind::Text));
    for (const Node* name : names) {
      named = true;
      found = found || name->text == kArchitecture;
    }
    const auto maps = TRY(document_.items(root, "archMap", Kind::Table));
    for (const Node* map : maps) {
      TRY(document_.only(*map, {"architecture", "subArchitectures"}));
      named = true;
      found = found || TRY(document_.get(*map, "architecture", Kind::Text))->text == kArchitecture;
    }
    if (found || !named) return {};
    return document_.error(
        root.at,
        "it is for other architectures: " + std::string(kArchitecture) + " is not among them",
        "add it to them, or leave the list out for any");
  }

  Result<void> check_listener(const Node& root) {
    const Node* path = TRY(text_if(root, "listenerPath"));
    if (path == nullptr || path->text.empty()) return {};
    return document_.error(path->at, "a profile cannot bring a listener of its own",
                           "leave out listenerPath; --explain-denials tells what is refused");
  }

  // Go writes what is not set as null.
  static bool is_null(const Node* node) {
    return node != nullptr && node->kind == Kind::Other && node->text == "null";
  }
  Result<const Node*> text_if(const Node& table, std::string_view key) {
    if (is_null(table.find(key))) return nullptr;
    return document_.get_if(table, key, Kind::Text);
  }

  Result<std::uint64_t> number(const Node& node, std::uint64_t most) {
    const Result<std::uint64_t> value = spec::parse_count(node.text, most);
    if (node.kind == Kind::Integer && value) return *value;
    return document_.error(node.at,
                           "a whole number from 0 to " + std::to_string(most) + " must be here",
                           "write it without quotes, sign and fraction");
  }

  Result<std::uint32_t> action(const Node& name, const Node& table, std::string_view number_key,
                               std::string_view name_key) {
    if (name.text == "SCMP_ACT_NOTIFY") {
      return document_.error(name.at, "SCMP_ACT_NOTIFY asks another process, and there is none",
                             "choose another action, such as SCMP_ACT_ERRNO");
    }
    for (const Action& known : kActions) {
      if (known.name != name.text) continue;
      if (!known.has_errno) return known.action;
      return known.action | TRY(error_number(table, number_key, name_key));
    }
    return document_.error(name.at, "unknown action " + shown(name.text),
                           "one of those of OCI, such as SCMP_ACT_ALLOW and SCMP_ACT_ERRNO");
  }

  Result<std::uint32_t> error_number(const Node& table, std::string_view number_key,
                                     std::string_view name_key) {
    constexpr std::uint64_t kMostErrno = 4095;
    const Node* name = TRY(text_if(table, name_key));
    if (name != nullptr && !name->text.empty()) {
      if (const auto known = errno_of(name->text)) return *known;
      return document_.error(name->at, "unknown errno " + shown(name->text),
                             "write its name, like EPERM or ENOSYS");
    }
    const Node* value = table.find(number_key);
    if (value == nullptr || is_null(value)) return std::uint32_t{EPERM};
    return static_cast<std::uint32_t>(TRY(number(*value, kMostErrno)));
  }

  Result<void> add_rule(const Node& table, ProfileRules& rules) {
    TRY(document_.only(table, {"names", "name", "action", "errnoRet", "errno", "args", "includes",
                               "excludes", "comment"}));
    const Node* name = TRY(document_.get(table, "action", Kind::Text));
    ProfileRule rule{.action = TRY(action(*name, table, "errnoRet", "errno"))};
    TRY(take_names(table, rule));
    if (!is_null(table.find("args"))) {
      const auto args = TRY(document_.items(table, "args", Kind::Table));
      for (const Node* arg : args)
        rule.conditions.push_back(TRY(condition(*arg)));
    }
    const bool applies = TRY(holds(table, "includes", true));
    const bool excluded = TRY(holds(table, "excludes", false));
    // What says the same as the default is no rule to libseccomp.
    if (!applies || excluded || rule.action == rules.otherwise) return {};
    count_ += rule.numbers.size() * std::max<std::size_t>(rule.conditions.size(), 1);
    if (count_ > kMostRules) {
      return document_.error(table.at, "more than " + std::to_string(kMostRules) + " rules",
                             "leave rules out, or give several calls one rule");
    }
    rules.rules.push_back(std::move(rule));
    return {};
  }

  Result<void> take_names(const Node& table, ProfileRule& rule) {
    std::vector<const Node*> names = TRY(document_.items(table, "names", Kind::Text));
    if (const Node* one = TRY(text_if(table, "name")); one != nullptr && !one->text.empty()) {
      names.push_back(one);
    }
    if (names.empty())
      return document_.error(table.at, "a rule must have names",
                             "write \"names\": [\"…\"] with the calls");
    for (const Node* name : names) {
      if (const auto number = call_number(name->text))
        rule.numbers.push_back(static_cast<int>(*number));
    }
    return {};
  }

  Result<scmp_arg_cmp> condition(const Node& table) {
    TRY(document_.only(table, {"index", "value", "valueTwo", "op"}));
    scmp_arg_cmp condition = {};
    const Node* index = TRY(document_.get(table, "index", Kind::Integer));
    condition.arg = static_cast<unsigned>(TRY(number(*index, 5)));
    const Node* value = TRY(document_.get(table, "value", Kind::Integer));
    condition.datum_a = TRY(number(*value, UINT64_MAX));
    if (const Node* second = TRY(document_.get_if(table, "valueTwo", Kind::Integer))) {
      condition.datum_b = TRY(number(*second, UINT64_MAX));
    }
    const Node* name = TRY(document_.get(table, "op", Kind::Text));
    for (const auto& [known, comparison] : kOperators) {
      if (known != name->text) continue;
      condition.op = comparison;
      return condition;
    }
    return document_.error(name->at, "unknown operator " + shown(name->text),
                           "one of those of OCI, such as SCMP_CMP_EQ");
  }

  // Whether a condition on the surroundings holds: all of it for `includes`, any part of it for
  // `excludes`. None is always true for the one, never for the other.
  Result<bool> holds(const Node& rule, std::string_view key, bool all) {
    bool result = all;
    if (rule.find(key) == nullptr || is_null(rule.find(key))) return result;
    const Node& table = *TRY(document_.get(rule, key, Kind::Table));
    TRY(document_.only(table, {"caps", "arches", "minKernel"}));
    const auto take = [&](bool one) { result = all ? result && one : result || one; };
    if (!is_null(table.find("caps"))) {
      const auto caps = TRY(document_.items(table, "caps", Kind::Text));
      for (const Node* cap : caps)
        take(has_capability(profile_.capabilities, cap->text));
    }
    if (!is_null(table.find("arches"))) {
      const auto arches = TRY(document_.items(table, "arches", Kind::Text));
      const auto is_ours = [](const Node* arch) { return arch->text == kGoArchitecture; };
      if (!arches.empty()) take(std::any_of(arches.begin(), arches.end(), is_ours));
    }
    const Node* kernel = TRY(text_if(table, "minKernel"));
    if (kernel != nullptr && !kernel->text.empty()) {
      take(version_of(profile_.kernel) >= version_of(kernel->text));
    }
    return result;
  }

  const Profile& profile_;
  Document document_;
  std::size_t count_ = 0;
};

}  // namespace

Result<ProfileRules> read_profile(const Profile& profile) {
  return ProfileReader(profile).read();
}

}  // namespace mayfly::policy
