#include "cli/docs_schema.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "cli/named_file.hpp"
#include "cli/roff.hpp"
#include "spec/choices.hpp"
#include "spec/document.hpp"
#include "spec/setting_table.hpp"
#include "supervise/outcome.hpp"

namespace mayfly::cli {
namespace {

using spec::Form;
using spec::Node;
using spec::Setting;

std::string_view number_kind(std::string_view argument) {
  if (argument == "DURATION") return "#/$defs/duration";
  return argument == "SIZE" ? "#/$defs/size" : "#/$defs/number";
}

JsonWriter& write_text_type(JsonWriter& json, const Setting& setting) {
  const spec::Choices choices = spec::choices_of(setting.argument);
  if (!choices.are_all) {
    json.member("type", "string");
    return setting.pattern == nullptr ? json : json.member("pattern", setting.pattern);
  }
  json.key("enum").begin_array();
  for (const std::string_view word : choices.words)
    json.value(word);
  return json.end_array();
}

// "SRC[:DST]: show SRC read-only at DST", for a text with a form of its own.
std::string words_of(const Setting& setting) {
  const bool has_form = setting.form != Form::Number && setting.argument != nullptr &&
                        !spec::choices_of(setting.argument).are_all;
  return (has_form ? std::string(setting.argument) + ": " : "") + setting.help;
}

JsonWriter& write_strings(JsonWriter& json, const Setting& setting) {
  json.begin_object().member("description", words_of(setting)).member("type", "array");
  return json.key("items").begin_object().member("type", "string").end_object().end_object();
}

// A key that several settings share: a list of tables with one of them each, or a table of lists.
void write_shared(JsonWriter& json, const Setting& first) {
  const bool is_list = first.form == Form::Item;
  json.begin_object();
  if (is_list) {
    json.member("description", "a list in which the order counts; each item has one of these keys");
    json.member("type", "array").key("items").begin_object();
  }
  json.member("type", "object").member("additionalProperties", false);
  if (is_list) json.member("minProperties", 1).member("maxProperties", 1);
  json.key("properties").begin_object();
  for (const Setting& setting : spec::kSettings) {
    if (std::string_view(setting.document_key()) != first.document_key()) continue;
    json.key(setting.item_key());
    if (is_list) {
      json.begin_object().member("description", words_of(setting)).member("type", "string");
      json.end_object();
    } else {
      write_strings(json, setting);
    }
  }
  json.end_object().end_object();
  if (is_list) json.end_object();
}

void write_property(JsonWriter& json, const Setting& setting) {
  if (setting.form == Form::Item || setting.item != nullptr) return write_shared(json, setting);
  if (setting.form == Form::Strings) {
    write_strings(json, setting);
    return;
  }
  json.begin_object().member("description", words_of(setting));
  if (setting.form == Form::Switch) json.member("type", "boolean");
  if (setting.form == Form::Number) json.member("$ref", number_kind(setting.argument));
  if (setting.form == Form::Text) write_text_type(json, setting);
  if (setting.form == Form::Pairs) {
    json.member("type", "object");
    if (setting.most != 0) json.member("maxProperties", setting.most);
    json.key("propertyNames").begin_object();
    json.member("pattern", setting.pattern != nullptr ? setting.pattern : "^[^=]+$").end_object();
    json.key("additionalProperties").begin_object();
    json.key("type").begin_array().value("string").value("integer").end_array();
    if (setting.most_characters != 0) json.member("maxLength", setting.most_characters);
    json.end_object();
  }
  json.end_object();
}

std::string text_of(const Node& node, std::string_view key) {
  const Node* found = node.find(key);
  return found != nullptr ? found->text : std::string();
}

// Schemas that refer to each other, as mdoc(7).
class Page {
 public:
  explicit Page(std::string directory) : directory_(std::move(directory)) {}

  Result<std::string> text(const std::string& file) {
    const Node* root = TRY(load(file));
    const Node* kinds = root->find("oneOf");
    if (kinds == nullptr) return members(file, *root);
    std::string out = ".Bl -tag -width Ds\n";
    for (const Node& kind : kinds->items) {
      if (kind.find("title") == nullptr) continue;  // it has a page or section of its own
      out += ".It Cm " + roff(text_of(kind, "title")) + "\n" + words_of(kind);
      out += TRY(members(file, kind));
    }
    return out + ".El\n";
  }

 private:
  // A schema and the file that its references start from.
  struct Place {
    std::string file;
    const Node* node = nullptr;
  };

  Result<const Node*> load(const std::string& file) {
    const auto known = documents_.find(file);
    if (known != documents_.end()) return &known->second.root;
    const std::string text = TRY(read_named_file(directory_ + "/" + file));
    spec::Document document = TRY(spec::parse_document(file, text, spec::Syntax::Json));
    return &documents_.emplace(file, std::move(document)).first->second.root;
  }

