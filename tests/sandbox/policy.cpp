// --policy, groups of system calls and foreign seccomp profiles, from the command line.
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

const std::string kTrace = "import ctypes,os\nl=ctypes.CDLL(None,use_errno=True)\n";

// What a call from python3 answers: "0" or the number of the errno.
Ended call_in(const Words& options, const std::string& call) {
  Words all = options;
  all.insert(all.begin(), {"--project", "none"});
  return run(
      all, {"python3", "-c", kTrace + "r=l." + call + "\nprint(ctypes.get_errno() if r<0 else 0)"});
}

}  // namespace

TEST_CASE("each stock policy runs a program, and strict is strict") {
  rlimit host{};
  REQUIRE(::getrlimit(RLIMIT_NPROC, &host) == 0);
  for (const std::string name : {"default", "strict", "build"}) {
    CAPTURE(name);
    const Ended ended = sh("umask; echo x > in-project && echo written; ulimit -p", {"-p", name});
    CAPTURE(ended.err);
    CHECK(lines(ended.out).at(0) == (name == "strict" ? "0077" : "0022"));
    CHECK(contains(ended.out, "written") == (name != "strict"));
    const rlim_t processes = name == "strict" ? 64 : name == "build" ? 8192 : 512;
    CHECK(lines(ended.out).back() == std::to_string(std::min(processes, host.rlim_max)));
  }
  CHECK(call_in({}, "syscall(101, 0, 0, 0, 0)").out == "0\n");  // ptrace
  CHECK(call_in({"-p", "strict"}, "syscall(101, 0, 0, 0, 0)").out == "1\n");
}

TEST_CASE("the result and explain name the policy, its file and what it extends") {
  const nlohmann::json none = sh("true").result["policy"];
  CHECK(none["name"] == "default");
  CHECK(none["file"].is_null());
  CHECK(none["extends"].empty());
  const Run work({}, {"true"});
  const std::string file = work.project().file("ci.toml", "extends = 'strict'\n");
  const Ended ended = sh("true", {"-p", file, "--project", "none"});
  const nlohmann::json& policy = ended.result["policy"];
  CHECK(policy["name"] == "ci");
  CHECK(policy["file"] == file);
  REQUIRE(policy["extends"].size() == 2);
  CHECK(policy["extends"][0]["name"] == "strict");
  CHECK(policy["extends"][1]["name"] == "default");
  CHECK(policy["extends"][1]["file"].is_null());
  const Finished text =
      Command({mayfly_path(), "explain", "run", "-p", file, "--layer", "auto", "true"}).run();
  CHECK(contains(text.out, "policy       ci (" + file +
                               "), which extends strict (stock), which extends default (stock)\n"));
  CHECK(sh("true", {"-p", "no-such"}).result["policy"].is_null());
}

TEST_CASE("the command line beats the spec, which beats the policy") {
  const Run work({}, {});
  work.project().file("p.toml", "extends = 'strict'\nhostname = 'p'\numask = '027'\npids = 99\n");
  work.project().file("s.toml", "policy = './p.toml'\nhostname = 's'\numask = '007'\n");
  Command command({mayfly_path(), "run", "--spec", "s.toml", "--umask", "0", "--", "sh", "-c",
                   "hostname; umask; ulimit -p"});
  command.cwd(work.project().path());
  const Finished finished = command.run();
  CAPTURE(finished.err);
  CHECK(finished.out == "s\n0000\n99\n");
}

TEST_CASE("a policy of one's own is found by its name, unless others could have written it") {
  const TempDir config;
  const std::string file = config.file("mayfly/policies/mine.toml", "hostname = 'of-mine'\n");
  const auto found = [&](mode_t mode) {
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    const Run work({"--policy", "mine"}, {"hostname"});
    Command command = work.command;
    command.env("XDG_CONFIG_HOME", config.path());
    return work.end(command.start());
  };
  const auto is_refused = [](const Ended& ended) {
    return ended.code == 125 && ended.out.empty() && ended.result["started"] == false &&
           contains(ended.err, "trust the policy") && contains(ended.err, "hint: chmod go-w");
  };
  const Ended own = found(0644);
  CAPTURE(own.err);
  CHECK(own.out == "of-mine\n");
  // An ordinary user's group is mostly the user.
  CHECK((is_root() ? is_refused(found(0664)) : found(0664).out == "of-mine\n"));
  CHECK(is_refused(found(0646)));
  if (!is_root()) return;
  REQUIRE(::chmod(file.c_str(), 0644) == 0);
  REQUIRE(::chown(file.c_str(), 61234, 0) == 0);
  const Ended foreign = found(0644);
  CHECK(foreign.code == 125);
  CHECK(contains(foreign.err, "belongs to user 61234"));
}

