#include "spec/json_problem.hpp"

#include <array>
#include <utility>

namespace mayfly::spec {
namespace {

// The first whose words are in what the library says.
constexpr std::array<std::pair<std::string_view, const char*>, 17> kWords = {{
    {"unexpected end of input", "it ends in the middle"},
    {"missing closing quote", "a string is not closed"},
    {"must be escaped", "a control character in a string must be escaped"},
    {"surrogate", "this escape is half of a pair"},
    {"followed by 4 hex digits", "four hexadecimal digits must follow \\u"},
    {"forbidden character after backslash", "there is no such escape"},
    {"ill-formed UTF-8", "this is not UTF-8"},
    {"number overflow", "this number is too large"},
    {"invalid number", "this is no number"},
    {"; expected end of input", "nothing may follow the value"},
    {"; expected string literal", "the name of a member must be here, in double quotes"},
    {"object separator", "a ':' must be here"},
    {"parsing object -", "a ',' or '}' must be here"},
    {"parsing array -", "a ',' or ']' must be here"},
    {"invalid literal", "no value begins so"},
    {"or a literal", "a value must be here"},
    {"invalid string", "a string goes wrong here"},
}};

// Without the part that repeats the text.
std::string own_words(std::string_view said) {
  const std::size_t quoted = said.find("; last read: ");
  if (quoted == said.npos) return std::string(said);
  const std::size_t expected = said.rfind("; expected ");
  const bool behind = expected != said.npos && expected > quoted;
  return std::string(said.substr(0, quoted)) + std::string(behind ? said.substr(expected) : "");
}

}  // namespace

std::optional<JsonProblem> unseen_problem(std::string_view text) {
  const std::size_t nul = text.find('\0');
  if (nul == text.npos) return std::nullopt;
  return JsonProblem{.offset = nul, .words = "a NUL byte has no place in JSON"};
}

std::string json_problem(std::string_view said) {
  const std::string words = own_words(said);
  for (const auto& [theirs, ours] : kWords) {
    if (words.find(theirs) != words.npos) return ours;
  }
  return "this is no JSON";
}

}  // namespace mayfly::spec
