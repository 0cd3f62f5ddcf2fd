#include "report/result.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "../supervise/support.hpp"

using namespace mayfly;
using namespace mayfly::test;
using nlohmann::json;
using supervise::Outcome;
using supervise::Reason;

namespace {

Outcome full_outcome() {
  Outcome outcome;
  outcome.reason = Reason::Cancelled;
  outcome.code = 143;
  outcome.signal = 15;
  outcome.started = true;
  outcome.clean = false;
  outcome.unclean_why = "why";
  outcome.usage.wall_ns = {.value = 18446744073709551615u, .why_not = {}};
  outcome.usage.user_ns = {.value = 5, .why_not = "partly"};
  outcome.usage.peak_pids = {.value = {}, .why_not = "no controller"};
  outcome.proof.init_reaped = true;
  outcome.proof.populated = {.value = 0, .why_not = {}};
  outcome.notes = {{.what = "pids", .enforcement = plan::Enforcement::Approximated, .how = "x"}};
  outcome.id = "abc";
  outcome.name = "build";
  outcome.labels = {{"job", "17"}};
  outcome.limits_hit = {"memory"};
  return outcome;
}

std::vector<std::string> keys(const json& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.items())
    names.push_back(key);
  return names;
}

}  // namespace

TEST_CASE("result: refused calls are listed where somebody asked for them") {
  Outcome outcome = full_outcome();
  outcome.denials.emplace();
  CHECK(json::parse(report::result_json(outcome))["denials"] == json::array());
  outcome.denials->push_back({.call = "mount", .number = 165, .error = EPERM, .count = 3});
  const json told = json::parse(report::result_json(outcome));
  CHECK(told["denials"] == json::parse(R"([{"kind": "syscall", "name": "mount", "number": 165,
                                            "answer": "EPERM", "count": 3}])"));
  CHECK(!told.contains("denials_why"));
}

TEST_CASE("result: the documented members, whatever the end") {
  Outcome failed;
  failed.error = Error{.kind = ErrorKind::HostUnsupported,
                       .sys_errno = EPERM,
                       .action = "make namespaces",
                       .call = "clone3()",
                       .hint = "see doctor"};
  const json full = json::parse(report::result_json(full_outcome()));
  const json bare = json::parse(report::result_json(failed));
  const std::vector<std::string> members = {
      "cancelled_by", "clean",  "code",       "denials",     "denials_why", "error",  "ev",
      "id",           "labels", "limits_hit", "name",        "notes",       "policy", "proof",
      "reason",       "signal", "started",    "unclean_why", "usage",       "v"};
  CHECK(keys(full) == members);
  CHECK(keys(bare) == members);

  CHECK(full["v"] == 1);
  CHECK(full["ev"] == "result");
  CHECK(full["reason"] == "cancelled");
  CHECK(full["code"] == 143);
  CHECK(full["signal"] == 15);
  CHECK(full["started"] == true);
  CHECK(full["clean"] == false);
  CHECK(full["unclean_why"] == "why");
  CHECK(full["error"].is_null());
  CHECK(full["usage"]["wall_ns"] == 18446744073709551615u);
  CHECK(full["usage"]["user_ns"] == 5);
  CHECK(full["usage"]["user_ns_why"] == "partly");
  CHECK(full["usage"]["peak_pids"].is_null());
  CHECK(full["usage"]["peak_pids_why"] == "no controller");
  CHECK(full["proof"] == json{{"init_reaped", true}, {"populated", 0}, {"layer_closed", false}});
  CHECK(full["notes"] ==
        json::array({{{"what", "pids"}, {"enforcement", "approximated"}, {"how", "x"}}}));
  CHECK(full["labels"] == json{{"job", "17"}});
  CHECK(full["policy"].is_null());
  const json named = json::parse(report::result_json(
      full_outcome(),
      report::Policies({{.name = "ci", .file = "/ci.toml"}, {.name = "default", .file = {}}})));
  CHECK(named["policy"]["file"] == "/ci.toml");
  CHECK(named["policy"]["extends"][0]["name"] == "default");

  CHECK(full["limits_hit"] == json::array({"memory"}));
  CHECK(bare["limits_hit"] == json::array());
  CHECK(bare["reason"] == "setup_failed");
  CHECK(bare["signal"].is_null());
  CHECK(bare["started"] == false);
  CHECK(bare["unclean_why"].is_null());
  CHECK(bare["error"] == json{{"kind", "host_unsupported"},
                              {"action", "make namespaces"},
                              {"call", "clone3()"},
                              {"errno", EPERM},
                              {"errno_name", "EPERM"},
                              {"hint", "see doctor"}});
  for (const char* usage : {"wall_ns", "user_ns", "system_ns", "peak_memory_bytes", "max_rss_bytes",
                            "peak_pids", "read_bytes", "written_bytes", "oom_kills", "pids_refused",
                            "cpu_throttled_ns", "layer_bytes", "layer_inodes"}) {
    CAPTURE(usage);
    CHECK(bare["usage"].at(usage).is_null());
  }
}

