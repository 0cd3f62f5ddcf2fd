// Run: one `mayfly run` with its result, started in an empty project directory of its own.
//
// The probe and its kin are at /targets inside. The result comes from --result, so that what a task
// prints can never be taken for it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/process.hpp"
#include "harness/temp.hpp"

namespace harness {

using Words = std::vector<std::string>;

// The build tree's programs, or their copies where the user of this run can reach them.
[[nodiscard]] std::string mayfly_path();
[[nodiscard]] std::string targets_path();
inline const std::string kProbe = "/targets/probe";

struct Ended : Finished {
  nlohmann::json result;  // null if none was written

  [[nodiscard]] std::string reason() const;
  [[nodiscard]] std::string id() const;
  // The command was executed: where it was not, nothing that it did not do proves anything.
  [[nodiscard]] bool started() const;
};

class Run {
 public:
  // around: words before `mayfly`, a program that makes a world for it and executes the rest.
  Run(const Words& options, const Words& task, const Words& around = {});

  [[nodiscard]] const TempDir& project() const { return project_; }
  [[nodiscard]] std::string result_file() const { return reports_ / "result.json"; }
  [[nodiscard]] Ended end() const { return end(command.start()); }
  [[nodiscard]] Ended end(Process process) const;

 private:
  TempDir project_, reports_;

 public:
  // The outer command: environment, descriptors, deadline of `mayfly` itself. After the
  // directories: its words name them.
  Command command;
};

// Runs the task to its end.
[[nodiscard]] Ended run(const Words& options, const Words& task);
// A script as the task, by the sandbox's /bin/sh; $0 is `sh`, "$@" are the words after it.
[[nodiscard]] Ended sh(const std::string& script, const Words& options = {},
                       const Words& args = {});

// A word that no other process has in its command line.
[[nodiscard]] std::string new_marker();

[[nodiscard]] std::vector<std::string> lines(const std::string& text);
// The value of the line "key value", as the probe prints them; the test fails if there is none.
[[nodiscard]] std::string value_of(const std::string& text, const std::string& key);
// "a b c", for messages.
[[nodiscard]] std::string joined(const Words& words);
[[nodiscard]] bool contains(const std::string& text, const std::string& part);

}  // namespace harness
