#include "spec/json_problem.hpp"

#include <string>

namespace mayfly::spec {
namespace {

struct Words {
  std::string_view theirs;
  JsonProblem ours;
};

// The first whose words are in what the library says.
constexpr Words kWords[] = {
    {"unexpected end of input",
     {"it ends in the middle", "a document is one object in braces: { \"name\": … }"}},
    {"missing closing quote", {"a string is not closed", "end it with a double quote"}},
    {"must be escaped",
     {"a control character in a string must be escaped",
      "close the string with a double quote, or write \\n for the end of a line"}},
    {"surrogate", {"this escape is half of a pair", "write both halves, or the character itself"}},
    {"followed by 4 hex digits",
     {"four hexadecimal digits must follow \\u",
      "write it like \\u00e9, or write the character itself"}},
    {"forbidden character after backslash",
     {"there is no such escape", "write a backslash twice: \\\\"}},
    {"ill-formed UTF-8", {"this is not UTF-8", "save the file in UTF-8"}},
    {"number overflow", {"this number is too large", "write a smaller one", true}},
    {"invalid number", {"this is no number", "write it like 64 or 0.5", true}},
    {"; expected end of input",
     {"nothing may follow the value", "leave out what follows the last brace"}},
    {"; expected string literal",
     {"the name of a member must be here, in double quotes",
      "write \"name\": value, with no comma after the last one"}},
    {"object separator", {"a ':' must be here", "write \"name\": value"}},
    {"parsing object -",
     {"a ',' or '}' must be here", "put a comma between members, and a brace behind the last one",
      true}},
    {"parsing array -",
     {"a ',' or ']' must be here", "put a comma between items, and a bracket behind the last one",
      true}},
    {"invalid literal",
     {"no value begins so", "true, false and null have no quotes; a text has double ones", true}},
    {"or a literal",
     {"a value must be here",
      "write a text in double quotes, a number, true, false, a list or an object"}},
    {"invalid string", {"a string goes wrong here", "a text is in double quotes, on one line"}},
};

// Without the part that repeats the text.
std::string own_words(std::string_view said) {
  const std::size_t quoted = said.find("; last read: ");
  if (quoted == said.npos) return std::string(said);
  const std::size_t expected = said.rfind("; expected ");
  const bool behind = expected != said.npos && expected > quoted;
  return std::string(said.substr(0, quoted)) + std::string(behind ? said.substr(expected) : "");
}

}  // namespace

std::optional<std::size_t> nul_in_json(std::string_view text) {
  const std::size_t at = text.find('\0');
  return at == text.npos ? std::nullopt : std::optional(at);
}

JsonProblem json_problem(std::string_view said) {
  const std::string words = own_words(said);
  for (const auto& [theirs, ours] : kWords) {
    if (words.find(theirs) != words.npos) return ours;
  }
  return {"this is no JSON", "a document is one object in braces: { \"name\": … }"};
}

}  // namespace mayfly::spec
