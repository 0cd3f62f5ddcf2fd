// What is read as a spec is written as a text that is read as the same spec.
#include "fuzz.hpp"
#include "spec/reader.hpp"
#include "spec/writer.hpp"

namespace mayfly::fuzz {
namespace {

using namespace mayfly::spec;

// Where a spec names a file of variables, it is itself that file.
std::string_view env_file;

Result<Spec> read(const Document& document) {
  const std::vector<Assignment> values =
      TRY(read_settings(document, DocumentKind::Spec, {"policy"}));
  Draft draft;
  draft.working_dir = "/dir";
  draft.read_file = [](const std::string&) -> Result<std::string> { return std::string(env_file); };
  TRY(apply_settings(draft, document, values));
  return draft.spec;
}

std::string written(const Spec& spec) {
  const Result<std::string> text = write_json(spec);
  require(text.operator bool(), "what was read can be written",
          text ? std::string() : describe(text.error()));
  return *text;
}

}  // namespace

void spec(std::string_view input) {
  const Text here[] = {{.name = "input", .text = input}};
  env_file = input;
  const Result<Document> document = parse_document("input", input);
  if (!document) return check_placed_message(document.error(), here);
  check_document(*document, input);
  const Result<Spec> first = read(*document);
  if (!first) return check_placed_message(first.error(), here);

  const std::string text = written(*first);
  const Result<Document> again = parse_document("written", text);
  require(again.operator bool(), "what was written is a document",
          again ? std::string() : describe(again.error()));
  const Result<Spec> second = read(*again);
  require(second.operator bool(), "what was written is read",
          second ? std::string() : describe(second.error()));
  require(*second == *first, "what was written is read as the same", text);
  require(written(*second) == text, "the same is written alike", text);
}

}  // namespace mayfly::fuzz
