#include "policy/compiler/selection.hpp"

#include <linux/seccomp.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/text.hpp"
#include "policy/compiler/toml_file.hpp"

namespace mayfly::policy {
namespace {

using Stands = std::map<std::string, Stand>;

class SelectionReader {
 public:
  explicit SelectionReader(const Catalogue& catalogue) : catalogue_(catalogue) {}

  Result<Stands> read(const std::string& path) {
    const TomlFile file = TRY(TomlFile::read(path));
    reading_.push_back(path);
    Stands stands;
    if (file.root().contains("extends")) {
      const Word base = TRY(file.word(file.root(), "extends"));
      const std::string base_path = path.substr(0, path.rfind('/') + 1) + base.text + ".toml";
      if (std::find(reading_.begin(), reading_.end(), base_path) != reading_.end())
        return file.error(base.at, "this policy extends itself by way of " + shown(base.text));
      stands = TRY(read(base_path));
    }
    const toml::table& syscalls = *TRY(file.table(file.root(), "syscalls"));
    TRY(file.only(syscalls, {"allow", "deny"}));
    Stands here;
    TRY(add(file, syscalls, "allow", Stand::Allow, here));
    TRY(add(file, syscalls, "deny", Stand::Deny, here));
    here.merge(stands);  // what is said here stays
    for (const Group& group : catalogue_.groups)
      if (!here.contains(group.name))
        return file.error(syscalls,
                          "group " + shown(group.name) + " is neither allowed nor denied");
    return here;
  }

 private:
  Result<void> add(const TomlFile& file, const toml::table& table, std::string_view key,
                   Stand stand, Stands& stands) {
    const auto& groups = catalogue_.groups;
    const auto names = TRY(file.words(table, key));
    for (const Word& name : names) {
      if (std::none_of(groups.begin(), groups.end(),
                       [&](const Group& group) { return group.name == name.text; }))
        return file.error(name.at, "unknown group " + shown(name.text));
      if (!stands.emplace(name.text, stand).second)
        return file.error(name.at, "group " + shown(name.text) + " is named twice");
    }
    return {};
  }

  const Catalogue& catalogue_;
  std::vector<std::string> reading_;
};

}  // namespace

Result<Stands> read_selection(const std::string& path, const Catalogue& catalogue) {
  return SelectionReader(catalogue).read(path);
}

Filter filter_of(const Catalogue& catalogue, const Stands& selection) {
  // Another architecture's calls have other numbers, and its programs cannot run half-way: the
  // 32-bit entry of x86_64 kills. x32 calls are numbers from 0x40000000 on, which nobody names.
  Filter filter{.audit_arch = catalogue.audit_arch,
                .calls = {},
                .otherwise = SECCOMP_RET_ERRNO | ENOSYS,
                .foreign = SECCOMP_RET_KILL_PROCESS};
  const auto allowed = [&](const Group& group) { return selection.at(group.name) == Stand::Allow; };
  for (const Group& group : catalogue.groups)
    for (const std::uint32_t call : group.calls)
      filter.calls[call].verdict = allowed(group) ? SECCOMP_RET_ALLOW : group.answer;
  for (const Group& group : catalogue.groups) {
    if (allowed(group)) continue;
    for (const NumberedCase& one : group.cases) {
      Answer& answer = filter.calls.at(one.number);
      if (answer.verdict == SECCOMP_RET_ALLOW) answer.cases.push_back(one.what);
    }
  }
  return filter;
}

}  // namespace mayfly::policy
