#include "spec/reader.hpp"

#include <utility>

#include "base/text.hpp"
#include "spec/choices.hpp"
#include "spec/document_hint.hpp"
#include "spec/setting_table.hpp"

namespace mayfly::spec {
namespace {

const Setting* find_setting(std::string_view key) {
  for (const Setting& setting : kSettings) {
    if (key == setting.document_key()) return &setting;
  }
  return nullptr;
}

const Setting* find_setting(std::string_view key, std::string_view item) {
  for (const Setting& setting : kSettings) {
    if (key == setting.document_key() && item == setting.item_key()) return &setting;
  }
  return nullptr;
}

// "ttl", "mounts.ro", "syscalls.deny", "labels.job".
std::string whole_key(const Setting& setting, std::string_view pair = {}) {
  std::string key = setting.document_key();
  if (setting.form == Form::Item || setting.item != nullptr)
    key += "." + std::string(setting.item_key());
  if (setting.form == Form::Pairs) key += "." + shown(pair);
  return key;
}

// What validate() says of a draft, which need not have a command yet.
Result<void> check(const Draft& draft) {
  if (!draft.spec.argv.empty()) return validate(draft.spec);
  Spec with_command = draft.spec;
  with_command.argv = {"true"};
  return validate(with_command);
}

// What to do about a number, true or false where a text must be: quotes, if the setting takes them.
std::string quotes_for(const Setting& setting, const Node& value, const std::string& argument) {
  const std::string in_quotes = remedy(Node::Kind::Text, value);
  if (value.text.empty()) return in_quotes;
  Draft draft;
  draft.working_dir = "/";
  draft.read_file = [](const std::string&) { return Result<std::string>(std::string()); };
  Result<void> good = setting.apply(draft, argument);
  if (good) good = check(draft);
  return good || good.error().hint.empty() ? in_quotes : in_document(good.error().hint);
}

class SettingsReader {
 public:
  SettingsReader(const Document& document, DocumentKind kind) : document_(document), kind_(kind) {}

  Result<std::vector<Assignment>> read(std::initializer_list<std::string_view> beside) {
    for (const Member& member : document_.root.members) {
      bool known = false;
      for (const std::string_view key : beside)
        known = known || member.key == key;
      if (!known) TRY(read_member(member, beside));
    }
    return std::move(assignments_);
  }

 private:
  Result<void> read_member(const Member& member, std::initializer_list<std::string_view> beside) {
    const Setting* setting = find_setting(member.key);
    if (setting == nullptr) return unknown(member, beside);
    TRY(check_place(*setting, member.at));
    const Node& value = member.value;
    switch (setting->form) {
      case Form::Text:
        return take(*setting, value, Node::Kind::Text);
      case Form::Number:
        return take(*setting, value, is_number(value) ? value.kind : Node::Kind::Text);
      case Form::Switch:
        return take(*setting, value, Node::Kind::Boolean);
      case Form::Item:
        return read_items(member);
      case Form::Strings:
        return setting->item == nullptr ? read_strings(*setting, value) : read_table(member);
      case Form::Pairs:
        return read_pairs(*setting, value);
    }
    return {};
  }

  Error unknown(const Member& member, std::initializer_list<std::string_view> beside) const {
    std::vector<std::string_view> names(beside);
    for (const Setting& setting : kSettings) {
      names.emplace_back(setting.document_key());
      // "memory_limit" and "ro" are meant well: an option's name leads to its key.
      if (member.key == setting.name) {
        return document_.error(member.at, "unknown key " + shown(member.key), belongs_in(setting));
      }
    }
    const std::string elsewhere = belongs_elsewhere(member.key);
    if (!elsewhere.empty()) {
      return document_.error(member.at, shown(member.key) + " has no place in a " + kind_name(),
                             elsewhere);
    }
    const std::string_view meant = nearest(member.key, names);
    return document_.error(member.at, "unknown key " + shown(member.key),
                           meant.empty() ? "the keys are the long options of mayfly run; "
                                           "mayfly-policy(5) lists them"
                                         : "did you mean " + std::string(meant) + "?");
  }

