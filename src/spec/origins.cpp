// Where in a policy or spec a setting was said.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "spec/arguments.hpp"
#include "spec/setting.hpp"

namespace mayfly::spec {

std::string_view pair_name(const Setting& setting, std::string_view value) {
  return setting.form == Form::Pairs ? value.substr(0, value.find('=')) : std::string_view();
}

std::string origin_of(const std::vector<Origin>& origins, std::string_view key) {
  std::string place;
  for (const Origin& origin : origins) {
    if (key == origin.setting->document_key()) place = origin.place;
  }
  return place;
}

std::string origin_of(const std::vector<Origin>& origins, std::string_view key, std::size_t item) {
  for (const Origin& origin : origins) {
    if (key == origin.setting->document_key() && item-- == 0) return origin.place;
  }
  return {};
}

std::string origin_of(const std::vector<Origin>& origins, std::string_view key,
                      std::string_view name) {
  std::string place;
  for (const Origin& origin : origins) {
    if (key == origin.setting->document_key() && name == origin.name) place = origin.place;
  }
  return place;
}

namespace {

// An entry's option and what was given to it, but for what is in a file: that may be secret.
std::string option_with_argument(FsEntry entry) {
  if (entry.kind == FsKind::File) {
    entry.source.clear();
    entry.data = "...";
  }
  return std::string(option_of(entry.kind)) + " " + shown(format_entry(entry));
}

const FsEntry* entry_of(const Draft& draft, const Subject& subject) {
  const bool is_entry = std::string_view(subject.key) == "mounts" && subject.item &&
                        *subject.item < draft.spec.fs.size();
  return is_entry ? &draft.spec.fs[*subject.item] : nullptr;
}

// A setting as an error names it that a document said, and its option.
struct Told {
  std::string name, option, place;
};

Told told(const Draft& draft, const Subject& subject) {
  const std::string_view key = subject.key;
  const std::size_t item = subject.item.value_or(0);
  if (!subject.item) return {subject.key, "--" + std::string(key), origin_of(draft.origins, key)};
  if (key == "rlimits") {
    const std::string& limit = draft.spec.limits.resources.at(item).name;
    return {"rlimits." + limit, "--rlimit", origin_of(draft.origins, key, limit)};
  }
  const FsEntry* entry = entry_of(draft, subject);
  const std::string name(entry != nullptr ? option_of(entry->kind).substr(2) : key);
  return {name, "--" + name, origin_of(draft.origins, key, item)};
}

}  // namespace

Error with_place(const Draft& draft, Error error) {
  if (!error.about) return error;
  const Subject subject = *std::exchange(error.about, std::nullopt);
  Told setting = told(draft, subject);
  if (setting.place.empty() && subject.other != nullptr) setting = told(draft, {subject.other});
  if (setting.place.empty()) {
    const FsEntry* entry = entry_of(draft, subject);
    const bool is_named = error.action.find("(" + setting.option + ")") != std::string::npos;
    if (entry != nullptr && !is_named) error.action += " (" + option_with_argument(*entry) + ")";
    return error;
  }
  // The place is instead of the option that one on the command line is told by.
  const std::string option = " (" + setting.option + ")";
  if (error.action.ends_with(option)) error.action.resize(error.action.size() - option.size());
  error.action += " (" + setting.name + " at " + setting.place + ")";
  return error;
}

}  // namespace mayfly::spec
