// Where in a policy or spec a setting was said.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/setting.hpp"

namespace mayfly::spec {

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

Error with_place(const Draft& draft, Error error) {
  if (!error.about) return error;
  const Subject subject = *std::exchange(error.about, std::nullopt);
  const std::string place = subject.item ? origin_of(draft.origins, subject.key, *subject.item)
                                         : origin_of(draft.origins, subject.key);
  if (place.empty()) return error;
  std::string name = subject.key;
  const bool is_entry = name == "mounts" && subject.item && *subject.item < draft.spec.fs.size();
  if (is_entry) name = option_of(draft.spec.fs[*subject.item].kind).substr(2);
  // The place is instead of the option that one on the command line is told by.
  const std::string option = " (--" + name + ")";
  if (error.action.ends_with(option)) error.action.resize(error.action.size() - option.size());
  error.action += " (" + name + " at " + place + ")";
  return error;
}

}  // namespace mayfly::spec
