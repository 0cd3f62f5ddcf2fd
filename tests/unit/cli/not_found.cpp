// What is said about a command that cannot be executed.
#include "cli/not_found.hpp"

#include <doctest/doctest.h>

#include <cerrno>

#include "cli/say.hpp"

using namespace mayfly;
using namespace mayfly::cli;
using supervise::Outcome;
using supervise::Reason;

namespace {

const HostView kHost = {
    .search_path = "relative::/usr/bin:/opt/tool/bin/",
    .working_dir = "/home/me",
    .is_program =
        [](const std::string& path) {
          return path == "/opt/tool/bin/foo" || path == "/home/me/run.sh";
        },
    .is_on_noexec = [](const std::string& path) { return path == "/full/tool"; },
};

spec::Spec command(std::vector<std::string> words) {
  spec::Spec spec;
  spec.argv = std::move(words);
  return spec;
}

Outcome exec_failed(int number) {
  Outcome outcome;
  outcome.reason = Reason::ExecFailed;
  outcome.error = Error{.kind = ErrorKind::Setup,
                        .sys_errno = number,
                        .action = "run it",
                        .call = "execve(\"x\")",
                        .hint = {}};
  return outcome;
}

std::string hint_for(const spec::Spec& spec, Outcome outcome = exec_failed(ENOENT)) {
  explain_exec(spec, kHost, outcome);
  return outcome.error->hint;
}

}  // namespace

TEST_CASE("a command that is not there: where the host has it, and how to show it") {
  const struct {
    const char* word;
    const char* hint;
  } cases[] = {
      {"foo",
       "/opt/tool/bin/foo is on the host, outside of the sandbox's PATH: write this path, with "
       "--ro /opt/tool/bin/foo if the sandbox does not show it"},
      {"/opt/tool/bin/foo",
       "/opt/tool/bin/foo is on the host, outside of the sandbox's view: show it with --ro "
       "/opt/tool/bin/foo"},
      {"./run.sh",
       "/home/me/run.sh is on the host, outside of the sandbox's view: show it with --ro "
       "/home/me/run.sh"},
      {"nothing",
       "it is in no directory of the sandbox's PATH: check the spelling, or write its path"},
      {"/nothing", "the path is looked up inside the sandbox"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.word);
    CHECK(hint_for(command({each.word})) == each.hint);
  }
}

TEST_CASE("without a project the reason is said, and not that the home directory is to be shown") {
  Outcome outcome = exec_failed(ENOENT);
  outcome.notes = {
      {.what = "pids", .how = "no project"},
      {.what = "project", .how = "no project: it is home; --project cow:DIR names one"}};
  CHECK(hint_for(command({"./run.sh"}), outcome) ==
        "/home/me/run.sh is on the host, outside of the sandbox's view: no project: it is home; "
        "--project cow:DIR names one");
  CHECK(hint_for(command({"/opt/tool/bin/foo"}), outcome).ends_with("--ro /opt/tool/bin/foo"));
  outcome.notes[1].how = "/home/me: named by --project";
  CHECK(hint_for(command({"./run.sh"}), outcome).ends_with("--ro /home/me/run.sh"));
}

TEST_CASE("a root without the host's programs is named as the reason") {
  spec::Spec spec = command({"foo"});
  spec.root = spec::RootKind::Empty;
  CHECK(hint_for(spec) ==
        "the root is empty: show the program with --ro /opt/tool/bin/foo and the libraries that "
        "it needs, if it is not static, with --ro, too");
  spec.root = spec::RootKind::Directory;
  spec.root_dir = "/image";
  CHECK(hint_for(spec) ==
        "the root is /image, which does not have it: put it there, or show that of the host with "
        "--ro /opt/tool/bin/foo");
}

TEST_CASE("slips: what no program is called is taken for what was meant") {
  const struct {
    std::vector<std::string> words;
    const char* hint;
  } cases[] = {
      {{"make test"},
       "it is one word with blanks in it: write it without the quotes, or, for a line of shell, "
       "sh -c 'make test'"},
      {{"FOO=bar", "env"}, "a variable is set by an option before the command: --env FOO=bar"},
      {{"cd", "/"}, "cd is a builtin of the shell: sh -c 'cd ...' runs a line of shell"},
      {{"--ttl", "1s", "true"},
       "what follows -- is the command: options of mayfly stand before it"},
      {{"1=x"},
       "it is in no directory of the sandbox's PATH: check the spelling, or write its path"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.words[0]);
    CHECK(hint_for(command(each.words)) == each.hint);
  }
}

TEST_CASE("a program on a file system that is mounted noexec is told where it is on the host") {
  spec::Spec spec = command({"/t/tool"});
  spec.fs = {{.kind = spec::FsKind::Ro, .source = "/full", .target = "/t"}};
  CHECK(hint_for(spec, exec_failed(EACCES)) ==
        "/full/tool of the host is on a file system that is mounted noexec, from which nothing is "
        "executed: copy it inside by --file /t/tool:755=@/full/tool, or show it from another "
        "place");
}

TEST_CASE("other reasons keep their words, and only a failed execution is explained") {
  Outcome missing = exec_failed(ENOENT);
  explain_exec(command({"foo"}), kHost, missing);
  CHECK(complaint(*missing.error)
            .starts_with("mayfly: cannot run it in the sandbox: No such file or directory"));
  Outcome forbidden = exec_failed(EACCES);
  explain_exec(command({"foo"}), kHost, forbidden);
  CHECK(forbidden.error->call == "execve(\"x\")");
  CHECK(forbidden.error->hint ==
        "it must be a file that the sandbox's user may execute (chmod +x), on a path that the "
        "user may search");
  CHECK(hint_for(command({"foo"}), exec_failed(ENOEXEC)).empty());
  Outcome hinted = exec_failed(ENOENT);
  hinted.error->hint = "its own";
  CHECK(hint_for(command({"foo"}), hinted) == "its own");
  Outcome other = exec_failed(ENOENT);
  other.reason = Reason::SetupFailed;
  CHECK(hint_for(command({"foo"}), other).empty());
}
