#include "harness/sandbox.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <sstream>

namespace harness {
namespace {

std::string build_path() {
  const char* moved = std::getenv("MAYFLY_BUILD");
  return moved == nullptr ? MAYFLY_BUILD_DIR : moved;
}

Words run_words(const std::string& result_file, const Words& options, const Words& task,
                const Words& around) {
  Words words = around;
  for (const std::string& word : {mayfly_path(), std::string("run"), std::string("--result"),
                                  result_file, std::string("--ro"), targets_path() + ":/targets"}) {
    words.push_back(word);
  }
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), task.begin(), task.end());
  return words;
}

}  // namespace

std::string mayfly_path() {
  return build_path() + "/mayfly";
}
std::string targets_path() {
  return build_path() + "/tests/targets";
}

std::string Ended::reason() const {
  return result.is_object() ? result.value("reason", std::string()) : "(no result)";
}

bool Ended::started() const {
  return result.is_object() && result.value("started", false);
}

std::string Ended::id() const {
  REQUIRE_MESSAGE(result.is_object(), "no result; stderr: " << err);
  return result.value("id", std::string());
}

Run::Run(const Words& options, const Words& task, const Words& around)
    : command(run_words(result_file(), options, task, around)) {
  command.cwd(project_.path());
}

Ended Run::end(Process process) const {
  Ended ended;
  static_cast<Finished&>(ended) = process.finish();
  if (exists(result_file())) ended.result = nlohmann::json::parse(read_file(result_file()));
  return ended;
}

Ended run(const Words& options, const Words& task) {
  return Run(options, task).end();
}

Ended sh(const std::string& script, const Words& options, const Words& args) {
  Words task = {"/bin/sh", "-c", script, "sh"};
  task.insert(task.end(), args.begin(), args.end());
  return run(options, task);
}

std::string new_marker() {
  std::random_device random;
  return "marker-" + std::to_string(::getpid()) + "-" + std::to_string(random()) + "-end";
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    found.push_back(line);
  return found;
}

std::string value_of(const std::string& text, const std::string& key) {
  for (const std::string& line : lines(text))
    if (line.starts_with(key + " ")) return line.substr(key.size() + 1);
  FAIL("no line \"" << key << " …\" in: " << text);
  return {};
}

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words)
    text += text.empty() ? word : " " + word;
  return text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace harness