TEST_CASE("groups are denied and allowed one by one, also those that init needs") {
  const std::string mbind = "syscall(239, 0, 0, 0, 0, 0)";  // get_mempolicy
  CHECK(call_in({}, mbind).out == "0\n");
  CHECK(call_in({"--deny-syscalls", "numa"}, mbind).out == "38\n");
  CHECK(call_in({"--deny-syscalls", "numa", "--allow-syscalls", "numa"}, mbind).out == "0\n");
  const std::string keyctl = "syscall(250, 0, -3, 0)";
  CHECK(call_in({}, keyctl).out == "38\n");
  CHECK(call_in({"--allow-syscalls", "keyrings"}, keyctl).out != "38\n");
  // init polls, so it cannot work under this itself.
  const Ended ended = call_in({"--deny-syscalls", "polling"}, "poll(0, 0, 0)");
  CAPTURE(ended.err);
  CHECK(ended.out == "1\n");
  CHECK(contains(sh("true", {"--deny-syscalls", "procss"}).err, "did you mean process?"));
  CHECK(contains(sh("true", {"--deny-syscalls", "process"}).err, "no command could run"));
  CHECK(contains(sh("true", {"--allow-syscalls", "other_processes"}).err, "cripple"));
}

TEST_CASE("a foreign profile comes on top of the groups") {
  const Run work({}, {});
  const std::string profile = work.project().file(
      "p.json",
      R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getppid", "keyctl"],)"
      R"("action": "SCMP_ACT_ERRNO", "errnoRet": 95}]})");
  CHECK(call_in({"--seccomp", profile}, "syscall(110)").out == "95\n");
  CHECK(call_in({"--seccomp", profile}, "syscall(39)").out == "0\n");
  const std::string all = work.project().file("all.json", R"({"defaultAction": "SCMP_ACT_ALLOW"})");
  CHECK(call_in({"--seccomp", all}, "syscall(321, 0, 0, 0)").out == "1\n");  // bpf
  const Ended ended =
      sh("echo hello; ls / > /dev/null", {"--seccomp", "/usr/share/containers/seccomp.json"});
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(ended.out == "hello\n");
}

// The groups' filter, which init could not work under, and the profile: the one that was loaded
// last answers where both refuse.
TEST_CASE("a foreign profile and groups that only the command can be refused hold both") {
  const Run work({}, {});
  const std::string profile = work.project().file(
      "p.json",
      R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getppid"], "action": )"
      R"("SCMP_ACT_ERRNO", "errnoRet": 95}, {"names": ["select"], "action": "SCMP_ACT_ERRNO",)"
      R"("errnoRet": 96}]})");
  const Words both = {"--deny-syscalls", "polling", "--seccomp", profile};
  CHECK(call_in(both, "poll(0, 0, 0)").out == "1\n");
  CHECK(call_in(both, "syscall(110)").out == "95\n");
  CHECK(call_in({"--deny-syscalls", "polling"}, "syscall(23, 0, 0, 0, 0, 0)").out == "1\n");
  CHECK(call_in(both, "syscall(23, 0, 0, 0, 0, 0)").out == "96\n");
  const Words told = {"--deny-syscalls", "polling", "--seccomp", profile, "--explain-denials"};
  CHECK(call_in(told, "poll(0, 0, 0)").out == "1\n");
  CHECK(call_in(told, "syscall(110)").out == "95\n");
  CHECK(call_in(told, "syscall(23, 0, 0, 0, 0, 0)").out == "96\n");
}