TEST_CASE("result: an error without an errno, names that are no UTF-8") {
  Outcome outcome;
  outcome.name = "\xff\n";
  outcome.labels = {{"\xc0", "\x01"}};
  outcome.error = usage_error("do \xfe");
  const std::string text = report::result_json(outcome);
  CHECK(text.find('\n') == std::string::npos);
  const json read = json::parse(text);
  CHECK(read["name"] == "\xEF\xBF\xBD\n");
  CHECK(read["labels"] == json{{"\xEF\xBF\xBD", "\x01"}});
  CHECK(read["error"]["action"] == "do \xEF\xBF\xBD");
  CHECK(read["error"]["errno"].is_null());
  CHECK(read["error"]["errno_name"].is_null());
}

TEST_CASE("result file: whole or not at all, and nothing is left beside it") {
  const TempDir dir;
  const std::string path = dir / "result.json";
  write_text(path, std::string(100'000, 'x'));
  const Result<report::ResultFile> file = report::ResultFile::open(path);
  REQUIRE(file);
  CHECK(read_text(path).size() == 100'000);  // until there is a result
  REQUIRE(file->write(full_outcome()));
  CHECK(read_text(path) == report::result_json(full_outcome()) + "\n");
  // A link is replaced, not written through.
  write_text(dir / "precious", "keep");
  ::unlink(path.c_str());
  REQUIRE(::symlink((dir / "precious").c_str(), path.c_str()) == 0);
  REQUIRE(file->write(full_outcome()));
  CHECK(read_text(dir / "precious") == "keep");
  CHECK(json::parse(read_text(path))["id"] == "abc");
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 2);
}

TEST_CASE("result file: one that does not fit leaves the old one, and nothing beside it") {
  const TempDir dir;
  const std::string path = dir / "result.json";
  write_text(path, "old");
  for (const rlim_t most : {rlim_t{0}, rlim_t{100}}) {
    CAPTURE(most);
    const std::string said = in_child([&] {
      const Result<report::ResultFile> file = report::ResultFile::open(path);
      const rlimit limit = {most, most};
      ::signal(SIGXFSZ, SIG_IGN);
      if (!file || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) return std::string("no test");
      const Result<void> written = file->write(full_outcome());
      return written ? std::string("written")
                     : describe(written.error()) + " | " + written.error().hint;
    });
    CHECK(said.find("cannot write the result to " + path + ": write(") == 0);
    CHECK(said.ends_with(" | raise the limit of file sizes, as with ulimit -f unlimited"));
    CHECK(read_text(path) == "old");
    CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 1);
  }
}

TEST_CASE("result file: what cannot be written is said before the start") {
  const TempDir dir;
  const auto checked = [](const std::string& path) {
    const Result<report::ResultFile> result = report::ResultFile::open(path);
    return result ? std::string("fine") : describe(result.error());
  };
  CHECK(checked(dir / "new") == "fine");
  CHECK(checked(dir.path()) == "cannot write the result to " + dir.path() + ": it is a directory");
  CHECK(checked(dir / "none/x") == "cannot write the result to " + (dir / "none/x") + ": open(" +
                                       (dir / "none") + "): No such file or directory (ENOENT)");
  CHECK(checked("relative") == "fine");
  CHECK(checked(dir / std::string(255, 'x')) == "fine");
  CHECK(checked(dir / std::string(256, 'x')).ends_with("its name is longer than 255 bytes"));
  const std::string not_regular = ": it is no regular file";
  CHECK(checked("/dev/null") == "cannot write the result to /dev/null" + not_regular);
  CHECK(checked("/dev/stdin") == "cannot write the result to /dev/stdin" + not_regular);
  REQUIRE(::mkfifo((dir / "fifo").c_str(), 0600) == 0);
  CHECK(checked(dir / "fifo") == "cannot write the result to " + (dir / "fifo") + not_regular);
  struct stat null {};
  CHECK(::stat("/dev/null", &null) == 0);
  CHECK(S_ISCHR(null.st_mode));
}

TEST_CASE("result file: it goes where its directory was at the start") {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "out").c_str(), 0755) == 0);
  REQUIRE(::mkdir((dir / "victim").c_str(), 0755) == 0);
  const Result<report::ResultFile> file = report::ResultFile::open(dir / "out/result.json");
  REQUIRE(file);
  REQUIRE(::rename((dir / "out").c_str(), (dir / "moved").c_str()) == 0);
  REQUIRE(::symlink("victim", (dir / "out").c_str()) == 0);
  REQUIRE(file->write(full_outcome()));
  CHECK(std::filesystem::is_empty(dir / "victim"));
  CHECK(std::filesystem::exists(dir / "moved/result.json"));
  // A directory that is gone takes nothing: the result is not written elsewhere.
  REQUIRE(std::filesystem::remove_all(dir / "moved") > 0);
  const Result<void> failed = file->write(full_outcome());
  REQUIRE_FALSE(failed);
  const std::string words = describe(failed.error());
  CHECK(words.find("cannot write the result to " + (dir / "out/result.json") + ": open(.mayfly-") ==
        0);
  CHECK(words.ends_with(".tmp, O_CREAT|O_EXCL): No such file or directory (ENOENT)"));
}

