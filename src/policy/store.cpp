#include "policy/store.hpp"

#include <dirent.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "policy/groups.hpp"
#include "policy/stock.hpp"
#include "spec/arguments.hpp"

namespace mayfly::policy {
namespace {

using spec::Assignment;
using spec::Document;
using spec::Node;

constexpr std::size_t kMostLayers = 16;
constexpr std::string_view kEnding = ".toml";

bool is_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  return !name.empty() && name[0] != '.' && name.find_first_not_of(kAllowed) == name.npos;
}

const StockPolicy* find_stock(std::string_view name) {
  for (const StockPolicy& stock : stock_policies()) {
    if (name == stock.name) return &stock;
  }
  return nullptr;
}

Result<Layer> layer_of(const StockPolicy& stock) {
  Layer layer{
      .name = stock.name, .file = "stock policy " + std::string(stock.name), .text = stock.text};
  for (const StockValue& value : stock.values) {
    const spec::Setting* setting = spec::find_setting_named(value.setting);
    if (setting == nullptr)
      return internal_error("use the stock setting " + std::string(value.setting));
    layer.values.push_back({.setting = setting,
                            .value = value.value,
                            .at = {.line = value.line, .column = value.column}});
  }
  return layer;
}

// A request for a policy, and who makes it.
struct Wanted {
  std::string name;
  std::size_t first_directory = 0;  // of the store's; one behind the last: the stock ones only
  std::string beside;               // where a relative file name starts
  bool is_own_name = false;         // of what extends it
};

class Loader {
 public:
  Loader(const Store& store, std::optional<Mention> mention)
      : store_(store), mention_(std::move(mention)) {}

  Result<Policy> load(std::string_view name) {
    std::optional<Wanted> next =
        Wanted{.name = std::string(name), .first_directory = 0, .beside = store_.working_dir};
    while (next) {
      if (layers_.size() == kMostLayers) {
        return at_mention(usage_error("use the policy " + shown(name) + ": more than " +
                                          std::to_string(kMostLayers) + " extend each other",
                                      "put what they say into fewer files"));
      }
      Result<std::optional<Wanted>> read = read_one(*next);
      if (!read) return at_mention(std::move(read).error());
      next = *std::move(read);
    }
    std::reverse(layers_.begin(), layers_.end());
    return Policy{.layers = std::move(layers_)};
  }

 private:
  // Reads one policy; what it extends, or nothing.
  Result<std::optional<Wanted>> read_one(const Wanted& wanted) {
    if (wanted.name.find('/') != std::string::npos) {
      const std::string path = TRY(spec::absolute_path(wanted.beside, wanted.name));
      return read_file(path, 0);
    }
    if (!is_name(wanted.name)) {
      return usage_error("use the policy " + shown(wanted.name) + ": no policy is called so",
                         "a name has letters, digits, '_', '.' and '-'; a file has a '/' in it");
    }
    for (std::size_t i = wanted.first_directory; i < store_.directories.size(); ++i) {
      const std::string path = store_.directories[i] + "/" + wanted.name + std::string(kEnding);
      if (store_.has_file(path)) return read_file(path, i + 1);
    }
    const StockPolicy* stock = find_stock(wanted.name);
    if (stock == nullptr) return wanted.is_own_name ? no_base(wanted.name) : not_found(wanted.name);
    layers_.push_back(TRY(layer_of(*stock)));
    mention_.reset();
    if (*stock->extends == '\0') return std::optional<Wanted>();
    return std::optional(
        Wanted{.name = stock->extends, .first_directory = store_.directories.size(), .beside = {}});
  }

  // A policy that extends its own name means another one of it, which a later directory has.
  static Error no_base(const std::string& name) {
    return usage_error("use another policy " + shown(name) + ": there is none",
                       "a policy cannot extend itself: its own name means a policy of a later "
                       "directory, or a stock policy; leave extends out, or name another");
  }

  Error not_found(const std::string& name) const {
    std::vector<Found> all = list_policies(store_);
    std::vector<std::string_view> names;
    std::string list;
    for (const Found& found : all) {
      names.emplace_back(found.name);
      list += (list.empty() ? "there are " : ", ") + found.name;
    }
    const std::string_view meant = nearest(name, names);
    return usage_error("use the policy " + shown(name) + ": there is none of this name",
                       meant.empty()
                           ? list + "; a file is written with a '/', as in ./" + printable(name)
                           : "did you mean " + std::string(meant) + "?");
  }

