// What was asked for and cannot be had: 125, the reason and the remedy, and the task never starts.
#include <doctest/doctest.h>

#include "harness/host.hpp"
#include "harness/sandbox.hpp"
#include "harness/suite.hpp"

using namespace harness;

namespace {

struct Refused {
  Words options;
  const char* names;  // what the message must name
  const char* error;  // … and the errno, where there is one
};

}  // namespace

TEST_CASE("a source that is missing, a target that cannot be: 125 and the path is named") {
  const TempDir host;
  const std::string file = host.file("file", "x");
  const Refused cases[] = {
      {{"--ro", "/no/such/source:/x"}, "/no/such/source", "ENOENT"},
      {{"--rw", "/no/such/source:/x"}, "/no/such/source", "ENOENT"},
      {{"--cow", "/no/such/source:/x"}, "/no/such/source", "ENOENT"},
      {{"--ro", host.path() + ":relative"}, "relative", ""},
      {{"--ro", host.path() + ":/a/../b/.."}, "..", ""},
      {{"--ro", host.path() + ":/etc/passwd/below"}, "/etc/passwd", "ENOTDIR"},
      {{"--file", "/copy=@/no/such/source"}, "/no/such/source", "ENOENT"},
      {{"--stdin", "/no/such/input"}, "/no/such/input", "ENOENT"},
      {{"--root", "/no/such/root"}, "/no/such/root", "ENOENT"},
      {{"--root", file}, file.c_str(), "ENOTDIR"},
      {{"--user", "no-such-user"}, "no-such-user", ""},
      {{"--device", "/no/such/device"}, "/no/such/device", "ENOENT"},
      {{"--status-fd", "77"}, "77", "EBADF"},
  };
  const std::size_t mounts = mount_count();
  for (const Refused& each : cases) {
    CAPTURE(joined(each.options));
    const Ended ended = sh("echo started", each.options);
    CAPTURE(ended.err);
    CHECK(ended.code == 125);
    CHECK(ended.out.empty());
    CHECK(ended.err.starts_with("mayfly: cannot "));
    CHECK(contains(ended.err, each.names));
    CHECK(contains(ended.err, each.error));
    CHECK_FALSE(contains(ended.err, "\n\n"));
  }
  CHECK(mount_count() == mounts);
}

TEST_CASE("a set-up failure leaves a result: setup_failed, not started, the error in parts") {
  const Ended ended = sh("echo started", {"--ro", "/no/such/source:/x"});
  CHECK(ended.code == 125);
  CHECK(ended.reason() == "setup_failed");
  CHECK_FALSE(ended.result.value("started", true));
  CHECK(contains(ended.result.at("error").dump(), "/no/such/source"));
  CHECK(contains(ended.result.at("error").dump(), "ENOENT"));
}

TEST_CASE("contradictions are refused by name") {
  const Words contradictions[] = {
      {"--project", "sideways"}, {"--unsafe-ids=guest"}, {"--user", "1:2:3"},   {"--umask", "9"},
      {"--label", "no-value"},   {"--name", "a/b"},      {"--hostname", "a b"},
  };
  for (const Words& options : contradictions) {
    CAPTURE(options[0]);
    const Ended ended = sh("echo started", options);
    CAPTURE(ended.err);
    CHECK(ended.code == 125);
    CHECK(ended.out.empty());
    CHECK(contains(ended.err, options.back().substr(options.back().find('=') + 1)));
  }
}

TEST_CASE("no command: 125 and how to write one") {
  const Finished finished = Command({mayfly_path(), "run"}).run();
  CHECK(finished.code == 125);
  CHECK(finished.out.empty());
  CHECK(contains(finished.err, "mayfly run"));
}

TEST_CASE("what could not be measured says why, wherever a start fails") {
  // Before the plan, in it, while the root is built, before init has a task, at the task's execve.
  const Words starts[] = {{"--ro", "/no/such/source:/x"},
                          {"--user", "no-such-user"},
                          {"--dir", "/etc/passwd/made"},
                          {"--chdir", "/no/such/directory"},
                          {}};
  for (const Words& options : starts) {
    CAPTURE(joined(options));
    const Ended ended = run(options, {options.empty() ? "/no/such/program" : "/bin/true"});
    CHECK(ended.code >= 125);
    REQUIRE(ended.result.is_object());
    CHECK_FALSE(ended.result.at("started").get<bool>());
    std::size_t unknown = 0;
    for (const char* part : {"usage", "proof"}) {
      const nlohmann::json& fields = ended.result.at(part);
      for (const auto& field : fields.items()) {
        if (!field.value().is_null()) continue;
        ++unknown;
        const std::string& name = field.key();
        CAPTURE(name);
        CHECK_FALSE(fields.value(name + "_why", std::string()).empty());
      }
    }
    CHECK(unknown > 0);
  }
}

TEST_CASE("a host that forbids namespaces is told which setting does it, and the remedy") {
  struct Forbidden {
    const char* setting;
    const char* why;
    const char* remedy;
  };
  for (const Forbidden& each : {Forbidden{"max_user_namespaces", "user.max_user_namespaces is 0",
                                          "hint: sysctl -w user.max_user_namespaces=10000"},
                                Forbidden{"max_net_namespaces", "user.max_net_namespaces is 0",
                                          "hint: sysctl -w user.max_net_namespaces=10000"}}) {
    CAPTURE(each.setting);
    const std::string forbid = std::string("mount -t tmpfs none /run; echo 0 > /proc/sys/user/") +
                               each.setting + "; exec \"$@\"";
    const Ended ended =
        Run({}, {"/bin/true"},
            {"unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", forbid, "sh"})
            .end();
    CAPTURE(ended.err);
    CHECK(ended.code == 125);
    CHECK(ended.reason() == "host_unsupported");
    CHECK(contains(ended.err, each.why));
    CHECK(contains(ended.err, each.remedy));
    CHECK(contains(ended.err, "ENOSPC"));
  }
}
