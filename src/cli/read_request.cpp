#include "cli/read_request.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/named_file.hpp"
#include "spec/arguments.hpp"
#include "spec/reader.hpp"

namespace mayfly::cli {
namespace {

// A guess that may say yes for a word of the command, which then costs a second reading.
bool may_name_documents(std::span<char* const> args) {
  for (const std::string_view word : args) {
    if (word == "--") return false;
    if (word.starts_with("--policy") || word.starts_with("--spec")) return true;
  }
  return false;
}

Result<spec::Document> read_spec_document(const std::string& file) {
  if (file == "-") {
    const std::string text = TRY(read_standard_input());
    return spec::parse_document("the spec on standard input", text);
  }
  const std::string text = TRY(read_named_file(file));
  return spec::parse_document(file, text);
}

Result<void> apply_document(const spec::Document& document, std::string directory,
                            Request& request) {
  const std::vector<spec::Assignment> assignments =
      TRY(spec::read_settings(document, spec::DocumentKind::Spec, {}));
  const std::string own = std::exchange(request.working_dir, std::move(directory));
  Result<void> applied = spec::apply_settings(request, document, assignments);
  request.working_dir = own;
  return applied;
}

Result<void> load_documents(const Request& choices, Request& request) {
  if (choices.spec_file.empty()) return {};
  const spec::Document document = TRY(read_spec_document(choices.spec_file));
  std::string directory = request.working_dir;
  if (choices.spec_file != "-") {
    const std::string path = TRY(spec::absolute_path(directory, choices.spec_file));
    directory = path.substr(0, path.rfind('/') + 1);
  }
  return apply_document(document, std::move(directory), request);
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
