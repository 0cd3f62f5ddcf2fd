// Where in a policy or spec a setting was said.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  std::string name(key);
  if (key == "mounts" && item < draft.spec.fs.size())
    name = option_of(draft.spec.fs[item].kind).substr(2);
  return {name, "--" + name, origin_of(draft.origins, key, item)};
}

}  // namespace

Error with_place(const Draft& draft, Error error) {
  if (!error.about) return error;
  const Told setting = told(draft, *std::exchange(error.about, std::nullopt));
  if (setting.place.empty()) return error;
  // The place is instead of the option that one on the command line is told by.
  const std::string option = " (" + setting.option + ")";
  if (error.action.ends_with(option)) error.action.resize(error.action.size() - option.size());
  error.action += " (" + setting.name + " at " + setting.place + ")";
  return error;
}

}  // namespace mayfly::spec
