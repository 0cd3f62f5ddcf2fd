#include "spec/writer.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "spec/lists.hpp"
#include "spec/setting_table.hpp"

namespace mayfly::spec {
namespace {

// What can be done about a text that JSON cannot hold.
std::string remedy(std::string_view key, std::string_view item) {
  if (item == "file") return "copy it by a file: DST=@FILE";
  if (key == "mounts") return "rename what it names";
  return "leave it out here and give it to mayfly run itself, or encode it, as in base64";
}

Result<void> check_text(std::string_view key, std::string_view item, std::string_view text) {
  if (is_utf8(text)) return {};
  return usage_error(
      "print " + shown(text) + " as JSON (" + std::string(key) + "): it is not UTF-8",
      remedy(key, item));
}

void write_scalar(JsonWriter& json, const Setting& setting, const std::string& text) {
  const bool is_integer =
      setting.form == Form::Number && text.find_first_not_of("0123456789") == std::string::npos;
  if (setting.form == Form::Switch) {
    json.value(text == "true");
  } else if (is_integer) {
    json.value(std::stoull(text));
  } else {
    json.value(text);
  }
}

void write_list(JsonWriter& json, Form form, const std::vector<ListValue>& values) {
  form == Form::Pairs ? json.begin_object() : json.begin_array();
  for (const ListValue& value : values) {
    if (form == Form::Item) {
      json.begin_object().member(value.item, value.text).end_object();
    } else if (form == Form::Pairs) {
      json.member(value.item, value.text);
    } else {
      json.value(value.text);
    }
  }
  form == Form::Pairs ? json.end_object() : json.end_array();
}

// The arrays of a table, in the order of the settings that make it up.
void write_table(JsonWriter& json, std::string_view key, const std::vector<ListValue>& values) {
  json.begin_object();
  for (const Setting& setting : kSettings) {
    if (key != setting.document_key()) continue;
    json.key(setting.item_key()).begin_array();
    for (const ListValue& value : values) {
      if (value.item == setting.item_key()) json.value(value.text);
    }
    json.end_array();
  }
  json.end_object();
}

Result<std::optional<std::string>> list_text(const Setting& setting, const Spec& spec) {
  for (const ListKey& list : list_keys()) {
    if (std::string_view(list.key) != setting.document_key()) continue;
    const std::vector<ListValue> values = list.values(spec);
    if (values.empty()) return std::optional<std::string>();
    for (const ListValue& value : values) {
      TRY(check_text(list.key, value.item, value.item));
      TRY(check_text(list.key, value.item, value.text));
    }
    JsonWriter json;
    if (setting.form == Form::Strings && setting.item != nullptr) {
      write_table(json, list.key, values);
    } else {
      write_list(json, list.form, values);
    }
    return std::optional(json.take());
  }
  return internal_error("write " + std::string(setting.name) + ": it is in no list");
}

}  // namespace

Result<std::string> write_json(const Spec& spec) {
  std::string out = "{";
  std::vector<std::string_view> written;
  for (const Setting& setting : kSettings) {
    const std::string_view key = setting.document_key();
    if (std::find(written.begin(), written.end(), key) != written.end()) continue;
    written.push_back(key);
    std::optional<std::string> value;
    if (setting.text == nullptr) {
      value = TRY(list_text(setting, spec));
    } else if (const std::optional<std::string> text = setting.text(spec)) {
      TRY(check_text(key, {}, *text));
      JsonWriter json;
      write_scalar(json, setting, *text);
      value = json.take();
    }
    if (!value) continue;
    out += (out.size() == 1 ? "\n  \"" : ",\n  \"") + std::string(key) + "\": " + *value;
  }
  return with_controls_escaped(out) + "\n}\n";
}

}  // namespace mayfly::spec