TEST_CASE("mayfly policy lists, shows, checks and compares") {
  const Run work({}, {});
  const std::string file = work.project().file("ci.toml", "extends = 'strict'\nttl = '5s'\n");
  const std::string bad = work.project().file("bad.toml", "ttl = 'x'\n");
  const auto policy = [](const Words& words) {
    Words all = {mayfly_path(), "policy"};
    all.insert(all.end(), words.begin(), words.end());
    return Command(all).run();
  };
  CHECK(contains(policy({"list"}).out, "strict   stock policy strict\n"));
  CHECK(nlohmann::json::parse(policy({"list", "--json"}).out)["policies"].size() >= 3);
  const Finished shown = policy({"show", file});
  CAPTURE(shown.out);
  CHECK(contains(shown.out, "ttl = \"5s\""));
  CHECK(contains(shown.out, file + ":2:7\n"));
  CHECK(contains(shown.out, "# stock policy strict:"));
  CHECK(nlohmann::json::parse(policy({"--json", "show", file}).out)["chain"].size() == 3);
  CHECK(policy({"check", file}).code == 0);
  const Finished wrong = policy({"check", bad});
  CHECK(wrong.code == 125);
  CHECK(contains(wrong.err, "bad.toml:1:7: ttl: cannot read x as a duration"));
  const Finished told = policy({"--json", "check", bad});
  CHECK(told.code == 125);
  CHECK(told.err == wrong.err);
  const auto verdict = nlohmann::json::parse(told.out);
  CHECK(verdict["good"] == false);
  CHECK(contains(wrong.err, "mayfly: " + verdict.value("error", "?") +
                                "\nhint: " + verdict.value("hint", "?")));
  const auto good = nlohmann::json::parse(policy({"--json", "check", file}).out);
  CHECK(good["good"] == true);
  CHECK(good["error"].is_null());
  const std::string fatal = work.project().file(
      "fatal.toml", "seccomp-action = 'kill'\n[syscalls]\ndeny = ['polling']\n");
  const Finished unheard = policy({"check", fatal});
  CHECK(unheard.code == 125);
  CHECK(contains(unheard.err, "which the sandbox's init needs"));
  CHECK(contains(unheard.err, "(syscalls at " + fatal + ":3:9)"));
  CHECK(policy({"diff", "strict", "strict"}).code == 0);
  const Finished different = policy({"diff", "strict", file});
  CHECK(different.code == 1);
  CHECK(different.out == "- ttl = \"10m\"\n+ ttl = \"5s\"\n");
  CHECK(contains(policy({"shwo", "x"}).err, "did you mean show?"));
  CHECK(contains(policy({"list", "x"}).err, "it takes no name, and one was given"));
  CHECK(contains(policy({"diff", "x"}).err, "it takes two names, and one was given"));
  CHECK(contains(policy({"show"}).err, "it takes one name, and none was given"));
}

TEST_CASE("a group that every program needs is missed aloud") {
  for (const std::string group : {"file_io", "memory", "file_tree"}) {
    CAPTURE(group);
    const Ended ended = sh("true", {"--deny-syscalls", group});
    CHECK(ended.code != 0);
    CHECK(contains(ended.err, "mayfly: the group " + group + " is refused, which nearly every"));
    bool noted = false;
    for (const auto& note : ended.result["notes"])
      noted = noted || contains(note.value("how", ""), "the group " + group);
    CHECK(noted);
    const Run work({}, {});
    const std::string file =
        work.project().file("p.toml", "[syscalls]\ndeny = ['" + group + "']\n");
    const Finished checked = Command({mayfly_path(), "policy", "check", file}).run();
    CHECK(checked.code == 0);
    CHECK(contains(checked.out, "warning: the group " + group));
    const Finished json = Command({mayfly_path(), "policy", "--json", "check", file}).run();
    CHECK(nlohmann::json::parse(json.out)["warnings"].size() == 1);
  }
  CHECK(!contains(sh("false", {"--deny-syscalls", "ipc"}).err, "nearly every"));
}

TEST_CASE("the list of policies marks one that is broken") {
  const Run work({}, {});
  const std::string config = work.project().path();
  std::filesystem::create_directories(config + "/mayfly/policies");
  work.project().file("mayfly/policies/default.toml", "tll = 1\n");
  const auto list = [&](Words words) {
    Command command(std::move(words));
    command.env("XDG_CONFIG_HOME", config);
    return command.run();
  };
  const Finished text = list({mayfly_path(), "policy", "list"});
  CHECK(text.code == 0);
  CHECK(contains(text.out, "default.toml, before stock policy default (BROKEN: cannot read "));
  const auto json = nlohmann::json::parse(list({mayfly_path(), "policy", "--json", "list"}).out);
  for (const auto& policy : json["policies"])
    CHECK(policy["error"].is_null() == (policy["name"] != "default"));
  for (const auto& policy : json["policies"])
    CHECK(policy["file"].is_null() == (policy["name"] != "default"));
}

TEST_CASE("what cannot be printed is a failure: standard output is closed, or full") {
  for (const std::string words :
       {"policy show strict", "policy list", "features", "version", "--version", "--help", "help",
        "run --help", "run --print-spec true", "explain run true", "policy --json list", "doctor",
        "gc --dry-run"}) {
    CAPTURE(words);
    for (const std::string redirection : {">&-", ">/dev/full"}) {
      const std::string line =
          "mayfly() { " + mayfly_path() + " \"$@\" " + redirection + "; }; mayfly ";
      CHECK(Command({"sh", "-c", line + words}).run().code == 125);
    }
  }
}