TEST_CASE("result file: those of one directory do not disturb each other, whatever their names") {
  const TempDir dir;
  Outcome nameless = full_outcome();
  nameless.id.clear();
  // Another's, or what the task has put there.
  write_text(dir / ".mayfly-new.tmp", "theirs");
  REQUIRE(::mkdir((dir / ".mayfly-abc.tmp").c_str(), 0755) == 0);
  for (const Outcome& outcome : {full_outcome(), nameless}) {
    const Result<report::ResultFile> file = report::ResultFile::open(dir / "result.json");
    REQUIRE(file);
    REQUIRE(file->write(outcome));
    CHECK(read_text(dir / "result.json") == report::result_json(outcome) + "\n");
  }
  CHECK(read_text(dir / ".mayfly-new.tmp") == "theirs");

  constexpr int kWriters = 4, kRounds = 200;
  std::array<std::atomic<int>, kWriters> wrong = {};
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      const std::string path = dir / std::to_string(i);
      Outcome own = nameless;
      own.labels = {{"writer", std::to_string(i)}};
      const Result<report::ResultFile> file = report::ResultFile::open(path);
      for (int round = 0; round < kRounds; ++round) {
        if (file && file->write(own) && read_text(path) == report::result_json(own) + "\n")
          continue;
        ++wrong.at(static_cast<std::size_t>(i));
      }
    });
  }
  for (std::thread& writer : writers)
    writer.join();
  for (const std::atomic<int>& count : wrong)
    CHECK(count == 0);
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 3 + kWriters);
}
