#include "policy/compiler/policies.hpp"

#include <linux/seccomp.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "policy/filter.hpp"
#include "policy/groups.hpp"
#include "policy/machine.hpp"
#include "spec/document.hpp"

namespace mayfly::policy {
namespace {

std::string stem(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.rfind('.'));
}

// init loads the filter before it does its work.
Result<void> check_init(const spec::Document& syscalls, const Catalogue& catalogue,
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
      return syscalls.error(init.at, "init needs " + init.name + ", and " + policy +
                                         " answers it with " +
                                         errno_name(static_cast<int>(*verdict & SECCOMP_RET_DATA)));
  }
  return {};
}

class PoliciesReader {
 public:
  PoliciesReader(const spec::Document& syscalls, const Catalogue& catalogue)
      : syscalls_(syscalls), catalogue_(catalogue) {}

  Result<std::vector<StockFile>> read(const std::vector<std::string>& paths) {
    for (const std::string& path : paths)
      TRY(read_one(path));
    return std::move(files_);
  }

 private:
  Result<void> read_one(const std::string& path) {
    StockFile file{.name = stem(path), .text = TRY(read_text(path))};
    const spec::Document document = TRY(spec::parse_toml(path, file.text));
    TRY(take_base(document, file));
    TRY(take_values(document, file));
    for (std::size_t variant = 0; variant < kVariants; ++variant)
      TRY(compile_variant(path, file, static_cast<Stock>(variant)));
    files_.push_back(std::move(file));
    return {};
  }

  Result<void> take_base(const spec::Document& document, StockFile& file) {
    const spec::Node* extends =
        TRY(document.get_if(document.root, "extends", spec::Node::Kind::Text));
    if (extends == nullptr) {
      if (files_.empty()) return {};
      return document.error(document.root.at, "a policy that is not the first must extend one");
    }
    const auto base = std::find_if(files_.begin(), files_.end(), [&](const StockFile& known) {
      return known.name == extends->text;
    });
    if (base == files_.end()) {
      return document.error(extends->at,
                            "no policy before this one is called " + shown(extends->text));
    }
    file.extends = base->name;
    if (base != files_.begin()) file.rules = base->rules;
    return {};
  }

  // Applied once, so that what is wrong with a value shows when mayfly is built.
  Result<void> take_values(const spec::Document& document, StockFile& file) {
    const std::vector<spec::Assignment> all =
        TRY(spec::read_settings(document, spec::DocumentKind::Policy, {"extends"}));
    spec::Draft draft;
    TRY(spec::apply_settings(draft, document, all));
    std::vector<std::string> named;
    for (const spec::Assignment& one : all) {
      const bool is_rule = one.setting->document_key() == std::string_view("syscalls");
      // Those of the base are what rules of others are added to.
      if (!is_rule || !files_.empty()) file.values.push_back(one);
      if (!is_rule) continue;
      if (std::find(named.begin(), named.end(), one.value) != named.end()) {
        return document.error(one.at, "group " + shown(one.value) + " is named twice");
      }
      named.push_back(one.value);
      TRY(check_group_name(document, one));
    }
    for (const spec::SyscallRule& rule : draft.spec.syscalls)
      add_rule(file.rules, rule);
    if (!files_.empty()) return {};
    for (const Group& group : catalogue_.groups) {
      if (std::find(named.begin(), named.end(), group.name) == named.end()) {
        return document.error(document.root.at,
                              "group " + shown(group.name) + " is neither allowed nor denied");
      }
    }
    return {};
  }

  Result<void> check_group_name(const spec::Document& document, const spec::Assignment& one) const {
    for (const Group& group : catalogue_.groups) {
      if (group.name == one.value) return {};
    }
    return document.error(one.at, "unknown group " + shown(one.value));
  }

  static void add_rule(std::vector<spec::SyscallRule>& rules, const spec::SyscallRule& rule) {
    const auto at = std::lower_bound(
        rules.begin(), rules.end(), rule,
        [](const spec::SyscallRule& a, const spec::SyscallRule& b) { return a.group < b.group; });
    if (at != rules.end() && at->group == rule.group) {
      *at = rule;
    } else {
      rules.insert(at, rule);
    }
  }

  Result<void> compile_variant(const std::string& path, StockFile& file, Stock variant) {
    const StockFile& base = files_.empty() ? file : files_.front();
    std::vector<StockRule> stock;
    for (const spec::SyscallRule& rule : base.rules)
      stock.push_back({.group = rule.group.c_str(), .stand = rule.stand});
    const std::vector<spec::SyscallRule> none;
    const auto& rules = files_.empty() ? none : file.rules;
    const Choices choices = TRY(choose(catalogue_.groups, stock, rules, variant));
    auto& code = file.filters[static_cast<std::size_t>(variant)];
    code = TRY(compile(filter_of(catalogue_.audit_arch, choices)));
    return check_init(syscalls_, catalogue_, path, code);
  }

  const spec::Document& syscalls_;
  const Catalogue& catalogue_;
  std::vector<StockFile> files_;
};

}  // namespace

Result<std::string> read_text(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return usage_error(path + ": it cannot be opened");
  std::string text;
  for (int c = 0; (c = std::fgetc(file)) != EOF;)
    text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

Result<std::vector<StockFile>> read_policies(const std::vector<std::string>& paths,
                                             const spec::Document& syscalls,
                                             const Catalogue& catalogue) {
  return PoliciesReader(syscalls, catalogue).read(paths);
}

}  // namespace mayfly::policy
