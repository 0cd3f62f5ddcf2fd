// fuzz_replay {NAME PATH...}...: gives the fuzzer of that name each file, and each in a directory,
// once. Without libFuzzer: ctest replays the corpus so.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fuzz.hpp"

namespace {

using namespace mayfly;

struct Fuzzer {
  std::string_view name;
  void (*run)(std::string_view input);
};
constexpr Fuzzer kFuzzers[] = {
    {"policy", fuzz::policy},
    {"spec", fuzz::spec},
    {"profile", fuzz::profile},
    {"control", fuzz::control},
};

const Fuzzer* find_fuzzer(std::string_view name) {
  for (const Fuzzer& fuzzer : kFuzzers) {
    if (fuzzer.name == name) return &fuzzer;
  }
  return nullptr;
}

// Of the input that is at work; written by a signal handler.
std::string current;

void name_input(int) {
  std::fprintf(stderr, "fuzz_replay: it was %s\n", current.c_str());
}

std::vector<std::string> files_of(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path))
    files.push_back(entry.path());
  return files;
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    std::fprintf(stderr, "fuzz_replay: cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGABRT, name_input);
  const Fuzzer* fuzzer = nullptr;
  std::size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (const Fuzzer* named = find_fuzzer(word)) {
      fuzzer = named;
      continue;
    }
    if (fuzzer == nullptr) {
      std::fprintf(stderr, "fuzz_replay: no fuzzer is called %s\n", word.c_str());
      return 2;
    }
    for (const std::string& file : files_of(word)) {
      current = file;
      fuzzer->run(contents(file));
      ++count;
    }
  }
  std::printf("%zu inputs, all as they must be\n", count);
  return count == 0 ? 2 : 0;
}