  [[nodiscard]] std::string kind_name() const {
    return kind_ == DocumentKind::Spec ? "spec" : "policy";
  }

  // What to do with a word of the command line, or of the other kind of document, that is no
  // setting; empty: it is none.
  [[nodiscard]] std::string belongs_elsewhere(std::string_view key) const {
    const bool spec = kind_ == DocumentKind::Spec;
    if (key == "extends" && spec) return "policy = \"NAME\" names the policy that it starts from";
    if (key == "policy" && !spec) return "extends = \"NAME\" names the policy that it starts from";
    for (const std::string_view option : {"spec", "print-spec", "help", "json", "version"}) {
      if (key == option) return "it is for the command line alone";
    }
    return {};
  }

  static std::string belongs_in(const Setting& setting) {
    const std::string key = setting.document_key();
    const std::string item = setting.item_key();
    switch (setting.form) {
      case Form::Item:
        return "write it " + key + " = [ { " + item + " = \"…\" } ]";
      case Form::Strings:
        return "write it " + key + " = { " + item + " = [\"…\"] }";
      default:
        return "write it " + key + " = { name = \"value\" }";
    }
  }

  Result<void> check_place(const Setting& setting, Position at) const {
    if (kind_ == DocumentKind::Spec || setting.where == Where::Anywhere) return {};
    return document_.error(at, std::string(setting.document_key()) + " has no place in a policy",
                           "it belongs to one run: give it on the command line or in a spec");
  }

  // It is read as the same text is.
  static bool is_number(const Node& value) {
    return value.kind == Node::Kind::Integer || value.kind == Node::Kind::Fraction;
  }

  static std::string form_of(const Setting& setting) {
    const std::string_view argument = setting.argument != nullptr ? setting.argument : "";
    switch (setting.form) {
      case Form::Number:
        return argument == "DURATION" ? "a duration" : argument == "SIZE" ? "a size" : "a number";
      case Form::Switch:
        return "true or false";
      default:
        return "a string";
    }
  }

  static std::string remedy_for(const Setting& setting, const Node& value, Node::Kind kind) {
    if (setting.form == Form::Text) {
      const Choices choices = choices_of(setting.argument);
      if (choices.words.empty()) return quotes_for(setting, value, value.text);
      return choices.are_all ? "write it " + in_words(choices)
                             : "write one text, in quotes: " + std::string(setting.argument);
    }
    if (kind == Node::Kind::Text && setting.form != Form::Number)
      return quotes_for(setting, value, value.text);
    if (setting.form != Form::Number) return remedy(kind, value);
    const std::string_view argument = setting.argument;
    if (argument == "DURATION") return "write it as \"10m\", or as a number of seconds";
    return argument == "SIZE" ? "write it as \"64M\", or as a number of bytes"
                              : "write a number, without quotes";
  }

  Result<void> take(const Setting& setting, const Node& value, Node::Kind kind) {
    if (value.kind == kind) {
      assignments_.push_back({.setting = &setting, .value = value.text, .at = value.at});
      return {};
    }
    return document_.error(
        value.at, whole_key(setting) + " must be " + form_of(setting) + " and is " + kind_of(value),
        remedy_for(setting, value, kind));
  }

  Result<void> check_kind(const std::string& key, const Node& value, Node::Kind kind) const {
    if (value.kind == kind) return {};
    return document_.error(value.at,
                           key + " must be " +
                               (kind == Node::Kind::Array ? "an array" : "a table") + " and is " +
                               kind_of(value),
                           remedy(kind, value));
  }

  Result<const Setting*> item_of(const std::string& key, const Member& member) const {
    if (const Setting* setting = find_setting(key, member.key)) return setting;
    std::vector<std::string_view> names;
    std::string list;
    for (const Setting& setting : kSettings) {
      if (key != setting.document_key()) continue;
      names.emplace_back(setting.item_key());
      list += (list.empty() ? "one of " : ", ") + std::string(setting.item_key());
    }
    const std::string_view meant = nearest(member.key, names);
    return document_.error(member.at, "unknown key " + shown(member.key) + " in " + key,
                           meant.empty() ? list : "did you mean " + std::string(meant) + "?");
  }

