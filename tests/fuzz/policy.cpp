// What a policy is shown as is a policy that comes to the same.
#include <array>
#include <optional>

#include "fuzz.hpp"
#include "policy/effective.hpp"
#include "policy/programs.hpp"
#include "policy/store.hpp"

namespace mayfly::fuzz {
namespace {

using namespace mayfly::policy;

constexpr std::string_view kBetween = "\n#--\n";

// The files that there are. The last is called as a stock policy, which it may extend.
constexpr std::size_t kFiles = 3;
struct Files {
  const char* paths[kFiles] = {"/policies/first.toml", "/policies/second.toml",
                               "/policies/build.toml"};
  std::array<std::optional<std::string_view>, kFiles> texts = {};
} files;

std::optional<std::size_t> find_file(const std::string& path) {
  for (std::size_t i = 0; i < kFiles; ++i) {
    if (path == files.paths[i] && files.texts[i]) return i;
  }
  return std::nullopt;
}

Result<PolicyFile> read_file(const std::string& path, uid_t) {
  const std::optional<std::size_t> file = find_file(path);
  if (!file) return usage_error("read the policy: there is none");
  return PolicyFile{.text = std::string(*files.texts[*file]), .identity = {0, *file}};
}

struct Shown {
  std::vector<Value> values;
  std::string text;
  spec::Spec spec;
};

Result<Shown> show(std::string_view name) {
  const Store store{
      .working_dir = "/",
      .directories = {"/policies"},
      .uid = 0,
      .read_file = read_file,
      .has_file = [](const std::string& path) { return find_file(path).has_value(); }};
  const Policy policy = TRY(load_policy(store, name));
  spec::Draft draft;
  draft.read_file = [](const std::string&) -> Result<std::string> { return std::string("A=b c"); };
  Shown shown;
  shown.values = TRY(effective(draft, policy));
  shown.text = write_toml(policy, shown.values);
  shown.spec = draft.spec;
  return shown;
}

void split_into_files(std::string_view input) {
  files.texts = {};
  for (std::size_t i = 0; i < kFiles; ++i) {
    const std::size_t end = i + 1 < kFiles ? input.find(kBetween) : input.npos;
    files.texts[i] = input.substr(0, end);
    if (end == input.npos) return;
    input.remove_prefix(end + kBetween.size());
  }
}

void check_refusal(const Error& error) {
  std::vector<Text> texts;
  for (std::size_t i = 0; i < kFiles; ++i) {
    if (files.texts[i]) texts.push_back({.name = files.paths[i], .text = *files.texts[i]});
  }
  check_placed_message(error, texts);
}

void check_same(const Shown& first, const Shown& second) {
  require(second.values.size() == first.values.size(), "as much is shown again", first.text);
  for (std::size_t i = 0; i < first.values.size(); ++i) {
    require(second.values[i].says_the_same(first.values[i]), "what is shown says the same",
            toml_of(first.values[i]));
  }
  require(second.spec == first.spec, "what is shown is the same policy", first.text);
}

}  // namespace

void policy(std::string_view input) {
  split_into_files(input);
  const Result<Shown> first = show("/policies/first.toml");
  if (!first) return check_refusal(first.error());
  files.texts = {first->text};
  const Result<Shown> second = show("/policies/first.toml");
  require(second.operator bool(), "what is shown is a policy",
          second ? std::string() : describe(second.error()));
  check_same(*first, *second);
  const Result<Programs> programs = programs_for(first->spec.syscalls, Stock::Default);
  if (!programs) return check_message(programs.error());
  require(programs->init.code.size() <= BPF_MAXINSNS, "a policy's program can be loaded");
}

}  // namespace mayfly::fuzz