  Result<Place> resolve(const std::string& file, const Node& node) {
    const std::string reference = text_of(node, "$ref");
    if (reference.empty()) return Place{file, &node};
    const std::vector<std::string_view> parts = split(reference, '#');
    const std::string target = parts[0].empty() ? file : std::string(parts[0]);
    const Node* found = TRY(load(target));
    for (const std::string_view key : split(parts.size() > 1 ? parts[1] : "", '/')) {
      if (!key.empty() && found != nullptr) found = found->find(key);
    }
    if (found == nullptr) return usage_error("resolve " + reference + ": there is no such schema");
    return Place{target, found};
  }

  static std::string words_of(const Node& node) {
    std::string text = text_of(node, "description");
    if (text.empty()) return {};
    if (text.back() != '.') text += '.';
    return roff_paragraphs(text);
  }

  static std::string listed(const std::vector<Node>& items) {
    std::string text;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text += i + 1 == items.size() ? " or " : ", ";
      text += items[i].text;
    }
    return text;
  }

  // "integer or null", "one of cow, rw or ro", "array of string".
  Result<std::string> type_of(const Place& place) {
    const Node& node = *place.node;
    if (const Node* fixed = node.find("const")) return "always " + fixed->text;
    if (const Node* words = node.find("enum")) {
      return (words->items.size() > 1 ? "one of " : "") + listed(words->items);
    }
    std::string text = text_of(node, "type");
    if (const Node* types = node.find("type"); types != nullptr && !types->items.empty()) {
      text = listed(types->items);
    }
    if (const Node* items = node.find("items")) {
      const Place item = TRY(resolve(place.file, *items));
      text.insert(text.find("array") + 5, " of " + TRY(type_of(item)));
    }
    if (const std::string title = text_of(node, "title"); !title.empty()) text += ": " + title;
    return text;
  }

  static std::string unit_of(std::string_view name) {
    if (name.ends_with("_ns")) return ", nanoseconds";
    return name.ends_with("_bytes") ? ", bytes" : "";
  }

  static bool is_required(const Node& schema, std::string_view name) {
    const Node* required = schema.find("required");
    if (required == nullptr) return false;
    return std::any_of(required->items.begin(), required->items.end(),
                       [&](const Node& item) { return item.text == name; });
  }

  // What is below a member: that of an object, of the items of an array, of each value of a table.
  Result<std::string> below(const Place& place) {
    if (place.node->find("properties") != nullptr) return members(place.file, *place.node);
    for (const char* key : {"items", "additionalProperties"}) {
      const Node* node = place.node->find(key);
      if (node == nullptr || node->kind != Node::Kind::Table) continue;
      const Place inner = TRY(resolve(place.file, *node));
      if (inner.node->find("properties") != nullptr) return members(inner.file, *inner.node);
      if (std::string_view(key) == "additionalProperties") {
        return "Each of its members: " + roff(TRY(type_of(inner))) + ".\n";
      }
    }
    return std::string();
  }

  Result<std::string> members(const std::string& file, const Node& schema) {
    std::string out = ".Bl -tag -width Ds\n";
    const Node* properties = schema.find("properties");
    if (properties == nullptr) return usage_error("describe " + file + ": it has no properties");
    // Where nothing is required, it goes without saying.
    const bool tells = schema.find("required") != nullptr;
    for (const spec::Member& member : properties->members) {
      const Place place = TRY(resolve(file, member.value));
      const bool optional = tells && !is_required(schema, member.key);
      out +=
          ".It Va " + roff(member.key) + " Pq " +
          roff(TRY(type_of(place)) + unit_of(member.key) + (optional ? ", not always there" : ""));
      out += "\n" + words_of(member.value) + TRY(below(place));
    }
    if (const Node* patterns = schema.find("patternProperties")) {
      for (const spec::Member& member : patterns->members) {
        const std::string ending = member.key.substr(0, member.key.size() - 1);
        out += ".It Va ..." + roff(ending) + " Pq " + TRY(type_of({file, &member.value})) + "\n";
        out += words_of(member.value);
      }
    }
    return out + ".El\n";
  }

  std::string directory_;
  std::map<std::string, spec::Document> documents_;
};

}  // namespace

std::string schema_settings() {
  std::string out;
  std::vector<std::string_view> written;
  for (const Setting& setting : spec::kSettings) {
    const std::string_view key = setting.document_key();
    if (std::find(written.begin(), written.end(), key) != written.end()) continue;
    written.push_back(key);
    JsonWriter json;
    write_property(json, setting);
    out += (out.empty() ? "    \"" : ",\n    \"") + std::string(key) + "\": " + json.take();
  }
  return out + "\n";
}

std::string schema_reasons() {
  std::string out;
  for (int i = 0; i <= static_cast<int>(supervise::Reason::SupervisorLost); ++i) {
    const std::string_view name = supervise::reason_name(static_cast<supervise::Reason>(i));
    out += std::string(out.empty() ? "        \"" : ",\n        \"") + std::string(name) + "\"";
  }
  return out + "\n";
}

Result<std::string> man_members(const std::string& directory, const std::string& file) {
  return Page(directory).text(file);
}

}  // namespace mayfly::cli