  Result<void> read_items(const Member& list) {
    TRY(check_kind(list.key, list.value, Node::Kind::Array));
    for (const Node& item : list.value.items) {
      if (item.kind != Node::Kind::Table || item.members.size() != 1) {
        return document_.error(item.at, "each item of " + list.key + " must be a table of one key",
                               "its order counts: " + list.key + " = [ { … }, { … } ]");
      }
      const Setting& setting = *TRY(item_of(list.key, item.members[0]));
      TRY(check_place(setting, item.members[0].at));
      TRY(take(setting, item.members[0].value, Node::Kind::Text));
    }
    return {};
  }

  Result<void> read_strings(const Setting& setting, const Node& value) {
    TRY(check_kind(whole_key(setting), value, Node::Kind::Array));
    for (const Node& item : value.items)
      TRY(take(setting, item, Node::Kind::Text));
    return {};
  }

  Result<void> read_table(const Member& table) {
    TRY(check_kind(table.key, table.value, Node::Kind::Table));
    for (const Member& member : table.value.members) {
      const Setting& setting = *TRY(item_of(table.key, member));
      TRY(read_strings(setting, member.value));
    }
    return {};
  }

  Result<void> read_pairs(const Setting& setting, const Node& value) {
    TRY(check_kind(setting.document_key(), value, Node::Kind::Table));
    for (const Member& member : value.members) {
      if (member.key.find('=') != std::string::npos) {
        return document_.error(
            member.at,
            "the name " + shown(member.key) + " in " + setting.document_key() + " has a '='",
            "choose a name without it");
      }
      if (member.value.kind != Node::Kind::Text && member.value.kind != Node::Kind::Integer) {
        return document_.error(
            member.value.at,
            whole_key(setting, member.key) + " must be a string or a whole number and is " +
                kind_of(member.value),
            quotes_for(setting, member.value, member.key + "=" + member.value.text));
      }
      assignments_.push_back({.setting = &setting,
                              .value = member.key + "=" + member.value.text,
                              .at = member.value.at});
    }
    return {};
  }

  const Document& document_;
  const DocumentKind kind_;
  std::vector<Assignment> assignments_;
};

Error placed(const Document& document, const Assignment& assignment, const Error& error) {
  const Setting& setting = *assignment.setting;
  const std::string key = whole_key(setting, pair_name(setting, assignment.value));
  return document.error(assignment.at, key + ": " + describe(error), in_document(error.hint));
}

}  // namespace

const Setting* find_setting_named(std::string_view name) {
  for (const Setting& setting : kSettings) {
    if (name == setting.name) return &setting;
  }
  return nullptr;
}

Result<std::vector<Assignment>> read_settings(const Document& document, DocumentKind kind,
                                              std::initializer_list<std::string_view> beside) {
  return SettingsReader(document, kind).read(beside);
}

Result<void> apply_settings(Draft& draft, const Document& document,
                            std::span<const Assignment> assignments) {
  const Draft before = draft;
  for (const Assignment& assignment : assignments) {
    const Result<void> applied = assignment.setting->apply(draft, assignment.value);
    if (!applied) return placed(document, assignment, applied.error());
    draft.origins.push_back(
        {.setting = assignment.setting,
         .place = document.place(assignment.at),
         .name = std::string(pair_name(*assignment.setting, assignment.value))});
  }
  const Result<void> good = check(draft);
  if (good || !check(before)) return {};
  // Once more, to see which value it is. Validation takes the whole spec, so that the place of a
  // long list's fault is found by halving.
  std::size_t low = 0, high = assignments.size();
  while (low + 1 < high) {
    const std::size_t middle = (low + high) / 2;
    Draft half = before;
    for (const Assignment& assignment : assignments.first(middle))
      TRY(assignment.setting->apply(half, assignment.value));
    (check(half) ? low : high) = middle;
  }
  return placed(document, assignments[high - 1], good.error());
}

}  // namespace mayfly::spec
