#include "cli/read_request.hpp"

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/named_file.hpp"
#include "cli/store.hpp"
#include "policy/store.hpp"
#include "spec/arguments.hpp"
#include "spec/reader.hpp"

namespace mayfly::cli {
namespace {

// A guess that may say yes for a word of the command, which then costs a second reading.
bool may_name_documents(std::span<char* const> args) {
  for (const std::string_view word : args) {
    if (word == "--") return false;
    const bool is_short = word.size() > 1 && word[0] == '-' && word[1] != '-';
    if (is_short && word.find('p') != word.npos) return true;
    if (word.starts_with("--policy") || word.starts_with("--spec")) return true;
  }
  return false;
}

Result<spec::Document> read_spec_document(const std::string& file) {
  if (file == "-") {
    const std::string text = TRY(read_standard_input());
    return spec::parse_document("the spec on standard input", text);
  }
  Result<std::string> text = read_named_file(file);
  if (!text) {
    text.error().action += " (--spec)";
    return std::move(text).error();
  }
  return spec::parse_document(file, *text);
}

// The spec of the command line, as read.
struct SpecFile {
  spec::Document document;
  std::string directory;  // where its relative paths start
  std::vector<spec::Assignment> values;
  std::string policy;  // empty: it names none
  spec::Position policy_at = {};
};

Result<SpecFile> read_spec_file(const std::string& file, const std::string& working_dir) {
  SpecFile read{.document = TRY(read_spec_document(file)), .directory = working_dir};
  // A pipe, as of a process substitution, is in no directory.
  struct stat info {};
  if (file != "-" && ::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
    const std::string path = TRY(spec::absolute_path(working_dir, file));
    read.directory = path.substr(0, path.rfind('/') + 1);
  }
  read.values = TRY(spec::read_settings(read.document, spec::DocumentKind::Spec, {"policy"}));
  TRY(policy::check_groups(read.document, read.values));
  const spec::Node* policy =
      TRY(read.document.get_if(read.document.root, "policy", spec::Node::Kind::Text));
  if (policy != nullptr) {
    read.policy = policy->text;
    read.policy_at = policy->at;
  }
  return read;
}

Result<void> apply_named_policy(const std::string& name, const std::string& beside,
                                std::optional<policy::Mention> mention, Request& request) {
  policy::Store store = caller_store(request);
  store.working_dir = beside;
  const policy::Policy policy = TRY(policy::load_policy(store, name, std::move(mention)));
  return policy::apply_policy(request, policy);
}

// The policy that the command line names, or else the spec, then the spec.
Result<void> load_documents(const Request& choices, Request& request) {
  std::optional<SpecFile> file;
  if (!choices.spec_file.empty()) {
    file = TRY(read_spec_file(choices.spec_file, request.working_dir));
  }
  if (!choices.policy.empty()) {
    TRY(apply_named_policy(choices.policy, request.working_dir, {}, request));
  } else if (file && !file->policy.empty()) {
    TRY(apply_named_policy(
        file->policy, file->directory,
        policy::Mention{.file = file->document.name, .at = file->policy_at, .key = "policy"},
        request));
  }
  if (!file) return {};
  const std::string own = std::exchange(request.working_dir, file->directory);
  Result<void> applied = spec::apply_settings(request, file->document, file->values);
  request.working_dir = own;
  return applied;
}

}  // namespace

Result<void> read_request(const Verb& verb, std::span<char* const> args, Request& request) {
  if (!may_name_documents(args)) return parse(verb, args, request);
  Request choices;
  Result<void> loaded = parse(verb, args, choices, Take::Choices);
  if (loaded && !choices.help) loaded = load_documents(choices, request);
  Result<void> parsed = parse(verb, args, request);
  return loaded ? std::move(parsed) : std::move(loaded);
}

}  // namespace mayfly::cli