  Result<std::optional<Wanted>> read_file(const std::string& path, std::size_t next_directory) {
    PolicyFile file = TRY(store_.read_file(path, store_.uid));
    if (!seen_.insert(file.identity).second) {
      return usage_error("use the policy " + shown(path) + ": it extends itself",
                         "one of the policies that extend each other must not");
    }
    mention_.reset();  // what is wrong from here on has a place in this file
    const Document document = TRY(spec::parse_document(path, file.text));
    Layer layer{.name = path,
                .file = path,
                .directory = path.substr(0, path.rfind('/') + 1),
                .text = std::move(file.text)};
    layer.values = TRY(spec::read_settings(document, spec::DocumentKind::Policy, {"extends"}));
    TRY(check_groups(document, layer.values));
    const Node* extends = TRY(document.get_if(document.root, "extends", Node::Kind::Text));
    const std::string base = layer.directory;
    layers_.push_back(std::move(layer));
    if (extends == nullptr) return std::optional<Wanted>();
    mention_ = Mention{.file = path, .at = extends->at};
    // Its own name is the next one of it; any other is looked for from the start.
    const std::string own = path.substr(base.size());
    const bool same = extends->text + std::string(kEnding) == own;
    return std::optional(Wanted{.name = extends->text,
                                .first_directory = same ? next_directory : 0,
                                .beside = base,
                                .is_own_name = same});
  }

  // What goes wrong with a policy is told with the place that names it, unless it has one of its
  // own.
  Error at_mention(Error error) const {
    if (!mention_) return error;
    const Document document{.name = mention_->file, .root = {}};
    return document.error(mention_->at, std::string(mention_->key) + ": " + describe(error),
                          error.hint);
  }

  const Store& store_;
  std::vector<Layer> layers_;
  std::set<std::pair<dev_t, ino_t>> seen_;
  std::optional<Mention> mention_;  // where the next one is named
};

void add_found(std::map<std::string, Found>& all, std::string name, std::string file) {
  const auto [at, added] = all.try_emplace(name, Found{.name = name, .file = file, .shadows = {}});
  if (!added && at->second.shadows.empty()) at->second.shadows = std::move(file);
}

}  // namespace

Result<void> check_groups(const Document& document, const std::vector<Assignment>& values) {
  std::set<std::string> named;
  std::vector<Group> groups;  // made where they are wanted: most documents name none
  for (const Assignment& value : values) {
    if (value.setting->document_key() != std::string_view("syscalls")) continue;
    if (groups.empty()) groups = all_groups();
    for (const std::string_view group : split(value.value, ',')) {
      const Result<void> known = check_group(groups, group);
      if (!known) {
        return document.error(value.at, "unknown group of system calls " + shown(group),
                              known.error().hint);
      }
      if (!named.emplace(group).second) {
        return document.error(value.at, "the group " + shown(group) + " is named twice",
                              "leave it out in one of the places");
      }
      if (value.setting->item_key() != std::string_view("allow")) continue;
      const Result<void> allowed = check_allowed(group);
      if (!allowed) {
        return document.error(value.at, describe(allowed.error()), allowed.error().hint);
      }
    }
  }
  return {};
}

Result<Policy> load_policy(const Store& store, std::string_view name,
                           std::optional<Mention> mention) {
  return Loader(store, std::move(mention)).load(name);
}

std::vector<spec::PolicySource> sources(const Policy& policy) {
  std::vector<spec::PolicySource> sources;
  for (auto layer = policy.layers.rbegin(); layer != policy.layers.rend(); ++layer) {
    if (layer->directory.empty()) {
      sources.push_back({.name = layer->name, .file = {}});
      continue;
    }
    std::string name = layer->file.substr(layer->directory.size());
    if (name.ends_with(kEnding)) name.resize(name.size() - kEnding.size());
    sources.push_back({.name = std::move(name), .file = layer->file});
  }
  return sources;
}

Result<void> apply_policy(spec::Draft& draft, const Policy& policy) {
  draft.policies = sources(policy);
  const std::string own = draft.working_dir;
  Result<void> applied;
  for (const Layer& layer : policy.layers) {
    draft.working_dir = layer.directory;
    const Document document{.name = layer.file, .root = {}};
    applied = spec::apply_settings(draft, document, layer.values);
    if (!applied) break;
  }
  draft.working_dir = own;
  return applied;
}

std::vector<Found> list_policies(const Store& store) {
  std::map<std::string, Found> all;
  for (const std::string& directory : store.directories) {
    DIR* open = ::opendir(directory.c_str());
    if (open == nullptr) continue;
    while (const dirent* entry = ::readdir(open)) {
      const std::string_view file = entry->d_name;
      if (!file.ends_with(kEnding)) continue;
      const std::string name(file.substr(0, file.size() - kEnding.size()));
      if (is_name(name)) add_found(all, name, directory + "/" + entry->d_name);
    }
    ::closedir(open);
  }
  for (const StockPolicy& stock : stock_policies())
    add_found(all, stock.name, "stock policy " + std::string(stock.name));
  std::vector<Found> list;
  for (auto& [name, found] : all)
    list.push_back(std::move(found));
  return list;
}

}  // namespace mayfly::policy
