#include "policy/effective.hpp"

#include <algorithm>
#include <string_view>

#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "spec/lists.hpp"
#include "spec/setting_table.hpp"

namespace mayfly::policy {
namespace {

using spec::Assignment;
using spec::Form;
using spec::Setting;

std::string origin_of(const Layer& layer, const Assignment& assignment) {
  return layer.file + ":" + std::to_string(assignment.at.line) + ":" +
         std::to_string(assignment.at.column);
}

const spec::ListKey* list_of(const Setting& setting) {
  for (const spec::ListKey& list : spec::list_keys()) {
    if (std::string_view(list.key) == setting.document_key()) return &list;
  }
  return nullptr;
}

class Collector {
 public:
  explicit Collector(const spec::Draft& draft) : draft_(draft) {}

  Result<std::vector<Value>> collect(const Policy& policy) {
    for (const Setting& setting : spec::kSettings) {
      if (setting.where != spec::Where::Anywhere) continue;
      if (setting.text != nullptr) {
        add_scalar(policy, setting);
      } else if (is_first_of_list(setting)) {
        TRY(add_list(policy, setting));
      }
    }
    return std::move(values_);
  }

 private:
  void add_scalar(const Policy& policy, const Setting& setting) {
    const std::optional<std::string> text = setting.text(draft_.spec);
    if (!text) return;
    Value value{.setting = &setting, .name = {}, .text = *text, .origin = {}};
    for (const Layer& layer : policy.layers) {
      for (const Assignment& assignment : layer.values) {
        if (assignment.setting == &setting) value.origin = origin_of(layer, assignment);
      }
    }
    values_.push_back(std::move(value));
  }

  static bool is_first_of_list(const Setting& setting) {
    for (const Setting& other : spec::kSettings) {
      if (std::string_view(other.document_key()) != setting.document_key()) continue;
      return &other == &setting;
    }
    return false;
  }

  // Each assignment by itself, so that it is known which of them made which value.
  Result<void> add_list(const Policy& policy, const Setting& first) {
    const spec::ListKey* list = list_of(first);
    if (list == nullptr) return {};
    const std::size_t begin = values_.size();
    for (const Layer& layer : policy.layers) {
      for (const Assignment& assignment : layer.values) {
        if (std::string_view(assignment.setting->document_key()) != list->key) continue;
        spec::Draft alone;
        alone.working_dir = layer.directory;
        alone.read_file = draft_.read_file;
        TRY(assignment.setting->apply(alone, assignment.value));
        for (const spec::ListValue& one : list->values(alone.spec))
          add_value(*assignment.setting, *list, one, origin_of(layer, assignment), begin);
      }
    }
    // The two arrays of a table, each in one piece.
    if (first.form == Form::Strings) {
      std::stable_sort(values_.begin() + static_cast<std::ptrdiff_t>(begin), values_.end(),
                       [](const Value& a, const Value& b) { return a.setting < b.setting; });
    }
    return {};
  }

  // Pairs and groups of system calls are there once: a later one takes the place of an earlier.
  void add_value(const Setting& setting, const spec::ListKey& list, const spec::ListValue& one,
                 std::string origin, std::size_t begin) {
    const bool is_pair = list.form == Form::Pairs;
    Value value{.setting = item_setting(setting, one),
                .name = is_pair ? one.item : "",
                .text = one.text,
                .origin = std::move(origin)};
    const auto is_same = [&](const Value& other) {
      return is_pair ? other.name == value.name : other.text == value.text;
    };
    if (list.form != Form::Item) {
      const auto from = values_.begin() + static_cast<std::ptrdiff_t>(begin);
      values_.erase(std::remove_if(from, values_.end(), is_same), values_.end());
    }
    values_.push_back(std::move(value));
  }

  // A file of variables gives items that are set one by one.
  static const Setting* item_setting(const Setting& setting, const spec::ListValue& one) {
    for (const Setting& other : spec::kSettings) {
      const bool same_list = std::string_view(other.document_key()) == setting.document_key();
      if (same_list && one.item == other.item_key()) return &other;
    }
    return &setting;
  }

  const spec::Draft& draft_;
  std::vector<Value> values_;
};

std::string quoted(std::string_view text) {
  JsonWriter json;
  json.value(text);
  return with_controls_escaped(json.take());
}

// A file's name may hold the end of a line, and so of a comment.
std::string in_comment(const std::string& text) {
  const std::string safe = quoted(text);
  return safe == '"' + text + '"' ? text : safe;
}

}  // namespace

bool Value::says_the_same(const Value& other) const {
  return setting == other.setting && name == other.name && text == other.text;
}

Result<std::vector<Value>> effective(spec::Draft& draft, const Policy& policy) {
  TRY(apply_policy(draft, policy));
  return Collector(draft).collect(policy);
}

std::string array_of(const Value& value) {
  const Setting& setting = *value.setting;
  if (setting.text != nullptr || setting.form == Form::Pairs) return {};
  const bool in_table = setting.form == Form::Strings && setting.item != nullptr;
  return setting.document_key() + (in_table ? "." + std::string(setting.item) : std::string());
}

std::string toml_of(const Value& value) {
  const Setting& setting = *value.setting;
  const std::string text = quoted(value.text);
  const bool bare = setting.form == Form::Switch ||
                    (setting.form == Form::Number &&
                     value.text.find_first_not_of("0123456789") == std::string::npos);
  if (setting.form == Form::Item)
    return "{ " + std::string(setting.item_key()) + " = " + text + " }";
  if (setting.form == Form::Strings) return text;
  if (setting.form == Form::Pairs) {
    return std::string(setting.document_key()) + "." + quoted(value.name) + " = " + text;
  }
  return std::string(setting.document_key()) + " = " + (bare ? value.text : text);
}

std::string write_toml(const Policy& policy, const std::vector<Value>& values) {
  std::string text = "#";
  for (const Layer& layer : policy.layers)
    text += (text.size() == 1 ? " " : ", then ") + in_comment(layer.file);
  text += "\n";
  std::string list;
  const auto end_list = [&] {
    if (!list.empty()) text += "]\n";
    list.clear();
  };
  for (const Value& value : values) {
    const std::string array = array_of(value);
    if (array != list) end_list();
    if (list.empty() && !array.empty()) {
      list = array;
      text += list + " = [\n";
    }
    const std::string line = list.empty() ? toml_of(value) : "  " + toml_of(value) + ",";
    text += line;
    if (!value.origin.empty()) {
      text += std::string(line.size() < 38 ? 38 - line.size() : 1, ' ') + "  # " +
              in_comment(value.origin);
    }
    text += "\n";
  }
  end_list();
  return text;
}

}  // namespace mayfly::policy
